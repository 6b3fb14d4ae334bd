#include "runtime/workspace.h"

void kn_workspaces_init(kn_workspaces *w, kn_device *dev, const kn_allocator *from)
{
    *w = (kn_workspaces){.dev = dev, .from = *from};
    pthread_mutex_init(&w->lock, NULL);
}

/* The device waits for work that uses the memory. */
static void discard(kn_workspaces *w, kn_workspace *block)
{
    if (!block)
        return;
    w->dev->ops->release(w->dev, block->memory);
    w->from.release(w->from.user, block);
}

void kn_workspaces_finish(kn_workspaces *w)
{
    for (kn_workspace *block = w->idle, *next; block; block = next) {
        next = block->next;
        discard(w, block);
    }
    pthread_mutex_destroy(&w->lock);
}

static kn_status make(kn_workspaces *w, void *stream, size_t bytes, kn_workspace **out)
{
    kn_device *dev = w->dev;
    kn_workspace *block = w->from.alloc(w->from.user, sizeof *block);
    if (!block)
        return kn_fail(KN_MEMORY, "out of memory: %zu bytes", sizeof *block);
    *block = (kn_workspace){.bytes = bytes};
    void *memory;
    kn_status status = dev->ops->alloc(dev, bytes, &memory);
    if (status == KN_OK) {
        block->memory = memory;
        status = dev->ops->zero(dev, memory, KN_WORKSPACE_HEAD, stream);
        if (status != KN_OK)
            dev->ops->release(dev, memory);
    }
    if (status != KN_OK) {
        w->from.release(w->from.user, block);
        return status;
    }
    *out = block;
    return KN_OK;
}

static bool serves(const kn_workspace *block, uint64_t stream, size_t bytes)
{
    return block->bytes >= bytes && (block->fresh || block->stream == stream);
}

/* With the lock held: takes the first idle block that serves out of the list. */
static kn_workspace *pick(kn_workspaces *w, uint64_t stream, size_t bytes)
{
    for (kn_workspace **at = &w->idle; *at; at = &(*at)->next) {
        kn_workspace *block = *at;
        if (!serves(block, stream, bytes))
            continue;
        *at = block->next;
        return block;
    }
    return NULL;
}

/* With the lock held: takes a block of the stream that is too small out of the list. */
static kn_workspace *outgrown(kn_workspaces *w, uint64_t stream, size_t bytes)
{
    for (kn_workspace **at = &w->idle; *at; at = &(*at)->next) {
        kn_workspace *block = *at;
        if (block->bytes >= bytes || (!block->fresh && block->stream != stream))
            continue;
        *at = block->next;
        return block;
    }
    return NULL;
}

kn_status kn_workspaces_take(kn_workspaces *w, void *stream, size_t bytes, kn_workspace **out)
{
    uint64_t id = w->dev->ops->stream_id ? w->dev->ops->stream_id(w->dev, stream) : 0;
    pthread_mutex_lock(&w->lock);
    kn_workspace *block = pick(w, id, bytes), *small = block ? NULL : outgrown(w, id, bytes);
    pthread_mutex_unlock(&w->lock);
    discard(w, small);
    if (!block)
        KN_TRY(make(w, stream, bytes, &block));
    block->stream = id;
    block->fresh = false;
    *out = block;
    return KN_OK;
}

void kn_workspaces_give(kn_workspaces *w, kn_workspace *block)
{
    pthread_mutex_lock(&w->lock);
    block->next = w->idle;
    w->idle = block;
    kn_workspace **at = &w->idle, *extra = NULL;
    for (int n = 0; *at && n < KN_WORKSPACES; n++)
        at = &(*at)->next;
    if (*at) { /* one too many: the one not used for longest */
        extra = *at;
        *at = NULL;
    }
    pthread_mutex_unlock(&w->lock);
    discard(w, extra);
}

kn_status kn_workspaces_reserve(kn_workspaces *w, size_t bytes)
{
    bool one_stream = !w->dev->ops->stream_id, there = false;
    kn_workspace *small = NULL;
    pthread_mutex_lock(&w->lock);
    for (kn_workspace **at = &w->idle; *at && !there; at = &(*at)->next) {
        there = ((*at)->fresh || one_stream) && (*at)->bytes >= bytes;
        if ((*at)->fresh && !there) {
            small = *at;
            *at = small->next;
            break;
        }
    }
    pthread_mutex_unlock(&w->lock);
    discard(w, small);
    if (there)
        return KN_OK;
    kn_workspace *block;
    KN_TRY(make(w, NULL, bytes, &block));
    block->fresh = true;
    kn_workspaces_give(w, block);
    return w->dev->ops->sync(w->dev, NULL);
}
