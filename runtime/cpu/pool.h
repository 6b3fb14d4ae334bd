/* A pool of threads that share the tasks of a loop, and scratch memory that outlives it.
 *
 * Threads start with the first loop that needs them. Each has a range of the tasks, the same in each loop of as many, and
 * takes those of others when its own are done; the calling thread works too, and returns when all tasks are. Concurrent loops run one after the other. */
#ifndef KN_RUNTIME_CPU_POOL_H
#define KN_RUNTIME_CPU_POOL_H

#include "base/arena.h"

typedef struct kn_pool kn_pool;
/* `scratch` belongs to the worker for the duration of the loop; it is aligned to 256 bytes and undefined. */
typedef void (*kn_task_fn)(void *ctx, int64_t task, void *scratch);

/* threads: how many work on a loop, the caller included. */
kn_status kn_pool_open(const kn_allocator *from, int threads, kn_pool **pool);
void kn_pool_close(kn_pool *pool);
int kn_pool_threads(const kn_pool *pool);

/* Runs fn(ctx, task, scratch) for each task in [0, tasks). The caller's scratch is `mine`; others get `bytes` each. */
kn_status kn_pool_run(kn_pool *pool, int64_t tasks, size_t bytes, void *mine, kn_task_fn fn,
                      void *ctx);

/* Lends at least `bytes`, aligned to 256, until they are returned; NULL when out of memory. Returned blocks are kept
 * for reuse. */
void *kn_pool_borrow(kn_pool *pool, size_t bytes);
void kn_pool_return(kn_pool *pool, void *block);

#endif
