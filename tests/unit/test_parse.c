/* frontend/parse: what programs mean, and that every refusal says where and why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "frontend/parse/missing.h"
#include "frontend/parse/parser.h"

typedef struct parse_job {
    kn_arena *arena;
    const char *text;
    const char *inputs; /* for an expression: a function whose parameters it may use, or NULL */
    kn_graph *g;
    const char *outputs; /* "y f32[N, C]; out1 i64[]" */
} parse_job;

static kn_status parse(void *ctx)
{
    parse_job *j = ctx;
    j->g = kn_graph_new(j->arena, "program");
    if (j->inputs) {
        KN_TRY(kn_parse(j->g, j->inputs, NULL));
        j->g->outputs.len = 0;
        j->g->outputs_by = (kn_finder){0};
        KN_TRY(kn_parse_expr(j->g, j->text));
    } else {
        KN_TRY(kn_parse(j->g, j->text, "test.kiln"));
    }
    KN_TRY(kn_graph_verify(j->g));
    kn_text t = kn_text_new(j->arena);
    for (int i = 0; i < j->g->outputs.len; i++) {
        const kn_node *x = j->g->outputs.data[i].node;
        kn_putf(&t, "%s%s %s", i ? "; " : "", j->g->outputs.data[i].name, kn_dtypes[x->dtype].text);
        kn_shape_print(&t, j->g->syms, x->shape, x->rank);
    }
    j->outputs = kn_text_str(&t);
    return KN_OK;
}

/* ---- programs that are accepted ---- */

