/* Lower bounds on the predicted time of any plan of a partition, without planning it.
 *
 * Of loop nests in one kernel: memory moves every argument and output once, and what does not stay on chip once more for
 * each part that reads it again, unless rows and columns are reduced in one sweep (pass/cross.c); every operation is done
 * once, of random numbers once for those that share it; a part waits for those whose reductions it reads.
 *
 * Of a kernel each: every one is launched, loads what it reads and stores what others do. */
#include <math.h>

#include "codegen/kir/precision.h"
#include "codegen/model/machine.h"
#include "codegen/plan/nests/planner.h"
#include "codegen/plan/partition.h"
#include "ir/view.h"

enum {
    /* read by a reduction without groups that may be local, done by every block */
    LOCAL_BYTES = 64 * 1024,
    SHARING = 4, /* neighbours that share a block of random numbers (kir/lanes.h) */
};

/* A part of the partition; its number is that of its first node. */
typedef struct part {
    /* elements: results of its reductions, and the most that it walks over */
    double groups, largest;
    double start;           /* when all that it reads is ready; -1: not known yet */
    double again, computed; /* bytes that it reads again, or reads to compute values again */
    bool reduces, stores, stores_elements, meets, waits;
    uint32_t axes; /* that its reductions reduce, of their own operands */
    int nodes;     /* 1 + the first of them; 0: none yet */
} part;

/* What is the same for all partitions of a graph. */
struct kn_bounding {
    kn_arena *arena;
    const kn_graph *g;
    const kn_target *target;
    const kn_machine *m;
    double chip;           /* bytes that may still be on chip when they are read again */
    double *elements;      /* per node; of a reduction, its results */
    const kn_node **roots; /* per node, KN_MAX_IN each: the array or value behind its operands */
};

typedef struct bounding {
    const kn_bounding *all;
    const kn_graph *g;
    const kn_machine *m;
    const double *elements;
    const int *of; /* per node: its part; -1 for views and leaves */
    part *parts;
    int *next;               /* per node: the next one of its part; -1: it is the last */
    double *from;            /* per node: bytes of the largest array that it is computed from */
    double *without_barrier; /* per node: when another part can have it without a further barrier */
    double *behind_barrier;  /* per node: when with one, counted before it; -1: it needs none */
    int *last;               /* per array: 1 + the last part that reads it; 0: none yet */
    double bytes, work;
} bounding;

static double larger(double x, double y) { return x > y ? x : y; }
static double smaller(double x, double y) { return x < y ? x : y; }

static double bytes_of(const bounding *b, const kn_node *n)
{
    return b->elements[n->id] * kn_bytes(n->dtype);
}

static bool reduces(const kn_node *n) { return kn_ops[n->op].cls == KN_REDUCE; }

/* May every block do the reduction for itself? */
static bool is_local(const bounding *b, const kn_node *reduction)
{
    return b->elements[reduction->id] <= 1 && bytes_of(b, reduction->in[0]) <= LOCAL_BYTES;
}

static const kn_node *root_of(const bounding *b, const kn_node *n, int k)
{
    return b->all->roots[n->id * KN_MAX_IN + k];
}

static void outline_parts(bounding *b)
{
    for (int i = b->g->nodes.len - 1; i >= 0; i--) {
        const kn_node *n = b->g->nodes.data[i];
        if (b->of[i] < 0)
            continue;
        part *p = &b->parts[b->of[i]];
        b->next[i] = p->nodes - 1;
        p->nodes = i + 1;
        p->start = -1;
        p->reduces = p->reduces || reduces(n);
        p->axes |= reduces(n) ? n->u.reduce.axes : 0;
        p->meets = p->meets || (reduces(n) && !is_local(b, n));
        p->groups = larger(p->groups, reduces(n) ? b->elements[i] : 1);
        p->largest = larger(p->largest, b->elements[(reduces(n) ? n->in[0] : n)->id]);
    }
    for (int o = 0; o < b->g->outputs.len; o++) {
        const kn_node *n = b->g->outputs.data[o].node;
        if (b->of[n->id] < 0)
            continue;
        part *p = &b->parts[b->of[n->id]];
        p->stores = true;
        p->stores_elements = p->stores_elements || (!reduces(n) && b->elements[n->id] > p->groups);
    }
}

/* ---- when parts can start ---- */

static double start_of(bounding *b, int index);

/* When other parts can have value n: a reduction after a barrier, unless it is local; an elementwise value is loaded,
 * or computed again from what was ready earlier. */
