/* Lowers a region to a raw phase. */
#include <string.h>

#include "base/hash.h"
#include "base/work.h"
#include "codegen/kir/halves.h"
#include "codegen/plan/nests/planner.h"
#include "ir/pieces.h"
#include "ir/view.h"

/* Lowering one region. */
typedef struct lowering {
    kn_planner *p;
    const kn_region *region;
    kn_phase phase;
    int8_t axis_to[KN_MAX_RANK]; /* region axis -> phase axis: groups first */
    kn_lowered_node *of;         /* per graph node */
    kn_finder values_by;         /* the phase's values */
} lowering;

/* The node's value in this region; -1: none. */
static int value_of(const lowering *lo, const kn_node *n)
{
    const kn_lowered_node *of = &lo->of[n->id];
    return of->region == lo->region ? of->value : -1;
}

static void set_value(lowering *lo, const kn_node *n, int value)
{
    lo->of[n->id] = (kn_lowered_node){lo->region, value};
}

/* The formulas of an array's strides along the region's axes. */
static const kn_strides *along_region(const lowering *lo, const kn_layout *layout, const int8_t *to)
{
    kn_symbols *s = lo->p->problem->graph->syms;
    kn_strides *made = KN_NEW(lo->p->arena, kn_strides);
    made->offset = layout->formula->offset;
    for (int j = 0; j < layout->rank; j++) {
        kn_dim *stride = to[j] < 0 ? NULL : &made->stride[to[j]], one = layout->formula->stride[j];
        if (stride && !(*stride = *stride ? kn_dim_add(s, *stride, one) : one))
            kn_give_up(lo->p->arena);
    }
    return made;
}

/* The access to an array whose axis j is region axis to[j]; to[j] < 0: the region does not walk it. */
static kn_access access_to(const lowering *lo, int buf, const kn_layout *layout, const int8_t *to)
{
    kn_access acc = {.buf = buf, .offset = layout->offset};
    for (int j = 0; j < layout->rank; j++) {
        if (to[j] < 0)
            continue;
        int a = lo->axis_to[to[j]];
        acc.axes |= 1u << a;
        acc.stride[a] += layout->stride[j];
    }
    if (layout->formula)
        acc.formula = along_region(lo, layout, to);
    return acc;
}

/* The number of the phase's value equal to v, which is added if there is none. */
static int add_value(lowering *lo, kn_value v)
{
    uint64_t hash = kn_value_hash(&v);
    for (int i = -1; (i = kn_finder_next(&lo->values_by, hash, i)) >= 0;) {
        kn_work(1);
        if (kn_value_same(&lo->phase.nest.values.data[i], &v))
            return i;
    }
    kn_keep_within(&lo->p->problem->graph->budget, lo->p->arena, 0,
                   v.name                ? v.name
                   : v.kind == KN_V_ELEM ? kn_ops[v.op].text
                                         : "an operand",
                   v.loc);
    kn_finder_add(lo->p->arena, &lo->values_by, hash, lo->phase.nest.values.len);
    return kn_nest_add(lo->p->arena, &lo->phase.nest, v);
}

static kn_level level_of_axes(const kn_phase *ph, uint32_t axes)
{
    return axes >> ph->nest.ngroup ? KN_ELEMENT : KN_GROUP;
}

static int lower_load(lowering *lo, const kn_node *base, kn_access acc)
{
    return add_value(lo, (kn_value){.kind = acc.buf == KN_BUF_COUNT ? KN_V_INDEX : KN_V_LOAD,
                                    .dtype = base->dtype,
                                    .level = level_of_axes(&lo->phase, acc.axes),
                                    .access = &acc,
                                    .name = base->name,
                                    .loc = base->loc});
}

static uint64_t hash_of_extent(const kn_planner *p, kn_dim dim)
{
    const kn_dim resolved = kn_dim_resolve(p->problem->graph->syms, dim);
    return kn_hash(&resolved, sizeof resolved, 0);
}

void kn_planner_add_extent(kn_planner *p, kn_extent_param extent)
{
    kn_finder_add(p->arena, &p->extents_by, hash_of_extent(p, extent.dim), p->extents.len);
    kn_push(p->arena, &p->extents, extent);
}

