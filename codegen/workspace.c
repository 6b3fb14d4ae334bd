/* Temporaries in the workspace.
 *
 * Between two meetings of the whole grid, which the boundary of two kernels is too, blocks run in any order. So a
 * temporary lives from the interval of its first writer to that of its last reader, whole intervals, and two whose lives
 * do not meet share memory: whoever touches the one is done, on all blocks, before anybody touches the other. Places
 * are given out by falling size, each the lowest that is free for the whole life (Pisarchyk and Lee, "Efficient memory
 * management for deep neural net inference", 2020, greedy by size). */
#include <stdlib.h>

#include "base/integer.h"
#include "base/work.h"
#include "codegen/plan.h"

enum { ALIGN = 256 };

typedef struct life {
    int first, last; /* intervals; none: first > last */
} life;

static void touch(life *l, int interval)
{
    if (l->first > l->last)
        l->first = interval;
    l->last = interval;
}

/* How many intervals there are. A local phase runs with its host, behind the host's barrier. */
static int find_lives(kn_kernel *const *kernels, int n, life *lives)
{
    int interval = 0;
    for (int i = 0; i < n; i++, interval++) {
        const kn_kernel *k = kernels[i];
        for (int p = 0; p < k->phases.len; p++) {
            if (k->phases.data[p].local)
                continue;
            interval += kn_begins_after_all(&k->phases.data[p]);
            for (int q = kn_first_local(k, p); q <= p; q++) {
                const kn_phase *ph = &k->phases.data[q];
                for (int j = 0; j < kn_accesses(ph); j++) {
                    const kn_value *v = j < ph->values.len ? &ph->values.data[j] : NULL;
                    const kn_access *acc = v ? &v->access : &kn_store_at(ph, j)->access;
                    if ((!v || kn_is_read(v)) && k->bufs.data[acc->buf].kind == KN_BUF_TEMP)
                        touch(&lives[k->bufs.data[acc->buf].index], interval);
                }
            }
        }
    }
    return interval;
}

static int64_t aligned(int64_t bytes) { return (bytes + ALIGN - 1) / ALIGN * ALIGN; }

/* ---- which temporaries live at a time ---- */

/* Temporaries by the intervals of their lives: a tree of halves, in which a life is at the few nodes that make it up. */
typedef struct lifetimes {
    kn_arena *a;
    int half; /* leaves: interval i is node half + i; node n has 2*n and 2*n + 1 below it */
    struct at_node {
        KN_VEC(kn_buf *) here;
        int below; /* lives at this node and below it */
    } * node;
    int *seen, search; /* per temporary's number: the last search that found it */
    KN_VEC(kn_buf *) found;
} lifetimes;

static lifetimes new_lifetimes(kn_arena *a, int intervals, int temporaries)
{
    lifetimes t = {.a = a, .half = (int)kn_power_of_two_from(intervals)};
    t.node = kn_alloc(a, sizeof *t.node * (size_t)(2 * t.half));
    t.seen = KN_NEW_ARRAY(a, int, temporaries + 1);
    return t;
}

static void find_here(lifetimes *t, int node)
{
    for (int i = 0; i < t->node[node].here.len; i++) {
        kn_buf *b = t->node[node].here.data[i];
        if (t->seen[b->index] != t->search)
            kn_push(t->a, &t->found, b);
        t->seen[b->index] = t->search;
    }
    kn_work(1 + t->node[node].here.len);
}

static void find_below(lifetimes *t, int node)
{
    if (!t->node[node].below)
        return;
    find_here(t, node);
    if (node < t->half) {
        find_below(t, 2 * node);
        find_below(t, 2 * node + 1);
    }
}

static void find_at(lifetimes *t, int node)
{
    find_below(t, node);
    for (int above = node / 2; above; above /= 2)
        find_here(t, above);
}

static void add_at(lifetimes *t, int node, kn_buf *b)
{
    kn_push(t->a, &t->node[node].here, b);
    for (; node; node /= 2)
        t->node[node].below++;
}

