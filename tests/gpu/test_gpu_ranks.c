/* Kernels on several GPUs that exchange while they run: ranks that are threads and ranks that are processes, graphs of launches
 * replayed, a rank that never comes and one that is killed; and what an exchange takes, which is printed. Skipped where there
 * are no two GPUs. */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/cuda/cuda_device.h"
#include "tests/gpu/gpu.h"
#include "tests/ranks.h"

enum { MOST = 20000, SKIPPED = 77 };

/* Integers that each launch makes others, so that a wrong bit in any launch is one in all later ones. latency: values of W
 * words, one after another by each block. */
static const char more_text[] =
    "struct plus {\n"
    "    static __device__ __forceinline__ unsigned of(unsigned a, unsigned b) { return a + b; }\n"
    "};\n"
    "extern \"C\" __global__ void chain(kn_ranks *ranks, unsigned *x, unsigned n)\n"
    "{\n"
    "    const kn_exchange m = kn_begin_exchange(ranks);\n"
    "    const unsigned step = gridDim.x * blockDim.x;\n"
    "    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {\n"
    "        kn_send(m, i, x[i]);\n"
    "        x[i] = kn_all_reduce<plus>(m, i, x[i]) * 1664525u + (m.rank + 1) * 1013904223u;\n"
    "    }\n"
    "    kn_count_launch(ranks);\n"
    "}\n"
    "template <int W> struct words {\n"
    "    unsigned at[W];\n"
    "    static __device__ __forceinline__ words of(words a, words b)\n"
    "    {\n"
    "        for (int i = 0; i < W; ++i)\n"
    "            a.at[i] += b.at[i];\n"
    "        return a;\n"
    "    }\n"
    "};\n"
    "template <int W> __global__ void latency(kn_ranks *ranks, unsigned *x, unsigned n)\n"
    "{\n"
    "    const kn_exchange m = kn_begin_exchange(ranks);\n"
    "    words<W> mine = {};\n"
    "    for (unsigned i = 0; threadIdx.x == 0 && i < n; ++i) {\n"
    "        const unsigned place = (i * gridDim.x + blockIdx.x) * W;\n"
    "        kn_send(m, place, mine);\n"
    "        mine = kn_all_reduce<words<W>>(m, place, mine);\n"
    "        ++mine.at[0];\n"
    "    }\n"
    "    if (threadIdx.x == 0)\n"
    "        x[blockIdx.x] = mine.at[0];\n"
    "    kn_count_launch(ranks);\n"
    "}\n";

static int gpus(void)
{
    int count = 0;
    const kn_driver *d;
    return kn_driver_init(&d, &count) == KN_OK ? count : 0;
}

static int need_gpus(void **state)
{
    (void)state;
    if (gpus() < 2) {
        print_message("no two GPUs\n");
        skipped = true;
    } else {
        open_gpu_streams();
    }
    return 0;
}

static void skip_without_gpus(void)
{
    if (skipped)
        skip();
}

static kn_status launch_more(rank *r, const kn_compiled *kernel, unsigned blocks, unsigned threads,
                             unsigned n, void *stream)
{
    const kn_grid grid = {.grid = {blocks, 1, 1}, .block = {threads, 1, 1}, .cooperative = true};
    return r->dev->ops->start(r->dev, kernel->code, &grid, (void *[]){&r->ranks, &r->in, &n}, 3,
                              stream);
}

/* ---- threads ---- */

static void exchange(rank *r)
{
    for (unsigned round = 0; round < 300; round++) {
        const unsigned n = round % 20 == 19 ? MOST : 1 + round * 37 % 1000;
        const unsigned blocks = 1 + (round * 5 + (unsigned)r->number * 7) % 100;
        if (!rank_round(r, round % 3 ? r->sums : r->moments, blocks, 128, n, round))
            return;
    }
}

static const rank like = {
    .device = "cuda", .words = 6 * MOST, .most = MOST, .body = exchange, .deadline_ms = 30000};

static void test_exchange(void **state)
{
    (void)state;
    skip_without_gpus();
    for (int count = 1; count <= gpus() && count <= MOST_RANKS; count++)
        run_ranks(&like, count);
}

/* ---- graphs ---- */

enum { LAUNCHES = 50, REPLAYS = 2000, WORDS = 300 };

static unsigned chain_start(int r, unsigned i) { return (unsigned)r * 2654435761u + i * 40503u; }

