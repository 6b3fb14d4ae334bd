#include "codegen/cuda.h"

#include "codegen/cuda_writer.h"
#include "ir/eval.h"

extern const char kn_prelude_elementwise[], kn_prelude_complex[], kn_prelude_fast[],
    kn_prelude_prelude[];

/* n times the threads of a block. */
static const char *block_times(kn_cuda_writer *w, int n)
{
    if (!w->k->bound)
        return kn_cuda_printed(w, "%d", w->k->threads * n);
    return n == 1 ? "blockDim.x" : kn_cuda_printed(w, "(blockDim.x * %d)", n);
}

/* ---- sweeps ---- */

/* How a sweep steps through the members: `first`, first + step, ... below `end`. */
typedef struct stride {
    const char *first, *end, *step;
} stride;

enum {
    LOCAL_BYTES = 8, /* a local phase's members are few: more on their way only take registers */
    TILE_STEPS = 4,  /* of eight, ptxas spills some */
};

/* What is in shared memory is soon there: so many at once only spare counting. */
enum { NEAR_ELEMENTS = 8 };

static int unrolling(kn_cuda_writer *w)
{
    int bytes = 0;
    bool near = false;
    for (int i = 0; i < w->ph->values.len; i++) {
        const kn_value *v = &w->ph->values.data[i];
        if (v->kind == KN_V_LOAD && kn_cuda_loads(w, i) && !v->access.turned)
            bytes += kn_bytes(v->dtype) * w->ph->vec;
        near = near || (w->need[i] && w->loaded[i] && v->kept == KN_KEEP_SHARED);
    }
    if (near && !bytes)
        return w->ph->vec < NEAR_ELEMENTS / 2 ? NEAR_ELEMENTS / w->ph->vec : 2;
    int steps = kn_steps_at_once(bytes);
    if (w->tiled && steps > TILE_STEPS)
        steps = TILE_STEPS;
    while (w->ph->local && steps > 1 && steps * bytes > LOCAL_BYTES)
        steps /= 2;
    return steps;
}

static void write_axes(kn_cuda_writer *w)
{
    if (kn_cuda_steps_in_memory(w))
        kn_cuda_decompose(w, w->ph->ngroup, w->ph->naxes, "i");
}

/* Every other sweep walks backwards: the members it meets first are the ones that the sweep before touched
 * last, and may still be in a cache; but not where they are combined in order. Where there may be many steps they are counted before: the compiler then has the
 * loads of several on their way at once, without a branch between them. */
static void open_loop(kn_cuda_writer *w, const stride *by, int steps)
{
    kn_putf(w->t, "#pragma unroll %d\n", steps);
    bool forwards = w->sweep % 2 == 0 || w->ph->fetched || kn_phase_in_order(w->ph);
    if (w->tiled) { /* counted, so that the compiler can do several steps' loads at once */
        kn_cuda_open(w, "for (kn_count step = 0; step < %s; ++step)", by->end);
        kn_cuda_line(w, "const kn_count i = %s + step * %s;", by->first, by->step);
    } else if (forwards && kn_by_block(w->ph) && !w->ph->local) {
        kn_cuda_open(w,
                     "for (kn_count i = %s, left = kn_steps(i, %s, %s); left > 0; --left, i += %s)",
                     by->first, by->end, by->step, by->step);
    } else if (forwards) {
        kn_cuda_open(w, "for (kn_count i = %s; i < %s; i += %s)", by->first, by->end, by->step);
    } else {
        kn_cuda_open(w, "for (kn_count i = kn_walk_end(%s, %s, %s); i != %s; )", by->first, by->end,
                     by->step, by->first);
        kn_cuda_line(w, "i -= %s;", by->step);
    }
}

static void write_loop(kn_cuda_writer *w, const stride *by)
{
    int steps = unrolling(w);
    if (w->ph->ragged) {
        kn_cuda_ragged_steps(w);
        open_loop(w, by, steps);
        kn_cuda_line(w, "step%d(i, kn_bool<true>());", w->sweep);
    } else {
        open_loop(w, by, steps);
        write_axes(w);
        kn_cuda_step(w);
    }
    kn_cuda_close(w);
    for (int i = 0; i < w->ph->values.len; i++)
        w->loaded[i] = w->loaded[i] || (w->need[i] && w->ph->values.data[i].kept == KN_KEEP_SHARED);
}

