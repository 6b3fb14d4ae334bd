/* The CPU device's pool (runtime/cpu/pool.h): each task of a loop runs once, whether threads sleep, come late, or take each
 * other's tasks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "runtime/cpu/pool.h"
#include "tests/effort.h"
#include "tests/random.h"

enum { LOOPS = EFFORT(20000, 1000), MOST = 40, NOW_AND_THEN = 500 };

typedef struct loop {
    int runs[MOST];
    bool slow;
} loop;

static void sleep_us(long us) { nanosleep(&(struct timespec){.tv_nsec = 1000 * us}, NULL); }

static void task(void *ctx, int64_t i, void *scratch)
{
    loop *l = ctx;
    *(char *)scratch = (char)i;
    __atomic_add_fetch(&l->runs[i], 1, __ATOMIC_RELAXED);
    if (l->slow && i % 3 == 0)
        sleep_us(100);
}

static void run_loops(int threads)
{
    kn_pool *pool;
    assert_int_equal(kn_pool_open(&kn_malloc_allocator, threads, &pool), KN_OK);
    void *mine = kn_pool_borrow(pool, 64);
    assert_non_null(mine);
    uint64_t seed = 1;
    for (int i = 0; i < LOOPS; i++) {
        loop l = {.slow = i % NOW_AND_THEN == 0};
        const int tasks = 1 + (int)(random_64(&seed) >> 33) % MOST;
        assert_int_equal(kn_pool_run(pool, tasks, 64, mine, task, &l), KN_OK);
        for (int k = 0; k < MOST; k++)
            assert_int_equal(l.runs[k], k < tasks);
        if (i % NOW_AND_THEN == 1)
            sleep_us(200); /* helpers fall asleep */
    }
    kn_pool_return(pool, mine);
    kn_pool_close(pool);
}

static void test_each_task_once(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 8; threads += threads < 4 ? 1 : 4)
        run_loops(threads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_task_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
