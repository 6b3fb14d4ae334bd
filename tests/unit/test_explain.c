/* What explain says. */
#include "tests/unit/api.h"

/* For the GPU that there is without one, unless `arch` is another; of `args` only shapes matter. */
typedef struct asked {
    const char *program;
    const kiln_arg *args;
    int n;
    const char *stage, *arch;
    bool verbose;
} asked;

static char *explained_of(kiln_prog *p, const asked *a)
{
    kiln_explain_options o;
    kiln_explain_options_init(&o);
    o.stage = a->stage;
    o.arch = a->arch ? a->arch : "sm_90";
    o.verbose = a->verbose;
    char *text = NULL;
    good(kiln_explain(p, a->args, a->n, &o, &text));
    return text;
}

static char *explained(const asked *a)
{
    kiln_prog *p = compile(ctx, a->program);
    char *text = explained_of(p, a);
    kiln_prog_destroy(p);
    return text;
}

static void has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("not \"%s\":\n%s", part, text);
}

static void has_not(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("\"%s\":\n%s", part, text);
}

/* Says all of `parts`, and none of `no`. */
static void says_this(const asked *a, const char *const *parts, const char *const *no)
{
    char *text = explained(a);
    for (; *parts; parts++)
        has(text, *parts);
    for (; *no; no++)
        has_not(text, *no);
    kiln_text_free(ctx, text);
}

#define PARTS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NONE ((const char *const[]){NULL})

/* ---- loop nests ---- */

static const char centred[] = "def f(x: f32[N, M]):\n"
                              "    rows = mean(x, axis=1, keepdims=True)\n"
                              "    d = x - rows\n"
                              "    return d - mean(x, axis=0)  # of two loop nests\n";

/* The lines of the text, and of one that several loop nests share, which of its operations. */
static void lines(void **state)
{
    static const int64_t shape[] = {4096, 8192}; /* too large for a nest more */
    const kiln_arg x = {"x", NULL, KILN_F32, 2, shape, NULL};
    (void)state;
    says_this(&(asked){.args = &x, .n = 1, .program = centred},
              PARTS("\n2 loop nests\n", "over [N, M], reducing axis 1\n       2: rows = mean(",
                    "       3: d = x - rows\n", "# of two loop nests    of which: mean\n",
                    "# of two loop nests    of which: subtract", "mean(x) at 4:"),
              PARTS("def f", "d = x - rows    subtract", "rows, "));
    says_this(&(asked){.args = &x, .n = 1, .program = centred, .verbose = true},
              PARTS("       3: d = x - rows    d\n", "\nmerged in this order; --schedule 'undo N' ",
                    "\n  1  rows and d\n  2  d and subtract\n"),
              PARTS("\n  3  "));
    says_this(&(asked){.args = &x, .n = 1, .program = centred, .stage = "json"},
              PARTS("\"merges\": [\n    \"rows and d\",\n    \"d and subtract\"\n  ],\n"), NONE);
    says_this(&(asked){.program = "def f(x: f32[N, M]):\n    d = exp(sin(x))\n"
                                  "    return sum(d * 2, axis=0), sum(d, axis=1)\n"},
              PARTS("computes again: "), NONE);
}

/* What a parameter is cast to has no line, and what the builder has built has none at all. */
static void no_lines(void **state)
{
    (void)state;
    says_this(&(asked){.program = "def f(x: f32[N], k: i32):\n    return x * cast(k, f32)\n"},
              PARTS("2: return x * cast(k, f32)\n"), PARTS("def f"));
    kiln_prog *p = add_program();
    char *text = explained_of(p, &(asked){.stage = NULL});
    has(text, "\n1 loop nest\n  0  over [N, C]\n          add\n");
    kiln_text_free(ctx, text);
    kiln_prog_destroy(p);
    for (int texts = 1; texts <= 2; texts++) { /* of several texts no line is known */
        kiln_graph *g = new_graph();
        kiln_val v = kiln_input(g, "v", KILN_F32, "N");
        for (int i = 0; i < texts; i++)
            v = kiln_expr(g, "tanh(v)", (const char *const[]){"v"}, &v, 1);
        good(kiln_output(g, "y", kiln_exp(g, v)));
        good(kiln_compile(g, NULL, &p));
        text = explained_of(p, &(asked){.stage = NULL});
        has(text,
            texts == 1 ? "       1: tanh(v)\n          exp\n" : "\n          tanh, tanh, exp\n");
        kiln_text_free(ctx, text);
        kiln_prog_destroy(p);
        kiln_graph_destroy(g);
    }
}

