#include "runtime/cpu/frame.h"

#include <string.h>

#include "codegen/emit/c/functions.h"

enum {
    LANES = 1024, /* enough to make the cost of a step small */
    FEWEST = 128,
    /* of all buffers of a block: they should stay in the second-level cache */
    BUDGET = 256 * 1024,
    STAGGER = 192, /* puts buffers at different offsets within a page */
};

static size_t round64(size_t n) { return (n + 63) & ~(size_t)63; }

size_t kn_cpu_row_bytes(const kn_phase_plan *plan)
{
    return (size_t)KN_FRAME_MEMBERS * plan->widest + STAGGER;
}

size_t kn_cpu_slot_bytes(const kn_phase_plan *plan)
{
    int lanes = plan->row_lanes > plan->col_lanes ? plan->row_lanes : plan->col_lanes;
    return round64((size_t)lanes * plan->widest + STAGGER);
}

static int fit_lanes(int buffers, size_t widest)
{
    int lanes = LANES;
    while (lanes > FEWEST && (size_t)(buffers * lanes) * widest > BUDGET)
        lanes /= 2;
    return lanes;
}

/* Bytes of a frame, with lanes of groups if `cols`; lays it out if f is not NULL.
 *
 *   values | cursors | reductions | their memory | group values
 *   block buffers and a spare one | row buffers | scratch of user-defined reductions */
static size_t lay_out(const kn_phase_plan *plan, bool cols, kn_frame *f, char *at)
{
    size_t lanes = cols ? (size_t)plan->col_lanes : 1;
    size_t each = cols ? round64(lanes * plan->widest + STAGGER) : plan->widest;
    size_t slot =
        round64((size_t)(cols ? plan->col_lanes : plan->row_lanes) * plan->widest + STAGGER);
    size_t values = round64((size_t)plan->nvalues * sizeof(kn_operand));
    size_t cursors = round64((size_t)plan->accesses.len * sizeof(kn_cursor));
    size_t reds = round64((size_t)plan->nreds * sizeof(kn_accumulator));
    size_t state = 0; /* of the widest kind of accumulator */
    size_t most = (size_t)(cols ? plan->col_lanes : plan->row_lanes), scratch = 0;
    for (int r = 0; r < plan->nreds; r++) {
        size_t acc = plan->folds[r] ? (size_t)plan->folds[r]->acc_bytes : plan->widest;
        size_t user = plan->user_folds[r] ? kn_user_fold_scratch(plan->user_folds[r], most) : 0;
        state = acc > state ? acc : state;
        scratch = user > scratch ? user : scratch;
    }
    state = round64(lanes * state + (cols ? STAGGER : 0));
    size_t accs = (size_t)plan->nreds * (2 * state + round64(each));
    size_t group_buffers = round64((size_t)(plan->group_buffers + plan->fixed.len) * each);
    size_t slots = (size_t)(plan->slots + 1) * slot,
           kept = (size_t)plan->kept * kn_cpu_row_bytes(plan);
    if (f) {
        f->value = (kn_operand *)at;
        f->cursor = (kn_cursor *)(at + values);
        f->red = (kn_accumulator *)(at + values + cursors);
        char *memory = at + values + cursors + reds;
        for (int r = 0; r < plan->nreds; r++, memory += 2 * state + round64(each))
            f->red[r] = (kn_accumulator){memory, memory + state, memory + 2 * state};
        f->group_buffers = at + values + cursors + reds + accs;
        f->group_bytes = each;
        f->slots = f->group_buffers + group_buffers;
        f->slot_bytes = slot;
        f->kept = f->slots + slots;
        f->user_scratch = f->kept + kept;
        f->user_lanes = most;
    }
    return values + cursors + reds + accs + group_buffers + slots + kept + scratch;
}

void kn_cpu_frame_size(kn_phase_plan *plan)
{
    plan->row_lanes = fit_lanes(plan->slots + 1, plan->widest);
    plan->col_lanes =
        fit_lanes(plan->slots + 1 + plan->group_buffers + 3 * plan->nreds, plan->widest);
    size_t rows = lay_out(plan, false, NULL, NULL), cols = lay_out(plan, true, NULL, NULL);
    plan->frame_bytes = rows > cols ? rows : cols;
}

static kn_scalar fixed_value(const kn_job *job, const kn_value *v)
{
    if (v->kind == KN_V_SCALAR)
        return job->call->scalars[v->index];
    if (v->kind == KN_V_CONST)
        return v->value;
    return (kn_scalar){.dtype = KN_I64, .i = job->kernel->extents.data[v->index].value};
}

