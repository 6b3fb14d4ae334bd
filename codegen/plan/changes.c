/* The partitions that are one change away from a state of the search, and worth planning.
 *
 * A kind of change that made one state no quicker will rarely make another quicker. So most states are only changed in
 * ways that have not lost yet. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/work.h"
#include "codegen/plan/search_impl.h"
#include "ir/view.h"

bool kn_hashes_have(const kn_hashes *h, uint64_t hash)
{
    for (int i = -1; (i = kn_finder_next(&h->found, hash, i)) >= 0;)
        if (h->list.data[i] == hash)
            return true;
    return false;
}

bool kn_hashes_add(kn_arena *a, kn_hashes *h, uint64_t hash)
{
    if (kn_hashes_have(h, hash))
        return false;
    kn_finder_add(a, &h->found, hash, h->list.len);
    kn_push(a, &h->list, hash);
    return true;
}

/* ---- changes; those of one state live in trials.scratch ---- */

static const kn_tried *from_of(const kn_search *s) { return &s->states.data[s->from]; }

uint64_t kn_key_of(const kn_search *s, const int *part_of, const kn_reuse *reuse)
{
    const size_t n = (size_t)s->problem->graph->nodes.len;
    const uint64_t key = kn_hash(part_of, sizeof *part_of * n, 0);
    return reuse ? kn_hash(reuse, sizeof *reuse * n, key) : key;
}

/* Has a change of this kind lost, where that counts? */
static bool has_lost(const kn_search *s, uint64_t kind)
{
    return s->only_new && kn_hashes_have(&s->lost, kind);
}

/* But for what cannot gain, or comes to what was asked already. */
static void add_change(kn_search *s, kn_change c, const int *part_of)
{
    if (c.toggled < 0 && !kn_hashes_add(s->a, &s->asked, kn_key_of(s, part_of, from_of(s)->reuse)))
        return;
    c.number = s->changes.len;
    kn_work(1 + s->problem->graph->nodes.len / 8);
    if (kn_may_gain(s, part_of, &c.bound))
        kn_push(s->a, &s->changes, c);
}

/* The regions that merges make, which have these parts. */
static void add_merged(kn_search *s, const kn_merge *merges, int n, uint64_t kind,
                       const int *part_of)
{
    add_change(s, (kn_change){.merges = merges, .n = n, .toggled = -1, .kind = kind}, part_of);
}

/* What undoing a merge is, wherever it was done. */
static uint64_t kind_undone(const kn_search *s, int merge)
{
    return kn_hash(&from_of(s)->merges[merge], sizeof(kn_merge), 1);
}

static const kn_merge *without_merge(kn_search *s, int without, int *n)
{
    const kn_tried *from = from_of(s);
    kn_merge *merges = KN_NEW_ARRAY(&s->trials.scratch, kn_merge, from->n + 1);
    *n = 0;
    for (int i = 0; i < from->n; i++)
        if (i != without)
            merges[(*n)++] = from->merges[i];
    return merges;
}

static void add_undone(kn_search *s, int without)
{
    int n;
    const uint64_t kind = kind_undone(s, without);
    if (has_lost(s, kind))
        return;
    const kn_merge *merges = without_merge(s, without, &n);
    add_merged(s, merges, n, kind, kn_parts_by(&s->trials.scratch, s->problem->graph, merges, n));
}

/* Pairs of regions that touch: one reads a value of the other, or both read the same array or value. */
typedef struct touching {
    kn_search *s;
    const kn_merge *merges; /* that make part_of */
    int n;
    const int *part_of;
    int parted;        /* moves: the part that undoing a merge divides */
    const int *before; /* moves: part_of before that; NULL: any two parts may merge */
    uint64_t undone;   /* the kind of that; 0: none is */
    uint64_t *met;     /* per part: those that it was merged with, as bits */
    uint64_t *readers; /* per node: one of each region that reads it */
} touching;

/* Is exactly one of them a half of the divided part? */
static bool moves(const touching *t, int a, int b)
{
    return (t->before[a] == t->parted) != (t->before[b] == t->parted);
}

/* One more merge than theirs. */
static void add_merge(const touching *t, kn_merge more)
{
    const uint64_t kind = kn_hash(&more, sizeof more, t->undone);
    if (has_lost(t->s, kind))
        return;
    kn_merge *merges = KN_NEW_ARRAY(&t->s->trials.scratch, kn_merge, t->n + 1);
    if (t->n)
        memcpy(merges, t->merges, sizeof *merges * (size_t)t->n);
    merges[t->n] = more;
    add_merged(t->s, merges, t->n + 1, kind,
               kn_parts_with(&t->s->trials.scratch, t->s->problem->graph, t->part_of, more));
}

static void meet(touching *t, const kn_node *x, const kn_node *y)
{
    const int a = t->part_of[x->id], b = t->part_of[y->id];
    if (a < 0 || a == b || t->met[a] >> b & 1 || (t->before && !moves(t, a, b)))
        return;
    t->met[a] |= (uint64_t)1 << b;
    t->met[b] |= (uint64_t)1 << a;
    add_merge(t, (kn_merge){x->id, y->id});
}

