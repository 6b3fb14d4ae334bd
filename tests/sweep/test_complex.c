/* What the devices of this machine give for every operation of complex numbers, over pairs of all the special values of
 * values.c and random ones: within the bounds of ops.def where operands and exact results are finite, and infinite or
 * NaN in the same parts where they are not.
 *
 * usage: test_complex [DEVICE ...]
 * devices.h says what the environment does. */
#include <math.h>
#include <string.h>

#include "ir/complex.h"
#include "tests/hostile.h"
#include "tests/sweep/devices.h"
#include "tests/sweep/sweep.h"

enum { VALUES = 14000, MOST_REPORTS = 3, OPERANDS = 3 };

typedef long double _Complex number_c;

/* ---- operands ---- */

/* x is all pairs of special parts first; y and z are x in other orders. */
static void fill(kn_dtype t, int64_t n, char *const *xyz)
{
    static const int64_t strides[OPERANDS] = {1, 7919, 4567};
    const kn_dtype part = kn_real_of(t);
    char *parts[2];
    for (int k = 0; k < 2; k++) {
        parts[k] = test_malloc((size_t)(n * kn_bytes(part)));
        values_fill(part, k, n, parts[k]);
    }
    for (int k = 0; k < OPERANDS; k++)
        for (int64_t i = 0; i < n; i++) {
            const int64_t from = i * strides[k] % n;
            kn_scalar v = {.dtype = t,
                           .f = kn_scalar_load(part, parts[0] + from * kn_bytes(part)).f,
                           .im = kn_scalar_load(part, parts[1] + from * kn_bytes(part)).f};
            kn_scalar_store(v, xyz[k] + i * kn_bytes(t));
        }
    test_free(parts[0]);
    test_free(parts[1]);
}

/* ---- exact results ---- */

static bool less(number_c a, number_c b)
{
    return creall(a) == creall(b)
               ? cimagl(a) < cimagl(b)
               : creall(a) < creall(b) && cimagl(a) == cimagl(a) && cimagl(b) == cimagl(b);
}

static bool is_nan(number_c a) { return a != a; }
static number_c least(number_c a, number_c b) { return is_nan(a) || less(a, b) || a == b ? a : b; }
static number_c most(number_c a, number_c b) { return is_nan(a) || less(b, a) || a == b ? a : b; }

static number_c product(number_c a, number_c b)
{
    return CMPLXL(creall(a) * creall(b) - cimagl(a) * cimagl(b),
                  creall(a) * cimagl(b) + cimagl(a) * creall(b));
}

/* Smith's algorithm, in long double, whose range no operand leaves. */
static number_c quotient(number_c a, number_c b)
{
    long double c = creall(b), d = cimagl(b);
    if (c == 0 && d == 0)
        return CMPLXL(creall(a) / fabsl(c), cimagl(a) / fabsl(c));
    if (fabsl(c) < fabsl(d)) /* i / i */
        return quotient(CMPLXL(cimagl(a), -creall(a)), CMPLXL(d, -c));
    long double r = d / c, by = 1 / (c + d * r);
    return CMPLXL((creall(a) + cimagl(a) * r) * by, (cimagl(a) - creall(a) * r) * by);
}

static number_c power(number_c a, number_c b)
{
    const long double n = creall(b);
    if (b == 0)
        return 1;
    if (a == 0)
        return n > 0 && cimagl(b) == 0 ? 0 : CMPLXL(NAN, NAN);
    if (cimagl(b) == 0 && fabsl(n) < 100 && n == truncl(n)) {
        number_c result = 1;
        for (int left = (int)fabsl(n); left; left--)
            result = product(result, a);
        return n < 0 ? quotient(1, result) : result;
    }
    return cexpl(product(b, clogl(a)));
}

static number_c sign(number_c a)
{
    long double x = creall(a), y = cimagl(a);
    if (isinf(x) || isinf(y))
        return isinf(x) && isinf(y)
                   ? CMPLXL(NAN, NAN)
                   : CMPLXL(isinf(x) ? copysignl(1, x) : 0, isinf(y) ? copysignl(1, y) : 0);
    return a == 0 ? a : CMPLXL(x / hypotl(x, y), y / hypotl(x, y));
}

static number_c log1p_of(number_c a)
{
    long double x = creall(a), y = cimagl(a);
    bool small = fabsl(x) < 0.5L && fabsl(y) < 0.5L;
    number_c far = clogl(CMPLXL(1 + x, y));
    return small ? CMPLXL(log1pl(x * (2 + x) + y * y) / 2, cimagl(far)) : far;
}

