/* runtime/cpu loops: every operation at every type, in every form of uniform operands, against the
 * scalar evaluator, on values that include the awkward ones; both builds of the loops give the same
 * bits, except for functions of a vector library, whose results do not depend on an element's place. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ir/eval.h"
#include "runtime/cpu/loops.h"

enum { N = 1024 };

static const kn_dtype types[] = {KN_BOOL, KN_I8,  KN_I16, KN_I32, KN_I64,  KN_U8,  KN_U16, KN_U32,
                                 KN_U64,  KN_F32, KN_F64, KN_F16, KN_BF16, KN_C64, KN_C128};
enum { TYPES = sizeof types / sizeof *types };

static const double special_floats[] = {
    0.0,          -0.0,      1,      -1,     0.5,    -0.5, 2,     3,      -3,      7.25,   -7.25,
    INFINITY,     -INFINITY, NAN,    1e-40,  -1e-40, 1e30, -1e30, 0x1p31, -0x1p31, 0x1p63, -0x1p63,
    2147483647.0, 88.7,      -103.9, 0.0625, 1e-3,   100};
static const int64_t special_ints[] = {0,  1,         -1,        2,         -2,        3,  7,
                                       -7, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 10, 31};
enum {
    FLOATS = sizeof special_floats / sizeof *special_floats,
    INTS = sizeof special_ints / sizeof *special_ints
};

/* The i-th value of operand k: pairs of special values first, then many others. */
static kn_scalar sample(kn_dtype t, int k, int i)
{
    if (kn_is_complex(t))
        return (kn_scalar){.dtype = t,
                           .f = sample(kn_real_of(t), k, i).f,
                           .im = sample(kn_real_of(t), 1 - k, i / 2).f};
    int count = kn_is_float(t) ? FLOATS : INTS;
    int at = k == 0 ? i / count : i % count;
    if (kn_is_float(t)) {
        double f = at < FLOATS ? special_floats[at] : (i * 37 % 4001 - 2000) * 0.013;
        return (kn_scalar){.dtype = t, .f = kn_round(t, f)};
    }
    int64_t v = at < INTS ? special_ints[at] : i * 37 % 4001 - 2000;
    if (t == KN_BOOL)
        v = (i >> k) & 1;
    return (kn_scalar){.dtype = t, .i = kn_int_wrap(t, (uint64_t)v)};
}

static void fill(kn_dtype t, int k, void *out)
{
    for (int i = 0; i < N; i++)
        kn_scalar_store(sample(t, k, i), (char *)out + i * kn_bytes(t));
}

static double ulp_of(kn_dtype t, double x)
{
    x = fabs(x);
    int least = t == KN_F32 ? -149 : -1074, digits = t == KN_F32 ? 23 : 52;
    if (x == 0)
        return ldexp(1, least);
    int e = ilogb(x) - digits;
    return ldexp(1, e < least ? least : e);
}

/* What is not finite need only be so: in which parts hangs on the type that a product overflows in. */
static void same_complex(const char *what, kn_op op, kn_scalar got, kn_scalar want)
{
    double a = hypot(got.f, got.im), b = hypot(want.f, want.im);
    double bound = op == KN_OP_COUNT ? 0 : kn_op_ulp(op, want.dtype) + 0.75;
    bool equal = got.f == want.f && got.im == want.im, far = !isfinite(a) && !isfinite(b);
    kn_dtype part = kn_real_of(want.dtype);
    if (!equal && !far &&
        !(hypot(got.f - want.f, got.im - want.im) <=
          bound * ulp_of(part, fmax(fabs(want.f), fabs(want.im)))))
        fail_msg("%s: %a%+aj, not %a%+aj", what, got.f, got.im, want.f, want.im);
}

