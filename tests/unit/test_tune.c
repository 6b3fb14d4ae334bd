/* Measured schedules on a device that runs nothing and whose times are a script: what wins is what the script says, is
 * remembered, and costs no more than it may. */
#include <stdio.h>
#include <unistd.h>

#include "base/hash.h"
#include "bench/null_device.h"
#include "codegen/candidates.h"
#include "runtime/tune.h"
#include "tests/device.h"

static const char softmax[] = "def softmax(x: f32[N, C]):\n"
                              "    e = exp(x - max(x, axis=1, keepdims=True))\n"
                              "    y = e / sum(e, axis=1, keepdims=True)\n"
                              "    return y\n";

/* ---- the device ---- */

typedef struct machine {
    null_context n; /* first: its device is what the library hands back */
    kn_device_ops ops;
    const char *name;
    double (*us)(uint64_t kernel, bool favourite); /* of a kernel, by its hash */
    uint64_t favourite, last;                      /* kernels, by their hashes: see hash_of() */
    bool refuses;                                  /* to run the favourite */
    uint64_t compile_ns, ns;                       /* of a compile; the time now */
    bool captured, no_memory;
    int timed; /* runs */
} machine;

static machine *of(kn_device *dev) { return (machine *)dev; }

static uint64_t now(kn_device *dev) { return __atomic_load_n(&of(dev)->ns, __ATOMIC_RELAXED); }

static void pass(machine *m, uint64_t ns) { __atomic_add_fetch(&m->ns, ns, __ATOMIC_RELAXED); }

/* Of its structure and its numbers. */
static uint64_t hash_of(const kn_kernel *k)
{
    kn_arena a;
    kn_arena_init(&a, NULL);
    kn_text t = kn_text_new(&a);
    kn_kernel_print(&t, k, true);
    uint64_t hash = kn_hash(kn_text_str(&t), t.len, 0);
    kn_arena_finish(&a);
    return hash;
}

static kn_status launch(kn_device *dev, const kn_launch *l, const kn_call *call, void *stream)
{
    machine *m = of(dev);
    uint64_t kernel = hash_of(l->kernel);
    if (m->refuses && kernel == m->favourite)
        return kn_fail(KN_RUN, "refused");
    __atomic_store_n(&m->last, kernel, __ATOMIC_RELAXED);
    pass(m, (uint64_t)(m->us(kernel, kernel == m->favourite) * 1e3));
    return null_launch(dev, l, call, stream);
}

static kn_status measure(kn_device *dev, void *stream, kn_status (*fn)(void *ctx), void *ctx,
                         double *us)
{
    (void)stream;
    machine *m = of(dev);
    uint64_t start = now(dev);
    __atomic_add_fetch(&m->timed, 1, __ATOMIC_RELAXED);
    KN_TRY(fn(ctx));
    *us = (double)(now(dev) - start) / 1e3;
    return KN_OK;
}

static bool captures(kn_device *dev, void *stream)
{
    (void)stream;
    return of(dev)->captured;
}

static kn_status identify(kn_device *dev, kn_text *t)
{
    kn_putf(t, "machine %s\n", of(dev)->name);
    return KN_OK;
}

static kn_status compile_kernel(null_device *dev, const kn_kernel *kernel)
{
    machine *m = of(&dev->base);
    pass(m, m->compile_ns);
    (void)kernel;
    return KN_OK;
}

static kn_status take_memory(kn_device *dev, size_t bytes, void **ptr)
{
    return of(dev)->no_memory ? kn_fail(KN_MEMORY, "no memory") : null_alloc(dev, bytes, ptr);
}

static double clearly(uint64_t kernel, bool favourite)
{
    (void)kernel;
    return favourite ? 60 : 100;
}

static double hardly(uint64_t kernel, bool favourite)
{
    (void)kernel;
    return favourite ? 99 : 100;
}

static double ten_ms(uint64_t kernel, bool favourite)
{
    (void)kernel, (void)favourite;
    return 1e4;
}

static double anyhow(uint64_t kernel, bool favourite)
{
    (void)favourite;
    return (double)(50 + kernel % 50);
}

