/* The programs of workloads.c as plain C. It is compiled with -O3 -march=native -ffast-math -fopenmp, so sums are reordered,
 * and what becomes of NaN and of infinities is not promised. */
#include "bench/c/peers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#if defined(_OPENMP)
#include <omp.h>

void c_threads(int threads)
{
    if (threads > 0)
        omp_set_num_threads(threads);
}
#else
void c_threads(int threads) { (void)threads; }
#endif

static int64_t lesser(int64_t a, int64_t b) { return a < b ? a : b; }

void c_layernorm(void *const *arg, const int64_t *size)
{
    const float *x = arg[0], *g = arg[1], *b = arg[2];
    float *y = arg[3];
    const int64_t N = size[0], C = size[1];
#pragma omp parallel for
    for (int64_t n = 0; n < N; n++) {
        const float *row = x + n * C;
        float *to = y + n * C, sum = 0, squares = 0;
        for (int64_t c = 0; c < C; c++)
            sum += row[c];
        const float mean = sum / (float)C;
        for (int64_t c = 0; c < C; c++)
            squares += (row[c] - mean) * (row[c] - mean);
        const float scale = 1 / sqrtf(squares / (float)C + 1e-5f);
        for (int64_t c = 0; c < C; c++)
            to[c] = (row[c] - mean) * scale * g[c] + b[c];
    }
}

void c_gelu(void *const *arg, const int64_t *size)
{
    const float *x = arg[0];
    float *y = arg[1];
    const int64_t N = size[0];
#pragma omp parallel for
    for (int64_t i = 0; i < N; i++)
        y[i] = 0.5f * x[i] * (1 + tanhf(0.7978845608f * (x[i] + 0.044715f * x[i] * x[i] * x[i])));
}

void c_softmax(void *const *arg, const int64_t *size)
{
    const float *x = arg[0];
    float *y = arg[1];
    const int64_t N = size[0], C = size[1];
#pragma omp parallel for
    for (int64_t n = 0; n < N; n++) {
        const float *row = x + n * C;
        float *to = y + n * C, most = row[0], sum = 0;
        for (int64_t c = 1; c < C; c++)
            most = row[c] > most ? row[c] : most;
        for (int64_t c = 0; c < C; c++) {
            to[c] = expf(row[c] - most);
            sum += to[c];
        }
        const float scale = 1 / sum;
        for (int64_t c = 0; c < C; c++)
            to[c] *= scale;
    }
}

void c_loss_backward(void *const *arg, const int64_t *size)
{
    const float *p = arg[0], *loss = arg[2];
    const int32_t *target = arg[1];
    float *y = arg[3];
    const int64_t N = size[0], V = size[1];
#pragma omp parallel for
    for (int64_t n = 0; n < N; n++) {
        const float by = loss[n];
        for (int64_t v = 0; v < V; v++)
            y[n * V + v] = p[n * V + v] * by;
        y[n * V + target[n]] -= by;
    }
}

void c_residual(void *const *arg, const int64_t *size)
{
    const float *x = arg[0], *r = arg[1];
    float *y = arg[2];
    const int64_t N = size[0];
#pragma omp parallel for
    for (int64_t i = 0; i < N; i++)
        y[i] = x[i] + r[i];
}

void c_adam(void *const *arg, const int64_t *size)
{
    const float *p = arg[0], *g = arg[1], *m = arg[2], *v = arg[3];
    float *p2 = arg[4], *m2 = arg[5], *v2 = arg[6];
    const int64_t N = size[0];
#pragma omp parallel for
    for (int64_t i = 0; i < N; i++) {
        const float a = m[i] * 0.9f + g[i] * 0.1f, b = v[i] * 0.999f + g[i] * g[i] * 0.001f;
        p2[i] = p[i] - 1e-3f * a / (sqrtf(b) + 1e-8f);
        m2[i] = a;
        v2[i] = b;
    }
}

void c_embedding(void *const *arg, const int64_t *size)
{
    const float *w = arg[0];
    const int32_t *at = arg[1];
    float *y = arg[2];
    const int64_t C = size[1], N = size[2];
#pragma omp parallel for
    for (int64_t n = 0; n < N; n++)
        memcpy(y + n * C, w + at[n] * C, (size_t)C * sizeof *y);
}

