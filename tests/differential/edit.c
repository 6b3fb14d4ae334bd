/* A program built again with one thing changed, and read back from its text. The builder and the parser see to it that
 * the result has a meaning. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/parse/parse.h"
#include "tests/differential/program.h"

typedef struct editor {
    const program *from;
    const edit *e;
    program *to;
    kn_node **node;   /* per node of `from`: its successor */
    int64_t *defined; /* per symbol of `from`: its size, where the inputs that stay tell it */
} editor;

static const kn_loc nowhere;

/* A number, or made of several names and numbers; a name alone changes by its size. */
static bool is_fixed(const char *text) { return strpbrk(text, "0123456789+*") != NULL; }

/* A dimension as text: its size, where no input tells it any more. The first quotient of a reshape is left to that to
 * find. */
static const char *dim_text(editor *ed, const kn_node *n, kn_dim d, bool *hole)
{
    kn_text t = kn_text_new(ed->to->arena);
    int64_t size;
    kn_dim_print(&t, ed->from->graph->syms, d);
    if (n->op == KN_OP_RESHAPE && !*hole && strchr(kn_text_str(&t), '/')) {
        *hole = true;
        return "-1";
    }
    bool defined = kn_dim_eval(d, ed->defined, &size);
    if (!defined && !kn_dim_eval(d, ed->from->sizes, &size))
        return "?"; /* the parser refuses it */
    if (ed->e->size && ed->e->size == size && is_fixed(kn_text_str(&t)))
        size = ed->e->becomes;
    else if (defined)
        return kn_text_str(&t);
    return kn_sprintf(ed->to->arena, "%lld", (long long)size);
}

/* A shape in the new graph's dimensions, less axis `drop`. */
static bool shape_of(editor *ed, const kn_node *n, int drop, kn_dim *shape, int *rank)
{
    kn_text t = kn_text_new(ed->to->arena);
    bool hole = false;
    for (int i = 0; i < n->rank; i++)
        if (i != drop)
            kn_putf(&t, "%s%s", t.len ? ", " : "", dim_text(ed, n, n->shape[i], &hole));
    return kn_parse_dims(ed->to->graph, kn_text_str(&t), n->op == KN_OP_RESHAPE, shape, rank) ==
           KN_OK;
}

static kn_node *input_like(editor *ed, const kn_node *n, const char *name, int drop)
{
    kn_dim shape[KN_MAX_RANK];
    int rank;
    return shape_of(ed, n, drop, shape, &rank)
               ? kn_build_input(ed->to->graph, name, n->dtype, shape, rank, nowhere)
               : NULL;
}

static kn_node *one(editor *ed, const kn_node *n)
{
    kn_scalar v = {.dtype = n->dtype};
    if (kn_is_inexact(n->dtype))
        v.f = 1;
    else
        v.i = 1;
    return kn_build_const(ed->to->graph, v, nowhere);
}

static kn_node *leaf(editor *ed, const kn_node *n)
{
    kn_graph *g = ed->to->graph;
    const kn_input *in;
    kn_scalar v = n->u.value;
    switch (n->op) {
    case KN_OP_INPUT: return input_like(ed, n, ed->from->graph->inputs.data[n->u.input].name, -1);
    case KN_OP_SCALAR:
        in = &ed->from->graph->inputs.data[n->u.input];
        ed->to->omitted[g->inputs.len] = ed->from->omitted[n->u.input];
        return kn_build_scalar(g, in->name, n->dtype, in->has_default ? &in->dflt : NULL, nowhere);
    case KN_OP_EXTENT: {
        kn_node like = {.rank = 1, .shape = &n->u.dim};
        kn_dim d;
        int rank;
        return shape_of(ed, &like, -1, &d, &rank) ? kn_build_extent(g, d, nowhere) : NULL;
    }
    default:
        return !n->weak              ? kn_build_const(g, v, nowhere)
               : n->dtype == KN_BOOL ? kn_build_bool(g, v.i != 0, nowhere)
               : n->dtype == KN_I64  ? kn_build_int(g, v.i, nowhere)
               : n->dtype == KN_C128 ? kn_build_complex_number(g, v.f, v.im, nowhere)
                                     : kn_build_float(g, v.f, nowhere);
    }
}

