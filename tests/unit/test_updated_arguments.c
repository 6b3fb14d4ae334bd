/* Arguments that a run updates, and elements read at indices that are values, through the API on every device of the
 * host. Values at large are tests/oracle's. */
#include "tests/unit/api.h"

static const char *const devices[] = {"ref", "cpu", "emu"};
enum { DEVICES = sizeof devices / sizeof *devices };

static kiln_prog *compiled(kiln_graph *g)
{
    kiln_prog *p = NULL;
    good(kiln_compile(g, NULL, &p));
    kiln_graph_destroy(g);
    return p;
}

static kiln_arg vector(const char *name, void *data, kiln_dtype dtype, const int64_t *n)
{
    return (kiln_arg){name, data, dtype, 1, n, NULL};
}

/* x[...] = x * 2 + 1 by the builder: one argument, in and out, and nothing is copied for it. */
static void updates_in_place(void **state)
{
    (void)state;
    for (int d = 0; d < DEVICES; d++) {
        float x[5] = {0, 1, 2, 3, 4};
        int64_t n = 5;
        ctx = open_device(devices[d]);
        kiln_graph *g = new_graph();
        kiln_val v = kiln_input(g, "x", KILN_F32, "N");
        assert_int_equal(kiln_update(g, "x", kiln_add(g, kiln_mul(g, v, 2), 1)), KILN_OK);
        kiln_prog *p = compiled(g);
        kiln_io io;
        assert_int_equal(kiln_prog_io_count(p), 1);
        assert_int_equal(kiln_prog_io(p, 0, &io), KILN_OK);
        assert_int_equal(io.kind, KILN_ARRAY_UPDATE);
        kiln_arg arg = vector("x", x, KILN_F32, &n);
        assert_int_equal(kiln_run(p, NULL, &arg, 1), KILN_OK);
        for (int i = 0; i < 5; i++)
            assert_true(x[i] == (float)(2 * i + 1));
        assert_int_equal(stats_of(ctx).copies, 0);
        int64_t stride = 0;
        arg.strides = &stride;
        expect(kiln_run(p, NULL, &arg, 1), KILN_ERR_ARGUMENT, "make elements overlap");
        kiln_prog_destroy(p);
        kiln_ctx_destroy(ctx);
    }
}

/* The language from C: names stand for values of the graph, sizes keep theirs. */
static void builds_expressions(void **state)
{
    (void)state;
    float x[2][3] = {{1, 2, 3}, {4, 5, 9}}, y[2][3];
    int64_t shape[] = {2, 3};
    kiln_graph *g = new_graph();
    kiln_val v[2] = {kiln_input(g, "x", KILN_F32, "N, C")};
    v[1] = kiln_mean(g, v[0], KILN_AXES(1), KILN_KEEPDIMS);
    const char *const names[] = {"a", "m"};
    kiln_val d = kiln_expr(g, "roll((a - m) * C, 1, axis=1)[:, ::-1]", names, v, 2);
    assert_int_equal(kiln_output(g, "y", d), KILN_OK);
    kiln_prog *p = compiled(g);
    kiln_arg args[] = {{"x", x, KILN_F32, 2, shape, NULL}, {"y", y, KILN_F32, 2, shape, NULL}};
    assert_int_equal(kiln_run(p, NULL, args, 2), KILN_OK);
    const float want[2][3] = {{0, -3, 3}, {-3, -6, 9}};
    assert_memory_equal(y, want, sizeof want);
    kiln_prog_destroy(p);

    static const struct {
        const char *text, *message;
        kiln_status status;
    } wrong[] = {
        {"exp(b)", "expression:1:5: unknown name 'b'", KILN_ERR_SYNTAX},
        {"exp(a", "to close the '('", KILN_ERR_SYNTAX},
        {"sum(a, axis=2)", "axis 2 is out of bounds", KILN_ERR_SHAPE},
        {"a, a", "found ','", KILN_ERR_SYNTAX},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        g = new_graph();
        v[0] = kiln_input(g, "x", KILN_F32, "N, C");
        assert_int_equal(kiln_expr(g, wrong[i].text, names, v, 1).id, 0);
        expect(kiln_graph_status(g), wrong[i].status, wrong[i].message);
        kiln_graph_destroy(g);
    }
    g = new_graph();
    kiln_expr(g, "1", names, NULL, 1);
    expect(kiln_graph_status(g), KILN_ERR_ARGUMENT, "an expression of 1 names");
    kiln_graph_destroy(g);
}