static number_c expm1_of(number_c a)
{
    long double x = creall(a), y = cimagl(a), half = sinl(y / 2);
    return CMPLXL(expm1l(x) * cosl(y) - 2 * half * half, expl(x) * sinl(y));
}

static number_c times(number_c a, long double by) { return CMPLXL(creall(a) * by, cimagl(a) * by); }

static long double to_number(long double x, kn_dtype t)
{
    return x != x ? 0 : isinf(x) ? copysignl((long double)kn_largest(t), x) : x;
}

/* Tests and parts have a real part only. */
static number_c exact(kn_op op, kn_dtype t, const number_c *x, bool c)
{
    const long double LN2 = 0.693147180559945309417232121458176568L,
                      LN10 = 2.302585092994045684017991454684364208L;
    const number_c a = x[0], b = x[1];
    const long double re = creall(a), im = cimagl(a);
    switch (op) {
    case KN_OP_ADD: return CMPLXL(re + creall(b), im + cimagl(b));
    case KN_OP_SUB: return CMPLXL(re - creall(b), im - cimagl(b));
    case KN_OP_MUL: return product(a, b);
    case KN_OP_DIV: return quotient(a, b);
    case KN_OP_POW: return power(a, b);
    case KN_OP_SQUARE: return product(a, a);
    case KN_OP_RECIPROCAL: return quotient(1, a);
    case KN_OP_NEG: return -a;
    case KN_OP_CONJ: return conjl(a);
    case KN_OP_REAL: return re;
    case KN_OP_IMAG: return im;
    case KN_OP_ABS: return hypotl(re, im);
    case KN_OP_ANGLE: return atan2l(im, re);
    case KN_OP_SIGN: return sign(a);
    case KN_OP_SQRT: return csqrtl(a);
    case KN_OP_EXP: return cexpl(a);
    case KN_OP_EXP2: return cexpl(times(a, LN2));
    case KN_OP_EXPM1: return expm1_of(a);
    case KN_OP_LOG: return clogl(a);
    case KN_OP_LOG2: return times(clogl(a), 1 / LN2);
    case KN_OP_LOG10: return times(clogl(a), 1 / LN10);
    case KN_OP_LOG1P: return log1p_of(a);
    case KN_OP_SIN: return csinl(a);
    case KN_OP_COS: return ccosl(a);
    case KN_OP_TAN: return ctanl(a);
    case KN_OP_SINH: return csinhl(a);
    case KN_OP_COSH: return ccoshl(a);
    case KN_OP_TANH: return ctanhl(a);
    case KN_OP_ARCSIN: return casinl(a);
    case KN_OP_ARCCOS: return cacosl(a);
    case KN_OP_ARCTAN: return catanl(a);
    case KN_OP_ARCSINH: return casinhl(a);
    case KN_OP_ARCCOSH: return cacoshl(a);
    case KN_OP_ARCTANH: return catanhl(a);
    case KN_OP_MINIMUM: return least(a, b);
    case KN_OP_MAXIMUM: return most(a, b);
    case KN_OP_FMIN: return is_nan(a) ? b : is_nan(b) ? a : least(a, b);
    case KN_OP_FMAX: return is_nan(a) ? b : is_nan(b) ? a : most(a, b);
    case KN_OP_CLIP: return least(most(a, b), x[2]);
    case KN_OP_LT: return less(a, b);
    case KN_OP_LE: return less(a, b) || a == b;
    case KN_OP_GT: return less(b, a);
    case KN_OP_GE: return less(b, a) || a == b;
    case KN_OP_EQ: return a == b;
    case KN_OP_NE: return a != b;
    case KN_OP_XOR: return (a != 0) != (b != 0);
    case KN_OP_WHERE: return c ? a : b;
    case KN_OP_ISNAN: return is_nan(a);
    case KN_OP_ISINF: return isinf(re) || isinf(im);
    case KN_OP_ISFINITE: return isfinite(re) && isfinite(im);
    case KN_OP_RINT:
    case KN_OP_ROUND: return CMPLXL(rintl(re), rintl(im));
    case KN_OP_NAN_TO_NUM: return CMPLXL(to_number(re, t), to_number(im, t));
    default: return a;
    }
}

/* ---- comparing ---- */

typedef struct sheet {
    kn_dtype t, result;
    kn_op op;
    int64_t n;
    char *in[OPERANDS];
    uint8_t *c;
    char *got[MOST_DEVICES];
} sheet;

static long double larger_part(number_c a) { return fmaxl(fabsl(creall(a)), fabsl(cimagl(a))); }
static bool is_finite(number_c a) { return isfinite(creall(a)) && isfinite(cimagl(a)); }

