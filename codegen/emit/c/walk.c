/* A phase's function: what it keeps, and its walk over units of work, here of columns and of tiles. */
#include <string.h>

#include "codegen/emit/c/writer.h"

/* ---- what a walk keeps ---- */

/* Arrays that an accumulator of a group a lane takes, of elements no narrower than 8 bytes. */
static int arrays_of(const kn_phase *p, const kn_red *red)
{
    bool complex = kn_is_complex(p->nest.values.data[red->value].dtype);
    return red->op == KN_OP_VAR ? 4 : complex ? 2 : 1;
}

/* The next array for a copy of a block, or of a tile. */
static int take_copy(kn_c_writer *w)
{
    const int first = w->group_arrays;
    w->group_arrays += w->mode == KN_C_TILES ? KN_TILE_SLOTS : 1;
    return first;
}

/* Columns: arrays of what is kept for the groups of a tile. */
static void place_own(kn_c_writer *w)
{
    const kn_phase *p = w->ph;
    w->group_array = KN_NEW_ARRAY(w->a, int, p->nest.values.len + 1);
    w->copy = KN_NEW_ARRAY(w->a, int, p->nest.values.len + 1);
    w->rolled = KN_NEW_ARRAY(w->a, bool, p->nest.values.len + 1);
    w->store_copy = KN_NEW_ARRAY(w->a, int, p->nest.stores.len + 1);
    memset(w->store_copy, -1, sizeof *w->store_copy * (size_t)(p->nest.stores.len + 1));
    w->result = KN_NEW_ARRAY(w->a, int, p->nest.reds.len + 1);
    w->acc = KN_NEW_ARRAY(w->a, int, p->nest.reds.len + 1);
    w->group_arrays = 0;
    kn_c_place_kept(w);
    for (int i = 0; i < p->nest.values.len; i++) {
        const kn_value *v = &p->nest.values.data[i];
        bool group = w->needed[i] && kn_c_is_group(v) && v->kind != KN_V_RESULT;
        w->group_array[i] = group && w->lane[i] && w->mode == KN_C_COLS ? w->group_arrays++ : -1;
        w->rolled[i] = kn_c_is_rolled(w, i);
        w->copy[i] = kn_c_is_transposed(w, i) || w->rolled[i] ? take_copy(w) : -1;
    }
    for (int s = 0; s < p->nest.stores.len; s++)
        w->store_copy[s] = kn_c_is_stored_transposed(w, s) ? take_copy(w) : -1;
    for (int r = 0; r < p->nest.reds.len && w->mode == KN_C_COLS; r++) {
        const kn_red *red = &p->nest.reds.data[r];
        w->result[r] = w->group_arrays++;
        w->acc[r] = w->group_arrays;
        if (kn_c_owner(p, r) != r)
            continue;
        w->group_arrays += arrays_of(p, red) * (kn_c_has_total(red) ? 2 : 1);
    }
    w->slots = w->group_arrays;
}

static void put_state(kn_c_writer *w)
{
    const kn_phase *p = w->ph;
    const char *name = kn_c_state(w);
    kn_c_line(
        w,
        "/* Where a worker is: the index along each axis, the part, the first lane's place in its row. */");
    kn_c_open(w, "typedef struct %s", name);
    kn_c_line(w, "i64 i[%d], part, row;", p->nest.naxes + 1);
    if (w->mode == KN_C_ROWS && !w->one_run)
        kn_c_line(w,
                  "i64 dense; /* bits: which arrays of a packed block are where they came from */");
    if (w->mode == KN_C_ROWS && !w->one_run)
        kn_c_line(w, "i64 packed_at, packed; /* the lanes that were packed last, so many */");
    if (w->mode == KN_C_TILES)
        kn_c_line(w, "i64 line; /* where a row of a tile begins in an array of tiles */");
    if (w->mode == KN_C_TILES)
        kn_c_line(w, "int downwards; /* is the next tile the one below? */");
    if (w->mode == KN_C_COLS)
        kn_c_line(w, "i64 lanes, members; /* of the tile; that a function takes */");
    if (w->mode == KN_C_COLS)
        kn_c_line(w, "int fresh; /* it takes the first of those that are accumulated together */");
    if (w->mode == KN_C_COLS)
        kn_c_line(w, "truth once; /* all members are accumulated together */");
    if (w->mode == KN_C_COLS && !w->one_run)
        kn_c_line(w, "i64 first[%d]; /* index of the first lane */", p->nest.ngroup);
    kn_c_line(w, "char *block, *rows;");
    for (int i = 0; i < p->nest.values.len; i++) {
        const kn_value *v = &p->nest.values.data[i];
        if (w->needed[i] && kn_c_is_group(v) && v->kind != KN_V_RESULT)
            kn_c_line(w, "%s %sv%d;", kn_c_type(v->dtype), w->group_array[i] >= 0 ? "*" : "", i);
    }
    for (int r = 0; r < p->nest.reds.len; r++) {
        const kn_red *red = &p->nest.reds.data[r];
        if (kn_c_owner(p, r) != r)
            kn_c_line(w, "%s %sr%d;", kn_c_type(red->dtype), w->mode == KN_C_COLS ? "*" : "", r);
        else if (w->mode == KN_C_COLS)
            kn_c_line(w, "%s *r%d; char *acc%d, *total%d;", kn_c_type(red->dtype), r, r, r);
        else if (red->op == KN_OP_VAR)
            kn_c_line(w, "%s r%d; f64 acc%d[4]; /* mean, sum of squared deviations, sum, count */",
                      kn_c_type(red->dtype), r, r);
        else if (kn_c_accumulator(p, red) != KN_NO_DTYPE)
            kn_c_line(w, "%s r%d; %s acc%d;", kn_c_type(red->dtype), r,
                      kn_c_type(kn_c_accumulator(p, red)), r);
        else
            kn_c_line(w, "%s r%d; KN_VECTOR_ALIGNED char acc%d[32];", kn_c_type(red->dtype), r, r);
        if (red->stage == 0 && w->nsums > 0)
            kn_c_line(w, "f32 *lanes%d;", r);
    }
    kn_c_close_as(w, "} %s;\n", name);
}

