/* Variants: a program's plan for one signature, ready to launch.
 *
 * The signature is everything that a plan depends on besides the program: of every array its shape, its strides and the
 * alignment of its address, and which inputs have the address of an output. Two signatures whose plans have the same
 * structure share the code of their kernels, which are the context's; a variant is numbers only.
 *
 * A program keeps KN_MAX_VARIANTS of them and forgets the one not used for longest; a variant is freed when
 * the last run that uses it has submitted its work. */
#ifndef KN_RUNTIME_VARIANT_H
#define KN_RUNTIME_VARIANT_H

#include "runtime/launch.h"
#include "runtime/program.h"

enum { KN_MAX_VARIANTS = 256 };

/* Where an array's elements are, in bytes from the address of its first: a kn_span. All 0: nowhere. */
typedef struct kn_reach {
    int64_t low, high, step, size;
} kn_reach;

struct kn_variant {
    kn_arena arena;
    const int64_t *signature;
    kn_plan *plan;
    kn_launch *launches;    /* per kernel */
    kn_compiled **compiled; /* the same: what it has of the context's; NULL: nothing yet */
    kn_reach *in, *out;
    int *in_place;               /* per input: the output that is written over it, or -1 */
    int most_bufs, most_scalars; /* of a kernel */
    bool meets;                  /* blocks of a kernel: there is a barrier word */
    int64_t words;      /* of a mailbox, where a kernel exchanges with other ranks; else 0 */
    uint64_t exchanges; /* kn_plan_exchanges(), of what is divided over ranks */
    int users;          /* atomic: runs, and the program while it has the variant */
    kn_variant *newer, *older;
};

/* A call's arguments, sorted. */
typedef struct kn_inputs {
    const kn_arg **args; /* per slot; NULL: by its default */
    int64_t *signature;
    /* of what is divided over ranks */
    bool agreed;        /* all ranks' parts are known */
    void *ranks;        /* for kernels that exchange */
    uint64_t exchanges; /* in what order all ranks do so, where loop nests may */
} kn_inputs;

/* Sorts the arguments and signs them. False when they do not fit the program, which kn_bind() explains. */
bool kn_sign(kn_program *p, kn_arena *a, const kn_arg *args, int nargs, kn_inputs *in);

/* The program's variant of these arguments, or NULL. The caller releases it. */
kn_variant *kn_variant_find(kn_program *p, const int64_t *signature);
/* A variant of bound arguments, which the program does not keep yet; the caller releases it. trial: one of several, and
 * no reason for universal kernels. */
kn_status kn_variant_make(kn_program *p, const kn_inputs *in, const kn_binding *b,
                          const kn_force *force, bool trial, kn_variant **variant);
/* The program keeps *v; where another thread was as quick, *v becomes its variant instead. NULL after a failure. */
kn_status kn_variant_keep(kn_program *p, kn_variant **v);
void kn_variant_release(kn_program *p, kn_variant *v);

/* Forgets all. */
void kn_variants_finish(kn_program *p);

#endif
