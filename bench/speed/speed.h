/* How fast kiln is on this machine, beside a copy of the same bytes: see main.c. */
#ifndef BENCH_SPEED_H
#define BENCH_SPEED_H

#include <stdio.h>

#include "codegen/kir/target.h"
#include "frontend/kiln.h"

/* ---- workloads.c: what is measured ---- */

enum { MAX_ARRAYS = 12, MAX_TEXT = 2048, MAX_NAME = 160 };

typedef struct workload {
    bool on_gpu;
    const char *program, *dtype, *shapes;
    const char *label; /* in front of its name; NULL: none */
    const char *text;  /* the program's, behind `def MAX_NAME`; NULL: that of workloads.def */
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
    int64_t offset;   /* elements in front of the first: its base is not aligned */
    bool nonnegative; /* inputs */
    void *host, *device;
} array;

/* Reads the shape of an input out of w->shapes. False when it is not there. */
bool workload_shape(const workload *w, array *a);

/* ---- draw.c: workloads that nobody chose ---- */

typedef struct drawn {
    workload w;
    char text[MAX_TEXT], shapes[256], label[32]; /* of w */
} drawn;

/* Programs of about `least` to `most` bytes. */
typedef struct draws {
    uint64_t seed;
    int count;
    int64_t least, most;
} draws;

/* The one of this index: it depends on `from`, but not on its count. */
void draw_workload(drawn *to, const draws *from, int index);

/* ---- data.c: numbers, in all the machine's threads ---- */

int thread_count(void);
/* Calls fn(user, first, last) for parts of 0..n, each in a thread, and waits. */
void in_parts(int64_t n, void (*fn)(void *user, int64_t first, int64_t last), void *user);

/* Fills a->host: floats nearly normal around 0.5, integers from -1000 to 1000. */
void random_fill(array *a, uint64_t key);
/* A copy of a's storage as f64; NULL when out of memory. */
double *widened(const array *a);
/* The largest |got - want| / (|want| + root mean square of want); infinite where got is NaN and want is
 * not. Integers: the fraction that differs, or infinite when one differs by more than 1. */
double deviation(kiln_dtype got_dtype, const void *got, kiln_dtype want_dtype, const void *want,
                 int64_t n);
/* What deviation() may be for results of this type. */
double tolerance(kiln_dtype dtype);
/* The same of a program that nobody has looked at: its sums may cancel, and where what it rounds to an integer is close
 * to a half, the last digits decide. */
double drawn_tolerance(kiln_dtype dtype);

/* ---- machine.c: the device, its caches and its memory ---- */

typedef struct machine {
    kiln_ctx *ctx;
    bool gpu;
    kiln_kernel *copy[2], *fill, *empty;
    void *flush;
} machine;

kiln_status machine_open(machine *m, const char *device);
void machine_close(machine *m);
const kn_target *machine_target(const machine *m);
/* What kiln_explain() calls it. */
const char *machine_arch(const machine *m);
/* Writes a buffer that is larger than the caches. */
kiln_status machine_flush(machine *m);
/* Median device time of fn(user) in microseconds, the caches flushed before each of `repeats` calls. */
kiln_status machine_time(machine *m, int repeats, kiln_status (*fn)(void *user), void *user,
                         double *us);
/* Median time of a launch that does nothing; of a host, of a program that adds one number. */
kiln_status machine_empty_time(machine *m, int repeats, double *us);
/* Median time of the fastest copy there is that moves `bytes`, half of them read and half written. */
kiln_status machine_copy_time(machine *m, int repeats, int64_t bytes, double *us);
/* The time of one call behind flushed caches. */
kiln_status machine_time_once(machine *m, kiln_status (*fn)(void *user), void *user, double *us);
double median(double *x, int n);

/* ---- job.c: a workload on the measured machine ---- */

typedef struct job {
    const workload *w;
    kiln_prog *prog; /* not the job's */
    array arrays[MAX_ARRAYS];
    kiln_arg args[MAX_ARRAYS];
    int n;
    int64_t bytes;       /* that must move once */
    int64_t again;       /* further ones that no chip of this size can keep: bound.c */
    double predicted_us; /* by the model */
    int launches;        /* of its plan */
    double error;        /* the largest deviation() of an output */
    char *explained;     /* JSON */
} job;

/* Says so on stderr. */
bool failed(const char *what, kiln_status status);

/* Compiles the workload's text for elements of `dtype`. */
kiln_status workload_compile(kiln_ctx *ctx, const workload *w, const char *dtype,
                             const kiln_options *how, kiln_prog **prog);
/* The arrays of j->prog, then memory for them on the device, then what is in it: inputs random, outputs NaN. */
bool job_shapes(job *j);
bool job_memory(machine *m, job *j);
bool job_data(machine *m, job *j);
/* The bytes that any kernel for this machine reads a second time. */
bool job_reads_again(job *j, const kn_target *target);
/* Fills explained, predicted_us and launches. */
bool job_explain(job *j, const char *arch);
/* Runs j->prog. */
kiln_status job_run(void *job);

/* What is true: the outputs in f64, or integers in their own type, computed on the host; for MAX_ARRAYS arrays. */
bool job_reference(machine *m, const job *j, array *ref);
void job_reference_free(const job *j, array *ref);
/* Runs j->prog over outputs of NaN and compares: sets error. */
bool job_agrees(machine *m, job *j, const array *ref);
void job_release(machine *m, job *j);

/* ---- measure.c: what came of a workload ---- */

typedef struct row {
    job job;
    double us, host_us, compile_ms;
    double floor_us, bound_us; /* a copy of job.bytes, and of job.again too */
} row;

typedef struct asked {
    const char *device, *only, *json;
    const char *predict; /* for this architecture, measuring nothing */
    kiln_options how;    /* programs are compiled */
    int repeats;
    int ahead; /* threads that compile beforehand */
    bool check, list, merges, ready;
    draws random; /* where count is not 0 */
    const workload *all;
    int count;
} asked;

/* Is it one of those that are measured on this machine? */
bool is_wanted(const asked *o, const machine *m, const workload *w);
/* On a terminal: which one is being measured. */
void say_which(const asked *o, int i);
/* False where it fails or is wrong, of which stderr has been told. */
bool measure(machine *m, const asked *o, row *r);

/* ---- ahead.c: compiling beforehand ---- */

/* Compiles all that is wanted in o->ahead threads, for the cache on disk. */
void compile_ahead(const asked *o, const machine *m);

/* ---- predict.c: without the device ---- */

/* Predicts all workloads for o->predict. With o->list nothing but the JSON is written. Returns how many failed. */
int predict_all(const asked *o, FILE *json);

/* ---- report.c: rows as text and as JSON ---- */

void put_text(FILE *f, const char *text); /* as JSON */
/* The beginning and the end of a table and of a file, which may be NULL. */
void put_head(const asked *o, const char *device, double empty_us, FILE *json);
void put_row(const asked *o, const row *r, bool ok, bool first, FILE *json);
void put_foot(FILE *json);

/* ---- merges.c: what fusion brings ---- */

/* Measures each workload fused, unfused, and with each merge of loop nests undone; lists where fused is not the
 * quickest. Returns how many failed. */
int measure_merges(machine *m, const asked *o, FILE *json);

/* ---- ready.c: what new programs wait for on the CPU device ---- */

/* Prints when each has its first result, and when all of it is compiled. Returns how many failed. */
int measure_ready(const asked *o);

#endif
