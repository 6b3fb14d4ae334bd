/* The functions of codegen/emit/c/functions.h with fused multiply-adds, for AVX2. */
#include "runtime/cpu/loops.h"

#if defined(__x86_64__)
#if !defined(__AVX2__) || !defined(__FMA__)
#error "wants -mavx2 -mfma"
#endif

#include "codegen/emit/c/functions.h"

#define LOOP(name)                                                                                 \
    void kn_fused_##name(int64_t n, void *out, const void *const *in, unsigned uniform)            \
    {                                                                                              \
        const float *a = in[0];                                                                    \
        float *z = out;                                                                            \
        (void)uniform;                                                                             \
        KN_LANES                                                                                   \
        for (int64_t i = 0; i < n; i++)                                                            \
            z[i] = kn_##name##_f32(a[i]);                                                          \
    }
LOOP(exp)
LOOP(tanh)

const kn_maths kn_maths_fused = {
    .name = "the C library, but for exp and tanh",
    .elem = {[KN_OP_EXP][KN_F32] = kn_fused_exp, [KN_OP_TANH][KN_F32] = kn_fused_tanh}};
#else
typedef int kn_no_fused; /* ISO C forbids an empty translation unit */
#endif
