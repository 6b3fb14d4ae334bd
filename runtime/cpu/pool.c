#include "runtime/cpu/pool.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/aligned.h"
#include "base/clock.h"
#include "base/thread.h"

/* How long a thread spins before it sleeps, about what sleeping and waking take (measured: docs/lab/compiled-cpu.md): a helper
 * until the next loop, the caller until the last tasks of others. */
enum { SPIN_NS = 50000, PAUSES = 16 /* between looks at the clock */ };

/* The gate of a loop: how many helpers are in it, whether the caller sleeps until they are done, whether others may join, and
 * above that which loop it is. Loops of a few microseconds begin and end by it alone: locks are for threads that sleep. */
#define WAITS ((uint64_t)1 << 30)
#define OPEN ((uint64_t)1 << 31)
#define LOOP ((uint64_t)1 << 32) /* one more */
static uint64_t loop_of(uint64_t gate) { return gate / LOOP; }
static uint64_t inside(uint64_t gate) { return gate % WAITS; }

/* The header of a borrowed block, as large as the alignment, so that the block is aligned. */
typedef union block {
    struct {
        union block *next; /* in the list of blocks that are not lent */
        size_t bytes;
    } h;
    char pad[KN_ALIGNED];
} block;

/* Tasks [next, end), each thread's first of all. On a line of its own, for threads write it all the time. */
typedef struct share {
    _Alignas(64) _Atomic int64_t next;
    int64_t end;
} share;

struct kn_pool {
    kn_allocator from;
    int threads;
    int started; /* threads that have started */
    pthread_t *helpers;

    pthread_mutex_t turn; /* held by the caller whose loop it is */
    pthread_mutex_t lock; /* with it threads go to sleep, and are woken */
    pthread_cond_t wake, done;
    atomic_int sleepers; /* helpers that wait for `wake`, or are about to */
    bool closing;        /* guarded by the lock */

    pthread_mutex_t lending;
    block *idle;

    /* What a helper looks at while it spins, on a line of its own; all but the gate is written by the caller that holds `turn`
     * while nobody is in the loop, before it opens it. */
    _Alignas(64) _Atomic uint64_t gate;
    kn_task_fn fn;
    void *ctx;
    block **scratch; /* per thread */
    share *shares;   /* per thread, the caller's first */
};

typedef struct helper {
    kn_pool *pool;
    int number;
} helper;

/* A thread has the same part of each loop that is like the last one, so that it finds what it left in its cache; then it
 * helps others. */
static void work(kn_pool *pool, int me, void *scratch)
{
    const int threads = pool->started + 1;
    for (int i = 0; i < threads; i++) {
        share *of = &pool->shares[(me + i) % threads];
        /* a look, for who adds takes the line from the thread that works on it */
        if (i > 0 && atomic_load_explicit(&of->next, memory_order_relaxed) >= of->end)
            continue;
        for (int64_t task;
             (task = atomic_fetch_add_explicit(&of->next, 1, memory_order_relaxed)) < of->end;)
            pool->fn(pool->ctx, task, scratch);
    }
}

static void divide(kn_pool *pool, int64_t tasks)
{
    const int threads = pool->started + 1;
    const int64_t each = tasks / threads, more = tasks % threads;
    for (int64_t i = 0, from = 0; i < threads; i++) {
        atomic_store_explicit(&pool->shares[i].next, from, memory_order_relaxed);
        pool->shares[i].end = from += each + (i < more);
    }
}

static void pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* A thread that waits. */
typedef struct waiter {
    int pauses;
    uint64_t began;
} waiter;

/* Pauses; false: it has waited for long enough. */
static bool spin(waiter *w)
{
    pause_briefly();
    if (++w->pauses % PAUSES)
        return true;
    const uint64_t now = kn_clock_ns();
    if (w->pauses == PAUSES)
        w->began = now;
    return now - w->began < SPIN_NS;
}

