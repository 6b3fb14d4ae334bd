/* What the multiprocessors compute for a phase, in additions. */
#include "codegen/model/model.h"

#include <math.h>
#include <stdlib.h>

#include "codegen/kir/grid.h"
#include "codegen/kir/precision.h"
#include "codegen/kir/selection.h"

/* Costs in additions, beside those of codegen/kir/precision.h: of an accumulation by its state, a step of a vector, and
 * locating it along a further axis. */
enum {
    DOUBLE = 2,       /* 64 bits relative to 32, but for functions */
    QUOTIENT = 8,     /* the same of quotients and remainders of integers */
    CPU_DIVISION = 5, /* of f32 by vectors of a CPU: 5 cycles for 8, in which 40 are added */
    PLAIN_COST = 2,
    MOMENTS_COST = 18,
    PEAK_COST = 12, /* of f32; of f64 its exponentials are exact */
    EXACT_PEAK_COST = 18,
    WARP = 32,
    STEP_COST = 15,
    FULL_COST = 5,    /* of a step without a bounds check */
    GROUP_COST = 40,  /* of a group, to each thread that works on it */
    RANGE_COST = 20,  /* of what a block's warps have of it */
    SHUFFLE_COST = 4, /* of combining with another lane */
    ONCE = 2,         /* what a thread computes once a group, where nothing is in between */
    AXIS_COST = 38,
    SHIFT_COST = 3,      /* of an element that is assembled of aligned words */
    COMPACT_COST = 12,   /* of testing a member's destination */
    LANE_AXIS_COST = 10, /* of a lane of linear vectors */
    TILE_COST = 4,       /* of an element that goes through a tile, besides its load or store */
    TILE_STEP_COST = 12, /* of a vector between memory and the tile */
    TO_ROWS_COST =
        10, /* of an element that goes to a tile of rows, besides the loads of the sweeps */
    STRIDED_COST = 12,   /* CPU: of an element that no vector reads, */
    NEAR_COST = 3,       /* of 4 bytes or more where neighbours share lines, */
    SCATTERED_COST = 6,  /* and of one that columns store so */
    TILE_START_COST = 80 /* of a thread's share of a tile, where blocks take one at a time */
};

/* Is value i read element by element, by rows or columns of a CPU? Of every second element it is vectors that are read. */
static bool is_strided(const kn_phase *ph, int i)
{
    const kn_value *v = kn_value_at(ph, i);
    const int va = kn_phase_vector_axis(ph);
    return ph->nest.ngroup > 0 && v->kind == KN_V_LOAD && va >= 0 && v->access->stride[va] > 2 &&
           !kn_transpose_of(ph, i);
}

/* Does value i, which is read so, share lines with its neighbours, and has 4 bytes at least? */
static bool is_near(const kn_phase *ph, int i)
{
    const kn_value *v = kn_value_at(ph, i);
    const int bytes = kn_bytes(v->dtype);
    return bytes >= 4 && v->access->stride[kn_phase_vector_axis(ph)] * bytes <= KN_NEAR_BYTES;
}

/* CPU: what columns take for an element that goes through a tile, and for one that they store by strides. */
static double turning(const kn_phase *ph)
{
    const double wide = 3.2, narrow = 1.6; /* 2 bytes */
    double sum = 0;
    for (int i = 0; i < ph->how.transposes.len; i++)
        sum += kn_bytes(kn_transposed_type(ph, &ph->how.transposes.data[i])) > 2 ? wide : narrow;
    for (int s = 0; s < ph->nest.stores.len; s++) {
        const kn_store *st = &ph->nest.stores.data[s];
        if (st->kind == KN_STORE_ELEMENT && !kn_transpose_of_store(ph, s) &&
            llabs(st->access.stride[kn_phase_vector_axis(ph)]) > 2)
            sum += SCATTERED_COST;
    }
    return sum;
}

/* CPU: what a row takes for each of its sweeps, beside its elements: that begins and ends, waits for its functions, converts.
 * Less than a vector is no vector. */
