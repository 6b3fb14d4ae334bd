/* The sweeps of a phase over the members of a group: their loops, what they keep for each other, and what a group
 * computes and stores between them. */
#include "codegen/emit/cuda/writer.h"
#include "codegen/kir/remainder.h"

/* The loop of the current sweep, over the steps that are on chip or over the others. */
static const kn_sweep_loop *loop_of(const kn_cuda_writer *w, bool on_chip)
{
    const kn_sweep_loop *l = w->ph->how.loops.data;
    while (l->sweep != w->sweep || l->on_chip != on_chip)
        l++;
    return l;
}

/* What a loop over members counts: them, or register tiles of them. */
static const char *member(const kn_cuda_writer *w)
{
    return kn_transpose_side(w->ph) > 1 ? "i0" : "i";
}

/* by->first is NULL where the steps of a chunk continue those of the one before. */
static void open_steps(kn_cuda_writer *w, const kn_cuda_stride *by, int steps)
{
    const char *i = by->first ? kn_cuda_printed(w, "i = %s", by->first) : "";
    const char *slot = w->resident ? "slot = threadIdx.x"
                       : w->counts_slots
                           ? kn_cuda_printed(w, "slot = (i - begin) / %d", w->ph->how.vec)
                           : "";
    const char *left =
        steps > 1 ? kn_cuda_printed(w, ", remaining = kn_steps(i, %s, %s)", by->end, by->step) : "";
    kn_cuda_open(w, "for (kn_count %s%s%s%s; %s; %si += %s%s)", i, *i && *slot ? ", " : "", slot,
                 left, steps > 1 ? "remaining > 0" : kn_cuda_printed(w, "i < %s", by->end),
                 steps > 1 ? "--remaining, " : "", by->step, *slot ? ", slot += blockDim.x" : "");
}

static void open_loop(kn_cuda_writer *w, const kn_cuda_stride *by)
{
    const int steps = kn_transpose_side(w->ph) > 1 ? 1 : w->loop->unroll;
    kn_putf(w->t, "#pragma unroll %d\n", steps);
    if (w->tiled) {
        kn_cuda_open(w, "for (kn_count step = 0; step < %s; ++step)", by->end);
        kn_cuda_line(w, "const kn_count i = %s + step * %s;", by->first, by->step);
    } else if (w->loop->counted && !w->loop->backwards) {
        open_steps(w, by, steps);
    } else if (!w->loop->backwards) {
        const char *i = member(w);
        kn_cuda_open(w, "for (kn_count %s = %s; %s < %s; %s += %s)", i, by->first, i, by->end, i,
                     by->step);
    } else {
        const char *i = member(w),
                   *left = kn_cuda_printed(w, "kn_steps(%s, %s, %s)", by->first, by->end, by->step);
        kn_cuda_open(
            w, "for (kn_count %s = kn_walk_end(%s, %s, %s)%s; %s; %s)", i, by->first, by->end,
            by->step, w->loop->counted ? kn_cuda_printed(w, ", remaining = %s", left) : "",
            w->loop->counted ? "remaining > 0" : kn_cuda_printed(w, "%s != %s", i, by->first),
            w->loop->counted ? "--remaining" : "");
        kn_cuda_line(w, "%s -= %s;", i, by->step);
    }
}

/* Marks the loads that a batch puts into registers first: not those that an earlier sweep left in shared memory, nor, in a
 * tile, those that go on to shared memory. */
static void begin_batch(kn_cuda_writer *w)
{
    bool *batched = KN_NEW_ARRAY(w->t->arena, bool, w->ph->nest.values.len + 1);
    for (int i = 0; i < w->ph->nest.values.len; i++)
        batched[i] = kn_may_batch(w->ph, i) &&
                     (kn_kept(w->ph, i) != KN_KEEP_SHARED || (!w->tiled && !w->loaded[i]));
    w->batched = batched;
}

/* Forgets the batch's registers, which the next one loads again; what it has put into shared memory stays loaded. */
static void end_batch(kn_cuda_writer *w)
{
    for (int i = 0; i < w->ph->nest.values.len; i++)
        if (kn_cuda_in_registers(w, i))
            w->loaded[i] = w->declared[i] = false;
    w->batched = NULL;
    kn_cuda_mark_in_shared(w);
}

