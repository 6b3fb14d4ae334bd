/* Forming regions: every value starts as one of its own; regions that share a value, then regions that load the
 * same array, become one where they can.
 *
 * A merge looks at the smaller region only: its uses of the larger one's values and the other way round give
 * the map of its axes, which are then renamed. So a node is looked at about as often as its region doubles. */
#include "ir/region.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/work.h"
#include "ir/region_impl.h"

/* Of the regions that load an array, with how many earlier ones a region is tried. */
enum { NEIGHBOURS = 8 };

/* Every sweep computes its operands again, so a loop nest has at most so many operations times sweeps: each added
 * reduction makes all that comes before it dearer, and its source longer. */
enum { MOST_SWEPT = 8192 };

const kn_dim *kn_node_space(const kn_node *n)
{
    return kn_ops[n->op].cls == KN_REDUCE ? n->in[0]->shape : n->shape;
}

/* ---- a region of one node ---- */

static void add_load(kn_former *f, kn_forming *to, kn_load load)
{
    int at = kn_find_load(to, load.leaf);
    if (at < to->loads.len && to->loads.data[at].leaf == load.leaf)
        return;
    kn_push(f->a, &to->loads, load);
    memmove(&to->loads.data[at + 1], &to->loads.data[at],
            sizeof load * (size_t)(to->loads.len - 1 - at));
    to->loads.data[at] = load;
}

static void add_operands(kn_former *f, const kn_node *n, kn_forming *region)
{
    for (int k = 0; k < n->nin; k++) {
        kn_use *use = &f->use[n->id][k];
        *use = kn_use_of(f->g, n, k);
        const kn_node *root = kn_view_root(use->base);
        if (kn_is_value(root)) {
            kn_push(f->a, &region->reads, root->id);
            kn_push(f->a, &f->readers[root->id], ((kn_reader){n, k}));
        }
        if (!kn_is_uniform_leaf(use->base))
            add_load(f, region, (kn_load){use->base, {n, k}});
    }
}

static void add_node(kn_former *f, const kn_node *n)
{
    const kn_dim *space = kn_node_space(n);
    kn_region *r = KN_NEW(f->a, kn_region);
    kn_forming *region = &f->forming[n->id];
    *region = (kn_forming){.region = r, .first = n->id};
    f->parent[n->id] = n->id;
    r->reduces = kn_ops[n->op].cls == KN_REDUCE;
    for (int j = 0; j < n->rank; j++) {
        bool one = kn_dim_is_one(f->g->syms, space[j]);
        f->out->axis[n->id][j] = (int8_t)(one ? -1 : r->naxes);
        if (one)
            continue;
        if (r->reduces && n->u.reduce.axes >> j & 1)
            r->members |= 1u << r->naxes;
        if (r->members >> r->naxes & 1 && n->op == KN_OP_REDUCE_BY && !n->by->commutes)
            r->order[r->norder++] = (int8_t)r->naxes;
        r->dim[r->naxes++] = space[j];
        f->empty = f->empty || kn_region_elements(f, &space[j], 1) == 0;
    }
    kn_push(f->a, &r->nodes, n);
    add_operands(f, n, region);
    r->exchange = n->op == KN_OP_OF_RANK;
    r->round = f->round[n->id];
    region->sends = f->sent[n->id] ? r->round : INT_MAX;
    region->earliest = r->reduces ? f->waits[n->id] - 1 : 0;
    region->latest = r->reduces ? f->waits[n->id] - 1 : -1;
}

/* What the ranks have of one value is one exchange. */
static void add_rank(kn_former *f, const kn_node *n)
{
    int *first = &f->exchange[n->in[0]->id];
    const kn_node *other = *first < 0 ? NULL : f->g->nodes.data[*first];
    if (!other || !kn_same_exchange(n, other)) {
        *first = n->id;
        add_node(f, n);
        return;
    }
    f->parent[n->id] = other->id;
    memcpy(f->out->axis[n->id], f->out->axis[other->id], sizeof *f->out->axis);
    kn_push(f->a, &f->forming[other->id].region->nodes, n);
    add_operands(f, n, &f->forming[other->id]);
}

