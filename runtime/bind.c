#include "runtime/bind.h"

#include <stdlib.h>
#include <string.h>

#include "base/guess.h"
#include "base/hash.h"
#include "base/table.h"

static const char *sizes_text(kn_arena *a, const int64_t *shape, int rank)
{
    kn_text t = kn_text_new(a);
    kn_put(&t, "[");
    for (int i = 0; i < rank; i++)
        kn_putf(&t, "%s%lld", i ? ", " : "", (long long)shape[i]);
    kn_put(&t, "]");
    return kn_text_str(&t);
}

static const char *declared(kn_arena *a, const kn_graph *g, const kn_node *n)
{
    kn_text t = kn_text_new(a);
    kn_put(&t, kn_dtypes[n->dtype].text);
    kn_shape_print(&t, g->syms, n->shape, n->rank);
    return kn_text_str(&t);
}

/* The layout of one array argument, and how far it is aligned: as far as can be where it has no address. */
static kn_status bind_layout(kn_arena *a, const kn_graph *g, const kn_node *n, const char *what,
                             const kn_arg *arg, kn_layout *layout)
{
    if (arg->dtype != (int)n->dtype)
        return kn_fail(KN_TYPE, "%s %s is %s, but %s was given", what, arg->name, declared(a, g, n),
                       kn_dtype_valid(arg->dtype) ? kn_dtypes[arg->dtype].text
                                                  : "an unknown dtype");
    if (arg->rank != n->rank)
        return kn_fail(KN_SHAPE, "%s %s is %s: rank %d was given, not %d", what, arg->name,
                       declared(a, g, n), arg->rank, n->rank);
    if (arg->rank > 0 && !arg->shape)
        return kn_fail(KN_ARGUMENT, "%s %s: shape is NULL", what, arg->name);
    layout->rank = arg->rank;
    for (int i = 0; i < arg->rank; i++) {
        layout->shape[i] = arg->shape[i];
        if (arg->shape[i] < 0)
            return kn_fail(KN_SHAPE, "%s %s: negative dimension in %s", what, arg->name,
                           sizes_text(a, arg->shape, arg->rank));
    }
    int64_t count = kn_count(layout->shape, layout->rank), bytes = kn_bytes(n->dtype);
    if (count < 0 || count > INT64_MAX / bytes)
        return kn_fail(KN_SHAPE, "%s %s: the size of %s does not fit in 63 bits", what, arg->name,
                       sizes_text(a, arg->shape, arg->rank));
    if (arg->strides && count) /* those of nothing have no meaning */
        memcpy(layout->stride, arg->strides, sizeof *arg->strides * (size_t)arg->rank);
    else
        kn_compact_strides(layout->shape, layout->rank, layout->stride);

    int64_t low = 0, high = 0;
    for (int i = 0; i < layout->rank && count; i++) {
        int64_t reach;
        if (layout->shape[i] == 1)
            continue;
        if (__builtin_mul_overflow(layout->stride[i], layout->shape[i] - 1, &reach) ||
            reach > INT64_MAX / 16 / bytes || reach < INT64_MIN / 16 / bytes ||
            __builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high))
            return kn_fail(KN_SHAPE, "%s %s: strides reach out of the address space", what,
                           arg->name);
    }
    if (count)
        kn_layout_ones(layout);
    layout->align = 16;
    while (count && (uintptr_t)arg->data % (uintptr_t)layout->align)
        layout->align /= 2;
    if (layout->align < bytes)
        return kn_fail(KN_ARGUMENT, "%s %s: data is not aligned to its element size", what,
                       arg->name);
    return KN_OK;
}

/* The memory of one array argument. */
static kn_status bind_memory(const char *what, const kn_arg *arg, kn_layout *layout, kn_span *range)
{
    int64_t low = 0, high = 0, between = 0, bytes = kn_bytes((kn_dtype)arg->dtype);
    *range = (kn_span){0};
    if (kn_count(layout->shape, layout->rank) == 0)
        return KN_OK;
    if (!arg->data)
        return kn_fail(KN_ARGUMENT, "%s %s: data is NULL", what, arg->name);
    for (int i = 0; i < layout->rank; i++) {
        int64_t reach = layout->stride[i] * (layout->shape[i] - 1);
        if (layout->shape[i] == 1)
            continue;
        *(reach < 0 ? &low : &high) += reach;
        between = kn_common_divisor(between, llabs(layout->stride[i]));
    }
    range->low = (const char *)arg->data + low * bytes;
    range->high = (const char *)arg->data + (high + 1) * bytes;
    range->size = bytes;
    range->step = between * bytes;
    return KN_OK;
}

