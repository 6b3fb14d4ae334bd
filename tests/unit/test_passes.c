/* ir/pass: what each pass makes of a graph, and that all of them keep its meaning's form. */
#include <math.h>

#include "base/work.h"
#include "ir/grouped.h"
#include "ir/interp.h"
#include "ir/pass/pass.h"
#include "tests/unit/graphs.h"

typedef struct pass_case {
    const char *params, *expressions, *after;
} pass_case;

static void run_cases(kn_pass_fn pass, const pass_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        kn_graph *g = pass(&arena, graph_of(cases[i].params, cases[i].expressions));
        assert_non_null(g);
        assert_int_equal(kn_graph_verify(g), KN_OK);
        assert_string_equal(outputs_of(g), cases[i].after);
    }
}

static kn_graph *folded_algebra(kn_arena *a, kn_graph *g)
{
    return kn_pass_algebra(a, kn_pass_fold(a, g));
}

#define run(pass, cases) run_cases(pass, cases, sizeof cases / sizeof *cases)

static void test_decompose(void **state)
{
    (void)state;
    static const pass_case cases[] = {
        /* 16-bit floats have neither their means nor their deviations rounded */
        {"x: f16[N, C]", "var(x, axis=0, keepdims=True)", "f16(var{0}(f32(x)))"},
        {"x: f32[N, C]", "var(x, axis=0, keepdims=True)", "var{0}(x)"},
        {"x: f32[N]", "x ** 2", "multiply(x, x)"},
        /* axes of size 1 are no reduction */
        {"x: f32[N, 1]", "sum(x, axis=1, keepdims=True)", "copy(x)"},
        {"x: f32[N, 1]", "mean(x, axis=(0, 1), keepdims=True)", "mean{0}(x)"},
        {"x: f32[N, 1]", "max(x, axis=())", "copy(x)"},
        {"x: f32[N, 1]", "var(x, axis=1, keepdims=True)",
         "multiply(subtract(x, x), subtract(x, x))"},
        {"x: f32[N, 1]", "var(x, axis=1, keepdims=True, ddof=1)",
         "divide(multiply(subtract(x, x), subtract(x, x)), 0:f32 as [1, 1])"},
        {"x: f32[()]", "var(x, ddof=-1)",
         "divide(multiply(subtract(x, x), subtract(x, x)), 2:f32)"},
        {"x: f32[()]", "sum(x)", "copy(x)"},
        {"x: f32[N]", "x + 1", "add(x, 1:f32 as [1])"},
    };
    run(kn_pass_decompose, cases);
}

static void test_fold(void **state)
{
    (void)state;
    static const pass_case cases[] = {
        {"x: f32[N]", "x * (2.0 + 3)", "multiply(x, 5:f32 as [1])"},
        {"x: f32[N]", "x + sqrt(4.0)", "add(f64(x), 2:f64 as [1])"},
        {"x: f32[N]", "where(1 < 2, x, 0)", "where(True:bool as [1], x, 0:f32 as [1])"},
        {"x: i32[N]", "x + 7 // -2", "add(x, -4:i32 as [1])"},
        {"x: f32[N]", "abs(x < x)", "less(x, x)"},
        {"x: f32[N]", "cast(cast(x, f64), f32)", "f32(f64(x))"}, /* may round: stays */
        {"x: f32[N]", "x + 0", "add(x, 0:f32 as [1])"},          /* -0.0 + 0 is 0 */
        {"x: f32[N]", "2.0 ** 10, 1 / 4", "1024:f64; 0.25:f64"},
    };
    run(kn_pass_fold, cases);
}