static const struct {
    const char *text, *outputs;
} programs[] = {
    {"def f(x: kiln.f32[N], y: np.float32[N], z: f32[N]):\n    return x + y + z\n", "out0 f32[N]"},
    {"import numpy as np\n"
     "from kiln import *\n\n"
     "# batch normalisation\n"
     "def batchnorm(x: f32[N, C, H, W], gamma: f32[C], beta: f32[C], eps: f32 = 1e-5) -> "
     "tuple[\"any\", int]:\n"
     "    \"\"\"A docstring,\n"
     "of two lines.\"\"\"\n"
     "    m = mean(x, axis=(0, 2, 3), keepdims=True)\n"
     "  # a comment, indented as it likes\n"
     "    d = x - m\n\n"
     "    v = mean(d * d,\n"
     "  axis=(0, 2, 3), keepdims=True)\n"
     "    y = d * rsqrt(v + eps) * gamma[:, None, None] \\\n"
     "        + beta[:, None, None]\n"
     "    return y, m, v\n",
     "y f32[N, C, H, W]; m f32[1, C, 1, 1]; v f32[1, C, 1, 1]"},
    {"def f(x: f32[N, C]): return x", "out0 f32[N, C]"},
    {"def f(x: f32[N, C]): y = x * 2; return (y, x, y)",
     "y f32[N, C]; out1 f32[N, C]; out2 f32[N, C]"},
    {"def f(x: np.float32[N, 2*C + 1,]):\r\n\ty = x\r\n\treturn y\r\n", "y f32[N, 2*C + 1]"},
    {"def f(x: f32[()], s: f64, b: bool = True, n: i32 = -3, t: f32 = -np.inf):\n"
     "    y = x + n\n"
     "    n += 1\n"
     "    return y, s * 2, b, where(b, n, 1), x * t\n",
     "y f64[]; out1 f64[]; out2 bool[]; out3 i32[]; out4 f32[]"},
    {"def f(x: f32[N, C]):\n"
     "    mean, var = np.mean(x, 0), np.var(x, axis=0, ddof=1)\n"
     "    (a, b) = mean, var\n"
     "    std = x.std(-1, keepdims=True)\n"
     "    return mean, b, std, a\n",
     "mean f32[C]; b f32[C]; std f32[N, 1]; a f32[C]"},
    {"def f(x: f32[N, C]):\n"
     "    N, C = x.shape\n"
     "    out1 = x.sum() / (N * C)\n"
     "    return x.T, out1, x.size, x.ndim, N // 2\n",
     "out0 f32[C, N]; out1 f32[]; out2 i64[]; out3 i64[]; out4 i64[]"},
    {"def f(x: f32[N, C], w: f32[M]):\n"
     "    assert C % 4 == 0, 'groups of four'\n"
     "    assert (M == 2 * (C + 1))\n"
     "    a = x.reshape(N, 4, C // 4)\n"
     "    return a, reshape(x, (-1,)), np.reshape(x, [C, -1]), "
     "x.reshape((1,) + x.shape[:]), x.ravel()\n",
     "a f32[N, 4, C/4]; out1 f32[N*C]; out2 f32[C, N]; out3 f32[1, N, C]; out4 f32[N*C]"},
    {"def f(x: f32[N], i: i32[K]):\n"
     "    v, w, u = tile(x, 2), x[i], take(x, i)\n"
     "    v[0] = 1\n"
     "    w[1:] += 2\n"
     "    u[...] = v[0]\n"
     "    return v, w, u\n",
     "v f32[2*N]; w f32[K]; u f32[K]"},
    {"def f(x: f32[N, M], i: i32[()], k: i32):\n"
     "    a, b, z = x[i], (x * 2)[k], x * 2\n"
     "    a += 1\n"
     "    b += 1\n"
     "    z = z[k]\n"
     "    z += 1\n"
     "    x[0] = 3\n"
     "    return a, b, z\n",
     "a f32[M]; b f32[M]; z f32[M]; x f32[N, M]"},
    {"def f(x: f32[V], y: f32[P]):\n"
     "    assert V <= P\n"
     "    assert P > 2 * V\n"
     "    return y + pad(x, (0, P - V)), repeat(x, P - V), tile(x, P - 2 * V - 1)\n",
     "out0 f32[P]; out1 f32[-V*V + V*P]; out2 f32[-2*V*V + V*P - V]"},
    {"def f(x: f32[A, B, C]):\n"
     "    return transpose(x), x.transpose(1, 0, 2), x.transpose((2, 0, 1)), x.swapaxes(0, -1), "
     "permute_dims(x, (1, 2, 0))\n",
     "out0 f32[C, B, A]; out1 f32[B, A, C]; out2 f32[C, A, B]; out3 f32[C, B, A]; "
     "out4 f32[B, C, A]"},
    {"def f(x: f32[N, 1, C]):\n"
     "    return squeeze(x, 1), x.squeeze(axis=-2), expand_dims(x, -1), "
     "broadcast_to(x, (2, N, 3, C))\n",
     "out0 f32[N, C]; out1 f32[N, C]; out2 f32[N, 1, C, 1]; out3 f32[2, N, 3, C]"},
    {"def f(x: f32[N, 1, C]):\n"
     "    return x[:, 0], x[:, -1], x[:, :1], x[:, ::-1], x[:, 1:], x[:, 0:0], x[:, -5:9]\n",
     "out0 f32[N, C]; out1 f32[N, C]; out2 f32[N, 1, C]; out3 f32[N, 1, C]; out4 f32[N, 0, C]; "
     "out5 f32[N, 0, C]; out6 f32[N, 1, C]"},
    {"def f(x: f32[N, C]):\n"
     "    return x[None], x[..., None], x[:, np.newaxis, :], x[None, ..., :], x[:], x[..., :]\n",
     "out0 f32[1, N, C]; out1 f32[N, C, 1]; out2 f32[N, 1, C]; out3 f32[1, N, C]; out4 f32[N, C]; "
     "out5 f32[N, C]"},
    {"def f(i: i32[N], x: f32[N]):\n"
     "    return i + 1, i + 1.5, i / 2, i // 2, i % 3, i ** 2, i + x, x + 1, x > 0, sum(i), "
     "i.mean(), 2 ** -1, 7, 0x1F, 1_000, 1.5e-3, True, pi, np.e\n",
     "out0 i32[N]; out1 f64[N]; out2 f64[N]; out3 i32[N]; out4 i32[N]; out5 i32[N]; out6 f64[N]; "
     "out7 f32[N]; out8 bool[N]; out9 i64[]; out10 f64[]; out11 f64[]; out12 i64[]; out13 i64[]; "
     "out14 i64[]; out15 f64[]; out16 bool[]; pi f64[]; out18 f64[]"},
    {"def f(x: f32[N], y: f32[N]):\n"
     "    a = (x > 0) & ~(y > 0) | (x < y) ^ (x == y)\n"
     "    return a, any(a), a.all(), where(a, x, -y), max(x), x.min(axis=0), abs(x), pow(x, 2), "
     "np.square(x), minimum(x, 0), logical_and(a, x)\n",
     "a bool[N]; out1 bool[]; out2 bool[]; out3 f32[N]; out4 f32[]; out5 f32[]; out6 f32[N]; "
     "out7 f32[N]; out8 f32[N]; out9 f32[N]; out10 bool[N]"},
    {"def f(x: f32[N]):\n"
     "    return cast(x, i32), x.astype(np.int64), x.astype(bool), x.astype('float64'), f32(x), "
     "x.astype(float), sum(x, dtype=f64), x.astype(x.dtype), x.copy(), np.sqrt(2) * x, "
     "2 ** 0.5 * x\n",
     "out0 i32[N]; out1 i64[N]; out2 bool[N]; out3 f64[N]; out4 f32[N]; out5 f64[N]; out6 f64[]; "
     "out7 f32[N]; out8 f32[N]; out9 f64[N]; out10 f32[N]"},
    {"def f(x: f32[N], z: f64[N]):\n"
     "    y = x * 1\n"
     "    y += z\n"
     "    y **= 2\n"
     "    y //= 3\n"
     "    s = x.sum()\n"
     "    t = s\n"
     "    s += z.sum()\n"
     "    return y, s, t\n",
     "y f32[N]; s f64[]; t f32[]"},
    {"def f(x: f32[N]):\n    x = x + 1\n    x += 1\n    return x\n", "out0 f32[N]"},
    {"def f(e: f32[N], pi: f32[N]):\n    return e + pi", "out0 f32[N]"},
};

