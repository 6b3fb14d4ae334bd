/* Reductions of the user's own: every device, schedule and layout agrees with the reference, which agrees with a loop
 * in C; and those that do not commute go over their elements in order everywhere. */
#include <math.h>
#include <string.h>

#include "frontend/parse/parse.h"
#include "ir/build.h"
#include "tests/differential/check.h"

/* Elements are made of x: f32 and k: i32. Operands of a combine are a, c, e, g from before and b, d, f, h from
 * behind. */
typedef struct reducer {
    const char *name;
    int count;
    kn_dtype carry[KN_MAX_CARRIED];
    const char *element[KN_MAX_CARRIED], *combine[KN_MAX_CARRIED], *identity[KN_MAX_CARRIED];
    bool commutes;
} reducer;

/* 2 by 2 matrices of determinant 1, modulo 97. */
#define MATRIX                                                                                     \
    .element = {"1 + cast(k, i64) % 97 * (k // 97 % 97)", "k % 97", "k // 97 % 97", "1"},          \
    .combine = {"(a * b + c * f) % 97", "(a * d + c * h) % 97", "(e * b + g * f) % 97",            \
                "(e * d + g * h) % 97"},                                                           \
    .identity = {"1", "0", "0", "1"}

static const reducer reducers[] = {
    {"largest",
     1,
     {KN_F32},
     {"where(x > 1, -x, x)"},
     {"where(abs(b) > abs(a), b, a)"},
     {"0"},
     false},
    {"last", 1, {KN_F32}, {"where(x > 1, nan, x)"}, {"where(isnan(b), a, b)"}, {"nan"}, false},
    {"modular", 1, {KN_I64}, {"k % 1000003"}, {"a * b % 1000003"}, {"1"}, true},
    {"sum", 1, {KN_F64}, {"x"}, {"a + b"}, {"0"}, true},
    {"parity", 1, {KN_BOOL}, {"x > 1"}, {"a != b"}, {"False"}, true},
    {"affine",
     2,
     {KN_I32, KN_I32},
     {"k * 2 + 1", "k * 3 - 1"},
     {"a * b", "c * b + d"},
     {"1", "0"},
     false},
    {"matrix", 4, {KN_I64, KN_I64, KN_I64, KN_I64}, MATRIX, false},
    {"rotation", 1, {KN_C64}, {"where(k > 0, 1j, -1) + 0 * x"}, {"a * b"}, {"1"}, true},
    {"extreme",
     2,
     {KN_F32, KN_I64},
     {"x", "x"},
     {"where(b > a, b, a)", "where(b > a, d, c)"},
     {"-inf", "-1"},
     false},
};
enum { REDUCERS = sizeof reducers / sizeof *reducers };

/* after: what becomes of the first result, r, before it is an output; it may use x, and o, which is x as it was
 * given. */
typedef struct shape {
    const char *dims, *sizes;
    int naxes, axes[3];
    const char *where, *after, *view; /* view: what x is from here on */
} shape;