/* Opens the loop over a thread's batches of contiguous steps. In the last round, in which not all blocks have a whole
 * batch, single steps are cyclic as elsewhere, so that no block has more than one step more than another. */
static void open_contiguous_batches(kn_cuda_writer *w, const kn_cuda_stride *by, int steps)
{
    kn_cuda_open(w, "for (kn_count round = 0; %s + round < %s; round += %d * (%s))", by->first,
                 by->end, steps, by->step);
    kn_cuda_line(w, "const bool whole = round + %d * (%s) <= %s;", steps, by->step, by->end);
    kn_cuda_line(w, "const kn_count from = %s + round + (whole ? %d * begin : 0);", by->first,
                 steps - 1);
    kn_cuda_line(w, "const kn_count batch_stride = whole ? block_step : %s;", by->step);
}

/* The steps of a batch. One that is whole may have a form of its own, without bounds checks. */
static void write_batch(kn_cuda_writer *w, kn_cuda_unrolled *batch, const char *whole)
{
    const kn_sweep_loop *l = w->loop;
    if (l->unguarded)
        batch->guard = l->unguarded < l->unroll
                           ? kn_cuda_printed(w, "step < %d || %s", l->unguarded, batch->guard)
                           : NULL;
    if (!l->whole) {
        kn_cuda_write_steps(w, batch);
        return;
    }
    batch->guard = kn_cuda_printed(w, "all || %s", batch->guard);
    kn_cuda_open(w, "const auto batch = [&](const auto all)");
    kn_cuda_write_steps(w, batch);
    kn_cuda_close_as(w, "};");
    kn_cuda_guarded(w, whole, "batch(kn_bool<true>());");
    kn_cuda_line(w, "else");
    kn_cuda_line(w, "    batch(kn_bool<false>());");
}

/* Steps of whole planes: declares in which plane the batch's first step begins, at member `first`, and how many planes are from
 * one to the next. */
static void find_planes(kn_cuda_writer *w, kn_cuda_unrolled *batch, const char *first,
                        const char *step)
{
    if (!w->ph->how.planes)
        return;
    kn_cuda_line(w, "const kn_count first_plane = %s, planes = %s;", kn_cuda_plane_of(w, first),
                 kn_cuda_plane_of(w, step));
    batch->plane = kn_cuda_printed(w, "first_plane %c (kn_count)step * planes",
                                   w->loop->backwards ? '-' : '+');
}

/* The loop by batches of steps, whose loads are all in flight before the first step waits for its own. */
static void write_batches(kn_cuda_writer *w, const kn_cuda_stride *by)
{
    const int steps = w->loop->unroll;
    kn_cuda_unrolled batch = {.steps = steps};
    const char *whole; /* when all steps have members */
    const bool contiguous = w->loop->batch == KN_BATCH_CONTIGUOUS;
    begin_batch(w);
    if (!w->loop->backwards) {
        const char *at = w->resident ? ", first_slot = threadIdx.x" : "",
                   *on = w->resident ? kn_cuda_printed(w, ", first_slot += %d * blockDim.x", steps)
                                     : "";
        kn_put(w->t, "#pragma unroll 1\n");
        if (contiguous)
            open_contiguous_batches(w, by, steps);
        else
            kn_cuda_open(w, "for (kn_count from = %s%s; from < %s; from += %d * (%s)%s)", by->first,
                         at, by->end, steps, by->step, on);
        const char *stride = contiguous ? "batch_stride" : by->step;
        find_planes(w, &batch, "from", stride);
        batch.index = kn_cuda_printed(w, "from + (kn_count)step * (%s)", stride);
        /* of a constant stride it is a comparison with a number */
        batch.guard =
            contiguous ? kn_cuda_printed(w, "i < %s", by->end)
                       : kn_cuda_printed(w, "(kn_count)step * (%s) < %s - from", by->step, by->end);
        whole = contiguous
                    ? "whole"
                    : kn_cuda_printed(w, "%d * (%s) < %s - from", steps - 1, by->step, by->end);
    } else {
        kn_cuda_line(w, "const kn_count steps%d = kn_steps(%s, %s, %s);", w->sweep, by->first,
                     by->end, by->step);
        kn_put(w->t, "#pragma unroll 1\n");
        kn_cuda_open(w, "for (kn_count done = 0; done < steps%d; done += %d)", w->sweep, steps);
        batch.index = kn_cuda_printed(w, "%s + (steps%d - 1 - done - (kn_count)step) * (%s)",
                                      by->first, w->sweep, by->step);
        find_planes(
            w, &batch,
            kn_cuda_printed(w, "%s + (steps%d - 1 - done) * (%s)", by->first, w->sweep, by->step),
            by->step);
        batch.guard = kn_cuda_printed(w, "done + (kn_count)step < steps%d", w->sweep);
        whole = kn_cuda_printed(w, "done + %d <= steps%d", steps, w->sweep);
    }
    write_batch(w, &batch, whole);
    end_batch(w);
    kn_cuda_close(w);
}

