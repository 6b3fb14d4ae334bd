/* First and second derivatives of the formulas that have rules of their own in ir/grad.def, in every float type, against
 * closed forms in long double, where they are hard: at 0, in both tails, at infinities, of NaN. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "frontend/parse/parse.h"
#include "ir/interp.h"
#include "ir/pass/pass.h"
#include "tests/differential/check.h"

typedef long double real;

static const real PI = 3.141592653589793238462643383279502884L;
static const real ROOT_2_PI = 0.797884560802865355879892119868763737L; /* sqrt(2 / pi) */
static const real LN2 = 0.693147180559945309417232121458176568L;

/* ---- closed forms ---- */

static real logistic(real x) { return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x)); }

static real bump(real x)
{
    real e = expl(-fabsl(x));
    return e / ((1 + e) * (1 + e));
}

/* a * b, where a may be infinite, and b falls faster than any power. */
static real falls(real a, real b) { return b == 0 && !isnan(a) ? 0 : a * b; }

static real sigmoid2(real x) { return -tanhl(x / 2) * bump(x); }
static real silu1(real x) { return logistic(x) + falls(x, bump(x)); }
static real silu2(real x) { return 2 * bump(x) + falls(x, sigmoid2(x)); }
static real density(real x) { return ROOT_2_PI / 2 * expl(-x * x / 2); }
static real gelu1(real x) { return 0.5L * erfcl(-x / sqrtl(2)) + falls(x, density(x)); }
static real gelu2(real x) { return 2 * density(x) - falls(x * x, density(x)); }

/* 1 + tanh(u), and the derivative of tanh(u), of u = sqrt(2 / pi) * (x + 0.044715 * x**3). */
static real inner(real x) { return ROOT_2_PI * (x + 0.044715L * x * x * x); }
static real inner1(real x) { return ROOT_2_PI * (1 + 3 * 0.044715L * x * x); }
static real half(real x) { return logistic(2 * inner(x)); }
static real rise(real x) { return falls(inner1(x), 4 * bump(2 * inner(x))); }
static real gelu_tanh1(real x) { return half(x) + falls(x / 2, rise(x)); }
static real gelu_tanh2(real x)
{
    real bend = 6 * ROOT_2_PI * 0.044715L * x * 4 * bump(2 * inner(x));
    bend -= 2 * tanhl(inner(x)) * falls(inner1(x), rise(x));
    return rise(x) + x / 2 * bend;
}

static real share2(real x) { return logistic(x * LN2); }
static real share22(real x) { return LN2 * bump(x * LN2); }

/* The derivative of order 1 or 2 of sin(u) / u. */
static real sinc_by_u(real u, int order)
{
    real sum = 0, term = 1;
    if (fabsl(u) >= 1 || isnan(u))
        return order == 1 ? (cosl(u) - sinl(u) / u) / u
                          : -sinl(u) / u - 2 * (cosl(u) - sinl(u) / u) / (u * u);
    for (int k = 1; k < 14; k++) { /* term: (-1)**k * u**(2k - 2) / (2k + 1)! */
        term *= -(k == 1 ? 1 : u * u) / (2 * k * (2 * k + 1));
        sum += order == 1 ? 2 * k * term * u : 2 * k * (2 * k - 1) * term;
    }
    return sum;
}
static real sinc1(real x) { return PI * sinc_by_u(PI * x, 1); }
static real sinc2(real x) { return PI * PI * sinc_by_u(PI * x, 2); }

/* ---- rows ---- */

typedef real (*function)(real);

