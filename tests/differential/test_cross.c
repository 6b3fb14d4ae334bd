/* Reductions along the rows and along the columns of one array, in one sweep where the planner says so: every device
 * agrees with the reference interpreter, for ranges of rows that do not come out even, rows that do not fill a
 * block's threads, every width of type, arrays that lie oddly, and empty ones. */
#include "codegen/sched/sched.h"
#include "tests/device.h"
#include "tests/differential/cases.h"

#define SINKHORN                                                                                   \
    "def f(k: f32[N, M]):\n"                                                                       \
    "    r = k / sum(k, axis=1)[:, None]\n"                                                        \
    "    return r / sum(r, axis=0)\n"
#define BOTH(T) "def f(x: " T "[N, M]):\n    return sum(x, axis=0), sum(x, axis=1)\n"

/* Those that have bands. */
static const text_case cases[] = {
    {SINKHORN, "N=128 M=512", true},
    {SINKHORN, "N=125 M=512", true},  /* the last bands are short */
    {SINKHORN, "N=300 M=1020", true}, /* threads without members */
    {SINKHORN, "N=67 M=1023", true},  /* no vectors */
    {SINKHORN, "N=40 M=4096", true},  /* half a block a row */
    {SINKHORN, "N=44 M=15000", true}, /* a block a row */
    {SINKHORN, "N=300 M=7", false},   /* too narrow */
    {SINKHORN, "N=1 M=512", false},
    {SINKHORN, "N=2 M=40000", false}, /* too wide */
    {SINKHORN, "N=0 M=512", false},
    {SINKHORN, "N=64 M=0", false},
    {BOTH("f32"), "N=500 M=512", true},
    {BOTH("f64"), "N=601 M=256", true},
    {BOTH("f16"), "N=1000 M=1000", true},
    {BOTH("bf16"), "N=500 M=1024", true},
    {BOTH("i32"), "N=499 M=512", true},
    {BOTH("i64"), "N=500 M=260", true},
    {BOTH("u8"), "N=200 M=1024", false}, /* little to read, much to accumulate */
    {BOTH("f32"), "N=64 M=64", false},   /* costs a barrier */
    /* the columns come first, and read what the rows do not; other operations than sums */
    {"def f(x: f32[N, M], u: f32[N], v: f32[M]):\n"
     "    return max(x * u[:, None], axis=0), min(x * v, axis=0), sum(x * v, axis=1)\n",
     "N=500 M=500", true},
    {"def f(x: i32[N, M]):\n    return any(x > 3, axis=1), all(x < 90, axis=0)\n", "N=500 M=512",
     true},
    /* what rows make is an output too, and columns need it for two stages */
    {"def f(x: f32[N, M]):\n"
     "    r = x / max(x, axis=1)[:, None]\n"
     "    m = max(r, axis=0)\n"
     "    return r, m, sum(r - m, axis=0), r / m\n",
     "N=330 M=512", true},
    /* axes that lie in memory the other way round, and more than two of them */
    {"def f(x: f32[M, N]):\n    r = x / sum(x, axis=0)\n    return r / sum(r, axis=1)[:, None]\n",
     "N=512 M=64", false},
    {"def f(x: f32[A, B, C, D]):\n"
     "    r = x / sum(x, axis=(2, 3), keepdims=True)\n"
     "    return r / sum(r, axis=(0, 1))\n",
     "A=8 B=9 C=16 D=32", true},
    {"def f(x: f32[A, B, C, D]):\n"
     "    r = x / sum(x, axis=(1, 3), keepdims=True)\n"
     "    return r / sum(r, axis=(0, 2), keepdims=True)\n",
     "A=8 B=9 C=16 D=32", true},
    /* the columns of one array and the rows of its transpose are the same axis */
    {"def f(x: f32[N, N]):\n    return sum(x, axis=1), sum(x.T, axis=0)\n", "N=512", false},
};
enum { CASES = sizeof cases / sizeof *cases };

static bool is_banded(const kn_phase *ph) { return ph->how.mixed; }

static void test_cpu(void **state)
{
    (void)state;
    check_cases("cpu", cases, CASES, 1, is_banded);
}

