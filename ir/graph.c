#include "ir/graph.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/number.h"
#include "base/work.h"
#include "ir/assembly.h"

kn_graph *kn_graph_new(kn_arena *a, const char *name)
{
    kn_graph *g = KN_NEW(a, kn_graph);
    g->arena = a;
    g->syms = kn_symbols_new(a);
    g->name = name;
    g->budget = kn_usual_budget;
    return g;
}

const kn_budget kn_usual_budget = {.nodes = 1 << 20, .bytes = (int64_t)4 << 30};

void kn_keep_within(const kn_budget *b, kn_arena *a, int64_t nodes, const char *title, kn_loc loc)
{
    if (nodes > b->nodes)
        kn_fail(KN_ARGUMENT, "%s%s: the program has more than %lld operations", title,
                kn_loc_place(loc).text, (long long)b->nodes);
    else if ((int64_t)a->used > b->bytes)
        kn_fail(KN_MEMORY, "%s%s: the program takes more than %lld bytes", title,
                kn_loc_place(loc).text, (long long)b->bytes);
    else
        return;
    kn_give_up(a);
}

/* ---- in messages ---- */

const char *kn_node_title(const kn_node *n) { return n->name ? n->name : kn_ops[n->op].text; }

kn_loc_said kn_loc_place(kn_loc loc)
{
    kn_loc_said place = {""};
    if (loc.line)
        snprintf(place.text, sizeof place.text, " at %d:%d", loc.line, loc.col);
    return place;
}

kn_status kn_graph_failed(kn_arena *a, const kn_graph *g, kn_status status)
{
    const char *said = status && g->file ? kn_strdup(a, kn_last_error()) : NULL;
    if (!said || strncmp(said, g->file, strlen(g->file)) == 0)
        return status;
    return kn_fail(status, "%s: %s", g->file, said);
}

kn_status kn_node_fail(kn_status status, const kn_node *n, const char *fmt, ...)
{
    char said[256];
    va_list ap;
    va_start(ap, fmt);
    kn_format(said, sizeof said, fmt, ap);
    va_end(ap);
    return kn_fail(status, "%s%s: %s", kn_node_title(n), kn_loc_place(n->loc).text, said);
}

/* ---- nodes ---- */

/* The bytes that make two nodes of one op, type and shape differ. */
static size_t payload(const kn_node *n, const void **bytes)
{
    switch (n->op) {
    case KN_OP_INPUT:
    case KN_OP_CARRIED:
    case KN_OP_SCALAR: *bytes = &n->u.input; return sizeof n->u.input;
    case KN_OP_CONST: /* bits: -0 is not 0 */
        *bytes = &n->u.value.i;
        return sizeof n->u.value - offsetof(kn_scalar, i);
    case KN_OP_OF_RANK: *bytes = &n->u.part; return sizeof n->u.part;
    case KN_OP_COPY: *bytes = &n->u.own_nest; return sizeof n->u.own_nest;
    case KN_OP_PERMUTE: *bytes = n->u.perm; return (size_t)n->rank;
    case KN_OP_TAKE: *bytes = &n->u.gather; return sizeof n->u.gather;
    default: break;
    }
    *bytes = &n->u.reduce;
    return kn_ops[n->op].cls == KN_REDUCE ? sizeof n->u.reduce : 0;
}

static bool same_indexing(kn_graph *g, const kn_node *a, const kn_node *b)
{
    for (int j = 0; j < a->in[0]->rank; j++)
        if (a->u.index->axis[j] != b->u.index->axis[j] ||
            a->u.index->step[j] != b->u.index->step[j] ||
            !kn_dim_equal(g->syms, a->u.index->start[j], b->u.index->start[j]))
            return false;
    return true;
}

/* By the equalities known so far: nodes that turn out equal later are shared by the next rewrite. */
static uint64_t hash_dims(kn_graph *g, const kn_dim *dims, int n, uint64_t seed)
{
    kn_dim resolved[KN_MAX_RANK];
    for (int i = 0; i < n; i++)
        resolved[i] = kn_dim_resolve(g->syms, dims[i]);
    return kn_hash(resolved, sizeof *resolved * (size_t)n, seed);
}