static void open_machine(machine *m, const kn_allocator *from)
{
    *m = (machine){.name = "one", .us = clearly, .compile_ns = 1000};
    null_open(&m->n, from ? from : &kn_malloc_allocator);
    m->ops = null_ops;
    m->ops.launch = launch;
    m->ops.time = measure;
    m->ops.now = now;
    m->ops.captures = captures;
    m->ops.identify = identify;
    m->ops.alloc = take_memory;
    m->n.dev.base.ops = &m->ops;
    m->n.dev.compile = compile_kernel;
}

static void close_machine(machine *m)
{
    null_close(&m->n);
    kn_disk_close(m->n.core.disk);
}

/* ---- a program ---- */

enum { PATIENCE = 1000, ROWS = 200, COLUMNS = 40000 };

/* The kernel that the n-th candidate for ROWS x COLUMNS comes to for arguments of this shape; 0: the planner's own. */
static uint64_t candidate(machine *m, kiln_prog *p, int n, int64_t rows, int64_t columns)
{
    kn_arena a;
    kn_binding b;
    kn_candidate list[KN_MOST_TRIALS];
    kn_plan *plan;
    int count;
    const int64_t first[] = {ROWS, COLUMNS}, shape[] = {rows, columns};
    const kn_target *target = null_target(&m->n.dev.base);
    kn_arg x = {"x", NULL, KN_F32, 2, first, NULL};
    kn_arena_init(&a, NULL);
    good((kiln_status)kn_bind(&a, p->core->optimised, &x, 1, KN_BIND_INPUTS, NULL, &b));
    kn_problem problem = kn_program_problem(p->core, &b, target);
    good((kiln_status)kn_candidates_find(&problem, NULL, KN_MOST_TRIALS, list, &count));
    assert_int_equal(count, KN_MOST_TRIALS);
    x.shape = shape;
    good((kiln_status)kn_bind(&a, p->core->optimised, &x, 1, KN_BIND_INPUTS, NULL, &b));
    problem = kn_program_problem(p->core, &b, target);
    problem.force = list[n].force;
    good((kiln_status)kn_plan_make(&a, &problem, &plan));
    assert_int_equal(plan->kernels.len, 1);
    uint64_t hash = hash_of(plan->kernels.data[0]);
    kn_arena_finish(&a);
    return hash;
}

enum { FAVOURITE = 3 };

/* Compiles the program and makes a candidate the favourite. */
static kiln_prog *tuned(machine *m, int ms)
{
    kiln_options o;
    kiln_options_init(&o);
    o.autotune = ms;
    kiln_prog *p = compile_with(&m->n.ctx, softmax, &o);
    m->favourite = candidate(m, p, FAVOURITE, ROWS, COLUMNS);
    return p;
}

static bool favoured(machine *m, kiln_prog *p, int64_t rows, int64_t columns)
{
    return m->last == candidate(m, p, FAVOURITE, rows, columns);
}

static bool planned(machine *m, kiln_prog *p, int64_t rows, int64_t columns)
{
    return m->last == candidate(m, p, 0, rows, columns);
}

static kiln_status run(kiln_prog *p, int64_t rows, int64_t columns)
{
    const int64_t shape[] = {rows, columns};
    char *data = NULL;
    kiln_arg args[] = {{"x", data + ((int64_t)1 << 40), KILN_F32, 2, shape, NULL},
                       {"y", data + ((int64_t)2 << 40), KILN_F32, 2, shape, NULL}};
    return kiln_run(p, NULL, args, 2);
}

static kiln_stats stats_of(machine *m)
{
    kiln_stats s;
    kiln_stats_init(&s);
    good(kiln_ctx_stats(&m->n.ctx, &s));
    return s;
}

static void check_counts(machine *m, uint64_t tunings, uint64_t hits)
{
    kiln_stats s = stats_of(m);
    assert_int_equal(s.tunings, tunings);
    assert_int_equal(s.tuning_hits, hits);
}

/* ---- tests ---- */

