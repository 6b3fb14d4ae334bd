/* Tensors of DLPack: which are taken as arguments and how, and outputs that are tensors. */
#include "bench/null_device.h"
#include "frontend/dlpack_abi.h"
#include "frontend/kiln_dlpack.h"
#include "tests/unit/api.h"

static const char text[] = "def f(x: f32[N, C], k: f32):\n    y = x * k\n    return y\n";
static const char update[] = "def f(x: f32[N]):\n    x += 1\n";

static float numbers[] = {9, 0, 1, 2, 3, 4, 5};
static int64_t shape[] = {2, 3}, reversed[] = {3, -1}, one[] = {6};

/* numbers[1..7) as 2 rows, each backwards. */
static struct DLManagedTensorVersioned tensor_of_rows(void)
{
    struct DLManagedTensorVersioned t = {.major = 1, .minor = 1};
    t.tensor =
        (kn_dl_tensor){numbers, {KN_DL_CPU, 0}, 2, {KN_DL_FLOAT, 32, 1}, shape, reversed, 12};
    return t;
}

static void expect_refusal(kiln_prog *p, const char *name, struct DLManagedTensorVersioned t,
                           kiln_status want, const char *message)
{
    kiln_arg arg;
    expect(kiln_arg_from_dlpack_versioned(p, name, &t, &arg), want, message);
}

static void runs(void **state)
{
    (void)state;
    kiln_prog *p = compile(ctx, text);
    float two = 2;
    struct DLManagedTensorVersioned x = tensor_of_rows(), *y;
    struct DLManagedTensor k = {
        .tensor = {&two, {KN_DL_CPU, 0}, 0, {KN_DL_FLOAT, 32, 1}, NULL, NULL, 0}};
    kiln_arg args[3];
    x.flags = KN_DL_READ_ONLY;
    good(kiln_arg_from_dlpack_versioned(p, "x", &x, &args[0]));
    good(kiln_arg_from_dlpack(p, "k", &k, &args[1]));
    good(kiln_output_to_dlpack_versioned(p, "y", args, 2, &y));
    assert_true(y->major == 1 && y->flags == 0 && y->tensor.rank == 2);
    assert_true(y->tensor.shape[0] == 2 && y->tensor.shape[1] == 3 && y->tensor.strides[0] == 3);
    assert_true(y->tensor.device.type == KN_DL_CPU && y->tensor.type.kind == KN_DL_FLOAT);
    good(kiln_arg_from_dlpack_versioned(p, "y", y, &args[2]));
    good(kiln_run(p, NULL, args, 3));
    static const float want[] = {4, 2, 0, 10, 8, 6};
    assert_memory_equal(y->tensor.data, want, sizeof want);
    kiln_prog_destroy(p);
    kiln_ctx_destroy(ctx); /* the tensor outlives both */
    assert_true(((float *)y->tensor.data)[3] == 10);
    y->deleter(y);
    assert_int_equal(open_cpu(NULL), 0);
}

static void old_tensors(void **state)
{
    (void)state;
    kiln_prog *p = compile(ctx, update);
    struct DLManagedTensor x = {
        .tensor = {numbers, {KN_DL_CPU, 0}, 1, {KN_DL_FLOAT, 32, 1}, one, NULL, 4}};
    struct DLManagedTensor *y;
    kiln_arg arg;
    good(kiln_arg_from_dlpack(p, "x", &x, &arg));
    assert_true(arg.data == numbers + 1 && arg.rank == 1 && !arg.strides);
    good(kiln_run(p, NULL, &arg, 1));
    assert_true(numbers[0] == 9 && numbers[1] == 1 && numbers[6] == 6);
    for (int i = 1; i < 7; i++)
        numbers[i] -= 1;
    kiln_prog_destroy(p);
    p = compile(ctx, text);
    expect(kiln_output_to_dlpack(p, "y", NULL, 0, &y), KILN_ERR_ARGUMENT,
           "argument x: f32[N, C] is missing");
    assert_null(y);
    const int64_t none[] = {0, 4};
    float k = 1;
    const kiln_arg args[] = {{"x", NULL, KILN_F32, 2, none, NULL},
                             {"k", &k, KILN_F32, 0, NULL, NULL}};
    good(kiln_output_to_dlpack(p, "y", args, 2, &y));
    assert_true(!y->tensor.data && y->tensor.shape[1] == 4);
    y->deleter(y);
    expect(kiln_output_to_dlpack(p, "z", args, 2, &y), KILN_ERR_ARGUMENT, "has no output z");
    kiln_prog_destroy(p);
}

