/* A batchnorm layer, trained: each step is one run of one program, which normalises, takes the loss, derives its gradients by
 * gamma and beta and updates both in place. What it learns is the layer that made the targets. Exit status 1 if it does
 * not. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <kiln.h>

enum { N = 8, C = 4, H = 12, W = 12, ELEMENTS = N * C * H * W, STEPS = 60 };

static const char step_text[] =
    "def step(x: f32[N, C, H, W], target: f32[N, C, H, W], gamma: f32[C], beta: f32[C], rate: f32 = 0.1):\n"
    "    d = x - mean(x, axis=(0, 2, 3), keepdims=True)\n"
    "    v = mean(d * d, axis=(0, 2, 3), keepdims=True)\n"
    "    y = d * rsqrt(v + 1e-5) * gamma[:, None, None] + beta[:, None, None]\n"
    "    loss = mean(sum((y - target) ** 2, axis=1))\n"
    "    dgamma, dbeta = grad(loss, (gamma, beta))\n"
    "    gamma -= rate * dgamma\n"
    "    beta -= rate * dbeta\n"
    "    return loss\n";

static const float true_gamma[C] = {0.5F, 1, 1.5F, 2}, true_beta[C] = {-1, 0, 1, 2};

/* Some data, of another mean and spread in each channel, and what the layer to be learnt makes of it. */
static void make_data(float *x, float *target)
{
    for (int c = 0; c < C; c++) {
        double sum = 0, squares = 0;
        const double count = ELEMENTS / C;
        for (int i = 0; i < ELEMENTS; i++) {
            if (i / (H * W) % C != c)
                continue;
            x[i] = (float)((double)((i * 7919LL) % 1999) / 1000 * (c + 1) - c);
            sum += x[i];
            squares += (double)x[i] * x[i];
        }
        double mean = sum / count, deviation = sqrt(squares / count - mean * mean);
        for (int i = 0; i < ELEMENTS; i++)
            if (i / (H * W) % C == c)
                target[i] = (float)((x[i] - mean) / deviation) * true_gamma[c] + true_beta[c];
    }
}

static int train(kiln_prog *prog, float *x, float *target, float *gamma, float *beta)
{
    float loss;
    const int64_t shape[] = {N, C, H, W}, channels = C;
    const kiln_arg args[] = {{"x", x, KILN_F32, 4, shape, NULL},
                             {"target", target, KILN_F32, 4, shape, NULL},
                             {"gamma", gamma, KILN_F32, 1, &channels, NULL},
                             {"beta", beta, KILN_F32, 1, &channels, NULL},
                             {"loss", &loss, KILN_F32, 0, NULL, NULL}};
    for (int step = 0; step <= STEPS; step++) {
        if (kiln_run(prog, NULL, args, 5))
            return 1;
        if (step % 10 == 0)
            printf("step %2d: loss %.8f\n", step, (double)loss);
    }
    return 0;
}

int main(void)
{
    static float x[ELEMENTS], target[ELEMENTS];
    float gamma[C] = {1, 1, 1, 1}, beta[C] = {0};
    kiln_ctx *ctx = NULL;
    kiln_graph *g = NULL;
    kiln_prog *prog = NULL;
    kiln_config config;
    kiln_config_init(&config);
    config.device = "cpu";
    make_data(x, target);
    int wrong = kiln_ctx_create(&config, &ctx) || kiln_parse(ctx, step_text, "step", &g) ||
                kiln_compile(g, NULL, &prog) || train(prog, x, target, gamma, beta);
    if (wrong)
        fprintf(stderr, "train_batchnorm: %s\n", kiln_last_error());
    for (int c = 0; c < C && !wrong; c++) {
        printf("channel %d: gamma %.4f beta %.4f\n", c, (double)gamma[c], (double)beta[c]);
        wrong = fabsf(gamma[c] - true_gamma[c]) > 1e-3F || fabsf(beta[c] - true_beta[c]) > 1e-3F;
    }
    kiln_prog_destroy(prog);
    kiln_graph_destroy(g);
    kiln_ctx_destroy(ctx);
    return wrong;
}