void c_batchnorm(void *const *arg, const int64_t *size)
{
    const float *x = arg[0], *g = arg[1], *b = arg[2];
    float *y = arg[3];
    const int64_t N = size[0], C = size[1], M = size[2] * size[3];
#pragma omp parallel for
    for (int64_t c = 0; c < C; c++) {
        float sum = 0, squares = 0;
        for (int64_t n = 0; n < N; n++)
            for (int64_t i = 0; i < M; i++)
                sum += x[(n * C + c) * M + i];
        const float mean = sum / (float)(N * M);
        for (int64_t n = 0; n < N; n++)
            for (int64_t i = 0; i < M; i++) {
                const float d = x[(n * C + c) * M + i] - mean;
                squares += d * d;
            }
        const float scale = g[c] / sqrtf(squares / (float)(N * M) + 1e-5f),
                    shift = b[c] - mean * scale;
        for (int64_t n = 0; n < N; n++)
            for (int64_t i = 0; i < M; i++)
                y[(n * C + c) * M + i] = x[(n * C + c) * M + i] * scale + shift;
    }
}

/* Of columns: means first, then squared deviations from them. */
static void column_moments(const float *x, float *mean, float *variance, int64_t N, int64_t C)
{
    memset(mean, 0, (size_t)C * sizeof *mean);
    memset(variance, 0, (size_t)C * sizeof *variance);
#pragma omp parallel for reduction(+ : mean[:C])
    for (int64_t n = 0; n < N; n++)
        for (int64_t c = 0; c < C; c++)
            mean[c] += x[n * C + c];
    for (int64_t c = 0; c < C; c++)
        mean[c] /= (float)N;
#pragma omp parallel for reduction(+ : variance[:C])
    for (int64_t n = 0; n < N; n++)
        for (int64_t c = 0; c < C; c++)
            variance[c] += (x[n * C + c] - mean[c]) * (x[n * C + c] - mean[c]);
    for (int64_t c = 0; c < C; c++)
        variance[c] /= (float)N;
}

void c_moments(void *const *arg, const int64_t *size)
{
    column_moments(arg[0], arg[1], arg[2], size[0], size[1]);
}

/* Channels last: moments of the whole array, row by row, then the result. */
void c_batchnorm_last(void *const *arg, const int64_t *size)
{
    const float *x = arg[0], *g = arg[1], *b = arg[2];
    float *y = arg[3];
    const int64_t C = size[3], M = size[0] * size[1] * size[2];
    float *mean = malloc(4 * (size_t)C * sizeof *mean), *variance = mean + C, *scale = variance + C,
          *shift = scale + C;
    column_moments(x, mean, variance, M, C);
    for (int64_t c = 0; c < C; c++) {
        scale[c] = g[c] / sqrtf(variance[c] + 1e-5f);
        shift[c] = b[c] - mean[c] * scale[c];
    }
#pragma omp parallel for
    for (int64_t i = 0; i < M; i++)
        for (int64_t c = 0; c < C; c++)
            y[i * C + c] = x[i * C + c] * scale[c] + shift[c];
    free(mean);
}

void c_row_shares(void *const *arg, const int64_t *size)
{
    const float *x = arg[0];
    float *y = arg[1];
    const int64_t N = size[0], C = size[1];
#pragma omp parallel for
    for (int64_t n = 0; n < N; n++) {
        float sum = 0;
        for (int64_t c = 0; c < C; c++)
            sum += x[n * C + c];
        for (int64_t c = 0; c < C; c++)
            y[n * C + c] = x[n * C + c] / sum;
    }
}

void c_column_sums(void *const *arg, const int64_t *size)
{
    const float *x = arg[0];
    float *y = arg[1];
    const int64_t N = size[0], C = size[1];
    enum { SOME = 256 };
#pragma omp parallel for
    for (int64_t from = 0; from < C; from += SOME) {
        const int64_t n = lesser(SOME, C - from);
        float sum[SOME] = {0};
        for (int64_t i = 0; i < N; i++)
            for (int64_t c = 0; c < n; c++)
                sum[c] += x[i * C + from + c];
        memcpy(y + from, sum, (size_t)n * sizeof *y);
    }
}