/* An output's elements must be distinct: sorted by stride, each axis steps over all the smaller ones. */
static kn_status check_distinct(const kn_layout *l, const char *name)
{
    int64_t reach = 0;
    bool done[KN_MAX_RANK] = {false};
    if (kn_count(l->shape, l->rank) == 0)
        return KN_OK;
    for (int k = 0; k < l->rank; k++) {
        int best = -1;
        for (int i = 0; i < l->rank; i++)
            if (!done[i] && (best < 0 || llabs(l->stride[i]) < llabs(l->stride[best])))
                best = i;
        done[best] = true;
        if (l->shape[best] == 1)
            continue;
        if (llabs(l->stride[best]) <= reach)
            return kn_fail(KN_ARGUMENT, "output %s: its strides make elements overlap", name);
        reach += llabs(l->stride[best]) * (l->shape[best] - 1);
    }
    return KN_OK;
}

/* Of each size that is divided: what other ranks have, and so the whole. */
static kn_status divide(kn_arena *a, kn_binding *b, const kn_parts *parts)
{
    const kn_symbols *s = b->graph->syms;
    const int ranks = b->graph->ranks > 1 ? b->graph->ranks : 1;
    int64_t *same = KN_NEW_ARRAY(a, int64_t, ranks);
    const int64_t *of = parts ? parts->of : NULL;
    for (int sym = 0; sym < kn_symbols_count(s); sym++) {
        const int whole = kn_symbol_whole(s, sym);
        int64_t all = 0;
        if (whole < 0)
            continue;
        const int64_t *part = of;
        of = of ? of + ranks : NULL;
        if (b->sizes[sym] == KN_UNBOUND)
            continue;
        for (int r = 0; r < ranks; r++)
            same[r] = b->sizes[sym];
        for (int r = 0; r < ranks; r++)
            all += part ? part[r] : same[r];
        if (b->sizes[whole] != KN_UNBOUND && b->sizes[whole] != all)
            return kn_fail(KN_SHAPE, "%s is %lld, but the parts of the ranks are %lld together",
                           kn_symbol_name(s, whole), (long long)b->sizes[whole], (long long)all);
        kn_symbols_divide(s, sym, part ? part : same, parts ? parts->rank : 0, ranks, b->sizes);
    }
    return KN_OK;
}

/* Every symbol that the inputs' shapes determine. */
static kn_status solve_sizes(kn_arena *a, kn_binding *b, const kn_parts *parts, const bool *given)
{
    const kn_graph *g = b->graph;
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < g->inputs.len; i++) {
            const kn_node *n = g->inputs.data[i].node;
            for (int j = 0; given[i] && j < n->rank; j++) {
                int64_t before, size = b->in[i].shape[j];
                bool known = kn_dim_eval(n->shape[j], b->sizes, &before);
                int solved = kn_dim_solve(g->syms, n->shape[j], size, b->sizes);
                changed = changed || (!known && solved > 0);
                if (solved >= 0)
                    continue;
                kn_text dim = kn_text_new(a);
                kn_dim_print(&dim, g->syms, n->shape[j]);
                if (known)
                    return kn_fail(KN_SHAPE,
                                   "input %s is %s: axis %d has size %lld, but %s is %lld",
                                   g->inputs.data[i].name, declared(a, g, n), j, (long long)size,
                                   kn_text_str(&dim), (long long)before);
                return kn_fail(KN_SHAPE,
                               "input %s is %s: axis %d has size %lld, which %s cannot be",
                               g->inputs.data[i].name, declared(a, g, n), j, (long long)size,
                               kn_text_str(&dim));
            }
        }
    }
    KN_TRY(divide(a, b, parts));
    return kn_symbols_derive(g->syms, a, b->sizes);
}

static kn_status unknown_arg(const kn_graph *g, const char *name)
{
    kn_guess s = kn_guess_new(name);
    for (int i = 0; i < g->inputs.len; i++)
        kn_guess_try(&s, g->inputs.data[i].name);
    for (int o = 0; o < g->outputs.len; o++)
        kn_guess_try(&s, g->outputs.data[o].name);
    return kn_fail(KN_ARGUMENT, "%s has no input or output '%s'%s", g->name, name,
                   kn_guess_text(&s));
}