static void test_off(void **state)
{
    (void)state;
    machine m;
    open_machine(&m, NULL);
    kiln_prog *p = tuned(&m, 0);
    good(run(p, ROWS, COLUMNS));
    check_counts(&m, 0, 0);
    assert_int_equal(m.n.dev.base.compiles, 1);
    assert_int_equal(m.timed, 0);
    assert_true(planned(&m, p, ROWS, COLUMNS));
    kiln_prog_destroy(p);
    close_machine(&m);
}

/* What is quickest is taken, for the arguments of its class and no others. */
static void test_winner(void **state)
{
    (void)state;
    machine m;
    open_machine(&m, NULL);
    kiln_prog *p = tuned(&m, PATIENCE);
    good(run(p, ROWS, COLUMNS));
    assert_true(favoured(&m, p, ROWS, COLUMNS));
    check_counts(&m, 1, 0);
    assert_in_range(m.n.dev.base.compiles, 1, KN_MOST_TRIALS);
    assert_true(stats_of(&m).tuning_ms > 0);
    int timed = m.timed;
    uint64_t compiles = m.n.dev.base.compiles;
    good(run(p, ROWS, COLUMNS));
    good(run(p, ROWS + 1, COLUMNS - 4));
    assert_true(favoured(&m, p, ROWS + 1, COLUMNS - 4));
    assert_int_equal(m.timed, timed);
    assert_int_equal(m.n.dev.base.compiles, compiles);
    check_counts(&m, 1, 0);
    good(run(p, 5 * ROWS, COLUMNS));
    check_counts(&m, 2, 0);
    assert_true(m.timed > timed);
    kiln_prog_destroy(p);

    p = tuned(&m, PATIENCE); /* another program learns for itself, where there is no disk cache */
    m.us = hardly;
    good(run(p, ROWS, COLUMNS));
    assert_true(planned(&m, p, ROWS, COLUMNS));
    check_counts(&m, 3, 0);
    kiln_prog_destroy(p);
    close_machine(&m);
}