static int extent_param(kn_planner *p, kn_dim dim)
{
    kn_symbols *s = p->problem->graph->syms;
    const uint64_t hash = hash_of_extent(p, dim);
    for (int i = -1; (i = kn_finder_next(&p->extents_by, hash, i)) >= 0;)
        if (kn_dim_equal(s, p->extents.data[i].dim, dim))
            return i;
    kn_text t = kn_text_new(p->arena);
    kn_dim_print(&t, s, dim);
    if (strstr(kn_text_str(&t), KN_DIM_CUT)) /* other cut axes may have this text */
        kn_putf(&t, "#%d", p->extents.len);
    kn_extent_param e = {.dim = dim, .name = kn_text_str(&t)};
    kn_dim_eval(dim, p->problem->sizes, &e.value);
    kn_planner_add_extent(p, e);
    return p->extents.len - 1;
}

static int lower_leaf(lowering *lo, const kn_node *n)
{
    kn_value v = {.dtype = n->dtype, .level = KN_GROUP, .name = n->name, .loc = n->loc};
    switch (n->op) {
    case KN_OP_SCALAR:
        v.kind = KN_V_SCALAR;
        v.index = n->u.input;
        break;
    case KN_OP_CONST:
        v.kind = KN_V_CONST;
        v.value = n->u.value;
        break;
    default:
        v.kind = KN_V_EXTENT;
        v.index = extent_param(lo->p, n->u.dim);
        break;
    }
    return add_value(lo, v);
}

/* Adds an operation on values `in`, all of types that devices compute with. */
static int add_elem(lowering *lo, kn_op op, kn_dtype t, const int *in, int nin, kn_loc loc)
{
    kn_value v = {
        .kind = KN_V_ELEM, .op = op, .dtype = t, .level = KN_GROUP, .nin = nin, .loc = loc};
    memcpy(v.in, in, sizeof *in * (size_t)nin);
    return add_value(lo, v);
}

static kn_dtype type_of(const lowering *lo, int value)
{
    return lo->phase.nest.values.data[value].dtype;
}

/* A value of a node has its name, unless another node has given it one. */
static int named(lowering *lo, int value, const kn_node *n)
{
    kn_value *v = &lo->phase.nest.values.data[value];
    v->name = v->name ? v->name : n->name;
    return value;
}

/* Casts between a 16-bit float and a type other than f32 go through f32, but f64 rounds to f16 directly. A complex
 * number is converted by its real part, except to bool, and from a real number likewise. */
static int cast_value(lowering *lo, int value, kn_dtype t, kn_loc loc)
{
    kn_dtype from = type_of(lo, value);
    if (from == t)
        return value;
    if (kn_is_complex(from) && !kn_is_complex(t) && t != KN_BOOL)
        return cast_value(lo, add_elem(lo, KN_OP_REAL, kn_real_of(from), &value, 1, loc), t, loc);
    if (kn_is_complex(t) && !kn_is_complex(from))
        value = cast_value(lo, value, kn_real_of(t), loc);
    if (kn_is_complex(t))
        return add_elem(lo, KN_OP_CAST, t, &value, 1, loc);
    bool direct = from == KN_F64 && t == KN_F16;
    if (kn_is_half(from) && t != KN_F32)
        value = add_elem(lo, KN_OP_CAST, KN_F32, &value, 1, loc);
    else if (kn_is_half(t) && from != KN_F32 && !direct)
        value = add_elem(lo, KN_OP_CAST, KN_F32, &value, 1, loc);
    return add_elem(lo, KN_OP_CAST, t, &value, 1, loc);
}

/* Operations on 16-bit floats compute in f32, unless the device has them, and round each result to 16 bits, so that
 * values are the same whether or not they go through memory. */
static int lower_elem(lowering *lo, const kn_node *n, const int *operands)
{
    int in[KN_MAX_IN] = {0}, made;
    bool moves = n->op == KN_OP_COPY || n->op == KN_OP_WHERE ||
                 (lo->p->problem->target->sm && kn_is_half_arithmetic(n->op, n->dtype));
    for (int k = 0; k < n->nin; k++)
        in[k] =
            moves || n->op == KN_OP_CAST
                ? operands[k]
                : cast_value(lo, operands[k], kn_compute_dtype(type_of(lo, operands[k])), n->loc);
    if (n->op == KN_OP_CAST && type_of(lo, in[0]) != n->dtype) {
        made = cast_value(lo, in[0], n->dtype, n->loc);
    } else {
        made =
            add_elem(lo, n->op, moves ? n->dtype : kn_compute_dtype(n->dtype), in, n->nin, n->loc);
        made = cast_value(lo, made, n->dtype, n->loc);
    }
    return named(lo, made, n);
}

static int lower_value(lowering *lo, const kn_node *n, const int8_t *axis);

