/* kiln_split(): what the two programs give, what they save, and what is refused. */
#include "tests/unit/api.h"

#include <math.h>
#include <stdio.h>

static const char text[] = "def norm(x: f64[N, C], gamma: f64[C], dy: f64[N, C], seed: u64):\n"
                           "    h = x + dropout(x, 0.5, seed, 1)\n"
                           "    m = mean(h, axis=1, keepdims=True)\n"
                           "    d = h - m\n"
                           "    r = rsqrt(mean(d * d, axis=1, keepdims=True) + 1e-5)\n"
                           "    y = d * r * gamma\n"
                           "    dx, dgamma = vjp(y, dy, (x, gamma))\n"
                           "    return y, dx, dgamma\n";

enum { N = 6, C = 20, MOST = 24 };

static double x[N][C], scale[C], dy[N][C], y[N][C], dx[N][C], dgamma[C];
static uint64_t seed = 3;
static const int64_t shape[] = {N, C};

static kiln_graph *parse(const char *program)
{
    kiln_graph *g;
    if (kiln_parse(ctx, program, NULL, &g) != KILN_OK)
        fail_msg("%s", kiln_last_error());
    return g;
}

/* Memory for what one program leaves for another, by name. */
typedef struct kept {
    kiln_arg args[MOST];
    int64_t shapes[MOST][KILN_MAX_RANK];
    int n;
} kept;

static const kiln_arg *find(const kiln_arg *args, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(args[i].name, name) == 0)
            return &args[i];
    return NULL;
}

/* Runs with the arguments that it has, of `known` and of what is kept; what else it gives is kept. */
static void run(kiln_graph *g, const kiln_arg *known, int nknown, kept *k)
{
    kiln_arg args[MOST];
    kiln_prog *p;
    if (kiln_compile(g, NULL, &p) != KILN_OK)
        fail_msg("%s", kiln_last_error());
    int n = kiln_prog_io_count(p);
    for (int i = 0; i < n; i++) {
        kiln_io io;
        kiln_prog_io(p, i, &io);
        const kiln_arg *a = find(known, nknown, io.name);
        if (!a)
            a = find(k->args, k->n, io.name);
        if (!a) {
            kiln_arg *made = &k->args[k->n];
            assert_int_equal(io.kind, KILN_ARRAY_OUT);
            *made = (kiln_arg){.name = strdup(io.name), .shape = k->shapes[k->n]};
            if (kiln_output_shape(p, io.name, args, i, &made->dtype, &made->rank,
                                  k->shapes[k->n++]) != KILN_OK)
                fail_msg("%s", kiln_last_error());
            made->data = calloc(N * C, 16);
            a = made;
        }
        args[i] = *a;
    }
    if (kiln_run(p, NULL, args, n) != KILN_OK)
        fail_msg("%s", kiln_last_error());
    kiln_prog_destroy(p);
}

static void forget(kept *k)
{
    for (int i = 0; i < k->n; i++) {
        free(k->args[i].data);
        free((char *)(uintptr_t)k->args[i].name);
    }
    k->n = 0;
}

static const kiln_arg all[] = {
    {"x", x, KILN_F64, 2, shape, NULL},
    {"gamma", scale, KILN_F64, 1, shape + 1, NULL},
    {"dy", dy, KILN_F64, 2, shape, NULL},
    {"seed", &seed, KILN_U64, 0, NULL, NULL},
    {"y", y, KILN_F64, 2, shape, NULL},
    {"dx", dx, KILN_F64, 2, shape, NULL},
    {"dgamma", dgamma, KILN_F64, 1, shape + 1, NULL},
};

static void fill(void)
{
    for (int i = 0; i < N * C; i++) {
        x[i / C][i % C] = sin(i * 1.7);
        dy[i / C][i % C] = cos(i * 0.3);
        scale[i % C] = 1 + 0.1 * (i % C);
    }
}

/* What explain says of the graph. */
static void must_say(kiln_graph *g, const char *words, bool said)
{
    kiln_prog *p = NULL;
    char *got = NULL;
    if (kiln_compile(g, NULL, &p) || kiln_explain(p, NULL, 0, NULL, &got))
        fail_msg("%s", kiln_last_error());
    if (!strstr(got, words) == said)
        fail_msg("%s\n%s \"%s\"", got, said ? "lacks" : "has", words);
    kiln_text_free(ctx, got);
    kiln_prog_destroy(p);
}

