/* frontend/kiln.h: arguments of a run, right and wrong, memory that overlaps, and memory that runs out. */
#include <stdio.h>

#include "tests/rations.h"
#include "tests/unit/api.h"

/* ---- arguments ---- */

static float x_data[2][3] = {{1, 2, 3}, {4, 5, 6}}, b_data[3] = {10, 20, 30}, y_data[2][3];
static const int64_t two_three[] = {2, 3}, three[] = {3}, two[] = {2}, negative[] = {2, -3};
static const int64_t overlapping[] = {1, 1}, far[] = {INT64_MAX / 2, 1}, rows[] = {3, 1};

static kiln_arg arg_x(void) { return (kiln_arg){"x", x_data, KILN_F32, 2, two_three, NULL}; }
static kiln_arg arg_b(void) { return (kiln_arg){"b", b_data, KILN_F32, 1, three, NULL}; }
static kiln_arg arg_y(void) { return (kiln_arg){"y", y_data, KILN_F32, 2, two_three, NULL}; }

static void test_arguments(void **state)
{
    (void)state;
    kiln_prog *p = add_program();
    char bytes[64];
    const struct {
        kiln_arg args[4];
        int n;
        kiln_status status;
        const char *text;
    } cases[] = {
        {{arg_x(), arg_b()}, 2, KILN_ERR_ARGUMENT, "output y: f32[N, C] is missing"},
        {{arg_x(), arg_y()}, 2, KILN_ERR_ARGUMENT, "argument b: f32[C] is missing"},
        {{arg_x(), arg_b(), arg_y(), arg_b()}, 4, KILN_ERR_ARGUMENT, "argument b is given twice"},
        {{arg_x(), arg_b(), arg_y(), {"q", y_data, KILN_F32, 0, NULL, NULL}},
         4,
         KILN_ERR_ARGUMENT,
         "no input or output 'q'"},
        {{arg_x(), arg_b(), {"Y", y_data, KILN_F32, 0, NULL, NULL}},
         3,
         KILN_ERR_ARGUMENT,
         "no input or output 'Y'; did you mean 'y'?"},
        {{arg_x(), arg_b(), {NULL, y_data, KILN_F32, 0, NULL, NULL}},
         3,
         KILN_ERR_ARGUMENT,
         "argument 2 has no name"},
        {{arg_x(), {"b", b_data, KILN_F64, 1, three, NULL}, arg_y()},
         3,
         KILN_ERR_TYPE,
         "input b is f32[C], but f64 was given"},
        {{arg_x(), {"b", b_data, (kiln_dtype)99, 1, three, NULL}, arg_y()},
         3,
         KILN_ERR_TYPE,
         "an unknown dtype"},
        {{arg_x(), {"b", b_data, KILN_F32, 2, two_three, NULL}, arg_y()},
         3,
         KILN_ERR_SHAPE,
         "rank 2 was given, not 1"},
        {{arg_x(), {"b", b_data, KILN_F32, 1, two, NULL}, arg_y()},
         3,
         KILN_ERR_SHAPE,
         "axis 0 has size 2, but C is 3"},
        {{{"x", x_data, KILN_F32, 2, negative, NULL}, arg_b(), arg_y()},
         3,
         KILN_ERR_SHAPE,
         "negative dimension in [2, -3]"},
        {{{"x", x_data, KILN_F32, 2, NULL, NULL}, arg_b(), arg_y()},
         3,
         KILN_ERR_ARGUMENT,
         "shape is NULL"},
        {{{"x", NULL, KILN_F32, 2, two_three, NULL}, arg_b(), arg_y()},
         3,
         KILN_ERR_ARGUMENT,
         "data is NULL"},
        {{{"x", bytes + 1, KILN_F32, 2, two_three, NULL}, arg_b(), arg_y()},
         3,
         KILN_ERR_ARGUMENT,
         "not aligned"},
        {{{"x", x_data, KILN_F32, 2, two_three, far}, arg_b(), arg_y()},
         3,
         KILN_ERR_SHAPE,
         "address space"},
        {{arg_x(), arg_b(), {"y", y_data, KILN_F32, 2, (const int64_t[]){2, 2}, NULL}},
         3,
         KILN_ERR_SHAPE,
         "output y has shape [2, 3], but [2, 2] was given"},
        {{arg_x(), arg_b(), {"y", y_data, KILN_F32, 2, two_three, overlapping}},
         3,
         KILN_ERR_ARGUMENT,
         "its strides make elements overlap"},
        {{arg_x(), arg_b(), {"y", y_data, KILN_F64, 2, two_three, NULL}},
         3,
         KILN_ERR_TYPE,
         "output y is f32[N, C]"},
        {{arg_x(), arg_b(), {"y", y_data, KILN_F32, -1, two_three, NULL}},
         3,
         KILN_ERR_SHAPE,
         "rank -1 was given"},
        {{arg_x()}, -1, KILN_ERR_ARGUMENT, "nargs is -1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memset(y_data, 0, sizeof y_data);
        expect(kiln_run(p, NULL, cases[i].args, cases[i].n), cases[i].status, cases[i].text);
        for (int k = 0; k < 6; k++)
            assert_true(y_data[k / 3][k % 3] == 0);
    }
    expect(kiln_run(p, NULL, NULL, 3), KILN_ERR_ARGUMENT, "args is NULL");

    kiln_arg good[] = {arg_y(), arg_b(), arg_x()};
    good[0].strides = rows;
    assert_int_equal(kiln_run(p, NULL, good, 3), KILN_OK);
    assert_true(y_data[1][2] == 36 && y_data[0][0] == 11);
    kiln_prog_destroy(p);
}

static void test_scalars(void **state)
{
    (void)state;
    kiln_graph *g = new_graph();
    kiln_prog *p;
    kiln_val x = kiln_input(g, "x", KILN_F32, "N"), s = kiln_scalar(g, "s", KILN_F64);
    kiln_val d = kiln_scalar_default(g, "d", KILN_I32, 2);
    assert_int_equal(kiln_output(g, "y", kiln_add(g, kiln_mul(g, x, s), d)), KILN_OK);
    assert_int_equal(kiln_compile(g, NULL, &p), KILN_OK);
    kiln_graph_destroy(g);
    double s_value = 0.5, y[3];
    float f_value = 1;
    int32_t d_value = 7;
    kiln_arg args[] = {{"x", b_data, KILN_F32, 1, three, NULL},
                       {"y", y, KILN_F64, 1, three, NULL},
                       {"s", &s_value, KILN_F64, 0, NULL, NULL},
                       {"d", &d_value, KILN_I32, 0, NULL, NULL}};
    assert_int_equal(kiln_run(p, NULL, args, 3), KILN_OK);
    assert_true(y[0] == 7 && y[2] == 17);
    assert_int_equal(kiln_run(p, NULL, args, 4), KILN_OK);
    assert_true(y[0] == 12);
    expect(kiln_run(p, NULL, args, 2), KILN_ERR_ARGUMENT, "argument s: f64 is missing");
    args[2] = (kiln_arg){"s", &f_value, KILN_F32, 0, NULL, NULL};
    expect(kiln_run(p, NULL, args, 3), KILN_ERR_TYPE, "argument s is f64, but f32 was given");
    args[2] = (kiln_arg){"s", &s_value, KILN_F64, 1, three, NULL};
    expect(kiln_run(p, NULL, args, 3), KILN_ERR_SHAPE, "argument s is a number");
    args[2] = (kiln_arg){"s", NULL, KILN_F64, 0, NULL, NULL};
    expect(kiln_run(p, NULL, args, 3), KILN_ERR_ARGUMENT, "argument s: data is NULL");

    kiln_io io;
    assert_int_equal(kiln_prog_io_count(p), 4);
    assert_int_equal(kiln_prog_io(p, 2, &io), KILN_OK);
    assert_true(io.kind == KILN_SCALAR_IN && io.has_default && io.dflt == 2);
    assert_int_equal(kiln_prog_io(p, 3, &io), KILN_OK);
    assert_true(io.kind == KILN_ARRAY_OUT && io.dtype == KILN_F64 && io.rank == 1);
    assert_string_equal(io.dims, "N");
    expect(kiln_prog_io(p, 4, &io), KILN_ERR_ARGUMENT, "no parameter or output 4");
    expect(kiln_prog_io(p, -1, &io), KILN_ERR_ARGUMENT, "no parameter or output -1");
    kiln_prog_destroy(p);
}

static void test_constraints(void **state)
{
    (void)state;
    kiln_graph *g = new_graph();
    kiln_prog *p;
    kiln_val x = kiln_input(g, "x", KILN_F32, "N"), b = kiln_input(g, "b", KILN_F32, "M");
    assert_int_equal(kiln_assume(g, "N % 2 == 0"), KILN_OK);
    kiln_val y = kiln_add(g, kiln_reshape(g, x, "-1, 2"), kiln_reshape(g, b, "1, 2"));
    assert_int_equal(kiln_output(g, "y", y), KILN_OK);
    assert_int_equal(kiln_compile(g, NULL, &p), KILN_OK);
    kiln_graph_destroy(g);
    kiln_dtype t;
    int rank;
    int64_t shape[KILN_MAX_RANK];
    kiln_arg args[] = {{"x", x_data, KILN_F32, 1, (const int64_t[]){6}, NULL},
                       {"b", b_data, KILN_F32, 1, two, NULL}};
    assert_int_equal(kiln_output_shape(p, "y", args, 2, &t, &rank, shape), KILN_OK);
    assert_true(t == KILN_F32 && rank == 2 && shape[0] == 3 && shape[1] == 2);
    expect(kiln_output_shape(p, "z", args, 2, &t, &rank, shape), KILN_ERR_ARGUMENT,
           "has no output z");
    expect(kiln_output_shape(p, "y", args, 1, &t, &rank, shape), KILN_ERR_ARGUMENT,
           "argument b: f32[M] is missing");
    args[0].shape = three;
    assert_int_equal(kiln_output_shape(p, "y", args, 2, &t, &rank, shape), KILN_ERR_SHAPE);
    args[0].shape = (const int64_t[]){6};
    args[1].shape = three;
    assert_int_equal(kiln_output_shape(p, "y", args, 2, &t, &rank, shape), KILN_ERR_SHAPE);
    kiln_prog_destroy(p);
}

/* Every relation, held and violated: the message has the words, the place and the sizes. */
static void test_assumptions(void **state)
{
    (void)state;
    static const struct {
        const char *words;
        int64_t good[2], bad[2];
        const char *sizes;
    } cases[] = {
        {"C % 4 == 0", {1, 8}, {1, 6}, "C is 6"},
        {"N == 2*C", {4, 2}, {4, 8}, "N is 4, C is 8"},
        {"N != C", {4, 2}, {3, 3}, "N is 3, C is 3"},
        {"N < C", {1, 2}, {2, 2}, "N is 2, C is 2"},
        {"N*C <= 12", {3, 4}, {2, 7}, "N is 2, C is 7"},
        {"N > 2", {3, 1}, {2, 1}, "N is 2"},
        {"C >= N + 1", {1, 2}, {2, 2}, "N is 2, C is 2"},
        {"(N + C) % (2*N) == 0", {2, 6}, {2, 3}, "N is 2, C is 3"},
    };
    static float memory[2][64];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int text = 0; text < 2; text++) {
            char source[200], wanted[200];
            kiln_graph *g;
            kiln_prog *p;
            if (text) {
                snprintf(source, sizeof source,
                         "def f(x: f32[N, C]):\n    assert %s, 'so'\n    y = x + 1\n    return y\n",
                         cases[i].words);
                snprintf(wanted, sizeof wanted, "f.kiln:2:5: assert %s, 'so', but %s",
                         cases[i].words, cases[i].sizes);
                assert_int_equal(kiln_parse(ctx, source, "f.kiln", &g), KILN_OK);
            } else {
                g = new_graph();
                kiln_val x = kiln_input(g, "x", KILN_F32, "N, C");
                assert_int_equal(kiln_assume(g, cases[i].words), KILN_OK);
                assert_int_equal(kiln_output(g, "y", kiln_add(g, x, 1)), KILN_OK);
                snprintf(wanted, sizeof wanted, "the program assumes %s, but %s", cases[i].words,
                         cases[i].sizes);
            }
            assert_int_equal(kiln_compile(g, NULL, &p), KILN_OK);
            kiln_graph_destroy(g);
            kiln_arg args[] = {{"x", memory[0], KILN_F32, 2, cases[i].good, NULL},
                               {"y", memory[1], KILN_F32, 2, cases[i].good, NULL}};
            assert_int_equal(kiln_run(p, NULL, args, 2), KILN_OK);
            char *said;
            assert_int_equal(kiln_explain(p, args, 2, NULL, &said), KILN_OK);
            assert_non_null(strstr(said, text ? " (stated at 2:5)" : " (stated)"));
            kiln_text_free(ctx, said);
            args[0].shape = args[1].shape = cases[i].bad;
            expect(kiln_run(p, NULL, args, 2), KILN_ERR_SHAPE, wanted);
            kiln_prog_destroy(p);
        }
    kiln_graph *g = new_graph();
    kiln_input(g, "x", KILN_F32, "N");
    expect(kiln_assume(g, "4 < 3"), KILN_ERR_SHAPE, "this is never true");
    kiln_graph_destroy(g);
}

