/* Every rule of ir/grad.def, and programs at random, against central differences within 1e-6; first and second derivatives.
 * `test_gradients write` prints the programs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "frontend/parse/parse.h"
#include "ir/grad_impl.h"
#include "ir/interp.h"
#include "tests/differential/check.h"
#include "tests/differential/gradients.h"

/* What is returned is differentiated by every float parameter. */
typedef struct row {
    const char *params, *value;
    double low, high; /* of floats; 0, 0: 0.3 to 1.7 */
} row;

#define SIZES "N=3 M=4 K=2"

#define X "x: f64[3, 4]"
#define XY "x: f64[3, 4], y: f64[3, 4]"
#define XV "x: f64[3, 4], v: f64[4]"
#define Z "z: c128[5]"
#define ZW "z: c128[5], w: c128[5]"

static const row rows[] = {
    /* elementwise */
    {XV, "x + v", 0, 0},
    {XV, "x - v", 0, 0},
    {XV, "x * v * x", 0, 0},
    {XV, "x / v", 0, 0},
    {XY, "-x % y", 0.4, 0.6},
    {XY, "fmod(-2.5 * x, y)", 0.4, 0.45},
    {XV, "x ** v", 0, 0},
    {X, "x ** 2 + x ** 3 + x ** 1 + x ** 0 + x ** -1.5", 0, 0},
    {X, "x ** 3", -1, 1},
    {X, "-x * abs(-x)", 0, 0},
    {X, "sqrt(x) + rsqrt(x) + cbrt(x)", 0, 0},
    {X, "exp(x) + exp2(x) + expm1(x)", -1, 1},
    {X, "log(x) + log2(x) + log10(x) + log1p(x)", 0, 0},
    {X, "sin(x) + cos(x) * tan(x)", -1, 1},
    {X, "arcsin(x) + arccos(x) * arctan(x)", -0.8, 0.8},
    {X, "sinh(x) + cosh(x) * tanh(x)", -1, 1},
    {X, "arcsinh(x) + arctanh(x)", -0.8, 0.8},
    {X, "arccosh(x)", 1.3, 2},
    {XY, "arctan2(x, y) + hypot(x, y)", 0, 0},
    {X, "erf(x) + erfc(x) * x + erfinv(x)", -0.8, 0.8},
    {X, "gamma(x) + lgamma(x)", 0, 0},
    {X, "gamma(x) + lgamma(x)", -1.8, -1.2},
    {X, "lgamma(x)", 20, 30},
    {XY, "copysign(x, -y) + scalb(x, 3) + frexp_mantissa(x)", 0.6, 0.9},
    {XY, "minimum(x, y) + maximum(x, y) * fmin(x, y) + fmax(x, y)", 0, 0},
    {X, "clip(x, 0.7, 1.2) * x", 0.75, 1.6},
    {XY, "where(x < y, x * y, x / y)", 0, 0},
    {X, "floor(x) + ceil(x) + trunc(x) + rint(x) + sign(x) + x // 0.5 + x", 0.55, 0.95},
    {X, "cast(cast(x * 10, i32), f64) * x", 0.51, 0.59},
    {X, "copy(x) * x", 0, 0},
    {"x: f64", "x * x + sin(x)", 0, 0},
    {X, "sigmoid(x) + softplus(x) + silu(x) + gelu(x) + gelu_tanh(x) + relu(x) + leaky_relu(x)", -2,
     2},
    {XY, "logaddexp(x, y) + logaddexp2(x, y) + sinc(x) + nan_to_num(x) + square(x) + reciprocal(y)",
     0, 0},
    {XV, "logaddexp(x, v) * logaddexp2(v, x) + sigmoid(x + v) * v", -4, 4},
    {XV, "silu(x * v) * softplus(v) + gelu(x - v) + gelu_tanh(v)", -4, 4},
    {X, "sinc(x)", -0.3, 0.3}, /* by its series */
    /* complex numbers */
    {ZW, "z * w + z / w - w", 0, 0},
    {ZW, "z ** w", 0, 0},
    {Z, "z ** 2 + z ** 3 - -z", 0, 0},
    {Z, "exp(z) + log(z) + sqrt(z) + log1p(z) + expm1(z) + exp2(z)", 0, 0},
    {Z, "sin(z) + cos(z) + tan(z) + sinh(z) + cosh(z) + tanh(z)", 0, 0},
    {Z, "arcsin(z) + arccos(z) + arctan(z) + arcsinh(z) + arccosh(z) + arctanh(z)", 0, 0},
    {Z, "z.real * z.imag + abs(z) + angle(z)", 0, 0},
    {Z, "conj(z) * z + z.real * 1j", 0, 0},
    {"x: f64[5], y: f64[5]", "complex_of(x * y, y) ** 2", 0, 0},
    {"x: f64[5], z: c128[5]", "x * z + where(x > 1, z, x)", 0, 0},
    {Z, "sum(z * z) + mean(z) ** 2 + prod(z)", 0, 0},
    {Z, "var(z) + norm(z) + sum(abs(z) ** 3)", 0, 0},
    {Z, "sign(z) + max(z * z)", 0, 0},
    {ZW, "vdot(z, w) + dot(z, w)", 0, 0},
    /* reductions */
    {X, "sum(x * x, axis=0) * mean(x, axis=0)", 0, 0},
    {X, "sum(x) * mean(x, axis=1, keepdims=True) + x", 0, 0},
    {X, "var(x, axis=1) + std(x) + var(x, axis=(0, 1), ddof=1)", 0, 0},
    {X, "prod(x, axis=1)", 0, 0},
    {X, "prod(x - 1, axis=0) * x", -1, 1},
    {X, "min(x, axis=0) * max(x, axis=1, keepdims=True) + ptp(x)", 0, 0},
    {X, "norm(x, axis=1) + norm(x, ord=3, axis=0)[:3] + norm(x, ord=1, axis=1)", -1, 1},
    {X, "norm(x, ord=inf, axis=1) * norm(x, axis=(0, 1))", -1, 1},
    {X, "logsumexp(x, axis=1) + logsumexp(x)", -2, 2},
    {X, "softmax(x, axis=1) * x + log_softmax(x, axis=0)", -2, 2},
    {X, "sum(x * x, axis=1, where=x > 1, initial=2.0) * mean(x, where=x < 1)", 0, 0},
    {X, "nansum(x * x, axis=0) + nanvar(x, axis=0) + nanmax(x)", 0, 0},
    {"x: f64[3, 4], w: f64[4]", "average(x, axis=1, weights=w)", 0, 0},
    {"x: f64[7], y: f64[7]", "x @ y * sum(x)", 0, 0},
    {"x: f64[1, 4]", "var(x, axis=0) + mean(x, axis=0) + max(x, axis=0)", 0, 0},
    /* views */
    {X, "x[1:, ::2] * x[:-1, 1::2]", 0, 0},
    {X, "x[::-1, ::-3] * x[:, -1:0:-2] + x[-1, 2]", 0, 0},
    {X, "x[1] * x[:, 2][:, None] + x[None, 0, 1]", 0, 0},
    {X, "x.T[1] * x[:, 0]", 0, 0},
    {"x: f64[2, 3, 4]", "transpose(x, (2, 0, 1))[1] * swapaxes(x, 1, 2)[:, 1]", 0, 0},
    {"x: f64[2, 3, 4]", "reshape(x, (4, 6)) * reshape(x, (-1, 6))[::-1] + ravel(x)[:6]", 0, 0},
    {"x: f64[4]", "broadcast_to(x, (3, 4)) * arange(3)[:, None] * x", 0, 0},
    {"x: f64[4, 4]", "diagonal(x) * diagonal(x, 1)[0] + trace(x)", 0, 0},
    {"x: f64[3, 4, 5]", "diagonal(x, -1, 2, 0)", 0, 0},
    {"x: f64[4, 4]", "tril(x) * triu(x, 1).T + flip(x) * moveaxis(x, 0, 1)", 0, 0},
    {X, "squeeze(expand_dims(x, 1)) * flipud(x)", 0, 0},
    /* joined, repeated, taken */
    {XY, "concatenate((x * x, y, x), axis=1) * 2", 0, 0},
    {XY, "concatenate((x, y * x)) + stack((x, y), axis=0).reshape(6, 4)", 0, 0},
    {X, "pad(x * x, ((1, 2), (0, 3)), constant_values=2)", 0, 0},
    {X, "pad(x, 2, mode='edge') * pad(x, ((1, 3), (3, 1)), mode='wrap')", 0, 0},
    {X, "pad(x, 2, mode='reflect') * pad(x, 2, mode='symmetric')", 0, 0},
    {X, "pad(x, ((4, 3), (5, 9)), mode='reflect') + pad(x, ((4, 3), (5, 9)), mode='wrap')", 0, 0},
    {X, "repeat(x, 3, axis=1) * tile(x, (2, 3))[:3]", 0, 0},
    {X, "tile(x, 3) + tile(x, (1, 3)) * roll(tile(x, (1, 3)), 5, axis=1)", 0, 0},
    {X, "roll(x, 1, axis=1) * roll(x, -2, axis=0) + roll(x, 5)", 0, 0},
    {"x: f64[3, 4], i: i32[5]", "take(x, i % 3, axis=0) * take(x, i % 2, axis=1)[0, :, None]", 0,
     0},
    {"x: f64[3, 4], i: i64[2, 2]", "x[i % 3] * x[i % 2 - 2]", 0, 0},
    {"x: f64[3, 4], i: i64[3, 2]", "take_along_axis(x, i % 4, axis=1) ** 2", 0, 0},
    {"x: f64[3, 4], i: i32[5]", "take(x, i + 3, mode='wrap') * take(x, i - 7, mode='clip')", 0, 0},
    {"x: f64[3, 4], i: i32[5], v: f64[5, 4]", "at_add(x, i, v * v) * x", 0, 0},
    {"x: f64[3, 4], i: i32[2, 3], v: f64[3]", "at_add(x, i, v, axis=1)[:, :3] * x[:, 1:]", 0, 0},
    /* random numbers */
    {X, "dropout(x * x, 0.3, 1, 2) + x * normal(3, 4, (3, 4)) * uniform(x.ndim, 5, (3, 1))", 0, 0},
    {"z: c128[5]", "dropout(z, 0.5, 1, 2) * z", 0, 0},
    /* sizes that are symbols, N=3 M=4 K=2 */
    {"x: f64[N, M], y: f64[K, M]", "concatenate((x * x, y, x)) * concatenate((x, y, x[::-1]))", 0,
     0},
    {"x: f64[N, M]", "x[1:] * x[:-1] + x[-1] * x[N - 2, ::-1]", 0, 0},
    {"x: f64[N, M], y: f64[K]", "pad(x, ((0, K), (K, 1))) * pad(x, ((K, 0), (1, K)), mode='edge')",
     0, 0},
    {"x: f64[N, M], y: f64[K]",
     "pad(x, ((2, 0), (1, 3)), mode='reflect') * sum(repeat(x, K, axis=1)[0, :M] ** 2)", 0, 0},
    {"x: f64[N, M], y: f64[K]", "tile(x, (K, 1)) * repeat(x, K, axis=0) * y[0]", 0, 0},
    {"x: f64[N, M]", "roll(x, 2, axis=1) * roll(x, -1) + x.reshape(-1)[M:2 * M]", 0, 0},
    {"x: f64[N, 2 * M]", "x.reshape(N, 2, M)[:, 1] * x[:, M:] + sum(x) / x.size", 0, 0},
    {"x: f64[N, N]", "diagonal(x, 1) * diagonal(x, -1) + tril(x)[1:, 0]", 0, 0},
    {"x: f64[N, M], i: i64[K]", "take(x, i % M, axis=1) * mean(x) + var(x, axis=(0, 1), ddof=1)", 0,
     0},
    /* what people write */
    {"x: f64[3, 5], g: f64[5], b: f64[5]",
     "(x - mean(x, 1, keepdims=True)) * rsqrt(var(x, 1, keepdims=True) + 1e-5) * g + b", 0, 0},
    {"x: f64[4, 6], t: i64[4]",
     "-mean(take_along_axis(log_softmax(x, axis=1), t[:, None] % 6, axis=1))", -2, 2},
    {"x: f64[4, 6]",
     "exp(x - max(x, 1, keepdims=True)) / sum(exp(x - max(x, 1, keepdims=True)), 1)[:, None]", -2,
     2},
};
enum { ROWS = sizeof rows / sizeof *rows };

