/* What the devices of this machine give for every elementwise operation, formula and cast at every type.
 *
 * usage: test_sweep [DEVICE ...]
 * devices.h says what the environment does. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "tests/effort.h"
#include "tests/hostile.h"
#include "tests/sweep/devices.h"
#include "tests/sweep/sweep.h"

enum { VALUES = EFFORT(110000, 14000) };
enum { OPERANDS = 3, OUTPUTS = 40, MOST_REPORTS = 3 };

static const kn_dtype types[] = {KN_BOOL, KN_I8,  KN_I16, KN_I32,  KN_I64, KN_U8, KN_U16,
                                 KN_U32,  KN_U64, KN_F16, KN_BF16, KN_F32, KN_F64};
enum { TYPES = sizeof types / sizeof *types };

/* One result of a kernel: an operation, or a cast to a type. */
typedef struct column {
    kn_op op;
    kn_dtype to;      /* CAST */
    kn_dtype operand; /* that operands are converted to */
    kn_dtype result;
    void *got[MOST_DEVICES];
} column;

/* One kernel: operands of one type. */
typedef struct sheet {
    kn_dtype t;
    int64_t n;
    void *in[OPERANDS]; /* x, y, z */
    uint8_t *c;         /* a condition */
    column col[OUTPUTS];
    int ncols;
} sheet;

/* ---- running ---- */

static kiln_val make(kiln_graph *g, const column *col, const kiln_val *xyz, kiln_val c)
{
    kiln_val in[] = {xyz[0], xyz[1], xyz[2]};
    if (col->op == KN_OP_CAST)
        return kiln_cast(g, in[0], (kiln_dtype)col->to);
    if (col->op == KN_OP_WHERE) {
        in[0] = c, in[1] = xyz[0], in[2] = xyz[1];
    }
    if (col->op == KN_OP_LDEXP)
        in[1] = kiln_cast(g, in[1], KILN_I32);
    return kiln_apply(g, kn_ops[col->op].text, in,
                      col->op == KN_OP_ROUND ? 1 : kn_ops[col->op].arity);
}

/* Is the operation one of operands of this type? */
static bool is_accepted(const sheet *s, const column *col)
{
    static const char *const names[] = {"x", "y", "z"};
    kiln_graph *g;
    kiln_val xyz[OPERANDS];
    must(kiln_graph_create(devices[0].ctx, &g), "graph");
    for (int k = 0; k < OPERANDS; k++)
        xyz[k] = kiln_input(g, names[k], (kiln_dtype)s->t, "N");
    kiln_output(g, "out", make(g, col, xyz, kiln_input(g, "c", KILN_BOOL, "N")));
    bool ok = kiln_graph_status(g) == KILN_OK;
    kiln_graph_destroy(g);
    return ok;
}

static void run(sheet *s, int d)
{
    static const char *const names[] = {"x", "y", "z", "c"};
    kiln_ctx *ctx = devices[d].ctx;
    kiln_graph *g;
    kiln_prog *prog;
    kiln_val xyz[OPERANDS];
    kiln_arg args[OPERANDS + 1 + OUTPUTS];
    char name[OUTPUTS][16];
    must(kiln_graph_create(ctx, &g), "graph");
    for (int k = 0; k < OPERANDS; k++)
        xyz[k] = kiln_input(g, names[k], (kiln_dtype)s->t, "N");
    kiln_val c = kiln_input(g, "c", KILN_BOOL, "N");
    for (int i = 0; i < s->ncols; i++) {
        snprintf(name[i], sizeof name[i], "y%d", i);
        must(kiln_output(g, name[i], make(g, &s->col[i], xyz, c)), kn_ops[s->col[i].op].text);
    }
    must(kiln_compile(g, NULL, &prog), "compile");
    kiln_graph_destroy(g);

    int nargs = OPERANDS + 1 + s->ncols;
    assert_int_equal(kiln_prog_io_count(prog), nargs);
    for (int k = 0; k < nargs; k++) {
        const void *from = k < OPERANDS ? s->in[k] : k == OPERANDS ? s->c : NULL;
        kiln_io io;
        must(kiln_prog_io(prog, k, &io), "io");
        size_t bytes = (size_t)s->n * kiln_dtype_size(io.dtype);
        args[k] = (kiln_arg){io.name, NULL, io.dtype, 1, &s->n, NULL};
        must(kiln_alloc(ctx, bytes, &args[k].data), "alloc");
        if (from)
            must(kiln_upload(ctx, args[k].data, from, bytes), "upload");
        else
            s->col[k - OPERANDS - 1].result = (kn_dtype)io.dtype;
    }
    must(run_hostile(prog, args, nargs), devices[d].name);
    for (int k = 0; k < nargs; k++) {
        size_t bytes = (size_t)s->n * kiln_dtype_size(args[k].dtype);
        if (k > OPERANDS)
            must(kiln_download(ctx, s->col[k - OPERANDS - 1].got[d], args[k].data, bytes),
                 "download");
        kiln_free(ctx, args[k].data);
    }
    kiln_prog_destroy(prog);
}

