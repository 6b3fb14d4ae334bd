/* Row packing: the broadcast of group values to the lanes that have the group's elements, through shared memory. */
#include "codegen/emit/cuda/writer.h"
#include "codegen/model/resources.h"

/* The slot of value i for group `at`. */
static const char *slot(kn_cuda_writer *w, int i, const char *at)
{
    int before = 0;
    for (int j = 0; j < i; j++)
        before += kn_is_broadcast(w->ph, j, 0, NULL);
    return kn_cuda_printed(w, "*(%s *)(slots + (%d * p%d_pack + %s) * %d)",
                           kn_cuda_type(w->ph->nest.values.data[i].dtype), before, w->p, at,
                           KN_PACKED_SLOT);
}

void kn_cuda_broadcast(kn_cuda_writer *w, int sweep)
{
    const kn_phase *ph = w->ph;
    bool any = false;
    w->sweep = sweep;
    kn_phase_needs(ph, sweep, w->need);
    for (int i = 0; i < ph->nest.values.len; i++) {
        if (!w->broadcast[i] || !kn_is_broadcast(ph, i, sweep, w->need))
            continue;
        kn_cuda_line(w, "if (threadIdx.x < packed)");
        kn_cuda_line(w, "    %s = %s;", slot(w, i, "(kn_index)my_group"), kn_cuda_value(w, i));
        any = true;
    }
    if (any)
        kn_cuda_line(w, "__syncthreads();");
    for (int i = 0; i < ph->nest.values.len; i++) {
        if (!w->broadcast[i] || !kn_is_broadcast(ph, i, sweep, w->need))
            continue;
        kn_cuda_line(w, "%s %s_broadcast%d[%d];", kn_cuda_type(ph->nest.values.data[i].dtype),
                     kn_cuda_value(w, i), sweep, ph->how.vec);
        kn_cuda_each(w, "l", ph->how.vec,
                     kn_cuda_printed(w, "%s = %s;", kn_cuda_broadcast_value(w, i, "l"),
                                     slot(w, i, "group_of[l]")));
    }
}
