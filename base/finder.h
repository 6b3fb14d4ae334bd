/* Finds members of a growing list by their hashes. Only candidates: the caller compares. Arena memory. */
#ifndef KN_BASE_FINDER_H
#define KN_BASE_FINDER_H

#include "base/arena.h"

typedef struct kn_finder_entry {
    uint32_t hash;
    int32_t after; /* 1 + the place in the list; 0: empty */
} kn_finder_entry;

typedef struct kn_finder {
    kn_finder_entry *entries; /* open addressing: an entry is at its hash's place or after it */
    uint32_t places, count;   /* places: a power of two, or 0 */
} kn_finder;

/* The list's member `at` has this hash. A member may have several. */
void kn_finder_add(kn_arena *a, kn_finder *ix, uint64_t hash, int at);
/* The members that may have this hash, one a call: start with *probe = 0; -1 after the last. */
int kn_finder_next(const kn_finder *ix, uint64_t hash, uint32_t *probe);

#endif
