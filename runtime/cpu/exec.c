#include "runtime/cpu/exec.h"

#include "runtime/cpu/interpret.h"
#include "runtime/cpu/narrow.h"
#include "runtime/device/params.h"

/* ---- machine code ---- */

/* What other threads read first lies together, in lines that their processors have to fetch. */
typedef struct native_job {
    _Alignas(64) kn_c_work *work;
    int64_t per_task, units;
    kn_c_call call, side, wide; /* side, wide: what call.side and call.wide point to */
} native_job;

static void work_native(void *ctx, int64_t task, void *scratch)
{
    const native_job *n = ctx;
    const int64_t unit = task * n->per_task;
    n->work(&n->call, unit, kn_lesser(unit + n->per_task, n->units), scratch);
}

/* Scalars as code is given them, in memory behind a worker's. */
typedef struct native_scalars {
    kn_param_cell *cells;
    const void **at;
} native_scalars;

static size_t place_scalars(const kn_kernel *k, char *at, native_scalars *out)
{
    const size_t cells = (size_t)k->scalars.len * sizeof *out->cells;
    *out = (native_scalars){(kn_param_cell *)at, (const void **)(at + cells)};
    return cells + (size_t)k->scalars.len * sizeof *out->at;
}

static void fill_scalars(const kn_job *job, const native_scalars *to)
{
    for (int i = 0; i < job->kernel->scalars.len; i++) {
        kn_scalar_store(job->call->scalars[i], &to->cells[i]);
        to->at[i] = &to->cells[i];
    }
}

/* Makes `to` the call of so many members side by side, of these numbers; NULL: of one. */
static const kn_c_call *lay_beside(const native_job *n, kn_c_call *to, int64_t beside,
                                   const int64_t *numbers)
{
    if (beside <= 1)
        return NULL;
    *to = n->call;
    to->num = numbers;
    to->beside = beside;
    to->groups *= beside;
    to->members /= beside;
    return to;
}

/* Where a block has no arrays, and nothing is reduced, its length changes nothing but how often loops end, and runs are found
 * within it. */
static void lengthen_blocks(kn_job *job, const kn_native_phase *code)
{
    const int64_t longest = kn_lesser(job->cut.part, 1 << 30); /* KN_MOST_LANES, as whole vectors */
    if (job->cols || code->slots || code->rows || job->plan->nreds)
        return;
    job->cut.most = kn_greater(job->cut.most, longest);
    if (job->cut.run)
        job->cut.run = job->cut.run_step = kn_greater(1, longest);
}

/* Bytes of the arrays of a tile of rows or columns. */
static size_t tile_bytes(const kn_phase *p, int64_t groups)
{
    const int64_t members = p->how.split ? p->num.chunk : p->nest.members;
    int64_t bytes = 0;
    for (int i = 0; i < p->how.transposes.len && groups; i++) {
        const int each = kn_bytes(kn_transposed_type(p, &p->how.transposes.data[i]));
        bytes += (p->how.walk == KN_WALK_COLS ? members * kn_tile_row(groups, each)
                                              : groups * kn_tile_row(members, each)) *
                 each;
    }
    return (size_t)bytes;
}

static kn_status run_native(kn_job *job, const kn_native_phase *code, const kn_cpu_bound *b,
                            kn_pool *pool)
{
    native_scalars scalars;
    const size_t own =
        ((size_t)code->slots * b->slot + (size_t)code->rows * b->row + 63) & ~(size_t)63;
    const size_t mine = own + b->tile;
    char *scratch = kn_pool_borrow(pool, mine + place_scalars(job->kernel, NULL, &scalars));
    if (!scratch)
        return kn_fail(KN_MEMORY, "out of memory: scratch of kernel %s", job->kernel->name);
    place_scalars(job->kernel, scratch + mine, &scalars);
    fill_scalars(job, &scalars);
    job->cut = b->cut;
    lengthen_blocks(job, code);
    native_job n = {.work = code->work,
                    .per_task = job->cut.per_task,
                    .units = job->cut.units,
                    .call = {.buf = job->call->bufs,
                             .scalar = scalars.at,
                             .extent = b->extents,
                             .num = b->numbers,
                             .loop = code->loops,
                             .fold = job->plan->folds,
                             .groups = job->phase->nest.groups,
                             .members = job->phase->nest.members,
                             .parts = job->cut.parts,
                             .part = job->cut.part,
                             .most = job->cut.most,
                             .run = job->cut.run,
                             .run_step = job->cut.run_step,
                             .slot = (int64_t)b->slot,
                             .row = (int64_t)b->row,
                             .tile_groups = b->tile_groups,
                             .stream = job->cut.stream,
                             .bad = job->bad,
                             .beside = b->beside}};
    n.call.side = lay_beside(&n, &n.side, b->beside, b->side);
    n.call.wide = lay_beside(&n, &n.wide, b->wide, b->wide_numbers);
    kn_status status = kn_cpu_share(job, pool, mine, scratch, work_native, &n);
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
                           const kn_cpu_bound *b, kn_job *job)
{
    const kn_phase *p = job->phase;
    kn_native_phase native;
    if (p->nest.groups == 0)
        return KN_OK;
    job->cols = kn_c_by_cols(b->of.mode);
    job->tile_rows = job->tile_columns = b->of.mode == KN_C_TILES ? KN_TILE : 0;
    KN_TRY(kn_native_get(machine->native, code->native, job->kernel, i, b->of, &native));
    kn_bad_index bad = {0};
    job->bad = &bad;
    const bool scatters = job->cols && p->how.scatter_sum; /* compiled code takes all members */
    KN_TRY(native.work && !scatters ? run_native(job, &native, b, machine->pool)
                                    : kn_cpu_interpret(code->plan, job, machine));
    return bad.found ? fail_index(job->kernel, p, &bad) : KN_OK;
}

