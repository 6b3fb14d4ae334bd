#include "runtime/program.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGN = 256 };

struct kn_variant {
    kn_arena arena;
    int64_t *signature;
    size_t signature_bytes;
    kn_plan *plan;
    kn_code **codes; /* per kernel */
};

static size_t aligned(size_t n) { return (n + ALIGN - 1) / ALIGN * ALIGN; }

/* ---- creation ---- */

typedef struct creation {
    kn_program *prog;
    const kn_graph *graph;
    const kn_program_options *options;
} creation;

static kn_status create(void *user)
{
    creation *c = user;
    kn_program *p = c->prog;
    if (c->graph->outputs.len == 0)
        return kn_fail(KN_ARGUMENT, "%s has no outputs", c->graph->name);
    p->options = *c->options;
    if (c->options->schedule) {
        if (strcmp(c->options->schedule, "rows") != 0 &&
            strcmp(c->options->schedule, "general") != 0)
            return kn_fail(KN_ARGUMENT, "unknown schedule '%s'; there are rows and general",
                           c->options->schedule);
        p->options.schedule = kn_strdup(&p->arena, c->options->schedule);
    }
    p->original = kn_graph_clone(&p->arena, c->graph);
    p->passes = KN_NEW_ARRAY(&p->arena, kn_pass_record, kn_graph_pass_count);
    p->optimised = kn_graph_optimise(&p->arena, p->original, p->passes);
    return p->optimised ? KN_OK : KN_INTERNAL;
}

kn_status kn_program_create(kn_context *ctx, const kn_graph *g, const kn_program_options *options,
                            kn_program **out)
{
    kn_program *p = ctx->from.alloc(ctx->from.user, sizeof *p);
    if (!p)
        return kn_fail(KN_MEMORY, "out of memory");
    memset(p, 0, sizeof *p);
    p->ctx = ctx;
    kn_arena_init(&p->arena, &ctx->from);
    kn_table_init(&p->variants, &ctx->from);
    pthread_mutex_init(&p->lock, NULL);
    creation c = {p, g, options};
    kn_status status = kn_protect(&p->arena, create, &c);
    if (status != KN_OK) {
        kn_program_destroy(p);
        return status;
    }
    *out = p;
    return KN_OK;
}

static void free_variant(const kn_allocator *from, kn_variant *v)
{
    kn_arena_finish(&v->arena);
    from->release(from->user, v);
}

void kn_program_destroy(kn_program *p)
{
    kn_allocator from = p->ctx->from;
    kn_variant *v;
    for (size_t at = 0; (v = kn_table_next(&p->variants, &at));)
        free_variant(&from, v);
    kn_table_finish(&p->variants);
    pthread_mutex_destroy(&p->lock);
    kn_arena_finish(&p->arena);
    from.release(from.user, p);
}

/* ---- plans ---- */

static kn_status make_plan(kn_program *p, kn_arena *a, const kn_binding *b, const kn_target *target,
                           kn_plan **plan)
{
    kn_problem problem = {.graph = p->optimised,
                          .sizes = b->sizes,
                          .in = b->in,
                          .out = b->out,
                          .target = target,
                          .fusion = p->options.fusion,
                          .schedule = p->options.schedule,
                          .max_threads = p->options.max_threads};
    return kn_plan_make(a, &problem, plan);
}

/* Planning allocates dimensions in the program's arena too: both must unwind to here. */
typedef struct planning {
    kn_program *prog;
    kn_arena *arena;
    const kn_binding *binding;
    const kn_target *target;
    kn_plan **plan;
} planning;

static kn_status plan_inner(void *user)
{
    planning *pl = user;
    return make_plan(pl->prog, pl->arena, pl->binding, pl->target, pl->plan);
}

static kn_status plan_outer(void *user)
{
    planning *pl = user;
    return kn_protect(&pl->prog->arena, plan_inner, pl);
}

static kn_status protected_plan(planning *pl)
{
    jmp_buf *outer =
        pl->prog->arena.on_oom; /* unwinding from pl->arena leaves the inner frame behind */
    kn_status status = kn_protect(pl->arena, plan_outer, pl);
    pl->prog->arena.on_oom = outer;
    return status;
}