/* ---- memory that overlaps ---- */

/* y = reversed copies and sums of x: what is read is never what was just written. */
static void test_overlap(void **state)
{
    (void)state;
    kiln_graph *g;
    kiln_prog *p;
    const char *text = "def f(x: f32[N]):\n    y = x - mean(x)\n    z = x * 2\n    return y, z\n";
    assert_int_equal(kiln_parse(ctx, text, NULL, &g), KILN_OK);
    assert_int_equal(kiln_compile(g, NULL, &p), KILN_OK);
    kiln_graph_destroy(g);
    enum { N = 1000 };
    static float memory[4 * N];
    const int64_t n[] = {N}, back[] = {-1};
    /* y over x: in place, shifted, backwards; z apart from both */
    const struct {
        int x, y;
        const int64_t *strides;
    } cases[] = {{0, 0, NULL}, {0, 1, NULL}, {1, 0, NULL}, {0, 500, NULL}, {0, N - 1, back}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float *x = memory + cases[i].x, *y = memory + cases[i].y, *z = memory + 3 * N;
        double mean = 0;
        for (int k = 0; k < N; k++) {
            x[k] = (float)(k % 17);
            mean += x[k] / (double)N;
        }
        kiln_arg args[] = {{"x", x, KILN_F32, 1, n, NULL},
                           {"y", y, KILN_F32, 1, n, cases[i].strides},
                           {"z", z, KILN_F32, 1, n, NULL}};
        assert_int_equal(kiln_run(p, NULL, args, 3), KILN_OK);
        for (int k = 0; k < N; k++) {
            assert_float_equal(y[cases[i].strides ? -k : k], (float)((double)(k % 17) - mean),
                               1e-4);
            assert_float_equal(z[k], (float)(2 * (k % 17)), 0);
        }
    }
    kiln_arg args[] = {{"x", memory, KILN_F32, 1, n, NULL},
                       {"y", memory + N, KILN_F32, 1, n, NULL},
                       {"z", memory + 2 * N - 1, KILN_F32, 1, n, NULL}};
    expect(kiln_run(p, NULL, args, 3), KILN_ERR_ARGUMENT, "outputs y and z overlap");
    kiln_prog_destroy(p);
}