static bool covered[KN_OP_COUNT];

/* `text` with another type instead of f64, and the complex one of it. */
static const char *of_type(kn_arena *a, const char *text, const char *type)
{
    kn_text t = kn_text_new(a);
    for (; *text; text++) {
        bool real = strncmp(text, "f64", 3) == 0, complex = strncmp(text, "c128", 4) == 0;
        if (real || complex)
            kn_put(&t, real ? type : "c64");
        else
            kn_putn(&t, text, 1);
        text += real ? 2 : complex ? 3 : 0;
    }
    return kn_text_str(&t);
}

/* The program of a row with its gradients; type: NULL, or what stands for f64. */
static slopes *made(kn_arena *a, const row *r, int order, const char *type)
{
    kn_graph *g = kn_graph_new(a, "f");
    const char *text = kn_sprintf(a, "def f(%s):\n    return %s\n", r->params, r->value);
    if (type)
        text = of_type(a, text, type);
    if (kn_parse(g, text, "f") != KN_OK)
        fail_msg("%s", kn_last_error());
    for (int i = 0; i < g->nodes.len; i++)
        covered[g->nodes.data[i]->op] = true;
    for (int i = 0; i < g->expansions.len; i++)
        covered[g->expansions.data[i].op] = true;
    slopes *s = slopes_of(g, order);
    if (!s)
        fail_msg("%s: %s", r->value, kn_last_error());
    return s;
}

