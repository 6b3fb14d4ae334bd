#include "bench/speed/speed.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"

enum { MAX_THREADS = 64 };

int thread_count(void)
{
    int n = kn_cores();
    return n > MAX_THREADS ? MAX_THREADS : n;
}

typedef struct part {
    void (*fn)(void *user, int64_t first, int64_t last);
    void *user;
    int64_t first, last;
} part;

static void *run_part(void *p)
{
    const part *it = p;
    it->fn(it->user, it->first, it->last);
    return NULL;
}

void in_parts(int64_t n, void (*fn)(void *user, int64_t first, int64_t last), void *user)
{
    part parts[MAX_THREADS];
    pthread_t threads[MAX_THREADS];
    bool started[MAX_THREADS] = {false};
    int count = n < 65536 ? 1 : thread_count();
    for (int i = 0; i < count; i++)
        parts[i] = (part){fn, user, n / count * i, i == count - 1 ? n : n / count * (i + 1)};
    for (int i = 1; i < count; i++)
        started[i] = pthread_create(&threads[i], NULL, run_part, &parts[i]) == 0;
    for (int i = 0; i < count; i++)
        if (!started[i])
            run_part(&parts[i]);
    for (int i = 1; i < count; i++)
        if (started[i])
            pthread_join(threads[i], NULL);
}

static bool is_float(kiln_dtype dtype) { return dtype >= KILN_F16; }

/* ---- random numbers ---- */

/* splitmix64's i-th number for the seed `key` (Steele, Lea, Flood 2014). */
static uint64_t draw(uint64_t key, int64_t i)
{
    uint64_t z = key + ((uint64_t)i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Of variance 1: the sum of four uniform numbers of 16 bits. */
static double nearly_normal(uint64_t r)
{
    double sum = (double)((r & 0xffff) + (r >> 16 & 0xffff) + (r >> 32 & 0xffff) + (r >> 48));
    return (sum / 65535 - 2) * sqrt(3);
}

typedef struct filling {
    array *a;
    uint64_t key;
} filling;

static void fill_part(void *user, int64_t first, int64_t last)
{
    const filling *f = user;
    kiln_dtype dtype = f->a->io.dtype;
    size_t size = kiln_dtype_size(dtype);
    for (int64_t i = first; i < last; i++) {
        uint64_t r = draw(f->key, i);
        char *to = (char *)f->a->host + (size_t)i * size;
        if (is_float(dtype)) {
            double v = nearly_normal(r) + 0.5;
            kiln_store_float(dtype, to, f->a->nonnegative ? fabs(v) : v);
        } else {
            kiln_store_int(dtype, to,
                           dtype == KILN_BOOL ? (int64_t)(r >> 63) : (int64_t)(r % 2001) - 1000);
        }
    }
}

void random_fill(array *a, uint64_t key) { in_parts(a->count, fill_part, &(filling){a, key}); }

/* ---- comparing ---- */

typedef struct widening {
    const array *a;
    double *to;
} widening;

static void widen_part(void *user, int64_t first, int64_t last)
{
    const widening *w = user;
    size_t size = kiln_dtype_size(w->a->io.dtype);
    for (int64_t i = first; i < last; i++)
        w->to[i] = kiln_load_float(w->a->io.dtype, (const char *)w->a->host + (size_t)i * size);
}

double *widened(const array *a)
{
    double *to = malloc((size_t)a->count * sizeof *to);
    if (to)
        in_parts(a->count, widen_part, &(widening){a, to});
    return to;
}

/* Where half the distance of the smallest numbers is as much as a rounding of larger ones. */
static const double least_f16 = 6e-5;

typedef struct comparing {
    kiln_dtype got_dtype, want_dtype;
    const char *got, *want;
    double scale;
    pthread_mutex_t lock;
    double squares, worst; /* of all parts */
} comparing;

static double at(kiln_dtype dtype, const char *data, int64_t i)
{
    return kiln_load_float(dtype, data + (size_t)i * kiln_dtype_size(dtype));
}

static void square_part(void *user, int64_t first, int64_t last)
{
    comparing *c = user;
    double sum = 0;
    for (int64_t i = first; i < last; i++) {
        double w = at(c->want_dtype, c->want, i);
        sum += w * w;
    }
    pthread_mutex_lock(&c->lock);
    c->squares += sum;
    pthread_mutex_unlock(&c->lock);
}

static void compare_part(void *user, int64_t first, int64_t last)
{
    comparing *c = user;
    double worst = 0;
    for (int64_t i = first; i < last; i++) {
        double g = at(c->got_dtype, c->got, i), w = at(c->want_dtype, c->want, i);
        double off = fabs(g - w) / (fabs(w) + c->scale);
        if (g == w || (isnan(g) && isnan(w)))
            continue;
        worst = off > worst ? off : isnan(off) ? INFINITY : worst;
    }
    pthread_mutex_lock(&c->lock);
    c->worst = fmax(c->worst, worst);
    pthread_mutex_unlock(&c->lock);
}

/* The fraction of integers that differ; infinite when one is off by more than 1. */
static double fraction_off(kiln_dtype dtype, const char *got, const char *want, int64_t n)
{
    int64_t off = 0;
    size_t size = kiln_dtype_size(dtype);
    if (memcmp(got, want, (size_t)n * size) == 0)
        return 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t g = kiln_load_int(dtype, got + (size_t)i * size),
                w = kiln_load_int(dtype, want + (size_t)i * size);
        if (g > w + 1 || g < w - 1)
            return INFINITY;
        off += g != w;
    }
    return (double)off / (double)n;
}

double deviation(kiln_dtype got_dtype, const void *got, kiln_dtype want_dtype, const void *want,
                 int64_t n)
{
    if (!is_float(want_dtype))
        return got_dtype == want_dtype ? fraction_off(got_dtype, got, want, n) : INFINITY;
    comparing c = {.got_dtype = got_dtype, .want_dtype = want_dtype, .got = got, .want = want};
    pthread_mutex_init(&c.lock, NULL);
    in_parts(n, square_part, &c);
    c.scale = sqrt(c.squares / (double)n) + (got_dtype == KILN_F16 ? least_f16 : 0);
    in_parts(n, compare_part, &c);
    pthread_mutex_destroy(&c.lock);
    return c.worst;
}

double tolerance(kiln_dtype dtype)
{
    switch (dtype) {
    case KILN_F16: return 2e-3;    /* a rounding is up to 2^-11 */
    case KILN_BF16: return 1.6e-2; /* 2^-8 */
    case KILN_F32: return 2e-5;
    case KILN_F64: return 1e-11;
    default: return 0;
    }
}

double drawn_tolerance(kiln_dtype dtype) { return is_float(dtype) ? 8 * tolerance(dtype) : 1e-3; }