/* ---- what stands in the way of a gradient ---- */

/* What is read again, and why: results of all of a group, or of all groups; other axes; no room on chip. */
static void again(void **state)
{
    (void)state;
    const char *norm = "def f(x: f32[N, C], g: f32[C], dy: f32[N, C]):\n"
                       "    d = x - mean(x, axis=1, keepdims=True)\n"
                       "    h = d * rsqrt(mean(d * d, axis=1, keepdims=True) + 1e-5)\n"
                       "    dx, dg = vjp(h * g, dy, (x, g))\n"
                       "    return dx, dg\n";
    const int64_t few[] = {8192, 1024}, many[] = {64, 1000000};
    const kiln_arg short_rows[] = {{"x", NULL, KILN_F32, 2, few, NULL},
                                   {"g", NULL, KILN_F32, 1, few + 1, NULL},
                                   {"dy", NULL, KILN_F32, 2, few, NULL}};
    const kiln_arg long_rows[] = {{"x", NULL, KILN_F32, 2, many, NULL},
                                  {"g", NULL, KILN_F32, 1, many + 1, NULL},
                                  {"dy", NULL, KILN_F32, 2, many, NULL}};
    says_this(&(asked){.program = norm, .args = short_rows, .n = 3}, NONE,
              PARTS("through memory again"));
    says_this(&(asked){.program = norm, .args = long_rows, .n = 3},
              PARTS("through memory again\n", "read again by phase ", ", which needs all of "),
              NONE);
    says_this(&(asked){.program = norm, .args = long_rows, .n = 3, .stage = "json"},
              PARTS("\"again\": [\n    \""), NONE);
    says_this(
        &(asked){.program = "def f(x: f32[N, C]):\n    return sum(x, axis=0), sum(x, axis=1)\n",
                 .args = long_rows,
                 .n = 1},
        PARTS("through memory again\n  x: read again by phase ", ", which goes over ["), NONE);
    says_this(
        &(asked){.program = "def f(x: f32[N, C]):\n    return x / sum(x, axis=1, keepdims=True)\n",
                 .args = long_rows,
                 .n = 1,
                 .arch = "cpu"},
        PARTS("  x: read by 2 sweeps of phase 0: a group's 4.0 MB may have left the cache\n"),
        NONE);
}

/* Numbers of things, of which there may be one. */
static void side_by_side(void **state)
{
    (void)state;
    says_this(&(asked){.program = "def f(x: f32[N, C], y: f32[K]):\n"
                                  "    return sum(x, axis=1), y + 1\n"},
              PARTS("(side by side: 1 work item)", "(side by side: 128 work items)"),
              PARTS("1 work items"));
}

static void searches(void **state)
{
    (void)state;
    static const char *const title = "\nsearched for, as their indices are values\n";
    says_this(&(asked){.program = "def f(w: f32[V, D], i: i32[N, K], dy: f32[N, K, D]):\n"
                                  "    y = w[i]\n"
                                  "    return vjp(y, dy, w)\n"},
              PARTS(title, "  the gradient of y at 2:10: N*K indices, for each of V\n"), NONE);
    says_this(&(asked){.program = "def f(w: f32[V, D], i: i32[N], v: f32[N, D]):\n"
                                  "    return at_add(w, i, v)\n",
                       .stage = "json"},
              PARTS("\"searches\": [\n    \"at_add at 2:12: N indices, for each of V\"\n"), NONE);
    says_this(&(asked){.program = "def f(w: f32[V, D], dy: f32[3, D]):\n"
                                  "    return vjp(w[:3] * 2, dy, w), w[1] + w[2:]\n"},
              NONE, PARTS(title));
    /* the gradient of what is added is taken, and nothing searched */
    says_this(&(asked){.program = "def f(w: f32[V, D], i: i32[N], v: f32[N, D], dy: f32[V, D]):\n"
                                  "    return vjp(at_add(w, i, v), dy, v)\n"},
              NONE, PARTS(title));
}

