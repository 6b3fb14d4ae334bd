/* The graph as text and as a Graphviz drawing. */
#include <stdio.h>

#include "ir/graph.h"

void kn_scalar_print(kn_text *t, kn_scalar v)
{
    if (v.dtype == KN_BOOL)
        kn_put(t, v.i ? "True" : "False");
    else if (kn_is_float(v.dtype))
        kn_putf(t, "%.17g", v.f);
    else if (kn_is_complex(v.dtype))
        kn_putf(t, "%.17g%+.17gj", v.f, v.im);
    else if (kn_is_unsigned(v.dtype))
        kn_putf(t, "%llu", (unsigned long long)v.i);
    else
        kn_putf(t, "%lld", (long long)v.i);
}

static void print_axes(kn_text *t, uint32_t axes)
{
    const char *sep = "(";
    for (int i = 0; i < KN_MAX_RANK; i++)
        if (axes >> i & 1) {
            kn_putf(t, "%s%d", sep, i);
            sep = ", ";
        }
    kn_put(t, *sep == '(' ? "()" : ")");
}

static void print_payload(kn_text *t, const kn_graph *g, const kn_node *n)
{
    switch (n->op) {
    case KN_OP_INPUT:
    case KN_OP_SCALAR: kn_putf(t, " %s", g->inputs.data[n->u.input].name); break;
    case KN_OP_CONST:
        kn_put(t, " ");
        kn_scalar_print(t, n->u.value);
        break;
    case KN_OP_EXTENT:
        kn_put(t, " ");
        kn_dim_print(t, g->syms, n->u.dim);
        break;
    case KN_OP_PERMUTE:
        kn_put(t, " (");
        for (int i = 0; i < n->rank; i++)
            kn_putf(t, "%s%d", i ? ", " : "", n->u.perm[i]);
        kn_put(t, ")");
        break;
    case KN_OP_INDEX:
        for (int j = 0; j < n->in[0]->rank; j++) {
            kn_put(t, j ? ", " : " [");
            kn_dim_print(t, g->syms, n->u.index->start[j]);
            if (n->u.index->axis[j] >= 0)
                kn_putf(t, " + %lld*i%d", (long long)n->u.index->step[j], n->u.index->axis[j]);
        }
        kn_put(t, "]");
        break;
    case KN_OP_TAKE:
        for (int j = 0; j < n->in[0]->rank; j++)
            if (n->u.gather.by[j])
                kn_putf(t, "%s%%%d", j ? ", " : " [", n->in[n->u.gather.by[j]]->id);
            else
                kn_putf(t, n->u.gather.axis[j] < 0 ? "%s0" : "%si%d", j ? ", " : " [",
                        n->u.gather.axis[j]);
        kn_put(t, n->u.gather.checked ? "] checked" : "]");
        break;
    default:
        if (kn_ops[n->op].cls == KN_REDUCE) {
            kn_put(t, " axes=");
            print_axes(t, n->u.reduce.axes);
            if (n->op == KN_OP_REDUCE_BY)
                kn_putf(t, " carried %d of {%s}", n->u.reduce.carried, n->by->text);
            if (n->u.reduce.ddof)
                kn_putf(t, " ddof=%d", n->u.reduce.ddof);
            if (kn_ops[n->op].empty == KN_EMPTY_ERROR && !n->u.reduce.nonempty)
                kn_put(t, " of identity");
        }
    }
}

void kn_graph_print(kn_text *t, const kn_graph *g, bool canonical)
{
    if (!canonical)
        kn_putf(t, "graph %s\n", g->name);
    for (int i = 0; i < g->nodes.len; i++) {
        const kn_node *n = g->nodes.data[i];
        kn_putf(t, "  %%%d = %s", n->id, kn_ops[n->op].text);
        for (int j = 0; j < n->nin; j++)
            kn_putf(t, "%s %%%d", j ? "," : "", n->in[j]->id);
        print_payload(t, g, n);
        kn_putf(t, " : %s%s", n->weak ? "weak " : "", kn_dtypes[n->dtype].text);
        kn_shape_print(t, g->syms, n->shape, n->rank);
        if (!canonical && n->name && n->op != KN_OP_INPUT && n->op != KN_OP_SCALAR)
            kn_putf(t, "  # %s", n->name);
        kn_put(t, "\n");
    }
    for (int i = 0; i < g->outputs.len; i++)
        kn_putf(t, "  %s %s = %%%d\n", g->outputs.data[i].updates < 0 ? "return" : "update",
                g->outputs.data[i].name, g->outputs.data[i].node->id);
    for (int i = 0; i < g->facts.list.len; i++) {
        kn_put(t, "  fact ");
        kn_fact_print(t, g->syms, &g->facts.list.data[i]);
        kn_putf(t, "  # %s\n", g->facts.list.data[i].why);
    }
}

void kn_graph_dot(kn_text *t, const kn_graph *g)
{
    kn_putf(t, "digraph %s {\n  node [shape=box, fontname=\"monospace\"];\n", g->name);
    for (int i = 0; i < g->nodes.len; i++) {
        const kn_node *n = g->nodes.data[i];
        kn_putf(t, "  n%d [label=\"%s", n->id, kn_ops[n->op].text);
        print_payload(t, g, n);
        if (n->name && n->op != KN_OP_INPUT && n->op != KN_OP_SCALAR)
            kn_putf(t, "\\n%s", n->name);
        kn_putf(t, "\\n%s", kn_dtypes[n->dtype].text);
        kn_shape_print(t, g->syms, n->shape, n->rank);
        kn_put(t, kn_ops[n->op].cls == KN_REDUCE ? "\", style=bold];\n" : "\"];\n");
        for (int j = 0; j < n->nin; j++)
            kn_putf(t, "  n%d -> n%d;\n", n->in[j]->id, n->id);
    }
    for (int i = 0; i < g->outputs.len; i++)
        kn_putf(t, "  out%d [label=\"%s\", shape=ellipse];\n  n%d -> out%d;\n", i,
                g->outputs.data[i].name, g->outputs.data[i].node->id, i);
    kn_put(t, "}\n");
}
