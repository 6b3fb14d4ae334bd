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

/* ---- formulas ---- */

kn_dim kn_shape_elements(kn_planner *p, const kn_node *n)
{
    kn_symbols *s = p->problem->graph->syms;
    kn_dim made = kn_dim_const(s, 1);
    for (int j = 0; j < n->rank && made; j++)
        made = kn_dim_mul(s, made, n->shape[j]);
    if (!made)
        kn_give_up(p->arena);
    return made;
}

/* Axes of a shape, those of size 1 left out, and how far they were walked. */
typedef struct walk {
    kn_dim dim[KN_MAX_RANK];
    int64_t size[KN_MAX_RANK];
    int axis[KN_MAX_RANK], n, at;
    kn_dim run; /* the product of the axes of the run that it is in */
    int64_t elements;
} walk;

static walk walk_of(kn_planner *p, const kn_node *n)
{
    kn_symbols *s = p->problem->graph->syms;
    walk w = {0};
    int64_t shape[KN_MAX_RANK];
    kn_node_sizes(n, p->problem->sizes, shape);
    for (int j = 0; j < n->rank; j++)
        if (!kn_dim_is_one(s, n->shape[j])) {
            w.dim[w.n] = n->shape[j];
            w.size[w.n] = shape[j];
            w.axis[w.n++] = j;
        }
    return w;
}

/* False if there is no further axis. */
static bool take(kn_symbols *s, walk *w, bool first)
{
    if (w->at == w->n)
        return false;
    w->elements = (first ? 1 : w->elements) * w->size[w->at];
    w->run = first ? w->dim[w->at] : kn_dim_mul(s, w->run, w->dim[w->at]);
    w->at++;
    return w->run;
}

/* Is it the array of node n, compact? */
static bool is_compact(kn_planner *p, const kn_node *n, const kn_strides *of)
{
    kn_symbols *s = p->problem->graph->syms;
    const kn_strides *compact = kn_strides_compact(p->arena, s, n->shape, n->rank);
    bool is = true;
    for (int j = 0; j < n->rank && is; j++)
        is = kn_dim_is_one(s, n->shape[j]) || kn_dim_equal(s, of->stride[j], compact->stride[j]);
    return is;
}

/* As kn_layout_reshape(): the sizes say where runs end, and there both sides must be the same whatever the sizes are. */
const kn_strides *kn_strides_reshape(kn_planner *p, const kn_node *n, const kn_strides *from)
{
    kn_symbols *s = p->problem->graph->syms;
    kn_strides *to = KN_NEW(p->arena, kn_strides);
    walk old = walk_of(p, n->in[0]), now = walk_of(p, n);
    if (is_compact(p, n->in[0], from)) {
        *to = *kn_strides_compact(p->arena, s, n->shape, n->rank);
        to->offset = from->offset;
        return to;
    }
    to->offset = from->offset;
    for (int j = 0; j < n->rank; j++)
        to->stride[j] = kn_dim_const(s, 0);
    while (old.at < old.n && now.at < now.n) {
        int i0 = old.at, j0 = now.at;
        take(s, &old, true);
        take(s, &now, true);
        while (!kn_dim_equal(s, old.run, now.run))
            if (!take(s, old.elements < now.elements ? &old : &now, false))
                return NULL;
        for (int k = i0; k + 1 < old.at; k++) {
            kn_dim next = kn_dim_mul(s, from->stride[old.axis[k + 1]], old.dim[k + 1]);
            if (!next || !kn_dim_equal(s, from->stride[old.axis[k]], next))
                return NULL;
        }
        kn_dim step = from->stride[old.axis[old.at - 1]];
        for (int k = now.at - 1; k >= j0 && step; k--) {
            to->stride[now.axis[k]] = step;
            step = kn_dim_mul(s, step, now.dim[k]);
        }
        if (!step)
            return NULL;
    }
    return old.at == old.n && now.at == now.n ? to : NULL;
}
