#include "runtime/cpu/plan.h"

#include <string.h>

#include "codegen/emit/c/c.h"
#include "runtime/cpu/frame.h"

typedef struct planner {
    kn_arena *arena;
    const kn_kernel *kernel;
    const kn_loops *loops;
    const kn_phase *phase;
    kn_phase_plan *plan;
    bool *needed;      /* per value */
    int *load_access;  /* per value */
    int *store_access; /* per store */
    int *kept;         /* per value: its row buffer, or -1 */
    bool *by_row;      /* per value: as in kn_step */
} planner;

static bool is_fixed(const kn_value *v)
{
    return v->kind == KN_V_SCALAR || v->kind == KN_V_CONST || v->kind == KN_V_EXTENT;
}

static bool is_group(const kn_value *v)
{
    return v->level == KN_GROUP || is_fixed(v) || v->kind == KN_V_RESULT;
}

static kn_status add_access(planner *pl, const kn_access *access, kn_dtype dtype, int value,
                            int store)
{
    const kn_buf *buf = access->buf == KN_BUF_COUNT ? NULL : &pl->kernel->bufs.data[access->buf];
    if (buf && buf->dtype != dtype)
        return kn_fail(KN_INTERNAL, "kernel %s, phase %s: %s of %s as %s", pl->kernel->name,
                       pl->phase->nest.name, store < 0 ? "load" : "store", buf->name,
                       kn_dtypes[dtype].text);
    kn_access_ref ref = {value, store, access->buf, buf ? kn_bytes(dtype) : 1};
    *(store < 0 ? &pl->load_access[value] : &pl->store_access[store]) = pl->plan->accesses.len;
    kn_push(pl->arena, &pl->plan->accesses, ref);
    return KN_OK;
}

static kn_status find_accesses(planner *pl)
{
    const kn_phase *p = pl->phase;
    pl->load_access = KN_NEW_ARRAY(pl->arena, int, p->nest.values.len);
    pl->store_access = KN_NEW_ARRAY(pl->arena, int, p->nest.stores.len);
    for (int v = 0; v < p->nest.values.len; v++)
        if (kn_has_access(&p->nest.values.data[v]) && pl->needed[v])
            KN_TRY(
                add_access(pl, p->nest.values.data[v].access, p->nest.values.data[v].dtype, v, -1));
    pl->plan->ordered = !pl->kernel->disjoint;
    for (int s = 0; s < p->nest.stores.len; s++) {
        const kn_store *store = &p->nest.stores.data[s];
        kn_dtype dtype = store->kind == KN_STORE_PARTIAL ? p->nest.reds.data[store->value].dtype
                                                         : p->nest.values.data[store->value].dtype;
        KN_TRY(add_access(pl, &store->access, dtype, -1, s));
        for (int a = 0; a < pl->plan->accesses.len; a++)
            if (pl->plan->accesses.data[a].value >= 0 &&
                pl->plan->accesses.data[a].buf == store->access.buf)
                pl->plan->ordered = true;
    }
    return KN_OK;
}

/* Adds the operands of needed values, last first. */
static void close_over(const kn_phase *p, bool *need)
{
    for (int v = p->nest.values.len - 1; v >= 0; v--)
        if (need[v])
            for (int k = 0; k < p->nest.values.data[v].nin; k++)
                need[p->nest.values.data[v].in[k]] = true;
}

static void find_needed(planner *pl)
{
    const kn_phase *p = pl->phase;
    pl->needed = KN_NEW_ARRAY(pl->arena, bool, p->nest.values.len);
    for (int s = 0; s < p->nest.stores.len; s++)
        if (p->nest.stores.data[s].kind != KN_STORE_PARTIAL)
            pl->needed[p->nest.stores.data[s].value] = true;
    for (int r = 0; r < p->nest.reds.len; r++)
        pl->needed[p->nest.reds.data[r].value] = true;
    close_over(p, pl->needed);
}

/* The axes along which a value may vary, from those of its operands, which come before it. */
static uint32_t axes_of(const kn_phase *p, const kn_value *v, const uint32_t *axes)
{
    uint32_t all = kn_has_access(v)         ? v->access->axes
                   : v->kind == KN_V_RESULT ? (1u << p->nest.ngroup) - 1
                                            : 0;
    for (int k = 0; k < v->nin; k++)
        all |= axes[v->in[k]];
    return all;
}