/* ---- axes ---- */

static void axes_of_one_name(void **state)
{
    (void)state;
    says_this(&(asked){.program =
                           "def f(x: f32[N, N]):\n"
                           "    return x - mean(x, axis=0) - mean(x, axis=1, keepdims=True)\n"},
              PARTS("over [N, N], reducing axis 0", "over [N, N], reducing axis 1",
                    "groups N (axis 1) = 128; members N (axis 0) = 128",
                    "groups N (axis 0) = 128; members N (axis 1) = 128",
                    "x, out0: contiguous along N (axis 1)", "\n  N % 4 == 0\n",
                    "both reduce over [N], but one over axis "),
              NONE);
    says_this(&(asked){.program = centred}, PARTS("groups N = 128; members M = 128"),
              PARTS("(axis"));
}

/* ---- steps ---- */

static void steps(void **state)
{
    (void)state;
    says_this(&(asked){.program = centred}, PARTS("\n  merge "),
              PARTS("nothing changed", "\n  fold"));
    says_this(&(asked){.program = centred, .verbose = true},
              PARTS("\n  merge ", "constants; nothing changed\n", "\n  refine "), NONE);
    says_this(&(asked){.program = centred, .stage = "json"}, PARTS("\"name\": \"merge\""),
              PARTS("\"name\": \"fold\"", "\"name\": \"refine\""));
    says_this(&(asked){.program = centred, .stage = "json", .verbose = true},
              PARTS("\"name\": \"merge\"", "\"name\": \"fold\"", "\"name\": \"refine\""), NONE);
}

/* ---- what is relied on ---- */

static void facts(void **state)
{
    (void)state;
    /* each once, with all that needs it; none that says nothing */
    says_this(&(asked){.program = "def f(x: f32[B, N]):\n"
                                  "    y = reshape(x, (B, N // 4, 4))\n"
                                  "    assert N % 4 == 0\n"
                                  "    return y / sum(y, axis=2, keepdims=True)\n"},
              PARTS("the program needs\n  N % 4 == 0 (reshape at 2:9, stated at 3:5)\n\n",
                    "contiguous along axis 2 (4)"),
              PARTS("4 % 4", "B*N == ", "along 4"));
    says_this(&(asked){.program = "def f(x: f32[3, N], y: f32[N, V + P]):\n"
                                  "    x[2] = 1\n    return softmax(y, axis=1)\n"},
              PARTS("\n  (V + P) % 4 == 0\n"),
              PARTS("2 < 3", " V + P %", "x may be written over x"));
    says_this(&(asked){.program = "def f(p: f32[N], g: f32[N], q: f32[N]):\n"
                                  "    p -= g\n    a = p + q\n    b = p - q\n    return a, b\n"},
              PARTS("a and b may be written over g or q without a copy"), PARTS("p or", "over p"));
    says_this(
        &(asked){.program = "def f(x: f32[N], y: f32[N], t: i32):\n    return x + y, x * 0.9**t\n"},
        PARTS("wider than their operands", "  ** at 2:26: f64 of a float and i32\n"),
        PARTS("x is ", "y is "));
}

/* What the builder makes has no place. */
static void wider_without_places(void **state)
{
    (void)state;
    kiln_prog *p = NULL;
    kiln_graph *g = new_graph();
    kiln_val x = kiln_input(g, "x", KILN_F32, "N"), i = kiln_input(g, "i", KILN_I32, "N");
    kiln_val mean = kiln_mean(g, i, KILN_ALL, 0), wide = kiln_cast(g, x, KILN_F64);
    good(kiln_output(g, "y", kiln_add(g, kiln_mul(g, x, i), mean)));
    good(kiln_output(g, "z", kiln_add(g, kiln_mul(g, wide, x), kiln_exp(g, x))));
    good(kiln_compile(g, NULL, &p));
    char *text = explained_of(p, &(asked){.stage = NULL});
    has(text, "stay narrow)\n  mean: f64 of i32\n  multiply: f64 of f32 and i32\n\n");
    kiln_text_free(ctx, text);
    kiln_prog_destroy(p);
    kiln_graph_destroy(g);
}

