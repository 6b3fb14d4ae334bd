/* runtime/cpu: kernels made by hand, against plain loops and the walker of cpu_kernels.h; threads,
 * memory and errors of the device. */
#include <pthread.h>
#include <sched.h>

#include "tests/unit/cpu_kernels.h"

/* ---- kernels by hand ---- */

/* y = (x - mean) * (x - mean of squares), over N and H*W of [N, C, H*W]: three sweeps. */
static void rows(void **state)
{
    (void)state;
    static const int64_t runs[] = {7, 1023, 1025, 300, 2500};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        int64_t n = 3, c = 5, hw = runs[i];
        world w;
        world_init(&w);
        int x = buffer(&w, KN_BUF_INPUT, KN_F32, n * c * hw, 0);
        int y = buffer(&w, KN_BUF_OUTPUT, KN_F32, n * c * hw, 0);
        int v = buffer(&w, KN_BUF_OUTPUT, KN_F32, c, 0);
        phase(&w, KN_WALK_ROWS, 3, 1, S(c, n, hw), 3);
        int lx = load(&w, KN_ELEMENT, x, S(hw, c * hw, 1));
        int s = result(&w, reduce(&w, KN_OP_SUM, lx));
        int m = op(&w, KN_OP_FLOORDIV, KN_F32, s, number(&w, KN_F32, (double)(n * hw)), 0);
        int d = op(&w, KN_OP_SUB, KN_F32, lx, m, 0);
        int q = result(&w, reduce(&w, KN_OP_SUM, op(&w, KN_OP_MUL, KN_F32, d, d, 0)));
        int out = op(&w, KN_OP_MUL, KN_F32, d,
                     op(&w, KN_OP_MOD, KN_F32, q, number(&w, KN_F32, 97), 0), 0);
        store(&w, KN_STORE_ELEMENT, out, y, S(hw, c * hw, 1), 0);
        store(&w, KN_STORE_GROUP, q, v, S(1, 0, 0), 0);
        check(&w, "whole");
        const float *px = w.data[x], *py = w.data[y], *pv = w.data[v];
        double sum = 0, squares = 0;
        for (int64_t k = 0; k < n * hw; k++)
            sum += (double)px[(k / hw * c + 2) * hw + k % hw];
        double mean = floor(sum / (double)(n * hw));
        for (int64_t k = 0; k < n * hw; k++) {
            double e = (double)px[(k / hw * c + 2) * hw + k % hw] - mean;
            squares += e * e;
        }
        assert_true((double)pv[2] == squares);
        assert_true((double)py[2 * hw] == ((double)px[2 * hw] - mean) * fmod(squares, 97));
        world_finish(&w);
    }
}

/* y[i, j] = x[i, j] + row[j] * column[i] + s, backwards along i. */
static void flat(void **state)
{
    (void)state;
    static const int64_t shapes[][2] = {{3, 7}, {7, 1023}, {40, 1025}, {3000, 7}, {0, 5}, {9, 0}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        int64_t a = shapes[i][0], b = shapes[i][1];
        world w;
        world_init(&w);
        int x = buffer(&w, KN_BUF_INPUT, KN_F64, a * b, a ? (a - 1) * b : 0);
        int row = buffer(&w, KN_BUF_INPUT, KN_F64, b, 0);
        int column = buffer(&w, KN_BUF_INPUT, KN_F64, a, 0);
        int y = buffer(&w, KN_BUF_OUTPUT, KN_F64, a * b, 0);
        int first = buffer(&w, KN_BUF_OUTPUT, KN_F64, a, 0);
        w.scalars[0] = (kn_scalar){.dtype = KN_F64, .f = 3};
        kn_push(&w.arena, &w.k->scalars, ((kn_scalar_param){.dtype = KN_F64, .name = "three"}));
        phase(&w, KN_WALK_FLAT, 2, 0, S(a, b), 1);
        int lx = load(&w, KN_ELEMENT, x, S(-b, 1));
        int p = op(&w, KN_OP_MUL, KN_F64, load(&w, KN_ELEMENT, row, S(0, 1)),
                   load(&w, KN_ELEMENT, column, S(1, 0)), 0);
        int sc = value(&w, (kn_value){.kind = KN_V_SCALAR, .dtype = KN_F64});
        int out = op(&w, KN_OP_ADD, KN_F64, op(&w, KN_OP_ADD, KN_F64, lx, p, 0), sc, 0);
        store(&w, KN_STORE_ELEMENT, out, y, S(b, 1), 0);
        store(&w, KN_STORE_ELEMENT, out, first, S(1, 0), 2);
        check(&w, "flat");
        const double *px = w.data[x], *pr = w.data[row], *pc = w.data[column], *py = w.data[y];
        for (int64_t j = 0; j < a * b; j++)
            assert_true(py[j] == px[(a - 1 - j / b) * b + j % b] + pr[j % b] * pc[j / b] + 3);
        world_finish(&w);
    }
}

