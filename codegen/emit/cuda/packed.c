/* Row packing: several groups with short runs make one row of a block (codegen/sched/packed.c). Lane l of a thread has a
 * column of group first + beside[l]. What is computed once a group is computed by thread t for group first + own, where own
 * is t or the last group, and broadcast to the lanes that use it.
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
        w, "const unsigned each = ((blockDim.x * %d + (unsigned)p%d_beside) * %d + %d) / %d * %d;",
        ph->how.vec, p, kn_packed_sum_bytes(ph), KN_PACKED_SLOT - 1, KN_PACKED_SLOT,
        KN_PACKED_SLOT);
    kn_cuda_line(w, "unsigned char *const places = sums + %d * each;", kn_packed_sums(ph));
    kn_cuda_open(w,
                 "for (kn_count first = (kn_count)blockIdx.x * p%d_beside; first < groups; first "
                 "+= (kn_count)gridDim.x * p%d_beside)",
                 p, p);
    kn_cuda_line(w, "const kn_count here = kn_least((kn_count)p%d_beside, groups - first);", p);
    kn_cuda_line(w, "const kn_count own = kn_least((kn_count)threadIdx.x, here - 1);");
    kn_cuda_line(w, "const bool live = row < rows && column < here * run;");
    kn_cuda_line(w, "const kn_index a0 = (kn_index)first, a%d = live ? (kn_index)column : 0;", va);
    kn_cuda_line(w, "kn_index beside[%d];", ph->how.vec);
    kn_put(w->t, "#pragma unroll\n");
    kn_cuda_line(w, "for (int l = 0; l < %d; ++l)", ph->how.vec);
    if (w->k->wide)
        kn_cuda_line(w, "    beside[l] = (a%d + l) / (kn_index)run;", va);
    else
        kn_cuda_line(
            w,
            "    beside[l] = (kn_index)kn_quotient((kn_count)(a%d + l), p%d_n%d_times, p%d_n%d_shift);",
            va, p, va, p, va);
    kn_cuda_line(w, "const kn_count begin = 0, end = live ? members : 0;");
    const kn_cuda_stride by = {"(begin + row)", "end", "rows"};
    kn_cuda_sweeps(w, &by, "threadIdx.x < here");
    kn_cuda_close(w);
}
