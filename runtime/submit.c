#include "runtime/submit.h"

#include "runtime/pointers.h"
#include "runtime/ranks.h"

enum { ALIGN = KN_WORKSPACE_ALIGN };

static size_t aligned(size_t n) { return (n + ALIGN - 1) / ALIGN * ALIGN; }

typedef struct call {
    const kn_submission *of;
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
    const kn_submission *s = c->of;
    const kn_graph *g = s->prog->optimised;
    int nin = g->inputs.len, nout = g->outputs.len;
    c->in_data = KN_NEW_ARRAY(s->scratch, void *, nin + nout);
    c->in_span = KN_NEW_ARRAY(s->scratch, kn_span, nin + nout);
    c->scalars = KN_NEW_ARRAY(s->scratch, kn_scalar, nin);
    c->staged = KN_NEW_ARRAY(s->scratch, bool, nin);
    c->bufs = KN_NEW_ARRAY(s->scratch, void *, s->variant->most_bufs);
    c->spans = KN_NEW_ARRAY(s->scratch, kn_span, s->variant->most_bufs);
    c->params = KN_NEW_ARRAY(s->scratch, kn_scalar, s->variant->most_scalars);
    c->out_data = c->in_data + nin;
    c->out_span = c->in_span + nin;
    for (int i = 0; i < nin; i++) {
        const kn_arg *arg = s->in.args[i];
        if (s->prog->slots[i].by_value) {
            kn_dtype t = g->inputs.data[i].node->dtype;
            c->scalars[i] = arg ? kn_scalar_load(t, arg->data) : g->inputs.data[i].dflt;
            c->scalars[i].dtype = t;
            continue;
        }
        c->in_data[i] = arg->data;
        c->in_span[i] = span_of(&s->variant->in[i], arg->data);
    }
    for (int o = 0; o < nout; o++) {
        c->out_data[o] = s->in.args[nin + o]->data;
        c->out_span[o] = span_of(&s->variant->out[o], c->out_data[o]);
    }
}

/* Inputs that share memory with an output are copied first, so that results are as if every input had been
 * read before any output was written, unless the kernels do so anyway. Outputs may not. */
static bool stage(void *user, int x, int output)
{
    call *c = user;
    const kn_submission *s = c->of;
    if (x >= s->prog->optimised->inputs.len)
        return false;
    if (c->staged[x] || s->variant->in_place[x] == output)
        return true;
    c->staged[x] = true;
    c->copies++;
    c->staging += aligned((size_t)(c->in_span[x].high - c->in_span[x].low) + ALIGN);
    return true;
}

/* False when outputs overlap. */
static bool find_overlaps(call *c)
{
    const kn_submission *s = c->of;
    const kn_graph *g = s->prog->optimised;
    return kn_overlaps(s->scratch, c->in_span, g->inputs.len, c->out_span, g->outputs.len, stage,
                       c);
}

/* ---- launches ---- */

/* The barrier's words, temporaries, staged inputs. */
static size_t workspace_size(const call *c)
{
    const kn_submission *s = c->of;
    size_t temporaries = (size_t)s->variant->plan->workspace;
    if (!temporaries && !c->staging && !s->variant->meets)
        return 0;
    return KN_WORKSPACE_HEAD + aligned(temporaries) + c->staging;
}

static kn_status stage_inputs(call *c, char *at)
{
    const kn_submission *s = c->of;
    kn_device *dev = s->prog->ctx->dev;
    for (int i = 0; i < s->prog->optimised->inputs.len; i++) {
        const kn_span *r = &c->in_span[i];
        if (!c->staged[i])
            continue;
        char *copy =
            at + (uintptr_t)r->low % ALIGN; /* keeps the alignment that the plan relies on */
        KN_TRY(dev->ops->copy(dev, copy, r->low, (size_t)(r->high - r->low), s->stream));
        __atomic_add_fetch(&s->prog->ctx->copies, 1, __ATOMIC_RELAXED);
        at += aligned((size_t)(r->high - r->low) + ALIGN);
        c->in_data[i] = copy + ((const char *)c->in_data[i] - r->low);
        c->in_span[i] = (kn_span){copy, copy + (r->high - r->low), r->step, r->size};
    }
    return KN_OK;
}

/* The exchange with the lowest number above `last` of what kernels [from, to] store; NULL: none. All ranks take them in
 * this order, however their kernels are made. */
static const kn_buf *next_exchange(const kn_variant *v, int from, int to, int last)
{
    const kn_buf *next = NULL;
    for (int i = from; i <= to; i++) {
        const kn_kernel *k = v->launches[i].kernel;
        for (int j = 0; j < k->bufs.len; j++) {
            const kn_buf *b = &k->bufs.data[j];
            if (b->exchange > last && (!next || b->exchange < next->exchange) &&
                kn_kernel_stores_to(k, j))
                next = b;
        }
    }
    return next;
}

