/* An allocator that gives so much and no more, for tests of memory that runs out; and that counts what it has not
 * back. */
#ifndef KN_TESTS_RATIONS_H
#define KN_TESTS_RATIONS_H

#include <stdbool.h>
#include <stdlib.h>

typedef struct rations {
    long left, live; /* allocations that it still gives; that nobody has released */
    bool denied;
} rations;

static inline void *ration(void *user, size_t size)
{
    rations *r = user;
    if (r->left-- <= 0) {
        r->denied = true;
        return NULL;
    }
    r->live++;
    return malloc(size ? size : 1);
}

static inline void unration(void *user, void *ptr)
{
    rations *r = user;
    r->live -= ptr != NULL;
    free(ptr);
}

#endif
