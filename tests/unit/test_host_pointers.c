/* Host memory among the arguments of a GPU program: what the driver's answers mean, who is asked and when. */
#include "bench/null_device.h"
#include "runtime/cuda/pointer.h"
#include "runtime/cuda/signature.h"
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

/* ---- kernels of the user's own ---- */

static void test_signatures(void **state)
{
    (void)state;
    static const struct {
        const char *entry, *source;
        uint64_t pointers;
    } cases[] = {
        {"k", "__global__ void k(const float *x, float *__restrict__ y, int n) {}", 3},
        {"k", "extern \"C\" __global__ void __launch_bounds__(256, 2)\nk(long n, double* x){ }", 2},
        {"k", "__global__ void k() { int *p = 0; }", 0},
        {"k", "__global__ void k(void) { f(*p, *q); }", 0},
        {"k", "__global__ void k(int x[], float y[3][4], unsigned z);", 3},
        {"ns::k<4, float>",
         "namespace ns { template <int N, class T>\n"
         "__global__ void k(T v, pair<T *, int> p, const T *const *q, T *) {} }",
         12},
        {"k",
         "// __global__ void k(int *x)\n/* __global__ void k(int *x, int *y) */\n"
         "#define KERNEL(x) __global__ void k(int *x, \\\n int *y)\n"
         "const char *s = \"__global__ void k(int *x)\", c = '\"';\n"
         "__global__ void k(float x, /* , */ float *y) { }",
         2},
        {"k", "void k(int *x); __device__ void k(char *x) {}\n__global__ void k(float x);", 0},
        {"k", "__global__ void kk(int *x) {}\n__global__ void k(int n, void (*f)(int *)) {}", 0},
        {"k", "__global__ void k(int *x, long y);\n__global__ void k(long x, int *y);", 0},
        {"k", "__global__ void k(int *x, bool less = 1 < 2, int *y = 0) { *x = *y, *x; }", 1},
        {"k", "__global__ void other(int *x) { k(x); } __global__ void k(T x) {}", 0},
        {"k", "__global__ void k(int *x", 1},
        {"k", "", 0},
        {"", "__global__ void (int *x)", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (kn_signature_pointers(cases[i].source, cases[i].entry) != cases[i].pointers)
            fail_msg("%s: %llx", cases[i].source,
                     (unsigned long long)kn_signature_pointers(cases[i].source, cases[i].entry));
}

static int starts;

static kn_status load(kn_device *dev, const char *entry, const char *text, kn_code **code)
{
    (void)dev, (void)entry, (void)text;
    *code = malloc(sizeof **code);
    return KN_OK;
}

static kn_status start(kn_device *dev, kn_code *code, const kn_grid *grid, void *const *params,
                       int nparams, void *stream)
{
    (void)dev, (void)code, (void)grid, (void)params, (void)nparams, (void)stream;
    starts++;
    return KN_OK;
}

/* Of k(float *x, float *y, long n), as a driver says it that does not count parameters. */
static int describe(kn_device *dev, kn_code *code, int i, kn_code_param *param)
{
    (void)dev, (void)code;
    *param = (kn_code_param){.pointer = i < 2};
    return -1;
}

static kiln_status launch(kiln_kernel *k, void *x, void *y, void *n)
{
    kiln_launch l;
    void *const params[] = {&x, &y, &n};
    kiln_launch_init(&l);
    return kiln_kernel_run(k, NULL, &l, params, 3);
}

static void test_kernel(void **state)
{
    (void)state;
    fixture f;
    kiln_kernel *k, *trusting;
    void *inside = host + 64;
    set_up(&f, sum);
    f.ops.load = load;
    f.ops.start = start;
    f.ops.describe = describe;
    good(kiln_kernel_create(&f.n.ctx, "text", "k", &k));
    refused(launch(k, inside, place(1), NULL), "kernel 'k': parameter 0");
    refused(launch(k, place(0), inside, NULL), "kernel 'k': parameter 1");
    assert_int_equal(starts, 0);
    good(launch(k, place(0), place(1), inside)); /* the last is a number */
    good(launch(k, NULL, place(1), NULL));
    int before = asked;
    good(launch(k, place(0), place(1), NULL));
    good(call(&f, place(0), place(1), place(1), 64, false));
    assert_int_equal(asked, before);
    assert_int_equal(starts, 3);
    f.n.core.asks = false; /* trust_pointers */
    good(kiln_kernel_create(&f.n.ctx, "text", "k", &trusting));
    good(launch(trusting, inside, inside, NULL));
    good(launch(k, inside, inside, NULL));
    kiln_kernel_destroy(trusting);
    kiln_kernel_destroy(k);
    tear_down(&f);
}

/* Just behind the device's memory lies nothing, and a kernel may be told where its array ends. */
static bool reaches_one(kn_device *dev, const void *data)
{
    (void)dev;
    return (const char *)data >= place(0) && (const char *)data < place(0) + 64;
}

static void test_end_of_an_array(void **state)
{
    (void)state;
    fixture f;
    kiln_kernel *k;
    set_up(&f, sum);
    f.ops.load = load;
    f.ops.start = start;
    f.ops.describe = describe;
    f.ops.reaches = reaches_one;
    good(kiln_kernel_create(&f.n.ctx, "text", "k", &k));
    good(launch(k, place(0), place(0) + 64, NULL));
    refused(launch(k, place(0), place(0) + 65, NULL), "parameter 1");
    kiln_kernel_destroy(k);
    tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),    cmocka_unit_test(test_refused),
        cmocka_unit_test(test_asked_once), cmocka_unit_test(test_promised),
        cmocka_unit_test(test_workspace),  cmocka_unit_test(test_signatures),
        cmocka_unit_test(test_kernel),     cmocka_unit_test(test_end_of_an_array),
    };
    return cmocka_run_group_tests_name("pointers", tests, NULL, NULL);
}
