/* Remainders of what is at most once around.
 *
 * Before: a raw phase with  x % n  of integers, n an extent
 * After, if -n <= x < 2 n for every index:  x + n where x < 0, x - n where x >= n, and x elsewhere
 *
 * Indices that wrap around are like this, for instance those of roll(). A remainder of 64 bits takes as long as tens of
 * additions. */
#include "codegen/plan/form/form.h"

/* What an integer lies between. */
typedef struct span {
    int64_t least, most;
} span;

static bool span_of_index(const kn_phase *ph, const kn_access *acc, span *s)
{
    *s = (span){acc->offset, acc->offset};
    for (int a = 0; a < ph->nest.naxes; a++) {
        int64_t last = ph->nest.axes[a].extent > 0 ? ph->nest.axes[a].extent - 1 : 0, by;
        if (__builtin_mul_overflow(acc->stride[a], last, &by) ||
            __builtin_add_overflow(by < 0 ? s->least : s->most, by, by < 0 ? &s->least : &s->most))
            return false;
    }
    return true;
}

/* The number that is an extent, or a cast of one; 0: it is something else. */
static int64_t extent_of(const kn_planner *p, const kn_phase *ph, int i)
{
    const kn_value *v = kn_value_at(ph, i);
    while (kn_is_elem(v, KN_OP_CAST) && kn_is_int(v->dtype))
        v = kn_value_at(ph, v->in[0]);
    return v->kind == KN_V_EXTENT ? p->extents.data[v->index].value : 0;
}

/* An index, a number, or the sum or difference of two of these. */
static bool span_of(const kn_phase *ph, int i, span *s)
{
    const kn_value *v = kn_value_at(ph, i);
    if (v->kind == KN_V_INDEX)
        return span_of_index(ph, v->access, s);
    if (v->kind == KN_V_CONST && kn_is_int(v->dtype)) {
        *s = (span){v->value.i, v->value.i};
        return true;
    }
    span x, y;
    if ((!kn_is_elem(v, KN_OP_ADD) && !kn_is_elem(v, KN_OP_SUB)) || !span_of(ph, v->in[0], &x) ||
        !span_of(ph, v->in[1], &y))
        return false;
    return v->op == KN_OP_ADD ? !__builtin_add_overflow(x.least, y.least, &s->least) &&
                                    !__builtin_add_overflow(x.most, y.most, &s->most)
                              : !__builtin_sub_overflow(x.least, y.most, &s->least) &&
                                    !__builtin_sub_overflow(x.most, y.least, &s->most);
}

/* Is value i such a remainder, and where does what it is of lie? */
static bool wraps(const kn_planner *p, const kn_phase *ph, int i, span *s)
{
    const kn_value *v = kn_value_at(ph, i);
    if (!kn_is_elem(v, KN_OP_MOD) || v->dtype != KN_I64 || !span_of(ph, v->in[0], s))
        return false;
    const int64_t n = extent_of(p, ph, v->in[1]);
    return n > 0 && n < INT64_MAX / 2 && s->least >= -n && s->most < 2 * n;
}

static int choose(kn_planner *p, kn_phase *ph, int condition, int x, int y)
{
    return kn_add_value(p, ph, kn_elem(KN_OP_WHERE, KN_I64, condition, x, y));
}

static int wrapped(kn_planner *p, kn_phase *ph, int i, const int *to, void *ctx)
{
    (void)to;
    (void)ctx;
    span s;
    if (!wraps(p, ph, i, &s))
        return i;
    int x = kn_value_at(ph, i)->in[0], n = kn_value_at(ph, i)->in[1], made = x;
    if (s.least < 0) {
        int zero = kn_add_value(p, ph, kn_number((kn_scalar){.dtype = KN_I64}));
        int below = kn_add_elem(p, ph, KN_OP_LT, KN_BOOL, x, zero);
        made = choose(p, ph, below, kn_add_elem(p, ph, KN_OP_ADD, KN_I64, x, n), made);
    }
    if (s.most >= extent_of(p, ph, n)) {
        int above = kn_add_elem(p, ph, KN_OP_GE, KN_BOOL, x, n);
        made = choose(p, ph, above, kn_add_elem(p, ph, KN_OP_SUB, KN_I64, x, n), made);
    }
    return made;
}

void kn_wrap_indices(kn_planner *p, kn_phase *ph)
{
    bool any = false;
    span s;
    for (int i = 0; i < ph->nest.values.len; i++)
        any = any || wraps(p, ph, i, &s);
    if (any)
        kn_remake_values(p, ph, wrapped, NULL);
}