/* Takes from by_row what is used otherwise than for places, and what has an operand that is. True if anything was. */
static bool trim_by_row(const planner *pl, bool *by_row)
{
    const kn_phase *p = pl->phase;
    bool any = false;
    for (int i = p->nest.values.len - 1; i >= 0; i--) {
        const kn_value *v = &p->nest.values.data[i];
        for (int k = 0; k < v->nin && pl->needed[i]; k++) {
            bool places = by_row[i] || v->kind == KN_V_GATHER;
            any = any || (by_row[v->in[k]] && !places);
            by_row[v->in[k]] &= places;
        }
    }
    for (int i = 0; i < p->nest.values.len; i++) {
        const kn_value *v = &p->nest.values.data[i];
        for (int k = 0; k < v->nin && by_row[i]; k++) {
            by_row[i] = by_row[v->in[k]] || is_group(&p->nest.values.data[v->in[k]]);
            any = any || !by_row[i];
        }
    }
    return any;
}

/* Finds the values that do not vary along the last axis and are used for indices of gathers only. False where a gather
 * has another index. */
static bool find_by_row(planner *pl, const uint32_t *axes, uint32_t last)
{
    const kn_phase *p = pl->phase;
    bool *by_row = pl->by_row;
    for (int i = 0; i < p->nest.values.len; i++)
        by_row[i] = !(axes[i] & last) && !is_group(&p->nest.values.data[i]);
    for (int s = 0; s < p->nest.stores.len; s++)
        if (p->nest.stores.data[s].kind != KN_STORE_PARTIAL)
            by_row[p->nest.stores.data[s].value] = false;
    for (int r = 0; r < p->nest.reds.len; r++)
        by_row[p->nest.reds.data[r].value] = false;
    while (trim_by_row(pl, by_row)) {
    }
    for (int i = 0; i < p->nest.values.len; i++) {
        const kn_value *v = &p->nest.values.data[i];
        for (int k = 0; k < v->nin && v->kind == KN_V_GATHER && pl->needed[i]; k++)
            if (!by_row[v->in[k]] && !is_group(&p->nest.values.data[v->in[k]]))
                return false;
    }
    return true;
}

static void find_rows(planner *pl)
{
    const kn_phase *p = pl->phase;
    const uint32_t last = p->nest.naxes ? 1u << (p->nest.naxes - 1) : 0;
    uint32_t *axes = KN_NEW_ARRAY(pl->arena, uint32_t, p->nest.values.len + 1);
    for (int i = 0; i < p->nest.values.len; i++) {
        const kn_value *v = &p->nest.values.data[i];
        axes[i] = axes_of(p, v, axes);
        if (v->kind != KN_V_GATHER || !pl->needed[i])
            continue;
        uint32_t places = 0;
        for (int k = 0; k < v->nin; k++)
            places |= axes[v->in[k]];
        pl->plan->by_rows |= v->access->axes & last && !(places & last);
    }
    pl->plan->by_row = pl->by_row = KN_NEW_ARRAY(pl->arena, bool, p->nest.values.len + 1);
    pl->plan->all_rows = pl->plan->by_rows && find_by_row(pl, axes, last);
}

static void find_kept(planner *pl)
{
    const kn_phase *p = pl->phase;
    pl->kept = KN_NEW_ARRAY(pl->arena, int, p->nest.values.len + 1);
    for (int v = 0; v < p->nest.values.len; v++)
        pl->kept[v] = kn_kept(p, v) == KN_KEEP_FRAME ? pl->plan->kept++ : -1;
}

/* The step that computes value v. */
static kn_status add_value(planner *pl, kn_steps *steps, int v)
{
    const kn_value *value = &pl->phase->nest.values.data[v];
    kn_step s = {.value = v,
                 .slot = -1,
                 .access = -1,
                 .red = -1,
                 .kept = pl->kept[v],
                 .direct = -1,
                 .by_row = pl->by_row[v],
                 .bytes = kn_bytes(value->dtype)};
    if (kn_has_access(value)) {
        s.kind = value->kind == KN_V_LOAD     ? KN_STEP_LOAD
                 : value->kind == KN_V_GATHER ? KN_STEP_GATHER
                                              : KN_STEP_INDEX;
        s.access = pl->load_access[v];
        s.nin = value->nin;
        memcpy(s.in, value->in, sizeof s.in);
    } else if (value->kind == KN_V_RESULT) {
        s.kind = KN_STEP_RESULT;
        s.red = value->index;
    } else {
        kn_dtype types[KN_MAX_IN];
        s.kind = KN_STEP_OP;
        s.nin = value->nin;
        s.all = (1u << s.nin) - 1;
        for (int k = 0; k < s.nin; k++) {
            s.in[k] = value->in[k];
            types[k] = pl->phase->nest.values.data[s.in[k]].dtype;
        }
        if (s.nin == kn_ops[value->op].arity)
            s.loop = kn_loops_elem(pl->loops, value->op, types, value->dtype);
        if (!s.loop)
            return kn_fail(KN_INTERNAL, "kernel %s, phase %s: no loop for %s of %s to %s",
                           pl->kernel->name, pl->phase->nest.name, kn_ops[value->op].text,
                           s.nin ? kn_dtypes[types[s.nin - 1]].text : "nothing",
                           kn_dtypes[value->dtype].text);
    }
    kn_push(pl->arena, steps, s);
    return KN_OK;
}