/* A chunk, in which the steps of the one before continue. */
static kn_cuda_stride stride_of_chunk(kn_cuda_writer *w)
{
    return (kn_cuda_stride){NULL, kn_cuda_printed(w, "kn_least(to, %s)", kn_cuda_copied_end(w->ph)),
                            "stride"};
}

/* The steps of a register tile's members, then its stores. */
static void write_register_tile_steps(kn_cuda_writer *w)
{
    kn_cuda_declare_register_tiles(w);
    if (w->loop->unroll >= kn_transpose_side(w->ph))
        kn_cuda_load_register_tiles(w);
    if (w->ph->how.prefetch && w->sweep + 1 == w->ph->nest.nsweeps)
        kn_cuda_prefetch_tile(w);
    kn_cuda_open_register_tile(w, w->loop->unroll);
    kn_cuda_write_axes(w);
    kn_cuda_step(w);
    kn_cuda_close(w);
    kn_cuda_store_register_tiles(w);
    w->in_register_tile = false;
}

/* Steps of whole planes, one by one: declares the plane that goes along with i, of the first step or behind the last; moves it on,
 * in the loop. */
static void declare_plane_of_step(kn_cuda_writer *w, const kn_cuda_stride *by)
{
    const int s = w->sweep;
    const char *last = w->loop->backwards ? kn_cuda_printed(w, " + kn_steps(%s, %s, %s) * planes%d",
                                                            by->first, by->end, by->step, s)
                                          : "";
    kn_cuda_line(w, "const kn_count planes%d = %s;", s, kn_cuda_plane_of(w, by->step));
    kn_cuda_line(w, "kn_count plane%d = %s%s;", s, kn_cuda_plane_of(w, by->first), last);
    w->plane = kn_cuda_printed(w, "plane%d", s);
}

static void move_plane(kn_cuda_writer *w, bool backwards)
{
    if (w->plane && w->loop->backwards == backwards)
        kn_cuda_line(w, "plane%d %c= planes%d;", w->sweep, backwards ? '-' : '+', w->sweep);
}

static void write_loop(kn_cuda_writer *w, const kn_cuda_stride *by)
{
    if (w->loop->batch) {
        write_batches(w, by);
        return;
    }
    const bool chunks = kn_copies_in_chunks(w->ph) && w->sweep + 1 == w->ph->nest.nsweeps;
    const kn_cuda_stride stride = chunks ? stride_of_chunk(w) : *by;
    w->counts_slots = w->loop->counted && !w->loop->backwards && kn_holds(w->ph, KN_KEEP_SHARED) &&
                      !kn_phase_in_order(w->ph);
    if (w->ph->how.unaligned)
        kn_cuda_unaligned_steps(w);
    if (chunks)
        kn_cuda_open_chunks(w, by->first);
    if (w->ph->how.planes)
        declare_plane_of_step(w, by);
    open_loop(w, &stride);
    move_plane(w, true);
    if (w->ph->how.unaligned) {
        kn_cuda_line(w, "step%d(i%s, kn_bool<true>());", w->sweep, w->counts_slots ? ", slot" : "");
    } else if (kn_transpose_side(w->ph) > 1) {
        write_register_tile_steps(w);
    } else {
        kn_cuda_write_axes(w);
        kn_cuda_step(w);
    }
    move_plane(w, false);
    w->plane = NULL;
    kn_cuda_close(w);
    if (chunks)
        kn_cuda_close_chunks(w);
    w->counts_slots = false;
    kn_cuda_mark_in_shared(w);
}

