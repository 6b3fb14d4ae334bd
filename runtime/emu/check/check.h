/* What a kernel may do: touch the memory that is its own, in an order that something makes. What happens here is noted
 * in cells beside the memory; nothing runs here, and whatever fails ends the launch. */
#ifndef KN_RUNTIME_EMU_CHECK_CHECK_H
#define KN_RUNTIME_EMU_CHECK_CHECK_H

#include "runtime/emu/state.h"

/* ---- failing: fail.c; report.c ---- */

/* Ends the launch with this message about the running thread. Must be called on its fibre. */
_Noreturn void kn_emu_fail(kn_emu_worker *w, kn_emu_site site, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The same from the worker's own stack, about no thread: returns. */
void kn_emu_fail_block(kn_emu_worker *w, kn_emu_site site, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The launch's fault as the calling thread's error. */
kn_status kn_emu_report(const kn_emu_launch *l);

/* ---- memory: memory.c ---- */

/* Fails the launch unless the running thread may access this. Returns the span, or NULL for shared memory
 * and the thread's own. `how`, here and below: flags of kn_emu_abi.h. */
const kn_emu_span *kn_emu_check(kn_emu_worker *w, const char *p, size_t bytes, int how,
                                kn_emu_site site);

/* ---- where shared memory is: address.c ---- */

/* Shared memory of a block of the gang, wherever it lies at the time; or, without an owner, an address. */
typedef struct kn_emu_place {
    kn_emu_block *owner;
    size_t offset;
} kn_emu_place;

/* Starts a block: its shared memory is unwritten. */
void kn_emu_shared_reset(kn_emu_worker *w, kn_emu_block *b);
kn_emu_place kn_emu_place_of(const kn_emu_worker *w, const void *p);
/* Where that shared memory lies now. */
char *kn_emu_shared_at(const kn_emu_worker *w, kn_emu_place at);
/* The address in block `rank` of the cluster that p is in block b. */
void *kn_emu_in_rank(kn_emu_worker *w, const void *p, unsigned rank, kn_emu_site site);
/* The block of the gang, not the running one, whose shared memory p is in; NULL when there is none. */
kn_emu_block *kn_emu_peer(const kn_emu_worker *w, const char *p);
/* A shared address as the number of 32 bits that it is in PTX; back (`cluster`: it may be another block's); and the
 * same address in block `rank` of the cluster. */
unsigned kn_emu_to_shared(kn_emu_worker *w, const void *p, kn_emu_site site);
void *kn_emu_from_shared(kn_emu_worker *w, unsigned address, bool cluster, kn_emu_site site);
unsigned kn_emu_map_rank(kn_emu_worker *w, unsigned address, unsigned rank, kn_emu_site site);
/* describe.c: where an address is, as "out_y+256 (which has 256 bytes)". */
void kn_emu_describe(const kn_emu_worker *w, const char *p, char *text, size_t size);

/* ---- shared memory: shared.c ---- */

/* The access is to `bytes` there. */
void kn_emu_check_shared(kn_emu_worker *w, kn_emu_place at, size_t bytes, int how,
                         kn_emu_site site);
/* A copy that is to fill this begins; was made, begun by thread `by`. */
void kn_emu_shared_in_flight(kn_emu_worker *w, kn_emu_place at, size_t bytes, kn_emu_site site);
void kn_emu_shared_landed(kn_emu_worker *w, kn_emu_place at, size_t bytes, const kn_emu_thread *by,
                          bool async);
/* The source of a copy: its writer must have made the data visible to the bulk engine, and nobody may have written it
 * since `issued`. */
void kn_emu_check_fenced(kn_emu_worker *w, kn_emu_place at, size_t bytes, kn_emu_site site);
void kn_emu_check_unchanged(kn_emu_worker *w, kn_emu_place at, size_t bytes, uint32_t issued,
                            kn_emu_site site);

/* ---- cells of shared memory: cell.c ---- */

/* The last accesses to a byte of shared memory. Times count a worker's synchronisations, so that what a
 * cell has from an earlier block or launch is older than anything now. */
struct kn_emu_cell {
    uint32_t written, read; /* when last */
    uint32_t readers;       /* lanes of warp read_by; or where the worker keeps them all */
    uint16_t written_by;    /* thread, see cell.c */
    uint16_t read_by;       /* warp */
};
enum { KN_EMU_IN_FLIGHT = 0xffff }; /* written_by: an asynchronous copy will */

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

/* ---- global memory: global.c ---- */

/* What was done to global memory: one cell for 4 bytes. */
typedef struct kn_emu_trace {
    _Atomic uint64_t written, read;
} kn_emu_trace;

struct kn_emu_shadow {
    kn_emu_shadow *next;
    const char *low, *high; /* multiples of 4 */
    kn_emu_trace *cells;
    bool used; /* in the launch that is being prepared */
};

kn_status kn_emu_shadow_prepare(kn_emu_launch *l);
void kn_emu_shadow_free(kn_emu *dev);
/* Notes an access in the span's cells; fails if it races. */
void kn_emu_check_global(kn_emu_worker *w, const kn_emu_span *span, const char *p, size_t bytes,
                         int how, kn_emu_site site);

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

/* ---- what blocks know of each other: fence.c ---- */

/* __threadfence_block(), or one that other blocks know of. */
void kn_emu_fence(kn_emu_worker *w, bool for_blocks);
/* An atomic operation or a volatile access, on either side of it. */
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

#endif
