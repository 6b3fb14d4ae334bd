/* Groups abreast: short runs of several groups, which lie one behind the other in memory, make one long run. Threads go along
 * it by whole vectors, which groups share, whatever the length of a group's run; each thread has the same columns of the
 * run in all that follows, adds up what these have of the other members, and what a group's columns add up to is found at
 * the end.
 *
 *     members           x[n, c, p]: p from 0 to 6 within a group, groups c of a tile abreast, rows of threads along n
 *
 *                       c  0 0 0 0 0 0 0 1 1 1 1 1 1 1 2 2 2 2 2 2 2 3 3 3 3 3 3 3
 *       thread of a row    0       1       2       3       4       5       6           vectors of 4
 *
 * Batchnorm of (32,2048,7,7), one H200, us:
 *     a block a channel, element by element: 256 threads 15.0, 128 13.9, 64 13.9, a warp 14.5; in shared memory 15.0
 *     each run by aligned vectors of its own, of which the first and the last are not whole: 14.7 to 17.4
 *     four channels abreast, 256 threads: 12.4, as it is generated 12.9; with 79 registers, so that three blocks instead of
 *     four share a multiprocessor, 15.6
 * Of 1024 channels a block a channel is quicker (9.4, not 10.2). NVRTC takes 1.7 times as long. */
#include "codegen/kir/call.h"
#include "codegen/model/resources.h"
#include "codegen/sched/sched.h"

enum {
    VECTOR = 4, /* elements of a load, of 4 bytes */
    STEPS = 7,  /* of a thread; eight spill where four blocks share a multiprocessor */
    LANES = 64, /* of a row of threads, about */
    MOST_THREADS = 256,
    WARP = 32,
    MOST_BESIDE = 4,   /* registers of each lane beside what it keeps */
    CHEAP = 4,         /* additions: beyond it is a function */
    BLOCKS_A_UNIT = 3, /* fewer leave loads and stores to wait for each other */
};

int kn_packed_threads(const kn_phase *ph)
{
    int64_t threads = (int64_t)ph->how.tpg * ph->how.lanes, warps = ph->num.pack * WARP;
    return (int)kn_power_of_two_from(threads > warps ? threads : warps);
}

static int64_t run_of(const kn_phase *ph) { return ph->nest.axes[ph->nest.naxes - 1].extent; }

/* Do an array's runs of one group begin where those of the group before end, and vectors with them? */
static bool runs_on(const kn_phase *ph, const kn_access *acc, const kn_buf *buf, int align)
{
    int va = ph->nest.naxes - 1, bytes = kn_bytes(buf->dtype) * VECTOR;
    bool on = acc->stride[va] == 1 && acc->stride[0] == run_of(ph) && acc->offset % VECTOR == 0 &&
              bytes <= 16 && align % bytes == 0;
    for (int a = ph->nest.ngroup; a < va; a++)
        on = on && (ph->nest.axes[a].extent == 1 || acc->stride[a] % VECTOR == 0);
    return on;
}

/* Is it the same for all elements of a group? */
static bool is_of_group(const kn_phase *ph, const kn_access *acc)
{
    for (int a = ph->nest.ngroup; a < ph->nest.naxes; a++)
        if (acc->axes >> a & 1)
            return false;
    return true;
}

/* Lanes have no quotients that are one division a group (cuda_text.c), and indices of their own groups only. */
static bool value_fits(const kn_phase *ph, int i, const int *align, const kn_buf *bufs)
{
    const kn_value *v = &ph->nest.values.data[i];
    if (v->kind == KN_V_LOAD && v->level == KN_GROUP)
        return is_of_group(ph, &v->access);
    if (v->kind == KN_V_LOAD)
        return kn_is_reread(ph, i) &&
               runs_on(ph, &v->access, &bufs[v->access.buf], align[v->access.buf]);
    if (v->kind == KN_V_ELEM && v->level == KN_ELEMENT)
        return kn_ops[v->op].cost <= CHEAP && v->op != KN_OP_DIV && kn_bytes(v->dtype) <= 4;
    return v->kind != KN_V_LOCAL && v->kind != KN_V_INDEX && v->kind != KN_V_GATHER;
}

static bool store_fits(const kn_phase *ph, const kn_store *s, const int *align, const kn_buf *bufs)
{
    int buf = s->access.buf;
    return !s->once &&
           (s->kind == KN_STORE_GROUP     ? is_of_group(ph, &s->access)
            : s->kind == KN_STORE_ELEMENT ? runs_on(ph, &s->access, &bufs[buf], align[buf])
                                          : false);
}

static int registers(kn_dtype t) { return kn_bytes(t) > 4 ? kn_bytes(t) / 4 : 1; }

/* Registers that a thread has of each lane in a sweep beside what it keeps: sums, and what elements use of their groups. */
static int registers_beside(const kn_phase *ph, int sweep, bool *need)
{
    int n = 0;
    kn_phase_needs(ph, sweep, need);
    for (int r = 0; r < ph->nest.reds.len; r++)
        n += ph->nest.reds.data[r].stage == sweep ? registers(ph->nest.reds.data[r].dtype) : 0;
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = &ph->nest.values.data[i];
        bool shared = v->kind == KN_V_CONST || v->kind == KN_V_SCALAR || v->kind == KN_V_EXTENT;
        if (v->level == KN_GROUP && !shared && kn_is_broadcast(ph, i, sweep, need))
            n += registers(v->dtype);
    }
    return n;
}

/* One array that is kept and nothing else of its size, cheap operations: registers would not do. */
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
        all = registers_beside(ph, t, need) <= MOST_BESIDE;
    return all;
}

/* Rows of threads for about as many columns as they are to be, of whole groups, `together` or twice, three times ... as
 * many, and as many rows as leave a thread so few steps; a warp a group, too, for what is computed once. */
static bool fill_block(kn_phase *ph, int64_t together, int limit)
{
    int64_t most = LANES * VECTOR / run_of(ph);
    most = most < limit / WARP ? most : limit / WARP;
    ph->num.pack = most < together ? together : most / together * together;
    ph->how.lanes = (int)(ph->num.pack * run_of(ph) / VECTOR);
    ph->how.tpg = (int)kn_ceil_div(ph->nest.members / run_of(ph), STEPS);
    return kn_packed_threads(ph) <= limit;
}

void kn_schedule_packed(kn_arena *a, kn_phase *ph, const int *align, const kn_buf *bufs,
                        const kn_target *target, int max_threads)
{
    int limit = max_threads && max_threads < MOST_THREADS ? max_threads : MOST_THREADS;
    if (target->sm == 0 || ph->how.walk != KN_WALK_ROWS || !ph->alone || ph->universal ||
        ph->how.split || ph->how.mixed || ph->local || ph->how.vec >= VECTOR ||
        ph->nest.ngroup != 1 || kn_phase_one_run(ph) || ph->nest.groups == 0 ||
        ph->nest.members == 0 || kn_reread_element(ph) != 4)
        return;
    int64_t together = VECTOR / kn_common_divisor(run_of(ph), VECTOR);
    kn_phase abreast = *ph;
    if (ph->nest.groups % together != 0 || !fits(a, ph, align, bufs) ||
        !fill_block(&abreast, together, limit) ||
        ph->nest.groups / abreast.num.pack < BLOCKS_A_UNIT * target->units)
        return;
    abreast.how.walk = KN_WALK_COLS;
    abreast.how.packed = true;
    abreast.how.steps = STEPS;
    *ph = abreast;
    kn_schedule_as(ph, VECTOR);
}