/* What a GPU has and a CPU has not. */
#define OF_GPUS                                                                                    \
    PARTS("launch", "warp", "grid", "block", "vectors", "aligned", "cooperative", "bits",          \
          "threads a group", "% 4", "chip", "shared memory", "registers", "cluster", "GPU")

static void speaks_of_the_cpu(void **state)
{
    (void)state;
    says_this(&(asked){.program = centred, .arch = "cpu"},
              PARTS("f for cpu, 2 threads\n", "barriers of threads", "fused    1 kernel, ",
                    "(after all threads)", "contiguous along M\n"),
              OF_GPUS);
    /* values kept, rows that are read again, loop nests side by side, few groups */
    static const int64_t some[] = {4096, 1024}, many[] = {2, 1000000};
    const kiln_arg rows[] = {{"x", NULL, KILN_F32, 2, some, NULL},
                             {"dy", NULL, KILN_F32, 2, some, NULL}};
    const kiln_arg long_rows = {"x", NULL, KILN_F32, 2, many, NULL};
    says_this(&(asked){.program = "def f(x: f32[N, C], dy: f32[N, C]):\n"
                                  "    e = exp(sin(x)) * dy\n"
                                  "    return e / sum(e, axis=1, keepdims=True)\n",
                       .args = rows,
                       .n = 2,
                       .arch = "cpu",
                       .verbose = true},
              PARTS("kept in the cache\n"), OF_GPUS);
    says_this(&(asked){.program = "def f(x: f32[N, C], y: f32[K]):\n"
                                  "    return softmax(x, axis=1), max(x), y + 1\n",
                       .args = &long_rows,
                       .n = 1,
                       .arch = "cpu",
                       .verbose = true},
              PARTS("may have left the cache\n"), OF_GPUS);
    says_this(&(asked){.program = centred},
              PARTS("f for cuda sm_90\n", "fused    1 launch, ", "(after a grid barrier)",
                    "threads a group", "16-byte aligned"),
              NONE);
}

/* What is at an address is never read, but how it is aligned counts. */
static void alignment(void **state)
{
    static const int64_t shape[] = {4096, 8192};
    kiln_arg x = {"x", (void *)(uintptr_t)4, KILN_F32, 2, shape, NULL};
    asked a = {.program = centred, .args = &x, .n = 1};
    (void)state;
    says_this(&a, PARTS("launch"), PARTS("x: contiguous along M, 16-byte aligned"));
    x.data = (void *)(uintptr_t)2;
    kiln_prog *p = compile(ctx, centred);
    char *text = NULL;
    assert_int_equal(KILN_ERR_ARGUMENT, kiln_explain(p, &x, 1, NULL, &text));
    has(kiln_last_error(), "data is not aligned to its element size");
    kiln_prog_destroy(p);
}

/* ---- bytes ---- */

static void json_has(const char *program, const kiln_arg *args, int n, const char *const *parts)
{
    says_this(&(asked){.program = program, .args = args, .n = n, .stage = "json"}, parts, NONE);
}

static const int64_t table[] = {50000, 512}, few[] = {1000}, many[] = {1000000}, line[] = {4096};

/* Rows that are taken count, before and after, and not the table that they are of; of more rows than it has all of
 * it. */