/* A state for each row under way; "s" is that of the first one. */
static void put_states(kn_c_writer *w, int rows)
{
    const char *name = kn_c_state(w);
    kn_c_line(w, "%s states[%d], *row[%d], *s = states;", name, rows, rows);
    kn_c_open(w, "for (int k = 0; k < %d; k++)", rows);
    kn_c_line(w, "row[k] = &states[k];");
    kn_c_line(w, "row[k]->block = scratch;");
    kn_c_line(w, "row[k]->rows = scratch + %d * c->slot + k * %d * c->row;", w->slots, w->rows);
    kn_c_line(w, "row[k]->part = row[k]->row = 0;");
    kn_c_close(w);
}

static void put_start_state(kn_c_writer *w)
{
    const kn_phase *p = w->ph;
    const char *name = kn_c_state(w);
    const int numbers = kn_c_numbers(p, NULL);
    kn_c_line(w, "i64 num[%d]; /* copies: no store changes them, for all that a compiler knows */",
              numbers + 1);
    kn_c_line(w, "__builtin_memcpy(num, call->num, %d * sizeof *num);", numbers);
    kn_c_line(w, "kn_c_call copy = *call, *const c = &copy;");
    kn_c_line(w, "c->num = num;");
    if (w->rows_at_once > 1) {
        put_states(w, w->rows_at_once);
        return;
    }
    kn_c_line(w, "%s state, *const s = &state;", name);
    kn_c_line(w, "s->block = scratch;");
    kn_c_line(w, "s->rows = scratch + %d * c->slot;", w->slots);
    if (w->mode == KN_C_ROWS && !w->one_run)
        kn_c_line(w, "s->packed = s->packed_at = 0;");
    for (int i = 0; i < p->nest.values.len; i++)
        if (w->group_array[i] >= 0)
            kn_c_line(w, "s->v%d = (%s *)(scratch + %d * c->slot);", i,
                      kn_c_type(p->nest.values.data[i].dtype), w->group_array[i]);
    for (int r = 0; r < p->nest.reds.len && w->mode == KN_C_COLS; r++) {
        const kn_red *red = &p->nest.reds.data[r];
        kn_c_line(w, "s->r%d = (%s *)(scratch + %d * c->slot);", r, kn_c_type(red->dtype),
                  w->result[r]);
        if (kn_c_owner(p, r) != r)
            continue;
        kn_c_line(w, "s->acc%d = scratch + %d * c->slot;", r, w->acc[r]);
        kn_c_line(w, "s->total%d = scratch + %d * c->slot;", r,
                  w->acc[r] + (kn_c_has_total(red) ? arrays_of(p, red) : 0));
    }
}

/* ---- the walks ---- */

/* How many members the function of a sweep takes: what is left of a run along the last axis. Not where blocks have several
 * runs of lanes. */
