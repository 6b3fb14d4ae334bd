/* What is tried in place of the planner's choice: different plans, the planner's own first, nothing that the options
 * have settled; and that its text is all of it. */
#include <string.h>

#include "bench/null_device.h"
#include "codegen/plan/candidates.h"
#include "runtime/tune.h"
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

/* Of x, whose strides are NULL where it is compact. */
static void find_of(found *f, kiln_prog *p, const char *arch, const int64_t *shape,
                    const int64_t *strides, int most)
{
    kn_target *target = KN_NEW(&f->arena, kn_target);
    kn_binding *b = KN_NEW(&f->arena, kn_binding);
    const int dtype = (int)p->core->optimised->inputs.data[0].node->dtype;
    const kn_arg args[] = {{"x", NULL, dtype, 2, shape, strides}};
    if (strcmp(arch, "cpu") == 0)
        *target = (kn_target){.kind = "cpu", .units = 8, .max_block = 1024, .cooperative = true};
    else
        assert_true(kn_target_of_arch(arch, target));
    assert_int_equal(kn_bind(&f->arena, p->core->optimised, args, 1, KN_BIND_INPUTS, b), KN_OK);
    f->problem = kn_program_problem(p->core, b, target);
    if (kn_candidates_find(&f->problem, &f->arena, &kn_malloc_allocator, most, f->list, &f->n) !=
        KN_OK)
        fail_msg("%s", kn_last_error());
    assert_in_range(f->n, 1, most);
}

static void find(found *f, kiln_prog *p, const char *arch, int64_t rows, int64_t columns, int most)
{
    const int64_t shape[] = {rows, columns};
    find_of(f, p, arch, shape, NULL, most);
}

static const kn_plan *plan_of(found *f, int i)
{
    kn_problem problem = f->problem;
    kn_plan *plan;
    problem.force = f->list[i].force;
    assert_int_equal(kn_plan_make(&f->arena, &problem, &plan), KN_OK);
    return plan;
}

static const char *force_text(found *f, int i)
{
    kn_text t = kn_text_new(&f->arena);
    kn_force_put(&t, &f->list[i].force);
    return kn_text_str(&t);
}

/* What it becomes, with its numbers. */
static const char *print(found *f, const kn_plan *plan)
{
    kn_text t = kn_text_new(&f->arena);
    for (int k = 0; k < plan->kernels.len; k++)
        kn_kernel_print(&t, plan->kernels.data[k], true);
    return kn_text_str(&t);
}

static const char *text_of(found *f, int i) { return print(f, plan_of(f, i)); }

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

/* Is nothing forced? */
static bool is_none(const kn_force *force)
{
    kn_arena a;
    kn_arena_init(&a, NULL);
    kn_text t = kn_text_new(&a);
    kn_force_put(&t, force);
    const bool none = t.len == 0;
    kn_arena_finish(&a);
    return none;
}

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
        assert_true(is_none(&f.list[0].force));
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
            assert_string_equal(force_text(&few, i), force_text(&all, i));
        end(&few);
    }
    end(&all);
    kiln_prog_destroy(p);
    null_close(&n);
}

/* Programs whose candidates differ in what their schedules say. */
static const char *const programs[] = {
    softmax,
    "def p(x: f32[N, C]):\n"
    "    d = x - mean(x, axis=0)\n"
    "    return d * rsqrt(mean(d * d, axis=0) + 1e-12)\n",
    "def p(x: f32[N, C]):\n"
    "    return x - mean(x, axis=1, keepdims=True) - mean(x, axis=0, keepdims=True) + mean(x)\n",
    "def p(x: f32[N, C]):\n    return x / sqrt(sum(x * x))\n",
    "def p(x: bf16[N, C]):\n    return logsumexp(x, axis=1)\n",
    "def p(x: f32[N, C]):\n    return x * 2 + x.T.reshape(N, C)\n",
    "def p(x: f32[N, 16 * C]):\n"
    "    h = x.reshape(N, 16, C)\n"
    "    d = h - mean(h, axis=(0, 2), keepdims=True)\n"
    "    return d * rsqrt(mean(d * d, axis=(0, 2), keepdims=True) + 1)\n",
};
enum { PROGRAMS = sizeof programs / sizeof *programs };

