/* How phases are cut for threads (codegen/emit/c/cut.h): ranges cover all members and none twice, and where there are more
 * tasks than threads, each thread has as many, of as many units, but for the last. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "codegen/emit/c/cut.h"
#include "tests/random.h"

enum { CUTS = 200000 };

static int64_t below(uint64_t *seed, int64_t end)
{
    return (int64_t)(random_64(seed) % (uint64_t)end);
}

static kn_c_shape rows_of(int work, int divisible)
{
    return (kn_c_shape){.divisible = divisible,
                        .row_lanes = 1024,
                        .col_lanes = 1024,
                        .work = work,
                        .moved = 4,
                        .run_rows = 256,
                        .run_whole = 256,
                        .run_cols = 256};
}

static kn_c_cut cut_of(const kn_c_shape *s, int cols, int64_t groups, int64_t members, int threads)
{
    const kn_c_extents e = {.groups = groups,
                            .members = members,
                            .tiles = -1,
                            .stream = KN_STREAM_BYTES,
                            .threads = threads};
    return kn_cut(s, cols, &e);
}

static int64_t tasks_of(const kn_c_cut *c) { return kn_ceiling(c->units, c->per_task); }

/* Small loops whose threads had 62 rows and 3, 12288 elements and 4096, 2048 columns and 1251. */
static void test_small_loops(void **state)
{
    (void)state;
    kn_c_shape s = rows_of(8, 0);
    kn_c_cut c = cut_of(&s, 0, 65, 129, 2);
    assert_int_equal(c.per_task, 17);
    assert_int_equal(tasks_of(&c), 4);
    s = rows_of(4, 1);
    c = cut_of(&s, 0, 1, 16384, 2);
    assert_int_equal(c.part, 2048);
    assert_int_equal(c.per_task, 2);
    c = cut_of(&s, 0, 1, 10240, 2);
    assert_int_equal(c.part, 1280);
    assert_int_equal(tasks_of(&c), 2);
    s = rows_of(2, 0);
    c = cut_of(&s, 1, 3299, 80, 2);
    assert_int_equal(c.most, 832);
    assert_int_equal(tasks_of(&c), 4);
}

/* A thread has no more units than where they are even, but for less than one a task. */
static void check_even(const kn_c_cut *c, int threads)
{
    const int64_t tasks = tasks_of(c), each = kn_ceiling(tasks, threads);
    assert_true(c->per_task >= 1 && (!c->several || tasks > 1));
    if (tasks > threads)
        assert_true(each * c->per_task <= kn_ceiling(c->units, threads) + 2 * KN_TASKS_A_THREAD);
}

static void test_any(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < CUTS; i++) {
        const int threads = 1 + (int)below(&seed, 16), cols = (int)below(&seed, 2);
        const int64_t groups = 1 + below(&seed, 1 + below(&seed, 100000)),
                      members = 1 + below(&seed, 1 + below(&seed, 100000));
        const kn_c_shape s = rows_of(1 + (int)below(&seed, 20), (int)below(&seed, 2));
        const kn_c_cut c = cut_of(&s, cols, groups, members, threads);
        assert_true((c.parts - 1) * c.part < members && c.parts * c.part >= members);
        const int64_t blocks = cols ? kn_ceiling(groups, c.most) : groups;
        assert_int_equal(c.units, blocks * c.parts);
        check_even(&c, threads);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_small_loops),
                                       cmocka_unit_test(test_any)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
