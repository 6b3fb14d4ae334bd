#include "runtime/cpu/exec.h"

#include "runtime/cpu/interpret.h"
#include "runtime/cpu/narrow.h"
#include "runtime/device/params.h"

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
    kn_cpu_divide(job, machine, true);
    lengthen_blocks(job, code);
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
                             .most = job->cut.most,
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
                           kn_job *job)
{
    const kn_phase *p = job->phase;
    kn_native_phase native;
    if (p->nest.groups == 0)
        return KN_OK;
    const kn_c_case of = kn_cpu_case(machine, job->plan, p);
    const kn_c_mode mode = of.mode;
    job->cols = kn_c_by_cols(mode);
    job->tile_rows = job->tile_columns = mode == KN_C_TILES ? KN_TILE : 0;
    KN_TRY(kn_native_get(machine->native, code->native, job->kernel, i, of, &native));
    kn_bad_index bad = {0};
    job->bad = &bad;
    const bool scatters = job->cols && p->how.scatter_sum; /* compiled code takes all members */
    job->tile_groups = native.work && kn_c_by_tiles(mode)
                           ? kn_cpu_groups_of_tile(p, kn_pool_threads(machine->pool))
                           : 0;
    KN_TRY(native.work && !scatters ? run_native(job, &native, machine)
                                    : kn_cpu_interpret(code->plan, job, machine));
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
