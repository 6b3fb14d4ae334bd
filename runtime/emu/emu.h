/* The emulator: a GPU of threads that are run one after another, watched at every step.
 *
 *   device    memory, options, the compiler                                        device.c
 *   module    a source text compiled by the host's C++ compiler and loaded         module.h
 *   launch    one run of a kernel: its grid, the memory it may touch               launch.c
 *   worker    an operating system thread that runs blocks                          worker.c
 *   block     threads, warps, shared memory                                        gang.c
 *   thread    one CUDA thread; has a fibre from its first step to its last         fiber.c
 *   copies    asynchronous ones, and the mbarriers that count them                 copy.c mbarrier.c
 *
 * A worker runs one block at a time, or, when blocks can wait for each other (cooperative grids, clusters),
 * a gang of blocks in turns. The threads of a block run until they wait: at a warp operation (warp.c), a
 * barrier (barrier.c), or in a loop that polls memory. Every access to memory comes by memory.c.
 *
 * A failed check ends the launch: kn_emu_fail() leaves the thread for good, and the launch reports it. */
#ifndef KN_RUNTIME_EMU_EMU_H
#define KN_RUNTIME_EMU_EMU_H

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/emu/fiber.h"
#include "runtime/emu/module.h"

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
typedef struct kn_emu_block kn_emu_block;
typedef struct kn_emu_thread kn_emu_thread;
typedef struct kn_emu_release kn_emu_release; /* fence.c */

/* What was done to global memory: one cell for 4 bytes; see global.c. */
typedef struct kn_emu_trace {
    _Atomic uint64_t written, read;
} kn_emu_trace;

typedef struct kn_emu_shadow {
    struct kn_emu_shadow *next;
    const char *low, *high; /* multiples of 4 */
    kn_emu_trace *cells;
    bool used; /* in the launch that is being prepared */
} kn_emu_shadow;

