/* Graphs at random: operations are drawn until enough of them have a meaning. One draw a full expression: compilers
 * evaluate arguments in different orders, and a seed is the same program by all of them. */
#include <stdio.h>
#include <string.h>

#include "ir/build.h"
#include "tests/differential/program.h"

uint64_t random_bits(rng *r)
{
    uint64_t z = r->state += 0x9e3779b97f4a7c15u; /* splitmix64 */
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

int below(rng *r, int n) { return (int)(random_bits(r) >> 33) % n; }

bool chance(rng *r, int percent) { return below(r, 100) < percent; }

double between(rng *r, double low, double high)
{
    return low + (high - low) * (double)(random_bits(r) >> 11) * 0x1p-53;
}

enum { MAX_POOL = 128, MAX_DIMS = 6, TOP_RANK = 6 };

/* Any type, f32 and f64 most often. */
static kn_dtype random_dtype(rng *r)
{
    return chance(r, 40) ? (chance(r, 50) ? KN_F32 : KN_F64) : (kn_dtype)(1 + below(r, KN_C128));
}

typedef struct maker {
    program *p;
    rng *r;
    kn_graph *g;
    const vocabulary *words;
    int64_t limit; /* elements of a value */
    kn_node *pool[MAX_POOL];
    int count;
    kn_dim dims[MAX_DIMS]; /* what shapes are made of */
    bool bound[MAX_DIMS];  /* some input's shape tells it */
    int ndims;
    bool uniform; /* reductions mostly of what does not vary */
} maker;

static const kn_loc nowhere;

/* ---- sizes ---- */

static int64_t size_of(maker *m, kn_dim d)
{
    int64_t v = -1;
    kn_symbols_derive(m->g->syms, m->g->arena, m->p->sizes);
    return kn_dim_eval(d, m->p->sizes, &v) ? v : -1;
}

/* -1: unknown or more than the limit, which holds without the axes of size 0 too: one may be reduced */
static int64_t count_of(maker *m, const kn_dim *shape, int rank)
{
    int64_t n = 1, zero = 1;
    for (int i = 0; i < rank; i++) {
        int64_t d = size_of(m, shape[i]);
        if (d < 0)
            return -1;
        zero = d == 0 ? 0 : zero;
        n *= d == 0 ? 1 : d;
        if (n > m->limit)
            return -1;
    }
    return n * zero;
}

static void make_dims(maker *m)
{
    static const int64_t small[] = {2, 3, 4, 5, 7, 8}, large[] = {1000, 1021, 1024, 2500};
    m->ndims = 3 + below(m->r, MAX_DIMS - 2);
    int few = m->limit > 50000 ? 25 : 55; /* percent of small ones */
    /* Every eighth program has mostly sizes of 0 and 1: an empty loop nest beside one that is not takes two of them. */
    bool edges = !m->words && m->p->seed % 8 == 3;
    for (int i = 0; i < m->ndims; i++) {
        int64_t v = chance(m->r, edges ? 40 : 3)    ? 0
                    : chance(m->r, edges ? 20 : 10) ? 1
                    : chance(m->r, few)             ? small[below(m->r, 6)]
                    : chance(m->r, 75)              ? 31 + below(m->r, 3)
                                                    : large[below(m->r, 4)];
        if (chance(m->r, 25)) {
            m->dims[i] = kn_dim_const(m->g->syms, v);
            m->bound[i] = true;
            continue;
        }
        char name[2] = {(char)('A' + i), 0};
        m->dims[i] = kn_dim_sym(m->g->syms, name, 1);
        m->p->sizes[kn_symbol_find(m->g->syms, name, 1)] = v;
    }
}

/* A dimension that the inputs determine; a constant 1 if there is none. */
static kn_dim known_dim(maker *m)
{
    for (int tries = 0; tries < 10; tries++) {
        int i = below(m->r, m->ndims);
        if (m->bound[i])
            return m->dims[i];
    }
    return kn_dim_const(m->g->syms, 1);
}

/* ---- leaves ---- */

static void keep(maker *m, kn_node *n)
{
    if (n && m->count < MAX_POOL)
        m->pool[m->count++] = n;
}

static void make_input(maker *m)
{
    kn_dim shape[TOP_RANK];
    int rank = below(m->r, 5), used[TOP_RANK];
    for (int i = 0; i < rank; i++) {
        used[i] = below(m->r, m->ndims);
        shape[i] = m->dims[used[i]];
        if (chance(m->r, 15)) {
            shape[i] = kn_dim_const(m->g->syms, 1);
            used[i] = -1;
        } else if (chance(m->r, 5)) { /* a sum or a product of what is known */
            kn_dim a = known_dim(m), b = known_dim(m);
            shape[i] =
                chance(m->r, 50) ? kn_dim_add(m->g->syms, a, b) : kn_dim_mul(m->g->syms, a, b);
            used[i] = -1;
        }
        if (count_of(m, shape, i + 1) < 0) {
            rank = i;
            break;
        }
    }
    for (int i = 0; i < rank; i++)
        if (used[i] >= 0)
            m->bound[used[i]] = true;
    char name[16];
    snprintf(name, sizeof name, "x%d", m->g->inputs.len);
    kn_dtype t = random_dtype(m->r);
    keep(m, kn_build_input(m->g, name, t, shape, rank, nowhere));
}

static void make_scalar(maker *m)
{
    char name[16];
    snprintf(name, sizeof name, "s%d", m->g->inputs.len);
    kn_dtype t = random_dtype(m->r);
    kn_scalar dflt = {.dtype = KN_F64, .f = between(m->r, -3, 3)};
    bool has_default = chance(m->r, 50);
    m->p->omitted[m->g->inputs.len] = has_default && chance(m->r, 50);
    keep(m, kn_build_scalar(m->g, name, t, has_default ? &dflt : NULL, nowhere));
}

static kn_node *number(maker *m)
{
    static const double floats[] = {0.5, 1.0, -1.5, 2.0, 1e-3, 3.25, 0.1, 100.0};
    switch (below(m->r, 8)) {
    case 0: return kn_build_bool(m->g, chance(m->r, 50), nowhere);
    case 1:
    case 2: return kn_build_int(m->g, below(m->r, 9) - 3, nowhere);
    case 3: {
        kn_dtype t = chance(m->r, 50) ? KN_I32 : KN_I64;
        return kn_build_const(m->g, (kn_scalar){.dtype = t, .i = below(m->r, 7) - 3}, nowhere);
    }
    case 4:
        return kn_build_const(m->g, (kn_scalar){.dtype = KN_F64, .f = floats[below(m->r, 8)]},
                              nowhere);
    case 5: return kn_build_extent(m->g, known_dim(m), nowhere);
    case 6:
        if (chance(m->r, 30)) {
            double im = floats[below(m->r, 8)], re = floats[below(m->r, 8)];
            return kn_build_complex_number(m->g, re, im, nowhere);
        }
        return kn_build_float(m->g, floats[below(m->r, 8)], nowhere);
    default: return kn_build_float(m->g, floats[below(m->r, 8)], nowhere);
    }
}

/* ---- operations ---- */

/* Later values more often than earlier ones. */
static kn_node *pick(maker *m)
{
    int a = below(m->r, m->count), b = below(m->r, m->count);
    return m->pool[a > b ? a : b];
}

static bool broadcasts(maker *m, const kn_node *a, const kn_node *b)
{
    const kn_node *longer = a->rank > b->rank ? a : b, *shorter = longer == a ? b : a;
    int64_t n = 1;
    for (int j = 0; j < longer->rank; j++) {
        kn_dim d = longer->shape[j];
        int k = j - (longer->rank - shorter->rank);
        if (k >= 0) {
            kn_dim e = shorter->shape[k];
            if (kn_dim_is_one(m->g->syms, d))
                d = e;
            else if (!kn_dim_is_one(m->g->syms, e) && size_of(m, d) != size_of(m, e))
                return false;
        }
        int64_t size = size_of(m, d);
        n *= size == 0 ? 1 : size;
        if (n < 0 || n > m->limit)
            return false;
    }
    return true;
}

static kn_node *elem(maker *m, kn_op op, kn_node *a, kn_node *b)
{
    kn_node *in[] = {a, b};
    return kn_build_elem(m->g, op, in, kn_ops[op].arity, nowhere);
}

static kn_node *operand(maker *m, const kn_node *other)
{
    if (chance(m->r, 25))
        return number(m);
    for (int tries = 0; tries < 8; tries++) {
        kn_node *x = pick(m);
        if (broadcasts(m, x, other))
            return x;
    }
    return number(m);
}

/* Can a size that is an operand be a number of type t? For other sizes it is an error that the program says. */
static bool fits(maker *m, const kn_node *x, kn_dtype t)
{
    return x->op != KN_OP_EXTENT || !kn_is_int(t) || size_of(m, x->u.dim) <= kn_int_max(t);
}

/* Of every type that is there: which one is common is the operation's business. */
static bool fit_each_other(maker *m, kn_node *const *in, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            if (!in[k]->weak && !fits(m, in[i], in[k]->dtype))
                return false;
    return true;
}

/* Keeps values where functions say something: mostly. */
static kn_node *tamed(maker *m, kn_op op, kn_node *x)
{
    if (x->dtype == KN_BOOL || chance(m->r, 25))
        return x;
    switch (op) {
    case KN_OP_SQRT:
    case KN_OP_RSQRT:
    case KN_OP_LOG:
        x = elem(m, KN_OP_ABS, x, NULL);
        return elem(m, KN_OP_ADD, x, kn_build_float(m->g, 0.25, nowhere));
    case KN_OP_LOG2:
    case KN_OP_LOG10:
    case KN_OP_LOG1P:
    case KN_OP_POW: return elem(m, KN_OP_ABS, x, NULL);
    case KN_OP_ARCCOSH:
        x = elem(m, KN_OP_ABS, x, NULL);
        return elem(m, KN_OP_ADD, x, kn_build_int(m->g, 1, nowhere));
    case KN_OP_ARCSIN:
    case KN_OP_ARCCOS:
    case KN_OP_ARCTANH:
    case KN_OP_ERFINV:
        x = elem(m, KN_OP_TANH, x, NULL);
        return elem(m, KN_OP_MUL, x, kn_build_float(m->g, 0.9, nowhere));
    case KN_OP_SINH:
    case KN_OP_COSH:
    case KN_OP_EXP2:
    case KN_OP_EXPM1:
    case KN_OP_GAMMA:
    case KN_OP_EXP: return elem(m, KN_OP_MINIMUM, x, kn_build_float(m->g, 4, nowhere));
    default: return x;
    }
}

static kn_node *random_cast(maker *m)
{
    kn_dtype t = random_dtype(m->r);
    return kn_build_cast(m->g, pick(m), t, nowhere);
}

static kn_node *random_elem(maker *m)
{
    static const kn_op common[] = {KN_OP_ADD, KN_OP_SUB, KN_OP_MUL, KN_OP_DIV};
    kn_op op = m->words ? m->words->elem[below(m->r, m->words->elems)]
                        : (kn_op)below(m->r, KN_OP_SUM); /* those come first, formulas included */
    if (chance(m->r, 30))
        op = common[below(m->r, 4)];
    if (op == KN_OP_COPY)
        return NULL;
    if (op == KN_OP_CAST)
        return random_cast(m);
    kn_node *in[KN_MAX_IN] = {tamed(m, op, pick(m))};
    if (!in[0])
        return NULL;
    if (op == KN_OP_ROUND)
        in[1] = kn_build_int(m->g, below(m->r, 5) - 2, nowhere);
    for (int k = 1; k < kn_ops[op].arity && op != KN_OP_ROUND; k++) {
        in[k] = operand(m, in[0]);
        if (k == 2 && in[1] && (!in[2] || !broadcasts(m, in[1], in[2])))
            in[2] = number(m);
    }
    if (op == KN_OP_POW && chance(m->r, 75)) {
        static const double powers[] = {2, 3, 0.5, -1, 1.5};
        in[1] = chance(m->r, 50) ? kn_build_int(m->g, below(m->r, 4), nowhere)
                                 : kn_build_float(m->g, powers[below(m->r, 5)], nowhere);
    }
    if (kn_ops[op].arity > 1 && op != KN_OP_ROUND && chance(m->r, 30)) {
        kn_node *swap = in[0];
        in[0] = in[1];
        in[1] = swap;
    }
    for (int k = 0; k < kn_ops[op].arity; k++)
        if (!in[k])
            return NULL;
    return fit_each_other(m, in, kn_ops[op].arity)
               ? kn_build_elem(m->g, op, in, kn_ops[op].arity, nowhere)
               : NULL;
}

static kn_node *random_reduce(maker *m);

/* A value that is the same along an axis, or along all of them. */
static kn_node *uniform_value(maker *m)
{
    kn_node *x = pick(m);
    kn_dim to[TOP_RANK + 2];
    if (chance(m->r, 40)) {
        kn_node *v = number(m);
        kn_dtype t = random_dtype(m->r);
        return v && fits(m, v, t) ? kn_build_full(m->g, x->shape, x->rank, v, t, nowhere) : NULL;
    }
    if (chance(m->r, 20) && x->rank)
        x = random_reduce(m);
    if (!x || x->rank == TOP_RANK)
        return NULL;
    int axis = below(m->r, x->rank + 1);
    x = kn_build_expand_dims(m->g, x, &axis, 1, nowhere);
    for (int i = 0; i < x->rank; i++)
        to[i] = kn_dim_is_one(m->g->syms, x->shape[i]) ? known_dim(m) : x->shape[i];
    return count_of(m, to, x->rank) < 0 ? NULL
                                        : kn_build_broadcast_to(m->g, x, to, x->rank, nowhere);
}

static kn_node *random_reduce(maker *m)
{
    kn_op op = m->words ? m->words->reduce[below(m->r, m->words->reduces)]
                        : (kn_op)((int)KN_OP_SUM + below(m->r, KN_OP_VAR - KN_OP_SUM + 1));
    if (chance(m->r, 35))
        op = chance(m->r, 60) ? KN_OP_VAR : chance(m->r, 50) ? KN_OP_MEAN : KN_OP_SUM;
    kn_node *x = m->uniform && chance(m->r, 60) ? uniform_value(m) : pick(m);
    int axes[TOP_RANK + 2], n = 0;
    bool empty = false;
    if (!x)
        return NULL;
    for (int i = 0; i < x->rank; i++)
        if (chance(m->r, 45)) {
            axes[n++] = chance(m->r, 50) ? i : i - x->rank;
            empty = empty || size_of(m, x->shape[i]) == 0;
        }
    bool all = n == 0 && !chance(m->r, 10);
    for (int i = 0; all && i < x->rank; i++)
        empty = empty || size_of(m, x->shape[i]) == 0;
    if (empty && kn_ops[op].empty == KN_EMPTY_ERROR)
        return NULL;
    kn_reduction r = {.axes = axes, .naxes = all ? -1 : n};
    r.dtype = chance(m->r, 15) ? random_dtype(m->r) : KN_NO_DTYPE;
    r.ddof = chance(m->r, 40) ? 1 + below(m->r, 2) : 0;
    r.keepdims = chance(m->r, 50);
    return kn_build_reduction(m->g, op, x, &r, nowhere);
}

/* A shape of as many elements: axes joined, split, exchanged, of size 1 added or dropped. */
static kn_node *random_reshape(maker *m)
{
    kn_node *x = pick(m);
    kn_symbols *s = m->g->syms;
    kn_dim to[TOP_RANK + 2];
    int n = 0, at = x->rank ? below(m->r, x->rank) : 0;
    switch (below(m->r, 6)) {
    case 0: to[n++] = NULL; break;
    case 1: /* axes at and at + 1 become one */
        for (int i = 0; i < x->rank; i++)
            if (i == at && i + 1 < x->rank) {
                to[n++] = kn_dim_mul(s, x->shape[i], x->shape[i + 1]);
                i++;
            } else {
                to[n++] = x->shape[i];
            }
        break;
    case 2: { /* axis at becomes two */
        if (x->rank == 0 || x->rank > TOP_RANK - 1)
            return NULL;
        int64_t size = size_of(m, x->shape[at]), part = 2 + below(m->r, 7);
        if (count_of(m, x->shape, x->rank) <= 0 || size % part != 0)
            return NULL;
        bool first = chance(m->r, 50);
        for (int i = 0; i < x->rank; i++) {
            if (i != at) {
                to[n++] = x->shape[i];
                continue;
            }
            to[n++] = first ? NULL : kn_dim_const(s, part);
            to[n++] = first ? kn_dim_const(s, part) : NULL;
        }
        break;
    }
    case 3: /* axes exchanged: not a transposition */
        for (int i = 0; i < x->rank; i++)
            to[n++] = x->shape[x->rank - 1 - i];
        break;
    case 4: /* without axes of size 1 */
        for (int i = 0; i < x->rank; i++)
            if (!kn_dim_is_one(s, x->shape[i]))
                to[n++] = x->shape[i];
        break;
    default: /* a hole in front of one axis */
        if (x->rank == 0 || size_of(m, x->shape[at]) <= 0)
            return NULL;
        to[n++] = NULL;
        to[n++] = x->shape[at];
    }
    for (int i = 0; i < n; i++)
        if (!to[i])
            for (int j = 0; j < n; j++)
                if (to[j] && size_of(m, to[j]) <= 0)
                    return NULL; /* -1 beside a 0 has no meaning */
    return kn_build_reshape(m->g, x, to, n, nowhere);
}

static kn_node *random_transpose(maker *m)
{
    kn_node *x = pick(m);
    int perm[TOP_RANK + 2];
    if (chance(m->r, 30))
        return kn_build_transpose(m->g, x, NULL, 0, nowhere);
    for (int i = 0; i < x->rank; i++) {
        int k = below(m->r, i + 1);
        perm[i] = perm[k];
        perm[k] = i;
    }
    for (int i = 0; i < x->rank; i++)
        perm[i] -= chance(m->r, 20) ? x->rank : 0;
    return kn_build_transpose(m->g, x, perm, x->rank, nowhere);
}

static kn_node *random_broadcast(maker *m)
{
    kn_node *x = pick(m);
    kn_dim to[TOP_RANK + 2];
    int more = below(m->r, 3), n = 0;
    if (x->rank + more > TOP_RANK)
        return NULL;
    while (n < more)
        to[n++] = known_dim(m);
    for (int i = 0; i < x->rank; i++, n++)
        to[n] = kn_dim_is_one(m->g->syms, x->shape[i]) ? known_dim(m) : x->shape[i];
    if (count_of(m, to, n) < 0)
        return NULL;
    return kn_build_broadcast_to(m->g, x, to, n, nowhere);
}

static kn_node *random_operation(maker *m)
{
    int kind = below(m->r, 100);
    if (kind < 50)
        return random_elem(m);
    if (kind < 56)
        return random_cast(m);
    if (kind < 78)
        return random_reduce(m);
    if (kind < 84)
        return random_transpose(m);
    if (kind < 90)
        return random_reshape(m);
    if (kind < 95)
        return random_broadcast(m);
    kn_node *x = pick(m);
    int axis = below(m->r, x->rank + 1);
    return kn_build_expand_dims(m->g, x, &axis, 1, nowhere);
}

/* ---- the whole ---- */

/* Is some node's operand the value, perhaps under views? */
static bool is_used(const maker *m, const kn_node *n)
{
    for (int i = 0; i < m->g->nodes.len; i++)
        for (int k = 0; k < m->g->nodes.data[i]->nin; k++)
            if (m->g->nodes.data[i]->in[k] == n)
                return true;
    return false;
}

/* Most of what nobody uses, so that most of the program matters, and now and then any value. */
static void make_outputs(maker *m)
{
    int most = 1 + below(m->r, 8), made = 0;
    for (int i = m->count - 1; i >= 0 && made < most; i--) {
        kn_node *n = i == m->count - 1 || !is_used(m, m->pool[i]) ? m->pool[i] : NULL;
        if (n && n->op == KN_OP_INPUT && !chance(m->r, 10))
            n = NULL;
        if (!n && chance(m->r, 5))
            n = pick(m);
        if (!n)
            continue;
        char name[16];
        snprintf(name, sizeof name, "y%d", made++);
        kn_build_output(m->g, name, n, nowhere);
    }
    if (!made) /* nothing is there but inputs */
        kn_build_output(m->g, "y0", m->pool[m->count - 1], nowhere);
}

void generate_graph(program *p, rng *r, int64_t elements, const vocabulary *words)
{
    maker m = {
        .p = p, .r = r, .words = words, .limit = elements, .uniform = !words && p->seed % 8 == 5};
    p->graph = m.g = kn_graph_new(p->arena, "random");
    for (int i = 0; i < MAX_SYMBOLS; i++)
        p->sizes[i] = KN_UNBOUND;
    make_dims(&m);
    for (int i = 1 + below(r, 4); i > 0; i--)
        make_input(&m);
    for (int i = chance(r, 30) ? 1 + below(r, 2) : 0; i > 0; i--)
        make_scalar(&m);
    int steps = 3 + below(r, chance(r, 50) ? 8 : 28);
    for (int made = 0, tries = 0; made < steps && tries < 1000; tries++) {
        kn_node *n = random_operation(&m);
        if (!n || n->rank > TOP_RANK || count_of(&m, n->shape, n->rank) < 0 ||
            kn_symbols_count(m.g->syms) > MAX_SYMBOLS - 64)
            continue;
        if (chance(r, 20)) {
            char name[16];
            snprintf(name, sizeof name, "v%d", made);
            kn_build_name(m.g, n, name);
        }
        keep(&m, n);
        made++;
    }
    make_outputs(&m);
    kn_symbols_derive(m.g->syms, m.g->arena, p->sizes);
}
