/* What a phase would take by itself, bound as its walk binds it: how schedules compare what could be done with it. */
#include "codegen/model/caches.h"
#include "codegen/model/predict.h"
#include "codegen/model/resources.h"
#include "codegen/sched/sched.h"

double kn_predict_phase_ns(kn_arena *a, const kn_phase *phase, const kn_buf *bufs, int nbufs,
                           const kn_target *target)
{
    const kn_walker *how = kn_walker_of(phase->how.walk);
    const kn_arena_mark here = kn_arena_here(a);
    kn_kernel k = {.arena = a};
    kn_phase ph = kn_phase_copy(a, phase);
    k.threads = how->threads(&ph, target);
    how->bind(&ph, target, k.threads);
    if (ph.how.steps)
        kn_keep_computed(a, &ph, target, KN_REUSE_BY_COST);
    k.shared = kn_phase_kept_bytes(&ph) + kn_exchange_bytes(&ph);
    k.bufs.data = (kn_buf *)(uintptr_t)bufs;
    k.bufs.len = nbufs;
    kn_push(a, &k.phases, ph);
    k.policy = target->sm != 0 ? kn_cache_policy(&k) : 0;
    double ns = kn_predict_kernel(&k, target, NULL).ns;
    kn_arena_back(a, here);
    return ns;
}
