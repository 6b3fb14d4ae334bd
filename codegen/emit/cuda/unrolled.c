/* Unrolled steps: where a thread keeps its elements of a group, or of a batch of steps, in registers, each step has
 * registers of its own, so the loop over steps must be unrolled. All loads come before the first step. */
#include "codegen/emit/cuda/writer.h"

/* The condition under which a step has members. Full steps have; threads without a group then work on another's without
 * storing anything, but not where those that have it may store to what they would load. */
static const char *step_guard(kn_cuda_writer *w, const kn_cuda_stride *by, bool guarded)
{
    const kn_schedule *how = &w->ph->how;
    if (!how->full || guarded)
        return kn_cuda_printed(w, "i < %s", by->end);
    const bool stores = kn_sweep_stores_elements(w->ph, w->sweep) || !w->k->disjoint;
    const bool live = stores && kn_shares_block(w->k, w->ph);
    if (how->full == how->steps)
        return live ? "live" : NULL;
    return kn_cuda_printed(w, live ? "step < %d ? live : i < %s" : "step < %d || i < %s", how->full,
                           by->end);
}

/* Steps that only move data break out of the loop at the first that has no members: the compiler issues the loads
 * between branches together, but not loads that are predicated one by one. */
void kn_cuda_write_unrolled(kn_cuda_writer *w, const kn_cuda_unrolled *u,
                            void (*what)(kn_cuda_writer *))
{
    const bool only_loads = what != kn_cuda_step;
    if (!only_loads)
        kn_cuda_before_steps(w, u->steps);
    kn_put(w->t, "#pragma unroll\n");
    kn_cuda_open(w, "for (int step = %s; step < %s%d; ++step)", u->from ? u->from : "0",
                 u->from ? kn_cuda_printed(w, "%s + ", u->from) : "", u->steps);
    kn_cuda_line(w, "const kn_count i = %s;", u->index);
    if (w->resident && !only_loads)
        kn_cuda_line(w, "const kn_count slot = first_slot + (kn_count)step * blockDim.x;");
    if (u->guard && only_loads)
        kn_cuda_guarded(w, kn_cuda_printed(w, "!(%s)", u->guard), "break;");
    else if (u->guard)
        kn_cuda_open(w, "if (%s)", u->guard);
    w->plane = u->plane;
    kn_cuda_write_axes(w);
    w->plane = NULL;
    what(w);
    if (u->guard && !only_loads)
        kn_cuda_close(w);
    kn_cuda_close(w);
    if (!only_loads)
        kn_cuda_after_steps(w);
}

void kn_cuda_declare_kept(kn_cuda_writer *w, int i, int steps)
{
    if (w->declared[i])
        return;
    w->declared[i] = true;
    kn_cuda_line(w, "kn_vec<%s, %d> %s[%d];", kn_cuda_type(w->ph->nest.values.data[i].dtype),
                 w->ph->how.vec, kn_cuda_registers(w, i), steps);
}

/* Some of the loads that this sweep has in registers. */
typedef bool (*which_fn)(const kn_cuda_writer *w, int i);

/* Mixed reductions: is value i resident since an earlier phase, in steps for which there was room? Does this phase make
 * it resident? */
static bool is_resident_already(const kn_cuda_writer *w, int i)
{
    return w->ph->how.mixed && kn_part_on_chip(w->k, w->ph, i) > 0;
}

static bool is_in_memory(const kn_cuda_writer *w, int i) { return !is_resident_already(w, i); }

static bool is_to_become_resident(const kn_cuda_writer *w, int i)
{
    return w->ph->how.mixed && kn_kept(w->ph, i) == KN_KEEP_RESIDENT && !is_resident_already(w, i);
}

static bool is_now(const kn_cuda_writer *w, int i, which_fn which)
{
    return kn_cuda_keeps_now(w, i) && kn_value_at(w->ph, i)->kind == KN_V_LOAD && which(w, i);
}

static bool are_any(const kn_cuda_writer *w, which_fn which)
{
    bool any = false;
    for (int i = 0; i < w->ph->nest.values.len; i++)
        any = any || is_now(w, i, which);
    return any;
}

static void move_steps(kn_cuda_writer *w, const kn_cuda_unrolled *u, which_fn which,
                       void (*move)(kn_cuda_writer *))
{
    bool *all = w->need, *some = KN_NEW_ARRAY(w->t->arena, bool, w->ph->nest.values.len + 1);
    for (int i = 0; i < w->ph->nest.values.len; i++)
        some[i] = is_now(w, i, which);
    w->need = some;
    kn_cuda_write_unrolled(w, u, move);
    w->need = all;
}

