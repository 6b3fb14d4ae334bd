/* Arguments that lie transposed: read as they lie, or copied first, which one loop nest does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "codegen/plan/plan.h"
#include "frontend/parse/parse.h"
#include "runtime/bind.h"

/* rmsnorm's backward: dy is read for the rows' sums, for dx and for dgamma. */
static const char text[] = "def f(x: bf16[N, C], gamma: bf16[C], dy: bf16[N, C]):\n"
                           "    h = cast(x, f32)\n"
                           "    y = h * rsqrt(mean(h * h, axis=1, keepdims=True) + 1e-6) * gamma\n"
                           "    dx, dgamma = vjp(y, dy, (x, gamma))\n"
                           "    return dx, dgamma\n";
static const char *const names[] = {"x", "gamma", "dy"};
enum { ARGS = 3, DY = 2, ROWS = 20000, COLUMNS = 320 };

typedef struct job {
    kn_arena arena;
    const int64_t *strides; /* dy's, in elements; NULL: it is compact */
    kn_reading reading;
    bool invariant;
    kn_plan *plan;
} job;

static kn_status make_plan(void *user)
{
    static const int64_t shape[] = {ROWS, COLUMNS};
    job *j = user;
    kn_target target;
    kn_binding b;
    kn_arg args[ARGS];
    assert_true(kn_target_of_arch("sm_90", &target));
    kn_graph *g = kn_graph_new(&j->arena, "f");
    KN_TRY(kn_parse(g, text, NULL));
    g = kn_graph_optimise(&j->arena, g, false, NULL);
    for (int i = 0; i < ARGS; i++) {
        const bool row = i == 1;
        args[i] = (kn_arg){.name = names[i],
                           .dtype = KN_BF16,
                           .rank = row ? 1 : 2,
                           .shape = row ? &shape[1] : shape,
                           .strides = i == DY ? j->strides : NULL};
    }
    KN_TRY(kn_bind(&j->arena, g, args, ARGS, KN_BIND_ASSUME, &b));
    const kn_problem problem = {.graph = g,
                                .sizes = b.sizes,
                                .in = b.in,
                                .out = b.out,
                                .over = b.over,
                                .target = &target,
                                .fusion = true,
                                .invariant = j->invariant,
                                .force = {.reading = j->reading}};
    return kn_plan_make(&j->arena, &problem, &j->plan);
}

/* What a plan does with dy. */
typedef struct outcome {
    int readers; /* loop nests that load it */
    int copies;  /* those that do nothing but copy it */
    double ns;
} outcome;

static outcome plan_so(const int64_t *strides, kn_reading reading, bool invariant)
{
    job j = {.strides = strides, .reading = reading, .invariant = invariant};
    outcome o = {0};
    kn_arena_init(&j.arena, NULL);
    if (kn_protect(&j.arena, make_plan, &j) != KN_OK)
        fail_msg("%s", kn_last_error());
    for (int i = 0; i < j.plan->kernels.len; i++) {
        const kn_kernel *k = j.plan->kernels.data[i];
        for (int b = 0; b < k->bufs.len; b++)
            for (int p = 0; p < k->phases.len; p++) {
                const kn_phase *ph = &k->phases.data[p];
                if (k->bufs.data[b].kind != KN_BUF_INPUT || k->bufs.data[b].index != DY ||
                    !kn_reads_from(ph, b))
                    continue;
                const kn_buf *to = &k->bufs.data[ph->nest.stores.data[0].access.buf];
                o.readers++;
                o.copies += ph->nest.reds.len == 0 && ph->nest.stores.len == 1 &&
                            to->kind == KN_BUF_TEMP && to->dtype == KN_BF16;
            }
    }
    o.ns = j.plan->ns;
    kn_arena_finish(&j.arena);
    return o;
}

static const int64_t transposed[] = {1, ROWS};

static void test_copied_once(void **state)
{
    (void)state;
    const outcome o = plan_so(transposed, KN_READ_COPIES, false);
    assert_int_equal(o.readers, 1);
    assert_int_equal(o.copies, 1);
}

static void test_read_as_it_lies(void **state)
{
    (void)state;
    assert_int_equal(plan_so(transposed, KN_READ_AS_LAID_OUT, false).copies, 0);
}

/* By itself the planner takes what is predicted to be quicker, and here that is a copy. */
static void test_quicker(void **state)
{
    (void)state;
    const outcome copied = plan_so(transposed, KN_READ_COPIES, false),
                  direct = plan_so(transposed, KN_READ_AS_LAID_OUT, false),
                  chosen = plan_so(transposed, KN_READ_BY_COST, false);
    assert_true(copied.ns < direct.ns);
    assert_true(chosen.ns == copied.ns);
    assert_int_equal(chosen.copies, 1);
}

/* Nothing to copy, and no choice that depends on strides where results may not. */
static void test_never_copied(void **state)
{
    (void)state;
    assert_int_equal(plan_so(NULL, KN_READ_COPIES, false).copies, 0);
    assert_int_equal(plan_so(transposed, KN_READ_BY_COST, true).copies, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copied_once), cmocka_unit_test(test_read_as_it_lies),
        cmocka_unit_test(test_quicker), cmocka_unit_test(test_never_copied)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