static void accepts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        kn_arena a;
        kn_arena_init(&a, NULL);
        parse_job j = {.arena = &a, .text = programs[i].text};
        kn_status s = kn_protect(&a, parse, &j);
        if (s != KN_OK)
            fail_msg("program %zu: %s", i, kn_last_error());
        assert_string_equal(j.outputs, programs[i].outputs);
        kn_arena_finish(&a);
    }
}

static void fills_in_the_graph(void **state)
{
    (void)state;
    kn_arena a;
    kn_arena_init(&a, NULL);
    parse_job j = {.arena = &a,
                   .text = "def scale(x: f32[N, C], w: f32[M], s: f32 = -0.5):\n"
                           "    assert C % 4 == 0\n"
                           "    assert N == M\n"
                           "    y = x * s\n"
                           "    return y\n"};
    assert_int_equal(kn_protect(&a, parse, &j), KN_OK);
    assert_string_equal(j.g->name, "scale");
    assert_string_equal(j.g->file, "test.kiln");
    assert_string_equal(j.g->source, j.text);
    assert_int_equal(j.g->inputs.len, 3);
    assert_false(j.g->inputs.data[0].by_value);
    assert_true(j.g->inputs.data[2].by_value && j.g->inputs.data[2].has_default);
    assert_true(j.g->inputs.data[2].dflt.f == -0.5);
    assert_int_equal(j.g->facts.list.len, 2);
    kn_text fact = kn_text_new(j.g->arena);
    kn_fact_print(&fact, j.g->syms, &j.g->facts.list.data[0]);
    assert_string_equal(kn_text_str(&fact), "C % 4 == 0");
    assert_int_equal(j.g->outputs.len, 1);
    assert_string_equal(j.g->outputs.data[0].node->name, "y");
    assert_int_equal(j.g->outputs.data[0].node->loc.line, 4);
    assert_int_equal(j.g->outputs.data[0].node->loc.col, 11);
    kn_arena_finish(&a);
}

static void expressions(void **state)
{
    (void)state;
    static const char *const table[][2] = {
        {"x", "out0 f32[N, C]"},
        {"  sum(x,\n axis=1)\n", "out0 f32[N]"},
        {"x.mean(), x * s, N", "out0 f32[]; out1 f32[N, C]; out2 i64[]"},
        {"(x, s)", "out0 f32[N, C]; out1 f32[]"},
        {"x,", "out0 f32[N, C]"},
    };
    static const char *const bad[][2] = {
        {"x = 1", "expression:1:3: expected an operator or the end of the text, found '='"},
        {"x\n+\ny", "expression:3:1: unknown name 'y'"},
        {"", "expression:1:1: expected an expression, found the end of the text"},
        {"x)", "expression:1:2: "},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table + sizeof bad / sizeof *bad; i++) {
        size_t k = i - sizeof table / sizeof *table;
        bool good = i < sizeof table / sizeof *table;
        kn_arena a;
        kn_arena_init(&a, NULL);
        parse_job j = {.arena = &a,
                       .text = good ? table[i][0] : bad[k][0],
                       .inputs = "def f(x: f32[N, C], s: f32):\n    return x\n"};
        kn_status s = kn_protect(&a, parse, &j);
        if (good && s != KN_OK)
            fail_msg("expression %zu: %s", i, kn_last_error());
        if (good)
            assert_string_equal(j.outputs, table[i][1]);
        else if (s != KN_SYNTAX || strncmp(kn_last_error(), bad[k][1], strlen(bad[k][1])) != 0)
            fail_msg("expression %zu: %s", i, kn_last_error());
        kn_arena_finish(&a);
    }
}

/* ---- programs that are refused ---- */

