/* Between the files of emit, from the bottom up:
 *
 *   functions.c   the CPU device's functions and folds by operation and type, as texts
 *   support.c     kiln_cpu.h, kiln_cuda.h
 *   sizes.c       sizes as C: their names, what is derived from them, what must hold
 *   example.c     sizes to plan for that stand for all
 *   plan.c        what the functions of plans have in common
 *   plan_cpu.c    one plan as a C function for the CPU
 *   plan_gpu.c    and for a GPU, with its kernels
 *   interface.c   the functions that an application calls, and their header */
#ifndef KN_RUNTIME_EMIT_IMPL_H
#define KN_RUNTIME_EMIT_IMPL_H

#include "codegen/emit/c/c.h"
#include "codegen/plan/plan.h"
#include "runtime/cpu/divide.h"
#include "runtime/emit/emit.h"

/* Texts, each once. */
typedef KN_VEC(const char *) kn_lines;

typedef struct kn_emitted_plan {
    const char *name; /* of its function: "plan0", "sm_90_plan0" */
    kn_plan *plan;
    const int64_t *pinned; /* the sizes that it is for, by symbol; NULL: any that it allows */
    const kn_target *target;
    bool oldest; /* GPUs: its architecture is, so newer ones than all may run it */
} kn_emitted_plan;

/* A kernel of a plan for a GPU. */
typedef struct kn_emitted_code {
    const kn_kernel *kernel;
    const kn_emitted_plan *of;
    const char *image, *ptx; /* names in C; "0": none */
    size_t bytes;
} kn_emitted_code;

/* What it is emitted for, and the plans, that of all sizes last. */
typedef struct kn_emitted_for {
    kn_target target;
    const char *arch; /* "sm_90"; NULL: the CPU */
    KN_VEC(const kn_emitted_plan *) plans;
} kn_emitted_for;

typedef struct kn_emitter {
    kn_arena *a;
    kn_program *prog;
    const kn_graph *g; /* optimised */
    const char *name;  /* a C identifier */
    const char *version;
    const char **input,
        **output;        /* names of parameters; an output that updates an input has the input's */
    KN_VEC(int) sizes;   /* symbols that are parameters, in their order */
    const char **size;   /* their names, by symbol */
    kn_lines messages;   /* by code, from 1 */
    kn_lines functions;  /* definitions that the plans' functions use */
    kn_emitted_for *cpu; /* or NULL */
    KN_VEC(kn_emitted_for *) gpus; /* the oldest first */
    KN_VEC(kn_emitted_code) codes;
    kn_text images; /* of the codes, as C */
} kn_emitter;

/* The number of a line, which is added if it is new. */
int kn_line(kn_arena *a, kn_lines *lines, const char *line);
/* The code of a message. */
int kn_message(kn_emitter *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- functions.c: the name of the function; its definition goes to e->functions. NULL: it cannot be emitted ---- */
const char *kn_emitted_loop(kn_emitter *e, const kn_c_function *f);
const char *kn_emitted_fold(kn_emitter *e, kn_op op, kn_dtype dtype);

/* ---- support.c ---- */
void kn_put_cpu_support(kn_text *t);
void kn_put_gpu_support(kn_text *t);

/* ---- sizes.c ---- */

/* A function that is being written, and the derived sizes that it has. */
typedef struct kn_scope {
    kn_emitter *e;
    kn_text *t;
    kn_symbols *syms; /* may have more than the graph's */
    bool *known;      /* per symbol */
    kn_lines checked; /* conditions */
} kn_scope;

kn_status kn_name_sizes(kn_emitter *e);
kn_scope kn_scope_new(kn_emitter *e, kn_text *t, kn_symbols *syms);
/* A dimension as a C expression; definitions that it needs are written first. */
const char *kn_put_dim(kn_scope *s, kn_dim d);
/* Its number of elements, or of bytes, likewise. */
const char *kn_put_count(kn_scope *s, const kn_node *n);
const char *kn_put_bytes(kn_scope *s, const kn_node *n);
/* "return 3;" under a condition, with a message. */
void kn_put_check(kn_scope *s, const char *condition, int code);
/* In a plan's function: under this condition another plan is to be taken. */
void kn_put_condition(kn_scope *s, const char *otherwise);
/* static int check(sizes): 0 where the program has a meaning for these sizes. */
void kn_put_checks(kn_emitter *e, kn_text *t);
/* "int64_t N, int64_t C"; with `types` false "N, C" */
const char *kn_size_list(kn_emitter *e, bool types);

/* ---- example.c: arguments of sizes that stand for all, bound ---- */
kn_status kn_bind_example(kn_arena *a, const kn_graph *g, kn_binding *b);
/* Arguments of the sizes in a text, "N=8 C=64". ARGUMENT where it does not say all. */
kn_status kn_bind_given(kn_arena *a, const kn_graph *g, const char *text, kn_binding *b);

/* ---- plan.c ---- */

/* A plan's function that is being written. */
typedef struct kn_writer {
    kn_emitter *e;
    kn_text *t;
    const kn_emitted_plan *of;
    kn_plan *plan;
    kn_scope scope;
    bool *staged; /* per input: it is copied first */
    bool *placed; /* per temporary */
    kn_kernel *k;
    /* plan_cpu.c: bytes that the functions of a phase need, at most; the kernel as the CPU device has it, and its texts */
    int64_t scratch;
    kn_cpu_plan *cpu;
    kn_c_text texts[KN_C_MODES];
} kn_writer;

kn_writer kn_writer_new(kn_emitter *e, kn_text *t, const kn_emitted_plan *of);
/* A number by its formula, if it has one. */
const char *kn_emitted_number(kn_writer *w, kn_dim formula, int64_t value);
/* Places in memory, from `top` on: of copies of inputs that are updated, and of temporaries. */
void kn_put_staging(kn_writer *w);
kn_status kn_put_temporaries(kn_writer *w);
/* "array[0], memory + temp1": the buffers of the kernel */
const char *kn_buffer_list(kn_writer *w);

/* ---- plan_cpu.c, plan_gpu.c ---- */
kn_status kn_put_cpu_plan(kn_emitter *e, kn_text *t, const kn_emitted_plan *of);
kn_status kn_put_gpu_plan(kn_emitter *e, kn_text *t, const kn_emitted_plan *of);
/* static const kn_gpu_code codes[] = {...}; */
void kn_put_codes(kn_emitter *e, kn_text *t);

/* ---- interface.c ---- */
kn_status kn_name_parameters(kn_emitter *e);
void kn_put_header(kn_emitter *e, kn_text *t);
void kn_put_interface(kn_emitter *e, kn_text *t);
const char *kn_c_name_of(kn_dtype t); /* as a header has it: "uint16_t" */

#endif
