#include "base/arena.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

struct kn_arena_chunk {
    kn_arena_chunk *older;
    size_t body; /* bytes behind the header */
};

enum { ALIGN = 16, CHUNK = KN_ARENA_CHUNK, HEADER = 16 };
_Static_assert(sizeof(kn_arena_chunk) <= HEADER, "objects behind it are aligned");

static void *malloc_alloc(void *user, size_t size)
{
    (void)user;
    return malloc(size);
}

static void malloc_release(void *user, void *ptr)
{
    (void)user;
    free(ptr);
}

const kn_allocator kn_malloc_allocator = {malloc_alloc, malloc_release, NULL};

void kn_arena_init(kn_arena *a, const kn_allocator *from)
{
    *a = (kn_arena){.from = from ? *from : kn_malloc_allocator};
}

void kn_arena_init_in(kn_arena *a, const kn_allocator *from, void *space, size_t size)
{
    kn_arena_init(a, from);
    a->next = space;
    a->end = a->next + size;
}

void kn_arena_back(kn_arena *a, kn_arena_mark mark)
{
    while (a->chunks != mark.chunks) {
        kn_arena_chunk *c = a->chunks;
        a->chunks = c->older;
        if (c->body == CHUNK - HEADER) {
            c->older = a->spare;
            a->spare = c;
        } else {
            a->from.release(a->from.user, c);
        }
    }
    a->next = mark.next;
    a->end = mark.end;
    a->used = mark.used;
}

void kn_arena_finish(kn_arena *a)
{
    kn_arena_back(a, (kn_arena_mark){0});
    while (a->spare) {
        kn_arena_chunk *c = a->spare;
        a->spare = c->older;
        a->from.release(a->from.user, c);
    }
    kn_arena_init(a, &a->from);
}

static _Noreturn void out_of_memory(kn_arena *a, size_t size)
{
    kn_fail(KN_MEMORY, "out of memory: %zu bytes", size);
    kn_give_up(a);
}

_Noreturn void kn_give_up(kn_arena *a)
{
    if (!a->on_oom) /* only reachable by using an arena outside kn_protect(), a bug of ours */
        abort();
    longjmp(*a->on_oom, 1);
}

/* A chunk for an object of this size, or NULL. */
static kn_arena_chunk *chunk_for(kn_arena *a, size_t size)
{
    const size_t body = size > CHUNK - HEADER ? size : CHUNK - HEADER;
    kn_arena_chunk *c = a->spare;
    if (c && body == CHUNK - HEADER)
        a->spare = c->older;
    else
        c = a->from.alloc(a->from.user, HEADER + body);
    if (c)
        c->body = body;
    return c;
}

/* Goes on in a new chunk, with room for the size; false when there is none. */
static bool add_chunk(kn_arena *a, size_t size)
{
    kn_arena_chunk *c = chunk_for(a, size);
    if (!c)
        return false;
    c->older = a->chunks;
    a->chunks = c;
    a->used += HEADER + c->body;
    a->next = (char *)c + HEADER;
    a->end = a->next + c->body;
    return true;
}

/* As it comes, or NULL. */
static inline void *carve(kn_arena *a, size_t size)
{
    if (size > SIZE_MAX / 4)
        return NULL;
    size = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if ((!a->next || (size_t)(a->end - a->next) < size) && !add_chunk(a, size))
        return NULL;
    void *p = a->next;
    a->next += size;
    return p;
}

/* As it comes: for what is written at once. */
static inline void *alloc_raw(kn_arena *a, size_t size)
{
    void *p = carve(a, size);
    if (!p)
        out_of_memory(a, size);
    return p;
}

static void *arena_alloc(void *user, size_t size) { return carve(user, size); }

static void arena_release(void *user, void *ptr)
{
    (void)user;
    (void)ptr;
}

kn_allocator kn_arena_allocator(kn_arena *a)
{
    return (kn_allocator){arena_alloc, arena_release, a};
}

void *kn_alloc(kn_arena *a, size_t size) { return memset(alloc_raw(a, size), 0, size); }

void *kn_alloc_copy(kn_arena *a, const void *from, size_t size)
{
    return size ? memcpy(alloc_raw(a, size), from, size) : NULL;
}

char *kn_strndup(kn_arena *a, const char *s, size_t n)
{
    char *p = alloc_raw(a, n + 1);
    memcpy(p, s, n);
    p[n] = '\0';
    return p;
}

char *kn_strdup(kn_arena *a, const char *s) { return kn_strndup(a, s, strlen(s)); }

char *kn_sprintf(kn_arena *a, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    char most[128]; /* are no longer */
    int n = kn_format(most, sizeof most, fmt, ap);
    va_end(ap);
    size_t size = (size_t)(n < 0 ? 0 : n) + 1;
    char *p = size <= sizeof most ? kn_alloc_copy(a, most, size) : kn_alloc(a, size);
    if (size > sizeof most)
        kn_format(p, size, fmt, again);
    p[size - 1] = '\0';
    va_end(again);
    return p;
}

void *kn_grow(kn_arena *a, void *data, int32_t len, int32_t *cap, size_t elem)
{
    int32_t wider = *cap ? *cap * 2 : 2;
    char *p = alloc_raw(a, (size_t)wider * elem);
    size_t used = (size_t)len * elem;
    if (len)
        memcpy(p, data, used);
    memset(p + used, 0, (size_t)wider * elem - used);
    *cap = wider;
    return p;
}

kn_status kn_protect(kn_arena *a, kn_protected_fn fn, void *ctx)
{
    jmp_buf here, *outer = a->on_oom;
    kn_status status = KN_MEMORY;
    a->on_oom = &here;
    if (setjmp(here) == 0)
        status = fn(ctx);
    else
        status = kn_last_status();
    a->on_oom = outer;
    return status;
}
