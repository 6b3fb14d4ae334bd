#include "runtime/params.h"

kn_status kn_count_params(const kn_kernel *k, int *n)
{
    *n = kn_kernel_params(k, NULL, NULL, 0);
    if (*n > KN_MAX_PARAMS)
        return kn_fail(KN_COMPILE, "kernel '%s' has %d parameters, more than the %d of one launch",
                       k->name, *n, KN_MAX_PARAMS);
    return KN_OK;
}

static kn_status store(const kn_kernel *k, const kn_call *call, const kn_param *p, kn_param_cell *c)
{
    switch (p->kind) {
    case KN_PARAM_BUF: c->ptr = call->bufs[p->index]; break;
    case KN_PARAM_SCALAR:
        if (call->scalars[p->index].dtype != p->dtype)
            return kn_fail(KN_INTERNAL, "kernel '%s': scalar %d has another type than declared",
                           k->name, p->index);
        kn_scalar_store(call->scalars[p->index], c);
        break;
    case KN_PARAM_EXTENT: c->i64 = p->value; break;
    case KN_PARAM_INDEX:
        if (k->wide)
            c->i64 = p->value;
        else
            c->i32 = (int32_t)p->value;
        break;
    case KN_PARAM_BARRIER: c->ptr = call->barrier; break;
    }
    return KN_OK;
}

kn_status kn_pack_params(const kn_kernel *k, const kn_call *call, int expected,
                         kn_packed_params *out)
{
    kn_param params[KN_MAX_PARAMS];
    out->n = kn_kernel_params(k, NULL, params, KN_MAX_PARAMS);
    /* `expected` is within the limit, and so is the count when the two agree. */
    if (out->n != expected || out->n > KN_MAX_PARAMS)
        return kn_fail(KN_INTERNAL, "kernel '%s' has %d parameters, its code was made for %d",
                       k->name, out->n, expected);
    for (int i = 0; i < out->n; i++) {
        out->pointers[i] = &out->cells[i];
        KN_TRY(store(k, call, &params[i], &out->cells[i]));
    }
    return KN_OK;
}
