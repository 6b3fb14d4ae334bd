/* Programs of any length, a family of texts each: what building, optimising and planning one takes must grow gently. */
#ifndef KN_TESTS_UNIT_FAMILIES_H
#define KN_TESTS_UNIT_FAMILIES_H

#include "frontend/parse/parse.h"
#include "ir/build.h"
#include "tests/random.h"

typedef void (*family_fn)(kn_text *t, int operations);

/* A chain, each tenth operation of which takes a mean of its rows. */
static void chain_of_means(kn_text *t, int operations)
{
    kn_put(t, "def f(x: f32[N, M]):\n    v = x\n");
    for (int i = 0; i < operations; i++)
        kn_putf(t,
                i % 10 == 9 ? "    v = v - mean(v, axis=1, keepdims=True)\n"
                            : "    v = v * x + %d\n",
                i);
    kn_put(t, "    return v\n");
}

static void updates_in_place(kn_text *t, int operations)
{
    kn_put(t, "def f(x: f32[N, M]):\n");
    for (int i = 0; i < operations; i++)
        kn_putf(t, "    x[%d] += x[%d] * 2\n", i % 7, (i + 3) % 7);
}

/* Places of slices overlap, so that each assignment waits for the one before it. */
static void updates_of_slices(kn_text *t, int operations)
{
    kn_put(t, "def f(x: f32[N], y: f32[N]):\n");
    for (int i = 0; i < operations; i++)
        kn_putf(t, "    x[%d:] = x[%d:] * %d\n", i % 5, i % 5, i + 2);
}

/* A factor of its own a step: two values that wait for nothing before each merge. */
static void factors(kn_text *t, int operations)
{
    kn_put(t, "def f(x: f32[N, M], y: f32[N, M]):\n");
    for (int i = 0; i < operations; i++)
        kn_putf(t, "    x *= y + %d\n", i);
}

static void chain(kn_text *t, int operations)
{
    kn_put(t, "def f(x: f32[N], y: f32[N]):\n    v = x\n");
    for (int i = 0; i < operations; i++)
        kn_putf(t, i % 3 ? "    v = maximum(v, y) + %d\n" : "    v = v * y - %d\n", i);
    kn_put(t, "    return v\n");
}

/* Each operation is on two earlier values, wherever they are. */
static void random_graph(kn_text *t, int operations)
{
    static const char *const ops[] = {"+", "-", "*"};
    uint64_t state = 1;
    kn_put(t, "def f(x: f32[N, M], y: f32[M]):\n    v0 = x + y\n");
    for (int i = 1; i < operations; i++) {
        unsigned at[3];
        for (int k = 0; k < 3; k++)
            at[k] = (unsigned)(random_64(&state) >> 33);
        if (at[2] % 50 == 0)
            kn_putf(t, "    v%d = v%u - sum(v%u, axis=1, keepdims=True)\n", i, at[0] % (unsigned)i,
                    at[1] % (unsigned)i);
        else
            kn_putf(t, "    v%d = v%u %s v%u\n", i, at[0] % (unsigned)i, ops[at[2] % 3],
                    at[1] % (unsigned)i);
    }
    kn_put(t, "    return v0");
    for (int i = operations - operations / 20; i < operations; i++)
        kn_putf(t, " + v%d", i);
    kn_put(t, "\n");
}

/* Many leaves, added two by two. */
static void wide_tree(kn_text *t, int operations)
{
    int leaves = operations / 2 + 1;
    kn_put(t, "def f(x: f32[N, M]):\n");
    for (int i = 0; i < leaves; i++)
        kn_putf(t, "    a%d = x * %d\n", i, i + 2);
    for (int step = 1; step < leaves; step *= 2)
        for (int i = 0; i + step < leaves; i += 2 * step)
            kn_putf(t, "    a%d = a%d + a%d\n", i, i, i + step);
    kn_put(t, "    return a0\n");
}

