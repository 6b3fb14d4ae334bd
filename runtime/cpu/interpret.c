#include "runtime/cpu/interpret.h"

#include "runtime/cpu/narrow.h"

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
        const bool several = fold->blocked && f->job->cols;
        fold->start(n, several ? red->total : red->acc);
        if (several)
            fold->again(n, red->acc, red->total);
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
    const int f64_variances = stage->f64_variances;
    int64_t end = from + kn_members_end(0, f64_variances);
    kn_frame_seek(f, &stage->accesses, from);
    for (int64_t i = from; i < to; i++) {
        f->done = (i - first) * n;
        kn_frame_steps(f, &stage->sweep, n, true);
        kn_frame_next(f, &stage->accesses);
        if (i + 1 < end)
            continue;
        fold_block(f, stage, n);
        end = from + kn_members_end(i + 1 - from, f64_variances);
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
    const int f64_variances = stage->f64_variances;
    int64_t from, to;
    kn_cpu_members_of(s, group, n, &from, &to);
    for (int64_t i = from; i < to; i++) {
        if (i > from && kn_members_end(s->member[i], f64_variances) !=
                            kn_members_end(s->member[i - 1], f64_variances))
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

/* One tile of a phase without reductions. Tiles are numbered down the columns first, so that an array that is
 * contiguous that way is read on from where the previous tile ended. */
static void work_flat_tile(kn_frame *f, int64_t unit)
{
    const kn_job *job = f->job;
    const kn_phase *p = job->phase;
    int64_t down = kn_cpu_tiles_down(job), across = kn_cpu_tiles_across(job);
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

/* ---- a phase ---- */

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

kn_status kn_cpu_interpret(const kn_cpu_plan *plan, kn_job *job, const kn_cpu_machine *machine)
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
        kn_cpu_gather_by_tiles(job);
    job->outer_axis = job->cols ? p->nest.ngroup : 0;
    job->outers = job->tile_rows ? p->nest.naxes - 2 /* tiles are of the last two axes */
                  : job->cols    ? p->nest.naxes - p->nest.ngroup
                                 : p->nest.ngroup;
    job->lanes = lanes;
    bind(job, lanes);
    kn_cpu_divide(job, machine, false);
    kn_cpu_side side;
    job->beside = kn_cpu_beside(job);
    if (job->beside > 1) {
        kn_cpu_side_make(&side, job, job->beside, lanes + plan->accesses);
        job->side = &side.job;
    }
    kn_status status = kn_cpu_share(job, machine->pool, plan->frame_bytes, scratch, work, job);
    kn_pool_return(machine->pool, scratch);
    return status;
}
