#include "ir/pieces.h"

#include "ir/build_impl.h"

/* Of larger graphs outputs stay whole. Pieces of one output: each is a loop nest, perhaps. */
enum { MOST_NODES = 512, MOST_PIECES = 8 };

/* Elementwise operations between an output and what is put together. */
enum { MOST_ABOVE = 4 };

/* A part of an array without gaps; `whole`: all of it. */
typedef struct box {
    kn_dim start[KN_MAX_RANK], size[KN_MAX_RANK];
    bool whole;
} box;

typedef struct cutting {
    const kn_graph *from;
    kn_graph *to;
    kn_node **map;                   /* per node of `from`: the one in `to` */
    const kn_assembly **assembly_of; /* per node of `from`, or NULL */
    const kn_output *output;         /* that is cut */
    int number;                      /* the output's */
    /* Elementwise operations on what is cut, the output first: of relu(cast(joined)) above is relu and cast, and by[k] is
     * which operand of above[k] leads on, to above[k + 1] or, of the last, to what is cut. */
    const kn_node *above[MOST_ABOVE];
    int by[MOST_ABOVE], nabove;
    const kn_node *base;      /* what is cut, below them */
    KN_VEC(kn_output) pieces; /* of it so far */
    bool fails;
} cutting;

static bool at_most(const cutting *c, kn_dim a, kn_dim b)
{
    kn_symbols *s = c->to->syms;
    kn_dim d = kn_dim_sub(s, b, a);
    return d && kn_facts_not_negative(&c->to->facts, s, d);
}

static bool is_zero(const cutting *c, kn_dim d)
{
    return kn_dim_equal(c->to->syms, d, kn_dim_const(c->to->syms, 0));
}

static kn_dim sum(const cutting *c, kn_dim a, kn_dim b) { return kn_dim_add(c->to->syms, a, b); }

/* NULL, as for any that overflows, if one of its parts is. */
static kn_dim from_to(cutting *c, kn_dim from, kn_dim to)
{
    kn_symbols *s = c->to->syms;
    kn_dim d = from && to ? kn_dim_sub(s, to, from) : NULL;
    if (d && !kn_facts_not_negative(&c->to->facts, s, d))
        d = kn_dim_max(s, d, kn_dim_const(s, 0));
    c->fails = c->fails || !d;
    return d;
}

static box all_of(const cutting *c, const kn_dim *size, int rank)
{
    box b = {.whole = true};
    for (int j = 0; j < rank; j++) {
        b.start[j] = kn_dim_const(c->to->syms, 0);
        b.size[j] = size[j];
    }
    return b;
}

/* A part of the value that lies at `to` in the output, from element `start` of the value on, by `step`: where it lies in the
 * output. */
static kn_rectangle within(cutting *c, const kn_rectangle *to, const kn_dim *start,
                           const kn_dim *size, const int64_t *step)
{
    kn_symbols *s = c->to->syms;
    kn_rectangle made = *to;
    for (int j = 0; j < c->output->node->rank; j++) {
        kn_dim by = start[j] ? kn_dim_mul(s, kn_dim_const(s, to->step[j]), start[j]) : NULL;
        made.start[j] = by ? sum(c, to->start[j], by) : NULL;
        made.size[j] = size[j];
        made.step[j] = to->step[j] * (step ? step[j] : 1);
        c->fails = c->fails || !made.start[j] || !size[j];
    }
    return made;
}

/* Is `n`, from `start` on, what the output's array has at `to` before the program runs? */
static bool is_there(const cutting *c, const kn_node *n, const box *b, const kn_rectangle *to)
{
    kn_symbols *s = c->to->syms;
    const kn_node *x = n->op == KN_OP_INDEX ? n->in[0] : n;
    if (c->nabove || c->output->updates < 0 || x->op != KN_OP_INPUT ||
        x->u.input != c->output->updates || n->rank != x->rank)
        return false;
    for (int j = 0; j < n->rank; j++) {
        kn_dim at = b->start[j];
        int64_t step = 1;
        if (n != x) {
            step = n->u.index->step[j];
            at = kn_dim_mul(s, kn_dim_const(s, step), at);
            at = at ? sum(c, at, n->u.index->start[j]) : NULL;
            if (n->u.index->axis[j] != j)
                return false;
        }
        if (!at || step != to->step[j] || !kn_dim_equal(s, at, to->start[j]))
            return false;
    }
    return true;
}

