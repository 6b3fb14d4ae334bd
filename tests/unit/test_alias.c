/* Arguments that share memory: results are as if every input had been read before any output was written, on every
 * device of the host. A copy is made only where a kernel could not give them otherwise. */
#include <stdio.h>

#include "tests/unit/api.h"

enum { ROWS = 37, COLUMNS = 24, N = ROWS * COLUMNS };

static kiln_ctx *contexts[3];
static const char *const names[3] = {"ref", "cpu", "emu"};

static int open_all(void **state)
{
    (void)state;
    for (int d = 0; d < 3; d++) {
        kiln_config c;
        kiln_config_init(&c);
        c.device = names[d];
        c.threads = 2;
        if (kiln_ctx_create(&c, &contexts[d]) != KILN_OK)
            return 1;
    }
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    for (int d = 0; d < 3; d++)
        kiln_ctx_destroy(contexts[d]);
    return 0;
}

/* An array inside `memory`: where its first element is, and its strides. */
typedef struct place {
    const char *name;
    int at;
    int64_t shape[2], strides[2];
    kiln_dtype dtype; /* 0: f32 */
} place;

typedef struct case_ {
    const char *what, *text;
    int inputs, outputs;
    place arrays[4];
    int copies; /* of inputs, where a kernel runs; -1: whichever */
} case_;

static const case_ cases[] = {
    {"elementwise on itself",
     "def f(x: f32[N, M]):\n    y = x * 2 + 1\n    return y\n",
     1,
     1,
     {{"x", 0, {ROWS, COLUMNS}, {COLUMNS, 1}, 0}, {"y", 0, {ROWS, COLUMNS}, {COLUMNS, 1}, 0}},
     0},
    {"two uses, two outputs, one on itself",
     "def f(x: f32[N, M]):\n    y = x + 1\n    z = y * x\n    return y, z\n",
     1,
     2,
     {{"x", 0, {ROWS, COLUMNS}, {COLUMNS, 1}, 0},
      {"y", 0, {ROWS, COLUMNS}, {COLUMNS, 1}, 0},
      {"z", N, {ROWS, COLUMNS}, {COLUMNS, 1}, 0}},
     0},
    {"another type on itself",
     "def f(x: f32[N, M]):\n    y = cast(x * 8, i32)\n    return y\n",
     1,
     1,
     {{"x", 0, {ROWS, COLUMNS}, {COLUMNS, 1}, 0},
      {"y", 0, {ROWS, COLUMNS}, {COLUMNS, 1}, KILN_I32}},
     0},
    {"every other column on itself",
     "def f(x: f32[N, M]):\n    y = x * x\n    return y\n",
     1,
     1,
     {{"x", 1, {ROWS, 12}, {COLUMNS, 2}, 0}, {"y", 1, {ROWS, 12}, {COLUMNS, 2}, 0}},
     0},
    {"rows on themselves",
     "def f(x: f32[N, M]):\n    e = exp(x - max(x, axis=1, keepdims=True))\n    y = e / sum(e, axis=1, keepdims=True)\n    return y\n",
     1,
     1,
     {{"x", 0, {ROWS, COLUMNS}, {COLUMNS, 1}, 0}, {"y", 0, {ROWS, COLUMNS}, {COLUMNS, 1}, 0}},
     0},
    /* threads without a row work on another's */
    {"short rows of integers on themselves",
     "def f(x: i32[N, M]):\n    y = maximum(x, cast(sum(x, axis=1, keepdims=True), i32))\n    return y\n",
     1,
     1,
     {{"x", 0, {33, 16}, {16, 1}, KILN_I32}, {"y", 0, {33, 16}, {16, 1}, KILN_I32}},
     0},
    {"columns on themselves",
     "def f(x: f32[N, M]):\n    y = x - mean(x, axis=0)\n    return y\n",
     1,
     1,
     {{"x", 0, {ROWS, COLUMNS}, {COLUMNS, 1}, 0}, {"y", 0, {ROWS, COLUMNS}, {COLUMNS, 1}, 0}},
     0},
    {"both means on itself",
     "def f(x: f32[N, M]):\n    y = x - mean(x, axis=0) - mean(x, axis=1, keepdims=True)\n    return y\n",
     1,
     1,
     {{"x", 0, {ROWS, COLUMNS}, {COLUMNS, 1}, 0}, {"y", 0, {ROWS, COLUMNS}, {COLUMNS, 1}, 0}},
     -1},
    {"a result that later rows need",
     "def f(x: f32[N, M]):\n    y = x + 1\n    z = max(y, axis=0) + x\n    return y, z\n",
     1,
     2,
     {{"x", 0, {ROWS, COLUMNS}, {COLUMNS, 1}, 0},
      {"y", 0, {ROWS, COLUMNS}, {COLUMNS, 1}, 0},
      {"z", N, {ROWS, COLUMNS}, {COLUMNS, 1}, 0}},
     -1},
    {"a square and its transpose on itself",
     "def f(x: f32[N, N]):\n    y = x + x.T\n    return y\n",
     1,
     1,
     {{"x", 0, {24, 24}, {24, 1}, 0}, {"y", 0, {24, 24}, {24, 1}, 0}},
     1},
    {"turned round on itself",
     "def f(x: f32[N, M]):\n    y = x[::-1, ::-1] + x[1]\n    return y\n",
     1,
     1,
     {{"x", 0, {ROWS, COLUMNS}, {COLUMNS, 1}, 0}, {"y", 0, {ROWS, COLUMNS}, {COLUMNS, 1}, 0}},
     1},
    {"through its own transpose",
     "def f(x: f32[N, N]):\n    y = x * 3\n    return y\n",
     1,
     1,
     {{"x", 0, {24, 24}, {24, 1}, 0}, {"y", 0, {24, 24}, {1, 24}, 0}},
     1},
    {"backwards",
     "def f(x: f32[N, M]):\n    y = x * 3\n    return y\n",
     1,
     1,
     {{"x", 0, {ROWS, COLUMNS}, {COLUMNS, 1}, 0}, {"y", N - 1, {ROWS, COLUMNS}, {-COLUMNS, -1}, 0}},
     1},
    {"one element further",
     "def f(x: f32[N, M]):\n    y = x * 3\n    return y\n",
     1,
     1,
     {{"x", 0, {ROWS, COLUMNS}, {COLUMNS, 1}, 0}, {"y", 1, {ROWS, COLUMNS}, {COLUMNS, 1}, 0}},
     1},
    {"a row for all rows",
     "def f(x: f32[N, M]):\n    y = x + max(x, axis=1, keepdims=True)\n    return y\n",
     1,
     1,
     {{"x", 0, {ROWS, COLUMNS}, {0, 1}, 0}, {"y", 0, {ROWS, COLUMNS}, {COLUMNS, 1}, 0}},
     1},
    {"an input that is a view of another",
     "def f(x: f32[N, N], y: f32[N, N]):\n    z = x - y\n    return z\n",
     2,
     1,
     {{"x", 0, {24, 24}, {24, 1}, 0},
      {"y", 0, {24, 24}, {1, 24}, 0},
      {"z", N, {24, 24}, {24, 1}, 0}},
     0},
    {"on one of two views",
     "def f(x: f32[N, N], y: f32[N, N]):\n    z = x - y\n    return z\n",
     2,
     1,
     {{"x", 0, {24, 24}, {24, 1}, 0},
      {"y", 0, {24, 24}, {1, 24}, 0},
      {"z", 0, {24, 24}, {24, 1}, 0}},
     1},
    {"columns between columns",
     "def f(x: f32[N, M]):\n    y = x + 1\n    z = x - 1\n    return y, z\n",
     1,
     2,
     {{"x", N, {ROWS, 12}, {12, 1}, 0},
      {"y", 0, {ROWS, 12}, {COLUMNS, 2}, 0},
      {"z", 1, {ROWS, 12}, {COLUMNS, 2}, 0}},
     0},
    {"columns into the columns between",
     "def f(x: f32[N, M]):\n    y = x + 1\n    return y\n",
     1,
     1,
     {{"x", 0, {ROWS, 12}, {COLUMNS, 2}, 0}, {"y", 1, {ROWS, 12}, {COLUMNS, 2}, 0}},
     0},
};

