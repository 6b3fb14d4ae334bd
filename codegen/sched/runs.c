/* Runs that begin anywhere: where rows, or the runs that a group has, begin at no multiple of a vector, each has whole vectors
 * between its edges all the same (kn_schedule.by_run). An edge costs as much as a vector, and each vector is located on its
 * own; so it depends on how long runs are, and on how lanes share them, which is predicted (measured:
 * docs/lab/runs-that-begin-anywhere.md). */
#include "codegen/model/machine.h"
#include "codegen/model/resources.h"
#include "codegen/sched/sched.h"

/* Of two that are predicted to be nearly as quick single elements are taken, or wider vectors: sizes then share kernels. */
static const double nearly_same = 0.95;
/* Short rows that registers hold took 1.25 times as long by run as predicted, element by element 1.05 times. */
static const double nearly_same_if_short = 0.8;
enum { SHORT = 256 };
/* Mixed rows took longer than predicted element by element, whose instructions in clusters count more than the model has; by run
 * those of 16 bits did too (measured: docs/lab/mixed-rows.md). */
static const double nearly_equal = 0.99, nearly_equal_if_narrow = 0.75;

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

/* Gives it a cluster where that is forced, or predicted to be quicker than `ns`; returns what it is predicted to take. */
static double share_runs(const kn_site *at, kn_phase *ph, double ns)
{
    const bool forced = at->force->division == KN_DIVIDE_CLUSTER;
    if (!forced && !kn_reread_element(ph))
        return ns;
    kn_phase shared = kn_phase_copy(at->arena, ph);
    kn_schedule_cluster(at, &shared);
    const double other = shared.how.cluster ? kn_predict_phase_ns(at, &shared) : ns;
    if (!shared.how.cluster || (other >= ns && !forced))
        return ns;
    *ph = shared;
    return other;
}

/* What rows by run may take for which single elements are predicted to take `t`; 0: the launch, the bytes and a wait take that
 * long. */
static double most_by_run(const kn_site *at, const kn_phase *ph, const kn_time *t)
{
    const bool keeps = kn_rows_keep(ph, at->target) != KN_KEEP_NONE;
    const double latency = kn_machine_of(at->target)->latency;
    const double floor = t->launch + latency + (t->memory > latency ? t->memory : latency);
    const double most =
        t->ns * (keeps && ph->nest.members < SHORT ? nearly_same_if_short : nearly_same);
    return keeps && most <= floor ? 0 : most;
}

/* The widest vectors, or narrower ones where what is held leaves fewer lanes idle with them. A cluster is tried with each width
 * where a block alone keeps nothing, else with the quickest one. */
bool kn_schedule_runs(const kn_site *at, const kn_phase *ph, kn_phase *by_run)
{
    if (!may_go_by_run(at, ph))
        return false;
    const int widest = kn_widest_element(ph, at->bufs);
    const int narrow = ph->how.unaligned ? 1 : ph->how.vec;
    double most = 0, least = 0, quickest = 0; /* what it may take, and what the next width may */
    bool more = true, alone = false;
    for (int vec = widest < 2 ? 8 : 16 / widest; more && vec > narrow; vec /= 2) {
        kn_phase tried;
        if (!with_vectors(at, ph, vec, &tried))
            continue;
        if (most <= 0) {
            const kn_time by_element = kn_predict_phase(at, ph);
            least = most = most_by_run(at, ph, &by_element);
            if (most <= 0)
                return false;
        }
        double ns = kn_predict_phase_ns(at, &tried);
        const bool keeps = kn_rows_keep(&tried, at->target) != KN_KEEP_NONE;
        if (!keeps)
            ns = share_runs(at, &tried, ns);
        more = keeps || kn_rows_keep(&tried, at->target) != KN_KEEP_NONE;
        if (quickest > 0 && ns >= least)
            continue;
        quickest = ns;
        least = ns < least ? nearly_same * ns : least;
        *by_run = tried;
        alone = keeps;
    }
    if (alone)
        quickest = share_runs(at, by_run, quickest);
    return quickest > 0 && quickest < most;
}

/* ---- mixed rows ---- */

/* Do groups whose numbers have the same remainder modulo `vec` begin alike? */
static bool begins_by_number(const kn_phase *ph, int vec)
{
    const kn_access *acc = kn_any_access(ph, kn_phase_leader(ph));
    for (int a = 0; a + 1 < ph->nest.ngroup; a++)
        if ((acc->stride[a] - acc->stride[a + 1] * ph->nest.axes[a + 1].extent) % vec != 0)
            return false;
    return true;
}

static bool may_go_by_mixed_run(const kn_site *at, const kn_phase *ph)
{
    return at->target->sm && ph->how.mixed && ph->how.walk == KN_WALK_ROWS &&
           kn_phase_one_run(ph) && ph->nest.members >= SHORT && !ph->how.resident && !ph->local &&
           !ph->universal && !ph->nest.extents && !kn_is_invariant(ph) && !kn_phase_in_order(ph);
}

/* What the rows take; without their partial results, which have no array yet. 0: they cannot be mixed so. */
static double ns_with_all_parts(const kn_site *at, const kn_phase *ph)
{
    if (!kn_rows_can_mix(ph, at->target))
        return 0;
    const kn_range parts = kn_all_parts_of_mixed(ph, at->target);
    if (parts.n == 0)
        return 0;
    kn_phase with = kn_phase_copy(at->arena, ph);
    const int values = with.nest.values.len;
    int kept = 0;
    for (int i = 0; i < ph->nest.stores.len; i++) {
        if (kn_stores_across(ph, kn_store_at(ph, values + i)))
            continue;
        with.nest.stores.data[kept] = ph->nest.stores.data[i];
        with.how.transfers.data[values + kept++] = ph->how.transfers.data[values + i];
    }
    with.nest.stores.len = kept;
    with.how.transfers.len = values + kept;
    with.num.parts = parts.n;
    with.num.rounds = parts.length;
    return kn_predict_phase_ns(at, &with);
}

/* Parts have rows that begin alike, so each thread has the same members of all of them. By the widest vectors that registers
 * hold; not of short rows, whose plans would take twice as long. */
void kn_schedule_mixed_runs(const kn_site *at, kn_phase *ph)
{
    if (!may_go_by_mixed_run(at, ph))
        return;
    const int widest = kn_widest_element(ph, at->bufs);
    const double most = widest < 4 ? nearly_equal_if_narrow : nearly_equal;
    for (int vec = widest < 2 ? 8 : 16 / widest; vec > ph->how.vec; vec /= 2) {
        kn_phase with = kn_phase_copy(at->arena, ph);
        kn_leave_cluster(&with);
        if (2 * vec > ph->nest.members || !kn_schedule_by_run(at, &with, vec, vec) ||
            !begins_by_number(&with, vec))
            continue;
        kn_schedule_mixed_cluster(at, &with);
        const double ns = ns_with_all_parts(at, &with);
        if (ns <= 0)
            continue;
        const double by_element = ns_with_all_parts(at, ph);
        if (by_element <= 0 || ns < most * by_element)
            *ph = with;
        return;
    }
}