/* Finds what lives at some time of `l`; with `b`, adds that, which does. */
static void visit_life(lifetimes *t, const life *l, kn_buf *b)
{
    t->search++;
    t->found.len = 0;
    for (int from = t->half + l->first, to = t->half + l->last + 1; from < to; from /= 2, to /= 2) {
        int nodes[2], n = 0;
        if (from & 1)
            nodes[n++] = from++;
        if (to & 1)
            nodes[n++] = --to;
        for (int i = 0; i < n; i++)
            b ? add_at(t, nodes[i], b) : find_at(t, nodes[i]);
    }
}

static int by_offset(const void *a, const void *b)
{
    const kn_buf *x = *(kn_buf *const *)a, *y = *(kn_buf *const *)b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* The lowest offset where temporary `b` meets none that is placed. */
static int64_t lowest(lifetimes *t, const kn_buf *b, const life *l)
{
    int64_t at = 0;
    visit_life(t, l, NULL);
    if (t->found.len)
        qsort(t->found.data, (size_t)t->found.len, sizeof *t->found.data, by_offset);
    for (int i = 0; i < t->found.len; i++) {
        const kn_buf *other = t->found.data[i];
        int64_t end = other->offset + aligned(other->bytes);
        if (at + aligned(b->bytes) <= other->offset)
            break;
        at = end > at ? end : at;
    }
    return at;
}

/* The largest first; of equals, in order. */
static int by_size(const void *a, const void *b)
{
    const kn_buf *x = *(kn_buf *const *)a, *y = *(kn_buf *const *)b;
    return x->bytes != y->bytes ? (x->bytes < y->bytes) - (x->bytes > y->bytes)
                                : x->index - y->index;
}

/* The kernels' own records of the temporaries. */
static void note_offsets(kn_plan *plan, const int64_t *offset)
{
    for (int k = 0; k < plan->kernels.len; k++)
        for (int j = 0; j < plan->kernels.data[k]->bufs.len; j++) {
            kn_buf *b = &plan->kernels.data[k]->bufs.data[j];
            if (b->kind == KN_BUF_TEMP)
                b->offset = offset[b->index];
        }
}

void kn_place_temporaries(kn_planner *p, kn_plan *plan)
{
    kn_buf **temps = KN_NEW_ARRAY(p->arena, kn_buf *, p->bufs.len + 1);
    life *lives = KN_NEW_ARRAY(p->arena, life, p->bufs.len + 1); /* by number */
    int64_t *offset = KN_NEW_ARRAY(p->arena, int64_t, p->bufs.len + 1);
    int ntemps = 0;
    for (int i = 0; i < p->bufs.len; i++)
        lives[i] = (life){.first = 0, .last = -1};
    int intervals = find_lives(plan->kernels.data, plan->kernels.len, lives);
    for (int i = 0; i < p->bufs.len; i++) {
        kn_buf *b = &p->bufs.data[i];
        if (b->kind != KN_BUF_TEMP || lives[b->index].last < 0)
            continue;
        kn_push(p->arena, &plan->temporaries, *b);
        temps[ntemps++] = b;
    }
    if (!ntemps)
        return;
    qsort(temps, (size_t)ntemps, sizeof *temps, by_size);
    lifetimes placed = new_lifetimes(p->arena, intervals, p->bufs.len);
    for (int i = 0; i < ntemps; i++) {
        const life *l = &lives[temps[i]->index];
        temps[i]->offset = offset[temps[i]->index] = lowest(&placed, temps[i], l);
        visit_life(&placed, l, temps[i]);
        int64_t end = temps[i]->offset + aligned(temps[i]->bytes);
        plan->workspace = end > plan->workspace ? end : plan->workspace;
    }
    for (int i = 0; i < plan->temporaries.len; i++)
        plan->temporaries.data[i].offset = offset[plan->temporaries.data[i].index];
    note_offsets(plan, offset);
}