static uint64_t hash_node(kn_graph *g, const kn_node *n)
{
    struct {
        int op, dtype, weak, rank;
        int in[KN_MAX_IN];
    } key = {(int)n->op, (int)n->dtype, n->weak, n->rank, {0}};
    for (int i = 0; i < KN_MAX_IN; i++)
        key.in[i] = i < n->nin ? n->in[i]->id : -1;
    const void *bytes;
    size_t size = payload(n, &bytes);
    uint64_t by = n->op == KN_OP_REDUCE_BY ? kn_hash(n->by->text, strlen(n->by->text), 0) : 0;
    by = hash_dims(g, n->shape, n->rank, by);
    if (n->op == KN_OP_EXTENT)
        by = hash_dims(g, &n->u.dim, 1, by);
    if (n->op == KN_OP_INDEX)
        by = kn_hash(n->u.index->step, sizeof *n->u.index->step * (size_t)n->in[0]->rank,
                     hash_dims(g, n->u.index->start, n->in[0]->rank, by));
    return kn_hash(bytes, size, kn_hash(&key, sizeof key, by));
}

static bool same_node(kn_graph *g, const kn_node *a, const kn_node *b)
{
    if (a->hash != b->hash || a->op != b->op || a->dtype != b->dtype || a->weak != b->weak ||
        a->rank != b->rank || a->nin != b->nin)
        return false;
    for (int i = 0; i < a->nin; i++)
        if (a->in[i] != b->in[i])
            return false;
    const void *pa, *pb;
    size_t size = payload(a, &pa);
    if (payload(b, &pb) != size || memcmp(pa, pb, size) != 0)
        return false;
    if (a->op == KN_OP_INDEX && !same_indexing(g, a, b))
        return false;
    if (a->op == KN_OP_REDUCE_BY && strcmp(a->by->text, b->by->text) != 0)
        return false;
    if (a->op == KN_OP_EXTENT && !kn_dim_equal(g->syms, a->u.dim, b->u.dim))
        return false;
    for (int i = 0; i < a->rank; i++)
        if (!kn_dim_equal(g->syms, a->shape[i], b->shape[i]))
            return false;
    return true;
}

/* A new node equal to `n`, whatever is there already. */
static kn_node *append_node(kn_graph *g, const kn_node *n)
{
    kn_keep_within(&g->budget, g->arena, g->nodes.len + 1, kn_node_title(n), n->loc);
    kn_node *made = KN_NEW(g->arena, kn_node);
    *made = *n;
    made->hash = hash_node(g, n);
    made->id = g->nodes.len;
    kn_dim *shape = KN_NEW_ARRAY(g->arena, kn_dim, n->rank ? n->rank : 1);
    if (n->rank)
        memcpy(shape, n->shape, sizeof *shape * (size_t)n->rank);
    made->shape = shape;
    kn_push(g->arena, &g->nodes, made);
    kn_finder_add(g->arena, &g->nodes_by, made->hash, made->id);
    return made;
}

kn_node *kn_graph_intern(kn_graph *g, const kn_node *n)
{
    kn_node key = *n;
    key.hash = hash_node(g, n);
    for (int i = -1; (i = kn_finder_next(&g->nodes_by, key.hash, i)) >= 0;) {
        kn_work(1);
        if (same_node(g, g->nodes.data[i], &key))
            return g->nodes.data[i];
    }
    return append_node(g, n);
}

kn_node *kn_node_copy(kn_graph *to, const kn_node *old, kn_node *const *in)
{
    kn_node n = *old;
    for (int i = 0; i < n.nin; i++)
        n.in[i] = in[i];
    kn_node *made = kn_graph_intern(to, &n);
    if (!made->name)
        made->name = old->name;
    return made;
}

kn_node *kn_reduce_nothing(kn_graph *to, const kn_node *old, kn_node *const *in)
{
    kn_node n = *old;
    n.op = KN_OP_COPY;
    n.u.own_nest = false;
    n.nin = 1;
    return kn_node_copy(to, &n, old->op == KN_OP_REDUCE_BY ? in + old->u.reduce.carried : in);
}

