/* A context's compiled kernels, found by a text of everything that they depend on. Each is compiled once: threads that
 * want the same one wait for the first of them. Kernels that are given back stay for the next user; beyond
 * KN_IDLE_KERNELS of them, the one that was idle for longest goes. */
#ifndef KN_RUNTIME_KERNELS_H
#define KN_RUNTIME_KERNELS_H

#include <pthread.h>

#include "base/table.h"
#include "runtime/device/device.h"

enum { KN_MAX_COMPILES = 4 }; /* at a time: each takes hundreds of megabytes */
enum { KN_IDLE_KERNELS = 256 };

typedef struct kn_compiled {
    kn_code *code;
    uint64_t number; /* no other of the context has it */
    /* with the lock held */
    bool busy; /* a thread is compiling it */
    int users;
    struct kn_compiled *newer, *older; /* without users */
    size_t length;
    char key[];
} kn_compiled;

typedef struct kn_kernels {
    kn_device *dev;
    kn_allocator from;
    pthread_mutex_t lock; /* of what follows; never held while a kernel is compiled or discarded */
    pthread_cond_t compiled; /* a compile has ended */
    int compiling;           /* how many there are */
    kn_table entries;
    kn_compiled *newest, *oldest;
    int idle;
    uint64_t count;         /* that there have been */
    uint64_t hits, dropped; /* atomic: found here; those that went */
} kn_kernels;

void kn_kernels_init(kn_kernels *k, kn_device *dev, const kn_allocator *from);
/* Discards them, whoever has them. */
void kn_kernels_finish(kn_kernels *k);

/* The kernel of the key, by compile(user) if there is none. A thread that waited for a compile that failed tries
 * itself: the message is its own then. */
typedef kn_status (*kn_compile_fn)(void *user, kn_code **code);
kn_status kn_kernels_get(kn_kernels *k, const char *key, kn_compile_fn compile, void *user,
                         kn_compiled **out);
/* Takes another reference; releases one. NULL is ignored. */
void kn_kernels_keep(kn_kernels *k, kn_compiled *c);
void kn_kernels_release(kn_kernels *k, kn_compiled *c);

/* Has it been compiled, or is it being compiled? */
bool kn_kernels_has(kn_kernels *k, const char *key);
/* How many there are. */
uint64_t kn_kernels_count(kn_kernels *k);

#endif