/* y[o, i, j] = x[o, i, j] + t[o, j, i] + row[j], stored also with i and j exchanged: whole and partial tiles, at
 * every width, and shapes that are too narrow for any. */
static void transposed(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{1, 16, 16}, {2, 33, 65},  {3, 64, 17}, {1, 31, 100},
                                        {1, 15, 40}, {2, 200, 16}, {0, 32, 32}, {2, 32, 0}};
    static const kn_dtype types[] = {KN_I8, KN_I16, KN_F32, KN_F64};
    for (size_t n = 0; n < sizeof shapes / sizeof *shapes * 4; n++) {
        kn_dtype type = types[n % 4];
        int64_t o = shapes[n / 4][0], a = shapes[n / 4][1], b = shapes[n / 4][2];
        world w;
        world_init(&w);
        int x = buffer(&w, KN_BUF_INPUT, type, o * a * b, 0);
        int t = buffer(&w, KN_BUF_INPUT, type, o * a * b, 0);
        int row = buffer(&w, KN_BUF_INPUT, type, b, 0);
        int y = buffer(&w, KN_BUF_OUTPUT, type, o * a * b, 0);
        int z = buffer(&w, KN_BUF_OUTPUT, type, o * a * b, 0);
        phase(&w, KN_WALK_FLAT, 3, 0, S(o, a, b), 1);
        int lx = load(&w, KN_ELEMENT, x, S(a * b, b, 1));
        int lt = load(&w, KN_ELEMENT, t, S(a * b, 1, a));
        int out = op(&w, KN_OP_ADD, type, op(&w, KN_OP_ADD, type, lx, lt, 0),
                     load(&w, KN_ELEMENT, row, S(0, 0, 1)), 0);
        store(&w, KN_STORE_ELEMENT, out, y, S(a * b, b, 1), 0);
        store(&w, KN_STORE_ELEMENT, out, z, S(a * b, 1, a), 0);
        check(&w, "transposed");
        world_finish(&w);
    }
}