/* The steps whose resident values shared memory has room for: the first phase that loads them stores them there, later
 * ones find them there. */
static void write_resident_steps(kn_cuda_writer *w, const kn_cuda_stride *by)
{
    const kn_sweep_loop *others = w->loop;
    const kn_cuda_stride on_chip = {
        by->first, kn_cuda_printed(w, "kn_least(resident_end, %s)", by->end), by->step};
    w->loop = loop_of(w, true);
    w->resident = true;
    for (int i = 0; i < w->ph->nest.values.len; i++)
        w->loaded[i] = kn_part_on_chip(w->k, w->ph, i) > 0;
    write_loop(w, &on_chip);
    for (int i = 0; i < w->ph->nest.values.len; i++)
        w->loaded[i] = false;
    w->resident = false;
    w->loop = others;
}

/* A sweep with resident values: those steps, and the others, which come first in reverse. */
static void write_resident(kn_cuda_writer *w, const kn_cuda_stride *by)
{
    const bool cols = w->ph->how.walk == KN_WALK_COLS;
    const char *first =
        w->ph->how.interleaved ? "resident_end"
        : cols                 ? "resident_end + row"
               : kn_cuda_printed(w, "resident_end + (kn_count)lane * %d", w->ph->how.vec);
    const kn_cuda_stride in_memory = {first, by->end, by->step};
    kn_cuda_line(w, "// what a block's first steps load is resident");
    kn_cuda_line(
        w, "const kn_count resident_end = begin + (%s == %s ? (kn_count)resident_steps * %s : 0);",
        cols ? "item" : "first", w->block, by->step);
    if (!w->loop->backwards) {
        write_resident_steps(w, by);
        write_loop(w, &in_memory);
    } else {
        write_loop(w, &in_memory);
        write_resident_steps(w, by);
    }
}

/* May the steps of a tile compute what lies beyond its edge, and not store it? Where it has rows for all of them, and everything
 * that is read is in it or loaded before, clamped. */
static bool may_pass_edge(const kn_cuda_writer *w, int steps)
{
    const kn_phase *ph = w->ph;
    bool may = ph->nest.reds.len == 0 && steps * ph->how.tpg == ph->how.tile;
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = kn_value_at(ph, i);
        may = may && (!w->need[i] || v->level != KN_ELEMENT || !kn_has_access(v) || w->batched[i] ||
                      kn_transpose_of(ph, i));
    }
    return may;
}

/* Direct loads beyond the edge are clamped to it, as transposed loads are. With conditions on nothing but stores the compiler has
 * what all steps share in registers, and reads the tile for several steps at a time. It would move direct loads in between,
 * behind the barrier, but for a branch in front of it. */
static void write_steps_of_tile(kn_cuda_writer *w, int steps)
{
    const int rows = w->ph->how.tpg;
    const char *index = kn_cuda_printed(w, "from + row + (kn_count)step * %d", rows),
               *guard = kn_cuda_printed(w, "(kn_count)step * %d < remaining", rows);
    const kn_cuda_unrolled loads = {.steps = steps,
                                    .index = kn_cuda_printed(w, "kn_least(%s, to - 1)", index)};
    begin_batch(w);
    const bool may = may_pass_edge(w, steps);
    kn_cuda_load_steps(w, &loads);
    const bool only_stores = kn_cuda_load_tile(w) && may;
    const kn_cuda_unrolled all = {
        .steps = steps, .index = index, .guard = only_stores ? NULL : guard};
    kn_cuda_line(w, "const kn_count remaining = live && from + row < to ? to - from - row : 0;");
    w->store_guard = only_stores ? guard : NULL;
    kn_cuda_write_unrolled(w, &all, kn_cuda_step);
    w->store_guard = NULL;
    end_batch(w);
}

