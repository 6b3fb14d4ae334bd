/* Unaligned rows: vectors are aligned in memory, so some lanes of a group's first and last one may be of other groups.
 * These two are peeled off. */
#include "codegen/emit/cuda/writer.h"

static const char *group_offset(kn_cuda_writer *w, kn_access acc, char kind, int i)
{
    acc.kind[kn_phase_vector_axis(w->ph)] = KN_STRIDE_ZERO;
    return kn_cuda_offset(w, &acc, kind, i, NULL);
}

void kn_cuda_cluster_range(kn_cuda_writer *w, const char *members)
{
    kn_cuda_line(w, "const kn_count begin = kn_least(rank * (kn_count)p%d_chunk, %s);", w->p,
                 members);
    kn_cuda_line(w, "const kn_count end = kn_least(begin + (kn_count)p%d_chunk, %s);", w->p,
                 members);
}

void kn_cuda_unaligned_range(kn_cuda_writer *w)
{
    const char *begins = NULL;
    int vec = w->ph->how.vec;
    for (int i = 0; !begins && i < w->ph->nest.values.len; i++)
        if (kn_is_read(kn_value_at(w->ph, i)) && kn_transfer_of(w->ph, i)->vector)
            begins = group_offset(w, *w->ph->nest.values.data[i].access, 'v', i);
    for (int i = 0; !begins && i < w->ph->nest.stores.len; i++)
        if (kn_transfer_of_store(w->ph, i)->vector)
            begins = group_offset(w, w->ph->nest.stores.data[i].access, 'o', i);
    kn_cuda_line(w, "// lines and vectors are aligned, but the group begins within one");
    kn_cuda_line(w, "const kn_count misalignment = (kn_count)(%s) %% %d;", begins,
                 kn_phase_line(w->ph));
    if (w->ph->how.cluster)
        kn_cuda_cluster_range(w, "members + misalignment");
    else
        kn_cuda_line(w, "const kn_count begin = 0, end = members + misalignment;");
    kn_cuda_line(
        w, "const kn_count inner = begin < misalignment ? (misalignment + %d) / %d * %d : begin;",
        vec - 1, vec, vec);
    kn_cuda_line(w, "const kn_count inner_end = end / %d * %d;", vec, vec);
}

/* Which thread has which vector does not depend on the misalignment: so a thread only overwrites what it has kept
 * itself of the group before. */
void kn_cuda_unaligned_share(kn_cuda_writer *w, const char *first)
{
    int vec = w->ph->how.vec;
    kn_cuda_line(w, "const kn_count start = %s + (%s < inner ? stride : 0);", first, first);
    kn_cuda_line(
        w,
        "const bool head = begin < misalignment && misalignment %% %d != 0 && lane == misalignment / %d;",
        vec, vec);
    kn_cuda_line(w, "const bool tail = inner <= inner_end && inner_end < end &&");
    kn_cuda_line(w, "                  lane == (inner_end - begin) / %d %% blockDim.x;", vec);
}

void kn_cuda_unaligned_edges(kn_cuda_writer *w)
{
    kn_put(w->t, "#pragma unroll 1\n");
    kn_cuda_open(w, "for (int edge = head ? 0 : 1; edge < (tail ? 2 : 1); ++edge)");
    kn_cuda_line(w, "const kn_count i = edge == 0 ? inner - %d : inner_end;", w->ph->how.vec);
}

void kn_cuda_unaligned_index(kn_cuda_writer *w)
{
    kn_cuda_line(w, "const kn_index a%d = (kn_index)i - (kn_index)misalignment;",
                 kn_phase_vector_axis(w->ph));
}

bool kn_cuda_may_be_partial(const kn_cuda_writer *w)
{
    return w->ph->how.unaligned || w->in_last_vector;
}

const char *kn_cuda_lane_is_member(kn_cuda_writer *w)
{
    if (w->in_last_vector)
        return "at + l < at_end";
    return kn_cuda_printed(w, "whole || (kn_count)(a%d + l) < members",
                           kn_phase_vector_axis(w->ph));
}

const char *kn_cuda_edge(kn_cuda_writer *w, int i)
{
    if (w->in_last_vector)
        return kn_cuda_printed(w, "kn_load_edge<%d>(%s, at, at_end)", w->ph->how.vec,
                               kn_cuda_address(w, i, NULL));
    return kn_cuda_printed(w, "kn_load_edge<%d>(%s, a%d, members)", w->ph->how.vec,
                           kn_cuda_address(w, i, NULL), kn_phase_vector_axis(w->ph));
}
