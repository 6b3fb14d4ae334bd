#include "runtime/cpu/exec.h"

#include <stdlib.h>

#include "runtime/cpu/frame.h"
#include "runtime/cpu/narrow.h"
#include "runtime/device/params.h"

enum {
    RUN_LANES = 256,      /* runs of at least this many lanes get blocks of their own, */
    PLAIN_LANES = 64,     /* or this many, of compiled rows without reductions and calls; */
    ROW_LANES = 32,       /* or this many, if they are rows that a gather finds by one index each */
    COLUMN_LANES = 4,     /* or this many, of compiled columns: then loops take several members */
    FEWEST_IN_ROWS = 256, /* lanes of a tile of gathered rows */
};

/* ---- one unit of work ---- */

static void start_folds(kn_frame *f, const kn_stage *stage, int64_t n)
{
    for (int i = 0; i < stage->reds.len; i++) {
        const kn_fold *fold = f->job->plan->folds[stage->reds.data[i]];
        kn_accumulator *red = &f->red[stage->reds.data[i]];
        if (!fold) {
            kn_frame_start_user_fold(f, stage->reds.data[i], n);
            continue;
        }
        fold->start(n, red->acc);
        if (fold->blocked && f->job->cols)
            fold->start(n, red->total);
    }
}

/* Adds the accumulators to the totals; columns only. */
static void fold_block(kn_frame *f, const kn_stage *stage, int64_t n)
{
    for (int i = 0; i < stage->reds.len; i++) {
        const kn_fold *fold = f->job->plan->folds[stage->reds.data[i]];
        kn_accumulator *red = &f->red[stage->reds.data[i]];
        if (fold && fold->blocked) {
            fold->merge(n, red->total, red->acc);
            fold->again(n, red->acc, red->total);
        }
    }
}

static void finish_folds(kn_frame *f, const kn_stage *stage, int64_t n)
{
    const kn_phase_plan *plan = f->job->plan;
    for (int i = 0; i < stage->reds.len && f->job->cols; i++) {
        const kn_fold *fold = plan->folds[stage->reds.data[i]];
        kn_accumulator *red = &f->red[stage->reds.data[i]];
        if (fold && fold->blocked)
            fold->merge(n, red->total, red->acc);
    }
    for (int i = 0; i < stage->results.len; i++) {
        int r = stage->results.data[i];
        const kn_fold *fold = plan->folds[plan->owner[r]];
        const kn_accumulator *red = &f->red[plan->owner[r]];
        const bool sum = plan->owner[r] != r && f->job->phase->nest.reds.data[r].op == KN_OP_SUM;
        const void *acc = fold && fold->blocked && f->job->cols ? red->total : red->acc;
        if (!fold) {
            kn_frame_finish_user_fold(f, r, n);
            continue;
        }
        if (sum) {
            fold->sum(n, f->red[r].result, acc);
            continue;
        }
        switch (f->job->phase->nest.reds.data[r].part) {
        case KN_PART_MEAN: fold->mean(n, (double *)f->red[r].result, acc); break;
        case KN_PART_COUNT: fold->count(n, (double *)f->red[r].result, acc); break;
        default: fold->finish(n, f->red[r].result, acc); break;
        }
    }
}

/* The end of the block that begins at lane i. */
static int64_t block_end(const kn_job *job, int64_t i, int64_t end)
{
    if (job->cut.run == 0)
        return kn_lesser(end, i + job->cut.most);
    int64_t within = i % job->cut.run;
    int64_t stop = kn_lesser(job->cut.run, (within / job->cut.run_step + 1) * job->cut.run_step);
    return kn_lesser(end, i - within + stop);
}

static void seek_lanes(kn_frame *f, const kn_ints *which, int64_t start, int64_t n)
{
    int count = which ? which->len : f->job->plan->accesses.len;
    for (int i = 0; i < count; i++) {
        int a = which ? which->data[i] : i;
        kn_lanes_seek(&f->job->lanes[a], &f->cursor[a], start, n);
    }
}