/* The text of a force, read back: the same choices and schedules. */
static kn_force read_back(found *f, int i)
{
    kn_force force = {0};
    const char *text = force_text(f, i);
    if (kn_force_read(text, &force) != KN_OK)
        fail_msg("'%s': %s", text, kn_last_error());
    return force;
}

/* A candidate's text, read back, makes the plan that its choices alone made, which become its force. */
static void check_text(found *f, int i)
{
    const char *with = text_of(f, i);
    f->list[i].force = read_back(f, i);
    assert_string_equal(text_of(f, i), with);
    f->list[i].force.text = NULL;
    assert_string_equal(text_of(f, i), with);
}

/* Does the i-th candidate bind for other sizes? If not, it is refused with a rule. */
static bool binds(found *f, int i, const found *other)
{
    kn_problem problem = other->problem;
    kn_plan *plan;
    problem.force = read_back(f, i);
    if (kn_plan_make(&f->arena, &problem, &plan) == KN_OK)
        return true;
    assert_int_equal(kn_last_status(), KN_ARGUMENT);
    assert_non_null(strstr(kn_last_error(), "schedule"));
    return false;
}

static const char *class_of(found *f, const kiln_prog *p)
{
    return kn_tuning_class(&f->arena, p->core, plan_of(f, 0));
}

/* Texts make the plans that they are of, and for most other sizes of the class one as well. */
static void test_texts(void **state)
{
    (void)state;
    static const char *const archs[] = {"sm_90", "sm_75", "cpu"};
    static const int64_t shapes[][2] = {{64, 40000}, {4096, 4992}, {30, 480}, {65536, 1056}};
    int bound = 0, others = 0;
    null_context n;
    null_open(&n, &kn_malloc_allocator);
    for (int i = 0; i < PROGRAMS * 3 * 4; i++) {
        const char *arch = archs[i / 4 % 3];
        const int64_t *shape = shapes[i % 4];
        found f, other;
        kiln_prog *p = compile(&n.ctx, programs[i / 12]);
        begin(&f);
        begin(&other);
        find(&f, p, arch, shape[0], shape[1], MOST);
        find(&other, p, arch, shape[0] - shape[0] / 8, shape[1] - 96, 1);
        bool one_class = strcmp(class_of(&f, p), class_of(&other, p)) == 0;
        for (int c = 1; c < f.n; c++) {
            bound += one_class && binds(&f, c, &other);
            others += one_class;
            check_text(&f, c);
        }
        end(&other);
        end(&f);
        kiln_prog_destroy(p);
    }
    print_message("%d of %d candidates bind for other sizes of their class\n", bound, others);
    assert_true(others > 100 && bound > others - others / 10);
    null_close(&n);
}

/* Merges are undone one by one, unless the options have settled which. */
static void test_merges(void **state)
{
    (void)state;
    static const char three[] =
        "def f(x: f32[N, C]):\n"
        "    s = sum(x, axis=1, keepdims=True)\n"
        "    return exp(x) / s, softmax(x * s, axis=1), sum(x * x, axis=0)\n";
    static const char *const archs[] = {"sm_90", "cpu"};
    null_context n;
    null_open(&n, &kn_malloc_allocator);
    for (int i = 0; i < 2; i++)
        for (int settled = 0; settled < 2; settled++) {
            kiln_options o;
            kiln_options_init(&o);
            o.schedule = settled ? "undo 2" : NULL;
            kiln_prog *p = compile_with(&n.ctx, three, &o);
            int undone = 0;
            found f;
            begin(&f);
            find(&f, p, archs[i], 256, 5000, MOST);
            check_different(&f);
            for (int c = 1; c < f.n; c++)
                undone += f.list[c].force.undone != f.list[0].force.undone;
            assert_true(settled ? undone == 0 : undone > 0);
            end(&f);
            kiln_prog_destroy(p);
        }
    null_close(&n);
}

