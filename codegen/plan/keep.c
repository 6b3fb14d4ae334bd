/* Copies of a plan what running it needs: kernels and the size of the workspace. Planning allocates some ten times as
 * much, which can then be freed. */
#include "codegen/plan/plan.h"

static const char *keep_text(kn_arena *a, const char *text)
{
    return text ? kn_strdup(a, text) : NULL;
}

static kn_phase keep_phase(kn_arena *a, const kn_phase *from)
{
    kn_phase ph = kn_phase_copy(a, from);
    ph.nest.name = keep_text(a, ph.nest.name);
    for (int i = 0; i < ph.nest.naxes; i++)
        ph.nest.axes[i].name = keep_text(a, ph.nest.axes[i].name);
    for (int i = 0; i < ph.nest.values.len; i++)
        ph.nest.values.data[i].name = keep_text(a, ph.nest.values.data[i].name);
    for (int i = 0; i < ph.nest.stores.len; i++)
        ph.nest.stores.data[i].part = keep_text(a, ph.nest.stores.data[i].part);
    for (int i = 0; i < ph.nest.reds.len; i++) {
        kn_red *red = &ph.nest.reds.data[i];
        if (red->by) /* its consecutive reductions share one reducer */
            red->by = red->carried ? red[-red->carried].by : kn_reducer_clone(a, red->by);
    }
    return ph;
}

static kn_kernel *keep_kernel(kn_arena *a, const kn_kernel *from)
{
    kn_kernel *k = kn_alloc_copy(a, from, sizeof *from);
    k->arena = a;
    k->name = keep_text(a, k->name);
    k->key = keep_text(a, k->key);
    k->source = keep_text(a, k->source);
    kn_copy_vec(a, &k->bufs, &from->bufs);
    kn_copy_vec(a, &k->scalars, &from->scalars);
    kn_copy_vec(a, &k->extents, &from->extents);
    kn_copy_vec(a, &k->phases, &from->phases);
    for (int i = 0; i < k->bufs.len; i++)
        k->bufs.data[i].name = keep_text(a, k->bufs.data[i].name);
    for (int i = 0; i < k->scalars.len; i++)
        k->scalars.data[i].name = keep_text(a, k->scalars.data[i].name);
    for (int i = 0; i < k->extents.len; i++) {
        k->extents.data[i].name = keep_text(a, k->extents.data[i].name);
        k->extents.data[i].dim = NULL; /* its symbols go with the plan */
    }
    for (int i = 0; i < k->phases.len; i++)
        k->phases.data[i] = keep_phase(a, &from->phases.data[i]);
    return k;
}

kn_plan *kn_plan_keep(kn_arena *a, const kn_plan *from)
{
    kn_plan *plan = KN_NEW(a, kn_plan);
    plan->arena = a;
    plan->workspace = from->workspace;
    plan->after = from->after;
    plan->after.input_read = plan->after.output_written = NULL;
    for (int i = 0; i < from->kernels.len; i++)
        kn_push(a, &plan->kernels, keep_kernel(a, from->kernels.data[i]));
    return plan;
}
