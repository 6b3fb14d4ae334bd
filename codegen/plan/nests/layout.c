#include <string.h>

#include "codegen/plan/nests/planner.h"

void kn_layout_ones(kn_layout *l)
{
    for (int i = l->rank - 1; i >= 0; i--)
        if (l->shape[i] == 1)
            l->stride[i] = i + 1 < l->rank ? l->stride[i + 1] * l->shape[i + 1] : 1;
}

/* NumPy's rule for reshaping without a copy: divide both shapes into the shortest runs of axes with equal products;
 * the old axes of a run must be contiguous, and the new axes step through it. */
bool kn_layout_reshape(const kn_layout *from, const int64_t *shape, int rank, kn_layout *to)
{
    kn_layout old = {.align = from->align};
    for (int i = 0; i < from->rank; i++)
        if (from->shape[i] != 1) {
            old.shape[old.rank] = from->shape[i];
            old.stride[old.rank++] = from->stride[i];
        }
    *to = (kn_layout){.rank = rank, .offset = from->offset, .align = from->align};
    memcpy(to->shape, shape, sizeof *shape * (size_t)rank);
    if (kn_count(shape, rank) == 0) {
        kn_compact_strides(shape, rank, to->stride);
        return true;
    }
    int i = 0, j = 0;
    while (i < old.rank && j < rank) {
        int i0 = i, j0 = j;
        int64_t a = old.shape[i++], b = shape[j++];
        while (a != b) {
            if (a < b) {
                if (i == old.rank)
                    return false;
                a *= old.shape[i++];
            } else {
                if (j == rank)
                    return false;
                b *= shape[j++];
            }
        }
        for (int k = i0; k + 1 < i; k++)
            if (old.stride[k] != old.stride[k + 1] * old.shape[k + 1])
                return false;
        int64_t step = old.stride[i - 1];
        for (int k = j - 1; k >= j0; k--) {
            to->stride[k] = step;
            step *= shape[k];
        }
    }
    kn_layout_ones(to);
    return true;
}
