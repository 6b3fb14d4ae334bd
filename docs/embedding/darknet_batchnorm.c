/* darknet's batch normalisation by kiln: a file beside src/batchnorm_layer.c, whose two functions it takes the place
 * of. The programs are those of batchnorm.kiln. */
#include <stdio.h>
#include <stdlib.h>

#include "batchnorm_layer.h"
#include "kiln.h"

static kiln_ctx *ctx;
static kiln_prog *train, *infer, *backward;

static void good(kiln_status status)
{
    if (status == KILN_OK)
        return;
    fprintf(stderr, "kiln: %s\n", kiln_last_error());
    exit(1);
}

static kiln_prog *program(const char *name)
{
    const char *file = getenv("DARKNET_KILN");
    kiln_graph *graph;
    kiln_prog *prog;
    good(kiln_parse_file(ctx, file ? file : "batchnorm.kiln", name, &graph));
    good(kiln_compile(graph, NULL, &prog));
    kiln_graph_destroy(graph);
    return prog;
}

static void begin(void)
{
    kiln_config config;
    if (ctx)
        return;
    kiln_config_init(&config);
    config.device = "cpu";
    config.threads = getenv("DARKNET_THREADS") ? atoi(getenv("DARKNET_THREADS")) : 0;
    good(kiln_ctx_create(&config, &ctx));
    train = program("train");
    infer = program("infer");
    backward = program("backward");
}

/* An array of a layer: of all elements, or a number a channel. */
#define ALL(name, data)                                                                            \
    {                                                                                              \
        name, data, KILN_F32, 3, all, NULL                                                         \
    }
#define EACH(name, data)                                                                           \
    {                                                                                              \
        name, data, KILN_F32, 1, all + 1, NULL                                                     \
    }

void forward_batchnorm_layer(layer l, network net)
{
    const int64_t all[] = {l.batch, l.out_c, (int64_t)l.out_h * l.out_w};
    float *in = l.type == BATCHNORM ? net.input : l.output;
    const kiln_arg args[] = {ALL("x", in),
                             EACH("scales", l.scales),
                             EACH("biases", l.biases),
                             EACH("rolling_mean", l.rolling_mean),
                             EACH("rolling_variance", l.rolling_variance),
                             ALL("y", l.output),
                             ALL("kept", l.x),
                             ALL("x_norm", l.x_norm),
                             EACH("mean_", l.mean),
                             EACH("variance", l.variance)};
    begin();
    good(net.train ? kiln_run(train, NULL, args, 10) : kiln_run(infer, NULL, args, 6));
}

void backward_batchnorm_layer(layer l, network net)
{
    const int64_t all[] = {l.batch, l.out_c, (int64_t)l.out_h * l.out_w};
    const kiln_arg args[] = {ALL("x", l.x),
                             ALL("x_norm", l.x_norm),
                             ALL("delta", l.delta),
                             EACH("scales", l.scales),
                             EACH("mean_", net.train ? l.mean : l.rolling_mean),
                             EACH("variance", net.train ? l.variance : l.rolling_variance),
                             EACH("scale_updates", l.scale_updates),
                             EACH("bias_updates", l.bias_updates)};
    begin();
    good(kiln_run(backward, NULL, args, 8));
    if (l.type == BATCHNORM)
        copy_cpu(l.outputs * l.batch, l.delta, 1, net.delta, 1);
}
