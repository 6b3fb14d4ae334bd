/* base/table: tables against a plain list, through many additions and removals; finders, whose members are found by
 * their hashes among others of the same one; both without memory. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/table.h"
#include "tests/random.h"
#include "tests/rations.h"

enum { KEYS = 500, STEPS = 20000 };

static char keys[KEYS][12];

static void name_keys(void)
{
    for (size_t i = 0; i < KEYS; i++)
        snprintf(keys[i], sizeof keys[i], "key %zu", i);
}

static void check(const kn_table *t, const bool *there)
{
    size_t n = 0, seen = 0;
    const kn_table_entry *at = NULL;
    for (size_t i = 0; i < KEYS; i++) {
        assert_ptr_equal(kn_table_find(t, keys[i], strlen(keys[i])), there[i] ? keys[i] : NULL);
        n += (size_t)there[i];
    }
    for (char *v; (v = kn_table_next(t, &at)); seen++)
        assert_true(there[(v - keys[0]) / (ptrdiff_t)sizeof keys[0]]);
    assert_int_equal(seen, n);
    assert_int_equal(kn_table_count(t), n);
}

static void test_against_list(void **state)
{
    (void)state;
    bool there[KEYS] = {false};
    uint32_t random = 1;
    kn_table t;
    kn_table_init(&t, &kn_malloc_allocator);
    name_keys();
    for (int step = 0; step < STEPS; step++) {
        size_t i = (random_32(&random) >> 8) % KEYS;
        if (there[i])
            kn_table_remove(&t, keys[i], strlen(keys[i]));
        else
            assert_int_equal(kn_table_add(&t, keys[i], strlen(keys[i]), keys[i]), KN_OK);
        there[i] = !there[i];
        if (step % 500 == 0)
            check(&t, there);
    }
    check(&t, there);
    kn_table_remove(&t, "absent", 6);
    check(&t, there);
    kn_table_finish(&t);
}

/* Each allocation in turn fails: the addition is refused, what was there is there, and the next one that has memory is
 * made. */
static void test_no_memory(void **state)
{
    (void)state;
    name_keys();
    long failures = 0;
    for (long fail = 0, most = 1; fail < most; fail++) {
        rations memory = {.left = fail};
        const kn_allocator from = {ration, unration, &memory};
        bool there[KEYS] = {false};
        kn_table t;
        kn_table_init(&t, &from);
        for (size_t i = 0; i < KEYS; i++) {
            kn_status status = kn_table_add(&t, keys[i], strlen(keys[i]), keys[i]);
            if (status != KN_OK) {
                assert_int_equal(status, KN_MEMORY);
                assert_int_equal(kn_last_status(), KN_MEMORY);
                check(&t, there);
                failures++;
                memory.left = LONG_MAX;
                status = kn_table_add(&t, keys[i], strlen(keys[i]), keys[i]);
            }
            assert_int_equal(status, KN_OK);
            there[i] = true;
        }
        check(&t, there);
        most = memory.live + 16; /* and the tables of buckets that it outgrew */
        for (size_t i = 0; i < KEYS; i += 2) {
            kn_table_remove(&t, keys[i], strlen(keys[i]));
            there[i] = false;
        }
        check(&t, there);
        kn_table_finish(&t);
        assert_int_equal(memory.live, 0);
    }
    assert_true(failures > KEYS);
}

/* An emptied table has no memory, and is filled again. */
static void test_emptied(void **state)
{
    (void)state;
    name_keys();
    rations memory = {.left = LONG_MAX};
    const kn_allocator from = {ration, unration, &memory};
    const bool none[KEYS] = {false};
    kn_table t;
    kn_table_init(&t, &from);
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < KEYS; i++)
            assert_int_equal(kn_table_add(&t, keys[i], strlen(keys[i]), keys[i]), KN_OK);
        for (size_t i = KEYS; i-- > 0;)
            kn_table_remove(&t, keys[i], strlen(keys[i]));
        check(&t, none);
        assert_int_equal(memory.live, 0);
    }
    kn_table_finish(&t);
}

