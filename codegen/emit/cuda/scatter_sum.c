/* Scatter sums: the block tests the destinations of all members, some at a time, and then goes only
 * over those that may be of its groups (codegen/kir/scatter_sum.h). */
#include "codegen/kir/scatter_sum.h"

#include "codegen/emit/cuda/writer.h"

/* The least and the largest index that a group of the tile has along the axis: any, if the tile's groups are of several
 * indices in front of it. */
static void write_range(kn_cuda_writer *w, const kn_scatter_sum *s)
{
    static const char *const ends[] = {"first", "last"};
    const kn_access *acc = kn_value_at(w->ph, s->index)->access;
    kn_cuda_line(w,
                 "const kn_count of_tile[2] = {tile * %d, kn_least(tile * %d + %d, groups) - 1};",
                 kn_cols_width(w->ph), kn_cols_width(w->ph), kn_cols_width(w->ph));
    for (int e = 0; e < 2; e++) {
        kn_cuda_line(w, "long long %s_index;", ends[e]);
        kn_cuda_block(w, "");
        kn_cuda_decompose(w, 0, w->ph->nest.ngroup, kn_cuda_printed(w, "of_tile[%d]", e));
        kn_cuda_line(w, "%s_index = (long long)(%s);", ends[e],
                     kn_cuda_offset(w, acc, 'v', s->index, NULL));
        kn_cuda_close(w);
    }
    const char *inner = kn_cuda_extents(w, s->axis, w->ph->nest.ngroup);
    kn_cuda_line(w, "const bool any_index = %s;",
                 s->axis == 0
                     ? "false"
                     : kn_cuda_printed(w, "of_tile[0] / (%s) != of_tile[1] / (%s)", inner, inner));
    kn_cuda_line(w, "const long long least_index = kn_least(first_index, last_index);");
    kn_cuda_line(w, "const long long most_index = first_index + last_index - least_index;");
}

/* The test of member i, whose destination is computed as in a step. */
static void write_test(kn_cuda_writer *w, const kn_scatter_sum *s)
{
    bool *outer = w->need, *need = KN_NEW_ARRAY(w->t->arena, bool, w->ph->nest.values.len + 1);
    kn_value_needs(w->ph, s->destination, need);
    w->need = need;
    kn_cuda_open(w, "const auto may_be_here = [&](const kn_count i)");
    kn_cuda_decompose(w, w->ph->nest.ngroup, w->ph->nest.naxes, "i");
    for (int i = 0; i < w->ph->nest.values.len; i++) {
        const kn_value *v = kn_value_at(w->ph, i);
        if (!need[i] || v->level != KN_ELEMENT)
            continue;
        if (v->kind == KN_V_ELEM)
            kn_cuda_define(w, i, kn_cuda_expression(w, i));
        else
            kn_cuda_define_load(w, i, NULL);
    }
    kn_cuda_line(w, "const long long index = (long long)%s;", kn_cuda_operand(w, s->destination));
    kn_cuda_line(w, "return any_index || (index >= least_index && index <= most_index);");
    kn_cuda_close_as(w, "};");
    w->need = outer;
}

void kn_cuda_write_scatter_sum(kn_cuda_writer *w)
{
    kn_scatter_sum s;
    kn_find_scatter_sum(w->ph, &s);
    const int threads = w->k->threads;
    kn_cuda_line(w, "__shared__ unsigned short found_members[%d * KN_COMPACT_EACH];", threads);
    kn_cuda_line(w, "__shared__ unsigned found_by_warp[%d];", (threads + 31) / 32);
    write_range(w, &s);
    write_test(w, &s);
    kn_cuda_open(w, "for (kn_count from = 0; from < members; from += %d * KN_COMPACT_EACH)",
                 threads);
    kn_cuda_line(w,
                 "const unsigned found = kn_compact(from, members, found_members, found_by_warp, "
                 "may_be_here);");
    kn_putf(w->t, "#pragma unroll %d\n", w->loop->unroll);
    kn_cuda_open(w, "for (unsigned at = live && row == 0 ? 0 : found; at < found; ++at)");
    kn_cuda_line(w, "const kn_count i = from + found_members[at];");
    kn_cuda_write_axes(w);
    kn_cuda_step(w);
    kn_cuda_close(w);
    kn_cuda_close(w);
}
