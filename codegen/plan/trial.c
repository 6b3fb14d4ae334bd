/* Trials: regions planned for nothing but their predicted time.
 *
 * Partitions that differ in what is computed again, or in who computes what nobody stores, often lower to the same
 * nests. Those are planned once. */
#include "codegen/plan/trial.h"
#include "base/work.h"
#include "codegen/model/predict.h"
#include "codegen/plan/build.h"
#include "codegen/plan/nests/planner.h"
#include "codegen/plan/partition.h"
#include "codegen/plan/pass/passes.h"

/* What planning some 20 operations takes. */
enum { SCRATCH = 256 * 1024 };

static bool same_buffers(const kn_trial *x, const kn_trial *y)
{
    bool same = x->bufs.len == y->bufs.len;
    for (int i = 0; i < x->bufs.len && same; i++) {
        const kn_buf *b = &x->bufs.data[i], *c = &y->bufs.data[i];
        same = b->kind == c->kind && b->index == c->index && b->dtype == c->dtype &&
               b->bytes == c->bytes;
    }
    return same;
}

static bool same_extents(const kn_trial *x, const kn_trial *y)
{
    bool same = x->extents.len == y->extents.len;
    for (int i = 0; i < x->extents.len && same; i++)
        same = x->extents.data[i].value == y->extents.data[i].value;
    return same;
}

static bool same_lowered(const kn_trial *x, const kn_trial *y)
{
    bool same = x->fusion == y->fusion && x->graph == y->graph && x->phases.len == y->phases.len &&
                same_buffers(x, y) && same_extents(x, y);
    for (int i = 0; i < x->phases.len && same; i++)
        same = kn_phase_same(&x->phases.data[i], &y->phases.data[i]);
    return same;
}

/* In memory that the next trial uses again. */
static kn_status predict(kn_trials *all, kn_planner *p, double *ns)
{
    const kn_arena_mark here = kn_arena_here(&all->scratch);
    kn_kernel_list kernels = {0};
    p->arena = &all->scratch;
    KN_TRY(kn_run_passes(p, NULL));
    KN_TRY(kn_bind_phases(p, &kernels));
    for (int i = 0; i < p->phases.len; i++)
        kn_work(p->phases.data[i].nest.values.len);
    *ns = kn_predict_ns(kernels.data, kernels.len, p->problem->target);
    kn_arena_back(&all->scratch, here);
    return KN_OK;
}

/* The one that was lowered likewise; NULL: there is none. */
static const kn_trial *find_same(const kn_trials *all, const kn_trial *t)
{
    for (int i = 0; i < all->list.len; i++)
        if (same_lowered(all->list.data[i], t))
            return all->list.data[i];
    return NULL;
}

/* Gives it phases of its own, as passes rewrite those of the planner. */
static void keep(kn_trials *all, kn_trial *t)
{
    const kn_phase *from = t->phases.data;
    t->phases.data = kn_alloc_copy(all->arena, from, sizeof *from * (size_t)t->phases.len);
    for (int i = 0; i < t->phases.len; i++)
        t->phases.data[i] = kn_phase_copy(all->arena, &from[i]);
    kn_copy_vec(all->arena, &t->bufs, &t->bufs);
    kn_copy_vec(all->arena, &t->extents, &t->extents);
    kn_push(all->arena, &all->list, t);
}

void kn_trials_begin(kn_trials *all, kn_arena *a)
{
    const kn_allocator from = kn_arena_allocator(a);
    void *space = from.alloc(from.user, SCRATCH);
    *all = (kn_trials){.arena = a, .shapes.arena = a};
    kn_arena_init_in(&all->scratch, &from, space, space ? SCRATCH : 0);
    all->scratch.on_oom = a->on_oom;
}

kn_status kn_plan_try(kn_trials *all, const kn_problem *problem, kn_regions *regions,
                      const kn_trial **out)
{
    kn_planner p;
    KN_TRY(kn_plan_lower(all->arena, problem, regions, &p));
    kn_trial *t = KN_NEW(all->arena, kn_trial);
    *t = (kn_trial){.regions = p.regions,
                    .again = p.again,
                    .graph = p.problem->graph,
                    .fusion = problem->fusion,
                    .bufs = p.bufs,
                    .extents = p.extents,
                    .phases = p.phases};
    *out = t;
    const kn_trial *same = find_same(all, t);
    if (same) {
        t->ns = same->ns;
        return KN_OK;
    }
    keep(all, t);
    p.shapes = &all->shapes;
    return predict(all, &p, &t->ns);
}
