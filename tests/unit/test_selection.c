/* By which instructions a GPU computes the values of bound phases (codegen/kir/selection.h). */
#include "bench/null_device.h"
#include "codegen/kir/selection.h"
#include "codegen/plan/plan.h"
#include "runtime/tune.h"
#include "tests/device.h"

enum { SELECTIONS = KN_SELECT_LATER_ROUNDING + 1, ACCUMULATIONS = KN_ACCUMULATE_HALVES + 1 };

/* How many values and reductions of a plan are computed so. */
typedef struct counts {
    int by[SELECTIONS], accumulated[ACCUMULATIONS];
    int packed, ahead, alike;
} counts;

static void count_phase(counts *c, const kn_phase *ph)
{
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_selected *s = kn_selected_of(ph, i);
        c->by[s->by]++;
        c->packed += s->packed;
        c->ahead += s->ahead;
        c->alike += kn_value_at(ph, i)->kind == KN_V_ELEM &&
                    kn_value_at(ph, i)->level == KN_ELEMENT && s->alike > 1;
    }
    for (int r = 0; r < ph->nest.reds.len; r++)
        c->accumulated[kn_accumulated_by(ph, r)]++;
}

/* Of a program of one matrix, on sm_90. */
static counts counts_of(const char *text, int64_t rows, int64_t columns, bool fast)
{
    counts c = {0};
    null_context n;
    kn_arena a;
    kn_target target;
    kn_binding b;
    kn_plan *plan;
    kiln_options options;
    const int64_t shape[] = {rows, columns};
    kiln_options_init(&options);
    options.fast_math = fast;
    null_open(&n, &kn_malloc_allocator);
    kiln_prog *p = compile_with(&n.ctx, text, &options);
    kn_arena_init(&a, NULL);
    const kn_arg x = {"x", NULL,  (int)p->core->optimised->inputs.data[0].node->dtype,
                      2,   shape, NULL};
    assert_true(kn_target_of_arch("sm_90", &target));
    assert_int_equal(kn_bind(&a, p->core->optimised, &x, 1, KN_BIND_ASSUME, &b), KN_OK);
    kn_problem problem = kn_program_problem(p->core, &b, &target);
    problem.graph = kn_graph_clone(&a, p->core->optimised);
    assert_int_equal(kn_plan_make(&a, &problem, &plan), KN_OK);
    for (int k = 0; k < plan->kernels.len; k++)
        for (int i = 0; i < plan->kernels.data[k]->phases.len; i++)
            count_phase(&c, &plan->kernels.data[k]->phases.data[i]);
    kn_arena_finish(&a);
    kiln_prog_destroy(p);
    null_close(&n);
    return c;
}

#define SOFTMAX(type)                                                                              \
    "def softmax(x: " type "[N, C]):\n"                                                            \
    "    e = exp(x - max(x, axis=1, keepdims=True))\n"                                             \
    "    return e / sum(e, axis=1, keepdims=True)\n"

/* A group's sum divides by its reciprocal; exactly, unless nothing but a rounding to 16 bits is left of the quotient. */
static void test_quotients(void **state)
{
    (void)state;
    const counts exact = counts_of(SOFTMAX("f32"), 512, 1024, false),
                 rounded = counts_of(SOFTMAX("bf16"), 512, 1024, false),
                 fast = counts_of(SOFTMAX("f32"), 512, 1024, true);
    assert_int_equal(exact.by[KN_SELECT_DIVISOR], 1);
    assert_int_equal(rounded.by[KN_SELECT_APPROXIMATE_DIVISOR], 1);
    assert_int_equal(fast.by[KN_SELECT_DIVISOR] + fast.by[KN_SELECT_APPROXIMATE_DIVISOR], 0);
}

/* A mean is divided by a count. */
static void test_counts(void **state)
{
    (void)state;
    const counts mean =
        counts_of("def f(x: f32[N, C]):\n    return mean(x, axis=1)\n", 512, 1024, false);
    assert_int_equal(mean.by[KN_SELECT_DIVISOR], 1);
}

/* A logistic function divides by 1 to 2. */
static void test_moderate_quotients(void **state)
{
    (void)state;
    const counts silu = counts_of("def f(x: f32[N, C]):\n    return silu(x)\n", 512, 1024, false),
                 any = counts_of("def f(x: f32[N, C]):\n    return x / (1 + exp(x))\n", 512, 1024,
                                 false);
    assert_int_equal(silu.by[KN_SELECT_MODERATE_QUOTIENT], 1);
    assert_int_equal(any.by[KN_SELECT_MODERATE_QUOTIENT], 0);
}

static void test_halves(void **state)
{
    (void)state;
    const counts sum = counts_of("def f(x: bf16[N, C]):\n    return x + x * x\n", 512, 1024, false),
                 wide = counts_of("def f(x: f32[N, C]):\n    return x + x * x\n", 512, 1024, false),
                 most = counts_of("def f(x: bf16[N, C]):\n    return max(x, axis=1)\n", 512, 65536,
                                  false);
    assert_int_equal(sum.packed, 2);
    assert_int_equal(wide.packed, 0);
    assert_int_equal(most.accumulated[KN_ACCUMULATE_HALVES], 1);
}

/* Neighbours share blocks of random numbers, and which of a block's words an element takes is known beforehand. */
static void test_lanes(void **state)
{
    (void)state;
    const counts random =
        counts_of("def f(x: f32[N, C]):\n    return dropout(x, 0.1, 1, 0)\n", 512, 1024, false);
    assert_true(random.alike > 0);
    assert_true(random.by[KN_SELECT_LANE_NUMBER] > 0);
    assert_true(random.by[KN_SELECT_WIDE_PRODUCT] > 0);
}

/* What is clipped to a small range needs no test of it, and is rounded by the cast. */
static void test_casts(void **state)
{
    (void)state;
    const counts quantised =
        counts_of("def f(x: f32[N, C]):\n"
                  "    return cast(minimum(maximum(rint(x), -127), 127), i8)\n",
                  512, 1024, false);
    assert_int_equal(quantised.by[KN_SELECT_NEAREST_CAST], 1);
    assert_int_equal(quantised.by[KN_SELECT_LATER_ROUNDING], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quotients),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_moderate_quotients),
        cmocka_unit_test(test_halves),
        cmocka_unit_test(test_lanes),
        cmocka_unit_test(test_casts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
