/* Two ways to count the unfused program agree: from the graph (kn_census_of_graph), and from the kernels that
 * planning with fusion off makes. */
#include <stdio.h>

#include "bench/progress.h"
#include "ir/view.h"
#include "tests/differential/check.h"

enum { PROGRAMS = 200, ELEMENTS = 6000 };

/* The arguments that the shapes come from, all compact. */
static int shapes_only(const program *p, kn_arg *args)
{
    for (int i = 0; i < p->graph->inputs.len; i++)
        args[i] = (kn_arg){.name = p->graph->inputs.data[i].name,
                           .data = p->in[i].block,
                           .dtype = (int)p->in[i].dtype,
                           .rank = p->in[i].layout.rank,
                           .shape = p->in[i].layout.shape};
    return p->graph->inputs.len;
}

/* A view that regroups is copied by the plan, where the graph's count has it for nothing. */
static bool regroups(const kn_graph *g)
{
    for (int i = 0; i < g->nodes.len; i++)
        if (kn_regroups(g, g->nodes.data[i]))
            return true;
    return false;
}

static kn_plan *plan_of(const program *p, kn_context *ctx, const kn_program_options *options)
{
    kn_program *prog;
    kn_target target;
    kn_plan *plan;
    kn_arg args[MAX_ARGS];
    kn_binding b;
    assert_true(kn_target_of_arch("sm_90", &target));
    assert_int_equal(kn_program_create(ctx, p->graph, options, &prog), KN_OK);
    bool usable = !regroups(prog->optimised);
    if (usable) {
        assert_int_equal(
            kn_bind(p->arena, prog->optimised, args, shapes_only(p, args), KN_BIND_INPUTS, &b),
            KN_OK);
        kn_problem problem = kn_program_problem(prog, &b, &target);
        problem.explained = true;
        assert_int_equal(kn_plan_make(p->arena, &problem, &plan), KN_OK);
    }
    kn_program_destroy(prog);
    return usable ? plan : NULL;
}

static void assert_same(const program *p, const char *what, int64_t graph, int64_t kernels)
{
    kn_text t = kn_text_new(p->arena);
    if (graph == kernels)
        return;
    kn_graph_print(&t, p->graph, false);
    kn_graph_print(&t, kn_graph_optimise(p->arena, p->graph, false, NULL), false);
    fail_msg("KILN_SEED=%llu: %s: %lld by the graph, %lld by the kernels\n%s",
             (unsigned long long)p->seed, what, (long long)graph, (long long)kernels,
             kn_text_str(&t));
}

static void test_unfused(void **state)
{
    (void)state;
    kn_context *ctx;
    int compared = 0;
    uint64_t first = setting("KILN_SEED", 1), n = setting("KILN_FUZZ", PROGRAMS);
    ctx = open_context("cpu");
    for (uint64_t seed = first; seed < first + n; seed++) {
        kn_arena a;
        progress("%llu of %llu programs", (unsigned long long)(seed - first),
                 (unsigned long long)n);
        kn_arena_init(&a, NULL);
        program *p = program_make(&a, seed, ELEMENTS);
        assert_non_null(p);
        kn_plan *plan =
            plan_of(p, ctx, &(kn_program_options){.fusion = false, .schedule = "whole"});
        if (plan) {
            assert_same(p, "launches", plan->before.launches, plan->after.launches);
            assert_same(p, "temporaries", plan->before.temporaries, plan->after.temporaries);
            assert_same(p, "temporary bytes", plan->before.temporary_bytes,
                        plan->after.temporary_bytes);
            assert_same(p, "grid barriers", plan->before.grid, plan->after.grid);
            assert_same(p, "bytes read", plan->before.bytes_read, plan->after.bytes_read);
            assert_same(p, "bytes written", plan->before.bytes_written, plan->after.bytes_written);
            compared++;
        }
        kn_arena_finish(&a);
    }
    progress(NULL);
    kn_context_close(ctx);
    assert_true(compared > (int)n / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_unfused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
