/* Launch skew (docs/lab/launch-skew.md): of persistent clusters, and of blocks that are all on the machine at a time.
 *
 * Each of them loads its groups, waits for their reductions, and stores. If all begin together, memory first only loads,
 * then has nothing to do, then only stores. So each begins a little after the one before it, and memory loads for some
 * while others wait or store. */
#include "codegen/kir/grid.h"
#include "codegen/model/caches.h"
#include "codegen/model/machine.h"
#include "codegen/model/predict.h"
#include "codegen/model/resources.h"
#include "codegen/sched/sched.h"

/* Of clusters: the time that memory takes for a group, or for all that a cluster has in flight, plus a margin
 * (measured). */
int64_t kn_launch_skew(const kn_phase *ph, const kn_target *target)
{
    const double margin = 1.15, groups = ph->how.walk == KN_WALK_COLS ? kn_cols_width(ph) : 1;
    return (int64_t)(groups * (double)kn_reread_bytes(ph) * margin / kn_machine_of(target)->memory);
}

/* ---- blocks ---- */

/* Nanoseconds of loads below which nothing is gained. */
enum { LEAST_NS = 1500 };
/* The part of the loads' time that passes until the last block begins (measured). */
static const double spread = 0.6;
/* With more arithmetic than this part of memory's time a delay costs more than it gains. */
static const double most_work = 0.6;
/* Of blocks that come in clusters the machine holds fewer at a time, but at least this part of them. */
static const double of_clusters = 0.85;

/* Does it hold what it loads, of whole groups, until their reductions are there? */
static bool loads_before_it_stores(const kn_phase *ph)
{
    bool holds = false;
    for (int i = 0; i < ph->how.holds.len; i++)
        holds = holds || kn_value_at(ph, ph->how.holds.data[i].value)->kind == KN_V_LOAD;
    return holds && ph->how.walk != KN_WALK_FLAT && !ph->how.split && !ph->how.mixed &&
           kn_phase_stores_elements(ph);
}

/* Are all of its blocks on the machine at a time, and one on each multiprocessor at least? */
static bool runs_at_once(const kn_kernel *k, const kn_target *target)
{
    const kn_phase *ph = &k->phases.data[0];
    const double blocks = (double)kn_grid_phase_blocks(ph, k->threads);
    const double fit = (ph->how.cluster ? of_clusters : 1) * kn_blocks_a_unit(k, target);
    return blocks >= target->units && blocks <= fit * target->units;
}

int64_t kn_block_skew(kn_kernel *k, const kn_target *target)
{
    const double loads = (double)kn_phase_bytes_read(k->arena, &k->phases.data[0], k->bufs.data);
    return runs_at_once(k, target) ? (int64_t)(spread * loads / kn_machine_of(target)->memory) : 0;
}

void kn_skew_blocks(kn_kernel *k, const kn_target *target)
{
    kn_phase *ph = &k->phases.data[0];
    if (k->phases.len != 1 || !loads_before_it_stores(ph))
        return;
    const int64_t skew = kn_block_skew(k, target);
    if ((double)skew < spread * LEAST_NS)
        return;
    const kn_time t = kn_predict_kernel(k, target, NULL);
    if (t.work > most_work * t.memory)
        return;
    ph->how.skewed = true;
    ph->num.skew = skew;
}
