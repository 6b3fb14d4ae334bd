/* What the compiler of a caller cannot keep out: numbers that are no dtype, sizes that are no struct's, strides of
 * nothing, handles destroyed in any order. */
#include <limits.h>
#include <math.h>

#include "tests/unit/api.h"

static const int no_dtypes[] = {-2000000, -5, -1, 16, 77, 99, 1000000, INT_MAX, INT_MIN};
enum { NONE = sizeof no_dtypes / sizeof *no_dtypes };

static void test_elements(void **state)
{
    (void)state;
    for (int i = -1; i < NONE; i++) {
        kiln_dtype d = i < 0 ? KILN_NO_DTYPE : (kiln_dtype)no_dtypes[i];
        unsigned char element[32], before[32];
        double re = 1, im = 1;
        memset(element, 0x5a, sizeof element);
        memcpy(before, element, sizeof element);
        assert_int_equal(kiln_dtype_size(d), 0);
        assert_null(kiln_dtype_text(d));
        assert_true(isnan(kiln_load_float(d, element)));
        assert_non_null(strstr(kiln_last_error(), "dtype"));
        assert_int_equal(kiln_load_int(d, element), 0);
        kiln_load_complex(d, element, &re, &im);
        assert_true(isnan(re) && im == 0);
        kiln_store_float(d, element, 1);
        kiln_store_int(d, element, 1);
        kiln_store_complex(d, element, 1, 1);
        assert_memory_equal(element, before, sizeof element);
    }
}

/* Every builder call that takes one. */
static void test_builders(void **state)
{
    static const char *const reductions[] = {"sum", "prod", "min",  "max",
                                             "any", "all",  "mean", "var"};
    (void)state;
    for (int i = 0; i < NONE; i++) {
        kiln_dtype d = (kiln_dtype)no_dtypes[i];
        enum { CALLS = 5 };
        for (int call = 0; call < CALLS + (int)(sizeof reductions / sizeof *reductions); call++) {
            kiln_graph *g = new_graph();
            kiln_val x = kiln_input(g, "x", KILN_F32, "N");
            switch (call) {
            case 0: kiln_input(g, "y", d, "N"); break;
            case 1: kiln_scalar(g, "y", d); break;
            case 2: kiln_scalar_default(g, "y", d, 1); break;
            case 3: kiln_cast(g, x, d); break;
            case 4: kiln_carried(g, d); break;
            default: kiln_reduce(g, reductions[call - CALLS], x, KILN_ALL, 0, d, 0);
            }
            expect(kiln_graph_status(g), KILN_ERR_TYPE, "dtype");
            kiln_graph_destroy(g);
        }
    }
}

static void test_defaults(void **state)
{
    static const double none[] = {1e300, 128, -129, 2.5, NAN, INFINITY};
    (void)state;
    for (size_t i = 0; i <= sizeof none / sizeof *none; i++) {
        bool fits = i == sizeof none / sizeof *none;
        kiln_graph *g = new_graph();
        kiln_scalar_default(g, "x", KILN_I8, fits ? -128 : none[i]);
        if (fits)
            good(kiln_graph_status(g));
        else
            expect(kiln_graph_status(g), KILN_ERR_TYPE, "as its default");
        kiln_graph_destroy(g);
    }
}

static void test_arguments(void **state)
{
    (void)state;
    kiln_prog *p = add_program();
    static float x[4], b[2], y[4];
    int64_t shape[] = {2, 2};
    for (int i = 0; i < NONE; i++) {
        kiln_arg args[] = {{"x", x, (kiln_dtype)no_dtypes[i], 2, shape, NULL},
                           {"b", b, KILN_F32, 1, shape, NULL},
                           {"y", y, KILN_F32, 2, shape, NULL}};
        expect(kiln_run(p, NULL, args, 3), KILN_ERR_TYPE, "dtype");
        assert_string_equal(kiln_status_text((kiln_status)no_dtypes[i]), "unknown status");
    }
    kiln_prog_destroy(p);
}

