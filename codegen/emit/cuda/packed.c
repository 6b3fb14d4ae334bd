/* Row packing: several groups with short runs make one row of a block (codegen/sched/packed.c). Lane l of a thread has
 * a column of group first + group_of[l]. What is computed once a group is computed by thread t for group first +
 * my_group, where my_group is t or the last one, and broadcast to the lanes that use it.
 *
 *     dynamic shared memory   for each sum of a sweep: the partial sums of all lanes, then one for each group;
 *                             for each broadcast value: a slot of 16 bytes a group */
#include "codegen/emit/cuda/writer.h"
#include "codegen/model/resources.h"

void kn_cuda_packed(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    int va = ph->nest.naxes - 1, p = w->p;
    kn_cuda_line(w, "const kn_count groups = (kn_count)p%d_n0, run = (kn_count)p%d_n%d;", p, p, va);
    kn_cuda_line(w, "const kn_count members = %s;", kn_cuda_extents(w, ph->nest.ngroup, va));
    kn_cuda_line(w, "const unsigned lanes = (unsigned)p%d_lanes, rows = blockDim.x / lanes;", p);
    kn_cuda_line(w, "const unsigned row = threadIdx.x / lanes;");
    kn_cuda_line(w, "const kn_count column = (threadIdx.x - row * lanes) * %d;", ph->how.vec);
    kn_cuda_line(w, "unsigned char *const sums = (unsigned char *)dynamic;");
    kn_cuda_line(
        w,
        "const unsigned sum_bytes = ((blockDim.x * %d + (unsigned)p%d_pack) * %d + %d) / %d * %d;",
        ph->how.vec, p, kn_packed_sum_bytes(ph), KN_PACKED_SLOT - 1, KN_PACKED_SLOT,
        KN_PACKED_SLOT);
    kn_cuda_line(w, "unsigned char *const slots = sums + %d * sum_bytes;", kn_packed_sums(ph));
    kn_cuda_begin_peers(w);
    kn_cuda_open(w,
                 "for (kn_count first = (kn_count)blockIdx.x * p%d_pack; first < groups; first "
                 "+= (kn_count)gridDim.x * p%d_pack)",
                 p, p);
    kn_cuda_line(w, "const kn_count packed = kn_least((kn_count)p%d_pack, groups - first);", p);
    kn_cuda_line(w, "const kn_count my_group = kn_least((kn_count)threadIdx.x, packed - 1);");
    kn_cuda_line(w, "const bool live = row < rows && column < packed * run;");
    kn_cuda_line(w, "const kn_index a0 = (kn_index)first, a%d = live ? (kn_index)column : 0;", va);
    kn_cuda_line(w, "kn_index group_of[%d];", ph->how.vec);
    kn_put(w->t, "#pragma unroll\n");
    kn_cuda_line(w, "for (int l = 0; l < %d; ++l)", ph->how.vec);
    if (w->k->wide)
        kn_cuda_line(w, "    group_of[l] = (a%d + l) / (kn_index)run;", va);
    else
        kn_cuda_line(
            w,
            "    group_of[l] = (kn_index)kn_quotient((kn_count)(a%d + l), p%d_n%d_multiplier, p%d_n%d_shift);",
            va, p, va, p, va);
    kn_cuda_line(w, "const kn_count begin = 0, end = live ? members : 0;");
    const kn_cuda_stride by = {"(begin + row)", "end", "rows"};
    kn_cuda_sweeps(w, &by, "threadIdx.x < packed");
    kn_cuda_close(w);
}
