/* Blocks that keep on chip, over a grid barrier, what they load again: the results are those of the reference interpreter
 * whatever of it there is room for, and however many blocks there are; on the emulator, which sees who writes and reads
 * what. */
#include <stdlib.h>
#include <sys/mman.h>

#include "codegen/sched/sched.h"
#include "tests/device.h"
#include "tests/differential/cases.h"
#include "tests/hostile.h"

#define UNIT "    return x / sqrt(sum(x * x))\n"
#define ZSCORE "    return (x - mean(x, axis=0)) / sqrt(var(x, axis=0) + 0.5)\n"
#define SOFTMAX                                                                                    \
    "    e = exp(x - max(x, axis=1, keepdims=True))\n"                                             \
    "    return e / sum(e, axis=1, keepdims=True)\n"

static const struct {
    const char *text, *sizes;
    int loads; /* resident, of all phases, with compact arrays */
} cases[] = {
    {"def f(x: f32[N]):\n" UNIT, "N=30000", 2},
    {"def f(x: f32[N]):\n" UNIT, "N=9001", 2},
    {"def f(x: f64[N]):\n" UNIT, "N=1", 0},
    {"def f(x: f32[N]):\n" UNIT, "N=0", 0},
    {"def f(x: f16[N]):\n" UNIT, "N=40008", 2},
    {"def f(x: f32[N, M]):\n" SOFTMAX, "N=1 M=20000", 2},
    {"def f(x: f64[N, M]):\n" SOFTMAX, "N=2 M=9000", 2},
    {"def f(x: f32[N, M]):\n" SOFTMAX, "N=3 M=7001", 2},
    {"def f(x: f32[N, M]):\n    return x - sum(x, axis=1, keepdims=True)\n", "N=2 M=0", 0},
    {"def f(x: f32[N, M]):\n    return (x - mean(x, axis=1, keepdims=True)) / sqrt(var(x, axis=1, "
     "keepdims=True))\n",
     "N=2 M=10000", 2},
    /* more groups than blocks: what a block keeps of its first is not what it has of its second */
    {"def f(x: f32[N, M]):\n" SOFTMAX, "N=21 M=1500", 2},
    /* two arrays, of one width and of two, which decides on the vectors of all phases; what is read only once */
    {"def f(x: f32[N, M], y: f32[N, M], z: f32[N, M]):\n"
     "    m = mean(x * y, axis=1, keepdims=True)\n    return (x - m) * y, m, x + z\n",
     "N=2 M=8004", 4},
    {"def f(x: f64[N], y: i8[N]):\n    return x * y - max(y) * sum(x)\n", "N=10008", 4},
    {"def f(x: f16[N]):\n    return cast(x, f64) - max(x)\n", "N=10008", 2},
    /* columns: ends within a block's and within a step; what is computed from merged parts; many tiles and few */
    {"def f(x: f32[C, N]):\n" ZSCORE, "C=3000 N=132", 2},
    {"def f(x: f32[C, N]):\n" ZSCORE, "C=901 N=37", 2},
    {"def f(x: f64[C, N]):\n" ZSCORE, "C=1000 N=70", 2},
    {"def f(x: f16[C, N]):\n    return cast(x, f64) - max(x, axis=0)\n", "C=700 N=300", 2},
    {"def f(x: f32[C, N]):\n    e = exp(x - max(x, axis=0))\n    return e / sum(e, axis=0)\n",
     "C=1500 N=200", 2},
    {"def f(x: f32[C, N], y: f64[C, N]):\n    return x - sum(x * y, axis=0), y + max(y, axis=0)\n",
     "C=600 N=90", 4},
    /* groups in several runs; members in another order than in memory; an array that all groups share */
    {"def f(x: f32[N, C, H]):\n    return x - mean(x, axis=(0, 2), keepdims=True)\n",
     "N=6 C=2 H=900", 2},
    {"def f(x: f32[N, M]):\n    return x.T / sqrt(sum(x * x))\n", "N=70 M=90", 0},
    {"def f(x: f32[N, M], g: f32[M]):\n    return x * g - max(x * g, axis=1, keepdims=True)\n",
     "N=2 M=6000", 4},
    /* two barriers, and elements that are first read behind one */
    {"def f(x: f32[N], y: f32[N]):\n    m = max(x)\n    s = sum(exp(x - m) * y)\n"
     "    return exp(x - m) / s + y, m\n",
     "N=12000", 5},
    /* what a phase writes is not what was there before */
    {"def f(x: f32[N]):\n    y = x - mean(x)\n    return y, y / sqrt(sum(y * y))\n", "N=12000", -1},
};
enum { CASES = sizeof cases / sizeof *cases };

