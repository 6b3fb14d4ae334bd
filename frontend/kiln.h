/* kiln: array expressions compiled to one GPU kernel at run time.
 *
 *     context  ->  graph (values built by operations)  ->  program (compiled)  ->  runs
 *
 * Habits of this API, everywhere:
 *   - Handles are opaque. `create` makes one, `destroy` releases it and accepts NULL.
 *   - Functions that can fail return kiln_status; kiln_last_error() has the calling thread's message.
 *   - A builder function that fails returns a poisoned value; operations on poisoned values are poisoned
 *     too, and kiln_output() and kiln_compile() report the first error of the graph. So a chain of calls
 *     needs one check.
 *   - Structs that the caller fills in begin with `struct_size`; kiln_*_init() sets it and the defaults. The size is
 *     the one that the caller was compiled with, so that library and caller may be of different versions; callers that
 *     do not use this header call kiln_*_init_size() with theirs.
 *   - Shapes are counted in elements, strides in elements, sizes of memory in bytes.
 *   - Nothing here exits, aborts or prints.
 *   - Everything is computed in the default floating-point environment (rounding to nearest, subnormal numbers kept,
 *     no traps) whatever the caller's, which is the same after a call as before, flags included. Functions that kiln
 *     calls have the caller's too, but for config.alloc, config.release and a communicator's all_gather: those have the
 *     default one.
 *
 * Threads: a context and a program may be used by several threads at once; a graph by one at a time.
 *
 * Processes: in the child of a fork() the parent's contexts, and what was made from them, are refused with
 * KILN_ERR_DEVICE; destroying or freeing them there does nothing. The child may create contexts of its own, on "cuda"
 * only if no ancestor had used CUDA. docs/process.md has the rest: environment, files, signals.
 */
#ifndef KILN_H
#define KILN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KILN_VERSION_MAJOR 0
#define KILN_VERSION_MINOR 2
#define KILN_VERSION_PATCH 0

#if defined(__GNUC__)
#define KILN_API __attribute__((visibility("default")))
#else
#define KILN_API
#endif

/* A struct's kiln_*_init() and what it calls. */
#define KILN_INIT(type)                                                                            \
    KILN_API void type##_init_size(type *s, size_t size);                                          \
    static inline void type##_init(type *s) { type##_init_size(s, sizeof *s); }

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status ------------------------------------------------------------------------------------ */

typedef enum kiln_status {
    KILN_OK = 0,
    KILN_ERR_ARGUMENT, /* NULL, a value of another graph, a missing, unknown or doubled argument, ... */
    KILN_ERR_SYNTAX, /* text form: with file, line, column and a caret */
    KILN_ERR_TYPE,   /* an operation has no meaning for these element types */
    KILN_ERR_SHAPE,  /* shapes that do not fit, a violated constraint, a size out of range */
    KILN_ERR_MEMORY, /* out of memory, host or device */
    KILN_ERR_IO,
    KILN_ERR_DEVICE, /* no such device, no driver, no NVRTC */
    KILN_ERR_COMPILE, /* the kernel compiler refused: the message holds its log (a bug of kiln's, unless
                          the kernel is your own) */
    KILN_ERR_RUN,     /* the driver reported an error */
    KILN_ERR_INTERNAL /* a broken invariant of kiln's own */
} kiln_status;

/* The calling thread's last message, "" if none; valid until its next failing call. */
KILN_API const char *kiln_last_error(void);
KILN_API const char *kiln_status_text(kiln_status status);
KILN_API const char *kiln_version(void);

/* ---- element types ----------------------------------------------------------------------------- */

typedef enum kiln_dtype {
    KILN_NO_DTYPE = 0, /* "by rule" where a dtype is optional */
    KILN_BOOL = 1,     /* one byte, 0 or 1 */
    KILN_I8 = 2,
    KILN_I16 = 3,
    KILN_I32 = 4,
    KILN_I64 = 5,
    KILN_U8 = 6,
    KILN_U16 = 7,
    KILN_U32 = 8,
    KILN_U64 = 9,
    KILN_F16 = 10,  /* IEEE half precision; operations on it are computed in f32 and rounded once */
    KILN_BF16 = 11, /* the upper half of an f32; the same */
    KILN_F32 = 12,
    KILN_F64 = 13,
    KILN_C64 = 14, /* two f32: real, imaginary; 8-byte aligned */
    KILN_C128 = 15 /* two f64; 16-byte aligned */
} kiln_dtype;

KILN_API size_t kiln_dtype_size(kiln_dtype dtype);      /* bytes; 0 for no dtype */
KILN_API const char *kiln_dtype_text(kiln_dtype dtype); /* "f32"; NULL for no dtype */
KILN_API kiln_dtype kiln_dtype_find(const char *text);  /* "f32" or "float32" */

/* One element of memory as C numbers: floats of any width as double, bool and integers as int64_t (u64 by its bits).
 * The number read of the other kind is converted, and what is stored rounds or wraps as cast does. Of a dtype that is
 * none nothing is stored, and NaN, as an integer 0, is read; kiln_last_error() says so. */
