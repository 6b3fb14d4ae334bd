#include "codegen/kir/kir.h"

#include "codegen/kir/grid.h"
#include <math.h>

/* Blocks that wait for other ranks' must all run at once. */
bool kn_kernel_cooperative(const kn_kernel *k)
{
    if (k->ranks)
        return true;
    for (int i = 0; i < k->phases.len; i++)
        if (k->phases.data[i].barrier)
            return true;
    return false;
}

int64_t kn_exchange_words(const kn_buf *b)
{
    return kn_words_of(b->dtype, b->part / kn_bytes(b->dtype));
}

int64_t kn_words_of(kn_dtype t, int64_t elements) { return elements * ((kn_bytes(t) + 3) / 4); }

bool kn_begins_round(const kn_kernel *k, int p)
{
    int i = p - 1;
    if (!k->ranks || k->phases.data[p].local)
        return false;
    while (i >= 0 && k->phases.data[i].local)
        i--;
    return k->phases.data[p].round > (i < 0 ? k->round : k->phases.data[i].round);
}

bool kn_is_exchanged_before(const kn_kernel *k, int p, int buf)
{
    bool stored = false;
    for (int i = 0; i < p && kn_is_exchanged(&k->bufs.data[buf]); i++)
        stored =
            stored || (k->phases.data[i].round + 1 == k->phases.data[p].round &&
                       kn_stores_to(&k->phases.data[i], buf) && !kn_sends(&k->phases.data[i], buf));
    return stored && kn_begins_round(k, p);
}

bool kn_kernel_stores_to(const kn_kernel *k, int buf)
{
    for (int i = 0; i < k->phases.len; i++)
        if (kn_stores_to(&k->phases.data[i], buf))
            return true;
    return false;
}

bool kn_kernel_resident(const kn_kernel *k)
{
    for (int i = 0; i < k->phases.len; i++)
        if (kn_phase_resident(&k->phases.data[i]))
            return true;
    return false;
}

bool kn_kernel_meets(const kn_kernel *k)
{
    return kn_kernel_cooperative(k) ||
           (k->phases.len > 0 && k->phases.data[k->phases.len - 1].how.last_block);
}

bool kn_kernel_in_clusters(const kn_kernel *k)
{
    for (int i = 0; i < k->phases.len; i++)
        if (k->phases.data[i].how.cluster)
            return true;
    return false;
}

int kn_kernel_cluster(const kn_kernel *k)
{
    for (int i = 0; i < k->phases.len; i++)
        if (k->phases.data[i].how.cluster)
            return (int)k->phases.data[i].num.splits;
    return 1;
}

int kn_first_local(const kn_kernel *k, int p)
{
    while (p > 0 && k->phases.data[p - 1].local)
        p--;
    return p;
}

/* The first phase from p on that is not local; k->phases.len: there is none. */
static int next_host(const kn_kernel *k, int p)
{
    while (p < k->phases.len && k->phases.data[p].local)
        p++;
    return p;
}

bool kn_others_wait_behind(const kn_kernel *k, int p)
{
    const int next = next_host(k, p + 1);
    return next == k->phases.len || k->phases.data[next].barrier;
}

const kn_value *kn_local_export(const kn_kernel *k, int p, int index, int *phase)
{
    for (int i = p - 1; i >= 0; i--) {
        const kn_phase *local = &k->phases.data[i];
        int export = index - local->first_export;
        if (!local->local || export < 0 || export >= local->exports.len)
            continue;
        *phase = i;
        return &local->nest.values.data[local->exports.data[export]];
    }
    return NULL;
}

/* Does phase i read what one of the marked local phases, from phase p on, exports? */
static bool reads_marked(const kn_kernel *k, int i, int p, const bool *marked)
{
    int local;
    for (int v = 0; v < k->phases.data[i].nest.values.len; v++) {
        const kn_value *value = kn_value_at(&k->phases.data[i], v);
        if (value->kind == KN_V_LOCAL && kn_local_export(k, i, value->index, &local) &&
            local >= p && marked[local - p])
            return true;
    }
    return false;
}