/* What x, which has the sizes of an array or 1, has there. */
static kn_node *indexed(cutting *c, kn_node *x, const kn_rectangle *at)
{
    kn_symbols *s = c->to->syms;
    kn_indexing *index = KN_NEW(c->to->arena, kn_indexing);
    kn_dim shape[KN_MAX_RANK];
    kn_node n = {.op = KN_OP_INDEX,
                 .dtype = x->dtype,
                 .rank = x->rank,
                 .shape = shape,
                 .nin = 1,
                 .in = {x},
                 .loc = x->loc};
    bool all = true;
    for (int j = 0; j < x->rank; j++) {
        const bool one = kn_dim_is_one(s, x->shape[j]);
        index->axis[j] = (int8_t)j;
        index->step[j] = one ? 1 : at->step[j];
        index->start[j] = one ? kn_dim_const(s, 0) : at->start[j];
        shape[j] = one ? x->shape[j] : at->size[j];
        all = all && index->step[j] == 1 && is_zero(c, index->start[j]) &&
              kn_dim_equal(s, shape[j], x->shape[j]);
    }
    n.u.index = index;
    return all ? x : kn_graph_intern(c->to, &n);
}

typedef enum lying { OUTSIDE, INSIDE, AROUND, UNKNOWN } lying;

/* Where a piece lies: in the box, or the box in it. */
static lying lies(const cutting *c, const kn_rectangle *at, const box *b, int rank)
{
    bool outside = false, inside = true, around = true, steps = false;
    for (int j = 0; j < rank; j++)
        steps = steps || at->step[j] != 1;
    if (b->whole || steps)
        return b->whole ? INSIDE : UNKNOWN;
    for (int j = 0; j < rank; j++) {
        kn_dim end = sum(c, at->start[j], at->size[j]), last = sum(c, b->start[j], b->size[j]);
        if (!end || !last)
            return UNKNOWN;
        outside = outside || at_most(c, end, b->start[j]) || at_most(c, last, at->start[j]);
        inside = inside && at_most(c, b->start[j], at->start[j]) && at_most(c, end, last);
        around = around && at_most(c, at->start[j], b->start[j]) && at_most(c, last, end);
    }
    return outside ? OUTSIDE : around ? AROUND : inside ? INSIDE : UNKNOWN;
}

/* Is it put together, or an operation on what is? */
static bool is_assembled(const cutting *c, const kn_node *n, int depth)
{
    bool is = c->assembly_of[n->id];
    for (int k = 0; kn_ops[n->op].cls == KN_ELEM && k < n->nin && depth && !is; k++)
        is = is_assembled(c, n->in[k], depth - 1);
    return is;
}

static kn_node *there(cutting *c, const kn_node *n, const kn_rectangle *at, int depth);

/* The same operation on what its operands have there; `x`: that of operand k. */
static kn_node *operated(cutting *c, const kn_node *n, const kn_rectangle *at, kn_node *x, int k,
                         int depth)
{
    kn_node made = *n;
    kn_dim shape[KN_MAX_RANK];
    for (int i = 0; i < n->nin; i++)
        if (!(made.in[i] = i == k ? x : there(c, n->in[i], at, depth)))
            return NULL;
    for (int j = 0; j < n->rank; j++) {
        shape[j] = kn_dim_const(c->to->syms, 1);
        for (int i = 0; i < n->nin; i++)
            if (!kn_dim_is_one(c->to->syms, made.in[i]->shape[j]))
                shape[j] = made.in[i]->shape[j];
    }
    made.shape = shape;
    return kn_graph_intern(c->to, &made);
}