static void set_ready(bounding *b, const kn_node *n, double start)
{
    bool local = reduces(n) && is_local(b, n);
    b->without_barrier[n->id] = local ? start : 0;
    b->behind_barrier[n->id] = reduces(n) && !local ? start : -1;
    for (int k = 0; k < n->nin && !reduces(n); k++) {
        const kn_node *x = root_of(b, n, k);
        if (b->of[x->id] < 0)
            continue;
        start_of(b, b->of[x->id]);
        b->without_barrier[n->id] = larger(b->without_barrier[n->id], b->without_barrier[x->id]);
        b->behind_barrier[n->id] = larger(b->behind_barrier[n->id], b->behind_barrier[x->id]);
    }
}

/* Sets when a part can start, and when its values are ready. */
static double start_of(bounding *b, int index)
{
    part *p = &b->parts[index];
    double without_barrier = 0, behind_barrier = -1;
    if (p->start >= 0)
        return p->start;
    p->start = 0;
    for (int i = index; i >= 0; i = b->next[i])
        for (int k = 0; k < b->g->nodes.data[i]->nin; k++) {
            const kn_node *x = root_of(b, b->g->nodes.data[i], k);
            int other = b->of[x->id];
            if (other < 0 || other == index)
                continue;
            start_of(b, other);
            without_barrier = larger(without_barrier, b->without_barrier[x->id]);
            behind_barrier = larger(behind_barrier, b->behind_barrier[x->id]);
        }
    /* the last block to arrive may do the last part, if that stores only results of reductions */
    double meeting = p->stores && !p->stores_elements ? b->m->last : b->m->grid;
    p->start =
        behind_barrier < 0 ? without_barrier : larger(without_barrier, behind_barrier + meeting);
    for (int i = index; i >= 0; i = b->next[i])
        set_ready(b, b->g->nodes.data[i], p->start);
    return p->start;
}

/* ---- bytes and work ---- */

/* May the reductions of both parts be done in one sweep, rows and columns of an array? */
static bool may_cross(const bounding *b, int one, int other)
{
    const part *p = &b->parts[one], *q = &b->parts[other];
    return b->all->target->sm && b->all->target->cooperative && p->reduces && q->reduces &&
           p->axes != q->axes;
}

/* Is it in memory? Indices are computed. */
static bool is_array(const bounding *b, const kn_node *root)
{
    return root->op == KN_OP_INPUT && b->elements[root->id] > 1;
}

/* Counts an argument the first time, and what another part that reads it moves again. */
static void add_argument(bounding *b, const kn_node *base, int index)
{
    const kn_node *root = kn_view_root(base);
    part *p = &b->parts[index];
    if (kn_is_uniform_leaf(base) || base->op == KN_OP_TAKE || !is_array(b, root))
        return;
    double bytes = smaller(bytes_of(b, root), b->elements[base->id] * kn_bytes(base->dtype));
    p->waits = p->waits || b->elements[base->id] > p->groups;
    if (b->last[root->id] == 0) {
        b->bytes += bytes;
        b->work += KN_LOAD_COST * b->elements[base->id];
    } else if (b->last[root->id] != index + 1 && !may_cross(b, b->last[root->id] - 1, index)) {
        p->again += larger(0, bytes - b->all->chip);
    }
    b->last[root->id] = index + 1;
}

static void add_node(bounding *b, const kn_node *n)
{
    part *p = &b->parts[b->of[n->id]];
    bool approximate = kn_ops[n->op].cost > KN_FUNCTION_COST && b->all->target->sm;
    for (int k = 0; k < n->nin; k++) {
        const kn_node *x = root_of(b, n, k);
        bool inside = b->of[x->id] >= 0;
        double bytes = is_array(b, x) ? bytes_of(b, x) : 0;
        b->from[n->id] = larger(b->from[n->id], inside ? b->from[x->id] : bytes);
        if (!inside)
            add_argument(b, kn_base_of(b->g, n, k), b->of[n->id]);
        else if (b->of[x->id] != b->of[n->id] && !may_cross(b, b->of[x->id], b->of[n->id]))
            p->computed =
                larger(p->computed, smaller(bytes_of(b, x), b->from[x->id]) - b->all->chip);
    }
    b->work += b->elements[(reduces(n) ? n->in[0] : n)->id] * kn_ops[n->op].cost /
               (approximate ? KN_APPROXIMATED : 1) / (b->from[n->id] > 0 ? 1 : SHARING);
    if (reduces(n))
        b->from[n->id] = bytes_of(b, n);
}

