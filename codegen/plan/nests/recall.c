/* Raw phases that are recalled. Of the partitions that a search compares each has most of its regions in common with others,
 * and a region that looks alike in all that lowering reads becomes the same phase. */
#include <string.h>

#include "base/hash.h"
#include "base/work.h"
#include "codegen/plan/nests/planner.h"
#include "ir/view.h"

/* What lowering a region depends on, as it is found. */
typedef struct keying {
    const kn_planner *p;
    const kn_region *region;
    kn_raw_key *key;
    bool *seen; /* per node */
} keying;

static void put(keying *k, int64_t number) { kn_push(k->p->raws->arena, k->key, number); }

static void put_extents(keying *k)
{
    const kn_region *r = k->region;
    put(k, k->p->extents.len);
    for (int i = 0; i < k->p->extents.len; i++) /* which have numbers */
        put(k, (int64_t)(intptr_t)k->p->extents.data[i].dim);
    put(k, r->naxes);
    put(k, r->reduces ? (int64_t)r->members : -1);
    for (int a = 0; a < r->naxes; a++)
        put(k, (int64_t)(intptr_t)r->dim[a]);
    put(k, r->norder);
    for (int i = 0; i < r->norder; i++)
        put(k, r->order[i]);
}

static void put_operands(keying *k, const kn_node *n);

/* Where it is, and what it is computed of where the region computes it again. */
static void put_operand(keying *k, const kn_node *base)
{
    const kn_planner *p = k->p;
    if (k->seen[base->id] || kn_is_uniform_leaf(base))
        return;
    k->seen[base->id] = true;
    put(k, 2 * (int64_t)base->id + p->again[base->id]);
    put(k, p->buf_of_node[kn_view_root(base)->id]);
    if (p->again[base->id])
        put_operands(k, base);
}

static void put_operands(keying *k, const kn_node *n)
{
    for (int i = 0; i < n->nin; i++)
        put_operand(k, kn_base_of(k->p->problem->graph, n, i));
}

/* A node of the region: its axes, and where it goes. */
static void put_node(keying *k, const kn_node *n)
{
    const kn_planner *p = k->p;
    int64_t axes[sizeof *p->regions->axis / sizeof(int64_t)];
    memcpy(axes, p->regions->axis[n->id], sizeof axes);
    put(k, n->id);
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++)
        put(k, axes[i]);
    put(k, 2 * (int64_t)p->buf_of_node[n->id] + p->elsewhere[n->id]); /* -1 is none */
    for (int e = p->exchange_of[n->id]; e >= 0; e = p->next_exchange[e])
        put(k, 2 * (int64_t)p->buf_of_node[e] + (p->regions->of[e] == k->region));
    k->seen[n->id] = true;
}

static void put_all(keying *k)
{
    const kn_region *r = k->region;
    put_extents(k);
    put(k, r->nodes.len);
    for (int i = 0; i < r->nodes.len; i++)
        put_node(k, r->nodes.data[i]);
    for (int i = 0; i < r->nodes.len; i++)
        put_operands(k, r->nodes.data[i]);
    kn_work(1 + k->key->len / 16);
}

static bool has_key(const kn_raw *raw, const kn_raw_key *key)
{
    return raw->key.len == key->len &&
           memcmp(raw->key.data, key->data, sizeof *key->data * (size_t)key->len) == 0;
}

static uint64_t hash_of(const kn_raw_key *key)
{
    return kn_hash(key->data, sizeof *key->data * (size_t)key->len, 0);
}

const kn_phase *kn_raw_recall(kn_planner *p, const kn_region *region)
{
    kn_raws *all = p->raws;
    kn_raw_key *key = &all->key;
    key->len = 0;
    if (all->graph != p->problem->graph)
        return NULL;
    keying k = {.p = p,
                .region = region,
                .key = key,
                .seen = KN_NEW_ARRAY(p->arena, bool, all->graph->nodes.len + 1)};
    put_all(&k);
    const uint64_t hash = hash_of(key);
    for (int i = -1; (i = kn_finder_next(&all->by_key, hash, i)) >= 0;) {
        const kn_raw *raw = all->list.data[i];
        if (!has_key(raw, key))
            continue;
        for (int e = 0; e < raw->extents.len; e++)
            kn_planner_add_extent(p, raw->extents.data[e]);
        return raw->phase;
    }
    return NULL;
}

/* The one that is the same; NULL: there is none. */
static const kn_phase *find_same(const kn_raws *all, const kn_phase *phase, uint64_t hash)
{
    for (int i = -1; (i = kn_finder_next(&all->by_phase, hash, i)) >= 0;)
        if (kn_phase_same(all->list.data[i]->phase, phase))
            return all->list.data[i]->phase;
    return NULL;
}

const kn_phase *kn_raw_keep(kn_planner *p, const kn_phase *phase, int extents, kn_arena_mark here)
{
    kn_raws *all = p->raws;
    const uint64_t hash = kn_phase_hash(phase);
    const kn_phase *same = find_same(all, phase, hash);
    if (same && extents == p->extents.len) /* else they are where it is */
        kn_arena_back(all->arena, here);
    kn_raw *raw = KN_NEW(all->arena, kn_raw);
    raw->phase = same ? same : kn_alloc_copy(all->arena, phase, sizeof *phase);
    for (int e = extents; e < p->extents.len; e++)
        kn_push(all->arena, &raw->extents, p->extents.data[e]);
    if (!same)
        kn_finder_add(all->arena, &all->by_phase, hash, all->list.len);
    if (all->key.len) {
        kn_copy_vec(all->arena, &raw->key, &all->key);
        kn_finder_add(all->arena, &all->by_key, hash_of(&all->key), all->list.len);
    }
    kn_push(all->arena, &all->list, raw);
    return raw->phase;
}
