/* ir/build: what each operation becomes, its type and shape, the facts it records, and every refusal. */
#include "tests/unit/graphs.h"

#define REDUCED(op, x, ...) kn_build_reduction(g, op, x, &(kn_reduction){__VA_ARGS__}, nowhere)

static const struct {
    const char *params, *expression, *text, *type;
} graphs[] = {
    /* NumPy 2's types: arrays promote among themselves, Python numbers only raise the kind */
    {"x: f32[N], y: f64[N]", "x + y", "add(f64(x), y)", "f64[N]"},
    {"x: f32[N], y: i32[N]", "x + y", "add(f64(x), f64(y))", "f64[N]"},
    {"x: i32[N], y: i64[N]", "x * y", "multiply(i64(x), y)", "i64[N]"},
    {"x: f32[N], y: bool[N]", "x - y", "subtract(x, f32(y))", "f32[N]"},
    {"x: f32[N]", "x + 1", "add(x, 1:f32 as [1])", "f32[N]"},
    {"x: f32[N]", "0.1 * x", "multiply(0.100000001:f32 as [1], x)", "f32[N]"},
    {"x: i32[N]", "x + 1.5", "add(f64(x), 1.5:f64 as [1])", "f64[N]"},
    {"x: i32[N]", "x + 1", "add(x, 1:i32 as [1])", "i32[N]"},
    {"x: bool[N]", "x + 1", "add(i64(x), 1:i64 as [1])", "i64[N]"},
    {"x: i32[N]", "x / 2", "divide(f64(x), 2:f64 as [1])", "f64[N]"},
    {"x: i32[N]", "sqrt(x)", "sqrt(f64(x))", "f64[N]"},
    {"x: f32[N]", "x * (1 + 0.5)", "multiply(x, f32(add(1:f64, 0.5:f64)) as [1])", "f32[N]"},
    {"x: f32[N]", "x + sqrt(4)", "add(f64(x), sqrt(4:f64) as [1])", "f64[N]"},
    {"x: i32[N]", "x < 3000000000", "less(i64(x), 3000000000:i64 as [1])", "bool[N]"},
    {"x: f32[N]", "x ** 2", "power(x, 2:f32 as [1])", "f32[N]"},
    {"x: f32[N], s: f32", "x + s", "add(x, s as [1])", "f32[N]"},
    /* bool arithmetic is logic */
    {"x: bool[N]", "x + x", "logical_or(x, x)", "bool[N]"},
    {"x: bool[N]", "x * x", "logical_and(x, x)", "bool[N]"},
    {"x: bool[N]", "abs(x)", "copy(x)", "bool[N]"},
    {"x: f32[N], y: i32[N]", "logical_and(x, y)", "logical_and(bool(x), bool(y))", "bool[N]"},
    {"x: f32[N]", "where(x, 1, x)", "where(bool(x), 1:f32 as [1], x)", "f32[N]"},
    /* broadcasting */
    {"x: f32[N, C], y: f32[C]", "x + y", "add(x, y as [1, C])", "f32[N, C]"},
    {"x: f32[N, 1], y: f32[C]", "x + y", "add(x, y as [1, C])", "f32[N, C]"},
    {"x: f32[N, C], y: f32", "x + y", "add(x, y as [1, 1])", "f32[N, C]"},
    {"x: f32[N, C], y: f32[M]", "x + y", "add(x, y as [1, M])", "f32[N, C]"},
    /* complex numbers: sums and what is made of them by parts */
    {"x: f32[N]", "x * 2j", "multiply(c64(x), 0+2j:c64 as [1])", "c64[N]"},
    {"x: i32[N]", "x + 1j", "add(c128(x), 0+1j:c128 as [1])", "c128[N]"},
    {"x: c64[N]", "x + (1 + 2j) ** 2", "add(x, -3+4j:c64 as [1])", "c64[N]"},
    {"x: c64[N]", "abs(x)", "hypot(real(x), imag(x))", "f32[N]"},
    {"x: f16[N]", "complex_of(x, 1)", "complex_of(f32(x), 1:f32 as [1])", "c64[N]"},
    {"x: c64[N]", "sum(x)", "complex_of(sum{0}(real(x)) as [], sum{0}(imag(x)) as [])", "c64[]"},
    {"x: c64[N]", "var(x)", "add(var{0}(real(x)) as [], var{0}(imag(x)) as [])", "f32[]"},
    {"x: c128[N]", "prod(x)", "prod{0}(x) as []", "c128[]"},
    {"x: f32[N]", "imag(x)", "0:f32 as [1] repeated [N]", "f32[N]"},
    /* reductions */
    {"x: f32[N, C]", "sum(x, axis=0)", "sum{0}(x) as [C]", "f32[C]"},
    {"x: f32[N, C]", "sum(x, axis=-1, keepdims=True)", "sum{1}(x)", "f32[N, 1]"},
    {"x: f32[N, C]", "sum(x)", "sum{0,1}(x) as []", "f32[]"},
    {"x: f32[N, C]", "sum(x, axis=())", "sum{}(x)", "f32[N, C]"},
    {"x: i32[N]", "sum(x)", "sum{0}(i64(x)) as []", "i64[]"},
    {"x: bool[N]", "sum(x)", "sum{0}(i64(x)) as []", "i64[]"},
    {"x: i32[N]", "max(x)", "max{0}(x) as []", "i32[]"},
    {"x: i32[N]", "mean(x)", "mean{0}(f64(x)) as []", "f64[]"},
    {"x: f64[N]", "sum(x, dtype=f32)", "sum{0}(f32(x)) as []", "f32[]"},
    {"x: bool[N]", "min(x)", "all{0}(x) as []", "bool[]"},
    {"x: f32[N]", "any(x)", "any{0}(bool(x)) as []", "bool[]"},
    {"x: f32[N]", "var(x, ddof=1)", "var{0;ddof 1}(x) as []", "f32[]"},
    /* views */
    {"x: f32[N, C]", "x.T", "x moved (1, 0)", "f32[C, N]"},
    {"x: f32[N, C]", "transpose(x, (0, 1))", "x", "f32[N, C]"},
    {"x: f32[N, C]", "transpose(x, (-1, 0))", "x moved (1, 0)", "f32[C, N]"},
    {"x: f32[N, C]", "x.reshape(-1)", "x as [N*C]", "f32[N*C]"},
    {"x: f32[N, C]", "x.reshape(N, C)", "x", "f32[N, C]"},
    {"x: f32[N, 6]", "x.reshape(-1, 2, 3)", "x as [N, 2, 3]", "f32[N, 2, 3]"},
    {"x: f32[N]", "x[:, None]", "x as [N, 1]", "f32[N, 1]"},
    {"x: f32[N]", "broadcast_to(x, (4, N))", "x as [1, N] repeated [4, N]", "f32[4, N]"},
};