/* Over the same axes, as far as the operand still has them. */
static kn_node *reduction(editor *ed, const kn_node *n, kn_node *x)
{
    int axes[KN_MAX_RANK], count = 0;
    for (int i = 0; i < n->rank && i < x->rank; i++)
        if (n->u.reduce.axes >> i & 1)
            axes[count++] = i;
    bool typed =
        n->op == KN_OP_SUM || n->op == KN_OP_PROD || n->op == KN_OP_MEAN || n->op == KN_OP_VAR;
    const kn_reduction r = {.axes = axes,
                            .naxes = count,
                            .keepdims = true,
                            .dtype = typed ? n->dtype : KN_NO_DTYPE,
                            .ddof = n->u.reduce.ddof};
    return kn_build_reduction(ed->to->graph, n->op, x, &r, nowhere);
}

static kn_node *rebuilt(editor *ed, const kn_node *n)
{
    kn_graph *g = ed->to->graph;
    kn_node *in[KN_MAX_IN] = {0};
    kn_dim shape[KN_MAX_RANK];
    int rank, perm[KN_MAX_RANK];
    for (int k = 0; k < n->nin; k++)
        if (!(in[k] = ed->node[n->in[k]->id]))
            return NULL;
    if (kn_ops[n->op].cls == KN_LEAF)
        return leaf(ed, n);
    if (kn_ops[n->op].cls == KN_REDUCE)
        return reduction(ed, n, in[0]);
    switch (n->op) {
    case KN_OP_CAST: return kn_build_cast(g, in[0], n->dtype, nowhere);
    case KN_OP_PERMUTE:
        for (int i = 0; i < n->rank; i++)
            perm[i] = n->u.perm[i];
        return kn_build_transpose(g, in[0], perm, n->rank, nowhere);
    case KN_OP_RESHAPE:
        return shape_of(ed, n, -1, shape, &rank) ? kn_build_reshape(g, in[0], shape, rank, nowhere)
                                                 : NULL;
    case KN_OP_BROADCAST:
        return shape_of(ed, n, -1, shape, &rank)
                   ? kn_build_broadcast_to(g, in[0], shape, rank, nowhere)
                   : NULL;
    default: return kn_build_elem(g, n->op, in, n->nin, nowhere);
    }
}

static kn_node *successor(editor *ed, const kn_node *n)
{
    const edit *e = ed->e;
    if (n->id != e->node)
        return rebuilt(ed, n);
    switch (e->by) {
    case BY_OPERAND: return ed->node[n->in[e->index]->id];
    case BY_ONE: return one(ed, n);
    case BY_INPUT: return input_like(ed, n, kn_sprintf(ed->to->arena, "r%d", n->id), -1);
    case BY_FLAT_INPUT:
        return input_like(ed, n, ed->from->graph->inputs.data[n->u.input].name, e->index);
    default: return rebuilt(ed, n);
    }
}

/* What the outputs kept need, but for what the edited node no longer does. */
static bool *needed(const program *p, const edit *e)
{
    const kn_graph *g = p->graph;
    bool *need = KN_NEW_ARRAY(p->arena, bool, g->nodes.len + 1);
    for (int o = 0; o < g->outputs.len; o++)
        if (!e->drop[o])
            need[g->outputs.data[o].node->id] = true;
    for (int i = g->nodes.len - 1; i >= 0; i--) {
        const kn_node *n = g->nodes.data[i];
        bool cut = i == e->node && (e->by == BY_ONE || e->by == BY_INPUT);
        for (int k = 0; k < n->nin && need[i] && !cut; k++)
            if (i != e->node || e->by != BY_OPERAND || k == e->index)
                need[n->in[k]->id] = true;
    }
    return need;
}

/* Is the axis one of an input of the result? */
static bool stays(const edit *e, const kn_node *n, int axis)
{
    if (n->id != e->node)
        return n->op == KN_OP_INPUT;
    return e->by == BY_INPUT || (e->by == BY_FLAT_INPUT && axis != e->index);
}