static void check_chain(rank *r)
{
    static _Thread_local unsigned x[MOST_RANKS][WORDS], got[WORDS];
    for (int k = 0; k < r->count; k++)
        for (unsigned i = 0; i < WORDS; i++)
            x[k][i] = chain_start(k, i);
    for (int launch = 0; launch < LAUNCHES * REPLAYS; launch++)
        for (unsigned i = 0; i < WORDS; i++) {
            unsigned sum = 0;
            for (int k = 0; k < r->count; k++)
                sum += x[k][i];
            for (int k = 0; k < r->count; k++)
                x[k][i] = sum * 1664525u + (unsigned)(k + 1) * 1013904223u;
        }
    rank_good(r, kiln_download(r->ctx, got, r->in, sizeof got));
    for (unsigned i = 0; i < WORDS && !r->wrong[0]; i++)
        if (got[i] != x[r->number][i])
            snprintf(r->wrong, sizeof r->wrong, "rank %d: x[%u] is %u, not %u", r->number, i,
                     got[i], x[r->number][i]);
}

static void replay(rank *r)
{
    const kn_cuda *gpu = kn_cuda_of(r->dev);
    unsigned x[WORDS];
    kn_cu_stream stream = NULL;
    kn_cu_graph graph = NULL;
    kn_cu_graph_exec exec = NULL;
    kn_compiled *chain = rank_load(r, more_text, "chain");
    for (unsigned i = 0; i < WORDS; i++)
        x[i] = chain_start(r->number, i);
    rank_good(r, kiln_upload(r->ctx, r->in, x, sizeof x));
    kn_cuda_enter(gpu);
    int bad = streams.cuStreamCreate(&stream, NON_BLOCKING);
    bad = bad ? bad : streams.cuStreamBeginCapture_v2(stream, 1); /* of this thread's calls */
    for (int i = 0; i < LAUNCHES && !bad && !r->wrong[0]; i++)
        rank_good(r, launch_more(r, chain, 3, 128, WORDS, stream));
    bad = bad ? bad : streams.cuStreamEndCapture(stream, &graph);
    bad = bad ? bad : gpu->driver->cuGraphInstantiateWithFlags(&exec, graph, 0);
    for (int i = 0; i < REPLAYS && !bad; i++)
        bad = gpu->driver->cuGraphLaunch(exec, stream);
    if (bad)
        snprintf(r->wrong, sizeof r->wrong, "rank %d: the driver's result %d", r->number, bad);
    rank_good(r, kiln_sync(r->ctx, stream));
    kn_cuda_leave(gpu);
    rank_good(r, kiln_comm_check(r->comm));
    if (!r->wrong[0])
        check_chain(r);
    kn_kernels_release(&r->ctx->core->kernels, chain);
}

static void test_replay(void **state)
{
    (void)state;
    skip_without_gpus();
    rank other = like;
    other.body = replay;
    run_ranks(&other, gpus() < MOST_RANKS ? gpus() : MOST_RANKS);
}

/* ---- one that does not come ---- */

static kiln_team *next_team;

static void stay_away(rank *r)
{
    if (r->number == 0) {
        rank_good(r, rank_launch(r, r->sums, 20, 128, 1000, NULL));
        rank_good(r, kiln_sync(r->ctx, NULL));
        rank_says(r, kiln_comm_check(r->comm), "rank 1 of 2");
        rank_good(r, rank_launch(r, r->moments, 20, 128, MOST, NULL));
        rank_good(r, kiln_sync(r->ctx, NULL));
    }
    kiln_comm_destroy(r->comm);
    r->comm = NULL;
    r->deadline_ms = like.deadline_ms; /* rank 0 comes when it has waited for the other */
    if (rank_join(r, next_team))
        exchange(r);
}

static void test_missing(void **state)
{
    (void)state;
    skip_without_gpus();
    rank other = like;
    other.body = stay_away;
    other.deadline_ms = 3000;
    good(kiln_team_create(2, &next_team));
    run_ranks(&other, 2);
    kiln_team_destroy(next_team);
}

/* ---- how long ---- */

typedef struct timed {
    rank *r;
    kn_compiled *kernel;
    unsigned blocks, n;
} timed;

static kiln_status launch_timed(void *user)
{
    const timed *t = user;
    return (kiln_status)launch_more(t->r, t->kernel, t->blocks, 32, t->n, NULL);
}

