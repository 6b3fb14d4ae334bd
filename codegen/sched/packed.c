/* Row packing. Short runs of several groups that are contiguous in memory are walked as one long run, by whole
 * vectors, which may span groups, whatever the length of a group's run. A thread has the same columns of the packed
 * row in every step, and accumulates each of them over the other members; at the end the columns of each group are
 * added up.
 *
 *     members           x[n, c, p]: p from 0 to 6 within a group, groups c packed next to each other, rows of threads along n
 *
 *                       c  0 0 0 0 0 0 0 1 1 1 1 1 1 1 2 2 2 2 2 2 2 3 3 3 3 3 3 3
 *       thread of a row    0       1       2       3       4       5       6           vectors of 4
 *
 * It pays with several blocks a multiprocessor; for fewer groups a block a group is faster (measured:
 * docs/lab/row-packing.md). */
#include "codegen/kir/call.h"
#include "codegen/model/resources.h"
#include "codegen/sched/sched.h"

enum {
    VECTOR = 4, /* elements a load, of 4 bytes each */
    STEPS = 7,  /* a thread; eight would spill where four blocks share a multiprocessor */
    LANES = 64, /* a row of threads, about */
    MOST_THREADS = 256,
    WARP = 32,
    MOST_LANE_WORDS = 4, /* registers a lane besides those of kept values */
    CHEAP = 4,           /* in additions: costlier operations are functions */
    BLOCKS_A_UNIT = 3,   /* with fewer, loads and stores wait for each other */
};

int kn_packed_threads(const kn_phase *ph)
{
    int64_t threads = (int64_t)ph->how.tpg * ph->how.lanes, warps = ph->num.pack * WARP;
    return (int)kn_power_of_two_from(threads > warps ? threads : warps);
}

static int64_t run_of(const kn_phase *ph) { return ph->nest.axes[ph->nest.naxes - 1].extent; }

/* Does each group's run begin where the previous group's ends, and are vectors of it aligned? */
static bool is_contiguous(const kn_phase *ph, const kn_access *acc, const kn_buf *buf, int align)
{
    int va = ph->nest.naxes - 1, bytes = kn_bytes(buf->dtype) * VECTOR;
    bool on = acc->stride[va] == 1 && acc->stride[0] == run_of(ph) && acc->offset % VECTOR == 0 &&
              bytes <= 16 && align % bytes == 0;
    for (int a = ph->nest.ngroup; a < va; a++)
        on = on && (ph->nest.axes[a].extent == 1 || acc->stride[a] % VECTOR == 0);
    return on;
}

/* Is it the same for all members of a group? */
static bool is_of_group(const kn_phase *ph, const kn_access *acc)
{
    for (int a = ph->nest.ngroup; a < ph->nest.naxes; a++)
        if (acc->axes >> a & 1)
            return false;
    return true;
}

/* Packed lanes have no reciprocal a group to divide by, and no index along the members. */
static bool value_fits(const kn_phase *ph, int i, const int *align, const kn_buf *bufs)
{
    const kn_value *v = &ph->nest.values.data[i];
    if ((v->kind == KN_V_LOAD && v->level == KN_GROUP) || v->kind == KN_V_RANK)
        return is_of_group(ph, v->access);
    if (v->kind == KN_V_LOAD)
        return kn_is_reread(ph, i) &&
               is_contiguous(ph, v->access, &bufs[v->access->buf], align[v->access->buf]);
    if (v->kind == KN_V_ELEM && v->level == KN_ELEMENT)
        return kn_ops[v->op].cost <= CHEAP && v->op != KN_OP_DIV && kn_bytes(v->dtype) <= 4;
    return v->kind != KN_V_LOCAL && v->kind != KN_V_INDEX && v->kind != KN_V_GATHER;
}

static bool store_fits(const kn_phase *ph, const kn_store *s, const int *align, const kn_buf *bufs)
{
    int buf = s->access.buf;
    return !s->once &&
           (s->kind == KN_STORE_GROUP     ? is_of_group(ph, &s->access)
            : s->kind == KN_STORE_ELEMENT ? is_contiguous(ph, &s->access, &bufs[buf], align[buf])
                                          : false);
}

/* One kept array and no other of its size, and cheap operations: there are no registers for more. */
static bool fits(kn_arena *a, const kn_phase *ph, const int *align, const kn_buf *bufs)
{
    bool all = ph->nest.reds.len > 0, *need = KN_NEW_ARRAY(a, bool, ph->nest.values.len + 1);
    for (int i = 0; i < ph->nest.values.len; i++)
        all = all && value_fits(ph, i, align, bufs);
    for (int i = 0; i < ph->nest.stores.len; i++)
        all = all && store_fits(ph, &ph->nest.stores.data[i], align, bufs);
    for (int r = 0; r < ph->nest.reds.len; r++)
        all = all && kn_red_state(ph, r) == KN_STATE_PLAIN && !ph->nest.reds.data[r].across;
    for (int t = 0; all && t < ph->nest.nsweeps; t++)
        all = kn_packed_lane_words(ph, t, need) <= MOST_LANE_WORDS;
    return all;
}

/* Sizes the block: a row has about LANES threads, with `whole` groups or a multiple, so that vectors end with the
 * last group; so many rows that a thread has at most STEPS steps; and a warp for each group, to compute group values
 * once. */
static bool fill_block(kn_phase *ph, int64_t whole, int limit)
{
    int64_t most = LANES * VECTOR / run_of(ph);
    most = most < limit / WARP ? most : limit / WARP;
    ph->num.pack = most < whole ? whole : most / whole * whole;
    ph->how.lanes = (int)(ph->num.pack * run_of(ph) / VECTOR);
    ph->how.tpg = (int)kn_ceil_div(ph->nest.members / run_of(ph), STEPS);
    return kn_packed_threads(ph) <= limit;
}

void kn_schedule_packed(const kn_site *at, kn_phase *ph)
{
    const kn_target *target = at->target;
    const int max_threads = at->force->max_threads;
    int limit = max_threads && max_threads < MOST_THREADS ? max_threads : MOST_THREADS;
    if (target->sm == 0 || ph->how.walk != KN_WALK_ROWS || !ph->alone || ph->universal ||
        kn_is_invariant(ph) || ph->how.split || ph->how.mixed || ph->local ||
        ph->how.vec >= VECTOR || ph->nest.ngroup != 1 || kn_phase_one_run(ph) ||
        ph->nest.groups == 0 || ph->nest.members == 0 || kn_reread_element(ph) != 4)
        return;
    int64_t whole = VECTOR / kn_common_divisor(run_of(ph), VECTOR);
    kn_phase packed = *ph;
    if (ph->nest.groups % whole != 0 || !fits(at->arena, ph, at->align, at->bufs) ||
        !fill_block(&packed, whole, limit) ||
        ph->nest.groups / packed.num.pack < BLOCKS_A_UNIT * target->units)
        return;
    packed.how.walk = KN_WALK_COLS;
    packed.how.packed = true;
    packed.how.steps = STEPS;
    *ph = packed;
    kn_schedule_as(at->arena, ph, VECTOR);
}
