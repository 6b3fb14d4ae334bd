/* Between the files of emit, from the bottom up:
 *
 *   functions.c   the CPU device's functions and folds by operation and type, as texts
 *   support.c     kiln_cpu.h
 *   sizes.c       sizes as C: their names, what is derived from them, what must hold
 *   example.c     sizes to plan for that stand for all
 *   plan.c        one plan as a C function
 *   interface.c   the functions that an application calls, and their header */
#ifndef KN_RUNTIME_EMIT_IMPL_H
#define KN_RUNTIME_EMIT_IMPL_H

#include "codegen/emit/c/c.h"
#include "codegen/plan/plan.h"
#include "runtime/emit/emit.h"

/* Texts, each once. */
typedef KN_VEC(const char *) kn_lines;

typedef struct kn_emitter {
    kn_arena *a;
    kn_program *prog;
    const kn_graph *g; /* optimised */
    const char *name;  /* a C identifier */
    const char *version;
    const char **input,
        **output;       /* names of parameters; an output that updates an input has the input's */
    KN_VEC(int) sizes;  /* symbols that are parameters, in their order */
    const char **size;  /* their names, by symbol */
    kn_lines messages;  /* by code, from 1 */
    kn_lines functions; /* definitions that the plans' functions use */
    KN_VEC(kn_plan *) plans; /* that of all sizes last */
    KN_VEC(const int64_t *)
    pinned; /* the sizes that it is for, by symbol; NULL: any that it allows */
} kn_emitter;

/* The number of a line, which is added if it is new. */
int kn_line(kn_arena *a, kn_lines *lines, const char *line);
/* The code of a message. */
int kn_message(kn_emitter *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- functions.c: the name of the function; its definition goes to e->functions. NULL: it cannot be emitted ---- */
const char *kn_emitted_loop(kn_emitter *e, const kn_c_function *f);
const char *kn_emitted_fold(kn_emitter *e, kn_op op, kn_dtype dtype);

/* ---- support.c ---- */
void kn_put_support(kn_text *t);

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

/* ---- plan.c ---- */
kn_status kn_put_plan(kn_emitter *e, kn_text *t, int number);

/* ---- interface.c ---- */
kn_status kn_name_parameters(kn_emitter *e);
void kn_put_header(kn_emitter *e, kn_text *t);
void kn_put_interface(kn_emitter *e, kn_text *t);
const char *kn_c_name_of(kn_dtype t); /* as a header has it: "uint16_t" */

#endif