static void test_graphs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
        kn_graph *g = graph_of(graphs[i].params, graphs[i].expression);
        const kn_node *n = g->outputs.data[0].node;
        assert_string_equal(text_of(g, n), graphs[i].text);
        assert_string_equal(type_of(g, n), graphs[i].type);
        assert_false(n->weak);
    }
}

/* ---- by hand: what the text form cannot say, or says otherwise ---- */

static const kn_loc nowhere;

static kn_node *input(kn_graph *g, const char *name, kn_dtype t, const char *dims)
{
    kn_dim shape[KN_MAX_RANK];
    int rank = 0;
    assert_int_equal(kn_parse_dims(g, dims, false, shape, &rank), KN_OK);
    return kn_build_input(g, name, t, shape, rank, nowhere);
}

static kn_node *elem(kn_graph *g, kn_op op, kn_node *a, kn_node *b)
{
    kn_node *in[] = {a, b, NULL};
    return kn_build_elem(g, op, in, b ? 2 : 1, nowhere);
}

static void refused(const kn_node *n, kn_status status, const char *message)
{
    assert_null(n);
    assert_int_equal(kn_last_status(), status);
    assert_string_equal(kn_last_error(), message);
    kn_clear_error();
}

static void test_refusals(void **state)
{
    (void)state;
    kn_graph *g = kn_graph_new(&arena, "f");
    kn_node *x = input(g, "x", KN_F32, "N,C"), *i = input(g, "i", KN_I32, "N");
    kn_node *b = input(g, "b", KN_BOOL, "N"), *three = input(g, "t", KN_F32, "3");
    kn_node *five = input(g, "v", KN_F32, "5"), *empty = input(g, "e", KN_F32, "N,0");

    refused(input(g, "x", KN_F32, ""), KN_ARGUMENT, "there is an input x already");
    refused(input(g, "", KN_F32, ""), KN_ARGUMENT, "an input needs a name");
    refused(input(g, "q", (kn_dtype)16, ""), KN_TYPE, "input q: unknown dtype 16");
    refused(elem(g, KN_OP_ADD, three, five), KN_SHAPE, "add: shapes [3] and [5] do not broadcast");
    refused(elem(g, KN_OP_SUB, b, b), KN_TYPE,
            "subtract of bool: bool has no sign; use logical_not, or cast first");
    refused(elem(g, KN_OP_NEG, b, NULL), KN_TYPE,
            "negative of bool: bool has no sign; use logical_not, or cast first");
    kn_node *u = input(g, "u", KN_U8, "N");
    refused(elem(g, KN_OP_ADD, u, kn_build_int(g, -1, nowhere)), KN_TYPE,
            "add: Python integer -1 is out of bounds for u8");
    refused(elem(g, KN_OP_POW, i, kn_build_int(g, -1, nowhere)), KN_TYPE,
            "power of i32: integers to negative integer powers are not allowed");
    refused(elem(g, KN_OP_ADD, i, kn_build_int(g, 3000000000, nowhere)), KN_TYPE,
            "add: Python integer 3000000000 is out of bounds for i32");
    refused(elem(g, KN_OP_ADD, x, NULL), KN_ARGUMENT, "add takes 2 arguments, 1 given");
    refused(elem(g, KN_OP_SUM, x, NULL), KN_ARGUMENT, "sum is not an elementwise operation");
    refused(elem(g, KN_OP_CAST, x, NULL), KN_ARGUMENT, "cast is not an elementwise operation");
    refused(kn_build_cast(g, x, (kn_dtype)16, nowhere), KN_TYPE, "cast: unknown dtype 16");

    int two = 2, twice[] = {0, -2};
    refused(REDUCED(KN_OP_SUM, x, .axes = &two, .naxes = 1), KN_SHAPE,
            "sum: axis 2 is out of bounds for [N, C], which has 2 dimensions");
    refused(REDUCED(KN_OP_SUM, x, .axes = twice, .naxes = 2), KN_SHAPE,
            "sum: axis -2 is given twice");
    refused(REDUCED(KN_OP_MAX, x, .naxes = -1, .dtype = KN_F64), KN_TYPE,
            "max: dtype= does not apply");
    refused(REDUCED(KN_OP_MEAN, x, .naxes = -1, .dtype = KN_I32), KN_TYPE,
            "mean: dtype= must be a float type");
    refused(REDUCED(KN_OP_MAX, empty, .naxes = -1), KN_SHAPE,
            "max over [N, 0]: nothing to reduce, and max has no identity");
    refused(REDUCED(KN_OP_ADD, x, .naxes = -1), KN_ARGUMENT, "add is not a reduction");

    kn_dim holes[] = {NULL, NULL}, four[] = {kn_dim_const(g->syms, 4)};
    kn_dim seven[] = {NULL, kn_dim_const(g->syms, 7)};
    refused(kn_build_reshape(g, x, holes, 2, nowhere), KN_SHAPE,
            "reshape: only one dimension can be -1");
    refused(kn_build_reshape(g, three, four, 1, nowhere), KN_SHAPE,
            "reshape: [3] and [4] have different numbers of elements");
    refused(kn_build_reshape(g, three, seven, 2, nowhere), KN_SHAPE,
            "reshape: [3] does not divide into parts of 7");
    refused(kn_build_broadcast_to(g, three, four, 1, nowhere), KN_SHAPE,
            "broadcast_to: [3] does not broadcast to [4]");
    refused(kn_build_broadcast_to(g, x, four, 1, nowhere), KN_SHAPE,
            "broadcast_to: [N, C] does not broadcast to [4]");
    int same[] = {0, 0}, one = 0;
    refused(kn_build_transpose(g, x, same, 2, nowhere), KN_SHAPE,
            "transpose: axis 0 of [N, C] is out of bounds or given twice");
    refused(kn_build_transpose(g, x, &one, 1, nowhere), KN_SHAPE,
            "transpose: 1 axes given for [N, C]");
    refused(kn_build_expand_dims(g, x, (int[]){4}, 1, nowhere), KN_SHAPE,
            "expand_dims: axis 4 is out of bounds for [N, C]");
    assert_int_equal(kn_build_output(g, "x", x, nowhere), KN_ARGUMENT);
    assert_int_equal(kn_build_output(g, "y", x, nowhere), KN_OK);
    assert_int_equal(kn_build_output(g, "y", x, nowhere), KN_ARGUMENT);
}