static void same(const char *what, kn_op op, kn_scalar got, kn_scalar want)
{
    if (kn_is_complex(want.dtype)) {
        same_complex(what, op, got, want);
        return;
    }
    if (!kn_is_float(want.dtype)) {
        if (got.i != want.i)
            fail_msg("%s: %lld, not %lld", what, (long long)got.i, (long long)want.i);
        return;
    }
    if (isnan(got.f) && isnan(want.f))
        return;
    if (got.f == want.f && signbit(got.f) == signbit(want.f))
        return;
    /* the evaluator's own rounding counts as well */
    double bound = op == KN_OP_COUNT ? 0 : kn_op_ulp(op, want.dtype);
    if (bound > 0.5 && fabs(got.f - want.f) <= (bound + 0.5) * ulp_of(want.dtype, want.f))
        return;
    fail_msg("%s: %a, not %a", what, got.f, want.f);
}

static _Alignas(64) char operand[3][N * 16], result[2][N * 16];

static void check(kn_op op, const kn_dtype *in, kn_dtype out, const kn_loops *loops, char *to)
{
    int arity = kn_ops[op].arity;
    kn_loop loop = kn_loops_elem(loops, op, in, out);
    assert_non_null(loop);
    const void *data[3] = {operand[0], operand[1], operand[2]};
    for (int k = 0; k < arity; k++)
        fill(in[k], k, operand[k]);
    for (unsigned uniform = 0; uniform + 1 < 1u << arity || uniform == 0; uniform++)
        for (int from = 0; from < (uniform ? N : 1); from += 251) {
            for (int k = 0; k < arity; k++)
                data[k] = operand[k] + (uniform >> k & 1 ? from * kn_bytes(in[k]) : 0);
            memset(to, 0, sizeof result[0]);
            loop(N, to, data, uniform);
            for (int i = 0; i < N; i++) {
                kn_scalar v[3];
                for (int k = 0; k < arity; k++)
                    v[k] = kn_scalar_load(in[k], operand[k] + (uniform >> k & 1 ? from : i) *
                                                                  kn_bytes(in[k]));
                char what[128];
                snprintf(what, sizeof what, "%s of %s to %s, uniform %u, element %d",
                         kn_ops[op].text, kn_dtypes[in[arity - 1]].text, kn_dtypes[out].text,
                         uniform, i);
                same(what, op, kn_scalar_load(out, to + i * kn_bytes(out)), kn_eval(op, out, v));
            }
        }
}

static bool exists(kn_op op, kn_dtype t)
{
    if (kn_is_half(t))
        return op == KN_OP_COPY || op == KN_OP_WHERE;
    return kn_op_exists(op, t);
}

static const kn_loops *builds[2];
static int nbuilds;

static void operations(void **state)
{
    (void)state;
    for (int o = 0; o < KN_OP_COUNT; o++)
        for (int t = 0; t < TYPES && kn_ops[o].cls == KN_ELEM; t++) {
            kn_op op = (kn_op)o;
            kn_dtype in[3] = {types[t], types[t], types[t]}, out = types[t];
            if (op == KN_OP_CAST)
                continue; /* conversions() */
            if (op == KN_OP_WHERE)
                in[0] = KN_BOOL;
            out = kn_op_result(op, out);
            if (!exists(op, types[t])) {
                assert_null(kn_loops_elem(builds[0], op, in, out));
                continue;
            }
            for (int b = 0; b < nbuilds; b++)
                check(op, in, out, builds[b], result[b]);
            bool own = nbuilds == 2 && builds[1]->maths && builds[1]->maths->elem[op][types[t]];
            if (nbuilds == 2 && !own)
                assert_memory_equal(result[0], result[1], sizeof result[0]);
        }
}

/* Vector functions in blocks of any length, from any element on, and in place: the same bits. */
static void places(void **state)
{
    (void)state;
    for (int o = 0; o < KN_OP_COUNT; o++)
        for (int t = 0; t < TYPES; t++) {
            kn_loop loop =
                builds[nbuilds - 1]->maths ? builds[nbuilds - 1]->maths->elem[o][types[t]] : NULL;
            int bytes = kn_bytes(types[t]);
            const void *all[3] = {operand[0], operand[1], operand[2]};
            for (int k = 0; k < 2; k++)
                fill(types[t], k, operand[k]);
            if (loop)
                loop(N, result[0], all, 0);
            for (int from = 0; loop && from < 200; from++) {
                int n = 1 + from * 7 % 37;
                char guard = (char)from, *to = result[1], *end = to + n * bytes;
                const void *part[3] = {operand[0] + from * bytes, operand[1] + from * bytes, NULL};
                *end = guard;
                loop(n, to, part, 0);
                assert_memory_equal(to, result[0] + from * bytes, (size_t)(n * bytes));
                memcpy(to, part[0], (size_t)(n * bytes));
                part[0] = to;
                loop(n, to, part, 0);
                assert_memory_equal(to, result[0] + from * bytes, (size_t)(n * bytes));
                assert_int_equal(*end, guard);
            }
        }
}