KILN_API double kiln_load_float(kiln_dtype dtype, const void *element);
KILN_API int64_t kiln_load_int(kiln_dtype dtype, const void *element);
KILN_API void kiln_store_float(kiln_dtype dtype, void *element, double value);
KILN_API void kiln_store_int(kiln_dtype dtype, void *element, int64_t value);
/* The same of complex numbers, of which the functions above have the real part. */
KILN_API void kiln_load_complex(kiln_dtype dtype, const void *element, double *re, double *im);
KILN_API void kiln_store_complex(kiln_dtype dtype, void *element, double re, double im);

enum { KILN_MAX_RANK = 16 };

/* ---- context ----------------------------------------------------------------------------------- */

typedef struct kiln_ctx kiln_ctx;
typedef struct kiln_graph kiln_graph;
typedef struct kiln_prog kiln_prog;

typedef struct kiln_config {
    size_t struct_size;
    const char *device; /* "auto" (the default: a GPU if there is one, else the CPU), "cpu", "cuda",
                           "cuda:1", "emu" (the CUDA source itself, run and checked on the CPU), or
                           "ref" (the reference interpreter: slow, the definition) */
    int threads;        /* CPU device: 0 for one a core that the caller may run on */
    void *(*alloc)(void *user, size_t size); /* host memory; NULL for malloc and free */
    void (*release)(void *user, void *ptr);
    void *user;
    /* "emu": NULL, or a comma-separated list: "relaxed" (undefined shuffles give what hardware gives, no error),
     * "unchecked" (no checks), "reversed" or "seed=N" (the order in which threads run). */
    const char *emulator;
    /* Where compiled kernels are kept for later processes. NULL: $KILN_CACHE_DIR, else $XDG_CACHE_HOME/kiln, else
     * $HOME/.cache/kiln; "": nowhere. With KILN_CACHE=off in the environment: nowhere. See docs/cache.md. */
    const char *cache_dir;
    uint64_t cache_bytes; /* how large that may grow; 0: 256 MiB */
    /* GPUs. Default false: the driver is asked about each address that a run, kiln_prepare() or kiln_kernel_run() gives
     * for the first time, and host memory that kernels cannot use is an error. true: nothing is asked; such memory is a
     * fault of the kernel then, after which nothing runs in the process's CUDA context. */
    bool trust_pointers;
    /* "cpu": when kernels are compiled by the host's C compiler. "background": while they run interpreted, from the
     * second run on; "wait": before the first run; "only": the same, and what cannot be compiled is an error; "never".
     * Results do not depend on it. NULL: $KILN_CPU_COMPILE, else "background". See docs/cpu.md. */
    const char *cpu_compile;
} kiln_config;
KILN_INIT(kiln_config)
/* config may be NULL for the defaults. The first context on a GPU that the model of time was not fitted to measures it:
 * 0.2 s and 256 MB of its memory, once for all processes with the same cache_dir (docs/model.md). */
KILN_API kiln_status kiln_ctx_create(const kiln_config *config, kiln_ctx **ctx);
/* Graphs, programs and kernels made from it may be used until they are destroyed; memory of kiln_alloc() is freed
 * before. */
KILN_API void kiln_ctx_destroy(kiln_ctx *ctx);
/* Removes the temporary files that the contexts of this process have (the emulator's), for a program that ends without
 * destroying them: to be called from the handler of a signal that ends it (async-signal-safe), with nothing but the end
 * after it. */
KILN_API void kiln_remove_temporary_files(void);
/* "cpu", "cuda:0", ... */
KILN_API const char *kiln_ctx_device(const kiln_ctx *ctx);

/* Counters since the context was made. */
typedef struct kiln_stats {
    size_t struct_size;
    uint64_t launches;   /* kernels handed to the driver (or run, on the CPU) */
    uint64_t compiles;   /* kernels compiled */
    uint64_t cache_hits; /* kernels found in the context's cache instead */
    uint64_t copies;     /* device-to-device copies made for arguments that overlap */
    double compile_ms;   /* time spent in the kernel compiler */
    uint64_t disk_hits;  /* kernels found in the disk cache instead */
    double saved_ms;     /* what compiling those took when it was done */
    /* "cuda": times that the process opened NVRTC or compiled something with it; "emu", "cpu": runs of the host's
     * compiler; 0 when all that was needed was kept. */
    uint64_t compiler_calls;
    uint64_t tunings;     /* classes of arguments whose schedules were measured: options.autotune */
    uint64_t tuning_hits; /* classes found in the disk cache instead */
    double tuning_ms;     /* what measuring took, compiling included */
    /* compiled kernels in memory now: those in use and, of the others, the last 256 used */
    uint64_t kernels;
    /* those that were given up, and would be compiled or read from disk again */
    uint64_t kernels_dropped;
} kiln_stats;
KILN_INIT(kiln_stats)
KILN_API kiln_status kiln_ctx_stats(kiln_ctx *ctx, kiln_stats *stats);

