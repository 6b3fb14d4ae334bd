#include "ir/interp.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "ir/eval.h"

/* One element: its value and how far a device's may be from it. */
typedef struct cell {
    union {
        int64_t i;
        double f;
    };
    double err;
} cell;

typedef struct tensor {
    int64_t shape[KN_MAX_RANK], stride[KN_MAX_RANK];
    int64_t count;
    cell *cells; /* compact */
} tensor;

typedef struct interp {
    const kn_graph *g;
    kn_arena *a;
    const int64_t *sizes;
    const kn_array *in;
    bool bounds;
    tensor *of; /* per node */
} interp;

void kn_compact_strides(const int64_t *shape, int rank, int64_t *stride)
{
    int64_t step = 1;
    for (int i = rank - 1; i >= 0; i--) {
        stride[i] = step;
        step *= shape[i] > 0 ? shape[i] : 1;
    }
}

int64_t kn_count(const int64_t *shape, int rank)
{
    int64_t n = 1;
    bool zero = false;
    for (int i = 0; i < rank; i++) {
        if (shape[i] == 0)
            zero = true;
        else if (__builtin_mul_overflow(n, shape[i], &n))
            return -1;
    }
    return zero ? 0 : n;
}

kn_status kn_node_sizes(const kn_node *n, const int64_t *sizes, int64_t *shape)
{
    for (int i = 0; i < n->rank; i++)
        if (!kn_dim_eval(n->shape[i], sizes, &shape[i]) || shape[i] < 0)
            return kn_fail(KN_SHAPE, "%s: dimension %d is unknown, negative or out of range",
                           n->name ? n->name : kn_ops[n->op].text, i);
    if (kn_count(shape, n->rank) < 0)
        return kn_fail(KN_SHAPE, "%s: the number of elements does not fit in 63 bits",
                       n->name ? n->name : kn_ops[n->op].text);
    return KN_OK;
}

/* The next index in row-major order; offset follows with the given strides. */
static void step(int64_t *index, const int64_t *shape, int rank, const int64_t *stride,
                 int64_t *offset)
{
    for (int i = rank - 1; i >= 0; i--) {
        *offset += stride[i];
        if (++index[i] < shape[i])
            return;
        *offset -= stride[i] * shape[i];
        index[i] = 0;
    }
}

static kn_scalar scalar_of(kn_dtype t, const cell *c)
{
    kn_scalar v = {.dtype = t};
    if (kn_is_float(t))
        v.f = c->f;
    else
        v.i = c->i;
    return v;
}

/* |a - b|, infinite when one of them is not finite and they differ. */
static double distance(kn_scalar a, kn_scalar b)
{
    double x = kn_scalar_number(a), y = kn_scalar_number(b);
    if (x == y || (isnan(x) && isnan(y)))
        return 0;
    double d = fabs(x - y);
    return isnan(d) ? INFINITY : d;
}

/* `err` plus the operation's own rounding; infinite where the result may overflow. */
static double with_rounding(double err, double ulp, kn_scalar r)
{
    double x = fabs(kn_scalar_number(r)), u = kn_unit_roundoff(r.dtype);
    if (u == 0 || isnan(x))
        return err;
    if (isinf(x))
        return err > 0 ? INFINITY : 0;
    err += 2 * ulp * (u * x + fmax(kn_least(r.dtype) / 2, 0x1p-1074));
    return x + err > kn_largest(r.dtype) ? INFINITY : err;
}

static kn_scalar moved(kn_scalar v, double by)
{
    if (kn_is_float(v.dtype))
        v.f += by;
    else if (v.dtype == KN_BOOL)
        v.i = by > 0;
    else
        v.i = (int64_t)((uint64_t)v.i + (uint64_t)(int64_t)(by < 0 ? floor(by) : ceil(by)));
    return v;
}

/* Does the interval around operand k hold 0? */
static bool may_be_zero(const kn_scalar *in, const cell *const *c, int k)
{
    return c[k]->err > 0 && fabs(kn_scalar_number(in[k])) <= c[k]->err;
}

/* Where the result may jump or be infinite somewhere inside an operand's interval, so that its ends say
 * nothing. */
