/* ir/eval: the meaning of every operation at the values where meanings differ. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ir/eval.h"

static kn_scalar of(kn_dtype t, double v)
{
    return kn_is_float(t) ? (kn_scalar){.dtype = t, .f = v}
                          : (kn_scalar){.dtype = t, .i = (int64_t)v};
}

static double f64(kn_op op, double a, double b)
{
    kn_scalar in[] = {of(KN_F64, a), of(KN_F64, b), of(KN_F64, 0)};
    return kn_eval(op, KN_F64, in).f;
}

static double f32(kn_op op, double a, double b)
{
    kn_scalar in[] = {of(KN_F32, a), of(KN_F32, b), of(KN_F32, 0)};
    kn_scalar r = kn_eval(op, KN_F32, in);
    assert_true(isnan(r.f) || r.f == (double)(float)r.f);
    return r.f;
}

static int64_t integer(kn_op op, kn_dtype t, int64_t a, int64_t b)
{
    kn_scalar in[] = {{.dtype = t, .i = a}, {.dtype = t, .i = b}, {.dtype = t}};
    return kn_eval(op, t, in).i;
}

static bool compare(kn_op op, double a, double b)
{
    kn_scalar in[] = {of(KN_F64, a), of(KN_F64, b), of(KN_F64, 0)};
    kn_scalar r = kn_eval(op, KN_BOOL, in);
    assert_int_equal(r.dtype, KN_BOOL);
    return r.i;
}

static void test_integers_wrap(void **state)
{
    (void)state;
    assert_int_equal(integer(KN_OP_ADD, KN_I32, INT32_MAX, 1), INT32_MIN);
    assert_int_equal(integer(KN_OP_SUB, KN_I32, INT32_MIN, 1), INT32_MAX);
    assert_int_equal(integer(KN_OP_MUL, KN_I32, 1 << 16, 1 << 16), 0);
    assert_int_equal(integer(KN_OP_NEG, KN_I32, INT32_MIN, 0), INT32_MIN);
    assert_int_equal(integer(KN_OP_ABS, KN_I32, INT32_MIN, 0), INT32_MIN);
    assert_int_equal(integer(KN_OP_ADD, KN_I64, INT64_MAX, 1), INT64_MIN);
    assert_int_equal(integer(KN_OP_ABS, KN_I64, INT64_MIN, 0), INT64_MIN);
}

static void test_integer_division(void **state)
{
    (void)state;
    static const int64_t cases[][4] = {
        /* a, b, a // b, a % b: towards minus infinity, the sign of b */
        {7, 2, 3, 1},   {-7, 2, -4, 1}, {7, -2, -4, -1}, {-7, -2, 3, -1}, {6, -2, -3, 0},
        {-6, 2, -3, 0}, {0, 5, 0, 0},   {5, 0, 0, 0},    {-5, 0, 0, 0},   {5, -1, -5, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(integer(KN_OP_FLOORDIV, KN_I64, cases[i][0], cases[i][1]), cases[i][2]);
        assert_int_equal(integer(KN_OP_MOD, KN_I64, cases[i][0], cases[i][1]), cases[i][3]);
    }
    assert_int_equal(integer(KN_OP_FLOORDIV, KN_I32, INT32_MIN, -1), INT32_MIN);
    assert_int_equal(integer(KN_OP_FLOORDIV, KN_I64, INT64_MIN, -1), INT64_MIN);
    assert_int_equal(integer(KN_OP_MOD, KN_I64, INT64_MIN, -1), 0);
}

static void test_integer_power(void **state)
{
    (void)state;
    assert_int_equal(integer(KN_OP_POW, KN_I32, 0, 0), 1);
    assert_int_equal(integer(KN_OP_POW, KN_I32, 3, 4), 81);
    assert_int_equal(integer(KN_OP_POW, KN_I32, -2, 31), INT32_MIN);
    assert_int_equal(integer(KN_OP_POW, KN_I32, 2, 32), 0);
    assert_int_equal(integer(KN_OP_POW, KN_I64, 2, 63), INT64_MIN);
    assert_int_equal(integer(KN_OP_POW, KN_I64, 2, -1), 0);
    assert_int_equal(integer(KN_OP_POW, KN_I64, 1, -5), 1);
    assert_int_equal(integer(KN_OP_POW, KN_I64, -1, -5), -1);
    assert_int_equal(integer(KN_OP_POW, KN_I64, -1, -4), 1);
}

