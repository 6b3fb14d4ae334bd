/* The functions that a module calls: here those that only ask or check; each other kind has its own file. */
#include "runtime/emu/exec/calls.h"
#include "runtime/emu/check/check.h"
#include "runtime/emu/exec/exec.h"

/* ---- which thread this is ---- */

static unsigned number_of(kn_emu_dim d, int axis)
{
    return axis == 0 ? d.x : axis == 1 ? d.y : d.z;
}

static unsigned thread_idx(int axis) { return number_of(kn_emu_here->thread->idx, axis); }
static unsigned block_idx(int axis) { return number_of(kn_emu_here->block->idx, axis); }
static unsigned block_dim(int axis) { return kn_emu_here->launch->grid.block[axis]; }
static unsigned grid_dim(int axis) { return kn_emu_here->launch->grid.grid[axis]; }
static unsigned cluster_dim(int axis) { return kn_emu_here->launch->grid.cluster[axis]; }
static unsigned cluster_idx(int axis) { return block_idx(axis) % cluster_dim(axis); }

static unsigned lane(int axis)
{
    const kn_emu_thread *t = kn_emu_here->thread;
    return number_of((kn_emu_dim){t->lane, t->number, t->block->nthreads}, axis);
}

/* ---- memory ---- */

static void access(const void *p, unsigned long bytes, int how, void *pc)
{
    kn_emu_worker *w = kn_emu_here;
    if (!w)
        return;
    size_t offset = (uintptr_t)p - (uintptr_t)w->quiet;
    if (how == KN_EMU_READ && offset < w->quiet_bytes && bytes <= w->quiet_bytes - offset)
        return;
    if (!w->thread)
        return;
    const kn_emu_site site = {.pc = pc};
    bool poll = how == (KN_EMU_READ | KN_EMU_VOLATILE);
    if (poll)
        kn_emu_yield(w, site);
    if (!w->launch->checked && poll && w->launch->has_mailbox) { /* whatever it waits for */
        w->progress++;
        w->awaits_mailbox = true;
    }
    if (!w->launch->checked || !bytes)
        return;
    kn_emu_check(w, p, bytes, how, site);
    if (poll)
        kn_emu_polls(w, p);
    else if (how == (KN_EMU_WRITE | KN_EMU_VOLATILE))
        kn_emu_before_strong_write(w, p);
    w->progress += (how & KN_EMU_WRITE) != 0;
}

static void misaligned(const void *p, unsigned long alignment, void *pc)
{
    kn_emu_worker *w = kn_emu_here;
    if (!w || !w->thread || !w->launch->checked)
        return;
    char where[200];
    kn_emu_describe(w, p, where, sizeof where);
    kn_emu_fail(w, (kn_emu_site){.pc = pc}, "misaligned: the address %s is no multiple of %lu",
                where, alignment);
}

static void bad_index(const void *array, long long index, void *pc)
{
    kn_emu_worker *w = kn_emu_here;
    (void)array;
    if (!w || !w->thread || !w->launch->checked)
        return;
    if (index > INT32_MAX && index <= UINT32_MAX)
        index = (int32_t)index;
    kn_emu_fail(w, (kn_emu_site){.pc = pc}, "out of bounds: index %lld is not one of the array's",
                index);
}

static void fence(int scope, void *pc)
{
    (void)pc;
    kn_emu_fence(kn_emu_here, scope != 0);
}

/* ---- shared memory's addresses ---- */

static void *peer(const void *shared, unsigned rank, kn_emu_site site)
{
    return kn_emu_in_rank(kn_emu_here, shared, rank, site);
}

static unsigned to_shared(const void *p, kn_emu_site site)
{
    return kn_emu_to_shared(kn_emu_here, p, site);
}

static void *from_shared(unsigned address, int cluster, kn_emu_site site)
{
    return kn_emu_from_shared(kn_emu_here, address, cluster != 0, site);
}

static unsigned map_rank(unsigned address, unsigned rank, kn_emu_site site)
{
    return kn_emu_map_rank(kn_emu_here, address, rank, site);
}

/* ---- the rest ---- */

static void relax(kn_emu_site site) { kn_emu_yield(kn_emu_here, site); }

_Noreturn static void trap(const char *message, kn_emu_site site)
{
    kn_emu_fail(kn_emu_here, site, "%s", message);
}

const kn_emu_calls_table kn_emu_calls_of_runtime = {
    .access = access,
    .misaligned = misaligned,
    .bad_index = bad_index,
    .thread_idx = thread_idx,
    .block_idx = block_idx,
    .block_dim = block_dim,
    .grid_dim = grid_dim,
    .cluster_idx = cluster_idx,
    .cluster_dim = cluster_dim,
    .lane = lane,
    .warp = kn_emu_call_warp,
    .barrier = kn_emu_call_barrier,
    .cluster_arrive = kn_emu_call_cluster_arrive,
    .atomic = kn_emu_call_atomic,
    .fence = fence,
    .relax = relax,
    .peer = peer,
    .to_shared = to_shared,
    .from_shared = from_shared,
    .map_rank = map_rank,
    .copy_async = kn_emu_call_copy_async,
    .copy_commit = kn_emu_call_copy_commit,
    .copy_wait = kn_emu_call_copy_wait,
    .bulk = kn_emu_call_bulk,
    .mbarrier = kn_emu_call_mbarrier,
    .proxy_fence = kn_emu_call_proxy_fence,
    .trap = trap,
};
