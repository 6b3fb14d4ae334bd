/* Arrays that lie one way beside arrays that lie the other: which of them go through tiles in shared memory, and that
 * the results are those of the reference interpreter, at every width of elements, with edges, batches and layouts. */
#include "tests/differential/cases.h"

#define SOFTMAX                                                                                    \
    "    e = exp(y - max(y, axis=1, keepdims=True))\n"                                             \
    "    return e / sum(e, axis=1, keepdims=True)\n"

/* how: what is turned, in order. */
static const scheduled_case cases[] = {
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
    /* enough for large tiles: edges; straight loads for which there are no registers; results that lie the other way */
    {"def f(a: f32[N, M], b: f32[M, N]):\n    return a + b.T\n", "N=196 M=300", NULL, "in_b"},
    {"def f(a: f64[N, M], b: f64[N, M], c: f64[N, M], d: f32[M, N]):\n    return a * b + c * d.T\n",
     "N=204 M=258", NULL, "in_d"},
    {"def f(a: f32[N, M], b: f32[N, M]):\n    return a * b, (a - b).T\n", "N=203 M=257", NULL,
     "out_out1"},
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
    {"def f(x: f64[C, N]):\n    y = x.T\n" SOFTMAX, "N=70 C=200", "split", "out_out0"},
    {"def f(x: f16[C, N], b: f32[N, C]):\n    y = x.T + b\n" SOFTMAX, "N=67 C=69", "tiles",
     "in_b out_out0"},
    {"def f(x: f64[C, N]):\n    return x.T - mean(x, axis=0)[:, None], var(x, axis=0)\n",
     "N=35 C=68", "tiles", "out_out0"},
};
enum { CASES = sizeof cases / sizeof *cases };

static void name_turned(kn_text *t, const kn_kernel *k, const kn_access *acc)
{
    if (acc->transposed)
        kn_putf(t, "%s%s", t->len ? " " : "", k->bufs.data[acc->buf].name);
}

static void describe(kn_text *t, const kn_kernel *k, const kn_phase *ph)
{
    for (int v = 0; v < ph->nest.values.len; v++)
        name_turned(t, k, &ph->nest.values.data[v].access);
    for (int s = 0; s < ph->nest.stores.len; s++)
        name_turned(t, k, &ph->nest.stores.data[s].access);
}

static void test_emu(void **state)
{
    (void)state;
    check_scheduled(cases, CASES, 1, 2, describe);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_emu)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
