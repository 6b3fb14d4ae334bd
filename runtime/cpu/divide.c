#include "runtime/cpu/divide.h"

#include "runtime/cpu/narrow.h"

enum {
    RUN_LANES = 256,      /* runs of at least this many lanes get blocks of their own, */
    PLAIN_LANES = 16,     /* or this many, of compiled rows without reductions and calls, */
    STRUNG_LANES = 64,    /* or where loops go from run to run otherwise (kn_c_can_string()); */
    ROW_LANES = 32,       /* or this many, if they are rows that a gather finds by one index each */
    COLUMN_LANES = 4,     /* or this many, of compiled columns: then loops take several members */
    FEWEST_IN_ROWS = 256, /* lanes of a tile of gathered rows */
};

_Static_assert((int)KN_CPU_MEMBERS % (int)KN_SIDE == 0,
               "members lie side by side in a part as in a whole");
_Static_assert(2 * (int)KN_CPU_SPLIT == (int)KN_INLINE_WORK,
               "what is split is worth several threads");
_Static_assert((int)KN_LEAST_COLUMNS == (int)KN_CPU_COLUMNS,
               "what is split is what tiles leave idle");

/* ---- how a phase is walked ---- */

/* Are two or three groups columns whose members lie side by side, not rows that stride? */
static bool are_narrow(const kn_phase_plan *plan, const kn_phase *p)
{
    return p->how.walk == KN_WALK_COLS && p->nest.groups > 1 && !plan->kept &&
           kn_cpu_can_lie_beside(plan, p) > 1;
}

static bool choose_cols(const kn_phase_plan *plan, const kn_phase *p)
{
    return p->how.walk != KN_WALK_FLAT && p->nest.ngroup > 0 &&
           (kn_by_cols(p->how.walk == KN_WALK_COLS, kn_scheduled_groups(p), p->nest.members) ||
            are_narrow(plan, p));
}

/* Can blocks be tiles of the last two axes? */
static bool can_tile(const kn_phase_plan *plan, const kn_phase *p)
{
    bool can = p->how.walk == KN_WALK_FLAT && p->nest.ngroup == 0 && p->nest.naxes >= 2 &&
               !p->how.split && p->nest.reds.len == 0;
    for (int a = 0; can && a < plan->accesses.len; a++) {
        const kn_access_ref *ref = &plan->accesses.data[a];
        bool gathers = ref->value >= 0 && p->nest.values.data[ref->value].kind == KN_V_GATHER;
        bool once = ref->store >= 0 && p->nest.stores.data[ref->store].once;
        can = !once && ref->buf != KN_BUF_COUNT && (!gathers || plan->all_rows);
    }
    return can;
}

/* Is one array contiguous along the last axis but one and another along the last, so that walking rows of the one would
 * stride through the other? */
static bool is_transposed(const kn_phase_plan *plan, const kn_phase *p)
{
    for (int a = 0; a < plan->accesses.len; a++) {
        const kn_access_ref *ref = &plan->accesses.data[a];
        if (kn_access_transposed(kn_access_of(p, ref), p->nest.naxes - 1, p->nest.naxes - 2,
                                 ref->bytes))
            return true;
    }
    return false;
}

/* Are blocks tiles of transposed arrays, not where blocks alone will do? */
static bool choose_squares(const kn_phase_plan *plan, const kn_phase *p)
{
    return kn_may_go_by_tiles(p) && can_tile(plan, p) && !plan->all_rows &&
           plan->row_lanes >= KN_TILE * KN_TILE && is_transposed(plan, p);
}

/* Is a group a block, of a whole vector at least? */
static bool can_be_short(const kn_phase_plan *plan, const kn_phase *p)
{
    return kn_c_can_be_short(p) && p->nest.members >= KN_FOLD_LANES &&
           p->nest.members <= plan->row_lanes;
}

