#include "base/finder.h"

enum { LEAST_PLACES = 16 };

static void place(kn_finder *ix, kn_finder_entry e)
{
    uint32_t mask = ix->places - 1, i = e.hash & mask;
    while (ix->entries[i].after)
        i = (i + 1) & mask;
    ix->entries[i] = e;
}

static void grow(kn_arena *a, kn_finder *ix)
{
    kn_finder old = *ix;
    ix->places = old.places ? 2 * old.places : LEAST_PLACES;
    ix->entries = KN_NEW_ARRAY(a, kn_finder_entry, ix->places);
    for (uint32_t i = 0; i < old.places; i++)
        if (old.entries[i].after)
            place(ix, old.entries[i]);
}

void kn_finder_add(kn_arena *a, kn_finder *ix, uint64_t hash, int at)
{
    if (ix->count >= ix->places / 2)
        grow(a, ix);
    place(ix, (kn_finder_entry){(uint32_t)hash, at + 1});
    ix->count++;
}

int kn_finder_next(const kn_finder *ix, uint64_t hash, uint32_t *probe)
{
    while (ix->places) { /* never full */
        const kn_finder_entry *e = &ix->entries[((uint32_t)hash + (*probe)++) & (ix->places - 1)];
        if (!e->after)
            return -1;
        if (e->hash == (uint32_t)hash)
            return e->after - 1;
    }
    return -1;
}
