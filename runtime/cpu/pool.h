/* A pool of threads that share the tasks of one loop, and scratch memory that outlives a loop.
 *
 * Threads start at the first loop that wants them. A loop's tasks are handed out by an atomic
 * counter; the calling thread works too, and returns when all tasks are done. Loops of several
 * callers take turns. */
#ifndef KN_RUNTIME_CPU_POOL_H
#define KN_RUNTIME_CPU_POOL_H

#include "base/arena.h"

typedef struct kn_pool kn_pool;
/* `scratch` is the worker's own for the time of the loop, aligned to 256 bytes, of undefined
 * content. */
typedef void (*kn_task_fn)(void *ctx, int64_t task, void *scratch);

/* threads: how many work on a loop, the caller included. */
kn_status kn_pool_open(const kn_allocator *from, int threads, kn_pool **pool);
void kn_pool_close(kn_pool *pool);
int kn_pool_threads(const kn_pool *pool);

/* Runs fn(ctx, task, scratch) for each task in [0, tasks). `mine` is the caller's scratch; the
 * others get `bytes` each. */
kn_status kn_pool_run(kn_pool *pool, int64_t tasks, size_t bytes, void *mine, kn_task_fn fn,
                      void *ctx);

/* A block of at least `bytes`, aligned to 256, for the caller until it gives it back; NULL when out
 * of memory. Blocks are kept and lent again. */
void *kn_pool_borrow(kn_pool *pool, size_t bytes);
void kn_pool_return(kn_pool *pool, void *block);

#endif
