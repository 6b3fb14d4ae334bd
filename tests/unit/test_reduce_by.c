/* kiln_reduce_by(): what it takes, and what it refuses. */
#include <math.h>

#include "tests/unit/api.h"

static const char *const a_and_b[] = {"a", "b"};

/* A reducer of one value, from text. */
static kiln_reducer by_text(kiln_graph *g, kiln_dtype t, const char *combine, kiln_val identity,
                            bool commutes)
{
    kiln_val v[] = {kiln_carried(g, t), kiln_carried(g, t)};
    return (kiln_reducer){.count = 1,
                          .left = {v[0]},
                          .right = {v[1]},
                          .combined = {kiln_expr(g, combine, a_and_b, v, 2)},
                          .identity = {identity},
                          .commutes = commutes};
}

static void run(kiln_graph *g, const kiln_arg *args, int n)
{
    kiln_prog *p = NULL;
    if (kiln_compile(g, NULL, &p) || kiln_run(p, NULL, args, n))
        fail_msg("%s", kiln_last_error());
    kiln_prog_destroy(p);
    kiln_graph_destroy(g);
}

static void test_last(void **state)
{
    (void)state;
    const float x[2][4] = {{1, NAN, 3, NAN}, {NAN, NAN, NAN, NAN}};
    float y[2], z[2][1], all;
    kiln_graph *g = new_graph();
    kiln_val v = kiln_input(g, "x", KILN_F32, "N, M"), last, kept, of_all, nine = kiln_int(g, 9);
    kiln_reducer by =
        by_text(g, KILN_F32, "where(isnan(b), a, b)", kiln_float(g, (double)NAN), false);
    assert_int_equal(kiln_reduce_by(g, &by, &v, KILN_AXES(-1), 0, NULL, NULL, &last), KILN_OK);
    assert_int_equal(kiln_reduce_by(g, &by, &v, KILN_AXES(1), KILN_KEEPDIMS, NULL, &nine, &kept),
                     KILN_OK);
    assert_int_equal(kiln_reduce_by(g, &by, &v, KILN_ALL, 0, NULL, NULL, &of_all), KILN_OK);
    kiln_output(g, "y", last);
    kiln_output(g, "z", kept);
    kiln_output(g, "all", of_all);
    run(g,
        (kiln_arg[]){{"x", (void *)(uintptr_t)x, KILN_F32, 2, (int64_t[]){2, 4}, NULL},
                     {"y", y, KILN_F32, 1, (int64_t[]){2}, NULL},
                     {"z", z, KILN_F32, 2, (int64_t[]){2, 1}, NULL},
                     {"all", &all, KILN_F32, 0, NULL, NULL}},
        4);
    assert_true(y[0] == 3 && isnan(y[1]));
    assert_true(z[0][0] == 3 && z[1][0] == 9); /* the start comes before all elements */
    assert_true(all == 3);
}

/* The largest and where it is first, of the elements that count: two values of different types. */
static void test_two(void **state)
{
    (void)state;
    const double x[] = {4, 9, 2, 9, 100};
    const bool mask[] = {true, true, true, true, false};
    double most;
    int64_t where;
    kiln_graph *g = new_graph();
    kiln_val v = kiln_input(g, "x", KILN_F64, "N"), m = kiln_input(g, "m", KILN_BOOL, "N");
    kiln_val a = kiln_carried(g, KILN_F64), b = kiln_carried(g, KILN_F64),
             i = kiln_carried(g, KILN_I64), j = kiln_carried(g, KILN_I64), later = kiln_gt(g, b, a);
    kiln_reducer by = {.count = 2,
                       .left = {a, i},
                       .right = {b, j},
                       .combined = {kiln_where(g, later, b, a), kiln_where(g, later, j, i)},
                       .identity = {kiln_float(g, -(double)INFINITY), kiln_int(g, -1)}};
    kiln_val in[] = {v, kiln_expr(g, "arange(N)", NULL, NULL, 0)}, out[2];
    assert_int_equal(kiln_reduce_by(g, &by, in, KILN_ALL, 0, &m, NULL, out), KILN_OK);
    kiln_output(g, "most", out[0]);
    kiln_output(g, "where", out[1]);
    run(g,
        (kiln_arg[]){{"x", (void *)(uintptr_t)x, KILN_F64, 1, (int64_t[]){5}, NULL},
                     {"m", (void *)(uintptr_t)mask, KILN_BOOL, 1, (int64_t[]){5}, NULL},
                     {"most", &most, KILN_F64, 0, NULL, NULL},
                     {"where", &where, KILN_I64, 0, NULL, NULL}},
        4);
    assert_true(most == 9 && where == 1);
}