/* Memory on the context's device, and copies between host and device that return when done. An
 * application that has its own memory needs none of these. */
KILN_API kiln_status kiln_alloc(kiln_ctx *ctx, size_t bytes, void **ptr);
KILN_API void kiln_free(kiln_ctx *ctx, void *ptr);
KILN_API kiln_status kiln_upload(kiln_ctx *ctx, void *device, const void *host, size_t bytes);
KILN_API kiln_status kiln_download(kiln_ctx *ctx, void *host, const void *device, size_t bytes);
/* Waits for everything submitted to `stream` (a CUstream; NULL is the default stream). */
KILN_API kiln_status kiln_sync(kiln_ctx *ctx, void *stream);

/* What a rank has of the others: kiln_comm.h. */
typedef struct kiln_comm kiln_comm;

/* ---- graph: inputs and numbers ----------------------------------------------------------------- */

/* A value of a graph. Copied freely; owned by its graph. id 0 is poisoned. */
typedef struct kiln_val {
    uint32_t graph, id;
} kiln_val;

KILN_API kiln_status kiln_graph_create(kiln_ctx *ctx, kiln_graph **graph);
KILN_API void kiln_graph_destroy(kiln_graph *graph);
/* The program's name, which its kernels carry; a C identifier. */
KILN_API kiln_status kiln_graph_name(kiln_graph *graph, const char *name);
/* The first error recorded while building, or KILN_OK. */
KILN_API kiln_status kiln_graph_status(const kiln_graph *graph);

/* An array argument. dims: comma-separated; names are symbolic sizes shared by name within the graph,
 * numbers are constants, products and sums of them are allowed: "N, C, 2*H". "" is a 0-d array. */
KILN_API kiln_val kiln_input(kiln_graph *graph, const char *name, kiln_dtype dtype,
                             const char *dims);
/* A 0-d argument passed by value: at a run its data pointer is to host memory. */
KILN_API kiln_val kiln_scalar(kiln_graph *graph, const char *name, kiln_dtype dtype);
/* The same with a default, used when a run does not give it; an integer type must hold it. */
KILN_API kiln_val kiln_scalar_default(kiln_graph *graph, const char *name, kiln_dtype dtype,
                                      double value);

/* Numbers. They behave like Python's: they take the type of the array they meet. */
KILN_API kiln_val kiln_int(kiln_graph *graph, int64_t value);
KILN_API kiln_val kiln_float(kiln_graph *graph, double value);
KILN_API kiln_val kiln_complex(kiln_graph *graph, double re, double im);
/* The size of an axis of x as a number. */
KILN_API kiln_val kiln_size(kiln_graph *graph, kiln_val x, int axis);

/* ---- graph: operations ------------------------------------------------------------------------- */
/* NumPy's meaning, NumPy 2's types. Names (inputs, outputs, values, programs) are C identifiers.
 * Arguments called a, b, c, p, seed or offset may be values or plain C numbers (integers as int64_t):
 * kiln_add(g, x, 1e-5). Shapes broadcast. */

KILN_API kiln_val kiln_add(kiln_graph *g, kiln_val a, kiln_val b);
KILN_API kiln_val kiln_sub(kiln_graph *g, kiln_val a, kiln_val b);
KILN_API kiln_val kiln_mul(kiln_graph *g, kiln_val a, kiln_val b);
KILN_API kiln_val kiln_div(kiln_graph *g, kiln_val a, kiln_val b);      /* true division */
KILN_API kiln_val kiln_floordiv(kiln_graph *g, kiln_val a, kiln_val b); /* integers: x // 0 is 0 */
KILN_API kiln_val kiln_mod(kiln_graph *g, kiln_val a,
                           kiln_val b); /* sign of b; integers: x % 0 is 0 */
