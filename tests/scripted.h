/* A device that runs nothing and whose times are a script: a kernel that a test makes its favourite takes as long as
 * the script says, and the clock goes on by what was compiled and run. */
#ifndef KN_TESTS_SCRIPTED_H
#define KN_TESTS_SCRIPTED_H

#include "base/hash.h"
#include "bench/null_device.h"
#include "codegen/plan/candidates.h"
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

static inline machine *of(kn_device *dev) { return (machine *)dev; }

static inline uint64_t now(kn_device *dev)
{
    return __atomic_load_n(&of(dev)->ns, __ATOMIC_RELAXED);
}

static inline void pass(machine *m, uint64_t ns)
{
    __atomic_add_fetch(&m->ns, ns, __ATOMIC_RELAXED);
}

/* Of its structure and its numbers. */
static inline uint64_t hash_of(const kn_kernel *k)
{
    kn_arena a;
    kn_arena_init(&a, NULL);
    kn_text t = kn_text_new(&a);
    kn_kernel_print(&t, k, true);
    uint64_t hash = kn_hash(kn_text_str(&t), t.len, 0);
    kn_arena_finish(&a);
    return hash;
}

static inline kn_status launch(kn_device *dev, const kn_launch *l, const kn_call *call,
                               void *stream)
{
    machine *m = of(dev);
    uint64_t kernel = hash_of(l->kernel);
    if (m->refuses && kernel == m->favourite)
        return kn_fail(KN_RUN, "refused");
    __atomic_store_n(&m->last, kernel, __ATOMIC_RELAXED);
    pass(m, (uint64_t)(m->us(kernel, kernel == m->favourite) * 1e3));
    return null_launch(dev, l, call, stream);
}

static inline kn_status measure(kn_device *dev, void *stream, kn_status (*fn)(void *ctx), void *ctx,
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

static inline bool captures(kn_device *dev, void *stream)
{
    (void)stream;
    return of(dev)->captured;
}

static inline kn_status identify(kn_device *dev, kn_text *t)
{
    kn_putf(t, "machine %s\n", of(dev)->name);
    return KN_OK;
}

static inline kn_status compile_kernel(null_device *dev, const kn_kernel *kernel)
{
    machine *m = of(&dev->base);
    pass(m, m->compile_ns);
    (void)kernel;
    return KN_OK;
}

static inline kn_status take_memory(kn_device *dev, size_t bytes, void **ptr)
{
    return of(dev)->no_memory ? kn_fail(KN_MEMORY, "no memory") : null_alloc(dev, bytes, ptr);
}

static inline double clearly(uint64_t kernel, bool favourite)
{
    (void)kernel;
    return favourite ? 60 : 100;
}

static inline void open_machine(machine *m, const kn_allocator *from)
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

static inline void close_machine(machine *m)
{
    null_close(&m->n);
    kn_disk_close(m->n.core.disk);
}

/* ---- a program ---- */

enum { PATIENCE = 1000, ROWS = 200, COLUMNS = 40000 };

/* The kernel that the n-th candidate for ROWS x COLUMNS comes to for arguments of this shape; 0: the planner's own. */
static inline uint64_t candidate(machine *m, kiln_prog *p, int n, int64_t rows, int64_t columns)
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
    good((kiln_status)kn_bind(&a, p->core->optimised, &x, 1, KN_BIND_INPUTS, &b));
    kn_problem problem = kn_program_problem(p->core, &b, target);
    good((kiln_status)kn_candidates_find(&problem, &a, NULL, KN_MOST_TRIALS, list, &count));
    assert_int_equal(count, KN_MOST_TRIALS);
    x.shape = shape;
    good((kiln_status)kn_bind(&a, p->core->optimised, &x, 1, KN_BIND_INPUTS, &b));
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
static inline kiln_prog *tuned(machine *m, int ms)
{
    kiln_options o;
    kiln_options_init(&o);
    o.autotune = ms;
    kiln_prog *p = compile_with(&m->n.ctx, softmax, &o);
    m->favourite = candidate(m, p, FAVOURITE, ROWS, COLUMNS);
    return p;
}

static inline bool favoured(machine *m, kiln_prog *p, int64_t rows, int64_t columns)
{
    return m->last == candidate(m, p, FAVOURITE, rows, columns);
}

static inline bool planned(machine *m, kiln_prog *p, int64_t rows, int64_t columns)
{
    return m->last == candidate(m, p, 0, rows, columns);
}

static inline kiln_status run(kiln_prog *p, int64_t rows, int64_t columns)
{
    const int64_t shape[] = {rows, columns};
    char *data = NULL;
    kiln_arg args[] = {{"x", data + ((int64_t)1 << 40), KILN_F32, 2, shape, NULL},
                       {"y", data + ((int64_t)2 << 40), KILN_F32, 2, shape, NULL}};
    return kiln_run(p, NULL, args, 2);
}

static inline void check_counts(machine *m, uint64_t tunings, uint64_t hits)
{
    kiln_stats s = stats_of(&m->n.ctx);
    assert_int_equal(s.tunings, tunings);
    assert_int_equal(s.tuning_hits, hits);
}

#endif
