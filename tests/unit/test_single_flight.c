/* Threads that run programs at once: a kernel is compiled by one of them, and four are compiled at a time. On a device that
 * takes kernels and runs none. */
#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "bench/null_device.h"
#include "tests/device.h"

enum { THREADS = 8 };

/* Compiles at a time. Each waits until there have been `meet` of them at once. */
typedef struct crowd {
    int now, most, meet;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool fail;
} crowd;

static kn_status slow_compile(null_device *dev, const kn_kernel *kernel)
{
    crowd *c = dev->user;
    (void)kernel;
    pthread_mutex_lock(&c->lock);
    c->most = ++c->now > c->most ? c->now : c->most;
    pthread_cond_broadcast(&c->changed);
    struct timespec late;
    clock_gettime(CLOCK_REALTIME, &late);
    late.tv_sec += 60;
    while (c->most < c->meet && pthread_cond_timedwait(&c->changed, &c->lock, &late) != ETIMEDOUT) {
    }
    pthread_mutex_unlock(&c->lock);
    usleep(20000);
    pthread_mutex_lock(&c->lock);
    c->now--;
    pthread_mutex_unlock(&c->lock);
    return c->fail ? kn_fail(KN_COMPILE, "refused") : KN_OK;
}

typedef struct runner {
    kiln_prog *prog;
    kiln_status status;
    char message[32];
} runner;

static void *run_one(void *user)
{
    runner *r = user;
    const int64_t shape[] = {300, 500};
    kiln_arg args[] = {{"x", (void *)(uintptr_t)0x10000000000, KILN_F32, 2, shape, NULL},
                       {"y", (void *)(uintptr_t)0x20000000000, KILN_F32, 2, shape, NULL}};
    r->status = kiln_run(r->prog, NULL, args, 2);
    snprintf(r->message, sizeof r->message, "%s", kiln_last_error());
    return NULL;
}

static void run_together(runner *runners)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_one, &runners[i]), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static const char softmax[] = "def softmax(x: f32[N, C]):\n"
                              "    e = exp(x - max(x, axis=1, keepdims=True))\n"
                              "    y = e / sum(e, axis=1, keepdims=True)\n"
                              "    return y\n";

static void test_single_flight(void **state)
{
    (void)state;
    crowd c = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    runner runners[THREADS];
    null_context n;
    null_open(&n, &kn_malloc_allocator);
    n.dev.compile = slow_compile;
    n.dev.user = &c;

    /* one program by all */
    kiln_prog *p = compile(&n.ctx, softmax);
    for (int i = 0; i < THREADS; i++)
        runners[i].prog = p;
    run_together(runners);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(runners[i].status, KILN_OK);
    assert_int_equal(n.dev.base.compiles, 1);
    assert_int_equal(c.most, 1);
    kiln_prog_destroy(p);

    /* a program each: different kernels side by side, but not all */
    char text[256];
    for (int i = 0; i < THREADS; i++) {
        snprintf(text, sizeof text, "def f%d(x: f32[N, C]):\n    y = x + %d\n    return y\n", i, i);
        runners[i].prog = compile(&n.ctx, text);
    }
    c.meet = KN_MAX_COMPILES;
    run_together(runners);
    assert_int_equal(n.dev.base.compiles, 1 + THREADS);
    assert_int_equal(c.most, KN_MAX_COMPILES);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(runners[i].status, KILN_OK);
        kiln_prog_destroy(runners[i].prog);
    }

    /* a compile that fails fails for all, each with its message, and can be tried again */
    p = compile(&n.ctx, "def g(x: f32[N, C]):\n    y = x * 7\n    return y\n");
    c.fail = true;
    for (int i = 0; i < THREADS; i++)
        runners[i].prog = p;
    run_together(runners);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(runners[i].status, KILN_ERR_COMPILE);
        assert_string_equal(runners[i].message, "refused");
    }
    c.fail = false;
    run_one(&runners[0]);
    assert_int_equal(runners[0].status, KILN_OK);
    kiln_prog_destroy(p);
    null_close(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_single_flight)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