static void near(const double *got, const double *want, int n)
{
    for (int i = 0; i < n; i++)
        if (!(fabs(got[i] - want[i]) <= 1e-12))
            fail_msg("element %d is %.17g, not %.17g", i, got[i], want[i]);
}

static void holds(const char *save, const char *words)
{
    double want_y[N * C], want_dx[N * C], want_dgamma[C];
    kiln_graph *g = parse(text), *forward, *backward;
    kiln_split_options o;
    kept none = {0}, saved = {0};
    kiln_split_options_init(&o);
    o.save = save;
    o.args = all;
    o.nargs = 4;
    run(g, all, 7, &none);
    memcpy(want_y, y, sizeof y);
    memcpy(want_dx, dx, sizeof dx);
    memcpy(want_dgamma, dgamma, sizeof dgamma);
    memset(dx, 0, sizeof dx);
    if (kiln_split(g, "dy", &o, &forward, &backward) != KILN_OK)
        fail_msg("%s", kiln_last_error());
    kiln_graph_destroy(g);
    must_say(forward, words, true);
    must_say(backward, words, true);
    run(forward, all, 7, &saved);
    near(&y[0][0], want_y, N * C);
    run(backward, all, 7, &saved);
    near(&dx[0][0], want_dx, N * C);
    near(dgamma, want_dgamma, C);
    assert_int_equal(none.n, 0);
    forget(&saved);
    kiln_graph_destroy(forward);
    kiln_graph_destroy(backward);
}

static void test_gives(void **state)
{
    (void)state;
    fill();
    holds(NULL, "ways\n");
    holds("", "reads saved      nothing");
    holds("m,r", "reads saved      m f64[N, 1] (48 bytes), r f64[N, 1] (48 bytes)\n");
    holds(" d , r", "reads saved      d f64[N, C] (960 bytes), r f64[N, 1] (48 bytes)\n");
}

/* An output of the forward is saved as it is. */
static void test_output(void **state)
{
    (void)state;
    kiln_graph *g = parse("def f(x: f64[N, C], dy: f64[N, C]):\n"
                          "    y = tanh(x)\n"
                          "    return y, vjp(y, dy, x)\n"),
               *forward, *backward;
    kiln_split_options o;
    kiln_prog *p = NULL;
    kiln_io io;
    kiln_split_options_init(&o);
    o.save = "y";
    if (kiln_split(g, "dy", &o, &forward, &backward) || kiln_compile(backward, NULL, &p))
        fail_msg("%s", kiln_last_error());
    must_say(backward, "reads inputs     none", true);
    must_say(forward, "reads inputs     x", false);
    assert_int_equal(kiln_prog_io_count(p), 3);
    assert_int_equal(kiln_prog_io(p, 1, &io), KILN_OK);
    assert_string_equal(io.name, "y");
    assert_string_equal(kiln_prog_name(p), "f_backward");
    kiln_prog_destroy(p);
    kiln_graph_destroy(g);
    kiln_graph_destroy(forward);
    kiln_graph_destroy(backward);
}

/* A second derivative: the backward is split again. */
static void test_twice(void **state)
{
    (void)state;
    static const char program[] = "def f(x: f64[N, C], dy: f64[N, C], ddx: f64[N, C]):\n"
                                  "    y = softmax(x * x, axis=1)\n"
                                  "    dx = vjp(y, dy, x)\n"
                                  "    d2x, d2y = vjp(dx, ddx, (x, dy))\n"
                                  "    return y, dx, d2x, d2y\n";
    double ddx[N][C], d2x[N][C], d2y[N][C], want[4][N * C];
    kiln_arg args[] = {
        {"x", x, KILN_F64, 2, shape, NULL},     {"dy", dy, KILN_F64, 2, shape, NULL},
        {"ddx", ddx, KILN_F64, 2, shape, NULL}, {"y", y, KILN_F64, 2, shape, NULL},
        {"dx", dx, KILN_F64, 2, shape, NULL},   {"d2x", d2x, KILN_F64, 2, shape, NULL},
        {"d2y", d2y, KILN_F64, 2, shape, NULL},
    };
    kept k = {0};
    kiln_graph *g = parse(program), *forward, *rest, *first, *second;
    fill();
    for (int i = 0; i < N * C; i++)
        ddx[i / C][i % C] = sin(i * 0.9 + 1);
    run(g, args, 7, &k);
    for (int i = 0; i < 4; i++)
        memcpy(want[i], args[3 + i].data, sizeof want[i]);
    if (kiln_split(g, "dy, ddx", NULL, &forward, &rest) ||
        kiln_split(rest, "ddx", NULL, &first, &second))
        fail_msg("%s", kiln_last_error());
    for (int i = 3; i < 7; i++)
        memset(args[i].data, 0, sizeof want[0]);
    run(forward, args, 7, &k);
    run(first, args, 7, &k);
    run(second, args, 7, &k);
    for (int i = 0; i < 4; i++)
        near(args[3 + i].data, want[i], N * C);
    forget(&k);
    kiln_graph *made[] = {g, forward, rest, first, second};
    for (int i = 0; i < 5; i++)
        kiln_graph_destroy(made[i]);
}