static bool stores_elements(const kn_phase *ph, int sweep)
{
    for (int i = 0; i < ph->stores.len; i++)
        if (ph->stores.data[i].kind == KN_STORE_ELEMENT && ph->stores.data[i].stage == sweep)
            return true;
    return false;
}

/* Registers of a thread that all steps of a sweep take, of what is kept and of what they load beside that. */
static int words_of_sweep(const kn_cuda_writer *w, bool *loads)
{
    int words = 0;
    for (int i = 0; i < w->ph->values.len; i++) {
        const kn_value *v = &w->ph->values.data[i];
        bool kept = v->kept == KN_KEEP_REGISTERS && w->declared[i];
        bool loaded = w->need[i] && v->kind == KN_V_LOAD && v->level == KN_ELEMENT && !v->kept;
        *loads = *loads || loaded;
        words += kept || loaded ? kn_kept_words(w->ph, i) : 0;
    }
    return words;
}

/* Where there may be no member for a step. Of a full group there are all; threads without a group work on another's
 * without storing anything. What a sweep loads must stay behind a branch where the compiler would have it all at once,
 * and no registers for it. */
static const char *step_guard(kn_cuda_writer *w, const stride *by)
{
    bool loads = false;
    if (!w->ph->full || (words_of_sweep(w, &loads) > KN_KEPT_WORDS && loads))
        return kn_cuda_printed(w, "i < %s", by->end);
    return stores_elements(w->ph, w->sweep) && w->k->threads > w->ph->tpg ? "live" : NULL;
}

/* A known number of steps, unrolled; `body` writes one. Loads to keep end with the first step that is not there: between
 * branches the compiler leaves them together, which it would not behind a predicate for each. */
static void write_unrolled(kn_cuda_writer *w, const stride *by, void (*body)(kn_cuda_writer *w))
{
    const char *guard = step_guard(w, by);
    kn_put(w->t, "#pragma unroll\n");
    kn_cuda_open(w, "for (int step = 0; step < %d; ++step)", w->ph->steps);
    kn_cuda_line(w, "const kn_count i = %s + (kn_count)step * %s;", by->first, by->step);
    bool leaves = guard && body == kn_cuda_kept_loads;
    if (leaves)
        kn_cuda_line(w, "if (!(%s))\n%*sbreak;", guard, w->indent * 4 + 4, "");
    else if (guard)
        kn_cuda_open(w, "if (%s)", guard);
    write_axes(w);
    body(w);
    if (guard && !leaves)
        kn_cuda_close(w);
    kn_cuda_close(w);
}

/* The registers of value i, for all steps, unless they are there. */
static void declare_kept(kn_cuda_writer *w, int i)
{
    if (w->declared[i])
        return;
    w->declared[i] = true;
    kn_cuda_line(w, "kn_vec<%s, %d> %s_kept[%d];", kn_cuda_type(w->ph->values.data[i].dtype),
                 w->ph->vec, kn_cuda_value(w, i), w->ph->steps);
}

/* Before the first sweep that needs them, the loads to keep are done, all steps at once. */
static void write_steps(kn_cuda_writer *w, const stride *by)
{
    bool loads = false;
    for (int i = 0; i < w->ph->values.len; i++) {
        const kn_value *v = &w->ph->values.data[i];
        if (kn_cuda_keeps_now(w, i))
            declare_kept(w, v->kind == KN_V_LOAD ? i : v->room);
        loads = loads || (kn_cuda_keeps_now(w, i) && v->kind == KN_V_LOAD);
    }
    if (loads)
        write_unrolled(w, by, kn_cuda_kept_loads);
    for (int i = 0; i < w->ph->values.len; i++)
        w->loaded[i] =
            w->loaded[i] || (kn_cuda_keeps_now(w, i) && w->ph->values.data[i].kind == KN_V_LOAD);
    write_unrolled(w, by, kn_cuda_step);
    for (int i = 0; i < w->ph->values.len; i++) /* and what this sweep has computed */
        w->loaded[i] = w->loaded[i] || kn_cuda_keeps_now(w, i);
}

