#include "runtime/timing.h"

#include <stdlib.h>

/* 256 MB on a GPU, 64 on a host. */
static size_t flush_bytes(const kn_device *dev)
{
    return (size_t)256 << (dev->ops->runs_source ? 20 : 18);
}

kn_status kn_timing_open(kn_timing *t, kn_device *dev)
{
    void *memory;
    *t = (kn_timing){.dev = dev, .bytes = flush_bytes(dev)};
    KN_TRY(dev->ops->alloc(dev, t->bytes, &memory));
    t->flush = memory;
    return KN_OK;
}

void kn_timing_close(kn_timing *t) { t->dev->ops->release(t->dev, t->flush); }

kn_status kn_timing_run(kn_timing *t, void *stream, kn_status (*fn)(void *user), void *user,
                        double *us)
{
    KN_TRY(t->dev->ops->zero(t->dev, t->flush, t->bytes, stream));
    if (t->comm)
        KN_TRY(kn_comm_barrier(t->comm, stream));
    return t->dev->ops->time(t->dev, stream, fn, user, us);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double kn_median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, by_value);
    return x[n / 2];
}
