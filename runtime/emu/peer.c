/* Memory of several emulated devices: their ranks are threads of one process, so all of them reach it. */
#include <string.h>

#include "base/aligned.h"
#include "runtime/device/shared.h"
#include "runtime/emu/emu.h"

struct kn_peer_block {
    kn_shared shared; /* first */
    size_t bytes;
    void *memory;
};

static void release(kn_peer_block *block)
{
    if (!kn_shared_leave(&block->shared))
        return;
    kn_aligned_free(&kn_malloc_allocator, block->memory);
    kn_malloc_allocator.release(NULL, block);
}

static kn_status enter(kn_device *dev, kn_peer_block *block, kn_peer_memory *memory)
{
    if (!kn_emu_remember(kn_emu_of(dev), (kn_emu_allocation){block->memory, block->bytes, true})) {
        release(block);
        return kn_fail(KN_MEMORY, "out of memory: %zu bytes for all ranks", block->bytes);
    }
    *memory = (kn_peer_memory){block->memory, block->memory, block};
    return KN_OK;
}

static kn_status alloc_memory(kn_device *dev, size_t bytes, bool on_host, kn_peer_memory *memory)
{
    (void)on_host;
    kn_peer_block *block = kn_malloc_allocator.alloc(NULL, sizeof *block);
    void *at = kn_aligned_alloc(&kn_malloc_allocator, bytes);
    if (!block || !at) {
        kn_aligned_free(&kn_malloc_allocator, at);
        kn_malloc_allocator.release(NULL, block);
        return kn_fail(KN_MEMORY, "out of memory: %zu bytes for all ranks", bytes);
    }
    memset(at, 0, bytes);
    *block = (kn_peer_block){.bytes = bytes, .memory = at};
    kn_shared_begin(&block->shared);
    return enter(dev, block, memory);
}

static kn_status get_handle(kn_device *dev, const kn_peer_memory *memory, kn_peer_handle *handle)
{
    memcpy(handle->device, &dev, sizeof dev);
    handle->number = memory->block->shared.number;
    return KN_OK;
}

static kn_status open_handle(kn_device *dev, const kn_peer_handle *handle, bool here,
                             kn_peer_memory *memory)
{
    if (!here)
        return kn_fail(KN_DEVICE, "emulated devices of several processes share no memory");
    kn_peer_block *block = (kn_peer_block *)(void *)kn_shared_find(handle->number);
    return block ? enter(dev, block, memory) : kn_fail(KN_RUN, "its communicator is closed");
}

static void close_memory(kn_device *dev, kn_peer_memory *memory)
{
    if (!memory->block)
        return;
    kn_emu_forget(kn_emu_of(dev), memory->at);
    release(memory->block);
    *memory = (kn_peer_memory){0};
}

const kn_peer_ops kn_emu_peer_ops = {alloc_memory, get_handle, open_handle, close_memory};
