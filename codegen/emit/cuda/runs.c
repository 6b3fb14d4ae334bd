/* Vectors by run. Each run of a group has `whole` members in vectors, from its first element that is aligned in memory on, and
 * `edges`, those in front of it and those behind. Sweeps count the members of vectors, of all runs, and then the edges; so
 * neither loop has a branch for the other's. */
#include "codegen/emit/cuda/writer.h"

/* How many elements of the run are in front of its first vector: from the address of the leader's first element. */
static const char *head(kn_cuda_writer *w)
{
    const kn_phase *ph = &w->k->phases.data[w->p];
    const int i = kn_phase_leader(ph), store = i - ph->nest.values.len;
    kn_access acc = *kn_any_access(ph, i);
    acc.kind[ph->nest.naxes - 1] = KN_STRIDE_ZERO;
    return kn_cuda_printed(
        w, "kn_run_head<%d>(%s + (%s))", ph->how.by_run, w->k->bufs.data[acc.buf].name,
        kn_cuda_offset(w, &acc, store < 0 ? 'v' : 'o', store < 0 ? i : store, NULL));
}

void kn_cuda_run_of_part(kn_cuda_writer *w)
{
    kn_cuda_decompose(w, 0, w->ph->nest.ngroup, "part_first");
    kn_cuda_line(w, "const kn_index head = (kn_index)%s; // of each of its groups", head(w));
    kn_cuda_run_range(w, "");
}

void kn_cuda_run_shape(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    const char *runs =
        kn_phase_one_run(ph)
            ? ""
            : kn_cuda_printed(w, " * %s", kn_cuda_extents(w, ph->nest.ngroup, ph->nest.naxes - 1));
    kn_cuda_line(w, "const kn_count groups = %s, members = (kn_count)p%d_whole%s;",
                 kn_cuda_extents(w, 0, ph->nest.ngroup), w->p, runs);
    kn_cuda_line(w, "const kn_count edges = (kn_count)p%d_edges%s;", w->p, runs);
}

void kn_cuda_run_range(kn_cuda_writer *w, const char *live)
{
    const kn_phase *ph = w->ph;
    const char *workers = kn_shares_block(w->k, ph)
                              ? kn_cuda_printed(w, "(kn_count)%d", ph->how.tpg)
                              : kn_cuda_printed(w, "(kn_count)%s", kn_cuda_block_times(w, 1)),
               *end = *live ? kn_cuda_printed(w, "%s ? edges : 0", live) : "edges", *first = "lane",
               *step = workers;
    if (ph->how.cluster) {
        first = kn_cuda_printed(w, "rank * %s + lane", workers);
        step = kn_cuda_printed(w, "blocks * %s", workers);
    }
    if (kn_is_cyclic(ph)) {
        first = kn_cuda_printed(w, "split < parts ? split * %s + lane : edges", workers);
        step = kn_cuda_printed(w, "parts * %s", workers);
    }
    kn_cuda_line(w, "const kn_count first_edge = %s, edges_end = %s;", first, end);
    if (!kn_edges_in_one_step(ph))
        kn_cuda_line(w, "const kn_count edges_step = %s;", step);
}

void kn_cuda_write_axes_of_run(kn_cuda_writer *w)
{
    const int last = w->ph->nest.naxes - 1;
    const char *extent = w->on_edges ? "edges" : "whole", *at = "i";
    if (!kn_phase_one_run(w->ph)) {
        const char *quotient =
            w->k->wide ? kn_cuda_printed(w, "i / (kn_count)p%d_%s", w->p, extent)
                       : kn_cuda_printed(w, "kn_quotient(i, p%d_%s_multiplier, p%d_%s_shift)", w->p,
                                         extent, w->p, extent);
        kn_cuda_line(w, "const kn_count of_run = %s;", quotient);
        kn_cuda_decompose(w, w->ph->nest.ngroup, last, "of_run");
        at = kn_cuda_printed(w, "i - of_run * (kn_count)p%d_%s", w->p, extent);
    }
    if (w->ph->how.mixed)
        kn_cuda_line(w, "const kn_index at = (kn_index)(%s);", at);
    else
        kn_cuda_line(w, "const kn_index head = (kn_index)%s, at = (kn_index)(%s);", head(w), at);
    kn_cuda_line(w,
                 w->on_edges ? "const kn_index a%d = at < head ? at : at + p%d_whole;"
                             : "const kn_index a%d = at + head;",
                 last, w->p);
}