static void test_emu(void **state)
{
    (void)state;
    check_cases("emu", cases, CASES, 4, is_banded);
}

/* ---- rows that wait for columns: two walks through the same bands ---- */

#define CENTRED(T)                                                                                 \
    "def f(x: " T "[N, M]):\n"                                                                     \
    "    return x - mean(x, axis=1, keepdims=True) - mean(x, axis=0) + mean(x)\n"

static const struct {
    const char *text, *sizes;
    int loads; /* resident, of both walks, with compact arrays */
} parted[] = {
    {CENTRED("f32"), "N=401 M=1020", 2}, /* threads without members, a last round without rows */
    {CENTRED("f64"), "N=420 M=512", 2},
    /* several reductions of either, and of another array; results of rows are outputs too */
    {"def f(x: f32[N, M], u: f32[N, M]):\n"
     "    z = x * u\n"
     "    m = max(x, axis=1, keepdims=True)\n"
     "    return z - mean(z, axis=1, keepdims=True) - max(x, axis=0) - m, m\n",
     "N=400 M=1024", 4},
    /* in two sweeps */
    {"def f(x: f32[N, M]):\n    return x - var(x, axis=1, keepdims=True) - mean(x, axis=0) + mean(x)\n",
     "N=400 M=1024", 2},
    /* the reductions of rows wait too: columns, split, keep what rows load again */
    {"def f(x: f32[N, M]):\n    d = x - mean(x, axis=0)\n"
     "    return d / max(d * d, axis=1, keepdims=True)\n",
     "N=400 M=1024", 2},
    /* more than one axis each */
    {"def f(x: f32[A, B, C, D]):\n"
     "    return x - sum(x, axis=(2, 3), keepdims=True) - sum(x, axis=(0, 1)) + sum(x)\n",
     "A=20 B=20 C=32 D=32", 2},
    {CENTRED("f32"), "N=0 M=1024", 0},
};
enum { PARTED = sizeof parted / sizeof *parted };

static const int rooms[] = {
    227 * 1024, 2 * (KN_SCRATCH_BYTES + 17 * 1024), /* for a row, or some short ones */
    2 * (KN_SCRATCH_BYTES + 1024),                  /* for none */
};

static void check_parted(kn_context *ctx, int i, int room, uint64_t seed, tally *seen)
{
    kn_target *target = (kn_target *)(uintptr_t)ctx->dev->ops->target(ctx->dev);
    kn_arena a;
    kn_arena_init(&a, NULL);
    kn_text why = kn_text_new(&a);
    target->units = 16; /* the emulator runs 8 blocks at a time, whatever it says */
    target->smem_block = rooms[room];
    program *p = program_of_text(&a, parted[i].text, "text", parted[i].sizes, seed);
    if (!p)
        fail_msg("%s%s: %s", parted[i].text, parted[i].sizes, kn_last_error());
    int loads = resident_loads(p, ctx, &option_sets[0]);
    if (seed == 0 && room != 1 && loads != (room ? 0 : parted[i].loads))
        fail_msg("%s with %s, room %d: %d resident loads", parted[i].text, parted[i].sizes, room,
                 loads);
    if (!program_check(p, ctx, &option_sets[0], &why, seen))
        fail_msg("%s with %s, seed %d, room %d: %s", parted[i].text, parted[i].sizes, (int)seed,
                 room, kn_text_str(&why));
    kn_arena_finish(&a);
}

static void test_parted(void **state)
{
    (void)state;
    tally seen = {0, 0};
    kn_context *ctx;
    assert_int_equal(kn_context_open(&(kn_context_config){.device = "emu"}, &ctx), KN_OK);
    for (int i = 0; i < PARTED; i += EFFORT(1, 3))
        check_parted(ctx, i, 0, i % 3 == 0, &seen);
    for (int room = 0; room < 3; room++)
        check_parted(ctx, 0, room, 0, &seen);
    kn_context_close(ctx);
    assert_true(seen.compared > 0 && seen.skipped * 10 < seen.compared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cpu), cmocka_unit_test(test_emu),
                                       cmocka_unit_test(test_parted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