/* What n has there: of what is put together, the only piece that is there, if it is known that no other is. */
static kn_node *there(cutting *c, const kn_node *n, const kn_rectangle *at, int depth)
{
    const kn_assembly *as = depth ? c->assembly_of[n->id] : NULL;
    const kn_piece *around = NULL;
    int outside = 0;
    box b = {.whole = false};
    for (int j = 0; j < n->rank; j++) {
        const bool repeated = kn_dim_is_one(c->to->syms, n->shape[j]);
        b.start[j] = at->start[j];
        b.size[j] = at->size[j];
        as = at->step[j] != 1 || repeated ? NULL : as;
    }
    for (int i = 0; as && i < as->n; i++) {
        const lying where = lies(c, &as->pieces[i].at, &b, n->rank);
        around = where == AROUND ? &as->pieces[i] : around;
        outside += where == OUTSIDE;
    }
    if (around) {
        kn_rectangle part = *at;
        for (int j = 0; j < n->rank; j++)
            if (!(part.start[j] = from_to(c, around->at.start[j], at->start[j])))
                return NULL;
        return there(c, c->from->nodes.data[around->node], &part, depth - 1);
    }
    const kn_node *rest = as && as->rest >= 0 ? c->from->nodes.data[as->rest] : NULL;
    if (rest && outside == as->n && rest->rank == n->rank)
        return there(c, rest, at, depth - 1);
    if (!c->assembly_of[n->id] && depth && is_assembled(c, n, depth))
        return operated(c, n, at, NULL, -1, depth - 1);
    return c->map[n->id] ? indexed(c, c->map[n->id], at) : NULL;
}

/* A piece that is not cut further. */
static void add_piece(cutting *c, const kn_node *n, const box *b, const kn_rectangle *to)
{
    const kn_node *whole = c->output->node;
    kn_node *x = c->map[n->id];
    kn_rectangle part = {.step = {0}};
    const kn_place place = {
        .output = c->number, .rank = whole->rank, .shape = whole->shape, .at = *to};
    c->fails = c->fails || !x || c->pieces.len == MOST_PIECES;
    if (c->fails)
        return;
    for (int j = 0; j < whole->rank; j++) {
        part.start[j] = b->start[j];
        part.size[j] = b->size[j];
        part.step[j] = 1;
    }
    x = x->rank ? indexed(c, x, &part) : x;
    x = kn_build_cast(c->to, x, c->base->dtype, x->loc);
    x = x ? kn_build_broadcast_to(c->to, x, b->size, whole->rank, x->loc) : NULL;
    for (int i = c->nabove - 1; i >= 0 && x; i--)
        x = operated(c, c->above[i], to, x, c->by[i], MOST_ABOVE);
    c->fails = c->fails || !x;
    const kn_output piece = {c->output->name, x, c->output->updates,
                             kn_alloc_copy(c->to->arena, &place, sizeof place)};
    kn_push(c->to->arena, &c->pieces, piece);
}

static void cut(cutting *c, const kn_node *n, const box *b, const kn_rectangle *to);

/* A box of a piece. */
static void cut_piece(cutting *c, const kn_piece *piece, const box *b, const kn_rectangle *to)
{
    const kn_node *n = c->from->nodes.data[piece->node];
    bool all = true;
    for (int j = 0; j < n->rank; j++)
        all = all && kn_dim_equal(c->to->syms, n->shape[j], piece->at.size[j]);
    if (c->fails)
        return;
    if (all)
        cut(c, n, b, to);
    else
        add_piece(c, n, b, to);
}

/* What is around a piece in a box: in front of it and behind it, axis by axis. */
static void cut_around(cutting *c, const kn_node *rest, const kn_rectangle *at, const box *b,
                       const kn_rectangle *to)
{
    box left = *b;
    left.whole = false;
    for (int j = 0; j < c->output->node->rank && !c->fails; j++) {
        kn_dim last = sum(c, left.start[j], left.size[j]), end = sum(c, at->start[j], at->size[j]);
        kn_dim first = last && !at_most(c, at->start[j], last)
                           ? kn_dim_min(c->to->syms, at->start[j], last)
                           : at->start[j];
        kn_dim front = from_to(c, left.start[j], first), behind = from_to(c, end, last);
        for (int side = 0; side < 2 && !c->fails; side++) {
            box part = left;
            kn_dim offset[KN_MAX_RANK];
            part.start[j] = side ? end : left.start[j];
            part.size[j] = side ? behind : front;
            if (is_zero(c, part.size[j]))
                continue;
            for (int i = 0; i < c->output->node->rank; i++)
                offset[i] = kn_dim_sub(c->to->syms, part.start[i], b->start[i]);
            const kn_rectangle where = within(c, to, offset, part.size, NULL);
            if (c->fails)
                return;
            if (rest->rank == c->output->node->rank)
                cut(c, rest, &part, &where);
            else
                add_piece(c, rest, &part, &where);
        }
        left.start[j] = at->start[j];
        left.size[j] = at->size[j];
    }
}

