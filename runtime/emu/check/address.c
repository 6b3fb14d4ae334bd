/* Where shared memory lies: the running block's in the module's image, those of other blocks of the gang in images that
 * wait their turn. */
#include <string.h>

#include "runtime/emu/check/check.h"

void kn_emu_shared_reset(kn_emu_worker *w, kn_emu_block *b)
{
    memset(b->image ? b->image : w->image, 0xff, w->shared_bytes);
}

char *kn_emu_shared_at(const kn_emu_worker *w, kn_emu_place at)
{
    return (at.owner == w->block || !at.owner->image ? w->image : at.owner->image) + at.offset;
}

kn_emu_place kn_emu_place_of(const kn_emu_worker *w, const void *p)
{
    size_t offset = (uintptr_t)p - (uintptr_t)w->image;
    if (offset < w->shared_bytes)
        return (kn_emu_place){w->block, offset};
    for (unsigned i = 0; w->gang_size > 1 && i < w->gang_size; i++) {
        kn_emu_block *b = &w->gang[i];
        offset = (uintptr_t)p - (uintptr_t)b->image;
        if (offset < w->shared_bytes)
            return (kn_emu_place){b, offset};
    }
    return (kn_emu_place){NULL, (uintptr_t)p};
}

kn_emu_block *kn_emu_peer(const kn_emu_worker *w, const char *p)
{
    kn_emu_block *b = kn_emu_place_of(w, p).owner;
    return b == w->block ? NULL : b;
}

/* ---- as numbers ---- */

/* A shared address as a number of 32 bits: BASE + the offset in the block's shared memory, above which the
 * alignment is that of the pointer; for another block of the cluster (rank + 1) << RANK_SHIFT is added. */
enum { BASE = 1024, RANK_SHIFT = 24 };

static unsigned base_of(const kn_emu_worker *w)
{
    return BASE + (unsigned)((uintptr_t)w->image % BASE);
}

void *kn_emu_in_rank(kn_emu_worker *w, const void *p, unsigned rank, kn_emu_site site)
{
    kn_emu_place at = kn_emu_place_of(w, p);
    if (rank >= w->launch->cluster)
        kn_emu_fail(w, site, "rank %u of a cluster of %u blocks", rank, w->launch->cluster);
    if (!at.owner)
        kn_emu_fail(w, site, "map_shared_rank: %p is no shared memory of the block", p);
    return kn_emu_shared_at(w, (kn_emu_place){&w->block->cluster[rank], at.offset});
}

unsigned kn_emu_to_shared(kn_emu_worker *w, const void *p, kn_emu_site site)
{
    kn_emu_place at = kn_emu_place_of(w, p);
    if (!at.owner)
        kn_emu_fail(w, site, "the shared address of %p, which is no shared memory", p);
    return base_of(w) + (unsigned)at.offset +
           (at.owner == w->block ? 0 : (at.owner->rank + 1) << RANK_SHIFT);
}

void *kn_emu_from_shared(kn_emu_worker *w, unsigned address, bool cluster, kn_emu_site site)
{
    unsigned rank = address >> RANK_SHIFT;
    size_t offset = (address & ((1u << RANK_SHIFT) - 1)) - (size_t)base_of(w);
    if (!rank)
        return w->image + offset;
    if (rank > w->launch->cluster)
        kn_emu_fail(w, site, "0x%x is no shared address", address);
    if (!cluster)
        kn_emu_fail(w, site,
                    "an address of the cluster's shared memory (of rank %u) where one of the "
                    "block's must be",
                    rank - 1);
    return kn_emu_shared_at(w, (kn_emu_place){&w->block->cluster[rank - 1], offset});
}

unsigned kn_emu_map_rank(kn_emu_worker *w, unsigned address, unsigned rank, kn_emu_site site)
{
    if (rank >= w->launch->cluster)
        kn_emu_fail(w, site, "rank %u of a cluster of %u blocks", rank, w->launch->cluster);
    return (address & ((1u << RANK_SHIFT) - 1)) | (rank + 1) << RANK_SHIFT;
}
