/* What building, optimising and planning take grows gently with a program, whatever it looks like: counted in steps and
 * bytes, which are the same on every machine. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/work.h"
#include "codegen/plan/plan.h"
#include "runtime/bind.h"
#include "tests/unit/families.h"

/* A program is compared with one of an eighth of its operations. Over the nodes that these become, steps and memory have
 * at most this exponent. */
enum { TIMES = 8 };
static const double EXPONENT = 1.3;
/* Of a plan, per node: 10,000 of them in 80 MB. */
enum { BYTES_A_NODE = 8000 };

typedef struct cost {
    int nodes;
    int64_t front, plan; /* steps */
    int64_t front_bytes, plan_bytes;
} cost;

static int64_t allocated;

static void *count_bytes(void *user, size_t size)
{
    (void)user;
    allocated += (int64_t)size;
    return malloc(size);
}

static void free_bytes(void *user, void *p)
{
    (void)user;
    free(p);
}

static const kn_allocator counting = {count_bytes, free_bytes, NULL};

typedef struct job {
    kn_arena front, plan;
    int family, operations;
    const kn_target *target;
    kn_budget building, planning;
    cost cost;
} job;

static kn_status make_plan(void *user)
{
    job *j = user;
    kn_binding b;
    kn_plan *p;
    kn_graph *g = kn_graph_new(&j->front, "f");
    g->budget = j->building;
    int64_t steps = kn_work_done(), bytes = allocated;
    KN_TRY(make_program(g, j->family, j->operations));
    g = kn_graph_optimise(&j->front, g, false, NULL);
    if (!g)
        return kn_last_status();
    j->cost.nodes = g->nodes.len;
    j->cost.front = kn_work_done() - steps;
    j->cost.front_bytes = allocated - bytes;
    g->budget = j->planning;
    KN_TRY(kn_bind(&j->plan, g, NULL, 0, KN_BIND_ASSUME, &b));
    steps = kn_work_done(), bytes = allocated;
    const kn_problem problem = {.graph = g,
                                .sizes = b.sizes,
                                .in = b.in,
                                .out = b.out,
                                .over = b.over,
                                .target = j->target,
                                .fusion = true};
    KN_TRY(kn_plan_make(&j->plan, &problem, &p));
    j->cost.plan = kn_work_done() - steps;
    j->cost.plan_bytes = allocated - bytes;
    return KN_OK;
}

static kn_status protect_front(void *user)
{
    return kn_protect(&((job *)user)->plan, make_plan, user);
}

static kn_status run_job(job *j)
{
    kn_arena_init(&j->front, &counting);
    kn_arena_init(&j->plan, &counting);
    kn_status status = kn_protect(&j->front, protect_front, j);
    kn_arena_finish(&j->plan);
    kn_arena_finish(&j->front);
    return status;
}

static cost cost_of(int family, int operations, const kn_target *target)
{
    job j = {.family = family,
             .operations = operations,
             .target = target,
             .building = kn_usual_budget,
             .planning = kn_usual_budget};
    if (run_job(&j) != KN_OK)
        fail_msg("%s of %d: %s", families[family].name, operations, kn_last_error());
    return j.cost;
}

static void must_be_gentle(const char *what, const char *of, double times, int64_t few,
                           int64_t many)
{
    double exponent = log((double)many / (double)few) / log(times);
    if (exponent > EXPONENT)
        fail_msg("%s of %s: %lld, and %lld for %.1f times the nodes: exponent %.2f", what, of,
                 (long long)few, (long long)many, times, exponent);
}

static const kn_target cpu = {
    .kind = "cpu", .units = 2, .max_block = 1024, .max_threads_unit = 1, .cooperative = true};

static void test_families(void **state)
{
    (void)state;
    kn_target sm_90;
    assert_true(kn_target_of_arch("sm_90", &sm_90));
    const kn_target *const targets[] = {&sm_90, &cpu};
    for (int f = 0; f < FAMILIES; f++)
        for (int t = 0; t < 2; t++) {
            int many = families[f].operations;
            cost x = cost_of(f, many / TIMES, targets[t]), y = cost_of(f, many, targets[t]);
            double times = (double)y.nodes / x.nodes;
            char of[64];
            snprintf(of, sizeof of, "%s for %s", families[f].name, targets[t]->kind);
            if (y.nodes > many * families[f].most)
                fail_msg("%d of %s become %d nodes", many, of, y.nodes);
            must_be_gentle("steps to build and optimise", of, times, x.front + x.nodes,
                           y.front + y.nodes);
            must_be_gentle("bytes to build and optimise", of, times, x.front_bytes, y.front_bytes);
            must_be_gentle("steps to plan", of, times, x.plan + x.nodes, y.plan + y.nodes);
            must_be_gentle("bytes to plan", of, times, x.plan_bytes, y.plan_bytes);
            if (y.plan_bytes > (int64_t)BYTES_A_NODE * y.nodes)
                fail_msg("a plan of %s takes %lld bytes a node", of,
                         (long long)(y.plan_bytes / y.nodes));
        }
}

/* Beyond its budget a program is an error that names an operation. */
static void test_budgets(void **state)
{
    (void)state;
    static const struct {
        int family;
        kn_budget building, planning;
        kn_status status;
        const char *message;
    } cases[] = {
        {2,
         {400, 1 << 30},
         {400, 1 << 30},
         KN_ARGUMENT,
         " at 82:23: the program has more than 400"},
        {2,
         {1 << 20, 200000},
         {1 << 20, 200000},
         KN_MEMORY,
         "the program takes more than 200000 b"},
        {2,
         {1 << 20, 1 << 30},
         {1 << 20, 400000},
         KN_MEMORY,
         "the program takes more than 400000 b"},
        {5,
         {400, 1 << 30},
         {400, 1 << 30},
         KN_ARGUMENT,
         "the program has more than 400 operations"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        job j = {.family = cases[i].family,
                 .operations = 1000,
                 .target = &cpu,
                 .building = cases[i].building,
                 .planning = cases[i].planning};
        assert_int_equal(run_job(&j), cases[i].status);
        if (!strstr(kn_last_error(), cases[i].message))
            fail_msg("not \"%s\": %s", cases[i].message, kn_last_error());
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_families),
                                       cmocka_unit_test(test_budgets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
