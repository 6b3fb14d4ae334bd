#include "codegen/emit/c/writer.h"
#include "codegen/kir/formula.h"

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

int kn_c_member_stride(const kn_phase *p, bool store, int i)
{
    return kn_c_number_of(p, store, i) + 2 + p->nest.naxes - 1;
}

int kn_c_number_of_gathered(const kn_phase *p, int value, int k)
{
    int at = kn_c_number_of(p, true, p->nest.stores.len);
    for (int v = 0; v < value; v++)
        at += p->nest.values.data[v].kind == KN_V_GATHER ? 2 * p->nest.values.data[v].nin : 0;
    return at + 2 * k;
}

/* Where they go. */
typedef struct numbers {
    const kn_nest *nest;
    int64_t *values;  /* or NULL */
    kn_dim *formulas; /* or NULL */
    int n;
} numbers;

static void put(numbers *to, int64_t value, kn_dim formula)
{
    if (to->values)
        to->values[to->n] = value;
    if (to->formulas)
        to->formulas[to->n] = formula;
    to->n++;
}

static void put_access(numbers *to, const kn_access *a)
{
    const kn_nest *nest = to->nest;
    kn_symbols *s = to->formulas ? nest->extents->syms : NULL;
    kn_dim zero = s ? kn_dim_const(s, 0) : NULL, one = s ? kn_dim_const(s, 1) : NULL;
    put(to, a->offset, s && a->formula ? a->formula->offset : NULL);
    put(to, a->split_stride, zero);
    for (int x = 0; x < nest->naxes; x++)
        if (a->kind[x] == KN_STRIDE_PARAM)
            put(to, a->stride[x], s && a->formula ? kn_stride_formula(nest, a, x) : NULL);
        else
            put(to, a->kind[x] == KN_STRIDE_ONE, a->kind[x] == KN_STRIDE_ONE ? one : zero);
}

static void put_all(numbers *to, const kn_phase *p)
{
    const kn_nest *nest = &p->nest;
    for (int x = 0; x < nest->naxes; x++)
        put(to, nest->axes[x].extent, to->formulas ? kn_extent_formula(nest, x) : NULL);
    for (int v = 0; v < nest->values.len; v++)
        if (kn_has_access(&nest->values.data[v]))
            put_access(to, kn_c_access(p, v));
    for (int s = 0; s < nest->stores.len; s++)
        put_access(to, kn_c_store_access(p, s));
    for (int i = 0; i < nest->values.len; i++) {
        const kn_value *v = &nest->values.data[i];
        for (int k = 0; v->kind == KN_V_GATHER && k < v->nin; k++) {
            put(to, v->access->gathered[k].stride, v->access->gathered[k].stride_is);
            put(to, v->access->gathered[k].extent, v->access->gathered[k].extent_is);
        }
    }
}

int kn_c_numbers(const kn_phase *p, int64_t *out)
{
    if (out)
        put_all(&(numbers){.nest = &p->nest, .values = out}, p);
    return kn_c_number_of_gathered(p, p->nest.values.len, 0);
}

void kn_c_formulas(const kn_phase *p, kn_dim *out)
{
    put_all(&(numbers){.nest = &p->nest, .formulas = out}, p);
}
