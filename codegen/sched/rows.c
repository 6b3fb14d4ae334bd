#include "codegen/sched/sched.h"

/* Data registers a thread may spend on values kept from one sweep to the next, and the most steps they
 * are spread over: eight 16-byte loads in flight a thread. */
enum { KEEP_REGISTERS = 64, KEEP_STEPS = 8, WARP = 32 };

/* Static shared memory that a kernel may use beside what it keeps there. */
enum { SCRATCH_BYTES = 8192 };

static bool can(const kn_phase *ph)
{
    (void)ph;
    return true;
}

static int64_t steps(const kn_phase *ph)
{
    int64_t members = ph->split ? ph->chunk : ph->members;
    return (members + ph->vec - 1) / ph->vec;
}

/* Loads that several sweeps need and that differ along the members. */
static bool is_reread(const kn_phase *ph, int value)
{
    const kn_value *v = &ph->values.data[value];
    int va = kn_phase_vector_axis(ph);
    return v->kind == KN_V_LOAD && v->level == KN_ELEMENT && v->sweeps > 1 && va >= 0 &&
           v->access.kind[va] != KN_STRIDE_ZERO;
}

/* The most steps a thread can take with everything that is read again kept in registers; 0 when there is
 * nothing to keep or the machine has no registers to speak of. */
static int keepable_steps(const kn_phase *ph, const kn_target *target)
{
    int words = 0;
    if (target->sm == 0 || ph->split || ph->nsweeps < 2)
        return 0;
    for (int i = 0; i < ph->values.len; i++)
        if (is_reread(ph, i))
            words += ph->vec * (kn_bytes(ph->values.data[i].dtype) + 3) / 4;
    if (!words || words > KEEP_REGISTERS)
        return 0;
    int most = 1;
    while (most * 2 <= KEEP_STEPS && most * 2 * words <= KEEP_REGISTERS)
        most *= 2;
    return most;
}

static int64_t power_of_two_from(int64_t n)
{
    int64_t p = 1;
    while (p < n)
        p *= 2;
    return p;
}

/* Lanes that cover n steps when each takes at most `most` of them. */
static int64_t lanes_for(int64_t n, int most) { return power_of_two_from((n + most - 1) / most); }

static bool registers_keep(const kn_phase *ph, const kn_target *target)
{
    int most = keepable_steps(ph, target);
    return most && lanes_for(steps(ph), most) <= target->max_block;
}

/* Do the group's values fit in a block's shared memory? Only in a kernel of one phase: others launch as
 * many blocks as fit at a time, which shared memory would cut down. Values of one width keep their
 * alignment side by side. */
static bool shared_keeps(const kn_phase *ph, const kn_target *target)
{
    int64_t bytes = 0;
    int width = 0;
    if (target->sm == 0 || !ph->alone || ph->split || ph->nsweeps < 2)
        return false;
    for (int i = 0; i < ph->values.len; i++) {
        int own = kn_bytes(ph->values.data[i].dtype);
        if (!is_reread(ph, i))
            continue;
        if (width && width != own)
            return false;
        width = own;
        bytes += steps(ph) * ph->vec * own;
    }
    return width && bytes <= target->smem_block - SCRATCH_BYTES;
}

bool kn_rows_keep(const kn_phase *ph, const kn_target *target)
{
    return registers_keep(ph, target) || shared_keeps(ph, target);
}

/* Where a group's values fit in registers, as many threads as that takes; else a block a group from some
 * hundred steps on, and several groups a block below. */
static int threads(const kn_phase *ph, const kn_target *target)
{
    int64_t n = steps(ph);
    int most = keepable_steps(ph, target);
    int want = n <= 1024                                ? 128
               : n <= 8192 && !shared_keeps(ph, target) ? 256
               : ph->split                              ? 512
                                                        : 1024;
    if (registers_keep(ph, target)) {
        want = (int)lanes_for(n, most);
        want = want <= WARP ? 128 : want;
    }
    return want < target->max_block ? want : target->max_block;
}

static void keep(kn_phase *ph, kn_keep where)
{
    if (where == KN_KEEP_REGISTERS)
        ph->steps = (int)power_of_two_from((steps(ph) + ph->tpg - 1) / ph->tpg);
    for (int i = 0; i < ph->values.len; i++)
        if (is_reread(ph, i))
            ph->values.data[i].kept = where;
}

static void bind(kn_phase *ph, const kn_target *target, int block)
{
    int64_t n = steps(ph), work = ph->groups * ph->splits;
    int most = keepable_steps(ph, target);
    bool crowded =
        work >= target->units * 8; /* groups enough to give each only a part of a block */
    ph->steps = 0;
    ph->tpg = block;
    if (most && lanes_for(n, most) <= WARP && (n <= 128 || crowded)) {
        ph->tpg = (int)lanes_for(n, most);
        keep(ph, KN_KEEP_REGISTERS);
    } else if (most && n <= (int64_t)most * block) {
        keep(ph, KN_KEEP_REGISTERS);
    } else if (n > 512 && shared_keeps(ph, target)) {
        keep(ph, KN_KEEP_SHARED);
    } else if (n <= 128 || (n <= 512 && crowded)) {
        ph->tpg = 1; /* at least two steps a lane, at most a warp */
        while (ph->tpg < WARP && ph->tpg * 2 < n)
            ph->tpg *= 2;
    }
}

const kn_schedule kn_sched_rows = {"rows", KN_WALK_ROWS, can, threads, bind};
