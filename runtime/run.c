/* A run: on the reference interpreter, or on the variant of the arguments, which is made if there is none yet. */
#include <string.h>

#include "runtime/pointers.h"
#include "runtime/promise.h"
#include "runtime/ranks.h"
#include "runtime/tune.h"

/* ---- the reference interpreter ---- */

static kn_array array_of(const kn_layout *l, kn_dtype t, void *data)
{
    kn_array x = {.dtype = t, .rank = l->rank, .data = data};
    memcpy(x.shape, l->shape, sizeof x.shape);
    memcpy(x.stride, l->stride, sizeof x.stride);
    return x;
}

static kn_status run_reference(const kn_submission *s)
{
    const kn_graph *g = s->prog->original;
    kn_binding b;
    KN_TRY(kn_bind(s->scratch, s->prog->optimised, s->args, s->nargs, KN_BIND_RUN, &b));
    if (s->info)
        return KN_OK;
    kn_array *in = KN_NEW_ARRAY(s->scratch, kn_array, g->inputs.len + 1);
    kn_array *out = KN_NEW_ARRAY(s->scratch, kn_array, g->outputs.len + 1);
    for (int i = 0; i < g->inputs.len; i++) {
        kn_dtype t = g->inputs.data[i].node->dtype;
        in[i] = array_of(&b.in[i], t, b.in_data[i]);
        if (g->inputs.data[i].by_value) {
            in[i].data = kn_alloc(s->scratch, 16);
            kn_scalar_store(b.scalars[i], in[i].data);
        }
    }
    for (int o = 0; o < g->outputs.len; o++)
        out[o] = array_of(&b.out[o], g->outputs.data[o].node->dtype, b.out_data[o]);
    return kn_graph_failed(s->scratch, g, kn_interp(g, s->scratch, b.sizes, in, out, NULL));
}

/* ---- the variant ---- */

/* Of these arguments, made if the program does not have it; that may measure. */
static kn_status acquire(kn_submission *s)
{
    kn_program *p = s->prog;
    kn_binding b;
    kn_variant *mine;
    s->variant = kn_variant_find(p, s->in.signature);
    if (s->variant)
        return KN_OK;
    KN_TRY(kn_submission_bind(s, &b));
    /* what exchanges with other ranks must not be run by one alone */
    const kn_force force =
        p->divided ? p->force
                   : kn_tune(p, &(kn_newcomer){s->stream, s->args, s->nargs, &s->in, &b});
    KN_TRY(kn_variant_make(p, &s->in, &b, &force, false, &mine));
    kn_status status = kn_variant_keep(p, &mine);
    s->variant = mine;
    return status;
}

/* Once the parts of other ranks are known. */
static kn_status sign_and_acquire(void *user)
{
    kn_submission *s = user;
    return kn_sign(s->prog, s->scratch, s->args, s->nargs, &s->in)
               ? acquire(s)
               : kn_fail(KN_INTERNAL, "arguments that were signed are refused");
}

/* The ranks exchange their sizes first, and begin when all have what they need. */
static kn_status run_with_others(kn_submission *s, bool is_signed)
{
    kn_status status =
        is_signed ? kn_check_pointers(s->prog, &s->in, s->info) : kn_submission_refuse(s);
    KN_TRY(kn_divided_agree(s, status));
    status = kn_protect(s->scratch, sign_and_acquire, s);
    bool alike;
    KN_TRY(kn_divided_compare(s, status, &alike));
    if (!alike) {
        kn_variant_release(s->prog, s->variant);
        s->variant = NULL;
        status = kn_protect(s->scratch, sign_and_acquire, s);
    }
    KN_TRY(kn_divided_get_mailbox(s, status));
    return kn_submit(s);
}

static kn_status run(void *user)
{
    kn_submission *s = user;
    if (s->info)
        s->args = kn_promised_args(s->scratch, s->prog, s->args, s->nargs, s->alignment);
    if (s->prog->ctx->reference)
        return s->prog->divided ? kn_fail(KN_ARGUMENT, "the reference interpreter runs one rank")
                                : run_reference(s);
    bool is_signed = kn_sign(s->prog, s->scratch, s->args, s->nargs, &s->in);
    if (s->prog->divided && (s->info || (is_signed && !s->in.agreed)))
        return run_with_others(s, is_signed);
    if (!is_signed)
        return kn_submission_refuse(s);
    KN_TRY(kn_check_pointers(s->prog, &s->in, s->info));
    KN_TRY(acquire(s));
    KN_TRY(kn_divided_check(s));
    return kn_submit(s);
}

kn_status kn_program_prepare(kn_program *p, const kn_arg *args, int nargs, const kn_preparing *how,
                             kn_prepared *info)
{
    *info = (kn_prepared){0};
    kn_submission s = {.prog = p,
                       .args = args,
                       .nargs = nargs,
                       .info = info,
                       .reserve = how->reserve,
                       .alignment = how->alignment ? how->alignment : 16};
    return kn_submission_serve(&s, run);
}

kn_status kn_program_run(kn_program *p, void *stream, const kn_arg *args, int nargs,
                         void *workspace, size_t bytes)
{
    kn_submission s = {.prog = p,
                       .stream = stream,
                       .args = args,
                       .nargs = nargs,
                       .workspace = workspace,
                       .bytes = bytes};
    return kn_submission_serve(&s, run);
}
