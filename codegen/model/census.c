#include "codegen/model/census.h"

#include <string.h>

#include "codegen/model/caches.h"
#include "ir/interp.h"
#include "ir/view.h"

static kn_census nothing(kn_arena *a, const kn_graph *g)
{
    return (kn_census){.input_read = KN_NEW_ARRAY(a, int64_t, g->inputs.len + 1),
                       .output_written = KN_NEW_ARRAY(a, int64_t, g->outputs.len + 1)};
}

static void add_temporary(kn_census *c, int64_t bytes)
{
    c->temporaries++;
    c->temporary_bytes += bytes;
}

bool kn_census_same(const kn_census *x, const kn_census *y)
{
    return x->launches == y->launches && x->temporaries == y->temporaries &&
           x->temporary_bytes == y->temporary_bytes && x->grid == y->grid &&
           x->cluster == y->cluster && x->block == y->block && x->warp == y->warp &&
           x->bytes_read == y->bytes_read && x->bytes_written == y->bytes_written;
}

/* ---- kernel IR ---- */

static int64_t bytes_written(const kn_phase *ph, const kn_access *acc, const kn_buf *bufs)
{
    int64_t n = acc->split_stride ? kn_parts_left(ph) : 1;
    for (int a = 0; a < ph->nest.naxes; a++)
        if (acc->stride[a] != 0)
            n *= ph->nest.axes[a].extent;
    return n * kn_bytes(bufs[acc->buf].dtype);
}

/* `k` is the phase's kernel, NULL if there is none yet. Group values and kept ones are loaded once, others by each
 * sweep that needs them. */
static void add_loads(kn_arena *a, kn_census *c, const kn_kernel *k, const kn_phase *ph,
                      const kn_buf *bufs)
{
    int stages = 1;
    for (int i = 0; i < ph->nest.values.len; i++)
        if (ph->nest.values.data[i].stage >= stages)
            stages = ph->nest.values.data[i].stage + 1;
    bool *need = KN_NEW_ARRAY(a, bool, ph->nest.values.len + 1);
    bool *done = KN_NEW_ARRAY(a, bool, ph->nest.values.len + 1);
    for (int t = 0; t < stages; t++) {
        kn_phase_needs(ph, t, need);
        for (int i = 0; i < ph->nest.values.len; i++) {
            const kn_value *v = &ph->nest.values.data[i];
            if (!kn_is_read(v) || done[i] || !(need[i] || v->level == KN_GROUP))
                continue;
            int64_t bytes = kn_bytes_read(a, ph, i, bufs);
            if (k)
                bytes -= (int64_t)((double)bytes * kn_part_on_chip(k, ph, i));
            const kn_buf *b = &bufs[v->access->buf];
            done[i] = v->level == KN_GROUP || kn_kept(ph, i);
            c->bytes_read += bytes;
            if (b->kind == KN_BUF_INPUT)
                c->input_read[b->index] += bytes;
        }
    }
}

static void add_stores(kn_census *c, const kn_phase *ph, const kn_buf *bufs)
{
    for (int i = 0; i < ph->nest.stores.len; i++) {
        const kn_access *acc = &ph->nest.stores.data[i].access;
        int64_t bytes = bytes_written(ph, acc, bufs);
        c->bytes_written += bytes;
        if (bufs[acc->buf].kind == KN_BUF_OUTPUT)
            c->output_written[bufs[acc->buf].index] += bytes;
    }
}

/* Marks the buffers that a phase touches. */
static void mark_touched(const kn_phase *ph, bool *touched)
{
    for (int i = 0; i < kn_accesses(ph); i++) {
        const kn_access *acc = kn_any_access(ph, i);
        if (acc && acc->buf != KN_BUF_COUNT)
            touched[acc->buf] = true;
    }
}

/* Per temporary's number: does a kernel use it? */
static bool *used_temporaries(kn_arena *a, kn_kernel *const *kernels, int n, int nbufs)
{
    bool *used = KN_NEW_ARRAY(a, bool, nbufs + 1);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < kernels[i]->bufs.len; j++)
            if (kernels[i]->bufs.data[j].kind == KN_BUF_TEMP)
                used[kernels[i]->bufs.data[j].index] = true;
    return used;
}

