#include "runtime/device/params.h"

#include <string.h>

kn_status kn_count_params(const kn_kernel *k, int *n)
{
    *n = kn_kernel_params(k, NULL, NULL, 0);
    if (*n > KN_MAX_PARAMS)
        return kn_fail(KN_COMPILE, "kernel '%s' has %d parameters, more than the %d of one launch",
                       k->name, *n, KN_MAX_PARAMS);
    return KN_OK;
}

kn_status kn_params_make(kn_arena *a, const kn_kernel *k, kn_params *out)
{
    *out = (kn_params){0};
    KN_TRY(kn_count_params(k, &out->n));
    kn_param *params = KN_NEW_ARRAY(a, kn_param, out->n + 1);
    kn_kernel_params(k, NULL, params, out->n);
    out->cells = KN_NEW_ARRAY(a, kn_param_cell, out->n + 1);
    out->holes = KN_NEW_ARRAY(a, kn_param_hole, out->n + 1);
    for (int i = 0; i < out->n; i++) {
        const kn_param *p = &params[i];
        if (p->kind == KN_PARAM_EXTENT || p->kind == KN_PARAM_POLICY ||
            (p->kind == KN_PARAM_INDEX && k->wide))
            out->cells[i].i64 = p->value;
        else if (p->kind == KN_PARAM_INDEX)
            out->cells[i].i32 = (int32_t)p->value;
        else
            out->holes[out->nholes++] = (kn_param_hole){i, p->kind, p->index, p->dtype};
    }
    return KN_OK;
}

kn_status kn_params_pack(const kn_params *p, const kn_call *call, kn_packed_params *out)
{
    if (p->n)
        memcpy(out->cells, p->cells, sizeof *p->cells * (size_t)p->n);
    for (int i = 0; i < p->n; i++)
        out->pointers[i] = &out->cells[i];
    for (int i = 0; i < p->nholes; i++) {
        const kn_param_hole *h = &p->holes[i];
        kn_param_cell *c = &out->cells[h->cell];
        if (h->kind == KN_PARAM_BUF) {
            c->ptr = call->bufs[h->index];
        } else if (h->kind == KN_PARAM_BARRIER) {
            c->ptr = call->barrier;
        } else if (h->kind == KN_PARAM_RANKS) {
            c->ptr = call->ranks;
        } else {
            if (call->scalars[h->index].dtype != h->dtype)
                return kn_fail(KN_INTERNAL, "scalar %d has another type than declared", h->index);
            kn_scalar_store(call->scalars[h->index], c);
        }
    }
    return KN_OK;
}
