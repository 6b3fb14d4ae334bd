/* Looking inside: what would run and why, how long it takes, and what this machine has. kiln.h includes this header. */
#ifndef KILN_INSPECT_H
#define KILN_INSPECT_H

#include "kiln.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Device time, in microseconds, of what fn(user) submits to `stream`: on a GPU from event to event, on the
 * other devices the time that fn() took. A failure of fn() is returned. */
KILN_API kiln_status kiln_time(kiln_ctx *ctx, void *stream, kiln_status (*fn)(void *user),
                               void *user, double *us);

typedef struct kiln_explain_options {
    size_t struct_size;
    /* NULL: the pipeline in words; "json"; "html": a page with drawings, which needs no other file; "graph", "ir",
     * "schedule", "c", "cuda", "ptx", "dot": that text; "resources": registers, local and shared memory. */
    const char *stage;
    /* "sm_90": explain for this GPU architecture; "cpu": for the context's CPU device; NULL: for the context's device,
     * which is an sm_90 where it is neither a GPU nor "cpu". */
    const char *arch;
    /* In words and "json", steps that changed nothing too; in words also the operations of each line, and all reasons
     * not to merge. */
    bool verbose;
} kiln_explain_options;
KILN_INIT(kiln_explain_options)
/* What would run for arguments of these shapes (of data only the alignment counts; NULL: the best). Inputs that are not
 * among args are taken as compact, their free sizes assumed; the text says which. Needs no GPU ("ptx" and "resources"
 * need NVRTC). The text is released with kiln_text_free(). */
KILN_API kiln_status kiln_explain(kiln_prog *prog, const kiln_arg *args, int nargs,
                                  const kiln_explain_options *options, char **text);
KILN_API void kiln_text_free(kiln_ctx *ctx, char *text);

typedef struct kiln_measurement {
    size_t struct_size;
    int repeats;       /* in: timed runs; 0: chosen (21) */
    uint64_t launches; /* out: kernel launches a run */
    double device_us;  /* out: median device time of a run, L2 cache flushed before each */
    double host_us;    /* out: median host time of the call, not waiting for the device */
    /* out: what compiling for the first run took: now, or, of kernels in the disk cache, when they were compiled; 0
     * if the context had them. */
    double compile_ms;
    uint64_t bytes; /* out: bytes that the kernels read and write in global memory, by count */
    /* out: bytes read and written a second / 1e9 by a large device copy, same run. */
    double copy_gbps;
    uint64_t disk_hits; /* out: kernels of the first run that were in the disk cache */
} kiln_measurement;
KILN_INIT(kiln_measurement)
/* Collective, of what is divided over ranks, which then begin each run together. */
KILN_API kiln_status kiln_measure(kiln_prog *prog, const kiln_arg *args, int nargs,
                                  kiln_measurement *m);

/* What this machine has, in words: driver, NVRTC, devices, the emulator's compiler, the directory of compiled kernels,
 * and what to do about what is missing. */
KILN_API kiln_status kiln_doctor(char **text); /* released with kiln_text_free(NULL, text) */

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
