/* The outputs of random programs, assembled: padded, joined and stacked with others, put into larger arrays, and inputs parts of
 * which are updated. In pieces, however loop nests are divided, and as is predicted to be best.
 *
 * KILN_FUZZ: how many programs; KILN_SEED: the first one's seed. */
#include <stdio.h>

#include "ir/build.h"
#include "tests/differential/check.h"
#include "tests/on_device.h"

enum { PROGRAMS = EFFORT(60, 20), ELEMENTS = 3000 };

static const kn_loc nowhere;

/* A slice of one axis, all of the others. */
static kn_node *sliced(kn_graph *g, kn_node *x, int axis, int lo, kn_dim size, int step)
{
    kn_index_item items[KN_MAX_RANK];
    kn_symbols *s = g->syms;
    for (int j = 0; j < x->rank; j++)
        items[j] = (kn_index_item){.kind = KN_INDEX_SLICE, .step = 1};
    items[axis].step = step;
    if (step > 0) {
        items[axis].lo = kn_dim_const(s, lo);
        items[axis].hi =
            size ? kn_dim_add(s, items[axis].lo, kn_dim_mul(s, size, kn_dim_const(s, step))) : NULL;
    }
    return kn_build_index(g, x, items, x->rank, nowhere);
}

/* Ones of x's shape, but for its axis. */
static kn_node *ones_like(kn_graph *g, const kn_node *x, int axis, kn_dim size)
{
    kn_dim shape[KN_MAX_RANK];
    for (int j = 0; j < x->rank; j++)
        shape[j] = j == axis ? size : x->shape[j];
    kn_node *one = kn_build_int(g, 1, nowhere);
    return kn_build_full(g, shape, x->rank, one, x->dtype, nowhere);
}

static kn_node *padded(kn_graph *g, rng *r, kn_node *x)
{
    kn_padding before, after;
    for (int j = 0; j < x->rank; j++) {
        before.width[j] = kn_dim_const(g->syms, chance(r, 50) ? below(r, 3) : 0);
        after.width[j] = kn_dim_const(g->syms, chance(r, 50) ? below(r, 9) : 0);
        before.value[j] = after.value[j] = kn_build_int(g, 1, nowhere);
    }
    return kn_build_pad(g, x, &before, &after, KN_PAD_CONSTANT, nowhere);
}

static kn_node *joined(kn_graph *g, rng *r, kn_node *x, int axis)
{
    kn_node *flipped = kn_build_flip(g, x, &axis, 1, nowhere);
    kn_node *ones = ones_like(g, x, axis, kn_dim_const(g->syms, below(r, 9)));
    kn_node *parts[3] = {ones, x, flipped};
    const int first = below(r, 2), n = 2 + below(r, 2 - first);
    return kn_build_concatenate(g, parts + first, n, axis, nowhere);
}

/* Into ones, once or twice. */
static kn_node *put(kn_graph *g, rng *r, kn_node *x, int axis)
{
    kn_symbols *s = g->syms;
    const int step = 1 + chance(r, 20), lo = below(r, 3);
    kn_dim size = kn_dim_mul(s, x->shape[axis], kn_dim_const(s, step));
    kn_node *base = ones_like(g, x, axis, kn_dim_add(s, size, kn_dim_const(s, 5)));
    kn_node *view = base ? sliced(g, base, axis, lo, x->shape[axis], step) : NULL;
    kn_node *made = view ? kn_build_put(g, base, view, x, nowhere) : NULL;
    if (!made || chance(r, 50))
        return made;
    view = sliced(g, made, axis, 1, kn_dim_const(s, 2), 1);
    kn_node *two = kn_build_cast(g, kn_build_int(g, 2, nowhere), made->dtype, nowhere);
    return view ? kn_build_put(g, made, view, two, nowhere) : NULL;
}

/* What is made of two that lie apart, or over each other. */
static kn_node *both(kn_graph *g, rng *r, kn_node *x, int axis)
{
    kn_symbols *s = g->syms;
    kn_node *base = ones_like(g, x, axis, kn_dim_add(s, x->shape[axis], kn_dim_const(s, 4)));
    kn_node *made[2] = {NULL};
    const int lo = chance(r, 50) ? 4 : 1;
    for (int i = 0; i < 2 && base; i++) {
        const int first = i ? lo : 0;
        kn_node *view = sliced(g, base, axis, first, x->shape[axis], 1);
        kn_node *v = i ? kn_build_flip(g, x, &axis, 1, nowhere) : x;
        made[i] = view && v ? kn_build_put(g, base, view, v, nowhere) : NULL;
    }
    return made[0] && made[1] ? kn_build_elem(g, KN_OP_MAXIMUM, made, 2, nowhere) : NULL;
}

/* x itself where nothing can be made of it. */
static kn_node *assembled(kn_graph *g, rng *r, kn_node *x)
{
    if (x->rank == 0 || x->rank > 6)
        return x;
    const int axis = below(r, x->rank);
    kn_node *made = NULL, *two[2] = {x, x};
    switch (below(r, 6)) {
    case 0: made = padded(g, r, x); break;
    case 1: made = joined(g, r, x, axis); break;
    case 2: made = kn_build_stack(g, two, 2, axis, nowhere); break;
    case 3: made = kn_is_complex(x->dtype) ? NULL : both(g, r, x, axis); break;
    case 4:
        two[1] = kn_build_flip(g, two[0] = joined(g, r, x, axis), &axis, 1, nowhere);
        made = two[1] ? kn_build_elem(g, KN_OP_NE, two, 2, nowhere) : NULL;
        break;
    default: made = put(g, r, x, axis); break;
    }
    return !made ? x : chance(r, 25) ? assembled(g, r, made) : made;
}

