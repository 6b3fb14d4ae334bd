/* How fast kiln is on this machine, beside a copy of the same bytes: see main.c. */
#ifndef BENCH_SPEED_H
#define BENCH_SPEED_H

#include <stdio.h>

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
/* The time of one call behind flushed caches. */
kiln_status machine_time_once(machine *m, kiln_status (*fn)(void *user), void *user, double *us);
double median(double *x, int n);

/* ---- job.c: a workload on the measured machine ---- */

enum { MAX_ARRAYS = 12, MAX_TEXT = 2048 };

typedef struct job {
    const workload *w;
    kiln_prog *prog; /* not the job's */
    array arrays[MAX_ARRAYS];
    kiln_arg args[MAX_ARRAYS];
    int n;
    int64_t bytes;       /* that must move once */
    double predicted_us; /* by the model */
    double error;        /* the largest deviation() of an output */
    char *explained;     /* JSON */
} job;

/* Says so on stderr. */
bool failed(const char *what, kiln_status status);

/* Compiles the workload's text for elements of `dtype`. */
kiln_status workload_compile(kiln_ctx *ctx, const workload *w, const char *dtype,
                             const kiln_options *how, kiln_prog **prog);
/* The arrays of j->prog, then memory for them: inputs random, outputs NaN. */
bool job_shapes(job *j);
bool job_data(machine *m, job *j);
/* Fills explained and predicted_us. */
bool job_explain(job *j, const char *arch);
/* Runs j->prog. */
kiln_status job_run(void *job);

/* What is true: the outputs in f64, or integers in their own type, computed on the host; for MAX_ARRAYS arrays. */
bool job_reference(machine *m, const job *j, array *ref);
void job_reference_free(const job *j, array *ref);
/* Runs j->prog over outputs of NaN and compares: sets error. */
bool job_agrees(machine *m, job *j, const array *ref);
void job_release(machine *m, job *j);

/* ---- merges.c: what fusion brings ---- */

typedef struct asked {
    const char *device, *only, *json;
    kiln_options how; /* programs are compiled */
    int repeats;
    bool check, list, merges;
} asked;

/* Is it one of those that are measured on this machine? */
bool is_wanted(const asked *o, const machine *m, const workload *w);
void put_text(FILE *f, const char *text); /* as JSON */

/* Measures each workload fused, unfused, and with each merge of loop nests undone; lists where fused is not the
 * quickest. Returns how many failed. */
int measure_merges(machine *m, const asked *o, FILE *json);

#endif