/* Each reduction waits for those it needs. */
static void count_waits(kn_former *f)
{
    f->waits = KN_NEW_ARRAY(f->a, int, f->g->nodes.len + 1);
    for (int i = 0; i < f->g->nodes.len; i++) {
        const kn_node *n = f->g->nodes.data[i];
        for (int k = 0; k < n->nin; k++)
            if (f->waits[n->in[k]->id] > f->waits[i])
                f->waits[i] = f->waits[n->in[k]->id];
        f->waits[i] += kn_ops[n->op].cls == KN_REDUCE;
    }
}

/* Each value waits for the exchanges that it needs. */
static void count_rounds(kn_former *f)
{
    f->round = KN_NEW_ARRAY(f->a, int, f->g->nodes.len + 1);
    f->sent = KN_NEW_ARRAY(f->a, bool, f->g->nodes.len + 1);
    f->out->round = f->round;
    for (int i = 0; i < f->g->nodes.len; i++) {
        const kn_node *n = f->g->nodes.data[i];
        for (int k = 0; k < n->nin; k++) {
            int round = f->round[n->in[k]->id] + (n->in[k]->op == KN_OP_OF_RANK);
            f->round[i] = round > f->round[i] ? round : f->round[i];
        }
        if (n->op == KN_OP_OF_RANK)
            f->sent[kn_view_root(n->in[0])->id] = true;
    }
}

/* ---- merging ---- */

/* From the earliest reduction of two regions to the latest. */
static void span_reductions(const kn_forming *x, const kn_forming *y, int *earliest, int *latest)
{
    bool first = x->latest >= 0 && (y->latest < 0 || x->earliest < y->earliest);
    *earliest = first ? x->earliest : y->earliest;
    *latest = x->latest > y->latest ? x->latest : y->latest;
}

/* Has a loop nest of both too many operations for its sweeps? */
static bool is_too_long(const kn_former *f, int a, int b)
{
    const kn_forming *x = &f->forming[a], *y = &f->forming[b];
    int earliest, latest, nodes = x->region->nodes.len + y->region->nodes.len;
    span_reductions(x, y, &earliest, &latest);
    return (int64_t)nodes * (latest - earliest + 1) > MOST_SWEPT;
}

static bool refuse_too_long(kn_former *f)
{
    return kn_region_refuse(
        f,
        "together they are too long: every sweep for a reduction would compute its operands again",
        "fewer operations, or fewer reductions one after the other");
}

/* An exchange goes into the loop nest that reduces what it is of, where all ranks have the same nests: group by group, as
 * soon as a group has its result. */
static bool may_have_exchange(kn_former *f, int nest, int exchange)
{
    const kn_region *r = f->forming[nest].region;
    const kn_node *of = kn_view_root(f->forming[exchange].region->nodes.data[0]->in[0]);
    bool of_groups = true;
    if (!f->g->exchanges_in_nests || !r->reduces || kn_region_find(f, of->id) != nest)
        return false;
    for (int j = 0; j < of->rank && kn_ops[of->op].cls != KN_REDUCE; j++)
        of_groups = of_groups &&
                    (f->out->axis[of->id][j] < 0 || !(r->members >> f->out->axis[of->id][j] & 1));
    return of_groups;
}

/* Where ranks may have other nests, what they exchange is ready before anything that waits for a later exchange begins, so
 * that all have the same exchanges in the same order. */
static bool is_sent_in_time(kn_former *f, int a, int b)
{
    const kn_forming *x = &f->forming[a], *y = &f->forming[b];
    int round = x->region->round > y->region->round ? x->region->round : y->region->round;
    bool in_time = f->g->exchanges_in_nests || (x->sends >= round && y->sends >= round);
    if (x->region->exchange || y->region->exchange)
        in_time = x->region->exchange != y->region->exchange &&
                  (x->region->exchange ? may_have_exchange(f, b, a) : may_have_exchange(f, a, b));
    return in_time ||
           kn_region_refuse(f, "ranks exchange what one of them computes before the other begins",
                            "one rank");
}