static void test_workspace(void **state)
{
    (void)state;
    kiln_graph *g;
    kiln_prog *p;
    const char *text = "def f(x: f32[N, M]):\n"
                       "    y = x - mean(x, axis=0) - mean(x, axis=1, keepdims=True)\n"
                       "    return y\n";
    assert_int_equal(kiln_parse(ctx, text, NULL, &g), KILN_OK);
    assert_int_equal(kiln_compile(g, NULL, &p), KILN_OK);
    kiln_graph_destroy(g);
    kiln_arg args[] = {arg_x(), arg_y()};
    kiln_prepared info;
    kiln_prepared_init(&info);
    info.own_workspace = true;
    assert_int_equal(kiln_prepare(p, args, 2, &info), KILN_OK);
    size_t need = info.workspace;
    assert_true(need > 0);
    assert_int_equal(info.copies, 0);
    assert_true(info.launches > 0);
    char *block = malloc(need + 512);
    char *aligned = block + (256 - (uintptr_t)block % 256) % 256;
    assert_int_equal(kiln_run_in(p, NULL, args, 2, aligned, need), KILN_OK);
    assert_float_equal(y_data[0][0], 1 - 2.5 - 2, 1e-6);
    expect(kiln_run_in(p, NULL, args, 2, aligned, need - 1), KILN_ERR_ARGUMENT,
           "the workspace has");
    expect(kiln_run_in(p, NULL, args, 2, aligned + 16, need), KILN_ERR_ARGUMENT,
           "the workspace has");
    free(block);
    kiln_prog_destroy(p);
}

