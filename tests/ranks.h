/* For tests of kernels that exchange while they run: ranks that are threads, on "emu" or on a GPU each, and kernels that
 * are nothing but exchange. */
#ifndef KN_TESTS_RANKS_H
#define KN_TESTS_RANKS_H

#include <pthread.h>
#include <string.h>

#include "base/text.h"
#include "codegen/emit/cuda/prelude.h"
#include "frontend/handles.h"
#include "tests/device.h"

enum { MOST_RANKS = 8 };

/* sums: a float a place. moments: six words a value, sent one round ahead of what is received; the last blocks may have none. */
static const char ranks_text[] =
    "extern \"C\" __global__ void sums(kn_ranks *ranks, const float *in, float *out, unsigned n)\n"
    "{\n"
    "    const kn_exchange m = kn_begin_exchange(ranks);\n"
    "    const unsigned step = gridDim.x * blockDim.x, first = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    for (unsigned i = first; i < n; i += step)\n"
    "        kn_send(m, i, in[i]);\n"
    "    for (unsigned i = first; i < n; i += step)\n"
    "        out[i] = kn_all_reduce<kn_sum>(m, i, in[i]);\n"
    "    kn_count_launch(ranks);\n"
    "}\n"
    "extern \"C\" __global__ void moments(kn_ranks *ranks, const float *in, float *out, unsigned n)\n"
    "{\n"
    "    typedef kn_moments<double> T;\n"
    "    const kn_exchange m = kn_begin_exchange(ranks);\n"
    "    const unsigned step = gridDim.x * blockDim.x, first = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    T next = {1, first < n ? in[first] : 0.0, 0};\n"
    "    if (first < n)\n"
    "        kn_send(m, 6 * first, next);\n"
    "    for (unsigned i = first; i < n; i += step) {\n"
    "        const T mine = next;\n"
    "        if (i + step < n) {\n"
    "            next = T{1, in[i + step], 0};\n"
    "            kn_send(m, 6 * (i + step), next);\n"
    "        }\n"
    "        const T all = kn_all_reduce<kn_merge_moments>(m, 6 * i, mine);\n"
    "        out[i] = (float)(all.mean * all.n);\n"
    "    }\n"
    "    kn_count_launch(ranks);\n"
    "}\n"
    "extern \"C\" __global__ void careless(kn_ranks *ranks, const float *in, float *out, unsigned n)\n"
    "{\n"
    "    out[0] = (float)*ranks->mailboxes[1 - ranks->rank];\n"
    "}\n";

typedef struct rank {
    int number, count, words; /* words: that there is room for */
    const char *device;       /* "emu"; "cuda": GPU `number` */
    const char *emulator;     /* its options */
    kiln_team *team;
    int deadline_ms;
    void (*body)(struct rank *r);
    void *user;
    kiln_ctx *ctx;
    kiln_comm *comm;
    kn_device *dev;
    kn_compiled *sums, *moments;
    void *ranks, *in, *out; /* in, out: of `most` floats */
    unsigned most;
    pthread_t thread;
    char wrong[512]; /* the first thing that was; cmocka's checks belong to the main thread */
} rank;

static inline bool rank_good(rank *r, unsigned status)
{
    if (status != KILN_OK && !r->wrong[0])
        snprintf(r->wrong, sizeof r->wrong, "rank %d: %s", r->number, kiln_last_error());
    return status == KILN_OK;
}

static inline bool rank_says(rank *r, unsigned status, const char *words)
{
    if (!r->wrong[0] && (status == KILN_OK || !strstr(kiln_last_error(), words)))
        snprintf(r->wrong, sizeof r->wrong, "rank %d: '%s' does not say '%s'", r->number,
                 status == KILN_OK ? "KILN_OK" : kiln_last_error(), words);
    return !r->wrong[0];
}

/* Kernel `entry` of `text`. */
static inline kn_compiled *rank_load(rank *r, const char *text, const char *entry)
{
    kn_arena a;
    kn_compiled *compiled = NULL;
    kn_arena_init(&a, NULL);
    kn_text t = kn_text_new(&a);
    kn_prelude(&t, text, false);
    kn_put(&t, text);
    rank_good(r, kn_context_load(r->ctx->core, entry, kn_text_str(&t), &compiled));
    kn_arena_finish(&a);
    return compiled;
}

/* Collective. */
static inline bool rank_join(rank *r, kiln_team *team)
{
    kiln_comm_config c;
    kiln_comm_config_init(&c);
    c.rank = r->number;
    c.team = team;
    c.deadline_ms = r->deadline_ms;
    c.path = "kernel";
    return rank_good(r, kiln_comm_create(r->ctx, &c, &r->comm)) &&
           rank_good(r, kn_comm_mailbox(r->comm->core, (size_t)r->words, &r->ranks));
}