/* ---- comparing ---- */

/* Nothing is said of the sign of a NaN, nor which of two zeros is the smaller, nor of a zero where terms cancel. */
static bool sign_matters(kn_op op, const number *x, number want)
{
    if (kn_ops[op].of != KN_OF_RESULT)
        return isinf(want.f);
    if (op == KN_OP_COPYSIGN)
        return x[1].f == x[1].f;
    return want.f != 0 || (op != KN_OP_MINIMUM && op != KN_OP_MAXIMUM && op != KN_OP_FMIN &&
                           op != KN_OP_FMAX && op != KN_OP_CLIP && op != KN_OP_RELU);
}

/* How far `got` is from `want` in ULP; 0 when it is want rounded, infinite when it is of another kind. */
static double error_of(const column *col, const number *x, number got, number want)
{
    if (want.whole)
        return got.whole && got.i == number_cast(want, KN_NO_DTYPE, col->result).i ? 0 : INFINITY;
    long double a = got.f, b = want.f, near = number_round(col->result, b);
    if (a != a || b != b)
        return a != a && b != b ? 0 : INFINITY;
    bool signs = !signbit(a) == !signbit(near) || !sign_matters(col->op, x, want);
    if (!signs && (a == 0 || near == 0 || isinf(a) || isinf(near)))
        return INFINITY;
    if (fabsl(a) == fabsl(near) && (signs || a == near))
        return 0;
    if (isinf(b))
        return INFINITY;
    /* what overflows is as far as the first number that does not fit */
    long double of = exact_magnitude(col->op, col->operand, x, want),
                ulp = number_ulp(col->result, of);
    long double most = (long double)kn_largest(col->result),
                limit = most + number_ulp(col->result, most);
    a = fabsl(a) > limit ? copysignl(limit, a) : a;
    b = fabsl(b) > limit ? copysignl(limit, b) : b;
    return (double)(fabsl(a - b) / ulp);
}

static double bound_of(const column *col)
{
    if (col->op == KN_OP_CAST)
        return 0; /* to the bit */
    return kn_op_ulp(col->op, col->result);
}

static number operand(const sheet *s, const column *col, int k, int64_t i)
{
    if (col->op == KN_OP_WHERE)
        return k == 0 ? number_load(KN_BOOL, s->c + i)
                      : number_load(s->t, (char *)s->in[k - 1] + i * kn_bytes(s->t));
    number x = number_load(s->t, (char *)s->in[k] + i * kn_bytes(s->t));
    if (col->op == KN_OP_LDEXP && k == 1) {
        x = number_cast(x, s->t, KN_I32);
        return (number){.f = (long double)x.i};
    }
    return col->operand == s->t ? x : number_cast(x, s->t, col->operand);
}

static bool is_defined(const column *col, const number *x)
{
    /* the sign of a NaN may be lost where it is converted */
    return col->op != KN_OP_SIGNBIT || x[0].f == x[0].f;
}

static void report(const device *d, const sheet *s, const column *col, const number *x, number got,
                   number want, double error)
{
    printf("%s of %s on %s: (", kn_ops[col->op].text, kn_dtypes[s->t].text, d->name);
    for (int k = 0; k < (col->op == KN_OP_CAST ? 1 : kn_ops[col->op].arity); k++)
        if (x[k].whole)
            printf("%s%lld", k ? ", " : "", (long long)x[k].i);
        else
            printf("%s%La", k ? ", " : "", x[k].f);
    if (want.whole)
        printf(") is %lld, not %lld\n", (long long)got.i, (long long)want.i);
    else
        printf(") is %La, not %La: off by %.3g ULP of %s, %g allowed\n", got.f, want.f, error,
               kn_dtypes[col->result].text, bound_of(col));
}

