#include "codegen/kir/selection.h"

#include "codegen/kir/halves.h"
#include "codegen/kir/lanes.h"
#include "codegen/kir/precision.h"
#include "codegen/kir/whole.h"

/* ---- instructions ---- */

/* Is group value i positive, of a size far from overflow and underflow, or else 0, infinite or NaN? So are counts and roots, and
 * sums of these. */
static bool is_ordinary(const kn_phase *ph, int i)
{
    const kn_value *v = kn_value_at(ph, i);
    if (v->kind == KN_V_CONST)
        return v->value.f >= 0x1p-80 && v->value.f <= 0x1p80;
    if (kn_is_elem(v, KN_OP_ADD) || kn_is_elem(v, KN_OP_MAXIMUM))
        return is_ordinary(ph, v->in[0]) && is_ordinary(ph, v->in[1]);
    return kn_is_elem(v, KN_OP_SQRT) ||
           (kn_is_elem(v, KN_OP_CAST) && kn_value_at(ph, v->in[0])->kind == KN_V_EXTENT);
}

kn_divisor_kind kn_divisor_of(const kn_phase *ph, int i)
{
    return !is_ordinary(ph, i)                      ? KN_DIVISOR_ANY
           : kn_value_at(ph, i)->kind == KN_V_CONST ? KN_DIVISOR_CONSTANT
                                                    : KN_DIVISOR_ORDINARY;
}

/* Threads with vectors of groups have no register to spare for the reciprocal of a count, unless async copies bring these
 * (docs/lab/short-columns.md). */
bool kn_divides_by_count(const kn_phase *ph, int i)
{
    const kn_value *v = kn_value_at(ph, i);
    return v->level == KN_GROUP && v->dtype == KN_F32 && kn_is_elem(v, KN_OP_DIV) &&
           kn_is_known_integer(ph, v->in[1]) &&
           (ph->how.walk != KN_WALK_COLS || ph->how.vec == 1 || ph->how.tpg == 1 ||
            (ph->how.async && !ph->how.cluster));
}

/* Is value i  1 + exp(-abs(x)): 1 to 2, or NaN? */
static bool is_one_to_two(const kn_phase *ph, int i)
{
    const kn_value *v = kn_value_at(ph, i);
    for (int k = 0; k < 2 && kn_is_elem(v, KN_OP_ADD); k++) {
        const kn_value *one = kn_value_at(ph, v->in[k]), *e = kn_value_at(ph, v->in[1 - k]);
        const kn_value *minus = kn_is_elem(e, KN_OP_EXP) ? kn_value_at(ph, e->in[0]) : NULL;
        if (one->kind == KN_V_CONST && one->value.f == 1 && minus && kn_is_elem(minus, KN_OP_NEG) &&
            kn_is_elem(kn_value_at(ph, minus->in[0]), KN_OP_ABS))
            return true;
    }
    return false;
}

/* Is it that, or its square: 1 to 4, or NaN? */
static bool is_moderate(const kn_phase *ph, int i)
{
    const kn_value *v = kn_value_at(ph, i);
    const bool square = kn_is_elem(v, KN_OP_MUL) && v->in[0] == v->in[1];
    return is_one_to_two(ph, square ? v->in[0] : i);
}

static kn_select quotient(const kn_phase *ph, bool fast, const bool *imprecise, int i)
{
    const kn_value *v = kn_value_at(ph, i);
    const bool single = v->dtype == KN_F32, by_group = kn_value_at(ph, v->in[1])->level == KN_GROUP;
    if (by_group && v->level == KN_ELEMENT && !(fast && single))
        return imprecise[i] ? KN_SELECT_APPROXIMATE_DIVISOR : KN_SELECT_DIVISOR;
    if (!fast && kn_divides_by_count(ph, i))
        return KN_SELECT_DIVISOR;
    if (!fast && kn_is_approximated(ph, imprecise, i))
        return KN_SELECT_APPROXIMATION;
    if (!fast && single && v->level == KN_ELEMENT && is_moderate(ph, v->in[1]))
        return KN_SELECT_MODERATE_QUOTIENT;
    return ph->how.inline_quotients && v->level == KN_GROUP && single ? KN_SELECT_INLINE_QUOTIENT
                                                                      : KN_SELECT_OPERATION;
}