static void put_members(kn_c_writer *w, int stage)
{
    const kn_phase *p = w->ph;
    const int last = p->nest.naxes - 1;
    if (!w->several[stage]) {
        kn_c_line(w, "s->members = 1;");
        return;
    }
    const char *run = kn_c_printed(
        w, last == p->nest.ngroup ? "stop - m" : "KN_MIN(stop - m, num[%d] - s->i[%d])", last,
        last);
    kn_c_line(w, w->one_run ? "s->members = %s;" : "s->members = KN_RUNS(c) ? %s : 1;", run);
}

/* Where a loop over members of a tile's groups begins and ends, of which call, and how many lanes they are. */
typedef struct member_loop {
    const char *call, *lanes, *from, *to,
        *before; /* before: members' index is from here on within a row */
} member_loop;

static void put_member_loop(kn_c_writer *w, int stage, const member_loop *of)
{
    const int first = w->ph->nest.ngroup, last = w->ph->nest.naxes - 1;
    kn_c_open(w, "for (i64 i = %s, stop; i < %s; i = stop)", of->from, of->to);
    kn_c_line(w, "stop = KN_MIN(%s, %s + kn_members_end(i - %s, %d));", of->to, of->from, of->from,
              kn_c_has_f64_variance(w->ph, stage));
    kn_c_line(w, "s->fresh = 1;");
    kn_c_open(w, "for (i64 m = i; m < stop; m += s->members)");
    put_members(w, stage);
    kn_c_line(w, "s->row = (m - %s) * %s;", of->before, of->lanes);
    kn_c_put_block(w, of->call, "sweep", stage, "start", of->lanes);
    if (w->folds[stage])
        kn_c_line(w, "if (!KN_RUNS(c)) %s_fold%d(c, s, n);", kn_c_state(w), stage);
    kn_c_line(w, "s->fresh = 0;");
    if (last >= first) {
        kn_c_line(w, "s->i[%d] += s->members - 1;", last);
        kn_c_put_next(w, first, last + 1);
    }
    kn_c_close(w);
    kn_c_put_merges(w, stage, of->lanes, of->to);
    kn_c_close(w);
}

/* Group values of a stage and those before it back to `first`, and results of the stages before these, are those of as many lanes
 * as members side by side are. */
static void put_spreads(kn_c_writer *w, int first, int stage, const char *call)
{
    const kn_phase *p = w->ph;
    for (int v = 0; v < p->nest.values.len; v++) {
        const int made = kn_c_group_stage(&p->nest.values.data[v]);
        if (w->group_array[v] >= 0 && made >= first && made <= stage)
            kn_c_line(w, "kn_repeat(s->v%d, n * (i64)sizeof *s->v%d, %s->beside);", v, v, call);
    }
    for (int r = 0; r < p->nest.reds.len; r++)
        if (p->nest.reds.data[r].stage >= first - 1 && p->nest.reds.data[r].stage < stage)
            kn_c_line(w, "kn_repeat(s->r%d, n * (i64)sizeof *s->r%d, %s->beside);", r, r, call);
}

/* Nothing is reduced: all members of a part, in rows that are as long as arrays of a block allow, and what is left as part of
 * one. */
static void put_wide_sweep(kn_c_writer *w, int stage)
{
    const int member = w->ph->nest.ngroup;
    kn_c_line(w, "i64 rest = from;");
    kn_c_open(w, "if (c->wide && from < to)");
    kn_c_line(w, "const i64 beside = c->wide->beside, lanes = n * beside;");
    kn_c_line(w, "const i64 side = from / beside, stop = to / beside;");
    put_spreads(w, 0, stage, "c->wide");
    kn_c_line(w, "s->lanes = lanes;");
    kn_c_line(w, "s->i[%d] = side;", member);
    kn_c_open(w, "for (i64 m = side; m < stop; m += s->members)");
    put_members(w, stage);
    kn_c_line(w, "s->row = (m - side) * lanes;");
    kn_c_put_block(w, "c->wide", "sweep", stage, "start", "lanes");
    kn_c_line(w, "s->i[%d] += s->members;", member);
    kn_c_close(w);
    kn_c_open(w, "if (to %% beside)");
    kn_c_line(w, "s->members = 1;");
    kn_c_line(w, "s->row = (stop - side) * lanes;");
    kn_c_put_block(w, "c->wide", "sweep", stage, "start", "to % beside * n");
    kn_c_close(w);
    kn_c_line(w, "s->lanes = n;");
    kn_c_line(w, "rest = to;");
    kn_c_close(w);
}

