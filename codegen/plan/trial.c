/* Trials: regions planned for nothing but their predicted time.
 *
 * Partitions that differ in what is computed again, or in who computes what nobody stores, often lower to the same
 * nests. Those are planned once. */
#include "codegen/plan/trial.h"
#include "base/hash.h"
#include "base/work.h"
#include "codegen/model/predict.h"
#include "codegen/plan/build.h"
#include "codegen/plan/nests/planner.h"
#include "codegen/plan/partition.h"
#include "codegen/plan/pass/passes.h"

/* What planning some 20 operations takes. */
enum { SPACE = 256 * 1024 };

static bool same_buffers(const kn_lowered *x, const kn_lowered *y)
{
    bool same = x->bufs.len == y->bufs.len;
    for (int i = 0; i < x->bufs.len && same; i++) {
        const kn_buf *b = &x->bufs.data[i], *c = &y->bufs.data[i];
        same = b->kind == c->kind && b->index == c->index && b->dtype == c->dtype &&
               b->bytes == c->bytes;
    }
    return same;
}

static bool same_extents(const kn_lowered *x, const kn_lowered *y)
{
    bool same = x->extents.len == y->extents.len;
    for (int i = 0; i < x->extents.len && same; i++)
        same = x->extents.data[i].value == y->extents.data[i].value;
    return same;
}

static bool same_lowered(const kn_lowered *x, const kn_lowered *y)
{
    bool same = x->fusion == y->fusion && x->phases.len == y->phases.len && same_buffers(x, y) &&
                same_extents(x, y);
    for (int i = 0; i < x->phases.len && same; i++)
        same = x->phases.data[i] == y->phases.data[i];
    return same;
}

/* In memory that the next trial uses again. */
static kn_status predict(kn_trials *all, kn_planner *p, double *ns)
{
    kn_kernel_list kernels = {0};
    p->shapes = &all->shapes;
    kn_planner_take_phases(p);
    KN_TRY(kn_run_passes(p, NULL));
    KN_TRY(kn_bind_phases(p, &kernels));
    for (int i = 0; i < p->phases.len; i++)
        kn_work(p->phases.data[i].nest.values.len);
    *ns = kn_predict_ns(kernels.data, kernels.len, p->problem->target);
    return KN_OK;
}

/* What a trial was lowered to, in its own memory. */
static kn_lowered outline(const kn_planner *p)
{
    kn_lowered low = {.fusion = p->problem->fusion, .bufs = p->bufs, .extents = p->extents};
    low.phases.data = p->lowered.data;
    low.phases.len = p->lowered.len;
    return low;
}

static uint64_t hash_of(const kn_lowered *low)
{
    return kn_hash(low->phases.data, sizeof *low->phases.data * (size_t)low->phases.len, 0);
}

/* The one that is the same; NULL: there is none. */
static const kn_lowered *find_same(const kn_trials *all, const kn_lowered *low, uint64_t hash)
{
    for (int i = -1; (i = kn_finder_next(&all->found, hash, i)) >= 0;)
        if (same_lowered(&all->list.data[i], low))
            return &all->list.data[i];
    return NULL;
}

static void keep(kn_trials *all, const kn_lowered *from, uint64_t hash)
{
    kn_arena *a = &all->lowered;
    kn_lowered low = *from;
    kn_copy_vec(a, &low.phases, &from->phases);
    kn_copy_vec(a, &low.bufs, &from->bufs);
    kn_copy_vec(a, &low.extents, &from->extents);
    kn_finder_add(all->arena, &all->found, hash, all->list.len);
    kn_push(a, &all->list, low);
}

static void begin_within(kn_arena *part, kn_arena *whole)
{
    const kn_allocator from = kn_arena_allocator(whole);
    void *space = from.alloc(from.user, SPACE);
    kn_arena_init_in(part, &from, space, space ? SPACE : 0);
    part->on_oom = whole->on_oom;
}

void kn_trials_begin(kn_trials *all, kn_arena *a)
{
    *all = (kn_trials){.arena = a, .shapes.arena = a};
    begin_within(&all->lowered, a);
    begin_within(&all->scratch, a);
    all->raws.arena = &all->lowered;
}

void kn_trials_forget(kn_trials *all)
{
    all->list.len = 0;
    all->found = (kn_finder){0};
    all->shapes = (kn_shapes){.arena = all->arena};
}

/* The time of what the planner has lowered, unless it was asked for before. */
static kn_status time_of(kn_trials *all, kn_planner *p, double *ns)
{
    kn_lowered low = outline(p);
    const uint64_t hash = hash_of(&low);
    const kn_lowered *same = find_same(all, &low, hash);
    if (same) {
        *ns = same->ns;
        return KN_OK;
    }
    kn_copy_vec(p->arena, &p->bufs, &low.bufs); /* to which passes add */
    KN_TRY(predict(all, p, ns));
    low.ns = *ns;
    keep(all, &low, hash);
    return KN_OK;
}

kn_status kn_plan_try(kn_trials *all, const kn_problem *problem, kn_regions *regions,
                      kn_trial *trial)
{
    const kn_arena_mark here = kn_arena_here(&all->scratch);
    kn_planner p;
    if (all->raws.graph != problem->graph)
        all->raws = (kn_raws){.arena = &all->lowered, .graph = problem->graph};
    KN_TRY(kn_plan_lower(&all->scratch, problem, regions, &all->raws, &p));
    const size_t nodes = (size_t)p.problem->graph->nodes.len;
    *trial = (kn_trial){.again = kn_alloc_copy(all->arena, p.again, nodes * sizeof *p.again),
                        .copies = p.regions != regions};
    if (trial->copies) /* it is the only one of its graph */
        KN_TRY(predict(all, &p, &trial->ns));
    else
        KN_TRY(time_of(all, &p, &trial->ns));
    kn_arena_back(&all->scratch, here);
    return KN_OK;
}
