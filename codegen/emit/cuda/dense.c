/* Dense tiles: the members of a tile's groups are in memory one group behind the other, as those of a short axis are of which an
 * array has all. So they move by vectors in the order in which they lie, wherever a group begins, and nobody locates a group:
 *
 *     memory and tile   group 0: 0 1 2 3 4 | group 1: 0 1 2 3 4 | group 2 ...     5 members; vectors of 8
 *                       --------------------------------- ---------------
 *
 * Threads that are neighbours along the groups then access the tile as many elements apart as a group has members. */
#include "codegen/emit/cuda/writer.h"

/* Where the tile begins in memory. */
static const char *place(kn_cuda_writer *w, const kn_transpose *t)
{
    kn_access acc = *kn_transposed_access(w->ph, t);
    for (int a = 0; a < w->ph->nest.naxes; a++)
        acc.kind[a] = KN_STRIDE_ZERO;
    return kn_cuda_printed(w, "%s + ((kn_index)(tile * %d) * (kn_index)members + (%s))",
                           kn_cuda_array_of(w, t)->name, kn_cols_width(w->ph),
                           kn_cuda_offset(w, &acc, t->store ? 'o' : 'v', t->of, NULL));
}

/* Opens a block's loop over the vectors of a tile, so many of a thread at a time: element j of the tile is the first. */
static void open_vectors(kn_cuda_writer *w, const kn_transpose *t, int at_once)
{
    const int threads = w->k->threads, all = kn_cols_width(w->ph) * w->ph->how.tile,
              steps = (all + t->vec * threads - 1) / (t->vec * threads);
    kn_cuda_line(w, "%s%s *const at = %s;", t->store ? "" : "const ",
                 kn_cuda_type(kn_cuda_array_of(w, t)->dtype), place(w, t));
    kn_putf(w->t, "#pragma unroll %d\n", at_once < steps ? at_once : steps);
    kn_cuda_open(w, "for (int step = 0; step < %d; ++step)", steps);
    kn_cuda_line(w, "const int j = (step * %d + threadIdx.x) * %d;", threads, t->vec);
}

/* Elements of the groups that there are. */
static const char *elements(kn_cuda_writer *w)
{
    const int width = kn_cols_width(w->ph);
    return kn_cuda_printed(w, "(int)(kn_least((kn_count)%d, groups - tile * %d) * members)", width,
                           width);
}

/* Loads of a whole tile have no conditions: they are in flight together. Behind the last group are other elements, which steps beyond
 * the last member read and do not use. */
void kn_cuda_load_dense(kn_cuda_writer *w, const kn_transpose *t)
{
    const char *tile = kn_cuda_tile(w, t), *type = kn_cuda_type(kn_cuda_array_of(w, t)->dtype);
    kn_cuda_block(w, "");
    kn_cuda_line(w, "const int all = %d * (int)members, there = whole ? all : %s;",
                 kn_cols_width(w->ph), elements(w));
    kn_cuda_line(w, "const int read = all + %d - (int)members;", w->ph->how.tile);
    open_vectors(w, t, w->loop->loads);
    kn_cuda_open(w, "if (whole)");
    kn_cuda_line(
        w, "const kn_vec<%s, %d> vec = %s;", type, t->vec,
        kn_cuda_loaded(w, t->of, t->vec, kn_cuda_printed(w, "at + kn_least(j, all - %d)", t->vec)));
    kn_cuda_guarded(w, "j < read", kn_cuda_printed(w, "kn_store(%s + j, vec);", tile));
    kn_cuda_close(w);
    kn_cuda_open(w, "else if (j < read)");
    kn_cuda_each(w, "k", t->vec,
                 kn_cuda_printed(w, "%s[j + k] = at[kn_least(j + k, there - 1)];", tile));
    kn_cuda_close(w);
    kn_cuda_close(w);
    kn_cuda_close(w);
}

void kn_cuda_store_dense(kn_cuda_writer *w, const kn_transpose *t)
{
    enum { AT_ONCE = 2 };
    const char *tile = kn_cuda_tile(w, t);
    kn_cuda_block(w, "");
    kn_cuda_line(w, "const int there = %s;", elements(w));
    open_vectors(w, t, AT_ONCE);
    kn_cuda_guarded(w, kn_cuda_printed(w, "j + %d <= there", t->vec),
                    kn_cuda_printed(w, "%s(at + j, kn_load<%d>(%s + j));",
                                    kn_cuda_store_function(w, t->of), t->vec, tile));
    kn_cuda_open(w, "else if (j < there)");
    kn_cuda_each(w, "k", t->vec,
                 kn_cuda_printed(w, "if (j + k < there) at[j + k] = %s[j + k];", tile));
    kn_cuda_close(w);
    kn_cuda_close(w);
    kn_cuda_close(w);
}