static void types(void **state)
{
    (void)state;
    static const struct {
        kn_dl_type type;
        kiln_dtype dtype;
    } cases[] = {
        {{KN_DL_BOOL, 8, 1}, KILN_BOOL},       {{KN_DL_INT, 8, 1}, KILN_I8},
        {{KN_DL_INT, 64, 1}, KILN_I64},        {{KN_DL_UINT, 32, 1}, KILN_U32},
        {{KN_DL_FLOAT, 16, 1}, KILN_F16},      {{KN_DL_BFLOAT, 16, 1}, KILN_BF16},
        {{KN_DL_FLOAT, 64, 1}, KILN_F64},      {{KN_DL_COMPLEX, 64, 1}, KILN_C64},
        {{KN_DL_COMPLEX, 128, 1}, KILN_C128},  {{KN_DL_FLOAT, 32, 4}, KILN_NO_DTYPE},
        {{KN_DL_FLOAT, 32, 0}, KILN_NO_DTYPE}, {{KN_DL_OPAQUE, 64, 1}, KILN_NO_DTYPE},
        {{KN_DL_INT, 4, 1}, KILN_NO_DTYPE},    {{8, 8, 1}, KILN_NO_DTYPE},
    };
    kiln_prog *p = compile(ctx, text);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct DLManagedTensorVersioned x = tensor_of_rows();
        kiln_arg arg = {0};
        x.tensor.type = cases[i].type;
        kiln_status status = kiln_arg_from_dlpack_versioned(p, "x", &x, &arg);
        assert_int_equal(status, cases[i].dtype ? KILN_OK : KILN_ERR_TYPE);
        assert_int_equal(arg.dtype, cases[i].dtype);
    }
    kiln_prog_destroy(p);
}

static void refuses(void **state)
{
    (void)state;
    kiln_prog *p = compile(ctx, text);
    struct DLManagedTensorVersioned x = tensor_of_rows();
    kiln_arg arg;
    x.major = 2;
    expect_refusal(p, "x", x, KILN_ERR_ARGUMENT, "x: a tensor of DLPack 2");
    x = tensor_of_rows();
    x.tensor.device.type = KN_DL_CUDA;
    expect_refusal(p, "x", x, KILN_ERR_ARGUMENT,
                   "x is on cuda:0, DLPack's device type 2, which a program on \"cpu\"");
    x.tensor.device.type = 10;
    expect_refusal(p, "x", x, KILN_ERR_ARGUMENT, "another device:0, DLPack's device type 10");
    x = tensor_of_rows();
    x.tensor.rank = 17;
    expect_refusal(p, "x", x, KILN_ERR_SHAPE, "x has rank 17; there are up to 16 axes");
    x = tensor_of_rows();
    expect_refusal(p, "z", x, KILN_ERR_ARGUMENT, "f has no input or output 'z'");
    x.flags = KN_DL_READ_ONLY;
    expect_refusal(p, "y", x, KILN_ERR_ARGUMENT, "y is written by the program, but read-only");
    expect(kiln_arg_from_dlpack_versioned(p, "x", NULL, &arg), KILN_ERR_ARGUMENT, "tensor is NULL");
    expect(kiln_arg_from_dlpack(NULL, "x", NULL, &arg), KILN_ERR_ARGUMENT, "prog is NULL");
    expect(kiln_output_to_dlpack(p, "y", NULL, 0, NULL), KILN_ERR_ARGUMENT, "tensor is NULL");
    kiln_prog_destroy(p);
    p = compile(ctx, update);
    expect_refusal(p, "x", x, KILN_ERR_ARGUMENT, "x is written by the program, but read-only");
    kiln_prog_destroy(p);
}

/* On a GPU: whose memory is taken, and where outputs are. */
static void on_a_gpu(void **state)
{
    (void)state;
    null_context n;
    null_open(&n, &kn_malloc_allocator);
    strcpy(n.core.name, "cuda:1");
    n.core.has_gpu = true;
    n.core.ordinal = 1;
    kiln_prog *p = compile(&n.ctx, text);
    static const struct {
        const char *name;
        kn_dl_device at;
        bool taken;
    } cases[] = {
        {"x", {KN_DL_CUDA, 1}, true},      {"x", {KN_DL_CUDA, 0}, false},
        {"x", {KN_DL_CPU, 0}, false},      {"x", {KN_DL_CUDA_MANAGED, 0}, true},
        {"x", {KN_DL_CUDA_HOST, 0}, true}, {"k", {KN_DL_CPU, 0}, true},
        {"k", {KN_DL_CUDA, 1}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct DLManagedTensorVersioned x = tensor_of_rows();
        kiln_arg arg;
        x.tensor.device = cases[i].at;
        assert_int_equal(kiln_arg_from_dlpack_versioned(p, cases[i].name, &x, &arg),
                         cases[i].taken ? KILN_OK : KILN_ERR_ARGUMENT);
    }
    float k = 1;
    const kiln_arg args[] = {{"x", numbers, KILN_F32, 2, shape, NULL},
                             {"k", &k, KILN_F32, 0, NULL, NULL}};
    struct DLManagedTensorVersioned *y;
    good(kiln_output_to_dlpack_versioned(p, "y", args, 2, &y));
    assert_true(y->tensor.device.type == KN_DL_CUDA && y->tensor.device.id == 1);
    y->deleter(y);
    kiln_prog_destroy(p);
    null_close(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {test(runs), test(old_tensors), test(types), test(refuses),
                                       test(on_a_gpu)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
