#include "base/chunks.h"

#include <stdbool.h>

/* At most 8 MB are kept. */
enum { MOST_KEPT = 512 };

typedef struct kn_free_chunk {
    struct kn_free_chunk *next;
} free_chunk;

/* Before each chunk: its size, which says at its release whether it can be kept. */
enum { HEAD = 16 };

static void *take(kn_chunks *c)
{
    pthread_mutex_lock(&c->lock);
    free_chunk *f = c->free;
    if (f) {
        c->free = f->next;
        c->count--;
    }
    pthread_mutex_unlock(&c->lock);
    return f;
}

static void *alloc(void *user, size_t size)
{
    kn_chunks *c = user;
    char *p = size == KN_ARENA_CHUNK ? take(c) : NULL;
    p = p ? p : c->from.alloc(c->from.user, HEAD + size);
    if (!p)
        return NULL;
    *(size_t *)(void *)p = size;
    return p + HEAD;
}

static void release(void *user, void *ptr)
{
    kn_chunks *c = user;
    if (!ptr)
        return;
    char *p = (char *)ptr - HEAD;
    bool kept = false;
    if (*(size_t *)(void *)p == KN_ARENA_CHUNK) {
        free_chunk *f = (free_chunk *)(void *)p;
        pthread_mutex_lock(&c->lock);
        kept = c->count < MOST_KEPT;
        if (kept) {
            f->next = c->free;
            c->free = f;
            c->count++;
        }
        pthread_mutex_unlock(&c->lock);
    }
    if (!kept)
        c->from.release(c->from.user, p);
}

void kn_chunks_init(kn_chunks *c, const kn_allocator *from)
{
    *c = (kn_chunks){.from = *from};
    pthread_mutex_init(&c->lock, NULL);
}

void kn_chunks_finish(kn_chunks *c)
{
    for (free_chunk *f; (f = take(c));)
        c->from.release(c->from.user, f);
    pthread_mutex_destroy(&c->lock);
}

kn_allocator kn_chunks_allocator(kn_chunks *c) { return (kn_allocator){alloc, release, c}; }