/* Members [from, to) of one group. */
static void work_row(kn_frame *f, int64_t group, int64_t from, int64_t to)
{
    const kn_job *job = f->job;
    const kn_phase_plan *plan = job->plan;
    kn_frame_seek(f, NULL, group);
    for (int t = 0; t < plan->nstages; t++) {
        const kn_stage *stage = &plan->stages[t];
        kn_frame_steps(f, &stage->group, 1, f->part == 0);
        start_folds(f, stage, 1);
        if (stage->sweep.len)
            for (int64_t i = from, end; i < to; i = end) {
                end = block_end(job, i, to);
                seek_lanes(f, &stage->accesses, i, end - i);
                f->done = i - from;
                kn_frame_steps(f, &stage->sweep, end - i, true);
            }
        finish_folds(f, stage, 1);
    }
}

/* One stage's members [from, to) of n neighbouring groups, of which `first` is the first of the unit. */
static void work_members(kn_frame *f, const kn_stage *stage, int64_t n, int64_t first, int64_t from,
                         int64_t to)
{
    const int variances = stage->variances;
    int64_t end = from + kn_members_end(0, variances);
    kn_frame_seek(f, &stage->accesses, from);
    for (int64_t i = from; i < to; i++) {
        f->done = (i - first) * n;
        kn_frame_steps(f, &stage->sweep, n, true);
        kn_frame_next(f, &stage->accesses);
        if (i + 1 < end)
            continue;
        fold_block(f, stage, n);
        end = from + kn_members_end(i + 1 - from, variances);
    }
}

/* Lanes side by side, from where n groups begin. */
static void seek_beside(kn_frame *f, const kn_ints *which, int64_t group, int64_t n)
{
    const kn_job *const side = f->job->side;
    seek_lanes(f, which, group, n);
    for (int i = 0; i < which->len; i++) {
        kn_cursor *const c = &f->cursor[which->data[i]];
        const int64_t begin = c->lane;
        kn_lanes_seek(&side->lanes[which->data[i]], c, 0, n * f->job->beside);
        c->lane += begin;
    }
}

/* Narrow columns: members [from, end) that are whole blocks side by side, of a run of n groups; returns the first that is
 * left. */
static int64_t work_beside(kn_frame *f, const kn_stage *stage, int64_t group, int64_t n,
                           int64_t from, int64_t end)
{
    const kn_job *const job = f->job;
    const int64_t beside = job->beside, lanes = n * beside, first = from / beside,
                  to = end / beside;
    kn_frame_spread(f, &stage->group, n, beside);
    start_folds(f, stage, lanes);
    seek_beside(f, &stage->accesses, group, n);
    f->job = job->side;
    work_members(f, stage, lanes, first, first, to);
    fold_block(f, stage, lanes);
    f->job = job;
    for (int i = 0; i < stage->reds.len; i++) {
        const kn_fold *fold = job->plan->folds[stage->reds.data[i]];
        const kn_accumulator *red = &f->red[stage->reds.data[i]];
        for (int64_t k = lanes / 2; k >= n; k /= 2)
            fold->halve(k, fold->blocked ? red->total : red->acc);
        if (fold->blocked)
            fold->again(n, red->acc, red->total);
    }
    seek_lanes(f, &stage->accesses, group, n);
    return to * beside;
}

/* The same of a scatter sum. Blocks end where they would if all were taken, so that sums are the same to the
 * bit. */
static void work_scatter_sum(kn_frame *f, const kn_stage *stage, int64_t group, int64_t n)
{
    const kn_cpu_scatter_sum *s = f->job->scatter_sum;
    const int variances = stage->variances;
    int64_t from, to;
    kn_cpu_members_of(s, group, n, &from, &to);
    for (int64_t i = from; i < to; i++) {
        if (i > from &&
            kn_members_end(s->member[i], variances) != kn_members_end(s->member[i - 1], variances))
            fold_block(f, stage, n);
        kn_frame_seek(f, &stage->accesses, s->member[i]);
        kn_frame_steps(f, &stage->sweep, n, true);
    }
}