/* ---- no memory ---- */

/* The whole life of a program; the first status that is not OK. */
static kiln_status live(rations *r)
{
    kiln_config c;
    kiln_ctx *own = NULL;
    kiln_graph *g = NULL, *parsed = NULL;
    kiln_prog *p = NULL, *q = NULL;
    char *text = NULL;
    kiln_config_init(&c);
    c.device = "cpu";
    c.threads = 2;
    c.alloc = ration;
    c.release = unration;
    c.user = r;
    kiln_status s = kiln_ctx_create(&c, &own);
    if (s == KILN_OK)
        s = kiln_graph_create(own, &g);
    if (s == KILN_OK) {
        kiln_val x = kiln_input(g, "x", KILN_F32, "N, C"), b = kiln_input(g, "b", KILN_F32, "C");
        kiln_val m = kiln_mean(g, x, KILN_AXES(0), KILN_KEEPDIMS), v = kiln_var(g, x, KILN_ALL, 0);
        kiln_val y = kiln_add(g, kiln_mul(g, kiln_sub(g, x, m), v), b);
        y = kiln_transpose(g, kiln_reshape(g, kiln_name(g, y, "y"), "C, N"), KILN_ALL);
        s = kiln_output(g, "y", y);
    }
    if (s == KILN_OK)
        s = kiln_parse(own,
                       "def f(x: f32[N, C]):\n    y = x - max(x, axis=1, keepdims=True)\n"
                       "    return y\n",
                       "f.kiln", &parsed);
    if (s == KILN_OK)
        s = kiln_compile(g, NULL, &p);
    if (s == KILN_OK)
        s = kiln_compile(parsed, NULL, &q);
    kiln_arg args[] = {arg_x(), arg_y(), arg_b()};
    if (s == KILN_OK)
        s = kiln_run(p, NULL, args, 3);
    if (s == KILN_OK) {
        args[1].data = x_data; /* in place: a copy is staged */
        float kept[2][3];
        memcpy(kept, x_data, sizeof kept);
        s = kiln_run(q, NULL, args, 2);
        memcpy(x_data, kept, sizeof kept);
    }
    if (s == KILN_OK)
        s = kiln_explain(p, NULL, 0, NULL, &text);
    kiln_text_free(own, text);
    kiln_prog_destroy(q);
    kiln_prog_destroy(p);
    kiln_graph_destroy(parsed);
    kiln_graph_destroy(g);
    kiln_ctx_destroy(own);
    return s;
}

static void test_out_of_memory(void **state)
{
    (void)state;
    long n = 0;
    kiln_status s;
    do {
        rations r = {.left = n++};
        s = live(&r);
        assert_int_equal(r.live, 0); /* nothing leaks */
        if (s != KILN_OK && s != KILN_ERR_MEMORY)
            fail_msg("after %ld allocations: %s", n - 1, kiln_last_error());
    } while (s != KILN_OK && n < 10000);
    assert_int_equal(s, KILN_OK);
    assert_true(n > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(test_arguments),     test(test_scalars), test(test_constraints),
        test(test_assumptions),   test(test_overlap), test(test_workspace),
        test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
