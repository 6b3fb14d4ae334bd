#include "base/table.h"

#include "base/hash.h"

/* What uthash's macros call where they stand: a kn_allocator `from` is in scope. Where it has no memory they undo what
 * they did, and leave the entry without a table. */
#define uthash_malloc(size) from->alloc(from->user, size)
#define uthash_free(ptr, size) from->release(from->user, ptr)
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct kn_table_entry {
    UT_hash_handle hh; /* first: finders walk a bucket by it */
    union {
        void *value;
        int at;
    };
};

static kn_table_entry *find(kn_table_entry *entries, const void *key, size_t size, uint64_t hash)
{
    kn_table_entry *e;
    HASH_FIND_BYHASHVALUE(hh, entries, key, size, (unsigned)hash, e);
    return e;
}

/* The entry that was added, or NULL after a kn_fail(). */
static kn_table_entry *add(const kn_allocator *from, kn_table_entry **entries, const void *key,
                           size_t size, uint64_t hash)
{
    kn_table_entry *e = from->alloc(from->user, sizeof *e);
    if (e) {
        HASH_ADD_KEYPTR_BYHASHVALUE(hh, *entries, key, size, (unsigned)hash, e);
        if (e->hh.tbl)
            return e;
        from->release(from->user, e);
    }
    kn_fail(KN_MEMORY, "out of memory: a table of %u entries cannot grow", HASH_COUNT(*entries));
    return NULL;
}

/* ---- tables ---- */

void kn_table_init(kn_table *t, const kn_allocator *from) { *t = (kn_table){.from = *from}; }

void kn_table_finish(kn_table *t)
{
    const kn_allocator *from = &t->from;
    kn_table_entry *first = t->entries;
    HASH_CLEAR(hh, t->entries);
    for (kn_table_entry *e = first, *next; e; e = next) {
        next = e->hh.next;
        from->release(from->user, e);
    }
}

void *kn_table_find(const kn_table *t, const void *key, size_t size)
{
    const kn_table_entry *e =
        t->entries ? find(t->entries, key, size, kn_hash(key, size, 0)) : NULL;
    return e ? e->value : NULL;
}

kn_status kn_table_add(kn_table *t, const void *key, size_t size, void *value)
{
    kn_table_entry *e = add(&t->from, &t->entries, key, size, kn_hash(key, size, 0));
    if (!e)
        return KN_MEMORY;
    e->value = value;
    return KN_OK;
}

void kn_table_remove(kn_table *t, const void *key, size_t size)
{
    const kn_allocator *from = &t->from;
    kn_table_entry *e = find(t->entries, key, size, kn_hash(key, size, 0));
    if (!e)
        return;
    HASH_DEL(t->entries, e);
    from->release(from->user, e);
}

size_t kn_table_count(const kn_table *t) { return HASH_COUNT(t->entries); }

void *kn_table_next(const kn_table *t, const kn_table_entry **at)
{
    *at = *at ? (*at)->hh.next : t->entries;
    return *at ? (*at)->value : NULL;
}

/* ---- finders: their entries have empty keys, and the hashes that the caller gave ---- */

void kn_finder_add(kn_arena *a, kn_finder *f, uint64_t hash, int at)
{
    const kn_allocator from = kn_arena_allocator(a);
    kn_table_entry *e = add(&from, &f->entries, "", 0, hash);
    if (e)
        e->at = at;
    else
        kn_give_up(a);
}

/* In the list's order: a bucket's depends on when it was split, and hashes of addresses differ from run to run. */
int kn_finder_next(const kn_finder *f, uint64_t hash, int last)
{
    const kn_table_entry *first = find(f->entries, "", 0, hash);
    int next = -1;
    for (const UT_hash_handle *h = first ? &first->hh : NULL; h; h = h->hh_next) {
        int at = ((const kn_table_entry *)h)->at;
        if (h->hashv == (unsigned)hash && at > last && (next < 0 || at < next))
            next = at;
    }
    return next;
}
