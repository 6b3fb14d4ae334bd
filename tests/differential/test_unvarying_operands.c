/* Reductions of operands that are the same along what is reduced: every device agrees with the reference. Such an operand
 * has a value a group, or one in all, where the reductions of other programs have one an element. */
#include <math.h>
#include <string.h>

#include "tests/device.h"
#include "tests/differential/check.h"

/* What o is in a program of x: f32[N, C], i: i32[N, C], v: f32[N], w: f32[C], a: f32[()] and s: f32. */
static const char *const operands[] = {
    "full((N, C), 2.5, dtype=f32)",
    "ones_like(x)",
    "zeros((N, C), dtype=i32)",
    "full((N, C), True)",
    "full((N, C), 1.5 - 2j)",
    "broadcast_to(a, (N, C))",
    "broadcast_to(s, (N, C))",
    "broadcast_to(i[0, 0], (N, C))",
    "broadcast_to(v[:, None], (N, C))",
    "broadcast_to(w, (N, C))",
    "broadcast_to(v[:, None] + 1j * a, (N, C))",
    "broadcast_to(i[:, 0][:, None] > 2, (N, C))",
    "broadcast_to(max(x, axis=1, keepdims=True), (N, C))",
    "broadcast_to(sum(x, axis=0), (N, C))",
    "broadcast_to(mean(x), (N, C))",
    "broadcast_to(argmax(x, axis=1)[:, None], (N, C))",
    "v[:, None] * ones_like(x) + s",
    "where(s > 0, zeros_like(x), 1)",
    "broadcast_to(N, (N, C))",
};
enum { OPERANDS = sizeof operands / sizeof *operands };

static const struct {
    const char *text;
    bool complex; /* complex numbers have it */
} reductions[] = {
    {"sum(o%s)", true},           {"prod(cast(o, f64)%s)", false},
    {"prod(o > 0%s)", false},     {"min(o%s)", false},
    {"max(o%s)", false},          {"mean(o%s)", true},
    {"var(o%s)", true},           {"std(o%s)", true},
    {"any(o%s)", true},           {"all(o%s)", true},
    {"argmin(o%s)", false},       {"argmax(o%s)", false},
    {"norm(o%s)", true},          {"logsumexp(o%s)", false},
    {"count_nonzero(o%s)", true}, {"ptp(cast(o, f32)%s)", false},
    {"nanmax(o%s)", false},       {"average(o%s)", true},
    {"nanvar(o%s)", true},        {"sum(x * cast(o, f32)%s)", false},
};
enum { REDUCTIONS = sizeof reductions / sizeof *reductions };

static const char *const axes[] = {", axis=1", ", axis=0", ""};
enum { AXES = 3 };

static const char *const sizes[] = {"N=5 C=67", "N=3 C=1", "N=1 C=1500"};
enum { SIZES = 3 };

/* The reductions from `first` on, `count` of them, along the axes. NULL: there is none. */
static program *make(kn_arena *a, int operand, int first, int count, int along, int size)
{
    bool complex = strchr(operands[operand], 'j') != NULL;
    kn_text text = kn_text_new(a), all = kn_text_new(a);
    int made = 0;
    kn_putf(&text,
            "def f(x: f32[N, C], i: i32[N, C], v: f32[N], w: f32[C], a: f32[()], s: f32):\n"
            "    o = %s\n",
            operands[operand]);
    for (int r = first; r < first + count; r++) {
        if (complex && !reductions[r].complex)
            continue;
        const char *call = kn_sprintf(a, reductions[r].text, axes[along]);
        kn_putf(&text, "    r%d = %s\n", r, call);
        kn_putf(&all, "%sr%d", made++ ? ", " : "", r);
    }
    if (!made)
        return NULL;
    kn_putf(&text, "    return %s\n", kn_text_str(&all));
    program *p = program_of_text(a, kn_text_str(&text), "f.kiln", sizes[size], 0);
    if (!p)
        fail_msg("%s: %s", kn_text_str(&text), kn_last_error());
    return p;
}