static void gathers(void **state)
{
    (void)state;
    static const char text[] =
        "def f(t: f32[V, D], i: i64[K]):\n    return take(t, i, axis=0) * 2\n";
    kiln_arg args[] = {{"t", NULL, KILN_F32, 2, table, NULL}, {"i", NULL, KILN_I64, 1, few, NULL}};
    json_has(text, args, 2,
             PARTS("\"name\": \"t\", \"dtype\": \"f32\", \"bytes\": 102400000, \"read\": "
                   "{\"before\": 2048000, \"after\": 2048000}, \"reads\": 0.02"));
    args[1].shape = many;
    json_has(text, args, 2,
             PARTS("\"name\": \"t\", \"dtype\": \"f32\", \"bytes\": 102400000, \"read\": "
                   "{\"before\": 102400000, \"after\": 102400000}, \"reads\": 1}"));
    /* indices that no array gives: the axis that they go along is counted */
    kiln_arg x = {"x", NULL, KILN_F32, 1, line, NULL};
    json_has("def f(x: f32[N]):\n    n = len(x)\n    return take(x, arange(n // 4) * 2) + 1\n", &x,
             1, PARTS("\"read\": {\"before\": 4096, \"after\": 4096}"));
}

/* Rows that are gathered are walked as rows are that lie where they are read, not as the column of their numbers;
 * columns of a few of all as columns, and no group reads the whole array. */
static void walks_gathers(void **state)
{
    (void)state;
    kiln_arg args[] = {{"x", NULL, KILN_F32, 2, table, NULL}, {"i", NULL, KILN_I64, 1, few, NULL}};
    says_this(&(asked){.program = "def f(x: f32[V, D], i: i64[K]):\n"
                                  "    t = take(x, i, axis=0)\n"
                                  "    return t / sum(t, axis=1, keepdims=True)\n",
                       .args = args,
                       .n = 2},
              PARTS("phase 0: rows; groups K = 1000; members D = 512; 2 sweeps"), NONE);
    says_this(&(asked){.program = "def f(x: f32[N, M], i: i64[K]):\n"
                                  "    return max(sum(x[:, i], axis=0))\n",
                       .args = args,
                       .n = 2},
              PARTS("fused    1 launch", "cols; groups K = 1000; members N = 50000"), NONE);
}

/* Neither is what a slice leaves out read; an arange is no array, but what the unfused program makes of it is. */
static void slices(void **state)
{
    (void)state;
    const int64_t shape[] = {1000, 64};
    kiln_arg x = {"x", NULL, KILN_F32, 2, shape, NULL};
    json_has("def f(x: f32[N, M]):\n    return x[:, :4] * 2\n", &x, 1,
             PARTS("\"read\": {\"before\": 16000, \"after\": 16000}"));
    json_has("def f(x: f32[N, M]):\n    return x * arange(64, dtype=f32)\n", &x, 1,
             PARTS("\"bytes\": {\"before\": {\"read\": 256256, \"written\": 256256}, \"after\": "
                   "{\"read\": 256000, \"written\": 256000}}"));
}

/* The page has the line of the text beside what computes and stores it; a program without a text has no lines. */
static void page(void **state)
{
    (void)state;
    const char *const text = "def f(x: f32[N, M]):\n"
                             "    s = sum(x, axis=1, keepdims=True)  # a < b\n"
                             "    return x / s\n";
    says_this(&(asked){.program = text, .stage = "html"},
              PARTS("<!doctype html>", "keepdims=True)  # a &lt; b</code></div><pre class=\"l0\">",
                    "<code>return x / s</code></div><pre class=\"l1\">"),
              PARTS("a < b", "http"));
    kiln_graph *g;
    kiln_prog *p;
    good(kiln_graph_create(ctx, &g));
    kiln_val x = kiln_input(g, "x", KILN_F32, "N");
    kiln_output(g, "y", kiln_mul(g, x, x));
    good(kiln_compile(g, NULL, &p));
    char *built = explained_of(p, &(asked){.stage = "html"});
    has(built, ">multiply</text>");
    has_not(built, "the program</h2>");
    kiln_text_free(ctx, built);
    kiln_prog_destroy(p);
    kiln_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {test(lines),
                                       test(side_by_side),
                                       test(searches),
                                       test(again),
                                       test(no_lines),
                                       test(axes_of_one_name),
                                       test(steps),
                                       test(facts),
                                       test(wider_without_places),
                                       test(speaks_of_the_cpu),
                                       test(alignment),
                                       test(gathers),
                                       test(walks_gathers),
                                       test(slices),
                                       test(page)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