/* Is it loaded to registers now, as aligned words of which vectors are assembled once all loads are on their way? */
static bool is_around(const kn_cuda_writer *w, int i)
{
    return is_now(w, i, is_in_memory) && kn_is_shifted(w->ph, i);
}

static void declare_around(kn_cuda_writer *w, int steps)
{
    for (int i = 0; i < w->ph->nest.values.len; i++)
        if (is_around(w, i))
            kn_cuda_line(w, "kn_around<%d, %s> %s_around[%d];", w->ph->how.vec,
                         kn_cuda_type(kn_value_at(w->ph, i)->dtype), kn_cuda_value(w, i), steps);
}

/* Marks in around[] what is loaded now as the aligned words around vectors; false: nothing is. */
static bool find_around(kn_cuda_writer *w)
{
    bool any = false;
    w->around = KN_NEW_ARRAY(w->t->arena, bool, w->ph->nest.values.len + 1);
    for (int i = 0; i < w->ph->nest.values.len; i++) {
        w->around[i] = is_around(w, i);
        any = any || w->around[i];
    }
    return any;
}

/* What kn_cuda_load_steps() does, but for what is left in around[]. */
static void load_steps(kn_cuda_writer *w, const kn_cuda_unrolled *u)
{
    w->around = find_around(w) ? w->around : NULL;
    for (int i = 0; i < w->ph->nest.values.len; i++)
        if (kn_cuda_keeps_now(w, i))
            kn_cuda_declare_kept(w, kn_cuda_holder(w, i), u->steps);
    declare_around(w, u->from ? w->ph->how.steps : u->steps);
    if (are_any(w, is_in_memory))
        move_steps(w, u, is_in_memory, kn_cuda_kept_loads);
    if (are_any(w, is_resident_already)) {
        kn_cuda_open(w, "if (resident)");
        w->resident = true;
        move_steps(w, u, is_resident_already, kn_cuda_kept_loads);
        w->resident = false;
        kn_cuda_close(w);
        kn_cuda_open(w, "else");
        move_steps(w, u, is_resident_already, kn_cuda_kept_loads);
        kn_cuda_close(w);
    }
    if (are_any(w, is_to_become_resident)) {
        kn_cuda_open(w, "if (resident)");
        move_steps(w, u, is_to_become_resident, kn_cuda_store_resident);
        kn_cuda_close(w);
    }
    for (int i = 0; i < w->ph->nest.values.len; i++)
        w->loaded[i] = w->loaded[i] ||
                       (kn_cuda_keeps_now(w, i) && w->ph->nest.values.data[i].kind == KN_V_LOAD);
}

void kn_cuda_load_steps(kn_cuda_writer *w, const kn_cuda_unrolled *u)
{
    load_steps(w, u);
    if (w->around)
        kn_cuda_write_unrolled(w, u, kn_cuda_assemble_step);
    w->around = NULL;
}

void kn_cuda_mark_in_shared(kn_cuda_writer *w)
{
    for (int i = 0; i < w->ph->nest.values.len; i++)
        w->loaded[i] = w->loaded[i] || (w->need[i] && kn_kept(w->ph, i) == KN_KEEP_SHARED);
}

void kn_cuda_write_steps(kn_cuda_writer *w, const kn_cuda_unrolled *u)
{
    load_steps(w, u);
    kn_cuda_write_unrolled(w, u, kn_cuda_step);
    w->around = NULL;
    for (int i = 0; i < w->ph->nest.values.len; i++) /* the sweep has computed it */
        w->loaded[i] = w->loaded[i] || kn_cuda_keeps_now(w, i);
    kn_cuda_mark_in_shared(w);
}

kn_cuda_unrolled kn_cuda_all_steps(kn_cuda_writer *w, const kn_cuda_stride *by, bool guarded)
{
    return (kn_cuda_unrolled){
        .steps = w->ph->how.steps,
        .index = kn_cuda_printed(w, "%s + (kn_count)step * %s", by->first, by->step),
        .guard = step_guard(w, by, guarded)};
}

/* The lanes of a step before the first sweep: no reduction and no store is of it. */
static void lanes_ahead(kn_cuda_writer *w)
{
    w->sweep = -1;
    w->in_step = true;
    kn_cuda_lanes(w);
    w->in_step = false;
    w->sweep = 0;
}

bool kn_cuda_computes_ahead(const kn_cuda_writer *w)
{
    bool any = false;
    for (int i = 0; i < w->ph->nest.values.len; i++)
        any = any || kn_selected_of(w->ph, i)->ahead;
    return any;
}

