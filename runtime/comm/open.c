/* How ranks find each other, and which way they exchange. */
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/file.h"
#include "base/process.h"
#include "runtime/comm/impl.h"
#include "runtime/cuda/nccl.h"

/* What a rank says of itself. */
typedef struct hello {
    int32_t rank, count, deadline_ms;
    uint8_t has_mailbox, has_nccl;
    char path[14]; /* that is asked for */
    char device[8];
    char host[40], process[16];
} hello;

/* A number that no other process has. */
static void name_process(char name[16])
{
    static char here[16];
    static unsigned of; /* 1 + kn_process() */
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (of != kn_process() + 1 && getrandom(here, sizeof here, 0) == (ssize_t)sizeof here)
        of = kn_process() + 1;
    memcpy(name, here, sizeof here);
    pthread_mutex_unlock(&lock);
}

static void name_host(char name[40])
{
    char *boot;
    if (kn_file_read("/proc/sys/kernel/random/boot_id", 64, &kn_malloc_allocator, &boot)) {
        snprintf(name, 40, "%.36s", boot);
        kn_malloc_allocator.release(NULL, boot);
    } else {
        gethostname(name, 39);
    }
}

static hello introduce(const kn_comm_config *g)
{
    hello h = {.rank = g->rank,
               .count = g->count,
               .deadline_ms = g->deadline_ms,
               .has_mailbox = g->dev->ops->peer != NULL,
               .has_nccl = g->nccl != NULL};
    snprintf(h.path, sizeof h.path, "%s", g->path ? g->path : "");
    snprintf(h.device, sizeof h.device, "%s", g->dev->ops->kind);
    name_host(h.host);
    name_process(h.process);
    return h;
}

static kn_status compare(const hello *all, int n)
{
    for (int r = 0; r < n; r++) {
        const hello *h = &all[r];
        if (h->rank != r)
            return kn_fail(KN_ARGUMENT, "what all_gather gives for rank %d is rank %d's", r,
                           h->rank);
        if (h->count != all->count || h->deadline_ms != all->deadline_ms ||
            strcmp(h->path, all->path) != 0)
            return kn_fail(
                KN_ARGUMENT,
                "ranks disagree: rank 0 has count %d, deadline_ms %d, path '%s', rank %d "
                "has %d, %d, '%s'",
                all->count, all->deadline_ms, all->path, r, h->count, h->deadline_ms, h->path);
    }
    return KN_OK;
}

/* Whether mailboxes are to be tried. Why not becomes the thread's message. */
static bool may_have_mailboxes(const hello *all, int n)
{
    for (int r = 0; r < n; r++) {
        if (!all[r].has_mailbox)
            return kn_fail(
                       KN_DEVICE,
                       "rank %d is on \"%s\", whose kernels cannot exchange with those of others",
                       r, all[r].device) == KN_OK;
        if (strcmp(all[r].device, all->device) != 0)
            return kn_fail(KN_DEVICE, "rank %d is on \"%s\", rank 0 on \"%s\"", r, all[r].device,
                           all->device) == KN_OK;
        if (strcmp(all[r].host, all->host) != 0)
            return kn_fail(KN_DEVICE, "rank %d is on another host than rank 0", r) == KN_OK;
    }
    return true;
}

/* The first that all can; or the one that is asked for. All ranks decide alike. */
static kn_status choose_path(kn_comm *c, const hello *all)
{
    enum { FIRST_WORDS = 4096 };
    const int n = c->config.count;
    const char *asked = all->path;
    const bool any = !*asked;
    bool nccl = true;
    for (int r = 0; r < n; r++)
        nccl = nccl && all[r].has_nccl;
    if (any || strcmp(asked, kn_comm_path_name(KN_PATH_KERNEL)) == 0) {
        kn_status status = may_have_mailboxes(all, n) ? kn_mailbox_make(c, FIRST_WORDS) : KN_DEVICE;
        if (status == KN_OK || !any || status != KN_DEVICE)
            return status;
        kn_clear_error();
    }
    c->path =
        nccl && strcmp(asked, kn_comm_path_name(KN_PATH_HOST)) != 0 ? KN_PATH_NCCL : KN_PATH_HOST;
    if (!nccl && strcmp(asked, kn_comm_path_name(KN_PATH_NCCL)) == 0)
        return kn_fail(KN_ARGUMENT, "the path \"nccl\" needs an ncclComm_t of every rank");
    return KN_OK;
}