static void refuses_updates(void **state)
{
    (void)state;
    kiln_graph *g = new_graph();
    kiln_val x = kiln_input(g, "x", KILN_F32, "N");
    expect(kiln_update(g, "y", x), KILN_ERR_ARGUMENT, "there is no input y");
    kiln_graph_destroy(g);
    g = new_graph();
    x = kiln_scalar(g, "k", KILN_F32);
    expect(kiln_update(g, "k", x), KILN_ERR_ARGUMENT, "passed by value");
    kiln_graph_destroy(g);
    g = new_graph();
    x = kiln_input(g, "x", KILN_F32, "3");
    expect(kiln_update(g, "x", kiln_input(g, "y", KILN_F32, "4")), KILN_ERR_SHAPE,
           "does not broadcast");
    kiln_graph_destroy(g);
}

/* A step of the heat equation, a concatenation less its mean, a frame: one kernel each. */
static void fuses(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "def f(x: f32[N, M]):\n"
        "    x[1:-1, 1:-1] += 0.2 * (x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2])\n",
        "def f(x: f32[N, M]):\n"
        "    x[1:-1] = concatenate((x[:2] * 2, x[4:]))\n"
        "    x -= mean(x, axis=1, keepdims=True)\n",
        "def f(x: f32[N, M]):\n    x[...] = pad(sqrt(x[1:-1, 1:-1] * x[1:-1, 1:-1]), 1)\n",
    };
    ctx = open_device("emu");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        kiln_prog *p = compile(ctx, texts[i]);
        float x[12 * 10] = {0};
        int64_t shape[] = {12, 10};
        kiln_arg arg = {"x", x, KILN_F32, 2, shape, NULL};
        kiln_prepared info;
        kiln_prepared_init(&info);
        if (kiln_prepare(p, &arg, 1, &info) != KILN_OK)
            fail_msg("%s", kiln_last_error());
        char *text = NULL;
        assert_int_equal(info.launches, 1);
        assert_int_equal(kiln_explain(p, &arg, 1, NULL, &text), KILN_OK);
        if (!strstr(text, "\n1 loop nest\n"))
            fail_msg("%s", text);
        kiln_text_free(ctx, text);
        kiln_prog_destroy(p);
    }
    kiln_ctx_destroy(ctx);
}

enum { ROWS = 12, COLUMNS = 10 };

/* x after a run of a program that updates it, in pieces; how many inputs were copied. */
static int run_in_pieces(const char *device, const char *text, float *x)
{
    const int64_t shape[] = {ROWS, COLUMNS};
    const kiln_arg arg = {"x", x, KILN_F32, 2, shape, NULL};
    kiln_options options;
    kiln_options_init(&options);
    options.schedule = "pieces";
    ctx = open_device(device);
    kiln_prog *p = compile_with(ctx, text, &options);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        x[i] = (float)(i * 37 % 101);
    if (kiln_run(p, NULL, &arg, 1) != KILN_OK)
        fail_msg("%s", kiln_last_error());
    good(kiln_sync(ctx, NULL));
    const int copies = (int)stats_of(ctx).copies;
    kiln_prog_destroy(p);
    kiln_ctx_destroy(ctx);
    return copies;
}