static void fill(float *memory)
{
    for (int i = 0; i < 2 * N; i++)
        memory[i] = (float)((i * 7919) % 1009) / 64.0F;
}

static kiln_arg arg_of(const place *p, float *memory)
{
    return (kiln_arg){p->name, memory + p->at, p->dtype ? p->dtype : KILN_F32,
                      2,       p->shape,       p->strides};
}

/* The run with inputs in memory of their own: what NumPy would have computed before it stored. */
static void run_apart(const case_ *c, kiln_prog *p, float *memory)
{
    static float apart[2 * N];
    kiln_arg args[4];
    memcpy(apart, memory, sizeof apart);
    for (int i = 0; i < c->inputs + c->outputs; i++)
        args[i] = arg_of(&c->arrays[i], i < c->inputs ? apart : memory);
    if (kiln_run(p, NULL, args, c->inputs + c->outputs) != KILN_OK)
        fail_msg("%s, apart: %s", c->what, kiln_last_error());
}

/* schedule: forced; NULL: as chosen, and then the copies are as expected. */
static void check(const case_ *c, int device, const char *schedule)
{
    static float got[2 * N], want[2 * N];
    kiln_graph *g;
    kiln_prog *p = NULL;
    kiln_arg args[4];
    kiln_options options;
    kiln_options_init(&options);
    options.schedule = schedule;
    if (kiln_parse(contexts[device], c->text, NULL, &g) != KILN_OK ||
        kiln_compile(g, &options, &p) != KILN_OK)
        fail_msg("%s: %s", c->what, kiln_last_error());
    fill(got);
    fill(want);
    run_apart(c, p, want);
    for (int i = 0; i < c->inputs + c->outputs; i++)
        args[i] = arg_of(&c->arrays[i], got);
    const uint64_t before = stats_of(contexts[device]).copies;
    if (kiln_run(p, NULL, args, c->inputs + c->outputs) != KILN_OK)
        fail_msg("%s on %s: %s", c->what, names[device], kiln_last_error());
    const int copies = (int)(stats_of(contexts[device]).copies - before);
    if (memcmp(got, want, sizeof got) != 0)
        fail_msg("%s on %s, schedule %s, differs", c->what, names[device],
                 schedule ? schedule : "chosen");
    if (device && !schedule && c->copies >= 0 && copies != c->copies)
        fail_msg("%s on %s: %d copies, not %d", c->what, names[device], copies, c->copies);
    kiln_prog_destroy(p);
    kiln_graph_destroy(g);
}

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int d = 0; d < 3; d++)
            check(&cases[i], d, NULL);
}