/* Does this region's value of `base` walk the region's axes as to[] says? */
static bool is_walked_so(const lowering *lo, const kn_node *base, const int8_t *to)
{
    bool same = true;
    for (int j = 0; same && j < base->rank; j++)
        same = to[j] < 0 || to[j] == lo->p->regions->axis[base->id][j];
    return same;
}

/* The value of operand k of `user`, whose axes are the region's axes axis[]; -1 if the planner is blocked. */
static int operand(lowering *lo, const kn_node *user, int k, const int8_t *axis)
{
    const kn_planner *p = lo->p;
    kn_use use = kn_use_of(p->problem->graph, user, k);
    const kn_node *base = use.base;
    if (kn_is_uniform_leaf(base)) {
        if (value_of(lo, base) < 0)
            set_value(lo, base, lower_leaf(lo, base));
        return value_of(lo, base);
    }
    int8_t to[KN_MAX_RANK];
    for (int j = 0; j < base->rank; j++)
        to[j] = use.axis[j] < 0 ? (int8_t)-1 : axis[use.axis[j]];
    bool here = p->regions->of[base->id] == lo->region;
    if (here && value_of(lo, base) >= 0 && is_walked_so(lo, base, to))
        return value_of(lo, base);
    if (here || p->again[base->id])
        return lower_value(lo, base, to);
    int buf;
    kn_layout layout;
    if (!kn_locate(lo->p, base, &buf, &layout))
        return -1;
    return lower_load(lo, base, access_to(lo, buf, &layout, to));
}

/* The result of a reduction of value `in`, which has the type to compute in. */
static int reduced(lowering *lo, kn_op op, int in, kn_loc loc)
{
    kn_phase *ph = &lo->phase;
    kn_dtype t = type_of(lo, in);
    int stage = ph->nest.values.data[in].stage, index = -1;
    for (int i = 0; i < ph->nest.reds.len; i++)
        if (ph->nest.reds.data[i].op == op && ph->nest.reds.data[i].value == in)
            index = i;
    if (index < 0) {
        kn_push(lo->p->arena, &ph->nest.reds,
                ((kn_red){.op = op, .value = in, .dtype = t, .stage = stage}));
        index = ph->nest.reds.len - 1;
    }
    return add_value(lo, (kn_value){.kind = KN_V_RESULT,
                                    .dtype = t,
                                    .level = KN_GROUP,
                                    .stage = stage + 1,
                                    .index = index,
                                    .loc = loc});
}

/* The first of the phase's reductions by this reducer of values in[]; -1: it has none. */
static int find_reducer(const kn_phase *ph, const kn_reducer *by, const int *in)
{
    for (int i = 0; i < ph->nest.reds.len; i++) {
        const kn_red *first = &ph->nest.reds.data[i];
        bool same = first->by && first->carried == 0 && strcmp(first->by->text, by->text) == 0;
        for (int c = 0; same && c < by->count; c++)
            same = first[c].value == in[c];
        if (same)
            return i;
    }
    return -1;
}

/* The result of a user-defined reduction that this node stands for. */
static int lower_reduce_by(lowering *lo, const kn_node *n, const int *in)
{
    kn_phase *ph = &lo->phase;
    int first = find_reducer(ph, n->by, in), count = n->by->count;
    if (first < 0) {
        first = ph->nest.reds.len;
        for (int c = 0; c < count; c++)
            kn_push(lo->p->arena, &ph->nest.reds,
                    ((kn_red){.op = n->op,
                              .value = in[c],
                              .dtype = n->by->dtype[c],
                              .by = n->by,
                              .carried = c}));
        for (int c = 0; c < count; c++)
            ph->nest.reds.data[first + c].stage = kn_red_stage(ph, first + c);
    }
    int made = add_value(lo, (kn_value){.kind = KN_V_RESULT,
                                        .dtype = n->dtype,
                                        .level = KN_GROUP,
                                        .stage = ph->nest.reds.data[first].stage + 1,
                                        .index = first + n->u.reduce.carried,
                                        .loc = n->loc});
    return named(lo, made, n);
}

static int integer(lowering *lo, int64_t i)
{
    return add_value(lo, kn_number((kn_scalar){.dtype = KN_I64, .i = i}));
}