/* What the forward updates the backward gets as it was; and sizes that nothing which it reads has. */
static void test_updates(void **state)
{
    (void)state;
    static const char program[] = "def f(x: f64[N, C], w: f64[C], dy: f64[N], z: f64[N]):\n"
                                  "    y = sum(x * w, axis=1) + sum(z)\n"
                                  "    x0 = x * 1.0\n"
                                  "    dw, dz = vjp(y, dy, (w, z))\n"
                                  "    x += 1\n"
                                  "    w -= 0.1 * dw\n"
                                  "    return y, dz\n";
    double yy[N], dz[N], z[N] = {0}, was[N][C], w[C];
    kiln_arg args[] = {
        {"x", x, KILN_F64, 2, shape, NULL},   {"w", w, KILN_F64, 1, shape + 1, NULL},
        {"dy", dy, KILN_F64, 1, shape, NULL}, {"z", z, KILN_F64, 1, shape, NULL},
        {"y", yy, KILN_F64, 1, shape, NULL},  {"dz", dz, KILN_F64, 1, shape, NULL},
    };
    kept k = {0};
    kiln_graph *g = parse(program), *forward, *backward;
    fill();
    memcpy(was, x, sizeof x);
    memcpy(w, scale, sizeof w);
    if (kiln_split(g, "dy", NULL, &forward, &backward) != KILN_OK)
        fail_msg("%s", kiln_last_error());
    run(forward, args, 6, &k);
    run(backward, args, 6, &k);
    for (int j = 0; j < C; j++) {
        double want = scale[j];
        for (int i = 0; i < N; i++)
            want -= 0.1 * dy[0][i] * was[i][j];
        near(&w[j], &want, 1);
    }
    for (int i = 0; i < N; i++) {
        double sum = 0;
        for (int j = 0; j < N; j++)
            sum += dy[0][j];
        near(&dz[i], &sum, 1);
        assert_true(x[i][0] == was[i][0] + 1);
    }
    forget(&k);
    kiln_graph_destroy(g);
    kiln_graph_destroy(forward);
    kiln_graph_destroy(backward);
}

static void refused(const char *late, const char *save, const char *arch, const char *why)
{
    kiln_graph *g = parse(text), *forward = g, *backward = g;
    kiln_split_options o;
    kiln_split_options_init(&o);
    o.save = save;
    o.arch = arch;
    expect(kiln_split(g, late, &o, &forward, &backward), KILN_ERR_ARGUMENT, why);
    assert_true(!forward && !backward);
    assert_int_equal(kiln_graph_status(g), KILN_OK);
    kiln_graph_destroy(g);
}

static void test_refuses(void **state)
{
    (void)state;
    kiln_graph *g = parse(text), *forward, *backward;
    refused("dz", NULL, NULL, "norm has no input 'dz'");
    refused("dy dx", NULL, NULL, "commas");
    refused("", NULL, NULL, "no input ''");
    refused("dy,", NULL, NULL, "no input ''");
    refused("x", NULL, NULL, "every output of norm depends on x");
    refused("dy", "q", NULL, "there is no value 'q' to save; there are");
    refused("dy", NULL, "sm_1", "unknown architecture 'sm_1'");
    expect(kiln_split(g, NULL, NULL, &forward, &backward), KILN_ERR_ARGUMENT, "late is NULL");
    expect(kiln_split(g, "dy", NULL, NULL, &backward), KILN_ERR_ARGUMENT, "forward is NULL");
    expect(kiln_split(NULL, "dy", NULL, &forward, &backward), KILN_ERR_ARGUMENT, "graph is NULL");
    kiln_graph_destroy(g);
    g = parse("def f(x: f32[N], dy: f32[K]):\n    y = zeros((K,))\n    return y, x[0] * dy\n");
    expect(kiln_split(g, "dy", NULL, &forward, &backward), KILN_ERR_SHAPE,
           "the size K is known late");
    kiln_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(test_gives),   test(test_output),  test(test_twice),
        test(test_updates), test(test_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
