/* What becomes of the cache lines of loads and stores, which follows from what a bound kernel reads once and what it reads
 * again.
 *
 *   loads    of elements each of which one step reads: by the launch's policy, if the kernel also stores elements, or
 *            reads the array once
 *   stores   A kernel that reads an array again has its outputs evicted first: others will read them, but the caches are
 *            of use to it. */
#include "codegen/model/caches.h"
#include "codegen/sched/bind.h"

static void bind_loads(kn_kernel *k, kn_phase *ph, bool stores, const int *times)
{
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = kn_value_at(ph, i);
        if (kn_varies_everywhere(ph, v) && (stores || times[v->access->buf] == 1))
            ph->how.transfers.data[i].cache = KN_CACHE_POLICY;
    }
    for (int i = 0; i < ph->how.holds.len; i++) {
        kn_hold *h = &ph->how.holds.data[i];
        const kn_value *v = kn_value_at(ph, h->value);
        h->once = h->where == KN_KEEP_RESIDENT && kn_varies_everywhere(ph, v) &&
                  kn_stays_on_chip(k, v->access->buf);
    }
}

void kn_bind_caches(kn_kernel *k)
{
    const int *times = kn_times_read(k);
    const bool stores = kn_kernel_stores_elements(k), again = kn_reads_again(k);
    for (int p = 0; p < k->phases.len; p++) {
        kn_phase *ph = &k->phases.data[p];
        bind_loads(k, ph, stores, times);
        for (int i = 0; i < ph->nest.stores.len; i++) {
            const kn_store *s = &ph->nest.stores.data[i];
            if (again && s->kind == KN_STORE_ELEMENT && times[s->access.buf] == 0)
                ph->how.transfers.data[ph->nest.values.len + i].cache = KN_CACHE_STREAMING;
        }
    }
}
