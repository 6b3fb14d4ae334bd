/* Arrays that are divided over ranks: what programs of them mean, and which have no meaning. */
#include "ir/interp.h"
#include "ir/pass/pass.h"
#include "tests/unit/graphs.h"

/* The message with which the program of several ranks is refused. */
static const char *refused(const char *params, const char *expressions)
{
    kn_graph *g = kn_graph_new(&arena, "f");
    const char *text = kn_sprintf(&arena, "def f(%s):\n    return %s\n", params, expressions);
    kn_clear_error();
    if (kn_parse(g, text, NULL) == KN_OK) {
        g->ranks = 2;
        assert_null(kn_graph_optimise(&arena, g, false, NULL));
    }
    assert_int_equal(kn_last_status(), KN_SHAPE);
    return kn_last_error();
}

static void says(const char *params, const char *expressions, const char *what)
{
    const char *message = refused(params, expressions);
    if (!strstr(message, what))
        fail_msg("%s: %s", expressions, message);
}

static void test_refusals(void **state)
{
    (void)state;
    const char *x = "x: f32[shard(N), C]";
    says(x, "x[1:]", "index at 2:13: elements of other ranks would be needed along axis 0");
    says(x, "x[::-1]", "axis 0");
    says(x, "x[0]", "axis 0");
    says(x, "roll(x, 1, axis=0)", "axis 0");
    says(x, "pad(x, 1)", "axis 0");
    says(x, "concatenate((x, x), axis=0)", "axis 0");
    says(x, "repeat(x, 2, axis=0)", "axis 0");
    says(x, "x.T.reshape(-1)", "a reshape would mix ranks' elements of axis 1");
    says(x, "x[:, None, 0] * x[None, :, 0]",
         "another axis is divided over ranks beside axis 1, which has shard(N) elements");
    says("x: f32[shard(N)], i: i64[K]", "take(x, i)", "take");
    says("x: f32[shard(N)], y: f32[N]", "x + y", "shard(N)");
    says("x: f32[shard(N)], y: f32[7]", "x + y", "shard(N)");
}

static void test_a_part_is_no_whole(void **state)
{
    (void)state;
    kn_symbols *s = kn_symbols_new(&arena);
    kn_dim n = kn_dim_part(s, "N", 1), m = kn_dim_part(s, "M", 1), whole = kn_dim_sym(s, "N", 1);
    assert_int_equal(kn_dim_unify(s, n, whole), KN_NEVER);
    assert_int_equal(kn_dim_unify(s, n, kn_dim_const(s, 4)), KN_NEVER);
    kn_dim third = kn_dim_quotient(s, kn_dim_mul(s, n, whole), kn_dim_const(s, 3));
    assert_true(kn_dim_is_divided(s, third));
    assert_false(kn_dim_is_divided(s, kn_dim_add(s, n, whole)));
    assert_true(kn_dim_equal(s, kn_dim_whole(s, third),
                             kn_dim_quotient(s, kn_dim_mul(s, whole, whole), kn_dim_const(s, 3))));
    /* What is equal on every rank is equal as a whole. */
    assert_int_equal(kn_dim_unify(s, n, m), KN_UNIFIED);
    assert_true(kn_dim_equal(s, whole, kn_dim_sym(s, "M", 1)));
}

/* sum and var of a column of which two ranks have 1 and 3 elements. */
static void test_reference_of_ranks(void **state)
{
    (void)state;
    kn_graph *g = graph_of("x: f64[shard(N)]", "sum(x), var(x), argmax(x), N * x");
    g->ranks = 2;
    g = kn_graph_optimise(&arena, g, false, NULL);
    assert_non_null(g);
    double x[] = {3, 1, 4, 1}, sum[2], var[2], scaled[4];
    int64_t where[2];
    const int64_t parts[] = {1, 3};
    kn_array in[2], out[2][4];
    kn_interp_call call[2];
    for (int r = 0; r < 2; r++) {
        int64_t *sizes = KN_NEW_ARRAY(&arena, int64_t, kn_symbols_count(g->syms));
        for (int i = 0; i < kn_symbols_count(g->syms); i++)
            sizes[i] = KN_UNBOUND;
        int part = kn_symbol_find(g->syms, "shard(N)", 8);
        sizes[part] = parts[r];
        kn_symbols_divide(g->syms, part, parts, r, 2, sizes);
        in[r] = (kn_array){
            .dtype = KN_F64, .rank = 1, .shape = {parts[r]}, .stride = {1}, .data = x + r};
        out[r][0] = (kn_array){.dtype = KN_F64, .data = &sum[r]};
        out[r][1] = (kn_array){.dtype = KN_F64, .data = &var[r]};
        out[r][2] = (kn_array){.dtype = KN_I64, .data = &where[r]};
        out[r][3] = (kn_array){
            .dtype = KN_F64, .rank = 1, .shape = {parts[r]}, .stride = {1}, .data = scaled + r};
        call[r] = (kn_interp_call){.sizes = sizes, .in = &in[r], .out = out[r]};
    }
    assert_int_equal(kn_interp_ranks(g, &arena, call, 2), KN_OK);
    for (int r = 0; r < 2; r++) {
        assert_true(sum[r] == 9 && var[r] == 1.6875);
        assert_int_equal(where[r], 2);
    }
    assert_true(scaled[0] == 12 && scaled[2] == 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(test_refusals),
        test(test_a_part_is_no_whole),
        test(test_reference_of_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