static int kind(long double x) { return x != x ? 2 : isinf(x) ? (x < 0 ? -1 : 1) : 0; }

/* Of what is not finite, or not with digits: are the same parts NaN and infinite? C leaves the sign of a part open
 * where operands are infinite and NaN, and a product beside an infinity. */
static bool same_kind(number_c got, number_c want)
{
    return abs(kind(creall(got))) == abs(kind(creall(want))) &&
           abs(kind(cimagl(got))) == abs(kind(cimagl(want)));
}

/* Of operands that are not finite: whether a part of a product or a quotient is infinite or NaN hangs on whether what
 * it is the sum of overflows. */
static bool same_at_infinity(kn_op op, number_c got, number_c want)
{
    bool product =
        op == KN_OP_MUL || op == KN_OP_DIV || op == KN_OP_SQUARE || op == KN_OP_RECIPROCAL;
    return same_kind(got, want) || (product && !is_finite(got) && !is_finite(want));
}

/* What the unit of the bound is taken times. */
static long double factor(kn_op op, const number_c *x)
{
    if (kn_complex_ops[op].of != KN_OF_EXPONENT)
        return 1;
    if (op == KN_OP_EXP2)
        return fmaxl(1, cabsl(x[0]));
    return fmaxl(1, cabsl(x[1]) * fmaxl(1, x[0] == 0 ? 0 : cabsl(clogl(x[0]))));
}

/* How far `got` is from `want` in the units of the bound; infinite when it is of another kind. */
static double error_of(const sheet *s, const number_c *x, number_c got, number_c want)
{
    const kn_dtype part = kn_real_of(s->result);
    const long double largest = (long double)kn_largest(part);
    bool finite = true;
    for (int k = 0; k < kn_ops[s->op].arity; k++)
        finite = finite && is_finite(x[k]);
    if (!kn_is_inexact(s->result))
        return got == want ? 0 : INFINITY;
    if (!finite && s->op == KN_OP_POW)
        return 0; /* what cexp gives of products with infinities */
    if (is_nan(want) || !finite)
        return same_at_infinity(s->op, got, want) ? 0 : INFINITY;
    if (larger_part(want) > largest / 4) /* a part may be out of range on the way */
        return 0;
    if (factor(s->op, x) * (long double)kn_unit_roundoff(part) > 1) /* no digit is right */
        return 0;
    if (!is_finite(got))
        return INFINITY;
    return (double)(cabsl(got - want) / number_ulp(part, larger_part(want)) / factor(s->op, x));
}

static double bound_of(const sheet *s) { return kn_complex_ops[s->op].ulp; }

static number_c load(kn_dtype t, const char *p)
{
    const kn_scalar v = kn_scalar_load(t, p);
    return kn_is_inexact(t) ? CMPLXL(v.f, v.im) : (number_c)v.i;
}

static void compare(const sheet *s)
{
    double worst[MOST_DEVICES] = {0};
    int reports[MOST_DEVICES] = {0};
    const char *text = kn_ops[s->op].text, *type = kn_dtypes[s->t].text;
    for (int64_t i = 0; i < s->n; i++) {
        number_c x[OPERANDS];
        for (int k = 0; k < OPERANDS; k++)
            x[k] = load(s->t, s->in[k] + i * kn_bytes(s->t));
        const number_c want = exact(s->op, kn_real_of(s->t), x, s->c[i]);
        for (int d = 0; d < ndevices; d++) {
            const number_c got = load(s->result, s->got[d] + i * kn_bytes(s->result));
            const double error = error_of(s, x, got, want);
            compared++;
            worst[d] = error > worst[d] ? error : worst[d];
            if (error > bound_of(s) && reports[d]++ < MOST_REPORTS)
                printf("%s of %s on %s: (%La %+Laj, %La %+Laj) is %La %+Laj, not %La %+Laj: off by "
                       "%.3g ULP, %g allowed\n",
                       text, type, devices[d].name, creall(x[0]), cimagl(x[0]), creall(x[1]),
                       cimagl(x[1]), creall(got), cimagl(got), creall(want), cimagl(want), error,
                       bound_of(s));
        }
    }
    for (int d = 0; d < ndevices; d++) {
        devices[d].failed += reports[d] > 0;
        if (reports[d])
            printf("%s of %s on %s: %d of %lld are wrong\n", text, type, devices[d].name,
                   reports[d], (long long)s->n);
        else if (bound_of(s) > 0.75)
            printf("%s of %s on %s: within %.3f ULP, %g allowed\n", text, type, devices[d].name,
                   worst[d], bound_of(s));
    }
}

