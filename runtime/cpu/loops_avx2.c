/* The loops again, for AVX2. No fused multiply-add: results must equal the baseline's. */
#if defined(__x86_64__)
#ifndef __AVX2__
#error "wants -mavx2"
#endif
#define KN_ISA avx2
#if defined(KN_LIBMVEC)
#define KN_MATHS &kn_maths_mvec
#else
#define KN_MATHS NULL
#endif
#include "runtime/cpu/loops.c"
#else
typedef int kn_no_avx2; /* ISO C forbids an empty translation unit */
#endif