static kn_status check_phases(const kn_cpu_code *code, const kn_kernel *kernel)
{
    return kernel->phases.len == code->plan->nphases
               ? KN_OK
               : kn_fail(KN_INTERNAL, "kernel %s was prepared with %d phases and has %d",
                         kernel->name, code->plan->nphases, kernel->phases.len);
}

kn_status kn_cpu_run(const kn_cpu_machine *machine, const kn_cpu_code *code,
                     const kn_kernel *kernel, const kn_cpu_bound *bound, const kn_call *call)
{
    for (int i = 0; i < kernel->phases.len; i++) {
        kn_job job = {.plan = &code->plan->phases[i],
                      .kernel = kernel,
                      .phase = &kernel->phases.data[i],
                      .call = call};
        KN_TRY(run_phase(machine, code, i, &bound[i], &job));
    }
    return KN_OK;
}

/* ---- before calls ---- */

/* The numbers of so many members side by side; NULL: of one. */
static const int64_t *side_numbers(kn_arena *a, const kn_phase *p, int64_t beside)
{
    if (beside <= 1)
        return NULL;
    int64_t *numbers = KN_NEW_ARRAY(a, int64_t, kn_c_numbers(p, NULL));
    kn_c_numbers(p, numbers);
    kn_cpu_side_numbers(p, beside, numbers);
    return numbers;
}

static void bind_phase(kn_arena *a, const kn_cpu_machine *machine, const kn_phase_plan *plan,
                       const kn_phase *p, kn_cpu_bound *b)
{
    kn_job job = {.plan = plan, .phase = p};
    b->of = kn_cpu_case(machine, plan, p);
    job.cols = kn_c_by_cols(b->of.mode);
    job.tile_rows = job.tile_columns = b->of.mode == KN_C_TILES ? KN_TILE_SIDE : 0;
    if (kn_c_by_tiles(b->of.mode))
        job.tile_groups = kn_cpu_groups_of_tile(p, kn_pool_threads(machine->pool));
    kn_cpu_divide(&job, machine, true);
    b->cut = job.cut;
    b->tile_groups = job.tile_groups;
    b->slot = kn_cpu_slot_bytes(plan);
    b->row = kn_cpu_row_bytes(plan);
    b->tile = tile_bytes(p, job.tile_groups);
    b->beside = kn_cpu_beside(&job);
    b->wide = kn_cpu_wide(&job);
    int64_t *numbers = KN_NEW_ARRAY(a, int64_t, kn_c_numbers(p, NULL));
    kn_c_numbers(p, numbers);
    b->numbers = numbers;
    b->side = side_numbers(a, p, b->beside);
    b->wide_numbers = side_numbers(a, p, b->wide);
}

kn_status kn_cpu_bind(kn_arena *a, const kn_cpu_machine *machine, const kn_cpu_code *code,
                      const kn_kernel *kernel, const kn_cpu_bound **out)
{
    KN_TRY(check_phases(code, kernel));
    kn_cpu_bound *bound = KN_NEW_ARRAY(a, kn_cpu_bound, kernel->phases.len + 1);
    int64_t *extents = KN_NEW_ARRAY(a, int64_t, kernel->extents.len + 1);
    for (int i = 0; i < kernel->extents.len; i++)
        extents[i] = kernel->extents.data[i].value;
    for (int i = 0; i < kernel->phases.len; i++) {
        const kn_phase *p = &kernel->phases.data[i];
        bound[i].extents = extents;
        if (p->nest.groups > 0)
            bind_phase(a, machine, &code->plan->phases[i], p, &bound[i]);
    }
    *out = bound;
    return KN_OK;
}