/* Can it be said what of an assembly is in the box: which pieces, and what is around them? where[]: how each piece lies to the
 * box. *around: the piece that all of the box is in; NULL: there is none. */
static bool can_cut(const cutting *c, const kn_assembly *as, const box *b, const kn_rectangle *to,
                    lying *where, const kn_piece **around)
{
    const int rank = c->output->node->rank;
    const kn_node *rest = as->rest < 0 ? NULL : c->from->nodes.data[as->rest];
    bool known = true, steps = false;
    int inside = 0;
    *around = NULL;
    for (int i = 0; i < as->n; i++) {
        where[i] = lies(c, &as->pieces[i].at, b, rank);
        known = known && where[i] != UNKNOWN;
        inside += where[i] == INSIDE;
        *around = where[i] == AROUND ? &as->pieces[i] : *around;
        for (int j = 0; j < rank; j++)
            steps = steps || (where[i] == INSIDE && as->pieces[i].at.step[j] != 1);
    }
    return *around || (known && (!rest || is_there(c, rest, b, to) || (inside <= 1 && !steps)));
}

/* Adds the pieces of the box of a value, which lies at `to` of the output. */
static void cut(cutting *c, const kn_node *n, const box *b, const kn_rectangle *to)
{
    const int rank = c->output->node->rank;
    const kn_assembly *as = c->assembly_of[n->id];
    const kn_piece *around, *inside = NULL;
    kn_dim offset[KN_MAX_RANK];
    if (c->fails || is_there(c, n, b, to))
        return;
    lying *lie = as ? KN_NEW_ARRAY(c->to->arena, lying, as->n + 1) : NULL;
    if (!as || !can_cut(c, as, b, to, lie, &around)) {
        add_piece(c, n, b, to);
        return;
    }
    if (around) {
        box part = *b;
        part.whole = false;
        for (int j = 0; j < rank; j++)
            part.start[j] = from_to(c, around->at.start[j], b->start[j]);
        cut_piece(c, around, &part, to);
        return;
    }
    for (int i = 0; i < as->n && !c->fails; i++) {
        const kn_rectangle *at = &as->pieces[i].at;
        if (lie[i] != INSIDE)
            continue;
        inside = &as->pieces[i];
        for (int j = 0; j < rank; j++)
            offset[j] = kn_dim_sub(c->to->syms, at->start[j], b->start[j]);
        const box all = all_of(c, at->size, rank);
        const kn_rectangle where = within(c, to, offset, at->size, at->step);
        cut_piece(c, inside, &all, &where);
    }
    const kn_node *rest = as->rest < 0 ? NULL : c->from->nodes.data[as->rest];
    if (!rest || c->fails || is_there(c, rest, b, to))
        return;
    if (inside)
        cut_around(c, rest, &inside->at, b, to);
    else if (rest->rank == rank)
        cut(c, rest, b, to);
    else
        add_piece(c, rest, b, to);
}

/* ---- graphs ---- */

static kn_node *copy_node(void *ctx, kn_graph *to, const kn_node *old, kn_node *const *in)
{
    cutting *c = ctx;
    return c->map[old->id] = kn_node_copy(to, old, in);
}

