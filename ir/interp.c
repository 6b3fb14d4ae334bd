#include "ir/interp_impl.h"

#include <math.h>
#include <string.h>

#include "ir/eval.h"

/* One rank's run. */
typedef struct interp {
    const kn_graph *g;
    kn_arena *a;
    const int64_t *sizes;
    const kn_array *in;
    bool bounds, fast;
    kn_tensor *of;            /* per node */
    const struct interp *all; /* those of all ranks, in order */
} interp;

void kn_compact_strides(const int64_t *shape, int rank, int64_t *stride)
{
    int64_t step = 1;
    for (int i = rank - 1; i >= 0; i--) {
        stride[i] = step;
        step *= shape[i] > 0 ? shape[i] : 1;
    }
}

int64_t kn_count(const int64_t *shape, int rank)
{
    int64_t n = 1;
    bool zero = false;
    for (int i = 0; i < rank; i++) {
        if (shape[i] == 0)
            zero = true;
        else if (__builtin_mul_overflow(n, shape[i], &n))
            return -1;
    }
    return zero ? 0 : n;
}

kn_status kn_node_sizes(const kn_node *n, const int64_t *sizes, int64_t *shape)
{
    for (int i = 0; i < n->rank; i++)
        if (!kn_dim_eval(n->shape[i], sizes, &shape[i]) || shape[i] < 0)
            return kn_node_fail(KN_SHAPE, n, "dimension %d is unknown, negative or out of range",
                                i);
    if (kn_count(shape, n->rank) < 0)
        return kn_node_fail(KN_SHAPE, n, "the number of elements does not fit in 63 bits");
    return KN_OK;
}

static void run_elem(interp *ip, const kn_node *n, kn_tensor *out)
{
    int64_t index[KN_MAX_RANK] = {0}, offset[KN_MAX_IN] = {0}, stride[KN_MAX_IN][KN_MAX_RANK];
    const kn_tensor *x[KN_MAX_IN] = {0};
    kn_scalar in[KN_MAX_IN] = {0};
    const kn_cell *c[KN_MAX_IN] = {0};
    for (int k = 0; k < n->nin; k++) {
        x[k] = &ip->of[n->in[k]->id];
        in[k].dtype = n->in[k]->dtype;
        for (int j = 0; j < n->rank; j++)
            stride[k][j] = x[k]->shape[j] == 1 ? 0 : x[k]->stride[j];
    }
    for (int64_t i = 0; i < out->count; i++) {
        for (int k = 0; k < n->nin; k++) {
            c[k] = &x[k]->cells[offset[k]];
            in[k].i = c[k]->i;
            in[k].im = c[k]->im;
        }
        kn_scalar r = kn_eval(n->op, n->dtype, in);
        out->cells[i].i = r.i;
        out->cells[i].im = r.im;
        if (ip->bounds) {
            out->cells[i].err = kn_interp_bound(n, &r, in, c, ip->fast);
            out->cells[i].rough = kn_interp_rough(n, &r, in, c);
        }
        for (int j = n->rank - 1; j >= 0; j--) {
            bool carry = ++index[j] == out->shape[j];
            for (int k = 0; k < n->nin; k++)
                offset[k] += carry ? -stride[k][j] * (out->shape[j] - 1) : stride[k][j];
            if (!carry)
                break;
            index[j] = 0;
        }
    }
}