void kn_frame_init(kn_frame *f, const kn_job *job, void *scratch)
{
    const kn_phase_plan *plan = job->plan;
    *f = (kn_frame){.job = job};
    lay_out(plan, job->cols, f, scratch);
    for (int i = 0; i < plan->fixed.len; i++) {
        int v = plan->fixed.data[i];
        char *cell = f->group_buffers + (size_t)(plan->group_buffers + i) * f->group_bytes;
        kn_scalar_store(fixed_value(job, &job->phase->nest.values.data[v]), cell);
        f->value[v] = (kn_operand){cell, true};
    }
    for (int a = 0; a < plan->accesses.len; a++) {
        /* For group steps of rows; sweeps and columns seek first. */
        f->cursor[a].kind = KN_LANE_SAME;
        f->cursor[a].lane = f->cursor[a].outer = 0;
    }
}

void kn_frame_seek(kn_frame *f, const kn_ints *which, int64_t index)
{
    const kn_job *job = f->job;
    for (int k = job->outers - 1; k >= 0; k--) {
        int64_t extent = job->phase->nest.axes[job->outer_axis + k].extent;
        f->outer[k] = 0;
        if (index == 0) /* also where an extent is 0 */
            continue;
        f->outer[k] = k ? index % extent : index;
        index /= extent;
    }
    int count = which ? which->len : job->plan->accesses.len;
    for (int i = 0; i < count; i++) {
        int a = which ? which->data[i] : i;
        const kn_lane_access *l = &job->lanes[a];
        int64_t offset = l->split * f->part;
        for (int k = 0; k < job->outers; k++)
            offset += f->outer[k] * l->outer[k];
        f->cursor[a].outer = offset;
    }
}

void kn_frame_next(kn_frame *f, const kn_ints *which)
{
    const kn_job *job = f->job;
    int k = job->outers - 1;
    for (; k >= 0; k--) {
        if (++f->outer[k] < job->phase->nest.axes[job->outer_axis + k].extent)
            break;
        f->outer[k] = 0;
    }
    if (k < 0)
        return;
    for (int i = 0; i < which->len; i++)
        f->cursor[which->data[i]].outer += job->lanes[which->data[i]].carry[k];
}

/* ---- steps ---- */

static void *memory_of(kn_frame *f, const kn_step *s)
{
    if (s->kept >= 0)
        return f->kept + (size_t)s->kept * kn_cpu_row_bytes(f->job->plan) + f->done * s->bytes;
    return s->slot >= 0
               ? f->slots + (size_t)s->slot * f->slot_bytes
               : f->group_buffers + (size_t)f->job->plan->group_buffer[s->value] * f->group_bytes;
}

/* Points the step at its lanes in memory if they are contiguous, else copies them. */
static void load_at(kn_frame *f, const kn_step *s, const kn_cursor *c, int64_t n)
{
    const kn_lane_access *l = &f->job->lanes[s->access];
    bool same = c->kind == KN_LANE_SAME;
    if ((same || c->kind == KN_LANE_UNIT) && !f->job->plan->ordered) {
        f->value[s->value] = (kn_operand){kn_lanes_at(l, c), same};
        return;
    }
    void *to = memory_of(f, s);
    if (same)
        memcpy(to, kn_lanes_at(l, c), (size_t)s->bytes);
    else
        kn_lanes_gather(l, c, n, to);
    f->value[s->value] = (kn_operand){to, same};
}

static void load(kn_frame *f, const kn_step *s, int64_t n)
{
    load_at(f, s, &f->cursor[s->access], n);
}

static void count(kn_frame *f, const kn_step *s, int64_t n)
{
    const kn_cursor *c = &f->cursor[s->access];
    bool same = c->kind == KN_LANE_SAME;
    void *to = memory_of(f, s);
    kn_lanes_count(&f->job->lanes[s->access], c, same ? 1 : n,
                   f->job->phase->nest.values.data[s->value].dtype, to);
    f->value[s->value] = (kn_operand){to, same};
}

static void report_index(kn_bad_index *bad, int value, int64_t index, int64_t size)
{
    if (__atomic_exchange_n(&bad->found, 1, __ATOMIC_RELAXED))
        return;
    bad->value = value;
    bad->index = index;
    bad->size = size;
}