/* Members [from, to) of n neighbouring groups. */
static void work_tile(kn_frame *f, int64_t group, int64_t n, int64_t from, int64_t to)
{
    const kn_phase_plan *plan = f->job->plan;
    seek_lanes(f, NULL, group, n);
    for (int t = 0; t < plan->nstages; t++) {
        const kn_stage *stage = &plan->stages[t];
        kn_frame_seek(f, NULL, 0);
        kn_frame_steps(f, &stage->group, n, f->part == 0);
        int64_t rest = from;
        if (f->job->side && stage->sweep.len && to - from >= f->job->beside)
            rest = work_beside(f, stage, group, n, from, to);
        else
            start_folds(f, stage, n);
        if (stage->sweep.len && rest < to && f->job->scatter_sum)
            work_scatter_sum(f, stage, group, n);
        else if (stage->sweep.len && rest < to)
            work_members(f, stage, n, from, rest, to);
        finish_folds(f, stage, n);
    }
}

/* The tiles of a phase along its last two axes. */
static int64_t tiles_down(const kn_job *job)
{
    return kn_ceiling(job->phase->nest.axes[job->phase->nest.naxes - 2].extent, job->tile_rows);
}

static int64_t tiles_across(const kn_job *job)
{
    return kn_ceiling(job->phase->nest.axes[job->phase->nest.naxes - 1].extent, job->tile_columns);
}

/* One tile of a phase without reductions. Tiles are numbered down the columns first, so that an array that is
 * contiguous that way is read on from where the previous tile ended. */
static void work_flat_tile(kn_frame *f, int64_t unit)
{
    const kn_job *job = f->job;
    const kn_phase *p = job->phase;
    int64_t down = tiles_down(job), across = tiles_across(job);
    int64_t row = unit % down * job->tile_rows, column = unit / down % across * job->tile_columns;
    int64_t rows = kn_lesser(job->tile_rows, p->nest.axes[p->nest.naxes - 2].extent - row);
    int64_t columns = kn_lesser(job->tile_columns, p->nest.axes[p->nest.naxes - 1].extent - column);
    f->part = unit; /* the first tile stores the group values */
    kn_frame_seek(f, NULL, unit / (down * across));
    for (int t = 0; t < job->plan->nstages; t++) {
        const kn_stage *stage = &job->plan->stages[t];
        kn_frame_steps(f, &stage->group, 1, unit == 0);
        for (int i = 0; i < stage->accesses.len; i++) {
            int a = stage->accesses.data[i], value = job->plan->accesses.data[a].value;
            bool by_row = value >= 0 && job->plan->by_row[value];
            kn_lanes_seek_tile(&job->lanes[a], &f->cursor[a], row, rows, by_row ? 0 : column,
                               by_row ? 1 : columns);
        }
        f->rows = rows;
        f->columns = columns;
        kn_frame_steps(f, &stage->sweep, rows * columns, true);
        f->rows = f->columns = 0;
    }
}

static void work(void *ctx, int64_t task, void *scratch)
{
    const kn_job *job = ctx;
    const kn_phase *p = job->phase;
    kn_frame f;
    kn_frame_init(&f, job, scratch);
    int64_t unit = task * job->cut.per_task,
            end = kn_lesser(unit + job->cut.per_task, job->cut.units);
    for (; unit < end; unit++) {
        if (job->tile_rows) {
            work_flat_tile(&f, unit);
            continue;
        }
        int64_t of = unit / job->cut.parts;
        f.part = unit % job->cut.parts;
        int64_t from = kn_lesser(f.part * job->cut.part, p->nest.members);
        int64_t to = kn_lesser(from + job->cut.part, p->nest.members);
        if (!job->cols) {
            work_row(&f, of, from, to);
            continue;
        }
        int64_t start = of * job->cut.most;
        if (job->cut.run) {
            int64_t per_run = kn_ceiling(job->cut.run, job->cut.run_step);
            start = of / per_run * job->cut.run + of % per_run * job->cut.run_step;
        }
        work_tile(&f, start, block_end(job, start, p->nest.groups) - start, from, to);
    }
}

