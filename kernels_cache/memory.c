#include "kernels_cache/memory.h"

#include <string.h>

void kn_memory_cache_init(kn_memory_cache *c, const kn_allocator *from)
{
    kn_arena_init(&c->arena, from);
    kn_table_init(&c->entries, from);
}

void kn_memory_cache_finish(kn_memory_cache *c, void (*discard)(void *ctx, void *value), void *ctx)
{
    void *value;
    for (const kn_table_entry *at = NULL; (value = kn_table_next(&c->entries, &at));)
        discard(ctx, value);
    kn_table_finish(&c->entries);
    kn_arena_finish(&c->arena);
}

void *kn_memory_cache_find(const kn_memory_cache *c, const char *key)
{
    return kn_table_find(&c->entries, key, strlen(key));
}

typedef struct addition {
    kn_memory_cache *cache;
    const char *key;
    void *value;
} addition;

static kn_status add(void *ctx)
{
    addition *ad = ctx;
    const char *key = kn_strdup(&ad->cache->arena, ad->key);
    return kn_table_add(&ad->cache->entries, key, strlen(key), ad->value);
}

kn_status kn_memory_cache_add(kn_memory_cache *c, const char *key, void *value)
{
    addition ad = {c, key, value};
    return kn_protect(&c->arena, add, &ad);
}