kn_status kn_program_plan(kn_program *p, kn_arena *a, const kn_arg *args, int nargs,
                          kn_bind_mode mode, const kn_target *target, kn_text *notes,
                          kn_plan **plan)
{
    kn_binding b;
    KN_TRY(kn_bind(a, p->optimised, args, nargs, mode, notes, &b));
    planning pl = {p, a, &b, target, plan};
    pthread_mutex_lock(&p->lock);
    kn_status status = protected_plan(&pl);
    pthread_mutex_unlock(&p->lock);
    return status;
}

/* ---- variants ---- */

static int64_t *put_layout(int64_t *at, const kn_layout *l)
{
    *at++ = l->align;
    for (int i = 0; i < l->rank; i++) {
        *at++ = l->shape[i];
        *at++ = l->stride[i];
    }
    return at;
}

/* Everything a plan depends on besides the program. */
static int64_t *signature_of(kn_arena *a, const kn_binding *b, size_t *bytes)
{
    const kn_graph *g = b->graph;
    int64_t n = 0;
    for (int i = 0; i < g->inputs.len; i++)
        n += 1 + 2 * g->inputs.data[i].node->rank;
    for (int o = 0; o < g->outputs.len; o++)
        n += 1 + 2 * g->outputs.data[o].node->rank;
    int64_t *sig = KN_NEW_ARRAY(a, int64_t, n + 1), *at = sig;
    for (int i = 0; i < g->inputs.len; i++)
        if (!g->inputs.data[i].by_value)
            at = put_layout(at, &b->in[i]);
    for (int o = 0; o < g->outputs.len; o++)
        at = put_layout(at, &b->out[o]);
    *bytes = (size_t)(at - sig) * sizeof *sig;
    return sig;
}

static kn_status load_kernels(kn_program *p, kn_variant *v)
{
    v->codes = KN_NEW_ARRAY(&v->arena, kn_code *, v->plan->kernels.len + 1);
    for (int i = 0; i < v->plan->kernels.len; i++)
        KN_TRY(kn_context_code(p->ctx, v->plan->kernels.data[i], &v->codes[i]));
    return KN_OK;
}

typedef struct variation {
    kn_program *prog;
    kn_variant *variant;
    const kn_binding *binding;
    const int64_t *signature;
} variation;

static kn_status fill_variant(void *user)
{
    variation *va = user;
    kn_variant *v = va->variant;
    v->signature = kn_alloc(&v->arena, v->signature_bytes + 1);
    memcpy(v->signature, va->signature, v->signature_bytes);
    planning pl = {va->prog, &v->arena, va->binding,
                   va->prog->ctx->dev->ops->target(va->prog->ctx->dev), &v->plan};
    KN_TRY(protected_plan(&pl));
    return load_kernels(va->prog, v);
}

static kn_status new_variant(kn_program *p, const kn_binding *b, const int64_t *sig, size_t bytes,
                             kn_variant **out)
{
    kn_variant *v = p->ctx->from.alloc(p->ctx->from.user, sizeof *v);
    if (!v)
        return kn_fail(KN_MEMORY, "out of memory");
    memset(v, 0, sizeof *v);
    kn_arena_init(&v->arena, &p->ctx->from);
    v->signature_bytes = bytes;
    variation va = {p, v, b, sig};
    kn_status status = kn_protect(&v->arena, fill_variant, &va);
    if (status == KN_OK)
        status = kn_table_add(&p->variants, v->signature, v->signature_bytes, v);
    if (status != KN_OK) {
        free_variant(&p->ctx->from, v);
        return status;
    }
    *out = v;
    return KN_OK;
}

static kn_status find_variant(kn_program *p, kn_arena *scratch, const kn_binding *b,
                              kn_variant **out)
{
    size_t bytes;
    const int64_t *sig = signature_of(scratch, b, &bytes);
    kn_status status = KN_OK;
    pthread_mutex_lock(&p->lock);
    *out = kn_table_find(&p->variants, sig, bytes);
    if (!*out)
        status = new_variant(p, b, sig, bytes, out);
    pthread_mutex_unlock(&p->lock);
    return status;
}

/* ---- a run ---- */

