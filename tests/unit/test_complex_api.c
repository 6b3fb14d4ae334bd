/* Complex numbers through the public API, on every device without a GPU: by value, by default, in place, and moved as
 * the one access that two elements of c64 or one of c128 are. */
#include <string.h>

#include "ir/complex.h"
#include "tests/device.h"

static const char *const devices[] = {"ref", "cpu", "emu"};
enum { DEVICES = 3, N = 5 };

static void test_by_value(void **state)
{
    (void)state;
    const char *text = "def f(x: c128[N], z: c128, w: c64 = 1 - 2j):\n    return x * z + w";
    for (int d = 0; d < DEVICES; d++) {
        kiln_ctx *ctx = open_device(devices[d]);
        kiln_prog *p = compile(ctx, text);
        _Alignas(16) double _Complex x[N], out[N], z = 2 + 3 * I;
        float _Complex w = -1;
        const int64_t n = N;
        for (int i = 0; i < N; i++)
            x[i] = CMPLX(i - 1, 1);
        kiln_arg args[] = {{"x", x, KILN_C128, 1, &n, NULL},
                           {"out0", out, KILN_C128, 1, &n, NULL},
                           {"z", &z, KILN_C128, 0, NULL, NULL},
                           {"w", &w, KILN_C64, 0, NULL, NULL}};
        for (int given = 3; given <= 4; given++) { /* without and with w */
            good(kiln_run(p, NULL, args, given));
            for (int i = 0; i < N; i++)
                assert_true(out[i] == x[i] * z + (given == 3 ? 1 - 2 * I : (double _Complex)w));
        }
        kiln_io io;
        good(kiln_prog_io(p, 2, &io));
        assert_true(io.has_default && io.dtype == KILN_C64 && io.dflt == 1 && io.dflt_imag == -2);
        kiln_prog_destroy(p);
        kiln_ctx_destroy(ctx);
    }
}

static void test_builder(void **state)
{
    (void)state;
    kiln_ctx *ctx = open_device("cpu");
    kiln_graph *g;
    kiln_prog *p;
    good(kiln_graph_create(ctx, &g));
    kiln_val x = kiln_input(g, "x", KILN_F32, "N"), turned = kiln_mul(g, x, kiln_complex(g, 0, 2));
    good(kiln_output(g, "y", turned));
    good(kiln_output(g, "size", kiln_sum(g, kiln_apply(g, "angle", &turned, 1), KILN_ALL, 0)));
    good(kiln_compile(g, NULL, &p));
    kiln_graph_destroy(g);
    float in[N] = {1, 2, 3, 4, 5}, size, y[2 * N];
    const int64_t n = N;
    kiln_arg args[] = {{"x", in, KILN_F32, 1, &n, NULL},
                       {"y", y, KILN_C64, 1, &n, NULL},
                       {"size", &size, KILN_F32, 0, NULL, NULL}};
    good(kiln_run(p, NULL, args, 3));
    for (int i = 0; i < N; i++)
        assert_true(y[2 * i] == 0 && y[2 * i + 1] == 2 * in[i]);
    assert_true(size > 7.853f && size < 7.855f); /* 5 pi / 2 */
    args[1].data = y + 1;                        /* half an element on */
    assert_int_equal(kiln_run(p, NULL, args, 3), KILN_ERR_ARGUMENT);
    assert_non_null(strstr(kiln_last_error(), "not aligned"));
    kiln_prog_destroy(p);
    kiln_ctx_destroy(ctx);
}

/* Every other element of an array, backwards, is updated; what lies between is left alone. */
static void test_in_place(void **state)
{
    (void)state;
    for (int d = 0; d < DEVICES; d++) {
        kiln_ctx *ctx = open_device(devices[d]);
        kiln_prog *p = compile(ctx, "def f(z: c64[N]):\n    z[1:] *= 1j\n    z += z.imag");
        float _Complex z[2 * N];
        const int64_t n = N, back = -2;
        for (int i = 0; i < 2 * N; i++)
            z[i] = (float)i + 100 * I;
        void *memory;
        good(kiln_alloc(ctx, sizeof z, &memory));
        good(kiln_upload(ctx, memory, z, sizeof z));
        kiln_arg arg = {"z", (float _Complex *)memory + 2 * N - 2, KILN_C64, 1, &n, &back};
        good(kiln_run(p, NULL, &arg, 1));
        float _Complex got[2 * N];
        good(kiln_download(ctx, got, memory, sizeof got));
        for (int i = 0; i < 2 * N; i++) {
            float _Complex want = z[i];
            if (i % 2 == 0 && i < 2 * N - 2)
                want = CMPLXF(-cimagf(z[i]), crealf(z[i]));
            if (i % 2 == 0)
                want += cimagf(want);
            assert_true(got[i] == want);
        }
        kiln_free(ctx, memory);
        kiln_prog_destroy(p);
        kiln_ctx_destroy(ctx);
    }
}

