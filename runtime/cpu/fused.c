/* The functions of codegen/emit/c/functions.h with fused multiply-adds, for AVX2. */
#include "runtime/cpu/loops.h"

#if defined(__x86_64__)
#if !defined(__AVX2__) || !defined(__FMA__)
#error "wants -mavx2 -mfma"
#endif

#include "codegen/emit/c/functions.h"

#define LOOP(name, type)                                                                           \
    void kn_fused_##name(int64_t n, void *out, const void *const *in, unsigned uniform)            \
    {                                                                                              \
        const type *a = in[0];                                                                     \
        type *z = out;                                                                             \
        (void)uniform;                                                                             \
        KN_LANES                                                                                   \
        for (int64_t i = 0; i < n; i++)                                                            \
            z[i] = kn_##name(a[i]);                                                                \
    }
LOOP(exp_f32, float)
LOOP(exp_f64, double)
LOOP(log_f32, float)
LOOP(log1p_f32, float)
LOOP(tanh_f32, float)

const kn_maths kn_maths_fused = {.name = "the C library, but for exp, log, log1p and tanh",
                                 .elem = {[KN_OP_EXP][KN_F32] = kn_fused_exp_f32,
                                          [KN_OP_EXP][KN_F64] = kn_fused_exp_f64,
                                          [KN_OP_LOG][KN_F32] = kn_fused_log_f32,
                                          [KN_OP_LOG1P][KN_F32] = kn_fused_log1p_f32,
                                          [KN_OP_TANH][KN_F32] = kn_fused_tanh_f32}};
#else
typedef int kn_no_fused; /* ISO C forbids an empty translation unit */
#endif