static const struct {
    const char *text;
    int line, col;
    const char *message;
} refused[] = {
    {"def f(x: f32[N, N*N], y: f32[4000000000000000000, M]):\n    return x + y\n", 2, 14,
     "do not broadcast"},
    {"def f(x: f32[A+1,B+1,C+1,D+1,E+1,F+1,G+1]):\n    return mean(x)\n", 2, 12, "too many terms"},
    {"", 1, 1, "expected 'def name(...):', found the end of the text"},
    {"x = 1\n", 1, 1, "expected 'def name(...):', found 'x'"},
    {"def", 1, 4, "expected the function's name"},
    {"def for(x: f32[N]): return x", 1, 5, "expected the function's name, found 'for'"},
    {"def f(x: kiln.f23[N]): return x", 1, 15, "unknown type 'f23'"},
    {"def f(x): return x", 1, 8, "expected ':' and the type of 'x'"},
    {"def f(x: f8[N]): return x", 1, 10, "unknown type 'f8'; the types are bool, i8"},
    {"def f(x: f32[]): return x", 1, 14, "a 0-d value f32 alone"},
    {"def f(x: f32[N-1]): return x", 1, 15, "expected ',' or ']' after a dimension, found '-'"},
    {"def f(x: f32[N], x: f32[N]): return x", 1, 18, "there are two parameters 'x'"},
    {"def f(x: f32[N], N: i32): return x", 1, 18, "both a parameter and a dimension"},
    {"def f(x: f32[N] = 1): return x", 1, 17, "only a 0-d value"},
    {"def f(n: i32 = 1.5): return n", 1, 16, "cannot have a float as its default"},
    {"def f(n: i32 = 1, m: i32): return n", 1, 19, "has no default but follows one"},
    {"def f(x: f32[N])\n    return x", 1, 17, "expected ':' after the parameters"},
    {"def f(x: f32[N]):\nreturn x", 2, 1, "expected an indented line"},
    {"def f(x: f32[N]):\n    y = x\n  return y", 3, 3, "indented otherwise"},
    {"def f(x: f32[N]):\n    y = x\n      z = y\n    return y", 3, 7, "unexpected indentation"},
    {"def f(x: f32[N]):\n    y = x\n", 3, 1, "the function has no return"},
    {"def f(x: f32[N]):\n    return x\n    y = x\n", 3, 5, "nothing can follow return"},
    {"def f(x: f32[N]):\n    return x\ndef g(): pass\n", 3, 5,
     "there are several functions: f, g; say which one is meant"},
    {"def f(x: f32[N]):\n    return x\ndef f(x: f32[N]):\n    return x\n", 3, 5,
     "there are two functions 'f'"},
    {"def f(x: f32[N]):\n    return x\nx = 1\n", 3, 1,
     "expected the end of the text after the function, found 'x'"},
    {"def f(x: f32[N]):\n    return (x + 1", 2, 18,
     "to close the '(' at 2:12, found the end of the text"},
    {"def f(x: f32[N]):\n    return 'abc", 2, 12, "never closed"},
    {"def f(gamma: f32[N]):\n    return gama", 2, 12, "unknown name 'gama'; did you mean 'gamma'?"},
    {"def f(x: f32[N]):\n    return foo(x)", 2, 12, "unknown name 'foo'\n"},
    {"def f(x: f32[N]):\n    return x + sumx(x)", 2, 16, "did you mean 'sum'?"},
    {"def f(x: f32[N]):\n    return x +\n", 2, 15,
     "expected an expression, found the end of the line"},
    {"def f(x: f32[N]):\n    return x if x else x", 2, 14, "where(c, x, y)"},
    {"def f(x: f32[N]):\n    return x or x", 2, 14, "logical_or(a, b)"},
    {"def f(x: f32[N]):\n    return not x", 2, 12, "logical_not(x)"},
    {"def f(x: f32[N]):\n    return 0 < x < 1", 2, 18, "chained comparisons"},
    {"def f(x: f32[N]):\n    return where(x, x)", 2, 12, "where takes 3 arguments, 2 given"},
    {"def f(x: f32[N]):\n    return exp(x, axis=1)", 2, 19, "exp has no argument 'axis'"},
    {"def f(x: f32[N]):\n    return sum(x, axes=1)", 2, 19, "sum has no argument 'axes'"},
    {"def f(x: f32[N]):\n    return sum(x, 0, f64, None)", 2, 12,
     "3 arguments by position, 4 given"},
    {"def f(x: f32[N]):\n    return sum(x, axis=1)", 2, 12, "axis 1 is out of bounds"},
    {"def f(x: f32[N]):\n    return max(x, x)", 2, 19, "maximum(a, b)"},
    {"def f(x: f32[N]):\n    return x & x", 2, 14,
     "bitwise_and of f32: only bool and integers have bits"},
    {"def f(x: f32[N]):\n    return ~x", 2, 12, "invert of f32: only bool and integers have bits"},
    {"def f(x: f32[N]):\n    return x << 1", 2, 14, "left_shift of f32: only integers are shifted"},
    {"def f(x: f32[3]):\n    return x[3]", 2, 13,
     "index 3 is out of bounds for axis 0 with size 3"},
    {"def f(x: f32[N]):\n    return x[::0]", 2, 13, "the step of a slice cannot be 0"},
    {"def f(x: f32[N]):\n    return x[::N]", 2, 16, "the step of a slice must be an integer"},
    {"def f(x: f32[N]):\n    return x[1.5:]", 2, 14,
     "expected an integer made of numbers and sizes"},
    {"def f(x: f32[N]):\n    return x[x]", 2, 14, "expected an integer or an array of integers"},
    {"def f(x: f32[N]):\n    return x[x > 0]", 2, 14, "how many elements a mask selects"},
    {"def f(x: i32[N, N]):\n    return x[x, x]", 2, 17, "one array of indices at most"},
    {"def f(x: i32[N]):\n    x[x] = 1\n    return x", 2, 5, "there is no scatter"},
    {"def f(x: f32[N, C], i: i32[N]):\n    x[i, 0] += 1", 2, 5, "there is no scatter"},
    {"def f(x: f32[N], i: i32[N]):\n    np.add.at(x, i, 1)", 2, 12, "there is no scatter"},
    {"def f(x: f32[N], i: i32[N]):\n    return vjp(x * i, 1, i)", 2, 12,
     "what is differentiated by, i, is i32: only floats and complex numbers have gradients"},
    {"def f(x: f32[N]):\n    return vjp(argmax(x), 1, x)", 2, 12,
     "what is differentiated, reshape, is i64"},
    {"def f(x: f32[N], y: f32[N, 3]):\n    return vjp(x, y, x)", 2, 12,
     "the gradient of x: broadcast_to: [N, 3] does not broadcast to [N]"},
    {"def f(x: f32[N]):\n    return vjp(x, 1j, x)", 2, 12,
     "the gradient of x, which is f32, is given as c128"},
    {"def f(x: f32[N]):\n    return vjp((x, x), 1, x)", 2, 24,
     "vjp of 2 values with 1 gradient of them"},
    {"def f(x: f32[N]):\n    return grad(x * x, x)", 2, 17,
     "grad is of a real number, found an array of type f32[N]"},
    {"def f(x: f32[N]):\n    return grad(sum(x), 2.0)", 2, 12, "is a number of the program, f64"},
    {"def f(x: f32[N]):\n    return np.random.rand(3)", 2, 15,
     "write uniform(seed, offset, shape)"},
    {"def f(x: f32[N]):\n    return dropout(x, 0.5, x, 1)", 2, 12,
     "dropout: seed must be one integer, not f32[N]"},
    {"def f(x: i32[N]):\n    return dropout(x, 0.5, 1, 1)", 2, 12,
     "dropout of i32: it is of floats and complex numbers"},
    {"def f(x: f32[N]):\n    return uniform(1, 2, (N,), f16)", 2, 12, "must be f32 or f64"},
    {"def f(x: f32[N], i: f32[N]):\n    return at_add(x, i, 1)", 2, 12,
     "indices must be integers, not f32"},
    {"def f(x: f32[N], i: i32[N]):\n    return at_add(x, i, stack((x, x)))", 2, 12,
     "at_add: broadcast_to: [2, N] does not broadcast to [N]"},
    {"def f(x: f32[N, N]):\n    return matmul(x, x)", 2, 12,
     "sum(a[:, :, None] * b[None, :, :], axis=1)"},
    {"def f(x: f32[N, N]):\n    return x @ x", 2, 14, "call a BLAS beside kiln"},
    {"def f(x: f32[N, N]):\n    return x.dot(x)", 2, 14, "call a BLAS beside kiln"},
    {"def f(x: f32[N, N]):\n    return np.einsum('ij->i', x)", 2, 15, "call a BLAS beside kiln"},
    {"def f(x: f32[N]):\n    return cumsum(x)", 2, 12, "arange(N)[:, None] >= arange(N)"},
    {"def f(x: f32[N]):\n    return sort(x)", 2, 12, "there is no 'sort' here: nothing is sorted"},
    {"def f(x: f32[N]):\n    x.sort()", 2, 7, "there is no 'sort' here: nothing is sorted"},
    {"def f(x: f32[N]):\n    return np.argsort(x)", 2, 15, "nothing is sorted"},
    {"def f(x: f32[N]):\n    while True:\n        x += 1", 2, 5, "there are no loops"},
    {"def f(x: f32[N]):\n    if N > 3:\n        x += 1", 2, 5, "write where(c, x, y)"},
    {"def f(x: f32[N]):\n    return [x for i in x]", 2, 15, "there are no loops"},
    {"def f(x: f32[N]):\n    def g(x):\n        return x", 2, 5, "a function has no others in it"},
    {"def f(x: f32[V], y: f32[P]):\n    return pad(x, (0, P - V))", 2, 12,
     "say so before: assert -V + P >= 0"},
    {"def f(x: f32[V], y: f32[P]):\n    assert V <= P + 1\n    return pad(x, (0, P - V))", 3, 12,
     "can be negative"},
    {"def f(x: f32[N]):\n    return pad(x, (0, -1))", 2, 12, "pad: a width is negative: -1"},
    {"def f(x: f32[N]):\n    return rsqt(x)", 2, 12, "did you mean 'rsqrt'?"},
    {"def f(x: f32[N]):\n    return nan_to_num(x, False)", 2, 26, "with copy=False x would change"},
    {"def f(x: f32[N]):\n    return nan_to_num(x, nan=x)", 2, 12, "must be real numbers"},
    {"def f(x: f32[N]):\n    return clip(x, 0, max=1)", 2, 12, "a_min and a_max, or min and max"},
    {"def f(x: f32[N]):\n    return x[:, :]", 2, 13, "too many indices"},
    {"def f(x: f32[N]):\n    return x.exp()", 2, 14, "arrays have no method 'exp'; write exp(x)"},
    {"def f(x: f32[N]):\n    return np.rsqrt(x)", 2, 15, "NumPy has no 'rsqrt'"},
    {"def f(x: f32[N]):\n    return x.reshape(x)", 2, 22, "expected a size"},
    {"def f(x: f32[N, M]):\n    y = x.reshape(-1)\n    y += 1", 3, 7, "depends on strides"},
    {"def f(x: f32[N, M]):\n    y = x.reshape(-1)\n    x += 1\n    return y", 4, 12,
     "'y' was reshaped from an array that has been assigned to since"},
    {"def f(x: f32[N]):\n    y = broadcast_to(x, (3, N))\n    y[0] = 1", 3, 10, "read-only"},
    {"def f(x: f32[N]):\n    y = broadcast_to(x + 1, (3, N))\n    y += 1", 3, 7, "read-only"},
    {"def f(x: f32[N, N]):\n    y = diagonal(x)\n    y += 1", 3, 7, "read-only"},
    {"def f(x: f32[N]):\n    x[0] = x", 2, 10, "an element is assigned one number"},
    {"def f(x: i8[N]):\n    x[0] = 300", 2, 12, "300 is out of bounds for i8"},
    {"def f(x: f32[N]):\n    return softmax(x, axis=3)", 2, 12,
     "softmax: axis 3 is out of bounds for [N], which has 1 dimension"},
    {"def f(x: i8[N]):\n    x[0] = nan", 2, 12, "Python number nan is out of bounds for i8"},
    {"def f(x: u8[N]):\n    x[0] = 3e9", 2, 12,
     "assignment: Python number 3e+09 is out of bounds for u8"},
    {"def f(x: u16[N, M]):\n    return pad(x, 1, constant_values=((1, 2), (3, -5)))", 2, 51,
     "pad: Python integer -5 is out of bounds for u16"},
    {"def f(x: f32[N, M]):\n    return pad(x, 0, constant_values=((1j, 2), (3, 5)))", 2, 40,
     "pad: f32 cannot have a complex number"},
    {"def f(x: bool[N]):\n    return x & 9223372036854775808", 2, 14,
     "bitwise_and: Python integer 9223372036854775808 is out of bounds for i64"},
    {"def f(x: bool[N]):\n    return x < 9223372036854775808", 2, 14, "out of bounds for i64"},
    {"def f(x: u8[N]):\n    return full_like(x, -5)", 2, 12, "-5 is out of bounds for u8"},
    {"def f(x: u8[N]):\n    return x + u8(256)", 2, 16, "u8: Python integer 256 is out of"},
    {"def f(x: i8[N]):\n    return max(x, initial=-129.5)", 2, 12,
     "initial of max: Python number -129.5 is out of bounds for i8"},
    {"def f(x: f32[N]):\n    (x + 1)[0] = 3\n    return x", 2, 5, "found '('"},
    {"def f(x: f32[N]):\n    x.T = 3", 2, 5, "only names and elements of a named array"},
    {"def f(x: f32[N]):\n    exp(x)[0] = 3", 2, 5, "only names and elements of a named array"},
    {"def f(x: f32[N]):\n    x[0] = x[1] = 3", 2, 17, "one assignment a statement"},
    {"def f(x: i32[N]):\n    y = x + 1\n    y /= 2\n    return y", 3, 7,
     "of type f64, but an array of type i32[N] stays i32"},
    {"def f(x: f32[N], y: f32[M, N]):\n    z = x + 1\n    z += y\n    return z", 3, 7, "in-place"},
    {"def f(x: f32[N]):\n    z += x\n    return z", 2, 5, "'z' is no local name yet"},
    {"def f(x: f32[N]):\n    mean = mean(x)\n    return mean", 2, 5, "choose another"},
    {"def f(x: f32[N, V + P], y: f32[V]):\n    assert V + P % 4 == 0\n    return x", 2, 12,
     "'%' comes before '+'; write (V + P) % 4 == 0"},
    {"def f(x: f32[N], y: f32[M]):\n    assert N - 2 - M % 8 == 0\n    return x", 2, 12,
     "write (N - M - 2) % 8 == 0"},
    {"def f(x: f32[N]):\n    assert N > x\n    return x", 2, 12, "expected a constraint on sizes"},
    {"def f(x: f32[N]):\n    a, b = x, x, x\n    return a", 2, 12, "2 names are assigned 3 values"},
    {"def f(x: f32[N]):\n    x + 1\n    return x", 2, 5, "this value is not used"},
    {"def f(x: f32[N]):\n    for i in x: pass", 2, 5, "there are no loops"},
    {"def f(x: f32[2], y: f32[3]):\n    return 1 + x * y", 2, 18, "[2] and [3] do not broadcast"},
    {"def f(x: f32[N]):\n    return -(x > 0)", 2, 12, "bool has no sign"},
    {"def f(x: f32[N]):\n    return x + 0x1j", 2, 16, "invalid number"},
    {"def f(x: f32[N]):\n    x[0] = 1j\n    return x", 2, 12, "complex number"},
    {"def f(x: c64[N]):\n    return x // 2", 2, 14, "complex numbers"},
    {"def f(x: c64[N]):\n    y = x.real\n    y[0] = 1\n    return y", 3, 10, "read-only"},
    {"def f(x: f32[N, 2]):\n    y = x + 1\n    z = ravel(y)\n    y += 1\n    return z", 5, 12,
     "assigned to since"},
    {"def f(x: c64[N]):\n    y = x.imag\n    x[0] = 1\n    return y", 4, 12, "assigned to since"},
    {"def f(x: f32[N, M]):\n    y = x[:, argmax(x)]\n    x[0] = 1\n    return y", 4, 12,
     "what a computed index shows"},
    {"def f(x: f32[N, M], k: i32):\n    y = x[k]\n    y += 1\n    return y", 3, 7, "read-only"},
    {"def f(x: f32[N]):\n    return 0123", 2, 12, "cannot begin with 0"},
    {"def f(x: f32[N]):\n    return x ? 1", 2, 14, "invalid character '?'"},
    {"def f(x: f32[N]):\n    return \x01", 2, 12, "invalid control character 0x01"},
    {"def f(x: f32[N]):\n    '\xc3\xa9\xc3\xa9'; return \xc3\xa9", 2, 18, "only ASCII"},
};

