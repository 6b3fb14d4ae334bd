/* ir/interp: values of small programs worked out by hand, and error bounds that hold and are not vain. */
#include <math.h>

#include "ir/interp.h"
#include "tests/unit/graphs.h"

enum { MOST = 64 };

typedef struct result {
    kn_dtype dtype;
    int rank;
    int64_t shape[KN_MAX_RANK], count;
    double v[MOST]; /* as doubles, whatever the type */
    double bound[MOST];
} result;

typedef struct array {
    int64_t shape[4];
    double v[MOST];
} array;

static bool fast; /* are bounds those of fast_math? */

/* The outputs for inputs of these shapes and values, in order. */
static kn_status interpret(const char *params, const char *expressions, const array *inputs,
                           result *results)
{
    kn_graph *g = graph_of(params, expressions);
    int64_t sizes[64];
    kn_array in[8], out[8];
    double *errors[8];
    for (int i = 0; i < kn_symbols_count(g->syms); i++)
        sizes[i] = KN_UNBOUND;
    for (int i = 0; i < g->inputs.len; i++) {
        const kn_node *n = g->inputs.data[i].node;
        in[i] = (kn_array){.dtype = n->dtype, .rank = n->rank};
        for (int j = 0; j < n->rank; j++) {
            in[i].shape[j] = inputs[i].shape[j];
            kn_dim_solve(g->syms, n->shape[j], in[i].shape[j], sizes);
        }
        kn_compact_strides(in[i].shape, n->rank, in[i].stride);
        int64_t count = kn_count(in[i].shape, n->rank);
        char *data = kn_alloc(&arena, MOST * 8);
        in[i].data = data;
        for (int64_t k = 0; k < count; k++) {
            kn_scalar v = {.dtype = n->dtype};
            if (kn_is_inexact(n->dtype))
                v.f = inputs[i].v[k];
            else
                v.i = (int64_t)inputs[i].v[k];
            kn_scalar_store(v, data + k * kn_bytes(n->dtype));
        }
    }
    assert_int_equal(kn_symbols_derive(g->syms, &arena, sizes), KN_OK);
    for (int o = 0; o < g->outputs.len; o++) {
        const kn_node *n = g->outputs.data[o].node;
        out[o] = (kn_array){.dtype = n->dtype, .rank = n->rank};
        KN_TRY(kn_node_sizes(n, sizes, out[o].shape));
        kn_compact_strides(out[o].shape, n->rank, out[o].stride);
        out[o].data = kn_alloc(&arena, MOST * 8);
    }
    KN_TRY(kn_interp(g, &arena, sizes, in, out, &(kn_bounds){.of = errors, .fast = fast}));
    for (int o = 0; o < g->outputs.len; o++) {
        result *r = &results[o];
        *r = (result){.dtype = out[o].dtype, .rank = out[o].rank};
        memcpy(r->shape, out[o].shape, sizeof r->shape);
        r->count = kn_count(r->shape, r->rank);
        for (int64_t k = 0; k < r->count; k++) {
            kn_scalar v = kn_scalar_load(r->dtype, (char *)out[o].data + k * kn_bytes(r->dtype));
            r->v[k] = kn_is_float(r->dtype) ? v.f : (double)v.i;
            r->bound[k] = errors[o][k];
        }
    }
    return KN_OK;
}

static const array grid = {{2, 3}, {1, 2, 3, 4, 5, 6}};