/* The loop, tile by tile. All threads of the block take part in what goes between a tile and memory. */
static void write_tiles(kn_cuda_writer *w, const stride *by)
{
    const stride within = {"from + row", "left", by->step};
    w->tiled = true;
    kn_cuda_open_tile(w, w->ph->split ? "limit" : "members");
    kn_cuda_line(
        w, "const kn_count left = live && from + row < to ? (to - from - row - 1) / %d + 1 : 0;",
        w->ph->tpg);
    write_loop(w, &within);
    kn_cuda_close_tile(w);
    w->tiled = false;
}

static void write_sweep(kn_cuda_writer *w, int t, const stride *by)
{
    const kn_phase *ph = w->ph;
    w->sweep = t;
    kn_phase_needs(ph, t, w->need);
    kn_cuda_line(w, "// sweep %d", t);
    for (int r = 0; r < ph->reds.len; r++)
        if (ph->reds.data[r].stage == t && !ph->reds.data[r].across)
            kn_cuda_accumulator(w, r);
    if (ph->fetched && t == 0)
        kn_cuda_await_fetch(w);
    if (ph->steps)
        write_steps(w, by);
    else if (kn_cuda_turns(w))
        write_tiles(w, by);
    else
        write_loop(w, by);
    kn_cuda_combine(w, t);
}

static int last_stage(const kn_phase *ph)
{
    int last = ph->nsweeps;
    for (int i = 0; i < ph->stores.len; i++)
        if (ph->stores.data[i].stage > last)
            last = ph->stores.data[i].stage;
    return last;
}

static void write_sweeps(kn_cuda_writer *w, const stride *by, const char *leader)
{
    for (int t = 0; t <= last_stage(w->ph); t++) {
        kn_cuda_group_values(w, t);
        kn_cuda_group_stores(w, t, leader);
        if (t < w->ph->nsweeps)
            write_sweep(w, t, by);
    }
}

/* ---- local phases ---- */

/* What the generator knows of the phase it writes. */
static void enter_phase(kn_cuda_writer *w, int p)
{
    w->p = p;
    w->ph = &w->k->phases.data[p];
    w->need = KN_NEW_ARRAY(w->t->arena, bool, w->ph->values.len + 1);
    w->loaded = KN_NEW_ARRAY(w->t->arena, bool, w->ph->values.len + 1);
    w->declared = KN_NEW_ARRAY(w->t->arena, bool, w->ph->values.len + 1);
    kn_cuda_find_wide(w);
}

/* The members that the workers of a group take in one step, ROWS. */
static const char *turn_of(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    return w->k->threads / ph->tpg > 1
               ? kn_cuda_printed(w, "(kn_count)%d", ph->tpg * ph->vec)
               : kn_cuda_printed(w, "(kn_count)%s", block_times(w, ph->vec));
}

/* The members that a (group, split) works on: of columns a range of neighbours, of rows one turn in `splits`, so that
 * blocks side by side read memory side by side (2 to 5 % on an H200). */
static void write_range(kn_cuda_writer *w, const char *live)
{
    bool turns = kn_takes_turns(w->ph);
    const char *members = w->ph->ragged ? "members + skew" : "members";
    if (w->ph->cluster) {
        kn_cuda_line(w, "const kn_count begin = kn_least(rank * (kn_count)p%d_chunk, %s);", w->p,
                     members);
        kn_cuda_line(w, "const kn_count end = kn_least(begin + (kn_count)p%d_chunk, %s);", w->p,
                     members);
        return;
    }
    if (turns || !w->ph->split) {
        kn_cuda_line(w, "const kn_count begin = %s, end = %s;",
                     turns ? "split < parts ? split * turn : members" : "0",
                     *live ? kn_cuda_printed(w, "%s ? %s : 0", live, members) : members);
        return;
    }
    kn_cuda_line(w, "const kn_count begin = split * (kn_count)p%d_chunk;", w->p);
    kn_cuda_line(
        w,
        "const kn_count limit = begin + (kn_count)p%d_chunk < members ? begin + (kn_count)p%d_chunk : members;",
        w->p, w->p);
    kn_cuda_line(w, "const kn_count end = %s;",
                 *live ? kn_cuda_printed(w, "%s ? limit : 0", live) : "limit");
}

/* How worker `lane` of `lanes` goes through [begin, end): `by`, in turns with the others, or, where members are combined in
 * order, through a range of its own, of whole vectors. */
