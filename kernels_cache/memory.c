#include "kernels_cache/memory.h"

#include <string.h>

#include "base/hash.h"

#define HASH_FUNCTION(key, len, hash) ((hash) = (unsigned)kn_hash((key), (len), 0))
#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(entry) ((entry)->lost = true)
#include <stdbool.h>
#include <uthash.h>

struct kn_cache_entry {
    const char *key;
    void *value;
    bool lost; /* uthash had no memory for it */
    UT_hash_handle hh;
};

void kn_memory_cache_init(kn_memory_cache *c, const kn_allocator *from)
{
    kn_arena_init(&c->arena, from);
    c->entries = NULL;
}

void kn_memory_cache_finish(kn_memory_cache *c, void (*discard)(void *ctx, void *value), void *ctx)
{
    for (kn_cache_entry *e = c->entries; e; e = e->hh.next)
        discard(ctx, e->value);
    HASH_CLEAR(hh, c->entries);
    kn_arena_finish(&c->arena);
}

void *kn_memory_cache_find(const kn_memory_cache *c, const char *key)
{
    kn_cache_entry *e;
    HASH_FIND(hh, c->entries, key, strlen(key), e);
    return e ? e->value : NULL;
}

typedef struct addition {
    kn_memory_cache *cache;
    const char *key;
    void *value;
} addition;

static kn_status add(void *ctx)
{
    addition *ad = ctx;
    kn_cache_entry *e = KN_NEW(&ad->cache->arena, kn_cache_entry);
    e->key = kn_strdup(&ad->cache->arena, ad->key);
    e->value = ad->value;
    HASH_ADD_KEYPTR(hh, ad->cache->entries, e->key, strlen(e->key), e);
    return e->lost ? kn_fail(KN_MEMORY, "out of memory for the kernel cache") : KN_OK;
}

kn_status kn_memory_cache_add(kn_memory_cache *c, const char *key, void *value)
{
    addition ad = {c, key, value};
    return kn_protect(&c->arena, add, &ad);
}
