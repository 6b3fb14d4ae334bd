/* Interleaved columns. A contiguous array of N members by C columns is also one of N / r rows of r * C: r neighbouring members side
 * by side. Walked so, all lanes of a block are on contiguous memory, by aligned vectors, however narrow the columns are and
 * whatever their number:
 *
 *     3 columns         c  0 1 2 | 0 1 2 | 0 1 2 | 0 1 2       4 interleaved members
 *     3 lanes           |---0---|---1---|---2---|              of vectors of 4
 *
 * As the interleaved members are whole vectors, a lane has the same columns in every step and accumulates each of them; then the
 * block adds up what it has of each column in shared memory. Values of a group, which a thread has for each of its columns, are
 * those of the column's number modulo C. The vector in which the last member ends may have elements beyond it, and goes lane by
 * lane.
 *
 * Whether that is quicker than neighbouring threads on neighbouring columns is predicted. */
#include "codegen/model/resources.h"
#include "codegen/sched/sched.h"

/* Lanes: registers for two blocks of so many threads share a multiprocessor. */
enum { LANES = 512 };

/* Have the lanes of its tiles all a group? */
static bool fills_lanes(const kn_phase *ph)
{
    return ph->nest.axes[ph->nest.ngroup - 1].extent % kn_cols_width(ph) == 0;
}

bool kn_interleave(const kn_site *at, kn_phase *ph)
{
    if (at->target->sm == 0 || ph->how.walk != KN_WALK_COLS || ph->how.packed ||
        ph->how.scatter_sum || ph->how.mixed || ph->universal || ph->nest.extents || ph->local ||
        kn_is_invariant(ph) || ph->nest.groups == 0 || ph->nest.members < 2 ||
        !kn_suits_interleaving(ph))
        return false;
    kn_phase with = kn_phase_copy(at->arena, ph);
    kn_leave_cluster(&with);
    with.how.interleaved = true;
    with.how.tile = with.how.transposes.len = with.how.steps = 0;
    kn_schedule_vectors(at, &with);
    kn_bind_interleaved(at, &with, LANES);
    if (kn_members_interleaved(&with) < 2 ||
        (ph->how.vec == with.how.vec && !ph->how.interleaved && fills_lanes(ph)))
        return false;
    *ph = with;
    return true;
}

void kn_undo_interleaving(const kn_site *at, kn_phase *ph)
{
    ph->how.interleaved = false;
    ph->how.tpg = 0;
    kn_schedule_vectors(at, ph);
    ph->how.assembled = kn_is_assembled(ph);
}

void kn_bind_interleaved(const kn_site *at, kn_phase *ph, int block)
{
    enum { MOST_STATIC = 24 * 1024 };
    const int most = at->force->max_threads ? at->force->max_threads : at->target->max_block;
    ph->how.tpg = 1;
    ph->how.lanes = block;
    while (ph->how.lanes > most)
        ph->how.lanes /= 2;
    while (ph->how.lanes > 32 && kn_static_bytes(ph, ph->how.lanes) > MOST_STATIC)
        ph->how.lanes /= 2;
}

/* Can a local phase lie as its host does, by vectors as wide? */
static bool local_suits(const kn_site *at, const kn_phase *local, const kn_phase *host)
{
    kn_phase with = *local;
    with.how.walk = KN_WALK_COLS;
    with.how.interleaved = true;
    bool suits = kn_suits_interleaving(local);
    for (int i = 0; suits && i < kn_accesses(local); i++) {
        const kn_access *acc = kn_element_access(local, i);
        suits = !acc || kn_vector_fits(&with, acc, &at->bufs[acc->buf], at->align[acc->buf],
                                       local->nest.ngroup - 1, host->how.vec);
    }
    return suits;
}

bool kn_locals_suit_interleaving(const kn_site *at, const kn_kernel *k, int p)
{
    const kn_phase *all = k->phases.data;
    bool suit = true;
    for (int i = kn_first_local(k, p); i < p; i++)
        suit = suit && (all[i].nest.ngroup == 0 || local_suits(at, &all[i], &all[p]));
    return suit;
}
