/* darknet with kiln beside darknet as it is.
 *
 * usage: measure layer      each function of the layer on the same data, in turns: errors against f64, and times
 *        measure train CFG  the losses of some steps of training on made-up data, with the layer that is linked */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "batchnorm_layer.h"

void original_forward_batchnorm_layer(layer l, network net);
void original_backward_batchnorm_layer(layer l, network net);

enum { TURNS = 15, ROUNDS = 101 };

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Between -1 and 1, the same everywhere. */
static float number(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / (float)(1 << 23) - 1;
}

static float *numbers(size_t n, unsigned seed, float offset)
{
    float *x = malloc(n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = number(&seed) + offset;
    return x;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x)
{
    qsort(x, TURNS, sizeof *x, ascending);
    return x[TURNS / 2];
}

/* A layer as make_convolutional_layer() has it, after its convolution. */
static layer a_layer(int batch, int c, int side)
{
    layer l = {0};
    size_t n = (size_t)batch * c * side * side;
    l.type = CONVOLUTIONAL;
    l.batch = batch;
    l.out_c = c;
    l.out_h = l.out_w = side;
    l.outputs = c * side * side;
    l.output = numbers(n, 1, 3); /* a mean far from 0 */
    l.delta = numbers(n, 2, 0);
    l.x = calloc(n, sizeof(float));
    l.x_norm = calloc(n, sizeof(float));
    l.scales = numbers(c, 3, 1);
    l.biases = numbers(c, 4, 0);
    float **const each[] = {&l.scale_updates, &l.bias_updates,  &l.mean,
                            &l.variance,      &l.rolling_mean,  &l.rolling_variance,
                            &l.mean_delta,    &l.variance_delta};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++)
        *each[i] = calloc(c, sizeof(float));
    return l;
}

/* The largest difference of the normalised output from what f64 gives. */
static double forward_error(layer l, const float *in)
{
    size_t spatial = (size_t)l.out_h * l.out_w;
    double worst = 0;
    for (int c = 0; c < l.out_c; c++) {
        double sum = 0, squares = 0;
        for (int b = 0; b < l.batch; b++)
            for (size_t i = 0; i < spatial; i++)
                sum += in[(b * l.out_c + c) * spatial + i];
        double mean = sum / (l.batch * spatial);
        for (int b = 0; b < l.batch; b++)
            for (size_t i = 0; i < spatial; i++)
                squares += pow(in[(b * l.out_c + c) * spatial + i] - mean, 2);
        double by = sqrt(squares / (l.batch * spatial - 1)) + .000001;
        for (int b = 0; b < l.batch; b++)
            for (size_t i = 0; i < spatial; i++) {
                size_t at = (b * l.out_c + c) * spatial + i;
                worst = fmax(
                    worst, fabs(l.output[at] - ((in[at] - mean) / by * l.scales[c] + l.biases[c])));
            }
    }
    return worst;
}

static double largest_difference(const float *x, const float *y, size_t n)
{
    double worst = 0;
    for (size_t i = 0; i < n; i++)
        worst = fmax(worst, fabs((double)x[i] - y[i]));
    return worst;
}

static void compare(int batch, int c, int side)
{
    size_t n = (size_t)batch * c * side * side;
    layer a = a_layer(batch, c, side), b = a_layer(batch, c, side);
    float *in = numbers(n, 1, 3), *delta = numbers(n, 2, 0);
    double times[4][TURNS], ratios[2][TURNS], errors[2], begin;
    network net = {0};
    net.train = 1;
    for (int turn = -1; turn < TURNS; turn++) {
        int at = turn < 0 ? 0 : turn;
        layer *const both[] = {&a, &b};
        void (*const forward[])(layer, network) = {original_forward_batchnorm_layer,
                                                   forward_batchnorm_layer};
        void (*const backward[])(layer, network) = {original_backward_batchnorm_layer,
                                                    backward_batchnorm_layer};
        for (int k = 0; k < 2; k++) {
            int which = (k + at) % 2; /* either is the first as often */
            layer *l = both[which];
            memcpy(l->output, in, n * sizeof *in);
            memcpy(l->delta, delta, n * sizeof *delta);
            begin = now_ms();
            forward[which](*l, net);
            times[which][at] = now_ms() - begin;
            begin = now_ms();
            backward[which](*l, net);
            times[2 + which][at] = now_ms() - begin;
        }
        errors[0] = forward_error(a, in);
        errors[1] = forward_error(b, in);
        ratios[0][at] = times[0][at] / times[1][at];
        ratios[1][at] = times[2][at] / times[3][at];
    }
    printf(
        "%dx%dx%dx%d: forward %.2f ms, kiln %.2f ms (%.2f times as fast); backward %.2f ms, kiln %.2f ms (%.2f)\n",
        batch, c, side, side, median(times[0]), median(times[1]), median(ratios[0]),
        median(times[2]), median(times[3]), median(ratios[1]));
    printf("    output off from f64's by %.1e, kiln's by %.1e; gradients apart by %.1e\n",
           errors[0], errors[1], largest_difference(a.delta, b.delta, n));
}

/* Classes that can be told apart: each has its own pattern. */
static void train(char *cfg)
{
    network *net = parse_network_cfg(cfg);
    size_t pixels = (size_t)net->inputs, classes = (size_t)net->truths;
    unsigned seed = 5;
    srand(1);
    for (int step = 0; step < ROUNDS; step++) {
        for (int b = 0; b < net->batch; b++) {
            unsigned kind = (unsigned)(step * net->batch + b) % (unsigned)classes,
                     pattern = 100 + kind;
            for (size_t i = 0; i < pixels; i++)
                net->input[b * pixels + i] = number(&pattern) + 0.5f * number(&seed);
            memset(net->truth + b * classes, 0, classes * sizeof(float));
            net->truth[b * classes + kind] = 1;
        }
        *net->seen += net->batch;
        float loss = train_network_datum(net) / net->batch;
        if (step % 25 == 0)
            printf("step %3d: loss %.5f\n", step, loss);
    }
    free_network(net);
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "train") == 0) {
        train(argv[2]);
        return 0;
    }
    compare(16, 128, 28);
    compare(16, 256, 14);
    compare(4, 64, 112);
    return 0;
}
