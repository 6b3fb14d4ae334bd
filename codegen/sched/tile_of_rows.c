/* Tiles of whole groups, on CPUs: of rows of which an array is contiguous along the groups, or along another axis of the members than
 * the last; and of columns of few members of which an array is contiguous along those. A worker copies a tile of neighbouring groups to
 * memory of its own, where lanes are contiguous; what is stored so it copies back (codegen/emit/c/tiled.c). Rows gain where the caches
 * move fewer bytes, for an element costs a line; columns where rows would begin and end too often. */
#include "codegen/sched/sched.h"

/* Few groups are read as quickly element by element. */
static bool is_transposed(const kn_phase *ph, const kn_access *acc)
{
    const int last = ph->nest.naxes - 1, group = ph->nest.ngroup - 1;
    bool any = ph->nest.axes[group].extent >= KN_LEAST_ROWS && kn_lies_along(acc, group, last);
    for (int a = ph->nest.ngroup; a < last; a++)
        any = any || kn_lies_along(acc, a, last);
    return any;
}

/* Has a group gaps, or another order, in the array? With a tile there is nothing to pack for each sweep. */
static bool is_in_runs(const kn_phase *ph, const kn_access *acc)
{
    const int last = ph->nest.naxes - 1;
    bool runs = false;
    for (int a = ph->nest.ngroup; a < last; a++)
        runs = runs || acc->stride[a] != acc->stride[a + 1] * ph->nest.axes[a + 1].extent;
    return runs && acc->stride[last] != 0;
}

/* The access of a load or store that could go through a tile, if any does; else NULL. */
static const kn_access *access_of(const kn_site *at, const kn_phase *ph, int i)
{
    const bool load = i < ph->nest.values.len;
    const kn_access *acc =
        load && ph->nest.values.data[i].kind != KN_V_LOAD ? NULL : kn_whole_access(ph, i);
    const int bytes = acc ? kn_bytes(at->bufs[acc->buf].dtype) : 0;
    return bytes > 1 && bytes <= 8 ? acc : NULL;
}

bool kn_suits_cpu_tile(const kn_site *at, const kn_phase *ph, int i)
{
    const kn_access *acc = access_of(at, ph, i);
    if (ph->how.walk == KN_WALK_COLS)
        return kn_lies_along(acc, ph->nest.naxes - 1, ph->nest.ngroup - 1);
    return acc && (is_transposed(ph, acc) || is_in_runs(ph, acc));
}

static bool any_is_transposed(const kn_site *at, const kn_phase *ph)
{
    bool any = false;
    for (int i = 0; i < kn_accesses(ph); i++) {
        const kn_access *acc = access_of(at, ph, i);
        any = any || (acc && is_transposed(ph, acc));
    }
    return any;
}

static bool may_have_tile(const kn_site *at, const kn_phase *ph)
{
    return at->target->sm == 0 && !ph->universal && !kn_phase_in_order(ph) &&
           !(ph->how.split && ph->nest.naxes > ph->nest.ngroup + 1) && !kn_is_invariant(ph) &&
           ph->how.walk != KN_WALK_FLAT && ph->nest.reds.len > 0 && ph->nest.ngroup > 0 &&
           ph->nest.ngroup < ph->nest.naxes && ph->nest.groups > 0 && ph->nest.members > 1 &&
           at->force->division == KN_DIVIDE_BY_COST;
}

/* All that suits goes through tiles. False: nothing does, or no cache has room. */
static bool take_tiles(const kn_site *at, kn_phase *ph)
{
    const int loads = ph->nest.values.len;
    for (int i = 0; i < kn_accesses(ph); i++)
        if (kn_suits_cpu_tile(at, ph, i))
            kn_push(
                at->arena, &ph->how.transposes,
                ((kn_transpose){.store = i >= loads, .of = i < loads ? i : i - loads, .vec = 1}));
    return kn_groups_of_tile(ph) > 0;
}

bool kn_schedule_cpu_tile_of_rows(const kn_site *at, const kn_phase *ph, kn_phase *rows)
{
    if (!may_have_tile(at, ph) || !any_is_transposed(at, ph) ||
        (ph->how.walk == KN_WALK_COLS &&
         !kn_any_lies_along(ph, ph->nest.naxes - 1, ph->nest.ngroup - 1)))
        return false;
    *rows = kn_phase_copy(at->arena, ph);
    if (rows->how.walk == KN_WALK_COLS) {
        rows->how.walk = KN_WALK_ROWS;
        kn_schedule_vectors(at, rows);
    }
    return take_tiles(at, rows);
}

/* Takes what one sweep reads out of the tiles, if it reads that as quickly where it is. */
static void keep_what_pays(const kn_site *at, kn_phase *cols)
{
    double best = kn_predict_phase(at, cols).work;
    for (int i = cols->how.transposes.len - 1; i >= 0; i--) {
        const kn_transpose *t = &cols->how.transposes.data[i];
        if (t->store || kn_value_at(cols, t->of)->sweeps > 1)
            continue;
        kn_phase without = kn_phase_copy(at->arena, cols);
        const int last = --without.how.transposes.len;
        for (int j = i; j < last; j++)
            without.how.transposes.data[j] = without.how.transposes.data[j + 1];
        const double work = kn_predict_phase(at, &without).work;
        if (work > best)
            continue;
        best = work;
        *cols = without;
    }
}

/* More members are better off as rows. */
enum { MOST_OF_COLUMNS = 128 };

bool kn_schedule_cpu_columns(const kn_site *at, const kn_phase *ph, kn_phase *cols)
{
    if (!may_have_tile(at, ph) || ph->how.split || ph->how.walk != KN_WALK_ROWS ||
        ph->how.transposes.len || ph->nest.members > MOST_OF_COLUMNS)
        return false;
    *cols = kn_phase_copy(at->arena, ph);
    cols->how.walk = KN_WALK_COLS;
    kn_schedule_vectors(at, cols);
    if (!take_tiles(at, cols))
        cols->how.transposes.len = 0;
    keep_what_pays(at, cols);
    return true;
}