static void refuses(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        kn_arena a;
        kn_arena_init(&a, NULL);
        parse_job j = {.arena = &a, .text = refused[i].text};
        char place[64];
        snprintf(place, sizeof place, "test.kiln:%d:%d: ", refused[i].line, refused[i].col);
        if (kn_protect(&a, parse, &j) == KN_OK)
            fail_msg("accepted: %s", refused[i].text);
        const char *message = kn_last_error(), *caret = strrchr(message, '\n');
        if (strncmp(message, place, strlen(place)) != 0 || !strstr(message, refused[i].message))
            fail_msg("%s\nlacks %s %s", message, place, refused[i].message);
        assert_non_null(caret);
        assert_int_equal(strcspn(caret + 1, "^"), 4 + refused[i].col - 1);
        kn_arena_finish(&a);
    }
}

/* Of a long line whole characters of UTF-8 are shown, wherever it is cut. */
static void shows_whole_characters(void **state)
{
    (void)state;
    for (int skipped = 0; skipped < 3; skipped++) {
        kn_arena a;
        kn_arena_init(&a, NULL);
        kn_text text = kn_text_new(&a);
        kn_putf(&text, "def f(x: f32[N]): return y # %.*s", skipped, "..");
        for (int i = 0; i < 99; i++)
            kn_put(&text, "\xe2\x82\xac");
        parse_job j = {.arena = &a, .text = kn_text_str(&text)};
        assert_int_equal(kn_protect(&a, parse, &j), KN_SYNTAX);
        const char *end = strrchr(kn_last_error(), '\n');
        assert_memory_equal(end - 3, "\xe2\x82\xac", 3);
        kn_arena_finish(&a);
    }
}