/* Column sums of [M, G], and the largest; then split, with a second phase that adds the parts. */
static void cols(void **state)
{
    (void)state;
    static const int64_t shapes[][2] = {{7, 1025}, {1023, 7}, {700, 3},
                                        {0, 9},    {5, 0},    {300, 2100}};
    for (size_t i = 0; i < 2 * sizeof shapes / sizeof *shapes; i++) {
        int64_t m = shapes[i / 2][0], g = shapes[i / 2][1], splits = i % 2 ? 4 : 1;
        int64_t chunk = splits > 1 ? (m + splits) / splits : m;
        world w;
        world_init(&w);
        int x = buffer(&w, KN_BUF_INPUT, KN_I64, m * g, 0);
        int part = buffer(&w, KN_BUF_TEMP, KN_I64, splits * g, 0);
        int y = buffer(&w, KN_BUF_OUTPUT, KN_I64, g, 0);
        phase(&w, KN_WALK_COLS, 2, 1, S(g, m), 1);
        int sum = reduce(&w, KN_OP_SUM, load(&w, KN_ELEMENT, x, S(1, g)));
        if (splits == 1) {
            store(&w, KN_STORE_GROUP, result(&w, sum), y, S(1, 0), 0);
        } else {
            last_phase(&w)->how.split = true;
            last_phase(&w)->num.splits = splits;
            last_phase(&w)->num.chunk = chunk;
            store(&w, KN_STORE_PARTIAL, sum, part, S(1, 0), 0);
            last_phase(&w)->nest.stores.data[0].access.split_stride = g;
            phase(&w, KN_WALK_COLS, 2, 1, S(g, splits), 1);
            last_phase(&w)->barrier = true;
            sum = reduce(&w, KN_OP_SUM, load(&w, KN_ELEMENT, part, S(1, g)));
            store(&w, KN_STORE_GROUP, result(&w, sum), y, S(1, 0), 0);
        }
        check(&w, "cols");
        const int64_t *px = w.data[x], *py = w.data[y];
        for (int64_t j = 0; j < g; j++) {
            int64_t want = 0;
            for (int64_t k = 0; k < m; k++)
                want += px[k * g + j];
            assert_int_equal(py[j], want);
        }
        world_finish(&w);
    }
}

/* An output that is exactly an input: both stores see the values from before. */
static void in_place(void **state)
{
    (void)state;
    enum { N = 5000 };
    world w;
    world_init(&w);
    w.k->disjoint = false;
    int x = buffer(&w, KN_BUF_INPUT, KN_I32, N, 0);
    int y = buffer(&w, KN_BUF_OUTPUT, KN_I32, 0, 0);
    int z = buffer(&w, KN_BUF_OUTPUT, KN_I32, N, 0);
    w.bufs[y] = w.bufs[x];
    int32_t *p = w.data[x], before[N];
    memcpy(before, p, sizeof before);
    phase(&w, KN_WALK_FLAT, 1, 0, S(N), 1);
    int lx = load(&w, KN_ELEMENT, x, S(1));
    store(&w, KN_STORE_ELEMENT, op(&w, KN_OP_NEG, KN_I32, lx, 0, 0), y, S(1), 0);
    store(&w, KN_STORE_ELEMENT, lx, z, S(1), 0);
    run_on(devices[1], &w);
    for (int i = 0; i < N; i++) {
        assert_int_equal(p[i], -before[i]);
        assert_int_equal(((int32_t *)w.data[z])[i], before[i]);
    }
    world_finish(&w);
}

/* ---- the device ---- */

static void softmax_like(world *w)
{
    int64_t m = 3000, g = 64;
    int x = buffer(w, KN_BUF_INPUT, KN_F32, m * g, 0),
        y = buffer(w, KN_BUF_OUTPUT, KN_F32, m * g, 0);
    phase(w, KN_WALK_ROWS, 2, 1, S(g, m), 2);
    int e = op(w, KN_OP_EXP, KN_F32, load(w, KN_ELEMENT, x, S(m, 1)), 0, 0);
    int s = result(w, reduce(w, KN_OP_SUM, e));
    store(w, KN_STORE_ELEMENT, op(w, KN_OP_DIV, KN_F32, e, s, 0), y, S(m, 1), 0);
}

static void *caller(void *arg)
{
    world *w = arg;
    for (int i = 0; i < 20; i++)
        run_on(devices[2], w);
    return NULL;
}