kn_census kn_census_of_kernels(kn_arena *a, const kn_graph *g, kn_kernel *const *kernels, int n,
                               const kn_buf *bufs, int nbufs)
{
    kn_census c = nothing(a, g);
    const bool *used = used_temporaries(a, kernels, n, nbufs);
    for (int i = 0; i < nbufs; i++)
        if (bufs[i].kind == KN_BUF_TEMP && used[bufs[i].index])
            add_temporary(&c, bufs[i].bytes);
    c.launches = n;
    c.grid = n > 0 ? n - 1 : 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < kernels[i]->phases.len; j++) {
            const kn_phase *ph = &kernels[i]->phases.data[j];
            c.grid += ph->barrier;
            add_loads(a, &c, kernels[i], ph, kernels[i]->bufs.data);
            add_stores(&c, ph, kernels[i]->bufs.data);
            c.block +=
                ph->how.mixed &&
                ph->how.tpg < kernels[i]->threads; /* across groups, among the threads of a block */
            for (int t = 0; t < ph->nest.nsweeps; t++) {
                if (!kn_sweep_reduces(ph, t))
                    continue;
                if (ph->how.cluster)
                    c.cluster++;
                else if (kn_meets_in_block(ph))
                    c.block++;
                else if (ph->how.tpg > 1)
                    c.warp++;
            }
        }
    return c;
}

kn_census kn_census_of_phases(kn_arena *a, const kn_graph *g, const kn_phase *phases, int n,
                              const kn_buf *bufs, int nbufs)
{
    kn_census c = nothing(a, g);
    kn_written written = kn_nothing_written(a, nbufs);
    bool *touched = KN_NEW_ARRAY(a, bool, nbufs + 1);
    for (int i = 0; i < n; i++)
        mark_touched(&phases[i], touched);
    for (int i = 0; i < nbufs; i++)
        if (bufs[i].kind == KN_BUF_TEMP && touched[i])
            add_temporary(&c, bufs[i].bytes);
    c.launches = 1;
    for (int i = 0; i < n; i++) {
        const kn_phase *ph = &phases[i];
        c.grid += !ph->local && kn_phase_waits(phases, i, &written);
        add_loads(a, &c, NULL, ph, bufs);
        add_stores(&c, ph, bufs);
        /* partial results are combined in a later phase, and a local phase belongs to its host */
        uint32_t stages = 0;
        for (int j = 0; j < ph->nest.reds.len && !ph->how.split; j++)
            if (!ph->nest.reds.data[j].across)
                stages |=
                    1u << (ph->nest.reds.data[j].stage < 31 ? ph->nest.reds.data[j].stage : 31);
        c.grid += __builtin_popcount(stages);
    }
    return c;
}

/* ---- graphs ---- */

static int64_t count_of(const kn_node *n, const int64_t *sizes)
{
    int64_t shape[KN_MAX_RANK];
    return kn_node_sizes(n, sizes, shape) == KN_OK ? kn_count(shape, n->rank) : 0;
}

static int64_t bytes_of(const kn_node *n, const int64_t *sizes)
{
    return count_of(n, sizes) * kn_bytes(n->dtype);
}

/* Per node: does an output need it? */
static bool *needed(kn_arena *a, const kn_graph *g)
{
    bool *need = KN_NEW_ARRAY(a, bool, g->nodes.len + 1);
    for (int o = 0; o < g->outputs.len; o++)
        need[g->outputs.data[o].node->id] = true;
    for (int i = g->nodes.len - 1; i >= 0; i--)
        for (int k = 0; k < g->nodes.data[i]->nin && need[i]; k++)
            need[g->nodes.data[i]->in[k]->id] = true;
    return need;
}

/* Counts reading x: at most `most` elements, of the array behind it those that no slice leaves out. */
static void read_operand(kn_census *c, const kn_node *x, const int64_t *sizes, int64_t most)
{
    const kn_node *root = kn_view_root(x);
    if (kn_is_uniform_leaf(root) || root->op == KN_OP_IOTA)
        return;
    for (const kn_node *v = x;; v = v->in[0]) {
        int64_t count = v == root || v->op == KN_OP_INDEX ? count_of(v, sizes) : most;
        most = count < most ? count : most;
        if (v == root)
            break;
    }
    int64_t bytes = most * kn_bytes(root->dtype);
    c->bytes_read += bytes;
    if (root->op == KN_OP_INPUT)
        c->input_read[root->u.input] += bytes;
}