/* What there is needs no advice for its absence. */
static void lacks(void **state)
{
    (void)state;
    assert_non_null(kn_missing_advice("cumsum"));
    assert_null(kn_missing_advice("frob"));
    for (int i = 0; kn_callee_name(i); i++)
        assert_null(kn_missing_advice(kn_callee_name(i)));
}

/* ---- types that became wider ---- */

static void notes_wider_types(void **state)
{
    (void)state;
    static const char text[] =
        "def f(x: f32[N, 3], i: i32[N], d: f64[N], z: c64[N]):\n"
        "    a = 1 - 0.9**i + d * sqrt(N)\n"
        "    b = x * i[:, None] + i / 2 * d, mean(i), sum(i, dtype=f64), f64(i), i.astype('float64')\n"
        "    c = concatenate((i, x[:, 0])) + N / 2, z * 2, i * 1j, x / N, x * 0.5\n"
        "    return a, divmod(i, 0.5)[0], zeros(3), zeros(3, f32), b[0], c[0]\n";
    static const char *const said[] = {"** at 2:16: f64 of a float and i32",
                                       "sqrt at 2:26: f64 of a size",
                                       "* at 3:11: f64 of f32 and i32",
                                       "/ at 3:28: f64 of i32 and an integer",
                                       "mean at 3:37: f64 of i32",
                                       "concatenate at 4:9: f64 of i32 and f32",
                                       "* at 4:53: c128 of i32 and a complex number",
                                       "divmod at 5:15: f64 of i32 and a float", /* the quotient */
                                       "divmod at 5:15: f64 of i32 and a float",
                                       "zeros without dtype= at 5:34: f64 of an integer"};
    kn_arena a;
    kn_arena_init(&a, NULL);
    parse_job j = {.arena = &a, .text = text};
    assert_int_equal(kn_protect(&a, parse, &j), KN_OK);
    assert_int_equal(j.g->wider.len, sizeof said / sizeof *said);
    for (int i = 0; i < j.g->wider.len; i++)
        assert_string_equal(j.g->wider.data[i].text, said[i]);
    kn_graph *copy = kn_graph_clone(&a, j.g);
    assert_int_equal(copy->wider.len, j.g->wider.len);
    assert_string_equal(copy->wider.data[0].text, said[0]);
    kn_arena_finish(&a);
}