/* ---- dividing a phase into units and tasks ---- */

_Static_assert((int)KN_CPU_MEMBERS % (int)KN_SIDE == 0,
               "members lie side by side in a part as in a whole");
_Static_assert((int)KN_LEAST_COLUMNS == (int)KN_CPU_COLUMNS,
               "what is split is what tiles leave idle");

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
    bool transposed = false;
    for (int a = 0; a < plan->accesses.len; a++) {
        const kn_access_ref *ref = &plan->accesses.data[a];
        transposed |= kn_access_transposed(kn_access_of(p, ref), p->nest.naxes - 1,
                                           p->nest.naxes - 2, ref->bytes);
    }
    return transposed;
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
    const bool tiled = kn_c_can_tile_rows(p) && !plan->ordered && kn_rows_of_tile(p) > 0;
    return choose_cols(plan, p)      ? KN_C_COLS
           : choose_squares(plan, p) ? KN_C_TILES
           : can_be_short(plan, p)   ? tiled ? KN_C_TILED_SHORT : KN_C_SHORT
           : tiled                   ? KN_C_TILED_ROWS
                                     : KN_C_ROWS;
}

/* Tiles of rows, of so many groups each. */
static int64_t tiles_of_rows(const kn_phase *p, int64_t groups)
{
    const int64_t last = p->nest.axes[p->nest.ngroup - 1].extent;
    return p->nest.groups / last * kn_ceiling(last, groups);
}

/* Groups of a tile, so that there are tiles for all threads. */
static int64_t choose_rows_of_tile(const kn_phase *p, int threads)
{
    int64_t groups = kn_rows_of_tile(p);
    while (groups > KN_LEAST_ROWS && tiles_of_rows(p, groups) * p->num.splits < 2 * threads)
        groups /= 2;
    return groups;
}

/* Bytes of the arrays of a tile of rows. */
static size_t tile_bytes(const kn_phase *p, int64_t groups)
{
    const int64_t members = p->how.split ? p->num.chunk : p->nest.members;
    int64_t bytes = 0;
    for (int i = 0; i < p->how.transposes.len && groups; i++) {
        const int each = kn_bytes(kn_transposed_type(p, &p->how.transposes.data[i]));
        bytes += groups * kn_tile_row(members, each) * each;
    }
    return (size_t)bytes;
}

/* The interpreter's rows of which each is found by an index are tiles, for many rows of which indices are computed at a
 * time. Compiled code computes them row by row, at less cost from a few columns on. */
static void choose_gathered(kn_job *job)
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