static const pass_case identities[] = {
    {"x: f32[N]", "x * 1", "x"},
    {"x: f32[N]", "1 * x / 1", "x"},
    {"x: i32[N]", "x * 1 + 0 - 0", "x"},
    {"x: f32[N]", "x - 0", "x"},
    {"x: f32[N]", "x - -0.0", "subtract(x, -0:f32 as [1])"}, /* -0 - -0 is 0 */
    {"x: f32[N]", "x + 0", "add(x, 0:f32 as [1])"},          /* and so is -0 + 0 */
    {"x: f32[N]", "x + -0.0", "x"},
    {"x: f32[N]", "-0.0 + x", "x"},
    {"x: f32[N]", "x * 0", "multiply(x, 0:f32 as [1])"}, /* not of infinities */
    {"x: f32[N]", "x - x", "subtract(x, x)"},
    {"x: f32[N]", "x == x", "equal(x, x)"},
    {"x: f32[N]", "-(-x)", "x"},
    {"x: f32[N]", "x * -1", "negative(x)"},
    {"x: f32[N]", "x / -1", "negative(x)"},
    {"x: u8[N]", "x * 255", "multiply(x, 255:u8 as [1])"},
    {"x: f32[N]", "x / 8", "multiply(x, 0.125:f32 as [1])"},
    {"x: f32[N]", "x / -0.25", "multiply(x, -4:f32 as [1])"},
    {"x: f32[N]", "x / 3", "divide(x, 3:f32 as [1])"}, /* a third is rounded */
    {"x: f32[N]", "x / 0", "divide(x, 0:f32 as [1])"},
    {"x: f32[N], y: f32[N]", "x + -y", "subtract(x, y)"},
    {"x: f32[N], y: f32[N]", "-x + y", "subtract(y, x)"},
    {"x: f32[N], y: f32[N]", "x - -y", "add(x, y)"},
    {"x: f32[N], y: f32[N]", "-x * -y", "multiply(x, y)"},
    {"x: f32[N], y: f32[N]", "-x / -y", "divide(x, y)"},
    {"x: f32[N], y: f32[N]", "-x - y", "subtract(negative(x), y)"},
    {"x: f32[N]", "abs(-x)", "abs(x)"},
    {"x: f32[N]", "abs(abs(x))", "abs(x)"},
    {"x: i8[N]", "abs(-x)", "abs(x)"},
    {"x: u64[N]", "abs(-x)", "abs(negative(x))"}, /* 2**64 - x */
    {"x: f32[N]", "where(signbit(x), x, -x)", "negative(abs(x))"},
    {"x: f32[N]", "where(signbit(x), -x, x)", "abs(x)"},
    {"x: f32[N]", "where(signbit(-x), -x, x)", "negative(abs(x))"},
    {"x: f32[N]", "where(x < 0, -x, x)",
     "where(less(x, 0:f32 as [1]), negative(x), x)"}, /* of -0 */
    {"x: f32[N]", "maximum(x, x) + minimum(x, x)", "add(x, x)"},
    {"x: f32[N], y: f32[N]", "where(y > 0, x, x)", "x"},
    {"x: f32[N]", "cast(cast(x, f64), f32)", "x"},
    {"x: f16[N]", "cast(cast(x, f32), f16)", "x"},
    {"x: f32[N]", "cast(cast(x, f16), f32)", "f32(f16(x))"}, /* rounds */
    {"x: f16[N]", "cast(cast(x, bf16), f16)", "f16(bf16(x))"},
};
enum { IDENTITIES = sizeof identities / sizeof *identities };

static void test_algebra(void **state)
{
    (void)state;
    run(folded_algebra, identities);
}

