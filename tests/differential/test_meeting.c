/* Blocks that meet at a barrier of the grid, and blocks of which the last to come does the rest, count in one word,
 * which every launch leaves as the next needs it. Blocks of a cluster tell each other what they found. */
#include "codegen/emit/cuda/prelude.h"
#include "tests/device.h"
#include "tests/differential/cases.h"

static const struct {
    const char *text, *sizes;
    bool waits, last; /* for a barrier; the last block finishes */
    int options;      /* of the option sets; 2: split where a cluster would do */
} cases[] = {
    {"def f(x: f32[N]):\n    return sum(x)\n", "N=100000", false, true, 0},
    {"def f(x: f32[N]):\n    return x / sqrt(sum(x * x))\n", "N=100000", true, false, 2},
    {"def f(x: i32[N, M]):\n    return sum(x), max(x)\n", "N=301 M=257", false, true, 0},
    /* added up in words: below 0 too, beyond 64 bits, of what is computed and with more to compute */
    {"def f(x: i32[N]):\n    return sum(x)\n", "N=70001", false, true, 0},
    {"def f(x: i64[N]):\n    return sum(x * 4611686018427387903) - 1\n", "N=70001", false, true, 0},
    {"def f(x: u64[N, M]):\n    s = sum(x - 9)\n    return s, s * s\n", "N=301 M=257", false, true,
     2},
    {"def f(x: f32[N]):\n    return sum(x > 0.25) / N\n", "N=70001", false, true, 2},
    {"def f(x: f64[N, M]):\n    return var(x)\n", "N=301 M=257", false, true, 2},
    {"def f(x: f32[N, M]):\n    y = sum(x, axis=1)\n    return y, sqrt(y) + 1\n", "N=3 M=50000",
     false, true, 2},
    /* two barriers */
    {"def f(x: f32[N]):\n    m = max(x)\n    return log(sum(exp((x - m) * 0.5) + m)) + m\n",
     "N=100000", true, false, 2},
    {"def f(x: f32[N, M]):\n    return sum(x, axis=1)\n", "N=60 M=40", false, false, 0},
    /* lanes of one warp with a group and without combine their moments */
    {"def f(x: f32[N, M]):\n    return var(x, axis=1)\n", "N=33 M=14", false, true, 2},
    {"def f(x: f32[N]):\n    return sum(x)\n", "N=0", false, false, 0},
    /* of each tile of columns, with a word each */
    {"def f(x: f32[N, M]):\n    s = sum(x, axis=0)\n    return s * s, max(x, axis=0)\n",
     "N=900 M=300", false, true, 2},
    {"def f(x: f32[N, M]):\n    return var(x, axis=0) + 1\n", "N=700 M=1030", false, true, 2},
    {"def f(x: f32[N, M]):\n    return max(sum(x, axis=0))\n", "N=900 M=300", true, false, 2},
    /* one tile is done while others still read what nobody needs afterwards */
    {"def f(x: f16[N, M]):\n"
     "    s = sum(cast(x, f32), axis=0)\n"
     "    return cast(s, bool), arcsinh(cast(x > 0.5, f16))\n",
     "N=90 M=100", false, true, 5},
    {"def f(x: f32[N]):\n    return sum(cast(x, i64)) > 0\n", "N=70001", false, true, 5},
};
enum { CASES = sizeof cases / sizeof *cases };

static void find_meetings(const kn_plan *plan, bool *waits, bool *last)
{
    *waits = *last = false;
    for (int k = 0; k < plan->kernels.len; k++) {
        *waits = *waits || kn_kernel_cooperative(plan->kernels.data[k]);
        *last = *last || (kn_kernel_meets(plan->kernels.data[k]) &&
                          !kn_kernel_cooperative(plan->kernels.data[k]));
    }
}

static void check(kn_context *ctx, int i, uint64_t seed, tally *seen)
{
    kn_arena a;
    bool waits, last;
    kn_arena_init(&a, NULL);
    kn_text why = kn_text_new(&a);
    program *p = program_of_text(&a, cases[i].text, "text", cases[i].sizes, seed);
    if (!p)
        fail_msg("%s%s: %s", cases[i].text, cases[i].sizes, kn_last_error());
    find_meetings(plan_of(p, ctx, &option_sets[cases[i].options]), &waits, &last);
    if (waits != cases[i].waits || last != cases[i].last)
        fail_msg("%s with %s: blocks wait: %d, the last one finishes: %d", cases[i].text,
                 cases[i].sizes, waits, last);
    if (!program_check(p, ctx, &option_sets[cases[i].options], &why, seen))
        fail_msg("%s with %s: %s", cases[i].text, cases[i].sizes, kn_text_str(&why));
    kn_arena_finish(&a);
}