/* ---- running: all operations of one type in a program ---- */

enum { OPERATIONS = 64 };

static kiln_val make(kiln_graph *g, kn_op op, const kiln_val *xyz, kiln_val c)
{
    const kiln_val chosen[] = {c, xyz[0], xyz[1]};
    return kiln_apply(g, kn_ops[op].text, op == KN_OP_WHERE ? chosen : xyz,
                      op == KN_OP_ROUND ? 1 : kn_ops[op].arity);
}

static bool is_swept(int op)
{
    return kn_op_elementwise(op) && kn_complex_ops[op].exists && op != KN_OP_CAST &&
           (!only_op || strcmp(only_op, kn_ops[op].text) == 0);
}

static void run(sheet *s, int n, int d)
{
    static const char *const names[] = {"x", "y", "z", "c"};
    kiln_ctx *ctx = devices[d].ctx;
    kiln_graph *g;
    kiln_prog *prog;
    kiln_val in[OPERANDS + 1];
    kiln_arg args[OPERANDS + 1 + OPERATIONS];
    char name[OPERATIONS][16];
    must(kiln_graph_create(ctx, &g), "graph");
    for (int k = 0; k <= OPERANDS; k++)
        in[k] = kiln_input(g, names[k], k < OPERANDS ? (kiln_dtype)s->t : KILN_BOOL, "N");
    for (int i = 0; i < n; i++) {
        snprintf(name[i], sizeof name[i], "y%d", i);
        must(kiln_output(g, name[i], make(g, s[i].op, in, in[OPERANDS])), kn_ops[s[i].op].text);
    }
    must(kiln_compile(g, NULL, &prog), "compile");
    kiln_graph_destroy(g);
    int nargs = OPERANDS + 1 + n;
    for (int k = 0; k < nargs; k++) {
        const void *from = k < OPERANDS ? (void *)s->in[k] : k == OPERANDS ? (void *)s->c : NULL;
        kiln_io io;
        must(kiln_prog_io(prog, k, &io), "io");
        args[k] = (kiln_arg){io.name, NULL, io.dtype, 1, &s->n, NULL};
        size_t bytes = (size_t)s->n * kiln_dtype_size(io.dtype);
        must(kiln_alloc(ctx, bytes, &args[k].data), "alloc");
        if (from)
            must(kiln_upload(ctx, args[k].data, from, bytes), "upload");
        else
            s[k - OPERANDS - 1].result = (kn_dtype)io.dtype;
    }
    must(run_hostile(prog, args, nargs), devices[d].name);
    for (int k = 0; k < nargs; k++) {
        if (k > OPERANDS)
            must(kiln_download(ctx, s[k - OPERANDS - 1].got[d], args[k].data,
                               (size_t)s->n * kiln_dtype_size(args[k].dtype)),
                 "download");
        kiln_free(ctx, args[k].data);
    }
    kiln_prog_destroy(prog);
}

static void sweep(kn_dtype t)
{
    sheet s[OPERATIONS] = {{.t = t, .n = values}};
    int n = 0;
    for (int k = 0; k < OPERANDS; k++)
        s->in[k] = test_malloc((size_t)values * 16);
    fill(t, values, s->in);
    s->c = test_malloc((size_t)values);
    values_fill(KN_BOOL, 0, values, s->c);
    for (int op = 0; op < KN_OP_COUNT; op++) {
        if (!is_swept(op))
            continue;
        assert_true(n < OPERATIONS);
        s[n] = s[0];
        s[n].op = (kn_op)op;
        for (int d = 0; d < ndevices; d++)
            s[n].got[d] = test_malloc((size_t)values * 16);
        n++;
    }
    enum { AT_ONCE = 8 }; /* a kernel */
    for (int from = 0; from < n; from += AT_ONCE)
        for (int d = 0; d < ndevices; d++)
            run(s + from, n - from < AT_ONCE ? n - from : AT_ONCE, d);
    for (int i = 0; i < n; i++) {
        compare(&s[i]);
        for (int d = 0; d < ndevices; d++)
            test_free(s[i].got[d]);
    }
    for (int k = 0; k < OPERANDS; k++)
        test_free(s->in[k]);
    test_free(s->c);
}

static void test_complex(void **state)
{
    (void)state;
    sweep(KN_C64);
    sweep(KN_C128);
    expect_no_failure();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_complex)};
    if (!open_devices(argc, argv, VALUES))
        return 77;
    return close_devices(cmocka_run_group_tests(tests, NULL, NULL));
}
