/* Slices and assignments to slices in the builder, and arguments that are const. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/api.h"

enum { N = 6 };

/* Runs the program of the graph, which is destroyed, over x = 0, 1, ..., and an m of `width` elements if it has one, and
 * compares y. */
static void check_with(kiln_graph *g, int width, int n, const float *want)
{
    const float x[N] = {0, 1, 2, 3, 4, 5}, m[N + 1] = {0};
    float y[N];
    const int64_t six = N, some = n, wide = width;
    kiln_prog *p = NULL;
    const kiln_arg args[] = {kiln_arg_of_const("x", x, KILN_F32, 1, &six, NULL),
                             {"y", y, KILN_F32, 1, &some, NULL},
                             kiln_arg_of_const("m", m, KILN_F32, 1, &wide, NULL)};
    if (kiln_compile(g, NULL, &p) != KILN_OK ||
        kiln_run(p, NULL, args, width < 0 ? 2 : 3) != KILN_OK)
        fail_msg("%s", kiln_last_error());
    for (int i = 0; i < n; i++)
        if (y[i] != want[i])
            fail_msg("element %d is %g, not %g", i, (double)y[i], (double)want[i]);
    kiln_prog_destroy(p);
    kiln_graph_destroy(g);
}

static void check(kiln_graph *g, int n, const float *want) { check_with(g, -1, n, want); }

static void slices(void **state)
{
    (void)state;
    kiln_graph *g = new_graph();
    kiln_val x = kiln_input(g, "x", KILN_F32, "N");
    kiln_output(g, "y", kiln_slice(g, x, "N - 1:0:-2"));
    check(g, 3, (float[]){5, 3, 1});
    g = new_graph();
    x = kiln_input(g, "x", KILN_F32, "N");
    kiln_output(g, "y", kiln_slice(g, kiln_slice(g, x, "None, ..., 1:3"), "0"));
    check(g, 2, (float[]){1, 2});
}

/* What is taken from no size, such as -M, counts from the end where it is negative. */
static void negative_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *index;
        int m, n;
        float want[N];
    } cases[] = {
        {"-M:", 2, 2, {4, 5}},
        {"-M:", 0, N, {0, 1, 2, 3, 4, 5}},
        {"-M:", N + 1, N, {0, 1, 2, 3, 4, 5}},
        {":-M", 2, 4, {0, 1, 2, 3}},
        {":-M", 0, 0, {0}},
        {"1 - M:", 3, 2, {4, 5}},
        {"1 - M:", 1, N, {0, 1, 2, 3, 4, 5}},
        {":1 - M", 0, 1, {0}},
        {"-M::-1", 4, 3, {2, 1, 0}},
        {"-(N // 2):", 0, 3, {3, 4, 5}},
        {"-M, None", 2, 1, {4}},
        {"1 - M, None", 0, 1, {1}},
        {"N - M:", 2, 2, {4, 5}},
        {"N - M:", N + 1, N, {0, 1, 2, 3, 4, 5}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kiln_graph *g = new_graph();
        kiln_val x = kiln_input(g, "x", KILN_F32, "N");
        kiln_input(g, "m", KILN_F32, "M");
        kiln_output(g, "y", kiln_slice(g, x, cases[i].index));
        check_with(g, cases[i].m, cases[i].n, cases[i].want);
    }
}

static void assigns(void **state)
{
    (void)state;
    kiln_graph *g = new_graph();
    kiln_val x = kiln_input(g, "x", KILN_F32, "N");
    kiln_val inner = kiln_add(g, kiln_slice(g, x, "2:"), kiln_slice(g, x, ":-2"));
    kiln_val y = kiln_assign(g, kiln_assign(g, x, "1:-1", inner), "0", 7);
    kiln_output(g, "y", y);
    check(g, N, (float[]){7, 2, 4, 6, 8, 5});
    g = new_graph(); /* x itself has not changed, and numbers are cast */
    x = kiln_input(g, "x", KILN_F32, "N");
    y = kiln_assign(g, x, "::2", -1.5);
    kiln_output(g, "y", kiln_add(g, x, y));
    check(g, N, (float[]){-1.5f, 2, 0.5f, 6, 2.5f, 10});
}

static void updates_an_input(void **state)
{
    (void)state;
    float x[N] = {1, 2, 3, 4, 5, 6};
    const int64_t six = N;
    kiln_prog *p = NULL;
    kiln_graph *g = new_graph();
    kiln_val v = kiln_input(g, "x", KILN_F32, "N");
    v = kiln_assign(g, v, "1:", kiln_slice(g, v, ":-1"));
    assert_int_equal(kiln_update(g, "x", v), KILN_OK);
    assert_int_equal(kiln_compile(g, NULL, &p), KILN_OK);
    const kiln_arg arg = {"x", x, KILN_F32, 1, &six, NULL};
    assert_int_equal(kiln_run(p, NULL, &arg, 1), KILN_OK);
    for (int i = 0; i < N; i++)
        assert_true(x[i] == (float)(i ? i : 1));
    kiln_prog_destroy(p);
    kiln_graph_destroy(g);
}

static void refuses(void **state)
{
    (void)state;
    static const struct {
        const char *index;
        kiln_status status;
        const char *message;
    } cases[] = {
        {NULL, KILN_ERR_ARGUMENT, "index is NULL"},
        {"", KILN_ERR_SYNTAX, "index:1:2: "},
        {"1:2]", KILN_ERR_SYNTAX, "expected the end of the index, found ']'"},
        {"M", KILN_ERR_SYNTAX, "index:1:2: unknown name 'M'"},
        {"0, 0", KILN_ERR_SHAPE, "too many indices"},
        {"::0", KILN_ERR_SHAPE, "the step of a slice cannot be 0"},
    };
    kiln_graph *g;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        g = new_graph();
        kiln_val x = kiln_input(g, "x", KILN_F32, "N");
        assert_int_equal(kiln_slice(g, x, cases[i].index).id, 0);
        expect(kiln_graph_status(g), cases[i].status, cases[i].message);
        kiln_graph_destroy(g);
        g = new_graph();
        x = kiln_input(g, "x", KILN_F32, "N");
        assert_int_equal(kiln_assign(g, x, cases[i].index, 1).id, 0);
        expect(kiln_graph_status(g), cases[i].status, cases[i].message);
        kiln_graph_destroy(g);
    }
    g = new_graph();
    kiln_val x = kiln_input(g, "x", KILN_F32, "4");
    kiln_assign(g, x, "1:3", kiln_input(g, "y", KILN_F32, "3"));
    expect(kiln_graph_status(g), KILN_ERR_SHAPE, "does not broadcast");
    kiln_graph_destroy(g);
    g = new_graph();
    kiln_assign(g, kiln_input(g, "i", KILN_I8, "4"), "0", 300);
    expect(kiln_graph_status(g), KILN_ERR_TYPE, "300 is out of bounds for i8");
    kiln_graph_destroy(g);
    g = new_graph();
    kiln_slice(g, kiln_int(g, 3), "0");
    expect(kiln_graph_status(g), KILN_ERR_TYPE, "cannot be indexed");
    kiln_graph_destroy(g);
    assert_int_equal(kiln_slice(NULL, x, "0").id, 0);
    assert_int_equal(kiln_assign(NULL, x, "0", x).id, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {test(slices), test(negative_sizes), test(assigns),
                                       test(updates_an_input), test(refuses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
