/* Batch normalisation over the batches of several ranks, which are threads of this process, each with a device of its own:
 *
 *     ranks           two ranks on the CPU
 *     ranks cuda 4    on the GPUs cuda:0 to cuda:3
 *
 * Prints the first and the last result of each, which go on from one rank to the next; exit status 1 if the mean of all is not 0. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kiln.h>

enum { ROWS = 1000, COLUMNS = 64, MOST_RANKS = 16 };

static const char text[] = "def normalise(x: f32[shard(N), C], eps: f32 = 1e-5):\n"
                           "    y = (x - mean(x, axis=0)) * rsqrt(var(x, axis=0) + eps)\n"
                           "    return y\n";

typedef struct rank {
    int number;
    char device[24];
    kiln_team *team;
    pthread_t thread;
    float x[ROWS][COLUMNS], y[ROWS][COLUMNS];
} rank;

static void check(const rank *r, kiln_status status)
{
    if (status == KILN_OK)
        return;
    fprintf(stderr, "rank %d: %s: %s\n", r->number, kiln_status_text(status), kiln_last_error());
    exit(1);
}

static kiln_prog *compile(const rank *r, kiln_ctx *ctx, kiln_comm *comm)
{
    kiln_graph *graph;
    kiln_prog *prog;
    kiln_options options;
    check(r, kiln_parse(ctx, text, NULL, &graph));
    kiln_options_init(&options);
    options.comm = comm;
    check(r, kiln_compile(graph, &options, &prog));
    kiln_graph_destroy(graph);
    return prog;
}

static void run(rank *r, kiln_ctx *ctx, kiln_comm *comm)
{
    void *in, *out;
    const int64_t shape[] = {ROWS, COLUMNS}; /* of this rank's part */
    kiln_prog *prog = compile(r, ctx, comm);
    check(r, kiln_alloc(ctx, sizeof r->x, &in));
    check(r, kiln_alloc(ctx, sizeof r->y, &out));
    check(r, kiln_upload(ctx, in, r->x, sizeof r->x));
    const kiln_arg args[] = {{"x", in, KILN_F32, 2, shape, NULL},
                             {"y", out, KILN_F32, 2, shape, NULL}};
    check(r, kiln_prepare(prog, args, 2, NULL)); /* ranks exchange the sizes of their parts */
    check(r, kiln_run(prog, NULL, args, 2));
    check(r, kiln_sync(ctx, NULL));
    check(r, kiln_comm_check(comm));
    check(r, kiln_download(ctx, r->y, out, sizeof r->y));
    kiln_free(ctx, in);
    kiln_free(ctx, out);
    kiln_prog_destroy(prog);
}

static void *begin(void *user)
{
    rank *r = user;
    kiln_ctx *ctx;
    kiln_comm *comm;
    kiln_config config;
    kiln_comm_config place;
    kiln_config_init(&config);
    config.device = r->device;
    check(r, kiln_ctx_create(&config, &ctx));
    kiln_comm_config_init(&place);
    place.rank = r->number;
    place.team = r->team;
    check(r, kiln_comm_create(ctx, &place, &comm));
    run(r, ctx, comm);
    kiln_comm_destroy(comm);
    kiln_ctx_destroy(ctx);
    return NULL;
}

int main(int argc, char **argv)
{
    const char *device = argc > 1 ? argv[1] : "cpu";
    const int count = argc > 2 ? atoi(argv[2]) : 2;
    kiln_team *team;
    if (count < 1 || count > MOST_RANKS || kiln_team_create(count, &team) != KILN_OK)
        return fprintf(stderr, "usage: ranks [DEVICE [1 to %d]]\n", MOST_RANKS), 2;
    rank *ranks = calloc((size_t)count, sizeof *ranks);
    if (!ranks)
        return 1;
    for (int i = 0; i < count; i++) {
        rank *r = &ranks[i];
        r->number = i;
        r->team = team;
        if (strcmp(device, "cuda") == 0)
            snprintf(r->device, sizeof r->device, "cuda:%d", i);
        else
            snprintf(r->device, sizeof r->device, "%s", device);
        for (int j = 0; j < ROWS * COLUMNS; j++) /* the rows of all ranks count up together */
            r->x[j / COLUMNS][j % COLUMNS] = (float)(i * ROWS + j / COLUMNS);
        if (pthread_create(&r->thread, NULL, begin, r) != 0)
            return 1;
    }
    double sum = 0;
    for (int i = 0; i < count; i++) {
        pthread_join(ranks[i].thread, NULL);
        for (int j = 0; j < ROWS; j++)
            sum += ranks[i].y[j][0];
        printf("rank %d of %d: from %.3f to %.3f\n", i, count, ranks[i].y[0][0],
               ranks[i].y[ROWS - 1][0]);
    }
    free(ranks);
    kiln_team_destroy(team);
    return fabs(sum) < 1e-2 * ROWS * count ? 0 : 1;
}