static bool may_jump(const kn_node *n, const kn_scalar *in, const cell *const *c)
{
    switch (n->op) {
    case KN_OP_DIV:
    case KN_OP_FLOORDIV:
    case KN_OP_MOD: return may_be_zero(in, c, 1);
    case KN_OP_FMOD:
    case KN_OP_COPYSIGN: return may_be_zero(in, c, 1);
    case KN_OP_RSQRT:
    case KN_OP_LOG2:
    case KN_OP_LOG10:
    case KN_OP_LOG: return may_be_zero(in, c, 0);
    case KN_OP_LOG1P: return fabs(1 + in[0].f) <= c[0]->err;
    case KN_OP_GAMMA:
    case KN_OP_LGAMMA: /* poles at whole numbers, up to 0 */
        return in[0].f - c[0]->err <= 0 && floor(in[0].f - c[0]->err) != floor(in[0].f + c[0]->err);
    case KN_OP_TAN: /* the sign of the cosine changes at a pole */
        return c[0]->err > 1 || cos(in[0].f - c[0]->err) * cos(in[0].f + c[0]->err) <= 0;
    case KN_OP_ARCTAN2: return may_be_zero(in, c, 0) && in[1].f - c[1]->err <= 0;
    case KN_OP_MANTISSA: return c[0]->err > fabs(in[0].f) / 4;
    case KN_OP_BITAND: /* which bits change says nothing about how much */
    case KN_OP_BITOR:
    case KN_OP_BITXOR:
    case KN_OP_GCD:
    case KN_OP_LCM: return true;
    case KN_OP_POW: return may_be_zero(in, c, 0) && kn_scalar_number(in[1]) - c[1]->err <= 0;
    case KN_OP_SIN:
    case KN_OP_COS: return c[0]->err > 1;
    default: return false;
    }
}

/* x % y moves with x, and against y by the quotient; farther means that it went back to 0. */
static bool wraps(const kn_scalar *in, const cell *const *c, double err)
{
    double y = fabs(kn_scalar_number(in[1])), quotient = fabs(kn_scalar_number(in[0])) / y;
    double moves = c[0]->err + (quotient + 1) * c[1]->err;
    return err > 2 * moves || moves > y / 2;
}

/* Does a narrow integer leave its type, so that the result wraps somewhere in the operands' intervals? */
static bool may_wrap(const kn_node *n, const kn_scalar *in)
{
    kn_scalar wide[KN_MAX_IN];
    if (!kn_is_int(n->dtype) || kn_bytes(n->dtype) == 8)
        return false;
    for (int k = 0; k < n->nin; k++) {
        wide[k] = in[k];
        if (kn_is_int(in[k].dtype))
            wide[k].dtype = KN_I64;
    }
    int64_t r = kn_eval(n->op, KN_I64, wide).i;
    return r < kn_int_min(n->dtype) || r > kn_int_max(n->dtype);
}

/* The farthest that the result gets when every operand in `mask` moves to an end of its interval. */
static double farthest(const kn_node *n, kn_scalar r, const kn_scalar *in, const cell *const *c,
                       unsigned mask)
{
    double worst = 0;
    for (unsigned ends = 0; ends < 1u << n->nin; ends++) {
        if (ends & ~mask)
            continue;
        kn_scalar varied[KN_MAX_IN];
        memcpy(varied, in, sizeof varied);
        for (int k = 0; k < n->nin; k++)
            if (mask >> k & 1)
                varied[k] = moved(in[k], ends >> k & 1 ? c[k]->err : -c[k]->err);
        if (may_wrap(n, varied))
            return INFINITY;
        double d = distance(r, kn_eval(n->op, n->dtype, varied));
        worst = d > worst ? d : worst;
    }
    return worst;
}

/* The sign of a NaN is whatever made it. */
static bool asks_sign_of_nan(const kn_node *n, const kn_scalar *in)
{
    return (n->op == KN_OP_SIGNBIT && kn_is_float(in[0].dtype) && isnan(in[0].f)) ||
           (n->op == KN_OP_COPYSIGN && isnan(in[1].f));
}

