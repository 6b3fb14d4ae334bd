/* What a phase would take by itself, bound as its walk binds it: how schedules compare what could be done with it. */
#include "codegen/model/caches.h"
#include "codegen/model/predict.h"
#include "codegen/sched/bind.h"

double kn_predict_phase_ns(kn_arena *a, const kn_phase *phase, const kn_buf *bufs, int nbufs,
                           const kn_target *target)
{
    const kn_force none = {0};
    const kn_arena_mark here = kn_arena_here(a);
    int *align = KN_NEW_ARRAY(a, int, nbufs + 1);
    for (int i = 0; i < nbufs; i++)
        align[i] = 16;
    const kn_site at = {a, target, &none, bufs, nbufs, align};
    kn_kernel k = {.arena = a};
    k.bufs.data = (kn_buf *)(uintptr_t)bufs;
    k.bufs.len = nbufs;
    kn_push(a, &k.phases, kn_phase_copy(a, phase));
    kn_bind_kernel(&at, &k);
    k.policy = target->sm != 0 ? kn_cache_policy(&k) : 0;
    double ns = kn_predict_kernel(&k, target, NULL).ns;
    kn_arena_back(a, here);
    return ns;
}
