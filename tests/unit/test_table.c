/* base/table: against a plain list, through many additions and removals, and without memory; base/finder: each member is
 * found by its hash, among others of the same one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/finder.h"
#include "base/table.h"

enum { KEYS = 500, STEPS = 20000 };

static char keys[KEYS][12];

static void check(const kn_table *t, const bool *there)
{
    size_t n = 0, seen = 0, at = 0;
    for (size_t i = 0; i < KEYS; i++) {
        assert_ptr_equal(kn_table_find(t, keys[i], strlen(keys[i])), there[i] ? keys[i] : NULL);
        n += (size_t)there[i];
    }
    for (char *v; (v = kn_table_next(t, &at)); seen++)
        assert_true(there[(v - keys[0]) / (ptrdiff_t)sizeof keys[0]]);
    assert_int_equal(seen, n);
}

static void test_against_list(void **state)
{
    (void)state;
    bool there[KEYS] = {false};
    uint32_t random = 1;
    kn_table t;
    kn_table_init(&t, &kn_malloc_allocator);
    for (size_t i = 0; i < KEYS; i++)
        snprintf(keys[i], sizeof keys[i], "key %zu", i);
    for (int step = 0; step < STEPS; step++) {
        random = random * 1664525u + 1013904223u;
        size_t i = (random >> 8) % KEYS;
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

static void *no_memory(void *user, size_t size)
{
    long *left = user;
    return (*left)-- > 0 ? malloc(size) : NULL;
}

static void give_back(void *user, void *p)
{
    (void)user;
    free(p);
}

static void test_no_memory(void **state)
{
    (void)state;
    long left = 1;
    const kn_allocator from = {no_memory, give_back, &left};
    bool there[KEYS] = {false};
    kn_table t;
    kn_table_init(&t, &from);
    size_t added = 0;
    while (kn_table_add(&t, keys[added], strlen(keys[added]), keys[added]) == KN_OK)
        there[added++] = true;
    assert_true(added > 0 && added < KEYS);
    assert_int_equal(kn_last_status(), KN_MEMORY);
    check(&t, there);
    kn_table_finish(&t);
}

static void test_finder(void **state)
{
    (void)state;
    enum { MEMBERS = 1000, HASHES = 37 };
    kn_arena a;
    kn_finder f = {0};
    uint32_t probe = 0;
    kn_arena_init(&a, NULL);
    assert_int_equal(kn_finder_next(&f, 1, &probe), -1);
    for (int i = 0; i < MEMBERS; i++)
        kn_finder_add(&a, &f, (uint64_t)(i % HASHES) * 0x9e3779b97f4a7c15u, i);
    int seen[MEMBERS] = {0};
    for (int h = 0; h < HASHES; h++) {
        probe = 0;
        for (int i; (i = kn_finder_next(&f, (uint64_t)h * 0x9e3779b97f4a7c15u, &probe)) >= 0;) {
            assert_int_equal(i % HASHES, h);
            seen[i]++;
        }
    }
    for (int i = 0; i < MEMBERS; i++)
        assert_int_equal(seen[i], 1);
    kn_arena_finish(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_list),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_finder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