/* The combine is part of what a program is, and is shown. */
static void test_explain(void **state)
{
    (void)state;
    kiln_graph *g = new_graph();
    kiln_val v = kiln_input(g, "x", KILN_I64, "N"), y;
    kiln_reducer by = by_text(g, KILN_I64, "a * b % 7", kiln_int(g, 1), true);
    kiln_reduce_by(g, &by, &v, KILN_ALL, 0, NULL, NULL, &y);
    kiln_output(g, "y", y);
    kiln_prog *p = NULL;
    char *text = NULL;
    kiln_arg x = {"x", NULL, KILN_I64, 1, (int64_t[]){100}, NULL};
    assert_int_equal(kiln_compile(g, NULL, &p), KILN_OK);
    kiln_explain_options o;
    kiln_explain_options_init(&o);
    o.stage = "graph";
    assert_int_equal(kiln_explain(p, &x, 1, &o, &text), KILN_OK);
    assert_non_null(strstr(text, "reduce_by"));
    assert_non_null(strstr(text, "remainder(t0, 7); carry i64 t2 from 1"));
    kiln_text_free(ctx, text);
    kiln_prog_destroy(p);
    kiln_graph_destroy(g);
}

/* One mistake a graph: `change` spoils a good reduction of x: i32[N, M]. */
typedef void (*spoil)(kiln_graph *g, kiln_reducer *by, kiln_val *x, kiln_val *where,
                      kiln_val *start);

static void refused(spoil change, kiln_status status, const char *text)
{
    kiln_graph *g = new_graph();
    kiln_val x = kiln_input(g, "x", KILN_I32, "N, M"), y = {0, 0}, where = y, start = y;
    kiln_reducer by = by_text(g, KILN_I32, "a + b", kiln_int(g, 0), true);
    change(g, &by, &x, &where, &start);
    kiln_status got = kiln_reduce_by(g, &by, &x, KILN_AXES(0), 0, where.id ? &where : NULL,
                                     start.id ? &start : NULL, &y);
    expect(got, status, text);
    assert_int_equal(y.id, 0);
    kiln_graph_destroy(g);
}

#define SPOIL(name)                                                                                \
    static void name(kiln_graph *g, kiln_reducer *by, kiln_val *x, kiln_val *where, kiln_val *start)
#define UNUSED (void)g, (void)by, (void)x, (void)where, (void)start
SPOIL(too_many) { UNUSED, by->count = 5; }
SPOIL(no_operand) { UNUSED, by->left[0] = *x; }
SPOIL(same_operand) { UNUSED, by->left[0] = by->right[0]; }
SPOIL(other_type) { UNUSED, by->left[0] = kiln_carried(g, KILN_I64); }
SPOIL(another) { UNUSED, by->combined[0] = kiln_carried(g, KILN_I32); }
SPOIL(an_array) { UNUSED, by->combined[0] = *x; }
SPOIL(an_argument)
{
    UNUSED, by->combined[0] = kiln_add(g, by->left[0], kiln_scalar(g, "s", KILN_I32));
}
SPOIL(no_number) { UNUSED, by->identity[0] = kiln_scalar(g, "s", KILN_I32); }
SPOIL(too_large) { UNUSED, by->identity[0] = kiln_int(g, (int64_t)1 << 40); }
SPOIL(no_mask) { UNUSED, *where = *x; }
SPOIL(an_array_first) { UNUSED, *start = *x; }
SPOIL(halves) { UNUSED, by->combined[0] = kiln_cast(g, by->left[0], KILN_F16); }
SPOIL(too_long)
{
    UNUSED;
    for (int i = 0; i < 300; i++)
        by->combined[0] = kiln_add(g, by->combined[0], by->right[0]);
}

static void test_refused(void **state)
{
    (void)state;
    refused(too_many, KILN_ERR_ARGUMENT, "1 to 4 values, not 5");
    refused(no_operand, KILN_ERR_ARGUMENT, "must be carried values");
    refused(same_operand, KILN_ERR_ARGUMENT, "given twice");
    refused(other_type, KILN_ERR_TYPE, "of one type");
    refused(another, KILN_ERR_ARGUMENT, "none of its own");
    refused(an_array, KILN_ERR_SHAPE, "combined of a reduction must be 0-d");
    refused(an_argument, KILN_ERR_ARGUMENT, "this one uses s");
    refused(no_number, KILN_ERR_ARGUMENT, "numbers");
    refused(too_large, KILN_ERR_TYPE, "is out of bounds for i32");
    refused(no_mask, KILN_ERR_TYPE, "where must be bool");
    refused(an_array_first, KILN_ERR_SHAPE, "initial of a reduction must be 0-d");
    refused(halves, KILN_ERR_TYPE, "no f16");
    refused(too_long, KILN_ERR_ARGUMENT, "at most 256 operations");
}

static void test_outside(void **state)
{
    (void)state;
    kiln_graph *g = new_graph();
    kiln_val x = kiln_input(g, "x", KILN_I32, "N");
    expect(kiln_output(g, "y", kiln_add(g, x, kiln_carried(g, KILN_I32))), KILN_ERR_ARGUMENT,
           "output y uses a carried value outside of a combine");
    kiln_graph_destroy(g);
    g = new_graph();
    assert_int_equal(kiln_carried(g, KILN_BF16).id, 0);
    expect(kiln_graph_status(g), KILN_ERR_TYPE, "carries no bf16");
    kiln_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {test(test_last), test(test_two), test(test_explain),
                                       test(test_refused), test(test_outside)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
