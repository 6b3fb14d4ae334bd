/* Host memory among the arguments of a GPU program: what the driver's answers mean, who is asked and when. */
#include "bench/null_device.h"
#include "runtime/cuda/pointer.h"
#include "tests/device.h"

/* ---- the driver's answers ---- */

enum { DEVICE = 2, UNIFIED = 4 }; /* cuPointerGetAttribute's CU_POINTER_ATTRIBUTE_MEMORY_TYPE */
enum { NOT_INITIALIZED = 3, NOT_SUPPORTED = 801 };

static struct {
    int type_result, pointer_result;
    unsigned type;
    kn_cu_ptr mapped;
    int mode, asked_in_mode;
} says;

static int get_attribute(void *value, int attribute, kn_cu_ptr ptr)
{
    (void)ptr;
    says.asked_in_mode = says.mode;
    if (attribute == KN_CU_POINTER_MEMORY_TYPE) {
        if (says.type_result == KN_CU_SUCCESS)
            *(unsigned *)value = says.type;
        return says.type_result;
    }
    assert_int_equal(attribute, KN_CU_POINTER_DEVICE_POINTER);
    if (says.pointer_result == KN_CU_SUCCESS)
        *(kn_cu_ptr *)value = says.mapped;
    return says.pointer_result;
}

static int exchange_mode(int *mode)
{
    int before = says.mode;
    says.mode = *mode;
    *mode = before;
    return KN_CU_SUCCESS;
}

static void test_answers(void **state)
{
    (void)state;
    enum { AT = 0x7000 };
    static const struct {
        const char *what;
        int type_result, pointer_result;
        unsigned type;
        kn_cu_ptr mapped;
        bool good;
    } cases[] = {
        {"ordinary host memory", KN_CU_INVALID_VALUE, 0, 0, 0, false},
        {"device memory", 0, 0, DEVICE, AT, true},
        {"managed memory", 0, 0, DEVICE, AT, true},
        {"managed memory that is said to be the host's", 0, 0, KN_CU_MEMORY_HOST, AT, true},
        {"unified memory", 0, 0, UNIFIED, AT, true},
        {"pinned memory, at its own address", 0, 0, KN_CU_MEMORY_HOST, AT, true},
        {"pinned memory, at another address", 0, 0, KN_CU_MEMORY_HOST, 0x9000, false},
        {"pinned memory that is not mapped", 0, KN_CU_INVALID_VALUE, KN_CU_MEMORY_HOST, 0, false},
        {"a driver that does not say", NOT_SUPPORTED, 0, 0, 0, true},
        {"a driver that fails", NOT_INITIALIZED, 0, 0, 0, true},
        {"a driver that says half", 0, NOT_SUPPORTED, KN_CU_MEMORY_HOST, 0, true},
    };
    const kn_driver driver = {.cuPointerGetAttribute = get_attribute,
                              .cuThreadExchangeStreamCaptureMode = exchange_mode};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        says.type_result = cases[i].type_result;
        says.pointer_result = cases[i].pointer_result;
        says.type = cases[i].type;
        says.mapped = cases[i].mapped;
        if (kn_pointer_reaches(&driver, (void *)(uintptr_t)AT) != cases[i].good)
            fail_msg("%s", cases[i].what);
        assert_int_equal(says.asked_in_mode, KN_CU_CAPTURE_RELAXED);
        assert_int_equal(says.mode, 0); /* as it was */
    }
    const kn_driver old = {.cuPointerGetAttribute = get_attribute}, older = {0};
    says.type_result = KN_CU_INVALID_VALUE;
    assert_false(kn_pointer_reaches(&old, (void *)(uintptr_t)AT));
    assert_true(kn_pointer_reaches(&older, (void *)(uintptr_t)AT));
}

/* ---- who is asked, and when ---- */

typedef struct fixture {
    null_context n;
    kn_device_ops ops;
    kiln_prog *prog;
} fixture;

static int asked;

static _Alignas(256) char host[1 << 20];

/* Nothing of the host's. */
static char *place(int n) { return (char *)(uintptr_t)0x100000000 + ((size_t)n << 32); }

static bool reaches(kn_device *dev, const void *data)
{
    (void)dev;
    asked++;
    return (const char *)data < host || (const char *)data >= host + sizeof host;
}

static void set_up(fixture *f, const char *text)
{
    asked = 0;
    null_open(&f->n, &kn_malloc_allocator);
    f->ops = null_ops;
    f->ops.reaches = reaches;
    f->n.dev.base.ops = &f->ops;
    f->prog = compile(&f->n.ctx, text);
}

