/* Runs that begin anywhere: where rows, or the runs that a group has, begin at no multiple of a vector, each has whole vectors
 * between its edges all the same (kn_schedule.by_run). An edge costs as much as a vector, and each vector is located on its
 * own; so it depends on how long runs are, and on how lanes share them, which is predicted (measured:
 * docs/lab/runs-that-begin-anywhere.md). */
#include "codegen/model/predict.h"
#include "codegen/model/resources.h"
#include "codegen/sched/sched.h"

/* Of two that are predicted to be nearly as quick single elements are taken, or wider vectors: sizes then share kernels. */
static const double nearly_same = 0.95;

static bool may_go_by_run(const kn_site *at, const kn_phase *ph)
{
    const kn_schedule *how = &ph->how;
    return at->target->sm && how->walk == KN_WALK_ROWS && ph->nest.naxes > ph->nest.ngroup &&
           how->transposes.len == 0 && !how->unaligned && !how->linear && !how->tail &&
           !how->cluster && !how->mixed && !how->packed && !how->resident && !ph->local &&
           !ph->universal && !ph->nest.extents && !kn_is_invariant(ph) && !kn_phase_in_order(ph);
}

/* The widest vectors, or narrower ones where what is held leaves fewer lanes idle with them. */
bool kn_schedule_runs(const kn_site *at, const kn_phase *ph, kn_phase *by_run)
{
    if (!may_go_by_run(at, ph))
        return false;
    const int64_t run = ph->nest.axes[ph->nest.naxes - 1].extent;
    const int widest = kn_widest_element(ph, at->bufs);
    double least = 0;
    bool found = false, more = true;
    for (int vec = widest < 2 ? 8 : 16 / widest; more && vec > ph->how.vec; vec /= 2) {
        kn_phase tried = kn_phase_copy(at->arena, ph);
        if (2 * vec > run || !kn_schedule_by_run(at, &tried, vec))
            continue;
        if (!least)
            least = nearly_same * kn_predict_phase_ns(at, ph);
        const double ns = kn_predict_phase_ns(at, &tried);
        more = kn_rows_keep(&tried, at->target) != KN_KEEP_NONE;
        if (ns < least) {
            least = nearly_same * ns;
            *by_run = tried;
            found = true;
        }
    }
    return found;
}