static void test_order(void **state)
{
    (void)state;
    name_keys();
    kn_table t;
    kn_table_init(&t, &kn_malloc_allocator);
    for (size_t i = 0; i < KEYS; i++)
        assert_int_equal(kn_table_add(&t, keys[i], strlen(keys[i]), keys[i]), KN_OK);
    const kn_table_entry *at = NULL;
    for (size_t i = 0; i < KEYS; i++)
        assert_ptr_equal(kn_table_next(&t, &at), keys[i]);
    assert_null(kn_table_next(&t, &at));
    kn_table_finish(&t);
}

/* ---- finders ---- */

enum { MEMBERS = 1000, HASHES = 37 };

static uint64_t hash_of(int member) { return (uint64_t)(member % HASHES) * 0x9e3779b97f4a7c15u; }

/* The first n members are found, each once and in order, and nothing else. */
static void check_finder(const kn_finder *f, int n)
{
    int seen[MEMBERS] = {0};
    for (int h = 0; h < HASHES; h++) {
        for (int i = -1, last = i; (i = kn_finder_next(f, hash_of(h), last)) >= 0; last = i) {
            assert_int_equal(i % HASHES, h);
            assert_true(i > last);
            seen[i]++;
        }
    }
    for (int i = 0; i < MEMBERS; i++)
        assert_int_equal(seen[i], i < n);
}

static void test_finder(void **state)
{
    (void)state;
    kn_arena a;
    kn_finder f = {0};
    kn_arena_init(&a, NULL);
    check_finder(&f, 0);
    for (int i = 0; i < MEMBERS; i++)
        kn_finder_add(&a, &f, hash_of(i), i);
    check_finder(&f, MEMBERS);
    kn_arena_finish(&a);
}

typedef struct growing {
    kn_arena arena;
    kn_finder finder;
    int members;
    bool distinct;
} growing;

static kn_status grow(void *user)
{
    growing *g = user;
    for (; g->members < MEMBERS; g->members++)
        kn_finder_add(&g->arena, &g->finder,
                      g->distinct ? kn_hash(&g->members, sizeof g->members, 0)
                                  : hash_of(g->members),
                      g->members);
    return KN_OK;
}

/* An addition without memory unwinds, and what was there is found. */
static void test_finder_no_memory(void **state)
{
    (void)state;
    int failures = 0;
    kn_status status = KN_MEMORY;
    for (long pieces = 0; status != KN_OK; pieces++) {
        rations memory = {.left = pieces};
        const kn_allocator from = {ration, unration, &memory};
        growing g = {0};
        kn_arena_init(&g.arena, &from);
        status = kn_protect(&g.arena, grow, &g);
        assert_true(status == KN_OK || status == KN_MEMORY);
        check_finder(&g.finder, g.members);
        memory.left = LONG_MAX;
        failures += status != KN_OK;
        assert_int_equal(kn_protect(&g.arena, grow, &g), KN_OK);
        check_finder(&g.finder, MEMBERS);
        kn_arena_finish(&g.arena);
        assert_int_equal(memory.live, 0);
    }
    assert_true(failures > 1);
}

/* What a finder has outgrown stays in the arena: it is less than what it has. */
static void test_finder_memory(void **state)
{
    (void)state;
    growing g = {.distinct = true};
    kn_arena_init(&g.arena, NULL);
    assert_int_equal(kn_protect(&g.arena, grow, &g), KN_OK);
    assert_true(g.arena.used < 48 * MEMBERS);
    kn_arena_finish(&g.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_list),  cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_emptied),       cmocka_unit_test(test_order),
        cmocka_unit_test(test_finder),        cmocka_unit_test(test_finder_no_memory),
        cmocka_unit_test(test_finder_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