/* Goes down from the output to what is put together; false: there is none, of its shape. */
static bool find_base(cutting *c)
{
    const kn_node *n = c->output->node;
    c->nabove = 0;
    while (n && !c->assembly_of[n->id]) {
        const kn_node *next = NULL;
        for (int k = 0; kn_ops[n->op].cls == KN_ELEM && k < n->nin && !next; k++) {
            bool same = is_assembled(c, n->in[k], MOST_ABOVE - 1 - c->nabove);
            for (int j = 0; j < n->rank && same; j++)
                same = kn_dim_equal(c->to->syms, n->in[k]->shape[j], n->shape[j]);
            next = same ? n->in[k] : NULL;
            c->by[c->nabove] = k;
        }
        c->above[c->nabove] = n;
        c->nabove += next != NULL;
        n = next;
    }
    c->base = n;
    return n != NULL;
}

/* Output `o` in pieces; false: it stays whole. */
static bool cut_output(cutting *c, int o)
{
    c->output = &c->from->outputs.data[o];
    c->number = o;
    c->pieces.len = 0;
    c->fails = false;
    if (!find_base(c))
        return false;
    const kn_node *n = c->base;
    kn_rectangle all = {0};
    const box whole = all_of(c, n->shape, n->rank);
    for (int j = 0; j < n->rank; j++) {
        all.start[j] = whole.start[j];
        all.size[j] = n->shape[j];
        all.step[j] = 1;
    }
    cut(c, n, &whole, &all);
    kn_clear_error(); /* of sizes that cannot be told */
    const bool same = c->pieces.len == 1 && c->pieces.data[0].node == c->map[c->output->node->id];
    return !c->fails && !same && c->pieces.len > 0;
}

kn_graph *kn_graph_in_pieces(kn_arena *a, const kn_graph *g)
{
    bool any = false;
    cutting c = {.from = g};
    if (g->assemblies.len == 0 || g->nodes.len > MOST_NODES || g->ranks > 1)
        return NULL;
    c.map = KN_NEW_ARRAY(a, kn_node *, g->nodes.len + 1);
    c.assembly_of = KN_NEW_ARRAY(a, const kn_assembly *, g->nodes.len + 1);
    for (int i = 0; i < g->assemblies.len; i++)
        c.assembly_of[g->assemblies.data[i].node] = &g->assemblies.data[i];
    for (int o = 0; o < g->outputs.len; o++)
        any = any || is_assembled(&c, g->outputs.data[o].node, MOST_ABOVE);
    c.to = any ? kn_graph_rewrite(a, g, copy_node, &c) : NULL;
    any = false;
    for (int o = 0; c.to && o < g->outputs.len; o++) {
        if (!cut_output(&c, o))
            continue;
        any = true;
        c.to->outputs.data[o] = c.pieces.data[0];
        for (int i = 1; i < c.pieces.len; i++)
            kn_graph_add_output(c.to, c.pieces.data[i]);
    }
    return any ? c.to : NULL;
}

/* ---- text ---- */

/* "2", "1:V + 1", "::2", "::-1" */
static void print_slice(kn_text *t, kn_symbols *s, const kn_place *place, int j)
{
    const kn_rectangle *at = &place->at;
    const int64_t step = at->step[j];
    const kn_dim start = at->start[j];
    const kn_dim by = kn_dim_mul(s, kn_dim_const(s, step), at->size[j]);
    const kn_dim stop = by ? kn_dim_add(s, start, by) : NULL;
    if (kn_dim_is_one(s, at->size[j])) {
        kn_dim_print(t, s, start);
        return;
    }
    const kn_dim one = kn_dim_const(s, 1), last = kn_dim_sub(s, place->shape[j], one);
    if (!kn_dim_equal(s, start, step < 0 && last ? last : kn_dim_const(s, 0)))
        kn_dim_print(t, s, start);
    kn_put(t, ":");
    if (stop && !kn_dim_equal(s, stop, step < 0 ? kn_dim_const(s, -1) : place->shape[j]))
        kn_dim_print(t, s, stop);
    if (step != 1)
        kn_putf(t, ":%lld", (long long)step);
}

void kn_place_print(kn_text *t, kn_symbols *s, const kn_place *place)
{
    for (int j = 0; j < place->rank; j++) {
        kn_put(t, j ? ", " : "[");
        print_slice(t, s, place, j);
    }
    kn_put(t, place->rank ? "]" : "");
}