kn_c_mode kn_cpu_mode(const kn_phase_plan *plan, const kn_phase *p)
{
    const bool cols = choose_cols(plan, p),
               tiled = p->how.transposes.len > 0 && !plan->ordered && kn_groups_of_tile(p) > 0 &&
                       (cols ? kn_c_can_tile_cols(p) : kn_c_can_tile_rows(p));
    if (cols)
        return tiled ? KN_C_TILED_COLS : KN_C_COLS;
    if (choose_squares(plan, p))
        return KN_C_TILES;
    if (can_be_short(plan, p))
        return tiled ? KN_C_TILED_SHORT : KN_C_SHORT;
    return tiled ? KN_C_TILED_ROWS : KN_C_ROWS;
}

/* ---- dividing it into units and tasks ---- */

int64_t kn_cpu_tiles_down(const kn_job *job)
{
    return kn_ceiling(job->phase->nest.axes[job->phase->nest.naxes - 2].extent, job->tile_rows);
}

int64_t kn_cpu_tiles_across(const kn_job *job)
{
    return kn_ceiling(job->phase->nest.axes[job->phase->nest.naxes - 1].extent, job->tile_columns);
}

/* Tiles of rows, of so many groups each. */
static int64_t tiles_of_rows(const kn_phase *p, int64_t groups)
{
    const int64_t last = p->nest.axes[p->nest.ngroup - 1].extent;
    return p->nest.groups / last * kn_ceiling(last, groups);
}

int64_t kn_cpu_groups_of_tile(const kn_phase *p, int threads)
{
    int64_t groups = kn_groups_of_tile(p);
    if (p->how.walk == KN_WALK_COLS) /* blocks of columns end with a tile, or before */
        return groups;
    while (groups > KN_LEAST_ROWS && tiles_of_rows(p, groups) * p->num.splits < 2 * threads)
        groups /= 2;
    return groups;
}

void kn_cpu_gather_by_tiles(kn_job *job)
{
    const kn_phase *p = job->phase;
    if (!job->plan->all_rows || !can_tile(job->plan, p))
        return;
    int64_t rows = p->nest.axes[p->nest.naxes - 2].extent;
    int64_t columns = p->nest.axes[p->nest.naxes - 1].extent;
    if (columns > 0 && columns < RUN_LANES && rows * columns >= FEWEST_IN_ROWS) {
        job->tile_rows = job->plan->row_lanes / columns;
        job->tile_columns = columns;
    }
}

/* The most lanes of a block of columns, or of a tile of them. */
static int column_lanes(const kn_phase_plan *plan, const kn_phase *p)
{
    const int tile = kn_c_can_tile_cols(p) ? kn_groups_of_tile(p) : 0;
    return tile && tile < plan->col_lanes ? tile : plan->col_lanes;
}

/* Do lanes lie side by side in each run of every array? */
static bool are_strung(const kn_phase *p)
{
    const int last = p->nest.naxes - 1;
    bool all = p->nest.naxes - p->nest.ngroup == 2;
    for (int v = 0; v < p->nest.values.len; v++) {
        const kn_value *value = &p->nest.values.data[v];
        if (kn_has_access(value) && value->level != KN_GROUP)
            all = all && value->kind == KN_V_LOAD && value->access->kind[last] == KN_STRIDE_ONE;
    }
    for (int s = 0; s < p->nest.stores.len; s++)
        all = all && p->nest.stores.data[s].access.kind[last] == KN_STRIDE_ONE;
    return all;
}