static void add_kept(planner *pl, kn_steps *steps, int v)
{
    kn_step s = {.kind = KN_STEP_KEPT,
                 .value = v,
                 .slot = -1,
                 .access = -1,
                 .red = -1,
                 .kept = pl->kept[v],
                 .direct = -1,
                 .bytes = kn_bytes(pl->phase->nest.values.data[v].dtype)};
    kn_push(pl->arena, steps, s);
}

static void add_store(planner *pl, kn_steps *steps, int store)
{
    const kn_store *st = &pl->phase->nest.stores.data[store];
    bool partial = st->kind == KN_STORE_PARTIAL;
    int access = pl->store_access[store];
    kn_step s = {.kind = KN_STEP_STORE,
                 .value = partial ? -1 : st->value,
                 .slot = -1,
                 .access = access,
                 .red = partial ? st->value : -1,
                 .kept = -1,
                 .direct = -1,
                 .bytes = pl->plan->accesses.data[access].bytes};
    /* the step that has just made the value may write it straight to the output */
    if (!partial && !pl->plan->ordered && st->once == 0)
        for (int i = steps->len - 1; i >= 0; i--) {
            kn_step *by = &steps->data[i];
            if ((by->kind == KN_STEP_OP || by->kind == KN_STEP_GATHER) && by->value == st->value &&
                by->kept < 0 && by->direct < 0)
                by->direct = access;
        }
    kn_push(pl->arena, steps, s);
}

static kn_status plan_groups(planner *pl, int t)
{
    const kn_phase *p = pl->phase;
    kn_steps *steps = &pl->plan->stages[t].group;
    for (int v = 0; v < p->nest.values.len; v++) {
        const kn_value *value = &p->nest.values.data[v];
        /* Loads come first, before anything is stored. */
        int stage = kn_has_access(value) && value->kind != KN_V_GATHER ? 0 : value->stage;
        if (pl->needed[v] && is_group(value) && !is_fixed(value) && stage == t)
            KN_TRY(add_value(pl, steps, v));
    }
    for (int i = 0; i < steps->len; i++)
        if (steps->data[i].kind != KN_STEP_RESULT)
            pl->plan->group_buffer[steps->data[i].value] = pl->plan->group_buffers++;
    for (int s = 0; s < p->nest.stores.len; s++) {
        const kn_store *store = &p->nest.stores.data[s];
        bool last = t == p->nest.nsweeps;
        if (store->kind == KN_STORE_PARTIAL ? last
                                            : store->kind == KN_STORE_GROUP && store->stage == t)
            add_store(pl, steps, s);
    }
    return KN_OK;
}

/* The last operand of reduction r, with those of a user-defined reduction's other values: then all have been
 * computed. */
static int last_operand(const kn_phase *p, int r)
{
    const kn_red *first = &p->nest.reds.data[kn_red_owner(p, r)];
    int last = p->nest.reds.data[r].value;
    for (int c = 0; first->by && c < first->by->count; c++)
        last = first[c].value > last ? first[c].value : last;
    return last;
}

/* Folds and stores of value v in sweep t; if order matters, stores come at the end of the block. */
static void use_value(planner *pl, int t, int v, bool at_end)
{
    const kn_phase *p = pl->phase;
    kn_stage *stage = &pl->plan->stages[t];
    for (int r = 0; r < p->nest.reds.len && !at_end; r++)
        if (p->nest.reds.data[r].stage == t && last_operand(p, r) == v) {
            kn_push(pl->arena, &stage->results, r);
            if (pl->plan->owner[r] != r)
                continue;
            kn_step s = {.kind = KN_STEP_FOLD,
                         .value = v,
                         .slot = -1,
                         .access = -1,
                         .red = r,
                         .nin = kn_red_width(&p->nest.reds.data[r]),
                         .kept = -1,
                         .direct = -1,
                         .bytes = kn_bytes(p->nest.reds.data[r].dtype)};
            for (int c = 0; c < s.nin; c++)
                s.in[c] = p->nest.reds.data[r + c].value;
            kn_push(pl->arena, &stage->sweep, s);
            kn_push(pl->arena, &stage->reds, r);
        }
    for (int s = 0; s < p->nest.stores.len && at_end == pl->plan->ordered; s++)
        if (p->nest.stores.data[s].kind == KN_STORE_ELEMENT && p->nest.stores.data[s].stage == t &&
            p->nest.stores.data[s].value == v)
            add_store(pl, &stage->sweep, s);
}