/* sum / max(members - ddof, 0) */
static int divided(lowering *lo, const kn_node *n, int sum, int ddof)
{
    kn_graph *g = lo->p->problem->graph;
    kn_dim count = kn_dim_const(g->syms, 1);
    for (int j = 0; j < n->rank; j++)
        if (n->u.reduce.axes >> j & 1)
            count = kn_dim_mul(g->syms, count, n->in[0]->shape[j]);
    int by = add_value(lo, (kn_value){.kind = KN_V_EXTENT,
                                      .dtype = KN_I64,
                                      .level = KN_GROUP,
                                      .index = extent_param(lo->p, count)});
    if (ddof) {
        by = add_elem(lo, KN_OP_SUB, KN_I64, (int[]){by, integer(lo, ddof)}, 2, n->loc);
        by = add_elem(lo, KN_OP_MAXIMUM, KN_I64, (int[]){by, integer(lo, 0)}, 2, n->loc);
    }
    kn_dtype t = type_of(lo, sum);
    return add_elem(lo, KN_OP_DIV, t, (int[]){sum, cast_value(lo, by, t, n->loc)}, 2, n->loc);
}

/* A mean is a sum divided by the number of members. A variance is the mean square of the deviations from the mean, as
 * one would write it by hand: codegen/plan/form/moments.c makes either form stable. They compute in the type of the
 * sum, which is f32 for 16-bit floats. */
static int lower_reduce(lowering *lo, const kn_node *n, int in)
{
    bool mean = n->op == KN_OP_MEAN, var = n->op == KN_OP_VAR;
    in = cast_value(lo, in, kn_compute_dtype(type_of(lo, in)), n->loc);
    kn_dtype t = type_of(lo, in);
    int result = reduced(lo, mean || var ? KN_OP_SUM : n->op, in, n->loc);
    if (mean || var)
        result = divided(lo, n, result, 0);
    if (var) {
        int d = add_elem(lo, KN_OP_SUB, t, (int[]){in, result}, 2, n->loc);
        int square = add_elem(lo, KN_OP_MUL, t, (int[]){d, d}, 2, n->loc);
        result = divided(lo, n, reduced(lo, KN_OP_SUM, square, n->loc), n->u.reduce.ddof);
    }
    return named(lo, cast_value(lo, result, n->dtype, n->loc), n);
}

/* A GATHER from an IOTA: its elements are their own offsets, so it is arithmetic. */
static int lower_count(lowering *lo, const kn_node *n, kn_value gather)
{
    kn_access from = *gather.access;
    from.gathered = NULL;
    int made = lower_load(lo, n, from);
    for (int k = 0; k < gather.nin; k++) {
        kn_value step =
            kn_number((kn_scalar){.dtype = KN_I64, .i = gather.access->gathered[k].stride});
        if (gather.access->gathered[k].stride_is) {
            step.kind = KN_V_EXTENT;
            step.index = extent_param(lo->p, gather.access->gathered[k].stride_is);
        }
        int by[] = {gather.in[k], add_value(lo, step)};
        int sum[] = {made, add_elem(lo, KN_OP_MUL, KN_I64, by, 2, n->loc)};
        made = add_elem(lo, KN_OP_ADD, KN_I64, sum, 2, n->loc);
    }
    return made;
}

/* Elements at indices that values give. An array without elements cannot be read, and nobody uses the result. */
static int lower_take(lowering *lo, const kn_node *n, const int8_t *axis, const int *in)
{
    const kn_node *x = n->in[0];
    kn_gathered_axis gathered[KN_MAX_IN] = {{0}};
    kn_access acc;
    kn_value v = {
        .kind = KN_V_GATHER, .dtype = n->dtype, .access = &acc, .name = n->name, .loc = n->loc};
    int8_t to[KN_MAX_RANK];
    kn_layout layout;
    int buf;
    if (!kn_locate(lo->p, x, &buf, &layout))
        return -1;
    int64_t made[KN_MAX_RANK];
    kn_node_sizes(n, lo->p->problem->sizes, made);
    if (!lo->p->problem->formulas &&
        (kn_count(layout.shape, layout.rank) == 0 || kn_count(made, n->rank) == 0))
        return add_value(lo, kn_number((kn_scalar){.dtype = n->dtype}));
    for (int j = 0; j < layout.rank; j++) {
        int by = n->u.gather.by[j], walked = n->u.gather.axis[j];
        to[j] = by || walked < 0 ? (int8_t)-1 : axis[walked];
        if (!by)
            continue;
        v.in[v.nin] = in[by];
        gathered[v.nin++] = (kn_gathered_axis){layout.stride[j], layout.shape[j],
                                               layout.formula ? layout.formula->stride[j] : NULL,
                                               layout.formula ? x->shape[j] : NULL};
    }
    acc = access_to(lo, buf, &layout, to);
    acc.gathered = gathered;
    acc.checked = n->u.gather.checked;
    if (buf == KN_BUF_COUNT)
        return lower_count(lo, n, v);
    v.level = level_of_axes(&lo->phase, acc.axes);
    return add_value(lo, v);
}

