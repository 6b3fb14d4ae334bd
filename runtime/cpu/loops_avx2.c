/* The loops again, for AVX2. No -mfma: results must equal the baseline's, and gcc fuses products of complex numbers with
 * it whatever -ffp-contract says. */
#if defined(__x86_64__)
#ifndef __AVX2__
#error "wants -mavx2"
#endif
#define KN_ISA avx2
#if defined(KN_LIBMVEC)
#define KN_MATHS &kn_maths_mvec
#else
#define KN_MATHS &kn_maths_fused
#endif
#include "runtime/cpu/loops.c"
#else
typedef int kn_no_avx2; /* ISO C forbids an empty translation unit */
#endif