/* Also by way of local phases that have the same host. */
bool kn_is_shared_local(const kn_kernel *k, int p)
{
    const int host = next_host(k, p);
    if (k->phases.data[p].nest.ngroup)
        return false;
    const kn_arena_mark here = kn_arena_here(k->arena);
    bool *marked = KN_NEW_ARRAY(k->arena, bool, k->phases.len - p), shared = false;
    marked[0] = true;
    for (int i = p + 1; i < k->phases.len && !shared; i++) {
        const bool reads = i != host && reads_marked(k, i, p, marked);
        marked[i - p] = reads && i < host;
        shared = reads && i > host;
    }
    kn_arena_back(k->arena, here);
    return shared;
}

bool kn_shares_locals(const kn_kernel *k, int p)
{
    for (int i = kn_first_local(k, p); i < p; i++)
        if (kn_is_shared_local(k, i))
            return true;
    return false;
}

/* Numbers of work items fit in 32 bits; more would only be assigned less evenly. */
static int64_t at_most(int64_t items)
{
    const int64_t most = 1 << 30;
    return items < most ? items : most;
}

bool kn_runs_beside(const kn_kernel *k, int p)
{
    const int next = next_host(k, p + 1);
    return k->phases.data[p].how.beside ||
           (next < k->phases.len && k->phases.data[next].how.beside);
}

kn_assignment kn_assign_work(const kn_kernel *k)
{
    const bool by_share = kn_grid_at_once(k) && !kn_grid_persistent(k);
    return (kn_assignment){.k = k, .items = by_share ? kn_grid_phase_share : kn_grid_phase_blocks};
}

/* Steps of the blocks that share one group's members cyclically; 0 of other phases. */
static int64_t cyclic_steps(const kn_phase *p)
{
    return kn_is_cyclic(p) && kn_by_block(p) && p->nest.groups == 1
               ? kn_ceil_div(p->nest.members, kn_phase_step(p))
               : 0;
}

/* The same of all phases between the barriers around phase p that have the grid to themselves: the first blocks may
 * have a step more. */
static int64_t steps_of_whole_grid(const kn_kernel *k, int p)
{
    const kn_phase *all = k->phases.data;
    int64_t steps = 0;
    while (p > 0 && !all[p].barrier)
        p--;
    do
        steps += all[p].local || kn_runs_beside(k, p) ? 0 : cyclic_steps(&all[p]);
    while (++p < k->phases.len && !all[p].barrier);
    return steps;
}

void kn_assign_phase(kn_assignment *d, int p)
{
    const kn_phase *ph = &d->k->phases.data[p];
    if (!ph->how.beside)
        d->next = kn_runs_beside(d->k, p) ? steps_of_whole_grid(d->k, p) : 0;
    d->first = at_most(d->next);
    d->blocks = at_most(d->items(ph, d->k->threads));
    const int64_t steps = at_most(cyclic_steps(ph));
    d->next = d->first + (steps > d->blocks ? steps : d->blocks);
}

double kn_part_on_chip(const kn_kernel *k, const kn_phase *p, int value)
{
    const kn_hold *h = kn_hold_of(p, value);
    for (const kn_phase *q = k->phases.data; h && h->where == KN_KEEP_RESIDENT && q < p; q++)
        for (int i = 0; i < q->how.holds.len; i++) {
            const kn_hold *x = &q->how.holds.data[i];
            double steps = p->how.mixed ? (double)kn_steps_of_part(p, k->threads)
                                        : (double)p->num.chunk / kn_phase_step(p);
            if (x->where == KN_KEEP_RESIDENT && x->offset == h->offset)
                return (double)k->resident_steps < steps ? (double)k->resident_steps / steps : 1;
        }
    return 0;
}