const bool *kn_needed_nodes(const kn_graph *g, kn_arena *a)
{
    bool *needed = KN_NEW_ARRAY(a, bool, g->nodes.len + 1);
    for (int i = 0; i < g->outputs.len; i++)
        needed[g->outputs.data[i].node->id] = true;
    for (int i = 0; i < g->inputs.len; i++)
        needed[g->inputs.data[i].node->id] = true;
    for (int i = g->nodes.len - 1; i >= 0; i--)
        for (int k = 0; needed[i] && k < g->nodes.data[i]->nin; k++)
            needed[g->nodes.data[i]->in[k]->id] = true;
    return needed;
}

kn_graph *kn_graph_rewrite(kn_arena *a, const kn_graph *from, kn_rewrite_fn fn, void *ctx)
{
    kn_graph *to = kn_graph_new(a, from->name);
    to->syms = from->syms;
    to->facts = from->facts;
    to->budget = from->budget;
    to->source = from->source;
    to->texts = from->texts;
    to->file = from->file;
    to->ranks = from->ranks;
    to->exchanges_in_nests = from->exchanges_in_nests;

    const bool *live = kn_needed_nodes(from, a);
    kn_node **map = KN_NEW_ARRAY(a, kn_node *, from->nodes.len + 1);
    for (int i = 0; i < from->nodes.len; i++) {
        const kn_node *old = from->nodes.data[i];
        if (!live[i])
            continue;
        kn_node *in[KN_MAX_IN] = {0};
        for (int j = 0; j < old->nin; j++)
            in[j] = map[old->in[j]->id];
        map[i] = fn(ctx, to, old, in);
        if (!map[i])
            return NULL;
        if (!map[i]->name)
            map[i]->name = old->name;
    }
    for (int i = 0; i < from->inputs.len; i++) {
        kn_input in = from->inputs.data[i];
        in.node = map[in.node->id];
        kn_graph_add_input(to, in);
    }
    for (int i = 0; i < from->outputs.len; i++) {
        kn_output out = from->outputs.data[i];
        out.node = map[out.node->id];
        kn_graph_add_output(to, out);
    }
    return to;
}

static const char *copy_text(kn_arena *a, const char *s) { return s ? kn_strdup(a, s) : NULL; }

static void copy_remarks(kn_arena *a, kn_remarks *to, const kn_remarks *from)
{
    for (int i = 0; i < from->len; i++)
        kn_push(a, to, ((kn_remark){from->data[i].node, kn_strdup(a, from->data[i].text)}));
}

kn_graph *kn_graph_clone(kn_arena *a, const kn_graph *g)
{
    kn_graph *to = kn_graph_new(a, kn_strdup(a, g->name));
    to->syms = kn_symbols_clone(a, g->syms);
    to->budget = g->budget;
    to->source = copy_text(a, g->source);
    to->texts = g->texts;
    to->file = copy_text(a, g->file);
    to->split = copy_text(a, g->split);
    to->ranks = g->ranks;
    for (int i = 0; i < g->facts.list.len; i++) {
        kn_fact f = g->facts.list.data[i];
        f.a = kn_dim_copy(to->syms, f.a);
        f.b = kn_dim_copy(to->syms, f.b);
        f.why = kn_strdup(a, f.why);
        f.said = copy_text(a, f.said);
        kn_facts_add(&to->facts, to->syms, a, f);
    }
    for (int i = 0; i < g->nodes.len; i++) {
        kn_node n = *g->nodes.data[i];
        kn_dim shape[KN_MAX_RANK];
        for (int j = 0; j < n.rank; j++)
            shape[j] = kn_dim_copy(to->syms, n.shape[j]);
        n.shape = shape;
        for (int k = 0; k < n.nin; k++)
            n.in[k] = to->nodes.data[n.in[k]->id];
        n.name = copy_text(a, n.name);
        if (n.op == KN_OP_REDUCE_BY)
            n.by = kn_reducer_clone(a, n.by);
        if (n.op == KN_OP_EXTENT)
            n.u.dim = kn_dim_copy(to->syms, n.u.dim);
        if (n.op == KN_OP_INDEX) {
            kn_indexing *index = KN_NEW(a, kn_indexing);
            *index = *n.u.index;
            for (int j = 0; j < n.in[0]->rank; j++)
                index->start[j] = kn_dim_copy(to->syms, index->start[j]);
            n.u.index = index;
        }
        append_node(to, &n);
    }
    for (int i = 0; i < g->inputs.len; i++) {
        kn_input in = g->inputs.data[i];
        in.name = kn_strdup(a, in.name);
        in.node = to->nodes.data[in.node->id];
        kn_graph_add_input(to, in);
    }
    for (int i = 0; i < g->outputs.len; i++)
        kn_graph_add_output(to, (kn_output){.name = kn_strdup(a, g->outputs.data[i].name),
                                            .node = to->nodes.data[g->outputs.data[i].node->id],
                                            .updates = g->outputs.data[i].updates});
    copy_remarks(a, &to->wider, &g->wider);
    copy_remarks(a, &to->searches, &g->searches);
    for (int i = 0; i < g->expansions.len; i++)
        kn_push(a, &to->expansions, g->expansions.data[i]);
    kn_copy_assemblies(to, g, to->nodes.data);
    return to;
}