KILN_API kiln_val kiln_pow(kiln_graph *g, kiln_val a, kiln_val b);
KILN_API kiln_val kiln_minimum(kiln_graph *g, kiln_val a, kiln_val b); /* NaN wins */
KILN_API kiln_val kiln_maximum(kiln_graph *g, kiln_val a, kiln_val b);
KILN_API kiln_val kiln_lt(kiln_graph *g, kiln_val a, kiln_val b);
KILN_API kiln_val kiln_le(kiln_graph *g, kiln_val a, kiln_val b);
KILN_API kiln_val kiln_gt(kiln_graph *g, kiln_val a, kiln_val b);
KILN_API kiln_val kiln_ge(kiln_graph *g, kiln_val a, kiln_val b);
KILN_API kiln_val kiln_eq(kiln_graph *g, kiln_val a, kiln_val b);
KILN_API kiln_val kiln_ne(kiln_graph *g, kiln_val a, kiln_val b);
KILN_API kiln_val kiln_and(kiln_graph *g, kiln_val a, kiln_val b); /* logical */
KILN_API kiln_val kiln_or(kiln_graph *g, kiln_val a, kiln_val b);
KILN_API kiln_val kiln_not(kiln_graph *g, kiln_val a);
KILN_API kiln_val kiln_neg(kiln_graph *g, kiln_val a);
KILN_API kiln_val kiln_abs(kiln_graph *g, kiln_val a);
KILN_API kiln_val kiln_sqrt(kiln_graph *g, kiln_val a);
KILN_API kiln_val kiln_rsqrt(kiln_graph *g, kiln_val a); /* 1 / sqrt(a) */
KILN_API kiln_val kiln_exp(kiln_graph *g, kiln_val a);
KILN_API kiln_val kiln_log(kiln_graph *g, kiln_val a);
KILN_API kiln_val kiln_tanh(kiln_graph *g, kiln_val a);
KILN_API kiln_val kiln_sin(kiln_graph *g, kiln_val a);
KILN_API kiln_val kiln_cos(kiln_graph *g, kiln_val a);
KILN_API kiln_val kiln_floor(kiln_graph *g, kiln_val a);
KILN_API kiln_val kiln_ceil(kiln_graph *g, kiln_val a);
KILN_API kiln_val kiln_where(kiln_graph *g, kiln_val a, kiln_val b, kiln_val c); /* a ? b : c */
KILN_API kiln_val kiln_cast(kiln_graph *g, kiln_val a, kiln_dtype dtype);

/* Any elementwise operation or cast-free unary by NumPy's name: kiln_apply(g, "add", v, 2). */
KILN_API kiln_val kiln_apply(kiln_graph *g, const char *op, const kiln_val *args, int nargs);

/* Axes of a reduction: KILN_AXES(0, 2, 3), KILN_AXES(-1), KILN_ALL. */
typedef struct kiln_axes {
    int count; /* < 0: all */
    int axis[KILN_MAX_RANK];
} kiln_axes;

enum { KILN_KEEPDIMS = 1 }; /* flag: reduced axes stay, with size 1 */

KILN_API kiln_val kiln_sum(kiln_graph *g, kiln_val x, kiln_axes axes, unsigned flags);
KILN_API kiln_val kiln_prod(kiln_graph *g, kiln_val x, kiln_axes axes, unsigned flags);
KILN_API kiln_val kiln_min(kiln_graph *g, kiln_val x, kiln_axes axes, unsigned flags);
KILN_API kiln_val kiln_max(kiln_graph *g, kiln_val x, kiln_axes axes, unsigned flags);
KILN_API kiln_val kiln_any(kiln_graph *g, kiln_val x, kiln_axes axes, unsigned flags);
KILN_API kiln_val kiln_all(kiln_graph *g, kiln_val x, kiln_axes axes, unsigned flags);
KILN_API kiln_val kiln_mean(kiln_graph *g, kiln_val x, kiln_axes axes, unsigned flags);
KILN_API kiln_val kiln_var(kiln_graph *g, kiln_val x, kiln_axes axes, unsigned flags);
/* Any reduction by name, with a result dtype (KILN_NO_DTYPE: by rule) and, for var, ddof. */
KILN_API kiln_val kiln_reduce(kiln_graph *g, const char *op, kiln_val x, kiln_axes axes,
                              unsigned flags, kiln_dtype dtype, int ddof);

/* A reduction of your own. It carries `count` values from element to element; `combined` says what becomes of those
 * that two neighbouring ranges of elements have left, as an expression of the ones before (`left`) and the ones behind
 * (`right`), which kiln_carried() makes. combine must be associative, up to rounding, and with `identity` before or
 * behind it must give the other operand: then every way of dividing the elements gives the same.
 *
 *     kiln_val a = kiln_carried(g, KILN_F32), b = kiln_carried(g, KILN_F32), last;
 *     kiln_reducer by = {.count = 1, .left = {a}, .right = {b}, .identity = {kiln_float(g, NAN)},
 *                        .combined = {kiln_where(g, kiln_apply(g, "isnan", &b, 1), a, b)}};
 *     kiln_reduce_by(g, &by, &x, KILN_AXES(-1), 0, NULL, NULL, &last);         the last element that is no NaN
 *
 * kiln_expr(g, "where(isnan(b), a, b)", (const char *[]){"a", "b"}, (kiln_val[]){a, b}, 2) is the same expression. */
enum { KILN_MAX_CARRIED = 4 };
struct kiln_reduced;
typedef struct kiln_reducer {
    int count;                                                /* 1 to KILN_MAX_CARRIED */
    kiln_val left[KILN_MAX_CARRIED], right[KILN_MAX_CARRIED]; /* left[i] and right[i] of one type */
    /* Cast to that type; of elementwise operations, at most 256, and numbers. */
    kiln_val combined[KILN_MAX_CARRIED];
    kiln_val identity[KILN_MAX_CARRIED]; /* numbers */
    /* combine(a, b) is combine(b, a): elements are taken in any order, which is faster. Else in order of their
     * indices, row by row. */
    bool commutes;
    /* NULL, or the rule for its gradient, by which kiln_grad() and vjp() differentiate it as long as the graph is
     * built: called with `user`, it returns what of dy, the gradient of results[result], reaches x[operand], as values
     * of the graph; it broadcasts to x[operand]'s shape. x and results, `count` of each, are in the types that are
     * carried, where and identities put in; results and dy keep the reduced axes as size 1. */
    kiln_val (*gradient)(void *user, kiln_graph *g, const struct kiln_reduced *of, int operand);
    void *user;
} kiln_reducer;