/* Is value i, a factor of 64 bits, a number of 32 that is widened: a constant, or the cast of an operand? */
static bool is_narrow_factor(const kn_phase *ph, int i)
{
    const kn_value *v = kn_value_at(ph, i);
    if (v->kind == KN_V_CONST)
        return v->value.i >> 32 == 0;
    return kn_is_elem(v, KN_OP_CAST) && !kn_kept(ph, i) &&
           kn_value_at(ph, v->in[0])->dtype == KN_U32;
}

static kn_select cast(kn_whole whole)
{
    const kn_select by[] = {[KN_WHOLE_NONE] = KN_SELECT_OPERATION,
                            [KN_WHOLE_SMALL] = KN_SELECT_SMALL_CAST,
                            [KN_WHOLE_NEAREST] = KN_SELECT_NEAREST_CAST,
                            [KN_WHOLE_LATER] = KN_SELECT_LATER_ROUNDING};
    return by[whole];
}

/* What the selection is made from; each has an entry a value; `whole` and `lanes` may be NULL. */
typedef struct facts {
    bool fast;
    const bool *imprecise;
    const kn_whole *whole;
    const kn_lanes *lanes;
} facts;

static kn_select instruction(const kn_phase *ph, const facts *f, int i)
{
    const kn_value *v = kn_value_at(ph, i);
    int bits;
    switch (v->op) {
    case KN_OP_DIV:
        return kn_is_float(v->dtype) ? quotient(ph, f->fast, f->imprecise, i) : KN_SELECT_OPERATION;
    case KN_OP_EXP:
        return !f->fast && kn_is_approximated(ph, f->imprecise, i) ? KN_SELECT_APPROXIMATION
                                                                   : KN_SELECT_OPERATION;
    case KN_OP_MUL:
        return v->dtype == KN_U64 && is_narrow_factor(ph, v->in[0]) &&
                       is_narrow_factor(ph, v->in[1])
                   ? KN_SELECT_WIDE_PRODUCT
                   : KN_SELECT_OPERATION;
    case KN_OP_BITAND:
        return f->lanes && v->level == KN_ELEMENT && kn_is_lane_number(ph, f->lanes, i, &bits)
                   ? KN_SELECT_LANE_NUMBER
                   : KN_SELECT_OPERATION;
    default: return f->whole ? cast(f->whole[i]) : KN_SELECT_OPERATION;
    }
}

static bool is_rounded(const kn_phase *ph, int i)
{
    const kn_value *v = kn_value_at(ph, i);
    return v->dtype == KN_BF16 && !kn_kept(ph, i) &&
           (v->op == KN_OP_WHERE ||
            (v->op == KN_OP_CAST && kn_value_at(ph, v->in[0])->dtype == KN_F32));
}

/* ---- what the first sweep computes before its loads ---- */

/* Is value i, which the first sweep computes for later ones, made of no load of an element? `made`: room. */
static bool is_free_of_loads(const kn_phase *ph, int i, bool *made)
{
    const kn_hold *h = kn_hold_of(ph, i);
    bool free = h && h->where == KN_KEEP_REGISTERS && h->room == i && h->since == 0 &&
                kn_value_at(ph, i)->kind == KN_V_ELEM;
    if (!free)
        return false;
    kn_value_needs(ph, i, made);
    for (int n = 0; n <= i; n++) {
        const kn_value *v = kn_value_at(ph, n);
        free = free && (!made[n] || v->level == KN_GROUP || !kn_is_read(v));
    }
    return free;
}

/* Random numbers, mostly, which mixed phases compute while the group's elements are on their way. Not where a group has
 * loads of its own that are prefetched into registers, which these values could be made of. */
static void select_ahead(kn_arena *a, const kn_phase *ph, kn_selected *of)
{
    bool may = ph->how.mixed && ph->how.prefetch;
    for (int i = 0; i < ph->nest.values.len; i++)
        may = may && !kn_is_prefetched_of_group(ph, i);
    if (!may)
        return;
    bool *made = KN_NEW_ARRAY(a, bool, ph->nest.values.len + 1);
    for (int i = 0; i < ph->nest.values.len; i++)
        of[i].ahead = is_free_of_loads(ph, i, made);
}