/* The end of the recurrence z[i] = a[i] z[i-1] + b[i], z[-1] = 0: maps z -> a z + b are composed, which does not
 * commute. */
static void test_recurrence(void **state)
{
    (void)state;
    enum { LENGTH = 700 };
    static float _Complex a[LENGTH], b[LENGTH], end[2];
    double _Complex want = 0;
    for (int i = 0; i < LENGTH; i++) {
        a[i] = CMPLXF(0.5f, i % 5 == 0 ? -0.75f : 0.625f);
        b[i] = CMPLXF((float)(i % 7 - 3), (float)(i % 3));
        want = (double _Complex)a[i] * want + (double _Complex)b[i];
    }
    for (int d = 0; d < DEVICES; d++) {
        kiln_ctx *ctx = open_device(devices[d]);
        kiln_graph *g;
        kiln_prog *p;
        good(kiln_graph_create(ctx, &g));
        kiln_val in[] = {kiln_input(g, "a", KILN_C64, "N"), kiln_input(g, "b", KILN_C64, "N")};
        kiln_reducer by = {.count = 2, .identity = {kiln_int(g, 1), kiln_int(g, 0)}};
        for (int k = 0; k < 2; k++) {
            by.left[k] = kiln_carried(g, KILN_C64);
            by.right[k] = kiln_carried(g, KILN_C64);
        }
        by.combined[0] = kiln_mul(g, by.right[0], by.left[0]);
        by.combined[1] = kiln_add(g, kiln_mul(g, by.right[0], by.left[1]), by.right[1]);
        kiln_val composed[2];
        good(kiln_reduce_by(g, &by, in, KILN_ALL, 0, NULL, NULL, composed));
        good(kiln_output(g, "turn", composed[0]));
        good(kiln_output(g, "end", composed[1]));
        good(kiln_compile(g, NULL, &p));
        kiln_graph_destroy(g);
        const int64_t n = LENGTH;
        kiln_arg args[] = {{"a", a, KILN_C64, 1, &n, NULL},
                           {"b", b, KILN_C64, 1, &n, NULL},
                           {"turn", &end[0], KILN_C64, 0, NULL, NULL},
                           {"end", &end[1], KILN_C64, 0, NULL, NULL}};
        good(kiln_run(p, NULL, args, 4));
        if (!(cabs((double _Complex)end[1] - want) < 1e-4 * cabs(want)))
            fail_msg("%s: %g%+gj, not %g%+gj", devices[d], (double)crealf(end[1]),
                     (double)cimagf(end[1]), creal(want), cimag(want));
        assert_true(cabsf(end[0]) < 1e-20f);
        kiln_prog_destroy(p);
        kiln_ctx_destroy(ctx);
    }
}

static void test_elements(void **state)
{
    (void)state;
    _Alignas(16) unsigned char memory[16];
    double re, im;
    kiln_store_complex(KILN_C64, memory, 0.1, -2);
    kiln_load_complex(KILN_C64, memory, &re, &im);
    assert_true(re == (double)0.1f && im == -2 && kiln_load_float(KILN_C64, memory) == re);
    kiln_store_complex(KILN_I32, memory, -3.5, 7); /* as a cast does */
    kiln_load_complex(KILN_I32, memory, &re, &im);
    assert_true(re == -3 && im == 0 && kiln_load_int(KILN_I32, memory) == -3);
    assert_int_equal(kiln_dtype_size(KILN_C128), 16);
    assert_int_equal(kiln_dtype_find("complex64"), KILN_C64);
}

/* Two elements of c64 are one access of 16 bytes, so is one of c128; kernels without them have no code for them. */
static void test_source(void **state)
{
    (void)state;
    static const struct {
        const char *text, *has;
    } cases[] = {
        {"def f(x: c64[N]):\n    return x + 1", "kn_load_with_policy<2>(policy, in_x"},
        {"def f(x: c64[N]):\n    return prod(x)", "kn_prod::of("},
        {"def f(x: f32[N]):\n    return x + 1", NULL},
    };
    kiln_ctx *ctx = open_device("cpu");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kiln_prog *p = compile(ctx, cases[i].text);
        const int64_t n = 4096;
        char *source;
        kiln_explain_options o;
        kiln_explain_options_init(&o);
        o.stage = "cuda";
        o.arch = "sm_90";
        kiln_arg arg = {"x", NULL, cases[i].has ? KILN_C64 : KILN_F32, 1, &n, NULL};
        good(kiln_explain(p, &arg, 1, &o, &source));
        assert_int_equal(strstr(source, "kn_complex") != NULL, cases[i].has != NULL);
        if (cases[i].has && !strstr(source, cases[i].has))
            fail_msg("no %s in\n%s", cases[i].has, strstr(source, "the kernel"));
        kiln_text_free(ctx, source);
        kiln_prog_destroy(p);
    }
    kiln_ctx_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_value), cmocka_unit_test(test_builder),
        cmocka_unit_test(test_in_place), cmocka_unit_test(test_recurrence),
        cmocka_unit_test(test_elements), cmocka_unit_test(test_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
