/* Arenas: back to a mark, over chunks of their own and space that was given. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"

/* Work of many chunks from here on, and back: the next allocation takes the same place, zeroed, and what was there
 * before is as it was. */
static void go_and_come_back(kn_arena *a)
{
    int *kept = KN_NEW(a, int);
    *kept = 42;
    kn_arena_mark here = kn_arena_here(a);
    char *first = kn_alloc(a, 16);
    first[0] = 1;
    for (int i = 0; i < 100; i++)
        KN_NEW_ARRAY(a, char, 1 << (i % 18));
    kn_arena_back(a, here);
    assert_int_equal(*kept, 42);
    assert_ptr_equal(a->chunks, here.chunks);
    char *again = kn_alloc(a, 16);
    assert_ptr_equal(again, first);
    assert_int_equal(again[0], 0);
}

static void test_back(void **state)
{
    (void)state;
    kn_arena a;
    kn_arena_init(&a, NULL);
    KN_NEW_ARRAY(&a, char, 100);
    go_and_come_back(&a);
    go_and_come_back(&a);
    kn_arena_finish(&a);
}

static void test_back_to_given_space(void **state)
{
    (void)state;
    _Alignas(16) char space[256];
    kn_arena a;
    kn_arena_init_in(&a, NULL, space, sizeof space);
    go_and_come_back(&a);
    assert_null(a.chunks);
    kn_arena_finish(&a);
}

static int chunks_made;

static void *count_chunks(void *user, size_t size)
{
    chunks_made++;
    return kn_malloc_allocator.alloc(user, size);
}

/* What it went back from is used again before more is asked for. */
static void test_back_and_again(void **state)
{
    (void)state;
    const kn_allocator counting = {count_chunks, kn_malloc_allocator.release, NULL};
    kn_arena a;
    kn_arena_init(&a, &counting);
    KN_NEW(&a, int);
    const kn_arena_mark here = kn_arena_here(&a);
    int made = 0;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 100; i++)
            KN_NEW_ARRAY(&a, char, 1000);
        made = round ? made : chunks_made;
        kn_arena_back(&a, here);
    }
    assert_true(made > 2);
    assert_int_equal(chunks_made, made);
    kn_arena_finish(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_back),
                                       cmocka_unit_test(test_back_to_given_space),
                                       cmocka_unit_test(test_back_and_again)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
