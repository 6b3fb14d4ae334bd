/* The problem whose outputs are stored in pieces. */
#include <string.h>

#include "codegen/plan/build.h"

/* Where the rectangle lies of an array laid out as `from`. */
static kn_status lay_out(const kn_problem *pr, const kn_rectangle *at, const kn_layout *from,
                         kn_layout *to)
{
    *to = *from;
    for (int j = 0; j < from->rank; j++) {
        int64_t start, size;
        if (!kn_dim_eval(at->start[j], pr->sizes, &start) ||
            !kn_dim_eval(at->size[j], pr->sizes, &size))
            return kn_fail(KN_INTERNAL, "the place of a piece is not known");
        to->shape[j] = size;
        to->stride[j] = from->stride[j] * at->step[j];
        to->offset += start * from->stride[j];
    }
    kn_layout_ones(to);
    return KN_OK;
}

kn_status kn_problem_cut(kn_arena *a, const kn_problem *whole, kn_problem *cut)
{
    kn_graph *g = whole->graph->in_pieces;
    kn_layout *out = KN_NEW_ARRAY(a, kn_layout, g->outputs.len + 1);
    for (int o = 0; o < g->outputs.len; o++) {
        const kn_place *place = g->outputs.data[o].place;
        if (place)
            KN_TRY(lay_out(whole, &place->at, &whole->out[place->output], &out[o]));
        else
            out[o] = whole->out[o];
    }
    *cut = *whole;
    cut->graph = g;
    cut->out = out;
    return KN_OK;
}