void kn_cuda_compute_ahead(kn_cuda_writer *w, const kn_cuda_stride *by)
{
    const int n = w->ph->nest.values.len;
    bool *made = KN_NEW_ARRAY(w->t->arena, bool, n + 1);
    w->sweep = 0;
    for (int i = 0; i < n; i++)
        w->need[i] = false;
    for (int i = 0; i < n; i++) {
        if (!kn_selected_of(w->ph, i)->ahead)
            continue;
        kn_value_needs(w->ph, i, made);
        kn_cuda_declare_kept(w, i, w->ph->how.steps);
        for (int m = 0; m <= i; m++)
            w->need[m] |= made[m];
    }
    const kn_cuda_unrolled all = kn_cuda_all_steps(w, by, false);
    kn_cuda_write_unrolled(w, &all, lanes_ahead);
    for (int i = 0; i < n; i++)
        w->loaded[i] = w->loaded[i] || kn_cuda_keeps_now(w, i);
}

void kn_cuda_load_hoisted(kn_cuda_writer *w, const kn_cuda_stride *by)
{
    for (int i = 0; i < w->ph->nest.values.len; i++)
        w->need[i] = kn_is_hoisted(w->ph, i);
    const kn_cuda_unrolled all = kn_cuda_all_steps(w, by, true);
    kn_cuda_load_steps(w, &all);
}

void kn_cuda_load_all_steps(kn_cuda_writer *w, const kn_cuda_stride *by)
{
    w->sweep = 0;
    kn_phase_needs(w->ph, 0, w->need);
    for (int i = 0; i < w->ph->nest.values.len; i++)
        w->need[i] = w->need[i] ||
                     (w->ph->nest.values.data[i].kind == KN_V_LOAD && kn_cuda_in_registers(w, i));
    const kn_cuda_unrolled all = kn_cuda_all_steps(w, by, false);
    kn_cuda_load_steps(w, &all);
    kn_phase_needs(w->ph, 0, w->need);
}

/* Marks the loads of the sweep that nothing holds. */
static bool *loads_of_batches(const kn_cuda_writer *w)
{
    bool *batched = KN_NEW_ARRAY(w->t->arena, bool, w->ph->nest.values.len + 1);
    for (int i = 0; i < w->ph->nest.values.len; i++)
        batched[i] = w->need[i] && kn_may_batch(w->ph, i) && !kn_kept(w->ph, i);
    return batched;
}

/* Declares what a batch loads. Where there are several, what a step may not load has a value: the registers of each batch would
 * be taken from the first step on. */
static void declare_batch(kn_cuda_writer *w, const kn_cuda_unrolled *all)
{
    for (int i = 0; i < w->ph->nest.values.len; i++) {
        if (!kn_cuda_is_batched(w, i))
            continue;
        kn_cuda_declare_kept(w, i, all->steps);
        if (w->loop->unroll < all->steps)
            kn_cuda_each(
                w, "step", w->loop->unroll,
                kn_cuda_printed(w, "%s[first_step + step] = {};", kn_cuda_registers(w, i)));
    }
}

/* All steps, of which so many at a time have the loads that nothing holds before the first of them. */
static void write_batches_of_all(kn_cuda_writer *w, const kn_cuda_unrolled *all)
{
    const int n = w->ph->nest.values.len;
    kn_cuda_unrolled batch = *all;
    batch.from = "first_step";
    batch.steps = w->loop->unroll;
    for (int i = 0; i < n; i++)
        if (kn_cuda_keeps_now(w, i))
            kn_cuda_declare_kept(w, kn_cuda_holder(w, i), all->steps);
    w->batched = loads_of_batches(w);
    kn_cuda_open_each_of(w, "first_step", all->steps, batch.steps);
    declare_batch(w, all);
    kn_cuda_write_steps(w, &batch);
    kn_cuda_close(w);
    for (int i = 0; i < n; i++)
        if (kn_cuda_is_batched(w, i))
            w->loaded[i] = w->declared[i] = false;
    w->batched = NULL;
}

void kn_cuda_write_all_steps(kn_cuda_writer *w, const kn_cuda_stride *by)
{
    if (w->sweep == 0 && !w->ph->how.mixed)
        kn_cuda_load_all_steps(w, by);
    const kn_cuda_unrolled all = kn_cuda_all_steps(w, by, w->loop->guarded);
    if (w->loop->batch)
        write_batches_of_all(w, &all);
    else
        kn_cuda_write_steps(w, &all);
}