/* A copy that has its own loop nest shares it with other such copies alone. */
static bool have_like_nests(kn_former *f, int a, int b)
{
    const bool of_a = kn_has_own_nest(f->forming[a].region->nodes.data[0]);
    return of_a == kn_has_own_nest(f->forming[b].region->nodes.data[0]) ||
           kn_region_refuse(f, "one is a compact copy, which has a loop nest of its own",
                            "an array that does not lie transposed");
}

bool kn_region_can_merge(kn_former *f, int t, int s, int8_t *map)
{
    return have_like_nests(f, t, s) && is_sent_in_time(f, t, s) &&
           (!is_too_long(f, t, s) || refuse_too_long(f)) && kn_region_map_axes(f, t, s, map) &&
           kn_region_all_walked(f, t, s, map) &&
           (!kn_region_between(f, t, s) || kn_region_refuse_between(f));
}

/* Have they been refused for their axes? More nodes only add to the reasons. */
static bool are_unlike(kn_former *f, int a, int b)
{
    if (f->forming[a].unlike.len > f->forming[b].unlike.len) {
        int t = a;
        a = b;
        b = t;
    }
    for (int i = 0; i < f->forming[a].unlike.len; i++) {
        f->out->work++;
        if (kn_region_find(f, f->forming[a].unlike.data[i]) == b)
            return true;
    }
    return false;
}

static void merge(kn_former *f, int t, int s, const int8_t *map)
{
    kn_forming *to = &f->forming[t], *from = &f->forming[s];
    kn_region *into = to->region, *part = from->region;
    for (int a = 0; a < part->naxes; a++) {
        into->dim[map[a]] = map[a] < into->naxes ? into->dim[map[a]] : part->dim[a];
        if (part->reduces && part->members >> a & 1)
            into->members |= 1u << map[a];
    }
    for (int a = 0; a < part->naxes; a++)
        into->naxes = map[a] >= into->naxes ? map[a] + 1 : into->naxes;
    into->reduces |= part->reduces;
    into->exchange = into->exchange && part->exchange;
    into->round = part->round > into->round ? part->round : into->round;
    to->sends = from->sends < to->sends ? from->sends : to->sends;
    for (int i = 0; i < part->norder; i++)
        into->order[i] = map[part->order[i]];
    into->norder = part->norder ? part->norder : into->norder;
    for (int i = 0; i < part->nodes.len; i++) {
        int8_t *axis = f->out->axis[part->nodes.data[i]->id];
        for (int j = 0; j < part->nodes.data[i]->rank; j++)
            axis[j] = axis[j] < 0 ? axis[j] : map[axis[j]];
        kn_push(f->a, &into->nodes, part->nodes.data[i]);
    }
    for (int i = 0; i < from->reads.len; i++)
        kn_push(f->a, &to->reads, from->reads.data[i]);
    for (int i = 0; i < from->loads.len; i++)
        add_load(f, to, from->loads.data[i]);
    for (int i = 0; i < from->unlike.len; i++)
        if (!are_unlike(f, t, kn_region_find(f, from->unlike.data[i])))
            kn_push(f->a, &to->unlike, from->unlike.data[i]);
    span_reductions(to, from, &to->earliest, &to->latest);
    to->first = from->first < to->first ? from->first : to->first;
    kn_region_order_merge(f, t, s);
    f->parent[s] = t;
    f->out->work += part->nodes.len;
}