bool kn_is_value(const kn_node *n)
{
    kn_op_class cls = kn_ops[n->op].cls;
    return cls == KN_ELEM || cls == KN_REDUCE || cls == KN_GATHER || cls == KN_EXCHANGE;
}

bool kn_needs_members(const kn_node *n)
{
    return kn_ops[n->op].cls == KN_REDUCE && n->u.reduce.nonempty;
}

bool kn_same_exchange(const kn_node *x, const kn_node *y)
{
    return x->op == KN_OP_OF_RANK && y->op == KN_OP_OF_RANK && x->in[0] == y->in[0] &&
           x->u.part.exchange == y->u.part.exchange;
}

const kn_node *kn_view_root(const kn_node *n)
{
    while (kn_ops[n->op].cls == KN_VIEW)
        n = n->in[0];
    return n;
}

bool kn_has_own_nest(const kn_node *n) { return n->op == KN_OP_COPY && n->u.own_nest; }

const kn_node *kn_shown_value(const kn_node *n)
{
    if (n->op == KN_OP_COPY)
        n = n->in[0];
    while (n->op == KN_OP_RESHAPE || n->op == KN_OP_PERMUTE)
        n = n->in[0];
    return kn_is_value(n) ? n : NULL;
}

bool kn_is_output_copy(const kn_graph *g, const kn_node *n)
{
    for (int o = 0; o < g->outputs.len && n->op == KN_OP_COPY; o++)
        if (g->outputs.data[o].node == n)
            return true;
    return false;
}

static uint64_t hash_name(const char *name) { return kn_hash(name, strlen(name), 0); }

void kn_graph_add_input(kn_graph *g, kn_input in)
{
    kn_push(g->arena, &g->inputs, in);
    kn_finder_add(g->arena, &g->inputs_by, hash_name(in.name), g->inputs.len - 1);
}

void kn_graph_add_output(kn_graph *g, kn_output out)
{
    kn_push(g->arena, &g->outputs, out);
    kn_finder_add(g->arena, &g->outputs_by, hash_name(out.name), g->outputs.len - 1);
}

int kn_graph_find_input(const kn_graph *g, const char *name)
{
    for (int i = -1; (i = kn_finder_next(&g->inputs_by, hash_name(name), i)) >= 0;)
        if (strcmp(g->inputs.data[i].name, name) == 0)
            return i;
    return -1;
}

int kn_graph_find_output(const kn_graph *g, const char *name)
{
    for (int i = -1; (i = kn_finder_next(&g->outputs_by, hash_name(name), i)) >= 0;)
        if (strcmp(g->outputs.data[i].name, name) == 0)
            return i;
    return -1;
}

kn_dim kn_node_count(kn_graph *g, const kn_node *n)
{
    kn_dim count = kn_dim_const(g->syms, 1);
    for (int i = 0; i < n->rank; i++)
        count = kn_dim_mul(g->syms, count, n->shape[i]);
    return count;
}
