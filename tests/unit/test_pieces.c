/* Outputs in pieces: what they are cut into, and that what a piece is computed from is read once. */
#include <stdio.h>

#include "frontend/parse/parse.h"
#include "ir/pass/pass.h"
#include "ir/pieces.h"
#include "tests/unit/api.h"

#define SOFTMAX                                                                                    \
    "    e = exp(x - max(x, axis=1, keepdims=True))\n"                                             \
    "    p = e / sum(e, axis=1, keepdims=True)\n"

/* ---- how they are cut ---- */

/* "y[:, :V] y[:, V:]", and "z" for what is whole; "" where nothing is cut. */
static const char *pieces_of(kn_arena *a, const char *program)
{
    kn_graph *g = kn_graph_new(a, "program");
    kn_text t = kn_text_new(a);
    if (kn_parse(g, program, "text") != KN_OK)
        fail_msg("%s", kn_last_error());
    kn_graph *made = kn_graph_optimise(a, g, false, NULL);
    assert_non_null(made);
    for (int o = 0; made->in_pieces && o < made->in_pieces->outputs.len; o++) {
        const kn_output *out = &made->in_pieces->outputs.data[o];
        kn_putf(&t, "%s%s", o ? " " : "", out->name);
        if (out->place) {
            kn_place_print(&t, g->syms, out->place);
            assert_int_equal(kn_graph_find_output(made, out->name), out->place->output);
        }
    }
    return kn_text_str(&t);
}

