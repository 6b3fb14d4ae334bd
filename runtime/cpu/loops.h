/* Typed loops over a block of lanes: the only code of the CPU device that does arithmetic.
 *
 * Compiled for the baseline of the machine's architecture and, on x86-64, again for AVX2 (loops_avx2.c). Both give
 * bit-identical results, except for functions that only the one has in kn_maths. */
#ifndef KN_RUNTIME_CPU_LOOPS_H
#define KN_RUNTIME_CPU_LOOPS_H

#include "ir/op.h"

/* out[i] = op(in[0][i], ...) for i < n. Bit k of `uniform`: operand k is one element for all i; at least one operand
 * is not. `out` may be one of the operands, else it overlaps none. */
typedef void (*kn_loop)(int64_t n, void *out, const void *const *in, unsigned uniform);

typedef struct kn_operand {
    const void *data;
    bool same; /* one element for all lanes */
} kn_operand;

/* A reduction at a type. An accumulator has `acc_bytes`: a double for sums and products of floats, three for
 * variances, else the operand's type. The accumulators of n groups are one state, and all functions get the same n
 * for it. */
typedef struct kn_fold {
    int acc_bytes;
    bool blocked; /* accumulating many into one place loses accuracy: sum blocks, then merge */
    void (*start)(int64_t n, void *acc);                      /* acc[i] = identity */
    void (*reduce)(int64_t n, void *acc, const void *in);     /* acc[0] accumulates in[0..n) */
    void (*accumulate)(int64_t n, void *acc, const void *in); /* acc[i] accumulates in[i] */
    /* acc[i] accumulates from[i]; only if blocked */
    void (*merge)(int64_t n, void *acc, const void *from);
    void (*finish)(int64_t n, void *out, const void *acc);  /* converts to the operand's type */
    void (*mean)(int64_t n, double *out, const void *acc);  /* VAR: the group's mean, */
    void (*count)(int64_t n, double *out, const void *acc); /* and its number of members */
} kn_fold;

/* Functions of floats by a library of vector functions. A result depends only on its operands, not on its place in
 * the block. */
typedef struct kn_maths {
    const char *name;                          /* "libmvec" */
    kn_loop elem[KN_OP_COUNT][KN_DTYPE_LIMIT]; /* by the operands' type; NULL: it has none */
} kn_maths;

typedef struct kn_loops {
    const char *isa;
    const kn_maths *maths; /* NULL: none */
    /* by the operands' type; of WHERE, by its last two operands' */
    kn_loop elem[KN_OP_COUNT][KN_DTYPE_LIMIT];
    kn_loop cast[KN_DTYPE_LIMIT][KN_DTYPE_LIMIT]; /* from, to */
    kn_fold fold[KN_OP_COUNT][KN_DTYPE_LIMIT];
} kn_loops;

extern const kn_loops kn_loops_baseline;
#if defined(__x86_64__)
extern const kn_loops kn_loops_avx2;
#endif
#if defined(KN_LIBMVEC) /* CMakeLists.txt found it */
extern const kn_maths kn_maths_mvec;
#endif

/* The best loops that this machine can run. */
const kn_loops *kn_loops_choose(void);

/* NULL if the operation does not exist at these types. */
kn_loop kn_loops_elem(const kn_loops *loops, kn_op op, const kn_dtype *in, kn_dtype out);
const kn_fold *kn_loops_fold(const kn_loops *loops, kn_op op, kn_dtype dtype);

#endif
