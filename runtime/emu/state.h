/* What runs of a launch: workers, the blocks that each has at a time, their threads.
 *
 *   worker    an operating system thread that runs blocks, one at a time; or, where blocks can wait for each other
 *             (cooperative grids, clusters), a gang of them in turns
 *   block     threads, warps, shared memory
 *   thread    one CUDA thread; has a fibre from its first step to its last
 *
 * The threads of a block run until they wait: at a warp operation, a barrier, or in a loop that polls memory. */
#ifndef KN_RUNTIME_EMU_STATE_H
#define KN_RUNTIME_EMU_STATE_H

#include "base/fiber.h"
#include "runtime/emu/emu.h"

typedef struct kn_emu_block kn_emu_block;
typedef struct kn_emu_thread kn_emu_thread;
typedef struct kn_emu_copy kn_emu_copy;   /* exec/exec.h */
typedef struct kn_emu_cell kn_emu_cell;   /* check/check.h */
typedef struct kn_emu_reads kn_emu_reads; /* check/cell.c */

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
    kn_fiber *fiber;
    /* what it waits in */
    kn_emu_site site;
    int op;
    unsigned mask;
    kn_emu_shuffle lanes;
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
    kn_fibers fibers;
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
    bool failed, awaits_mailbox; /* the latter: since the gang's last turn */
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

#endif