typedef struct call {
    kn_program *prog;
    void *stream;
    const kn_arg *args;
    int nargs;
    void *workspace;
    size_t bytes;
    kn_arena *scratch;
    size_t *need;         /* prepare: out */
    const kn_plan **plan; /* variant_plan: out */
    kn_binding b;
    kn_variant *variant;
} call;

/* Inputs that share memory with an output are copied first, so that results are as if every input had
 * been read before any output was written. */
static bool is_staged(const call *c, int input)
{
    for (int o = 0; o < c->b.graph->outputs.len; o++)
        if (kn_spans_overlap(&c->b.in_span[input], &c->b.out_span[o]))
            return true;
    return false;
}

/* Workspace: barrier words, temporaries, staged inputs. */
static size_t workspace_size(const call *c)
{
    const kn_plan *plan = c->variant->plan;
    size_t n =
        aligned(sizeof(unsigned) * (size_t)plan->kernels.len) + aligned((size_t)plan->workspace);
    for (int i = 0; i < c->b.graph->inputs.len; i++)
        if (is_staged(c, i))
            n += aligned((size_t)(c->b.in_span[i].high - c->b.in_span[i].low) + ALIGN);
    return n;
}

static bool any_cooperative(const kn_plan *plan)
{
    for (int i = 0; i < plan->kernels.len; i++)
        if (kn_kernel_cooperative(plan->kernels.data[i]))
            return true;
    return false;
}

static bool needs_workspace(const call *c)
{
    const kn_plan *plan = c->variant->plan;
    for (int i = 0; i < c->b.graph->inputs.len; i++)
        if (is_staged(c, i))
            return true;
    return plan->workspace > 0 || any_cooperative(plan);
}

static kn_status stage_inputs(call *c, char *at)
{
    kn_device *dev = c->prog->ctx->dev;
    for (int i = 0; i < c->b.graph->inputs.len; i++) {
        const kn_span *r = &c->b.in_span[i];
        if (!is_staged(c, i))
            continue;
        char *copy =
            at + (uintptr_t)r->low % ALIGN; /* keeps the alignment that the plan relies on */
        KN_TRY(dev->ops->copy(dev, copy, r->low, (size_t)(r->high - r->low), c->stream));
        __atomic_add_fetch(&c->prog->ctx->copies, 1, __ATOMIC_RELAXED);
        c->b.in_data[i] = copy + ((const char *)c->b.in_data[i] - r->low);
        c->b.in_span[i] = (kn_span){copy, copy + (r->high - r->low)};
        at += aligned((size_t)(r->high - r->low) + ALIGN);
    }
    return KN_OK;
}

static kn_status launch_all(call *c, char *workspace)
{
    kn_device *dev = c->prog->ctx->dev;
    const kn_plan *plan = c->variant->plan;
    size_t words = sizeof(unsigned) * (size_t)plan->kernels.len;
    char *temps = workspace ? workspace + aligned(words) : NULL;
    if (any_cooperative(plan))
        KN_TRY(dev->ops->zero(dev, workspace, words, c->stream));
    if (temps)
        KN_TRY(stage_inputs(c, temps + aligned((size_t)plan->workspace)));
    for (int i = 0; i < plan->kernels.len; i++) {
        const kn_kernel *k = plan->kernels.data[i];
        void **bufs = KN_NEW_ARRAY(c->scratch, void *, k->bufs.len + 1);
        kn_scalar *scalars = KN_NEW_ARRAY(c->scratch, kn_scalar, k->scalars.len + 1);
        kn_span *spans = KN_NEW_ARRAY(c->scratch, kn_span, k->bufs.len + 1);
        for (int j = 0; j < k->bufs.len; j++) {
            const kn_buf *b = &k->bufs.data[j];
            bufs[j] = b->kind == KN_BUF_INPUT    ? c->b.in_data[b->index]
                      : b->kind == KN_BUF_OUTPUT ? c->b.out_data[b->index]
                                                 : (void *)(temps + b->offset);
            spans[j] = b->kind == KN_BUF_INPUT    ? c->b.in_span[b->index]
                       : b->kind == KN_BUF_OUTPUT ? c->b.out_span[b->index]
                                                  : (kn_span){bufs[j], (char *)bufs[j] + b->bytes};
        }
        for (int j = 0; j < k->scalars.len; j++)
            scalars[j] = c->b.scalars[k->scalars.data[j].input];
        unsigned *word = workspace ? (unsigned *)(void *)workspace + i : NULL;
        kn_call numbers = {bufs, spans, scalars, word};
        kn_launch launch = {k, &numbers, c->stream};
        KN_TRY(dev->ops->launch(dev, c->variant->codes[i], &launch));
    }
    return KN_OK;
}