/* Adds, to the offset of each lane, operand k's index times its stride. */
static void add_place(kn_frame *f, const kn_step *s, int k, int64_t n, int64_t *offset)
{
    const kn_value *v = &f->job->phase->nest.values.data[s->value];
    const kn_operand *by = &f->value[s->in[k]];
    const int64_t *at = by->data, size = v->access->gathered[k].extent,
                  stride = v->access->gathered[k].stride * s->bytes;
    for (int64_t i = 0; i < n; i++) {
        int64_t place = at[by->same ? 0 : i];
        if (v->access->checked && (place < 0 || place >= size)) {
            report_index(f->job->bad, s->value, place, size);
            place = 0;
        }
        offset[i] += place * stride;
    }
}

/* Where the step writes its lanes: to the output itself, if they are contiguous there. */
static void *target_of(kn_frame *f, const kn_step *s)
{
    bool direct = s->direct >= 0 && f->cursor[s->direct].kind == KN_LANE_UNIT;
    return direct ? kn_lanes_at(&f->job->lanes[s->direct], &f->cursor[s->direct]) : memory_of(f, s);
}

/* Of a tile: each row from the place that its indices give. */
static void gather_rows(kn_frame *f, const kn_step *s, int64_t n, int64_t *offset)
{
    const kn_lane_access *l = &f->job->lanes[s->access];
    const char *from = kn_lanes_at(l, &f->cursor[s->access]);
    int64_t columns = s->by_row ? 1 : f->columns, rows = n / columns, bytes = columns * s->bytes;
    char *to = target_of(f, s);
    for (int64_t i = 0; i < rows; i++)
        offset[i] = i * l->down;
    for (int k = 0; k < s->nin; k++)
        add_place(f, s, k, rows, offset);
    f->value[s->value] = (kn_operand){to, false};
    if (columns == 1)
        kn_mover_of(s->bytes)->pick(rows, to, from, offset);
    else if (l->across == s->bytes)
        for (int64_t i = 0; i < rows; i++)
            memcpy(to + i * bytes, from + offset[i], (size_t)bytes);
    else
        for (int64_t i = 0; i < rows; i++)
            kn_mover_of(s->bytes)->read(columns, to + i * bytes, from + offset[i], l->across);
}

static void gather(kn_frame *f, const kn_step *s, int64_t n)
{
    const kn_cursor *c = &f->cursor[s->access];
    bool one = true; /* one index for all lanes */
    for (int k = 0; k < s->nin; k++)
        one = one && f->value[s->in[k]].same;
    int64_t *offset = (int64_t *)(f->slots + (size_t)f->job->plan->slots * f->slot_bytes);
    if (one) {
        kn_cursor moved = *c;
        for (int k = 0; k < s->nin; k++)
            add_place(f, s, k, 1, &moved.outer);
        load_at(f, s, &moved, n);
        return;
    }
    if (f->columns) {
        gather_rows(f, s, n, offset);
        return;
    }
    const kn_lane_access *l = &f->job->lanes[s->access];
    void *to = target_of(f, s);
    kn_lanes_count(l, c, n, KN_I64, offset);
    for (int k = 0; k < s->nin; k++)
        add_place(f, s, k, n, offset);
    kn_mover_of(s->bytes)->pick(n, to, l->base, offset);
    f->value[s->value] = (kn_operand){to, false};
}

static void operate(kn_frame *f, const kn_step *s, int64_t n)
{
    const void *in[KN_MAX_IN];
    unsigned same = 0;
    for (int k = 0; k < s->nin; k++) {
        const kn_operand *v = &f->value[s->in[k]];
        in[k] = v->data;
        same |= (unsigned)v->same << k;
    }
    void *out = memory_of(f, s);
    if (same == s->all) {
        s->loop(1, out, in, 0);
        if (s->kept >= 0) /* the kept row needs an element for each lane */
            kn_mover_of(s->bytes)->splat(n, out, out);
        f->value[s->value] = (kn_operand){out, s->kept < 0};
        return;
    }
    out = target_of(f, s);
    s->loop(n, out, in, same);
    f->value[s->value] = (kn_operand){out, false};
}

/* The accumulators of the values that user-defined reduction r carries. */
static const kn_user_fold *user_fold_of(kn_frame *f, int r, char **acc)
{
    const kn_user_fold *fold = f->job->plan->user_folds[r];
    for (int c = 0; c < fold->by->count; c++)
        acc[c] = f->red[r + c].acc;
    return fold;
}