typedef struct kiln_reduced {
    int count, result;
    const kiln_val *x, *results;
    kiln_val dy;
} kiln_reduced;

/* An operand of a combine, of any type but 16-bit floats; it has no meaning elsewhere. */
KILN_API kiln_val kiln_carried(kiln_graph *g, kiln_dtype dtype);
/* Reduces x[0..count), which are cast to the types that are carried and broadcast together, over axes of their common
 * shape. where: NULL, or a bool mask that broadcasts to that: only these elements count. initial: NULL, or `count` 0-d
 * values that come before all elements; over nothing, and without them, the result is the identity. results: `count` of
 * them, of the types that are carried. `by` is not kept; reports the first error of the graph, and poisons the
 * results. */
KILN_API kiln_status kiln_reduce_by(kiln_graph *g, const kiln_reducer *by, const kiln_val *x,
                                    kiln_axes axes, unsigned flags, const kiln_val *where,
                                    const kiln_val *initial, kiln_val *results);

/* Views. dims as in kiln_input(); one dimension of a reshape may be -1. */
KILN_API kiln_val kiln_reshape(kiln_graph *g, kiln_val x, const char *dims);
KILN_API kiln_val kiln_broadcast_to(kiln_graph *g, kiln_val x, const char *dims);
KILN_API kiln_val kiln_expand_dims(kiln_graph *g, kiln_val x, int axis);
/* axes.count < 0 reverses them. */
KILN_API kiln_val kiln_transpose(kiln_graph *g, kiln_val x, kiln_axes axes);

/* x[index], index being what stands between the brackets in the text form (docs/language.md), made of numbers and
 * sizes: kiln_slice(g, x, "1:-1, ..., N // 2"). Elements at computed indices are taken by kiln_expr(): "x[i]". */
KILN_API kiln_val kiln_slice(kiln_graph *g, kiln_val x, const char *index);
/* What x is after x[index] = a: a new value of x's shape and type, to which `a` is cast and broadcast. x itself
 * does not change, as no value does: an input is what it was until kiln_update() says what a run leaves in it.
 *     kiln_update(g, "x", kiln_assign(g, x, "1:-1", kiln_add(g, kiln_slice(g, x, "2:"), kiln_slice(g, x, ":-2")))) */
KILN_API kiln_val kiln_assign(kiln_graph *g, kiln_val x, const char *index, kiln_val a);

/* Random numbers, which are functions of a seed, an offset and an element's position in row-major order alone: the same on
 * every device, in every schedule and for every layout. Seed and offset are 0-d integers: numbers,
 * scalars, or 0-d inputs in device memory, which another program may advance between launches of a captured graph.
 * docs/language.md says which generator it is. dims as in kiln_input(). */
KILN_API kiln_val kiln_random_bits(kiln_graph *g, kiln_val seed, kiln_val offset, const char *dims);
/* Uniform in [0, 1); normal with mean 0 and variance 1. dtype is KILN_F32 or KILN_F64. */
KILN_API kiln_val kiln_uniform(kiln_graph *g, kiln_val seed, kiln_val offset, const char *dims,
                               kiln_dtype dtype);
KILN_API kiln_val kiln_normal(kiln_graph *g, kiln_val seed, kiln_val offset, const char *dims,
                              kiln_dtype dtype);
/* x with each element 0 with probability p, else divided by 1 - p. */
KILN_API kiln_val kiln_dropout(kiln_graph *g, kiln_val x, kiln_val p, kiln_val seed,
                               kiln_val offset);

/* Gradients, by reverse mode: grads[i], of wrt[i]'s type and shape, is how a real loss depends on wrt[i] where it
 * depends on y by `seed`, its gradient there, which is cast to y's type and broadcast to its shape. wrt may be inputs,
 * numbers passed by value and computed values, 1 to 256 of them; y and they are floats or complex numbers. The results
 * are ordinary values, which fuse with all others and can be differentiated again. docs/gradients.md has the
 * conventions. Reports the first error of the graph, and poisons the results: TYPE where y or one of wrt is neither
 * float nor complex, where seed is complex and y is not, or where a reducer in between has no rule; SHAPE where seed
 * does not broadcast. */
KILN_API kiln_status kiln_grad(kiln_graph *g, kiln_val y, kiln_val seed, const kiln_val *wrt, int n,
                               kiln_val *grads);

/* States a constraint on sizes: "C % 4 == 0", "N == 2*M", "C <= 1024". A run that violates it is an error, which
 * names the constraint and the sizes. */
