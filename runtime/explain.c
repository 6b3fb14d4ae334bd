#include "runtime/explain_impl.h"

#include <string.h>

#include "codegen/emit/c/c.h"
#include "codegen/emit/cuda/cuda.h"
#include "codegen/kir/schedule_text.h"
#include "codegen/sched/bind.h"
#include "runtime/cuda/nvrtc.h"

/* ---- stages ---- */

typedef struct copying {
    kn_text *t;
    const char *text;
} copying;

static kn_status put_text(void *user)
{
    copying *c = user;
    kn_put(c->t, c->text);
    return KN_OK;
}

/* What NVRTC makes is of a GPU. */
static kn_status needs_gpu(const subject *s, const char *stage)
{
    return kn_explains_gpu(s)
               ? KN_OK
               : kn_fail(KN_ARGUMENT, "the stage '%s' is a GPU's: --arch sm_90", stage);
}

static kn_status put_ptx(const subject *s, kn_kernel *k)
{
    char *ptx;
    KN_TRY(needs_gpu(s, "ptx"));
    const char *arch = kn_sprintf(s->plan->arena, "compute_%d", s->target.sm);
    KN_TRY(kn_nvrtc_find());
    KN_TRY(kn_nvrtc_ptx(k->name, kn_cuda_source(k->arena, k), arch, NULL, &ptx, NULL));
    copying c = {s->t, ptx};
    kn_status status = kn_protect(s->t->arena, put_text, &c); /* ptx is not the arena's */
    kn_malloc_allocator.release(NULL, ptx);
    return status;
}

static kn_status put_resources(const subject *s, kn_kernel *k)
{
    kn_nvrtc_use use;
    KN_TRY(needs_gpu(s, "resources"));
    KN_TRY(kn_nvrtc_find());
    KN_TRY(kn_nvrtc_resources(k->name, kn_cuda_source(k->arena, k), s->target.sm, &use));
    kn_putf(s->t, "%s: %d threads, %d registers, %d B local, %d B spilled, %lld B shared\n",
            k->name, k->threads, use.registers, use.stack, use.spilled,
            (long long)k->shared + use.shared);
    return KN_OK;
}

static kn_status put_c(const subject *s, const kn_kernel *k)
{
    if (kn_explains_gpu(s))
        return kn_fail(KN_ARGUMENT, "the stage 'c' is the CPU's: --device cpu");
    for (int m = 0; m < KN_C_MODES; m++) /* each is a text of its own, with the same beginning */
        kn_c_walks(s->t, k, (kn_c_mode)m);
    return KN_OK;
}

/* A CPU's kernel, to be shown as CUDA, without tiles of rows. */
static kn_status bind_for_gpu(const kn_target *target, kn_kernel *k)
{
    for (int i = 0; i < k->phases.len; i++)
        k->phases.data[i].how.transposes.len = 0;
    kn_bind_arithmetic(k, false);
    return kn_bind_loops(target, k, false);
}

/* In the form that --schedule reads. */
static void put_schedules(const subject *s)
{
    kn_schedules_put(s->t, s->plan->kernels.data, s->plan->kernels.len, KN_SCHEDULE_OF_THESE);
    kn_put(s->t, "\n");
}

static kn_status put_stage(const subject *s, const char *stage)
{
    bool cuda = strcmp(stage, "cuda") == 0, ptx = strcmp(stage, "ptx") == 0;
    bool resources = strcmp(stage, "resources") == 0, c = strcmp(stage, "c") == 0;
    bool ir = strcmp(stage, "ir") == 0, schedule = strcmp(stage, "schedule") == 0;
    if (strcmp(stage, "graph") == 0) {
        kn_graph_print(s->t, s->prog->optimised, false);
        return KN_OK;
    }
    if (strcmp(stage, "dot") == 0) {
        kn_graph_dot(s->t, s->prog->optimised);
        return KN_OK;
    }
    if (!cuda && !ptx && !ir && !schedule && !resources && !c)
        return kn_fail(
            KN_ARGUMENT,
            "unknown stage '%s'; there are graph, ir, schedule, c, cuda, ptx, resources, "
            "dot, html and json",
            stage);
    if (schedule)
        put_schedules(s);
    for (int i = 0; i < s->plan->kernels.len; i++) {
        kn_kernel *k = s->plan->kernels.data[i];
        if (s->target.sm == 0 && !schedule && !ir)
            KN_TRY(bind_for_gpu(&s->target, k));
        if (cuda && i == 0)
            kn_put(s->t, kn_cuda_source(k->arena, k));
        else if (cuda)
            kn_cuda_kernel(s->t, k);
        else if (ptx)
            KN_TRY(put_ptx(s, k));
        else if (resources)
            KN_TRY(put_resources(s, k));
        else if (c)
            KN_TRY(put_c(s, k));
        else if (ir)
            kn_kernel_print(s->t, k, true);
        else
            for (int p = 0; p < k->phases.len; p++)
                kn_explain_phase(s, k, p, NULL);
    }
    return KN_OK;
}

kn_status kn_explain(kn_program *prog, const kn_arg *args, int nargs, const kn_explaining *what,
                     kn_text *t)
{
    const char *stage = what->stage;
    subject s = {.prog = prog, .t = t, .verbose = what->verbose};
    bool is_own;
    KN_TRY(kn_target_asked(prog->ctx, what->arch, t->arena, &s.target, &is_own));
    KN_TRY(kn_explain_plan(&s, args, nargs, is_own));
    s.refusals = kn_regions_refusals(s.plan->regions);
    const bool page = stage && strcmp(stage, "html") == 0;
    if (stage && !page && strcmp(stage, "json") != 0)
        return put_stage(&s, stage);
    s.steps = kn_explain_steps(&s);
    (page ? kn_explain_page : stage ? kn_explain_json : kn_explain_words)(&s);
    return KN_OK;
}