/* What is kept on chip between reads is not read from where a result has been written; what is read again is. */
static void test_schedules(void **state)
{
    (void)state;
    static const char *const schedules[] = {"cluster=2", "split", "resident"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t s = 0; s < sizeof schedules / sizeof *schedules; s++)
            check(&cases[i], 2, schedules[s]);
}

/* A row of which blocks keep a part, the rest of which later sweeps read again, also to compute what is kept of it. */
static void test_kept_in_part(void **state)
{
    (void)state;
    enum { LONG = 130000 };
    static const char *const texts[] = {
        "def f(x: f32[N, M]):\n    e = exp(x - max(x, axis=1, keepdims=True))\n    y = e * 1\n    z = e / sum(e, axis=1, keepdims=True)\n    return y, z\n",
        "def f(x: f32[N, M]):\n    y = x * 2\n    z = x - max(x, axis=1, keepdims=True)\n    return y, z\n",
    };
    static float x[LONG], y[LONG], want[LONG], got[LONG];
    static const int64_t shape[] = {1, LONG};
    kiln_options options;
    kiln_options_init(&options);
    options.schedule = "cluster=2";
    for (int t = 0; t < 2; t++) {
        kiln_graph *g;
        kiln_prog *p;
        for (int i = 0; i < LONG; i++)
            x[i] = (float)(i * 7919LL % 1009) / 64.0F;
        kiln_arg args[] = {{"x", x, KILN_F32, 2, shape, NULL},
                           {"y", y, KILN_F32, 2, shape, NULL},
                           {"z", want, KILN_F32, 2, shape, NULL}};
        assert_int_equal(kiln_parse(contexts[2], texts[t], NULL, &g), KILN_OK);
        assert_int_equal(kiln_compile(g, &options, &p), KILN_OK);
        assert_int_equal(kiln_run(p, NULL, args, 3), KILN_OK);
        args[1].data = x;
        args[2].data = got;
        assert_int_equal(kiln_run(p, NULL, args, 3), KILN_OK);
        assert_memory_equal(x, y, sizeof y);
        assert_memory_equal(got, want, sizeof want);
        kiln_prog_destroy(p);
        kiln_graph_destroy(g);
    }
}

/* Outputs may not share elements, whichever way they do. */
static void test_outputs(void **state)
{
    (void)state;
    static float memory[4 * N];
    static const place two[][2] = {
        {{"y", 0, {ROWS, 12}, {COLUMNS, 2}, 0}, {"z", 2, {ROWS, 12}, {COLUMNS, 2}, 0}},
        {{"y", 0, {ROWS, 12}, {COLUMNS, 2}, 0}, {"z", 1, {ROWS, 12}, {COLUMNS, 1}, 0}},
        {{"y", 0, {ROWS, 12}, {12, 1}, 0}, {"z", 0, {ROWS, 12}, {12, 1}, 0}},
        {{"y", 0, {ROWS, 12}, {12, 1}, 0}, {"z", ROWS * 12 - 1, {ROWS, 12}, {12, 1}, 0}},
    };
    for (int d = 0; d < 3; d++) {
        kiln_graph *g;
        kiln_prog *p;
        assert_int_equal(
            kiln_parse(contexts[d], "def f(x: f32[N, M]):\n    return x + 1, x - 1\n", NULL, &g),
            KILN_OK);
        assert_int_equal(kiln_compile(g, NULL, &p), KILN_OK);
        for (size_t i = 0; i < sizeof two / sizeof *two; i++) {
            const place x = {"x", 3 * N, {ROWS, 12}, {12, 1}, 0};
            kiln_arg args[] = {arg_of(&x, memory), arg_of(&two[i][0], memory),
                               arg_of(&two[i][1], memory)};
            args[1].name = "out0";
            args[2].name = "out1";
            expect(kiln_run(p, NULL, args, 3), KILN_ERR_ARGUMENT,
                   "outputs out0 and out1 overlap in memory");
        }
        kiln_prog_destroy(p);
        kiln_graph_destroy(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_schedules),
        cmocka_unit_test(test_kept_in_part),
        cmocka_unit_test(test_outputs),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
