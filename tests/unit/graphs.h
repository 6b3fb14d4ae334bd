/* For tests of ir/: graphs from the text form, and graphs as text. */
#ifndef KN_TESTS_UNIT_GRAPHS_H
#define KN_TESTS_UNIT_GRAPHS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "frontend/parse/parse.h"

static kn_arena arena;

static int setup(void **state)
{
    (void)state;
    kn_arena_init(&arena, NULL);
    kn_clear_error();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    kn_arena_finish(&arena);
    return 0;
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* The graph of "def f(<params>): return <expressions>". */
static inline kn_graph *graph_of(const char *params, const char *expressions)
{
    kn_graph *g = kn_graph_new(&arena, "f");
    const char *text = kn_sprintf(&arena, "def f(%s):\n    return %s\n", params, expressions);
    if (kn_parse(g, text, NULL) != KN_OK)
        fail_msg("%s", kn_last_error());
    assert_int_equal(kn_graph_verify(g), KN_OK);
    return g;
}

/* Values for the graph's symbols, "N=4, C=6"; the rest follows from these. */
static inline int64_t *sizes_of(kn_graph *g, const char *text)
{
    int n = kn_symbols_count(g->syms);
    int64_t *sizes = KN_NEW_ARRAY(&arena, int64_t, n + 1);
    for (int i = 0; i < n; i++)
        sizes[i] = KN_UNBOUND;
    for (const char *at = text; *at; at += strspn(at, ", ")) {
        size_t name = strcspn(at, "=");
        char *end;
        int sym = kn_symbol_find(g->syms, at, name);
        assert_true(sym >= 0);
        sizes[sym] = strtoll(at + name + 1, &end, 10);
        at = end;
    }
    assert_int_equal(kn_symbols_derive(g->syms, &arena, sizes), KN_OK);
    assert_int_equal(kn_facts_check(&g->facts, g->syms, g->arena, sizes), KN_OK);
    return sizes;
}

/* "add(x, 1.0: f32)": an output as an expression, views and types included:
 *     leaf            its name, or the number
 *     cast            f32(x)
 *     reduction       sum{0,1}(x), var{0;ddof 1}(x)
 *     view            x as [N, 1], x moved (1, 0), x repeated [N, C] */
static inline void put_node(kn_text *t, const kn_graph *g, const kn_node *n)
{
    const char *separator = "";
    switch (n->op) {
    case KN_OP_INPUT:
    case KN_OP_SCALAR: kn_put(t, g->inputs.data[n->u.input].name); return;
    case KN_OP_EXTENT:
        kn_put(t, "size ");
        kn_dim_print(t, g->syms, n->u.dim);
        return;
    case KN_OP_CONST:
        if (n->dtype == KN_BOOL)
            kn_put(t, n->u.value.i ? "True" : "False");
        else if (kn_is_float(n->dtype))
            kn_putf(t, "%.9g", n->u.value.f);
        else if (kn_is_complex(n->dtype))
            kn_putf(t, "%.9g%+.9gj", n->u.value.f, n->u.value.im);
        else
            kn_putf(t, "%lld", (long long)n->u.value.i);
        kn_putf(t, ":%s", kn_dtypes[n->dtype].text);
        return;
    case KN_OP_RESHAPE:
    case KN_OP_BROADCAST:
        put_node(t, g, n->in[0]);
        kn_put(t, n->op == KN_OP_RESHAPE ? " as " : " repeated ");
        kn_shape_print(t, g->syms, n->shape, n->rank);
        return;
    case KN_OP_PERMUTE:
        put_node(t, g, n->in[0]);
        kn_put(t, " moved (");
        for (int i = 0; i < n->rank; i++)
            kn_putf(t, "%s%d", i ? ", " : "", n->u.perm[i]);
        kn_put(t, ")");
        return;
    case KN_OP_CAST: kn_put(t, kn_dtypes[n->dtype].text); break;
    default: kn_put(t, kn_ops[n->op].text);
    }
    if (kn_ops[n->op].cls == KN_REDUCE) {
        kn_put(t, "{");
        for (int i = 0; i < n->rank; i++)
            if (n->u.reduce.axes >> i & 1) {
                kn_putf(t, "%s%d", separator, i);
                separator = ",";
            }
        if (n->u.reduce.ddof)
            kn_putf(t, ";ddof %d", n->u.reduce.ddof);
        kn_put(t, "}");
    }
    for (int i = 0; i < n->nin; i++) {
        kn_put(t, i ? ", " : "(");
        put_node(t, g, n->in[i]);
    }
    kn_put(t, ")");
}

static inline const char *text_of(const kn_graph *g, const kn_node *n)
{
    kn_text t = kn_text_new(&arena);
    put_node(&t, g, n);
    return kn_text_str(&t);
}

/* "f32[N, C]" */
static inline const char *type_of(const kn_graph *g, const kn_node *n)
{
    kn_text t = kn_text_new(&arena);
    kn_put(&t, kn_dtypes[n->dtype].text);
    kn_shape_print(&t, g->syms, n->shape, n->rank);
    return kn_text_str(&t);
}

/* All outputs, with "; " between them. */
static inline const char *outputs_of(const kn_graph *g)
{
    kn_text t = kn_text_new(&arena);
    for (int i = 0; i < g->outputs.len; i++) {
        kn_put(&t, i ? "; " : "");
        put_node(&t, g, g->outputs.data[i].node);
    }
    return kn_text_str(&t);
}

#endif