/* What only fast_math allows. Names of the results are not repeated where the pass did nothing. */
static void test_relax(void **state)
{
    (void)state;
    static const pass_case cases[] = {
        {"x: f32[N, C], d: f32[N]", "x / d[:, None]",
         "multiply(x, divide(1:f32 as [1, 1], d as [N, 1]))"},
        {"x: f32[N], d: f32[N]", "x / d", "divide(x, d)"},
        {"x: f32[N], y: f32[N], d: f32[N]", "x / d, y / d",
         "multiply(x, divide(1:f32 as [1], d)); multiply(y, divide(1:f32 as [1], d))"},
        {"x: f32[N], y: f32[N]", "x / sqrt(y)", "multiply(x, rsqrt(y))"},
        {"x: f32[N], y: f32[N]", "x / exp(y)", "multiply(x, exp(negative(y)))"},
        {"x: f32[N], y: f32[N]", "exp(x) * exp(y)", "exp(add(x, y))"},
        {"x: f32[N], y: f32[N]", "exp(x) * exp(y) + exp(x)",
         "add(multiply(exp(x), exp(y)), exp(x))"}, /* that one is computed anyway */
        {"x: f32[N], y: f32[N], z: f32[N]", "x / (y / z)", "divide(multiply(x, z), y)"},
        {"x: f32[N], y: f32[N], z: f32[N]", "x / y / z", "divide(x, multiply(y, z))"},
        {"x: f32[N, C], a: f32[C], b: f32[C]", "x * a * b",
         "multiply(x, multiply(a as [1, C], b as [1, C]))"},
        {"x: f32[N, C], a: f32[N], b: f32[C]", "x * a[:, None] * b", /* a * b is as large */
         "multiply(multiply(x, a as [N, 1]), b as [1, C])"},
        {"x: f32[N, C], a: f32[C], b: f32[C]", "x - a - b",
         "subtract(x, add(a as [1, C], b as [1, C]))"},
        {"x: f32[N, C], a: f32[C], b: f32[C]", "x - a + b",
         "subtract(x, subtract(a as [1, C], b as [1, C]))"},
        {"x: f32[N, C], a: f32[C], b: f32[C]", "b + (x + a)",
         "add(x, add(a as [1, C], b as [1, C]))"},
        {"x: f32[N]", "x ** 3", "multiply(x, multiply(x, x))"},
        {"x: f32[N]", "x ** 0.5", "sqrt(x)"},
        {"x: f32[N]", "x ** -0.5", "rsqrt(x)"},
        {"x: f32[N]", "x ** 1.5", "multiply(sqrt(x), x)"},
        {"x: f32[N]", "x ** -1.5", "divide(rsqrt(x), x)"},
        {"x: f32[N]", "x ** -2", "divide(1:f32 as [1], multiply(x, x))"},
        {"x: f32[N]", "x ** 0.25", "power(x, 0.25:f32 as [1])"},
        {"x: f32[N]", "log(exp(x))", "x"},
        {"x: f32[N]", "exp(log(x))", "x"},
        {"x: f32[N]", "sqrt(x * x)", "abs(x)"},
        {"x: f32[N]", "log(sqrt(x))", "multiply(log(x), 0.5:f32 as [1])"},
        {"x: f32[N, C], a: f32[N]", "sum(x * a[:, None], axis=1, keepdims=True)",
         "multiply(sum{1}(x), a as [N, 1])"},
        {"x: f32[N, C], a: f32[C]", "sum(x * a, axis=1, keepdims=True)",
         "sum{1}(multiply(x, a as [1, C]))"},
        {"x: f32[N, C]", "x * 2 - mean(x * 2, axis=1, keepdims=True)", /* stays what it is */
         "subtract(multiply(x, 2:f32 as [1, 1]), mean{1}(multiply(x, 2:f32 as [1, 1])))"},
        {"x: f32[N]", "x + 0", "x"},
        {"x: f32[N]", "0 - x", "negative(x)"},
        {"x: f32[N]", "x - x, x / x, x * 0",
         "0:f32 as [1] repeated [N]; 1:f32 as [1] repeated [N]; 0:f32 as [1] repeated [N]"},
        {"x: f16[N]", "x / 3 + 0", "add(divide(x, 3:f16 as [1]), 0:f16 as [1])"},
        {"x: i32[N]", "x + 0", "add(x, 0:i32 as [1])"},
    };
    run(kn_pass_relax, cases);
}

