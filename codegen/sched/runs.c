/* Runs that begin anywhere: where rows, or the runs that a group has, begin at no multiple of a vector, each has whole vectors
 * between its edges all the same (kn_schedule.by_run). An edge costs as much as a vector, and each vector is located on its
 * own; so it depends on how long runs are, and on how lanes share them, which is predicted (measured:
 * docs/lab/runs-that-begin-anywhere.md). */
#include "codegen/model/predict.h"
#include "codegen/model/resources.h"
#include "codegen/sched/sched.h"

/* Of two that are predicted to be nearly as quick single elements are taken, or wider vectors: sizes then share kernels. */
static const double nearly_same = 0.95;
/* Short rows that registers hold took 1.25 times as long by run as predicted, element by element 1.05 times. */
static const double nearly_same_if_short = 0.8;
enum { SHORT = 256 };

/* Runs so long, in elements, begin their vectors at a cache line of so many bytes: warps then read and write whole lines. */
enum { LONG = 4096, LINE = 128 };

static bool may_go_by_run(const kn_site *at, const kn_phase *ph)
{
    const kn_schedule *how = &ph->how;
    return at->target->sm && how->walk == KN_WALK_ROWS && ph->nest.naxes > ph->nest.ngroup &&
           how->transposes.len == 0 && !how->linear && !how->tail && !how->mixed && !how->packed &&
           !how->resident && !ph->local && !ph->universal && !ph->nest.extents &&
           !kn_is_invariant(ph) && !kn_phase_in_order(ph);
}

/* The phase by vectors of `vec` elements, if it can go by them. */
static bool with_vectors(const kn_site *at, const kn_phase *ph, int vec, kn_phase *with)
{
    const int64_t run = ph->nest.axes[ph->nest.naxes - 1].extent;
    *with = kn_phase_copy(at->arena, ph);
    with->how.unaligned = false;
    kn_leave_cluster(with);
    return 2 * vec <= run &&
           kn_schedule_by_run(at, with, vec,
                              run >= LONG ? LINE / kn_widest_element(ph, at->bufs) : vec);
}

/* Gives it a cluster where that is forced, or predicted to be quicker; returns what it is predicted to take. */
static double share_runs(const kn_site *at, kn_phase *ph)
{
    const bool forced = at->force->division == KN_DIVIDE_CLUSTER;
    const double ns = kn_predict_phase_ns(at, ph);
    kn_phase shared = kn_phase_copy(at->arena, ph);
    if (forced || kn_reread_element(ph))
        kn_schedule_cluster(at, &shared);
    const double other = shared.how.cluster ? kn_predict_phase_ns(at, &shared) : ns;
    if (!shared.how.cluster || (other >= ns && !forced))
        return ns;
    *ph = shared;
    return other;
}

/* The widest vectors, or narrower ones where what is held leaves fewer lanes idle with them. */
bool kn_schedule_runs(const kn_site *at, const kn_phase *ph, kn_phase *by_run)
{
    if (!may_go_by_run(at, ph))
        return false;
    const int widest = kn_widest_element(ph, at->bufs);
    const int narrow = ph->how.unaligned ? 1 : ph->how.vec;
    const bool is_short = kn_rows_keep(ph, at->target) != KN_KEEP_NONE && ph->nest.members < SHORT;
    const double margin = is_short ? nearly_same_if_short : nearly_same;
    double least = 0;
    bool found = false, more = true;
    for (int vec = widest < 2 ? 8 : 16 / widest; more && vec > narrow; vec /= 2) {
        kn_phase tried;
        if (!with_vectors(at, ph, vec, &tried))
            continue;
        if (least <= 0)
            least = margin * kn_predict_phase_ns(at, ph);
        const double ns = share_runs(at, &tried);
        more = kn_rows_keep(&tried, at->target) != KN_KEEP_NONE;
        if (ns < least) {
            least = nearly_same * ns;
            *by_run = tried;
            found = true;
        }
    }
    return found;
}