/* Where its elements are in a buffer laid out so, along the region's axes. */
static kn_access access_in(lowering *lo, const kn_node *n, int buf, kn_layout layout)
{
    kn_planner *p = lo->p;
    if (p->problem->formulas)
        layout.formula = kn_strides_compact(p->arena, p->problem->graph->syms, n->shape, n->rank);
    int8_t to[KN_MAX_RANK];
    for (int j = 0; j < n->rank; j++) /* a reduction's result lacks the axes that it reduced */
        to[j] = kn_ops[n->op].cls == KN_REDUCE && n->u.reduce.axes >> j & 1
                    ? -1
                    : p->regions->axis[n->id][j];
    return access_to(lo, buf, &layout, to);
}

/* The same of a temporary of its own. */
static kn_access access_of(lowering *lo, const kn_node *n, int buf)
{
    kn_layout layout = {.rank = n->rank, .align = 16};
    kn_node_sizes(n, lo->p->problem->sizes, layout.shape);
    kn_compact_strides(layout.shape, n->rank, layout.stride);
    return access_in(lo, n, buf, layout);
}

/* The same of output `o`, or where it is to go if it is a piece of one. */
static kn_access access_of_output(lowering *lo, const kn_node *n, int o)
{
    kn_planner *p = lo->p;
    kn_layout layout = {.rank = n->rank, .align = 16};
    int64_t shape[KN_MAX_RANK];
    kn_node_sizes(n, p->problem->sizes, shape);
    kn_layout_reshape(&p->problem->out[o], shape, n->rank, &layout); /* splits axes */
    return access_in(lo, n, p->buf_of_output[o], layout);
}

static int lower_rank(lowering *lo, const kn_node *n, int in)
{
    kn_access acc = access_of(lo, n, lo->p->buf_of_node[n->id]);
    kn_value v = {.kind = KN_V_RANK,
                  .dtype = n->dtype,
                  .level = KN_GROUP,
                  .in = {in},
                  .nin = 1,
                  .access = &acc,
                  .rank = n->u.part.rank,
                  .round = lo->p->regions->round[n->id],
                  .name = n->name,
                  .loc = n->loc};
    return add_value(lo, v);
}

/* The value of a node whose axes are the region's axes axis[]; -1 if the planner is blocked. */
static int lower_value(lowering *lo, const kn_node *n, const int8_t *axis)
{
    int in[KN_MAX_IN];
    bool takes = n->op == KN_OP_TAKE;
    for (int k = takes; k < n->nin; k++)
        if ((in[k] = operand(lo, n, k, axis)) < 0)
            return -1;
    if (takes)
        return lower_take(lo, n, axis, in);
    if (n->op == KN_OP_OF_RANK)
        return lower_rank(lo, n, in[0]);
    if (n->op == KN_OP_REDUCE_BY)
        return lower_reduce_by(lo, n, in);
    return kn_ops[n->op].cls == KN_REDUCE ? lower_reduce(lo, n, in[0]) : lower_elem(lo, n, in);
}

static kn_store *store(lowering *lo, const kn_node *n, kn_access access, bool sends)
{
    kn_planner *p = lo->p;
    kn_store s = {.value = value_of(lo, n), .access = access, .sends = sends};
    s.kind =
        level_of_axes(&lo->phase, s.access.axes) == KN_ELEMENT ? KN_STORE_ELEMENT : KN_STORE_GROUP;
    s.stage = lo->phase.nest.values.data[s.value].stage;
    uint32_t all = (1u << lo->phase.nest.naxes) - 1, groups = (1u << lo->phase.nest.ngroup) - 1;
    s.once = (s.kind == KN_STORE_GROUP ? groups : all) & ~s.access.axes;
    kn_push(p->arena, &lo->phase.nest.stores, s);
    return &lo->phase.nest.stores.data[lo->phase.nest.stores.len - 1];
}