static kn_status find_args(const kn_graph *g, const kn_arg *args, int nargs, const kn_arg **in,
                           const kn_arg **out)
{
    for (int k = 0; k < nargs; k++) {
        if (!args[k].name)
            return kn_fail(KN_ARGUMENT, "argument %d has no name", k);
        int i = kn_graph_find_input(g, args[k].name), o = kn_graph_find_output(g, args[k].name);
        const kn_arg **slot = i >= 0 ? &in[i] : o >= 0 ? &out[o] : NULL;
        if (!slot)
            return unknown_arg(g, args[k].name);
        if (*slot)
            return kn_fail(KN_ARGUMENT, "argument %s is given twice", args[k].name);
        *slot = &args[k];
    }
    for (int o = 0; o < g->outputs.len; o++)
        if (g->outputs.data[o].updates >= 0)
            out[o] = in[g->outputs.data[o].updates];
    return KN_OK;
}

static kn_status bind_inputs(kn_arena *a, kn_binding *b, const kn_arg *const *in, kn_bind_mode mode,
                             bool *given)
{
    const kn_graph *g = b->graph;
    for (int i = 0; i < g->inputs.len; i++) {
        const kn_input *p = &g->inputs.data[i];
        given[i] = in[i] != NULL;
        if (p->by_value) {
            if (!in[i] && !p->has_default && mode != KN_BIND_ASSUME)
                return kn_fail(KN_ARGUMENT, "argument %s: %s is missing", p->name,
                               kn_dtypes[p->node->dtype].text);
            if (in[i] && in[i]->dtype != (int)p->node->dtype)
                return kn_fail(KN_TYPE, "argument %s is %s, but %s was given", p->name,
                               kn_dtypes[p->node->dtype].text,
                               kn_dtype_valid(in[i]->dtype) ? kn_dtypes[in[i]->dtype].text
                                                            : "an unknown dtype");
            if (in[i] && in[i]->rank != 0)
                return kn_fail(KN_SHAPE, "argument %s is a number; rank %d was given", p->name,
                               in[i]->rank);
            b->scalars[i] = p->dflt;
            b->scalars[i].dtype = p->node->dtype;
            if (in[i] && !in[i]->data && mode != KN_BIND_ASSUME)
                return kn_fail(KN_ARGUMENT, "argument %s: data is NULL", p->name);
            if (in[i] && in[i]->data)
                b->scalars[i] = kn_scalar_load(p->node->dtype, in[i]->data);
        } else if (in[i]) {
            b->in_data[i] = in[i]->data;
            KN_TRY(bind_layout(a, g, p->node, "input", in[i], &b->in[i]));
            if (mode == KN_BIND_RUN)
                KN_TRY(bind_memory("input", in[i], &b->in[i], &b->in_span[i]));
        } else if (mode != KN_BIND_ASSUME) {
            return kn_fail(KN_ARGUMENT, "argument %s: %s is missing", p->name,
                           declared(a, g, p->node));
        }
    }
    return KN_OK;
}

/* explain: gives what no argument determines a size, and says so. */
static kn_status assume(kn_arena *a, kn_binding *b, const bool *given)
{
    const kn_graph *g = b->graph;
    kn_text notes = kn_text_new(a);
    for (int s = 0; s < kn_symbols_count(g->syms); s++) {
        if (b->sizes[s] != KN_UNBOUND || kn_symbol_whole(g->syms, s) < 0)
            continue;
        b->sizes[s] = KN_ASSUMED_SIZE;
        kn_putf(&notes, "%s%s = %d", notes.len ? ", " : "", kn_symbol_name(g->syms, s),
                KN_ASSUMED_SIZE);
    }
    KN_TRY(divide(a, b, NULL));
    for (int s = 0; s < kn_symbols_count(g->syms); s++) {
        if (b->sizes[s] != KN_UNBOUND || !kn_symbol_is_open(g->syms, s))
            continue;
        b->sizes[s] = KN_ASSUMED_SIZE;
        kn_putf(&notes, "%s%s = %d", notes.len ? ", " : "", kn_symbol_name(g->syms, s),
                KN_ASSUMED_SIZE);
    }
    b->assumed = kn_text_str(&notes);
    KN_TRY(kn_symbols_derive(g->syms, a, b->sizes));
    for (int i = 0; i < g->inputs.len; i++) {
        const kn_input *p = &g->inputs.data[i];
        if (given[i] || p->by_value)
            continue;
        KN_TRY(kn_node_sizes(p->node, b->sizes, b->in[i].shape));
        b->in[i].rank = p->node->rank;
        b->in[i].align = 16;
        kn_compact_strides(b->in[i].shape, b->in[i].rank, b->in[i].stride);
    }
    return KN_OK;
}