kn_c_shape kn_cpu_shape(const kn_phase_plan *plan, const kn_phase *p, bool compiled)
{
    const bool gathers = plan->by_rows && !(compiled && plan->nreds == 0);
    const bool plain = compiled && plan->nreds == 0 && !kn_c_calls(p);
    return (kn_c_shape){.walks_cols = p->how.walk == KN_WALK_COLS,
                        .divisible = plan->nreds == 0 && p->nest.nsweeps <= 1,
                        .row_lanes = plan->row_lanes,
                        .col_lanes = plan->col_lanes,
                        .kept = plan->kept ? KN_FRAME_MEMBERS : 0,
                        .work = plan->work,
                        .group_work = plan->group_buffers,
                        .moved = plan->moved,
                        .run_rows = gathers ? ROW_LANES
                                    : plain ? PLAIN_LANES
                                            : RUN_LANES,
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
    const bool cols = mode == KN_C_COLS;
    const kn_c_shape shape = kn_cpu_shape(plan, p, true);
    const kn_c_extents e = extents_of(p, cols, machine);
    const kn_c_cut cut = kn_cut(&shape, cols, &e);
    return (kn_c_case){mode, cut.stream, cut.run != 0, is_whole(p, cols, &cut)};
}

/* Divides the job for the threads of a machine; true if it is worth several. */
static bool cut(kn_job *job, const kn_cpu_machine *machine, bool compiled)
{
    const kn_phase *p = job->phase;
    const kn_c_shape shape = kn_cpu_shape(job->plan, p, compiled);
    kn_c_extents e = extents_of(p, job->cols, machine);
    if (job->tile_rows) {
        int64_t area =
            p->nest.axes[p->nest.naxes - 2].extent * p->nest.axes[p->nest.naxes - 1].extent;
        e.tiles = p->nest.members / area * tiles_down(job) * tiles_across(job);
    }
    if (job->tile_groups)
        e.tiles = tiles_of_rows(p, job->tile_groups);
    job->cut = kn_cut(&shape, job->cols, &e);
    return job->cut.several;
}

static void bind(const kn_job *job, kn_lane_access *lanes)
{
    const kn_phase *p = job->phase;
    const kn_lane_axes axes = {
        .lane = {job->tile_rows ? p->nest.naxes - 2
                 : job->cols    ? 0
                                : p->nest.ngroup,
                 p->nest.naxes - job->outers},
        .outer = {job->outer_axis, job->outers},
    };
    for (int a = 0; a < job->plan->accesses.len; a++) {
        const kn_access_ref *ref = &job->plan->accesses.data[a];
        const kn_store *store = ref->store >= 0 ? &p->nest.stores.data[ref->store] : NULL;
        void *base = ref->buf == KN_BUF_COUNT ? NULL : job->call->bufs[ref->buf];
        lanes[a].base = base;
        lanes[a].bytes = ref->bytes;
        kn_lanes_bind(&lanes[a], p, kn_access_of(p, ref), store ? store->once : 0, &axes);
    }
}

/* ---- phases ---- */

static kn_status share(const kn_job *job, bool several, kn_pool *pool, size_t bytes, void *scratch,
                       kn_task_fn fn, void *ctx)
{
    int64_t tasks = kn_ceiling(job->cut.units, job->cut.per_task);
    if (several)
        return kn_pool_run(pool, tasks, bytes, scratch, fn, ctx);
    for (int64_t task = 0; task < tasks; task++)
        fn(ctx, task, scratch);
    return KN_OK;
}

static kn_status interpret(const kn_cpu_plan *plan, kn_job *job, const kn_cpu_machine *machine)
{
    const kn_phase *p = job->phase;
    size_t frame = (plan->frame_bytes + 63) & ~(size_t)63;
    const size_t lane_bytes =
        (2 * (size_t)plan->accesses * sizeof(kn_lane_access) + 63) & ~(size_t)63;
    const bool scatters = job->cols && p->how.scatter_sum;
    char *scratch = kn_pool_borrow(machine->pool, frame + lane_bytes +
                                                      (scatters ? kn_cpu_scatter_sum_bytes(p) : 0));
    if (!scratch)
        return kn_fail(KN_MEMORY, "out of memory: scratch of kernel %s", job->kernel->name);
    kn_lane_access *lanes = (kn_lane_access *)(scratch + frame);
    kn_cpu_scatter_sum sum;
    if (scatters) {
        kn_cpu_sort_members(&sum, job->kernel, p, job->call, scratch + frame + lane_bytes);
        job->scatter_sum = &sum;
    }
    if (!job->cols && !job->tile_rows)
        choose_gathered(job);
    job->outer_axis = job->cols ? p->nest.ngroup : 0;
    job->outers = job->tile_rows ? p->nest.naxes - 2 /* tiles are of the last two axes */
                  : job->cols    ? p->nest.naxes - p->nest.ngroup
                                 : p->nest.ngroup;
    job->lanes = lanes;
    bind(job, lanes);
    bool several = cut(job, machine, false);
    kn_cpu_side side;
    job->beside = kn_cpu_beside(job);
    if (job->beside > 1) {
        kn_cpu_side_make(&side, job, job->beside, lanes + plan->accesses);
        job->side = &side.job;
    }
    kn_status status = share(job, several, machine->pool, plan->frame_bytes, scratch, work, job);
    kn_pool_return(machine->pool, scratch);
    return status;
}

/* ---- machine code ---- */

typedef struct native_job {
    const kn_job *job;
    kn_c_work *work;
    kn_c_call call, side, wide; /* side, wide: what call.side and call.wide point to */
} native_job;

static void work_native(void *ctx, int64_t task, void *scratch)
{
    const native_job *n = ctx;
    int64_t unit = task * n->job->cut.per_task;
    n->work(&n->call, unit, kn_lesser(unit + n->job->cut.per_task, n->job->cut.units), scratch);
}

/* Memory behind a worker's, as code is given it. */
typedef struct native_numbers {
    kn_param_cell *cells;
    const void **scalars;
    int64_t *extents, *numbers, *side, *wide;
} native_numbers;

static size_t place_numbers(const kn_job *job, char *at, native_numbers *out)
{
    const kn_kernel *k = job->kernel;
    size_t cells = (size_t)k->scalars.len * sizeof *out->cells;
    size_t scalars = (size_t)k->scalars.len * sizeof *out->scalars;
    size_t extents = (size_t)k->extents.len * sizeof *out->extents;
    size_t numbers = (size_t)kn_c_numbers(job->phase, NULL) * sizeof(int64_t);
    *out = (native_numbers){(kn_param_cell *)at,
                            (const void **)(at + cells),
                            (int64_t *)(at + cells + scalars),
                            (int64_t *)(at + cells + scalars + extents),
                            (int64_t *)(at + cells + scalars + extents + numbers),
                            (int64_t *)(at + cells + scalars + extents + 2 * numbers)};
    return cells + scalars + extents + 3 * numbers;
}

static void fill_numbers(const kn_job *job, const native_numbers *to)
{
    const kn_kernel *k = job->kernel;
    for (int i = 0; i < k->scalars.len; i++) {
        kn_scalar_store(job->call->scalars[i], &to->cells[i]);
        to->scalars[i] = &to->cells[i];
    }
    for (int i = 0; i < k->extents.len; i++)
        to->extents[i] = k->extents.data[i].value;
    kn_c_numbers(job->phase, to->numbers);
}

/* Makes `to` the call of so many members side by side, whose numbers are put into `numbers`; NULL: of one. */
static const kn_c_call *lay_beside(const native_job *n, kn_c_call *to, int64_t beside,
                                   int64_t *numbers)
{
    const kn_phase *p = n->job->phase;
    if (beside <= 1)
        return NULL;
    kn_c_numbers(p, numbers);
    kn_cpu_side_numbers(p, beside, numbers);
    *to = n->call;
    to->num = numbers;
    to->beside = beside;
    to->groups *= beside;
    to->members /= beside;
    return to;
}

/* The most lanes of a block. Where it has no arrays, and nothing is reduced, its length changes nothing but how often loops end. */
static int64_t most_lanes(const kn_job *job, const kn_native_phase *code)
{
    const bool any = !job->cols && code->slots == 0 && code->rows == 0 && job->plan->nreds == 0;
    return any ? kn_greater(job->cut.most, job->cut.part) : job->cut.most;
}

static kn_status run_native(kn_job *job, const kn_native_phase *code, const kn_cpu_machine *machine)
{
    kn_pool *const pool = machine->pool;
    native_numbers numbers;
    const size_t slot = kn_cpu_slot_bytes(job->plan), row = kn_cpu_row_bytes(job->plan);
    const size_t own = ((size_t)code->slots * slot + (size_t)code->rows * row + 63) & ~(size_t)63;
    const size_t mine = own + tile_bytes(job->phase, job->tile_groups);
    char *scratch = kn_pool_borrow(pool, mine + place_numbers(job, NULL, &numbers));
    if (!scratch)
        return kn_fail(KN_MEMORY, "out of memory: scratch of kernel %s", job->kernel->name);
    place_numbers(job, scratch + mine, &numbers);
    fill_numbers(job, &numbers);
    if (job->tile_rows)
        job->tile_rows = job->tile_columns = KN_TILE_SIDE;
    bool several = cut(job, machine, true);
    native_job n = {.job = job,
                    .work = code->work,
                    .call = {.buf = job->call->bufs,
                             .scalar = numbers.scalars,
                             .extent = numbers.extents,
                             .num = numbers.numbers,
                             .loop = code->loops,
                             .fold = job->plan->folds,
                             .groups = job->phase->nest.groups,
                             .members = job->phase->nest.members,
                             .parts = job->cut.parts,
                             .part = job->cut.part,
                             .most = most_lanes(job, code),
                             .run = job->cut.run,
                             .run_step = job->cut.run_step,
                             .slot = (int64_t)slot,
                             .row = (int64_t)row,
                             .tile_groups = job->tile_groups,
                             .stream = job->cut.stream,
                             .bad = job->bad}};
    n.call.beside = kn_cpu_beside(job);
    n.call.side = lay_beside(&n, &n.side, n.call.beside, numbers.side);
    n.call.wide = lay_beside(&n, &n.wide, kn_cpu_wide(job), numbers.wide);
    kn_status status = share(job, several, pool, mine, scratch, work_native, &n);
    kn_pool_return(pool, scratch);
    return status;
}

/* ---- a kernel ---- */

static kn_status fail_index(const kn_kernel *kernel, const kn_phase *p, const kn_bad_index *bad)
{
    const char *name = p->nest.values.data[bad->value].name;
    return kn_fail(KN_RUN, "%s: index %lld is out of bounds for an axis with size %lld",
                   name ? name : kernel->name, (long long)bad->index, (long long)bad->size);
}

static kn_status run_phase(const kn_cpu_machine *machine, const kn_cpu_code *code, int i,
                           kn_job *job)
{
    const kn_phase *p = job->phase;
    kn_native_phase native;
    if (p->nest.groups == 0)
        return KN_OK;
    const kn_c_case of = kn_cpu_case(machine, job->plan, p);
    const kn_c_mode mode = of.mode;
    job->cols = mode == KN_C_COLS;
    job->tile_rows = job->tile_columns = mode == KN_C_TILES ? KN_TILE : 0;
    KN_TRY(kn_native_get(machine->native, code->native, job->kernel, i, of, &native));
    kn_bad_index bad = {0};
    job->bad = &bad;
    const bool scatters = job->cols && p->how.scatter_sum; /* compiled code takes all members */
    job->tile_groups = native.work && (mode == KN_C_TILED_ROWS || mode == KN_C_TILED_SHORT)
                           ? choose_rows_of_tile(p, kn_pool_threads(machine->pool))
                           : 0;
    KN_TRY(native.work && !scatters ? run_native(job, &native, machine)
                                    : interpret(code->plan, job, machine));
    return bad.found ? fail_index(job->kernel, p, &bad) : KN_OK;
}

kn_status kn_cpu_run(const kn_cpu_machine *machine, const kn_cpu_code *code,
                     const kn_kernel *kernel, const kn_call *call)
{
    if (kernel->phases.len != code->plan->nphases)
        return kn_fail(KN_INTERNAL, "kernel %s was prepared with %d phases and has %d",
                       kernel->name, code->plan->nphases, kernel->phases.len);
    for (int i = 0; i < kernel->phases.len; i++) {
        kn_job job = {.plan = &code->plan->phases[i],
                      .kernel = kernel,
                      .phase = &kernel->phases.data[i],
                      .call = call};
        KN_TRY(run_phase(machine, code, i, &job));
    }
    return KN_OK;
}
