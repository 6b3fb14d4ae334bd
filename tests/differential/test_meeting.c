/* Blocks that meet at a barrier of the grid, and blocks of which the last to come does the rest, count in one word,
 * which every launch leaves as the next needs it. Blocks of a cluster tell each other what they found. */
#include "tests/differential/cases.h"

static const struct {
    const char *text, *sizes;
    bool waits, last; /* for a barrier; the last block finishes */
    int options;      /* of the option sets; 2: split where a cluster would do */
} cases[] = {
    {"def f(x: f32[N]):\n    return sum(x)\n", "N=100000", false, true, 0},
    {"def f(x: f32[N]):\n    return x / sqrt(sum(x * x))\n", "N=100000", true, false, 2},
    {"def f(x: i32[N, M]):\n    return sum(x), max(x)\n", "N=301 M=257", false, true, 0},
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

static void describe(kn_text *t, const kn_kernel *k, const kn_phase *ph)
{
    (void)k;
    if (ph->cluster)
        kn_put(t, ph->walk == KN_WALK_COLS ? "columns" : "rows");
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_emu), cmocka_unit_test(test_boards)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