/* As many members of a part as are whole blocks side by side, in which the tile is all groups. */
static void put_narrow_sweep(kn_c_writer *w, int stage)
{
    static const member_loop all = {"c->side", "lanes", "side", "to / c->beside", "side"};
    kn_c_line(w, "i64 rest = from;");
    kn_c_open(w, "if (c->side && to - from >= c->beside)");
    kn_c_line(w, "const i64 side = from / c->beside;");
    kn_c_line(w, "const i64 lanes = n * c->beside;");
    put_spreads(w, stage, stage, "c");
    kn_c_line(w, "s->lanes = lanes;");
    kn_c_put_starts(w, stage, "lanes");
    kn_c_line(w, "s->i[%d] = side;", w->ph->nest.ngroup);
    put_member_loop(w, stage, &all);
    kn_c_put_halves(w, stage);
    kn_c_line(w, "s->lanes = n;");
    kn_c_line(w, "rest = to / c->beside * c->beside;");
    w->indent--;
    kn_c_open(w, "} else");
    kn_c_put_starts(w, stage, "n");
    kn_c_close(w);
}

static bool reduces(const kn_phase *p, int stage)
{
    for (int r = 0; r < p->nest.reds.len; r++)
        if (p->nest.reds.data[r].stage == stage)
            return true;
    return false;
}

/* Members [from, to) of a tile's groups. */
static void put_sweep_of_tile(kn_c_writer *w, int stage)
{
    const int first = w->ph->nest.ngroup, end = w->ph->nest.naxes;
    const char *const from = w->narrow ? "rest" : "from";
    const member_loop rest = {"c", "n", from, "to", "from"};
    if (w->narrow) {
        kn_c_block(w);
        if (reduces(w->ph, stage))
            put_narrow_sweep(w, stage);
        else
            put_wide_sweep(w, stage);
    } else {
        kn_c_put_starts(w, stage, "n");
    }
    kn_c_open(w, "if (%s < to)", from);
    kn_c_put_seek(w, first, end, from);
    kn_c_close(w);
    put_member_loop(w, stage, &rest);
    if (w->narrow)
        kn_c_close(w);
}

void kn_c_put_columns_of_unit(kn_c_writer *w, const char *call)
{
    kn_c_line(w, "i64 start = unit / %s->parts * %s->most;", call, call);
    kn_c_open(w, "if (KN_RUNS(%s))", call);
    kn_c_line(
        w,
        "const i64 tile = unit / %s->parts, per_run = (%s->run + %s->run_step - 1) / %s->run_step;",
        call, call, call, call);
    kn_c_line(w, "start = tile / per_run * %s->run + tile %% per_run * %s->run_step;", call, call);
    kn_c_close(w);
    kn_c_line(w, "kn_blocks lanes = kn_start(%s, start);", call);
    kn_c_line(w, "const i64 n = kn_block_end(%s, &lanes, start, %s->groups) - start;", call, call);
}

static void put_cols(kn_c_writer *w)
{
    const kn_phase *p = w->ph;
    const int first = p->nest.ngroup;
    kn_c_open(w, "for (; unit < end; unit++)");
    kn_c_line(w, "s->part = unit %% c->parts;");
    kn_c_put_part(w);
    kn_c_put_columns_of_unit(w, "c");
    kn_c_line(w, "s->once = to - from <= KN_FOLD_MEMBERS && !c->side;");
    kn_c_line(w, "s->lanes = n;");
    if (!w->one_run) {
        kn_c_put_seek(w, 0, first, "start");
        for (int a = 0; a < first; a++)
            kn_c_line(w, "s->first[%d] = s->i[%d];", a, a);
    }
    for (int t = 0; t <= p->nest.nsweeps; t++) {
        kn_c_line(w, "s->row = 0;");
        kn_c_put_block(w, "c", "group", t, "start", "n");
        if (t == p->nest.nsweeps)
            continue;
        put_sweep_of_tile(w, t);
        kn_c_put_finish(w, t, "n");
    }
    kn_c_close(w);
}

