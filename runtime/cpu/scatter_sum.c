#include "runtime/cpu/scatter_sum.h"

#include <string.h>

#include "codegen/kir/scatter_sum.h"
#include "ir/eval.h"

/* What a member's place is computed from. */
typedef struct placing {
    const kn_kernel *k;
    const kn_phase *p;
    const kn_call *call;
    kn_scalar *value; /* per value of the phase */
    bool *need;
    int place;
    int64_t at[KN_MAX_RANK]; /* the member's index along each axis */
} placing;

static int64_t offset_of(const placing *s, const kn_access *acc)
{
    int64_t offset = acc->offset;
    for (int a = s->p->nest.ngroup; a < s->p->nest.naxes; a++)
        offset += s->at[a] * acc->stride[a];
    return offset;
}

static kn_scalar compute(const placing *s, const kn_value *v)
{
    kn_scalar in[KN_MAX_IN];
    for (int k = 0; k < v->nin; k++)
        in[k] = s->value[v->in[k]];
    switch (v->kind) {
    case KN_V_CONST: return v->value;
    case KN_V_SCALAR: return s->call->scalars[v->index];
    case KN_V_EXTENT: return (kn_scalar){.dtype = KN_I64, .i = s->k->extents.data[v->index].value};
    case KN_V_INDEX: return (kn_scalar){.dtype = v->dtype, .i = offset_of(s, v->access)};
    case KN_V_LOAD: {
        const char *base = s->call->bufs[v->access->buf];
        return kn_scalar_load(v->dtype, base + offset_of(s, v->access) * kn_bytes(v->dtype));
    }
    default:
        return v->op == KN_OP_CAST   ? kn_eval_cast(in[0], v->dtype)
               : v->op == KN_OP_COPY ? in[0]
                                     : kn_eval(v->op, v->dtype, in);
    }
}

/* The number of member m's place among the groups' indices; -1: it is none of them. */
static int64_t place_of(placing *s, const kn_scatter_sum *sum, int64_t m)
{
    const kn_nest *nest = &s->p->nest;
    const kn_access *index = kn_value_at(s->p, sum->index)->access;
    for (int a = nest->naxes - 1; a >= nest->ngroup; a--) {
        s->at[a] = m % nest->axes[a].extent;
        m /= nest->axes[a].extent;
    }
    for (int i = 0; i <= sum->place; i++)
        if (s->need[i])
            s->value[i] = compute(s, kn_value_at(s->p, i));
    int64_t by = index->stride[sum->axis], place;
    if (__builtin_sub_overflow(s->value[sum->place].i, index->offset, &place) || place == INT64_MIN)
        return -1;
    return place % by == 0 && place / by >= 0 && place / by < nest->axes[sum->axis].extent
               ? place / by
               : -1;
}

/* ---- sorting ---- */

static size_t counts_of(const kn_phase *p)
{
    kn_scatter_sum s;
    kn_find_scatter_sum(p, &s);
    return (size_t)p->nest.axes[s.axis].extent + 1 + 2 * (size_t)p->nest.members;
}

size_t kn_cpu_scatter_sum_bytes(const kn_phase *p)
{
    return counts_of(p) * sizeof(int64_t) +
           (size_t)p->nest.values.len * (sizeof(kn_scalar) + sizeof(bool));
}

void kn_cpu_sort_members(kn_cpu_scatter_sum *s, const kn_kernel *k, const kn_phase *p,
                         const kn_call *call, void *memory)
{
    kn_scatter_sum by_place;
    kn_find_scatter_sum(p, &by_place);
    const int64_t places = p->nest.axes[by_place.axis].extent, members = p->nest.members;
    int64_t *first = memory, *member = first + places + 1, *place = member + members;
    placing by = {.k = k, .p = p, .call = call, .value = (kn_scalar *)(place + members)};
    by.need = (bool *)(by.value + p->nest.values.len);
    kn_value_needs(p, by_place.place, by.need);
    memset(first, 0, (size_t)(places + 1) * sizeof *first);
    for (int64_t m = 0; m < members; m++) {
        place[m] = place_of(&by, &by_place, m);
        if (place[m] >= 0)
            first[place[m]]++;
    }
    for (int64_t i = 0, sum = 0; i <= places; i++) { /* where each place's end, for now */
        sum += first[i];
        first[i] = sum;
    }
    for (int64_t m = members - 1; m >= 0; m--)
        if (place[m] >= 0)
            member[--first[place[m]]] = m;
    *s = (kn_cpu_scatter_sum){member, first, places,
                              kn_nest_count(&p->nest, by_place.axis + 1, p->nest.ngroup)};
}

void kn_cpu_members_of(const kn_cpu_scatter_sum *s, int64_t group, int64_t n, int64_t *from,
                       int64_t *to)
{
    int64_t first = group / s->inner, last = (group + n - 1) / s->inner;
    bool whole = first / s->places != last / s->places;
    *from = s->first[whole ? 0 : first % s->places];
    *to = s->first[whole ? s->places : last % s->places + 1];
}
