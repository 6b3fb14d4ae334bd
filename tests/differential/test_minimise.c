/* The fuzzer's own tests: a program written as text is the same program; and a fault planted in a device is
 * found and brought down to the operations it is planted in. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/parse/parse.h"
#include "tests/differential/check.h"

enum { PROGRAMS = 300, ELEMENTS = 6000 };

/* ---- text ---- */

/* Same inputs, same sizes: does the text give the same outputs to the bit? */
static void assert_same_results(const program *p, const char *text)
{
    program *q = KN_NEW(p->arena, program);
    *q = *p;
    q->graph = kn_graph_new(p->arena, "again");
    if (kn_parse(q->graph, text, NULL) != KN_OK)
        fail_msg("KILN_SEED=%llu: %s\n%s", (unsigned long long)p->seed, kn_last_error(), text);
    for (int i = 0; i < MAX_SYMBOLS; i++)
        q->sizes[i] = KN_UNBOUND;
    for (int s = 0; s < kn_symbols_count(q->graph->syms); s++) {
        const char *name = kn_symbol_name(q->graph->syms, s);
        int old = !name ? -1 : kn_symbol_find(p->graph->syms, name, strlen(name));
        if (old >= 0)
            q->sizes[s] = p->sizes[old];
    }
    assert_int_equal(kn_symbols_derive(q->graph->syms, p->arena, q->sizes), KN_OK);
    assert_int_equal(q->graph->outputs.len, p->graph->outputs.len);
    if (!program_results(q))
        fail_msg("KILN_SEED=%llu: %s\n%s", (unsigned long long)p->seed, kn_last_error(), text);
    for (int o = 0; o < p->graph->outputs.len; o++) {
        const kn_array *a = &p->expected[o], *b = &q->expected[o];
        assert_int_equal(a->dtype, b->dtype);
        assert_int_equal(a->rank, b->rank);
        assert_memory_equal(a->shape, b->shape, sizeof *a->shape * (size_t)a->rank);
        size_t bytes = (size_t)(kn_count(a->shape, a->rank) * kn_bytes(a->dtype));
        if (memcmp(a->data, b->data, bytes) != 0)
            fail_msg("KILN_SEED=%llu: %s differs\n%s", (unsigned long long)p->seed,
                     p->graph->outputs.data[o].name, text);
    }
}

static void test_text(void **state)
{
    (void)state;
    uint64_t first = setting("KILN_SEED", 1), n = setting("KILN_FUZZ", PROGRAMS);
    for (uint64_t seed = first; seed < first + n; seed++) {
        kn_arena a;
        kn_arena_init(&a, NULL);
        program *p = program_make(&a, seed, ELEMENTS);
        assert_non_null(p);
        assert_same_results(p, program_text(p));
        kn_arena_finish(&a);
    }
}

/* Broadcasts over what is left of a reshape: of it, and of something else. */
static void test_text_quotient(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "def f(x: f32[N, 4]):\n"
        "    a = reshape(x, (2, -1, 4))\n"
        "    return broadcast_to(a[:, None], (2, 3, a.shape[1], 4))\n",
        "def f(x: f32[N, 4], y: f32[1]):\n"
        "    a = reshape(x, (2, -1, 4))\n"
        "    return a * 2, broadcast_to(y, (a.shape[1],))\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        kn_arena a;
        kn_arena_init(&a, NULL);
        program *p = program_of_text(&a, texts[i], "text", "N=6", 1);
        assert_non_null(p);
        p->graph->source = NULL;
        assert_same_results(p, program_text(p));
        kn_arena_finish(&a);
    }
}

/* ---- sizes ---- */

/* Programs are made for sizes that they take: one that meets integers as a number fits their type. In that of seed 930230
 * an array of u8 met 1021. */
