/* What a phase would take by itself, bound as its walk binds it: how schedules compare what could be done with it. */
#include "base/work.h"
#include "codegen/model/caches.h"
#include "codegen/sched/bind.h"

kn_time kn_predict_phase(const kn_site *at, const kn_phase *phase)
{
    const kn_arena_mark here = kn_arena_here(at->arena);
    kn_kernel k = {.arena = at->arena};
    kn_work(phase->nest.values.len);
    k.bufs.data = (kn_buf *)(uintptr_t)at->bufs;
    k.bufs.len = at->nbufs;
    kn_push(at->arena, &k.phases, kn_phase_copy(at->arena, phase));
    k.phases.data[0].barrier = false; /* the same whatever is done behind it */
    kn_bind_kernel(at, &k);
    k.policy = at->target->sm != 0 ? kn_cache_policy(&k, at->target) : 0;
    const kn_time time = kn_predict_kernel(&k, at->target, NULL);
    kn_arena_back(at->arena, here);
    return time;
}

double kn_predict_phase_ns(const kn_site *at, const kn_phase *phase)
{
    return kn_predict_phase(at, phase).ns;
}
