#include "runtime/comm/comm.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "runtime/comm/impl.h"
#include "runtime/cuda/nccl.h"

int kn_comm_rank(const kn_comm *c) { return c->config.rank; }
int kn_comm_count(const kn_comm *c) { return c->config.count; }
kn_comm_path kn_comm_path_of(const kn_comm *c) { return c->path; }

const char *kn_comm_path_name(kn_comm_path path)
{
    static const char *const names[] = {"kernel", "nccl", "host"};
    return names[path];
}

/* ---- failing for good ---- */

static kn_status fail_for_good(kn_comm *c, kn_status status)
{
    pthread_mutex_lock(&c->lock);
    if (!c->failed) {
        snprintf(c->why, sizeof c->why, "%s", kn_last_error());
        c->failed = status;
    }
    pthread_mutex_unlock(&c->lock);
    return status;
}

static void check_timeout(kn_comm *c)
{
    const uint64_t *word = c->timed_out.host;
    const uint64_t timed_out = word ? __atomic_load_n(word, __ATOMIC_RELAXED) : 0;
    if (!timed_out)
        return;
    pthread_mutex_lock(&c->lock);
    if (!c->failed) {
        snprintf(c->why, sizeof c->why,
                 "rank %d of %d timed out: kernels waited %d ms for it; what they wrote is "
                 "unspecified, and this communicator is at its end",
                 (int)timed_out - 1, c->config.count, c->config.deadline_ms);
        c->failed = KN_RUN;
    }
    pthread_mutex_unlock(&c->lock);
}

kn_status kn_comm_check(kn_comm *c)
{
    check_timeout(c);
    pthread_mutex_lock(&c->lock);
    kn_status status = c->failed ? kn_fail(c->failed, "%s", c->why) : KN_OK;
    pthread_mutex_unlock(&c->lock);
    return status;
}

/* ---- what all give ---- */

kn_status kn_comm_gather(kn_comm *c, const void *mine, void *all, size_t bytes)
{
    const kn_comm_config *g = &c->config;
    KN_TRY(kn_comm_check(c));
    kn_status status;
    if (g->team)
        status = kn_team_gather(g->team, g->rank, mine, all, bytes, g->deadline_ms);
    else if (!g->all_gather)
        status = kn_nccl_gather_host(g->dev, g->nccl, g->count, mine, all, bytes);
    else if ((status = (kn_status)g->all_gather(g->user, mine, all, bytes)) != KN_OK)
        kn_fail(status, "the communicator's all_gather failed: %s", kn_status_text(status));
    return status == KN_OK ? KN_OK : fail_for_good(c, status);
}

kn_status kn_comm_all_well(kn_comm *c, kn_status mine)
{
    const int n = c->config.count;
    kn_report one = {.status = (int)mine}, *const all = c->reports;
    kn_status status = KN_OK;
    if (mine != KN_OK)
        snprintf(one.why, sizeof one.why, "%s", kn_last_error());
    status = kn_comm_gather(c, &one, all, sizeof one);
    /* Every rank fails if one does, so that all act alike. */
    for (int r = 0; r < n && status == KN_OK; r++)
        if (all[r].status != KN_OK && mine != KN_OK)
            status = kn_fail((kn_status)all[r].status, "%s", one.why);
        else if (all[r].status != KN_OK)
            status = kn_fail((kn_status)all[r].status, "rank %d: %.*s", r,
                             (int)sizeof all[r].why - 1, all[r].why);
    return status;
}

/* The first line that differs between `a` and `b`, and its length in each. */
static void first_difference(const char **a, int *na, const char **b, int *nb)
{
    for (;;) {
        *na = (int)strcspn(*a, "\n");
        *nb = (int)strcspn(*b, "\n");
        if (*na != *nb || memcmp(*a, *b, (size_t)*na) != 0 || !(*a)[*na])
            return;
        *a += *na + 1;
        *b += *nb + 1;
    }
}

/* Gathered: texts of `most` bytes a rank. */
static kn_status compare_lines(const kn_comm *c, const char *all, size_t most)
{
    for (int r = 1; r < c->config.count; r++) {
        const char *first = all, *other = all + (size_t)r * most;
        int n, m;
        if (strcmp(first, other) == 0)
            continue;
        first_difference(&first, &n, &other, &m);
        return kn_fail(KN_ARGUMENT, "ranks disagree: rank 0 has '%.*s', rank %d has '%.*s'", n,
                       first, r, m, other);
    }
    return KN_OK;
}

typedef struct summary {
    uint64_t hash, bytes;
} summary;
static_assert(sizeof(summary) <= sizeof(kn_report), "summaries of all ranks have room");

/* Texts of `most` bytes: what each rank has, compared by each. */
static kn_status gather_lines(kn_comm *c, const char *lines, size_t most)
{
    const kn_allocator *from = c->config.from;
    char *texts = from->alloc(from->user, ((size_t)c->config.count + 1) * most);
    if (texts) {
        memset(texts, 0, most);
        strcpy(texts, lines);
    }
    kn_status status = kn_comm_all_well(c, texts ? KN_OK : kn_fail(KN_MEMORY, "out of memory"));
    if (status == KN_OK)
        status = kn_comm_gather(c, texts, texts + most, most);
    if (status == KN_OK)
        status = compare_lines(c, texts + most, most);
    if (texts)
        from->release(from->user, texts);
    return status;
}

kn_status kn_comm_same(kn_comm *c, uint64_t mine, bool *same)
{
    uint64_t *const all = (uint64_t *)(void *)c->reports;
    KN_TRY(kn_comm_gather(c, &mine, all, sizeof mine));
    *same = true;
    for (int r = 1; r < c->config.count; r++)
        *same = *same && all[r] == all[0];
    return KN_OK;
}

/* The texts themselves travel only when they are not the same. */
kn_status kn_comm_agree(kn_comm *c, kn_status mine, const char *lines)
{
    const int n = c->config.count;
    KN_TRY(kn_comm_all_well(c, mine));
    const summary one = {kn_hash(lines, strlen(lines), 0), strlen(lines) + 1};
    summary *const all = (summary *)(void *)c->reports;
    kn_status status = kn_comm_gather(c, &one, all, sizeof one);
    size_t most = 0;
    bool same = true;
    for (int r = 0; r < n && status == KN_OK; r++) {
        most = all[r].bytes > most ? (size_t)all[r].bytes : most;
        same = same && all[r].hash == all[0].hash && all[r].bytes == all[0].bytes;
    }
    return status != KN_OK || same ? status : gather_lines(c, lines, most);
}