/* The loop, tile by tile. All threads of the block take part in moving a tile. */
static void write_tiles(kn_cuda_writer *w, const kn_cuda_stride *by)
{
    const kn_cuda_stride within = {"from + row", "remaining", by->step};
    w->tiled = true;
    kn_cuda_open_tile(w, w->ph->how.split || w->ph->how.cluster ? "limit" : "members");
    if (w->loop->batch) {
        write_steps_of_tile(w, w->loop->unroll);
    } else {
        kn_cuda_load_tile(w);
        kn_cuda_line(
            w,
            "const kn_count remaining = live && from + row < to ? (to - from - row - 1) / %d + 1 : 0;",
            w->ph->how.tpg);
        write_loop(w, &within);
    }
    kn_cuda_close_tile(w);
    w->tiled = false;
}

/* Switches to `ph`, the phase as it is for the members that registers keep because shared memory has no room (rest), or
 * back to the phase itself. */
static void switch_to(kn_cuda_writer *w, const kn_phase *ph, bool rest)
{
    bool *loaded = w->loaded;
    w->loaded = w->loaded_rest;
    w->loaded_rest = loaded;
    w->in_rest = rest;
    w->ph = ph;
}

static kn_cuda_unrolled steps_of_rest(kn_cuda_writer *w)
{
    const char *lane = kn_cuda_printed(w, "(kn_count)lane * %d", w->ph->how.vec);
    const kn_cuda_stride by = {
        kn_cuda_printed(w, "begin + (kn_count)p%d_in_shared + %s", w->p, lane),
        kn_cuda_vectors_end(w->ph), kn_cuda_block_times(w, w->ph->how.vec)};
    return kn_cuda_all_steps(w, &by, true);
}

void kn_cuda_load_rest(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    w->loaded_rest = KN_NEW_ARRAY(w->t->arena, bool, ph->nest.values.len + 1);
    w->rest = kn_phase_of_rest(w->t->arena, ph, w->k->fast);
    switch_to(w, w->rest, true);
    for (int i = 0; i < ph->nest.values.len; i++) {
        w->need[i] = ph->nest.values.data[i].kind == KN_V_LOAD && kn_kept(ph, i);
        if (w->need[i])
            kn_cuda_declare_kept(w, i, ph->how.steps);
    }
    kn_cuda_open(w, "const auto load_rest = [&](const kn_count g)");
    kn_cuda_decompose(w, 0, ph->nest.ngroup, "g");
    const kn_cuda_unrolled all = steps_of_rest(w);
    kn_cuda_load_steps(w, &all);
    kn_cuda_close_as(w, "};");
    kn_cuda_guarded(w, "blockIdx.x / blocks < work", "load_rest(blockIdx.x / blocks);");
    switch_to(w, ph, false);
}

static void write_rest(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    switch_to(w, w->rest, true);
    const kn_cuda_unrolled all = steps_of_rest(w);
    kn_cuda_write_steps(w, &all);
    switch_to(w, ph, false);
}

/* The first sweep, chunk by chunk as copies arrive: the block is alone on its multiprocessor, which would be idle. */
static void write_arrivals(kn_cuda_writer *w, const char *first)
{
    const kn_cuda_stride piece = stride_of_chunk(w);
    kn_cuda_open_arrivals(w, first);
    write_loop(w, &piece);
    kn_cuda_close_arrivals(w);
}

/* Behind the vectors by run: the edges of runs. */
static void write_edges(kn_cuda_writer *w)
{
    enum { STEPS = 4 };
    const kn_cuda_writer around = *w;
    const kn_cuda_stride by = {"first_edge", "edges_end", "edges_step"};
    const int n = w->ph->nest.values.len + 1;
    const kn_sweep_loop loop = {.sweep = w->sweep, .unroll = STEPS, .batch = KN_BATCH_CYCLIC};
    w->ph = kn_phase_of_edges(w->t->arena, w->ph, w->k->fast);
    w->loaded = KN_NEW_ARRAY(w->t->arena, bool, n);
    w->declared = KN_NEW_ARRAY(w->t->arena, bool, n);
    w->need = KN_NEW_ARRAY(w->t->arena, bool, n);
    w->on_edges = true;
    w->loop = &loop;
    kn_phase_needs(w->ph, w->sweep, w->need);
    write_loop(w, &by);
    *w = around;
}