static double elem_error(const kn_node *n, kn_scalar r, const kn_scalar *in, const cell *const *c)
{
    double err = 0, reach = 0;
    unsigned inexact = 0;
    if (asks_sign_of_nan(n, in))
        return INFINITY;
    for (int k = 0; k < n->nin; k++) {
        if (c[k]->err == 0)
            continue;
        if (isinf(c[k]->err) || c[k]->err > 0x1p62)
            return INFINITY;
        inexact |= 1u << k;
        err += farthest(n, r, in, c, 1u << k);
        reach += c[k]->err;
    }
    if (!inexact)
        return with_rounding(0, kn_op_ulp(n->op, n->dtype), r);
    if (inexact & (inexact - 1)) { /* together they may do more: (0 +- e) * (0 +- e) */
        double together = farthest(n, r, in, c, inexact);
        err = together > err ? together : err;
    }
    bool close = kn_ops[n->op].rule == KN_RULE_COMPARE && kn_is_float(in[0].dtype) &&
                 fabs(in[0].f - in[1].f) <= reach;
    if (close || (n->op == KN_OP_CAST && n->dtype == KN_BOOL && may_be_zero(in, c, 0)))
        return 1;
    if (may_jump(n, in, c) || ((n->op == KN_OP_MOD || n->op == KN_OP_FMOD) && wraps(in, c, err)))
        return INFINITY;
    return with_rounding(err, kn_op_ulp(n->op, n->dtype), r);
}

static void run_elem(interp *ip, const kn_node *n, tensor *out)
{
    int64_t index[KN_MAX_RANK] = {0}, offset[KN_MAX_IN] = {0}, stride[KN_MAX_IN][KN_MAX_RANK];
    const tensor *x[KN_MAX_IN] = {0};
    for (int k = 0; k < n->nin; k++) {
        x[k] = &ip->of[n->in[k]->id];
        for (int j = 0; j < n->rank; j++)
            stride[k][j] = x[k]->shape[j] == 1 ? 0 : x[k]->stride[j];
    }
    for (int64_t i = 0; i < out->count; i++) {
        kn_scalar in[KN_MAX_IN] = {0};
        const cell *c[KN_MAX_IN] = {0};
        for (int k = 0; k < n->nin; k++) {
            c[k] = &x[k]->cells[offset[k]];
            in[k] = scalar_of(n->in[k]->dtype, c[k]);
        }
        kn_scalar r = kn_eval(n->op, n->dtype, in);
        out->cells[i].i = r.i;
        if (ip->bounds)
            out->cells[i].err = elem_error(n, r, in, c);
        for (int j = n->rank - 1; j >= 0; j--) {
            bool carry = ++index[j] == out->shape[j];
            for (int k = 0; k < n->nin; k++)
                offset[k] += carry ? -stride[k][j] * (out->shape[j] - 1) : stride[k][j];
            if (!carry)
                break;
            index[j] = 0;
        }
    }
}

/* One group of a reduction. */
typedef struct accumulation {
    long double sum, magnitude, error, product, product_hi;
    long double largest, smallest; /* that a product of some of the members can be */
    double extreme, extreme_err;
    bool nan, any, all, unsure;
    int64_t n, iextreme;
    uint64_t isum, iprod;
} accumulation;

static void accumulate(accumulation *acc, kn_op op, kn_dtype t, const cell *c, double shift)
{
    if (t == KN_BOOL) {
        acc->any |= c->i != 0;
        acc->all &= c->i != 0;
        acc->unsure |= c->err > 0;
        return;
    }
    if (!kn_is_float(t)) {
        kn_scalar x = scalar_of(t, c), best = {.dtype = t, .i = acc->iextreme};
        acc->isum += (uint64_t)c->i;
        acc->iprod *= (uint64_t)c->i;
        if (acc->n == 0 ||
            kn_eval(op == KN_OP_MIN ? KN_OP_LT : KN_OP_GT, KN_BOOL, (kn_scalar[]){x, best}).i)
            acc->iextreme = c->i;
        acc->error += c->err;
        acc->n++;
        return;
    }
    long double x = c->f, e = c->err;
    if (op == KN_OP_VAR) { /* of centred squares; `shift` is the mean */
        long double d = x - shift;
        e = 2 * fabsl(d) * e + e * e + 2 * kn_unit_roundoff(kn_compute_dtype(t)) * d * d;
        x = d * d;
    }
    acc->sum += x;
    acc->magnitude += fabsl(x);
    acc->error += e;
    acc->product *= x;
    acc->product_hi *= fabsl(x) + e;
    acc->largest *= fmaxl(fabsl(x) + e, 1);
    acc->smallest *= x == 0 ? 1 : fminl(fabsl(x), 1);
    acc->nan |= isnan(c->f);
    if (acc->n == 0 || (op == KN_OP_MIN ? c->f < acc->extreme : c->f > acc->extreme))
        acc->extreme = c->f;
    if (c->err > acc->extreme_err)
        acc->extreme_err = c->err;
    acc->n++;
}

