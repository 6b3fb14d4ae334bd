/* Between two grid barriers every block takes as many steps as any other, or one more, whatever the sizes of the arrays are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/integer.h"
#include "codegen/plan/plan.h"
#include "frontend/parse/parse.h"
#include "runtime/bind.h"

enum { BLOCKS = 132 };

static const char text[] = "def f(a: f32[K], b: f32[L], c: f32[M], d: f32[N]):\n"
                           "    s = 1 / sqrt(sum(a * a) + sum(b * b) + sum(c * c) + sum(d * d))\n"
                           "    return a * s, b * s, c * s, d * s\n";

static const int64_t sizes[][4] = {{3000, 2029975, 10000000, 412080},
                                   {4505524, 700, 10000000, 914610},
                                   {185664, 83651, 2000000, 8000000},
                                   {10000000, 3000, 4000, 200}};

typedef struct job {
    kn_arena arena;
    const int64_t *sizes;
    kn_plan *plan;
} job;

static kn_status make_plan(void *user)
{
    job *j = user;
    kn_target target;
    kn_binding b;
    kn_arg args[4];
    static const char *const names[] = {"a", "b", "c", "d"};
    assert_true(kn_target_of_arch("sm_90", &target));
    kn_graph *g = kn_graph_new(&j->arena, "f");
    KN_TRY(kn_parse(g, text, NULL));
    g = kn_graph_optimise(&j->arena, g, false, NULL);
    for (int i = 0; i < 4; i++)
        args[i] = (kn_arg){.name = names[i], .dtype = KN_F32, .rank = 1, .shape = &j->sizes[i]};
    KN_TRY(kn_bind(&j->arena, g, args, 4, KN_BIND_ASSUME, &b));
    const kn_problem problem = {.graph = g,
                                .sizes = b.sizes,
                                .in = b.in,
                                .out = b.out,
                                .over = b.over,
                                .target = &target,
                                .fusion = true};
    return kn_plan_make(&j->arena, &problem, &j->plan);
}

/* Adds `steps` steps that are assigned round-robin from block `first` on. */
static void take_in_turn(int64_t *taken, int64_t first, int64_t steps)
{
    for (int64_t i = 0; i < BLOCKS; i++)
        taken[(first + i) % BLOCKS] += (steps - i + BLOCKS - 1) / BLOCKS;
}

static void must_be_even(const int64_t *taken, int p)
{
    int64_t least = INT64_MAX, most = 0;
    for (int i = 0; i < BLOCKS; i++) {
        least = taken[i] < least ? taken[i] : least;
        most = taken[i] > most ? taken[i] : most;
    }
    if (most > least + 1)
        fail_msg("before phase %d a block takes %lld steps, another %lld", p, (long long)most,
                 (long long)least);
}

static void look_at(const kn_kernel *k)
{
    int64_t taken[BLOCKS] = {0};
    kn_assignment assigned = kn_assign_work(k);
    int beside = 0;
    for (int p = 0; p < k->phases.len; p++) {
        const kn_phase *ph = &k->phases.data[p];
        if (ph->local)
            continue;
        if (ph->barrier) {
            must_be_even(taken, p);
            memset(taken, 0, sizeof taken);
        }
        kn_assign_phase(&assigned, p);
        beside += ph->how.beside;
        const int64_t step =
            ph->how.walk == KN_WALK_FLAT ? (int64_t)k->threads * ph->how.vec : kn_phase_step(ph);
        take_in_turn(taken, kn_runs_beside(k, p) ? assigned.first : 0,
                     kn_ceil_div(ph->nest.members, step));
    }
    must_be_even(taken, k->phases.len);
    assert_true(beside > 2);
}

static void test_even(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        job j = {.sizes = sizes[i]};
        kn_arena_init(&j.arena, NULL);
        if (kn_protect(&j.arena, make_plan, &j) != KN_OK)
            fail_msg("%s", kn_last_error());
        assert_int_equal(j.plan->kernels.len, 1);
        look_at(j.plan->kernels.data[0]);
        kn_arena_finish(&j.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_even)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
