/* Which accesses, values and phases are the same. */
#include <string.h>

#include "base/hash.h"
#include "base/work.h"
#include "codegen/kir/formula.h"
#include "codegen/kir/kir.h"

bool kn_access_same(const kn_access *a, const kn_access *b)
{
    return a->buf == b->buf && kn_access_alike(a, b);
}

bool kn_access_alike(const kn_access *a, const kn_access *b)
{
    return a->axes == b->axes && a->offset == b->offset &&
           memcmp(a->stride, b->stride, sizeof a->stride) == 0 &&
           (a->formula == b->formula ||
            (a->formula && b->formula && memcmp(a->formula, b->formula, sizeof *a->formula) == 0));
}

bool kn_value_same(const kn_value *x, const kn_value *y)
{
    if (x->kind != y->kind || x->dtype != y->dtype || x->nin != y->nin)
        return false;
    switch (x->kind) {
    case KN_V_LOAD:
    case KN_V_INDEX: return kn_access_same(x->access, y->access);
    case KN_V_RANK:
        return x->rank == y->rank && x->in[0] == y->in[0] && kn_access_same(x->access, y->access);
    case KN_V_GATHER:
        return kn_access_same(x->access, y->access) && x->access->checked == y->access->checked &&
               memcmp(x->in, y->in, sizeof x->in) == 0 &&
               memcmp(x->access->gathered, y->access->gathered,
                      sizeof *x->access->gathered * (size_t)x->nin) == 0;
    case KN_V_CONST:
        return x->value.i == y->value.i &&
               memcmp(&x->value.im, &y->value.im, sizeof x->value.im) == 0;
    case KN_V_ELEM: return x->op == y->op && memcmp(x->in, y->in, sizeof x->in) == 0;
    default: return x->index == y->index;
    }
}

uint64_t kn_value_hash(const kn_value *v)
{
    bool access = kn_has_access(v);
    const int64_t key[] = {v->kind,
                           v->dtype,
                           v->kind == KN_V_ELEM ? (int64_t)v->op : 0,
                           access || v->kind == KN_V_CONST || v->kind == KN_V_ELEM ? 0 : v->index,
                           access ? v->access->buf : 0,
                           access ? v->access->offset : 0,
                           v->kind == KN_V_CONST ? v->value.i : 0};
    return kn_hash(v->in, sizeof *v->in * (size_t)v->nin, kn_hash(key, sizeof key, 0));
}

static bool same_reductions(const kn_nest *x, const kn_nest *y)
{
    bool same = x->reds.len == y->reds.len;
    for (int i = 0; i < x->reds.len && same; i++) {
        const kn_red *r = &x->reds.data[i], *s = &y->reds.data[i];
        same = r->op == s->op && r->part == s->part && r->value == s->value &&
               r->dtype == s->dtype && r->stage == s->stage && r->across == s->across &&
               r->by == s->by && r->carried == s->carried;
    }
    return same;
}

static bool same_stores(const kn_nest *x, const kn_nest *y)
{
    bool same = x->stores.len == y->stores.len;
    for (int i = 0; i < x->stores.len && same; i++) {
        const kn_store *s = &x->stores.data[i], *t = &y->stores.data[i];
        same = s->kind == t->kind && s->value == t->value && s->stage == t->stage &&
               s->once == t->once && kn_access_same(&s->access, &t->access) &&
               s->access.split_stride == t->access.split_stride;
    }
    return same;
}

static bool same_nests(const kn_nest *x, const kn_nest *y)
{
    if (x->naxes != y->naxes || x->ngroup != y->ngroup || x->values.len != y->values.len)
        return false;
    for (int a = 0; a < x->naxes; a++)
        if (x->axes[a].extent != y->axes[a].extent || x->axes[a].at != y->axes[a].at ||
            x->axes[a].inner != y->axes[a].inner || x->axes[a].of != y->axes[a].of)
            return false;
    if (x->extents != y->extents &&
        !(x->extents && y->extents && memcmp(x->extents, y->extents, sizeof *x->extents) == 0))
        return false;
    for (int i = 0; i < x->values.len; i++) {
        kn_work(1);
        if (!kn_value_same(&x->values.data[i], &y->values.data[i]))
            return false;
    }
    return same_reductions(x, y) && same_stores(x, y);
}

bool kn_phase_same(const kn_phase *x, const kn_phase *y)
{
    bool same = x->local == y->local && x->universal == y->universal &&
                x->invariant == y->invariant && x->no_cluster == y->no_cluster &&
                x->how.split == y->how.split && x->how.mixed == y->how.mixed &&
                x->how.resident == y->how.resident && x->num.splits == y->num.splits &&
                x->num.chunk == y->num.chunk && x->num.parts == y->num.parts &&
                x->num.rounds == y->num.rounds && x->exports.len == y->exports.len &&
                x->first_export == y->first_export;
    for (int i = 0; i < x->exports.len && same; i++)
        same = x->exports.data[i] == y->exports.data[i];
    return same && same_nests(&x->nest, &y->nest);
}

uint64_t kn_phase_hash(const kn_phase *ph)
{
    const kn_nest *nest = &ph->nest;
    uint64_t hash = kn_hash(&ph->num, sizeof ph->num, (uint64_t)nest->values.len);
    for (int a = 0; a < nest->naxes; a++)
        hash = kn_hash(&nest->axes[a].extent, sizeof nest->axes[a].extent, hash);
    for (int i = 0; i < nest->stores.len; i++)
        hash = kn_hash(&nest->stores.data[i].access.buf, sizeof(int), hash);
    return nest->values.len ? hash ^ kn_value_hash(&nest->values.data[nest->values.len - 1]) : hash;
}