static void run_view(interp *ip, const kn_node *n, kn_tensor *out)
{
    const kn_tensor *x = &ip->of[n->in[0]->id];
    if (n->op == KN_OP_RESHAPE) {
        out->cells = x->cells;
        return;
    }
    int64_t stride[KN_MAX_RANK] = {0}, index[KN_MAX_RANK] = {0}, offset = 0;
    for (int j = 0; n->op == KN_OP_INDEX && j < n->in[0]->rank; j++) {
        const kn_indexing *at = n->u.index;
        int64_t start;
        kn_dim_eval(at->start[j], ip->sizes, &start); /* checked when the call was bound */
        offset += start * x->stride[j];
        if (at->axis[j] >= 0)
            stride[at->axis[j]] += at->step[j] * x->stride[j];
    }
    for (int j = 0; n->op != KN_OP_INDEX && j < n->rank; j++) {
        int from = n->op == KN_OP_PERMUTE ? n->u.perm[j] : j;
        stride[j] = x->shape[from] == 1 ? 0 : x->stride[from];
    }
    for (int64_t i = 0; i < out->count; i++) {
        out->cells[i] = x->cells[offset];
        kn_interp_step(index, out->shape, n->rank, stride, &offset);
    }
}

/* Where element `index` of the result is in the first operand; -1 after a failure. */
static int64_t place_of(const interp *ip, const kn_node *n, const int64_t *index, bool *unsure)
{
    const kn_tensor *x = &ip->of[n->in[0]->id];
    int64_t offset = 0;
    for (int j = 0; j < n->in[0]->rank; j++) {
        int axis = n->u.gather.axis[j], by = n->u.gather.by[j];
        int64_t at = axis < 0 ? 0 : index[axis], from = 0;
        if (by) {
            const kn_tensor *place = &ip->of[n->in[by]->id];
            for (int i = 0; i < n->rank; i++)
                from += place->shape[i] == 1 ? 0 : index[i] * place->stride[i];
            at = place->cells[from].i;
            *unsure = *unsure || place->cells[from].err > 0;
        }
        if (at < 0 || at >= x->shape[j]) {
            kn_node_fail(n->u.gather.checked ? KN_RUN : KN_INTERNAL, n,
                         "index %lld is out of bounds for axis %d with size %lld", (long long)at, j,
                         (long long)x->shape[j]);
            return -1;
        }
        offset += at * x->stride[j];
    }
    return offset;
}

static kn_status run_take(interp *ip, const kn_node *n, kn_tensor *out)
{
    int64_t index[KN_MAX_RANK] = {0}, at = 0;
    const kn_tensor *x = &ip->of[n->in[0]->id];
    for (int64_t i = 0; i < out->count; i++) {
        bool unsure = false;
        int64_t from = x->count ? place_of(ip, n, index, &unsure) : 0;
        if (from < 0)
            return kn_last_status();
        out->cells[i] = x->count ? x->cells[from] : (kn_cell){0}; /* of nothing: not used */
        if (unsure)
            out->cells[i].err = INFINITY;
        kn_interp_step(index, out->shape, n->rank, out->stride, &at);
    }
    return KN_OK;
}

static void load_input(const kn_array *in, kn_tensor *out)
{
    int64_t index[KN_MAX_RANK] = {0}, offset = 0;
    for (int64_t i = 0; i < out->count; i++) {
        kn_scalar v =
            kn_scalar_load(in->dtype, (const char *)in->data + offset * kn_bytes(in->dtype));
        out->cells[i].i = v.i;
        out->cells[i].im = v.im;
        kn_interp_step(index, out->shape, in->rank, in->stride, &offset);
    }
}

/* Its operand's on each rank, one behind the other. */
static kn_status run_exchange(interp *ip, const kn_node *n, kn_tensor *out)
{
    const kn_tensor *x = &ip->all[n->u.part.rank].of[n->in[0]->id];
    if (x->count != out->count)
        return kn_node_fail(KN_SHAPE, n, "ranks have different sizes");
    if (x->count)
        memcpy(out->cells, x->cells, sizeof *x->cells * (size_t)x->count);
    return KN_OK;
}

static kn_status run_reduce(interp *ip, const kn_node *n, kn_tensor *out)
{
    const kn_tensor *x[KN_MAX_IN] = {0};
    for (int k = 0; k < n->nin; k++)
        x[k] = &ip->of[n->in[k]->id];
    return kn_interp_reduce(n, x, ip->bounds, ip->fast, out);
}

