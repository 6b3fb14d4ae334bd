#include "base/aligned.h"

#include <string.h>

/* The pointer that the allocator gave is stored just before the memory. */
void *kn_aligned_alloc(const kn_allocator *from, size_t bytes)
{
    if (bytes > SIZE_MAX / 2)
        return NULL;
    char *raw = from->alloc(from->user, bytes + KN_ALIGNED + sizeof(void *));
    if (!raw)
        return NULL;
    size_t skip = sizeof(void *);
    skip += (KN_ALIGNED - ((uintptr_t)raw + skip) % KN_ALIGNED) % KN_ALIGNED;
    memcpy(raw + skip - sizeof(void *), &raw, sizeof(void *));
    return raw + skip;
}

void kn_aligned_free(const kn_allocator *from, void *ptr)
{
    if (!ptr)
        return;
    void *raw;
    memcpy(&raw, (char *)ptr - sizeof(void *), sizeof(void *));
    from->release(from->user, raw);
}