static cell finish_float(const kn_node *n, const accumulation *acc, double shift_err)
{
    kn_dtype t = n->dtype;
    kn_dtype in = kn_compute_dtype(t); /* that devices accumulate in, at least */
    long double r = acc->sum, err, u = kn_unit_roundoff(in);
    /* Rounding is relative to the sum of magnitudes and grows with the depth of the tree of partial sums, and
     * with the serial part, where adding the same number over and over errs to the same side each time. */
    long double serial = acc->n < 4096 ? (long double)acc->n / 8 : 512;
    long double depth = 4 + 2 * log2l(1 + (long double)acc->n) + serial;
    err = acc->error + depth * u * acc->magnitude;
    if (acc->magnitude > kn_largest(in)) /* a partial sum may overflow */
        err = INFINITY;
    switch (n->op) {
    case KN_OP_MEAN:
        r /= (long double)acc->n;
        err /= (long double)acc->n;
        break;
    case KN_OP_VAR: {
        int64_t dof = acc->n - n->u.reduce.ddof;
        long double d = dof > 0 ? (long double)dof : 0;
        r /= d;
        err = err / d + 2 * sqrtl(fabsl(r)) * shift_err + (long double)shift_err * shift_err;
        break;
    }
    case KN_OP_PROD:
        r = acc->product;
        err = acc->product_hi - fabsl(acc->product) + 2 * (long double)acc->n * u * acc->product_hi;
        if (acc->largest > kn_largest(in) || acc->smallest < (in == KN_F32 ? FLT_MIN : DBL_MIN))
            err = INFINITY;
        break;
    case KN_OP_MIN:
    case KN_OP_MAX:
        r = acc->nan ? NAN : acc->extreme;
        err = acc->extreme_err;
        break;
    default: break;
    }
    double ulp = n->op == KN_OP_MIN || n->op == KN_OP_MAX ? 0 : 1;
    kn_scalar v = {.dtype = t, .f = kn_round(t, (double)r)};
    cell c = {.f = v.f, .err = with_rounding(isnan((double)err) ? INFINITY : (double)err, ulp, v)};
    return c;
}

/* Visits the members of the group whose first element is at `base`. */
static void reduce_group(const kn_node *n, const tensor *x, int64_t base, cell *out)
{
    int64_t shape[KN_MAX_RANK], stride[KN_MAX_RANK], count = 1;
    int rank = 0;
    for (int j = 0; j < n->rank; j++)
        if (n->u.reduce.axes >> j & 1) {
            shape[rank] = x->shape[j];
            stride[rank++] = x->stride[j];
            count *= x->shape[j];
        }
    const accumulation start = {
        .product = 1, .product_hi = 1, .largest = 1, .smallest = 1, .all = true, .iprod = 1};
    accumulation acc = start;
    double mean = 0, mean_err = 0;
    kn_dtype t = n->dtype;
    for (int pass = n->op == KN_OP_VAR ? 0 : 1; pass < 2; pass++) {
        kn_op op = pass == 0 ? KN_OP_MEAN : n->op;
        int64_t index[KN_MAX_RANK] = {0}, offset = base;
        acc = start;
        for (int64_t i = 0; i < count; i++) {
            const cell *c = &x->cells[offset];
            accumulate(&acc, op, t, c, mean);
            step(index, shape, rank, stride, &offset);
        }
        if (pass == 0) {
            kn_node as_mean = *n;
            as_mean.op = KN_OP_MEAN;
            cell m = finish_float(&as_mean, &acc, 0);
            mean = (double)(acc.sum / (long double)acc.n);
            mean_err = m.err + fabs(m.f - mean);
        }
    }
    if (count == 0 && kn_ops[n->op].empty == KN_EMPTY_ERROR) {
        kn_scalar v = kn_identity(n->op, t);
        *out = (cell){.i = v.i};
    } else if (t == KN_BOOL) {
        out->i = n->op == KN_OP_ALL ? acc.all : acc.any;
        out->err = acc.unsure ? 1 : 0;
    } else if (kn_is_float(t)) {
        *out = finish_float(n, &acc, mean_err);
    } else {
        kn_scalar v = {.dtype = t, .i = (int64_t)(n->op == KN_OP_PROD ? acc.iprod : acc.isum)};
        if (n->op == KN_OP_MIN || n->op == KN_OP_MAX)
            v.i = acc.iextreme;
        out->i = kn_eval_cast(v, t).i;
        out->err = acc.error > 0 ? (n->op == KN_OP_PROD ? INFINITY : (double)acc.error) : 0;
    }
}

