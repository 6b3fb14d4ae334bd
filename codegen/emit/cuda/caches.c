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

/* Where a vector of value i begins that has the same shift as those of all of the thread's steps; NULL: there may be none. Rows of
 * threads step along members by multiples of a vector. */
static const char *begins_alike(kn_cuda_writer *w, int i)
{
    const kn_phase *ph = w->ph;
    const kn_access *acc = kn_value_at(ph, i)->access;
    if (kn_transfer_of(ph, i)->form == KN_BY_SHIFT)
        return acc->shifted ? kn_cuda_printed(w, "p%d_v%d_offset", w->p, i) : "0";
    if (ph->how.walk != KN_WALK_COLS || ph->how.interleaved || ph->local || ph->how.planes ||
        kn_phase_in_order(ph) || ph->nest.naxes != ph->nest.ngroup + 1 ||
        ph->how.tpg % ph->how.vec != 0)
        return NULL;
    kn_access of_groups = *acc;
    const int member = ph->nest.naxes - 1;
    of_groups.kind[member] = KN_STRIDE_ZERO;
    const char *first = kn_cuda_offset(w, &of_groups, 'v', i, NULL);
    return acc->kind[member] == KN_STRIDE_PARAM
               ? kn_cuda_printed(w, "%s + (kn_index)(begin + row) * p%d_v%d_stride%d", first, w->p,
                                 i, member)
               : first;
}

/* How many elements of the aligned word in which the vector of value i begins come before it. */
static const char *shift_of(kn_cuda_writer *w, int i, const char *at)
{
    const char *alike = begins_alike(w, i);
    return kn_cuda_printed(w, "kn_shift_of<%d>(%s + (%s))", w->ph->how.vec,
                           w->k->bufs.data[kn_value_at(w->ph, i)->access->buf].name,
                           alike ? alike : at);
}

const char *kn_cuda_around(kn_cuda_writer *w, int i)
{
    const kn_access *acc = kn_value_at(w->ph, i)->access;
    const kn_hold *h = w->resident ? kn_hold_of(w->ph, i) : NULL;
    const char *array = w->k->bufs.data[acc->buf].name, *at = kn_cuda_offset(w, acc, 'v', i, NULL);
    if (kn_transfer_of(w->ph, i)->cache == KN_CACHE_POLICY && !(h && h->once))
        array = kn_cuda_printed(w, "kn_with_policy(policy, %s)", array);
    return kn_cuda_printed(w, "kn_load_around<%d, %s>(%s, %s, %s, p%d_v%d_first, p%d_v%d_end)",
                           w->ph->how.vec, h && h->once ? "true" : "false", array,
                           shift_of(w, i, at), at, w->p, i, w->p, i);
}

const char *kn_cuda_assembled(kn_cuda_writer *w, int i, const char *around)
{
    const kn_access *acc = kn_value_at(w->ph, i)->access;
    const char *at = kn_cuda_offset(w, acc, 'v', i, NULL);
    return kn_cuda_printed(w, "kn_assembled(%s, %s, %s, %s, p%d_v%d_first, p%d_v%d_end)", around,
                           w->k->bufs.data[acc->buf].name, shift_of(w, i, at), at, w->p, i, w->p,
                           i);
}

const char *kn_cuda_store_function(const kn_cuda_writer *w, int store)
{
    return kn_transfer_of_store(w->ph, store)->cache == KN_CACHE_STREAMING ? "kn_store_streaming"
                                                                           : "kn_store";
}
