/* The lanes of a step: its elements one by one, in runs that share values, or in pairs. */
#include "codegen/emit/cuda/writer.h"

bool kn_cuda_varies_by_lane(kn_cuda_writer *w, const kn_access *acc)
{
    int va = kn_phase_vector_axis(w->ph);
    bool varies = !kn_same_for_lanes(w->ph, acc);
    for (int a = 0; a < va && w->ph->how.linear; a++)
        varies = varies || acc->kind[a] != KN_STRIDE_ZERO;
    return w->ph->how.vec > 1 && varies;
}

/* A store that only index 0 along some axis does is no vector store, which needs every lane. */
bool kn_cuda_stores_vector(const kn_cuda_writer *w, int i)
{
    const kn_store *s = &w->ph->nest.stores.data[i];
    return kn_transfer_of_store(w->ph, i)->vector && !s->once;
}

bool kn_cuda_stores_in_registers(const kn_cuda_writer *w, int store)
{
    return kn_in_registers(kn_transpose_of_store(w->ph, store));
}

static void write_element_store(kn_cuda_writer *w, int i)
{
    const kn_store *s = &w->ph->nest.stores.data[i];
    bool lanes = kn_cuda_varies_by_lane(w, &s->access);
    const char *guard = kn_cuda_once(w, s, w->ph->how.vec > 1 && !lanes ? "l == 0" : "");
    const kn_transpose *tile = kn_transpose_of_store(w->ph, i);
    if (tile) { /* behind the last member of a dense one are the next group's */
        kn_cuda_guarded(w, tile->dense && w->store_guard ? w->store_guard : "",
                        kn_cuda_printed(w, "%s = %s;", kn_cuda_in_tile(w, tile, lanes ? "l" : NULL),
                                        kn_cuda_operand(w, s->value)));
        return;
    }
    const char *offset = kn_cuda_offset(w, &s->access, 'o', i, lanes ? "l" : NULL),
               *value = kn_cuda_operand(w, s->value);
    if (w->store_guard)
        kn_cuda_guarded(
            w, kn_cuda_printed(w, "%s%s%s", w->store_guard, *guard ? " && " : "", guard),
            kn_cuda_printed(w, "*%s = %s;", kn_cuda_guarded_address(w, i, offset), value));
    else
        kn_cuda_guarded(
            w, guard,
            kn_cuda_printed(w, "%s[%s] = %s;", w->k->bufs.data[s->access.buf].name, offset, value));
}

/* Where a lane has an element of a value from. */
typedef enum source {
    NOWHERE, /* not in the lanes: the step does not need it, or has loaded it for all of them */
    COMPUTED,
    GATHERED,
    FROM_VECTOR,
    LOADED_BY_LANE,
} source;

static source source_of(kn_cuda_writer *w, int i)
{
    const kn_value *v = kn_value_at(w->ph, i);
    if (!w->need[i] || v->level != KN_ELEMENT)
        return NOWHERE;
    if (v->kind == KN_V_ELEM && !w->loaded[i])
        return COMPUTED;
    if (v->kind == KN_V_GATHER) /* its indices have just been computed */
        return GATHERED;
    if (kn_cuda_in_registers(w, i) || (v->kind == KN_V_LOAD && kn_transfer_of(w->ph, i)->vector) ||
        kn_cuda_is_tile_vector(w, i) || kn_cuda_in_shared(w, i))
        return FROM_VECTOR;
    return kn_has_access(v) && kn_cuda_varies_by_lane(w, v->access) ? LOADED_BY_LANE : NOWHERE;
}

/* Do later sweeps find value i, which this one computes, in its vector? */
static bool is_kept_in_vector(const kn_cuda_writer *w, int i)
{
    return kn_kept(w->ph, i) == KN_KEEP_REGISTERS || kn_kept(w->ph, i) == KN_KEEP_SHARED;
}

/* "v5_vec.at[l]" */
static const char *element_of(kn_cuda_writer *w, int i)
{
    return kn_cuda_printed(w, "%s.at[%s]", kn_cuda_vector(w, i), w->ph->how.vec > 1 ? "l" : "0");
}

