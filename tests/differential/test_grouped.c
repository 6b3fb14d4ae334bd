/* Random programs with reductions of one array over axes of which one has a part of the other's: each reduction as it is
 * written, and by the groups of others, however loop nests are divided.
 *
 * KILN_FUZZ: how many programs; KILN_SEED: the first one's seed. */
#include <stdio.h>

#include "ir/build.h"
#include "ir/pass/pass.h"
#include "tests/differential/check.h"
#include "tests/on_device.h"

enum { PROGRAMS = EFFORT(90, 30), ELEMENTS = 3000, MOST_REDUCTIONS = 3 };

static const kn_loc nowhere;

/* A function of x's elements, of x's type. */
static kn_node *changed(kn_graph *g, rng *r, kn_node *x)
{
    static const kn_op ops[] = {KN_OP_ABS, KN_OP_NEG, KN_OP_MUL, KN_OP_ADD, KN_OP_TANH};
    const kn_op op = ops[below(r, kn_is_float(x->dtype) ? 5 : 4)];
    kn_node *in[] = {x, x};
    if (x->dtype == KN_BOOL || chance(r, 25))
        return x;
    kn_node *made = kn_build_elem(g, op, in, kn_ops[op].arity, nowhere);
    return kn_build_cast(g, made, x->dtype, nowhere);
}

/* A reduction of x over these axes, with other types now and then. */
static kn_node *reduced(kn_graph *g, rng *r, kn_node *x, uint32_t mask)
{
    static const kn_op ops[] = {KN_OP_SUM, KN_OP_SUM,  KN_OP_MEAN, KN_OP_MAX, KN_OP_MIN,
                                KN_OP_ANY, KN_OP_PROD, KN_OP_ALL,  KN_OP_VAR};
    const kn_op op = ops[below(r, 9)];
    int axes[KN_MAX_RANK], n = 0;
    for (int j = 0; j < x->rank; j++)
        if (mask >> j & 1)
            axes[n++] = j;
    const bool any = op == KN_OP_ANY || op == KN_OP_ALL;
    const kn_reduction by = {.axes = axes, .naxes = n, .keepdims = true};
    kn_node *of = kn_build_cast(g, x, any ? KN_BOOL : x->dtype, nowhere);
    return kn_build_reduction(g, op, of, &by, nowhere);
}

/* Reductions of an output, each over all axes of the one before and one more or several, or of what that one's result leaves. */
static void add_reductions(kn_graph *g, rng *r, kn_node *x)
{
    uint32_t axes = 0;
    kn_node *last = NULL;
    for (int i = 0; i < MOST_REDUCTIONS && axes != (1u << x->rank) - 1; i++) {
        axes |= i && chance(r, 30) ? (1u << x->rank) - 1 : 1u << below(r, x->rank);
        kn_node *y = changed(g, r, x), *in[] = {y, last};
        const bool less =
            last && kn_is_float(last->dtype) && y && kn_is_float(y->dtype) && chance(r, 30);
        if (less)
            y = kn_build_elem(g, KN_OP_SUB, in, 2, nowhere);
        kn_node *made = y ? reduced(g, r, y, axes) : NULL;
        char name[32];
        snprintf(name, sizeof name, "reduced%d", i);
        if (!made || kn_build_output(g, name, made, nowhere) != KN_OK)
            return;
        last = made;
    }
}

static program *made(kn_arena *a, uint64_t seed)
{
    program *p = program_draw(a, seed, ELEMENTS, NULL);
    rng r = {seed * 7919};
    kn_graph *g = p->graph;
    kn_node *x = g->outputs.data[below(&r, g->outputs.len)].node;
    for (int i = 0; i < g->inputs.len && x->rank < 2; i++)
        x = g->inputs.data[i].node;
    if (x->rank >= 2 && !kn_is_complex(x->dtype))
        add_reductions(g, &r, x);
    kn_clear_error(); /* of what could not be made */
    kn_symbols_derive(g->syms, a, p->sizes);
    return program_with_data(p);
}

static bool has_groups(const program *p)
{
    kn_arena a;
    kn_arena_init(&a, NULL);
    const kn_graph *g = kn_graph_optimise(&a, kn_graph_clone(&a, p->graph), false, NULL);
    const bool has = g && g->grouped;
    kn_arena_finish(&a);
    return has;
}

static void check(const char *device)
{
    static const kn_program_options ways[] = {
        {.fusion = true, .schedule = "grouped"},
        {.fusion = true},
        {.fusion = true, .schedule = "grouped, split"},
        {.fusion = true, .schedule = "grouped, cluster=2"},
        {.fusion = true, .schedule = "grouped, whole, recompute"},
        {.fusion = true, .schedule = "grouped, resident, keep"},
        {.fusion = true, .schedule = "direct"}};
    enum { WAYS = sizeof ways / sizeof *ways };
    kn_context *ctx = open_context(device);
    tally seen = {0};
    int grouped = 0;
    const uint64_t first = setting("KILN_SEED", 1), n = setting("KILN_FUZZ", PROGRAMS);
    for (uint64_t seed = first; seed < first + n; seed++) {
        kn_arena a;
        kn_arena_init(&a, NULL);
        program *p = made(&a, seed);
        const bool has = p && has_groups(p); /* a minimum of nothing is none */
        grouped += has;
        for (int w = 0; w < 2 && has; w++) /* grouped in one way at least */
            must_agree(p, ctx, &ways[w ? seed % WAYS : 0], device, &seen);
        kn_arena_finish(&a);
    }
    kn_context_close(ctx);
    assert_true(seen.compared > 2 * seen.skipped);
    assert_true(n < PROGRAMS || grouped > (int)n / 4);
}

static double predicted(const program *p, kn_context *ctx, const char *schedule,
                        const kn_target *target)
{
    const kn_program_options o = {.fusion = true, .schedule = schedule};
    kn_arena a;
    kn_program *prog;
    kn_plan *plan = NULL;
    kn_arena_init(&a, NULL);
    if (kn_program_create(ctx, p->graph, &o, &prog) != KN_OK ||
        program_plan(p, prog, target, &a, &plan) != KN_OK)
        fail_msg("KILN_SEED=%llu: %s", (unsigned long long)p->seed, kn_last_error());
    const double ns = plan->ns;
    kn_program_destroy(prog);
    kn_arena_finish(&a);
    return ns;
}

/* What is chosen is predicted to take no longer than what is written, and no longer than by groups but for what plans are
 * alike by. */
static void test_choice(void **state)
{
    static const char *const archs[] = {"sm_90", "cpu"};
    (void)state;
    kn_context *ctx = open_context("cpu");
    int quicker = 0;
    for (uint64_t seed = 1; seed <= EFFORT(80, 20); seed++) {
        kn_arena a;
        kn_arena_init(&a, NULL);
        const program *p = made(&a, seed);
        for (int i = 0; i < 2 && p && has_groups(p); i++) {
            kn_target target = *ctx->dev->ops->target(ctx->dev);
            if (i == 0)
                assert_true(kn_target_of_arch(archs[i], &target));
            const double ns = predicted(p, ctx, NULL, &target);
            const double direct = predicted(p, ctx, "direct", &target);
            if (ns > direct || ns > 1.021 * predicted(p, ctx, "grouped", &target))
                fail_msg("KILN_SEED=%llu, %s: the slower form is chosen", (unsigned long long)seed,
                         archs[i]);
            quicker += ns < direct;
        }
        kn_arena_finish(&a);
    }
    kn_context_close(ctx);
    assert_true(quicker > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_choice), ON_DEVICE(check, "cpu"),
                                       ON_DEVICE(check, "emu")};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