/* A chain after an error says nothing more. */
static void test_poison(void **state)
{
    (void)state;
    kn_graph *g = kn_graph_new(&arena, "f");
    kn_node *x = input(g, "x", KN_F32, "N");
    kn_node *in[] = {x, NULL, NULL};
    assert_null(kn_build_elem(g, KN_OP_ADD, in, 2, nowhere));
    assert_null(kn_build_cast(g, NULL, KN_F32, nowhere));
    assert_null(REDUCED(KN_OP_SUM, NULL, .naxes = -1));
    assert_null(kn_build_reshape(g, NULL, NULL, 0, nowhere));
    assert_null(kn_build_transpose(g, NULL, NULL, 0, nowhere));
    assert_null(kn_build_broadcast_to(g, NULL, NULL, 0, nowhere));
    assert_null(kn_build_expand_dims(g, NULL, (int[]){0}, 1, nowhere));
    assert_null(kn_build_extent(g, NULL, nowhere));
    assert_int_equal(kn_last_status(), KN_OK);
}

static const char *fact_text(const kn_graph *g, int i)
{
    kn_text t = kn_text_new(&arena);
    kn_fact_print(&t, g->syms, &g->facts.list.data[i]);
    return kn_text_str(&t);
}

static void test_facts(void **state)
{
    (void)state;
    kn_graph *g = graph_of("x: f32[N], y: f32[M], z: f32[4]", "x + y + x, y * z, x.reshape(2, -1)");
    const kn_fact *f = g->facts.list.data;
    assert_int_equal(g->facts.list.len, 2);
    assert_string_equal(fact_text(g, 0), "N == M");
    assert_string_equal(f[0].why, "add at 2:14 of [N] and [M]");
    assert_string_equal(fact_text(g, 1), "M == 4");
    /* what is known from then on decides what follows */
    assert_string_equal(type_of(g, g->outputs.data[2].node), "f32[2, 2]");
}

