#include "bench/c/workloads.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define F32 KILN_F32
#define SOFTMAX(AXIS)                                                                              \
    "    e = exp(x - max(x, axis=" AXIS ", keepdims=True))\n"                                      \
    "    y = e / sum(e, axis=" AXIS ", keepdims=True)\n    return y\n"
#define BATCHNORM(AXES, ALL)                                                                       \
    "    d = x - mean(x, axis=" AXES ", keepdims=True)\n"                                          \
    "    v = mean(d * d, axis=" AXES ", keepdims=True)\n"                                          \
    "    y = d * rsqrt(v + 1e-5) * g" ALL " + b" ALL "\n    return y\n"

static const function functions[] = {
    {"layernorm",
     "def f(x: f32[N, C], g: f32[C], b: f32[C]):\n    d = x - mean(x, axis=-1, keepdims=True)\n"
     "    y = d * rsqrt(mean(d * d, axis=-1, keepdims=True) + 1e-5) * g + b\n    return y\n",
     c_layernorm,
     {{"x", F32, "NC"}, {"g", F32, "C"}, {"b", F32, "C"}, {"y", F32, "NC"}},
     3,
     "NC",
     'N'},
    {"gelu",
     "def f(x: f32[N]):\n    y = gelu_tanh(x)\n    return y\n",
     c_gelu,
     {{"x", F32, "N"}, {"y", F32, "N"}},
     1,
     "N",
     'N'},
    {"softmax",
     "def f(x: f32[N, C]):\n" SOFTMAX("-1"),
     c_softmax,
     {{"x", F32, "NC"}, {"y", F32, "NC"}},
     1,
     "NC",
     'N'},
    {"cross-entropy backward",
     "def f(p: f32[N, V], t: i32[N], l: f32[N]):\n"
     "    y = (p - cast(arange(V) == t[:, None], f32)) * l[:, None]\n    return y\n",
     c_loss_backward,
     {{"p", F32, "NV"}, {"t", KILN_I32, "N"}, {"l", F32, "N"}, {"y", F32, "NV"}},
     3,
     "NV",
     'N'},
    {"adam",
     "def f(p: f32[N], g: f32[N], m: f32[N], v: f32[N], lr: f32 = 1e-3):\n    m2 = m * 0.9 + g * 0.1\n"
     "    v2 = v * 0.999 + g * g * 0.001\n    p2 = p - lr * m2 / (sqrt(v2) + 1e-8)\n    return p2, m2, v2\n",
     c_adam,
     {{"p", F32, "N"},
      {"g", F32, "N"},
      {"m", F32, "N"},
      {"v", F32, "N"},
      {"p2", F32, "N"},
      {"m2", F32, "N"},
      {"v2", F32, "N"}},
     4,
     "N",
     'N'},
    {"residual",
     "def f(x: f32[N], r: f32[N]):\n    y = x + r\n    return y\n",
     c_residual,
     {{"x", F32, "N"}, {"r", F32, "N"}, {"y", F32, "N"}},
     2,
     "N",
     'N'},
    {"embedding",
     "def f(w: f32[V, C], i: i32[N]):\n    y = w[i]\n    return y\n",
     c_embedding,
     {{"w", F32, "VC"}, {"i", KILN_I32, "N"}, {"y", F32, "NC"}},
     2,
     "NC",
     'N'},
    {"batchnorm",
     "def f(x: f32[N, C, H, W], g: f32[C], b: f32[C]):\n" BATCHNORM("(0, 2, 3)", "[:, None, None]"),
     c_batchnorm,
     {{"x", F32, "NCHW"}, {"g", F32, "C"}, {"b", F32, "C"}, {"y", F32, "NCHW"}},
     3,
     "NCHW",
     'C'},
    {"batchnorm, channels last,",
     "def f(x: f32[N, H, W, C], g: f32[C], b: f32[C]):\n" BATCHNORM("(0, 1, 2)", ""),
     c_batchnorm_last,
     {{"x", F32, "NHWC"}, {"g", F32, "C"}, {"b", F32, "C"}, {"y", F32, "NHWC"}},
     3,
     "NHWC",
     'N'},
    {"x / sum(x) of rows",
     "def f(x: f32[N, C]):\n    y = x / sum(x, axis=-1, keepdims=True)\n    return y\n",
     c_row_shares,
     {{"x", F32, "NC"}, {"y", F32, "NC"}},
     1,
     "NC",
     'N'},
    {"column sums",
     "def f(x: f32[N, C]):\n    y = sum(x, axis=0)\n    return y\n",
     c_column_sums,
     {{"x", F32, "NC"}, {"y", F32, "C"}},
     1,
     "NC",
     'C'},
    {"argmax",
     "def f(x: f32[N, C]):\n    y = argmax(x, axis=-1)\n    return y\n",
     c_argmax,
     {{"x", F32, "NC"}, {"y", KILN_I64, "N"}},
     1,
     "NC",
     'N'},
    {"min and max of columns",
     "def f(x: f32[N, C]):\n    y = min(x, axis=0)\n    z = max(x, axis=0)\n    return y, z\n",
     c_min_max,
     {{"x", F32, "NC"}, {"y", F32, "C"}, {"z", F32, "C"}},
     1,
     "NC",
     'N'},
    {"softmax over the middle",
     "def f(x: f32[N, B, C]):\n" SOFTMAX("1"),
     c_softmax_middle,
     {{"x", F32, "NBC"}, {"y", F32, "NBC"}},
     1,
     "NBC",
     'N'},
    {"cosines of rows",
     "def f(a: f32[N, C], b: f32[N, C]):\n"
     "    y = sum(a * b, axis=1) / (sqrt(sum(a * a, axis=1)) * sqrt(sum(b * b, axis=1)))\n    return y\n",
     c_cosines,
     {{"a", F32, "NC"}, {"b", F32, "NC"}, {"y", F32, "N"}},
     2,
     "NC",
     'N'},
    {"transpose",
     "def f(x: f32[N, C]):\n    y = x.T * 2\n    return y\n",
     c_transpose,
     {{"x", F32, "NC"}, {"y", F32, "CN"}},
     1,
     "NC",
     'C'},
    {"rmsnorm",
     "def f(x: f32[N, C], g: f32[C]):\n"
     "    y = x * rsqrt(mean(x * x, axis=-1, keepdims=True) + 1e-6) * g\n    return y\n",
     c_rmsnorm,
     {{"x", F32, "NC"}, {"g", F32, "C"}, {"y", F32, "NC"}},
     2,
     "NC",
     'N'},
    {"log-sum-exp of rows",
     "def f(x: f32[N, C]):\n    m = max(x, axis=-1)\n"
     "    y = log(sum(exp(x - m[:, None]), axis=-1)) + m\n    return y\n",
     c_log_sum_exp,
     {{"x", F32, "NC"}, {"y", F32, "N"}},
     1,
     "NC",
     'N'},
    {"softmax backward",
     "def f(y: f32[N, C], dy: f32[N, C]):\n"
     "    dx = (dy - sum(dy * y, axis=-1, keepdims=True)) * y\n    return dx\n",
     c_softmax_backward,
     {{"y", F32, "NC"}, {"dy", F32, "NC"}, {"dx", F32, "NC"}},
     2,
     "NC",
     'N'},
    {"backward of tanh(x + b)",
     "def f(x: f32[N, C], b: f32[C], dy: f32[N, C]):\n    t = tanh(x + b)\n    dx = dy * (1 - t * t)\n"
     "    db = sum(dx, axis=0)\n    return dx, db\n",
     c_bias_gradient,
     {{"x", F32, "NC"}, {"b", F32, "C"}, {"dy", F32, "NC"}, {"dx", F32, "NC"}, {"db", F32, "C"}},
     3,
     "NC",
     'N'},
    {"moments of columns",
     "def f(x: f32[N, C]):\n    m = mean(x, axis=0)\n    v = mean((x - m) * (x - m), axis=0)\n"
     "    return m, v\n",
     c_moments,
     {{"x", F32, "NC"}, {"m", F32, "C"}, {"v", F32, "C"}},
     1,
     "NC",
     'N'},
    {"hypot",
     "def f(a: f32[N], b: f32[N]):\n    y = sqrt(a * a + b * b)\n    return y\n",
     c_hypot,
     {{"a", F32, "N"}, {"b", F32, "N"}, {"y", F32, "N"}},
     2,
     "N",
     'N'},
    {"total",
     "def f(x: f32[N]):\n    y = sum(x)\n    return y\n",
     c_total,
     {{"x", F32, "N"}, {"y", F32, ""}},
     1,
     "N",
     'N'},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static const struct listed {
    const char *of;
    int64_t extents[MOST_RANK]; /* of the letters in the order in which arguments have them */
} list[] = {
    {"layernorm", {256, 768}},
    {"gelu", {786432}},
    {"softmax", {64, 50257}},
    {"softmax", {1024, 512}},
    {"cross-entropy backward", {64, 50257}},
    {"adam", {4194304}},
    {"residual", {196608}},
    {"embedding", {4096, 768, 1024}},
    {"embedding", {4096, 32, 65536}},
    {"batchnorm", {8, 64, 56, 56}},
    {"batchnorm, channels last,", {8, 56, 56, 64}},
    {"x / sum(x) of rows", {16384, 64}},
    {"column sums", {4096, 512}},
    {"argmax", {64, 50257}},
    {"min and max of columns", {1048576, 4}},
    {"softmax over the middle", {32, 128, 256}},
    {"cosines of rows", {16384, 256}},
    {"transpose", {1024, 1024}},
};
enum { LISTED = sizeof list / sizeof *list };

int64_t extent_of(const workload *w, char letter) { return w->extents[letter - 'A']; }

/* The letters of a function, in the order in which its arguments have them. */
static const char *letters_of(const function *f, char *to)
{
    int n = 0;
    to[0] = 0;
    for (int i = 0; i < MOST_ARGS && f->args[i].name; i++)
        for (const char *l = f->args[i].letters; *l; l++)
            if (!strchr(to, *l)) {
                to[n++] = *l;
                to[n] = 0;
            }
    return to;
}

static void name_it(workload *w)
{
    char letters[MOST_LETTERS + 1];
    size_t n = (size_t)snprintf(w->name, sizeof w->name, "%s ", w->f->name);
    for (const char *l = letters_of(w->f, letters); *l; l++)
        n += (size_t)snprintf(w->name + n, sizeof w->name - n, l == letters ? "%lld" : "x%lld",
                              (long long)extent_of(w, *l));
}

bool listed_workload(workload *to, int index)
{
    char letters[MOST_LETTERS + 1];
    if (index >= LISTED)
        return false;
    *to = (workload){0};
    for (int i = 0; i < FUNCTIONS; i++)
        if (strcmp(functions[i].name, list[index].of) == 0)
            to->f = &functions[i];
    letters_of(to->f, letters);
    for (int i = 0; letters[i]; i++)
        to->extents[letters[i] - 'A'] = list[index].extents[i];
    name_it(to);
    return true;
}

/* ---- drawing ---- */

enum {
    LEAST = 4,         /* an extent, */
    LEAST_SHARED = 16, /* or that of the axis whose groups threads share */
    MOST_TABLE = 8192, /* rows of a table that is not one of the largest arguments */
};

/* In [0, 1). */
static double uniform(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
    uint64_t z = (*state ^ (*state >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static double log_uniform(uint64_t *state, double least, double most)
{
    return most <= least ? least : least * pow(most / least, uniform(state));
}

/* Near n: odd, or of two or three binary digits and zeros. */
static int64_t odd_or_round(uint64_t *state, double n)
{
    if (uniform(state) < 0.5)
        return (int64_t)n | 1;
    const double unit = exp2(floor(log2(n)) - (uniform(state) < 0.5 ? 1 : 2));
    return (int64_t)(unit < 1 ? n : floor(n / unit) * unit);
}

void drawn_workload(workload *to, uint64_t seed, int index)
{
    uint64_t state = seed * UINT64_C(1000003) + (uint64_t)index;
    const function *f = &functions[(int)(uniform(&state) * FUNCTIONS)];
    int large = 0;
    *to = (workload){.f = f};
    for (int i = 0; i < MOST_ARGS && f->args[i].name; i++)
        large += strlen(f->args[i].letters) == strlen(f->most);
    const double all = log_uniform(&state, 65536, 268435456) / sizeof(float) / large;
    double left = all;
    for (size_t i = strlen(f->most); i-- > 1;) {
        const char l = f->most[i];
        const double least = l == f->shared ? LEAST_SHARED : LEAST,
                     others = i == 1 ? LEAST_SHARED : LEAST * LEAST_SHARED;
        int64_t *const n = &to->extents[l - 'A'];
        *n = odd_or_round(&state, log_uniform(&state, least, left / others));
        left /= (double)*n;
    }
    to->extents[f->most[0] - 'A'] = odd_or_round(&state, left < LEAST ? LEAST : left);
    char letters[MOST_LETTERS + 1];
    for (const char *l = letters_of(f, letters); *l; l++)
        if (!extent_of(to, *l)) { /* rows of a table, which is no larger than what is drawn */
            const double rows = all / (double)extent_of(to, 'C');
            to->extents[*l - 'A'] = odd_or_round(
                &state, log_uniform(&state, LEAST_SHARED, rows < MOST_TABLE ? rows : MOST_TABLE));
        }
    name_it(to);
}