static kn_status run_reduce(interp *ip, const kn_node *n, tensor *out)
{
    const tensor *x = &ip->of[n->in[0]->id];
    if (x->count == 0 && out->count > 0 && kn_needs_members(n))
        return kn_fail(KN_SHAPE, "%s: nothing to reduce, and a minimum or maximum has no identity",
                       n->name ? n->name : kn_ops[n->op].text);
    int64_t stride[KN_MAX_RANK], index[KN_MAX_RANK] = {0}, base = 0;
    for (int j = 0; j < n->rank; j++)
        stride[j] = n->u.reduce.axes >> j & 1 ? 0 : x->stride[j];
    for (int64_t i = 0; i < out->count; i++) {
        reduce_group(n, x, base, &out->cells[i]);
        step(index, out->shape, n->rank, stride, &base);
    }
    return KN_OK;
}

static void run_view(interp *ip, const kn_node *n, tensor *out)
{
    const tensor *x = &ip->of[n->in[0]->id];
    if (n->op == KN_OP_RESHAPE) {
        out->cells = x->cells;
        return;
    }
    int64_t stride[KN_MAX_RANK] = {0}, index[KN_MAX_RANK] = {0}, offset = 0;
    for (int j = 0; n->op == KN_OP_INDEX && j < n->in[0]->rank; j++) {
        const kn_indexing *at = n->u.index;
        int64_t start;
        kn_dim_eval(at->start[j], ip->sizes, &start); /* checked when the call was bound */
        offset += start * x->stride[j];
        if (at->axis[j] >= 0)
            stride[at->axis[j]] += at->step[j] * x->stride[j];
    }
    for (int j = 0; n->op != KN_OP_INDEX && j < n->rank; j++) {
        int from = n->op == KN_OP_PERMUTE ? n->u.perm[j] : j;
        stride[j] = x->shape[from] == 1 ? 0 : x->stride[from];
    }
    for (int64_t i = 0; i < out->count; i++) {
        out->cells[i] = x->cells[offset];
        step(index, out->shape, n->rank, stride, &offset);
    }
}

/* Where element `index` of the result is in the first operand; -1 after a failure. */
static int64_t place_of(const interp *ip, const kn_node *n, const int64_t *index, bool *unsure)
{
    const tensor *x = &ip->of[n->in[0]->id];
    int64_t offset = 0;
    for (int j = 0; j < n->in[0]->rank; j++) {
        int axis = n->u.gather.axis[j], by = n->u.gather.by[j];
        int64_t at = axis < 0 ? 0 : index[axis], from = 0;
        if (by) {
            const tensor *place = &ip->of[n->in[by]->id];
            for (int i = 0; i < n->rank; i++)
                from += place->shape[i] == 1 ? 0 : index[i] * place->stride[i];
            at = place->cells[from].i;
            *unsure = *unsure || place->cells[from].err > 0;
        }
        if (at < 0 || at >= x->shape[j]) {
            kn_fail(n->u.gather.checked ? KN_RUN : KN_INTERNAL,
                    "%s: index %lld is out of bounds for axis %d with size %lld",
                    n->name ? n->name : kn_ops[n->op].text, (long long)at, j,
                    (long long)x->shape[j]);
            return -1;
        }
        offset += at * x->stride[j];
    }
    return offset;
}