/* Waits for a loop that is not `seen`; false: the pool closes. */
static bool wait_for_loop(kn_pool *pool, uint64_t seen)
{
    /* Often the next loop begins soon, so spin before sleeping. */
    waiter me = {0};
    do
        if (loop_of(atomic_load_explicit(&pool->gate, memory_order_relaxed)) != seen)
            return true;
    while (spin(&me));
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->sleepers,
                     1); /* then looks at the gate: who opens it does the reverse */
    while (loop_of(atomic_load(&pool->gate)) == seen && !pool->closing)
        pthread_cond_wait(&pool->wake, &pool->lock);
    atomic_fetch_sub(&pool->sleepers, 1);
    const bool goes_on = !pool->closing;
    pthread_mutex_unlock(&pool->lock);
    return goes_on;
}

/* Joins the loop, whose number becomes `seen`; false: it is over already. */
static bool join(kn_pool *pool, uint64_t *seen)
{
    uint64_t gate = atomic_load_explicit(&pool->gate, memory_order_relaxed);
    do {
        *seen = loop_of(gate);
        if (!(gate & OPEN))
            return false;
    } while (!atomic_compare_exchange_weak(&pool->gate, &gate, gate + 1));
    return true;
}

static void leave(kn_pool *pool)
{
    const uint64_t gate = atomic_fetch_sub(&pool->gate, 1);
    if (inside(gate) > 1 || !(gate & WAITS))
        return;
    pthread_mutex_lock(&pool->lock);
    pthread_cond_signal(&pool->done);
    pthread_mutex_unlock(&pool->lock);
}

static void *help(void *arg)
{
    helper me = *(helper *)arg;
    kn_pool *pool = me.pool;
    pool->from.release(pool->from.user, arg);
    for (uint64_t seen = 0; wait_for_loop(pool, seen);)
        if (join(pool, &seen)) {
            work(pool, me.number + 1, pool->scratch[me.number] + 1);
            leave(pool);
        }
    return NULL;
}

/* Starts the threads; fewer if the system has no more. */
static void start_helpers(kn_pool *pool)
{
    while (pool->started < pool->threads - 1) {
        helper *h = pool->from.alloc(pool->from.user, sizeof *h);
        if (!h)
            return;
        *h = (helper){pool, pool->started};
        if (!kn_thread_start(&pool->helpers[pool->started], help, h)) {
            pool->from.release(pool->from.user, h);
            return;
        }
        pool->started++;
    }
}

static block *new_block(kn_pool *pool, size_t bytes)
{
    bytes = (bytes + 4095) & ~(size_t)4095;
    block *b = kn_aligned_alloc(&pool->from, sizeof *b + bytes);
    if (b)
        b->h.bytes = bytes;
    return b;
}

/* Scratch of so many bytes for each helper. */
static bool grow_scratch(kn_pool *pool, size_t bytes)
{
    for (int i = 0; i < pool->threads - 1; i++) {
        if (pool->scratch[i] && pool->scratch[i]->h.bytes >= bytes)
            continue;
        kn_aligned_free(&pool->from, pool->scratch[i]);
        pool->scratch[i] = new_block(pool, bytes);
        if (!pool->scratch[i])
            return false;
    }
    return true;
}

