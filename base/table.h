/* A hash table from byte strings to pointers. Keys are compared in full and belong to the caller: they
 * stay as they are, and where they are, while they are in the table. Not locked: the owner is. */
#ifndef KN_BASE_TABLE_H
#define KN_BASE_TABLE_H

#include "base/arena.h"

typedef struct kn_table_entry {
    uint64_t hash;
    const void *key; /* NULL: an empty place */
    size_t size;
    void *value;
} kn_table_entry;

typedef struct kn_table {
    kn_allocator from;
    kn_table_entry *entries; /* open addressing: an entry is at its hash's place or after it */
    size_t places, count;    /* places: a power of two, or 0 */
} kn_table;

void kn_table_init(kn_table *t, const kn_allocator *from);
void kn_table_finish(kn_table *t);

/* NULL when the key is not there. */
void *kn_table_find(const kn_table *t, const void *key, size_t size);
/* The key must not be there yet; value is not NULL. MEMORY leaves the table as it was. */
kn_status kn_table_add(kn_table *t, const void *key, size_t size, void *value);
/* Nothing when the key is not there. */
void kn_table_remove(kn_table *t, const void *key, size_t size);
/* Every value, in no order: start with *at = 0; NULL after the last. */
void *kn_table_next(const kn_table *t, size_t *at);

#endif