static const shape shapes[] = {
    {"N, M", "N=5 M=300", 1, {1}, NULL, NULL, NULL},      /* a part of a block a group */
    {"N, M", "N=3 M=5000", 1, {-1}, NULL, "r + x", NULL}, /* a block, and another sweep */
    {"N, M", "N=300 M=37", 1, {0}, "x < 2", NULL, NULL},  /* columns */
    {"N, M", "N=37 M=41", -1, {0}, NULL, NULL, NULL},     /* row by row */
    {"N", "N=20011", 1, {0}, NULL, "x * cast(r, f32) + sum(x)", NULL}, /* spread over the machine */
    {"N, M, K", "N=4 M=70 K=30", 2, {2, 0}, "x < 1", NULL, NULL},
    {"N, M", "N=3 M=0", 1, {1}, NULL, NULL, NULL}, /* the identity */
    {"N, M", "N=0 M=3", 1, {1}, NULL, NULL, NULL},
    {"N, M", "N=7 M=1", 1, {1}, NULL, "r + x", NULL},
    {"N, M, K",
     "N=3 M=20 K=30",
     1,
     {1},
     NULL,
     "r + x + sum(cos(sin(o) * 2 + 1) * o + 3, axis=(1, 2))[:, None]",
     "x.transpose(0, 2, 1).reshape(N, M * K)"},
    {"", "", -1, {0}, NULL, NULL, NULL},
    /* what is reduced does not vary */
    {"N, M", "N=5 M=300", 1, {1}, NULL, "r + o", "broadcast_to(x[:, 0][:, None], (N, M))"},
    {"N, M", "N=70 M=7", 1, {0}, "x > 1", NULL, "broadcast_to(x[0, 0], (N, M))"},
    {"N, M", "N=5 M=2000", -1, {0}, NULL, NULL, "full_like(x, 3)"},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static const kn_loc nowhere = {0, 0};

static kn_node *parsed(kn_graph *g, const char *text, const char *const *names,
                       kn_node *const *values, int n)
{
    kn_node *out = NULL;
    if (kn_parse_value(g, text, names, values, n, &out) != KN_OK)
        fail_msg("%s: %s", text, kn_last_error());
    return out;
}

static const char *const letters[] = {"a", "b", "c", "d", "e", "f", "g", "h"};

static kn_combining combining(kn_graph *g, const reducer *r)
{
    kn_combining by = {.count = r->count, .commutes = r->commutes};
    kn_node *operands[2 * KN_MAX_CARRIED];
    for (int c = 0; c < r->count; c++) {
        operands[2 * c] = by.left[c] = kn_build_carried(g, r->carry[c], nowhere);
        operands[2 * c + 1] = by.right[c] = kn_build_carried(g, r->carry[c], nowhere);
    }
    for (int c = 0; c < r->count; c++) {
        by.combined[c] = parsed(g, r->combine[c], letters, operands, 2 * r->count);
        by.identity[c] = parsed(g, r->identity[c], NULL, NULL, 0);
    }
    return by;
}

static program *make(kn_arena *a, const reducer *r, const shape *s, uint64_t seed)
{
    kn_graph *g = kn_graph_new(a, r->name);
    kn_dim dims[KN_MAX_RANK];
    int rank;
    const char *const names[] = {"x", "k", "r", "o"};
    assert_int_equal(kn_parse_dims(g, s->dims, false, dims, &rank), KN_OK);
    kn_node *in[KN_MAX_CARRIED], *out[KN_MAX_CARRIED];
    kn_node *v[] = {kn_build_input(g, "x", KN_F32, dims, rank, nowhere),
                    kn_build_input(g, "k", KN_I32, dims, rank, nowhere), NULL, NULL};
    v[3] = v[0];
    for (int i = 0; i < 2 && s->view; i++)
        v[i] = parsed(g, s->view, names, &v[i], 1);
    for (int c = 0; c < r->count; c++)
        in[c] = parsed(g, r->element[c], names, v, 2);
    kn_combining by = combining(g, r);
    const kn_reduction how = {.axes = s->axes,
                              .naxes = s->naxes,
                              .keepdims = s->after != NULL,
                              .where = s->where ? parsed(g, s->where, names, v, 2) : NULL};
    if (kn_build_reduce_by(g, &by, in, &how, out, nowhere) != KN_OK)
        fail_msg("%s: %s", r->name, kn_last_error());
    v[2] = out[0];
    if (s->after)
        out[0] = parsed(g, s->after, names, v, 4);
    for (int c = 0; c < r->count; c++)
        assert_int_equal(kn_build_output(g, kn_sprintf(a, "y%d", c), out[c], nowhere), KN_OK);
    program *p = program_of_graph(g, s->sizes, seed);
    if (!p)
        fail_msg("%s of %s: %s", r->name, s->sizes, kn_last_error());
    return p;
}

/* ---- the reference against a loop ---- */

static void test_reference(void **state)
{
    (void)state;
    kn_arena a;
    kn_arena_init(&a, NULL);
    const shape *s = &shapes[3];
    program *last = make(&a, &reducers[1], s, 0), *matrix = make(&a, &reducers[6], s, 0);
    const float *x = (const float *)last->in[0].block;
    float want = NAN;
    for (int i = 0; i < 37 * 41; i++)
        want = x[i] > 1 ? want : x[i];
    assert_true(*(const float *)last->expected[0].data == want);
    int64_t m[4] = {1, 0, 0, 1};
    const int32_t *k = (const int32_t *)matrix->in[1].block;
    for (int i = 0; i < 37 * 41; i++) {
        int64_t p = (k[i] % 97 + 97) % 97, q = ((int64_t)floor(k[i] / 97.0) % 97 + 97) % 97;
        int64_t b[4] = {1 + p * q, p, q, 1};
        int64_t made[4] = {m[0] * b[0] + m[1] * b[2], m[0] * b[1] + m[1] * b[3],
                           m[2] * b[0] + m[3] * b[2], m[2] * b[1] + m[3] * b[3]};
        for (int c = 0; c < 4; c++)
            m[c] = made[c] % 97;
    }
    for (int c = 0; c < 4; c++)
        assert_int_equal(*(const int64_t *)matrix->expected[c].data, m[c]);
    kn_arena_finish(&a);
}

/* ---- devices ---- */

static void check_reducer(kn_context *ctx, const reducer *r, const shape *s, int options,
                          uint64_t seed, tally *seen)
{
    kn_arena a;
    kn_arena_init(&a, NULL);
    kn_text why = kn_text_new(&a);
    program *p = make(&a, r, s, seed);
    must_agree(p, ctx, &option_sets[options], kn_sprintf(&a, "%s of %s", r->name, s->sizes), seen);
    if (!program_check_cuda(p, ctx, &option_sets[options], &why, NULL))
        fail_msg("%s of %s, options %d, planned for CUDA: %s", r->name, s->sizes, options,
                 kn_text_str(&why));
    kn_arena_finish(&a);
}

static void test_cpu(void **state)
{
    (void)state;
    kn_context *ctx;
    tally seen = {0, 0};
    assert_int_equal(kn_context_open(&(kn_context_config){.device = "cpu", .threads = 2}, &ctx),
                     KN_OK);
    for (int r = 0; r < REDUCERS; r++)
        for (int s = 0; s < SHAPES; s++)
            for (int o = (r + s) % EFFORT(1, 4); o < OPTION_SETS; o += EFFORT(1, 4))
                check_reducer(ctx, &reducers[r], &shapes[s], o, (uint64_t)(o % 3), &seen);
    kn_context_close(ctx);
    must_have_compared(&seen);
}

/* As chosen, split, relying on nothing, by clusters: each reducer and shape with some of them. */
static void test_emu(void **state)
{
    (void)state;
    static const int options[] = {0, 2, 6, 8};
    kn_context *ctx;
    tally seen = {0, 0};
    ctx = open_context("emu");
    for (int r = 0; r < REDUCERS;
         r += EFFORT(1, 3)) /* sanitized: the first, the fourth, the matrices */
        for (int s = 0; s < SHAPES; s++)
            if ((r + s) % 5 == 0 || (r == 6 && s % 2 == 1))
                check_reducer(ctx, &reducers[r], &shapes[s], options[(r + s / 2) % 4],
                              (uint64_t)(s % 2), &seen);
    check_reducer(ctx, &reducers[1], &shapes[1], 8, 0,
                  &seen); /* a cluster to which bulk copies bring the rows */
    kn_context_close(ctx);
    must_have_compared(&seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reference), cmocka_unit_test(test_cpu),
                                       cmocka_unit_test(test_emu)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