/* One element of what a step needs. What is computed for later sweeps is kept. */
static void write_element(kn_cuda_writer *w, int i)
{
    const char *element = element_of(w, i);
    switch (source_of(w, i)) {
    case NOWHERE: break;
    case COMPUTED:
        kn_cuda_define(w, i, kn_cuda_expression(w, i));
        if (is_kept_in_vector(w, i))
            kn_cuda_line(w, "%s = %s;", element, kn_cuda_operand(w, i));
        break;
    case GATHERED: {
        const kn_access *at = kn_value_at(w->ph, i)->access;
        kn_cuda_define_load(w, i, kn_cuda_varies_by_lane(w, at) ? "l" : NULL);
        break;
    }
    case FROM_VECTOR: kn_cuda_define(w, i, element); break;
    case LOADED_BY_LANE: kn_cuda_define_load(w, i, "l"); break;
    }
}

/* What becomes of an element. */
static void write_uses(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    for (int r = 0; r < ph->nest.reds.len; r++)
        if (ph->nest.reds.data[r].stage == w->sweep)
            kn_cuda_accumulate(w, r);
    for (int i = 0; i < ph->nest.stores.len; i++) {
        if (!kn_cuda_stores_now(w, i))
            continue;
        if (kn_cuda_stores_vector(w, i) || kn_cuda_stores_in_registers(w, i))
            kn_cuda_line(w, "o%d_vec.at[%s] = %s;", i, ph->how.vec > 1 ? "l" : "0",
                         kn_cuda_operand(w, ph->nest.stores.data[i].value));
        else
            write_element_store(w, i);
    }
}

/* Is the value computed once for a run of lanes? */
static bool is_shared(const kn_cuda_writer *w, int i)
{
    const kn_value *v = kn_value_at(w->ph, i);
    return w->need[i] && v->level == KN_ELEMENT && v->kind == KN_V_ELEM && !w->loaded[i] &&
           !kn_selected_of(w->ph, i)->known && kn_selected_of(w->ph, i)->alike > 1;
}

/* The lanes of a run; 1: they share nothing. */
static int run_of(const kn_cuda_writer *w)
{
    for (int i = 0; i < w->ph->nest.values.len; i++)
        if (is_shared(w, i))
            return kn_selected_of(w->ph, i)->alike;
    return 1;
}

/* Marks in each[] what the reductions and the stores of a step take. */
static void find_uses(const kn_cuda_writer *w, bool *each)
{
    const kn_phase *ph = w->ph;
    for (int r = 0; r < ph->nest.reds.len; r++)
        each[ph->nest.reds.data[r].value] |= ph->nest.reds.data[r].stage == w->sweep;
    for (int i = 0; i < ph->nest.stores.len; i++)
        if (kn_cuda_stores_now(w, i))
            each[ph->nest.stores.data[i].value] = true;
}

/* Marks in once[] what a run computes once, and in each[] what each of its lanes computes. */
static void divide(const kn_cuda_writer *w, int run, bool *once, bool *each)
{
    const kn_phase *ph = w->ph;
    find_uses(w, each);
    for (int i = ph->nest.values.len - 1; i >= 0; i--) {
        const kn_value *v = kn_value_at(ph, i);
        const bool computed = v->kind == KN_V_GATHER || (v->kind == KN_V_ELEM && !w->loaded[i]);
        each[i] = each[i] || (w->need[i] && kn_kept(ph, i) && v->kind == KN_V_ELEM);
        if (each[i] && run > 1 && is_shared(w, i)) {
            once[i] = true;
            each[i] = false;
        }
        for (int k = 0; computed && k < v->nin; k++) {
            once[v->in[k]] |= once[i];
            each[v->in[k]] |= each[i];
        }
    }
}

/* What each lane of a loop begins with. */
static void begin_lane(kn_cuda_writer *w)
{
    if (kn_cuda_may_be_partial(w))
        kn_cuda_guarded(w, kn_cuda_printed(w, "!(%s)", kn_cuda_lane_is_member(w)), "continue;");
    kn_cuda_write_axes_of_lane(w);
}

static void open_lanes(kn_cuda_writer *w, const char *from, const char *to)
{
    kn_put(w->t, "#pragma unroll\n");
    kn_cuda_open(w, "for (int l = %s; l < %s; ++l)", from, to);
    begin_lane(w);
}

/* ---- pairs: values of two lanes, whose 16-bit floats are one register ---- */

/* Does the step compute what one instruction does for two lanes? */
static bool has_pairs(kn_cuda_writer *w)
{
    bool has = false;
    for (int i = 0; i < w->ph->nest.values.len && !has; i++)
        has = kn_selected_of(w->ph, i)->packed && source_of(w, i) == COMPUTED;
    return has;
}