/* Everything that an INDEX reads is there. */
static kn_status check_index(const kn_node *n, const int64_t *sizes)
{
    int64_t from[KN_MAX_RANK], shape[KN_MAX_RANK], start;
    KN_TRY(kn_node_sizes(n, sizes, shape));
    KN_TRY(kn_node_sizes(n->in[0], sizes, from));
    for (int j = 0; j < n->in[0]->rank; j++) {
        int axis = n->u.index->axis[j];
        if (!kn_dim_eval(n->u.index->start[j], sizes, &start))
            return kn_fail(KN_SHAPE, "an index is unknown");
        int64_t last = axis >= 0 ? start + (shape[axis] - 1) * n->u.index->step[j] : start;
        if (axis >= 0 && kn_count(shape, n->rank) == 0)
            continue;
        if (start < 0 || start >= from[j] || last < 0 || last >= from[j])
            return kn_fail(KN_SHAPE, "index %lld%s is out of bounds for axis %d with size %lld",
                           (long long)(start < 0          ? start - from[j]
                                       : start >= from[j] ? start
                                                          : last),
                           kn_loc_place(n->loc).text, j, (long long)from[j]);
    }
    return KN_OK;
}

/* Sizes of everything inside: known, not negative, their products in range; nothing that has no identity
 * is reduced over nothing. */
static kn_status check_nodes(const kn_binding *b)
{
    const kn_graph *g = b->graph;
    for (int i = 0; i < g->indices.len; i++)
        KN_TRY(check_index(g->indices.data[i], b->sizes));
    for (int i = 0; i < g->nodes.len; i++) {
        const kn_node *n = g->nodes.data[i];
        int64_t shape[KN_MAX_RANK], from[KN_MAX_RANK];
        KN_TRY(kn_node_sizes(n, b->sizes, shape));
        if (kn_count(shape, n->rank) > INT64_MAX / 64)
            return kn_node_fail(KN_SHAPE, n, "the number of elements is out of range");
        if (n->op == KN_OP_INDEX)
            KN_TRY(check_index(n, b->sizes));
        if (n->op == KN_OP_TAKE && n->u.gather.checked) {
            KN_TRY(kn_node_sizes(n->in[0], b->sizes, from));
            if (kn_count(shape, n->rank) > 0 && kn_count(from, n->in[0]->rank) == 0)
                return kn_node_fail(KN_SHAPE, n, "nothing can be taken of an axis with size 0");
        }
        if (!kn_needs_members(n))
            continue;
        KN_TRY(kn_node_sizes(n->in[0], b->sizes, from));
        if (kn_count(shape, n->rank) > 0 && kn_count(from, n->rank) == 0)
            return kn_node_fail(KN_SHAPE, n, "nothing to reduce, and %s has no identity",
                                kn_ops[n->op].text);
    }
    return KN_OK;
}

static bool refuse_overlap(void *user, int x, int output)
{
    kn_binding *b = user;
    b->refused = kn_fail(KN_ARGUMENT, "outputs %s and %s overlap in memory",
                         b->graph->outputs.data[x].name, b->graph->outputs.data[output].name);
    return false;
}

static kn_status bind_outputs(kn_arena *a, kn_binding *b, const kn_arg *const *out,
                              kn_bind_mode mode)
{
    const kn_graph *g = b->graph;
    for (int o = 0; o < g->outputs.len; o++) {
        const kn_output *p = &g->outputs.data[o];
        int64_t shape[KN_MAX_RANK];
        KN_TRY(kn_node_sizes(p->node, b->sizes, shape));
        if (mode != KN_BIND_RUN) {
            b->out[o].rank = p->node->rank;
            b->out[o].align = 16;
            memcpy(b->out[o].shape, shape, sizeof shape);
            kn_compact_strides(shape, p->node->rank, b->out[o].stride);
            continue;
        }
        if (!out[o])
            return kn_fail(KN_ARGUMENT, "output %s: %s is missing", p->name,
                           declared(a, g, p->node));
        b->out_data[o] = out[o]->data;
        KN_TRY(bind_layout(a, g, p->node, "output", out[o], &b->out[o]));
        KN_TRY(bind_memory("output", out[o], &b->out[o], &b->out_span[o]));
        for (int j = 0; j < p->node->rank; j++)
            if (b->out[o].shape[j] != shape[j])
                return kn_fail(KN_SHAPE, "output %s has shape %s, but %s was given", p->name,
                               sizes_text(a, shape, p->node->rank),
                               sizes_text(a, out[o]->shape, p->node->rank));
        KN_TRY(check_distinct(&b->out[o], p->name));
    }
    kn_overlaps(a, NULL, 0, b->out_span, mode == KN_BIND_RUN ? g->outputs.len : 0, refuse_overlap,
                b);
    return b->refused;
}