/* No candidate is begun after the time has passed; compiling takes of it too. */
static void test_budget(void **state)
{
    (void)state;
    enum { RUNS = 6 }; /* of a candidate */
    static const struct {
        int ms, run_ms, compile_ms, candidates;
    } cases[] = {{1, 10, 0, 1}, {59, 10, 0, 1}, {61, 10, 0, 2}, {130, 10, 0, 3}, {99, 0, 100, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        machine m;
        open_machine(&m, NULL);
        m.compile_ns = (uint64_t)cases[i].compile_ms * 1000000;
        m.us = cases[i].run_ms ? ten_ms : anyhow;
        kiln_prog *p = tuned(&m, cases[i].ms);
        good(run(p, ROWS, COLUMNS));
        assert_int_equal(m.timed, cases[i].candidates * RUNS);
        check_counts(&m, 1, 0);
        kiln_prog_destroy(p);
        close_machine(&m);
    }
}

/* Candidates that cannot be had are left out, and nobody hears of it. */
static void test_refused(void **state)
{
    (void)state;
    machine m;
    open_machine(&m, NULL);
    m.refuses = true;
    kiln_prog *p = tuned(&m, PATIENCE);
    kn_clear_error();
    good(run(p, ROWS, COLUMNS));
    assert_string_equal(kiln_last_error(), "");
    assert_true(planned(&m, p, ROWS, COLUMNS));
    check_counts(&m, 1, 0);
    kiln_prog_destroy(p);
    close_machine(&m);
}

static void test_no_memory(void **state)
{
    (void)state;
    machine m;
    open_machine(&m, NULL);
    m.no_memory = true;
    kiln_prog *p = tuned(&m, PATIENCE);
    kn_clear_error();
    good(run(p, ROWS, COLUMNS));
    assert_string_equal(kiln_last_error(), "");
    assert_true(planned(&m, p, ROWS, COLUMNS));
    check_counts(&m, 0, 0);
    m.favourite = candidate(&m, p, FAVOURITE, ROWS + 1, COLUMNS);
    m.no_memory = false; /* the class is not given up */
    good(run(p, ROWS + 1, COLUMNS));
    assert_true(favoured(&m, p, ROWS + 1, COLUMNS));
    check_counts(&m, 1, 0);
    kiln_prog_destroy(p);
    close_machine(&m);
}

static void test_capture(void **state)
{
    (void)state;
    machine m;
    open_machine(&m, NULL);
    kiln_prog *p = tuned(&m, PATIENCE);
    m.captured = true;
    good(run(p, ROWS, COLUMNS));
    check_counts(&m, 0, 0);
    assert_int_equal(m.timed + m.n.dev.allocations, 0);
    m.captured = false;
    m.favourite = candidate(&m, p, FAVOURITE, ROWS + 1, COLUMNS);
    good(run(p, ROWS + 1, COLUMNS));
    check_counts(&m, 1, 0);
    m.captured = true; /* what is known is used */
    good(run(p, ROWS + 2, COLUMNS));
    assert_true(favoured(&m, p, ROWS + 2, COLUMNS));
    kiln_prog_destroy(p);
    close_machine(&m);
}

/* What an option forces stays; with nothing left to choose nothing is measured. */
static void test_forced(void **state)
{
    (void)state;
    machine m;
    open_machine(&m, NULL);
    kiln_options o;
    kiln_options_init(&o);
    o.autotune = PATIENCE;
    o.max_kinds = -1; /* universal kernels */
    kiln_prog *p = compile_with(&m.n.ctx, softmax, &o);
    good(run(p, ROWS, COLUMNS));
    kiln_prog_destroy(p);
    o.max_kinds = 0;
    o.schedule = "cluster=4";
    o.reuse = "keep";
    o.max_threads = 256;
    p = compile_with(&m.n.ctx, softmax, &o);
    good(run(p, ROWS, COLUMNS));
    check_counts(&m, 0, 0);
    assert_int_equal(m.timed, 0);
    kiln_prog_destroy(p);
    o.max_threads = 0;
    p = compile_with(&m.n.ctx, softmax, &o);
    good(run(p, ROWS, COLUMNS));
    check_counts(&m, 1, 0);
    assert_true(m.timed > 0);
    kiln_prog_destroy(p);
    close_machine(&m);
}

/* Shapes at random: classes and kernels stay few. */
static void test_bounds(void **state)
{
    (void)state;
    machine m;
    open_machine(&m, NULL);
    kiln_prog *p = tuned(&m, PATIENCE);
    m.us = anyhow;
    uint64_t random = 1;
    for (int i = 0; i < 500; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        good(run(p, 1 + (int64_t)(random >> 33) % 16384, 1 + (int64_t)(random >> 45) % 16384));
    }
    kiln_stats s = stats_of(&m);
    print_message("500 shapes: %llu classes, %llu kernels\n", (unsigned long long)s.tunings,
                  (unsigned long long)s.compiles);
    assert_in_range(s.tunings, 2, KN_MAX_KINDS);
    assert_true(s.compiles <= s.tunings * KN_MOST_TRIALS + KN_MAX_KINDS);
    kiln_prog_destroy(p);
    close_machine(&m);
}

/* ---- threads ---- */

enum { THREADS = 8 };

static void *run_one(void *prog) { return (void *)(uintptr_t)run(prog, ROWS, COLUMNS); }

static void test_once(void **state)
{
    (void)state;
    machine m;
    pthread_t threads[THREADS];
    open_machine(&m, NULL);
    kiln_prog *p = tuned(&m, PATIENCE);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_one, p), 0);
    for (int i = 0; i < THREADS; i++) {
        void *status;
        pthread_join(threads[i], &status);
        assert_int_equal((uintptr_t)status, KILN_OK);
    }
    check_counts(&m, 1, 0);
    assert_true(favoured(&m, p, ROWS, COLUMNS));
    assert_in_range(m.n.dev.base.compiles, 1, KN_MOST_TRIALS);
    kiln_prog_destroy(p);
    close_machine(&m);
}

/* ---- the disk cache ---- */

