/* Memory of arenas that come and go: their chunks are kept for the next one, as far as they are few. For several
 * threads. */
#ifndef KN_BASE_CHUNKS_H
#define KN_BASE_CHUNKS_H

#include <pthread.h>

#include "base/arena.h"

typedef struct kn_chunks {
    kn_allocator from; /* where chunks come from in the end */
    pthread_mutex_t lock;
    struct kn_free_chunk *free;
    int count;
} kn_chunks;

void kn_chunks_init(kn_chunks *c, const kn_allocator *from);
void kn_chunks_finish(kn_chunks *c);
/* For kn_arena_init(); lives as long as `c`, which no arena may outlive. */
kn_allocator kn_chunks_allocator(kn_chunks *c);

#endif
