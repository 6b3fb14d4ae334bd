/* Phases side by side: those between two barriers that do not wait for each other divide the grid, instead of each
 * block walking its part of one after its part of the other.
 *
 * Before: a bound kernel, with its barriers. After: how.beside and num.share are set. Small arrays then cost their
 * bytes and not a wait for memory each. A grid with a block for each piece of work is divided by the pieces; blocks
 * that stay until the end, by predicted time. */
#include "codegen/kir/grid.h"
#include "codegen/model/predict.h"
#include "codegen/sched/sched.h"

/* Shares that are times must be estimated, and the last to finish decides: what is predicted to gain less is left. */
static const double least_gain = 0.97;

/* Do its blocks know each other by other numbers, or is it done by some of them only? */
static bool needs_all_blocks(const kn_kernel *k, int p)
{
    const kn_phase *ph = &k->phases.data[p];
    bool feeds_tiles = p + 1 < k->phases.len && k->phases.data[p + 1].how.last_of_tile;
    return ph->how.cluster || ph->how.mixed || ph->how.resident || ph->how.last_block ||
           kn_sums_atomically(ph) || feeds_tiles;
}

/* May phase p run beside the one before it? */
static bool may_run_beside(const kn_kernel *k, int p)
{
    int before = p - 1;
    while (before >= 0 && k->phases.data[before].local)
        before--;
    return before >= 0 && !k->phases.data[p].local && !k->phases.data[p].barrier &&
           !needs_all_blocks(k, before) && !needs_all_blocks(k, p);
}

/* Shares beyond 2^30 would be no more exact. */
static int64_t share_of(double amount)
{
    const double most = 1 << 30;
    return amount < 1 ? 1 : (int64_t)(amount < most ? amount : most);
}

static void share_grid(const kn_site *at, kn_kernel *k)
{
    const kn_arena_mark here = kn_arena_here(at->arena);
    kn_time *times = KN_NEW_ARRAY(at->arena, kn_time, k->phases.len);
    bool by_pieces = kn_grid_at_once(k) && !kn_grid_persistent(k);
    kn_part_of_grid part;
    kn_predict_kernel(k, at->target, times);
    for (int p = 0; p < k->phases.len; p++) {
        kn_phase *ph = &k->phases.data[p];
        double pieces = ph->local ? 0 : (double)kn_grid_phase_share(ph, k->threads);
        bool shares = !ph->local && kn_runs_beside(k, p, &part);
        ph->num.share = shares ? share_of(by_pieces ? pieces : times[p].machine) : 0;
    }
    kn_arena_back(at->arena, here);
}

void kn_run_beside(const kn_site *at, kn_kernel *k)
{
    bool any = false;
    for (int p = 0; p < k->phases.len; p++)
        any = any || may_run_beside(k, p);
    if (!any)
        return;
    double without = kn_predict_kernel(k, at->target, NULL).ns;
    for (int p = 0; p < k->phases.len; p++)
        k->phases.data[p].how.beside = may_run_beside(k, p);
    if (kn_predict_kernel(k, at->target, NULL).ns <= without * least_gain) {
        share_grid(at, k);
        return;
    }
    for (int p = 0; p < k->phases.len; p++)
        k->phases.data[p].how.beside = false;
}

kn_status kn_run_beside_as_given(const kn_site *at, kn_kernel *k)
{
    for (int p = 0; p < k->phases.len; p++)
        if (k->phases.data[p].how.beside && !may_run_beside(k, p))
            return kn_fail(KN_ARGUMENT,
                           "schedule, phase %d: phases side by side wait for nobody, and share no "
                           "blocks with others",
                           p);
    share_grid(at, k);
    return KN_OK;
}
