/* Offsets of temporaries in the workspace.
 *
 * Grid barriers, and the boundaries of kernels, divide a plan into intervals, within which blocks run in any order. A
 * temporary is live from the interval of its first writer to that of its last reader, both included. Two that are not
 * live in the same interval may share memory, for all blocks are done with the one before any touches the other.
 * Offsets are assigned by decreasing size, each the lowest that is free for the whole live range (Pisarchyk and Lee,
 * "Efficient memory management for deep neural net inference", 2020, greedy by size). If there are so many that the
 * search would take long, they are assigned by first write. */
#include <stdlib.h>
#include <string.h>

#include "base/work.h"
#include "codegen/plan/build.h"

enum { ALIGN = 256, MOST_BY_SIZE = 256 };

typedef struct life {
    int first, last; /* intervals; first > last: not live */
} life;

static void touch(life *l, int interval)
{
    if (l->first > l->last)
        l->first = interval;
    l->last = interval;
}

/* Finds live ranges; returns the number of intervals. A local phase runs with its host, after the host's barrier. */
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
                    const kn_access *acc = kn_any_access(ph, j);
                    if (acc && acc->buf != KN_BUF_COUNT &&
                        k->bufs.data[acc->buf].kind == KN_BUF_TEMP)
                        touch(&lives[k->bufs.data[acc->buf].index], interval);
                }
            }
        }
    }
    return interval;
}

static int64_t aligned(int64_t bytes) { return (bytes + ALIGN - 1) / ALIGN * ALIGN; }

static bool meet(const life *a, const life *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* ---- by size ---- */

/* Decreasing size; ties in order. */
static int by_size(const void *a, const void *b)
{
    const kn_buf *x = *(kn_buf *const *)a, *y = *(kn_buf *const *)b;
    return x->bytes != y->bytes ? (x->bytes < y->bytes) - (x->bytes > y->bytes)
                                : x->index - y->index;
}

/* The lowest offset at which temporary t overlaps none of the n placed ones that are live with it; these are sorted
 * by offset. */
static int64_t lowest(kn_buf *const *placed, int n, const kn_buf *t, const life *lives)
{
    int64_t at = 0;
    for (int i = 0; i < n && placed[i]->offset < at + aligned(t->bytes); i++) {
        int64_t end = placed[i]->offset + aligned(placed[i]->bytes);
        if (end > at && meet(&lives[t->index], &lives[placed[i]->index]))
            at = end;
    }
    return at;
}

static void place_by_size(kn_arena *a, kn_buf **temps, int n, const life *lives)
{
    kn_buf **placed = KN_NEW_ARRAY(a, kn_buf *, n + 1);
    qsort(temps, (size_t)n, sizeof *temps, by_size);
    kn_work((int64_t)n * n);
    for (int i = 0; i < n; i++) {
        int at = i;
        temps[i]->offset = lowest(placed, i, temps[i], lives);
        for (; at > 0 && placed[at - 1]->offset > temps[i]->offset; at--)
            placed[at] = placed[at - 1];
        placed[at] = temps[i];
    }
}

/* ---- by first write ---- */

typedef struct block {
    int64_t offset, bytes;
} block;

/* What is free below `top`: blocks sorted by offset, no two adjacent. */
typedef struct space {
    kn_arena *a;
    KN_VEC(block) free;
    int64_t top;
} space;

static int64_t take(space *s, int64_t bytes)
{
    int i = 0;
    while (i < s->free.len && s->free.data[i].bytes < bytes)
        i++;
    kn_work(1 + i);
    if (i == s->free.len) {
        s->top += bytes;
        return s->top - bytes;
    }
    block *b = &s->free.data[i];
    int64_t offset = b->offset;
    *b = (block){offset + bytes, b->bytes - bytes};
    if (!b->bytes) {
        memmove(b, b + 1, sizeof *b * (size_t)(s->free.len - i - 1));
        s->free.len--;
    }
    return offset;
}

static void give(space *s, block b)
{
    int low = 0, high = s->free.len;
    while (low < high) {
        int mid = (low + high) / 2;
        if (s->free.data[mid].offset < b.offset)
            low = mid + 1;
        else
            high = mid;
    }
    block *all = s->free.data;
    if (low < s->free.len && b.offset + b.bytes == all[low].offset) {
        all[low] = (block){b.offset, b.bytes + all[low].bytes};
    } else {
        kn_push(s->a, &s->free, b);
        all = s->free.data;
        memmove(&all[low + 1], &all[low], sizeof b * (size_t)(s->free.len - 1 - low));
        all[low] = b;
    }
    if (low > 0 && all[low - 1].offset + all[low - 1].bytes == all[low].offset) {
        all[low - 1].bytes += all[low].bytes;
        memmove(&all[low], &all[low + 1], sizeof b * (size_t)(s->free.len - low - 1));
        s->free.len--;
    }
}

/* First fit, in the order of first writes. */
static void place_by_time(kn_arena *a, kn_buf **temps, int n, const life *lives, int intervals)
{
    space s = {.a = a};
    KN_VEC(kn_buf *) *first = kn_alloc(a, sizeof *first * (size_t)(intervals + 1)),
                     *last = kn_alloc(a, sizeof *last * (size_t)(intervals + 1));
    for (int i = 0; i < n; i++) {
        kn_push(a, &first[lives[temps[i]->index].first], temps[i]);
        kn_push(a, &last[lives[temps[i]->index].last], temps[i]);
    }
    for (int t = 0; t < intervals; t++) {
        for (int i = 0; i < first[t].len; i++)
            first[t].data[i]->offset = take(&s, aligned(first[t].data[i]->bytes));
        for (int i = 0; i < last[t].len; i++)
            if (last[t].data[i]->bytes > 0)
                give(&s, (block){last[t].data[i]->offset, aligned(last[t].data[i]->bytes)});
    }
}

/* Copies the offsets to the kernels' own records. */
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
    if (ntemps <= MOST_BY_SIZE)
        place_by_size(p->arena, temps, ntemps, lives);
    else
        place_by_time(p->arena, temps, ntemps, lives, intervals);
    for (int i = 0; i < ntemps; i++) {
        int64_t end = temps[i]->offset + aligned(temps[i]->bytes);
        offset[temps[i]->index] = temps[i]->offset;
        plan->workspace = end > plan->workspace ? end : plan->workspace;
    }
    for (int i = 0; i < plan->temporaries.len; i++)
        plan->temporaries.data[i].offset = offset[plan->temporaries.data[i].index];
    note_offsets(plan, offset);
}
