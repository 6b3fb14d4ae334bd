/* Slabs: a block's part of a group is brought to shared memory by the bulk copy engine, and the next group's is on its
 * way while this one's results are stored.
 *
 *     full[s]     an mbarrier: slab s of the group has come. One phase of it a group, so its parity turns over
 *     fetch(g,s)  one thread asks for slab s of group g: a copy for each run of neighbours in memory
 *
 *     fetch all slabs of the first group
 *     for each group:
 *       sweep 0:     for each slab: wait until it is full; walk it
 *       sweep 1..:   for each slab: walk it
 *       last sweep:  for each slab: walk it; when all threads have, fetch the next group's into its place
 *
 * The clusters stay, as many as fit on the machine at a time. */
#include "codegen/cuda_writer.h"

/* fetch(), for all values that are kept. */
static void write_fetch(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    int va = kn_phase_vector_axis(ph), bytes = 0;
    for (int i = 0; i < ph->values.len; i++)
        if (ph->values.data[i].kept == KN_KEEP_SHARED)
            bytes += kn_bytes(ph->values.data[i].dtype);
    kn_cuda_open(w, "const auto fetch = [&](kn_count g, kn_count s)");
    kn_cuda_line(w, "const kn_count from = kn_least(begin + s * slab, end);");
    kn_cuda_line(w, "const kn_count to = kn_least(from + slab, end);");
    kn_cuda_open(w, "if (from < to)");
    kn_cuda_line(w, "kn_expect(&full[s], (unsigned)(to - from) * %d);", bytes);
    kn_cuda_decompose(w, 0, ph->ngroup, "g");
    kn_cuda_open(w, "for (kn_count i = from, run; i < to; i += run)");
    kn_cuda_decompose(w, ph->ngroup, ph->naxes, "i");
    kn_cuda_line(w, "run = kn_least((kn_count)(p%d_n%d - a%d), to - i);", w->p, va, va);
    for (int i = 0; i < ph->values.len; i++) {
        const kn_value *v = &ph->values.data[i];
        if (v->kept != KN_KEEP_SHARED)
            continue;
        const char *from = kn_cuda_offset(w, &v->access, 'v', i, NULL);
        kn_cuda_line(
            w, "kn_fetch(%s_kept + (i - begin) / %d, %s + (%s), (unsigned)run * %d, &full[s]);",
            kn_cuda_value(w, i), ph->vec, w->k->bufs.data[v->access.buf].name, from,
            kn_bytes(v->dtype));
    }
    kn_cuda_close(w);
    kn_cuda_close(w);
    w->indent--;
    kn_cuda_line(w, "};");
}

void kn_cuda_begin_slabs(kn_cuda_writer *w)
{
    kn_cuda_line(w, "__shared__ alignas(8) unsigned long long full[%d];", KN_MOST_SLABS);
    kn_cuda_line(w, "const kn_count slab = (kn_count)p%d_slab;", w->p);
    kn_cuda_line(w, "const kn_count slabs = ((kn_count)p%d_chunk + slab - 1) / slab;", w->p);
    kn_cuda_line(w, "const kn_count clusters = gridDim.x / blocks;");
    kn_cuda_line(w, "unsigned parity = 0;");
    write_fetch(w);
    kn_cuda_open(w, "if (threadIdx.x == 0)");
    kn_cuda_line(w, "for (kn_count s = 0; s < slabs; ++s)");
    kn_cuda_line(w, "    kn_init_barrier(&full[s]);");
    kn_cuda_line(w, "kn_publish_barriers();");
    kn_cuda_line(w, "for (kn_count s = 0; s < slabs && blockIdx.x / blocks < work; ++s)");
    kn_cuda_line(w, "    fetch(blockIdx.x / blocks, s);");
    kn_cuda_close(w);
}

void kn_cuda_open_slab(kn_cuda_writer *w, bool first)
{
    kn_cuda_open(w, "for (kn_count s = 0; s < slabs; ++s)");
    kn_cuda_line(w, "const kn_count from = kn_least(begin + s * slab, end);");
    kn_cuda_line(w, "const kn_count to = kn_least(from + slab, end);");
    if (!first)
        return;
    kn_cuda_line(w, "if (from < to)");
    kn_cuda_line(w, "    kn_await(&full[s], parity);");
}

void kn_cuda_close_slab(kn_cuda_writer *w, bool last)
{
    if (last) {
        kn_cuda_line(w, "__syncthreads(); // the slab's place is free");
        kn_cuda_line(w, "if (threadIdx.x == 0 && first + clusters < work)");
        kn_cuda_line(w, "    fetch(first + clusters, s);");
    }
    kn_cuda_close(w);
    if (last)
        kn_cuda_line(w, "parity ^= 1;");
}
