#include "base/table.h"

#include <string.h>

#include "base/hash.h"

enum { LEAST_PLACES = 16 };

void kn_table_init(kn_table *t, const kn_allocator *from) { *t = (kn_table){.from = *from}; }

void kn_table_finish(kn_table *t)
{
    if (t->entries)
        t->from.release(t->from.user, t->entries);
    kn_table_init(t, &t->from);
}

/* The key's entry, or the empty place where it would be. The table is never full. */
static kn_table_entry *place(const kn_table *t, uint64_t hash, const void *key, size_t size)
{
    size_t mask = t->places - 1, i = (size_t)hash & mask;
    for (;; i = (i + 1) & mask) {
        kn_table_entry *e = &t->entries[i];
        if (!e->key || (e->hash == hash && e->size == size && memcmp(e->key, key, size) == 0))
            return e;
    }
}

void *kn_table_find(const kn_table *t, const void *key, size_t size)
{
    if (!t->count)
        return NULL;
    const kn_table_entry *e = place(t, kn_hash(key, size, 0), key, size);
    return e->key ? e->value : NULL;
}

static kn_status grow(kn_table *t)
{
    size_t places = t->places ? 2 * t->places : LEAST_PLACES;
    kn_table wider = {.from = t->from, .places = places, .count = t->count};
    wider.entries = t->from.alloc(t->from.user, places * sizeof *wider.entries);
    if (!wider.entries)
        return kn_fail(KN_MEMORY, "out of memory: %zu bytes", places * sizeof *wider.entries);
    memset(wider.entries, 0, places * sizeof *wider.entries);
    for (size_t i = 0; i < t->places; i++) {
        const kn_table_entry *e = &t->entries[i];
        if (e->key)
            *place(&wider, e->hash, e->key, e->size) = *e;
    }
    kn_table_finish(t);
    *t = wider;
    return KN_OK;
}

kn_status kn_table_add(kn_table *t, const void *key, size_t size, void *value)
{
    if (t->count >= t->places / 2)
        KN_TRY(grow(t));
    uint64_t hash = kn_hash(key, size, 0);
    *place(t, hash, key, size) = (kn_table_entry){hash, key, size, value};
    t->count++;
    return KN_OK;
}

void kn_table_remove(kn_table *t, const void *key, size_t size)
{
    if (!t->count)
        return;
    kn_table_entry *e = place(t, kn_hash(key, size, 0), key, size);
    if (!e->key)
        return;
    size_t mask = t->places - 1, hole = (size_t)(e - t->entries);
    t->count--;
    /* What follows without a gap moves up to where a search for it, from its hash's place, finds it. */
    for (size_t i = (hole + 1) & mask; t->entries[i].key; i = (i + 1) & mask) {
        size_t home = (size_t)t->entries[i].hash & mask;
        if (((i - home) & mask) < ((i - hole) & mask))
            continue;
        t->entries[hole] = t->entries[i];
        hole = i;
    }
    t->entries[hole] = (kn_table_entry){0};
}

void *kn_table_next(const kn_table *t, size_t *at)
{
    while (*at < t->places) {
        const kn_table_entry *e = &t->entries[(*at)++];
        if (e->key)
            return e->value;
    }
    return NULL;
}