static kn_status run_take(interp *ip, const kn_node *n, tensor *out)
{
    int64_t index[KN_MAX_RANK] = {0}, at = 0;
    const tensor *x = &ip->of[n->in[0]->id];
    for (int64_t i = 0; i < out->count; i++) {
        bool unsure = false;
        int64_t from = x->count ? place_of(ip, n, index, &unsure) : 0;
        if (from < 0)
            return kn_last_status();
        out->cells[i] = x->count ? x->cells[from] : (cell){0}; /* of nothing: not used */
        if (unsure)
            out->cells[i].err = INFINITY;
        step(index, out->shape, n->rank, out->stride, &at);
    }
    return KN_OK;
}

static void load_input(const kn_array *in, tensor *out)
{
    int64_t index[KN_MAX_RANK] = {0}, offset = 0;
    for (int64_t i = 0; i < out->count; i++) {
        kn_scalar v =
            kn_scalar_load(in->dtype, (const char *)in->data + offset * kn_bytes(in->dtype));
        out->cells[i].i = v.i;
        step(index, out->shape, in->rank, in->stride, &offset);
    }
}

static kn_status run_node(interp *ip, const kn_node *n)
{
    tensor *out = &ip->of[n->id];
    KN_TRY(kn_node_sizes(n, ip->sizes, out->shape));
    out->count = kn_count(out->shape, n->rank);
    kn_compact_strides(out->shape, n->rank, out->stride);
    if (out->count > INT64_MAX / (int64_t)sizeof(cell) / 4)
        return kn_fail(KN_MEMORY, "out of memory in the reference interpreter");
    if (n->op != KN_OP_RESHAPE)
        out->cells = KN_NEW_ARRAY(ip->a, cell, out->count ? out->count : 1);
    switch (n->op) {
    case KN_OP_INPUT:
    case KN_OP_SCALAR: load_input(&ip->in[n->u.input], out); return KN_OK;
    case KN_OP_CONST: out->cells[0].i = n->u.value.i; return KN_OK;
    case KN_OP_IOTA:
        for (int64_t i = 0; i < out->count; i++)
            out->cells[i].i = i;
        return KN_OK;
    case KN_OP_EXTENT:
        if (!kn_dim_eval(n->u.dim, ip->sizes, &out->cells[0].i))
            return kn_fail(KN_SHAPE, "a size is unknown");
        return KN_OK;
    default: break;
    }
    switch (kn_ops[n->op].cls) {
    case KN_ELEM: run_elem(ip, n, out); return KN_OK;
    case KN_REDUCE: return run_reduce(ip, n, out);
    case KN_GATHER: return run_take(ip, n, out);
    default: run_view(ip, n, out); return KN_OK;
    }
}

kn_status kn_interp(const kn_graph *g, kn_arena *a, const int64_t *sizes, const kn_array *in,
                    kn_array *out, double **errors)
{
    interp ip = {.g = g, .a = a, .sizes = sizes, .in = in, .bounds = errors != NULL};
    ip.of = KN_NEW_ARRAY(a, tensor, g->nodes.len + 1);
    for (int i = 0; i < g->nodes.len; i++)
        KN_TRY(run_node(&ip, g->nodes.data[i]));
    for (int o = 0; o < g->outputs.len; o++) {
        const kn_node *n = g->outputs.data[o].node;
        const tensor *x = &ip.of[n->id];
        int64_t index[KN_MAX_RANK] = {0}, offset = 0;
        if (errors)
            errors[o] = KN_NEW_ARRAY(a, double, x->count ? x->count : 1);
        for (int64_t i = 0; i < x->count; i++) {
            kn_scalar_store(scalar_of(n->dtype, &x->cells[i]),
                            (char *)out[o].data + offset * kn_bytes(n->dtype));
            if (errors)
                errors[o][i] = x->cells[i].err;
            step(index, x->shape, n->rank, out[o].stride, &offset);
        }
    }
    return KN_OK;
}
