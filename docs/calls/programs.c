/* Programs: from texts and graphs to runs, and what can be known of them. */
#include <stdint.h>
#include <string.h>

#include "docs/calls/calls.h"

/* ---- any program ---- */

static void show_element(kiln_dtype type, const char *element)
{
    double re, im;
    if (type == KILN_C64 || type == KILN_C128) {
        kiln_load_complex(type, element, &re, &im);
        printf(" %g%+gi", re, im);
    } else if (type >= KILN_F16) {
        printf(" %g", kiln_load_float(type, element));
    } else {
        printf(" %lld", (long long)kiln_load_int(type, element));
    }
}

void run_and_show(kiln_ctx *ctx, kiln_graph *g, const kiln_arg *inputs, int n)
{
    enum { MOST = 16 };
    kiln_prog *prog;
    kiln_arg args[MOST];
    kiln_io io[MOST];
    int64_t shape[MOST][KILN_MAX_RANK];
    check(kiln_compile(g, NULL, &prog));
    memcpy(args, inputs, sizeof *args * (size_t)n);
    int all = n;
    for (int i = 0; i < kiln_prog_io_count(prog); i++) {
        check(kiln_prog_io(prog, i, &io[i]));
        if (io[i].kind != KILN_ARRAY_OUT)
            continue;
        kiln_arg *out = &args[all];
        *out = (kiln_arg){.name = io[i].name, .shape = shape[all]};
        check(kiln_output_shape(prog, io[i].name, inputs, n, &out->dtype, &out->rank, shape[all]));
        size_t bytes = kiln_dtype_size(out->dtype);
        for (int a = 0; a < out->rank; a++)
            bytes *= (size_t)out->shape[a];
        check(kiln_alloc(ctx, bytes, &out->data));
        all++;
    }
    check(kiln_run(prog, NULL, args, all));
    for (int k = n == all ? 0 : n; k < all; k++) { /* without outputs: what it updated */
        int64_t count = 1;
        for (int a = 0; a < args[k].rank; a++)
            count *= args[k].shape[a];
        printf("%s %s:", args[k].name, kiln_dtype_text(args[k].dtype));
        for (int64_t e = 0; e < count; e++)
            show_element(args[k].dtype,
                         (char *)args[k].data + (size_t)e * kiln_dtype_size(args[k].dtype));
        printf("\n");
        if (k >= n)
            kiln_free(ctx, args[k].data);
    }
    kiln_prog_destroy(prog);
}

/* ---- texts ---- */

static float some[] = {1, 2, 3, 4};
static const int64_t four[] = {4};

/* Programs as text, which may be several functions, and in a file. */
void texts(kiln_ctx *ctx)
{
    static const char two[] = "def twice(x: f32[N]):\n    y = 2 * x\n    return y\n"
                              "def half(x: f32[N]):\n    y = x / 2\n    return y\n";
    const kiln_arg x = {"x", some, KILN_F32, 1, four, NULL};
    kiln_graph *g;
    check(kiln_parse_named(ctx, two, "two.kiln", "half", &g));
    run_and_show(ctx, g, &x, 1);
    kiln_graph_destroy(g);
    check(kiln_parse(ctx, "def f(x: f32[N]):\n    return max(x)\n", NULL, &g));
    run_and_show(ctx, g, &x, 1);
    kiln_graph_destroy(g);
    if (kiln_parse(ctx, "def f(x: f32[N]):\n    return x + y\n", "f.kiln", &g))
        printf("%s\n", kiln_last_error());
    if (kiln_parse_file(ctx, "none.kiln", NULL, &g))
        printf("%s\n", kiln_last_error());
}

/* The text form inside of a graph: one expression as a value, or as the outputs. */
void expressions(kiln_ctx *ctx)
{
    const kiln_arg x = {"x", some, KILN_F32, 1, four, NULL};
    kiln_graph *g;
    check(kiln_graph_create(ctx, &g));
    kiln_val v = kiln_input(g, "x", KILN_F32, "N");
    kiln_val soft = kiln_expr(g, "softmax(v / N**0.5)", (const char *[]){"v"}, &v, 1);
    check(kiln_output(g, "soft", soft));
    check(kiln_parse_expr(g, "x[::-1], sum(x)"));
    run_and_show(ctx, g, &x, 1);
    kiln_graph_destroy(g);
}

/* ---- compiling and running ---- */

static kiln_prog *norm(kiln_ctx *ctx, const kiln_options *options)
{
    kiln_graph *g;
    kiln_prog *prog;
    check(kiln_parse(
        ctx, "def norm(x: f32[N, C]):\n    y = x - mean(x, axis=1, keepdims=True)\n    return y\n",
        NULL, &g));
    check(kiln_compile(g, options, &prog));
    kiln_graph_destroy(g); /* the program keeps nothing of it */
    return prog;
}

/* A program says what it takes. Inputs that nothing is written to may be const, and may have strides. */
void programs(kiln_ctx *ctx)
{
    static const float x[] = {1, 2, 3, 4, 5, 6};
    const int64_t shape[] = {3, 2}, strides[] = {1, 3}; /* of the transposed array */
    float y[6];
    kiln_options options;
    kiln_io io;
    kiln_options_init(&options);
    options.fast_math = true;
    kiln_prog *prog = norm(ctx, &options);
    for (int i = 0; i < kiln_prog_io_count(prog); i++) {
        check(kiln_prog_io(prog, i, &io));
        printf("%s of %s: %s[%s]\n", io.name, kiln_prog_name(prog), kiln_dtype_text(io.dtype),
               io.dims);
    }
    const kiln_arg args[] = {kiln_arg_of_const("x", x, KILN_F32, 2, shape, strides),
                             {"y", y, KILN_F32, 2, shape, NULL}};
    check(kiln_run(prog, NULL, args, 2));
    printf("%g %g, %g %g, %g %g\n", y[0], y[1], y[2], y[3], y[4], y[5]);
    kiln_prog_destroy(prog);
}

