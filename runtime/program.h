/* A program: an optimised graph and the variants that its runs have needed.
 *
 *   run -> signature of the arguments (shapes, strides, alignments) -> variant -> launches
 *                                  | not seen yet
 *                                  +-> bind -> plan -> the context's kernels, by structure -> compile
 *
 * runtime/variant.h has the first line, runtime/submit.h the launches. */
#ifndef KN_RUNTIME_PROGRAM_H
#define KN_RUNTIME_PROGRAM_H

#include "base/chunks.h"
#include "codegen/plan/partition.h"
#include "kernels_cache/memory.h"
#include "runtime/bind.h"
#include "runtime/context.h"

typedef struct kn_variant kn_variant;

typedef struct kn_program_options {
    bool fusion;
    const char *schedule; /* NULL, or as in kiln_options */
    int max_threads;
    const char *reuse; /* NULL, "keep", "recompute" */
    bool fast_math;
    bool batch_invariant;
    int max_kinds; /* of arguments that get kernels of their own; 0: KN_MAX_KINDS; -1: none */
    struct kn_comm *comm; /* of the ranks that sizes are divided over; NULL: one rank */
    int autotune; /* milliseconds that measuring may take, for each class of arguments; 0: none is done */
} kn_program_options;

/* What a run must give, inputs first, then outputs. */
typedef struct kn_slot {
    const char *name;
    int dtype, rank;
    bool output, by_value, has_default;
    int same; /* the slot whose argument this one is: an input that is updated; -1: its own */
} kn_slot;

typedef struct kn_program {
    kn_context *ctx;
    kn_arena arena;
    kn_graph *original; /* as built: what the reference interpreter runs */
    kn_graph *optimised;
    kn_pass_record *passes; /* those that ran; behind them one without a pass */
    kn_program_options options;
    kn_force force; /* of the options */
    kn_slot *slots;
    int nslots;
    size_t signature_bytes;
    struct kn_comm *comm;       /* the options', kept */
    struct kn_divided *divided; /* what is divided over several ranks; NULL: nothing is */
    pthread_mutex_t lock;       /* of what follows */
    kn_table variants;          /* by signature */
    kn_table kept;              /* kernels, by number: variant.c */
    kn_variant *newest, *oldest;
    int nvariants;
    kn_memory_cache tunings; /* by class: runtime/tune.h */
    int ntunings;
    pthread_cond_t tuned; /* a class has been learnt */
    int kinds;            /* atomic: plans that needed new kernels */
    kn_chunks planning;   /* memory of plans that are being made */
    kn_partitions known;  /* what plans are parted into */
} kn_program;

/* Every kind of shape, layout and overlap has the kernel that suits it best, up to so many a program. From then on,
 * kinds for which there is no kernel yet get universal ones. */
enum { KN_MAX_KINDS = 32 };

/* Copies the graph. */
kn_status kn_program_create(kn_context *ctx, const kn_graph *g, const kn_program_options *options,
                            kn_program **prog);
void kn_program_destroy(kn_program *prog);

/* What is to be planned for: "sm_90", ..., "cpu" on the CPU device; NULL: the context's device, or an sm_90 where that
 * is neither a GPU nor the CPU. is_own: it is the context's device. ARGUMENT, in a message with those known, whose text
 * is in `a`. */
kn_status kn_target_asked(const kn_context *ctx, const char *arch, kn_arena *a, kn_target *target,
                          bool *is_own);

/* A plan for these arguments and a target, in arena `a`. Several threads may plan. */
kn_status kn_program_plan(kn_program *prog, kn_arena *a, const kn_binding *b,
                          const kn_target *target, kn_plan **plan);
/* What is to be planned for these arguments and a target: as the program's options say. */
kn_problem kn_program_problem(kn_program *prog, const kn_binding *b, const kn_target *target);
/* The plan by what was learnt, from other sizes perhaps; where these schedules do not bind, the problem's own. */
kn_status kn_program_plan_by(const kn_problem *problem, const kn_force *learnt, kn_arena *a,
                             kn_plan **plan);

/* What a run takes. */
typedef struct kn_prepared {
    size_t workspace; /* bytes */
    int launches;
    int copies;     /* of inputs, made before */
    uint64_t bytes; /* of global memory that the kernels read and write, by count */
} kn_prepared;

/* What a run is prepared for besides its arguments. */
typedef struct kn_preparing {
    bool reserve;  /* the context shall have the workspace for one */
    int alignment; /* of the arrays whose data is NULL: a power of two; 0: 16 */
} kn_preparing;

/* Compiles and loads what a run with these arguments needs. */
kn_status kn_program_prepare(kn_program *prog, const kn_arg *args, int nargs,
                             const kn_preparing *how, kn_prepared *info);
/* workspace NULL: the context's. After kn_program_prepare() for the same arguments this allocates nothing,
 * compiles nothing and does not wait (but for what the host devices compute), unless the variant was evicted
 * since or more threads run at a time than have before. */
kn_status kn_program_run(kn_program *prog, void *stream, const kn_arg *args, int nargs,
                         void *workspace, size_t bytes);

#endif