static void test_interned(void **state)
{
    (void)state;
    kn_graph *g = kn_graph_new(&arena, "f");
    kn_node *x = input(g, "x", KN_F32, "N"), *y = input(g, "y", KN_F32, "N");
    assert_ptr_equal(elem(g, KN_OP_ADD, x, y), elem(g, KN_OP_ADD, x, y));
    assert_ptr_not_equal(elem(g, KN_OP_ADD, x, y), elem(g, KN_OP_ADD, y, x));
    assert_ptr_not_equal(kn_build_float(g, 0.0, nowhere), kn_build_float(g, -0.0, nowhere));
    assert_ptr_not_equal(kn_build_int(g, 1, nowhere), kn_build_float(g, 1, nowhere));
    assert_ptr_equal(kn_build_cast(g, x, KN_F32, nowhere), x);
    int axis = 0;
    kn_node *a = REDUCED(KN_OP_VAR, x, .axes = &axis, .naxes = 1, .keepdims = true);
    kn_node *b = REDUCED(KN_OP_VAR, x, .axes = &axis, .naxes = 1, .keepdims = true, .ddof = 1);
    assert_ptr_not_equal(a, b);
    for (int i = 0; i < 300; i++) /* the table grows */
        kn_build_int(g, i, nowhere);
    assert_ptr_equal(kn_build_int(g, 7, nowhere), kn_build_int(g, 7, nowhere));
    assert_int_equal(kn_graph_verify(g), KN_OK);
}