kn_c_shape kn_cpu_shape(const kn_phase_plan *plan, const kn_phase *p, bool compiled)
{
    const bool gathers = plan->by_rows && !(compiled && plan->nreds == 0);
    const bool plain = compiled && plan->nreds == 0 && !kn_c_calls(p);
    const int least = gathers ? ROW_LANES : plain ? PLAIN_LANES : RUN_LANES;
    return (kn_c_shape){.walks_cols = p->how.walk == KN_WALK_COLS,
                        .divisible = plan->nreds == 0 && p->nest.nsweeps <= 1,
                        .row_lanes = plan->row_lanes,
                        .col_lanes = compiled ? column_lanes(plan, p) : plan->col_lanes,
                        .kept = plan->kept ? KN_FRAME_MEMBERS : 0,
                        .work = plan->work,
                        .group_work = plan->group_buffers,
                        .moved = plan->moved,
                        .run_rows = least,
                        .run_whole = plain && are_strung(p) ? STRUNG_LANES : least,
                        .run_cols = kn_cpu_can_lie_beside(plan, p) > 1 ? 1
                                    : compiled                         ? COLUMN_LANES
                                                                       : RUN_LANES};
}

int kn_cpu_run_axis(const kn_phase *p, bool cols)
{
    int axes = cols ? p->nest.ngroup : p->nest.naxes - p->nest.ngroup;
    return axes > 1 ? (cols ? p->nest.ngroup : p->nest.naxes) - 1 : -1;
}

static kn_c_extents extents_of(const kn_phase *p, bool cols, const kn_cpu_machine *machine)
{
    const int axis = kn_cpu_run_axis(p, cols);
    return (kn_c_extents){.groups = p->nest.groups,
                          .members = p->nest.members,
                          .run = axis < 0 ? 0 : p->nest.axes[axis].extent,
                          .splits = p->how.split ? p->num.splits : 0,
                          .chunk = p->num.chunk,
                          .tiles = -1,
                          .stream = machine->stream,
                          .threads = kn_pool_threads(machine->pool)};
}

/* Are all blocks of lanes whole vectors? */
static bool is_whole(const kn_phase *p, bool cols, const kn_c_cut *cut)
{
    const int first = cols ? 0 : p->nest.ngroup, end = cols ? p->nest.ngroup : p->nest.naxes;
    return first < end && p->nest.axes[end - 1].extent % KN_FOLD_LANES == 0 &&
           cut->most % KN_FOLD_LANES == 0 && (cols || cut->part % KN_FOLD_LANES == 0);
}

kn_c_case kn_cpu_case(const kn_cpu_machine *machine, const kn_phase_plan *plan, const kn_phase *p)
{
    const kn_c_mode mode = kn_cpu_mode(plan, p);
    const bool cols = kn_c_by_cols(mode);
    const kn_c_shape shape = kn_cpu_shape(plan, p, true);
    const kn_c_extents e = extents_of(p, cols, machine);
    const kn_c_cut cut = kn_cut(&shape, cols, &e);
    return (kn_c_case){mode, cut.stream, cut.run != 0, is_whole(p, cols, &cut)};
}

void kn_cpu_divide(kn_job *job, const kn_cpu_machine *machine, bool compiled)
{
    const kn_phase *p = job->phase;
    const kn_c_shape shape = kn_cpu_shape(job->plan, p, compiled);
    kn_c_extents e = extents_of(p, job->cols, machine);
    if (job->tile_rows) {
        int64_t area =
            p->nest.axes[p->nest.naxes - 2].extent * p->nest.axes[p->nest.naxes - 1].extent;
        e.tiles = p->nest.members / area * kn_cpu_tiles_down(job) * kn_cpu_tiles_across(job);
    }
    if (job->tile_groups && !job->cols)
        e.tiles = tiles_of_rows(p, job->tile_groups);
    job->cut = kn_cut(&shape, job->cols, &e);
}

kn_status kn_cpu_share(const kn_job *job, kn_pool *pool, size_t bytes, void *scratch,
                       kn_task_fn work, void *ctx)
{
    const int64_t tasks = kn_ceiling(job->cut.units, job->cut.per_task);
    if (job->cut.several)
        return kn_pool_run(pool, tasks, bytes, scratch, work, ctx);
    for (int64_t task = 0; task < tasks; task++)
        work(ctx, task, scratch);
    return KN_OK;
}