/* The symbols that the shapes of the result's inputs tell, and no others. */
static int64_t *defined_sizes(const program *p, const edit *e, const bool *need)
{
    const kn_graph *g = p->graph;
    int64_t *sizes = KN_NEW_ARRAY(p->arena, int64_t, MAX_SYMBOLS), size;
    for (int i = 0; i < MAX_SYMBOLS; i++)
        sizes[i] = KN_UNBOUND;
    for (bool found = true; found;) {
        found = false;
        for (int i = 0; i < g->nodes.len; i++)
            for (int j = 0; need[i] && j < g->nodes.data[i]->rank; j++) {
                kn_dim d = g->nodes.data[i]->shape[j];
                if (stays(e, g->nodes.data[i], j) && !kn_dim_eval(d, sizes, &size) &&
                    kn_dim_eval(d, p->sizes, &size))
                    found = kn_dim_solve(g->syms, d, size, sizes) == 1 || found;
            }
    }
    return sizes;
}

/* Sizes go by their names. */
static void take_sizes(editor *ed)
{
    kn_symbols *from = ed->from->graph->syms, *to = ed->to->graph->syms;
    for (int i = 0; i < MAX_SYMBOLS; i++)
        ed->to->sizes[i] = KN_UNBOUND;
    for (int s = 0; s < kn_symbols_count(to); s++) {
        const char *name = kn_symbol_name(to, s);
        int old = !name ? -1 : kn_symbol_find(from, name, strlen(name));
        if (old < 0) /* what is derived of others follows */
            continue;
        int64_t size = ed->from->sizes[old];
        bool changes = old == ed->e->symbol || (ed->e->names && size == ed->e->size);
        ed->to->sizes[s] = changes ? ed->e->becomes : size;
    }
}

/* The graph becomes what its text says: a mistake in either shows as another failure. */
static bool read_back(program *p)
{
    kn_graph *g = kn_graph_new(p->arena, p->graph->name);
    if (kn_parse(g, program_text(p), NULL) != KN_OK)
        return false;
    p->graph = g;
    for (int i = 0; i < g->inputs.len; i++)
        p->omitted[i] = p->omitted[i] && g->inputs.data[i].has_default;
    return true;
}

/* Facts that are left to check when the sizes are known: do they hold? */
static bool sizes_hold(const program *p)
{
    int64_t shape[KN_MAX_RANK];
    if (kn_symbols_derive(p->graph->syms, p->arena, (int64_t *)(uintptr_t)p->sizes) != KN_OK ||
        kn_facts_check(&p->graph->facts, p->graph->syms, p->arena, p->sizes) != KN_OK)
        return false;
    for (int i = 0; i < p->graph->nodes.len; i++)
        if (kn_node_sizes(p->graph->nodes.data[i], p->sizes, shape) != KN_OK)
            return false;
    return true;
}

program *program_edit(const program *p, const edit *e)
{
    program *to = KN_NEW(p->arena, program);
    const bool *need = needed(p, e);
    editor ed = {p, e, to, KN_NEW_ARRAY(p->arena, kn_node *, p->graph->nodes.len + 1),
                 defined_sizes(p, e, need)};
    *to = (program){.arena = p->arena,
                    .seed = p->seed,
                    .compact = p->compact || e->compact,
                    .positive = p->positive || e->positive,
                    .graph = kn_graph_new(p->arena, p->graph->name)};
    for (int i = 0; i < p->graph->nodes.len; i++)
        if (need[i] && !(ed.node[i] = successor(&ed, p->graph->nodes.data[i])))
            return NULL;
    for (int o = 0; o < p->graph->outputs.len; o++) {
        const kn_output *out = &p->graph->outputs.data[o];
        if (!e->drop[o] &&
            kn_build_output(to->graph, out->name, ed.node[out->node->id], nowhere) != KN_OK)
            return NULL;
    }
    if (!read_back(to))
        return NULL;
    take_sizes(&ed);
    return sizes_hold(to) ? program_with_data(to) : NULL;
}