/* A Python number stays one through Python's own arithmetic. */
static void test_weak(void **state)
{
    (void)state;
    kn_graph *g = kn_graph_new(&arena, "f");
    kn_node *one = kn_build_int(g, 1, nowhere), *half = kn_build_float(g, 0.5, nowhere);
    assert_true(elem(g, KN_OP_ADD, one, half)->weak);
    assert_int_equal(elem(g, KN_OP_ADD, one, half)->dtype, KN_F64);
    assert_true(elem(g, KN_OP_DIV, one, one)->weak);
    assert_int_equal(elem(g, KN_OP_POW, one, kn_build_int(g, -1, nowhere))->dtype, KN_F64);
    assert_false(elem(g, KN_OP_SQRT, one, NULL)->weak);
    assert_false(elem(g, KN_OP_LT, one, half)->weak);
    assert_false(kn_build_bool(g, true, nowhere)->weak);
    assert_true(kn_build_extent(g, kn_dim_sym(g->syms, "N", 1), nowhere)->weak);
    assert_int_equal(kn_build_extent(g, kn_dim_const(g->syms, 3), nowhere)->op, KN_OP_CONST);
    assert_int_equal(kn_build_output(g, "y", one, nowhere), KN_OK);
    assert_false(g->outputs.data[0].node->weak);
    assert_int_equal(g->outputs.data[0].node->dtype, KN_I64);
}

static void test_clone(void **state)
{
    (void)state;
    kn_graph *g = graph_of("x: f32[N, 6], y: f32[M], eps: f32 = 1e-5",
                           "var(x.reshape(-1, 4), axis=1, ddof=1) * eps, x.shape[0] * gelu(y).T");
    kn_graph *copy = kn_graph_clone(&arena, g);
    kn_text a = kn_text_new(&arena), b = kn_text_new(&arena);
    assert_int_equal(kn_graph_verify(copy), KN_OK);
    kn_graph_print(&a, g, false);
    kn_graph_print(&b, copy, false);
    assert_string_equal(kn_text_str(&a), kn_text_str(&b));
    assert_int_equal(kn_graph_find_input(copy, "eps"), 2);
    assert_true(copy->inputs.data[2].has_default && copy->inputs.data[2].by_value);
    assert_int_equal(kn_graph_find_input(copy, "nobody"), -1);
    assert_int_equal(kn_graph_find_output(copy, "out1"), 1);
    assert_int_equal(copy->expansions.len, 1);
    assert_memory_equal(copy->expansions.data, g->expansions.data, sizeof *g->expansions.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(test_graphs),   test(test_refusals), test(test_poison), test(test_facts),
        test(test_interned), test(test_weak),     test(test_clone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