/* The bits of what a graph of x[N], and perhaps y[N], makes of all pairs of special values. */
static void *values_of(const kn_graph *g, int64_t *bytes)
{
    static const double special[] = {0.0,   -0.0,   1,     -1,   0.5,      3,
                                     1e-45, -1e-45, 1e-38, 7,    INFINITY, -INFINITY,
                                     NAN,   3e38,   -3e38, -128, 127,      65504};
    enum { N = sizeof special / sizeof *special };
    int64_t sizes[] = {N * N};
    kn_array in[2],
        out = {.dtype = g->outputs.data[0].node->dtype, .rank = 1, .shape = {N * N}, .stride = {1}};
    for (int i = 0; i < g->inputs.len; i++) {
        kn_dtype t = g->inputs.data[i].node->dtype;
        in[i] = (kn_array){.dtype = t, .rank = 1, .shape = {N * N}, .stride = {1}};
        in[i].data = kn_alloc(&arena, N * N * 8);
        for (int k = 0; k < N * N; k++) {
            double f = special[i ? k % N : k / N];
            kn_scalar v = {.dtype = t};
            if (kn_is_float(t))
                v.f = kn_round(t, f);
            else
                v.i = kn_int_wrap(t, (uint64_t)(int64_t)(isfinite(f) && fabs(f) < 1e9 ? f : 5));
            kn_scalar_store(v, (char *)in[i].data + k * kn_bytes(t));
        }
    }
    *bytes = N * N * kn_bytes(out.dtype);
    out.data = kn_alloc(&arena, N * N * 8);
    if (kn_interp(g, &arena, sizes, in, &out, NULL) != KN_OK)
        fail_msg("%s", kn_last_error());
    for (int k = 0; k < N * N && kn_is_float(out.dtype); k++) { /* one NaN for all */
        char *at = (char *)out.data + k * kn_bytes(out.dtype);
        kn_scalar v = kn_scalar_load(out.dtype, at);
        if (isnan(v.f))
            memset(at, 0xff, (size_t)kn_bytes(out.dtype));
    }
    return out.data;
}

static void test_algebra_values(void **state)
{
    (void)state;
    for (int i = 0; i < IDENTITIES; i++) {
        int64_t n, m;
        kn_graph *g = graph_of(identities[i].params, identities[i].expressions);
        const void *before = values_of(g, &n), *after = values_of(folded_algebra(&arena, g), &m);
        assert_int_equal(n, m);
        if (memcmp(before, after, (size_t)n))
            fail_msg("%s is not %s for every number", identities[i].expressions,
                     identities[i].after);
    }
}

/* A slice of one place knows which operand a WHERE of places chooses there. */
static void test_sink(void **state)
{
    (void)state;
    static const pass_case cases[] = {
        {"x: f32[N], y: f32[N]", "where(arange(N) == 3, y, x)[3]", "index(y)"},
        {"x: f32[N], y: f32[N]", "where(arange(N) == 3, y, x)[2]", "index(x)"},
        {"x: f32[N], y: f32[N]", "where(arange(N) == N - 1, y, x)[-1]", "index(y)"},
        {"x: f32[N], y: f32[N]", "where(arange(N) < N - 1, y, x)[-2]", "index(y)"},
        {"x: f32[N], y: f32[N]", "where(arange(N) == 3, y, x)[-1]", /* N may be 4 */
         "where(equal(i64(size N - 1), 3:i64 as [1] as []), index(y), index(x))"},
        {"x: f32[N], y: f32[N]", "where(arange(N) == 3, y, x)[2:]",
         "where(equal(index(arange)), 3:i64 as [1]), index(y), index(x))"},
        {"x: f32[N], y: f32[N]", "(x * y)[:]", "multiply(x, y)"},
        {"x: f32[N], y: f32[N]", "(x * y)[0:N]", "multiply(x, y)"},
        {"x: f32[N, M]", "(x * 2)[1:, :]", "multiply(index(x), 2:f32 as [1, 1])"},
        {"x: f32[N, M]", "arange(N)[4] + x", "add(f64(4:i64) as [1, 1], f64(x))"},
    };
    run(kn_pass_sink, cases);
}