static void test_sizes_are_taken(void **state)
{
    (void)state;
    enum { GRAPHS = EFFORT(40000, 4000) };
    const uint64_t first = setting("KILN_SEED", 930230), n = setting("KILN_FUZZ", GRAPHS);
    for (uint64_t seed = first; seed < first + n; seed++) {
        kn_arena a;
        kn_arena_init(&a, NULL);
        program *p = KN_NEW(&a, program);
        rng r = {seed};
        p->arena = &a;
        p->seed = seed;
        generate_graph(p, &r, ELEMENTS, NULL);
        if (kn_facts_check(&p->graph->facts, p->graph->syms, &a, p->sizes) != KN_OK)
            fail_msg("KILN_SEED=%llu: %s", (unsigned long long)seed, kn_last_error());
        kn_arena_finish(&a);
    }
}

/* ---- a planted fault ---- */

/* The CPU device, but for what comes back from it: while `wrong` is set, its bits are not what was computed. Memory
 * that nothing was written to comes back as it is. */
static bool wrong, otherwise; /* otherwise: while it is not, an error comes instead */
static const kn_device_ops *honest;

static kn_status download(kn_device *dev, void *host, const void *from, size_t bytes)
{
    kn_status status = !wrong && otherwise ? kn_fail(KN_RUN, "another failure")
                                           : honest->download(dev, host, from, bytes);
    unsigned char *at = host;
    for (size_t i = 0; i < bytes && wrong; i++)
        at[i] ^= at[i] == POISON || at[i] == UNTOUCHED ? 0 : 0x11;
    return status;
}

/* A fault: a reduction, over two elements or more, of what exp gave, however many views and operations lie between. */
static bool reduces_exp(const program *p)
{
    const kn_graph *g = p->graph;
    bool *from_exp = KN_NEW_ARRAY(p->arena, bool, g->nodes.len + 1);
    const bool *live = kn_needed_nodes(g, p->arena);
    int64_t shape[KN_MAX_RANK];
    for (int i = 0; i < g->nodes.len; i++) {
        const kn_node *n = g->nodes.data[i];
        from_exp[i] = n->op == KN_OP_EXP;
        for (int k = 0; k < n->nin; k++)
            from_exp[i] = from_exp[i] || from_exp[n->in[k]->id];
        if (kn_ops[n->op].cls != KN_REDUCE || !from_exp[i] || !live[i] ||
            kn_node_sizes(n->in[0], p->sizes, shape) != KN_OK)
            continue;
        for (int a = 0; a < n->rank; a++)
            if (n->u.reduce.axes >> a & 1 && shape[a] >= 2)
                return true;
    }
    return false;
}

/* Another: one value in the place of two or more. */
static bool repeats(const program *p)
{
    const kn_graph *g = p->graph;
    const bool *live = kn_needed_nodes(g, p->arena);
    int64_t to[KN_MAX_RANK], from[KN_MAX_RANK];
    for (int i = 0; i < g->nodes.len; i++) {
        const kn_node *n = g->nodes.data[i];
        if (n->op != KN_OP_BROADCAST || !live[i] || kn_node_sizes(n, p->sizes, to) != KN_OK ||
            kn_node_sizes(n->in[0], p->sizes, from) != KN_OK)
            continue;
        if (kn_count(to, n->rank) > kn_count(from, n->rank))
            return true;
    }
    return false;
}

static bool (*has_fault)(const program *p);

static failure check(void *user, const program *p, const kn_program_options *o, kn_text *why)
{
    tally seen = {0, 0};
    wrong = has_fault(p);
    return program_failure(p, user, o, why, &seen);
}

/* One exp, one reduction, and at most what gives the one the other's shape and type. */
static void assert_minimal(const program *p)
{
    const kn_graph *g = p->graph;
    int exps = 0, reductions = 0, others = 0, elements = 0;
    for (int i = 0; i < g->nodes.len; i++) {
        const kn_node *n = g->nodes.data[i];
        exps += n->op == KN_OP_EXP;
        reductions += kn_ops[n->op].cls == KN_REDUCE;
        others += kn_is_value(n);
    }
    others -= exps + reductions;
    for (int i = 0; i < g->inputs.len; i++)
        elements += (int)kn_count(p->in[i].layout.shape, p->in[i].layout.rank);
    if (exps != 1 || reductions != 1 || others > 2 || g->outputs.len != 1 || elements > 4)
        fail_msg("not minimal:\n%s", program_text(p));
}