/* After kernel `at`, if it is the last of its round: sends what the round has made for other ranks. */
static kn_status exchange(const call *c, char *temps, int at)
{
    const kn_variant *v = c->of->variant;
    kn_comm *comm = c->of->prog->comm;
    const int round = v->launches[at].kernel->round;
    int from = at;
    if (!c->of->prog->divided || v->launches[at].kernel->ranks ||
        (at + 1 < v->plan->kernels.len && v->launches[at + 1].kernel->round == round))
        return KN_OK;
    while (from > 0 && v->launches[from - 1].kernel->round == round)
        from--;
    const kn_buf *b = next_exchange(v, from, at, 0);
    for (; b; b = next_exchange(v, from, at, b->exchange)) {
        char *all = temps + b->offset;
        KN_TRY(kn_comm_exchange(comm, all + kn_comm_rank(comm) * b->part, all, (size_t)b->part,
                                c->of->stream));
    }
    return KN_OK;
}

/* workspace: NULL when none is needed. */
static kn_status launch_all(call *c, char *workspace)
{
    const kn_submission *s = c->of;
    kn_device *dev = s->prog->ctx->dev;
    const kn_variant *v = s->variant;
    char *temps = workspace ? workspace + KN_WORKSPACE_HEAD : NULL;
    if (c->copies)
        KN_TRY(stage_inputs(c, temps + aligned((size_t)v->plan->workspace)));
    const kn_call numbers = {c->bufs, c->spans, c->params, workspace, s->in.ranks};
    if (s->prog->divided)
        KN_TRY(kn_comm_check(s->prog->comm));
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
        KN_TRY(dev->ops->launch(dev, &v->launches[i], &numbers, s->stream));
        KN_TRY(exchange(c, temps, i));
    }
    return KN_OK;
}

static kn_status launch_in_workspace(call *c)
{
    const kn_submission *s = c->of;
    kn_context *ctx = s->prog->ctx;
    size_t need = workspace_size(c);
    if (!need)
        return launch_all(c, NULL);
    if (s->workspace) {
        if (s->bytes < need || (uintptr_t)s->workspace % ALIGN)
            return kn_fail(KN_ARGUMENT,
                           "the workspace has %zu bytes at %p; it needs %zu, %d-byte aligned",
                           s->bytes, s->workspace, need, ALIGN);
        KN_TRY(kn_check_workspace(s->prog, s->workspace));
        if (s->variant->meets)
            KN_TRY(ctx->dev->ops->zero(ctx->dev, s->workspace, KN_WORKSPACE_HEAD, s->stream));
        return launch_all(c, s->workspace);
    }
    kn_workspace *block;
    KN_TRY(kn_workspaces_take(&ctx->workspaces, s->stream, need, &block));
    kn_status status = launch_all(c, block->memory);
    kn_workspaces_give(&ctx->workspaces, block);
    return status;
}

/* ---- a call ---- */

kn_status kn_submission_bind(const kn_submission *s, kn_binding *b)
{
    const kn_program *p = s->prog;
    if (!p->divided)
        return kn_bind(s->scratch, p->optimised, s->args, s->nargs, KN_BIND_RUN, b);
    const kn_parts parts = {kn_comm_rank(p->comm), kn_divided_parts(p, s->in.signature)};
    return kn_bind_rank(s->scratch, p->optimised, s->args, s->nargs, &parts, b);
}

kn_status kn_submission_refuse(const kn_submission *s)
{
    kn_binding b;
    KN_TRY(kn_bind(s->scratch, s->prog->optimised, s->args, s->nargs, KN_BIND_RUN, &b));
    return kn_fail(KN_INTERNAL, "%s: arguments that bind were refused", s->prog->optimised->name);
}

kn_status kn_submit(const kn_submission *s)
{
    call c = {.of = s};
    read_args(&c);
    if (!find_overlaps(&c))
        return kn_submission_refuse(s);
    if (!s->info)
        return launch_in_workspace(&c);
    const kn_plan *plan = s->variant->plan;
    *s->info =
        (kn_prepared){.workspace = workspace_size(&c),
                      .launches = plan->kernels.len,
                      .copies = c.copies,
                      .bytes = (uint64_t)(plan->after.bytes_read + plan->after.bytes_written)};
    return s->reserve && s->info->workspace
               ? kn_workspaces_reserve(&s->prog->ctx->workspaces, s->info->workspace)
               : KN_OK;
}

kn_status kn_submission_serve(kn_submission *s, kn_protected_fn fn)
{
    _Alignas(16) char space[8192]; /* enough for all but programs of many arguments */
    kn_arena scratch;
    kn_arena_init_in(&scratch, &s->prog->ctx->from, space, sizeof space);
    s->scratch = &scratch;
    kn_status status = kn_protect(&scratch, fn, s);
    kn_variant_release(s->prog, s->variant);
    kn_arena_finish(&scratch);
    return status;
}

static kn_status sign_and_submit(void *user)
{
    kn_submission *s = user;
    return kn_sign(s->prog, s->scratch, s->args, s->nargs, &s->in) ? kn_submit(s)
                                                                   : kn_submission_refuse(s);
}

kn_status kn_variant_run(kn_program *p, kn_variant *v, void *stream, const kn_arg *args, int nargs)
{
    kn_submission s = {.prog = p, .stream = stream, .args = args, .nargs = nargs, .variant = v};
    __atomic_add_fetch(&v->users, 1, __ATOMIC_RELAXED);
    return kn_submission_serve(&s, sign_and_submit);
}
