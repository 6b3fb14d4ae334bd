/* Typed loops over a block of lanes: the only code of the CPU device that touches numbers.
 *
 * Built once for the baseline of the machine's architecture and, on x86-64, once more for AVX2
 * (loops_avx2.c); both give bit-identical results, except for the functions that kn_maths has for the one. */
#ifndef KN_RUNTIME_CPU_LOOPS_H
#define KN_RUNTIME_CPU_LOOPS_H

#include "ir/op.h"

/* out[i] = op(in[0][i], ...) for i < n. Bit k of `uniform`: operand k is one element for all i; at
 * least one operand is not. `out` may be exactly an operand, and overlaps none otherwise. */
typedef void (*kn_loop)(int64_t n, void *out, const void *const *in, unsigned uniform);

/* A reduction at a type. Accumulators are `acc_bytes` wide: double for sums and products of floats,
 * three of them for variances, the operand's type else. Those of n groups side by side are one state, which all
 * functions are given the same n for. */
typedef struct kn_fold {
    int acc_bytes;
    bool blocked; /* accumulate() into one place for long loses accuracy: add up in blocks */
    void (*start)(int64_t n, void *acc);                      /* acc[i] = identity */
    void (*reduce)(int64_t n, void *acc, const void *in);     /* acc[0] gets all of in[0..n) */
    void (*accumulate)(int64_t n, void *acc, const void *in); /* acc[i] gets in[i] */
    void (*merge)(int64_t n, void *acc, const void *from);    /* acc[i] gets from[i]; if blocked */
    void (*finish)(int64_t n, void *out, const void *acc);    /* to the operand's type */
    void (*mean)(int64_t n, double *out, const void *acc);    /* VAR: what it is about, */
    void (*count)(int64_t n, double *out, const void *acc);   /* and of how many */
} kn_fold;

/* Loops that evaluate functions of floats, several elements at a time, by a library of vector functions. What an element
 * gives depends on its operands only, not on its place in the block. */
typedef struct kn_maths {
    const char *name;                          /* "libmvec" */
    kn_loop elem[KN_OP_COUNT][KN_DTYPE_LIMIT]; /* by the operands' type; NULL: not here */
} kn_maths;

typedef struct kn_loops {
    const char *isa;
    const kn_maths *maths;                     /* NULL: none */
    kn_loop elem[KN_OP_COUNT][KN_DTYPE_LIMIT]; /* by the operands' type (WHERE: the last ones') */
    kn_loop cast[KN_DTYPE_LIMIT][KN_DTYPE_LIMIT]; /* from, to */
    kn_fold fold[KN_OP_COUNT][KN_DTYPE_LIMIT];
} kn_loops;

extern const kn_loops kn_loops_baseline;
#if defined(__x86_64__)
extern const kn_loops kn_loops_avx2;
#endif
#if defined(KN_LIBMVEC) /* the library has it: CMakeLists.txt looks for it */
extern const kn_maths kn_maths_mvec;
#endif

/* The best loops that this machine can run. */
const kn_loops *kn_loops_choose(void);

/* NULL where the operation does not exist at these types. */
kn_loop kn_loops_elem(const kn_loops *loops, kn_op op, const kn_dtype *in, kn_dtype out);
const kn_fold *kn_loops_fold(const kn_loops *loops, kn_op op, kn_dtype dtype);

#endif