static void hold(int order)
{
    int wrong = 0;
    for (int i = 0; i < ROWS; i++) {
        kn_arena a;
        rng r = {(uint64_t)i + 1};
        const row *of = &rows[i];
        bool usual = of->low == 0 && of->high == 0;
        kn_arena_init(&a, &kn_malloc_allocator);
        slopes *s = made(&a, of, order, NULL);
        if (!slopes_fill(s, SIZES, &r, usual ? 0.3 : of->low, usual ? 1.7 : of->high))
            fail_msg("%s: %s", of->value, kn_last_error());
        double error = slopes_error(s, NULL);
        wrong += !(error <= 1e-6);
        if (!(error <= 1e-6))
            print_error("%s: derivatives of order %d are off by %g\n", of->value, order, error);
        kn_arena_finish(&a);
    }
    assert_int_equal(wrong, 0);
}

static void test_first(void **state)
{
    (void)state;
    hold(1);
    for (int op = 0; op < KN_OP_COUNT; op++)
        if (kn_grad_rules[op].kind == KN_GRAD_RULE && kn_grad_rules[op].of &&
            op != KN_OP_REDUCE_BY /* tests/unit/test_grad_api.c */ &&
            op != KN_OP_OF_RANK /* it is made when all gradients are */ && !covered[op])
            fail_msg("no row has %s", kn_ops[op].text);
}

