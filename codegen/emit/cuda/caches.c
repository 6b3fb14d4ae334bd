/* Cache policies of loads and stores, which follow from what a kernel reads once and what it rereads
 * (codegen/model/caches.h). */
#include "codegen/model/caches.h"
#include "codegen/emit/cuda/writer.h"

void kn_cuda_find_traffic(kn_cuda_writer *w) { w->rereads = kn_reads_again(w->k); }

static bool by_policy(const kn_cuda_writer *w, const kn_value *v)
{
    return kn_kernel_stores_elements(w->k) || kn_times_read(w->k, v->access->buf) == 1;
}

const char *kn_cuda_loaded(kn_cuda_writer *w, const kn_value *v, int n, const char *address)
{
    bool stays = w->resident && kn_stays_on_chip(w->k, v->access->buf);
    if (!kn_varies_everywhere(w->ph, v) || !(stays || by_policy(w, v)))
        return kn_cuda_printed(w, "kn_load<%d>(%s)", n, address);
    return stays ? kn_cuda_printed(w, "kn_load_streaming<%d>(%s)", n, address)
                 : kn_cuda_printed(w, "kn_load_with_policy<%d>(policy, %s)", n, address);
}

/* A kernel that rereads an array has its outputs evicted first: others will read them, but the caches are of use to
 * it. */
const char *kn_cuda_store_function(const kn_cuda_writer *w, int buf)
{
    return w->rereads && kn_times_read(w->k, buf) == 0 ? "kn_store_streaming" : "kn_store";
}
