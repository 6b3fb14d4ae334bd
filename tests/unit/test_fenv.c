/* The caller's floating-point environment changes no result and no constant, on any device of the host, and is the same
 * after each call as before it. */
#include <stdio.h>

#include "tests/fpmode.h"
#include "tests/unit/api.h"

enum { ROWS = 60, COLUMNS = 700, N = ROWS * COLUMNS, OUTPUTS = 5 };

/* Roundings, subnormal numbers, constants that are computed with, and what traps. */
static const char text[] =
    "def f(x: f32[N, M], e: f32 = 1e-5):\n"
    "    thirds = (x * 0.1 + 1.0 / 3.0 + e) / 3\n"
    "    small = x * 1e-38 * 0.01\n"
    "    spread = exp(x / 7) / sum(small * 1e40 + sqrt(abs(x)), axis=1, keepdims=True)\n"
    "    wild = log(x - x) + (x - x) / (x - x) + exp(abs(x) * 1e9)\n"
    "    shift = mean(cast(x, f64) * 1e-200 * 1e-110, axis=1)\n"
    "    return thirds, small, spread, wild, shift\n";
static const char *const devices[] = {"cpu", "emu", "ref"};

/* ---- modes ---- */

static bool upward(void) { return fesetround(FE_UPWARD) == 0; }
static bool to_zero(void) { return fesetround(FE_TOWARDZERO) == 0; }
static bool traps(void)
{
    return feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW | FE_INEXACT) != -1;
}

/* Of the unit that computes in long double. */
static bool in_single(void)
{
#if defined(__x86_64__)
    uint16_t x87 = 0x07f;
    __asm__ volatile("fldcw %0" : : "m"(x87));
    return true;
#else
    return false;
#endif
}

static const struct {
    const char *name;
    bool (*set)(void);
} modes[] = {{"rounding up", upward},
             {"rounding to zero", to_zero},
             {"without subnormal numbers", flush_to_zero},
             {"with traps", traps},
             {"in single precision", in_single}};
enum { MODES = sizeof modes / sizeof *modes };

/* What is_kept() holds; set by enter(). */
static uint64_t mode;
static int flags;
static const char *mode_name;

static bool enter(int m)
{
    mode_name = modes[m].name;
    feclearexcept(FE_ALL_EXCEPT);
    feraiseexcept(FE_UNDERFLOW);
    if (!modes[m].set()) {
        fesetenv(FE_DFL_ENV);
        return false;
    }
    mode = fp_mode();
    flags = fetestexcept(FE_ALL_EXCEPT);
    return true;
}

static void is_kept(const char *after)
{
    uint64_t now = fp_mode();
    int raised = fetestexcept(FE_ALL_EXCEPT);
    if (now != mode || raised != flags) {
        fesetenv(FE_DFL_ENV);
        fail_msg("%s, after %s: mode %llx, was %llx; flags %x, were %x", mode_name, after,
                 (unsigned long long)now, (unsigned long long)mode, (unsigned)raised,
                 (unsigned)flags);
    }
}

#define KEPT(call)                                                                                 \
    do {                                                                                           \
        good(call);                                                                                \
        is_kept(#call);                                                                            \
    } while (0)

/* ---- a whole program ---- */

/* All of it aligned: outputs at addresses of another alignment can take other vectors, and so sums in another order. */
typedef struct results {
    _Alignas(64) float out[4][N];
    _Alignas(64) double shift[ROWS];
    char *source;
} results;

static const int64_t shape[] = {ROWS, COLUMNS};

static void arguments(const float *x, results *r, kiln_arg *args)
{
    static const char *const names[] = {"thirds", "small", "spread", "wild"};
    union {
        const float *in;
        void *data;
    } input = {x};
    memset(r->out, 0, sizeof r->out);
    memset(r->shift, 0, sizeof r->shift);
    args[0] = (kiln_arg){"x", input.data, KILN_F32, 2, shape, NULL};
    for (int o = 0; o < 4; o++)
        args[1 + o] = (kiln_arg){names[o], r->out[o], KILN_F32, 2, shape, NULL};
    args[OUTPUTS] = (kiln_arg){"shift", r->shift, KILN_F64, 1, shape, NULL};
}

static kiln_ctx *open_two(const char *device)
{
    kiln_config c;
    kiln_ctx *made = NULL;
    kiln_config_init(&c);
    c.device = device;
    c.threads = 2;
    KEPT(kiln_ctx_create(&c, &made));
    return made;
}

static kiln_prog *build(kiln_ctx *on)
{
    kiln_graph *g;
    kiln_prog *p;
    KEPT(kiln_parse(on, text, NULL, &g));
    KEPT(kiln_compile(g, NULL, &p));
    kiln_graph_destroy(g);
    return p;
}

/* Everything in the caller's mode, from the text to the results. */
static void run_whole(kiln_prog *p, const float *x, results *r)
{
    kiln_arg args[1 + OUTPUTS];
    kiln_explain_options o;
    kiln_explain_options_init(&o);
    o.stage = "cuda";
    arguments(x, r, args);
    KEPT(kiln_explain(p, args, 1, &o, &r->source));
    KEPT(kiln_prepare(p, args, 1 + OUTPUTS, NULL));
    KEPT(kiln_run(p, NULL, args, 1 + OUTPUTS));
}

static void assert_same(const results *got, const results *want, const char *device)
{
    if (memcmp(got->out, want->out, sizeof want->out) != 0 ||
        memcmp(got->shift, want->shift, sizeof want->shift) != 0)
        fail_msg("%s, %s: other results", device, mode_name);
    assert_string_equal(got->source, want->source);
}

/* A program that is made and first run in the caller's mode, and later in the default one: whoever comes first starts
 * the threads. */
static void test_results(void **state)
{
    static results want, got;
    static _Alignas(64) float x[N];
    (void)state;
    for (int i = 0; i < N; i++)
        x[i] = (float)(i % 1009) * 0.37F - 100;
    for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
        mode = fp_mode(); /* the default one */
        flags = fetestexcept(FE_ALL_EXCEPT);
        mode_name = "default";
        kiln_ctx *usual = open_two(devices[d]);
        kiln_prog *p = build(usual);
        run_whole(p, x, &want);
        kiln_prog_destroy(p);
        for (int m = 0; m < MODES; m++) {
            if (!enter(m))
                continue;
            kiln_ctx *other = open_two(devices[d]);
            p = build(other);
            run_whole(p, x, &got);
            fesetenv(FE_DFL_ENV);
            assert_same(&got, &want, devices[d]);
            kiln_text_free(other, got.source);
            mode = fp_mode();
            flags = 0;
            run_whole(p, x, &got);
            assert_same(&got, &want, devices[d]);
            kiln_text_free(other, got.source);
            kiln_prog_destroy(p);
            kiln_ctx_destroy(other);
        }
        kiln_text_free(usual, want.source);
        kiln_ctx_destroy(usual);
    }
}