static void tear_down(fixture *f)
{
    kiln_prog_destroy(f->prog);
    null_close(&f->n);
}

static const char sum[] = "def f(x: f32[N], y: f32[N], k: f32):\n    z = x + y * k\n    return z\n";

static kiln_status call(fixture *f, void *x, void *y, void *z, int64_t n, bool prepare)
{
    float k = 2; /* by value: host memory */
    kiln_arg args[] = {{"x", x, KILN_F32, 1, &n, NULL},
                       {"y", y, KILN_F32, 1, &n, NULL},
                       {"k", &k, KILN_F32, 0, NULL, NULL},
                       {"z", z, KILN_F32, 1, &n, NULL}};
    return prepare ? kiln_prepare(f->prog, args, 4, NULL) : kiln_run(f->prog, NULL, args, 4);
}

static void refused(kiln_status status, const char *who)
{
    assert_int_equal(status, KILN_ERR_ARGUMENT);
    assert_non_null(strstr(kiln_last_error(), who));
    assert_non_null(strstr(kiln_last_error(), "host memory"));
    assert_non_null(strstr(kiln_last_error(), "kiln_alloc()"));
}

static void test_refused(void **state)
{
    (void)state;
    fixture f;
    set_up(&f, sum);
    for (int prepare = 0; prepare < 2; prepare++) {
        refused(call(&f, host, place(1), place(2), 64, prepare), "input x");
        refused(call(&f, place(0), host, place(2), 64, prepare), "input y");
        refused(call(&f, place(0), place(1), host, 64, prepare), "output z");
        good(call(&f, place(0), place(1), place(2), 64, prepare));
        refused(call(&f, host, place(1), place(2), 64, prepare), "input x"); /* whatever was good */
    }
    assert_int_equal(f.n.dev.base.launches, 1);
    good(call(&f, host, host, host, 0, false)); /* nothing is there to be read */
    tear_down(&f);
}

static void test_asked_once(void **state)
{
    (void)state;
    fixture f;
    set_up(&f, sum);
    good(call(&f, place(0), place(1), place(2), 64, true));
    assert_int_equal(asked, 3);
    for (int i = 0; i < 10; i++) {
        good(call(&f, place(0), place(1), place(2), 64, false));
        good(call(&f, place(1), place(0), place(2), 64 + i,
                  false)); /* another place, another size */
    }
    assert_int_equal(asked, 3);
    good(call(&f, place(0), place(3), place(2), 64, false));
    assert_int_equal(asked, 4);
    f.n.core.asks = false; /* trust_pointers */
    good(call(&f, place(4), place(5), place(6), 64, false));
    assert_int_equal(asked, 4);
    tear_down(&f);
}

/* What has no address yet is not asked about before it has. */
static void test_promised(void **state)
{
    (void)state;
    fixture f;
    set_up(&f, sum);
    good(call(&f, NULL, NULL, place(2), 64, true));
    assert_int_equal(asked, 1);
    refused(call(&f, place(0), host, place(2), 64, false), "input y");
    void *far = (void *)(uintptr_t)0xffff800000000000; /* no promise, but an address of nobody's */
    assert_int_equal(asked, 3);
    good(call(&f, far, place(1), place(2), 64, false));
    assert_int_equal(asked, 5);
    tear_down(&f);
}

static void test_workspace(void **state)
{
    (void)state;
    fixture f;
    int64_t shape[] = {64, 64};
    kiln_prepared info;
    kiln_prepared_init(&info);
    set_up(&f,
           "def f(x: f32[N, M]):\n    y = x - mean(x, axis=0) - mean(x, axis=1, keepdims=True)\n"
           "    return y\n");
    kiln_arg args[] = {{"x", place(0), KILN_F32, 2, shape, NULL},
                       {"y", place(1), KILN_F32, 2, shape, NULL}};
    info.own_workspace = true;
    good(kiln_prepare(f.prog, args, 2, &info));
    assert_in_range(info.workspace, 1, sizeof host);
    refused(kiln_run_in(f.prog, NULL, args, 2, host, sizeof host), "workspace");
    good(kiln_run_in(f.prog, NULL, args, 2, place(2), info.workspace));
    int before = asked;
    good(kiln_run_in(f.prog, NULL, args, 2, place(2), info.workspace));
    assert_int_equal(asked, before);
    tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),    cmocka_unit_test(test_refused),
        cmocka_unit_test(test_asked_once), cmocka_unit_test(test_promised),
        cmocka_unit_test(test_workspace),
    };
    return cmocka_run_group_tests_name("pointers", tests, NULL, NULL);
}