static kn_status rendezvous(kn_comm *c)
{
    const kn_allocator *from = c->config.from;
    const int n = c->config.count;
    const hello mine = introduce(&c->config);
    hello *all = from->alloc(from->user, sizeof *all * (size_t)n);
    c->processes = from->alloc(from->user, sizeof *c->processes * (size_t)n);
    c->reports = from->alloc(from->user, sizeof *c->reports * (size_t)n);
    kn_status status = all && c->processes && c->reports
                           ? kn_comm_gather(c, &mine, all, sizeof mine)
                           : kn_fail(KN_MEMORY, "out of memory: %d ranks", n);
    if (status == KN_OK)
        status = compare(all, n);
    for (int r = 0; r < n && status == KN_OK; r++)
        memcpy(c->processes[r], all[r].process, sizeof all[r].process);
    if (status == KN_OK)
        status = choose_path(c, all);
    if (all)
        from->release(from->user, all);
    return status;
}

/* ---- from first to last ---- */

/* An ncclComm_t knows its rank and count. */
static kn_status check(kn_comm_config *g)
{
    if (g->nccl) {
        int rank, count;
        KN_TRY(kn_nccl_place(g->dev, g->nccl, &rank, &count));
        if (g->count && (g->count != count || g->rank != rank))
            return kn_fail(KN_ARGUMENT,
                           "the ncclComm_t is rank %d of %d, where config has rank %d of %d", rank,
                           count, g->rank, g->count);
        g->rank = rank;
        g->count = count;
    }
    if (g->team && !g->count)
        g->count = kn_team_count(g->team);
    if ((g->team != NULL) + (g->all_gather != NULL) > 1 || !(g->team || g->all_gather || g->nccl))
        return kn_fail(KN_ARGUMENT, "a communicator needs a team, an all_gather or an ncclComm_t");
    if (g->count < 1 || g->count > KN_MAX_RANKS || g->rank < 0 || g->rank >= g->count)
        return kn_fail(KN_ARGUMENT, "rank %d of %d; there can be 1 to %d ranks", g->rank, g->count,
                       KN_MAX_RANKS);
    if (g->team && g->count != kn_team_count(g->team))
        return kn_fail(KN_ARGUMENT, "config.count is %d; the team has %d ranks", g->count,
                       kn_team_count(g->team));
    if (g->deadline_ms < 1)
        return kn_fail(KN_ARGUMENT, "config.deadline_ms is %d; it is at least 1", g->deadline_ms);
    for (kn_comm_path p = KN_PATH_KERNEL; g->path && strcmp(g->path, kn_comm_path_name(p)) != 0;)
        if (++p > KN_PATH_HOST)
            return kn_fail(KN_ARGUMENT, "config.path is '%s'; there are kernel, nccl and host",
                           g->path);
    return KN_OK;
}

static void close_comm(kn_comm *c)
{
    const kn_allocator from = *c->config.from;
    if (c->gather)
        c->config.dev->ops->discard(c->config.dev, c->gather);
    kn_mailboxes_close(c);
    if (c->config.team)
        kn_team_leave(c->config.team, c->config.rank);
    if (c->processes)
        from.release(from.user, c->processes);
    if (c->reports)
        from.release(from.user, c->reports);
    pthread_mutex_destroy(&c->lock);
    pthread_mutex_destroy(&c->loading);
    from.release(from.user, c);
}

kn_status kn_comm_open(const kn_comm_config *config, kn_comm **out)
{
    kn_comm_config g = *config;
    KN_TRY(check(&g));
    kn_comm *c = g.from->alloc(g.from->user, sizeof *c);
    if (!c)
        return kn_fail(KN_MEMORY, "out of memory: %zu bytes", sizeof *c);
    memset(c, 0, sizeof *c);
    c->users = 1;
    c->config = g;
    pthread_mutex_init(&c->lock, NULL);
    pthread_mutex_init(&c->loading, NULL);
    kn_status status = KN_OK;
    if (g.team && (status = kn_team_join(g.team, g.rank)) != KN_OK)
        c->config.team = NULL;
    if (status == KN_OK)
        status = rendezvous(c);
    if (status == KN_OK)
        *out = c;
    else
        close_comm(c);
    return status;
}

void kn_comm_keep(kn_comm *c) { __atomic_add_fetch(&c->users, 1, __ATOMIC_RELAXED); }

void kn_comm_drop(kn_comm *c)
{
    if (c && __atomic_sub_fetch(&c->users, 1, __ATOMIC_ACQ_REL) == 0)
        close_comm(c);
}