static kn_status run_node(interp *ip, const kn_node *n)
{
    kn_tensor *out = &ip->of[n->id];
    KN_TRY(kn_node_sizes(n, ip->sizes, out->shape));
    out->count = kn_count(out->shape, n->rank);
    kn_compact_strides(out->shape, n->rank, out->stride);
    if (out->count > INT64_MAX / (int64_t)sizeof(kn_cell) / 4)
        return kn_fail(KN_MEMORY, "out of memory in the reference interpreter");
    if (n->op != KN_OP_RESHAPE)
        out->cells = KN_NEW_ARRAY(ip->a, kn_cell, out->count ? out->count : 1);
    switch (n->op) {
    case KN_OP_INPUT:
    case KN_OP_SCALAR: load_input(&ip->in[n->u.input], out); return KN_OK;
    case KN_OP_CONST:
        out->cells[0].i = n->u.value.i;
        out->cells[0].im = n->u.value.im;
        return KN_OK;
    case KN_OP_IOTA:
        for (int64_t i = 0; i < out->count; i++)
            out->cells[i].i = i;
        return KN_OK;
    case KN_OP_EXTENT:
        if (!kn_dim_eval(n->u.dim, ip->sizes, &out->cells[0].i))
            return kn_fail(KN_SHAPE, "a size is unknown");
        return KN_OK;
    default: break;
    }
    switch (kn_ops[n->op].cls) {
    case KN_ELEM: run_elem(ip, n, out); return KN_OK;
    case KN_REDUCE: return run_reduce(ip, n, out);
    case KN_GATHER: return run_take(ip, n, out);
    case KN_EXCHANGE: return run_exchange(ip, n, out);
    default: run_view(ip, n, out); return KN_OK;
    }
}

static void store_outputs(const interp *ip, const kn_interp_call *call)
{
    for (int o = 0; o < ip->g->outputs.len; o++) {
        const kn_node *n = ip->g->outputs.data[o].node;
        const kn_tensor *x = &ip->of[n->id];
        const kn_array *out = &call->out[o];
        int64_t index[KN_MAX_RANK] = {0}, offset = 0;
        double *error = ip->bounds ? KN_NEW_ARRAY(ip->a, double, x->count ? x->count : 1) : NULL;
        if (ip->bounds)
            call->bounds->of[o] = error;
        for (int64_t i = 0; i < x->count; i++) {
            kn_scalar_store(kn_cell_value(n->dtype, &x->cells[i]),
                            (char *)out->data + offset * kn_bytes(n->dtype));
            if (ip->bounds)
                error[i] = x->cells[i].err;
            kn_interp_step(index, x->shape, n->rank, out->stride, &offset);
        }
    }
}

kn_status kn_interp_ranks(const kn_graph *g, kn_arena *a, const kn_interp_call *calls, int ranks)
{
    interp *all = KN_NEW_ARRAY(a, interp, ranks);
    const bool *needed = kn_needed_nodes(g, a);
    for (int r = 0; r < ranks; r++)
        all[r] = (interp){.g = g,
                          .a = a,
                          .sizes = calls[r].sizes,
                          .in = calls[r].in,
                          .bounds = calls[r].bounds != NULL,
                          .fast = calls[r].bounds && calls[r].bounds->fast,
                          .of = KN_NEW_ARRAY(a, kn_tensor, g->nodes.len + 1),
                          .all = all};
    for (int i = 0; i < g->nodes.len; i++)
        for (int r = 0; r < ranks && needed[i]; r++)
            KN_TRY(run_node(&all[r], g->nodes.data[i]));
    for (int r = 0; r < ranks; r++)
        store_outputs(&all[r], &calls[r]);
    return KN_OK;
}

kn_status kn_interp(const kn_graph *g, kn_arena *a, const int64_t *sizes, const kn_array *in,
                    kn_array *out, const kn_bounds *bounds)
{
    return kn_interp_ranks(g, a, &(kn_interp_call){sizes, in, out, bounds}, 1);
}
