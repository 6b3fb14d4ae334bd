/* Hash tables: uthash, with memory of the owner's. Not locked: the owner is. */
#ifndef KN_BASE_TABLE_H
#define KN_BASE_TABLE_H

#include "base/arena.h"

typedef struct kn_table_entry kn_table_entry;

/* From byte strings to pointers. Keys are compared in full and belong to the caller: they stay as they are, and where
 * they are, while they are in the table. */
typedef struct kn_table {
    kn_allocator from;
    kn_table_entry *entries; /* uthash's list; NULL: the table is empty and has no memory */
} kn_table;

void kn_table_init(kn_table *t, const kn_allocator *from);
void kn_table_finish(kn_table *t);

/* NULL when the key is not there. */
void *kn_table_find(const kn_table *t, const void *key, size_t size);
/* The key must not be there yet; value is not NULL. MEMORY leaves the table as it was. */
kn_status kn_table_add(kn_table *t, const void *key, size_t size, void *value);
/* Nothing when the key is not there. */
void kn_table_remove(kn_table *t, const void *key, size_t size);
size_t kn_table_count(const kn_table *t);
/* Every value, in the order they were added: start with *at = NULL; NULL after the last. */
void *kn_table_next(const kn_table *t, const kn_table_entry **at);

/* Finds members of a growing list by their hashes. Only candidates: the caller compares. Arena memory. */
typedef struct kn_finder {
    struct kn_finder_slot *slots; /* `size` of them, a power of two; at most half are used */
    unsigned size, used;
} kn_finder;

/* The list's member `at` has this hash. A member may have several. */
void kn_finder_add(kn_arena *a, kn_finder *f, uint64_t hash, int at);
/* The first member after `last` that may have this hash, or -1. Before the first is -1. */
int kn_finder_next(const kn_finder *f, uint64_t hash, int last);

#endif
