/* Mailboxes: codegen/emit/cuda/prelude/ranks.cuh has how kernels use them. */
#include <string.h>

#include "runtime/comm/impl.h"

/* As kernels have it. */
typedef struct ranks {
    uint32_t rank, count;
    uint64_t words, launches, timeout;
    void *timed_out, *own;
    void *mailboxes[];
} ranks;
enum { HEAD = 8, TURNS = 2 };

static kn_status open_own(kn_comm *c, kn_mailbox *m, kn_peer_handle *handle)
{
    const kn_comm_config *g = &c->config;
    const kn_peer_ops *ops = g->dev->ops->peer;
    const size_t bytes = 8 * (HEAD + TURNS * (size_t)g->count * m->words);
    kn_status status = c->timed_out.at ? KN_OK : ops->alloc(g->dev, 8, true, &c->timed_out);
    if (status == KN_OK)
        status = ops->alloc(g->dev, bytes, false, &m->mailboxes[g->rank]);
    if (status == KN_OK)
        status = ops->get_handle(g->dev, &m->mailboxes[g->rank], handle);
    return status;
}

/* Kernels of two ranks that wait for each other must run at once. */
static kn_status check_devices(const kn_peer_handle *all, int n)
{
    for (int r = 1; r < n; r++)
        for (int other = 0; other < r; other++)
            if (memcmp(all[r].device, all[other].device, sizeof all[r].device) == 0)
                return kn_fail(KN_DEVICE, "ranks %d and %d share a device", other, r);
    return KN_OK;
}

static kn_status open_others(kn_comm *c, kn_mailbox *m, const kn_peer_handle *all)
{
    const kn_comm_config *g = &c->config;
    KN_TRY(check_devices(all, g->count));
    for (int r = 0; r < g->count; r++) {
        const bool here = memcmp(c->processes[r], c->processes[g->rank], sizeof *c->processes) == 0;
        kn_status status =
            r == g->rank ? KN_OK
                         : g->dev->ops->peer->open_handle(g->dev, &all[r], here, &m->mailboxes[r]);
        if (status != KN_OK)
            return kn_fail_prefix(status, "rank %d does not reach rank %d: ", g->rank, r);
    }
    return KN_OK;
}

static kn_status upload_ranks(kn_comm *c, kn_mailbox *m)
{
    const kn_comm_config *g = &c->config;
    const size_t bytes = sizeof(ranks) + (size_t)g->count * sizeof(void *);
    ranks *host = g->from->alloc(g->from->user, bytes);
    if (!host)
        return kn_fail(KN_MEMORY, "out of memory: %zu bytes", bytes);
    *host = (ranks){.rank = (uint32_t)g->rank,
                    .count = (uint32_t)g->count,
                    .words = m->words,
                    .timeout = (uint64_t)g->deadline_ms * 1000000,
                    .timed_out = c->timed_out.at,
                    .own = m->mailboxes[g->rank].at};
    for (int r = 0; r < g->count; r++)
        host->mailboxes[r] = m->mailboxes[r].at;
    m->ranks_bytes = bytes;
    kn_status status = g->dev->ops->alloc(g->dev, bytes + (size_t)g->count, &m->ranks);
    if (status == KN_OK)
        status = g->dev->ops->upload(g->dev, m->ranks, host, bytes);
    g->from->release(g->from->user, host);
    return status;
}

/* ---- together with the others ---- */

static kn_status connect(kn_comm *c, kn_mailbox *m, kn_peer_handle *all)
{
    kn_peer_handle mine = {0};
    KN_TRY(kn_comm_all_well(c, open_own(c, m, &mine)));
    KN_TRY(kn_comm_gather(c, &mine, all, sizeof mine));
    kn_status status = open_others(c, m, all);
    return kn_comm_all_well(c, status == KN_OK ? upload_ranks(c, m) : status);
}

static void close_mailbox(kn_comm *c, kn_mailbox *m)
{
    kn_device *dev = c->config.dev;
    for (int r = 0; r < c->config.count; r++)
        dev->ops->peer->close(dev, &m->mailboxes[r]);
    dev->ops->release(dev, m->ranks);
    c->config.from->release(c->config.from->user, m);
}

kn_status kn_mailbox_make(kn_comm *c, size_t words)
{
    const kn_allocator *from = c->config.from;
    const size_t n = (size_t)c->config.count;
    kn_mailbox *m = from->alloc(from->user, sizeof *m + n * sizeof *m->mailboxes);
    kn_peer_handle *all = from->alloc(from->user, n * sizeof *all);
    kn_status status =
        kn_comm_all_well(c, m && all ? KN_OK : kn_fail(KN_MEMORY, "out of memory: %zu ranks", n));
    if (m)
        memset(m, 0, sizeof *m + n * sizeof *m->mailboxes);
    if (status == KN_OK) {
        m->words = words;
        status = connect(c, m, all);
    }
    if (all)
        from->release(from->user, all);
    if (status != KN_OK) {
        if (m)
            close_mailbox(c, m);
        return status;
    }
    m->older = c->mailboxes;
    __atomic_store_n(&c->mailboxes, m, __ATOMIC_RELEASE);
    return KN_OK;
}

kn_status kn_comm_mailbox(kn_comm *c, size_t words, void **ranks_of)
{
    if (c->path != KN_PATH_KERNEL)
        return kn_fail(KN_INTERNAL, "a mailbox for ranks whose kernels do not exchange");
    uint64_t mine = words, *const all = (uint64_t *)(void *)c->reports;
    kn_status status = kn_comm_gather(c, &mine, all, sizeof mine);
    for (int r = 0; r < c->config.count && status == KN_OK; r++)
        mine = all[r] > mine ? all[r] : mine;
    if (status == KN_OK && mine > UINT32_MAX / 2)
        status = kn_fail(KN_MEMORY, "%llu words for each rank's mailbox", (unsigned long long)mine);
    size_t room = status == KN_OK ? kn_newest_mailbox(c)->words : 0;
    while (status == KN_OK && room < mine)
        room *= 2;
    if (status == KN_OK && room > kn_newest_mailbox(c)->words)
        status = kn_mailbox_make(c, room);
    if (status == KN_OK)
        *ranks_of = kn_newest_mailbox(c)->ranks;
    return status;
}

void kn_mailboxes_close(kn_comm *c)
{
    while (c->mailboxes) {
        kn_mailbox *m = c->mailboxes;
        c->mailboxes = m->older;
        close_mailbox(c, m);
    }
    if (c->timed_out.block)
        c->config.dev->ops->peer->close(c->config.dev, &c->timed_out);
}
