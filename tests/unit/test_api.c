/* frontend/kiln.h: what callers may get wrong before a run, and that the library says so and stays whole. */
#include "tests/unit/api.h"

/* ---- NULL ---- */

static void test_null(void **state)
{
    (void)state;
    kiln_graph *g = new_graph();
    kiln_prog *p = add_program();
    kiln_val x = kiln_input(g, "x", KILN_F32, "N");
    kiln_io io;
    kiln_dtype t;
    int rank;
    int64_t shape[KILN_MAX_RANK];
    char *text = NULL;
    void *ptr = NULL;

    kiln_config_init(NULL);
    kiln_options_init(NULL);
    kiln_explain_options_init(NULL);
    kiln_measurement_init(NULL);
    kiln_ctx_destroy(NULL);
    kiln_graph_destroy(NULL);
    kiln_prog_destroy(NULL);
    kiln_free(NULL, NULL);
    kiln_free(ctx, NULL);
    kiln_text_free(NULL, NULL);
    assert_string_equal(kiln_ctx_device(NULL), "");
    assert_string_equal(kiln_prog_name(NULL), "");
    assert_int_equal(kiln_prog_io_count(NULL), 0);
    assert_null(kiln_dtype_text(KILN_NO_DTYPE));
    assert_int_equal(kiln_dtype_find(NULL), KILN_NO_DTYPE);
    assert_int_equal(kiln_dtype_size((kiln_dtype)77), 0);
    uint16_t half;
    int8_t narrow;
    uint64_t wide;
    kiln_store_float(KILN_F16, &half, 0.1);
    assert_int_equal(half, 0x2e66);
    assert_true(kiln_load_float(KILN_F16, &half) == 0x1.998p-4);
    kiln_store_float(KILN_BF16, &half, -3.14159);
    assert_int_equal(half, 0xc049);
    assert_int_equal(kiln_load_int(KILN_BF16, &half), -3);
    kiln_store_int(KILN_I8, &narrow, 300);
    assert_int_equal(narrow, 44);
    kiln_store_int(KILN_U64, &wide, -1);
    assert_true(kiln_load_float(KILN_U64, &wide) == 0x1p64 && kiln_load_int(KILN_U64, &wide) == -1);

    expect(kiln_ctx_create(NULL, NULL), KILN_ERR_ARGUMENT, "ctx is NULL");
    expect(kiln_ctx_stats(NULL, NULL), KILN_ERR_ARGUMENT, "ctx is NULL");
    expect(kiln_ctx_stats(ctx, NULL), KILN_ERR_ARGUMENT, "stats is NULL");
    expect(kiln_alloc(NULL, 1, &ptr), KILN_ERR_ARGUMENT, "ctx is NULL");
    expect(kiln_alloc(ctx, 1, NULL), KILN_ERR_ARGUMENT, "ptr is NULL");
    expect(kiln_upload(ctx, NULL, "x", 1), KILN_ERR_ARGUMENT, "device is NULL");
    expect(kiln_upload(NULL, NULL, NULL, 0), KILN_ERR_ARGUMENT, "ctx is NULL");
    expect(kiln_download(ctx, NULL, "x", 1), KILN_ERR_ARGUMENT, "is NULL");
    assert_int_equal(kiln_upload(ctx, NULL, NULL, 0), KILN_OK);
    expect(kiln_sync(NULL, NULL), KILN_ERR_ARGUMENT, "ctx is NULL");

    expect(kiln_graph_create(NULL, &g), KILN_ERR_ARGUMENT, "ctx is NULL");
    expect(kiln_graph_create(ctx, NULL), KILN_ERR_ARGUMENT, "graph is NULL");
    expect(kiln_graph_status(NULL), KILN_ERR_ARGUMENT, "graph is NULL");
    expect(kiln_graph_name(NULL, "g"), KILN_ERR_ARGUMENT, "graph is NULL");
    expect(kiln_assume(NULL, "N == M"), KILN_ERR_ARGUMENT, "graph is NULL");
    expect(kiln_output(NULL, "y", x), KILN_ERR_ARGUMENT, "graph is NULL");
    expect(kiln_parse(NULL, "", NULL, &g), KILN_ERR_ARGUMENT, "ctx is NULL");
    expect(kiln_parse(ctx, NULL, NULL, &g), KILN_ERR_ARGUMENT, "text is NULL");
    expect(kiln_parse(ctx, "", NULL, NULL), KILN_ERR_ARGUMENT, "graph is NULL");
    expect(kiln_parse_expr(NULL, "x"), KILN_ERR_ARGUMENT, "graph is NULL");

    expect(kiln_compile(NULL, NULL, &p), KILN_ERR_ARGUMENT, "graph is NULL");
    expect(kiln_prog_io(NULL, 0, &io), KILN_ERR_ARGUMENT, "prog is NULL");
    expect(kiln_run(NULL, NULL, NULL, 0), KILN_ERR_ARGUMENT, "prog is NULL");
    expect(kiln_run_in(NULL, NULL, NULL, 0, NULL, 0), KILN_ERR_ARGUMENT, "prog is NULL");
    expect(kiln_prepare(NULL, NULL, 0, NULL), KILN_ERR_ARGUMENT, "prog is NULL");
    expect(kiln_output_shape(NULL, "y", NULL, 0, &t, &rank, shape), KILN_ERR_ARGUMENT,
           "prog is NULL");
    expect(kiln_explain(NULL, NULL, 0, NULL, &text), KILN_ERR_ARGUMENT, "prog is NULL");
    expect(kiln_measure(NULL, NULL, 0, NULL), KILN_ERR_ARGUMENT, "is NULL");
    expect(kiln_doctor(NULL), KILN_ERR_ARGUMENT, "text is NULL");
    kiln_cache_info info;
    expect(kiln_cache_stats(ctx, NULL), KILN_ERR_ARGUMENT, "info is NULL");
    expect(kiln_cache_stats(NULL, &info), KILN_ERR_ARGUMENT, "ctx is NULL");
    expect(kiln_cache_list(ctx, NULL, NULL), KILN_ERR_ARGUMENT, "fn is NULL");
    expect(kiln_cache_trim(NULL, 0, NULL, NULL), KILN_ERR_ARGUMENT, "ctx is NULL");
    expect(kiln_cache_clear(NULL, NULL, NULL), KILN_ERR_ARGUMENT, "ctx is NULL");

    /* every builder: no graph, no value */
    assert_int_equal(kiln_input(NULL, "x", KILN_F32, "").id, 0);
    assert_int_equal(kiln_scalar(NULL, "x", KILN_F32).id, 0);
    assert_int_equal(kiln_scalar_default(NULL, "x", KILN_F32, 1).id, 0);
    assert_int_equal(kiln_int(NULL, 1).id, 0);
    assert_int_equal(kiln_float(NULL, 1).id, 0);
    assert_int_equal(kiln_size(NULL, x, 0).id, 0);
    assert_int_equal(kiln_add(NULL, x, x).id, 0);
    assert_int_equal(kiln_exp(NULL, x).id, 0);
    assert_int_equal(kiln_where(NULL, x, x, x).id, 0);
    assert_int_equal(kiln_cast(NULL, x, KILN_F64).id, 0);
    assert_int_equal(kiln_apply(NULL, "add", &x, 1).id, 0);
    assert_int_equal(kiln_sum(NULL, x, KILN_ALL, 0).id, 0);
    assert_int_equal(kiln_reduce(NULL, "sum", x, KILN_ALL, 0, KILN_NO_DTYPE, 0).id, 0);
    assert_int_equal(kiln_reshape(NULL, x, "").id, 0);
    assert_int_equal(kiln_broadcast_to(NULL, x, "").id, 0);
    assert_int_equal(kiln_expand_dims(NULL, x, 0).id, 0);
    assert_int_equal(kiln_transpose(NULL, x, KILN_ALL).id, 0);
    assert_int_equal(kiln_name(NULL, x, "x").id, 0);
    kiln_prog_destroy(p);
    kiln_graph_destroy(g);
}