/* A ring buffer that drops its first row and appends one. */
static void ring_buffer(kn_text *t, int operations)
{
    kn_put(t, "def f(x: f32[N, M]):\n    v = x\n");
    for (int i = 0; i < operations; i++)
        kn_put(t, "    v = concatenate((v[1:], v[:1] * 2), axis=0)\n");
    kn_put(t, "    return v\n");
}

/* The same with a row more: each size is made of the one before it. */
static void derived_sizes(kn_text *t, int operations)
{
    kn_put(t, "def f(x: f32[N, M]):\n    v = x\n");
    for (int i = 0; i < operations; i++)
        kn_put(t, "    v = concatenate((v[1:], v[:2] * 2), axis=0)\n");
    kn_put(t, "    return v\n");
}

/* Each size is half of the one before it. */
static void halves(kn_text *t, int operations)
{
    kn_put(t, "def f(x: f32[N, M]):\n    v = x\n");
    for (int i = 0; i < operations; i++)
        kn_put(t, "    v = v[:v.shape[0] // 2] + v[:v.shape[0] // 2] * 2\n");
    kn_put(t, "    return v\n");
}

/* Every operation has an argument and a result of its own: more than a text may have. */
static kn_status many_arguments(kn_graph *g, int operations)
{
    kn_loc none = {0};
    kn_dim n = kn_dim_sym(g->syms, "N", 1);
    for (int i = 0; i < operations; i++) {
        kn_node *x = kn_build_input(g, kn_sprintf(g->arena, "x%d", i), KN_F32, &n, 1, none);
        kn_node *in[] = {x, kn_build_float(g, i + 2, none)};
        KN_TRY(kn_build_output(g, kn_sprintf(g->arena, "y%d", i),
                               kn_build_elem(g, KN_OP_MUL, in, 2, none), none));
    }
    return KN_OK;
}

/* A sum of many arrays, each of which vectors would read off their alignment. */
static kn_status unaligned_arguments(kn_graph *g, int operations)
{
    kn_loc none = {0};
    kn_dim n = kn_dim_sym(g->syms, "N", 1);
    kn_node *sum = kn_build_float(g, 0, none);
    for (int i = 0; i < operations; i++) {
        kn_node *x = kn_build_input(g, kn_sprintf(g->arena, "x%d", i), KN_F32, &n, 1, none);
        kn_node *in[] = {sum, x};
        KN_TRY(kn_parse_slice(g, i ? "1:" : ":-1", x, &in[1]));
        sum = kn_build_elem(g, KN_OP_ADD, in, 2, none);
    }
    return kn_build_output(g, "y", sum, none);
}

static const struct {
    const char *name;
    family_fn write;
    kn_status (*build)(kn_graph *g, int operations); /* without a text */
    int operations;                                  /* that make some 10,000 nodes */
    int most;                                        /* nodes that one of them becomes */
} families[] = {
    {"chain_of_means", chain_of_means, NULL, 2600, 4},
    {"updates_in_place", updates_in_place, NULL, 2500, 5},
    {"chain", chain, NULL, 2500, 4},
    {"random_graph", random_graph, NULL, 8000, 1},
    {"wide_tree", wide_tree, NULL, 5000, 3},
    {"many_arguments", NULL, many_arguments, 2500, 4},
    {"derived_sizes", derived_sizes, NULL, 350, 29},
    {"halves", halves, NULL, 3300, 4},
    {"updates_of_slices", updates_of_slices, NULL, 1800, 6},
    {"factors", factors, NULL, 2500, 5},
    {"ring_buffer", ring_buffer, NULL, 1600, 7},
    {"unaligned_arguments", NULL, unaligned_arguments, 2500, 4},
};
enum { FAMILIES = sizeof families / sizeof *families };

static kn_status make_program(kn_graph *g, int family, int operations)
{
    kn_text t = kn_text_new(g->arena);
    if (families[family].build)
        return families[family].build(g, operations);
    families[family].write(&t, operations);
    return kn_parse(g, kn_text_str(&t), NULL);
}

#endif