/* The smaller one's nodes are looked at, the earlier one's axes come first where neither is. */
bool kn_region_merge(kn_former *f, int x, int y)
{
    int8_t map[KN_MAX_RANK];
    int a = kn_region_find(f, x), b = kn_region_find(f, y);
    int na = f->forming[a].region->nodes.len, nb = f->forming[b].region->nodes.len;
    bool a_first = na != nb ? na > nb : f->forming[a].first < f->forming[b].first;
    int t = a_first ? a : b, s = a_first ? b : a;
    if (a == b || are_unlike(f, a, b) || is_too_long(f, a, b) || !have_like_nests(f, a, b) ||
        !is_sent_in_time(f, a, b))
        return false;
    if (!kn_region_map_axes(f, t, s, map)) {
        kn_push(f->a, &f->forming[a].unlike, b);
        kn_push(f->a, &f->forming[b].unlike, a);
        return false;
    }
    if (!kn_region_all_walked(f, t, s, map) || kn_region_between(f, t, s))
        return false;
    merge(f, t, s, map);
    kn_push(f->a, &f->out->merges, ((kn_merge){x, y}));
    return true;
}

/* Is it one number, whatever the sizes? */
static bool is_single(const kn_former *f, const kn_node *n)
{
    for (int j = 0; j < n->rank; j++)
        if (!kn_dim_is_one(f->g->syms, n->shape[j]))
            return false;
    return true;
}

/* Is x a single number that n would find in another loop nest: is it a reduction's result, or n no number? Of all the
 * nests that such a number touches only one can be merged with what makes it, and keep on chip what it reads. */
static bool joins_nests(const kn_former *f, const kn_node *x, const kn_node *n)
{
    return is_single(f, x) && (kn_ops[x->op].cls == KN_REDUCE || !is_single(f, n));
}

/* A value and one of its operands, in the order of merging. */
typedef struct pair {
    const kn_node *x, *n;
    int magnitude, place;
} pair;

typedef KN_VEC(pair) pairs;

/* The binary logarithm of a loop nest's steps, so that nests of similar sizes have one order. */
static int magnitude_of(const kn_former *f, const kn_node *n)
{
    int magnitude = 0;
    for (int64_t steps = kn_region_elements(f, kn_node_space(n), n->rank); steps > 1; steps /= 2)
        magnitude++;
    return magnitude;
}

static int larger_nests_first(const void *a, const void *b)
{
    const pair *x = a, *y = b;
    return x->magnitude != y->magnitude ? y->magnitude - x->magnitude : x->place - y->place;
}

/* Merges a value with its operands; `joining`: leaves to it those that join nests. */
static void merge_with_operands(kn_former *f, const kn_node *n, pairs *joining)
{
    for (int k = 0; k < n->nin; k++) {
        const kn_node *x = f->use[n->id][k].base;
        if (!kn_is_value(x))
            continue;
        if (!joining || !joins_nests(f, x, n)) {
            kn_region_merge(f, x->id, n->id);
            continue;
        }
        const int of_x = magnitude_of(f, x), of_n = magnitude_of(f, n);
        kn_push(f->a, joining, ((pair){x, n, of_x > of_n ? of_x : of_n, joining->len}));
    }
}

static void merge_joining(kn_former *f, pairs *joining)
{
    if (joining->len)
        qsort(joining->data, (size_t)joining->len, sizeof *joining->data, larger_nests_first);
    for (int i = 0; i < joining->len; i++)
        kn_region_merge(f, joining->data[i].x->id, joining->data[i].n->id);
}

/* ---- regions that load the same array, an argument or what another region makes ---- */

typedef struct shared_leaf {
    const kn_node *leaf;
    int64_t elements;
    KN_VEC(int) readers; /* a node of each region that loads it */
} shared_leaf;

static int larger_first(const void *a, const void *b)
{
    const shared_leaf *x = a, *y = b;
    if (x->elements != y->elements)
        return x->elements > y->elements ? -1 : 1;
    return x->leaf->id - y->leaf->id;
}

