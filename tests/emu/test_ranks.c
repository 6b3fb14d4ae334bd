/* Emulated kernels of several ranks that exchange while they run: every result right whatever the order of threads, a rank
 * that never comes, and accesses to mailboxes that no other rank would see. */
#include "tests/effort.h"
#include "tests/ranks.h"

enum { MOST = 300, WORDS = 6 * MOST };

/* Rounds of few and of many elements, of either kernel; each rank has a grid of its own. */
static void exchange(rank *r)
{
    const unsigned rounds = EFFORT(200, 40);
    for (unsigned round = 0; round < rounds; round++) {
        const unsigned n = round % 50 == 49 ? MOST : 1 + round * 7 % 40;
        const unsigned blocks = 1 + (round + (unsigned)r->number) % 3;
        if (round % 20 == 10 && !rank_good(r, kn_comm_barrier(r->comm->core, NULL)))
            return;
        if (!rank_round(r, round % 3 ? r->sums : r->moments, blocks, 32, n, round))
            return;
    }
}

static const rank like = {.device = "emu", .words = WORDS, .most = MOST, .body = exchange};

static void test_exchange(void **state)
{
    (void)state;
    for (int count = 1; count <= 5; count++)
        run_ranks(&like, count);
}

static void test_orders(void **state)
{
    (void)state;
    static const char *const options[] = {"reversed", "seed=5", "unchecked"};
    for (int i = 0; i < 3; i++) {
        rank other = like;
        other.emulator = options[i];
        run_ranks(&other, 3);
    }
}

/* Any number of bytes at any place, also more than a mailbox has room for; with this rank's in their place among all. */
static void gather(rank *r)
{
    enum { BYTES = 40000 };
    unsigned char *memory;
    rank_good(r, kiln_alloc(r->ctx, 4 * BYTES + 3, (void **)&memory));
    for (unsigned round = 0; round < EFFORT(40, 10) && !r->wrong[0]; round++) {
        const unsigned n = round == 7 ? BYTES : 1 + round * 97 % 300, shift = round % 4;
        unsigned char *all = memory + shift, *mine = all + (unsigned)r->number * n;
        if (round % 3 == 0)
            mine = all + 3 * n;
        memset(all, 0, 4 * n);
        for (unsigned i = 0; i < n; i++)
            mine[i] = (unsigned char)(i * 7 + round + (unsigned)r->number);
        rank_good(r, kn_comm_exchange(r->comm->core, mine, all, n, NULL));
        for (unsigned k = 0; k < 3; k++)
            for (unsigned i = 0; i < n && !r->wrong[0]; i++)
                if (all[k * n + i] != (unsigned char)(i * 7 + round + k))
                    snprintf(r->wrong, sizeof r->wrong, "rank %d, round %u: byte %u of rank %u",
                             r->number, round, i, k);
    }
    kiln_free(r->ctx, memory);
}

static void test_gather(void **state)
{
    (void)state;
    rank other = like;
    other.words = 10; /* the least that there are: 4096 */
    other.body = gather;
    run_ranks(&other, 3);
}

/* A team of those that are left, whose communicator works as before. */
static kiln_team *next_team;

static void stay_away(rank *r)
{
    if (r->number == 1) {
        kiln_comm_destroy(r->comm);
        r->comm = NULL;
        return;
    }
    rank_good(r, rank_launch(r, r->sums, 2, 32, 40, NULL));
    rank_says(r, kiln_comm_check(r->comm), "rank 1 of 3");
    rank_good(r, rank_launch(r, r->moments, 1, 32, 40, NULL)); /* which does not wait any more */
    void *unused;
    rank_says(r, kn_comm_mailbox(r->comm->core, 10, &unused), "rank 1 of 3");
    kiln_comm_destroy(r->comm);
    r->comm = NULL;
    r->number /= 2;
    r->count = 2;
    r->deadline_ms = 30000; /* nobody is missing here: the other may only be slow */
    if (rank_join(r, next_team))
        exchange(r);
}

static void test_missing(void **state)
{
    (void)state;
    rank other = like;
    other.body = stay_away;
    other.deadline_ms = 3000;
    good(kiln_team_create(2, &next_team));
    run_ranks(&other, 3);
    kiln_team_destroy(next_team);
}

static void read_weakly(rank *r)
{
    kn_compiled *careless = rank_load(r, ranks_text, "careless");
    rank_says(r, rank_launch(r, careless, 1, 1, 1, NULL), "relaxed.sys");
    kn_kernels_release(&r->ctx->core->kernels, careless);
}

static void test_careless(void **state)
{
    (void)state;
    rank other = like;
    other.body = read_weakly;
    run_ranks(&other, 2);
}

/* Memory outlives whoever made it as long as another has it open, and is not found when all have closed it. */
static void test_closing(void **state)
{
    (void)state;
    kiln_ctx *a = open_device("emu"), *b = open_device("emu");
    kn_device *one = a->core->dev, *other = b->core->dev;
    const kn_peer_ops *ops = one->ops->peer;
    kn_peer_memory own = {0}, reached = {0}, late = {0};
    kn_peer_handle handle = {0};
    assert_int_equal(ops->alloc(one, 64, false, &own), KN_OK);
    assert_int_equal(ops->get_handle(one, &own, &handle), KN_OK);
    assert_int_equal(ops->open_handle(other, &handle, true, &reached), KN_OK);
    memset(own.host, 7, 64);
    ops->close(one, &own);
    assert_int_equal(((const char *)reached.host)[63], 7);
    assert_int_equal(ops->open_handle(one, &handle, true, &own), KN_OK);
    ops->close(other, &reached);
    ops->close(one, &own);
    assert_int_equal(ops->open_handle(other, &handle, true, &late), KN_RUN);
    assert_non_null(strstr(kn_last_error(), "closed"));
    assert_null(late.block);
    ops->close(other, &late);
    kiln_ctx_destroy(a);
    kiln_ctx_destroy(b);
}

static int has_compiler(void **state)
{
    kiln_ctx *ctx;
    kiln_kernel *kernel;
    (void)state;
    ctx = open_device("emu");
    kiln_status status =
        kiln_kernel_create(ctx, "extern \"C\" __global__ void none() {}\n", "none", &kernel);
    if (status == KILN_OK)
        kiln_kernel_destroy(kernel);
    kiln_ctx_destroy(ctx);
    return status != KILN_OK;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exchange), cmocka_unit_test(test_orders),
        cmocka_unit_test(test_gather),   cmocka_unit_test(test_missing),
        cmocka_unit_test(test_careless), cmocka_unit_test(test_closing),
    };
    return cmocka_run_group_tests(tests, has_compiler, NULL);
}