static void test_cuts(void **state)
{
    static const char *const programs[][2] = {
        {"def f(x: f32[N, V], y: f32[N, V + 7]):\n" SOFTMAX "    y[:, :V] = p\n", "y[:, :V]"},
        {"def f(x: f32[N, V], y: f32[N, V + 7]):\n" SOFTMAX "    y[:, 3:V + 3] += p\n",
         "y[:, 3:V + 3]"},
        {"def f(x: f32[N, V]):\n    return pad(x, ((0, 0), (0, 7)))\n", "out0[:, :V] out0[:, V:]"},
        {"def f(x: f32[N, V]):\n    return pad(x, ((1, 2), (3, 0)))\n",
         "out0[1:N + 1, 3:] out0[0, :] out0[N + 1:, :] out0[1:N + 1, :3]"},
        {"def f(a: f32[N], b: f32[M], c: f32[K]):\n    return concatenate((a, b, c)), a\n",
         "out0[:N] out1 out0[N:N + M] out0[N + M:]"},
        {"def f(a: f32[N], b: f32[N]):\n    return stack((a, b, a), axis=1)\n",
         "out0[:, 0] out0[:, 1] out0[:, 2]"},
        {"def f(a: f32[N], b: f32[M]):\n    return concatenate((pad(a, (0, 2)), b))\n",
         "out0[:N] out0[N:N + 2] out0[N + 2:]"},
        /* later assignments hide earlier ones, or lie beside them */
        {"def f(x: f32[N], y: f32[N + 4]):\n    y[:N] = x\n    y[N:] = 1\n", "y[N:] y[:N]"},
        {"def f(x: f32[N + 1], y: f32[N + 4]):\n    y[:N] = x[1:]\n    y[:N + 1] = x\n",
         "y[:N + 1]"},
        /* where sizes do not tell whether they do */
        {"def f(x: f32[N], y: f32[N + 4]):\n    y[1:N] = x[1:]\n    y[:N] = x\n", "y[:N] y[N:]"},
        /* every second element, from behind: what is there stays */
        {"def f(x: f32[N], y: f32[2*N], z: f32[N]):\n    y[::2] = x\n    z[::-1] = x\n",
         "y[::2] z[::-1]"},
        /* what is around those is no rectangle */
        {"def f(x: f32[N]):\n    y = full(2*N, 1.0)\n    y[::2] = x\n    return y\n", ""},
        /* an element of one that is smaller than the rectangle */
        {"def f(x: f32[N, V], y: f32[N, V + 1]):\n    y[:, :V] = x[:, :1]\n    y[0, 0] = 2\n",
         "y[0, 0] y[1:, :] y[0, 1:]"},
        /* operations on what is put together, and two that meet in one */
        {"def f(x: f32[N], z: f32[M], b: f32[N + M]):\n"
         "    return cast(relu(concatenate((x, z)) + b), bf16)\n",
         "out0[:N] out0[N:]"},
        {"def f(x: f32[2*N], dy: f32[2*N]):\n"
         "    y = concatenate((x[N:] * x[:N], x[N:]))\n    return vjp(y, dy, x)\n",
         "out0[:N] out0[N:]"},
        {"def f(x: f32[N], y: f32[N + 4]):\n"
         "    y[:N] = x\n    y *= 2\n",
         "y[:N] y[N:]"},
        /* several values, and what is no pad */
        {"def f(x: f32[N]):\n    return pad(x, 2, constant_values=(1, 2)), pad(x, 2, mode='edge')\n",
         ""},
        {"def f(x: f32[N]):\n    return roll(x, 2)\n", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        kn_arena a;
        kn_arena_init(&a, NULL);
        assert_string_equal(pieces_of(&a, programs[i][0]), programs[i][1]);
        kn_arena_finish(&a);
    }
}

/* ---- what they read ---- */

static const char *explained(const char *program, const kiln_arg *args, int n, const char *schedule,
                             const char *arch)
{
    kiln_options options;
    kiln_explain_options how;
    char *text = NULL;
    kiln_options_init(&options);
    kiln_explain_options_init(&how);
    options.schedule = schedule;
    how.stage = "json";
    how.arch = arch;
    kiln_prog *p = compile_with(ctx, program, &options);
    good(kiln_explain(p, args, n, &how, &text));
    kiln_prog_destroy(p);
    return text;
}

/* The number behind the last of these words. */
static long number_behind(const char *text, const char *const *words)
{
    for (; *words; words++) {
        text = strstr(text, *words);
        assert_non_null(text);
        text += strlen(*words);
    }
    return strtol(text, NULL, 10);
}

/* Reads x as often as the softmax alone, with no barrier between: on a GPU once. */
static void test_reads_once(void **state)
{
    static const int64_t shape[] = {4096, 1000}, wider[] = {4096, 1007}, narrow[] = {4096, 9};
    static const char *const programs[] = {
        "def f(x: f32[N, V]):\n" SOFTMAX "    return p\n",
        "def f(x: f32[N, V], y: f32[N, V + 7]):\n" SOFTMAX "    y[:, :V] = p\n",
        "def f(x: f32[N, V], y: f32[N, V + 7]):\n" SOFTMAX "    y[:, 7:] = p\n    y[:, 2] = 0\n",
        "def f(x: f32[N, V]):\n" SOFTMAX "    return pad(p, ((0, 0), (0, 7)))\n",
        "def f(x: f32[N, V], z: f32[N, 9]):\n" SOFTMAX "    return concatenate((p, z), axis=1)\n",
    };
    static const char *const archs[] = {"sm_90", "cpu"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        long alone = 0;
        for (size_t k = 0; k < sizeof programs / sizeof *programs; k++) {
            const bool updates = strstr(programs[k], "y:"), joins = strstr(programs[k], "z:");
            const kiln_arg args[] = {
                {"x", NULL, KILN_F32, 2, shape, NULL},
                {updates ? "y" : "z", NULL, KILN_F32, 2, updates ? wider : narrow, NULL}};
            const char *json = explained(programs[k], args, 1 + (updates || joins), NULL, archs[i]);
            const char *const read[] = {"\"name\": \"x\"", "\"read\": {", "\"after\": ", NULL};
            const char *const grid[] = {"\"barriers\"", "\"after\": {\"grid\": ", NULL};
            alone = k ? alone : number_behind(json, read);
            assert_int_equal(number_behind(json, read), alone);
            assert_int_equal(number_behind(json, grid), 0);
            assert_true(i == 1 || alone == 4096 * 1000 * (long)sizeof(float));
            kiln_text_free(ctx, (char *)(uintptr_t)json);
        }
    }
}

/* A schedule says whether there are pieces. */
static void test_forced(void **state)
{
    static const int64_t shape[] = {4096, 1000}, wider[] = {4096, 1007};
    static const char program[] =
        "def f(x: f32[N, V], y: f32[N, V + 7]):\n" SOFTMAX "    y[:, :V] = p\n";
    const kiln_arg args[] = {{"x", NULL, KILN_F32, 2, shape, NULL},
                             {"y", NULL, KILN_F32, 2, wider, NULL}};
    static const char *const schedules[] = {"pieces", "joined"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        const char *json = explained(program, args, 2, schedules[i], "sm_90");
        const char *const read[] = {"\"name\": \"y\"", "\"read\": {", "\"after\": ", NULL};
        assert_int_equal(number_behind(json, read) > 0, i);
        kiln_text_free(ctx, (char *)(uintptr_t)json);
    }
}

/* ---- what a program may take ---- */

typedef struct budgeted {
    kn_arena a;
    int64_t nodes; /* that its graph may have */
    bool cut;
} budgeted;

static kn_status optimise(void *user)
{
    budgeted *b = user;
    kn_graph *g = kn_graph_new(&b->a, "program");
    KN_TRY(kn_parse(g,
                    "def f(a: f32[N], b: f32[M], c: f32[K]):\n"
                    "    return tanh(exp(sqrt(concatenate((a, b, c)) + 1)))\n",
                    "text"));
    g->budget.nodes = b->nodes;
    const kn_graph *made = kn_graph_optimise(&b->a, g, false, NULL);
    b->cut = made && made->in_pieces;
    return made ? KN_OK : kn_last_status();
}

static kn_status optimise_within(int64_t nodes, bool *cut)
{
    budgeted b = {.nodes = nodes};
    kn_arena_init(&b.a, NULL);
    const kn_status status = kn_protect(&b.a, optimise, &b);
    kn_arena_finish(&b.a);
    *cut = b.cut;
    return status;
}

/* A program that is within its budget only with whole outputs has these. */
static void test_budget(void **state)
{
    bool cut;
    int64_t nodes = 1;
    (void)state;
    assert_int_equal(optimise_within(kn_usual_budget.nodes, &cut), KN_OK);
    assert_true(cut);
    while (optimise_within(nodes, &cut) == KN_ARGUMENT)
        nodes++;
    assert_int_equal(optimise_within(nodes, &cut), KN_OK);
    assert_false(cut);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cuts), cmocka_unit_test(test_budget),
                                       test(test_reads_once), test(test_forced)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