/* The report names a file that is the minimal program, with its data beside it. */
static void assert_reported(const program *p, kn_context *ctx)
{
    char under[] = "/tmp/kiln-test-XXXXXX", path[100], command[160];
    glob_t files;
    assert_non_null(mkdtemp(under));
    setenv("KILN_FAILURES", under, 1);
    const char *report = program_report(p, "cpu", &option_sets[0], "planted", check, ctx);
    unsetenv("KILN_FAILURES");
    assert_non_null(strstr(report, under));
    assert_non_null(strstr(report, "kiln run"));
    snprintf(path, sizeof path, "%s/*/failing.kiln", under);
    assert_int_equal(glob(path, 0, NULL, &files), 0);
    program *again = program_read(p->arena, files.gl_pathv[0], "A=2 B=2 C=2 D=2 E=2 F=2", 1);
    if (!again)
        fail_msg("%s", kn_last_error());
    assert_true(has_fault(again));
    globfree(&files);
    snprintf(command, sizeof command, "rm -r %s", under);
    assert_int_equal(system(command), 0);
}

/* The context of a device with the fault. */
static kn_context *plant(bool (*in)(const program *p))
{
    static kn_device_ops faulty;
    kn_context *ctx;
    ctx = open_context("cpu");
    honest = ctx->dev->ops;
    faulty = *honest;
    faulty.download = download;
    ctx->dev->ops = &faulty;
    has_fault = in;
    return ctx;
}

static void uproot(kn_context *ctx)
{
    ctx->dev->ops = honest;
    kn_context_close(ctx);
}

static void test_planted(void **state)
{
    (void)state;
    kn_context *ctx = plant(reduces_exp);
    int found = 0;
    for (uint64_t seed = 1; seed < 2000 && found < 10; seed++) {
        kn_arena a;
        kn_arena_init(&a, NULL);
        kn_text why = kn_text_new(&a);
        program *p = program_make(&a, seed, ELEMENTS);
        assert_non_null(p);
        if (check(ctx, p, &option_sets[0], &why).fault != NO_FAULT) {
            assert_true(wrong);
            const program *smallest = program_minimise(p, &option_sets[0], check, ctx);
            assert_minimal(smallest);
            assert_same_results(smallest, program_text(smallest));
            if (found++ == 0)
                assert_reported(p, ctx);
        }
        kn_arena_finish(&a);
    }
    uproot(ctx);
    assert_int_equal(found, 10);
}

/* Where the operations that stay are over sizes that only an input told which the failure does not need: it goes, and
 * the sizes become numbers. Every part without the fault fails too, in another way. */
static void test_sizes_stay(void **state)
{
    (void)state;
    static const char text[] = "def f(x: f32[A, B], z: f32[A + B]):\n"
                               "    m = max(x, axis=(0, 1), keepdims=True)\n"
                               "    y = tanh(broadcast_to(m[None], (A, A + B, B)))\n"
                               "    return y, z * 2\n";
    kn_context *ctx = plant(repeats);
    kn_arena a;
    otherwise = true;
    kn_arena_init(&a, NULL);
    kn_text why = kn_text_new(&a);
    program *p = program_of_text(&a, text, "text", "A=3 B=4", 1);
    assert_non_null(p);
    const program *smallest = program_minimise(p, &option_sets[0], check, ctx);
    const kn_graph *g = smallest->graph;
    int operations = 0;
    for (int i = 0; i < g->nodes.len; i++)
        operations += kn_ops[g->nodes.data[i]->op].cls != KN_LEAF;
    assert_int_equal(check(ctx, smallest, &option_sets[0], &why).fault, WRONG_VALUE);
    assert_same_results(smallest, program_text(smallest));
    if (operations != 1 || g->outputs.len != 1 ||
        kn_count(smallest->out[0].layout.shape, smallest->out[0].layout.rank) != 2)
        fail_msg("not minimal:\n%s", program_text(smallest));
    kn_arena_finish(&a);
    otherwise = false;
    uproot(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text), cmocka_unit_test(test_text_quotient),
        cmocka_unit_test(test_sizes_are_taken), cmocka_unit_test(test_planted),
        cmocka_unit_test(test_sizes_stay)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