/* ---- lanes ---- */

/* Lanes go by runs as long as the shortest that shares a value which is computed. */
static void select_runs(const kn_phase *ph, const kn_lanes *lanes, kn_selected *of)
{
    int run = ph->how.vec;
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = kn_value_at(ph, i);
        of[i].alike = lanes[i].alike;
        of[i].known = lanes[i].known;
        if (v->kind == KN_V_ELEM && v->level == KN_ELEMENT && !lanes[i].known &&
            lanes[i].alike > 1 && lanes[i].alike < run)
            run = lanes[i].alike;
    }
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = kn_value_at(ph, i);
        if (v->kind == KN_V_ELEM && v->level == KN_ELEMENT && of[i].alike > run)
            of[i].alike = run;
    }
}

static const kn_selected *select_values(kn_arena *a, const kn_phase *ph, bool fast)
{
    const int n = ph->nest.values.len;
    kn_selected *of = KN_NEW_ARRAY(a, kn_selected, n + 1);
    const facts f = {fast, kn_find_imprecise(a, ph), kn_find_whole(a, ph), kn_find_lanes(a, ph)};
    for (int i = 0; i < n; i++) {
        const kn_value *v = kn_value_at(ph, i);
        of[i].alike = 1;
        if (v->kind != KN_V_ELEM)
            continue;
        of[i].by = instruction(ph, &f, i);
        of[i].packed = ph->how.vec % 2 == 0 && kn_is_half_arithmetic(v->op, v->dtype);
        of[i].rounded = is_rounded(ph, i);
    }
    if (f.lanes)
        select_runs(ph, f.lanes, of);
    select_ahead(a, ph, of);
    return of;
}

/* ---- accumulators ---- */

/* Is reduction r the maximum or minimum of 16-bit floats that a step has as a vector, not in registers since before? */
static bool has_halves(const kn_phase *ph, int r)
{
    const kn_red *red = &ph->nest.reds.data[r];
    const kn_value *v = kn_value_at(ph, red->value);
    if ((red->op != KN_OP_MAX && red->op != KN_OP_MIN) || red->dtype != KN_F32 || red->across ||
        ph->how.vec < 2 || kn_vector_has_groups(ph) || !kn_is_elem(v, KN_OP_CAST))
        return false;
    const int load = v->in[0];
    const kn_value *of = kn_value_at(ph, load);
    return of->kind == KN_V_LOAD && of->level == KN_ELEMENT && kn_is_half(of->dtype) &&
           (kn_transfer_of(ph, load)->vector || kn_kept(ph, load) == KN_KEEP_SHARED) &&
           kn_kept(ph, load) != KN_KEEP_REGISTERS && !kn_is_found(ph, red->value, red->stage);
}

static kn_accumulate accumulation(const kn_phase *ph, int r)
{
    const kn_red *red = &ph->nest.reds.data[r];
    const kn_state state = kn_red_state(ph, r);
    const bool groups = kn_vector_has_groups(ph);
    if (red->part != KN_PART_RESULT || red->by)
        return KN_ACCUMULATE_EACH;
    if (groups)
        return state == KN_STATE_MOMENTS ? KN_ACCUMULATE_COUNTED : KN_ACCUMULATE_EACH;
    if (state == KN_STATE_PLAIN)
        return has_halves(ph, r) ? KN_ACCUMULATE_HALVES : KN_ACCUMULATE_EACH;
    if (ph->how.vec > 1)
        return KN_ACCUMULATE_VECTOR;
    return state == KN_STATE_PEAK ? KN_ACCUMULATE_BATCH : KN_ACCUMULATE_EACH;
}

static const kn_accumulate *select_accumulations(kn_arena *a, const kn_phase *ph)
{
    kn_accumulate *by = KN_NEW_ARRAY(a, kn_accumulate, ph->nest.reds.len + 1);
    for (int r = 0; r < ph->nest.reds.len; r++)
        by[r] = accumulation(ph, r);
    return by;
}

const kn_selection *kn_select_phase(kn_arena *a, const kn_phase *ph, bool fast)
{
    kn_selection *s = KN_NEW(a, kn_selection);
    *s = (kn_selection){select_values(a, ph, fast), select_accumulations(a, ph)};
    return s;
}
