#include "base/table.h"

#include "base/hash.h"

/* What uthash's macros call where they stand: a kn_allocator `from` is in scope. Where it has no memory they undo what
 * they did, and leave the entry without a table. */
#define uthash_malloc(size) from->alloc(from->user, size)
#define uthash_free(ptr, size) from->release(from->user, ptr)
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct kn_table_entry {
    UT_hash_handle hh;
    void *value;
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

/* ---- finders: open addressing, for a graph's nodes are searched once for each that is made ---- */

enum { FEWEST_SLOTS = 8 };

typedef struct kn_finder_slot {
    unsigned hash;
    int member; /* 1 + its place; 0: free */
} kn_finder_slot;

/* The highest bits of a product, on which all bits of the hash have an influence (Knuth, The Art of Computer Programming,
 * volume 3, section 6.4, multiplicative hashing): not all hashes are mixed well. */
static unsigned slot_of(const kn_finder *f, unsigned hash)
{
    return (hash * 0x9e3779b1u) >> (__builtin_clz(f->size) + 1);
}

static void put(kn_finder *f, kn_finder_slot s)
{
    unsigned i = slot_of(f, s.hash);
    while (f->slots[i].member)
        i = (i + 1) & (f->size - 1);
    f->slots[i] = s;
    f->used++;
}

void kn_finder_add(kn_arena *a, kn_finder *f, uint64_t hash, int at)
{
    if (f->used >= f->size / 2) {
        kn_finder larger = {.size = f->size ? 2 * f->size : FEWEST_SLOTS};
        larger.slots = KN_NEW_ARRAY(a, kn_finder_slot, larger.size);
        for (unsigned i = 0; i < f->size; i++)
            if (f->slots[i].member)
                put(&larger, f->slots[i]);
        *f = larger;
    }
    put(f, (kn_finder_slot){(unsigned)hash, at + 1});
}

/* In the list's order: that of slots depends on when the finder grew, and hashes of addresses differ from run to run. */
int kn_finder_next(const kn_finder *f, uint64_t hash, int last)
{
    int next = -1;
    if (!f->size)
        return -1;
    for (unsigned i = slot_of(f, (unsigned)hash); f->slots[i].member; i = (i + 1) & (f->size - 1)) {
        const int at = f->slots[i].member - 1;
        if (f->slots[i].hash == (unsigned)hash && at > last && (next < 0 || at < next))
            next = at;
    }
    return next;
}
