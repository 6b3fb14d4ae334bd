/* Temporaries in the workspace.
 *
 * Between two meetings of the whole grid, which the boundary of two kernels is too, blocks run in any order. So a
 * temporary lives from the interval of its first writer to that of its last reader, whole intervals, and two whose lives
 * do not meet share memory: whoever touches the one is done, on all blocks, before anybody touches the other. Places
 * are given out by falling size, each the lowest that is free for the whole life (Pisarchyk and Lee, "Efficient memory
 * management for deep neural net inference", 2020, greedy by size). */
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

/* A local phase runs with its host, behind the host's barrier. */
static void find_lives(kn_kernel *const *kernels, int n, life *lives)
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
}

static int64_t aligned(int64_t bytes) { return (bytes + ALIGN - 1) / ALIGN * ALIGN; }

static bool meet(const life *a, const life *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* The lowest offset where temporary t meets none of the n that are placed. */
static int64_t lowest(kn_buf *const *placed, int n, const kn_buf *t, const life *lives)
{
    int64_t at = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (int i = 0; i < n; i++) {
            const kn_buf *b = placed[i];
            int64_t end = b->offset + aligned(b->bytes);
            if (meet(&lives[t->index], &lives[b->index]) && at < end &&
                b->offset < at + aligned(t->bytes)) {
                at = end;
                moved = true;
            }
        }
    }
    return at;
}

void kn_place_temporaries(kn_planner *p, kn_plan *plan)
{
    kn_kernel *const *kernels = plan->kernels.data;
    kn_buf **temps = KN_NEW_ARRAY(p->arena, kn_buf *, p->bufs.len + 1);
    life *lives = KN_NEW_ARRAY(p->arena, life, p->bufs.len + 1); /* by number */
    int ntemps = 0;
    for (int i = 0; i < p->bufs.len; i++)
        lives[i] = (life){.first = 0, .last = -1};
    find_lives(kernels, plan->kernels.len, lives);
    for (int i = 0; i < p->bufs.len; i++) { /* the largest first; of equals, in order */
        kn_buf *b = &p->bufs.data[i];
        int at = ntemps;
        if (b->kind != KN_BUF_TEMP || lives[b->index].last < 0)
            continue;
        for (; at > 0 && temps[at - 1]->bytes < b->bytes; at--)
            temps[at] = temps[at - 1];
        temps[at] = b;
        ntemps++;
    }
    for (int i = 0; i < ntemps; i++) {
        temps[i]->offset = lowest(temps, i, temps[i], lives);
        int64_t end = temps[i]->offset + aligned(temps[i]->bytes);
        plan->workspace = end > plan->workspace ? end : plan->workspace;
    }
    for (int i = 0; i < p->bufs.len; i++) {
        const kn_buf *b = &p->bufs.data[i];
        if (b->kind != KN_BUF_TEMP || lives[b->index].last < 0)
            continue;
        kn_push(p->arena, &plan->temporaries, *b);
        for (int k = 0; k < plan->kernels.len; k++)
            for (int j = 0; j < kernels[k]->bufs.len; j++)
                if (kernels[k]->bufs.data[j].kind == KN_BUF_TEMP &&
                    kernels[k]->bufs.data[j].index == b->index)
                    kernels[k]->bufs.data[j].offset = b->offset;
    }
}