static void conversions(void **state)
{
    (void)state;
    for (int from = 0; from < TYPES; from++)
        for (int to = 0; to < TYPES; to++)
            for (int b = 0; b < nbuilds; b++) {
                kn_dtype f = types[from], t = types[to];
                bool direct = (kn_is_half(f) && t == KN_F32) || (kn_is_half(t) && f == KN_F32) ||
                              (f == KN_F64 && t == KN_F16);
                bool half = kn_is_half(f) || kn_is_half(t),
                     complex = kn_is_complex(f) || kn_is_complex(t);
                direct = direct || (complex && f == kn_real_of(t)) ||
                         (kn_is_complex(f) && t == KN_BOOL) ||
                         (kn_is_complex(f) && kn_is_complex(t) && f != t);
                if (direct || !(half || complex))
                    check(KN_OP_CAST, &f, t, builds[b], result[b]);
                else
                    assert_null(kn_loops_elem(builds[b], KN_OP_CAST, &f, t));
            }
}

/* All 16-bit floats to f32, and what lies near the middle of two of them from f32 and f64. */
static void halves(void **state)
{
    (void)state;
    static const kn_dtype small[] = {KN_F16, KN_BF16}, f32 = KN_F32, f64 = KN_F64;
    static uint16_t bits[N], back[N];
    static float wide[N];
    static double doubles[N];
    const void *from_bits[3] = {bits}, *from_wide[3] = {wide}, *from_doubles[3] = {doubles};
    for (int k = 0; k < 2; k++)
        for (unsigned chunk = 0; chunk < 0x10000; chunk += N)
            for (int b = 0; b < nbuilds; b++) {
                for (unsigned i = 0; i < N; i++)
                    bits[i] = (uint16_t)(chunk + i);
                kn_loops_elem(builds[b], KN_OP_CAST, &small[k], KN_F32)(N, wide, from_bits, 0);
                for (int i = 0; i < N; i++) {
                    same("to f32", KN_OP_COUNT, (kn_scalar){.dtype = KN_F32, .f = (double)wide[i]},
                         (kn_scalar){.dtype = KN_F32, .f = kn_scalar_load(small[k], &bits[i]).f});
                    uint16_t next = (uint16_t)(bits[i] + 1);
                    double middle = kn_scalar_load(small[k], &bits[i]).f / 2 +
                                    kn_scalar_load(small[k], &next).f / 2;
                    doubles[i] = i % 3 == 0 ? middle : nextafter(middle, i % 3 == 1 ? 0 : INFINITY);
                    wide[i] = i % 3 == 0 ? (float)middle
                                         : nextafterf((float)middle, i % 3 == 1 ? 0 : INFINITY);
                }
                kn_loops_elem(builds[b], KN_OP_CAST, &f32, small[k])(N, back, from_wide, 0);
                for (int i = 0; i < N; i++)
                    same("from f32", KN_OP_COUNT, kn_scalar_load(small[k], &back[i]),
                         (kn_scalar){.dtype = small[k], .f = kn_round(small[k], (double)wide[i])});
                if (small[k] != KN_F16)
                    continue;
                kn_loops_elem(builds[b], KN_OP_CAST, &f64, KN_F16)(N, back, from_doubles, 0);
                for (int i = 0; i < N; i++)
                    same("from f64", KN_OP_COUNT, kn_scalar_load(KN_F16, &back[i]),
                         (kn_scalar){.dtype = KN_F16, .f = kn_round(KN_F16, doubles[i])});
            }
}