/* Sums that are not exact are the same for every number of threads and callers. */
static void threads(void **state)
{
    (void)state;
    world w[4];
    pthread_t id[4];
    for (int i = 0; i < 4; i++) {
        world_init(&w[i]);
        softmax_like(&w[i]);
        run_on(devices[0], &w[i]);
    }
    void *want = malloc(w[0].bytes[1]);
    memcpy(want, w[0].data[1], w[0].bytes[1]);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&id[i], NULL, caller, &w[i]), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(id[i], NULL);
        assert_memory_equal(w[i].data[1], want, w[i].bytes[1]);
        world_finish(&w[i]);
    }
    free(want);
}

static kn_status nothing(void *ctx)
{
    *(int *)ctx += 1;
    return KN_OK;
}

static void memory(void **state)
{
    (void)state;
    kn_device *dev = devices[1];
    const kn_device_ops *ops = dev->ops;
    void *p, *q;
    assert_int_equal(ops->alloc(dev, 0, &p), KN_OK);
    assert_non_null(p);
    assert_int_equal(ops->alloc(dev, 100, &q), KN_OK);
    assert_int_equal((uintptr_t)p % 64, 0);
    assert_int_equal((uintptr_t)q % 64, 0);
    char text[100] = "kiln", back[100] = "";
    assert_int_equal(ops->upload(dev, q, text, sizeof text), KN_OK);
    assert_int_equal(ops->download(dev, back, q, sizeof back), KN_OK);
    assert_string_equal(back, "kiln");
    assert_int_equal(ops->zero(dev, q, 100, NULL), KN_OK);
    assert_int_equal(*(char *)q, 0);
    assert_int_equal(ops->copy(dev, q, text, 0, NULL), KN_OK);
    assert_int_equal(ops->sync(dev, NULL), KN_OK);
    ops->release(dev, p);
    ops->release(dev, NULL);
    ops->release(dev, q);
    assert_int_equal(ops->alloc(dev, SIZE_MAX, &p), KN_MEMORY);
    assert_string_equal(ops->target(dev)->kind, "cpu");
    assert_int_equal(ops->target(dev)->units, 2);
    int calls = 0;
    double us = -1;
    assert_int_equal(ops->time(dev, NULL, nothing, &calls, &us), KN_OK);
    assert_int_equal(calls, 1);
    assert_true(us >= 0);
    assert_true(dev->launches > 0 && dev->compiles > 0);
}

static int units_of_new(void)
{
    kn_device *dev;
    assert_int_equal(kn_cpu_device.open(&(kn_device_config){0}, &dev), KN_OK);
    int units = kn_cpu_device.target(dev)->units;
    kn_cpu_device.close(dev);
    return units;
}

/* As many threads as cores that the caller may run on. */
static void affinity(void **state)
{
    cpu_set_t all, one;
    size_t first = 0;
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    assert_int_equal(units_of_new(), CPU_COUNT(&all));
    while (!CPU_ISSET(first, &all))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(units_of_new(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

/* A type error of the kernel's is a status, not a crash. */
static void refused(void **state)
{
    (void)state;
    world w;
    world_init(&w);
    phase(&w, KN_WALK_FLAT, 1, 0, S(4), 1);
    int x = load(&w, KN_ELEMENT, buffer(&w, KN_BUF_INPUT, KN_I32, 4, 0), S(1));
    int y = buffer(&w, KN_BUF_OUTPUT, KN_I32, 4, 0);
    store(&w, KN_STORE_ELEMENT, op(&w, KN_OP_SQRT, KN_I32, x, 0, 0), y, S(1), 0);
    kn_code *code;
    assert_int_equal(kn_cpu_device.prepare(devices[0], w.k, &code), KN_INTERNAL);
    assert_non_null(strstr(kn_last_error(), "sqrt"));
    world_finish(&w);
}

int main(void)
{
    if (open_devices())
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows),       cmocka_unit_test(flat),     cmocka_unit_test(cols),
        cmocka_unit_test(transposed), cmocka_unit_test(in_place), cmocka_unit_test(threads),
        cmocka_unit_test(memory),     cmocka_unit_test(affinity), cmocka_unit_test(refused),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    close_devices();
    return failed;
}
