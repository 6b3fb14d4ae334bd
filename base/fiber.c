#include "base/fiber.h"

#include <stdlib.h>
#include <sys/mman.h>

/* Of libboost_context, which declares them for C++ only. */
typedef struct transfer {
    void *context, *data;
} transfer;
extern transfer jump_fcontext(void *to, void *data);
extern void *make_fcontext(void *top, size_t bytes, void (*fn)(transfer));

#if defined(__SANITIZE_ADDRESS__)
#define ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ASAN 1
#endif
#endif
#ifdef ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

/* Only what is touched takes memory. */
enum { STACK = 256 << 10 };
enum { PAGE = 4096, SLAB_STACKS = 64 };
/* Each guarded stack is a mapping of its own, of which a process may have some 65,000. */
enum { MAX_GUARDED = 12000 };

typedef struct slab {
    struct slab *next;
    char *low;
    size_t bytes;
} slab;

/* The address sanitizer keeps frames marked that never returned; the next user of the memory would trip over the
 * marks. */
static void forget_frames(char *low, size_t bytes)
{
#ifdef ASAN
    __asan_unpoison_memory_region(low, bytes);
#else
    (void)low, (void)bytes;
#endif
}

void kn_fibers_init(kn_fibers *f, void (*body)(void *user), void *user)
{
    *f = (kn_fibers){.body = body, .user = user};
    f->current = &f->root;
}

void kn_fibers_finish(kn_fibers *f)
{
    for (kn_fiber *x = f->all, *next; x; x = next) {
        next = x->next;
        free(x);
    }
    for (slab *s = f->slabs, *next; s; s = next) {
        next = s->next;
        forget_frames(s->low, s->bytes);
        munmap(s->low, s->bytes);
        free(s);
    }
}

/* What every switch passes, so that the other side knows whose stack it comes from. */
typedef struct passage {
    kn_fibers *fibers;
    kn_fiber *from;
} passage;

static void first_step(transfer t)
{
    passage *p = t.data;
    kn_fibers *f = p->fibers;
#ifdef ASAN
    const void *low;
    size_t bytes;
    __sanitizer_finish_switch_fiber(NULL, &low, &bytes);
    if (p->from == &f->root) {
        f->root.low = (char *)low;
        f->root.bytes = bytes;
    }
#endif
    p->from->context = t.context;
    f->body(f->user);
}

/* jump_fcontext leaves by a jump, not a return. Were it called, the processor's stack of return addresses
 * would get one more entry at every switch, and each return after that be predicted wrongly: so on x86-64 it
 * is jumped to, with the return address pushed below the 128 bytes that a function may use without asking. */
static inline transfer jump(void *to, void *data)
{
#if defined(__x86_64__) && defined(__LP64__) && !defined(ASAN)
    transfer t = {to, data};
    __asm__ volatile("subq $128, %%rsp\n\t"
                     "leaq 1f(%%rip), %%rax\n\t"
                     "pushq %%rax\n\t"
                     "jmp jump_fcontext@PLT\n"
                     "1:\n\t"
                     "addq $128, %%rsp\n\t"
                     "movq %%rax, %%rdi\n\t"
                     "movq %%rdx, %%rsi"
                     : "+D"(t.context), "+S"(t.data)
                     :
                     : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2",
                       "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
                       "xmm12", "xmm13", "xmm14", "xmm15", "cc", "memory");
    return t;
#else
    return jump_fcontext(to, data);
#endif
}

void kn_fiber_switch(kn_fibers *f, kn_fiber *to)
{
    passage p = {f, f->current};
    f->current = to;
#ifdef ASAN
    void *fake;
    __sanitizer_start_switch_fiber(&fake, to->low, to->bytes);
#endif
    transfer t = jump(to->context, &p);
    passage *back = t.data;
#ifdef ASAN
    const void *low;
    size_t bytes;
    __sanitizer_finish_switch_fiber(fake, &low, &bytes);
    if (back->from == &f->root) {
        f->root.low = (char *)low;
        f->root.bytes = bytes;
    }
#endif
    back->from->context = t.context;
}

static char *new_stack(kn_fibers *f)
{
    if (f->next_stack == f->end_of_slab) {
        slab *s = malloc(sizeof *s);
        if (!s)
            return NULL;
        s->bytes = (size_t)SLAB_STACKS * STACK;
        s->low = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (s->low == MAP_FAILED) {
            free(s);
            return NULL;
        }
        s->next = f->slabs;
        f->slabs = s;
        f->next_stack = s->low;
        f->end_of_slab = s->low + s->bytes;
    }
    char *low = f->next_stack;
    f->next_stack += STACK;
    if (f->count < MAX_GUARDED)
        mprotect(low, PAGE, PROT_NONE);
    return low;
}

/* Stacks begin at different places in their pages: else all of them meet in the same cache sets. */
static void to_the_top(kn_fiber *x, int number)
{
    size_t skew = (size_t)(number % 61) * 64;
    x->context = make_fcontext(x->low + x->bytes - skew, x->bytes - skew, first_step);
}

kn_fiber *kn_fiber_take(kn_fibers *f)
{
    kn_fiber *x = f->idle;
    if (x) {
        f->idle = x->next_idle;
        return x;
    }
    x = calloc(1, sizeof *x);
    char *stack = x ? new_stack(f) : NULL;
    if (!stack) {
        free(x);
        return NULL;
    }
    x->low = stack + PAGE;
    x->bytes = STACK - PAGE;
    to_the_top(x, f->count++);
    x->next = f->all;
    f->all = x;
    return x;
}

void kn_fiber_retire(kn_fibers *f)
{
    f->current->next_idle = f->idle;
    f->idle = f->current;
}

void kn_fibers_reset(kn_fibers *f)
{
    int number = 0;
    f->idle = NULL;
    for (kn_fiber *x = f->all; x; x = x->next) {
        forget_frames(x->low, x->bytes);
        to_the_top(x, number++);
        x->next_idle = f->idle;
        f->idle = x;
    }
}