static double of_a_row(const kn_phase *ph)
{
    enum { ROW_COST = 35, REST_COST = 15, SCALAR_COST = 30, VECTOR = 16 };
    const double functions = 2.5, converted = 1.3;
    bool calls = false, converts = false;
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = kn_value_at(ph, i);
        calls = calls || (v->level == KN_ELEMENT && kn_is_function(v) &&
                          kn_ops[v->op].cost > kn_ops[KN_OP_DIV].cost);
        converts = converts || (v->level == KN_ELEMENT && kn_is_read(v) && kn_bytes(v->dtype) != 4);
    }
    if (ph->nest.members < VECTOR)
        return (double)ph->nest.members * SCALAR_COST;
    return (ROW_COST + (ph->nest.members % VECTOR ? REST_COST : 0)) * (calls ? functions : 1) *
           (converts ? converted : 1);
}

static double accumulating(const kn_phase *ph, int red)
{
    if (kn_red_owner(ph, red) != red)
        return 0;
    kn_state state = kn_red_state(ph, red);
    return state == KN_STATE_MOMENTS ? MOMENTS_COST
           : state == KN_STATE_PEAK
               ? ph->nest.reds.data[red].dtype == KN_F32 ? PEAK_COST : EXACT_PEAK_COST
               : PLAIN_COST;
}

/* Is it another name for registers that are there: an integer in more or fewer bits, the upper half of 64? */
static bool is_renamed(const kn_phase *ph, const kn_value *v)
{
    const kn_value *x = v->kind == KN_V_ELEM ? kn_value_at(ph, v->in[0]) : v;
    const kn_value *by = kn_is_elem(v, KN_OP_SHR) ? kn_value_at(ph, v->in[1]) : NULL;
    if (!kn_is_int(v->dtype) || !kn_is_int(x->dtype))
        return false;
    return kn_is_elem(v, KN_OP_CAST) ||
           (by && by->kind == KN_V_CONST && kn_bytes(v->dtype) == 8 && by->value.i == 32);
}

/* What value i takes a lane: lanes that are alike share it, and what is known of them beforehand takes nothing. */
static double a_lane(const kn_phase *ph, int i)
{
    const kn_value *v = kn_value_at(ph, i);
    const kn_selected *s = kn_selected_of(ph, i);
    bool chosen = kn_is_elem(v, KN_OP_WHERE) && kn_selected_of(ph, v->in[0])->known;
    return s->known || chosen ? 0 : 1.0 / s->alike;
}

/* Is it a function that is approximated, as all are under fast_math? */
static bool is_approximated(const kn_phase *ph, bool fast, int i)
{
    const kn_value *v = kn_value_at(ph, i);
    const kn_select by = kn_selected_of(ph, i)->by;
    return kn_is_function(v) &&
           (fast || by == KN_SELECT_APPROXIMATION || by == KN_SELECT_APPROXIMATE_DIVISOR);
}

/* Has each lane of linear vectors to find the indices of its element? */
static bool finds_indices(const kn_phase *ph)
{
    bool finds = false;
    for (int i = 0; i < kn_accesses(ph); i++) {
        const kn_access *acc = kn_any_access(ph, i);
        finds = finds || (acc && acc->axes && !kn_transfer_of(ph, i)->linear);
    }
    return finds;
}

/* What going through a tile of rows takes an element, and each thread once a group, which locates another's. */
static double transposing_rows(const kn_phase *ph)
{
    const double each = TO_ROWS_COST + AXIS_COST * (ph->nest.naxes - ph->nest.ngroup - 1),
                 group = TILE_START_COST + AXIS_COST * (ph->nest.ngroup - 1);
    return ph->how.transposes.len * each + group * ph->how.tpg / (double)ph->nest.members;
}

/* What going through tiles takes an element. Of the last tile, and the last columns, only a part counts, but lanes go
 * through all of it. */