/* ---- hostile text ---- */

static kn_status parse_text(const char *text)
{
    kn_arena a;
    kn_arena_init(&a, NULL);
    parse_job j = {.arena = &a, .text = text};
    kn_status s = kn_protect(&a, parse, &j);
    kn_arena_finish(&a);
    return s;
}

static void prefixes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        size_t len = strlen(programs[i].text);
        char *text = malloc(len + 1);
        assert_non_null(text);
        for (size_t n = 0; n < len; n++) {
            memcpy(text, programs[i].text, n);
            text[n] = '\0';
            kn_status s = parse_text(text);
            assert_true(s == KN_OK || s == KN_SYNTAX || s == KN_TYPE || s == KN_SHAPE);
            memcpy(text, programs[i].text, len + 1); /* and without one character */
            memmove(text + n, text + n + 1, len - n);
            s = parse_text(text);
            assert_true(s == KN_OK || s == KN_SYNTAX || s == KN_TYPE || s == KN_SHAPE);
        }
        free(text);
    }
}

static void limits(void **state)
{
    (void)state;
    static const char *const nested[] = {"(", "-", "[", "exp(", "x[", "2**", "x.sum("};
    static const char head[] = "def f(x: f32[N]):\n    return ";
    size_t size = (size_t)KN_PARSE_MAX_TEXT + 2;
    char *text = malloc(size);
    assert_non_null(text);
    for (size_t i = 0; i < sizeof nested / sizeof *nested; i++) {
        size_t n = strlen(nested[i]);
        strcpy(text, head);
        for (int k = 0; k < 20000; k++)
            memcpy(text + strlen(head) + (size_t)k * n, nested[i], n + 1);
        assert_int_equal(parse_text(text), KN_SYNTAX);
        assert_non_null(strstr(kn_last_error(), "nested"));
    }
    strcpy(text, "def f(x: f32[");
    memset(text + strlen(text), '(', 20000);
    text[20013] = '\0';
    assert_int_equal(parse_text(text), KN_SYNTAX);
    memset(text, ' ', size - 1);
    text[size - 1] = '\0';
    assert_int_equal(parse_text(text), KN_SYNTAX);
    assert_non_null(strstr(kn_last_error(), "longer than"));
    free(text);
    assert_int_equal(parse_text(NULL), KN_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts),
        cmocka_unit_test(fills_in_the_graph),
        cmocka_unit_test(expressions),
        cmocka_unit_test(refuses),
        cmocka_unit_test(shows_whole_characters),
        cmocka_unit_test(lacks),
        cmocka_unit_test(notes_wider_types),
        cmocka_unit_test(prefixes),
        cmocka_unit_test(limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
