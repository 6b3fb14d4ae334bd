/* The emulator: a GPU of threads that are run one after another, watched at every step.
 *
 *     compile/   a kernel's text to a shared object of the host's          compile/compile.h
 *     check/     what a kernel may touch, and what is ordered before what   check/check.h
 *     exec/      the module loaded, its threads run                         exec/exec.h
 *     device.c   memory, options, launches
 *     memory.c   which memory there is; peer.c: that which several emulators share
 *
 * exec uses check, which uses compile; none uses what is above it. What all of them speak of is here: the device, a
 * module, a launch; and in state.h: workers, blocks and threads.
 *
 * A failed check ends the launch: kn_emu_fail() leaves the thread for good, and the launch reports it. */
#ifndef KN_RUNTIME_EMU_EMU_H
#define KN_RUNTIME_EMU_EMU_H

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/emu/compile/compile.h"
#include "runtime/emu/compile/shim/kn_emu_abi.h"

enum { KN_EMU_WARP = 32, KN_EMU_MAX_THREADS = 1024, KN_EMU_MAX_CLUSTER = 16 };
enum { KN_EMU_MAX_SHARED = 227 * 1024 };

/* ---- options and the device ---- */

typedef enum kn_emu_order { KN_EMU_FORWARD, KN_EMU_REVERSED, KN_EMU_SEEDED } kn_emu_order;

typedef struct kn_emu_options {
    bool relaxed;   /* undefined shuffles and divergent barriers do what hardware does */
    bool unchecked; /* memory is not watched */
    kn_emu_order order;
    uint64_t seed;
} kn_emu_options;

typedef struct kn_emu_worker kn_emu_worker;
typedef struct kn_emu_launch kn_emu_launch;
typedef struct kn_emu_release kn_emu_release; /* check/fence.c */
typedef struct kn_emu_shadow kn_emu_shadow;   /* check/global.c */

typedef struct kn_emu_allocation {
    char *low;
    size_t bytes;
    bool mailbox; /* other devices' kernels use it too */
} kn_emu_allocation;

struct kn_emu {
    kn_device base; /* first: a kn_device * of this kind points to it */
    kn_allocator from;
    kn_target target;
    kn_emu_options options;
    int threads;
    kn_emu_compiler compiler;
    pthread_mutex_t lock; /* of what follows */
    kn_emu_allocation *allocations;
    int nallocations, cap_allocations;
    kn_emu_worker *idle;     /* workers that no launch uses */
    pthread_mutex_t running; /* checked launches take turns: they share the shadow */
    kn_emu_shadow *shadows;
    unsigned generation;
};

/* memory.c: what kernels may use from now on; no longer. False: out of memory. */
bool kn_emu_remember(kn_emu *dev, kn_emu_allocation what);
void kn_emu_forget(kn_emu *dev, const void *low);
extern const kn_peer_ops kn_emu_peer_ops; /* peer.c */

static inline kn_emu *kn_emu_of(kn_device *dev) { return (kn_emu *)dev; }

/* ---- modules ---- */

/* A variable in shared memory: where it lies in the image. */
typedef struct kn_emu_shared {
    char name[48];
    size_t offset, bytes;
} kn_emu_shared;

struct kn_code {
    kn_emu *dev;
    char *name;     /* of the kernel, for messages */
    char *source;   /* its text, for messages */
    char path[320]; /* of the shared object */
    char *base;     /* where it is loaded */
    void *handle;
    void (*entry)(void *const *params);
    void *(*anchor)(void);
    int nparams;
    const kn_emu_param *params;
    kn_emu_name *names;      /* of parameters */
    const unsigned *cluster; /* its __cluster_dims__; 0: it has none */
    /* the module in memory: what may be read, and of it what may be written */
    char *low, *high, *writable, *writable_end;
    size_t anchor_offset;
    size_t image;   /* bytes of the thread-local image that hold shared variables */
    size_t fixed;   /* of it, bytes [0, fixed) that have a size known to the compiler */
    size_t dynamic; /* where dynamic shared memory begins; image when there is none */
    bool has_dynamic;
    kn_emu_shared *shared;
    int nshared;
};

/* ---- launches ---- */

/* Memory that a kernel may touch. */
typedef struct kn_emu_span {
    const char *low, *high;
    const char *name;
    bool constant;         /* a generated kernel's input: never written */
    bool unwatched;        /* by nothing that is known: accesses are not compared */
    bool mailbox;          /* kernels of other devices use it too: see check/memory.c */
    kn_emu_shadow *shadow; /* NULL: likewise */
} kn_emu_span;

/* What went wrong, as it was found; check/report.c makes it a message. */
typedef struct kn_emu_fault {
    char text[1024];
    kn_emu_site site;
    bool has_thread;
    unsigned block[3], thread[3];
} kn_emu_fault;

struct kn_emu_launch {
    kn_emu *dev;
    kn_code *code;
    void *const *params;
    kn_grid grid;
    unsigned nthreads, nblocks, ngangs, gang; /* blocks in a gang */
    unsigned cluster;                         /* blocks in a cluster; 1: none */
    bool checked;
    kn_emu_span *spans;
    int nspans;
    bool has_mailbox; /* one of them is */
    /* Of shadow cells that this launch wrote; 0: global memory is not watched. */
    unsigned generation;
    _Atomic unsigned next;    /* gang to run */
    kn_emu_release *releases; /* see check/fence.c */
    pthread_mutex_t releasing;
    _Atomic bool failed;
    pthread_mutex_t lock; /* of `fault` */
    kn_emu_fault fault;
};

#endif
