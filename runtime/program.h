/* A program: an optimised graph and the kernels it has needed so far.
 *
 *   run -> bind arguments -> exact signature (shapes, strides, alignments) -> variant -> launches
 *                                  | not seen yet
 *                                  +-> plan kernels -> the context's cache, by structure -> compile
 *
 * A variant is a plan with the numbers of one signature and the code of its kernels. Two signatures whose
 * plans have the same structure share the code. */
#ifndef KN_RUNTIME_PROGRAM_H
#define KN_RUNTIME_PROGRAM_H

#include "codegen/plan.h"
#include "runtime/bind.h"
#include "runtime/context.h"

typedef struct kn_variant kn_variant;

typedef struct kn_program_options {
    bool fusion;
    const char *schedule; /* NULL, "rows", "general" */
    int max_threads;
} kn_program_options;

typedef struct kn_program {
    kn_context *ctx;
    kn_arena arena;
    kn_graph *original; /* as built: what the reference interpreter runs */
    kn_graph *optimised;
    kn_pass_record *passes; /* kn_graph_pass_count of them */
    kn_program_options options;
    pthread_mutex_t lock; /* of `variants`, and of the graphs' arenas while a plan is made */
    kn_table variants;
} kn_program;

/* Copies the graph. */
kn_status kn_program_create(kn_context *ctx, const kn_graph *g, const kn_program_options *options,
                            kn_program **prog);
void kn_program_destroy(kn_program *prog);

/* workspace: bytes that a run with these arguments takes. Compiles and loads what it needs. */
kn_status kn_program_prepare(kn_program *prog, const kn_arg *args, int nargs, size_t *workspace);

/* workspace NULL: taken from the device, in the stream's order. */
kn_status kn_program_run(kn_program *prog, void *stream, const kn_arg *args, int nargs,
                         void *workspace, size_t bytes);

/* A plan for these arguments and a target, in arena `a`. mode ASSUME: see bind.h. */
kn_status kn_program_plan(kn_program *prog, kn_arena *a, const kn_arg *args, int nargs,
                          kn_bind_mode mode, const kn_target *target, kn_text *notes,
                          kn_plan **plan);

/* The plan that a run with these (bound) arguments uses. */
kn_status kn_program_variant_plan(kn_program *prog, const kn_arg *args, int nargs,
                                  const kn_plan **plan);

#endif
