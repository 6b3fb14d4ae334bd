/* A run: the call's addresses and by-value arguments, on a variant. */
#include <string.h>

#include "runtime/pointers.h"
#include "runtime/variant.h"

enum { ALIGN = KN_WORKSPACE_ALIGN };

static size_t aligned(size_t n) { return (n + ALIGN - 1) / ALIGN * ALIGN; }

typedef struct call {
    kn_program *prog;
    void *stream;
    const kn_arg *args;
    int nargs;
    void *workspace; /* the caller's, or NULL */
    size_t bytes;
    kn_arena *scratch;
    kn_prepared *info; /* prepare: out */
    bool reserve;

    kn_inputs in;
    kn_variant *variant;
    void **in_data, **out_data;
    kn_span *in_span, *out_span;
    kn_scalar *scalars;
    bool *staged; /* per input: copied first */
    void **bufs;  /* of the kernel that is being launched */
    kn_span *spans;
    kn_scalar *params;
    size_t staging;
    int copies;
} call;

/* ---- addresses ---- */

static kn_span span_of(const kn_reach *r, char *data)
{
    return r->low == r->high ? (kn_span){0}
                             : (kn_span){data + r->low, data + r->high, r->step, r->size};
}

/* All memory of a call is taken here: after it nothing unwinds, and blocks are given back. */
static void read_args(call *c)
{
    const kn_graph *g = c->prog->optimised;
    int nin = g->inputs.len, nout = g->outputs.len;
    c->in_data = KN_NEW_ARRAY(c->scratch, void *, nin + nout);
    c->in_span = KN_NEW_ARRAY(c->scratch, kn_span, nin + nout);
    c->scalars = KN_NEW_ARRAY(c->scratch, kn_scalar, nin);
    c->staged = KN_NEW_ARRAY(c->scratch, bool, nin);
    c->bufs = KN_NEW_ARRAY(c->scratch, void *, c->variant->most_bufs);
    c->spans = KN_NEW_ARRAY(c->scratch, kn_span, c->variant->most_bufs);
    c->params = KN_NEW_ARRAY(c->scratch, kn_scalar, c->variant->most_scalars);
    c->out_data = c->in_data + nin;
    c->out_span = c->in_span + nin;
    for (int i = 0; i < nin; i++) {
        const kn_arg *arg = c->in.args[i];
        if (c->prog->slots[i].by_value) {
            kn_dtype t = g->inputs.data[i].node->dtype;
            c->scalars[i] = arg ? kn_scalar_load(t, arg->data) : g->inputs.data[i].dflt;
            c->scalars[i].dtype = t;
            continue;
        }
        c->in_data[i] = arg->data;
        c->in_span[i] = span_of(&c->variant->in[i], arg->data);
    }
    for (int o = 0; o < nout; o++) {
        c->out_data[o] = c->in.args[nin + o]->data;
        c->out_span[o] = span_of(&c->variant->out[o], c->out_data[o]);
    }
}

/* Inputs that share memory with an output are copied first, so that results are as if every input had been
 * read before any output was written, unless the kernels do so anyway. Outputs may not. */
static bool stage(void *user, int x, int output)
{
    call *c = user;
    if (x >= c->prog->optimised->inputs.len)
        return false;
    if (c->staged[x] || c->variant->in_place[x] == output)
        return true;
    c->staged[x] = true;
    c->copies++;
    c->staging += aligned((size_t)(c->in_span[x].high - c->in_span[x].low) + ALIGN);
    return true;
}

/* False when outputs overlap. */
static bool find_overlaps(call *c)
{
    const kn_graph *g = c->prog->optimised;
    return kn_overlaps(c->scratch, c->in_span, g->inputs.len, c->out_span, g->outputs.len, stage,
                       c);
}

/* ---- launches ---- */

/* The barrier's words, temporaries, staged inputs. */
static size_t workspace_size(const call *c)
{
    size_t temporaries = (size_t)c->variant->plan->workspace;
    if (!temporaries && !c->staging && !c->variant->meets)
        return 0;
    return KN_WORKSPACE_HEAD + aligned(temporaries) + c->staging;
}

static kn_status stage_inputs(call *c, char *at)
{
    kn_device *dev = c->prog->ctx->dev;
    for (int i = 0; i < c->prog->optimised->inputs.len; i++) {
        const kn_span *r = &c->in_span[i];
        if (!c->staged[i])
            continue;
        char *copy =
            at + (uintptr_t)r->low % ALIGN; /* keeps the alignment that the plan relies on */
        KN_TRY(dev->ops->copy(dev, copy, r->low, (size_t)(r->high - r->low), c->stream));
        __atomic_add_fetch(&c->prog->ctx->copies, 1, __ATOMIC_RELAXED);
        at += aligned((size_t)(r->high - r->low) + ALIGN);
        c->in_data[i] = copy + ((const char *)c->in_data[i] - r->low);
        c->in_span[i] = (kn_span){copy, copy + (r->high - r->low), r->step, r->size};
    }
    return KN_OK;
}