KILN_API kiln_status kiln_assume(kiln_graph *g, const char *constraint);
/* A name for a value, seen in generated source and in explain. Returns v. */
KILN_API kiln_val kiln_name(kiln_graph *g, kiln_val v, const char *name);
/* Declares an output. Reports the first error of the whole graph. */
KILN_API kiln_status kiln_output(kiln_graph *g, const char *name, kiln_val v);

/* A run leaves a, cast to its type and broadcast to its shape, in the array input `name`: what `x[...] = v` does to a
 * parameter of the text form. It is read, as every input is, before anything is written. At a run it is one argument,
 * whose elements are distinct. Reports the first error of the whole graph. */
KILN_API kiln_status kiln_update(kiln_graph *g, const char *name, kiln_val a);

/* ---- text form --------------------------------------------------------------------------------- */

/* Makes a graph, which is the caller's, of a text that has one function (docs/language.md). `file` is for messages and
 * may be NULL. SYNTAX, TYPE and SHAPE say where in the text, with the line and a caret; *graph is NULL then. */
KILN_API kiln_status kiln_parse(kiln_ctx *ctx, const char *text, const char *file,
                                kiln_graph **graph);
/* The same of a text of several functions: that of this name, or with NULL the only one. The others are not looked
 * into. ARGUMENT where the text has no such function, or several and no name is given; the message has their names. */
KILN_API kiln_status kiln_parse_named(kiln_ctx *ctx, const char *text, const char *file,
                                      const char *name, kiln_graph **graph);
/* The same of the text in a file, of at most 1 MiB. IO where it cannot be read. */
KILN_API kiln_status kiln_parse_file(kiln_ctx *ctx, const char *path, const char *name,
                                     kiln_graph **graph);

/* Parses one expression (a comma gives several outputs out0, out1, ...) over inputs that the graph
 * already has. */
KILN_API kiln_status kiln_parse_expr(kiln_graph *graph, const char *text);

/* The value of an expression of the text form (docs/language.md) in which names[i] means values[i]; sizes have the
 * names that inputs gave them. So all of the language can be built with:
 *     kiln_expr(g, "softmax(x / C**0.5, axis=-1)", (const char *[]){"x"}, &x, 1) */
KILN_API kiln_val kiln_expr(kiln_graph *g, const char *text, const char *const *names,
                            const kiln_val *values, int n);

/* ---- program ----------------------------------------------------------------------------------- */

/* How a program is compiled.
 *
 * autotune: the first kiln_run() or kiln_prepare() with arguments of a new class compiles up to six schedules, the one
 * that would be taken without it first and then those that a model predicts to be quickest, and times each on the
 * device, with cold caches. The quickest is taken for all arguments of the class: those for which kernels may rely on
 * the same and whose sizes (of axes, neighbours that lie together being one) are equal rounded up to powers of two;
 * those for which it is not legal get what they would without. No schedule is begun when the time has passed, compiling
 * included. What schedule, reuse and max_threads force stays forced.
 *
 * What was learnt is kept in the program, and on disk beside the compiled kernels for later processes, which then
 * measure nothing: docs/cache.md. kiln_ctx_stats() counts both, kiln_explain() tells the times. A program learns at
 * most max_kinds classes.
 *
 * Measuring reads the inputs, waits for the stream, and takes device memory as large as the outputs and whatever
 * overlaps them, for a while; the caller's outputs are written by the run itself only, once. Nothing is measured in a
 * stream capture, with max_kinds -1, and on "emu" and "ref". Where it fails, for want of memory for example, the
 * program runs as without it. The results of two schedules may differ as rounding does: they are the same from run to
 * run as long as what was learnt is. */