static void test_reducers(void **state)
{
    (void)state;
    kiln_val value, *results[] = {NULL, &value};
    for (int i = 0; i < 2; i++) {
        kiln_graph *g = new_graph();
        kiln_val x = kiln_input(g, "x", KILN_F32, "N");
        kiln_reducer by = {.count = 1};
        expect(kiln_reduce_by(g, &by, i ? NULL : &x, KILN_ALL, 0, NULL, NULL, results[i]),
               KILN_ERR_ARGUMENT, i ? "x is NULL" : "results is NULL");
        expect(kiln_graph_status(g), KILN_ERR_ARGUMENT, "is NULL"); /* as of every builder call */
        kiln_graph_destroy(g);
    }
}

/* A size within a field: the field is not there. */
static void test_torn_structs(void **state)
{
    (void)state;
    for (size_t n = sizeof(size_t); n < offsetof(kiln_config, threads) + sizeof(int); n++) {
        kiln_config c;
        kiln_ctx *made;
        memset(&c, 0x41, sizeof c);
        c.struct_size = n;
        if (n >= offsetof(kiln_config, threads))
            c.device = "cpu";
        good(kiln_ctx_create(&c, &made));
        kiln_ctx_destroy(made);
    }
    kiln_cache_info info;
    for (size_t n = offsetof(kiln_cache_info, problem); n < offsetof(kiln_cache_info, files); n++) {
        memset(&info, 0x41, sizeof info);
        info.struct_size = n;
        good(kiln_cache_stats(ctx, &info));
        assert_int_equal(info.problem[0], 0x41);
    }
    kiln_stats s = {.struct_size = offsetof(kiln_stats, compile_ms) + 3};
    memset(&s.compile_ms, 0x41, sizeof s.compile_ms);
    double before = s.compile_ms;
    good(kiln_ctx_stats(ctx, &s));
    assert_memory_equal(&s.compile_ms, &before, sizeof before);
}

/* Strides of arrays without elements, and of axes with one, say nothing. */
static void test_strides_of_nothing(void **state)
{
    (void)state;
    int64_t shapes[][2] = {{0, 4}, {4, 0}, {0, 0}, {1, 1}, {1, 4}};
    int64_t strides[][2] = {{INT64_MIN, INT64_MAX}, {INT64_MAX, INT64_MIN}, {INT64_MIN, 1}};
    static float x[4] = {1, 2, 3, 4}, b[4], y[4];
    kiln_prog *p = add_program();
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t j = 0; j < sizeof strides / sizeof *strides; j++) {
            if (shapes[i][1] == 4 && shapes[i][0] == 1 && j < 2)
                continue; /* four elements have a stride */
            kiln_arg args[] = {{"x", x, KILN_F32, 2, shapes[i], strides[j]},
                               {"b", b, KILN_F32, 1, shapes[i] + 1, NULL},
                               {"y", y, KILN_F32, 2, shapes[i], strides[j]}};
            good(kiln_run(p, NULL, args, 3));
            assert_true(shapes[i][0] != 1 || y[0] == 1);
        }
    /* and what has more is refused before it is reckoned with */
    int64_t shape[] = {1, 2}, far[] = {1, INT64_MAX};
    kiln_arg args[] = {{"x", x, KILN_F32, 2, shape, far},
                       {"b", b, KILN_F32, 1, shape + 1, NULL},
                       {"y", y, KILN_F32, 2, shape, NULL}};
    expect(kiln_run(p, NULL, args, 3), KILN_ERR_SHAPE, "address space");
    kiln_prog_destroy(p);
}

static void test_any_order(void **state)
{
    (void)state;
    kiln_config c;
    kiln_ctx *own;
    kiln_graph *g;
    kiln_config_init(&c);
    c.device = "cpu";
    good(kiln_ctx_create(&c, &own));
    kiln_prog *p = compile(own, "def f(x: f32[N]):\n    y = x + 1\n    return y\n");
    good(kiln_graph_create(own, &g));
    kiln_ctx_destroy(own);
    float x = 1, y;
    int64_t n = 1;
    kiln_arg args[] = {{"x", &x, KILN_F32, 1, &n, NULL}, {"y", &y, KILN_F32, 1, &n, NULL}};
    good(kiln_run(p, NULL, args, 2));
    assert_float_equal(y, 2, 0);
    kiln_prog_destroy(p);
    kiln_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(test_elements),           test(test_builders),  test(test_defaults),
        test(test_arguments),          test(test_reducers),  test(test_torn_structs),
        test(test_strides_of_nothing), test(test_any_order),
    };
    return cmocka_run_group_tests_name("edges", tests, NULL, NULL);
}