/* workspace: NULL when none is needed. */
static kn_status launch_all(call *c, char *workspace)
{
    kn_device *dev = c->prog->ctx->dev;
    const kn_variant *v = c->variant;
    char *temps = workspace ? workspace + KN_WORKSPACE_HEAD : NULL;
    if (c->copies)
        KN_TRY(stage_inputs(c, temps + aligned((size_t)v->plan->workspace)));
    const kn_call numbers = {c->bufs, c->spans, c->params, workspace};
    for (int i = 0; i < v->plan->kernels.len; i++) {
        const kn_kernel *k = v->launches[i].kernel;
        for (int j = 0; j < k->bufs.len; j++) {
            const kn_buf *b = &k->bufs.data[j];
            char *temp = temps + b->offset;
            c->bufs[j] = b->kind == KN_BUF_INPUT    ? c->in_data[b->index]
                         : b->kind == KN_BUF_OUTPUT ? c->out_data[b->index]
                                                    : temp;
            c->spans[j] = b->kind == KN_BUF_INPUT    ? c->in_span[b->index]
                          : b->kind == KN_BUF_OUTPUT ? c->out_span[b->index]
                                                     : (kn_span){temp, temp + b->bytes, 0, 0};
        }
        for (int j = 0; j < k->scalars.len; j++)
            c->params[j] = c->scalars[k->scalars.data[j].input];
        KN_TRY(dev->ops->launch(dev, &v->launches[i], &numbers, c->stream));
    }
    return KN_OK;
}

static kn_status launch_in_workspace(call *c)
{
    kn_context *ctx = c->prog->ctx;
    size_t need = workspace_size(c);
    if (!need)
        return launch_all(c, NULL);
    if (c->workspace) {
        if (c->bytes < need || (uintptr_t)c->workspace % ALIGN)
            return kn_fail(KN_ARGUMENT,
                           "the workspace has %zu bytes at %p; it needs %zu, %d-byte aligned",
                           c->bytes, c->workspace, need, ALIGN);
        KN_TRY(kn_check_workspace(c->prog, c->workspace));
        if (c->variant->meets)
            KN_TRY(ctx->dev->ops->zero(ctx->dev, c->workspace, KN_WORKSPACE_HEAD, c->stream));
        return launch_all(c, c->workspace);
    }
    kn_workspace *block;
    KN_TRY(kn_workspaces_take(&ctx->workspaces, c->stream, need, &block));
    kn_status status = launch_all(c, block->memory);
    kn_workspaces_give(&ctx->workspaces, block);
    return status;
}

/* ---- the reference interpreter ---- */

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
    kn_binding b;
    KN_TRY(kn_bind(c->scratch, c->prog->optimised, c->args, c->nargs, KN_BIND_RUN, NULL, &b));
    if (c->info)
        return KN_OK;
    kn_array *in = KN_NEW_ARRAY(c->scratch, kn_array, g->inputs.len + 1);
    kn_array *out = KN_NEW_ARRAY(c->scratch, kn_array, g->outputs.len + 1);
    for (int i = 0; i < g->inputs.len; i++) {
        kn_dtype t = g->inputs.data[i].node->dtype;
        in[i] = array_of(&b.in[i], t, b.in_data[i]);
        if (g->inputs.data[i].by_value) {
            in[i].data = kn_alloc(c->scratch, 16);
            kn_scalar_store(b.scalars[i], in[i].data);
        }
    }
    for (int o = 0; o < g->outputs.len; o++)
        out[o] = array_of(&b.out[o], g->outputs.data[o].node->dtype, b.out_data[o]);
    return kn_graph_failed(c->scratch, g, kn_interp(g, c->scratch, b.sizes, in, out, NULL, false));
}

/* ---- a call ---- */

/* What kn_bind() has against arguments that the fast path did not take. */
static kn_status refuse(call *c)
{
    kn_binding b;
    KN_TRY(kn_bind(c->scratch, c->prog->optimised, c->args, c->nargs, KN_BIND_RUN, NULL, &b));
    return kn_fail(KN_INTERNAL, "%s: arguments that bind were refused", c->prog->optimised->name);
}

static kn_status serve(call *c)
{
    read_args(c);
    if (!find_overlaps(c))
        return refuse(c);
    if (!c->info)
        return launch_in_workspace(c);
    const kn_plan *plan = c->variant->plan;
    *c->info =
        (kn_prepared){.workspace = workspace_size(c),
                      .launches = plan->kernels.len,
                      .copies = c->copies,
                      .bytes = (uint64_t)(plan->after.bytes_read + plan->after.bytes_written)};
    return c->reserve && c->info->workspace
               ? kn_workspaces_reserve(&c->prog->ctx->workspaces, c->info->workspace)
               : KN_OK;
}

static kn_status run(void *user)
{
    call *c = user;
    if (c->prog->ctx->reference)
        return run_reference(c);
    if (!kn_sign(c->prog, c->scratch, c->args, c->nargs, &c->in))
        return refuse(c);
    if (!c->variant) {
        KN_TRY(kn_check_pointers(c->prog, &c->in));
        KN_TRY(kn_variant_acquire(c->prog, c->scratch, &c->in, c->stream, c->args, c->nargs,
                                  &c->variant));
    }
    return serve(c);
}

static kn_status with_scratch(call *c)
{
    _Alignas(16) char space[8192]; /* enough for all but programs of many arguments */
    kn_arena scratch;
    kn_arena_init_in(&scratch, &c->prog->ctx->from, space, sizeof space);
    c->scratch = &scratch;
    kn_status status = kn_protect(&scratch, run, c);
    kn_variant_release(c->prog, c->variant);
    kn_arena_finish(&scratch);
    return status;
}

kn_status kn_program_prepare(kn_program *p, const kn_arg *args, int nargs, bool reserve,
                             kn_prepared *info)
{
    *info = (kn_prepared){0};
    call c = {.prog = p, .args = args, .nargs = nargs, .info = info, .reserve = reserve};
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

kn_status kn_variant_run(kn_program *p, kn_variant *v, void *stream, const kn_arg *args, int nargs)
{
    call c = {.prog = p, .stream = stream, .args = args, .nargs = nargs, .variant = v};
    __atomic_add_fetch(&v->users, 1, __ATOMIC_RELAXED);
    return with_scratch(&c);
}
