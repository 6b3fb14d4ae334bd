#include "codegen/emit/c/writer.h"

const kn_access *kn_c_access(const kn_phase *p, int value)
{
    return p->nest.values.data[value].access;
}

const kn_access *kn_c_store_access(const kn_phase *p, int store)
{
    return &p->nest.stores.data[store].access;
}

/* Of one access: offset, split stride, strides. */
static int each(const kn_phase *p) { return 2 + p->nest.naxes; }

int kn_c_number_of(const kn_phase *p, bool store, int i)
{
    int before = 0;
    for (int v = 0; v < (store ? p->nest.values.len : i); v++)
        before += kn_has_access(&p->nest.values.data[v]);
    return p->nest.naxes + (before + (store ? i : 0)) * each(p);
}

int kn_c_number_of_place(const kn_phase *p, int value, int k)
{
    int at = kn_c_number_of(p, true, p->nest.stores.len);
    for (int v = 0; v < value; v++)
        at += p->nest.values.data[v].kind == KN_V_GATHER ? 2 * p->nest.values.data[v].nin : 0;
    return at + 2 * k;
}

static int64_t stride_of(const kn_access *a, int axis)
{
    return a->kind[axis] == KN_STRIDE_ZERO  ? 0
           : a->kind[axis] == KN_STRIDE_ONE ? 1
                                            : a->stride[axis];
}

static int64_t *put_access(const kn_phase *p, const kn_access *a, int64_t *to)
{
    *to++ = a->offset;
    *to++ = a->split_stride;
    for (int x = 0; x < p->nest.naxes; x++)
        *to++ = stride_of(a, x);
    return to;
}

int kn_c_numbers(const kn_phase *p, int64_t *out)
{
    int64_t *to = out;
    for (int x = 0; x < p->nest.naxes && out; x++)
        *to++ = p->nest.axes[x].extent;
    for (int v = 0; v < p->nest.values.len && out; v++)
        if (kn_has_access(&p->nest.values.data[v]))
            to = put_access(p, kn_c_access(p, v), to);
    for (int s = 0; s < p->nest.stores.len && out; s++)
        to = put_access(p, kn_c_store_access(p, s), to);
    for (int i = 0; i < p->nest.values.len && out; i++) {
        const kn_value *v = &p->nest.values.data[i];
        for (int k = 0; v->kind == KN_V_GATHER && k < v->nin; k++) {
            *to++ = v->access->place[k].stride;
            *to++ = v->access->place[k].extent;
        }
    }
    return kn_c_number_of_place(p, p->nest.values.len, 0);
}
