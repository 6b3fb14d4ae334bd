/* Batch normalisation over the batches of several processes: each has a device and its own part of the batch.
 *
 *     mpirun -n 2 ./sync_batchnorm [cpu]
 *
 * Prints the smallest and the largest result of each, which go on from one rank to the next. */
#include <stdio.h>

#include <kiln.h>
#include <mpi.h>

static const char text[] = "def normalise(x: f32[shard(N), C], eps: f32 = 1e-5):\n"
                           "    y = (x - mean(x, axis=0)) * rsqrt(var(x, axis=0) + eps)\n"
                           "    return y\n";

enum { ROWS = 1000, COLUMNS = 64 };

static void check(kiln_status status)
{
    if (status == KILN_OK)
        return;
    fprintf(stderr, "%s: %s\n", kiln_status_text(status), kiln_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* All that kiln needs of MPI. */
static kiln_status all_gather(void *user, const void *mine, void *all, size_t bytes)
{
    MPI_Comm *comm = user;
    int n = (int)bytes;
    return MPI_Allgather(mine, n, MPI_BYTE, all, n, MPI_BYTE, *comm) == MPI_SUCCESS ? KILN_OK
                                                                                    : KILN_ERR_RUN;
}

/* The ranks of one host number its GPUs. */
static int number_on_host(MPI_Comm comm)
{
    MPI_Comm host;
    int number;
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &number);
    MPI_Comm_free(&host);
    return number;
}

int main(int argc, char **argv)
{
    MPI_Comm world = MPI_COMM_WORLD;
    int rank, count;
    char device[16];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &count);
    snprintf(device, sizeof device, "cuda:%d", number_on_host(world));

    kiln_config config;
    kiln_ctx *ctx;
    kiln_config_init(&config);
    config.device = argc > 1 ? argv[1] : device;
    check(kiln_ctx_create(&config, &ctx));

    kiln_comm_config place;
    kiln_comm *comm;
    kiln_comm_config_init(&place);
    place.rank = rank;
    place.count = count;
    place.all_gather = all_gather;
    place.user = &world;
    check(kiln_comm_create(ctx, &place, &comm));

    kiln_graph *graph;
    kiln_options options;
    kiln_prog *prog;
    check(kiln_parse(ctx, text, NULL, &graph));
    kiln_options_init(&options);
    options.comm = comm;
    check(kiln_compile(graph, &options, &prog));

    /* This rank's rows: all of them count up together. */
    static float x[ROWS][COLUMNS], y[ROWS][COLUMNS];
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            x[i][j] = (float)(rank * ROWS + i);
    void *in, *out;
    const int64_t shape[] = {ROWS, COLUMNS};
    check(kiln_alloc(ctx, sizeof x, &in));
    check(kiln_alloc(ctx, sizeof y, &out));
    check(kiln_upload(ctx, in, x, sizeof x));
    const kiln_arg args[] = {{"x", in, KILN_F32, 2, shape, NULL},
                             {"y", out, KILN_F32, 2, shape, NULL}};
    check(kiln_prepare(prog, args, 2, NULL));
    check(kiln_run(prog, NULL, args, 2));
    check(kiln_sync(ctx, NULL));
    check(kiln_comm_check(comm));
    check(kiln_download(ctx, y, out, sizeof y));
    printf("rank %d of %d, by path %s: from %.3f to %.3f\n", rank, count, kiln_comm_path(comm),
           y[0][0], y[ROWS - 1][0]);

    MPI_Barrier(world); /* what all have submitted is done */
    kiln_free(ctx, in);
    kiln_free(ctx, out);
    kiln_prog_destroy(prog);
    kiln_graph_destroy(graph);
    kiln_comm_destroy(comm);
    kiln_ctx_destroy(ctx);
    MPI_Finalize();
    return 0;
}