static void merge_siblings(kn_former *f)
{
    int n = f->g->nodes.len, count = 0;
    shared_leaf *leaves = KN_NEW_ARRAY(f->a, shared_leaf, n + 1);
    for (int i = 0; i < n; i++)
        leaves[i].leaf = f->g->nodes.data[i];
    for (int i = 0; i < n; i++) {
        if (f->parent[i] < 0 || f->forming[kn_region_find(f, i)].first != i)
            continue; /* regions in the order of their first nodes */
        const kn_forming *region = &f->forming[kn_region_find(f, i)];
        for (int j = 0; j < region->loads.len; j++)
            kn_push(f->a, &leaves[region->loads.data[j].leaf->id].readers,
                    region->loads.data[j].by.node->id);
    }
    for (int i = 0; i < n; i++) {
        if (leaves[i].readers.len < 2)
            continue;
        leaves[i].elements = kn_region_elements(f, leaves[i].leaf->shape, leaves[i].leaf->rank);
        leaves[count++] = leaves[i];
    }
    qsort(leaves, (size_t)count, sizeof *leaves, larger_first);
    for (int i = 0; i < count; i++) {
        int *at = leaves[i].readers.data, kept = 0;
        for (int j = 0; j < leaves[i].readers.len; j++) {
            int node = at[j];
            for (int k = kept - 1; k >= 0 && k >= kept - NEIGHBOURS; k--)
                kn_region_merge(f, at[k], node);
            bool merged = false;
            for (int k = kept - 1; k >= 0 && k >= kept - NEIGHBOURS; k--)
                merged = merged || kn_region_find(f, at[k]) == kn_region_find(f, node);
            if (!merged)
                at[kept++] = node;
        }
    }
}

/* ---- the result ---- */

static int by_number(const void *a, const void *b)
{
    return (*(const kn_node *const *)a)->id - (*(const kn_node *const *)b)->id;
}

static void assign_nodes(kn_former *f, kn_region *r)
{
    qsort(r->nodes.data, (size_t)r->nodes.len, sizeof *r->nodes.data, by_number);
    for (int k = 0; k < r->nodes.len; k++)
        f->out->of[r->nodes.data[k]->id] = r;
}

/* What it reads has its level. */
static int level_of(const kn_regions *out, const kn_region *r)
{
    int level = 0;
    for (int i = 0; i < r->nodes.len; i++)
        for (int k = 0; k < r->nodes.data[i]->nin; k++) {
            const kn_region *from = out->of[kn_view_root(r->nodes.data[i]->in[k])->id];
            int below = from && from != r ? from->level : -1;
            level = below >= level ? below + 1 : level;
        }
    return level;
}

/* Within a level regions come in the order of their first nodes. */
static void list_by_level(kn_former *f)
{
    kn_regions *out = f->out;
    KN_VEC(kn_region *) regions = {0};
    for (int i = 0; i < f->g->nodes.len; i++)
        if (out->of[i] && out->of[i]->nodes.data[0]->id == i)
            kn_push(f->a, &regions, out->of[i]);
    int highest = 0;
    for (int r = -1; (r = kn_region_next(f, r)) >= 0;) {
        kn_region *region = f->forming[r].region;
        region->level = level_of(out, region);
        highest = region->level > highest ? region->level : highest;
    }
    int *start = KN_NEW_ARRAY(f->a, int, highest + 2);
    for (int i = 0; i < regions.len; i++)
        start[regions.data[i]->level + 1]++;
    for (int i = 0; i <= highest; i++)
        start[i + 1] += start[i];
    for (int i = 0; i < regions.len; i++)
        kn_push(f->a, &out->list, NULL);
    for (int i = 0; i < regions.len; i++)
        out->list.data[start[regions.data[i]->level]++] = regions.data[i];
}