static void write_sweep(kn_cuda_writer *w, int t, const kn_cuda_stride *by)
{
    const kn_phase *ph = w->ph;
    w->sweep = t;
    if (ph->how.atomic && !ph->how.split) {
        kn_cuda_line(w, "const %s r0 = sum;", kn_cuda_type(ph->nest.reds.data[0].dtype));
        return;
    }
    w->loop = loop_of(w, false);
    kn_phase_needs(ph, t, w->need);
    kn_cuda_line(w, "// sweep %d", t);
    for (int r = 0; r < ph->nest.reds.len; r++)
        if (ph->nest.reds.data[r].stage == t && !ph->nest.reds.data[r].across)
            kn_cuda_accumulator(w, r);
    const kn_cuda_stride in_shared = {by->first, kn_cuda_copied_end(ph), by->step};
    if (ph->how.rest_in_registers)
        write_rest(w);
    const bool arriving = ph->how.by_chunk && t == 0;
    if (ph->how.async && t == 0 && !arriving)
        kn_cuda_await_copies(w);
    if (ph->how.scatter_sum)
        kn_cuda_write_scatter_sum(w);
    else if (w->loop->over == KN_OVER_ALL)
        kn_cuda_write_all_steps(w, by);
    else if (w->loop->over == KN_OVER_TILES)
        write_tiles(w, by);
    else if (kn_phase_resident(ph))
        write_resident(w, by);
    else if (arriving)
        write_arrivals(w, by->first);
    else
        write_loop(w, ph->how.rest_in_registers ? &in_shared : by);
    if (ph->how.tail || kn_edges_in_one_step(ph))
        kn_cuda_write_tail(w);
    else if (ph->how.by_run)
        write_edges(w);
    else if (ph->how.interleaved)
        kn_cuda_last_vector(w, by);
    kn_cuda_combine(w, t);
}

int kn_cuda_last_stage(const kn_phase *ph)
{
    int last = ph->nest.nsweeps;
    for (int i = 0; i < ph->nest.stores.len; i++)
        if (ph->nest.stores.data[i].stage > last)
            last = ph->nest.stores.data[i].stage;
    return last;
}

/* Mixed: all loads of elements, in flight together with those of group values. Before they wait for the prefetch, threads
 * compute what needs none of it. */
static void write_loads_of_mixed(kn_cuda_writer *w, const kn_cuda_stride *by, bool ahead)
{
    if (ahead) {
        kn_cuda_group_values(w, 0, "");
        kn_cuda_compute_ahead(w, by);
    }
    if (w->ph->how.prefetch)
        kn_cuda_line(w, "kn_wait_copies();");
    kn_cuda_load_all_steps(w, by);
    if (w->ph->how.prefetch)
        kn_cuda_prefetch_next(w);
}

/* Rows with tiles: what registers hold, in flight together with what the tiles get. */
static void write_loads_of_tiled_rows(kn_cuda_writer *w, const kn_cuda_stride *by)
{
    if (w->ph->how.steps)
        kn_cuda_load_all_steps(w, by);
    kn_cuda_load_tile_of_rows(w);
}

void kn_cuda_sweeps(kn_cuda_writer *w, const kn_cuda_stride *by, const char *leader)
{
    const bool ahead = kn_cuda_computes_ahead(w);
    if (w->ph->how.mixed)
        write_loads_of_mixed(w, by, ahead);
    if (w->ph->how.walk == KN_WALK_ROWS && w->ph->how.tile)
        write_loads_of_tiled_rows(w, by);
    const int last = w->ph->how.deferred ? 0 : kn_cuda_last_stage(w->ph);
    for (int t = 0; t <= last; t++) {
        if (t > 0 || !ahead)
            kn_cuda_group_values(w, t, leader);
        kn_cuda_group_stores(w, t, leader);
        if (w->ph->how.packed && t < w->ph->nest.nsweeps)
            kn_cuda_broadcast(w, t);
        if (t < w->ph->nest.nsweeps)
            write_sweep(w, t, by);
        if (w->ph->how.hoisted && t + 1 == w->ph->nest.nsweeps)
            kn_cuda_copy_next(w);
    }
}