typedef struct kiln_options {
    size_t struct_size;
    bool fusion; /* default true; false runs one kernel an operation */
    /* NULL: chosen. Choices, joined by ", ":
     *   how groups are divided:
     *     "whole"                 not
     *     "split"                 over the machine
     *     "resident"              the same, on GPUs by blocks that keep on chip what they load again
     *     "cluster", "cluster=N"  over the blocks of a cluster, N from 2, where the device has clusters and the
     *                             program's shape allows it; else as "whole"
     *     "clusters"              chosen, and one loop nest of several may have clusters
     *     "tiles"                 not, and on GPUs what lies transposed goes through tiles in shared memory wherever
     *                             there is any ("whole": nowhere)
     *   "keep", "recompute"       what becomes of what several places need; `reuse` overrules it
     *   "at most N threads"       a block; max_threads overrules it
     *   "pieces", "joined"        how outputs that are put together are stored
     *   "grouped", "direct"       whether reductions are taken by the groups of others
     *   "copies", "in place"      how arguments that lie transposed are read
     *   "assembled", "aligned"    whether vectors of columns that are not aligned in memory are read by aligned words
     *   "undo N"                  undoes the merge of loop nests that a verbose kiln_explain() lists by this number
     * Behind these, or instead, the first line of what kiln_explain() gives for the stage "schedule", changed or not,
     * for arguments like those that it was made for: with others, or where it breaks a rule, planning fails with
     * ARGUMENT. What autotune learns is kept in this form. */
    const char *schedule;
    int max_threads;   /* CUDA: threads a block at most, 32 to 1024; 0: chosen */
    const char *reuse; /* what several places need is kept or recomputed. NULL: chosen by cost;
                             "keep" or "recompute" to force it where possible */
    int max_kinds; /* kinds of arguments (classes of shapes, layouts, alignments) that get kernels which suit
                             them best; later ones share kernels that rely on nothing. 0: 32; -1: none */
    /* Default false; true allows algebra that holds for real numbers but not for floats, and the hardware's approximate
     * functions: docs/optimizer.md says within which bounds. */
    bool fast_math;
    int autotune; /* milliseconds that measuring schedules may take; default 0: nothing is measured */
    /* Default false; true gives a group the same results, to the bit, however many groups there are beside it: a row of
     * a softmax alone, or in any batch. docs/optimizer.md says what that takes. Not with autotune. */
    bool batch_invariant;
    /* The ranks over which shard() divides, of a communicator of the graph's context. NULL: this one alone. */
    kiln_comm *comm;
} kiln_options;
KILN_INIT(kiln_options)
/* The program keeps nothing of the graph. options may be NULL. A program that has, or is optimised to, more than
 * 1,048,576 operations is KILN_ARGUMENT, one that takes more than 4 GiB to build or plan KILN_MEMORY, one of more than
 * 32,767 sizes and sizes derived from them, or with a size of more than 64 terms, KILN_SHAPE; the message names the
 * operation. */
KILN_API kiln_status kiln_compile(kiln_graph *graph, const kiln_options *options, kiln_prog **prog);
KILN_API void kiln_prog_destroy(kiln_prog *prog);

typedef enum kiln_io_kind {
    KILN_ARRAY_IN,
    KILN_SCALAR_IN,
    KILN_ARRAY_OUT,
    KILN_ARRAY_UPDATE /* an input that is an output too: a run leaves other elements in it */
} kiln_io_kind;

/* One parameter or output. Strings belong to the program. */
typedef struct kiln_io {
    kiln_io_kind kind;
    const char *name;
    kiln_dtype dtype;
    int rank;
    const char *dims; /* "N, C" */
    bool has_default;
    double dflt;
    double dflt_imag;
} kiln_io;

KILN_API const char *kiln_prog_name(const kiln_prog *prog);
KILN_API int kiln_prog_io_count(const kiln_prog *prog);
/* Inputs first, in order of declaration, then outputs that are no inputs. */
KILN_API kiln_status kiln_prog_io(const kiln_prog *prog, int index, kiln_io *io);

/* One argument of a run. Arrays: data is memory that the context's device can use: on "cuda" device memory or managed
 * memory, host memory only if CUDA allocated or registered it (or the GPU uses all of it); on "cpu", "emu" and "ref"
 * host memory. shape has `rank` entries; strides too, in elements, NULL for compact row-major. Negative and zero
 * strides are allowed for inputs. Scalars: data points to one host value, rank 0. */
typedef struct kiln_arg {
    const char *name;
    void *data;
    kiln_dtype dtype;
    int rank;
    const int64_t *shape;
    const int64_t *strides;
} kiln_arg;

/* An array argument of which nothing is written, that is an input which the program does not update: its data may be
 * const. It is kept no longer than a kiln_arg's data is. */
static inline kiln_arg kiln_arg_of_const(const char *name, const void *data, kiln_dtype dtype,
                                         int rank, const int64_t *shape, const int64_t *strides)
{
    /* kiln_arg serves outputs too; the number in between says to the compiler that const is meant to go. */
    kiln_arg arg = {name, (void *)(uintptr_t)data, dtype, rank, shape, strides};
    return arg;
}

typedef struct kiln_split_options {
    size_t struct_size;
    /* The values that the forward saves, by their names, with commas: "m, r". "" saves nothing; NULL: chosen by
     * predicted time. kiln_explain() of either program has the names of those that it may save. */
    const char *save;
    const char *arch; /* whose time is predicted, as in kiln_explain_options */
    /* Arguments of the whole program for whose sizes it is chosen; only shapes and strides count, and what is missing
     * is assumed. The programs are right for all sizes. */
    const kiln_arg *args;
    int nargs;
} kiln_split_options;
KILN_INIT(kiln_split_options)
/* Two graphs of one: what can be computed before the inputs `late` are known (names, with commas), and the rest. Where
 * `late` are the gradients that come from outside, these are a forward and its backward:
 *
 *     g: y and dx = vjp(y, dy, x) are outputs, dy is an input
 *     kiln_split(g, "dy", NULL, &forward, &backward)
 *
 * forward takes the inputs that are not late and has the outputs that need no others, and besides one for each value
 * that it saves, which backward has as an input of the same name. backward reads the saved values, the late inputs, and
 * what it needs of the others, which are to be as they were for forward (but those that forward updates); it computes
 * the rest again. Saved is what makes both together quicker by the model's time: kiln_explain() of either says what,
 * and what it takes. Either may be split again, as that of a second derivative. The graphs are the caller's, and each
 * is compiled by kiln_compile(); the options may be NULL. ARGUMENT for a name that the graph does not have, and where
 * no output, or every one, depends on a late input. */
