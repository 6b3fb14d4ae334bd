/* The tail of a single run: the elements behind its last whole vector, fewer than a vector has. Threads take one each,
 * in a step behind the loop of each sweep. It is the last threads that do: the last vectors mostly leave them idle. Rows
 * load it before their first sweep: codegen/kir/remainder.h. So do rows by run, where each thread has an edge at most, with
 * the edges of their run. */
#include "codegen/emit/cuda/writer.h"
#include "codegen/kir/remainder.h"

void kn_cuda_tail_range(kn_cuda_writer *w, const char *end, const char *mine)
{
    int vec = w->ph->how.vec;
    kn_cuda_line(w, "// whole vectors end where the tail begins");
    kn_cuda_line(w, "const kn_count tail = %s / %d * %d;", end, vec, vec);
    kn_cuda_line(w, "const kn_count tail_end = %s;",
                 *mine ? kn_cuda_printed(w, "%s ? %s : 0", mine, end) : end);
}

/* Switches to the tail; what it has loaded stays known. */
static void enter_tail(kn_cuda_writer *w)
{
    const int n = w->ph->nest.values.len + 1;
    w->ph = w->tail;
    w->loaded = w->loaded_tail;
    w->declared = KN_NEW_ARRAY(w->t->arena, bool, n);
    w->need = KN_NEW_ARRAY(w->t->arena, bool, n);
    w->in_tail = true;
    w->on_edges = w->ph->how.by_run;
}

static kn_cuda_unrolled step_of_tail(kn_cuda_writer *w)
{
    if (w->on_edges)
        return (kn_cuda_unrolled){.steps = 1, .index = "first_edge", .guard = "i < edges_end"};
    const bool part = w->ph->how.walk == KN_WALK_ROWS && kn_shares_block(w->k, w->ph);
    const char *workers =
        part ? kn_cuda_printed(w, "%d", w->ph->how.tpg) : kn_cuda_block_times(w, 1);
    const char *lane = w->ph->how.walk == KN_WALK_FLAT ? "threadIdx.x" : "lane";
    return (kn_cuda_unrolled){
        .steps = 1,
        .index = kn_cuda_printed(w, "tail + ((kn_count)%s - 1 - %s)", workers, lane),
        .guard = "i < tail_end"};
}

/* ---- prefetched: each group's edges are loaded to registers of their own, in the group before ---- */

static bool is_next(const kn_cuda_writer *w, int i)
{
    return kn_kept(w->ph, i) && !kn_is_hoisted(w->ph, i);
}

static const char *next_of_tail(kn_cuda_writer *w, int i)
{
    return kn_cuda_printed(w, "%s_next", kn_cuda_registers(w, i));
}

static void declare_next(kn_cuda_writer *w, const kn_cuda_unrolled *step)
{
    (void)step;
    for (int i = 0; i < w->ph->nest.values.len; i++)
        if (is_next(w, i))
            kn_cuda_line(w, "kn_vec<%s, 1> %s;", kn_cuda_type(kn_value_at(w->ph, i)->dtype),
                         next_of_tail(w, i));
}

static void load_all_next(kn_cuda_writer *w)
{
    for (int i = 0; i < w->ph->nest.values.len; i++)
        if (is_next(w, i))
            kn_cuda_line(w, "%s = %s;", next_of_tail(w, i),
                         kn_cuda_loaded(w, i, 1, kn_cuda_address(w, i, NULL)));
}

static void load_next(kn_cuda_writer *w, const kn_cuda_unrolled *step)
{
    for (int i = 0; i < w->ph->nest.values.len; i++)
        w->need[i] = is_next(w, i);
    kn_cuda_write_unrolled(w, step, load_all_next);
}

static void take_next(kn_cuda_writer *w, const kn_cuda_unrolled *step)
{
    for (int i = 0; i < w->ph->nest.values.len; i++) {
        if (!is_next(w, i))
            continue;
        kn_cuda_declare_kept(w, i, step->steps);
        kn_cuda_line(w, "%s[0] = %s;", kn_cuda_registers(w, i), next_of_tail(w, i));
        w->loaded[i] = true;
    }
}

void kn_cuda_of_tail(kn_cuda_writer *w, kn_cuda_pass *what)
{
    const kn_cuda_writer around = *w;
    enter_tail(w);
    const kn_cuda_unrolled step = step_of_tail(w);
    what(w, &step);
    *w = around;
}

static void make_tail(kn_cuda_writer *w)
{
    w->tail = kn_phase_of_tail(w->t->arena, w->ph, w->k->fast);
    w->loaded_tail = KN_NEW_ARRAY(w->t->arena, bool, w->ph->nest.values.len + 1);
}

/* What rows keep of it and have not hoisted. */
static void load_kept(kn_cuda_writer *w, const kn_cuda_unrolled *step)
{
    for (int i = 0; i < w->ph->nest.values.len; i++)
        w->need[i] = kn_kept(w->ph, i) && !w->loaded[i];
    kn_cuda_load_steps(w, step);
}

void kn_cuda_begin_tail(kn_cuda_writer *w)
{
    const bool mixed = w->ph->how.mixed;
    if (!mixed)
        make_tail(w);
    kn_cuda_of_tail(w, mixed && w->ph->how.prefetch ? take_next : load_kept);
}

static void write_step(kn_cuda_writer *w, const kn_cuda_unrolled *step)
{
    kn_phase_needs(w->ph, w->sweep, w->need);
    kn_cuda_write_steps(w, step);
}

void kn_cuda_write_tail(kn_cuda_writer *w) { kn_cuda_of_tail(w, write_step); }

/* ---- of mixed rows ---- */

static void hoist(kn_cuda_writer *w, const kn_cuda_unrolled *step)
{
    kn_cuda_across_accumulators(w);
    for (int i = 0; i < w->ph->nest.values.len; i++)
        w->need[i] = kn_is_hoisted(w->ph, i);
    kn_cuda_load_steps(w, step);
}

void kn_cuda_begin_tail_of_part(kn_cuda_writer *w)
{
    make_tail(w);
    kn_cuda_of_tail(w, hoist);
    if (w->ph->how.prefetch)
        kn_cuda_of_tail(w, declare_next);
}

void kn_cuda_prefetch_tail(kn_cuda_writer *w) { kn_cuda_of_tail(w, load_next); }