static stride in_order(kn_cuda_writer *w, stride by, const char *lane, const char *lanes)
{
    int vec =
        w->ph->walk == KN_WALK_ROWS ? w->ph->vec : 1; /* of columns they run along the groups */
    if (!kn_phase_in_order(w->ph))
        return by;
    kn_cuda_line(w, "const kn_count all = begin < end ? end - begin : 0, lanes = %s;", lanes);
    kn_cuda_line(w, "const kn_count share = (all + lanes * %d - 1) / (lanes * %d) * %d;", vec, vec,
                 vec);
    kn_cuda_line(w, "const kn_count mine_from = kn_least(begin + (kn_count)%s * share, end);",
                 lane);
    kn_cuda_line(w, "const kn_count mine_to = kn_least(mine_from + share, end);");
    return (stride){"mine_from", "mine_to", kn_cuda_printed(w, "(kn_count)%d", vec)};
}

/* One local phase in a scope of its own, which leaves its exports in x<exported>, ... `lane` counts the workers
 * of a group. */
static void write_local(kn_cuda_writer *w, int p, int exported, const char *lane, const char *live)
{
    enter_phase(w, p);
    const kn_phase *ph = w->ph;
    for (int e = 0; e < ph->exports.len; e++) {
        const kn_value *v = &ph->values.data[ph->exports.data[e]];
        kn_cuda_line(w, kn_cuda_wide(ph) ? "%s x%d[%d];" : "%s x%d;", kn_cuda_type(v->dtype),
                     exported + e, ph->vec);
    }
    kn_cuda_line(w, "{ // phase %d, %s, local", p, ph->name);
    w->indent++;
    kn_cuda_line(w, "const kn_count members = %s;", kn_cuda_extents(w, ph->ngroup, ph->naxes));
    write_range(w, live);
    const char *lanes = kn_by_block(ph) ? kn_cuda_printed(w, "(kn_count)%s", block_times(w, 1))
                                        : kn_cuda_printed(w, "(kn_count)%d", ph->tpg);
    stride by = {kn_cuda_printed(w, "(begin + %s)", lane), "end", lanes};
    by = in_order(w, by, lane, lanes);
    write_sweeps(w, &by, "");
    kn_cuda_open_groups(w);
    for (int e = 0; e < ph->exports.len; e++)
        kn_cuda_line(w, "x%d%s = %s;", exported + e, kn_cuda_wide(ph) ? "[l]" : "",
                     kn_cuda_operand(w, ph->exports.data[e]));
    kn_cuda_close_groups(w);
    kn_cuda_close(w);
}

/* The local phases of the phase being written: those that go group by group, or the others. */
static void write_locals(kn_cuda_writer *w, bool grouped, const char *lane, const char *live)
{
    kn_cuda_writer host = *w;
    int exported = 0;
    for (int p = kn_first_local(w->k, host.p); p < host.p; p++) {
        const kn_phase *local = &w->k->phases.data[p];
        if ((local->ngroup > 0) == grouped)
            write_local(w, p, exported, grouped ? lane : "threadIdx.x", live);
        exported += local->exports.len;
    }
    *w = host;
}

/* ---- walks ---- */

static void write_flat(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    write_locals(w, false, NULL, "");
    kn_cuda_line(w, "const kn_count members = %s;", kn_cuda_extents(w, 0, ph->naxes));
    stride by = {kn_cuda_printed(w, "((kn_count)%s * %s + threadIdx.x) * %d", w->block,
                                 block_times(w, 1), ph->vec),
                 "members",
                 kn_cuda_printed(w, "(kn_count)%s * %s", w->blocks, block_times(w, ph->vec))};
    write_sweeps(w, &by, kn_cuda_printed(w, "%s == 0 && threadIdx.x == 0", w->block));
}

/* A block takes the groups of a band from the first to the last, `per_block` at a time, and keeps what it
 * accumulates across them. */
static void open_band(kn_cuda_writer *w, int per_block)
{
    kn_cuda_open(w, "for (kn_count band = %s; band < (kn_count)p%d_splits; band += %s)", w->block,
                 w->p, w->blocks);
    kn_cuda_line(w, "const kn_count top = band * (kn_count)p%d_chunk;", w->p);
    kn_cuda_line(
        w,
        "const kn_count work = top + (kn_count)p%d_chunk < groups ? top + (kn_count)p%d_chunk : groups;",
        w->p, w->p);
    kn_cuda_across_accumulators(w);
    kn_cuda_open(w, "for (kn_count first = top; first < work; first += %d)", per_block);
}