/* Part of an input becomes what depends on all of it, or lies elsewhere. */
static void update(kn_graph *g, rng *r, int input)
{
    const kn_input *in = &g->inputs.data[input];
    kn_node *x = in->node;
    const int axis = x->rank ? below(r, x->rank) : 0, step = chance(r, 70) ? 1 : 2;
    if (in->by_value || x->rank == 0 || kn_is_complex(x->dtype))
        return;
    kn_node *view = sliced(g, x, axis, below(r, 3), NULL, chance(r, 15) ? -1 : step);
    kn_node *v = kn_build_flip(g, view, &axis, 1, nowhere);
    if (chance(r, 50)) {
        const kn_reduction all = {.axes = &axis, .naxes = 1, .keepdims = true};
        kn_node *sum = kn_build_reduction(g, KN_OP_SUM, view, &all, nowhere);
        kn_node *in_sum[2] = {view, sum};
        v = kn_build_elem(g, KN_OP_MAXIMUM, in_sum, 2, nowhere);
    }
    v = kn_build_cast(g, v, x->dtype, nowhere);
    kn_node *made = kn_build_put(g, x, view, v, nowhere);
    if (!made || kn_build_update(g, in->name, made, nowhere) != KN_OK)
        fail_msg("%s", kn_last_error());
}

static program *made(kn_arena *a, uint64_t seed)
{
    program *p = program_draw(a, seed, ELEMENTS, NULL);
    rng r = {seed * 7919};
    kn_graph *g = p->graph;
    for (int o = 0; o < g->outputs.len; o++)
        if (chance(&r, 70))
            g->outputs.data[o].node = assembled(g, &r, g->outputs.data[o].node);
    const int inputs = g->inputs.len;
    for (int i = 0; i < inputs; i++)
        if (chance(&r, 40))
            update(g, &r, i);
    kn_clear_error(); /* of what could not be made */
    kn_symbols_derive(g->syms, a, p->sizes);
    return program_with_data(p);
}

static void check(const char *device)
{
    static const kn_program_options ways[] = {
        {.fusion = true, .schedule = "pieces"},
        {.fusion = true},
        {.fusion = true, .schedule = "pieces, split"},
        {.fusion = true, .schedule = "pieces, cluster=2"},
        {.fusion = true, .schedule = "pieces, whole, recompute"},
        {.fusion = true, .schedule = "pieces, tiles, keep"}};
    enum { WAYS = sizeof ways / sizeof *ways };
    kn_context *ctx = open_context(device);
    tally seen = {0};
    const uint64_t first = setting("KILN_SEED", 1), n = setting("KILN_FUZZ", PROGRAMS);
    for (uint64_t seed = first; seed < first + n; seed++) {
        kn_arena a;
        kn_arena_init(&a, NULL);
        program *p = made(&a, seed);
        if (!p)
            fail_msg("KILN_SEED=%llu: %s", (unsigned long long)seed, kn_last_error());
        for (int w = 0; w < 2; w++) /* in pieces in one way at least */
            must_agree(p, ctx, &ways[w ? seed % WAYS : 0], device, &seen);
        kn_arena_finish(&a);
    }
    kn_context_close(ctx);
    assert_true(seen.compared > 2 * seen.skipped);
}

static double predicted(const program *p, kn_context *ctx, const kn_program_options *o,
                        const kn_target *target)
{
    kn_arena a;
    kn_program *prog;
    kn_plan *plan = NULL;
    kn_arena_init(&a, NULL);
    if (kn_program_create(ctx, p->graph, o, &prog) != KN_OK ||
        program_plan(p, prog, target, &a, &plan) != KN_OK)
        fail_msg("KILN_SEED=%llu: %s", (unsigned long long)p->seed, kn_last_error());
    const double ns = plan->ns;
    kn_program_destroy(prog);
    kn_arena_finish(&a);
    return ns;
}

/* What is chosen is predicted to take no longer than joined, or one kernel an operation. */
static void test_choice(void **state)
{
    static const kn_program_options chosen = {.fusion = true}, unfused = {.fusion = false},
                                    joined = {.fusion = true, .schedule = "joined"};
    static const char *const archs[] = {"sm_90", "cpu"};
    (void)state;
    kn_context *ctx = open_context("cpu");
    int quicker = 0;
    for (uint64_t seed = 1; seed <= EFFORT(40, 20); seed++) {
        kn_arena a;
        kn_arena_init(&a, NULL);
        const program *p = made(&a, seed);
        for (int i = 0; i < 2 && p; i++) {
            kn_target target = *ctx->dev->ops->target(ctx->dev);
            if (i == 0)
                assert_true(kn_target_of_arch(archs[i], &target));
            const double ns = predicted(p, ctx, &chosen, &target);
            const double whole = predicted(p, ctx, &joined, &target);
            if (ns > whole || ns > predicted(p, ctx, &unfused, &target))
                fail_msg("KILN_SEED=%llu, %s: predicted to take longer than what is not fused",
                         (unsigned long long)seed, archs[i]);
            quicker += ns < whole;
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