static kn_former *new_former(kn_arena *a, kn_graph *g, const int64_t *sizes, bool fuse)
{
    int n = g->nodes.len;
    kn_former *f = KN_NEW(a, kn_former);
    *f = (kn_former){.a = a, .g = g, .sizes = sizes, .out = KN_NEW(a, kn_regions)};
    f->parent = KN_NEW_ARRAY(a, int, n + 1);
    f->forming = KN_NEW_ARRAY(a, kn_forming, n + 1);
    f->use = kn_alloc(a, sizeof *f->use * (size_t)(n + 1));
    f->readers = KN_NEW_ARRAY(a, kn_readers, n + 1);
    f->output = KN_NEW_ARRAY(a, bool, n + 1);
    f->seen = KN_NEW_ARRAY(a, int, n + 1);
    f->listed = KN_NEW_ARRAY(a, int, n + 1);
    f->place = KN_NEW_ARRAY(a, int, n + 1);
    f->exchange = KN_NEW_ARRAY(a, int, n + 1);
    f->out->graph = g;
    f->fuse = fuse;
    f->out->former = f;
    f->out->of = KN_NEW_ARRAY(a, kn_region *, n + 1);
    f->out->axis = kn_alloc(a, sizeof *f->out->axis * (size_t)(n + 1));
    memset(f->parent, -1, sizeof *f->parent * (size_t)n);
    memset(f->exchange, -1, sizeof *f->exchange * (size_t)n);
    return f;
}

kn_former *kn_regions_begin(kn_arena *a, kn_graph *g, const int64_t *sizes, bool fuse)
{
    kn_former *f = new_former(a, g, sizes, fuse);
    count_waits(f);
    count_rounds(f);
    for (int i = 0; i < g->nodes.len; i++)
        if (g->nodes.data[i]->op == KN_OP_OF_RANK)
            add_rank(f, g->nodes.data[i]);
        else if (kn_is_value(g->nodes.data[i]))
            add_node(f, g->nodes.data[i]);
    for (int o = 0; o < g->outputs.len; o++)
        f->output[g->outputs.data[o].node->id] = true;
    kn_region_order_begin(f);
    kn_region_costs(f);
    return f;
}

/* A copy of each region, with room of its own for what forming changes in place. */
static void copy_forming(kn_former *f, const kn_former *begun)
{
    const int n = f->g->nodes.len;
    int regions = 0, reads = 0;
    for (int r = -1; (r = kn_region_next(begun, r)) >= 0; regions++)
        reads += begun->forming[r].reads.len;
    kn_region *region = KN_NEW_ARRAY(f->a, kn_region, regions + 1);
    int *read = KN_NEW_ARRAY(f->a, int, reads + 1);
    f->forming = kn_alloc_copy(f->a, begun->forming, sizeof *f->forming * (size_t)(n + 1));
    for (int r = -1; (r = kn_region_next(begun, r)) >= 0;) {
        kn_forming *to = &f->forming[r];
        *region = *to->region;
        to->region = region++;
        to->region->nodes.cap = to->region->nodes.len; /* what grows moves */
        to->loads.cap = to->loads.len;
        to->reads.cap = to->reads.len;
        if (to->reads.len)
            memcpy(read, to->reads.data, sizeof *read * (size_t)to->reads.len);
        to->reads.data = read;
        read += to->reads.len;
    }
}

/* As begun, which stays as it is. What merging does not change the two share. */
static kn_former *begin_as(kn_arena *a, const kn_former *begun)
{
    const size_t n = (size_t)begun->g->nodes.len + 1;
    kn_former *f = kn_alloc_copy(a, begun, sizeof *f);
    kn_regions *out = kn_alloc_copy(a, begun->out, sizeof *out);
    f->a = a;
    f->out = out;
    out->former = f;
    out->of = KN_NEW_ARRAY(a, kn_region *, n);
    out->axis = kn_alloc_copy(a, begun->out->axis, sizeof *out->axis * n);
    f->parent = kn_alloc_copy(a, begun->parent, sizeof *f->parent * n);
    f->label = kn_alloc_copy(a, begun->label, sizeof *f->label * n);
    f->before = kn_alloc_copy(a, begun->before, sizeof *f->before * n);
    f->after = kn_alloc_copy(a, begun->after, sizeof *f->after * n);
    f->seen = KN_NEW_ARRAY(a, int, n);
    f->listed = KN_NEW_ARRAY(a, int, n);
    f->place = KN_NEW_ARRAY(a, int, n);
    copy_forming(f, begun);
    return f;
}