static void test_second(void **state)
{
    (void)state;
    hold(2);
}

/* ---- at random ---- */

/* Where differences by two distances disagree, the program bends near its operands, and says nothing. */
static void hold_random(int n, int order)
{
    int skipped = 0;
    for (int seed = 1; seed <= n; seed++) {
        kn_arena a;
        rng r = {(uint64_t)seed};
        double bent;
        kn_arena_init(&a, &kn_malloc_allocator);
        const char *text = smooth_program(&a, &r);
        kn_graph *g = kn_graph_new(&a, "f");
        if (kn_parse(g, text, "f") != KN_OK)
            fail_msg("%s\n%s", text, kn_last_error());
        slopes *s = slopes_of(g, order);
        if (!s || !slopes_fill(s, "", &r, -1.5, 1.5))
            fail_msg("%s\n%s", text, kn_last_error());
        double error = slopes_error(s, &bent);
        skipped += bent > 1e-7;
        if (bent <= 1e-7 && !(error <= 1e-6))
            fail_msg("seed %d: derivatives of order %d are off by %g\n%s", seed, order, error,
                     text);
        kn_arena_finish(&a);
    }
    print_message("%d programs, %d of them with a bend near their operands\n", n, skipped);
    assert_true(skipped * 10 <= n);
}

static void test_random(void **state)
{
    (void)state;
    hold_random(EFFORT(500, 50), 1);
}

static void test_random_second(void **state)
{
    (void)state;
    hold_random(EFFORT(50, 10), 2);
}

/* ---- on devices ---- */