static double transposing(const kn_model *m, const kn_phase *ph)
{
    if (!ph->how.tile)
        return 0;
    if (ph->how.walk == KN_WALK_ROWS)
        return transposing_rows(ph);
    const int tile = ph->how.tile, width = kn_cols_width(ph);
    const double members = (double)ph->nest.members, groups = (double)ph->nest.groups;
    double sum = 0;
    for (int i = 0; i < ph->how.transposes.len; i++) {
        const kn_transpose *t = &ph->how.transposes.data[i];
        const int sweeps = t->store || kn_kept(ph, t->of) ? 1 : kn_value_at(ph, t->of)->sweeps;
        if (kn_in_tile(t))
            sum += sweeps * (TILE_COST + (double)TILE_STEP_COST / t->vec);
    }
    if (ph->nest.reds.len == 0) {
        const double share = least(members, (double)ph->num.chunk) * width / m->k->threads;
        sum += (TILE_START_COST + AXIS_COST * (ph->nest.ngroup - 1)) / most(1, share);
    }
    return sum * (double)kn_round_up(ph->nest.members, tile) / members *
           (double)kn_round_up(ph->nest.groups, width) / groups;
}

/* Elements that lanes have steps for, by each that there is: of whole planes; of the vectors of rows, which the lanes of a warp mostly
 * do not share evenly, and of edges by run, of which a lane has one a step. Warps without any pass by. An edge that rescales what was
 * summed takes as long as a vector does. */
static double used_lanes(const kn_phase *ph)
{
    if (ph->how.planes)
        return (double)kn_threads_step(ph) / kn_phase_step(ph);
    const bool divided = ph->how.split || (ph->how.cluster && !ph->how.by_run);
    if (ph->how.walk != KN_WALK_ROWS || divided || ph->how.unaligned || ph->how.linear ||
        ph->nest.members == 0)
        return 1;
    const double members = (double)ph->nest.members, lanes = least(ph->how.tpg, WARP),
                 vectors = ceil((double)kn_phase_counted(ph) / ph->how.vec),
                 edges =
                     ph->how.by_run ? (double)kn_phase_runs(ph) * (double)kn_phase_edges(ph) : 0,
                 edge = kn_has_state(ph, KN_STATE_PEAK) ? ph->how.vec : 1;
    return lanes * (ceil(vectors / lanes) * ph->how.vec + ceil(edges / lanes) * edge) / members;
}

double kn_model_additions(kn_model *m, const kn_phase *ph)
{
    /* the check whether a vector is the first or the last of a row; and twice where threads bring it to shared memory of a
     * cluster */
    const bool brought = ph->how.cluster && ph->num.splits > 1 && !ph->how.async;
    const double unaligned_rows = brought ? 2 : 1.2;
    const bool gpu = m->target->sm != 0;
    double sum = 0;
    for (int s = 0; s < ph->nest.nsweeps; s++) {
        kn_model_at_sweep(m, ph, s);
        for (int i = 0; i < ph->nest.values.len; i++) {
            const kn_value *v = &ph->nest.values.data[i];
            if (!m->need[i] || v->level != KN_ELEMENT || kn_is_found(ph, i, s))
                continue;
            int cost = v->kind == KN_V_ELEM ? kn_ops[v->op].cost : KN_LOAD_COST;
            if (!gpu && kn_is_elem(v, KN_OP_DIV) && v->dtype == KN_F32)
                cost = CPU_DIVISION;
            const bool strided = !gpu && is_strided(ph, i), near = strided && is_near(ph, i);
            cost += strided && !near ? STRIDED_COST : 0;
            sum += near ? NEAR_COST : 0;
            cost += v->kind == KN_V_LOAD && kn_is_shifted(ph, i) ? SHIFT_COST : 0;
            bool costly = cost > KN_FUNCTION_COST;
            double wide = v->dtype != KN_F64 ? 1 : costly ? m->m->wide : DOUBLE;
            if (gpu && is_renamed(ph, v))
                continue;
            if (gpu && v->kind == KN_V_ELEM && kn_is_int(v->dtype) && kn_bytes(v->dtype) == 8)
                wide = costly ? QUOTIENT : DOUBLE;
            if (gpu && is_approximated(ph, m->k->fast, i))
                wide /= KN_APPROXIMATED;
            sum += cost * wide * (gpu ? a_lane(ph, i) : 1);
        }
    }
    for (int i = 0; i < ph->nest.reds.len; i++)
        sum += accumulating(ph, i) * (ph->nest.reds.data[i].dtype == KN_F64 ? DOUBLE : 1);
    sum *= gpu ? used_lanes(ph) : 1;
    int more = kn_stepped_axes(ph) - 1 - ph->how.planes;
    const double full = ph->how.full ? (double)ph->how.full / ph->how.steps : 0;
    double step = full * FULL_COST + (1 - full) * STEP_COST +
                  (ph->how.linear ? 0 : AXIS_COST * (more > 0 ? more : 0));
    const double vectors =
        ph->how.by_run ? (double)kn_phase_vectors(ph, ph->nest.members) / (double)ph->nest.members
                       : 1.0 / ph->how.vec;
    sum += gpu ? ph->nest.nsweeps * step * vectors : 0;
    sum += ph->how.linear ? LANE_AXIS_COST * more * finds_indices(ph) : 0;
    sum += gpu ? transposing(m, ph) : ph->how.walk == KN_WALK_COLS ? turning(ph) : 0;
    return ph->how.unaligned ? sum * unaligned_rows : sum;
}