void c_argmax(void *const *arg, const int64_t *size)
{
    const float *x = arg[0];
    int64_t *y = arg[1];
    const int64_t N = size[0], C = size[1];
#pragma omp parallel for
    for (int64_t n = 0; n < N; n++) {
        const float *row = x + n * C;
        float most = row[0];
        for (int64_t c = 1; c < C; c++)
            most = row[c] > most ? row[c] : most;
        int64_t at = 0;
        while (row[at] != most)
            at++;
        y[n] = at;
    }
}

static inline void min_max(const float *x, float *least, float *most, int64_t N, int64_t C)
{
    memcpy(least, x, (size_t)C * sizeof *least);
    memcpy(most, x, (size_t)C * sizeof *most);
#pragma omp parallel for reduction(min : least[:C]) reduction(max : most[:C])
    for (int64_t n = 0; n < N; n++)
        for (int64_t c = 0; c < C; c++) {
            least[c] = x[n * C + c] < least[c] ? x[n * C + c] : least[c];
            most[c] = x[n * C + c] > most[c] ? x[n * C + c] : most[c];
        }
}

/* Of four columns the same with a constant, which the compiler unrolls. */
static void min_max_of_4(const float *x, float *low, float *high, int64_t N)
{
    enum { C = 4 };
    float least[C], most[C];
    for (int c = 0; c < C; c++)
        least[c] = most[c] = x[c];
#pragma omp parallel for reduction(min : least) reduction(max : most)
    for (int64_t n = 0; n < N; n++)
        for (int c = 0; c < C; c++) {
            least[c] = x[n * C + c] < least[c] ? x[n * C + c] : least[c];
            most[c] = x[n * C + c] > most[c] ? x[n * C + c] : most[c];
        }
    memcpy(low, least, sizeof least);
    memcpy(high, most, sizeof most);
}

void c_min_max(void *const *arg, const int64_t *size)
{
    if (size[1] == 4)
        min_max_of_4(arg[0], arg[1], arg[2], size[0]);
    else
        min_max(arg[0], arg[1], arg[2], size[0], size[1]);
}

enum { WIDE = 512 }; /* columns whose numbers stay in the first-level cache */

void c_softmax_middle(void *const *arg, const int64_t *size)
{
    const float *x = arg[0];
    float *y = arg[1];
    const int64_t A = size[0], B = size[1], C = size[2];
#pragma omp parallel for collapse(2)
    for (int64_t a = 0; a < A; a++)
        for (int64_t first = 0; first < C; first += WIDE) {
            const int64_t n = lesser(WIDE, C - first);
            const float *from = x + a * B * C + first;
            float *to = y + a * B * C + first, most[WIDE], sum[WIDE] = {0};
            memcpy(most, from, (size_t)n * sizeof *most);
            for (int64_t b = 1; b < B; b++)
                for (int64_t c = 0; c < n; c++)
                    most[c] = from[b * C + c] > most[c] ? from[b * C + c] : most[c];
            for (int64_t b = 0; b < B; b++)
                for (int64_t c = 0; c < n; c++) {
                    to[b * C + c] = expf(from[b * C + c] - most[c]);
                    sum[c] += to[b * C + c];
                }
            for (int64_t c = 0; c < n; c++)
                sum[c] = 1 / sum[c];
            for (int64_t b = 0; b < B; b++)
                for (int64_t c = 0; c < n; c++)
                    to[b * C + c] *= sum[c];
        }
}

void c_cosines(void *const *arg, const int64_t *size)
{
    const float *a = arg[0], *b = arg[1];
    float *y = arg[2];
    const int64_t N = size[0], C = size[1];
#pragma omp parallel for
    for (int64_t n = 0; n < N; n++) {
        float both = 0, aa = 0, bb = 0;
        for (int64_t c = 0; c < C; c++) {
            const float u = a[n * C + c], v = b[n * C + c];
            both += u * v;
            aa += u * u;
            bb += v * v;
        }
        y[n] = both / (sqrtf(aa) * sqrtf(bb));
    }
}

