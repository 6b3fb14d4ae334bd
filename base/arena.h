/* Arena allocation: everything of one lifetime is carved from one arena and released at once.
 *
 * Running out of memory inside an arena does not return NULL: it unwinds to the innermost kn_protect(),
 * which reports KN_MEMORY. Code between the two therefore owns nothing that is not in an arena. */
#ifndef KN_BASE_ARENA_H
#define KN_BASE_ARENA_H

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Where memory comes from. `alloc` returns memory aligned for any object, or NULL. */
typedef struct kn_allocator {
    void *(*alloc)(void *user, size_t size);
    void (*release)(void *user, void *ptr);
    void *user;
} kn_allocator;

extern const kn_allocator kn_malloc_allocator;

/* What an arena asks for at a time, but for larger objects. */
enum { KN_ARENA_CHUNK = 16 * 1024 };

typedef struct kn_arena_chunk kn_arena_chunk;

typedef struct kn_arena {
    kn_allocator from;
    kn_arena_chunk *chunks; /* newest first */
    kn_arena_chunk *spare;  /* that it went back from, of usual size */
    char *next, *end;       /* free space of the newest chunk */
    size_t used;            /* bytes of all chunks */
    jmp_buf *on_oom;
} kn_arena;

void kn_arena_init(kn_arena *a, const kn_allocator *from);
/* The same with space of the caller's, aligned to 16 bytes, to use first. */
void kn_arena_init_in(kn_arena *a, const kn_allocator *from, void *space, size_t size);
void kn_arena_finish(kn_arena *a);

/* A mark in an arena, and back to it: releases what was allocated since, to be used again next. For work that leaves
 * only a number. */
typedef struct kn_arena_mark {
    kn_arena_chunk *chunks;
    char *next, *end;
    size_t used;
} kn_arena_mark;
static inline kn_arena_mark kn_arena_here(const kn_arena *a)
{
    return (kn_arena_mark){a->chunks, a->next, a->end, a->used};
}
void kn_arena_back(kn_arena *a, kn_arena_mark mark);

/* An allocator that takes memory from an arena, without unwinding (NULL when there is none), and releases it with the
 * arena. */
kn_allocator kn_arena_allocator(kn_arena *a);

/* Zeroed memory, aligned to 16 bytes. */
void *kn_alloc(kn_arena *a, size_t size);
/* A copy of `size` bytes; NULL of none. */
void *kn_alloc_copy(kn_arena *a, const void *from, size_t size);
#define KN_NEW(a, T) ((T *)kn_alloc((a), sizeof(T)))
#define KN_NEW_ARRAY(a, T, n) ((T *)kn_alloc((a), sizeof(T) * (size_t)(n)))

char *kn_strdup(kn_arena *a, const char *s);
char *kn_strndup(kn_arena *a, const char *s, size_t n);
char *kn_sprintf(kn_arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Unwinds as running out of memory does, after a kn_fail() that says why. */
_Noreturn void kn_give_up(kn_arena *a);

/* Runs fn(ctx) and returns its status, or that of the failure when an allocation from `a` failed inside it (KN_MEMORY),
 * or kn_give_up() was called. */
typedef kn_status (*kn_protected_fn)(void *ctx);
kn_status kn_protect(kn_arena *a, kn_protected_fn fn, void *ctx);

/* A growable array in an arena: `KN_VEC(int) v = {0}; kn_push(a, &v, 3);` */
#define KN_VEC(T)                                                                                  \
    struct {                                                                                       \
        T *data;                                                                                   \
        int32_t len, cap;                                                                          \
    }
void *kn_grow(kn_arena *a, void *data, int32_t len, int32_t *cap, size_t elem);
#define kn_push(a, v, x)                                                                           \
    ((void)((v)->len == (v)->cap                                                                   \
                ? ((v)->data = kn_grow((a), (v)->data, (v)->len, &(v)->cap, sizeof *(v)->data))    \
                : NULL),                                                                           \
     (void)((v)->data[(v)->len++] = (x)))
/* `to` becomes a copy of vector `from`. */
#define kn_copy_vec(a, to, from)                                                                   \
    ((to)->len = (to)->cap = (from)->len,                                                          \
     (to)->data = kn_alloc_copy((a), (from)->data, sizeof *(from)->data * (size_t)(from)->len))

#endif