static void test_float_division(void **state)
{
    (void)state;
    static const double cases[][4] = {
        {7, 2, 3, 1},
        {-7, 2, -4, 1},
        {7, -2, -4, -1},
        {-7, -2, 3, -1},
        {5.5, 2.5, 2, 0.5},
        {-5.5, 2.5, -3, 2},
        {1, 0.1, 9, 0.09999999999999995},
        {-0.0, 3, -0.0, 0.0},
        {1, INFINITY, 0, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double q = f64(KN_OP_FLOORDIV, cases[i][0], cases[i][1]);
        double r = f64(KN_OP_MOD, cases[i][0], cases[i][1]);
        assert_true(q == cases[i][2] && signbit(q) == signbit(cases[i][2]));
        assert_true(r == cases[i][3] && signbit(r) == signbit(cases[i][3]));
    }
    assert_true(f64(KN_OP_FLOORDIV, 1, 0) == INFINITY);
    assert_true(f64(KN_OP_FLOORDIV, -1, 0) == -INFINITY);
    assert_true(isnan(f64(KN_OP_FLOORDIV, 0, 0)));
    assert_true(isnan(f64(KN_OP_MOD, 1, 0)));
    assert_true(isnan(f64(KN_OP_MOD, INFINITY, 2)));
    assert_true(f64(KN_OP_MOD, -1, INFINITY) == INFINITY);
    double zero = f64(KN_OP_MOD, 4, -2);
    assert_true(zero == 0 && signbit(zero));
    assert_true(f64(KN_OP_DIV, 1, -0.0) == -INFINITY);
}

static void test_nan_and_zero(void **state)
{
    (void)state;
    assert_true(isnan(f64(KN_OP_MINIMUM, NAN, 1)) && isnan(f64(KN_OP_MINIMUM, 1, NAN)));
    assert_true(isnan(f64(KN_OP_MAXIMUM, NAN, 1)) && isnan(f64(KN_OP_MAXIMUM, 1, NAN)));
    assert_true(f64(KN_OP_MINIMUM, -INFINITY, 1) == -INFINITY);
    assert_true(compare(KN_OP_NE, NAN, NAN));
    assert_false(compare(KN_OP_EQ, NAN, NAN) || compare(KN_OP_LE, NAN, 1) ||
                 compare(KN_OP_GT, 1, NAN));
    assert_true(compare(KN_OP_EQ, 0.0, -0.0));
    assert_true(f64(KN_OP_POW, NAN, 0) == 1 && f64(KN_OP_POW, 1, NAN) == 1);
    assert_true(isnan(f64(KN_OP_POW, -8, 1.0 / 3)));
    assert_true(isnan(f64(KN_OP_SQRT, -1, 0)) && isnan(f64(KN_OP_LOG, -1, 0)));
    assert_true(f64(KN_OP_RSQRT, 0, 0) == INFINITY && f64(KN_OP_LOG, 0, 0) == -INFINITY);
    double neg = f64(KN_OP_NEG, 0, 0);
    assert_true(signbit(neg));
    assert_true(f64(KN_OP_FLOOR, -0.5, 0) == -1 && f64(KN_OP_CEIL, 0.5, 0) == 1);
}

static void test_f32_rounds_once(void **state)
{
    (void)state;
    assert_true(f32(KN_OP_ADD, 16777216, 1) == 16777216);
    assert_true(f32(KN_OP_MUL, 0x1p100, 0x1p100) == INFINITY);
    assert_true(f32(KN_OP_DIV, 1, 3) == (double)(1.0f / 3.0f));
    assert_true(f32(KN_OP_EXP, 1, 0) == (double)(float)exp(1));
    assert_true(f32(KN_OP_EXP, 89, 0) == INFINITY);
}

static void test_casts(void **state)
{
    (void)state;
    static const struct {
        kn_dtype from;
        double v;
        kn_dtype to;
        double want;
    } cases[] = {
        {KN_F64, 2.9, KN_I32, 2},
        {KN_F64, -2.9, KN_I64, -2},
        {KN_F64, 2147483648.0, KN_I32, -2147483648.0},
        {KN_F64, -2147483648.9, KN_I32, -2147483648.0},
        {KN_F64, 2147483647.9, KN_I32, 2147483647.0},
        {KN_F64, 0x1p63, KN_I64, -0x1p63},
        {KN_F64, -0x1p63, KN_I64, -0x1p63},
        {KN_F64, NAN, KN_I32, -2147483648.0},
        {KN_F64, INFINITY, KN_I64, -0x1p63},
        {KN_F64, NAN, KN_BOOL, 1},
        {KN_F64, -0.0, KN_BOOL, 0},
        {KN_F64, 1e-300, KN_BOOL, 1},
        {KN_F64, 1e-300, KN_F32, 0},
        {KN_F64, 1e300, KN_F32, INFINITY},
        {KN_I64, 16777217, KN_F32, 16777216},
        {KN_I64, 4294967301.0, KN_I32, 5},
        {KN_I64, 2, KN_BOOL, 1},
        {KN_BOOL, 1, KN_F32, 1},
        {KN_I32, -1, KN_I64, -1},
        /* narrow integers: the low bits of what x86 converts to */
        {KN_F64, 300.7, KN_U8, 44},
        {KN_F64, -5.5, KN_U8, 251},
        {KN_F64, 40000, KN_I16, -25536},
        {KN_F32, 1e20, KN_I8, 0},
        {KN_F64, -5, KN_U32, 4294967291.0},
        {KN_F64, 3e9, KN_U32, 3e9},
        {KN_F16, NAN, KN_U16, 0},
        {KN_I64, -1, KN_U16, 65535},
        {KN_U8, 200, KN_I8, -56},
        {KN_I32, 65520, KN_F16, INFINITY},
        {KN_F64, 65519.99, KN_F16, 65504},
        {KN_F64, 0x1.002001p0, KN_F16, 0x1.004p0}, /* at once; by way of f32 it is a tie */
        {KN_F64, 0x1.010000001p0, KN_BF16, 1},     /* by way of f32 */
        {KN_F32, 0x1.018p0, KN_BF16, 0x1.02p0},
        {KN_F64, 3.39e38, KN_BF16, 0x1.fep127},
        {KN_F32, 0x1.ffp127, KN_BF16, INFINITY},
        {KN_F64, 0x1p-25, KN_F16, 0},
        {KN_F64, 0x1.8p-25, KN_F16, 0x1p-24},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kn_scalar r = kn_eval_cast(of(cases[i].from, cases[i].v), cases[i].to);
        assert_int_equal(r.dtype, cases[i].to);
        assert_true((kn_is_float(r.dtype) ? r.f : (double)r.i) == cases[i].want);
    }
}

static void test_unsigned(void **state)
{
    (void)state;
    const int64_t top = -1; /* 2^64 - 1 */
    assert_int_equal(integer(KN_OP_SUB, KN_U8, 3, 5), 254);
    assert_int_equal(integer(KN_OP_NEG, KN_U16, 1, 0), 65535);
    assert_int_equal(integer(KN_OP_MUL, KN_U32, 65537, 65537), 131073);
    assert_int_equal(integer(KN_OP_FLOORDIV, KN_U64, top, 2), INT64_MAX);
    assert_int_equal(integer(KN_OP_MOD, KN_U64, top, 10), 5);
    assert_int_equal(integer(KN_OP_MOD, KN_U64, top, 0), 0);
    assert_int_equal(integer(KN_OP_MAXIMUM, KN_U64, top, 1), top);
    assert_int_equal(integer(KN_OP_ABS, KN_U64, top, 0), top);
    assert_int_equal(integer(KN_OP_POW, KN_U8, 3, 6), 729 & 255);
    kn_scalar wide[] = {{.dtype = KN_U64, .i = top}, {.dtype = KN_U64, .i = 1}};
    assert_true(kn_eval(KN_OP_GT, KN_BOOL, wide).i);
    assert_true(kn_eval_cast(wide[0], KN_F64).f == 0x1p64);
    assert_int_equal(kn_eval_cast(of(KN_F64, 0x1.fp63), KN_U64).i, (int64_t)0xf800000000000000);
}

/* Every 16-bit float survives a trip through memory, and half way between two of them is the even one. */
static void test_halves(void **state)
{
    (void)state;
    static const kn_dtype types[] = {KN_F16, KN_BF16};
    for (int k = 0; k < 2; k++)
        for (unsigned bits = 0; bits < 0x10000; bits++) {
            uint16_t in = (uint16_t)bits, out, next = (uint16_t)(bits + 1);
            kn_scalar v = kn_scalar_load(types[k], &in);
            kn_scalar_store(v, &out);
            if (isnan(v.f))
                continue;
            assert_int_equal(out, in);
            assert_true(kn_round(types[k], v.f) == v.f);
            double up = kn_scalar_load(types[k], &next).f, middle = v.f / 2 + up / 2;
            if (isfinite(up) && (bits & 0x7fff) != 0x7fff)
                assert_true(kn_round(types[k], middle) == (bits & 1 ? up : v.f));
        }
}

static void test_promotion(void **state)
{
    (void)state;
    static const kn_dtype cases[][3] = {
        {KN_I8, KN_U8, KN_I16},    {KN_I8, KN_U16, KN_I32},   {KN_I64, KN_U8, KN_I64},
        {KN_I8, KN_U64, KN_F64},   {KN_U32, KN_I32, KN_I64},  {KN_U8, KN_U32, KN_U32},
        {KN_I8, KN_F16, KN_F16},   {KN_U16, KN_F16, KN_F32},  {KN_I32, KN_F16, KN_F64},
        {KN_I16, KN_F32, KN_F32},  {KN_U32, KN_F32, KN_F64},  {KN_BOOL, KN_F16, KN_F16},
        {KN_BF16, KN_F16, KN_F32}, {KN_BF16, KN_U8, KN_BF16}, {KN_BF16, KN_I16, KN_F32},
        {KN_BF16, KN_I32, KN_F64}, {KN_BF16, KN_F64, KN_F64}, {KN_BOOL, KN_U8, KN_U8},
        {KN_C64, KN_F32, KN_C64},  {KN_C64, KN_F64, KN_C128}, {KN_C64, KN_I16, KN_C64},
        {KN_C64, KN_U32, KN_C128}, {KN_C64, KN_BF16, KN_C64}, {KN_C64, KN_C128, KN_C128},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(kn_promote(cases[i][0], cases[i][1]), cases[i][2]);
        assert_int_equal(kn_promote(cases[i][1], cases[i][0]), cases[i][2]);
    }
}

static void test_logic_and_where(void **state)
{
    (void)state;
    for (int a = 0; a < 2; a++)
        for (int b = 0; b < 2; b++) {
            assert_int_equal(integer(KN_OP_AND, KN_BOOL, a, b), a && b);
            assert_int_equal(integer(KN_OP_OR, KN_BOOL, a, b), a || b);
            assert_int_equal(integer(KN_OP_NOT, KN_BOOL, a, b), !a);
        }
    kn_scalar in[] = {of(KN_BOOL, 1), of(KN_F32, 2), of(KN_F32, NAN)};
    assert_true(kn_eval(KN_OP_WHERE, KN_F32, in).f == 2);
    in[0].i = 0;
    assert_true(isnan(kn_eval(KN_OP_WHERE, KN_F32, in).f));
}

static void test_identities(void **state)
{
    (void)state;
    static const kn_dtype types[] = {KN_BOOL, KN_I32, KN_I64, KN_F32, KN_F64};
    static const kn_op ops[] = {KN_OP_SUM, KN_OP_PROD, KN_OP_MIN, KN_OP_MAX, KN_OP_ANY, KN_OP_ALL};
    for (size_t t = 0; t < 5; t++)
        for (size_t o = 0; o < 6; o++) {
            bool logic = ops[o] == KN_OP_ANY || ops[o] == KN_OP_ALL;
            if (logic != (types[t] == KN_BOOL))
                continue; /* ANY and ALL are on bool, and bool has no other reductions */
            for (int v = -1; v <= 1; v++) {
                kn_scalar x = of(types[t], types[t] == KN_BOOL ? v & 1 : v);
                kn_scalar in[] = {kn_identity(ops[o], types[t]), x, x};
                kn_scalar r = kn_eval(kn_ops[ops[o]].combine, types[t], in);
                assert_true(kn_is_float(types[t]) ? r.f == x.f : r.i == x.i);
            }
        }
}

static void test_tables(void **state)
{
    (void)state;
    assert_int_equal(kn_op_find("add", 3), KN_OP_ADD);
    assert_int_equal(kn_op_find("mod", 3), KN_OP_MOD);
    assert_int_equal(kn_op_find("amax", 4), KN_OP_MAX);
    assert_int_equal((int)kn_op_find("fold", 4), -1);
    assert_int_equal(kn_promote(KN_I32, KN_F32), KN_F64);
    assert_int_equal(kn_promote(KN_I64, KN_F32), KN_F64);
    assert_int_equal(kn_promote(KN_BOOL, KN_F32), KN_F32);
    assert_int_equal(kn_promote(KN_I32, KN_I64), KN_I64);
    assert_int_equal(kn_dtype_find("float32", 7), KN_F32);
    assert_int_equal(kn_dtype_find("f32x", 4), KN_NO_DTYPE);
    assert_false(kn_dtype_valid(-1) || kn_dtype_valid(0) || kn_dtype_valid(16) ||
                 kn_dtype_valid(1000));
    assert_true(kn_op_ulp(KN_OP_EXP, KN_F32) == 4 && kn_op_ulp(KN_OP_ADD, KN_I32) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers_wrap),   cmocka_unit_test(test_integer_division),
        cmocka_unit_test(test_integer_power),   cmocka_unit_test(test_float_division),
        cmocka_unit_test(test_nan_and_zero),    cmocka_unit_test(test_f32_rounds_once),
        cmocka_unit_test(test_unsigned),        cmocka_unit_test(test_halves),
        cmocka_unit_test(test_promotion),       cmocka_unit_test(test_casts),
        cmocka_unit_test(test_logic_and_where), cmocka_unit_test(test_identities),
        cmocka_unit_test(test_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