/* What a run will need is compiled before, here for arrays that there is no memory for yet. */
void prepared(kiln_ctx *ctx)
{
    const int64_t shape[] = {64, 1000};
    const kiln_arg args[] = {{"x", NULL, KILN_F32, 2, shape, NULL},
                             {"y", NULL, KILN_F32, 2, shape, NULL}};
    kiln_prepared info;
    kiln_prepared_init(&info);
    info.alignment = 64;
    kiln_prog *prog = norm(ctx, NULL);
    check(kiln_prepare(prog, args, 2, &info));
    printf("%llu launch, %llu copies, %zu bytes of workspace\n", (unsigned long long)info.launches,
           (unsigned long long)info.copies, info.workspace);
    kiln_prog_destroy(prog);
}

/* A run with a workspace of the caller's, as a captured CUDA graph wants it. */
void own_workspace(kiln_ctx *ctx)
{
    const int64_t shape[] = {2, 2};
    float y[4];
    const kiln_arg args[] = {{"x", some, KILN_F32, 2, shape, NULL},
                             {"y", y, KILN_F32, 2, shape, NULL}};
    kiln_prepared info;
    void *workspace;
    kiln_prepared_init(&info);
    info.own_workspace = true;
    kiln_prog *prog = norm(ctx, NULL);
    check(kiln_prepare(prog, args, 2, &info));
    check(kiln_alloc(ctx, info.workspace + 256, &workspace));
    check(kiln_run_in(prog, NULL, args, 2, workspace, info.workspace));
    printf("%g %g %g %g\n", y[0], y[1], y[2], y[3]);
    kiln_free(ctx, workspace);
    kiln_prog_destroy(prog);
}

/* ---- looking inside ---- */

static kiln_status nothing(void *user)
{
    (void)user;
    return KILN_OK;
}

/* What a program costs, beside what a copy reaches on the same machine; and the device time of anything else. */
void measuring(kiln_ctx *ctx)
{
    const int64_t shape[] = {64, 64};
    static float x[64 * 64], y[64 * 64];
    const kiln_arg args[] = {{"x", x, KILN_F32, 2, shape, NULL},
                             {"y", y, KILN_F32, 2, shape, NULL}};
    kiln_measurement m;
    double us;
    kiln_measurement_init(&m);
    m.repeats = 3;
    kiln_prog *prog = norm(ctx, NULL);
    check(kiln_measure(prog, args, 2, &m));
    printf("%llu launch moves %llu bytes\n", (unsigned long long)m.launches,
           (unsigned long long)m.bytes);
    check(kiln_time(ctx, NULL, nothing, NULL, &us));
    printf("%s\n", m.device_us > us ? "in longer than nothing takes" : "in no time");
    kiln_prog_destroy(prog);
}

/* What would run, and why; needs no GPU. */
void explaining(kiln_ctx *ctx)
{
    const int64_t shape[] = {1024, 4096};
    const kiln_arg x = {"x", NULL, KILN_F32, 2, shape, NULL};
    kiln_explain_options options;
    char *text;
    kiln_explain_options_init(&options);
    options.stage = "graph";
    options.arch = "sm_90";
    kiln_prog *prog = norm(ctx, NULL);
    check(kiln_explain(prog, &x, 1, &options, &text));
    printf("%s", text);
    kiln_text_free(ctx, text);
    kiln_prog_destroy(prog);
    check(kiln_doctor(&text));
    printf("%s\n", strstr(text, "kiln") ? "and what this machine has" : "nothing");
    kiln_text_free(NULL, text);
}

static kiln_status show_file(void *user, const char *file, const char *text, size_t bytes)
{
    (void)user;
    printf("%s%s\n", file, bytes == strlen(text) ? "" : ": text is missing");
    return KILN_OK;
}

/* A program as C files, which run it on the CPU without this library. */
void emitting(kiln_ctx *ctx)
{
    kiln_emit_options options;
    kiln_emit_options_init(&options);
    options.name = "norm_rows";
    kiln_prog *prog = norm(ctx, NULL);
    check(kiln_emit(prog, NULL, 0, &options, show_file, NULL));
    kiln_prog_destroy(prog);
}

static void show_entry(void *user, const kiln_cache_entry *entry)
{
    (void)user;
    printf("%s\n", entry->title);
}

/* The folder of compiled kernels: what is in it, and less of it. */
void kept_kernels(kiln_ctx *ctx)
{
    char dir[] = "/tmp/kiln-calls-XXXXXX";
    kiln_config config;
    kiln_cache_info info;
    uint64_t files;
    kiln_config_init(&config);
    config.device = "cpu";
    config.cache_dir = dir; /* which is not there */
    check(kiln_ctx_create(&config, &ctx));
    kiln_cache_info_init(&info);
    check(kiln_cache_stats(ctx, &info));
    printf("%llu files, %llu MiB at most\n", (unsigned long long)info.files,
           (unsigned long long)info.limit >> 20);
    check(kiln_cache_list(ctx, show_entry, NULL));
    check(kiln_cache_trim(ctx, 1 << 20, &files, NULL));
    check(kiln_cache_clear(ctx, &files, NULL));
    printf("%llu removed\n", (unsigned long long)files);
    kiln_ctx_destroy(ctx);
}