/* Machines that the plan is made for. The emulator runs 8 blocks at a time of 227 KB each, whatever it says. */
static const struct {
    int units, smem;
} machines[] = {
    {4, 227 * 1024},                          /* there is room */
    {16, 227 * 1024},                         /* twice as many blocks planned as there are */
    {4, KN_SCRATCH_BYTES + 1024 * 16 + 1000}, /* room for a step, or two */
    {4, KN_SCRATCH_BYTES + 1000},             /* none */
};
enum { MACHINES = sizeof machines / sizeof *machines };

static const kn_program_options options = {.fusion = true, .schedule = "resident"};

static void check(kn_context *ctx, int i, int machine, uint64_t seed, tally *seen)
{
    kn_target *target = (kn_target *)(uintptr_t)ctx->dev->ops->target(ctx->dev);
    kn_arena a;
    kn_arena_init(&a, NULL);
    kn_text why = kn_text_new(&a);
    target->units = machines[machine].units;
    target->smem_block = machines[machine].smem;
    program *p = program_of_text(&a, cases[i].text, "text", cases[i].sizes, seed);
    if (!p)
        fail_msg("%s%s: %s", cases[i].text, cases[i].sizes, kn_last_error());
    int loads = resident_loads(p, ctx, &options);
    if (seed == 0 && machine == 0 && cases[i].loads >= 0 && loads != cases[i].loads)
        fail_msg("%s with %s: %d resident loads, not %d", cases[i].text, cases[i].sizes, loads,
                 cases[i].loads);
    if (machine == 3 && loads)
        fail_msg("%s with %s: %d resident loads without room", cases[i].text, cases[i].sizes,
                 loads);
    if (!program_check(p, ctx, &options, &why, seen))
        fail_msg("%s with %s, seed %d, machine %d: %s", cases[i].text, cases[i].sizes, (int)seed,
                 machine, kn_text_str(&why));
    kn_arena_finish(&a);
}

static void test_machines(void **state)
{
    (void)state;
    tally seen = {0, 0};
    for (int machine = 0; machine < MACHINES; machine++) {
        kn_context *ctx;
        assert_int_equal(kn_context_open(&(kn_context_config){.device = "emu"}, &ctx), KN_OK);
        for (int i = machine ? machine - 1 : 0; i < CASES; i += machine ? 4 : EFFORT(1, 2))
            for (uint64_t seed = 0; seed <= (i % 6 == machine); seed++)
                check(ctx, i, machine, seed, &seen);
        kn_context_close(ctx);
    }
    assert_true(seen.compared > 0 && seen.skipped * 10 < seen.compared);
}

static void run(const char *device, float *x, const int64_t *strides, float *y, int64_t rows,
                int64_t columns)
{
    kiln_options o;
    kiln_options_init(&o);
    o.schedule = "resident";
    kiln_ctx *ctx = open_device(device);
    kiln_prog *p = compile_with(ctx, "def f(x: f32[N, M]):\n" SOFTMAX, &o);
    const int64_t shape[] = {rows, columns};
    const kiln_arg args[] = {{"x", x, KILN_F32, 2, shape, strides},
                             {"out0", y, KILN_F32, 2, shape, NULL}};
    good(run_hostile(p, args, 2));
    kiln_prog_destroy(p);
    kiln_ctx_destroy(ctx);
}

enum { ROWS = 2, COLUMNS = 6000 };

static float start(int64_t i) { return (float)(i * 7919 % 1009) / 256.0F; }

/* Within what floats of a softmax may differ by. */
static void compare(const float *got, const float *want)
{
    for (int i = 0; i < ROWS * COLUMNS; i++)
        if (!(got[i] > want[i] * 0.9999F && got[i] < want[i] * 1.0001F))
            fail_msg("element %d is %g, not %g", i, (double)got[i], (double)want[i]);
}

/* A result on top of what it is computed from, and rows whose distance takes 64 bits. */
static void test_places(void **state)
{
    (void)state;
    static float x[ROWS * COLUMNS], want[ROWS * COLUMNS], got[ROWS * COLUMNS];
    const size_t bytes = ((size_t)5 << 31) + sizeof x;
    const int64_t far[] = {(int64_t)5 << 29, 1};
    for (int64_t i = 0; i < ROWS * COLUMNS; i++)
        x[i] = start(i);
    run("ref", x, NULL, want, ROWS, COLUMNS);
    run("emu", x, NULL, x, ROWS, COLUMNS);
    compare(x, want);
    float *apart = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (apart == MAP_FAILED)
        skip();
    for (int64_t i = 0; i < ROWS * COLUMNS; i++)
        apart[i / COLUMNS * far[0] + i % COLUMNS] = start(i);
    run("emu", apart, far, got, ROWS, COLUMNS);
    compare(got, want);
    munmap(apart, bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_machines),
                                       cmocka_unit_test(test_places)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