static void close_band(kn_cuda_writer *w, int per_block)
{
    const kn_phase *ph = w->ph;
    kn_put(w->t, "#pragma unroll\n");
    kn_cuda_open(w, "for (int step = 0; step < %d; ++step)", ph->steps);
    kn_cuda_combine_across(w);
    kn_cuda_line(w, "const kn_count i = (kn_count)lane * %d + (kn_count)step * %d;", ph->vec,
                 ph->tpg * ph->vec);
    kn_cuda_open(w, per_block > 1 ? "if (row == 0 && i < members)" : "if (i < members)");
    kn_cuda_decompose(w, ph->ngroup, ph->naxes, "i");
    kn_cuda_store_across(w);
    kn_cuda_close(w);
    kn_cuda_close(w);
    kn_cuda_close(w);
}

/* A group is divided among as many as there are to work on it, when these are fewer than the plan has partial results:
 * so nobody goes a second round. The other partial results are those of no members. */
static void write_parts(kn_cuda_writer *w, int per_block)
{
    kn_cuda_line(w, "const kn_count work = groups * (kn_count)p%d_splits, turn = %s;", w->p,
                 turn_of(w));
    kn_cuda_line(w, "const kn_count workers = (kn_count)%s * %d / (groups > 0 ? groups : 1);",
                 w->blocks, per_block);
    kn_cuda_line(
        w,
        "const kn_count parts = workers > 0 && workers < (kn_count)p%d_splits ? workers : (kn_count)p%d_splits;",
        w->p, w->p);
}

/* The loop over groups of a phase of clusters, and what its blocks have in front of it. */
static void open_clusters(kn_cuda_writer *w)
{
    kn_cuda_line(w, "const kn_count rank = kn_cluster_rank(), blocks = kn_cluster_blocks();");
    if (!w->ph->ragged)
        write_range(w, "");
    kn_cuda_begin_boards(w);
    if (w->ph->fetched)
        kn_cuda_begin_fetches(w);
    kn_cuda_line(w, "kn_cluster_barrier(); // the others run, and have boards");
    kn_cuda_open(
        w, "for (kn_count first = blockIdx.x / blocks; first < work; first += gridDim.x / blocks)");
}

static void write_rows(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    int tpg = ph->tpg, per_block = w->k->threads / tpg; /* groups */
    write_locals(w, false, NULL, "");
    kn_cuda_line(w, "const kn_count groups = %s, members = %s;", kn_cuda_extents(w, 0, ph->ngroup),
                 kn_cuda_extents(w, ph->ngroup, ph->naxes));
    kn_cuda_declare_shared(w);
    if (kn_takes_turns(ph))
        write_parts(w, per_block);
    else if (ph->split)
        kn_cuda_line(w, "const kn_count work = groups * (kn_count)p%d_splits;", w->p);
    else if (!ph->banded)
        kn_cuda_line(w, "const kn_count work = groups;");
    if (per_block > 1)
        kn_cuda_line(w, "const int lane = threadIdx.x %% %d, row = threadIdx.x / %d;", tpg, tpg);
    else
        kn_cuda_line(w, "const int lane = threadIdx.x;");
    if (ph->banded)
        open_band(w, per_block);
    else if (ph->cluster)
        open_clusters(w);
    else
        kn_cuda_open(
            w, "for (kn_count first = (kn_count)%s * %d; first < work; first += (kn_count)%s * %d)",
            w->block, per_block, w->blocks, per_block);
    if (per_block > 1) { /* every thread takes part in every combine, live or not */
        kn_cuda_line(w, "const bool live = first + row < work;");
        kn_cuda_line(w, "const kn_count item = live ? first + row : work - 1;");
    } else {
        kn_cuda_line(w, "const kn_count item = first;");
    }
    if (ph->split) {
        kn_cuda_line(w, "const kn_count split = item / groups, g = item - split * groups;");
    } else {
        kn_cuda_line(w, "const kn_count g = item;");
    }
    kn_cuda_decompose(w, 0, ph->ngroup, "g");
    const char *live = per_block > 1 ? "live" : "";
    write_locals(w, true, "lane", live);
    if (ph->ragged)
        kn_cuda_skew(w);
    if (!ph->cluster || ph->ragged)
        write_range(w, live);
    if (ph->ragged)
        kn_cuda_whole_vectors(w, turn_of(w));
    stride by = {kn_cuda_printed(w, "(begin + (kn_count)lane * %d)", ph->vec), "end",
                 ph->split ? "(parts * turn)" : turn_of(w)};
    by = in_order(w, by, "lane", per_block > 1 ? kn_cuda_printed(w, "%d", tpg) : block_times(w, 1));
    if (ph->ragged)
        by = (stride){"mine", "inner_end", by.step};
    write_sweeps(w, &by,
                 ph->cluster     ? "lane == 0 && rank == 0"
                 : per_block > 1 ? "live && lane == 0"
                                 : "lane == 0");
    if (ph->fetched)
        kn_cuda_fetch_next(w);
    kn_cuda_close(w);
    if (ph->banded)
        close_band(w, per_block);
}