/* Additions of each thread that works on a group of rows, once: its results' combines, and what is computed of them. */
static double additions_a_group(const kn_phase *ph)
{
    const int lanes = ph->how.tpg < 32 ? ph->how.tpg : 32;
    double sum = GROUP_COST, combine = SHUFFLE_COST * log2(lanes);
    if (kn_by_block(ph))
        combine = 2 * combine + RANGE_COST;
    for (int i = 0; i < ph->nest.reds.len; i++) {
        const bool plain = kn_red_state(ph, i) == KN_STATE_PLAIN;
        if (kn_red_owner(ph, i) == i)
            sum += combine * (plain ? 1 : 2);
    }
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = kn_value_at(ph, i);
        if (v->level == KN_GROUP && v->kind == KN_V_ELEM)
            sum += ONCE * kn_ops[v->op].cost;
    }
    return sum;
}

/* Lanes of all tiles of columns: the idle ones of the last tile take the time of the others. */
static double lanes_of(const kn_model *m, const kn_phase *ph)
{
    const int64_t width = kn_cols_width(ph), groups = ph->nest.groups;
    const bool tiles = m->target->sm && ph->how.walk == KN_WALK_COLS && !ph->how.packed &&
                       !ph->how.interleaved && !ph->how.scatter_sum && !ph->how.tile;
    return (double)(tiles ? kn_ceil_div(groups, width) * width : groups);
}

double kn_model_all_additions(kn_model *m, const kn_phase *ph)
{
    double members = (double)ph->nest.members,
           testing = m->target->sm ? kn_model_compacting_blocks(ph) : 1;
    const double groups = (double)ph->nest.groups;
    /* what divides a group over the machine waits for others, in the meantime */
    const bool rows = m->target->sm && ph->how.walk == KN_WALK_ROWS && !ph->how.mixed &&
                      !ph->how.split && !ph->how.last_block;
    const double threads = ph->how.tpg * (ph->how.cluster ? (double)ph->num.splits : 1);
    const bool cpu_rows = !m->target->sm && ph->how.walk == KN_WALK_ROWS && ph->nest.ngroup > 0;
    return lanes_of(m, ph) * members * kn_model_part_found(ph) * kn_model_additions(m, ph) +
           (rows       ? groups * threads * additions_a_group(ph)
            : cpu_rows ? groups * ph->nest.nsweeps * of_a_row(ph)
                       : 0) +
           (ph->how.scatter_sum ? testing * members * COMPACT_COST : 0);
}
