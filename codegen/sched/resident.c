/* Values persistent across the grid barrier: what the split phases of a kernel load again after a grid barrier stays
 * in shared memory, each element with the thread that loaded it. So nobody waits for it, and memory is read once.
 *
 * Why that is right: the phases are split alike, and every block walks the same cyclic partition of the same groups
 * in each of them. So step n of a thread has the same elements in all of them, and its own place in shared memory.
 * There is room for kn_kernel.resident_steps steps. Later steps, and all but the first of a block's groups, are
 * loaded again. Neither the sizes nor the number of blocks that a launch really has decide whether results are right,
 * only how much is loaded again.
 *
 * Mixed phases likewise: those with the same parts have each group of a part with the same threads, and there is room
 * for the first groups of each. */
#include "codegen/model/resources.h"
#include "codegen/sched/sched.h"

enum {
    LEAST_MEMBERS = 1024,     /* the fewest members of a row that make a range worth a block */
    STATIC_BYTES = 24 * 1024, /* static shared memory of blocks of columns, at most */
};

static bool in_columns(const kn_phase *ph) { return ph->how.walk == KN_WALK_COLS; }

/* Blocks that share a multiprocessor's shared memory. Columns are taken tile by tile: twice as many blocks, of half
 * the size, divide the work more evenly. */
static int blocks_a_unit(const kn_phase *ph) { return in_columns(ph) ? 2 : 1; }

int kn_mixed_min_blocks(const kn_target *target, int threads)
{
    int at_once = target->max_threads_unit / 2 / threads;
    return at_once > 1 ? at_once : 1;
}

/* Groups that a block of a split phase takes at a time. */
static int64_t width_of(const kn_phase *ph)
{
    return ph->how.interleaved ? kn_cols_width(ph)
           : in_columns(ph)    ? (int64_t)KN_COLS_LANES * ph->how.vec
                               : 1;
}

/* Shared memory that is left to each of so many blocks besides `used` bytes. */
static int64_t room_besides(int blocks, const kn_target *target, int64_t used)
{
    return (target->smem_block + KN_RESERVED_BYTES) / blocks - KN_RESERVED_BYTES - used;
}

kn_range kn_resident_ranges(const kn_phase *ph, const kn_target *target, bool forced)
{
    const kn_range none = {.n = 1, .length = ph->nest.members};
    if (target->sm == 0 || !target->cooperative || ph->how.walk == KN_WALK_FLAT ||
        kn_phase_in_order(ph) || ph->how.tile || !kn_reread_each(ph) || ph->nest.groups == 0)
        return none;
    int64_t side = kn_ceil_div(ph->nest.groups, width_of(ph));
    int64_t blocks = (int64_t)target->units * blocks_a_unit(ph), want = blocks / side;
    int64_t most =
        kn_ceil_div(ph->nest.members, in_columns(ph) ? KN_LEAST_OF_COLUMN : LEAST_MEMBERS);
    bool idle = want * side * 4 < blocks * 3; /* a quarter of the blocks or more */
    want = want < most ? want : most;
    if (forced && want < 2)
        want = 2;
    if (want < 2 || (idle && !forced))
        return none;
    kn_range ranges = kn_ranges_of(ph->nest.members, want);
    ranges.resident = true;
    return ranges;
}

double kn_resident_part(const kn_phase *ph, const kn_target *target, int64_t length)
{
    double bytes = (double)length * (double)width_of(ph) * kn_reread_each(ph);
    double fit = (double)room_besides(blocks_a_unit(ph), target,
                                      in_columns(ph) ? STATIC_BYTES : KN_SCRATCH_BYTES);
    return fit < bytes ? fit / bytes : 1;
}

int64_t kn_mixed_room(const kn_target *target, int threads)
{
    return room_besides(kn_mixed_min_blocks(target, threads), target, STATIC_BYTES);
}

double kn_resident_part_of_mixed(const kn_target *target, int threads, double bytes)
{
    double fit =
        (double)room_besides(kn_mixed_min_blocks(target, threads), target, KN_SCRATCH_BYTES);
    return fit < bytes ? fit / bytes : 1;
}

/* Do both walk the same members of the same groups with the same workers, whatever their vectors? */
static bool alike(const kn_phase *a, const kn_phase *b)
{
    bool same = a->how.resident && b->how.resident && a->how.walk == b->how.walk &&
                a->nest.naxes == b->nest.naxes && a->nest.ngroup == b->nest.ngroup &&
                a->num.splits == b->num.splits && a->how.mixed == b->how.mixed &&
                (a->how.mixed ? a->num.parts == b->num.parts && a->num.rounds == b->num.rounds
                              : kn_is_cyclic(a) && kn_is_cyclic(b));
    for (int x = 0; same && x < a->nest.naxes; x++)
        same = a->nest.axes[x].extent == b->nest.axes[x].extent;
    return same;
}

/* And, once they are bound, has each thread the same of them in each step? */
static bool step_alike(const kn_phase *a, const kn_phase *b)
{
    return alike(a, b) && a->how.vec == b->how.vec && a->how.tpg == b->how.tpg &&
           (!in_columns(a) ||
            (a->how.lanes == b->how.lanes && a->how.interleaved == b->how.interleaved));
}

/* The first resident phase; the number of phases if there is none. */
static int first_resident(const kn_kernel *k)
{
    int p = 0;
    while (p < k->phases.len && !k->phases.data[p].how.resident)
        p++;
    return p;
}