/* One of `step` rows' gradients, by the device, as the reference has them. Which rows, and which numbers they get, follows from
 * what is in them: a new one changes nothing for the others. */
static void hold_device(const char *device, int step, const char *type)
{
    kn_context *ctx = open_context(device);
    const kn_program_options options = {.fusion = true};
    tally seen = {0};
    for (int i = 0; i < ROWS; i++) {
        kn_arena a;
        const uint64_t hash = kn_hash(rows[i].value, strlen(rows[i].value), 0);
        if (hash % (uint64_t)step)
            continue;
        if (type && strcmp(type, "f32") != 0 && strpbrk(rows[i].params, "zi")) /* of real numbers */
            continue;
        kn_arena_init(&a, &kn_malloc_allocator);
        slopes *s = made(&a, &rows[i], 1, type);
        for (int k = 0; k < s->nwrt; k++)
            if (kn_build_output(s->g, kn_sprintf(&a, "d%d", k), s->grad[k], (kn_loc){0}))
                fail_msg("%s: %s", rows[i].value, kn_last_error());
        program *p = program_of_graph(s->g, SIZES, hash);
        if (!p)
            fail_msg("%s: %s", rows[i].value, kn_last_error());
        must_agree(p, ctx, &options, rows[i].value, &seen);
        kn_arena_finish(&a);
    }
    must_have_compared(&seen);
    kn_context_close(ctx);
}

static void test_cpu(void **state)
{
    (void)state;
    hold_device("cpu", 1, NULL);
    hold_device("cpu", 1, "f32");
    hold_device("cpu", 2, "bf16");
    hold_device("cpu", 3, "f16");
}

static void test_emu(void **state)
{
    (void)state;
    hold_device("emu", EFFORT(8, 30), NULL);
    hold_device("emu", EFFORT(12, 40), "f32");
    hold_device("emu", EFFORT(24, 60), "bf16");
}

/* ---- where there is a choice ---- */

/* What the body of a function of x: f64[n] returns. */
static void after(const char *body, int n, const double *x, const double *want)
{
    kn_arena a;
    int64_t sizes[MAX_SYMBOLS] = {0};
    double y[8];
    kn_arena_init(&a, &kn_malloc_allocator);
    kn_graph *g = kn_graph_new(&a, "f");
    kn_array in = {.dtype = KN_F64, .rank = 1, .shape = {n}, .stride = {1}}, out = in;
    in.data = (void *)(uintptr_t)x;
    out.data = y;
    if (kn_parse(g, kn_sprintf(&a, "def f(x: f64[%d]):\n%s", n, body), "f") ||
        kn_interp(g, &a, sizes, &in, &out, NULL))
        fail_msg("%s: %s", body, kn_last_error());
    for (int i = 0; i < n; i++)
        if (y[i] != want[i] && !(isnan(y[i]) && isnan(want[i])))
            fail_msg("%s: element %d is %g, not %g", body, i, y[i], want[i]);
    kn_arena_finish(&a);
}

/* The same of an expression. */
static void gives(const char *value, int n, const double *x, const double *want)
{
    char body[256];
    snprintf(body, sizeof body, "    return %s\n", value);
    after(body, n, x, want);
}

