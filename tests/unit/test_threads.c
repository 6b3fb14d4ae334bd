/* Threads that share a context and its programs: every result right, and no race for the thread sanitizer to find. */
#include <stdio.h>

#include "bench/null_device.h"
#include "tests/device.h"

enum { THREADS = 8, RUNS = 1000, ROWS = 320, COLUMNS = 7 };

static const char scaled[] = "def scaled(x: f32[N, M], a: f32 = 2):\n"
                             "    y = (x - max(x, axis=1, keepdims=True)) * a\n"
                             "    return y\n";
/* Goes through temporaries. */
static const char centred[] = "def centred(x: f32[N, M]):\n"
                              "    y = x - mean(x, axis=0) - mean(x, axis=1, keepdims=True)\n"
                              "    return y\n";

static float x[ROWS][COLUMNS];

typedef struct worker {
    kiln_ctx *ctx;
    kiln_prog *scaled, *centred;
    bool computes;
    int number;
    char wrong[256]; /* the first thing that was; cmocka's checks belong to the main thread */
} worker;

/* Columns are 0, 1, ...; row i begins at i: the largest is the last, and centring leaves -(all rows' mean). */
static bool right(bool is_scaled, float a, int rows, int i, int j, float got)
{
    float want = is_scaled ? (float)(j - (COLUMNS - 1)) * a
                           : -((float)(rows - 1) / 2 + (float)(COLUMNS - 1) / 2);
    float error = got - want;
    (void)i;
    return error < 1e-3F && error > -1e-3F;
}

static void run_one(worker *w, int n)
{
    static _Thread_local float y[ROWS][COLUMNS];
    bool is_scaled = n % 3 != 0;
    int rows = 1 + (n * 37 + w->number * 11) % ROWS; /* more shapes than a program keeps */
    const int64_t shape[] = {rows, COLUMNS};
    float a = 1 + (float)(n % 5);
    kiln_arg args[] = {{"x", x, KILN_F32, 2, shape, NULL},
                       {"y", y, KILN_F32, 2, shape, NULL},
                       {"a", &a, KILN_F32, 0, NULL, NULL}};
    kiln_prog *p = is_scaled ? w->scaled : w->centred;
    kiln_status status = n % 50 == 49 ? kiln_prepare(p, args, is_scaled ? 3 : 2, NULL)
                                      : kiln_run(p, NULL, args, is_scaled ? 3 : 2);
    if (status != KILN_OK && !w->wrong[0])
        snprintf(w->wrong, sizeof w->wrong, "%s", kiln_last_error());
    if (status != KILN_OK || n % 50 == 49 || !w->computes)
        return;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < COLUMNS; j++)
            if (!right(is_scaled, a, rows, i, j, y[i][j]) && !w->wrong[0])
                snprintf(w->wrong, sizeof w->wrong, "run %d of %d rows: y[%d][%d] is %g", n, rows,
                         i, j, (double)y[i][j]);
}

static void *work(void *user)
{
    worker *w = user;
    for (int n = 0; n < RUNS; n++)
        run_one(w, n);
    kiln_stats stats;
    kiln_stats_init(&stats);
    kiln_ctx_stats(w->ctx, &stats);
    return NULL;
}

static void run_all(kiln_ctx *ctx, bool computes)
{
    static worker workers[THREADS];
    pthread_t threads[THREADS];
    kiln_prog *one = compile(ctx, scaled), *two = compile(ctx, centred);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            x[i][j] = (float)(i + j);
    for (int i = 0; i < THREADS; i++) {
        workers[i] =
            (worker){.ctx = ctx, .scaled = one, .centred = two, .computes = computes, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        assert_string_equal(workers[i].wrong, "");
    kiln_prog_destroy(one);
    kiln_prog_destroy(two);
}

static void test_cpu(void **state)
{
    (void)state;
    kiln_config c;
    kiln_ctx *ctx;
    kiln_config_init(&c);
    c.device = "cpu";
    c.threads = 2;
    assert_int_equal(kiln_ctx_create(&c, &ctx), KILN_OK);
    run_all(ctx, true);
    kiln_ctx_destroy(ctx);
}

/* As a GPU is launched: sources, packed parameters, workspaces of one stream. */
static void test_null(void **state)
{
    (void)state;
    null_context n;
    null_open(&n, &kn_malloc_allocator);
    run_all(&n.ctx, false);
    null_close(&n);
}

/* A context each, at the same time. */
static void *own_context(void *user)
{
    char *wrong = user;
    kiln_config c;
    kiln_ctx *ctx;
    kiln_config_init(&c);
    c.device = "cpu";
    c.threads = 2;
    worker w = {.computes = true};
    if (kiln_ctx_create(&c, &ctx) != KILN_OK) {
        snprintf(wrong, 256, "%s", kiln_last_error());
        return NULL;
    }
    w.ctx = ctx;
    kiln_graph *g[2];
    kiln_prog *p[2];
    for (int i = 0; i < 2; i++) {
        kiln_parse(ctx, i ? centred : scaled, NULL, &g[i]);
        kiln_compile(g[i], NULL, &p[i]);
        kiln_graph_destroy(g[i]);
    }
    w.scaled = p[0];
    w.centred = p[1];
    for (int n = 0; n < RUNS / 10; n++)
        run_one(&w, n);
    kiln_prog_destroy(p[0]);
    kiln_prog_destroy(p[1]);
    kiln_ctx_destroy(ctx);
    memcpy(wrong, w.wrong, 256);
    return NULL;
}

static void test_contexts(void **state)
{
    (void)state;
    static char wrong[THREADS][256];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, own_context, wrong[i]), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        assert_string_equal(wrong[i], "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu),
        cmocka_unit_test(test_null),
        cmocka_unit_test(test_contexts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