/* On a device; with the CPU, what is planned for CUDA as well, which is the same whatever the context. */
static void check(kn_context *ctx, int operand, int first, int count, int along, int size,
                  const kn_program_options *o, tally *seen)
{
    kn_arena a;
    kn_arena_init(&a, NULL);
    kn_text why = kn_text_new(&a);
    program *p = make(&a, operand, first, count, along, size);
    const char *what = p ? kn_sprintf(&a, "%s:\n%s", sizes[size], program_text(p)) : NULL;
    if (p)
        must_agree(p, ctx, o, what, seen);
    const bool cuda = p && strcmp(ctx->dev->ops->kind, "cpu") == 0;
    if (cuda && !program_check_cuda(p, ctx, o, &why, NULL))
        fail_msg("%s, planned for CUDA: %s", what, kn_text_str(&why));
    kn_arena_finish(&a);
}

/* A third may have no bound: std of what does not vary is the root of 0, where an error has no limit. */
static void must_have_compared_most(const tally *seen)
{
    assert_true(seen->compared > 0 && seen->skipped * 2 < seen->compared);
}

static void test_alone(void **state)
{
    static const char *const devices[] = {"ref", "cpu"};
    (void)state;
    for (int d = 0; d < 2; d++) {
        tally seen = {0, 0};
        kn_context *ctx = open_context(devices[d]);
        for (int k = 0; k < OPERANDS * REDUCTIONS * AXES; k++)
            for (int o = k % OPTION_SETS; o < OPTION_SETS; o += EFFORT(5, 13))
                check(ctx, k / AXES / REDUCTIONS, k / AXES % REDUCTIONS, 1, k % AXES,
                      (k + o) % SIZES, &option_sets[o], &seen);
        kn_context_close(ctx);
        must_have_compared_most(&seen);
    }
}

static void test_together(void **state)
{
    static const char *const devices[] = {"ref", "cpu", "emu"};
    (void)state;
    for (int d = 0; d < 3; d++) {
        tally seen = {0, 0};
        kn_context *ctx = open_context(devices[d]);
        for (int k = 0; k < OPERANDS; k++)
            check(ctx, k, 0, REDUCTIONS, k % AXES, k / AXES % SIZES, &option_sets[0], &seen);
        kn_context_close(ctx);
        must_have_compared_most(&seen);
    }
}

/* Those for which the reference's results have no bound. */
static void test_roots_and_logarithms(void **state)
{
    static const char *const devices[] = {"ref", "cpu", "emu"};
    static const char text[] =
        "def f(x: f64[N, C]):\n"
        "    ones, v = ones_like(x), broadcast_to(x[:, 0][:, None], (N, C))\n"
        "    y = stack((std(ones, axis=1), logsumexp(ones, axis=1) - log(C), std(v, axis=1) + 2,\n"
        "               logsumexp(v, axis=1) - log(C), norm(zeros_like(x), axis=1) + 4,\n"
        "               nanvar(v, axis=1) + 5, nanmax(v, axis=1) + 3))\n"
        "    return y\n";
    static const double want[] = {0, 1, 2, 3, 4, 5, 6};
    enum { N = 4, C = 33, RESULTS = sizeof want / sizeof *want };
    const int64_t shape[] = {N, C}, of_y[] = {RESULTS, N};
    double x[N][C], y[RESULTS][N];
    (void)state;
    for (int i = 0; i < N * C; i++)
        x[i / C][i % C] = i % C ? i : 3;
    for (int d = 0; d < 3; d++) {
        kiln_ctx *ctx = open_device(devices[d]);
        kiln_prog *prog = compile(ctx, text);
        const kiln_arg args[] = {{"x", x, KILN_F64, 2, shape, NULL},
                                 {"y", y, KILN_F64, 2, of_y, NULL}};
        good(kiln_run(prog, NULL, args, 2));
        for (int i = 0; i < RESULTS * N; i++)
            assert_true(fabs(y[i / N][i % N] - want[i / N]) < 1e-12);
        kiln_prog_destroy(prog);
        kiln_ctx_destroy(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_alone),
                                       cmocka_unit_test(test_together),
                                       cmocka_unit_test(test_roots_and_logarithms)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