/* What cannot sink down to what is in memory anyway stays above all of it: on the way it would be one loop nest more. Down
 * to an operand of fewer axes it may, which is less than what it would stay above. A division is 8 additions, and 64 may be
 * done again. */
static void test_sink_all_the_way(void **state)
{
    (void)state;
    static const pass_case cases[] = {
        {"x: f32[N], y: f32[N]", "(x / y / y)[1:]", "divide(divide(index(x), index(y)), index(y))"},
        {"x: f32[N], y: f32[N]", "(x / y / y / y / y / y / y / y / y / y)[1:]",
         "index(divide(divide(divide(divide(divide(divide(divide(divide(divide(x, y), y), y), y), "
         "y), y), y), y), y))"},
        {"x: f32[N], y: f32[N], z: f32[N, M]",
         "(z * (x / y / y / y / y / y / y / y / y / y)[:, None])[1:]",
         "multiply(index(z), index(divide(divide(divide(divide(divide(divide(divide(divide(divide("
         "x, y), y), y), y), y), y), y), y), y) as [N, 1]))"},
    };
    run(kn_pass_sink, cases);
}

/* A slice comes back from a chain that is too long, for each of the chain above that reads it, and from that again: 32 times as
 * often with every axis, were there no end to it. */
static void test_sink_gives_up(void **state)
{
    (void)state;
    enum { LONG = 40, MOST_STEPS = 20000 };
    static const char *const axes[] = {"N", "N, N", "N, N, N", "N, N, N, N", "N, N, N, N, N"};
    kn_graph *g = kn_graph_new(&arena, "f");
    kn_text t = kn_text_new(&arena);
    kn_put(&t, "def f(y: f32");
    for (int i = 0; i < 5; i++)
        kn_putf(&t, ", x%d: f32[%s]", i, axes[i]);
    kn_put(&t, "):\n");
    for (int i = 0; i < 5 * LONG; i++)
        kn_putf(&t, i < LONG ? "    x%d = y + x%d\n" : "    x%d = x%d + x%d\n", i / LONG,
                i < LONG ? 0 : i / LONG - 1, i / LONG);
    kn_put(&t, "    return x4[1:, 1:, 1:, 1:, 1:]\n");
    assert_int_equal(kn_parse(g, kn_text_str(&t), NULL), KN_OK);
    const int64_t before = kn_work_done();
    assert_non_null(kn_pass_sink(&arena, g));
    const int64_t steps = kn_work_done() - before;
    if (steps > MOST_STEPS)
        fail_msg("%lld steps", (long long)steps);
}

static void test_views(void **state)
{
    (void)state;
    static const pass_case cases[] = {
        {"x: f32[N, C]", "exp(x.T.T)", "exp(x)"},
        {"x: f32[A, B, C]", "exp(transpose(transpose(x, (1, 2, 0)), (1, 2, 0)))",
         "exp(x moved (2, 0, 1))"},
        {"x: f32[N, C]", "exp(x.reshape(-1).reshape(N, C))", "exp(x)"},
        {"x: f32[N, C]", "exp(sum(x, axis=1)[:, None] + x)", "exp(add(sum{1}(x), x))"},
        /* every output becomes a value */
        {"x: f32[N, C], s: f32", "x, x.T, x.reshape(-1), s, 1.5",
         "copy(x); copy(x moved (1, 0)); copy(x as [N*C]); copy(s); copy(1.5:f64)"},
        {"x: f32[N, C]", "exp(exp(x).T.reshape(-1))", "exp(exp(x) moved (1, 0) as [N*C])"},
        {"x: f32[N, C]", "exp(x.T.reshape(-1))", "exp(x moved (1, 0) as [N*C])"},
    };
    run(kn_pass_views, cases);
}

