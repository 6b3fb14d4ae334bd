/* Interleaved columns (codegen/sched/interleaved.c): a lane's columns are numbered through all members side by side, so that elements
 * lie at its number, and what belongs to a column at that modulo the number of columns. */
#include "codegen/emit/cuda/writer.h"

void kn_cuda_interleaved_columns(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    const int vec = ph->how.vec;
    kn_cuda_line(
        w, "const kn_count width = (kn_count)p%d_n%d, interleaved = (kn_count)p%d_interleaved;",
        w->p, ph->nest.ngroup - 1, w->p);
    kn_cuda_line(w, "const kn_count across = threadIdx.x * %d;", vec);
    kn_cuda_line(w, "const bool live = across < interleaved * width;");
    kn_cuda_line(w, "// of the interleaved members, those of the lane's first and last element");
    kn_cuda_line(w, "const kn_count row = across / width, last_row = (across + %d) / width;",
                 vec - 1);
    kn_cuda_line(w, "kn_index rows[%d], columns[%d];", vec, vec);
    kn_cuda_open_each(w, "l", vec);
    kn_cuda_line(w, "rows[l] = (kn_index)((across + l) / width);");
    kn_cuda_line(w, "columns[l] = (kn_index)(across + l) - rows[l] * (kn_index)width;");
    kn_cuda_close(w);
}

kn_cuda_stride kn_cuda_interleaved_share(kn_cuda_writer *w)
{
    kn_cuda_line(w, "const kn_count vectors_end = end > last_row ? end - last_row : 0;");
    return (kn_cuda_stride){"begin", "vectors_end", kn_is_cyclic(w->ph) ? "stride" : "interleaved"};
}

void kn_cuda_last_vector(kn_cuda_writer *w, const kn_cuda_stride *by)
{
    if (w->ph->how.vec == 1)
        return;
    const kn_cuda_writer around = *w;
    const int n = w->ph->nest.values.len + 1;
    w->loaded = KN_NEW_ARRAY(w->t->arena, bool, n);
    w->in_last_vector = true;
    kn_cuda_open(w, "if (end * width %% %d != 0)", w->ph->how.vec);
    kn_cuda_line(w, "const kn_count i = kn_walk_end((kn_count)%s, %s, (kn_count)%s);", by->first,
                 by->end, by->step);
    kn_cuda_open(w, "if (i + row < end)");
    kn_cuda_line(w, "const kn_count at = i * width + across, at_end = end * width;");
    kn_cuda_write_axes(w);
    kn_cuda_step(w);
    kn_cuda_close(w);
    kn_cuda_close(w);
    *w = around;
}