/* Nests that read an exchange between nests wait for it; exchanges within a nest do not count. */
static void find_rounds(kn_regions *out)
{
    for (int i = 0; i < out->list.len; i++) {
        kn_region *r = out->list.data[i];
        r->round = 0;
        for (int j = 0; j < r->nodes.len; j++)
            for (int k = 0; k < r->nodes.data[j]->nin; k++) {
                const kn_region *from = out->of[kn_view_root(r->nodes.data[j]->in[k])->id];
                int round = from && from != r ? from->round + from->exchange : 0;
                r->round = round > r->round ? round : r->round;
            }
    }
}

static kn_regions *finish(kn_former *f)
{
    for (int i = 0; i < f->g->nodes.len; i++)
        if (f->parent[i] >= 0 && !f->out->of[i])
            assign_nodes(f, f->forming[kn_region_find(f, i)].region);
    list_by_level(f);
    find_rounds(f->out);
    kn_work(f->out->work);
    return f->out;
}

/* Whether merges over numbers that join loop nests come last, those of the largest nests first; and whether those of
 * the last values come first. */
typedef struct order {
    bool joining_last, backwards;
} order;

static const order orders[KN_REGION_ORDERS] = {
    {true, false}, {true, true}, {false, false}, {false, true}};

kn_regions *kn_regions_form_in(kn_arena *a, kn_graph *g, const int64_t *sizes, int number)
{
    kn_former *f = kn_regions_begin(a, g, sizes, true);
    const order o = orders[number];
    const int n = g->nodes.len;
    pairs joining = {0};
    for (int round = 0; round < (o.joining_last ? 1 : 2); round++)
        for (int i = 0; i < n; i++) {
            const kn_node *v = g->nodes.data[o.backwards ? n - 1 - i : i];
            if (kn_is_value(v))
                merge_with_operands(f, v, o.joining_last ? &joining : NULL);
        }
    merge_joining(f, &joining);
    merge_siblings(f);
    return finish(f);
}

kn_regions *kn_regions_form(kn_arena *a, kn_graph *g, const int64_t *sizes, bool fuse)
{
    if (fuse)
        return kn_regions_form_in(a, g, sizes, 0);
    kn_former *f = kn_regions_begin(a, g, sizes, false);
    for (int i = 0; i < g->nodes.len; i++) {
        const kn_node *v = g->nodes.data[i];
        /* what only gives an output its shape is no operation: it stays with the value that it shows */
        if (kn_is_value(v) && kn_is_output_copy(g, v) && kn_shown_value(v))
            merge_with_operands(f, v, NULL);
    }
    return finish(f);
}

bool kn_regions_same(const kn_regions *x, const kn_regions *y)
{
    if (x->list.len != y->list.len)
        return false;
    for (int i = 0; i < x->graph->nodes.len; i++)
        if (x->of[i] && x->of[i]->nodes.data[0] != y->of[i]->nodes.data[0])
            return false;
    return true;
}

static kn_regions *form_by(kn_former *f, const kn_merge *merges, int n)
{
    for (int i = 0; i < n; i++)
        kn_region_merge(f, merges[i].a, merges[i].b);
    return finish(f);
}

kn_regions *kn_regions_form_by(kn_arena *a, kn_graph *g, const int64_t *sizes,
                               const kn_merge *merges, int n)
{
    return form_by(kn_regions_begin(a, g, sizes, true), merges, n);
}

kn_regions *kn_regions_form_as(kn_arena *a, const kn_former *begun, const kn_merge *merges, int n)
{
    kn_work(begun->g->nodes.len);
    return form_by(begin_as(a, begun), merges, n);
}