static bool same_layout(const kn_layout *x, const kn_layout *y)
{
    return x->rank == y->rank && memcmp(x->shape, y->shape, sizeof x->shape) == 0 &&
           memcmp(x->stride, y->stride, sizeof x->stride) == 0;
}

static void find_over(kn_arena *a, kn_binding *b)
{
    const kn_graph *g = b->graph;
    kn_finder by_address = {0};
    for (int o = 0; o < g->outputs.len; o++)
        kn_finder_add(a, &by_address, kn_hash(&b->out_data[o], sizeof(void *), 0), o);
    for (int i = 0; i < g->inputs.len; i++) {
        uint64_t hash = kn_hash(&b->in_data[i], sizeof(void *), 0);
        b->over[i] = -1;
        if (!b->in_span[i].low)
            continue;
        for (int o = -1; b->over[i] < 0 && (o = kn_finder_next(&by_address, hash, o)) >= 0;)
            if (b->in_data[i] == b->out_data[o] && b->in_span[i].size == b->out_span[o].size &&
                same_layout(&b->in[i], &b->out[o]))
                b->over[i] = o;
    }
    for (int o = 0; o < g->outputs.len;
         o++) { /* what is updated lies on itself, whatever its address */
        const int i = g->outputs.data[o].updates;
        if (i >= 0 && !b->in_span[i].low && same_layout(&b->in[i], &b->out[o]))
            b->over[i] = o;
    }
}

/* How arguments are bound. */
typedef struct binding_as {
    kn_bind_mode mode;
    const kn_parts *parts; /* or NULL */
} binding_as;

static kn_status bind(kn_arena *a, const kn_graph *g, const kn_arg *args, int nargs, binding_as as,
                      kn_binding *b)
{
    const kn_bind_mode mode = as.mode;
    int nin = g->inputs.len, nout = g->outputs.len, nsym = kn_symbols_count(g->syms);
    *b = (kn_binding){.graph = g};
    b->sizes = KN_NEW_ARRAY(a, int64_t, nsym + 1);
    b->in = KN_NEW_ARRAY(a, kn_layout, nin + 1);
    b->out = KN_NEW_ARRAY(a, kn_layout, nout + 1);
    b->in_data = KN_NEW_ARRAY(a, void *, nin + 1);
    b->out_data = KN_NEW_ARRAY(a, void *, nout + 1);
    b->in_span = KN_NEW_ARRAY(a, kn_span, nin + 1);
    b->out_span = KN_NEW_ARRAY(a, kn_span, nout + 1);
    b->scalars = KN_NEW_ARRAY(a, kn_scalar, nin + 1);
    b->over = KN_NEW_ARRAY(a, int, nin + 1);
    for (int s = 0; s < nsym; s++)
        b->sizes[s] = KN_UNBOUND;
    const kn_arg **in = KN_NEW_ARRAY(a, const kn_arg *, nin + 1);
    const kn_arg **out = KN_NEW_ARRAY(a, const kn_arg *, nout + 1);
    bool *given = KN_NEW_ARRAY(a, bool, nin + 1);

    KN_TRY(find_args(g, args, nargs, in, out));
    KN_TRY(bind_inputs(a, b, in, mode, given));
    KN_TRY(solve_sizes(a, b, as.parts, given));
    if (mode == KN_BIND_ASSUME)
        KN_TRY(assume(a, b, given));
    KN_TRY(kn_facts_check(&g->facts, g->syms, a, b->sizes));
    KN_TRY(check_nodes(b));
    KN_TRY(bind_outputs(a, b, out, mode));
    find_over(a, b);
    return KN_OK;
}

kn_status kn_bind(kn_arena *a, const kn_graph *g, const kn_arg *args, int nargs, kn_bind_mode mode,
                  kn_binding *b)
{
    return kn_graph_failed(a, g, bind(a, g, args, nargs, (binding_as){mode, NULL}, b));
}

kn_status kn_bind_rank(kn_arena *a, const kn_graph *g, const kn_arg *args, int nargs,
                       const kn_parts *parts, kn_binding *b)
{
    return kn_graph_failed(a, g, bind(a, g, args, nargs, (binding_as){KN_BIND_RUN, parts}, b));
}
