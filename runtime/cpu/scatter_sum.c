#include "runtime/cpu/scatter_sum.h"

#include <string.h>

#include "codegen/kir/scatter_sum.h"
#include "ir/eval.h"

/* What a member's destination is computed from. */
typedef struct computing {
    const kn_kernel *k;
    const kn_phase *p;
    const kn_call *call;
    kn_scalar *value; /* per value of the phase */
    bool *need;
    int64_t at[KN_MAX_RANK]; /* the member's index along each axis */
} computing;

static int64_t offset_of(const computing *s, const kn_access *acc)
{
    int64_t offset = acc->offset;
    for (int a = s->p->nest.ngroup; a < s->p->nest.naxes; a++)
        offset += s->at[a] * acc->stride[a];
    return offset;
}

static kn_scalar compute(const computing *s, const kn_value *v)
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

/* Member m's destination among the groups' indices; -1: it is none of them. */
static int64_t destination_of(computing *s, const kn_scatter_sum *sum, int64_t m)
{
    const kn_nest *nest = &s->p->nest;
    const kn_access *index = kn_value_at(s->p, sum->index)->access;
    for (int a = nest->naxes - 1; a >= nest->ngroup; a--) {
        s->at[a] = m % nest->axes[a].extent;
        m /= nest->axes[a].extent;
    }
    for (int i = 0; i <= sum->destination; i++)
        if (s->need[i])
            s->value[i] = compute(s, kn_value_at(s->p, i));
    int64_t by = index->stride[sum->axis], destination;
    if (__builtin_sub_overflow(s->value[sum->destination].i, index->offset, &destination) ||
        destination == INT64_MIN)
        return -1;
    return destination % by == 0 && destination / by >= 0 &&
                   destination / by < nest->axes[sum->axis].extent
               ? destination / by
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
    kn_scatter_sum sum;
    kn_find_scatter_sum(p, &sum);
    const int64_t destinations = p->nest.axes[sum.axis].extent, members = p->nest.members;
    int64_t *first = memory, *member = first + destinations + 1, *destination = member + members;
    computing by = {.k = k, .p = p, .call = call, .value = (kn_scalar *)(destination + members)};
    by.need = (bool *)(by.value + p->nest.values.len);
    kn_value_needs(p, sum.destination, by.need);
    memset(first, 0, (size_t)(destinations + 1) * sizeof *first);
    for (int64_t m = 0; m < members; m++) {
        destination[m] = destination_of(&by, &sum, m);
        if (destination[m] >= 0)
            first[destination[m]]++;
    }
    /* where each destination's members end, for now */
    for (int64_t i = 0, end = 0; i <= destinations; i++) {
        end += first[i];
        first[i] = end;
    }
    for (int64_t m = members - 1; m >= 0; m--)
        if (destination[m] >= 0)
            member[--first[destination[m]]] = m;
    *s = (kn_cpu_scatter_sum){member, first, destinations,
                              kn_nest_count(&p->nest, sum.axis + 1, p->nest.ngroup)};
}

void kn_cpu_members_of(const kn_cpu_scatter_sum *s, int64_t group, int64_t n, int64_t *from,
                       int64_t *to)
{
    int64_t first = group / s->inner, last = (group + n - 1) / s->inner;
    bool whole = first / s->destinations != last / s->destinations;
    *from = s->first[whole ? 0 : first % s->destinations];
    *to = s->first[whole ? s->destinations : last % s->destinations + 1];
}