/* Register allocation of block buffers: a buffer is free again after its value's last use. */
static void assign_slots(planner *pl, kn_steps *steps)
{
    int nvalues = pl->phase->nest.values.len;
    int *last = KN_NEW_ARRAY(pl->arena, int, nvalues);
    int *slot = KN_NEW_ARRAY(pl->arena, int, nvalues);
    bool *busy = KN_NEW_ARRAY(pl->arena, bool, steps->len + 1);
    for (int i = 0; i < steps->len; i++) {
        kn_step *s = &steps->data[i];
        for (int k = 0; k < s->nin; k++)
            last[s->in[k]] = i;
        last[s->value] = i;
    }
    for (int v = 0; v < nvalues; v++)
        slot[v] = -1;
    for (int i = 0; i < steps->len; i++) {
        kn_step *s = &steps->data[i];
        if (s->kept < 0 && (s->kind == KN_STEP_LOAD || s->kind == KN_STEP_GATHER ||
                            s->kind == KN_STEP_INDEX || s->kind == KN_STEP_OP)) {
            int free = 0;
            while (busy[free])
                free++;
            busy[free] = true;
            s->slot = slot[s->value] = free;
            if (free >= pl->plan->slots)
                pl->plan->slots = free + 1;
        }
        for (int k = 0; k <= s->nin; k++) {
            int v = k < s->nin ? s->in[k] : s->value;
            if (last[v] == i && slot[v] >= 0)
                busy[slot[v]] = false;
        }
    }
}

static kn_status plan_sweep(planner *pl, int t)
{
    const kn_phase *p = pl->phase;
    kn_stage *stage = &pl->plan->stages[t];
    bool *need = KN_NEW_ARRAY(pl->arena, bool, p->nest.values.len + 1);
    kn_phase_needs(p, t, need);
    stage->f64_variances = kn_c_has_f64_variance(p, t);
    for (int v = 0; v < p->nest.values.len; v++) {
        if (!need[v])
            continue;
        if (pl->kept[v] >= 0 && kn_is_found(p, v, t))
            add_kept(pl, &stage->sweep, v);
        else if (!is_group(&p->nest.values.data[v]))
            KN_TRY(add_value(pl, &stage->sweep, v));
        use_value(pl, t, v, false);
    }
    for (int v = 0; v < p->nest.values.len && pl->plan->ordered; v++)
        use_value(pl, t, v, true);
    assign_slots(pl, &stage->sweep);
    for (int i = 0; i < stage->sweep.len; i++)
        if (stage->sweep.data[i].access >= 0)
            kn_push(pl->arena, &stage->accesses, stage->sweep.data[i].access);
    pl->plan->work += stage->sweep.len;
    return KN_OK;
}

/* Bytes of a member, of each array that has one for all groups and members. */
static int moved_by(const kn_phase_plan *plan, const kn_phase *p)
{
    int bytes = 0;
    uint64_t seen = 0;
    for (int i = 0; i < plan->accesses.len; i++) {
        const kn_access_ref *ref = &plan->accesses.data[i];
        const kn_access *acc = kn_access_of(p, ref);
        bool all = ref->buf >= 0 && ref->buf < 64 && !(seen >> ref->buf & 1);
        for (int a = 0; a < p->nest.naxes; a++)
            all = all && acc->kind[a] != KN_STRIDE_ZERO;
        bytes += all ? ref->bytes : 0;
        seen |= all ? UINT64_C(1) << ref->buf : 0;
    }
    return bytes;
}