static void time_words(rank *r, int words)
{
    enum { ROUNDS = 100 };
    char entry[32];
    snprintf(entry, sizeof entry, "latency<%d>", words);
    kn_compiled *kernel = rank_load(r, more_text, entry);
    for (unsigned blocks = 1; blocks <= 132 && kernel && !r->wrong[0];
         blocks *= blocks < 128 ? 11 : 2) {
        timed t = {r, kernel, blocks < 132 ? blocks : 132, ROUNDS};
        double best = 1e9, us;
        for (int i = 0; i < 20; i++) {
            rank_good(r, kn_comm_barrier(r->comm->core, NULL));
            rank_good(r, kiln_time(r->ctx, NULL, launch_timed, &t, &us));
            best = us < best ? us : best;
        }
        t.n = 1;
        double least = 1e9;
        for (int i = 0; i < 20; i++) {
            rank_good(r, kn_comm_barrier(r->comm->core, NULL));
            rank_good(r, kiln_time(r->ctx, NULL, launch_timed, &t, &us));
            least = us < least ? us : least;
        }
        if (r->number == 0)
            print_message(
                "%d ranks, %3u blocks, %2d words: %.2f us an exchange; a launch with one %.1f us\n",
                r->count, t.blocks, words, (best - least) / (ROUNDS - 1), least);
    }
    if (kernel)
        kn_kernels_release(&r->ctx->core->kernels, kernel);
}

static void measure(rank *r)
{
    time_words(r, 1);
    time_words(r, 3);
    time_words(r, 8);
}

static void test_time(void **state)
{
    (void)state;
    skip_without_gpus();
    rank other = like;
    other.body = measure;
    other.words = 100 * 132 * 8;
    for (int count = 2; count <= gpus() && count <= MOST_RANKS; count *= 2)
        run_ranks(&other, count);
}

/* ---- NCCL ---- */

static void *nccl_comms[MOST_RANKS];

/* Of the device's memory on the stream; what a rank must know of the others at the beginning goes the same way. */
static void by_nccl(rank *r)
{
    enum { N = 1000 };
    float x[N], all[2 * N];
    kiln_comm *comm;
    kiln_comm_config c;
    kiln_comm_config_init(&c);
    c.nccl = nccl_comms[r->number];
    c.path = "nccl";
    if (!rank_good(r, kiln_comm_create(r->ctx, &c, &comm)))
        return;
    for (unsigned round = 0; round < 20 && !r->wrong[0]; round++) {
        for (unsigned i = 0; i < N; i++)
            x[i] = ranks_give(r->number, round, i);
        rank_good(r, kiln_upload(r->ctx, r->in, x, sizeof x));
        rank_good(r, kn_comm_exchange(comm->core, r->in, r->out, sizeof x, NULL));
        rank_good(r, kiln_sync(r->ctx, NULL));
        rank_good(r, kiln_download(r->ctx, all, r->out, sizeof all));
        for (unsigned i = 0; i < 2 * N && !r->wrong[0]; i++)
            if (all[i] != ranks_give((int)(i / N), round, i % N))
                snprintf(r->wrong, sizeof r->wrong, "rank %d, round %u: element %u", r->number,
                         round, i);
    }
    kiln_comm_destroy(comm);
}

static void test_nccl(void **state)
{
    (void)state;
    skip_without_gpus();
    int (*init)(void **comms, int n, const int *devices), (*finish)(void *comm);
    void *lib = dlopen("libnccl.so.2", RTLD_NOW | RTLD_GLOBAL), *symbol;
    if (!lib) {
        print_message("%s\n", dlerror());
        skip();
    }
    assert_non_null(symbol = dlsym(lib, "ncclCommInitAll"));
    memcpy(&init, &symbol, sizeof symbol);
    assert_non_null(symbol = dlsym(lib, "ncclCommDestroy"));
    memcpy(&finish, &symbol, sizeof symbol);
    assert_int_equal(init(nccl_comms, 2, (const int[]){0, 1}), 0);
    rank other = like;
    other.body = by_nccl;
    run_ranks(&other, 2);
    finish(nccl_comms[0]);
    finish(nccl_comms[1]);
}

/* ---- processes ---- */

typedef struct shared {
    pthread_barrier_t barrier;
    char bytes[2][4096];
} shared;

typedef struct place {
    shared *memory;
    int rank, count;
} place;

