/* Dispatch: what a run does not do after a prepare, variants and their memory, workspaces. On a device that takes kernels
 * and runs none.
 *
 * KILN_FUZZ: how many series of random shapes have their kernels counted. */
#include <stdio.h>

#include "bench/null_device.h"
#include "tests/device.h"
#include "tests/effort.h"
#include "tests/ledger.h"
#include "tests/random.h"

/* One input x, one output y of its shape. */
static kiln_status run_shape(kiln_prog *p, void *stream, const int64_t *shape, int rank)
{
    kiln_arg args[] = {{"x", (void *)(uintptr_t)0x10000000000, KILN_F32, rank, shape, NULL},
                       {"y", (void *)(uintptr_t)0x20000000000, KILN_F32, rank, shape, NULL}};
    return kiln_run(p, stream, args, 2);
}

static const char softmax[] = "def softmax(x: f32[N, C]):\n"
                              "    e = exp(x - max(x, axis=1, keepdims=True))\n"
                              "    y = e / sum(e, axis=1, keepdims=True)\n"
                              "    return y\n";
/* Needs temporaries, and blocks that meet. */
static const char centred[] = "def centred(x: f32[N, M]):\n"
                              "    y = x - mean(x, axis=0) - mean(x, axis=1, keepdims=True)\n"
                              "    return y\n";

/* ---- after a prepare ---- */

static void test_run_takes_nothing(void **state)
{
    (void)state;
    ledger l = {0};
    const kn_allocator from = {counted, uncounted, &l};
    static const char *const texts[] = {softmax, centred};
    for (size_t t = 0; t < 2; t++) {
        null_context n;
        null_open(&n, &from);
        kiln_prog *p = compile(&n.ctx, texts[t]);
        const int64_t shape[] = {300, 500};
        char *data = NULL;
        kiln_arg args[] = {{"x", data + 4096, KILN_F32, 2, shape, NULL},
                           {"y", data + (1 << 24), KILN_F32, 2, shape, NULL}};
        kiln_prepared info;
        kiln_prepared_init(&info);
        assert_int_equal(kiln_prepare(p, args, 2, &info), KILN_OK);
        assert_int_equal(info.workspace > 0, t == 1);
        assert_int_equal(info.launches, 1);
        uint64_t compiles = n.dev.base.compiles, launches = n.dev.base.launches;
        long calls = l.calls;
        int allocations = n.dev.allocations;
        void *stream = (void *)(uintptr_t)0x77; /* whichever */
        for (int i = 0; i < 10; i++)
            assert_int_equal(kiln_run(p, stream, args, 2), KILN_OK);
        assert_int_equal(l.calls, calls);
        assert_int_equal(n.dev.allocations, allocations);
        assert_int_equal(n.dev.base.compiles, compiles);
        assert_int_equal(n.dev.base.launches, launches + 10);
        kiln_prog_destroy(p);
        null_close(&n);
    }
    assert_int_equal(l.live, 0);
}

/* Promised arrays: what a run takes that is as promised, and of one that is not. */
static void test_prepared_without_memory(void **state)
{
    (void)state;
    ledger l = {0};
    const kn_allocator from = {counted, uncounted, &l};
    null_context n;
    null_open(&n, &from);
    kiln_prog *p = compile(&n.ctx, centred);
    const int64_t shape[] = {300, 500}, strides[] = {-500, 1};
    kiln_arg args[] = {{"x", NULL, KILN_F32, 2, shape, strides},
                       {"y", NULL, KILN_F32, 2, shape, NULL}};
    kiln_prepared info, again;
    kiln_prepared_init(&info);
    kiln_prepared_init(&again);
    assert_int_equal(kiln_prepare(p, args, 2, &info), KILN_OK);
    assert_true(info.workspace > 0 && info.copies == 0);
    long calls = l.calls;
    args[0].data = (void *)(uintptr_t)0x10000000010;
    args[1].data = (void *)(uintptr_t)0x20000000100;
    for (int i = 0; i < 10; i++)
        assert_int_equal(kiln_run(p, NULL, args, 2), KILN_OK);
    assert_int_equal(l.calls, calls);
    args[0].data = NULL; /* one has memory already, and the other is less aligned */
    again.alignment = 4;
    assert_int_equal(kiln_prepare(p, args, 2, &again), KILN_OK);
    assert_int_equal(again.alignment, 4);
    assert_true(l.calls > calls);
    calls = l.calls;
    args[0].data = (void *)(uintptr_t)0x10000000004;
    assert_int_equal(kiln_run(p, NULL, args, 2), KILN_OK);
    assert_int_equal(l.calls, calls);
    args[0].data = (void *)(uintptr_t)0x10000000008; /* neither: it is prepared now */
    assert_int_equal(kiln_run(p, NULL, args, 2), KILN_OK);
    assert_true(l.calls > calls);
    args[0].data = NULL;
    again.alignment = 3;
    assert_int_equal(kiln_prepare(p, args, 2, &again), KILN_ERR_ARGUMENT);
    again.alignment = 2;
    assert_int_equal(kiln_prepare(p, args, 2, &again), KILN_ERR_ARGUMENT);
    assert_non_null(strstr(kiln_last_error(), "not aligned to its element size"));
    assert_int_equal(kiln_run(p, NULL, args, 2), KILN_ERR_ARGUMENT);
    assert_non_null(strstr(kiln_last_error(), "data is NULL"));
    kiln_prog_destroy(p);
    null_close(&n);
    assert_int_equal(l.live, 0);
}

