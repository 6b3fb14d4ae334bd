/* Typed loops over a block of lanes: the only code of the CPU device that does arithmetic.
 *
 * Compiled for the baseline of the machine's architecture and, on x86-64, again for AVX2 (loops_avx2.c). Both give
 * bit-identical results, except for functions that only the one has in kn_maths. */
#ifndef KN_RUNTIME_CPU_LOOPS_H
#define KN_RUNTIME_CPU_LOOPS_H

#include "codegen/emit/c/prelude.h"
#include "ir/op.h"

typedef struct kn_operand {
    const void *data;
    bool same; /* one element for all lanes */
} kn_operand;

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
/* fused.c: some with fused multiply-adds; parts of both that follow. */
kn_loop_function kn_fused_exp_f32, kn_fused_exp_f64, kn_fused_log_f32, kn_fused_log1p_f32,
    kn_fused_tanh_f32;
extern const kn_maths kn_maths_fused;
#if defined(KN_LIBMVEC) /* CMakeLists.txt found it */
extern const kn_maths kn_maths_mvec;
#endif

/* The best loops that this machine can run. */
const kn_loops *kn_loops_choose(void);

/* NULL if the operation does not exist at these types. */
kn_loop kn_loops_elem(const kn_loops *loops, kn_op op, const kn_dtype *in, kn_dtype out);
const kn_fold *kn_loops_fold(const kn_loops *loops, kn_op op, kn_dtype dtype);

#endif