static void add_reader(touching *t, const kn_node *x, const kn_node *reader)
{
    meet(t, x, reader);
    for (uint64_t left = t->readers[x->id]; left; left &= left - 1) {
        const kn_node *other = t->s->problem->graph->nodes.data[__builtin_ctzll(left)];
        if (t->part_of[other->id] == t->part_of[reader->id])
            return;
        meet(t, other, reader);
    }
    t->readers[x->id] |= (uint64_t)1 << reader->id;
}

/* Per node: those whose values its part needs for it, as bits: what the node reads, and what others read that the state
 * computes again for it. */
static const uint64_t *find_reads(const touching *t)
{
    const int n = t->s->problem->graph->nodes.len;
    uint64_t *reads = KN_NEW_ARRAY(&t->s->trials.scratch, uint64_t, n + 1);
    for (int i = 0; i < n; i++) {
        reads[i] = t->part_of[i] < 0 ? 0 : t->s->operands[i];
        for (uint64_t left = reads[i] & t->s->again; left; left &= left - 1) {
            const int x = __builtin_ctzll(left);
            reads[i] |= t->part_of[x] != t->part_of[i] ? reads[x] : 0;
        }
    }
    return reads;
}

static void add_touching(touching *t)
{
    kn_search *s = t->s;
    const kn_graph *g = s->problem->graph;
    t->met = KN_NEW_ARRAY(&s->trials.scratch, uint64_t, g->nodes.len + 1);
    t->readers = KN_NEW_ARRAY(&s->trials.scratch, uint64_t, g->nodes.len + 1);
    const uint64_t *reads = find_reads(t);
    for (int i = 0; i < g->nodes.len; i++)
        for (uint64_t left = reads[i]; left; left &= left - 1)
            add_reader(t, g->nodes.data[__builtin_ctzll(left)], g->nodes.data[i]);
}

static void add_merges(kn_search *s, const int *part_of)
{
    const kn_tried *from = from_of(s);
    add_touching(&(touching){.s = s, .merges = from->merges, .n = from->n, .part_of = part_of});
}

/* Undoes a merge, and merges either half with another region. */
static void add_moves(kn_search *s, int without, const int *before)
{
    int n = 0;
    const kn_merge *merges = without_merge(s, without, &n);
    add_touching(
        &(touching){.s = s,
                    .merges = merges,
                    .n = n,
                    .part_of = kn_parts_by(&s->trials.scratch, s->problem->graph, merges, n),
                    .undone = kind_undone(s, without),
                    .parted = before[from_of(s)->merges[without].a],
                    .before = before});
}

/* Keeps what the state computes again, or the other way round. */
static void add_toggled(kn_search *s, int node, const int *part_of)
{
    const uint64_t kind = kn_hash(&node, sizeof node, 2);
    if (!has_lost(s, kind))
        add_change(s, (kn_change){.toggled = node, .kind = kind}, part_of);
}

static int lowest_first(const void *a, const void *b)
{
    const kn_change *x = a, *y = b;
    return x->bound != y->bound ? (x->bound < y->bound ? -1 : 1) : x->number - y->number;
}

/* Those from one on. */
static void sort_changes(kn_search *s, int first)
{
    const int n = s->changes.len - first;
    if (n > 0)
        qsort(&s->changes.data[first], (size_t)n, sizeof *s->changes.data, lowest_first);
}

/* As bits: what each node reads, and what the state computes again. */
static void find_operands(kn_search *s)
{
    const kn_graph *g = s->problem->graph;
    s->again = 0;
    for (int i = 0; i < g->nodes.len; i++)
        s->again |= (uint64_t)from_of(s)->again[i] << i;
    if (s->operands)
        return;
    s->operands = KN_NEW_ARRAY(s->a, uint64_t, g->nodes.len + 1);
    for (int i = 0; i < g->nodes.len; i++)
        for (int k = 0; k < g->nodes.data[i]->nin; k++)
            s->operands[i] |= (uint64_t)1 << kn_base_of(g, g->nodes.data[i], k)->id;
}

/* Moves come last: what they gain, one of the others often gains too. */
void kn_find_changes(kn_search *s)
{
    const kn_graph *g = s->problem->graph;
    const kn_tried *from = from_of(s);
    const int *part_of = kn_parts_by(&s->trials.scratch, g, from->merges, from->n);
    const bool *cross = kn_crossing(&s->trials.scratch, g, part_of);
    s->changes.len = 0;
    find_operands(s);
    for (int i = 0; i < from->n; i++)
        add_undone(s, i);
    add_merges(s, part_of);
    for (int i = 0; i < g->nodes.len; i++)
        if (cross[i])
            add_toggled(s, i, part_of);
    sort_changes(s, 0);
    const int first_move = s->changes.len;
    for (int i = 0; i < from->n; i++)
        add_moves(s, i, part_of);
    sort_changes(s, first_move);
}