static kn_status launch_in_workspace(call *c)
{
    kn_device *dev = c->prog->ctx->dev;
    if (!needs_workspace(c))
        return launch_all(c, NULL);
    size_t need = workspace_size(c);
    if (c->workspace) {
        if (c->bytes < need || (uintptr_t)c->workspace % ALIGN)
            return kn_fail(KN_ARGUMENT,
                           "the workspace has %zu bytes at %p; it needs %zu, %d-byte aligned",
                           c->bytes, c->workspace, need, ALIGN);
        return launch_all(c, c->workspace);
    }
    void *mine;
    KN_TRY(dev->ops->alloc_async(dev, need, c->stream, &mine));
    kn_status status = launch_all(c, mine);
    dev->ops->release_async(dev, mine, c->stream);
    return status;
}

static kn_array array_of(const kn_layout *l, kn_dtype t, void *data)
{
    kn_array x = {.dtype = t, .rank = l->rank, .data = data};
    memcpy(x.shape, l->shape, sizeof x.shape);
    memcpy(x.stride, l->stride, sizeof x.stride);
    return x;
}

static kn_status run_reference(call *c)
{
    const kn_graph *g = c->prog->original;
    kn_array *in = KN_NEW_ARRAY(c->scratch, kn_array, g->inputs.len + 1);
    kn_array *out = KN_NEW_ARRAY(c->scratch, kn_array, g->outputs.len + 1);
    for (int i = 0; i < g->inputs.len; i++) {
        kn_dtype t = g->inputs.data[i].node->dtype;
        in[i] = array_of(&c->b.in[i], t, c->b.in_data[i]);
        if (g->inputs.data[i].by_value) {
            in[i].data = kn_alloc(c->scratch, 16);
            kn_scalar_store(c->b.scalars[i], in[i].data);
        }
    }
    for (int o = 0; o < g->outputs.len; o++)
        out[o] = array_of(&c->b.out[o], g->outputs.data[o].node->dtype, c->b.out_data[o]);
    return kn_interp(g, c->scratch, c->b.sizes, in, out, NULL);
}

static kn_status run(void *user)
{
    call *c = user;
    kn_program *p = c->prog;
    KN_TRY(kn_bind(c->scratch, p->optimised, c->args, c->nargs, KN_BIND_RUN, NULL, &c->b));
    if (p->ctx->reference) {
        if (c->need)
            *c->need = 0;
        return c->need || c->plan ? KN_OK : run_reference(c);
    }
    KN_TRY(find_variant(p, c->scratch, &c->b, &c->variant));
    if (c->plan)
        *c->plan = c->variant->plan;
    if (c->need)
        *c->need = needs_workspace(c) ? workspace_size(c) : 0;
    return c->need || c->plan ? KN_OK : launch_in_workspace(c);
}

static kn_status with_scratch(call *c)
{
    kn_arena scratch;
    kn_arena_init(&scratch, &c->prog->ctx->from);
    c->scratch = &scratch;
    kn_status status = kn_protect(&scratch, run, c);
    kn_arena_finish(&scratch);
    return status;
}

kn_status kn_program_prepare(kn_program *p, const kn_arg *args, int nargs, size_t *workspace)
{
    size_t need;
    call c = {.prog = p, .args = args, .nargs = nargs, .need = workspace ? workspace : &need};
    return with_scratch(&c);
}

kn_status kn_program_run(kn_program *p, void *stream, const kn_arg *args, int nargs,
                         void *workspace, size_t bytes)
{
    call c = {.prog = p,
              .stream = stream,
              .args = args,
              .nargs = nargs,
              .workspace = workspace,
              .bytes = bytes};
    return with_scratch(&c);
}

kn_status kn_program_variant_plan(kn_program *p, const kn_arg *args, int nargs,
                                  const kn_plan **plan)
{
    call c = {.prog = p, .args = args, .nargs = nargs, .plan = plan};
    *plan = NULL;
    return with_scratch(&c);
}