static void write_cols(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    int width = 32 * ph->vec;
    write_locals(w, false, NULL, "");
    kn_cuda_line(w, "const kn_count groups = %s, members = %s;", kn_cuda_extents(w, 0, ph->ngroup),
                 kn_cuda_extents(w, ph->ngroup, ph->naxes));
    kn_cuda_line(w, "const kn_count tiles = (groups + %d) / %d;", width - 1, width);
    kn_cuda_line(w, "const int column = threadIdx.x %% 32, row = threadIdx.x / 32;");
    kn_cuda_declare_tiles(w);
    const char *work =
        ph->split ? kn_cuda_printed(w, "tiles * (kn_count)p%d_splits", w->p) : "tiles";
    kn_cuda_open(w, "for (kn_count item = %s; item < %s; item += %s)", w->block, work, w->blocks);
    if (ph->split)
        kn_cuda_line(w, "const kn_count split = item / tiles, tile = item - split * tiles;");
    else
        kn_cuda_line(w, "const kn_count tile = item;");
    kn_cuda_line(w, "const kn_count mine = tile * %d + column * %d;", width, ph->vec);
    kn_cuda_line(w, "const bool live = mine < groups;");
    kn_cuda_line(w, "const kn_count g = live ? mine : groups - %d;", ph->vec);
    kn_cuda_decompose(w, 0, ph->ngroup, "g");
    write_locals(w, true, "row", "live");
    write_range(w, "live");
    const char *rows = kn_cuda_printed(w, "(kn_count)%d", w->k->threads / 32);
    stride by = in_order(w, (stride){"(begin + row)", "end", rows}, "row", rows);
    write_sweeps(w, &by, "live && row == 0");
    kn_cuda_close(w);
}

/* ---- the kernel ---- */

static int scratch_bytes(const kn_kernel *k)
{
    int most = 0;
    for (int p = 0; p < k->phases.len; p++) {
        int bytes = kn_cuda_scratch_bytes(k, &k->phases.data[p]);
        int tiles = kn_tile_bytes(&k->phases.data[p], k->bufs.data);
        most = bytes > most ? bytes : most;
        most = tiles > most ? tiles : most;
    }
    return most;
}

static void write_signature(kn_cuda_writer *w)
{
    const kn_kernel *k = w->k;
    int n = kn_kernel_params(k, NULL, NULL, 0);
    kn_param *ps = KN_NEW_ARRAY(w->t->arena, kn_param, n + 1);
    kn_kernel_params(k, w->t->arena, ps, n);
    kn_putf(w->t, "extern \"C\" __global__ void __launch_bounds__(%d)\n%s(",
            k->bound ? k->bound : k->threads, k->name);
    for (int i = 0; i < n; i++) {
        kn_putf(w->t, "%s", i ? ",\n    " : "");
        const kn_buf *b = ps[i].kind == KN_PARAM_BUF ? &k->bufs.data[ps[i].index] : NULL;
        switch (ps[i].kind) {
        case KN_PARAM_BUF: /* temporaries and outputs are read again after other blocks wrote them */
            kn_putf(w->t,
                    b->kind != KN_BUF_INPUT ? "%s *%s"
                    : w->k->disjoint        ? "const %s *__restrict__ %s"
                                            : "const %s *%s",
                    kn_cuda_type(b->dtype), b->name);
            break;
        case KN_PARAM_SCALAR:
            kn_putf(w->t, "const %s %s", kn_cuda_type(ps[i].dtype), ps[i].name);
            break;
        case KN_PARAM_EXTENT: kn_putf(w->t, "const long long %s", ps[i].name); break;
        case KN_PARAM_INDEX: kn_putf(w->t, "const kn_index %s", ps[i].name); break;
        case KN_PARAM_BARRIER: kn_putf(w->t, "unsigned *%s", ps[i].name); break;
        }
    }
    kn_put(w->t, ")\n{\n");
}