/* A part that is made of another part, which stays as it is, needs no copy: rows or columns, halves or every second one. */
static void reads_other_parts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int copies;
    } programs[] = {
        {"def f(x: f32[N, 2*M]):\n    x[:, :M] = x[:, M:] * 2\n", 0},
        {"def f(x: f32[2*N, M]):\n    x[N:] = x[:N] + 1\n", 0},
        {"def f(x: f32[N, M]):\n    x[::2] = x[1::2] + 1\n", 0},
        {"def f(x: f32[N, M]):\n    x[:, 1::2] = x[:, ::2] + 1\n", 0},
        {"def f(x: f32[N, M]):\n    x[:, 0] = sum(x[:, 1:], axis=1)\n    x[0, 1:] = 3\n", 1},
        {"def f(x: f32[N, M]):\n    x[:, 0] = sum(x[:, 1:-1], axis=1)\n    x[:, -1] = 3\n", 0},
        {"def f(x: f32[N, M]):\n    x[:-1] = x[1:] + 1\n", 1},
        {"def f(x: f32[N, M]):\n    x[:, :-1] = x[:, 1:] + 1\n", 1},
        {"def f(x: f32[N, M]):\n    x[:, ::2] = x[:, 4:9] + 1\n", 1},
        {"def f(x: f32[N, 2*M]):\n"
         "    t = x[:, :M] * 2\n    x[:, :M] = x[:, M:] + 1\n    x[:, M:] = t\n",
         1},
    };
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        float want[ROWS * COLUMNS], got[ROWS * COLUMNS];
        run_in_pieces("ref", programs[i].text, want);
        for (int d = 1; d < DEVICES; d++) {
            const int copies = run_in_pieces(devices[d], programs[i].text, got);
            for (int k = 0; k < ROWS * COLUMNS; k++)
                if (got[k] != want[k])
                    fail_msg("%s on %s: element %d is %g, not %g", programs[i].text, devices[d], k,
                             (double)got[k], (double)want[k]);
            if (copies != programs[i].copies)
                fail_msg("%s on %s: %d copies, not %d", programs[i].text, devices[d], copies,
                         programs[i].copies);
        }
    }
}

/* An index out of bounds is an error on the host's devices; wrap and clip have none. */
static void checks_indices(void **state)
{
    (void)state;
    for (int d = 0; d < DEVICES; d++) {
        float x[4] = {10, 11, 12, 13}, y[3];
        int32_t i[3] = {0, -1, 3}, far[3] = {0, 4, 1}, low[3] = {1, 2, -5};
        int64_t n = 4, k = 3;
        ctx = open_device(devices[d]);
        kiln_prog *p =
            compile(ctx, "def f(x: f32[N], i: i32[K]):\n    y = take(x, i)\n    return y\n");
        kiln_arg args[] = {vector("x", x, KILN_F32, &n), vector("i", i, KILN_I32, &k),
                           vector("y", y, KILN_F32, &k)};
        if (kiln_run(p, NULL, args, 3) != KILN_OK)
            fail_msg("%s", kiln_last_error());
        assert_true(y[0] == 10 && y[1] == 13 && y[2] == 13);
        args[1].data = far;
        expect(kiln_run(p, NULL, args, 3), KILN_ERR_RUN, "out of bounds");
        args[1].data = low;
        expect(kiln_run(p, NULL, args, 3), KILN_ERR_RUN, "out of bounds");
        kiln_prog_destroy(p);
        p = compile(ctx,
                    "def f(x: f32[N], i: i32[K]):\n"
                    "    y = take(x, i, mode='wrap') - take(x, i, mode='clip')\n    return y\n");
        assert_int_equal(kiln_run(p, NULL, args, 3), KILN_OK);
        assert_true(y[0] == 0 && y[1] == 0 && y[2] == 3);
        kiln_prog_destroy(p);
        p = compile(ctx, "def f(x: f32[N], i: i32[K]):\n"
                         "    y = arange(len(x), dtype=f32)[i]\n    return y\n");
        expect(kiln_run(p, NULL, args, 3), KILN_ERR_RUN, "out of bounds");
        args[1].data = i;
        assert_int_equal(kiln_run(p, NULL, args, 3), KILN_OK);
        assert_true(y[0] == 0 && y[1] == 3 && y[2] == 3);
        kiln_prog_destroy(p);
        kiln_ctx_destroy(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(updates_in_place),
        cmocka_unit_test(fuses),
        cmocka_unit_test(reads_other_parts),
        cmocka_unit_test(checks_indices),
        test(refuses_updates),
        test(builds_expressions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
