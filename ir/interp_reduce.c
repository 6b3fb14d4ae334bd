/* Reductions in the reference interpreter: in order, in extended precision. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "ir/complex.h"
#include "ir/eval.h"
#include "ir/interp_impl.h"

/* One group of a reduction. */
typedef struct accumulation {
    long double sum, magnitude, error, rough, product, product_hi;
    long double largest, smallest; /* that a product of some of the members can be */
    double extreme, extreme_err;
    bool nan, any, all, unsure;
    int64_t n, iextreme;
    uint64_t isum, iprod;
    long double _Complex turned; /* product of complex numbers */
    kn_scalar outermost;         /* their extreme */
} accumulation;

/* Products and extremes; sums are those of the parts. */
static void accumulate_complex(accumulation *acc, kn_op op, kn_dtype t, const kn_cell *c)
{
    const kn_scalar z = kn_cell_value(t, c);
    const long double size = hypotl(z.f, z.im), e = c->err;
    acc->turned *= CMPLXL(z.f, z.im);
    acc->product *= size;
    acc->product_hi *= size + e;
    acc->largest *= fmaxl(size + e, 1);
    acc->smallest *= size == 0 ? 1 : fminl(size, 1);
    if (acc->n++ == 0)
        acc->outermost = z;
    else
        acc->outermost = kn_eval(kn_ops[op].combine, t, (kn_scalar[]){acc->outermost, z});
    /* Another may take its place; which of several NaN it is hangs on the order. */
    const bool nan = isnan(z.f) || isnan(z.im);
    acc->extreme_err = c->err > 0 || (acc->nan && nan) ? INFINITY : acc->extreme_err;
    acc->nan |= nan;
}

static kn_cell finish_complex(const kn_node *n, const accumulation *acc)
{
    const kn_dtype t = n->dtype;
    const long double u = kn_unit_roundoff(t), size = acc->product;
    if (n->op != KN_OP_PROD)
        return (kn_cell){.f = acc->outermost.f, .im = acc->outermost.im, .err = acc->extreme_err};
    double err = (double)(acc->product_hi - size + 4 * (long double)acc->n * u * acc->product_hi);
    if (!(acc->largest < (long double)kn_largest(t) / 2) ||
        acc->smallest < (t == KN_C64 ? (long double)FLT_MIN : (long double)DBL_MIN))
        err = INFINITY;
    const kn_scalar v = {.dtype = t,
                         .f = kn_round(t, (double)creall(acc->turned)),
                         .im = kn_round(t, (double)cimagl(acc->turned))};
    return (kn_cell){
        .f = v.f, .im = v.im, .err = kn_interp_rounding(isnan(err) ? INFINITY : err, 1, &v)};
}