/* What is tried alone, as the options may have it, and programs of which some plans differ by it. */
typedef struct lone {
    const char *options[2], *text;
    int64_t shape[2];
    bool transposed;
} lone;
static const lone lones[] = {
    {{"joined", "pieces"},
     "def f(x: f32[N, C]):\n    return concatenate((exp(x), softmax(x, axis=1)), axis=1)\n",
     {4096, 1000},
     false},
    {{"in place", "copies"},
     "def f(x: f32[N, C]):\n    return softmax(x, axis=1), x * sum(x, axis=1, keepdims=True)\n",
     {4096, 2000},
     true},
    {{"direct", "grouped"},
     "def f(x: f32[N, C]):\n    return softmax(x, axis=1), sum(x)\n",
     {4096, 5000},
     false},
    {{"aligned", "assembled"},
     "def f(x: f32[N, C]):\n    y = x[:, 1:1025]\n    return concatenate((sum(y, axis=0), max(y, axis=0)))\n",
     {4096, 1032},
     false},
};
enum { LONES = sizeof lones / sizeof *lones };

/* How many candidates have a choice, or are those of options that have it? */
static int with_choice(found *f, const char *choice)
{
    int n = 0;
    for (int i = 0; i < f->n; i++) {
        kn_force force = f->list[i].force;
        kn_text t = kn_text_new(&f->arena);
        force.text = NULL;
        kn_force_put(&t, &force);
        n += strstr(kn_text_str(&t), choice) != NULL;
    }
    return n;
}

static void check_lone(null_context *n, const lone *l, const char *schedule)
{
    kiln_options o;
    kiln_options_init(&o);
    o.schedule = schedule;
    kiln_prog *p = compile_with(&n->ctx, l->text, &o);
    const int64_t strides[] = {1, l->shape[0]};
    found f;
    begin(&f);
    find_of(&f, p, "sm_90", l->shape, l->transposed ? strides : NULL, MOST);
    check_different(&f);
    const int first = with_choice(&f, l->options[0]), second = with_choice(&f, l->options[1]);
    if (schedule) {
        assert_int_equal(first, schedule == l->options[0] ? f.n : 0);
        assert_int_equal(second, schedule == l->options[1] ? f.n : 0);
    } else if (first + second == 0)
        fail_msg("neither %s nor %s is tried", l->options[0], l->options[1]);
    for (int c = 1; c < f.n; c++)
        check_text(&f, c);
    end(&f);
    kiln_prog_destroy(p);
}

static void test_lone(void **state)
{
    (void)state;
    null_context n;
    null_open(&n, &kn_malloc_allocator);
    for (int i = 0; i < LONES; i++) {
        check_lone(&n, &lones[i], NULL);
        check_lone(&n, &lones[i], lones[i].options[0]);
        check_lone(&n, &lones[i], lones[i].options[1]);
    }
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
    assert_true(f.n > 0); /* the plan, and perhaps that with a merge undone */
    for (int i = 0; i < f.n; i++) {
        assert_int_equal(f.list[i].force.division, KN_DIVIDE_CLUSTER);
        assert_int_equal(f.list[i].force.cluster, 4);
        assert_int_equal(f.list[i].force.reuse, KN_REUSE_KEEP);
        assert_int_equal(f.list[i].force.max_threads, 256);
    }
    end(&f);
    kiln_prog_destroy(p);

    o.reuse = NULL;
    o.max_threads = 0;
    o.schedule = "threads 512: rows tpg 512 vec 4, cluster 2, async, hold v0_x shared";
    p = compile_with(&n.ctx, softmax, &o);
    begin(&f);
    find(&f, p, "sm_90", 64, 40000, MOST);
    assert_int_equal(f.n, 1);
    end(&f);
    kiln_prog_destroy(p);

    o.schedule = "keep, at most 256 threads";
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
        cmocka_unit_test(test_different), cmocka_unit_test(test_rows_in_part),
        cmocka_unit_test(test_few),       cmocka_unit_test(test_texts),
        cmocka_unit_test(test_merges),    cmocka_unit_test(test_lone),
        cmocka_unit_test(test_forced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