static kn_status plan_phase(planner *pl)
{
    const kn_phase *p = pl->phase;
    kn_phase_plan *plan = pl->plan;
    if (p->local)
        return kn_fail(KN_INTERNAL, "kernel %s, phase %s: the CPU has no local phases",
                       pl->kernel->name, p->nest.name);
    plan->nvalues = p->nest.values.len;
    plan->nreds = p->nest.reds.len;
    plan->nstages = p->nest.nsweeps + 1;
    plan->stages = KN_NEW_ARRAY(pl->arena, kn_stage, plan->nstages);
    plan->folds = KN_NEW_ARRAY(pl->arena, const kn_fold *, p->nest.reds.len);
    plan->user_folds = KN_NEW_ARRAY(pl->arena, const kn_user_fold *, p->nest.reds.len);
    plan->owner = KN_NEW_ARRAY(pl->arena, int, p->nest.reds.len);
    plan->group_buffer = KN_NEW_ARRAY(pl->arena, int, p->nest.values.len);
    for (int r = 0; r < p->nest.reds.len; r++) {
        const kn_red *red = &p->nest.reds.data[r];
        kn_dtype in = p->nest.values.data[red->value].dtype;
        bool part = red->part == KN_PART_MEAN || red->part == KN_PART_COUNT;
        plan->owner[r] = kn_c_owner(p, r);
        if (red->by) {
            if (plan->owner[r] == r)
                KN_TRY(kn_user_fold_make(pl->arena, pl->loops, red->by, &plan->user_folds[r]));
            continue;
        }
        plan->folds[r] = kn_loops_fold(pl->loops, red->op, in);
        if (!plan->folds[r] || red->part == KN_PART_EXPSUM || (part ? KN_F64 : in) != red->dtype)
            return kn_fail(KN_INTERNAL, "kernel %s, phase %s: no loop for %s of %s",
                           pl->kernel->name, p->nest.name, kn_ops[red->op].text,
                           kn_dtypes[red->dtype].text);
    }
    plan->widest = 8;
    for (int v = 0; v < p->nest.values.len; v++)
        if ((size_t)kn_bytes(p->nest.values.data[v].dtype) > plan->widest)
            plan->widest = (size_t)kn_bytes(p->nest.values.data[v].dtype);
    find_needed(pl);
    find_rows(pl);
    find_kept(pl);
    KN_TRY(find_accesses(pl));
    plan->moved = moved_by(plan, p);
    for (int v = 0; v < p->nest.values.len; v++) {
        plan->group_buffer[v] = -1;
        if (pl->needed[v] && is_fixed(&p->nest.values.data[v]))
            kn_push(pl->arena, &plan->fixed, v);
    }
    for (int t = 0; t <= p->nest.nsweeps; t++)
        KN_TRY(plan_groups(pl, t));
    for (int t = 0; t < p->nest.nsweeps; t++)
        KN_TRY(plan_sweep(pl, t));
    kn_cpu_frame_size(plan);
    return KN_OK;
}

typedef struct request {
    const kn_kernel *kernel;
    const kn_loops *loops;
    kn_cpu_plan *plan;
} request;

static kn_status make(void *ctx)
{
    request *r = ctx;
    kn_cpu_plan *plan = r->plan;
    plan->nphases = r->kernel->phases.len;
    plan->phases = KN_NEW_ARRAY(&plan->arena, kn_phase_plan, plan->nphases);
    for (int i = 0; i < plan->nphases; i++) {
        kn_phase_plan *phase = &plan->phases[i];
        planner pl = {.arena = &plan->arena,
                      .kernel = r->kernel,
                      .loops = r->loops,
                      .phase = &r->kernel->phases.data[i],
                      .plan = phase};
        KN_TRY(plan_phase(&pl));
        if (phase->frame_bytes > plan->frame_bytes)
            plan->frame_bytes = phase->frame_bytes;
        if (phase->accesses.len > plan->accesses)
            plan->accesses = phase->accesses.len;
    }
    return KN_OK;
}

kn_status kn_cpu_plan_make(const kn_kernel *kernel, const kn_loops *loops, const kn_allocator *from,
                           kn_cpu_plan **out)
{
    kn_cpu_plan *plan = from->alloc(from->user, sizeof *plan);
    if (!plan)
        return kn_fail(KN_MEMORY, "out of memory: kernel %s", kernel->name);
    memset(plan, 0, sizeof *plan);
    kn_arena_init(&plan->arena, from);
    request r = {kernel, loops, plan};
    kn_status status = kn_protect(&plan->arena, make, &r);
    if (status != KN_OK) {
        kn_cpu_plan_free(plan);
        return status;
    }
    *out = plan;
    return KN_OK;
}

void kn_cpu_plan_free(kn_cpu_plan *plan)
{
    if (!plan)
        return;
    kn_allocator from = plan->arena.from;
    kn_arena_finish(&plan->arena);
    from.release(from.user, plan);
}
