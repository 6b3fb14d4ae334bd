/* Arrays that lie one way beside arrays that lie the other: which of them go through tiles in shared memory, and that
 * the results are those of the reference interpreter, at every width of elements, with edges, batches and layouts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/differential/program.h"
#include "tests/effort.h"

#define SOFTMAX                                                                                    \
    "    e = exp(y - max(y, axis=1, keepdims=True))\n"                                             \
    "    return e / sum(e, axis=1, keepdims=True)\n"

static const struct {
    const char *text, *sizes, *schedule;
    const char *turned; /* with compact arrays, in order; "" for none */
} cases[] = {
    /* the width of vectors and the depth of tiles follow from the type */
    {"def f(a: f32[N, M], b: f32[M, N]):\n    return a + b.T\n", "N=68 M=132", NULL, "in_b"},
    {"def f(a: f32[N, M], b: f32[M, N]):\n    return a + b.T\n", "N=67 M=133", NULL, "in_b"},
    {"def f(a: f64[N, M], b: f64[M, N]):\n    return a - b.T\n", "N=46 M=120", NULL, "in_b"},
    {"def f(a: f16[N, M], b: f16[M, N]):\n    return a * b.T\n", "N=72 M=136", NULL, "in_b"},
    {"def f(a: i8[N, M], b: i8[M, N]):\n    return a + b.T\n", "N=130 M=129", NULL, "in_b"},
    {"def f(a: bool[M, N], b: f64[N, M]):\n    return where(a.T, b, -b)\n", "N=130 M=67", NULL,
     "in_a"},
    {"def f(a: f16[N, M], b: f32[M, N], c: i64[M, N]):\n    return a + b.T * c.T\n", "N=62 M=120",
     NULL, "in_b in_c"},
    /* stores; what is repeated along an axis; one result of two */
    {"def f(a: f32[N, M], b: f32[N], c: f32[M], s: f32):\n"
     "    return a * b[:, None] + c + s, a.T - c[:, None]\n",
     "N=60 M=124", NULL, "out_out1"},
    /* batches: before, between, and the axis that is turned first of three */
    {"def f(a: f32[B, N, M], b: f32[B, M, N]):\n    return a + transpose(b, (0, 2, 1))\n",
     "B=3 N=36 M=70", NULL, "in_b"},
    {"def f(a: f32[N, B, M], b: f32[M, B, N]):\n    return a + b.T\n", "B=3 N=36 M=70", NULL,
     "in_b"},
    {"def f(a: f64[N, M, B], b: f64[B, M, N]):\n    return a + b.T\n", "B=20 N=37 M=5", NULL,
     "in_b"},
    /* too narrow to be worth a tile; forced; forbidden */
    {"def f(a: f32[N, M], b: f32[M, N]):\n    return a + b.T\n", "N=2 M=200", NULL, ""},
    {"def f(a: f32[N, M], b: f32[M, N]):\n    return a + b.T\n", "N=17 M=3", "tiles", "in_b"},
    {"def f(a: f32[N, M], b: f32[M, N]):\n    return a + b.T\n", "N=68 M=132", "whole", ""},
    /* reductions: columns whose result, or one of whose operands, lies along the members */
    {"def f(x: f32[C, N]):\n    y = x.T\n" SOFTMAX, "N=132 C=68", "tiles", "out_out0"},
    {"def f(x: f32[C, N]):\n    y = x.T\n" SOFTMAX, "N=132 C=200", "split", "out_out0"},
    {"def f(x: f16[C, N], b: f32[N, C]):\n    y = x.T + b\n" SOFTMAX, "N=67 C=69", "tiles",
     "in_b out_out0"},
    {"def f(x: f64[C, N]):\n    return x.T - mean(x, axis=0)[:, None], var(x, axis=0)\n",
     "N=35 C=68", "tiles", "out_out0"},
};
enum { CASES = sizeof cases / sizeof *cases };

static void name_turned(kn_text *t, const kn_kernel *k, const kn_access *acc)
{
    if (acc->turned)
        kn_putf(t, "%s%s", t->len ? " " : "", k->bufs.data[acc->buf].name);
}

static const char *turned(const program *p, kn_context *ctx, const kn_program_options *o)
{
    kn_program *prog;
    kn_plan *plan;
    kn_text t = kn_text_new(p->arena);
    assert_int_equal(kn_program_create(ctx, p->graph, o, &prog), KN_OK);
    assert_int_equal(program_plan(p, prog, ctx->dev->ops->target(ctx->dev), p->arena, &plan),
                     KN_OK);
    for (int i = 0; i < plan->kernels.len; i++) {
        const kn_kernel *k = plan->kernels.data[i];
        for (int j = 0; j < k->phases.len; j++) {
            const kn_phase *ph = &k->phases.data[j];
            for (int v = 0; v < ph->values.len; v++)
                name_turned(&t, k, &ph->values.data[v].access);
            for (int s = 0; s < ph->stores.len; s++)
                name_turned(&t, k, &ph->stores.data[s].access);
        }
    }
    kn_program_destroy(prog);
    return kn_text_str(&t);
}

/* Compact arrays and other layouts. */
static void test_emu(void **state)
{
    (void)state;
    kn_context *ctx;
    tally seen = {0, 0};
    int failed = 0;
    assert_int_equal(kn_context_open(&(kn_context_config){.device = "emu"}, &ctx), KN_OK);
    for (int i = 0; i < CASES; i++) {
        const kn_program_options o = {.fusion = true, .schedule = cases[i].schedule};
        for (uint64_t seed = 0; seed <= EFFORT(2, 0); seed++) {
            kn_arena a;
            kn_arena_init(&a, NULL);
            kn_text why = kn_text_new(&a);
            program *p = program_of_text(&a, cases[i].text, "text", cases[i].sizes, seed);
            if (!p)
                fail_msg("%s%s: %s", cases[i].text, cases[i].sizes, kn_last_error());
            if (!program_check(p, ctx, &o, &why, &seen))
                fail_msg("%s with %s, seed %d: %s", cases[i].text, cases[i].sizes, (int)seed,
                         kn_text_str(&why));
            if (seed == 0 && strcmp(turned(p, ctx, &o), cases[i].turned) != 0) {
                print_error("%s with %s turns '%s', not '%s'\n", cases[i].text, cases[i].sizes,
                            turned(p, ctx, &o), cases[i].turned);
                failed++;
            }
            kn_arena_finish(&a);
        }
    }
    kn_context_close(ctx);
    assert_int_equal(failed, 0);
    assert_true(seen.compared > 0 && seen.skipped * 10 < seen.compared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_emu)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