kn_bounding *kn_bounding_of(kn_arena *a, const kn_graph *g, const int64_t *sizes,
                            const kn_target *target)
{
    kn_bounding *b = KN_NEW(a, kn_bounding);
    *b = (kn_bounding){.arena = a, .g = g, .target = target, .m = kn_machine_of(target)};
    b->chip = 2 * b->m->cache_bytes + (double)target->units * target->smem_block;
    b->elements = KN_NEW_ARRAY(a, double, g->nodes.len + 1);
    b->roots = KN_NEW_ARRAY(a, const kn_node *, g->nodes.len *KN_MAX_IN + 1);
    for (int i = 0; i < g->nodes.len; i++) {
        const kn_node *n = g->nodes.data[i];
        int64_t shape[KN_MAX_RANK];
        kn_node_sizes(n, sizes, shape);
        b->elements[i] = (double)kn_count(shape, n->rank);
        for (int k = 0; k < n->nin; k++)
            b->roots[i * KN_MAX_IN + k] = kn_view_root(kn_base_of(g, n, k));
    }
    return b;
}

static void begin(bounding *b, kn_arena *a)
{
    int n = b->g->nodes.len + 1;
    double **arrays[] = {&b->from, &b->without_barrier, &b->behind_barrier};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        *arrays[i] = KN_NEW_ARRAY(a, double, n);
    b->last = KN_NEW_ARRAY(a, int, n);
    b->next = KN_NEW_ARRAY(a, int, n);
    b->parts = KN_NEW_ARRAY(a, part, n);
    outline_parts(b);
}

double kn_partition_bound(const kn_bounding *all, const int *part_of)
{
    const kn_graph *g = all->g;
    const kn_target *target = all->target;
    const kn_arena_mark here = kn_arena_here(all->arena);
    bounding b = {.all = all, .g = g, .m = all->m, .elements = all->elements, .of = part_of};
    begin(&b, all->arena);
    for (int i = 0; i < g->nodes.len; i++)
        if (part_of[i] >= 0)
            add_node(&b, g->nodes.data[i]);
    double met = 0, waits = 0;
    for (int i = 0; i < g->nodes.len; i++) {
        if (part_of[i] != i)
            continue;
        const part *p = &b.parts[i];
        met = larger(met, start_of(&b, i));
        if (p->waits && (p->stores || p->meets)) /* parts without a barrier between wait together */
            waits = 2 * b.m->latency;
        b.bytes += larger(p->again, p->computed);
    }
    for (int o = 0; o < g->outputs.len; o++)
        b.bytes += bytes_of(&b, g->outputs.data[o].node);
    double memory = b.bytes / larger(b.m->memory, b.m->stream);
    double units =
        larger(b.bytes / (target->units * b.m->unit), b.work / (target->units * b.m->adds));
    kn_arena_back(all->arena, here);
    return b.m->launch + cbrt(memory * memory * memory + units * units * units) + waits + met;
}

/* ---- a kernel each ---- */

/* Bytes that a part loads: `seen` per array or value: 1 + the last part that did. Values that another part loads are
 * stored. */
static double bytes_loaded(const bounding *b, const kn_node *n, int *seen, bool *stored)
{
    double bytes = 0;
    for (int k = 0; k < n->nin; k++) {
        const kn_node *base = kn_base_of(b->g, n, k), *root = kn_view_root(base);
        const int own = b->of[n->id];
        if (kn_is_uniform_leaf(base) || base->op == KN_OP_TAKE || b->of[root->id] == own)
            continue;
        if (seen[root->id] != own + 1)
            bytes += smaller(bytes_of(b, root), b->elements[base->id] * kn_bytes(base->dtype));
        seen[root->id] = own + 1;
        stored[root->id] = b->of[root->id] >= 0;
    }
    return bytes;
}

double kn_separate_bound(const kn_bounding *all, const int *part_of)
{
    const kn_graph *g = all->g;
    const kn_arena_mark here = kn_arena_here(all->arena);
    const bounding b = {.all = all, .g = g, .m = all->m, .elements = all->elements, .of = part_of};
    int *seen = KN_NEW_ARRAY(all->arena, int, g->nodes.len + 1);
    bool *stored = KN_NEW_ARRAY(all->arena, bool, g->nodes.len + 1);
    double bytes = 0, parts = 0;
    for (int o = 0; o < g->outputs.len; o++)
        stored[g->outputs.data[o].node->id] = true;
    for (int i = 0; i < g->nodes.len; i++)
        if (part_of[i] >= 0) {
            bytes += bytes_loaded(&b, g->nodes.data[i], seen, stored);
            parts += part_of[i] == i;
        }
    for (int i = 0; i < g->nodes.len; i++)
        bytes += stored[i] && part_of[i] >= 0 ? bytes_of(&b, g->nodes.data[i]) : 0;
    kn_arena_back(all->arena, here);
    return parts * b.m->launch + bytes / (all->target->units * b.m->unit);
}
