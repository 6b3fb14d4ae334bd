/* The shape of a phase: see bind.h. */
#include "codegen/kir/scatter_sum.h"
#include "codegen/sched/bind.h"

/* Are rows whose transposed loads go through tiles predicted to be clearly quicker than what was found without? Where tiles are
 * forced, it has none. */
static bool takes_rows(const kn_site *at, const kn_phase *rows, const kn_phase *ph)
{
    const double clearly = 0.9;
    return at->force->division == KN_DIVIDE_TILES
               ? !ph->how.tile
               : kn_predict_phase_ns(at, rows) < clearly * kn_predict_phase_ns(at, ph);
}

/* Is it less for a CPU's arithmetic than ph? What the two move is the same. */
static bool is_less_work(const kn_site *at, const kn_phase *cols, const kn_phase *ph)
{
    return kn_predict_phase(at, cols).work < kn_predict_phase(at, ph).work;
}

static void shape(const kn_site *at, kn_phase *ph)
{
    if (!ph->how.split) {
        ph->num.splits = 1;
        ph->num.chunk = ph->nest.members;
    }
    kn_count_sweeps(at->arena, ph);
    if (ph->local)
        return;
    kn_defer_gathers(at->arena, ph);
    kn_scatter_sum sum;
    ph->how.scatter_sum = kn_find_scatter_sum(ph, &sum);
    ph->how.walk = kn_walker_for(ph)->walk;
    kn_schedule_vectors(at, ph);
    if (ph->how.scatter_sum) {
        kn_schedule_scatter_sum(at, ph);
        return;
    }
    if (at->force->division == KN_DIVIDE_BY_COST)
        kn_schedule_packed(at, ph);
    if (ph->how.packed)
        return;
    kn_phase rows, cols;
    const bool tiled =
        kn_schedule_tile_of_rows(at, ph, &rows) || kn_schedule_cpu_tile_of_rows(at, ph, &rows);
    kn_schedule_transposes(at, ph);
    kn_schedule_cluster(at, ph);
    kn_schedule_mixed_cluster(at, ph);
    kn_schedule_mixed_runs(at, ph);
    kn_schedule_columns(at, ph);
    kn_interleave_if_quicker(at, ph);
    if (tiled && takes_rows(at, &rows, ph))
        *ph = rows;
    else if (kn_schedule_cpu_columns(at, ph, &cols) && is_less_work(at, &cols, ph))
        *ph = cols;
}

/* Does a load of such a phase take less than 4 bytes at a time, and are there enough elements that memory is what it waits for? What is
 * predicted says little of it: columns are divided later, so that narrow vectors fill the machine too (measured:
 * docs/lab/vectors-of-aligned-words.md). */
static bool loads_narrowly(const kn_phase *ph)
{
    enum { NARROW = 4, MANY = 1 << 22 };
    bool narrow = false;
    for (int i = 0; i < ph->nest.values.len; i++)
        narrow = narrow || (kn_value_at(ph, i)->kind == KN_V_LOAD &&
                            kn_bytes(kn_value_at(ph, i)->dtype) * ph->how.vec < NARROW);
    return narrow && (double)ph->nest.groups * (double)ph->nest.members >= MANY;
}

/* Is a phase of columns that loads narrowly better with vectors that are assembled? Where that makes such a load wider. Not of interleaved
 * members: what was expected of them often was not what the binder made (same note). */
static bool is_better_assembled(const kn_phase *with, const kn_phase *without)
{
    return kn_is_assembled(with) && with->how.vec > without->how.vec && !with->how.interleaved;
}

void kn_shape_phase(const kn_site *at, kn_phase *ph)
{
    const bool all = at->force->assembling == KN_ASSEMBLE_ALL;
    kn_phase assembled = *ph;
    ph->how.assembled = false;
    shape(at, ph);
    if (at->force->assembling == KN_ASSEMBLE_NONE || !(all || loads_narrowly(ph)) ||
        !kn_may_assemble(at, ph))
        return;
    assembled = kn_phase_copy(at->arena, &assembled);
    assembled.how.assembled = true;
    shape(at, &assembled);
    if (all ? kn_is_assembled(&assembled) : is_better_assembled(&assembled, ph))
        *ph = assembled;
}