/* Stores a value to output `o`, or to the part of one that is its place. */
static void store_output(lowering *lo, const kn_node *n, int o)
{
    const kn_graph *g = lo->p->problem->graph;
    kn_store *s = store(lo, n, access_of_output(lo, n, o), false);
    kn_text t = kn_text_new(lo->p->arena);
    if (!g->outputs.data[o].place)
        return;
    kn_place_print(&t, g->syms, g->outputs.data[o].place);
    s->part = kn_text_str(&t);
}

/* The same of a rank's part of a buffer that has one of each. */
static kn_access part_of(lowering *lo, const kn_node *n, int buf, int rank)
{
    kn_access part = access_of(lo, n, buf);
    part.offset += rank * lo->p->bufs.data[buf].part / kn_bytes(n->dtype);
    return part;
}

/* Stores a value to this rank's part of what ranks exchange, once an exchange. */
static void store_part(lowering *lo, const kn_node *n)
{
    kn_planner *p = lo->p;
    int last = -1;
    for (int e = p->exchange_of[n->id]; e >= 0; e = p->next_exchange[e]) {
        const int buf = p->buf_of_node[e];
        const bool sends = p->regions->of[e] == lo->region;
        if (buf == last)
            continue;
        store(lo, n, sends ? access_of(lo, n, buf) : part_of(lo, n, buf, p->problem->rank), sends);
        last = buf;
    }
}

/* Stores a value to each output that it is, to where it is exchanged, and to its temporary if it has one. */
static void store_everywhere(lowering *lo, const kn_node *n)
{
    const kn_planner *p = lo->p;
    int temp = p->buf_of_node[n->id];
    for (int o = p->output_of[n->id]; o >= 0; o = p->next_output[o])
        store_output(lo, n, o);
    store_part(lo, n);
    if (n->op == KN_OP_OF_RANK && p->elsewhere[n->id]) {
        store(lo, n, part_of(lo, n, temp, n->u.part.rank), false);
    } else if (n->op != KN_OP_OF_RANK && temp >= 0 && p->bufs.data[temp].kind == KN_BUF_TEMP) {
        store(lo, n, access_of(lo, n, temp), false);
    }
}

/* Group axes first, then member axes, each in the region's order; members in the order that they must be walked in,
 * if the region has one. Without reductions all axes are members. */
static void order_axes(lowering *lo)
{
    const kn_region *r = lo->region;
    kn_phase *ph = &lo->phase;
    ph->universal = lo->p->problem->universal;
    ph->invariant = lo->p->problem->invariant;
    if (lo->p->problem->formulas) {
        kn_extents *extents = KN_NEW(lo->p->arena, kn_extents);
        extents->syms = lo->p->problem->graph->syms;
        memcpy(extents->of, r->dim, sizeof *r->dim * (size_t)r->naxes);
        ph->nest.extents = extents;
    }
    uint32_t members = r->reduces ? r->members : (1u << r->naxes) - 1;
    for (int member = 0; member < 2; member++)
        for (int i = 0; i < (member && r->norder ? r->norder : r->naxes); i++) {
            int a = member && r->norder ? r->order[i] : i;
            if ((int)(members >> a & 1) != member)
                continue;
            kn_axis *axis = &ph->nest.axes[ph->nest.naxes];
            kn_text name = kn_text_new(lo->p->arena);
            kn_dim_print(&name, lo->p->problem->graph->syms, r->dim[a]);
            axis->name = kn_dim_product_text(lo->p->arena, kn_text_str(&name), "");
            axis->member = member;
            axis->at = axis->inner = a;
            axis->of = 1u << a;
            kn_dim_eval(r->dim[a], lo->p->problem->sizes, &axis->extent);
            lo->axis_to[a] = (int8_t)ph->nest.naxes++;
            if (!member)
                ph->nest.ngroup = ph->nest.naxes;
        }
}

bool kn_lower_region(kn_planner *p, const kn_region *region, kn_lowered_node *of, kn_phase *phase)
{
    lowering lo = {.p = p, .region = region, .of = of};
    order_axes(&lo);
    for (int i = 0; i < region->nodes.len; i++) {
        const kn_node *v = region->nodes.data[i];
        int value = lower_value(&lo, v, p->regions->axis[v->id]);
        if (value < 0)
            return false;
        set_value(&lo, v, value);
        store_everywhere(&lo, v);
    }
    kn_drop_dead(p->arena,
                 &lo.phase); /* values that only other regions need, which compute them again */
    if (kn_nest_exchanges(&lo.phase.nest))
        kn_restage(&lo.phase);
    lo.phase.nest.name = kn_node_title(region->nodes.data[region->nodes.len - 1]);
    *phase = lo.phase;
    return true;
}