void c_transpose(void *const *arg, const int64_t *size)
{
    const float *x = arg[0];
    float *y = arg[1];
    const int64_t N = size[0], C = size[1];
    enum { SIDE = 32 };
#pragma omp parallel for
    for (int64_t i = 0; i < C; i += SIDE)
        for (int64_t j = 0; j < N; j += SIDE)
            for (int64_t r = i; r < lesser(i + SIDE, C); r++)
                for (int64_t s = j; s < lesser(j + SIDE, N); s++)
                    y[r * N + s] = x[s * C + r] * 2;
}

void c_rmsnorm(void *const *arg, const int64_t *size)
{
    const float *x = arg[0], *g = arg[1];
    float *y = arg[2];
    const int64_t N = size[0], C = size[1];
#pragma omp parallel for
    for (int64_t n = 0; n < N; n++) {
        const float *row = x + n * C;
        float *to = y + n * C, squares = 0;
        for (int64_t c = 0; c < C; c++)
            squares += row[c] * row[c];
        const float scale = 1 / sqrtf(squares / (float)C + 1e-6f);
        for (int64_t c = 0; c < C; c++)
            to[c] = row[c] * scale * g[c];
    }
}

void c_log_sum_exp(void *const *arg, const int64_t *size)
{
    const float *x = arg[0];
    float *y = arg[1];
    const int64_t N = size[0], C = size[1];
#pragma omp parallel for
    for (int64_t n = 0; n < N; n++) {
        const float *row = x + n * C;
        float most = row[0], sum = 0;
        for (int64_t c = 1; c < C; c++)
            most = row[c] > most ? row[c] : most;
        for (int64_t c = 0; c < C; c++)
            sum += expf(row[c] - most);
        y[n] = logf(sum) + most;
    }
}

void c_softmax_backward(void *const *arg, const int64_t *size)
{
    const float *y = arg[0], *dy = arg[1];
    float *dx = arg[2];
    const int64_t N = size[0], C = size[1];
#pragma omp parallel for
    for (int64_t n = 0; n < N; n++) {
        const int64_t at = n * C;
        float sum = 0;
        for (int64_t c = 0; c < C; c++)
            sum += dy[at + c] * y[at + c];
        for (int64_t c = 0; c < C; c++)
            dx[at + c] = (dy[at + c] - sum) * y[at + c];
    }
}

void c_bias_gradient(void *const *arg, const int64_t *size)
{
    const float *x = arg[0], *b = arg[1], *dy = arg[2];
    float *dx = arg[3], *db = arg[4];
    const int64_t N = size[0], C = size[1];
    memset(db, 0, (size_t)C * sizeof *db);
#pragma omp parallel for reduction(+ : db[:C])
    for (int64_t n = 0; n < N; n++)
        for (int64_t c = 0; c < C; c++) {
            const float t = tanhf(x[n * C + c] + b[c]), d = dy[n * C + c] * (1 - t * t);
            dx[n * C + c] = d;
            db[c] += d;
        }
}

void c_x_plus_xx(void *const *arg, const int64_t *size)
{
    const float *x = arg[0];
    float *y = arg[1];
    const int64_t N = size[0];
#pragma omp parallel for
    for (int64_t i = 0; i < N; i++)
        y[i] = x[i] + x[i] * x[i];
}

void c_hypot(void *const *arg, const int64_t *size)
{
    const float *a = arg[0], *b = arg[1];
    float *y = arg[2];
    const int64_t N = size[0];
#pragma omp parallel for
    for (int64_t i = 0; i < N; i++)
        y[i] = sqrtf(a[i] * a[i] + b[i] * b[i]);
}

void c_total(void *const *arg, const int64_t *size)
{
    const float *x = arg[0];
    const int64_t N = size[0];
    float sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int64_t i = 0; i < N; i++)
        sum += x[i];
    *(float *)arg[1] = sum;
}