static const struct {
    const char *value;
    function of[2];
    /* of the last place of `size`, which the derivative of that order is off by at most */
    double units[2];
    function size; /* NULL: 1 */
    /* larger abs(x), infinity included unless this is INFINITY, is not compared: in second derivatives, and in first ones of
     * sinc */
    double most;
} rows[] = {
    {"sigmoid(x)", {bump, sigmoid2}, {2.5, 3}, bump, INFINITY},
    {"softplus(x)", {logistic, bump}, {2, 2.5}, logistic, INFINITY},
    {"silu(x)", {silu1, silu2}, {2, 4}, NULL, INFINITY},
    {"gelu(x)", {gelu1, gelu2}, {3, 6}, NULL, INFINITY},
    {"gelu_tanh(x)", {gelu_tanh1, gelu_tanh2}, {8, 40}, NULL, 1000},
    {"sinc(x)", {sinc1, sinc2}, {12, 120}, NULL, 30},
    {"logaddexp(x, 0)", {logistic, bump}, {2.5, 3}, logistic, INFINITY},
    {"logaddexp(0, x)", {logistic, bump}, {2.5, 3}, logistic, INFINITY},
    {"logaddexp2(x, 0)", {share2, share22}, {2.5, 3}, share2, INFINITY},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* Taken with both signs. */
static const double points[] = {
    0,     4.9e-324, 1e-300, 1e-30, 1e-8, 1e-5, 1e-3,  0.1,      0.25, 0.5, 1,    1.1,
    1.278, 1.5,      2,      3,     5,    6.5,  8,     10,       17,   25,  38,   60,
    87.5,  88.5,     95,     104,   150,  300,  700,   709,      740,  750, 1000, 2047,
    2048,  1e4,      1e10,   1e30,  1e60, 3e4,  1e300, INFINITY, NAN,
};
enum { POINTS = 2 * sizeof points / sizeof *points };

static double epsilon(kn_dtype t)
{
    return t == KN_F64 ? DBL_EPSILON : t == KN_F32 ? FLT_EPSILON : t == KN_F16 ? 0x1p-10 : 0x1p-7;
}

static double smallest(kn_dtype t)
{
    return t == KN_F64 ? DBL_MIN : t == KN_F16 ? 0x1p-14 : (double)FLT_MIN;
}

/* What this body of a program makes of x, to y. */
static void run_body(kn_arena *a, const char *body, kn_dtype t, const void *x, void *y)
{
    int64_t sizes[MAX_SYMBOLS] = {0};
    kn_graph *g = kn_graph_new(a, "f");
    const char *text =
        kn_sprintf(a, "def f(x: %s[%d]):\n%s\n", kn_dtypes[t].text, (int)POINTS, body);
    kn_array in = {.dtype = t, .rank = 1, .shape = {POINTS}, .stride = {1}}, out = in;
    in.data = (void *)(uintptr_t)x;
    out.data = y;
    if (kn_parse(g, text, "f") || !(g = kn_graph_optimise(a, g, false, NULL)) ||
        kn_interp(g, a, sizes, &in, &out, NULL))
        fail_msg("%s: %s", text, kn_last_error());
}

/* The derivative of this order of rows[i], of x, to y. */
static void derive(int i, int order, kn_dtype t, const void *x, void *y)
{
    kn_arena a;
    const char *value = rows[i].value;
    kn_arena_init(&a, &kn_malloc_allocator);
    for (int o = 0; o < order; o++)
        value = kn_sprintf(&a, "vjp(%s, 1, x)", value);
    run_body(&a, kn_sprintf(&a, "    return %s", value), t, x, y);
    kn_arena_finish(&a);
}

/* How far got may be from want. */
static double allowed(int i, int order, kn_dtype t, real x, real want)
{
    kn_dtype wide = kn_compute_dtype(t);
    real size = rows[i].size ? rows[i].size(x) : 1;
    double rounds = t == wide ? 0 : 0.51 * epsilon(t) * fabs((double)want) + 0x1p-25;
    return rows[i].units[order - 1] * epsilon(wide) * (double)size + 4 * smallest(wide) + rounds;
}

/* How many are wrong. */
static int hold(kn_dtype t, int order)
{
    double x[POINTS], y[POINTS];
    int wrong = 0;
    for (int p = 0; p < POINTS; p++)
        kn_scalar_store((kn_scalar){.dtype = t, .f = p % 2 ? -points[p / 2] : points[p / 2]},
                        (char *)x + p * kn_bytes(t));
    for (int i = 0; i < ROWS; i++) {
        derive(i, order, t, x, y);
        for (int p = 0; p < POINTS; p++) {
            real at = kn_scalar_load(t, (char *)x + p * kn_bytes(t)).f;
            double got = kn_scalar_load(t, (char *)y + p * kn_bytes(t)).f;
            bool sinc = rows[i].of[0] == sinc1;
            if (fabsl(at) > rows[i].most && (order == 2 || sinc))
                continue;
            real want = rows[i].of[order - 1](at);
            if (isnan(want) ? isnan(got) : fabsl(got - want) <= allowed(i, order, t, at, want))
                continue;
            wrong++;
            print_error("order %d of %s in %s at %Lg: %.17g, not %.17Lg\n", order, rows[i].value,
                        kn_dtypes[t].text, at, got, want);
        }
    }
    return wrong;
}

static void hold_types(int order)
{
    int wrong = 0;
    for (int t = KN_F16; t <= KN_F64; t++)
        wrong += hold((kn_dtype)t, order);
    assert_int_equal(wrong, 0);
}

static void test_first(void **state)
{
    (void)state;
    hold_types(1);
}

static void test_second(void **state)
{
    (void)state;
    hold_types(2);
}

/* Of formulas that are differentiated by an intermediate value, too, and so by their expansions: none of these has a kink. */
static void test_parts(void **state)
{
    (void)state;
    static const char *const bodies[][2] = {
        {"softplus", "    n = -x\n    d, dn = vjp(softplus(x), 1, (x, n))\n    return d"},
        {"logaddexp", "    z = cast(x < x, f64)\n    n = x - z\n"
                      "    d, dn = vjp(logaddexp(x, z), 1, (x, n))\n    return d"},
    };
    double x[POINTS], y[POINTS];
    for (int p = 0; p < POINTS; p++)
        x[p] = p % 2 ? -points[p / 2] : points[p / 2];
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        kn_arena a;
        kn_arena_init(&a, &kn_malloc_allocator);
        run_body(&a, bodies[i][1], KN_F64, x, y);
        for (int p = 0; p < POINTS; p++)
            if (fabs(x[p]) <= 17 && fabs(y[p] - (double)logistic(x[p])) > 1e-15)
                fail_msg("%s by parts at %g: %.17g", bodies[i][0], x[p], y[p]);
        kn_arena_finish(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_first), cmocka_unit_test(test_second),
                                       cmocka_unit_test(test_parts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
