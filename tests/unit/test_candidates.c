/* What is tried in place of the planner's choice: different plans, the planner's own first, nothing that the options
 * have settled. */
#include <string.h>

#include "bench/null_device.h"
#include "codegen/plan/candidates.h"
#include "tests/device.h"

enum { MOST = 64 };

static const char softmax[] = "def softmax(x: f32[N, C]):\n"
                              "    e = exp(x - max(x, axis=1, keepdims=True))\n"
                              "    y = e / sum(e, axis=1, keepdims=True)\n"
                              "    return y\n";

typedef struct found {
    kn_arena arena;
    kn_problem problem;
    kn_candidate list[MOST];
    int n;
} found;

static void find(found *f, kiln_prog *p, const char *arch, int64_t rows, int64_t columns, int most)
{
    kn_target *target = KN_NEW(&f->arena, kn_target);
    kn_binding *b = KN_NEW(&f->arena, kn_binding);
    const int64_t shape[] = {rows, columns};
    const int dtype = (int)p->core->optimised->inputs.data[0].node->dtype;
    const kn_arg args[] = {{"x", NULL, dtype, 2, shape, NULL}};
    if (strcmp(arch, "cpu") == 0)
        *target = (kn_target){.kind = "cpu", .units = 8, .max_block = 1024, .cooperative = true};
    else
        assert_true(kn_target_of_arch(arch, target));
    assert_int_equal(kn_bind(&f->arena, p->core->optimised, args, 1, KN_BIND_INPUTS, b), KN_OK);
    f->problem = kn_program_problem(p->core, b, target);
    if (kn_candidates_find(&f->problem, &kn_malloc_allocator, most, f->list, &f->n) != KN_OK)
        fail_msg("%s", kn_last_error());
    assert_in_range(f->n, 1, most);
}

static const kn_plan *plan_of(found *f, int i)
{
    kn_problem problem = f->problem;
    kn_plan *plan;
    problem.force = f->list[i].force;
    assert_int_equal(kn_plan_make(&f->arena, &problem, &plan), KN_OK);
    return plan;
}

/* What it becomes, with its numbers. */
static const char *text_of(found *f, int i)
{
    const kn_plan *plan = plan_of(f, i);
    kn_text t = kn_text_new(&f->arena);
    for (int k = 0; k < plan->kernels.len; k++)
        kn_kernel_print(&t, plan->kernels.data[k], true);
    return kn_text_str(&t);
}

static bool among(found *f, const char *schedule)
{
    bool there = false;
    for (int i = 0; i < f->n && !there; i++)
        there = strcmp(plan_of(f, i)->schedule, schedule) == 0;
    return there;
}

static void check_different(found *f)
{
    const char *texts[MOST];
    for (int i = 0; i < f->n; i++) {
        texts[i] = text_of(f, i);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(texts[i], texts[j]);
        for (int j = 2; j < i; j++)
            assert_true(f->list[j - 1].ns <= f->list[j].ns);
    }
}

static const kn_force none;

static void begin(found *f) { kn_arena_init(&f->arena, NULL); }
static void end(found *f) { kn_arena_finish(&f->arena); }

static void test_different(void **state)
{
    (void)state;
    static const char *const archs[] = {"sm_90", "sm_75", "cpu"};
    null_context n;
    null_open(&n, &kn_malloc_allocator);
    kiln_prog *p = compile(&n.ctx, softmax);
    for (int i = 0; i < 3; i++) {
        found f;
        begin(&f);
        find(&f, p, archs[i], 64, 40000, MOST);
        assert_memory_equal(&f.list[0].force, &none, sizeof none);
        check_different(&f);
        assert_true(among(&f, "whole") && among(&f, "split"));
        assert_int_equal(among(&f, "cluster"), i == 0);
        for (int c = 0; c < f.n; c++)
            assert_true(i < 2 || f.list[c].force.max_threads == 0);
        end(&f);
    }
    kiln_prog_destroy(p);
    null_close(&n);
}

/* Whatever threads a block may have: those of rows that stay in registers in part have none for more of it. */
static void test_rows_in_part(void **state)
{
    (void)state;
    static const char *const texts[] = {softmax, "def f(x: f64[N, C]):\n"
                                                 "    return softmax(x, axis=1)\n"};
    static const int64_t lengths[] = {480000, 524288, 1048576};
    null_context n;
    null_open(&n, &kn_malloc_allocator);
    for (int t = 0; t < 2; t++) {
        kiln_prog *p = compile(&n.ctx, texts[t]);
        for (int i = 0; i < 3; i++) {
            found f;
            begin(&f);
            find(&f, p, "sm_90", 64, lengths[i], MOST);
            check_different(&f);
            end(&f);
        }
        kiln_prog_destroy(p);
    }
    null_close(&n);
}

/* Fewer are the first of more. */
static void test_few(void **state)
{
    (void)state;
    null_context n;
    null_open(&n, &kn_malloc_allocator);
    kiln_prog *p = compile(&n.ctx, softmax);
    found all;
    begin(&all);
    find(&all, p, "sm_90", 64, 40000, MOST);
    assert_true(all.n > 6);
    for (int most = 1; most <= 6; most += 5) {
        found few;
        begin(&few);
        find(&few, p, "sm_90", 64, 40000, most);
        assert_int_equal(few.n, most);
        for (int i = 0; i < most; i++)
            assert_memory_equal(&few.list[i].force, &all.list[i].force, sizeof none);
        end(&few);
    }
    end(&all);
    kiln_prog_destroy(p);
    null_close(&n);
}

/* Options are not overruled. */
static void test_forced(void **state)
{
    (void)state;
    null_context n;
    null_open(&n, &kn_malloc_allocator);
    kiln_options o;
    kiln_options_init(&o);
    o.schedule = "cluster=4";
    o.reuse = "keep";
    o.max_threads = 256;
    kiln_prog *p = compile_with(&n.ctx, softmax, &o);
    found f;
    begin(&f);
    find(&f, p, "sm_90", 64, 40000, MOST);
    assert_int_equal(f.n, 1);
    end(&f);
    kiln_prog_destroy(p);

    o.schedule = NULL;
    p = compile_with(&n.ctx, softmax, &o);
    begin(&f);
    find(&f, p, "sm_90", 64, 40000, MOST);
    assert_true(f.n > 1);
    for (int i = 0; i < f.n; i++) {
        assert_int_equal(f.list[i].force.reuse, KN_REUSE_KEEP);
        assert_int_equal(f.list[i].force.max_threads, 256);
    }
    end(&f);
    kiln_prog_destroy(p);
    null_close(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_different),
        cmocka_unit_test(test_rows_in_part),
        cmocka_unit_test(test_few),
        cmocka_unit_test(test_forced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
