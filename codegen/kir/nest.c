#include "codegen/kir/nest.h"

#include <string.h>

kn_access_ends kn_access_reach(const kn_nest *nest, const kn_access *acc, int64_t period)
{
    kn_access_ends r = {acc->offset, acc->offset};
    for (int a = 0; a < nest->naxes; a++) {
        const int64_t by = acc->stride[a] * (nest->axes[a].extent - 1);
        if (period && acc->stride[a] % period == 0)
            continue;
        r.low += by < 0 ? by : 0;
        r.high += by > 0 ? by : 0;
    }
    return r;
}

bool kn_access_varies(const kn_access *acc, int from, int to)
{
    for (int a = from; a < to; a++)
        if (acc->stride[a] != 0)
            return true;
    return false;
}

/* Gives a copied value an access of its own. */
static void copy_access(kn_arena *a, kn_value *v)
{
    if (!kn_has_access(v))
        return;
    kn_access *acc = KN_NEW(a, kn_access);
    *acc = *v->access;
    if (acc->gathered)
        acc->gathered = kn_alloc_copy(a, acc->gathered, sizeof *acc->gathered * (size_t)v->nin);
    v->access = acc;
}

int kn_nest_add(kn_arena *a, kn_nest *nest, kn_value v)
{
    copy_access(a, &v);
    for (int k = 0; k < v.nin; k++) {
        const kn_value *x = &nest->values.data[v.in[k]];
        v.stage = x->stage > v.stage ? x->stage : v.stage;
        v.level = x->level > v.level ? x->level : v.level;
    }
    kn_push(a, &nest->values, v);
    return nest->values.len - 1;
}

int kn_nest_ranks(const kn_nest *nest)
{
    int ranks = 0;
    for (int i = 0; i < nest->values.len; i++)
        if (nest->values.data[i].kind == KN_V_RANK && nest->values.data[i].rank >= ranks)
            ranks = nest->values.data[i].rank + 1;
    return ranks;
}

kn_nest kn_nest_copy(kn_arena *a, const kn_nest *nest)
{
    kn_nest copy = *nest;
    kn_copy_vec(a, &copy.values, &nest->values);
    for (int i = 0; i < copy.values.len; i++)
        copy_access(a, &copy.values.data[i]);
    kn_copy_vec(a, &copy.reds, &nest->reds);
    kn_copy_vec(a, &copy.stores, &nest->stores);
    return copy;
}

int64_t kn_nest_count(const kn_nest *nest, int from, int to)
{
    int64_t n = 1;
    for (int a = from; a < to; a++)
        n *= nest->axes[a].extent;
    return n;
}

kn_value kn_number(kn_scalar value)
{
    return (kn_value){.kind = KN_V_CONST, .dtype = value.dtype, .level = KN_GROUP, .value = value};
}

kn_value kn_elem(kn_op op, kn_dtype t, int a, int b, int c)
{
    return (kn_value){.kind = KN_V_ELEM,
                      .op = op,
                      .dtype = t,
                      .in = {a, b < 0 ? 0 : b, c < 0 ? 0 : c},
                      .nin = 1 + (b >= 0) + (c >= 0)};
}

void kn_renumber_values(kn_nest *nest, const int *to)
{
    for (int i = 0; i < nest->reds.len; i++)
        nest->reds.data[i].value = to[nest->reds.data[i].value];
    for (int i = 0; i < nest->stores.len; i++)
        if (nest->stores.data[i].kind != KN_STORE_PARTIAL)
            nest->stores.data[i].value = to[nest->stores.data[i].value];
}

const char *kn_identifier(kn_arena *a, const char *prefix, const char *name)
{
    const size_t length = strlen(prefix), size = length + strlen(name) + 1;
    char *id = kn_alloc(a, size);
    memcpy(id, prefix, length);
    memcpy(id + length, name, size - length);
    for (char *c = id; *c; c++)
        if (!(*c == '_' || (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') ||
              (*c >= 'A' && *c <= 'Z')))
            *c = '_';
    return id;
}