typedef struct kn_emu_allocation {
    char *low;
    size_t bytes;
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

static inline kn_emu *kn_emu_of(kn_device *dev) { return (kn_emu *)dev; }

/* ---- launches ---- */

/* Memory that a kernel may touch. */
struct kn_emu_span {
    const char *low, *high;
    const char *name;
    bool constant;         /* a generated kernel's input: never written */
    bool unwatched;        /* by nothing that is known: accesses are not compared */
    kn_emu_shadow *shadow; /* NULL: likewise */
};

/* What went wrong, as it was found; report.c makes it a message. */
typedef struct kn_emu_fault {
    char text[1024];
    void *pc;
    int line;
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
    /* Of shadow cells that this launch wrote; 0: global memory is not watched. */
    unsigned generation;
    _Atomic unsigned next;    /* gang to run */
    kn_emu_release *releases; /* see fence.c */
    pthread_mutex_t releasing;
    _Atomic bool failed;
    pthread_mutex_t lock; /* of `fault` */
    kn_emu_fault fault;
};

kn_status kn_emu_launch_run(kn_emu *dev, kn_code *code, const kn_grid *grid, void *const *params,
                            kn_emu_span *spans, int nspans);
/* report.c: the launch's fault as the calling thread's error. */
kn_status kn_emu_report(const kn_emu_launch *l);

/* ---- workers, blocks, threads ---- */

typedef enum kn_emu_state {
    KN_EMU_NEW,
    KN_EMU_READY,
    KN_EMU_AT_WARP,
    KN_EMU_AT_BLOCK,
    KN_EMU_AT_GRID,
    KN_EMU_AT_CLUSTER,
    KN_EMU_POLLING,
    KN_EMU_DONE,
} kn_emu_state;

/* Shared memory of a block of the gang, wherever it lies at the time; or, without an owner, an address. */
typedef struct kn_emu_place {
    kn_emu_block *owner;
    size_t offset;
} kn_emu_place;

/* An asynchronous copy, done when it is waited for. */
typedef struct kn_emu_copy {
    struct kn_emu_copy *next;
    kn_emu_place to, from;
    unsigned bytes, zeros, group;
    bool bulk;                /* by the bulk engine, not by its thread */
    unsigned long long value; /* of st.async, which copies it */
    kn_emu_thread *by;
    uint32_t issued; /* when: as in cells */
    int line;
    void *pc;
} kn_emu_copy;

typedef struct kn_emu_copies {
    kn_emu_copy *first, **last;
    unsigned groups; /* committed */
} kn_emu_copies;

typedef struct kn_emu_mbarrier kn_emu_mbarrier; /* mbarrier.c */

struct kn_emu_thread {
    kn_emu_block *block;
    kn_emu_dim idx;
    unsigned number; /* in its block */
    uint8_t lane, state;
    /* see fence.c: whether it has fenced, and the block's epoch when it last did for other blocks (0: never);
     * where it looked since, and what it will know of other blocks at its next fence */
    bool fenced;
    uint8_t fence_epoch;
    const void *polled;
    uint8_t *seen;
    /* What the cluster did before is before now: by an atomic operation and a fence. */
    uint32_t caught_up;
    kn_emu_fiber *fiber;
    /* what it waits in */
    int op, line;
    void *pc;
    unsigned mask, b, c;
    kn_emu_word value, result;
    /* the cluster's barrier: the phases that it has waited for; whether and when it arrived for the next, with
     * what it did before made known or not (relaxed); before when what it did was made known by the last phase
     * but one and the last, whichever is even being first */
    unsigned cluster_phase;
    bool cluster_arrived, relaxed;
    uint32_t arrived_time, met[2];
    kn_emu_copies copies[KN_EMU_COPY_KINDS];
    kn_emu_copy *unplaced;                 /* one that is being checked */
    const kn_emu_mbarrier *polled_barrier; /* while it lets others run */
    uint32_t *clock;                       /* see order.c; NULL for most */
    uint32_t proxy_fence; /* when it last made its writes known to the bulk engine */
};

/* A meeting of lanes that is not complete: those that arrived at (op, mask). */
typedef struct kn_emu_meeting {
    int op;
    unsigned mask, arrived;
} kn_emu_meeting;

typedef struct kn_emu_warp_state {
    unsigned alive;
    int nmeetings;
    kn_emu_meeting meetings[KN_EMU_WARP];
    /* Which lanes' accesses are before mine: those of all lanes before `full`, and of lane b before
     * known[a][b], seen from lane a. Times as in shared cells. */
    uint32_t full;
    bool partial; /* `known` was written for this block */
    uint32_t known[KN_EMU_WARP][KN_EMU_WARP];
} kn_emu_warp_state;

/* The last accesses to a byte of shared memory. Times count a worker's synchronisations, so that what a
 * cell has from an earlier block or launch is older than anything now. */
typedef struct kn_emu_cell {
    uint32_t written, read; /* when last */
    uint32_t readers;       /* lanes of warp read_by; or where the worker keeps them all */
    uint16_t written_by;    /* thread, see cell.c */
    uint16_t read_by;       /* warp */
} kn_emu_cell;
enum { KN_EMU_IN_FLIGHT = 0xffff }; /* written_by: an asynchronous copy will */

typedef struct kn_emu_reads kn_emu_reads; /* cell.c */

/* Threads in the order in which they became able to run. */
typedef struct kn_emu_queue {
    kn_emu_thread **at;
    unsigned first, count; /* a ring of the block's thread count */
} kn_emu_queue;

struct kn_emu_block {
    kn_emu_worker *worker;
    unsigned number; /* in the grid */
    kn_emu_dim idx;
    unsigned rank;         /* in its cluster */
    kn_emu_block *cluster; /* the block of rank 0 */
    kn_emu_thread *threads;
    kn_emu_warp_state *warps;
    unsigned nthreads, live, fresh; /* fresh: how many have been started */
    unsigned waiting, at_grid;      /* at the barrier; at the grid's */
    kn_emu_queue ready, polling;
    uint32_t start, barrier_time; /* everything in the block before it is before now */
    /* see fence.c: the epoch of its accesses from now on, and whether there were any; of its last fence, and
     * of the last before a barrier; the first that the grid's barrier left open; those of each block that are
     * before now, and the latest of them */
    uint8_t epoch, fence_epoch, shared_fence, floor, known_most;
    bool dirty;
    uint8_t *known;
    char *image; /* shared memory while another block of the gang runs */
    kn_emu_cell *cells;
    kn_emu_mbarrier *mbarriers;
    bool clocks;      /* some thread has one */
    uint32_t *clock;  /* what all threads learnt at a barrier */
    bool met_cluster; /* it waited at the cluster's barrier */
    /* of a cluster, in its block of rank 0 */
    unsigned cluster_arrived, cluster_phase, cluster_live;
    uint32_t cluster_time, met_time; /* of all that was done before; of the last phase */
};

struct kn_emu_worker {
    kn_emu_worker *next;
    kn_emu *dev;
    kn_emu_launch *launch;
    kn_emu_fibers fibers;
    /* For the fibre that is being switched to: the thread to run, if not its own. */
    kn_emu_thread *handoff;
    kn_emu_block *block;   /* the one that runs: its shared memory is the module's image */
    kn_emu_thread *thread; /* the one that runs; NULL between threads */
    char *image;           /* this operating system thread's image of the module */
    size_t shared_bytes;   /* of it that the launch uses */
    uint32_t time;
    uint64_t random, progress;
    int last_span;
    /* A span whose accesses are not compared, when the last access was in one: reads in it are right. */
    const char *quiet;
    size_t quiet_bytes;
    bool failed;
    kn_emu_block *gang;
    unsigned gang_size;
    void *memory; /* of the gang's blocks */
    size_t memory_bytes;
    kn_emu_cell *cells;
    size_t ncells;
    kn_emu_reads *reads; /* [1] to [nreads] were taken; those given back begin at free_reads */
    uint32_t nreads, cap_reads, free_reads;
    bool reads_told; /* some clock of this gang knows more of reads than of writes */
};

/* The worker of the calling operating system thread. */
extern _Thread_local kn_emu_worker *kn_emu_here;

kn_emu_worker *kn_emu_worker_borrow(kn_emu *dev);
void kn_emu_worker_return(kn_emu_worker *w);
void kn_emu_worker_free(kn_emu_worker *w);
/* Runs gangs of the launch until there are none left or a check failed. */
void kn_emu_worker_run(kn_emu_worker *w, kn_emu_launch *l);

/* gang.c: lays out the blocks of a gang; starts the blocks of gang number `gang`; frees what its threads left. */
bool kn_emu_gang_make(kn_emu_worker *w);
void kn_emu_gang_start(kn_emu_worker *w, unsigned gang);
void kn_emu_gang_clean(kn_emu_worker *w);

/* ---- for the files that threads wait in ---- */

/* Gives the worker to others until somebody calls kn_emu_wake(); w->thread's state is set. */
void kn_emu_pause(kn_emu_worker *w);
void kn_emu_wake(kn_emu_worker *w, kn_emu_thread *t);
/* Lets everyone else run first: the block, and the others of its gang. */
void kn_emu_yield(kn_emu_worker *w, int line, void *pc);
uint64_t kn_emu_random(kn_emu_worker *w);

/* Ends the launch with this message about the running thread. Must be called on its fibre. */
_Noreturn void kn_emu_fail(kn_emu_worker *w, int line, void *pc, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* The same from the worker's own stack, about no thread: returns. */
void kn_emu_fail_block(kn_emu_worker *w, int line, void *pc, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* After a thread's last step: those who waited for it. */
void kn_emu_warp_left(kn_emu_worker *w, kn_emu_thread *t);
void kn_emu_barrier_left(kn_emu_worker *w, kn_emu_thread *t);
/* Nothing else runs in the block: lanes in __activemask get their answer, and in relaxed mode those that wait
 * for what their masks do not say. False: there were none. */
bool kn_emu_answer_stragglers(kn_emu_worker *w, kn_emu_block *b);
/* Nothing can run any more: says who waits where. */
void kn_emu_deadlock(kn_emu_worker *w);
const char *kn_emu_op_name(int op);
const char *kn_emu_barrier_name(int kind);

/* ---- what is before what: order.c ---- */

/* Itself, by a read, or by a copy that it began. */
typedef enum kn_emu_deed { KN_EMU_DID, KN_EMU_DID_READ, KN_EMU_DID_COPY } kn_emu_deed;
/* Is what thread `number` of block `rank` of the cluster did at `time` before anything that `t` does now? */
bool kn_emu_before(const kn_emu_thread *t, uint32_t time, unsigned rank, unsigned number,
                   kn_emu_deed deed);
/* Has it met others that read then: of other warps, or any? */
bool kn_emu_met(const kn_emu_thread *t, uint32_t since, bool other_warps);
bool kn_emu_has_started(const kn_emu_worker *w, const kn_emu_block *peer);
/* A clock has what is known of each thread of the cluster. What `t` did and knows goes into it; of that only what
 * was read; and what is in it becomes known to `t`. */
uint32_t *kn_emu_new_clock(kn_emu_worker *w);
void kn_emu_publish(kn_emu_worker *w, const kn_emu_thread *t, uint32_t *clock);
void kn_emu_publish_reads(kn_emu_worker *w, const kn_emu_thread *t, uint32_t *clock);
void kn_emu_learn(kn_emu_worker *w, kn_emu_thread *t, const uint32_t *clock);
void kn_emu_join_clock(const kn_emu_worker *w, uint32_t *clock, const uint32_t *other);
/* At a block's barrier; and at __syncwarp of `lanes`, `warp` being lane 0. */
void kn_emu_share_clocks(kn_emu_worker *w, kn_emu_block *b);
void kn_emu_order_lanes(kn_emu_worker *w, kn_emu_thread *warp, unsigned lanes);
void kn_emu_free_clocks(kn_emu_block *b);

/* ---- cells of shared memory: cell.c ---- */

/* Notes an access of the running thread in a cell, where what is older than `since` does not count. Returns
 * NULL, or the kind of race and in *other with whom: see kn_emu_who(). */
const char *kn_emu_note_access(kn_emu_worker *w, kn_emu_cell *c, uint32_t since, bool write,
                               bool atomic, unsigned *other);
void kn_emu_note_landing(kn_emu_worker *w, kn_emu_cell *c, const kn_emu_thread *by, bool async);
/* The thread that a cell names; and whether not it itself is meant, but a copy that it started. */
kn_emu_thread *kn_emu_who(const kn_emu_worker *w, unsigned who);
bool kn_emu_is_copy(unsigned who);
/* At a gang's start: no cell's list of reads is needed any more. */
void kn_emu_forget_reads(kn_emu_worker *w);

/* ---- asynchronous copies: copy.c, mbarrier.c ---- */

/* Checks the copy and marks what it is to fill. */
kn_emu_copy *kn_emu_copy_of_value(kn_emu_worker *w, void *to, const void *value, unsigned bytes,
                                  int line, void *pc);
kn_emu_copy *kn_emu_copy_new(kn_emu_worker *w, void *to, const void *from, unsigned bytes,
                             unsigned zeros, bool bulk, int line, void *pc);
void kn_emu_copy_perform(kn_emu_worker *w, const kn_emu_copy *c);
void kn_emu_copies_add(kn_emu_copies *list, kn_emu_copy *c);
void kn_emu_copies_free(kn_emu_copies *list);
/* st.async: the `bytes`, 4 or 8, at `value` are on their way to shared memory; `barrier` counts them. */
void kn_emu_mbarrier_store(kn_emu_worker *w, void *to, const void *value, unsigned bytes,
                           void *barrier, int line, void *pc);
/* A bulk copy into shared memory that `barrier` counts. */
void kn_emu_mbarrier_load(kn_emu_worker *w, void *to, const void *from, unsigned bytes,
                          void *barrier, int line, void *pc);
void kn_emu_mbarrier_describe(const kn_emu_mbarrier *m, char *text, size_t size);
/* At a thread's and a block's end: fail if anything is left over. */
void kn_emu_copies_left(kn_emu_worker *w, const kn_emu_thread *t);
void kn_emu_mbarriers_left(kn_emu_worker *w, const kn_emu_block *b);
void kn_emu_mbarriers_free(kn_emu_block *b);

/* ---- memory ---- */

/* Fails the launch unless the running thread may access this. Returns the span, or NULL for shared memory
 * and the thread's own. */
const kn_emu_span *kn_emu_check(kn_emu_worker *w, const char *p, size_t bytes, int how, bool atomic,
                                int line, void *pc);
/* shared.c: the access is to `bytes` of `owner`'s shared memory at `offset`. */
void kn_emu_check_shared(kn_emu_worker *w, kn_emu_block *owner, size_t offset, size_t bytes,
                         int how, bool atomic, int line, void *pc);
/* Starts a block: its shared memory is unwritten. */
void kn_emu_shared_reset(kn_emu_worker *w, kn_emu_block *b);
/* The block of the gang in whose shared memory p is, and where in it; NULL when it is in none. */
kn_emu_block *kn_emu_owner(const kn_emu_worker *w, const void *p, size_t *offset);
/* Where that memory lies now. */
char *kn_emu_shared_at(const kn_emu_worker *w, const kn_emu_block *owner, size_t offset);
/* The address in block `rank` of the cluster that p is in block b. */
void *kn_emu_in_rank(kn_emu_worker *w, const void *p, unsigned rank, int line, void *pc);
/* A copy that is to fill this begins; was made, begun by thread `by`. */
void kn_emu_shared_in_flight(kn_emu_worker *w, kn_emu_block *owner, size_t offset, size_t bytes,
                             int line, void *pc);
void kn_emu_shared_landed(kn_emu_worker *w, kn_emu_block *owner, size_t offset, size_t bytes,
                          const kn_emu_thread *by, bool async);
/* The source of a copy: whoever wrote it made that known to the bulk engine; nobody wrote it since `issued`. */
void kn_emu_check_fenced(kn_emu_worker *w, kn_emu_block *owner, size_t offset, size_t bytes,
                         int line, void *pc);
void kn_emu_check_unchanged(kn_emu_worker *w, kn_emu_block *owner, size_t offset, size_t bytes,
                            uint32_t issued, int line, void *pc);

/* global.c */
kn_status kn_emu_shadow_prepare(kn_emu_launch *l);
void kn_emu_shadow_free(kn_emu *dev);
/* Notes an access in the span's cells; fails if it races. strong: it is atomic, or volatile. */
void kn_emu_check_global(kn_emu_worker *w, const kn_emu_span *span, const char *p, size_t bytes,
                         bool write, bool strong, int line, void *pc);

/* fence.c: an atomic operation or a volatile access, on either side of it */
enum { KN_EMU_LAST_EPOCH = 255 }; /* it never ends: what is done in it counts as ordered */
void kn_emu_before_strong_write(kn_emu_worker *w, const void *p);
void kn_emu_after_atomic(kn_emu_worker *w, const void *p);
void kn_emu_polls(kn_emu_worker *w, const void *p);
/* The epoch of an access by the running thread. */
unsigned kn_emu_epoch(const kn_emu_worker *w, bool strong_write);
/* At the grid's barrier; at a block's and a launch's end. */
void kn_emu_grid_epoch(kn_emu_worker *w);
void kn_emu_forget_seen(kn_emu_worker *w, kn_emu_block *b);
void kn_emu_forget_releases(kn_emu_launch *l);

/* Where an address is: "out_y+256 (which has 256 bytes)". */
void kn_emu_describe(const kn_emu_worker *w, const char *p, char *text, size_t size);

/* The functions that a module calls. */
extern const kn_emu_calls_table kn_emu_calls_of_runtime;
void kn_emu_call_access(const void *p, unsigned long bytes, int how, void *pc);
void kn_emu_call_misaligned(const void *p, unsigned long alignment, void *pc);
void kn_emu_call_bad_index(const void *array, long long index, void *pc);
kn_emu_word kn_emu_call_warp(int op, unsigned mask, kn_emu_word value, unsigned b, unsigned c,
                             int line, void *pc);
int kn_emu_call_barrier(int kind, int predicate, int line, void *pc);
void kn_emu_call_cluster_arrive(int relaxed, int line, void *pc);
kn_emu_word kn_emu_call_atomic(int op, int type, void *p, kn_emu_word value, kn_emu_word compare,
                               int line, void *pc);
void kn_emu_call_fence(int scope, void *pc);
void kn_emu_call_relax(int line, void *pc);
void *kn_emu_call_peer(const void *shared, unsigned rank, int line, void *pc);
unsigned kn_emu_call_to_shared(const void *p, int line, void *pc);
void *kn_emu_call_from_shared(unsigned address, int cluster, int line, void *pc);
unsigned kn_emu_call_map_rank(unsigned address, unsigned rank, int line, void *pc);
void kn_emu_call_copy_async(void *to, const void *from, unsigned bytes, unsigned zeros,
                            unsigned alignment, int line, void *pc);
void kn_emu_call_copy_commit(int kind);
void kn_emu_call_copy_wait(int kind, unsigned newest, int line, void *pc);
void kn_emu_call_bulk(int kind, void *to, const void *from, unsigned bytes, void *barrier,
                      unsigned mask, int line, void *pc);
kn_emu_word kn_emu_call_mbarrier(int op, void *p, kn_emu_word a, unsigned bytes, int line,
                                 void *pc);
void kn_emu_call_proxy_fence(void);
void kn_emu_call_trap(const char *message, int line, void *pc);

#endif