KILN_API kiln_status kiln_split(kiln_graph *graph, const char *late,
                                const kiln_split_options *options, kiln_graph **forward,
                                kiln_graph **backward);

/* The shape of output `name` for these inputs; outputs among args are ignored. shape has room for
 * KILN_MAX_RANK. */
KILN_API kiln_status kiln_output_shape(kiln_prog *prog, const char *name, const kiln_arg *args,
                                       int nargs, kiln_dtype *dtype, int *rank, int64_t *shape);

typedef struct kiln_prepared {
    size_t struct_size;
    bool own_workspace; /* in: runs will bring their own workspace, so none is set aside for them */
    size_t workspace;   /* out: bytes of workspace that a run takes; 0: none */
    uint64_t launches;  /* out: kernels that a run launches */
    uint64_t copies;    /* out: inputs that a run copies first, as they overlap outputs */
    int alignment; /* in: bytes, a power of two, to which arrays whose data is NULL will be aligned;
                           0: 16 or more */
} kiln_prepared;

KILN_INIT(kiln_prepared)
/* Compiles and loads what a run with these arguments will need, sets workspace aside for it and says what it takes;
 * info may be NULL. A run with arguments of the same shapes, strides, alignments and overlaps then neither compiles nor
 * allocates nor waits, but that the driver makes a graph of a launch which the default stream is asked for again and
 * again; a program keeps 256 such sets of arguments, the last used ones. Runs in several streams at a time, or of
 * several threads, take a workspace each: the first such run makes it.
 *
 * An array's data may be NULL, before there is memory. What counts then are its shape, its strides, the alignment that
 * info promises, and that it will share no memory with another argument. A run that is not as promised is right, but
 * prepares anew. */
KILN_API kiln_status kiln_prepare(kiln_prog *prog, const kiln_arg *args, int nargs,
                                  kiln_prepared *info);

/* Runs on `stream` (a CUstream; NULL is the default stream) and returns without waiting, but for the CPU devices, which
 * return when done. Every array must be given, inputs and outputs. Outputs must not share elements; an output may
 * overlap inputs: results are as if every input had been read before any output was written (an input is copied first,
 * unless the output lies exactly on it and every element of it is read by the thread that writes it, before it does).
 * Workspace is the context's own, kept for later runs in the same stream.
 *
 * After kiln_prepare() a run may be part of a stream capture. The graph then has the program's kernels, so that it must
 * not be launched after the program was destroyed, the arguments' addresses, and the workspace's, which the context may
 * give to others: give it one of its own with kiln_run_in() if it needs any. */
KILN_API kiln_status kiln_run(kiln_prog *prog, void *stream, const kiln_arg *args, int nargs);
/* The same with the caller's workspace, of the size kiln_prepare() gave, 256-byte aligned. */
KILN_API kiln_status kiln_run_in(kiln_prog *prog, void *stream, const kiln_arg *args, int nargs,
                                 void *workspace, size_t bytes);

/* ---- emitted programs ------------------------------------------------------------------------ */

typedef struct kiln_emit_options {
    size_t struct_size;
    const char *name; /* of the functions and files; NULL: the program's, kiln_prog_name() */
    /* what it is to run on: "cpu", which NULL is too, GPUs of these architectures, or both: "cpu,sm_80,sm_90" */
    const char *targets;
    /* more sizes that get plans of their own, each set by the program's symbols: "N=8 C=64 | N=1 C=64"; NULL: none */
    const char *sizes;
} kiln_emit_options;
KILN_INIT(kiln_emit_options)
/* Takes a file's text, of `bytes` bytes and a 0 behind them; what is not KILN_OK ends kiln_emit(). */
typedef kiln_status (*kiln_file_fn)(void *user, const char *file, const char *text, size_t bytes);
/* The program as C files that run it without this library: docs/emit.md. They are made by a kiln_file_fn, which is called
 * once a file when all are ready. For GPUs this takes NVRTC, and no GPU; running them, the driver alone. One plan is for
 * all sizes; args, if there are any, are arrays of sizes that get a plan of their own as well (data may be NULL), and
 * decide every size. The files depend on nothing but the program, its options, these sizes and the version of NVRTC. */
KILN_API kiln_status kiln_emit(kiln_prog *prog, const kiln_arg *args, int nargs,
                               const kiln_emit_options *options, kiln_file_fn write, void *user);

#ifdef __cplusplus
} /* extern "C" */
#endif

#include "kiln_cache.h"   /* compiled kernels on disk */
#include "kiln_comm.h"    /* several devices */
#include "kiln_inspect.h" /* what would run, and how long it takes */
#include "kiln_kernel.h"  /* kernels of your own */
#include "kiln_values.h"  /* numbers as values */

#endif
