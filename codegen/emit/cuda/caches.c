/* Loads and stores, as the schedule has their cache lines. */
#include "codegen/emit/cuda/writer.h"

const char *kn_cuda_loaded(kn_cuda_writer *w, int i, int n, const char *address)
{
    const kn_hold *h = w->resident ? kn_hold_of(w->ph, i) : NULL;
    if (h && h->once)
        return kn_cuda_printed(w, "kn_load_streaming<%d>(%s)", n, address);
    return kn_transfer_of(w->ph, i)->cache == KN_CACHE_POLICY
               ? kn_cuda_printed(w, "kn_load_with_policy<%d>(policy, %s)", n, address)
               : kn_cuda_printed(w, "kn_load<%d>(%s)", n, address);
}

const char *kn_cuda_store_function(const kn_cuda_writer *w, int store)
{
    return kn_transfer_of_store(w->ph, store)->cache == KN_CACHE_STREAMING ? "kn_store_streaming"
                                                                           : "kn_store";
}
