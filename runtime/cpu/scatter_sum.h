/* The members of a scatter sum (codegen/kir/scatter_sum.h), sorted by their destinations: as many steps as
 * members and destinations, where each group would test every member. */
#ifndef KN_RUNTIME_CPU_SCATTER_SUM_H
#define KN_RUNTIME_CPU_SCATTER_SUM_H

#include "codegen/kir/call.h"
#include "codegen/kir/kir.h"

typedef struct kn_cpu_scatter_sum {
    int64_t *member; /* those of destination 0, in their order, then those of destination 1, ... */
    int64_t *first;  /* per destination, and one behind the last: where its members begin */
    int64_t destinations;
    int64_t inner; /* neighbouring groups of one destination */
} kn_cpu_scatter_sum;

/* Memory that sorting takes. */
size_t kn_cpu_scatter_sum_bytes(const kn_phase *p);
/* Sorts the members of this call, in `memory`. Those whose destination is no group are left out. */
void kn_cpu_sort_members(kn_cpu_scatter_sum *s, const kn_kernel *k, const kn_phase *p,
                         const kn_call *call, void *memory);
/* Sets [*from, *to), among all in s->member, to those of n groups from `group` on. */
void kn_cpu_members_of(const kn_cpu_scatter_sum *s, int64_t group, int64_t n, int64_t *from,
                       int64_t *to);

#endif