static void test_values(void **state)
{
    (void)state;
    static const struct {
        const char *expression;
        kn_dtype dtype;
        int64_t count;
        double v[12];
    } cases[] = {
        {"x + 1", KN_F64, 6, {2, 3, 4, 5, 6, 7}},
        {"x.T", KN_F64, 6, {1, 4, 2, 5, 3, 6}},
        {"x.reshape(3, 2)", KN_F64, 6, {1, 2, 3, 4, 5, 6}},
        {"x.T.reshape(-1) + 0", KN_F64, 6, {1, 4, 2, 5, 3, 6}},
        {"sum(x, axis=0)", KN_F64, 3, {5, 7, 9}},
        {"sum(x, axis=1)", KN_F64, 2, {6, 15}},
        {"sum(x)", KN_F64, 1, {21}},
        {"prod(x, axis=0)", KN_F64, 3, {4, 10, 18}},
        {"min(x, axis=1), max(x)", KN_F64, 2, {1, 4}},
        {"mean(x, axis=1, keepdims=True)", KN_F64, 2, {2, 5}},
        {"var(x, axis=1)", KN_F64, 2, {2.0 / 3, 2.0 / 3}},
        {"var(x, axis=0, ddof=1)", KN_F64, 3, {4.5, 4.5, 4.5}},
        {"any(x > 5, axis=1)", KN_BOOL, 2, {0, 1}},
        {"all(x > 3, axis=1)", KN_BOOL, 2, {0, 1}},
        {"sum(x > 2)", KN_I64, 1, {4}},
        {"where(x > 2, x, -x)", KN_F64, 6, {-1, -2, 3, 4, 5, 6}},
        {"broadcast_to(sum(x, axis=1)[:, None], (2, 2))", KN_F64, 4, {6, 6, 15, 15}},
        {"x // 2, x % 4", KN_F64, 6, {0, 1, 1, 2, 2, 3}},
        {"x.shape[0] * 10 + x.shape[1]", KN_I64, 1, {23}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        result r[2];
        assert_int_equal(interpret("x: f64[N, M]", cases[i].expression, &grid, r), KN_OK);
        assert_int_equal(r[0].dtype, cases[i].dtype);
        assert_int_equal(r[0].count, cases[i].count);
        for (int64_t k = 0; k < r[0].count; k++)
            assert_true(fabs(r[0].v[k] - cases[i].v[k]) <= 1e-15);
    }
}

static void test_nothing(void **state)
{
    (void)state;
    static const array none = {{0, 3}, {0}};
    result r[4];
    assert_int_equal(interpret("x: f32[N, M]",
                               "sum(x, axis=0), prod(x), mean(x, axis=0), sum(x, axis=1)", &none,
                               r),
                     KN_OK);
    assert_true(r[0].count == 3 && r[0].v[0] == 0 && r[0].v[2] == 0);
    assert_true(r[1].count == 1 && r[1].v[0] == 1);
    assert_true(r[2].count == 3 && isnan(r[2].v[1]));
    assert_int_equal(r[3].count, 0);
    assert_int_equal(interpret("x: f32[N, M]", "max(x, axis=1)", &none, r), KN_OK);
    assert_int_equal(interpret("x: f32[N, M]", "max(x, axis=0)", &none, r), KN_SHAPE);
    assert_string_equal(kn_last_error(), "max at 2:12: nothing to reduce, and max has no identity");
}

static void test_specials(void **state)
{
    (void)state;
    static const array x = {{4}, {1, NAN, -INFINITY, -0.0}};
    result r[4];
    assert_int_equal(interpret("x: f32[N]", "max(x), min(x), sum(x), x == x", &x, r), KN_OK);
    assert_true(isnan(r[0].v[0]) && isnan(r[1].v[0]) && isnan(r[2].v[0]));
    assert_true(r[3].v[0] == 1 && r[3].v[1] == 0 && r[3].v[2] == 1);
    assert_true(r[0].bound[0] == 0 && r[3].bound[1] == 0);
    /* Which of two complex NaN is the extreme is nobody's promise, and they may differ in a part. */
    static const array two = {{4}, {NAN, 1, NAN, 2}};
    assert_int_equal(interpret("x: c64[N]", "max(x).real", &x, r), KN_OK);
    assert_true(isnan(r[0].v[0]) && r[0].bound[0] == 0);
    assert_int_equal(interpret("x: c64[N]", "max(x).real", &two, r), KN_OK);
    assert_true(isnan(r[0].v[0]) && isinf(r[0].bound[0]));
}

/* Integers and what is exact have no bound but 0. */
static void test_exact(void **state)
{
    (void)state;
    static const array x = {{3}, {1, 2, 4}};
    result r[5];
    assert_int_equal(interpret("x: i32[N]", "x * x - 7, sum(x), x // 3, max(x), x > 1", &x, r),
                     KN_OK);
    for (int o = 0; o < 5; o++)
        for (int64_t k = 0; k < r[o].count; k++)
            assert_true(r[o].bound[k] == 0);
    assert_int_equal(
        interpret("x: f32[N]", "abs(-x), floor(x), max(x), x.T, where(x > 1, x, 0)", &x, r), KN_OK);
    for (int o = 0; o < 5; o++)
        for (int64_t k = 0; k < r[o].count; k++)
            assert_true(r[o].bound[k] < 1e-44); /* the smallest f32 */
}

/* Bounds grow with the operations and stay near what they allow. */
static void test_bounds(void **state)
{
    (void)state;
    static const array x = {{3}, {0.3, 1.7, 2.9}};
    result r[4];
    assert_int_equal(interpret("x: f32[N]", "x / 3, exp(x), exp(x) / 3, sum(exp(x))", &x, r),
                     KN_OK);
    double u = 0x1p-24;
    for (int64_t k = 0; k < 3; k++) {
        assert_true(r[0].bound[k] >= 0.5 * u * r[0].v[k] && r[0].bound[k] <= 2 * u * r[0].v[k]);
        assert_true(r[1].bound[k] >= 2 * u * r[1].v[k] && r[1].bound[k] <= 10 * u * r[1].v[k]);
        assert_true(r[2].bound[k] > r[1].bound[k] / 3);
    }
    assert_true(r[3].bound[0] > r[1].bound[0] + r[1].bound[1] + r[1].bound[2]);
    assert_true(r[3].bound[0] < 100 * u * r[3].v[0]);
    /* of 16-bit floats a device may round to the number beside the reference's */
    assert_int_equal(interpret("x: f16[N]", "exp(x)", &x, r), KN_OK);
    for (int64_t k = 0; k < 3; k++) {
        double next = ldexp(1, ilogb(r[0].v[k]) - 10);
        assert_true(r[0].bound[k] >= next && r[0].bound[k] <= 2.1 * next);
    }
}

/* fast_math: a longer way from the reference, and none promised near the ends of the type's range. */
static void test_fast_bounds(void **state)
{
    (void)state;
    static const array x = {{3}, {1, 8, 1e-30}};
    result exact[4], r[4];
    const char *expressions = "x - 0.75, exp(x), log(x), x / 3";
    assert_int_equal(interpret("x: f32[N]", expressions, &x, exact), KN_OK);
    fast = true;
    assert_int_equal(interpret("x: f32[N]", expressions, &x, r), KN_OK);
    fast = false;
    double ulp = 0x1p-23;
    for (int k = 0; k < 2; k++)
        for (int o = 0; o < 4; o++)
            assert_true(r[o].bound[k] > exact[o].bound[k] && r[o].v[k] == exact[o].v[k]);
    assert_true(r[0].bound[0] >= ulp);                   /* of 1, not of 0.25 */
    assert_true(r[1].bound[1] >= 20 * ulp / 2 * exp(8)); /* 4 + 2 * 8 units */
    assert_true(r[2].bound[0] >= 8 * ulp && r[2].bound[0] < 10 * ulp);
    for (int o = 0; o < 4; o++)
        assert_true(isinf(r[o].bound[2]) && isfinite(exact[o].bound[2]));
}

/* Where an inexact operand may fall on either side of a jump, nothing is promised. */
static void test_jumps(void **state)
{
    (void)state;
    static const array x = {{2}, {0.1, 3}};
    result r[8];
    /* a difference of equal values, each within its rounding */
    assert_int_equal(interpret("x: f32[N]",
                               "(x / 3 - x * (1.0 / 3)) > 0, cast(exp(x) - exp(x), bool), "
                               "1 / (exp(x) - exp(x)), (exp(x) - exp(x)) ** 2, "
                               "floor(exp(x) / exp(x)), exp(x) % exp(x)",
                               &x, r),
                     KN_OK);
    for (int64_t k = 0; k < 2; k++) {
        assert_true(r[0].bound[k] >= 1);
        assert_true(r[1].bound[k] >= 1);
        assert_true(isinf(r[2].bound[k]));
        assert_true(r[3].bound[k] > 0 && r[3].bound[k] < 1e-8);
        assert_true(r[4].bound[k] >= 1);
        assert_true(isinf(r[5].bound[k]));
    }
    /* the product of two zeros of unknown sign and size is not exact */
    assert_int_equal(interpret("x: f32[N]", "(exp(x) - exp(x)) * (exp(x) - exp(x))", &x, r), KN_OK);
    assert_true(r[0].v[0] == 0 && r[0].bound[0] > 0);
}

static void test_overflow(void **state)
{
    (void)state;
    static const array x = {{4}, {3e38, 3e38, -3e38, 88.73}};
    static const array big = {{4}, {1e30, 1e30, 0, 1}};
    result r[3];
    /* sums may overflow on the way; exp is next to the largest f32 */
    assert_int_equal(interpret("x: f32[N]", "sum(x), exp(x)", &x, r), KN_OK);
    assert_true(isinf(r[0].bound[0]));
    assert_true(isinf(r[1].bound[3]) || r[1].v[3] == INFINITY);
    /* 1e30 * 1e30 * 0 is NaN in some orders */
    assert_int_equal(interpret("x: f32[N]", "prod(x)", &big, r), KN_OK);
    assert_true(isinf(r[0].bound[0]));
}

static void test_counts(void **state)
{
    (void)state;
    int64_t shape[] = {(int64_t)1 << 40, (int64_t)1 << 40, 0}, stride[3];
    assert_int_equal(kn_count(shape, 2), -1);
    assert_int_equal(kn_count(shape, 3), -1);
    assert_int_equal(kn_count(shape + 1, 2), 0);
    assert_int_equal(kn_count(shape, 0), 1);
    kn_compact_strides((int64_t[]){2, 3, 4}, 3, stride);
    assert_true(stride[0] == 12 && stride[1] == 4 && stride[2] == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(test_values), test(test_nothing),  test(test_specials),
        test(test_exact),  test(test_bounds),   test(test_fast_bounds),
        test(test_jumps),  test(test_overflow), test(test_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
