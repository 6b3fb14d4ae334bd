/* How fast kiln is on this machine, beside a copy of the same bytes: see main.c. */
#ifndef BENCH_SPEED_H
#define BENCH_SPEED_H

#include "frontend/kiln.h"

/* ---- workloads.c: what is measured ---- */

typedef struct workload {
    bool on_gpu;
    const char *program, *dtype, *shapes;
} workload;

extern const workload workloads[];
extern const int workload_count;

/* The workload's text, computed in `dtype` ("f64" for what is true), of at most `size` bytes. */
void workload_text(const workload *w, const char *dtype, char *text, size_t size);
/* "softmax f32 16384x8192", in `name` of `size` bytes. */
void workload_name(const workload *w, char *name, size_t size);

/* An array of a workload: on the host, and on the device that is measured. */
typedef struct array {
    kiln_io io;
    int rank;
    int64_t shape[KILN_MAX_RANK], stride[KILN_MAX_RANK];
    int64_t count;    /* elements of the storage, which the strides may not visit all */
    bool nonnegative; /* inputs */
    void *host, *device;
} array;

/* Reads the shape of an input out of w->shapes. False when it is not there. */
bool workload_shape(const workload *w, array *a);

/* ---- data.c: numbers, in all the machine's threads ---- */

int thread_count(void);
/* Calls fn(user, first, last) for parts of 0..n, each in a thread, and waits. */
void in_parts(int64_t n, void (*fn)(void *user, int64_t first, int64_t last), void *user);

/* Fills a->host: floats nearly normal around 0.5, integers from -1000 to 1000. */
void random_fill(array *a, uint64_t key);
/* A copy of a's storage as f64; NULL when out of memory. */
double *widened(const array *a);
/* The largest |got - want| / (|want| + root mean square of want); infinite where got is NaN and want is
 * not. Integers: 0, or infinite when any differs. */
double deviation(kiln_dtype got_dtype, const void *got, kiln_dtype want_dtype, const void *want,
                 int64_t n);
/* What deviation() may be for results of this type. */
double tolerance(kiln_dtype dtype);

/* ---- machine.c: the device, its caches and its memory ---- */

typedef struct machine {
    kiln_ctx *ctx;
    bool gpu;
    kiln_kernel *copy[2], *fill;
    void *flush;
} machine;

kiln_status machine_open(machine *m, const char *device);
void machine_close(machine *m);
/* Writes a buffer that is larger than the caches. */
kiln_status machine_flush(machine *m);
/* Median device time of fn(user) in microseconds, the caches flushed before each of `repeats` calls. */
kiln_status machine_time(machine *m, int repeats, kiln_status (*fn)(void *user), void *user,
                         double *us);
/* Median time of the fastest copy there is that moves `bytes`, half of them read and half written. */
kiln_status machine_copy_time(machine *m, int repeats, int64_t bytes, double *us);
double median(double *x, int n);

#endif