void kn_frame_start_user_fold(kn_frame *f, int r, int64_t n)
{
    char *acc[KN_MAX_CARRIED];
    kn_user_fold_start(user_fold_of(f, r, acc), n, acc);
}

void kn_frame_finish_user_fold(kn_frame *f, int r, int64_t n)
{
    memcpy(f->red[r].result, f->red[r].acc,
           (size_t)n * (size_t)kn_bytes(f->job->phase->nest.reds.data[r].dtype));
}

static void fold_own(kn_frame *f, const kn_step *s, int64_t n)
{
    char *acc[KN_MAX_CARRIED];
    const kn_user_fold *fold = user_fold_of(f, s->red, acc);
    kn_operand in[KN_MAX_CARRIED];
    for (int c = 0; c < s->nin; c++) {
        in[c] = f->value[s->in[c]];
        in[c].same = in[c].same && n > 1;
    }
    (f->job->cols ? kn_user_fold_accumulate : kn_user_fold_reduce)(fold, n, acc, in, f->user_lanes,
                                                                   f->user_scratch);
}

static void fold(kn_frame *f, const kn_step *s, int64_t n)
{
    const kn_fold *fold = f->job->plan->folds[s->red];
    if (!fold) {
        fold_own(f, s, n);
        return;
    }
    const kn_operand *v = &f->value[s->value];
    const void *in = v->data;
    if (v->same && n > 1) {
        void *spare = f->slots + (size_t)f->job->plan->slots * f->slot_bytes;
        kn_mover_of(s->bytes)->splat(n, spare, in);
        in = spare;
    }
    (f->job->cols ? fold->accumulate : fold->reduce)(n, f->red[s->red].acc, in);
}

void kn_frame_spread(kn_frame *f, const kn_steps *steps, int64_t groups, int64_t times)
{
    for (int i = 0; i < steps->len; i++) {
        const kn_step *s = &steps->data[i];
        kn_operand *v = s->value >= 0 ? &f->value[s->value] : NULL;
        const size_t bytes = (size_t)groups * (size_t)s->bytes;
        if (s->kind == KN_STEP_STORE || v->same)
            continue;
        char *to = s->kind == KN_STEP_RESULT ? f->red[s->red].result : memory_of(f, s);
        if (v->data != to) /* it may be where it was read from */
            memcpy(to, v->data, bytes);
        kn_repeat(to, (int64_t)bytes, times);
        v->data = to;
    }
}

static bool outer_is_first(const kn_frame *f, uint32_t axes)
{
    for (int k = 0; axes; k++, axes >>= 1)
        if ((axes & 1) && f->outer[k] != 0)
            return false;
    return true;
}

static void store(kn_frame *f, const kn_step *s, int64_t n)
{
    const kn_lane_access *l = &f->job->lanes[s->access];
    const kn_cursor *c = &f->cursor[s->access];
    kn_operand v =
        s->value >= 0 ? f->value[s->value] : (kn_operand){f->red[s->red].result, !f->job->cols};
    if (l->outer_once && !outer_is_first(f, l->outer_once))
        return;
    char *to = kn_lanes_at(l, c);
    if (c->kind == KN_LANE_UNIT && v.data == to) /* the operation has written it there */
        return;
    if (c->kind == KN_LANE_UNIT && !v.same)
        memcpy(to, v.data, (size_t)(n * s->bytes));
    else
        kn_lanes_scatter(l, c, n, v.data, v.same);
}

void kn_frame_steps(kn_frame *f, const kn_steps *steps, int64_t lanes, bool stores)
{
    for (const kn_step *s = steps->data, *end = s + steps->len; s < end; s++) {
        int64_t n = s->by_row && f->rows ? f->rows : lanes;
        switch (s->kind) {
        case KN_STEP_LOAD: load(f, s, n); break;
        case KN_STEP_GATHER: gather(f, s, n); break;
        case KN_STEP_INDEX: count(f, s, n); break;
        case KN_STEP_OP: operate(f, s, n); break;
        case KN_STEP_KEPT: f->value[s->value] = (kn_operand){memory_of(f, s), false}; break;
        case KN_STEP_RESULT:
            f->value[s->value] = (kn_operand){f->red[s->red].result, !f->job->cols};
            break;
        case KN_STEP_FOLD: fold(f, s, n); break;
        case KN_STEP_STORE:
            if (stores || s->value < 0)
                store(f, s, n);
            break;
        }
    }
}