static void test_emu(void **state)
{
    (void)state;
    kn_context *ctx;
    tally seen = {0, 0};
    assert_int_equal(kn_context_open(&(kn_context_config){.device = "emu"}, &ctx), KN_OK);
    for (int round = 0; round < 2; round++) /* one stream, one word */
        for (int i = 0; i < CASES; i++)
            check(ctx, i, 0, &seen);
    kn_context_close(ctx);
    assert_true(seen.compared > 0);
}

/* Two of three blocks are the last, each in one of the words. What the others have left there is given, so one block a
 * launch comes: the first has only the lower halves, and leaves their sum. */
static void test_two_are_last(void **state)
{
    (void)state;
    static const char kernel[] =
        "extern \"C\" __global__ void add(unsigned *words, long long part, long long *out)\n"
        "{\n"
        "    long long sum = part;\n"
        "    if (kn_last_to_add(sum, words, 3))\n"
        "        *out = sum;\n"
        "}\n";
    enum { COUNT = 48 };
    const uint64_t one = (uint64_t)1 << COUNT, half = UINT32_MAX;
    const int64_t parts[] = {-5, 1234567890123, -987654321098765};
    const int64_t want = parts[0] + parts[1] + parts[2], untouched = 77;
    uint64_t low = 0, high = 0;
    for (int i = 0; i < 2; i++) {
        low += one + ((uint64_t)parts[i] & half);
        high += one + ((uint64_t)parts[i] >> 32);
    }
    kn_arena a;
    kn_arena_init(&a, NULL);
    kn_text source = kn_text_new(&a);
    kn_prelude(&source, kernel, false);
    kn_put(&source, kernel);
    for (int first_low = 0; first_low < 2; first_low++) {
        kiln_ctx *ctx = open_device("emu");
        kiln_kernel *k;
        kiln_launch shape;
        kiln_launch_init(&shape);
        shape.block[0] = 64;
        good(kiln_kernel_create(ctx, kn_text_str(&source), "add", &k));
        void *words, *out;
        good(kiln_alloc(ctx, 24, &words));
        good(kiln_alloc(ctx, 8, &out));
        good(kiln_upload(ctx, out, &untouched, sizeof untouched));
        for (int come = 0; come < 2; come++) {
            const bool has_low = come != first_low;
            const uint64_t part = (uint64_t)parts[2] & (has_low ? half : ~half);
            uint64_t now[3] = {has_low ? low : 0, has_low ? 0 : high, 0}, got;
            if (come) /* what the first has left there */
                good(kiln_download(ctx, now + 2, (char *)words + 16, 8));
            good(kiln_upload(ctx, words, now, sizeof now));
            good(kiln_kernel_run(k, NULL, &shape,
                                 (void *[]){&words, (void *)(uintptr_t)&part, &out}, 3));
            good(kiln_sync(ctx, NULL));
            good(kiln_download(ctx, &got, out, 8));
            assert_int_equal(got, come ? want : untouched);
            good(kiln_download(ctx, now, words, sizeof now));
            assert_int_equal(now[has_low ? 0 : 1], 0);
            assert_int_equal(now[2] == 0, come);
        }
        kiln_free(ctx, words);
        kiln_free(ctx, out);
        kiln_kernel_destroy(k);
        kiln_ctx_destroy(ctx);
    }
    kn_arena_finish(&a);
}

static void describe(kn_text *t, const kn_kernel *k, const kn_phase *ph)
{
    (void)k;
    if (ph->how.cluster)
        kn_put(t, ph->how.walk == KN_WALK_COLS ? "columns" : "rows");
}

/* Values of 12, 4 and 8 bytes in turn: each block keeps to its own part of a board. */
static void test_boards(void **state)
{
    (void)state;
    static const scheduled_case told[] = {
        {"def f(x: f32[N]):\n    return prod(cast(x * var(x), i64))\n", "N=2", "cluster=8", "rows"},
        {"def f(x: f32[N, M]):\n"
         "    v = x * var(x, axis=1, keepdims=True)\n"
         "    n = cast(ceil(v - max(v, axis=1, keepdims=True)), i64)\n"
         "    return sum(n, axis=1), sum(n, axis=1, keepdims=True) * cast(x, i64)\n",
         "N=5 M=70", "cluster=3", "rows"},
        {"def f(x: f32[N, M]):\n"
         "    return prod(cast(x * var(x, axis=0), i64), axis=0)\n",
         "N=40 M=36", "cluster=4", "columns"},
    };
    check_scheduled(told, sizeof told / sizeof *told, 1, 0, describe);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_emu),
                                       cmocka_unit_test(test_two_are_last),
                                       cmocka_unit_test(test_boards)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