static void describe_phase(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    kn_putf(w->t, "    // phase %d, %s:", w->p, ph->name);
    for (int a = 0; a < ph->naxes; a++)
        kn_putf(w->t, "%s%s",
                a == 0 && ph->ngroup ? " groups "
                : a == ph->ngroup    ? " members "
                                     : " x ",
                ph->axes[a].name);
    kn_put(w->t, "\n");
}

void kn_cuda_kernel(kn_text *t, const kn_kernel *k)
{
    kn_cuda_writer w = {.t = t, .k = k, .indent = 1};
    kn_putf(t, "typedef %s kn_index;\ntypedef %s kn_count;\n\n", k->wide ? "long long" : "int",
            k->wide ? "unsigned long long" : "unsigned");
    kn_cuda_own_types(&w);
    kn_cuda_find_traffic(&w);
    write_signature(&w);
    if (scratch_bytes(k))
        kn_cuda_line(&w, "__shared__ alignas(16) unsigned char scratch[%d];", scratch_bytes(k));
    for (int p = 0; p < k->phases.len; p++)
        if (kn_cuda_board_bytes(&k->phases.data[p]))
            kn_cuda_line(&w, "__shared__ alignas(16) unsigned char boards[2][%d];",
                         kn_cuda_board_bytes(&k->phases.data[p]));
    if (k->shared)
        kn_cuda_line(&w, "extern __shared__ uint4 dynamic[];");
    for (int p = 0; p < k->phases.len; p++) {
        if (k->phases.data[p].local)
            continue;
        enter_phase(&w, p);
        if (w.ph->barrier)
            kn_cuda_line(&w, "kn_grid_barrier(barrier);");
        describe_phase(&w);
        if (w.ph->last_block)
            kn_cuda_line(&w, "if (kn_last_block(barrier))");
        w.block = w.ph->last_block ? "0" : "blockIdx.x";
        w.blocks = w.ph->last_block ? "1" : "gridDim.x";
        kn_cuda_line(&w, "{");
        w.indent++;
        switch (w.ph->walk) {
        case KN_WALK_FLAT: write_flat(&w); break;
        case KN_WALK_ROWS: write_rows(&w); break;
        case KN_WALK_COLS: write_cols(&w); break;
        }
        kn_cuda_close(&w);
    }
    kn_put(t, "}\n");
}

/* In the combine of a reduction of the user's own too. */
static bool has_complex(const kn_kernel *k)
{
    bool has = false;
    for (int p = 0; p < k->phases.len; p++) {
        const kn_phase *ph = &k->phases.data[p];
        for (int i = 0; i < ph->values.len; i++)
            has = has || kn_is_complex(ph->values.data[i].dtype);
        for (int r = 0; r < ph->reds.len; r++)
            for (int i = 0; ph->reds.data[r].by && i < ph->reds.data[r].by->nsteps; i++)
                has = has || kn_is_complex(ph->reds.data[r].by->steps[i].dtype);
    }
    return has;
}

const char *kn_cuda_source(kn_arena *a, const kn_kernel *k)
{
    kn_text t = kn_text_new(a);
    kn_put(&t, kn_prelude_elementwise);
    if (has_complex(k))
        kn_put(&t, kn_prelude_complex);
    if (k->fast)
        kn_put(&t, kn_prelude_fast);
    kn_put(&t, kn_prelude_prelude);
    kn_put(&t, "\n// ---- the kernel ----\n\n");
    kn_cuda_kernel(&t, k);
    return kn_text_str(&t);
}