/* As columns do. */
static void add_up_column(const kn_fold *fold, int n, int bytes, double *to)
{
    double acc[4];
    fold->start(1, to);
    if (fold->blocked)
        fold->again(1, acc, to);
    for (int i = 0; i < n; i++)
        fold->accumulate(1, fold->blocked ? acc : to, operand[0] + i * bytes);
    if (fold->blocked)
        fold->merge(1, to, acc);
}

/* Sums of whole numbers are exact in any order; min and max see a NaN wherever it is, and -0 is less than 0. */
static void reductions(void **state)
{
    (void)state;
    static const kn_op ops[] = {KN_OP_SUM, KN_OP_PROD, KN_OP_MIN, KN_OP_MAX, KN_OP_ANY, KN_OP_ALL};
    static const int lengths[] = {0, 1, 7, 31, 32, 33, 1000};
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++)
        for (int t = 0; t < TYPES; t++)
            for (int b = 0; b < nbuilds; b++) {
                kn_dtype dtype = types[t];
                const kn_fold *fold = kn_loops_fold(builds[b], ops[o], dtype);
                if ((o >= 4 && dtype != KN_BOOL) || kn_is_half(dtype)) {
                    assert_null(fold);
                    continue;
                }
                for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
                    int n = lengths[l], bytes = kn_bytes(dtype);
                    kn_scalar want = kn_identity(ops[o], dtype);
                    for (int i = 0; i < n; i++) {
                        kn_scalar v = sample(KN_I32, 0, N - i);
                        v.i = ops[o] == KN_OP_PROD ? (i % 9 == 0 ? 2 : -1) : v.i % 2000;
                        v = kn_eval_cast(v, dtype);
                        if (n == 1000 && i == 517 && kn_is_inexact(dtype) && o >= 2)
                            v.f = NAN;
                        if (n == 33 && kn_is_inexact(dtype) && (o == 2 || o == 3))
                            v.f = (i == 20) == (o == 2) ? -0.0 : 0.0;
                        kn_scalar_store(v, operand[0] + i * bytes);
                        want = kn_eval(kn_ops[ops[o]].combine, dtype, (kn_scalar[]){want, v});
                    }
                    double acc[4], out[2];
                    fold->start(1, acc);
                    fold->reduce(n, acc, operand[0]);
                    fold->finish(1, out, acc);
                    same(kn_ops[ops[o]].text, KN_OP_COUNT, kn_scalar_load(dtype, out), want);
                    add_up_column(fold, n, bytes, acc);
                    fold->finish(1, out, acc);
                    same(kn_ops[ops[o]].text, KN_OP_COUNT, kn_scalar_load(dtype, out), want);
                }
            }
}

/* The functions of our own, over all magnitudes. */
static void transcendental(void **state)
{
    (void)state;
    static const kn_op ops[] = {KN_OP_EXP, KN_OP_LOG, KN_OP_TANH};
    const kn_dtype t = KN_F32;
    float x[N], y[N];
    const void *in[3] = {x};
    for (uint32_t chunk = 0; chunk < 200; chunk++) {
        for (uint32_t i = 0; i < N; i++) {
            uint32_t bits = (chunk * N + i) * 20983u;
            memcpy(&x[i], &bits, sizeof bits);
        }
        for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
            kn_loops_elem(builds[nbuilds - 1], ops[o], &t, t)(N, y, in, 0);
            for (int i = 0; i < N; i++) {
                kn_scalar v = {.dtype = t, .f = x[i]};
                same(kn_ops[ops[o]].text, ops[o], (kn_scalar){.dtype = t, .f = y[i]},
                     kn_eval(ops[o], t, &v));
            }
        }
    }
}

int main(void)
{
    builds[nbuilds++] = &kn_loops_baseline;
    if (kn_loops_choose() != &kn_loops_baseline)
        builds[nbuilds++] = kn_loops_choose();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations),  cmocka_unit_test(places),
        cmocka_unit_test(conversions), cmocka_unit_test(halves),
        cmocka_unit_test(reductions),  cmocka_unit_test(transcendental),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