static void test_choices(void **state)
{
    (void)state;
    const double x[] = {1, 3, 0, 3}, nan[] = {1, NAN, 0, 3}, zeros[] = {2, 0, 3, 0},
                 far[] = {INFINITY, -INFINITY};
    gives("vjp(max(x), 1, x)", 4, x, (double[]){0, 0.5, 0, 0.5});
    gives("vjp(max(x), 1, x)", 4, nan, (double[]){0, 1, 0, 0});
    gives("vjp(maximum(x, 3), x, x)", 4, x, (double[]){0, 1.5, 0, 1.5});
    gives("vjp(relu(x), 1, x)", 4, x, (double[]){1, 1, 0.5, 1});
    gives("vjp(fmin(x, 1), 1, x)", 4, nan, (double[]){0.5, 0, 1, 0});
    gives("vjp(abs(x) + sqrt(x * x + 1), 1, x)", 1, x + 2, (double[]){0});
    gives("vjp(prod(x), 1, x)", 4, x, (double[]){0, 0, 9, 0});
    gives("vjp(prod(x), 1, x)", 4, zeros, (double[]){0, 0, 0, 0});
    gives("vjp(vjp(prod(x), 1, x), arange(4), x)", 4, x, (double[]){18, 6, 12, 6});
    gives("vjp(x ** 0 + x ** 1, 1, x)", 4, x, (double[]){1, 1, 1, 1});
    gives("vjp(x ** x, where(x == 0, 1, 0), x)", 4, x, (double[]){0, 0, 0, 0});
    gives("vjp(sigmoid(x) + logaddexp(x, 0), 1, x)", 1, x + 2, (double[]){0.75});
    /* what a name has when it is differentiated by, and assignments in between */
    gives("vjp(x * x, 1, x + 0)", 4, x, (double[]){0, 0, 0, 0});
    after("    y = x * 2\n    y[1:3] = x[0] * x[1]\n    y *= x\n    return vjp(y, 1, x)\n", 4, x,
          (double[]){13, 6, 3, 12});
    after("    x0 = copy(x)\n    y = x0 + 0\n    y += x0 * x0\n    return vjp(y, 1, x0)\n", 4, x,
          (double[]){3, 7, 1, 7});
    gives("vjp(vjp(sigmoid(x) + softplus(x), 1, x), 1, x)", 1, x + 2, (double[]){0.25});
    /* formulas: a name that has a part of one, and more derivatives than have a rule */
    after("    s = sigmoid(x)\n    return vjp(silu(x), 1, s)\n", 4, x, x);
    after("    s = sigmoid(x)\n    a, b = vjp(silu(x), 1, (x, s))\n    return a + 2 * b\n", 1,
          x + 2, (double[]){0.5});
    after("    e = exp(where(signbit(x), x, -x))\n    return vjp(sigmoid(x), 1, e)\n", 1, x + 2,
          (double[]){-0.25});
    after("    s = sigmoid(x)\n    return vjp((silu(x), s), (1, 1), x)\n", 1, x + 2,
          (double[]){0.75});
    gives("vjp(vjp(vjp(sigmoid(x), 1, x), 1, x), 1, x)", 1, x + 2, (double[]){-0.125});
    gives("vjp(vjp(logaddexp(x, 3), 1, x), 1, x)", 1, x + 1, (double[]){0.25});
    after("    m = sum(x)\n    a, b = vjp(logaddexp(m, x), 1, (m, x))\n    return 4 * a + b\n", 1,
          x + 1, (double[]){3});
    gives("vjp(logaddexp(x, copy(x)), 1, x)", 2, far, (double[]){1, 1});
    after("    y = copy(x)\n    return vjp(vjp(logaddexp(x, y), 1, y), 1, y)\n", 2, far,
          (double[]){0, 0});
    gives("vjp(vjp(gelu(x) + silu(x), 1, x), 1, x)", 2, far, (double[]){0, 0});
    gives("vjp(sum(x), 1, arange(4) * 1.0)", 4, x, (double[]){0, 0, 0, 0});
    gives("vjp(floor(x) + cast(argmax(x), f64) + sum(x > 1), 1, x)", 4, x, (double[]){0, 0, 0, 0});
    gives("at_add(x, cast(stack((x[2], x[2] - 1)), i64), 5)", 4, x, (double[]){6, 3, 0, 8});
}

/* ---- for others ---- */

/* Every program: a line "# LOW HIGH" with the range of floats, and its text. */
static void write_programs(void)
{
    kn_arena a;
    kn_arena_init(&a, &kn_malloc_allocator);
    for (int i = 0; i < ROWS; i++) {
        bool usual = rows[i].low == 0 && rows[i].high == 0;
        printf("# %g %g\ndef f(%s):\n    return %s\n\n", usual ? 0.3 : rows[i].low,
               usual ? 1.7 : rows[i].high, rows[i].params, rows[i].value);
    }
    for (int seed = 1; seed <= 500; seed++)
        printf("# -1.5 1.5\n%s\n", smooth_program(&a, &(rng){(uint64_t)seed}));
    kn_arena_finish(&a);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "write") == 0)
        return write_programs(), 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first),   cmocka_unit_test(test_second),
        cmocka_unit_test(test_random),  cmocka_unit_test(test_random_second),
        cmocka_unit_test(test_choices), cmocka_unit_test(test_cpu),
        cmocka_unit_test(test_emu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