/* One process: a run with this directory. */
static void live(const char *dir, const char *name, int ms, uint64_t tunings, uint64_t hits)
{
    machine m;
    open_machine(&m, NULL);
    m.name = name;
    m.compile_ns = 100000000;
    assert_int_equal(kn_disk_open(dir, 0, NULL, &m.n.core.disk), KN_OK);
    kiln_prog *p = tuned(&m, ms);
    good(run(p, ROWS, COLUMNS));
    check_counts(&m, tunings, hits);
    assert_int_equal(m.timed > 0, tunings > 0);
    assert_true(ms >= PATIENCE ? favoured(&m, p, ROWS, COLUMNS) : planned(&m, p, ROWS, COLUMNS));
    kiln_prog_destroy(p);
    close_machine(&m);
}

static void only_file(const char *dir, char path[300])
{
    char command[300];
    snprintf(command, sizeof command, "ls '%s'/*.kiln1", dir);
    FILE *list = popen(command, "r");
    assert_non_null(list);
    assert_int_equal(fscanf(list, "%299s", path), 1);
    pclose(list);
}

static void flip_byte(const char *path, long at)
{
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, at, at < 0 ? SEEK_END : SEEK_SET), 0);
    int c = fgetc(f);
    fseek(f, -1, SEEK_CUR);
    fputc(c ^ 1, f);
    fclose(f);
}

/* Stores another value, of right sum, under the file's key. */
static void put_value(const char *dir, const char *path, const char *value)
{
    static char bytes[1 << 16];
    kn_entry entry;
    kn_disk *d;
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    assert_true(kn_entry_read(bytes, n, &entry));
    assert_int_equal(kn_disk_open(dir, 0, NULL, &d), KN_OK);
    kn_disk_store(d, entry.key, (kn_bytes_view){value, strlen(value)}, 0);
    kn_disk_close(d);
}

static void test_kept(void **state)
{
    (void)state;
    char dir[] = "/tmp/kiln-test-tune-XXXXXX", path[300], command[100];
    assert_non_null(mkdtemp(dir));
    live(dir, "one", PATIENCE, 1, 0);
    live(dir, "one", PATIENCE, 0, 1);
    live(dir, "one", 2 * PATIENCE, 0, 1); /* nothing was left out */
    only_file(dir, path);
    flip_byte(path, -3);
    live(dir, "one", PATIENCE, 1, 0);
    live(dir, "one", PATIENCE, 0, 1);
    static const char *const wrong[] = {"",
                                        "1 0 0 1000\n",
                                        "1 1 0 1000\n0 0 0 0 5\n",
                                        "9 0 0 1000\n0 0 0 0 5\n",
                                        "1 0 0 1000\n0 0 0 0 5\nmore",
                                        "1 0 0 1000\n9 0 0 0 5\n",
                                        "1 0 0 1000\n2 99 0 0 5\n",
                                        "1 0 0 1000\n0 0 0 0 -5\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        put_value(dir, path, wrong[i]);
        live(dir, "one", PATIENCE, 1, 0);
        live(dir, "one", PATIENCE, 0, 1);
    }
    live(dir, "two", PATIENCE, 1, 0); /* another machine */
    live(dir, "two", PATIENCE, 0, 1);
    snprintf(command, sizeof command, "rm -r '%s'", dir);
    assert_int_equal(system(command), 0);
}

/* Who has more time than it took looks again at what was left out. */
static void test_more_time(void **state)
{
    (void)state;
    char dir[] = "/tmp/kiln-test-tune-XXXXXX", command[100];
    assert_non_null(mkdtemp(dir));
    live(dir, "one", 1, 1, 0);
    live(dir, "one", 1, 0, 1);
    live(dir, "one", PATIENCE, 1, 0);
    live(dir, "one", PATIENCE, 0, 1);
    snprintf(command, sizeof command, "rm -r '%s'", dir);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_off),       cmocka_unit_test(test_winner),
        cmocka_unit_test(test_budget),    cmocka_unit_test(test_refused),
        cmocka_unit_test(test_no_memory), cmocka_unit_test(test_capture),
        cmocka_unit_test(test_forced),    cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_once),      cmocka_unit_test(test_kept),
        cmocka_unit_test(test_more_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