/* Have both lanes of a pair value i at once? */
static bool is_at_once(kn_cuda_writer *w, int i)
{
    const source from = source_of(w, i);
    return from == FROM_VECTOR || (from == COMPUTED && kn_cuda_is_of_pair(w, i));
}

static void write_at_once(kn_cuda_writer *w, int i)
{
    const bool computed = source_of(w, i) == COMPUTED;
    const char *name = kn_cuda_value(w, i), *vector = kn_cuda_vector(w, i),
               *pair = computed ? kn_cuda_pair_expression(w, i)
                                : kn_cuda_printed(w, "kn_pair_of(%s, pair)", vector);
    w->paired[i] = true;
    kn_cuda_line(w, "const %s %s = %s;", kn_cuda_pair_type(w, i), name, pair);
    if (computed && is_kept_in_vector(w, i))
        kn_cuda_line(w, "kn_set_pair(%s, pair, %s);", vector, name);
}

/* Writes the values of each[] from value i on, up to the next that both lanes have at once, lane by lane. Returns that
 * next one. */
static int write_lane_by_lane(kn_cuda_writer *w, int i, const bool *each)
{
    int end = i;
    for (; end < w->ph->nest.values.len && !(each[end] && is_at_once(w, end)); end++) {
        w->paired[end] = each[end] && source_of(w, end) != NOWHERE;
        if (w->paired[end])
            kn_cuda_line(w, "%s %s;", kn_cuda_pair_type(w, end), kn_cuda_value(w, end));
    }
    open_lanes(w, "pair", "pair + 2");
    for (int n = i; n < end; n++)
        if (w->paired[n])
            write_element(w, n);
    kn_cuda_close(w);
    return end;
}

/* The elements of each[] in pairs. */
static void write_pairs(kn_cuda_writer *w, const bool *each)
{
    for (int i = 0; i < w->ph->nest.values.len;) {
        if (!each[i] || source_of(w, i) == NOWHERE)
            i++;
        else if (is_at_once(w, i))
            write_at_once(w, i++);
        else
            i = write_lane_by_lane(w, i, each);
    }
}

/* ---- all lanes ---- */

/* The lanes [from, to): the elements of each[], and what becomes of them. */
static void write_lanes(kn_cuda_writer *w, const char *from, const char *to, const bool *each)
{
    if (w->paired) {
        kn_put(w->t, "#pragma unroll\n");
        kn_cuda_open(w, "for (int pair = %s; pair < %s; pair += 2)", from, to);
        write_pairs(w, each);
        open_lanes(w, "pair", "pair + 2");
        write_uses(w);
        kn_cuda_close(w);
        kn_cuda_close(w);
        return;
    }
    open_lanes(w, from, to);
    for (int i = 0; i < w->ph->nest.values.len; i++)
        if (each[i])
            write_element(w, i);
    write_uses(w);
    kn_cuda_close(w);
}

/* Lanes by runs, of which each shares the values of once[]. */
static void write_runs(kn_cuda_writer *w, int run, const bool *once, const bool *each)
{
    kn_put(w->t, "#pragma unroll\n");
    kn_cuda_open(w, "for (int first_lane = 0; first_lane < %d; first_lane += %d)", w->ph->how.vec,
                 run);
    kn_cuda_line(w, "const int l = first_lane;");
    for (int i = 0; i < w->ph->nest.values.len; i++)
        if (once[i])
            write_element(w, i);
    write_lanes(w, "first_lane", kn_cuda_printed(w, "first_lane + %d", run), each);
    kn_cuda_close(w);
}

void kn_cuda_lanes(kn_cuda_writer *w)
{
    const int n = w->ph->nest.values.len, vec = w->ph->how.vec;
    bool *once = KN_NEW_ARRAY(w->t->arena, bool, n + 1),
         *each = KN_NEW_ARRAY(w->t->arena, bool, n + 1);
    if (vec == 1) {
        divide(w, 1, once, each);
        begin_lane(w);
        for (int i = 0; i < n; i++)
            if (each[i])
                write_element(w, i);
        write_uses(w);
        return;
    }
    const int run = run_of(w);
    w->paired = has_pairs(w) ? KN_NEW_ARRAY(w->t->arena, bool, n + 1) : NULL;
    divide(w, run, once, each);
    if (run > 1)
        write_runs(w, run, once, each);
    else
        write_lanes(w, "0", kn_cuda_printed(w, "%d", vec), each);
    w->paired = NULL;
}