/* What does not fit is refused as it is with data. */
static void test_promises_are_checked(void **state)
{
    (void)state;
    null_context n;
    null_open(&n, &kn_malloc_allocator);
    kiln_prog *p = compile(&n.ctx, "def f(x: f32[N], k: f32):\n    y = x * k\n    return y\n");
    const int64_t n5 = 5, many = INT64_MAX / 8, below = -1, none = 0, far = INT64_MAX / 2;
    const struct {
        kiln_arg x, y;
        kiln_status status;
    } cases[] = {
        {{"x", NULL, KILN_F32, 1, &n5, NULL}, {"y", NULL, KILN_F32, 1, &n5, NULL}, KILN_OK},
        {{"x", NULL, KILN_F32, 1, &none, NULL}, {"y", NULL, KILN_F32, 1, &none, NULL}, KILN_OK},
        {{"x", NULL, KILN_F32, 1, &n5, NULL},
         {"y", NULL, KILN_F32, 1, &none, NULL},
         KILN_ERR_SHAPE},
        {{"x", NULL, KILN_F32, 1, &below, NULL},
         {"y", NULL, KILN_F32, 1, &n5, NULL},
         KILN_ERR_SHAPE},
        {{"x", NULL, KILN_F32, 1, &many, NULL},
         {"y", NULL, KILN_F32, 1, &many, NULL},
         KILN_ERR_SHAPE},
        {{"x", NULL, KILN_F32, 1, &n5, &far}, {"y", NULL, KILN_F32, 1, &n5, NULL}, KILN_ERR_SHAPE},
        {{"x", NULL, KILN_F32, 1, NULL, NULL},
         {"y", NULL, KILN_F32, 1, &n5, NULL},
         KILN_ERR_ARGUMENT},
        {{"x", NULL, KILN_F64, 1, &n5, NULL}, {"y", NULL, KILN_F32, 1, &n5, NULL}, KILN_ERR_TYPE},
        {{"x", NULL, (kiln_dtype)99, 1, &n5, NULL},
         {"y", NULL, KILN_F32, 1, &n5, NULL},
         KILN_ERR_TYPE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const kiln_arg args[] = {cases[i].x, {"k", NULL, KILN_F32, 0, NULL, NULL}, cases[i].y};
        kiln_status status = kiln_prepare(p, args, 3, NULL);
        if (status != cases[i].status)
            fail_msg("case %zu: %d, %s", i, (int)status, kiln_last_error());
    }
    kiln_prog_destroy(p);
    null_close(&n);
}

/* ---- variants ---- */

static void test_variants_are_bounded(void **state)
{
    (void)state;
    ledger l = {0};
    const kn_allocator from = {counted, uncounted, &l};
    null_context n;
    null_open(&n, &from);
    kiln_prog *p = compile(&n.ctx, softmax);
    size_t half = 0;
    for (int i = 0; i < 10000; i++) {
        const int64_t shape[] = {1 + i, 64};
        assert_int_equal(run_shape(p, NULL, shape, 2), KILN_OK);
        if (i == 4999)
            half = l.most;
    }
    print_message("10000 shapes: %zu bytes at most, %llu kernels\n", l.most,
                  (unsigned long long)n.dev.base.compiles);
    assert_true(l.most < half + half / 16);
    assert_true(l.most < (size_t)32 << 20);
    kiln_prog_destroy(p);
    null_close(&n);
    assert_int_equal(l.live, 0);
}

/* The one not used for longest goes: a shape that is in constant use is planned once. */
static void test_used_variants_stay(void **state)
{
    (void)state;
    null_context n;
    null_open(&n, &kn_malloc_allocator);
    kiln_prog *p = compile(&n.ctx, softmax);
    const int64_t kept[] = {7, 64};
    assert_int_equal(run_shape(p, NULL, kept, 2), KILN_OK);
    uint64_t hits = 0;
    for (int i = 0; i < 2000; i++) {
        const int64_t shape[] = {100 + i, 64};
        assert_int_equal(run_shape(p, NULL, shape, 2), KILN_OK);
        uint64_t before = n.core.kernels.hits + n.dev.base.compiles;
        assert_int_equal(run_shape(p, NULL, kept, 2), KILN_OK);
        hits += n.core.kernels.hits + n.dev.base.compiles - before;
    }
    assert_int_equal(hits, 0); /* no kernel was asked for */
    kiln_prog_destroy(p);
    null_close(&n);
}

/* ---- one kernel for many shapes ---- */

/* Notes the lines of the kernel's structure that shapes choose: threads, and each phase's walk. */
static kn_status note_kernel(null_device *dev, const kn_kernel *kernel)
{
    (void)dev;
    for (int i = 0; i < kernel->phases.len; i++) {
        const kn_phase *p = &kernel->phases.data[i];
        print_message("%s%s of %d, %d threads a group, vectors of %d, %d steps, %d axes%s",
                      i ? "; " : "    ", kn_walk_text(p->how.walk), kernel->threads, p->how.tpg,
                      p->how.vec, p->how.steps, p->nest.naxes,
                      p->how.split     ? ", split"
                      : p->how.cluster ? ", clusters"
                                       : "");
    }
    print_message("\n");
    return KN_OK;
}

/* The cluster of a kernel that keeps what it reads again; 1 if it keeps a part of it in registers. */
static kn_status note_cluster(null_device *dev, const kn_kernel *kernel)
{
    const kn_phase *p = &kernel->phases.data[0];
    *(int *)dev->user = p->how.rest_in_registers ? 1 : kn_kernel_cluster(kernel);
    for (int v = 0; v < p->nest.values.len && p->how.cluster; v++)
        if (p->nest.values.data[v].kind == KN_V_LOAD && p->nest.values.data[v].sweeps > 1)
            assert_int_not_equal(kn_kept(p, v), KN_KEEP_NONE);
    return KN_OK;
}

static int64_t size_up_to(uint64_t *state, int64_t most)
{
    return 1 + (int64_t)((random_64(state) >> 33) % (uint64_t)most);
}

static const char batchnorm[] =
    "def batchnorm(x: f32[N, C, H, W], gamma: f32[C], beta: f32[C], eps: f32 = 1e-5):\n"
    "    m = mean(x, axis=(0, 2, 3), keepdims=True)\n"
    "    d = x - m\n"
    "    v = mean(d * d, axis=(0, 2, 3), keepdims=True)\n"
    "    y = d * rsqrt(v + eps) * gamma[:, None, None] + beta[:, None, None]\n"
    "    return y, m, v\n";

static char *place(int n) { return (char *)((uintptr_t)(n + 1) << 40); }

enum { SERIES = EFFORT(4, 1), SOFTMAXES = EFFORT(1000, 300), BATCHNORMS = EFFORT(200, 60) };

/* Kernels for random shapes of softmax. */
static uint64_t softmax_classes(null_context *n, uint64_t random)
{
    uint64_t before = n->dev.base.compiles;
    kiln_prog *p = compile(&n->ctx, softmax);
    print_message("softmax, %d shapes\n", SOFTMAXES);
    for (int i = 0; i < SOFTMAXES; i++) {
        const int64_t shape[] = {size_up_to(&random, 16384), size_up_to(&random, 16384)};
        assert_int_equal(run_shape(p, NULL, shape, 2), KILN_OK);
    }
    kiln_prog_destroy(p);
    return n->dev.base.compiles - before;
}

/* Kernels for random shapes of batchnorm. */
static uint64_t batchnorm_classes(null_context *n, uint64_t random)
{
    uint64_t before = n->dev.base.compiles;
    kiln_prog *p = compile(&n->ctx, batchnorm);
    print_message("batchnorm, %d shapes\n", BATCHNORMS);
    for (int i = 0; i < BATCHNORMS; i++) {
        const int64_t x[] = {size_up_to(&random, 64), size_up_to(&random, 512),
                             size_up_to(&random, 64), size_up_to(&random, 64)};
        const int64_t c[] = {x[1]}, kept[] = {1, x[1], 1, 1};
        kiln_arg args[] = {
            {"x", place(0), KILN_F32, 4, x, NULL},    {"gamma", place(1), KILN_F32, 1, c, NULL},
            {"beta", place(2), KILN_F32, 1, c, NULL}, {"y", place(3), KILN_F32, 4, x, NULL},
            {"m", place(4), KILN_F32, 4, kept, NULL}, {"v", place(5), KILN_F32, 4, kept, NULL}};
        assert_int_equal(kiln_run(p, NULL, args, 6), KILN_OK);
    }
    kiln_prog_destroy(p);
    return n->dev.base.compiles - before;
}

/* Kernels for runs of 1 to 1,000 elements. */
static uint64_t run_classes(null_context *n)
{
    uint64_t before = n->dev.base.compiles;
    kiln_prog *p = compile(&n->ctx, "def f(x: f32[N]):\n    y = x * 2 + 1\n    return y\n");
    for (int64_t length = 1; length <= 1000; length++)
        assert_int_equal(run_shape(p, NULL, &length, 1), KILN_OK);
    kiln_prog_destroy(p);
    return n->dev.base.compiles - before;
}

/* Sizes are parameters: what is compiled depends on their class only. The bounds are what the schedules' classes
 * (threads, steps, vectors, whole planes, whole or guarded batches, launch skew, axes that are left) come to; a size that leaks into a
 * kernel's structure breaks them. Most random rows begin at no vector: by run, from a vector or from a cache line on, they
 * have blocks and steps of the same few numbers as rows that do, once more. */
static void test_classes(void **state)
{
    (void)state;
    const char *given = getenv("KILN_FUZZ");
    const uint64_t series = given ? strtoull(given, NULL, 0) : SERIES;
    for (uint64_t seed = 1; seed <= series; seed++) {
        null_context n;
        null_open(&n, &kn_malloc_allocator);
        n.dev.compile = note_kernel;
        assert_in_range(softmax_classes(&n, seed), 1, 22);
        assert_in_range(batchnorm_classes(&n, seed), 1, 18);
        null_close(&n);
    }
    null_context n;
    null_open(&n, &kn_malloc_allocator);
    assert_int_equal(run_classes(&n),
                     2); /* of multiples of a vector, and of all that leave a tail */
    null_close(&n);
}

/* Groups of the size that just fits, or just does not, in the shared memory of the largest cluster. */
static void test_clusters_keep(void **state)
{
    (void)state;
    int cluster = 0, largest = 0, part = 0;
    for (int64_t members = 179200; members < 179600; members += EFFORT(8, 32)) {
        null_context n;
        null_open(&n, &kn_malloc_allocator);
        n.dev.compile = note_cluster;
        n.dev.user = &cluster;
        kiln_prog *p = compile(
            &n.ctx, "def f(a: f32[N, M], b: f32[N, M], c: f32[N, M], d: f32[N, M], e: f32[N, M]):\n"
                    "    s = a * b + c * d + e\n"
                    "    y = s - mean(s, axis=1, keepdims=True)\n"
                    "    return y\n");
        const int64_t shape[] = {500, members};
        static const char *const names[] = {"a", "b", "c", "d", "e", "y"};
        kiln_arg args[6];
        for (int i = 0; i < 6; i++)
            args[i] = (kiln_arg){names[i], place(i), KILN_F32, 2, shape, NULL};
        assert_int_equal(kiln_run(p, NULL, args, 6), KILN_OK);
        largest += cluster == KN_MOST_CLUSTER;
        part += cluster == 1;
        kiln_prog_destroy(p);
        null_close(&n);
    }
    assert_int_not_equal(largest, 0);
    assert_int_not_equal(part, 0);
}

/* ---- too many kinds ---- */

/* Arrays in every order of their axes, some repeated, backwards, far apart or badly aligned. */
static void lay_out(uint64_t *random, const int64_t *shape, int64_t *stride)
{
    int64_t step = 1;
    int order[] = {0, 1, 2, 3};
    for (int i = 3; i > 0; i--) {
        int j = (int)((random_64(random) >> 33) % (uint64_t)(i + 1)), t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
    for (int i = 0; i < 4; i++) {
        uint64_t odd = (random_64(random) >> 33) % 8;
        stride[order[i]] = odd == 0 ? 0 : odd == 1 ? -step : step;
        step *= shape[order[i]] * (odd == 2 ? 3 : 1);
    }
}

static void test_kinds_are_bounded(void **state)
{
    (void)state;
    uint64_t random = 1;
    null_context n;
    null_open(&n, &kn_malloc_allocator);
    kiln_prog *p = compile(&n.ctx, "def f(x: f32[A, B, C, D], y: f32[A, B, C, D]):\n"
                                   "    z = sum(x * y, axis=(1, 3))\n"
                                   "    return z\n");
    uint64_t last = 0;
    for (int i = 0; i < 1000; i++) {
        int64_t shape[4], x[4], y[4];
        for (int a = 0; a < 4; a++)
            shape[a] = size_up_to(&random, 30);
        lay_out(&random, shape, x);
        lay_out(&random, shape, y);
        const int64_t z[] = {shape[0], shape[2]};
        size_t off = 4 * ((random_64(&random) >> 33) % 4);
        kiln_arg args[] = {{"x", place(0) + off, KILN_F32, 4, shape, x},
                           {"y", place(2) + 16, KILN_F32, 4, shape, y},
                           {"z", place(4), KILN_F32, 2, z, NULL}};
        assert_int_equal(kiln_run(p, NULL, args, 3), KILN_OK);
        last = n.dev.base.compiles > last ? n.dev.base.compiles : last;
    }
    print_message("1000 layouts: %d kernels\n", (int)last);
    /* the universal kernel, and the second one of some plans */
    assert_in_range(last, KN_MAX_KINDS + 1, KN_MAX_KINDS + 4);
    kiln_prog_destroy(p);
    null_close(&n);
}

/* ---- workspaces ---- */

static int idle(const null_context *n)
{
    int count = 0;
    for (const kn_workspace *w = n->core.workspaces.idle; w; w = w->next)
        count++;
    return count;
}

static void test_workspaces(void **state)
{
    (void)state;
    null_context n;
    null_open(&n, &kn_malloc_allocator);
    kiln_prog *p = compile(&n.ctx, centred);
    const int64_t small[] = {100, 100}, large[] = {1000, 1000};
    char *base = NULL;

    /* one a stream, replaced when it is too small */
    for (int round = 0; round < 3; round++)
        for (uintptr_t s = 1; s <= 3; s++)
            assert_int_equal(run_shape(p, base + s, small, 2), KILN_OK);
    assert_int_equal(n.dev.allocations, 3);
    assert_int_equal(run_shape(p, base + 2, large, 2), KILN_OK);
    assert_int_equal(n.dev.allocations, 4);
    assert_int_equal(idle(&n), 3);
    assert_int_equal(run_shape(p, base + 2, small, 2), KILN_OK);
    assert_int_equal(n.dev.allocations, 4);

    /* a bounded number of idle ones */
    for (uintptr_t s = 1; s <= 100; s++)
        assert_int_equal(run_shape(p, base + s, small, 2), KILN_OK);
    assert_int_equal(idle(&n), KN_WORKSPACES);

    /* none where the run brings its own */
    kiln_arg args[] = {{"x", (void *)(uintptr_t)0x10000000000, KILN_F32, 2, large, NULL},
                       {"y", (void *)(uintptr_t)0x20000000000, KILN_F32, 2, large, NULL}};
    int allocations = n.dev.allocations;
    kiln_prepared info;
    kiln_prepared_init(&info);
    info.own_workspace = true;
    assert_int_equal(kiln_prepare(p, args, 2, &info), KILN_OK);
    assert_true(info.workspace > 0);
    void *own = aligned_alloc(256, (info.workspace + 255) / 256 * 256);
    assert_int_equal(kiln_run_in(p, base + 999, args, 2, own, info.workspace), KILN_OK);
    assert_int_equal(n.dev.allocations, allocations);
    free(own);

    /* prepared for a stream that was never seen, and again */
    info.own_workspace = false;
    assert_int_equal(kiln_prepare(p, args, 2, &info), KILN_OK);
    assert_int_equal(kiln_prepare(p, args, 2, &info), KILN_OK);
    assert_int_equal(n.dev.allocations, allocations + 1);
    assert_int_equal(run_shape(p, base + 1234, large, 2), KILN_OK);
    assert_int_equal(n.dev.allocations, allocations + 1);
    kiln_prog_destroy(p);
    null_close(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run_takes_nothing),    cmocka_unit_test(test_prepared_without_memory),
        cmocka_unit_test(test_promises_are_checked), cmocka_unit_test(test_variants_are_bounded),
        cmocka_unit_test(test_used_variants_stay),   cmocka_unit_test(test_classes),
        cmocka_unit_test(test_clusters_keep),        cmocka_unit_test(test_kinds_are_bounded),
        cmocka_unit_test(test_workspaces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