static void compare(const sheet *s, const column *col)
{
    const double rounding = 0.001; /* of the exact result itself */
    const double bound = bound_of(col);
    double worst[MOST_DEVICES] = {0};
    int reports[MOST_DEVICES] = {0};
    bool cast = col->op == KN_OP_CAST;
    for (int64_t i = 0; i < s->n; i++) {
        number x[OPERANDS];
        for (int k = 0; k < OPERANDS; k++)
            x[k] = operand(s, col, k, i);
        if (!is_defined(col, x))
            continue;
        number want =
            cast ? number_cast(x[0], s->t, col->to) : exact_result(col->op, col->operand, x);
        for (int d = 0; d < ndevices; d++) {
            number got = number_load(col->result, (char *)col->got[d] + i * kn_bytes(col->result));
            double error = error_of(col, x, got, want);
            compared++;
            worst[d] = error > worst[d] ? error : worst[d];
            if (error > (bound > 0 ? bound + rounding : 0) && reports[d]++ < MOST_REPORTS)
                report(&devices[d], s, col, x, got, want, error);
        }
    }
    for (int d = 0; d < ndevices; d++) {
        devices[d].failed += reports[d] > 0;
        if (reports[d])
            printf("%s of %s on %s: %d of %lld are wrong\n", kn_ops[col->op].text,
                   kn_dtypes[s->t].text, devices[d].name, reports[d], (long long)s->n);
        else if (s->t >= KN_F32 && bound > 0.5)
            printf("%s of %s on %s: within %.3f ULP, %g allowed\n", kn_ops[col->op].text,
                   kn_dtypes[s->t].text, devices[d].name, worst[d], bound);
    }
}

/* ---- the sweep ---- */

static void finish(sheet *s)
{
    if (s->ncols == 0)
        return;
    for (int i = 0; i < s->ncols; i++)
        for (int d = 0; d < ndevices; d++)
            s->col[i].got[d] = test_malloc((size_t)s->n * 8);
    for (int d = 0; d < ndevices; d++)
        run(s, d);
    for (int i = 0; i < s->ncols; i++) {
        compare(s, &s->col[i]);
        for (int d = 0; d < ndevices; d++)
            test_free(s->col[i].got[d]);
    }
    s->ncols = 0;
}

static void add(sheet *s, column col)
{
    if (only_op && strcmp(only_op, kn_ops[col.op].text) != 0)
        return;
    bool exists = col.operand != KN_NO_DTYPE;
    if (is_accepted(s, &col) != exists)
        fail_msg("%s of %s %s", kn_ops[col.op].text, kn_dtypes[s->t].text,
                 exists ? kiln_last_error() : "is no error");
    if (!exists)
        return;
    s->col[s->ncols++] = col;
    if (s->ncols == OUTPUTS)
        finish(s);
}

/* How many values: all pairs of 8 bits, at least all of 16; and where functions of floats are given integers, which
 * only adds a conversion to them, fewer. */
static int64_t count(kn_dtype t, bool converts)
{
    int64_t all = t == KN_BOOL ? 64 : kn_bytes(t) == 1 ? 65536 : kn_is_half(t) ? 82000 : values;
    all = all < values ? all : values;
    return converts && all > 4000 ? 4000 : all;
}

static void sweep(kn_dtype t, bool converts)
{
    sheet s = {.t = t, .n = count(t, converts)};
    for (int k = 0; k < OPERANDS; k++) {
        s.in[k] = test_malloc((size_t)s.n * 8);
        values_fill(t, k, s.n, s.in[k]);
    }
    s.c = test_malloc((size_t)s.n);
    values_fill(KN_BOOL, 0, s.n, s.c);
    for (int op = 0; op < KN_OP_COUNT; op++) {
        if (!kn_op_elementwise(op) || op == KN_OP_CAST || op == KN_OP_PAIR) /* test_complex.c */
            continue;
        kn_dtype operands = exact_operand((kn_op)op, t);
        if ((kn_is_float(operands) && !kn_is_float(t)) == converts)
            add(&s, (column){.op = (kn_op)op, .operand = operands});
    }
    for (int to = 0; to < TYPES && !converts; to++)
        add(&s, (column){.op = KN_OP_CAST, .operand = t, .to = types[to]});
    finish(&s);
    for (int k = 0; k < OPERANDS; k++)
        test_free(s.in[k]);
    test_free(s.c);
}

static void test_sweep(void **state)
{
    (void)state;
    for (int t = 0; t < TYPES; t++) {
        if (types[t] == KN_F64 && LDBL_MANT_DIG < 64) {
            print_message("f64 is left out: long double has %d bits\n", LDBL_MANT_DIG);
            continue;
        }
        sweep(types[t], false);
        if (!kn_is_float(types[t]))
            sweep(types[t], true);
    }
    expect_no_failure();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sweep)};
    if (!open_devices(argc, argv, VALUES))
        return 77;
    return close_devices(cmocka_run_group_tests(tests, NULL, NULL));
}
