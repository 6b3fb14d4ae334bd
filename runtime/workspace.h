/* Device memory that runs borrow for their temporaries, kept and lent again.
 *
 * A block that was used in a stream is lent for the same stream only, whose order keeps its users apart; a block that
 * two threads would share at a time is not. Every block begins with the words that blocks of a grid count each other
 * in, zero when it was made and kept as launches leave them. */
#ifndef KN_RUNTIME_WORKSPACE_H
#define KN_RUNTIME_WORKSPACE_H

#include <pthread.h>

#include "runtime/device/device.h"

enum {
    KN_WORKSPACE_ALIGN = 256,
    KN_WORKSPACE_HEAD = KN_BARRIER_WORDS * 4, /* bytes of those words */
    KN_WORKSPACES = 32,                       /* idle blocks that are kept */
};

typedef struct kn_workspace {
    struct kn_workspace *next;
    char *memory;
    size_t bytes;
    uint64_t stream;
    bool fresh; /* of no stream yet */
} kn_workspace;

typedef struct kn_workspaces {
    kn_device *dev;
    kn_allocator from;
    pthread_mutex_t lock;
    kn_workspace *idle; /* the last used first */
} kn_workspaces;

void kn_workspaces_init(kn_workspaces *w, kn_device *dev, const kn_allocator *from);
void kn_workspaces_finish(kn_workspaces *w);

/* A block of at least `bytes` for work in `stream`, the caller's until it gives it back. */
kn_status kn_workspaces_take(kn_workspaces *w, void *stream, size_t bytes, kn_workspace **out);
void kn_workspaces_give(kn_workspaces *w, kn_workspace *block);
/* Makes sure that the next run finds a block of `bytes`, in any stream. May wait for the device. */
kn_status kn_workspaces_reserve(kn_workspaces *w, size_t bytes);

#endif
