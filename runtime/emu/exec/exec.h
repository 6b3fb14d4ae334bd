/* Running a kernel: its module loaded, its launch given to workers, its threads run in turns.
 *
 *     launch.c    a launch's shape, its workers
 *     worker.c    the gangs that a worker runs, the threads' beginning and end
 *     gang.c      the memory of a gang's blocks
 *     sched.c     which thread is next
 *     warp.c, barrier.c, atomic.c, async.c, mbarrier.c    what threads do together: see calls.h */
#ifndef KN_RUNTIME_EMU_EXEC_EXEC_H
#define KN_RUNTIME_EMU_EXEC_EXEC_H

#include "runtime/emu/state.h"

/* ---- modules: module.c ---- */

/* The kernel `entry` of `text`, compiled or from the disk cache. */
kn_status kn_emu_module_load(kn_emu *dev, const char *entry, const char *text, kn_code **code);
void kn_emu_module_unload(kn_code *code);
int kn_emu_describe_param(kn_device *dev, kn_code *code, int i, kn_code_param *out);
/* The span's name and whether it is watched, when the parameters have these values. */
void kn_emu_span_of_params(const kn_code *code, void *const *values, kn_emu_span *span);

/* ---- launches and workers: launch.c, worker.c ---- */

kn_status kn_emu_launch_run(kn_emu *dev, kn_code *code, const kn_grid *grid, void *const *params,
                            kn_emu_span *spans, int nspans);
kn_emu_worker *kn_emu_worker_borrow(kn_emu *dev);
void kn_emu_worker_return(kn_emu_worker *w);
void kn_emu_worker_free(kn_emu_worker *w);
/* Runs gangs of the launch until there are none left or a check failed. */
void kn_emu_worker_run(kn_emu_worker *w, kn_emu_launch *l);

/* ---- gangs: gang.c ---- */

/* Lays out the blocks of a gang; starts the blocks of gang number `gang`; frees what its threads left. */
bool kn_emu_gang_make(kn_emu_worker *w);
void kn_emu_gang_start(kn_emu_worker *w, unsigned gang);
void kn_emu_gang_clean(kn_emu_worker *w);

/* ---- threads in turns: sched.c ---- */

/* The worker of the calling operating system thread. */
extern _Thread_local kn_emu_worker *kn_emu_here;

/* Gives the worker to others until somebody calls kn_emu_wake(); w->thread's state is set. */
void kn_emu_pause(kn_emu_worker *w);
void kn_emu_wake(kn_emu_worker *w, kn_emu_thread *t);
/* Lets everyone else run first: the block, and the others of its gang. */
void kn_emu_yield(kn_emu_worker *w, kn_emu_site site);
/* Wakes those that polled. */
void kn_emu_wake_polling(kn_emu_worker *w, kn_emu_block *b);
/* The thread of the running block that goes on now; NULL when none can. */
kn_emu_thread *kn_emu_take(kn_emu_worker *w);
/* Switches to its fibre; to the worker's own stack when it is NULL. */
void kn_emu_go_to(kn_emu_worker *w, kn_emu_thread *t);
/* The i-th of n things in the launch's order; `salt` chooses among seeded orders. */
unsigned kn_emu_in_order(const kn_emu_options *o, unsigned i, unsigned n, uint64_t salt);

/* ---- meetings: warp.c, barrier.c ---- */

/* After a thread's last step: wakes the threads that waited for it. */
void kn_emu_warp_left(kn_emu_worker *w, kn_emu_thread *t);
void kn_emu_barrier_left(kn_emu_worker *w, kn_emu_thread *t);
/* Nothing else runs in the block: lanes in __activemask get their answer, and in relaxed mode those that wait
 * for what their masks do not say. False: there were none. */
bool kn_emu_answer_stragglers(kn_emu_worker *w, kn_emu_block *b);
/* Deadlock: reports which thread waits where. */
void kn_emu_deadlock(kn_emu_worker *w);
const char *kn_emu_op_name(int op);
const char *kn_emu_barrier_name(int kind);

/* ---- asynchronous copies: copy.c, mbarrier.c ---- */

/* Bytes of the widest st.async. */
enum { KN_EMU_MOST_STORED = 16 };

/* An asynchronous copy, done when it is waited for. */
struct kn_emu_copy {
    kn_emu_copy *next;
    kn_emu_place to, from;
    unsigned bytes, zeros, group;
    bool bulk;                               /* by the bulk engine, not by its thread */
    unsigned char value[KN_EMU_MOST_STORED]; /* of st.async, which copies it */
    kn_emu_thread *by;
    uint32_t issued; /* when: as in cells */
    kn_emu_site site;
};

/* Checks the copy and marks what it is to fill. */
kn_emu_copy *kn_emu_copy_of_value(kn_emu_worker *w, kn_emu_transfer what, kn_emu_site site);
kn_emu_copy *kn_emu_copy_new(kn_emu_worker *w, kn_emu_transfer what, bool bulk, kn_emu_site site);
void kn_emu_copy_perform(kn_emu_worker *w, const kn_emu_copy *c);
void kn_emu_copies_add(kn_emu_copies *list, kn_emu_copy *c);
void kn_emu_copies_free(kn_emu_copies *list);
/* st.async: a value, or a vector of them, is on its way to shared memory; `barrier` counts them. */
void kn_emu_mbarrier_store(kn_emu_worker *w, kn_emu_transfer what, void *barrier, kn_emu_site site);
/* A bulk copy into shared memory that `barrier` counts. */
void kn_emu_mbarrier_load(kn_emu_worker *w, kn_emu_transfer what, void *barrier, kn_emu_site site);
void kn_emu_mbarrier_describe(const kn_emu_mbarrier *m, char *text, size_t size);
/* At a thread's and a block's end: fail if anything is left over. */
void kn_emu_copies_left(kn_emu_worker *w, const kn_emu_thread *t);
void kn_emu_mbarriers_left(kn_emu_worker *w, const kn_emu_block *b);
void kn_emu_mbarriers_free(kn_emu_block *b);

#endif
