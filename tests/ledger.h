/* An allocator that counts, for tests of how much memory there is at a time. */
#ifndef KN_TESTS_LEDGER_H
#define KN_TESTS_LEDGER_H

#include <stdlib.h>

#include "base/arena.h"

typedef struct ledger {
    size_t live, most; /* bytes; the most of one thread that allocates */
    long calls;
} ledger;

static inline void *counted(void *user, size_t size)
{
    ledger *l = user;
    size_t *p = malloc(size + 16);
    *p = size;
    const size_t live = __atomic_add_fetch(&l->live, size, __ATOMIC_RELAXED);
    if (live > __atomic_load_n(&l->most, __ATOMIC_RELAXED))
        __atomic_store_n(&l->most, live, __ATOMIC_RELAXED);
    __atomic_add_fetch(&l->calls, 1, __ATOMIC_RELAXED);
    return p + 2;
}

static inline void uncounted(void *user, void *ptr)
{
    ledger *l = user;
    if (!ptr)
        return;
    size_t *p = (size_t *)ptr - 2;
    __atomic_sub_fetch(&l->live, *p, __ATOMIC_RELAXED);
    free(p);
}

#endif