/* Tiles are numbered down the columns first. */
static void put_tiles(kn_c_writer *w)
{
    const int down = w->ph->nest.naxes - 2, across = down + 1;
    kn_c_line(w, "const i64 side = KN_TILE_SIDE;");
    kn_c_line(w, "const i64 ndown = (num[%d] + side - 1) / side;", down);
    kn_c_line(w, "const i64 nacross = (num[%d] + side - 1) / side;", across);
    kn_c_line(w, "s->downwards = num[%d] <= num[%d];", down, across);
    kn_c_open(w, "for (; unit < end; unit++)");
    kn_c_line(w, "s->part = unit;");
    kn_c_line(w, "s->row = 0;");
    kn_c_line(w,
              "const i64 row = (s->downwards ? unit %% ndown : unit / nacross %% ndown) * side;");
    kn_c_line(
        w, "const i64 column = (s->downwards ? unit / ndown %% nacross : unit %% nacross) * side;");
    kn_c_line(w, "const i64 rows = KN_MIN(side, num[%d] - row);", down);
    kn_c_line(w, "const i64 columns = KN_MIN(side, num[%d] - column);", across);
    kn_c_put_seek(w, 0, down, "unit / (ndown * nacross)");
    for (int t = 0; t <= w->ph->nest.nsweeps; t++) {
        kn_c_put_group_stage(w, t);
        if (t == w->ph->nest.nsweeps)
            continue;
        if (kn_c_transposes(w, t)) {
            kn_c_line(w, "s->i[%d] = row;", down);
            kn_c_line(w, "s->i[%d] = column;", across);
            kn_c_line(w, "%s_transpose%d(c, s, rows, columns);", kn_c_state(w), t);
        }
        kn_c_open(w, "for (i64 r = 0; r < rows; r++)");
        kn_c_line(w, "s->i[%d] = row + r;", down);
        kn_c_line(w, "s->line = r * side;");
        kn_c_put_block(w, "c", "sweep", t, "column", "columns");
        kn_c_close(w);
        if (kn_c_turns_back(w, t)) {
            kn_c_line(w, "s->i[%d] = row;", down);
            kn_c_line(w, "s->i[%d] = column;", across);
            kn_c_line(w, "%s_back%d(c, s, rows, columns);", kn_c_state(w), t);
        }
    }
    kn_c_close(w);
}

/* The functions of a sweep's blocks. */
static void put_sweep_functions(kn_c_writer *w, int stage)
{
    w->packs[stage] = kn_c_can_pack(w, stage);
    if (w->packs[stage] && !w->by_runs) {
        kn_c_begin_packed(w, stage);
        kn_c_put_packing(w, stage);
        kn_c_put_lanes(w, false, stage);
        w->strung = w->strings[stage];
        if (w->strung)
            kn_c_put_lanes(w, false, stage);
        w->strung = false;
        kn_c_end_packed(w);
    } else if (!w->packs[stage]) {
        kn_c_put_lanes(w, false, stage);
        kn_c_put_transpose(w, stage);
    }
    w->whole = w->mode != KN_C_COLS && (w->folds[stage] || w->packs[stage]);
    if (w->whole)
        kn_c_put_lanes(w, false, stage);
    w->whole = false;
}

void kn_c_put_walk(kn_c_writer *w)
{
    const kn_phase *p = w->ph;
    const bool cols = w->mode == KN_C_COLS;
    const int first = cols ? 0 : p->nest.ngroup, end = cols ? p->nest.ngroup : p->nest.naxes;
    w->axis = first < end ? end - 1 : -1;
    w->one_run = end - first <= 1 || w->mode == KN_C_TILES;
    w->narrow = cols && kn_c_can_be_narrow(p) && !w->ordered;
    kn_c_find_lanes(w);
    place_own(w);
    kn_c_choose_rows(w);
    kn_c_find_shares(w);
    put_state(w);
    w->folds = KN_NEW_ARRAY(w->a, bool, p->nest.nsweeps + 1);
    w->several = KN_NEW_ARRAY(w->a, bool, p->nest.nsweeps + 1);
    w->packs = KN_NEW_ARRAY(w->a, bool, p->nest.nsweeps + 1);
    w->strings = KN_NEW_ARRAY(w->a, bool, p->nest.nsweeps + 1);
    w->packed_in = KN_NEW_ARRAY(w->a, uint64_t, p->nest.nsweeps + 1);
    w->packed_out = KN_NEW_ARRAY(w->a, uint64_t, p->nest.nsweeps + 1);
    for (int t = 0; t <= p->nest.nsweeps; t++) {
        kn_c_put_lanes(w, true, t);
        if (t < p->nest.nsweeps)
            put_sweep_functions(w, t);
    }
    kn_c_put_runs(w, first, end);
    kn_c_line(w, "KN_WORK void %s_work(const kn_c_call *call, i64 unit, i64 end, char *scratch)",
              kn_c_state(w));
    kn_c_block(w);
    put_start_state(w);
    switch (w->mode) {
    case KN_C_ROWS: kn_c_put_rows(w); break;
    case KN_C_SHORT: kn_c_put_short_rows(w); break;
    case KN_C_COLS: put_cols(w); break;
    default: put_tiles(w); break;
    }
    if (kn_c_streams_any(w))
        kn_c_line(w, "if (KN_STREAMS(c)) KN_END_STREAMS;");
    w->rows *= w->rows_at_once;
    kn_c_close(w);
    kn_put(w->t, "\n");
}
