/* Batch normalisation by an emitted program: one function for all sizes. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "batchnorm.h"

static float noise(void)
{
    static uint32_t state = 1;
    state = state * 1664525u + 1013904223u;
    return (float)(state >> 8) / 8388608.0f - 1.0f;
}

static float *numbers(int64_t n)
{
    float *x = malloc((size_t)(n ? n : 1) * sizeof *x);
    if (!x)
        exit(1);
    for (int64_t i = 0; i < n; i++)
        x[i] = noise();
    return x;
}

/* The largest deviation of y from plain C. */
static double deviation(const float *x, int64_t n, int64_t c, int64_t hw, const float *gamma,
                        const float *beta, const float *y)
{
    double most = 0;
    for (int64_t k = 0; k < c; k++) {
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < hw; j++)
                sum += x[(i * c + k) * hw + j];
        const double mean = sum / (double)(n * hw);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < hw; j++)
                squares += pow(x[(i * c + k) * hw + j] - mean, 2);
        const double scale = gamma[k] / sqrt(squares / (double)(n * hw) + 1e-5);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < hw; j++) {
                const int64_t at = (i * c + k) * hw + j;
                const double off = fabs((x[at] - mean) * scale + beta[k] - y[at]);
                most = off > most ? off : most;
            }
    }
    return most;
}

static int try_sizes(int64_t n, int64_t c, int64_t h, int64_t w)
{
    float *x = numbers(n * c * h * w), *gamma = numbers(c), *beta = numbers(c);
    float *y = numbers(n * c * h * w), *m = numbers(c), *v = numbers(c);
    const int status = batchnorm_run(NULL, NULL, x, n, c, h, w, gamma, beta, 1e-5f, y, m, v, NULL);
    const double off = status ? 0 : deviation(x, n, c, h * w, gamma, beta, y);
    printf("(%d, %d, %d, %d): %s, within %.1g of plain C\n", (int)n, (int)c, (int)h, (int)w,
           batchnorm_message(status), off);
    free(x), free(gamma), free(beta), free(y), free(m), free(v);
    return status == 0 && off < 1e-4;
}

int main(void)
{
    static const int64_t shapes[][4] = {
        {8, 64, 56, 56}, {1, 3, 7, 5}, {2, 16, 1, 300}, {32, 8, 4, 4}};
    int good = 1;
    for (int i = 0; i < 4; i++)
        good &= try_sizes(shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][3]);
    float one = 0;
    const int refused =
        batchnorm_run(NULL, NULL, &one, -1, 1, 1, 1, &one, &one, 1e-5f, &one, &one, &one, NULL);
    printf("(-1, 1, 1, 1): %s\n", batchnorm_message(refused));
    return good && refused ? 0 : 1;
}