/* Undoes it for those that are like phase `first`, unless all of them are interleaved. */
static void lay_alike(const kn_site *at, kn_kernel *k, int first)
{
    bool interleaved = true;
    for (int p = first; p < k->phases.len; p++)
        if (alike(&k->phases.data[first], &k->phases.data[p]))
            interleaved = interleaved && k->phases.data[p].how.interleaved;
    for (int p = k->phases.len - 1; p >= first && !interleaved; p--)
        if (k->phases.data[p].how.interleaved && alike(&k->phases.data[first], &k->phases.data[p]))
            kn_undo_interleaving(at, &k->phases.data[p]);
}

void kn_resident_align(const kn_site *at, kn_kernel *k)
{
    int first = first_resident(k), vec = 8, lanes = 0;
    lay_alike(at, k, first);
    for (int p = first; p < k->phases.len; p++)
        if (alike(&k->phases.data[first], &k->phases.data[p]) && k->phases.data[p].how.vec < vec)
            vec = k->phases.data[p].how.vec;
    for (int p = first; p < k->phases.len; p++) {
        kn_phase *ph = &k->phases.data[p];
        if (!alike(&k->phases.data[first], ph))
            continue;
        kn_schedule_as(k->arena, ph, vec);
        ph->how.assembled = kn_is_assembled(ph);
        if (ph->how.mixed && kn_mixed_lanes(ph) > lanes)
            lanes = kn_mixed_lanes(ph);
    }
    for (int p = first; p < k->phases.len; p++)
        if (k->phases.data[p].how.mixed && alike(&k->phases.data[first], &k->phases.data[p]))
            k->phases.data[p].how.lanes = lanes;
}

/* Has the load an element for each member, which nobody writes from phase p on? */
static bool stays(const kn_kernel *k, int p, int value)
{
    const kn_phase *ph = &k->phases.data[p];
    const kn_value *v = kn_value_at(ph, value);
    if (v->kind != KN_V_LOAD || v->level != KN_ELEMENT || (kn_kept(ph, value) && !ph->how.mixed) ||
        (ph->how.mixed && kn_same_for_groups(ph, v)) ||
        v->access->kind[kn_phase_vector_axis(ph)] == KN_STRIDE_ZERO)
        return false;
    for (int q = p; q < k->phases.len; q++)
        if (kn_stores_to(&k->phases.data[q], v->access->buf))
            return false;
    return true;
}

/* Marks the loads of this access as resident, at byte `at` of a step; false if there are none. */
static bool mark(kn_arena *a, kn_phase *ph, const kn_access *acc, int at)
{
    bool any = false;
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = kn_value_at(ph, i);
        if (v->kind != KN_V_LOAD || v->level != KN_ELEMENT || !kn_access_same(v->access, acc))
            continue;
        any = true;
        kn_hold_value(a, ph, i, KN_KEEP_RESIDENT)->offset = at;
    }
    return any;
}

/* Marks what phase p loads and later ones load again; returns the resident bytes of a thread's step, of which `at`
 * were there before. */
static int mark_all(kn_kernel *k, int p, int at)
{
    kn_phase *ph = &k->phases.data[p];
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value v = ph->nest.values.data[i];
        bool again = false;
        for (int q = p + 1; q < k->phases.len && stays(k, p, i); q++)
            again |= step_alike(ph, &k->phases.data[q]) &&
                     mark(k->arena, &k->phases.data[q], v.access, at);
        if (again) {
            mark(k->arena, ph, v.access, at);
            at += ph->how.vec * kn_bytes(v.dtype);
        }
    }
    return at;
}

static void unmark(kn_kernel *k)
{
    for (int p = 0; p < k->phases.len; p++) {
        kn_phase *ph = &k->phases.data[p];
        for (int i = 0; i < ph->nest.values.len; i++)
            if (kn_kept(ph, i) == KN_KEEP_RESIDENT && ph->how.mixed)
                kn_hold_value(k->arena, ph, i, KN_KEEP_REGISTERS);
            else if (kn_kept(ph, i) == KN_KEEP_RESIDENT)
                kn_release_value(ph, i);
    }
}

/* Shared memory of a block that is left for what phase `ph` keeps. */
static int64_t room(const kn_kernel *k, const kn_phase *ph, const kn_target *target)
{
    int scratch = kn_kernel_static_bytes(k);
    scratch = scratch > KN_SCRATCH_BYTES ? scratch : KN_SCRATCH_BYTES;
    return room_besides(ph->how.mixed ? k->min_blocks : blocks_a_unit(ph), target,
                        scratch + k->shared);
}

void kn_resident_keep(kn_kernel *k, const kn_target *target)
{
    int first = first_resident(k), bytes = 0;
    const kn_phase *ph = &k->phases.data[first];
    if (first == k->phases.len ||
        (ph->how.walk == KN_WALK_ROWS && !ph->how.mixed && !kn_by_block(ph)))
        return;
    for (int p = first; p < k->phases.len; p++)
        if (step_alike(ph, &k->phases.data[p]))
            bytes = mark_all(k, p, bytes);
    if (!bytes)
        return;
    int64_t step = (int64_t)k->threads * bytes, fit = room(k, ph, target) / step;
    int64_t steps = kn_steps_of_part(ph, k->threads);
    if (ph->how.mixed)
        fit -= fit % ph->how.steps; /* whole groups */
    if (fit < 1) {
        unmark(k);
        return;
    }
    k->resident_steps = fit < steps ? fit : steps;
    k->shared += k->resident_steps * step;
}