/* Opens the gate, and wakes as many as there are tasks for. */
static void open_gate(kn_pool *pool, int64_t tasks)
{
    const uint64_t gate = atomic_load_explicit(&pool->gate, memory_order_relaxed);
    atomic_store(&pool->gate, (gate + LOOP) | OPEN);
    if (atomic_load(&pool->sleepers) == 0)
        return;
    pthread_mutex_lock(&pool->lock);
    if (tasks > pool->started)
        pthread_cond_broadcast(&pool->wake);
    else
        for (int64_t i = 1; i < tasks; i++)
            pthread_cond_signal(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
}

/* Lets nobody join any more, and waits for those who did. */
static void close_gate(kn_pool *pool)
{
    if (inside(atomic_fetch_and(&pool->gate, ~OPEN)) == 0)
        return;
    waiter me = {0};
    do
        if (inside(atomic_load(&pool->gate)) == 0)
            return;
    while (spin(&me));
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_or(&pool->gate, WAITS);
    while (inside(atomic_load(&pool->gate)) > 0)
        pthread_cond_wait(&pool->done, &pool->lock);
    atomic_fetch_and(&pool->gate, ~WAITS);
    pthread_mutex_unlock(&pool->lock);
}

kn_status kn_pool_run(kn_pool *pool, int64_t tasks, size_t bytes, void *mine, kn_task_fn fn,
                      void *ctx)
{
    pthread_mutex_lock(&pool->turn);
    if (!grow_scratch(pool, bytes)) {
        pthread_mutex_unlock(&pool->turn);
        return kn_fail(KN_MEMORY, "out of memory: scratch of %zu bytes a thread", bytes);
    }
    start_helpers(pool);
    pool->fn = fn;
    pool->ctx = ctx;
    divide(pool, tasks);
    open_gate(pool, tasks);
    work(pool, 0, mine);
    close_gate(pool);
    pthread_mutex_unlock(&pool->turn);
    return KN_OK;
}

void *kn_pool_borrow(kn_pool *pool, size_t bytes)
{
    block *found = NULL, *small = NULL;
    pthread_mutex_lock(&pool->lending);
    for (block **at = &pool->idle; *at; at = &(*at)->h.next)
        if ((*at)->h.bytes >= bytes) {
            found = *at;
            *at = found->h.next;
            break;
        }
    if (!found && pool->idle) { /* no idle block is large enough: a larger one replaces one */
        small = pool->idle;
        pool->idle = small->h.next;
    }
    pthread_mutex_unlock(&pool->lending);
    kn_aligned_free(&pool->from, small);
    if (!found)
        found = new_block(pool, bytes);
    return found ? found + 1 : NULL;
}

void kn_pool_return(kn_pool *pool, void *ptr)
{
    block *b = (block *)ptr - 1;
    pthread_mutex_lock(&pool->lending);
    b->h.next = pool->idle;
    pool->idle = b;
    pthread_mutex_unlock(&pool->lending);
}

int kn_pool_threads(const kn_pool *pool) { return pool->threads; }

kn_status kn_pool_open(const kn_allocator *from, int threads, kn_pool **out)
{
    kn_pool *pool = kn_aligned_alloc(from, sizeof *pool);
    if (!pool)
        return kn_fail(KN_MEMORY, "out of memory: thread pool");
    memset(pool, 0, sizeof *pool);
    pool->from = *from;
    pool->threads = threads < 1 ? 1 : threads;
    size_t helpers = (size_t)pool->threads; /* one more, so that the array is not empty */
    pool->helpers = from->alloc(from->user, helpers * sizeof *pool->helpers);
    pool->scratch = from->alloc(from->user, helpers * sizeof *pool->scratch);
    pool->shares = kn_aligned_alloc(from, (size_t)pool->threads * sizeof *pool->shares);
    if (!pool->helpers || !pool->scratch || !pool->shares) {
        kn_aligned_free(from, pool->shares);
        if (pool->helpers)
            from->release(from->user, pool->helpers);
        if (pool->scratch)
            from->release(from->user, pool->scratch);
        kn_aligned_free(from, pool);
        return kn_fail(KN_MEMORY, "out of memory: thread pool");
    }
    memset(pool->scratch, 0, helpers * sizeof *pool->scratch);
    pthread_mutex_init(&pool->turn, NULL);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_mutex_init(&pool->lending, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->done, NULL);
    *out = pool;
    return KN_OK;
}

void kn_pool_close(kn_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->closing = true;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->started; i++)
        pthread_join(pool->helpers[i], NULL);
    for (int i = 0; i < pool->threads - 1; i++)
        kn_aligned_free(&pool->from, pool->scratch[i]);
    while (pool->idle) {
        block *b = pool->idle;
        pool->idle = b->h.next;
        kn_aligned_free(&pool->from, b);
    }
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lending);
    pthread_mutex_destroy(&pool->lock);
    pthread_mutex_destroy(&pool->turn);
    kn_aligned_free(&pool->from, pool->shares);
    pool->from.release(pool->from.user, pool->scratch);
    pool->from.release(pool->from.user, pool->helpers);
    const kn_allocator from = pool->from;
    kn_aligned_free(&from, pool);
}