static void accumulate(accumulation *acc, kn_op op, kn_dtype t, const kn_cell *c, double shift)
{
    if (t == KN_BOOL) {
        acc->any |= c->i != 0;
        acc->all &= c->i != 0;
        acc->unsure |= c->err > 0;
        return;
    }
    if (kn_is_complex(t)) {
        accumulate_complex(acc, op, t, c);
        return;
    }
    if (!kn_is_float(t)) {
        kn_scalar x = kn_cell_value(t, c), best = {.dtype = t, .i = acc->iextreme};
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
    acc->rough += c->rough * fabsl(x);
    if (op == KN_OP_PROD) {
        acc->product *= x;
        acc->product_hi *= fabsl(x) + e;
        acc->largest *= fmaxl(fabsl(x) + e, 1);
        acc->smallest *= x == 0 ? 1 : fminl(fabsl(x), 1);
    }
    acc->nan |= isnan(c->f);
    if (acc->n == 0 || (op == KN_OP_MIN ? c->f < acc->extreme : c->f > acc->extreme))
        acc->extreme = c->f;
    if (c->err > acc->extreme_err)
        acc->extreme_err = c->err;
    acc->n++;
}

/* Is it a sum of exp(x - max(x)), whose exponentials devices may approximate? */
static bool sums_below_max(const kn_node *n)
{
    const kn_node *e = kn_view_root(n->in[0]), *d = e->op == KN_OP_EXP ? kn_view_root(e->in[0]) : e;
    if (n->op != KN_OP_SUM || n->dtype != KN_F32 || d->op != KN_OP_SUB)
        return false;
    const kn_node *m = kn_view_root(d->in[1]);
    m = m->op == KN_OP_WHERE ? kn_view_root(m->in[1]) : m;
    return m->op == KN_OP_MAX && kn_view_root(m->in[0]) == kn_view_root(d->in[0]);
}

static kn_cell finish_float(const kn_node *n, const accumulation *acc, double shift_err)
{
    kn_dtype t = n->dtype;
    kn_dtype in = kn_compute_dtype(t); /* that devices accumulate in, at least */
    long double r = acc->sum, err, u = kn_unit_roundoff(in);
    /* Rounding is relative to the sum of magnitudes and grows with the depth of the tree of partial sums, and
     * with the serial part, where adding the same number over and over errs to the same side each time. */
    long double serial = acc->n < 4096 ? (long double)acc->n / 8 : 512;
    long double depth = 4 + 2 * log2l(1 + (long double)acc->n) + serial;
    err = acc->error + depth * u * acc->magnitude + (sums_below_max(n) ? acc->rough : 0);
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
    kn_cell c = {.f = v.f,
                 .err = kn_interp_rounding(isnan((double)err) ? INFINITY : (double)err, ulp, &v)};
    bool sum = n->op == KN_OP_SUM || n->op == KN_OP_MEAN;
    if (t == KN_F32 && sum && kn_view_root(n->in[0])->op == KN_OP_EXP && acc->rough > 0)
        c.rough = (double)(acc->rough / fabsl(acc->sum));
    return c;
}

/* Visits the members of the group whose first element is at `base`. */
static void reduce_group(const kn_node *n, const kn_tensor *x, int64_t base, kn_cell *out)
{
    int64_t shape[KN_MAX_RANK], stride[KN_MAX_RANK], count = 1;
    int rank = 0;
    for (int j = 0; j < n->rank; j++)
        if (n->u.reduce.axes >> j & 1) {
            shape[rank] = x->shape[j];
            stride[rank++] = x->stride[j];
            count *= x->shape[j];
        }
    const accumulation start = {.product = 1,
                                .product_hi = 1,
                                .largest = 1,
                                .smallest = 1,
                                .all = true,
                                .iprod = 1,
                                .turned = 1};
    accumulation acc = start;
    double mean = 0, mean_err = 0;
    kn_dtype t = n->dtype;
    for (int pass = n->op == KN_OP_VAR ? 0 : 1; pass < 2; pass++) {
        kn_op op = pass == 0 ? KN_OP_MEAN : n->op;
        int64_t index[KN_MAX_RANK] = {0}, offset = base;
        acc = start;
        for (int64_t i = 0; i < count; i++) {
            const kn_cell *c = &x->cells[offset];
            accumulate(&acc, op, t, c, mean);
            kn_interp_step(index, shape, rank, stride, &offset);
        }
        if (pass == 0) {
            kn_node as_mean = *n;
            as_mean.op = KN_OP_MEAN;
            kn_cell m = finish_float(&as_mean, &acc, 0);
            mean = (double)(acc.sum / (long double)acc.n);
            mean_err = m.err + fabs(m.f - mean);
        }
    }
    if (count == 0 && kn_ops[n->op].empty == KN_EMPTY_ERROR) {
        kn_scalar v = kn_identity(n->op, t);
        *out = (kn_cell){.i = v.i, .im = v.im};
    } else if (t == KN_BOOL) {
        out->i = n->op == KN_OP_ALL ? acc.all : acc.any;
        out->err = acc.unsure ? 1 : 0;
    } else if (kn_is_complex(t)) {
        *out = finish_complex(n, &acc);
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

/* combine(a, b) in cells, with bounds. A device combines other ranges than one element after the other, and is off from
 * the exact result by about as much as this is: twice the bound holds for the two. */
static void combine_cells(const kn_reducer *r, kn_cell *a, const kn_cell *b, bool fast)
{
    kn_cell value[2 * KN_MAX_CARRIED + KN_MAX_COMBINE];
    int first = 2 * r->count;
    memcpy(value, a, sizeof *a * (size_t)r->count);
    memcpy(value + r->count, b, sizeof *b * (size_t)r->count);
    for (int i = 0; i < r->nsteps; i++) {
        const kn_combine_step *s = &r->steps[i];
        const kn_node as = {.op = s->op, .dtype = s->dtype, .nin = s->nin};
        const kn_cell *c[KN_MAX_IN] = {0};
        kn_scalar in[KN_MAX_IN] = {0}, made = s->value;
        for (int k = 0; k < s->nin; k++) {
            c[k] = &value[s->in[k]];
            in[k] = kn_cell_value(kn_reducer_type(r, s->in[k]), c[k]);
        }
        if (s->op != KN_OP_CONST)
            made = kn_eval(s->op, s->dtype, in);
        value[first + i] =
            (kn_cell){.i = made.i,
                      .im = made.im,
                      .err = s->op == KN_OP_CONST ? 0 : kn_interp_bound(&as, &made, in, c, fast)};
    }
    for (int c = 0; c < r->count; c++)
        a[c] = value[r->result[c]];
}

/* The same for a reduction of the user's own. */
static void reduce_group_by(const kn_node *n, const kn_tensor *const *x, int64_t base, bool bounds,
                            bool fast, kn_cell *out)
{
    const kn_reducer *r = n->by;
    int64_t shape[KN_MAX_RANK], stride[KN_MAX_RANK], index[KN_MAX_RANK] = {0}, count = 1;
    int rank = 0;
    for (int j = 0; j < n->rank; j++)
        if (n->u.reduce.axes >> j & 1) {
            shape[rank] = x[0]->shape[j];
            stride[rank++] = x[0]->stride[j];
            count *= x[0]->shape[j];
        }
    kn_cell so_far[KN_MAX_CARRIED], next[KN_MAX_CARRIED];
    for (int c = 0; c < r->count; c++)
        so_far[c] = (kn_cell){.i = r->identity[c].i, .im = r->identity[c].im};
    for (int64_t i = 0; i < count; i++) {
        kn_scalar a[KN_MAX_CARRIED], b[KN_MAX_CARRIED];
        for (int c = 0; c < r->count; c++) {
            next[c] = x[c]->cells[base];
            a[c] = kn_cell_value(r->dtype[c], &so_far[c]);
            b[c] = kn_cell_value(r->dtype[c], &next[c]);
        }
        if (bounds)
            combine_cells(r, so_far, next, fast);
        else
            kn_reducer_combine(r, a, b, a);
        for (int c = 0; c < r->count && !bounds; c++)
            so_far[c] = (kn_cell){.i = a[c].i, .im = a[c].im};
        kn_interp_step(index, shape, rank, stride, &base);
    }
    *out = so_far[n->u.reduce.carried];
    out->err *= 2;
}

kn_status kn_interp_reduce(const kn_node *n, const kn_tensor *const *x, bool bounds, bool fast,
                           kn_tensor *out)
{
    if (x[0]->count == 0 && out->count > 0 && kn_needs_members(n))
        return kn_node_fail(KN_SHAPE, n, "nothing to reduce, and %s has no identity",
                            kn_ops[n->op].text);
    int64_t stride[KN_MAX_RANK], index[KN_MAX_RANK] = {0}, base = 0;
    for (int j = 0; j < n->rank; j++)
        stride[j] = n->u.reduce.axes >> j & 1 ? 0 : x[0]->stride[j];
    for (int64_t i = 0; i < out->count; i++) {
        if (n->op == KN_OP_REDUCE_BY)
            reduce_group_by(n, x, base, bounds, fast, &out->cells[i]);
        else
            reduce_group(n, x[0], base, &out->cells[i]);
        kn_interp_step(index, out->shape, n->rank, stride, &base);
    }
    return KN_OK;
}
