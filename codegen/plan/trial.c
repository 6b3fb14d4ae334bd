/* Trials: regions planned for nothing but their predicted time.
 *
 * Partitions that differ in what is computed again, or in who computes what nobody stores, often lower to the same
 * nests. Those are planned once. */
#include <string.h>

#include "base/work.h"
#include "codegen/model/predict.h"
#include "codegen/plan/nests/planner.h"
#include "codegen/plan/partition.h"

static bool same_stores(const kn_nest *x, const kn_nest *y)
{
    bool same = x->stores.len == y->stores.len;
    for (int i = 0; i < x->stores.len && same; i++) {
        const kn_store *s = &x->stores.data[i], *t = &y->stores.data[i];
        same = s->kind == t->kind && s->value == t->value && s->stage == t->stage &&
               s->once == t->once && kn_access_same(&s->access, &t->access) &&
               s->access.split_stride == t->access.split_stride;
    }
    return same;
}

static bool same_reductions(const kn_nest *x, const kn_nest *y)
{
    bool same = x->reds.len == y->reds.len;
    for (int i = 0; i < x->reds.len && same; i++) {
        const kn_red *r = &x->reds.data[i], *s = &y->reds.data[i];
        same = r->op == s->op && r->value == s->value && r->dtype == s->dtype &&
               r->stage == s->stage && r->by == s->by && r->carried == s->carried;
    }
    return same;
}

/* Raw nests: as they are lowered. */
static bool same_nests(const kn_nest *x, const kn_nest *y)
{
    if (x->naxes != y->naxes || x->ngroup != y->ngroup || x->values.len != y->values.len)
        return false;
    for (int a = 0; a < x->naxes; a++)
        if (x->axes[a].extent != y->axes[a].extent)
            return false;
    for (int i = 0; i < x->values.len; i++) {
        kn_work(1);
        if (!kn_value_same(&x->values.data[i], &y->values.data[i]))
            return false;
    }
    return same_reductions(x, y) && same_stores(x, y);
}

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

static bool same_lowered(const kn_trial *x, const kn_trial *y)
{
    bool same = x->fusion == y->fusion && x->graph == y->graph && x->phases.len == y->phases.len &&
                same_buffers(x, y);
    for (int i = 0; i < x->phases.len && same; i++)
        same = same_nests(&x->phases.data[i].nest, &y->phases.data[i].nest);
    return same;
}

static kn_status predict(kn_planner *p, double *ns)
{
    const kn_arena_mark here = kn_arena_here(p->arena);
    kn_kernel_list kernels = {0};
    KN_TRY(kn_run_passes(p, NULL));
    KN_TRY(kn_bind_phases(p, &kernels));
    *ns = kn_predict_ns(kernels.data, kernels.len, p->problem->target);
    kn_arena_back(p->arena, here);
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
    kn_push(all->arena, &all->list, t);
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
                    .phases = p.phases};
    *out = t;
    const kn_trial *same = find_same(all, t);
    if (same) {
        t->ns = same->ns;
        return KN_OK;
    }
    keep(all, t);
    return predict(&p, &t->ns);
}