/* ---- building ---- */

typedef kiln_val (*builder)(kiln_graph *g, kiln_val x);

static kiln_val null_name(kiln_graph *g, kiln_val x)
{
    (void)x;
    return kiln_input(g, NULL, KILN_F32, "");
}
static kiln_val null_dims(kiln_graph *g, kiln_val x)
{
    (void)x;
    return kiln_input(g, "y", KILN_F32, NULL);
}
static kiln_val same_name(kiln_graph *g, kiln_val x)
{
    (void)x;
    return kiln_input(g, "x", KILN_F32, "");
}
static kiln_val no_type(kiln_graph *g, kiln_val x)
{
    (void)x;
    return kiln_input(g, "y", (kiln_dtype)16, "");
}
static kiln_val bad_dims(kiln_graph *g, kiln_val x)
{
    (void)x;
    return kiln_input(g, "y", KILN_F32, "N,,C");
}
static kiln_val deep(kiln_graph *g, kiln_val x)
{
    (void)x;
    return kiln_input(g, "y", KILN_F32, "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1");
}
static kiln_val bad_shapes(kiln_graph *g, kiln_val x)
{
    return kiln_add(g, x, kiln_input(g, "y", KILN_F32, "4, N"));
}
static kiln_val bad_type(kiln_graph *g, kiln_val x) { return kiln_neg(g, kiln_lt(g, x, x)); }
static kiln_val bad_axis(kiln_graph *g, kiln_val x) { return kiln_sum(g, x, KILN_AXES(5), 0); }
static kiln_val many_axes(kiln_graph *g, kiln_val x)
{
    return kiln_sum(g, x, (kiln_axes){17, {0}}, 0);
}
static kiln_val bad_size(kiln_graph *g, kiln_val x) { return kiln_size(g, x, 2); }
static kiln_val null_reshape(kiln_graph *g, kiln_val x) { return kiln_reshape(g, x, NULL); }
static kiln_val bad_cast(kiln_graph *g, kiln_val x) { return kiln_cast(g, x, KILN_NO_DTYPE); }
static kiln_val unknown_op(kiln_graph *g, kiln_val x) { return kiln_apply(g, "fold", &x, 1); }
static kiln_val misspelt_op(kiln_graph *g, kiln_val x) { return kiln_apply(g, "maximun", &x, 1); }
static kiln_val not_an_op(kiln_graph *g, kiln_val x) { return kiln_apply(g, "sum", &x, 1); }
static kiln_val null_op(kiln_graph *g, kiln_val x) { return kiln_apply(g, NULL, &x, 1); }
static kiln_val few_args(kiln_graph *g, kiln_val x) { return kiln_apply(g, "add", &x, 1); }
static kiln_val many_args(kiln_graph *g, kiln_val x) { return kiln_apply(g, "add", &x, 9); }
static kiln_val null_args(kiln_graph *g, kiln_val x)
{
    (void)x;
    return kiln_apply(g, "add", NULL, 2);
}
static kiln_val not_a_reduction(kiln_graph *g, kiln_val x)
{
    return kiln_reduce(g, "exp", x, KILN_ALL, 0, KILN_NO_DTYPE, 0);
}
static kiln_val bad_reduction_type(kiln_graph *g, kiln_val x)
{
    return kiln_reduce(g, "mean", x, KILN_ALL, 0, KILN_I32, 0);
}
static kiln_val bad_transpose(kiln_graph *g, kiln_val x)
{
    return kiln_transpose(g, x, KILN_AXES(0, 0));
}
static kiln_val null_label(kiln_graph *g, kiln_val x) { return kiln_name(g, x, NULL); }
static kiln_val bad_label(kiln_graph *g, kiln_val x) { return kiln_name(g, x, "a\nb"); }
static kiln_val poisoned(kiln_graph *g, kiln_val x) { return kiln_add(g, x, ((kiln_val){0, 0})); }
static kiln_val out_of_range(kiln_graph *g, kiln_val x)
{
    return kiln_exp(g, ((kiln_val){x.graph, 1000}));
}
static kiln_val of_another(kiln_graph *g, kiln_val x)
{
    kiln_graph *other = new_graph();
    kiln_val y = kiln_input(other, "y", KILN_F32, "3, N");
    kiln_val r = kiln_add(g, x, y);
    kiln_graph_destroy(other);
    return r;
}

