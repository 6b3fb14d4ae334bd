/* Communicators of threads of a process and of an application's own all-gather: what they gather and agree on, ranks that are
 * missing, leave or disagree, several communicators, and their end in any order. */
#include <limits.h>
#include <pthread.h>
#include <string.h>

#include "frontend/handles.h"
#include "tests/device.h"
#include "tests/effort.h"
#include "tests/rations.h"

enum { MOST = 5 };

typedef struct rank {
    int number, count;
    kiln_team *team, *more[MOST];
    void (*body)(struct rank *r);
    kiln_ctx *ctx;
    kiln_comm *comm;
    pthread_t thread;
    char wrong[512]; /* cmocka's checks belong to the main thread */
} rank;

#define EXPECT(r, what)                                                                            \
    do {                                                                                           \
        if (!(what) && !(r)->wrong[0])                                                             \
            snprintf((r)->wrong, sizeof(r)->wrong, "rank %d, line %d: %s (last error: %.200s)",    \
                     (r)->number, __LINE__, #what, kiln_last_error());                             \
    } while (0)

static bool says(const char *words) { return strstr(kiln_last_error(), words) != NULL; }

static kiln_comm_config config_of(const rank *r)
{
    kiln_comm_config c;
    kiln_comm_config_init(&c);
    c.rank = r->number;
    c.team = r->team;
    return c;
}

static void *rank_main(void *user)
{
    rank *r = user;
    kiln_config c;
    kiln_config_init(&c);
    c.device = "cpu";
    c.threads = 1;
    EXPECT(r, kiln_ctx_create(&c, &r->ctx) == KILN_OK);
    r->body(r);
    kiln_comm_destroy(r->comm);
    kiln_ctx_destroy(r->ctx);
    return NULL;
}

/* `body` on a thread a rank. */
static void on_ranks(int count, void (*body)(rank *r))
{
    rank all[MOST];
    kiln_team *team, *more[MOST];
    good(kiln_team_create(count, &team));
    for (int i = 0; i < MOST; i++)
        good(kiln_team_create(i == 0 ? count : 2, &more[i]));
    for (int r = 0; r < count; r++) {
        all[r] = (rank){.number = r, .count = count, .team = team, .body = body};
        memcpy(all[r].more, more, sizeof more);
        assert_int_equal(pthread_create(&all[r].thread, NULL, rank_main, &all[r]), 0);
    }
    for (int r = 0; r < count; r++)
        pthread_join(all[r].thread, NULL);
    kiln_team_destroy(team);
    for (int i = 0; i < MOST; i++)
        kiln_team_destroy(more[i]);
    for (int r = 0; r < count; r++)
        if (all[r].wrong[0])
            fail_msg("%s", all[r].wrong);
}

/* ---- what they gather ---- */

static bool gathers(kn_comm *c, int round, bool by_device)
{
    enum { BYTES = 3000 };
    unsigned char mine[BYTES], all[MOST * BYTES];
    const size_t n = (size_t)(round * 7919 % BYTES);
    const int count = kn_comm_count(c);
    memset(mine, round + kn_comm_rank(c), n);
    if ((by_device ? kn_comm_exchange(c, mine, all, n, NULL) : kn_comm_gather(c, mine, all, n)) !=
        KN_OK)
        return false;
    for (int r = 0; r < count; r++)
        for (size_t i = 0; i < n; i++)
            if (all[(size_t)r * n + i] != (unsigned char)(round + r))
                return false;
    return true;
}

static void gather(rank *r)
{
    const kiln_comm_config c = config_of(r);
    EXPECT(r, kiln_comm_create(r->ctx, &c, &r->comm) == KILN_OK);
    if (r->wrong[0])
        return;
    EXPECT(r, kiln_comm_rank(r->comm) == r->number && kiln_comm_count(r->comm) == r->count);
    EXPECT(r, strcmp(kiln_comm_path(r->comm), "host") == 0);
    for (int round = 0; round < EFFORT(1000, 200) && !r->wrong[0]; round++)
        EXPECT(r, gathers(r->comm->core, round, round % 2));
    EXPECT(r, kn_comm_barrier(r->comm->core, NULL) == KN_OK);
    EXPECT(r, kiln_comm_check(r->comm) == KILN_OK);
}

static void test_gather(void **state)
{
    (void)state;
    for (int count = 1; count <= MOST; count++)
        on_ranks(count, gather);
}

/* ---- what they agree on ---- */

static void agree(rank *r)
{
    const kiln_comm_config c = config_of(r);
    EXPECT(r, kiln_comm_create(r->ctx, &c, &r->comm) == KILN_OK);
    if (r->wrong[0])
        return;
    kn_comm *core = r->comm->core;
    EXPECT(r, kn_comm_agree(core, KN_OK, "x: f32[shard(N), C=7]\n") == KN_OK);
    EXPECT(r, kn_comm_agree(core, KN_OK,
                            r->number == 1
                                ? "x: f32[shard(N), C=7]\ny: f32[C=8]\n"
                                : "x: f32[shard(N), C=7]\ny: f32[C=7, D=1]\n") == KN_ARGUMENT);
    EXPECT(r, says("rank 0 has 'y: f32[C=7, D=1]', rank 1 has 'y: f32[C=8]'"));
    EXPECT(r, kn_comm_agree(core, KN_OK, r->number == 2 ? "a\n" : "a\nb\n") == KN_ARGUMENT);
    EXPECT(r, says("rank 0 has 'b', rank 2 has ''"));
    /* One that cannot do its part fails all, and nothing after. */
    kn_status mine = r->number == 2 ? kn_fail(KN_SHAPE, "N is 3") : KN_OK;
    EXPECT(r, kn_comm_agree(core, mine, "") == KN_SHAPE);
    EXPECT(r, says(r->number == 2 ? "N is 3" : "rank 2: N is 3"));
    EXPECT(r, kn_comm_agree(core, KN_OK, "") == KN_OK);
}

static void test_agree(void **state)
{
    (void)state;
    on_ranks(3, agree);
}

static void disagree(rank *r)
{
    kiln_comm_config c = config_of(r);
    c.deadline_ms = 1000 + r->number;
    EXPECT(r, kiln_comm_create(r->ctx, &c, &r->comm) == KILN_ERR_ARGUMENT);
    EXPECT(r, says("rank 0 has count 2, deadline_ms 1000"));
    EXPECT(r, r->comm == NULL);
    c = config_of(r);
    c.team = r->more[0];
    c.path = "kernel";
    EXPECT(r, kiln_comm_create(r->ctx, &c, &r->comm) == KILN_ERR_DEVICE);
    EXPECT(r, says("rank 0 is on \"cpu\""));
    c.team = r->more[1];
    c.path = "nccl";
    EXPECT(r, kiln_comm_create(r->ctx, &c, &r->comm) == KILN_ERR_ARGUMENT);
    EXPECT(r, says("ncclComm_t of every rank"));
}

static void test_disagree(void **state)
{
    (void)state;
    on_ranks(2, disagree);
}

/* ---- who is not there ---- */

static pthread_barrier_t missed;

static void miss(rank *r)
{
    char byte = 0, all[MOST];
    kiln_comm_config c = config_of(r);
    c.deadline_ms = 300;
    EXPECT(r, kiln_comm_create(r->ctx, &c, &r->comm) == KILN_OK);
    if (r->number != 2 && !r->wrong[0]) {
        EXPECT(r, kn_comm_gather(r->comm->core, &byte, all, 1) == KN_RUN);
        EXPECT(r, says("rank 2 of 3 did not come within 300 ms"));
        EXPECT(r, kiln_comm_check(r->comm) == KILN_ERR_RUN && says("rank 2"));
        EXPECT(r, kn_comm_gather(r->comm->core, &byte, all, 1) == KN_RUN && says("rank 2"));
    }
    pthread_barrier_wait(&missed);
    /* The others go on. */
    kiln_comm_destroy(r->comm);
    r->comm = NULL;
    if (r->number == 2)
        return;
    c.team = r->more[1];
    c.deadline_ms = 30000;
    EXPECT(r, kiln_comm_create(r->ctx, &c, &r->comm) == KILN_OK);
    EXPECT(r, !r->wrong[0] && gathers(r->comm->core, 1, false));
}

static void test_missing(void **state)
{
    (void)state;
    pthread_barrier_init(&missed, NULL, 3);
    on_ranks(3, miss);
    pthread_barrier_destroy(&missed);
}

/* Nobody waits for who has left. */
static void leave(rank *r)
{
    char byte = 0, all[MOST];
    const kiln_comm_config c = config_of(r);
    EXPECT(r, kiln_comm_create(r->ctx, &c, &r->comm) == KILN_OK);
    if (r->wrong[0] || r->number == 1)
        return;
    EXPECT(r, kn_comm_gather(r->comm->core, &byte, all, 1) == KN_RUN);
    EXPECT(r, says("has left the team"));
}

static void other_sizes(rank *r)
{
    char mine[4] = {0}, all[4 * MOST];
    const kiln_comm_config c = config_of(r);
    EXPECT(r, kiln_comm_create(r->ctx, &c, &r->comm) == KILN_OK);
    if (r->wrong[0])
        return;
    EXPECT(r, kn_comm_gather(r->comm->core, mine, all, r->number == 1 ? 4 : 3) == KN_RUN);
    EXPECT(r, says("the same calls in the same order"));
}

static void test_leaving(void **state)
{
    (void)state;
    on_ranks(3, leave);
    on_ranks(2, other_sizes);
}

/* ---- memory that runs out ---- */

static pthread_barrier_t both;
static kiln_status fared[2];

/* Prepares a program of two ranks for sizes that are new, where rank 1 has memory for so many allocations. Returns whether it had
 * enough. */
static bool prepare_with(rank *r, kiln_prog *prog, rations *memory, int given)
{
    const int64_t shape[] = {20 + given, 4};
    const kiln_arg args[] = {{"x", NULL, KILN_F32, 2, shape, NULL},
                             {"y", NULL, KILN_F32, 2, shape, NULL}};
    kiln_prepared info;
    kiln_prepared_init(&info);
    memory->denied = false;
    memory->left = r->number == 1 ? given : LONG_MAX;
    fared[r->number] = kiln_prepare(prog, args, 2, &info);
    memory->left = LONG_MAX;
    pthread_barrier_wait(&both);
    EXPECT(r, fared[1] == KILN_OK || fared[1] == KILN_ERR_MEMORY);
    /* what rank 1 does for itself when all is agreed may fail there alone */
    EXPECT(r, fared[0] == KILN_OK || fared[0] == fared[1]);
    EXPECT(r, r->number == 1 || fared[0] == KILN_OK || says("rank 1: "));
    const bool enough = fared[1] == KILN_OK;
    pthread_barrier_wait(&both);
    return enough;
}

/* One that lacks memory fails both at once: no one waits for it until the deadline. */
static void lack_memory(rank *r)
{
    rations memory = {.left = LONG_MAX};
    kiln_config config;
    kiln_comm_config c = config_of(r);
    kiln_options o;
    kiln_ctx *ctx;
    kiln_comm *comm = NULL;
    kiln_graph *g = NULL;
    kiln_prog *prog = NULL;
    kiln_config_init(&config);
    config.device = "cpu";
    config.threads = 1;
    config.alloc = ration;
    config.release = unration;
    config.user = &memory;
    EXPECT(r, kiln_ctx_create(&config, &ctx) == KILN_OK);
    EXPECT(r, kiln_comm_create(ctx, &c, &comm) == KILN_OK);
    EXPECT(r, kiln_parse(ctx, "def f(x: f32[shard(N), 4]):\n    y = x / sum(x)\n    return y\n",
                         NULL, &g) == KILN_OK);
    kiln_options_init(&o);
    o.comm = comm;
    EXPECT(r, kiln_compile(g, &o, &prog) == KILN_OK);
    int given = 0;
    while (prog && !r->wrong[0] && !prepare_with(r, prog, &memory, given))
        given++;
    EXPECT(r, given > 5);
    kiln_prog_destroy(prog);
    kiln_graph_destroy(g);
    kiln_comm_destroy(comm);
    kiln_ctx_destroy(ctx);
    EXPECT(r, memory.live == 0);
}

static void test_memory(void **state)
{
    (void)state;
    pthread_barrier_init(&both, NULL, 2);
    on_ranks(2, lack_memory);
    pthread_barrier_destroy(&both);
}

/* ---- several communicators ---- */

/* All four, the same again, and pairs of them; whose ends come in another order for each rank. */
static void several(rank *r)
{
    kiln_comm *comms[3] = {0};
    kiln_comm_config c = config_of(r);
    EXPECT(r, kiln_comm_create(r->ctx, &c, &comms[0]) == KILN_OK);
    EXPECT(r, kiln_comm_create(r->ctx, &c, &comms[1]) == KILN_ERR_ARGUMENT);
    EXPECT(r, says("takes a team of its own"));
    c.team = r->more[0];
    EXPECT(r, kiln_comm_create(r->ctx, &c, &comms[1]) == KILN_OK);
    c.team = r->more[1 + r->number / 2];
    c.rank = r->number % 2;
    EXPECT(r, kiln_comm_create(r->ctx, &c, &comms[2]) == KILN_OK);
    for (int round = 0; round < 100 && !r->wrong[0]; round++) {
        EXPECT(r, gathers(comms[2]->core, round, false));
        if (round % 3 == 0)
            EXPECT(r, gathers(comms[0]->core, round + 5, false));
        EXPECT(r, gathers(comms[1]->core, round + 9, false));
    }
    if (r->number % 2) { /* who is made from a context keeps it */
        kn_handle_keep(r->ctx);
        kiln_ctx_destroy(r->ctx);
        kn_handle_drop(r->ctx);
        kiln_config config;
        kiln_config_init(&config);
        config.device = "cpu";
        EXPECT(r, kiln_ctx_create(&config, &r->ctx) == KILN_OK);
    }
    for (int i = 0; i < 3; i++)
        kiln_comm_destroy(comms[(i + r->number) % 3]);
}

static void test_several(void **state)
{
    (void)state;
    on_ranks(4, several);
}

/* ---- an application's own ---- */

typedef struct application {
    pthread_barrier_t barrier;
    char bytes[2][8192];
    int calls, fails_at; /* of rank 0 */
} application;

static application app;

static kiln_status all_gather(void *user, const void *mine, void *all, size_t bytes)
{
    const rank *r = user;
    memcpy(app.bytes[r->number], mine, bytes);
    if (r->number == 0)
        app.calls++;
    pthread_barrier_wait(&app.barrier);
    memcpy(all, app.bytes[0], bytes);
    memcpy((char *)all + bytes, app.bytes[1], bytes);
    bool fails = app.calls == app.fails_at;
    pthread_barrier_wait(&app.barrier);
    return fails ? KILN_ERR_IO : KILN_OK;
}

static void own(rank *r)
{
    kiln_comm_config c = config_of(r);
    c.all_gather = all_gather;
    c.user = r;
    EXPECT(r, kiln_comm_create(r->ctx, &c, &r->comm) == KILN_ERR_ARGUMENT); /* and a team */
    c.team = NULL;
    c.count = 2;
    EXPECT(r, kiln_comm_create(r->ctx, &c, &r->comm) == KILN_OK);
    for (int round = 0; round < 20 && !r->wrong[0]; round++)
        EXPECT(r, gathers(r->comm->core, round, round % 2));
    kiln_comm_destroy(r->comm);
    c.rank = 1 - r->number; /* not the place that all_gather gives it */
    EXPECT(r, kiln_comm_create(r->ctx, &c, &r->comm) == KILN_ERR_ARGUMENT);
    EXPECT(r, says("what all_gather gives for rank 0 is rank 1's"));
    c.rank = r->number;
    EXPECT(r, kiln_comm_create(r->ctx, &c, &r->comm) == KILN_OK);
    if (r->wrong[0])
        return;
    if (r->number == 0)
        app.fails_at = app.calls + 1;
    EXPECT(r, !gathers(r->comm->core, 1, false) && says("all_gather failed"));
    EXPECT(r, kiln_comm_check(r->comm) == KILN_ERR_IO && says("all_gather failed"));
}

static void test_own(void **state)
{
    (void)state;
    pthread_barrier_init(&app.barrier, NULL, 2);
    on_ranks(2, own);
    pthread_barrier_destroy(&app.barrier);
}

/* ---- what is refused ---- */

static void test_refused(void **state)
{
    (void)state;
    kiln_ctx *ctx = open_device("cpu");
    kiln_comm *comm;
    kiln_team *team;
    kiln_comm_config c;
    kiln_comm_config_init(&c);
    assert_int_equal(kiln_team_create(0, &team), KILN_ERR_ARGUMENT);
    assert_null(team);
    good(kiln_team_create(2, &team));
    assert_int_equal(kiln_comm_create(ctx, &c, &comm), KILN_ERR_ARGUMENT);
    assert_true(says("a team, an all_gather or an ncclComm_t"));
    c.team = team;
    c.rank = 2;
    assert_int_equal(kiln_comm_create(ctx, &c, &comm), KILN_ERR_ARGUMENT);
    assert_true(says("rank 2 of 2"));
    c.rank = 0;
    c.count = 3;
    assert_int_equal(kiln_comm_create(ctx, &c, &comm), KILN_ERR_ARGUMENT);
    assert_true(says("the team has 2 ranks"));
    c.count = 2;
    c.path = "pigeon";
    assert_int_equal(kiln_comm_create(ctx, &c, &comm), KILN_ERR_ARGUMENT);
    assert_true(says("'pigeon'; there are kernel, nccl and host"));
    c.path = NULL;
    c.deadline_ms = 0;
    assert_int_equal(kiln_comm_create(ctx, &c, &comm), KILN_ERR_ARGUMENT);
    c.deadline_ms = 100;
    c.nccl = team;
    assert_int_equal(kiln_comm_create(ctx, &c, &comm), KILN_ERR_DEVICE);
    assert_true(says("is for GPUs"));
    assert_null(comm);
    assert_int_equal(kiln_comm_create(NULL, &c, &comm), KILN_ERR_ARGUMENT);
    assert_int_equal(kiln_comm_create(ctx, NULL, &comm), KILN_ERR_ARGUMENT);
    assert_int_equal(kiln_comm_check(NULL), KILN_ERR_ARGUMENT);
    assert_int_equal(kiln_comm_count(NULL), 0);
    kiln_comm_destroy(NULL);
    kiln_team_destroy(NULL);
    kiln_team_destroy(team);
    kiln_ctx_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gather),   cmocka_unit_test(test_agree),
        cmocka_unit_test(test_disagree), cmocka_unit_test(test_missing),
        cmocka_unit_test(test_leaving),  cmocka_unit_test(test_memory),
        cmocka_unit_test(test_several),  cmocka_unit_test(test_own),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
