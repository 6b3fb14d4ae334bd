/* The application's signals are its own threads' affair: no thread of the library's takes one. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "tests/unit/api.h"

enum { N = 100000 };

static _Thread_local bool is_main;
static atomic_int by_main, by_others;

static void take(int number)
{
    (void)number;
    atomic_fetch_add(is_main ? &by_main : &by_others, 1);
}

/* While the main thread blocks a signal, one to the process goes to any other thread that does not: to none. */
static void on_device(const char *device, int64_t n)
{
    static float x[N], y[N];
    sigset_t usr, before, pending;
    kiln_ctx *c;
    kiln_config config;
    kiln_config_init(&config);
    config.device = device;
    config.threads = 4;
    is_main = true;
    atomic_store(&by_main, 0);
    assert_true(signal(SIGUSR1, take) != SIG_ERR);
    sigemptyset(&usr);
    sigaddset(&usr, SIGUSR1);
    good(kiln_ctx_create(&config, &c));
    kiln_prog *p = compile(c, "def f(x: f32[N]):\n    y = exp(x) + sum(x)\n    return y\n");
    good(run_vector(p, NULL, x, y, n)); /* the helpers are there */

    assert_int_equal(pthread_sigmask(SIG_BLOCK, &usr, &before), 0);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(kill(getpid(), SIGUSR1), 0);
        good(run_vector(p, NULL, x, y, n));
    }
    assert_int_equal(sigpending(&pending), 0);
    assert_true(sigismember(&pending, SIGUSR1));
    assert_int_equal(by_main, 0);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
    assert_int_equal(by_main, 1);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(kill(getpid(), SIGUSR1), 0);
        good(run_vector(p, NULL, x, y, n));
    }
    assert_true(by_main > 1);
    assert_int_equal(by_others, 0);
    kiln_prog_destroy(p);
    kiln_ctx_destroy(c);
    signal(SIGUSR1, SIG_DFL);
}

static void test_cpu(void **state)
{
    (void)state;
    on_device("cpu", N);
}

static void test_emu(void **state)
{
    (void)state;
    on_device("emu", N / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cpu), cmocka_unit_test(test_emu)};
    return cmocka_run_group_tests_name("signals", tests, NULL, NULL);
}