/* ---- values one by one, and the builder's ---- */

typedef struct numbers {
    uint16_t half, third;
    float small;
    double loaded;
    char *source;
} numbers;

static void make_numbers(kiln_ctx *on, numbers *n)
{
    const uint32_t tenth = 0x3dcccccd;
    kiln_graph *g = NULL;
    kiln_prog *p;
    kiln_store_float(KILN_F16, &n->half, 1e-7);
    kiln_store_float(KILN_BF16, &n->third, 0.3333333333333333);
    kiln_store_float(KILN_F32, &n->small, 1e-42);
    n->loaded = kiln_load_float(KILN_F32, &tenth);
    is_kept("kiln_store_float()");
    KEPT(kiln_graph_create(on, &g));
    kiln_val x = kiln_input(g, "x", KILN_F32, "N");
    kiln_val c = kiln_div(g, kiln_float(g, 1), kiln_float(g, 3));
    kiln_val y = kiln_add(g, kiln_mul(g, x, c), kiln_exp(g, kiln_float(g, -0.1)));
    KEPT(kiln_output(g, "y", y));
    KEPT(kiln_compile(g, NULL, &p));
    kiln_explain_options o;
    kiln_explain_options_init(&o);
    o.stage = "cuda";
    KEPT(kiln_explain(p, NULL, 0, &o, &n->source));
    kiln_prog_destroy(p);
    kiln_graph_destroy(g);
}

static void test_numbers(void **state)
{
    numbers want = {0}, got = {0};
    (void)state;
    mode = fp_mode();
    flags = fetestexcept(FE_ALL_EXCEPT);
    make_numbers(ctx, &want);
    for (int m = 0; m < MODES; m++) {
        if (!enter(m))
            continue;
        make_numbers(ctx, &got);
        fesetenv(FE_DFL_ENV);
        assert_int_equal(got.half, want.half);
        assert_int_equal(got.third, want.third);
        assert_memory_equal(&got.small, &want.small, sizeof want.small);
        assert_memory_equal(&got.loaded, &want.loaded, sizeof want.loaded);
        assert_string_equal(got.source, want.source);
        kiln_text_free(ctx, got.source);
    }
    kiln_text_free(ctx, want.source);
}

/* ---- what kiln calls ---- */

static kiln_status timed(void *user)
{
    *(uint64_t *)user = fp_mode();
    return KILN_OK;
}

static kiln_status turns(void *user)
{
    fesetround(FE_DOWNWARD);
    return timed(user);
}

/* It is the caller's code, so it runs in the caller's mode, and may change it. */
static void test_callback(void **state)
{
    uint64_t seen = 0;
    double us;
    (void)state;
    for (int m = 0; m < MODES; m++) {
        if (!enter(m))
            continue;
        KEPT(kiln_time(ctx, NULL, timed, &seen, &us));
        fesetenv(FE_DFL_ENV);
        assert_true(seen == mode);
    }
    good(kiln_time(ctx, NULL, turns, &seen, &us));
    int rounding = fegetround();
    fesetenv(FE_DFL_ENV);
    assert_int_equal(rounding, FE_DOWNWARD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_results), test(test_numbers),
                                       test(test_callback)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