static kiln_status gather(void *user, const void *mine, void *all, size_t bytes)
{
    const place *p = user;
    for (size_t at = 0; at < bytes; at += sizeof *p->memory->bytes) {
        const size_t n =
            bytes - at < sizeof *p->memory->bytes ? bytes - at : sizeof *p->memory->bytes;
        memcpy(p->memory->bytes[p->rank], (const char *)mine + at, n);
        pthread_barrier_wait(&p->memory->barrier);
        for (int r = 0; r < p->count; r++)
            memcpy((char *)all + (size_t)r * bytes + at, p->memory->bytes[r], n);
        pthread_barrier_wait(&p->memory->barrier);
    }
    return KILN_OK;
}

/* The other one is killed while this one waits for it, and goes on alone. */
static void lose_the_other(rank *r)
{
    kiln_comm_config c;
    if (r->number == 1)
        raise(SIGKILL);
    rank_good(r, rank_launch(r, r->sums, 20, 128, 1000, NULL));
    rank_good(r, kiln_sync(r->ctx, NULL));
    rank_says(r, kiln_comm_check(r->comm), "rank 1 of 2");
    rank_good(r, rank_launch(r, r->sums, 20, 128, 1000, NULL));
    rank_good(r, kiln_sync(r->ctx, NULL));
    kiln_comm_destroy(r->comm);
    r->comm = NULL;
    kiln_comm_config_init(&c);
    c.path = "kernel";
    r->count = 1;
    good(kiln_team_create(1, &c.team));
    if (rank_good(r, kiln_comm_create(r->ctx, &c, &r->comm)) &&
        rank_good(r, kn_comm_mailbox(r->comm->core, (size_t)r->words, &r->ranks)))
        exchange(r);
}

static int process(place *p)
{
    rank r = like;
    kiln_comm_config c;
    kiln_config config;
    char name[16];
    if (gpus() < 2)
        return SKIPPED;
    r.number = p->rank;
    r.count = p->count;
    snprintf(name, sizeof name, "cuda:%d", p->rank);
    kiln_config_init(&config);
    config.device = name;
    kiln_comm_config_init(&c);
    c.rank = p->rank;
    c.count = p->count;
    c.all_gather = gather;
    c.user = p;
    c.deadline_ms = 5000;
    c.path = "kernel";
    if (rank_good(&r, kiln_ctx_create(&config, &r.ctx))) {
        r.dev = r.ctx->core->dev;
        r.sums = rank_load(&r, ranks_text, "sums");
        r.moments = rank_load(&r, ranks_text, "moments");
        rank_good(&r, kiln_alloc(r.ctx, MOST * sizeof(float), &r.in));
        rank_good(&r, kiln_alloc(r.ctx, MOST * sizeof(float), &r.out));
    }
    if (!r.wrong[0] && rank_good(&r, kiln_comm_create(r.ctx, &c, &r.comm)) &&
        rank_good(&r, kn_comm_mailbox(r.comm->core, (size_t)r.words, &r.ranks))) {
        exchange(&r);
        if (!r.wrong[0])
            lose_the_other(&r);
    }
    if (r.wrong[0])
        fprintf(stderr, "%s\n", r.wrong);
    return r.wrong[0] != 0;
}

/* Before CUDA is used here: children cannot use it otherwise. */
static void test_processes(void **state)
{
    (void)state;
    int result[2];
    pid_t child[2];
    pthread_barrierattr_t attributes;
    shared *memory =
        mmap(NULL, sizeof *memory, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&memory->barrier, &attributes, 2);
    for (int r = 0; r < 2; r++) {
        child[r] = fork();
        if (!child[r]) {
            alarm(120);
            _exit(process(&(place){memory, r, 2}));
        }
    }
    for (int r = 0; r < 2; r++)
        waitpid(child[r], &result[r], 0);
    if (WIFEXITED(result[0]) && WEXITSTATUS(result[0]) == SKIPPED)
        skip();
    assert_true(WIFEXITED(result[0]) && WEXITSTATUS(result[0]) == 0);
    assert_true(WIFSIGNALED(result[1]) && WTERMSIG(result[1]) == SIGKILL);
}

int main(void)
{
    const struct CMUnitTest alone[] = {cmocka_unit_test(test_processes)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exchange), cmocka_unit_test(test_replay),
        cmocka_unit_test(test_missing),  cmocka_unit_test(test_nccl),
        cmocka_unit_test(test_time),
    };
    int failed = cmocka_run_group_tests_name("ranks that are processes", alone, NULL, NULL);
    failed += cmocka_run_group_tests_name("ranks that are threads", tests, need_gpus, NULL);
    return failed ? 1 : skipped ? SKIPPED : 0;
}
