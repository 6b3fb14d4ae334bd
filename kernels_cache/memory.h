/* Values by text, kept in memory.
 *
 * The key is compared in full; entries live until the cache is finished. Not locked: the owner is. */
#ifndef KN_KERNELS_CACHE_MEMORY_H
#define KN_KERNELS_CACHE_MEMORY_H

#include "base/table.h"

typedef struct kn_memory_cache {
    kn_arena arena; /* keys */
    kn_table entries;
} kn_memory_cache;

void kn_memory_cache_init(kn_memory_cache *c, const kn_allocator *from);
/* discard(ctx, value) is called for each value. */
void kn_memory_cache_finish(kn_memory_cache *c, void (*discard)(void *ctx, void *value), void *ctx);

/* NULL when there is none. */
void *kn_memory_cache_find(const kn_memory_cache *c, const char *key);
/* The key is copied. It must not be there yet. MEMORY when it could not be added. */
kn_status kn_memory_cache_add(kn_memory_cache *c, const char *key, void *value);

#endif
