/* One run of a kernel: its shape is checked, its blocks are given to workers, and its fault, if it had one,
 * is reported. */
#include <string.h>

#include "base/thread.h"
#include "runtime/emu/check/check.h"
#include "runtime/emu/exec/exec.h"

/* Threads of a launch below which a second worker does not pay. */
enum { FEW_THREADS = 4096 };
/* Threads whose blocks may wait for each other: each keeps its stack. */
enum { MAX_RESIDENT = 65536 };

/* ---- the shape ---- */

/* The cluster is the launch's or the kernel's own; where both say something, it must be the same. */
static kn_status choose_cluster(const kn_code *code, kn_grid *g)
{
    const unsigned *own = code->cluster;
    unsigned want[3], given[3];
    for (int i = 0; i < 3; i++) {
        want[i] = own[i] ? own[i] : 1;
        given[i] = g->cluster[i] ? g->cluster[i] : 1;
    }
    bool says = given[0] * given[1] * given[2] > 1;
    if (own[0] && says && memcmp(given, want, sizeof want) != 0)
        return kn_fail(KN_ARGUMENT,
                       "clusters of %ux%ux%u blocks, but its __cluster_dims__ are %ux%ux%u",
                       given[0], given[1], given[2], want[0], want[1], want[2]);
    memcpy(g->cluster, own[0] ? want : given, sizeof want);
    return KN_OK;
}

/* The shape's products, none of which is too large. */
static kn_status count(kn_emu_launch *l)
{
    const kn_grid *g = &l->grid;
    uint64_t threads = 1, blocks = 1, cluster = 1;
    for (int i = 0; i < 3; i++) {
        if (!g->grid[i] || !g->block[i])
            return kn_fail(KN_ARGUMENT, "a grid or block without extent");
        if (g->block[i] > KN_EMU_MAX_THREADS || g->cluster[i] > KN_EMU_MAX_CLUSTER)
            return kn_fail(KN_ARGUMENT, "a block has at most %d threads, a cluster %d blocks",
                           KN_EMU_MAX_THREADS, KN_EMU_MAX_CLUSTER);
        if (g->grid[i] % g->cluster[i])
            return kn_fail(KN_ARGUMENT, "%u blocks are no whole number of clusters of %u",
                           g->grid[i], g->cluster[i]);
        threads *= g->block[i];
        blocks *= g->grid[i];
        cluster *= g->cluster[i];
        if (blocks > INT32_MAX)
            return kn_fail(KN_ARGUMENT, "the grid has too many blocks");
    }
    if (threads > KN_EMU_MAX_THREADS || cluster > KN_EMU_MAX_CLUSTER)
        return kn_fail(KN_ARGUMENT,
                       "blocks of %llu threads, clusters of %llu blocks; at most %d and %d are "
                       "possible",
                       (unsigned long long)threads, (unsigned long long)cluster, KN_EMU_MAX_THREADS,
                       KN_EMU_MAX_CLUSTER);
    l->nthreads = (unsigned)threads;
    l->nblocks = (unsigned)blocks;
    l->cluster = (unsigned)cluster;
    return KN_OK;
}

static kn_status make_room(kn_emu_launch *l)
{
    const size_t own = l->code->fixed;
    if (l->grid.shared > KN_EMU_MAX_SHARED - own)
        return kn_fail(KN_ARGUMENT,
                       "%zu bytes of dynamic shared memory and %zu of its own; a block has at "
                       "most %d",
                       l->grid.shared, own, KN_EMU_MAX_SHARED);
    l->gang = l->grid.cooperative ? l->nblocks : l->cluster;
    l->ngangs = l->nblocks / l->gang;
    if ((uint64_t)l->gang * l->nthreads > MAX_RESIDENT)
        return kn_fail(KN_ARGUMENT,
                       "%u blocks of %u threads cannot all run at a time; the emulator has room "
                       "for %d threads",
                       l->gang, l->nthreads, MAX_RESIDENT);
    return KN_OK;
}

static kn_status check_shape(kn_emu_launch *l)
{
    kn_status status = choose_cluster(l->code, &l->grid);
    if (status == KN_OK)
        status = count(l);
    if (status == KN_OK)
        status = make_room(l);
    return status == KN_OK ? KN_OK : kn_fail_prefix(status, "kernel '%s': ", l->code->name);
}

/* ---- running ---- */

typedef struct job {
    pthread_t id;
    kn_emu_worker *worker;
    kn_emu_launch *launch;
} job;

static void *help(void *user)
{
    job *j = user;
    kn_emu_worker_run(j->worker, j->launch);
    return NULL;
}

static unsigned workers_for(const kn_emu_launch *l)
{
    uint64_t threads = (uint64_t)l->nblocks * l->nthreads;
    unsigned n = (unsigned)l->dev->threads;
    if (threads < FEW_THREADS)
        return 1;
    return n < l->ngangs ? n : l->ngangs;
}

/* The calling thread works too; helpers that cannot be had are done without. */
static kn_status run_workers(kn_emu_launch *l)
{
    enum { MOST = 64 };
    job jobs[MOST];
    unsigned wanted = workers_for(l), n = 0;
    kn_emu_worker *mine = kn_emu_worker_borrow(l->dev);
    if (!mine)
        return kn_fail(KN_MEMORY, "out of memory: a worker of the emulator");
    while (n + 1 < wanted && n < MOST) {
        job *j = &jobs[n];
        *j = (job){.worker = kn_emu_worker_borrow(l->dev), .launch = l};
        if (!j->worker)
            break;
        if (!kn_thread_start(&j->id, help, j)) {
            kn_emu_worker_return(j->worker);
            break;
        }
        n++;
    }
    kn_emu_worker_run(mine, l);
    kn_emu_worker_return(mine);
    for (unsigned i = 0; i < n; i++) {
        pthread_join(jobs[i].id, NULL);
        kn_emu_worker_return(jobs[i].worker);
    }
    return KN_OK;
}

kn_status kn_emu_launch_run(kn_emu *dev, kn_code *code, const kn_grid *grid, void *const *params,
                            kn_emu_span *spans, int nspans)
{
    kn_emu_launch l = {.dev = dev,
                       .code = code,
                       .params = params,
                       .grid = *grid,
                       .checked = !dev->options.unchecked,
                       .spans = spans,
                       .nspans = nspans};
    for (int i = 0; i < nspans; i++)
        l.has_mailbox |= spans[i].mailbox;
    KN_TRY(check_shape(&l));
    pthread_mutex_init(&l.lock, NULL);
    pthread_mutex_init(&l.releasing, NULL);
    kn_status status = KN_OK;
    if (l.checked) {
        pthread_mutex_lock(&dev->running);
        status = kn_emu_shadow_prepare(&l);
    }
    if (status == KN_OK)
        status = run_workers(&l);
    if (l.checked)
        pthread_mutex_unlock(&dev->running);
    kn_emu_forget_releases(&l);
    pthread_mutex_destroy(&l.releasing);
    pthread_mutex_destroy(&l.lock);
    __atomic_fetch_add(&dev->base.launches, 1, __ATOMIC_RELAXED);
    return status == KN_OK && atomic_load(&l.failed) ? kn_emu_report(&l) : status;
}