static bool same_use(const kn_use *x, const kn_use *y)
{
    return x->base == y->base && memcmp(x->axis, y->axis, (size_t)x->base->rank) == 0;
}

/* Elements that a TAKE reads: one for each step along the axes along which its array or an index varies. */
static int64_t taken(const kn_graph *g, const kn_node *take, const int64_t *sizes)
{
    int64_t shape[KN_MAX_RANK], n = 1;
    uint32_t axes = 0;
    for (int k = 0; k < take->nin; k++) {
        kn_use use = kn_use_of(g, take, k);
        for (int j = 0; j < use.base->rank; j++)
            axes |= use.axis[j] < 0 ? 0 : 1u << use.axis[j];
    }
    if (kn_node_sizes(take, sizes, shape) != KN_OK)
        return 0;
    for (int i = 0; i < take->rank; i++)
        n *= axes >> i & 1 ? shape[i] : 1;
    return n;
}

/* One operation. It reads each array once, or once for each order in which it is read. */
static void add_operation(kn_census *c, const kn_graph *g, const kn_node *n, const int64_t *sizes)
{
    c->launches++;
    for (int k = 0; k < n->nin; k++) {
        bool again = false;
        kn_use use = kn_use_of(g, n, k);
        for (int j = 0; j < k; j++) {
            kn_use earlier = kn_use_of(g, n, j);
            again = again || same_use(&use, &earlier);
        }
        if (!again)
            read_operand(c, n->in[k], sizes,
                         n->op == KN_OP_TAKE && k == 0 ? taken(g, n, sizes) : INT64_MAX);
    }
}

/* How a value leaves the operation that computes it. */
typedef enum leaving { UNSEEN = 0, SHOWN = 1, OUTPUT = 2, USED = 4, COPIED = 8 } leaving;

/* Marks the values that later operations read. */
static void mark_used(const kn_graph *g, const bool *need, int *leaves)
{
    for (int i = 0; i < g->nodes.len; i++) {
        const kn_node *n = g->nodes.data[i];
        if (!need[i] || !kn_is_value(n) || kn_is_output_copy(g, n))
            continue;
        for (int k = 0; k < n->nin; k++)
            leaves[kn_view_root(n->in[k])->id] |= USED;
    }
}

/* Counts the stores of each output, and a copy for each that no operation computes. */
static void add_outputs(kn_census *c, const kn_graph *g, const int64_t *sizes, int *leaves)
{
    for (int o = 0; o < g->outputs.len; o++) {
        const kn_node *out = g->outputs.data[o].node, *shown = kn_shown_value(out);
        c->output_written[o] = bytes_of(out, sizes);
        c->bytes_written += c->output_written[o];
        if (shown) {
            leaves[shown->id] |= shown == out ? OUTPUT : SHOWN;
        } else if (!(leaves[out->id] & COPIED)) {
            leaves[out->id] |= COPIED;
            const kn_node *from = out->op == KN_OP_COPY ? out->in[0] : out;
            c->launches++;
            leaves[kn_view_root(from)->id] |= USED;
            read_operand(c, from, sizes, INT64_MAX);
        }
    }
}

kn_census kn_census_of_graph(kn_arena *a, const kn_graph *g, const int64_t *sizes)
{
    kn_census c = nothing(a, g);
    const bool *need = needed(a, g);
    int *leaves = KN_NEW_ARRAY(a, int, g->nodes.len + 1);
    mark_used(g, need, leaves);
    add_outputs(&c, g, sizes, leaves);
    for (int i = 0; i < g->nodes.len; i++) {
        const kn_node *n = g->nodes.data[i];
        if (!need[i] || !kn_is_value(n) || kn_is_output_copy(g, n))
            continue;
        add_operation(&c, g, n, sizes);
        if (leaves[i] & OUTPUT || leaves[i] == SHOWN)
            continue;
        add_temporary(&c, bytes_of(n, sizes));
        c.bytes_written += bytes_of(n, sizes);
    }
    c.grid = c.launches > 0 ? c.launches - 1 : 0;
    return c;
}