static inline kn_status rank_launch(rank *r, const kn_compiled *kernel, unsigned blocks,
                                    unsigned threads, unsigned n, void *stream)
{
    const kn_grid grid = {.grid = {blocks, 1, 1}, .block = {threads, 1, 1}, .cooperative = true};
    return r->dev->ops->start(r->dev, kernel->code, &grid,
                              (void *[]){&r->ranks, &r->in, &r->out, &n}, 4, stream);
}

static void *rank_main(void *user)
{
    rank *r = user;
    kiln_config c;
    char name[16];
    kiln_config_init(&c);
    snprintf(name, sizeof name, strcmp(r->device, "cuda") == 0 ? "cuda:%d" : "emu", r->number);
    c.device = name;
    c.emulator = r->emulator;
    if (!rank_good(r, kiln_ctx_create(&c, &r->ctx)))
        return NULL;
    r->dev = r->ctx->core->dev;
    r->sums = rank_load(r, ranks_text, "sums");
    r->moments = rank_load(r, ranks_text, "moments");
    rank_good(r, kiln_alloc(r->ctx, r->most * sizeof(float), &r->in));
    rank_good(r, kiln_alloc(r->ctx, r->most * sizeof(float), &r->out));
    if (!r->wrong[0] && rank_join(r, r->team))
        r->body(r);
    kiln_comm_destroy(r->comm);
    kiln_free(r->ctx, r->in);
    kiln_free(r->ctx, r->out);
    if (r->sums)
        kn_kernels_release(&r->ctx->core->kernels, r->sums);
    if (r->moments)
        kn_kernels_release(&r->ctx->core->kernels, r->moments);
    kiln_ctx_destroy(r->ctx);
    return NULL;
}

/* Runs `like`'s body on `count` ranks, and fails with the first that went wrong. */
static inline void run_ranks(const rank *like, int count)
{
    rank all[MOST_RANKS];
    kiln_team *team;
    good(kiln_team_create(count, &team));
    for (int r = 0; r < count; r++) {
        all[r] = *like;
        all[r].number = r;
        all[r].count = count;
        all[r].team = team;
        if (!all[r].deadline_ms)
            all[r].deadline_ms = 30000;
        assert_int_equal(pthread_create(&all[r].thread, NULL, rank_main, &all[r]), 0);
    }
    for (int r = 0; r < count; r++)
        pthread_join(all[r].thread, NULL);
    kiln_team_destroy(team);
    for (int r = 0; r < count; r++)
        if (all[r].wrong[0])
            fail_msg("%s", all[r].wrong);
}

/* What rank r gives for element i in a round, and what all get of it: the same bits on every rank. */
static inline float ranks_give(int r, unsigned round, unsigned i)
{
    unsigned h = (round * 2654435761u ^ i * 40503u) + (unsigned)r * 97u;
    h ^= h >> 15;
    h *= 2246822519u;
    return (float)(int)(h >> 8 & 0xffff) / 1024.0F - 17.0F;
}

static inline float ranks_sum(int count, unsigned round, unsigned i)
{
    float sum = ranks_give(0, round, i);
    for (int r = 1; r < count; r++)
        sum += ranks_give(r, round, i);
    return sum;
}

/* One round of either kernel. Sums must be exact to the bit; moments are of few numbers with few bits. */
static inline bool rank_round(rank *r, const kn_compiled *kernel, unsigned blocks, unsigned threads,
                              unsigned n, unsigned round)
{
    float *x = malloc(2 * n * sizeof *x), *y = x + n;
    for (unsigned i = 0; i < n; i++)
        x[i] = ranks_give(r->number, round, i);
    bool fine = rank_good(r, kiln_upload(r->ctx, r->in, x, n * sizeof *x)) &&
                rank_good(r, rank_launch(r, kernel, blocks, threads, n, NULL)) &&
                rank_good(r, kiln_sync(r->ctx, NULL)) && rank_good(r, kiln_comm_check(r->comm)) &&
                rank_good(r, kiln_download(r->ctx, y, r->out, n * sizeof *y));
    for (unsigned i = 0; i < n && fine; i++) {
        float want = ranks_sum(r->count, round, i), error = y[i] - want;
        fine = kernel == r->sums ? error == 0 : error < 1e-3F && error > -1e-3F;
        if (!fine)
            snprintf(r->wrong, sizeof r->wrong,
                     "rank %d of %d, round %u: out[%u] of %u is %g, not %g", r->number, r->count,
                     round, i, n, (double)y[i], (double)want);
    }
    free(x);
    return fine;
}

#endif