/* Each makes poison, is the graph's first error, and the chain after it changes nothing of that. */
static void test_builder_errors(void **state)
{
    (void)state;
    static const struct {
        builder build;
        kiln_status status;
        const char *text;
    } cases[] = {
        {null_name, KILN_ERR_ARGUMENT, "name is NULL"},
        {null_dims, KILN_ERR_ARGUMENT, "dims is NULL"},
        {same_name, KILN_ERR_ARGUMENT, "there is an input x already"},
        {no_type, KILN_ERR_TYPE, "unknown dtype 16"},
        {bad_dims, KILN_ERR_SYNTAX, "dimensions:1:3: expected a dimension"},
        {deep, KILN_ERR_SHAPE, "16 dimensions at most"},
        {bad_shapes, KILN_ERR_SHAPE, "add: shapes [3, N] and [4, N]"},
        {bad_type, KILN_ERR_TYPE, "negative of bool"},
        {bad_axis, KILN_ERR_SHAPE, "axis 5 is out of bounds"},
        {many_axes, KILN_ERR_ARGUMENT, "17 axes"},
        {bad_size, KILN_ERR_SHAPE, "axis 2 is out of bounds"},
        {null_reshape, KILN_ERR_ARGUMENT, "dims is NULL"},
        {bad_cast, KILN_ERR_TYPE, "unknown dtype 0"},
        {unknown_op, KILN_ERR_ARGUMENT, "no elementwise operation 'fold'"},
        {misspelt_op, KILN_ERR_ARGUMENT, "operation 'maximun'; did you mean 'maximum'?"},
        {not_an_op, KILN_ERR_ARGUMENT, "no elementwise operation 'sum'"},
        {null_op, KILN_ERR_ARGUMENT, "op is NULL"},
        {few_args, KILN_ERR_ARGUMENT, "add takes 2 arguments, 1 given"},
        {many_args, KILN_ERR_ARGUMENT, "9 arguments"},
        {null_args, KILN_ERR_ARGUMENT, "2 arguments"},
        {not_a_reduction, KILN_ERR_ARGUMENT, "no reduction 'exp'"},
        {bad_reduction_type, KILN_ERR_TYPE, "must be a float type"},
        {bad_transpose, KILN_ERR_SHAPE, "given twice"},
        {null_label, KILN_ERR_ARGUMENT, "name is NULL"},
        {bad_label, KILN_ERR_ARGUMENT, "is not an identifier"},
        {poisoned, KILN_ERR_ARGUMENT, "poisoned"},
        {out_of_range, KILN_ERR_ARGUMENT, "another graph"},
        {of_another, KILN_ERR_ARGUMENT, "another graph"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kiln_graph *g = new_graph();
        kiln_prog *p = (kiln_prog *)&p;
        kiln_val x = kiln_input(g, "x", KILN_F32, "3, N");
        kiln_val bad = cases[i].build(g, x);
        assert_int_equal(bad.id, 0);
        kiln_val more = kiln_sum(g, kiln_exp(g, kiln_add(g, bad, 1)), KILN_AXES(9), 0);
        assert_int_equal(more.id, 0);
        assert_int_equal(kiln_add(g, x, 1).id, 0); /* nothing is built after an error */
        expect(kiln_output(g, "y", more), cases[i].status, cases[i].text);
        expect(kiln_graph_status(g), cases[i].status, cases[i].text);
        expect(kiln_compile(g, NULL, &p), cases[i].status, cases[i].text);
        assert_null(p);
        kiln_graph_destroy(g);
    }
}

static void test_statements(void **state)
{
    (void)state;
    static const struct {
        const char *constraint;
        kiln_status status;
    } cases[] = {
        {"N % 4 == 0", KILN_OK},
        {"N == 2*M", KILN_OK},
        {"N", KILN_ERR_SYNTAX},
        {"N % 4 == 1", KILN_ERR_SYNTAX},
        {"N % == 0", KILN_ERR_SYNTAX},
        {"N == 2 and M == 3", KILN_ERR_SYNTAX},
        {"", KILN_ERR_SYNTAX},
        {"N =", KILN_ERR_SYNTAX},
        {"N % 4 == 0 ==", KILN_ERR_SYNTAX},
        {NULL, KILN_ERR_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kiln_graph *g = new_graph();
        kiln_input(g, "x", KILN_F32, "N, M");
        assert_int_equal(kiln_assume(g, cases[i].constraint), cases[i].status);
        kiln_graph_destroy(g);
    }
    kiln_graph *g = new_graph();
    kiln_prog *p;
    kiln_val x = kiln_input(g, "x", KILN_F32, "N");
    expect(kiln_compile(g, NULL, &p), KILN_ERR_ARGUMENT, "has no outputs");
    assert_int_equal(kiln_output(g, "y", x), KILN_OK);
    expect(kiln_output(g, "y", x), KILN_ERR_ARGUMENT, "there is an output y already");
    kiln_graph_destroy(g);
    expect(kiln_parse(ctx, "def f(x: f32[N]): return z", "f.kiln", &g), KILN_ERR_SYNTAX,
           "f.kiln:1:");
    assert_null(g);
}

/* ---- structs with a size ---- */

static void test_struct_sizes(void **state)
{
    (void)state;
    kiln_config c;
    kiln_ctx *other;
    kiln_config_init(&c);
    assert_int_equal(c.struct_size, sizeof c);
    /* init writes the caller's bytes and no more: what an older caller has, and all of a newer one's */
    struct {
        kiln_config config;
        char more[16];
    } wide;
    memset(&wide, 7, sizeof wide);
    kiln_config_init_size(&wide.config, offsetof(kiln_config, threads));
    assert_int_equal(wide.config.struct_size, offsetof(kiln_config, threads));
    assert_string_equal(wide.config.device, "auto");
    assert_int_equal(wide.config.threads, 0x07070707);
    kiln_config_init_size(&wide.config, sizeof wide);
    assert_int_equal(wide.config.struct_size, sizeof wide);
    assert_int_equal(wide.config.threads, 0);
    assert_int_equal(wide.more[15], 0);
    wide.config.device = "cpu";
    assert_int_equal(kiln_ctx_create(&wide.config, &other), KILN_OK);
    kiln_ctx_destroy(other);
    c.struct_size = 0;
    expect(kiln_ctx_create(&c, &other), KILN_ERR_ARGUMENT, "kiln_config_init()");
    c.struct_size = 1 << 20;
    expect(kiln_ctx_create(&c, &other), KILN_ERR_ARGUMENT, "kiln_config_init()");
    kiln_config_init(&c);
    c.device = "abacus";
    expect(kiln_ctx_create(&c, &other), KILN_ERR_ARGUMENT, "unknown device 'abacus'");
    c.device = "cuda:x";
    expect(kiln_ctx_create(&c, &other), KILN_ERR_ARGUMENT, "unknown device");
    c.device = "cpu";
    c.threads = -1;
    expect(kiln_ctx_create(&c, &other), KILN_ERR_ARGUMENT, "threads is -1");
    kiln_config_init(&c);
    c.user = &c;
    c.alloc = (void *(*)(void *, size_t))(uintptr_t)1;
    expect(kiln_ctx_create(&c, &other), KILN_ERR_ARGUMENT, "both of alloc and release");
    /* an older, shorter struct: what it lacks has its default */
    kiln_config_init(&c);
    c.device = "cpu";
    c.threads = -5;
    c.struct_size = offsetof(kiln_config, threads);
    assert_int_equal(kiln_ctx_create(&c, &other), KILN_OK);
    assert_string_equal(kiln_ctx_device(other), "cpu");

    kiln_stats s;
    kiln_stats_init(&s);
    assert_int_equal(kiln_ctx_stats(other, &s), KILN_OK);
    s.struct_size = 3;
    expect(kiln_ctx_stats(other, &s), KILN_ERR_ARGUMENT, "struct_size is 3");
    s = (kiln_stats){.struct_size = offsetof(kiln_stats, compiles), .compiles = 77};
    assert_int_equal(kiln_ctx_stats(other, &s), KILN_OK);
    assert_int_equal(s.compiles, 77);

    kiln_cache_info info;
    kiln_cache_info_init(&info);
    assert_int_equal(kiln_cache_stats(other, &info), KILN_OK);
    info.struct_size = 1;
    expect(kiln_cache_stats(other, &info), KILN_ERR_ARGUMENT, "struct_size is 1");
    info = (kiln_cache_info){.struct_size = offsetof(kiln_cache_info, files), .files = 77};
    assert_int_equal(kiln_cache_stats(other, &info), KILN_OK);
    assert_int_equal(info.files, 77);
    kiln_ctx_destroy(other);

    kiln_graph *g = new_graph();
    kiln_prog *p;
    kiln_output(g, "y", kiln_input(g, "x", KILN_F32, "N"));
    kiln_options o;
    kiln_options_init(&o);
    assert_true(o.fusion && !o.schedule);
    o.struct_size = 0;
    expect(kiln_compile(g, &o, &p), KILN_ERR_ARGUMENT, "kiln_options_init()");
    kiln_options_init(&o);
    o.schedule = "columns";
    expect(kiln_compile(g, &o, &p), KILN_ERR_ARGUMENT, "unknown schedule 'columns'");
    static const int refused[] = {-1, 1, 31, 1025};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        kiln_options_init(&o);
        o.max_threads = refused[i];
        expect(kiln_compile(g, &o, &p), KILN_ERR_ARGUMENT, "options.max_threads is");
    }
    kiln_options_init(&o);
    assert_int_equal(o.autotune, 0);
    o.autotune = -1;
    expect(kiln_compile(g, &o, &p), KILN_ERR_ARGUMENT, "options.autotune is -1");
    assert_int_equal(kiln_compile(g, NULL, &p), KILN_OK);

    float x = 1, y = 0;
    const int64_t n = 1;
    kiln_arg args[] = {{"x", &x, KILN_F32, 1, &n, NULL}, {"y", &y, KILN_F32, 1, &n, NULL}};
    kiln_measurement m;
    kiln_measurement_init(&m);
    m.struct_size = 4;
    expect(kiln_measure(p, args, 2, &m), KILN_ERR_ARGUMENT, "kiln_measurement_init()");
    kiln_measurement_init(&m);
    m.repeats = -1;
    expect(kiln_measure(p, args, 2, &m), KILN_ERR_ARGUMENT, "measurement.repeats is -1");
    kiln_measurement_init(&m);
    m.repeats = 1;
    m.copy_gbps = -7; /* behind the end of an older caller's struct */
    m.struct_size = offsetof(kiln_measurement, copy_gbps);
    assert_int_equal(kiln_measure(p, args, 2, &m), KILN_OK);
    assert_int_equal(m.launches, 1);
    assert_true(m.copy_gbps == -7);

    kiln_explain_options e;
    char *text;
    kiln_explain_options_init(&e);
    e.struct_size = 1;
    expect(kiln_explain(p, NULL, 0, &e, &text), KILN_ERR_ARGUMENT, "struct_size");
    kiln_explain_options_init(&e);
    e.stage = "assembler";
    expect(kiln_explain(p, NULL, 0, &e, &text), KILN_ERR_ARGUMENT, "assembler");
    assert_null(text);
    kiln_explain_options_init(&e);
    e.arch = "sm_1";
    expect(kiln_explain(p, NULL, 0, &e, &text), KILN_ERR_ARGUMENT, "sm_1");
    kiln_prog_destroy(p);
    kiln_graph_destroy(g);

    g = new_graph();
    kiln_val v = kiln_sum(g, kiln_input(g, "x", KILN_F32, "N"), KILN_ALL, 6);
    expect(kiln_output(g, "y", v), KILN_ERR_ARGUMENT, "sum: unknown flags 0x6");
    kiln_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(test_null),
        test(test_builder_errors),
        test(test_statements),
        test(test_struct_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