/* The refined graph for "N=4, C=6". */
static kn_graph *refined(const char *params, const char *expressions, const char *sizes, bool fuse)
{
    kn_graph *g = kn_graph_optimise(&arena, graph_of(params, expressions), false, NULL);
    const int64_t *values = sizes_of(g, sizes);
    kn_graph *to = kn_refine(&arena, g, fuse, &values);
    assert_non_null(to);
    assert_int_equal(kn_graph_verify(to), KN_OK);
    for (int i = 0; i < kn_symbols_count(to->syms); i++)
        assert_true(values[i] >= 0);
    return to;
}

static void test_refine(void **state)
{
    (void)state;
    static const struct {
        const char *params, *expressions, *sizes, *after;
    } cases[] = {
        /* nothing to do */
        {"x: f32[N, C]", "exp(x)", "N=4, C=6", "exp(x)"},
        /* a merge is undone, a split carried to the arguments */
        {"x: f32[N, C]", "exp(x).reshape(-1) * 2", "N=4, C=6", "multiply(exp(x), 2:f32 as [1, 1])"},
        {"x: f32[G*K], y: f32[G, K]", "exp(x).reshape(G, K) + y", "G=2, K=3",
         "add(exp(x as [G, K]), y)"},
        {"x: f32[N, G*K, H], b: f32[G]", "(x.reshape(N, G, K*H) - b[:, None]).reshape(N, G*K, H)",
         "N=2, G=2, K=3, H=5", "copy(subtract(x as [N, G, K, H], b as [1, G, 1, 1]))"},
        /* what is no polynomial becomes a quotient; groups of 1 and of all are not special */
        {"x: f32[N, C], g: f32[G]", "sum(exp(x).reshape(N, G, -1), axis=2) + g", "N=2, C=6, G=3",
         "add(sum{2}(exp(x as [N, G, N*C/(N*G)])) as [N, G], g as [1, G])"},
        {"x: f32[N, C], g: f32[G]", "sum(exp(x).reshape(N, G, -1), axis=2) + g", "N=2, C=6, G=1",
         "add(sum{2}(exp(x as [N, G, N*C/(N*G)])) as [N, G], g as [1, G])"},
        {"x: f32[N, C], g: f32[G]", "sum(exp(x).reshape(N, G, -1), axis=2) + g", "N=2, C=6, G=6",
         "add(sum{2}(exp(x as [N, G, N*C/(N*G)])) as [N, G], g as [1, G])"},
        /* through a transposition */
        {"x: f32[N, C]", "exp(x).T.reshape(-1)", "N=4, C=6", "copy(exp(x) moved (1, 0))"},
        /* no boundary divides the other's: what is read lies in memory */
        {"x: f32[N, C]", "exp(exp(x).reshape(C, N))", "N=4, C=6", "exp(exp(x) as [C, N])"},
        {"x: f32[N, C], y: f32[2, M]", "exp(exp(x).T.reshape(2, -1)) + y", "N=4, C=3, M=6",
         "add(exp(copy(exp(x) moved (1, 0)) as [2, M]), y)"},
        /* nothing is walked: nothing is cut */
        {"x: f32[N, C]", "exp(exp(x).reshape(-1))", "N=0, C=6", "exp(exp(x) as [N*C])"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(
            outputs_of(refined(cases[i].params, cases[i].expressions, cases[i].sizes, true)),
            cases[i].after);
    kn_graph *g = refined("x: f32[N, C]", "exp(exp(x).T.reshape(-1))", "N=4, C=6", false);
    assert_string_equal(outputs_of(g), "exp(copy(exp(x) moved (1, 0)) as [N*C])");
}

/* More axes than a node can have: everything stays as it was. */
static void test_refine_limit(void **state)
{
    (void)state;
    const char *shape = "2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2";
    const char *both = kn_sprintf(&arena, "exp(exp(x).reshape(%s)), exp(x)[:, None] + b", shape);
    const char *one = kn_sprintf(&arena, "exp(exp(x).reshape(%s))", shape);
    kn_graph *g = refined("x: f32[65536], b: f32[3]", both, "", true);
    assert_string_equal(
        outputs_of(g),
        kn_sprintf(&arena, "exp(exp(x) as [%s]); add(exp(x) as [65536, 1], b as [1, 3])", shape));
    g = refined("x: f32[65536], b: f32[3]", one, "", true);
    assert_string_equal(outputs_of(g), kn_sprintf(&arena, "exp(exp(x as [%s]))", shape));
}

/* Nodes of an operation in the graph. */
static int count(const kn_graph *g, kn_op op)
{
    int n = 0;
    for (int i = 0; i < g->nodes.len; i++)
        n += g->nodes.data[i]->op == op;
    return n;
}

static kn_graph *grouped(kn_arena *a, kn_graph *g) { return kn_graph_grouped(a, g); }

static void test_grouped(void **state)
{
    (void)state;
    static const pass_case cases[] = {
        {"x: f32[N, C]", "sum(x * x, axis=1), sum(abs(x))",
         "sum{1}(multiply(x, x)) as [N]; sum{0}(sum{1}(abs(x))) as []"},
        /* 16-bit floats are added up in f32 */
        {"x: f16[N, C]", "max(x, axis=1), sum(x)",
         "max{1}(x) as [N]; f16(sum{0}(sum{1}(f32(x)))) as []"},
        {"x: i8[N, C]", "max(x, axis=1), min(x)", "max{1}(x) as [N]; min{0}(min{1}(x)) as []"},
        /* from the innermost on; of rows and columns the rows */
        {"x: f32[N, M, C]", "max(x, axis=2), min(x, axis=(1, 2)), sum(x)",
         "max{2}(x) as [N, M]; min{1}(min{2}(x)) as [N]; sum{0}(sum{1}(sum{2}(x))) as []"},
        {"x: f32[N, C]", "max(x, axis=0), min(x, axis=1), sum(x)",
         "max{0}(x) as [C]; min{1}(x) as [N]; sum{0}(sum{1}(x)) as []"},
        /* what waits for a group may be summed by groups */
        {"x: f32[N, C]", "sum(exp(x - max(x, axis=1, keepdims=True)))",
         "sum{0}(sum{1}(exp(subtract(x, max{1}(x))))) as []"},
    };
    run(grouped, cases);
}

/* Of other elements, of the same axes, or part of a pattern. */
static void test_not_grouped(void **state)
{
    (void)state;
    static const pass_case cases[] = {
        {"x: f32[N, C], y: f32[N, C]", "sum(x, axis=1), sum(y)", ""},
        {"x: f32[N, C]", "sum(x, axis=1), sum(exp(x), axis=1)", ""},
        {"x: f32[N, C]", "sum(x, axis=1), sum(exp(x), axis=0)", ""},
        {"x: f32[N, C]", "max(x, axis=1), var(x)", ""},
        {"x: f32[N, C], b: f32[C]", "sum(x + b, axis=0), sum(b)", ""},
        {"x: f32[N, C]", "max(x, axis=1), mean((x - mean(x)) * (x - mean(x)))", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_null(kn_graph_grouped(&arena, graph_of(cases[i].params, cases[i].expressions)));
}

static void test_share(void **state)
{
    (void)state;
    /* different at first, the same after folding */
    kn_graph *g = graph_of("x: f32[N]", "exp(x + (1.0 + 1)), exp(x + 2.0), log(x)");
    assert_int_equal(count(g, KN_OP_EXP), 2);
    g = kn_pass_share(&arena, kn_pass_fold(&arena, g));
    assert_int_equal(count(g, KN_OP_EXP), 1);
    assert_ptr_equal(g->outputs.data[0].node, g->outputs.data[1].node);
    /* what no output needs goes; inputs stay */
    g->outputs.len = 2;
    kn_graph *less = kn_pass_share(&arena, g);
    assert_int_equal(count(g, KN_OP_LOG), 1);
    assert_int_equal(count(less, KN_OP_LOG), 0);
    less->outputs.len = 0;
    less = kn_pass_share(&arena, less);
    assert_int_equal(less->nodes.len, 1);
    assert_int_equal(less->inputs.len, 1);
}

static void test_pipeline(void **state)
{
    (void)state;
    kn_graph *g = graph_of("x: f32[N, C], g: f32[C], eps: f32 = 1e-5",
                           "(x - mean(x, axis=1)[:, None]) * rsqrt(var(x, axis=1, keepdims=True) + "
                           "eps) * g");
    kn_pass_record records[10];
    assert_true(kn_graph_pass_count < 10);
    kn_graph *o = kn_graph_optimise(&arena, g, false, records);
    assert_non_null(o);
    assert_string_equal(outputs_of(o),
                        "multiply(multiply(subtract(x, mean{1}(x)), rsqrt(add(var{1}(x), eps as "
                        "[1, 1]))), g as [1, C])");
    assert_int_equal(count(o, KN_OP_MEAN), 1);
    assert_int_equal(count(o, KN_OP_SUB), 1);
    assert_int_equal(records[0].before, g->nodes.len);
    int ran = 0;
    while (records[ran].pass)
        ran++;
    assert_int_equal(ran, kn_graph_pass_count - 1); /* relax is fast_math's */
    assert_int_equal(records[ran - 1].after, o->nodes.len);
    /* a second time changes nothing */
    kn_text a = kn_text_new(&arena), b = kn_text_new(&arena);
    kn_graph_print(&a, o, false);
    kn_graph_print(&b, kn_graph_optimise(&arena, o, false, NULL), false);
    assert_string_equal(kn_text_str(&a), kn_text_str(&b));
    /* inputs, names and facts survive */
    assert_int_equal(o->inputs.len, 3);
    assert_true(o->inputs.data[2].by_value);
    assert_int_equal(o->facts.list.len, g->facts.list.len);
}

static void broken(kn_graph *g, const char *what)
{
    assert_int_equal(kn_graph_verify(g), KN_INTERNAL);
    assert_non_null(strstr(kn_last_error(), what));
    assert_null(kn_graph_optimise(&arena, g, false, NULL));
}

static void test_verifier(void **state)
{
    (void)state;
    const char *params = "x: f32[N, C], y: f64[N, C]", *expressions = "exp(x), sum(x, axis=0), x.T";
    kn_graph *g = graph_of(params, expressions);
    g->outputs.data[0].node->dtype = KN_F64;
    broken(g, "wrong result type");

    g = graph_of(params, expressions);
    g->outputs.data[0].node->in[0] = g->inputs.data[1].node;
    broken(g, "exp: ");

    g = graph_of(params, expressions);
    g->outputs.data[0].node->in[0] = g->outputs.data[2].node;
    broken(g, "operand is not an earlier node");

    g = graph_of(params, expressions);
    g->outputs.data[2].node->u.perm[1] = 1;
    broken(g, "not a permutation");

    g = graph_of(params, expressions);
    g->outputs.data[1].node->in[0]->u.reduce.axes = 4;
    broken(g, "axes out of range");

    g = graph_of(params, expressions);
    g->outputs.data[1].node->in[0]->u.reduce.axes = 2;
    broken(g, "wrong shape");

    g = graph_of(params, expressions);
    g->outputs.data[0].node->nin = 2;
    broken(g, "wrong number of operands");

    g = graph_of(params, expressions);
    g->outputs.data[0].node = graph_of(params, expressions)->outputs.data[0].node;
    broken(g, "output out0 is of another graph");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(test_decompose),
        test(test_fold),
        test(test_algebra),
        test(test_relax),
        test(test_algebra_values),
        test(test_sink),
        test(test_sink_all_the_way),
        test(test_sink_gives_up),
        test(test_views),
        test(test_grouped),
        test(test_not_grouped),
        test(test_share),
        test(test_pipeline),
        test(test_verifier),
        test(test_refine),
        test(test_refine_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
