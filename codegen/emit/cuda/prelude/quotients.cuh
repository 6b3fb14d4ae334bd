// A quotient that is computed once for a group of a cluster. Division has a subroutine for extreme operands, which costs
// registers and compile time (docs/lab/division.md). In double no float is extreme, so none is needed. The quotient of two
// floats is the middle of two floats or at least 2^-49 from it, relatively; so the double nearest to the quotient, or the
// next, rounds to the float that division gives. For zeros, infinities and NaN the product with the reciprocal is the
// quotient. Blocks outside clusters, which divide for each of their groups, would be slower with it.
#if defined __CUDACC_RTC__ && (__CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000) // fast doubles
__device__ __forceinline__ float kn_divide(float a, float b)
{
    float quotient;
    asm("{\n.reg .f64 a, b, r, rest, q;\n.reg .pred ordinary;\n"
        "cvt.f64.f32 a, %1;\n"
        "cvt.f64.f32 b, %2;\n"
        "rcp.approx.ftz.f64 r, b;\n" // within 2^-20
        "neg.f64 b, b;\n"
        "mul.f64 q, a, r;\n"
        "fma.rn.f64 rest, q, b, a;\n"
        "fma.rn.f64 q, rest, r, q;\n" // within 2^-39
        "fma.rn.f64 rest, q, b, a;\n"
        "fma.rn.f64 q, rest, r, q;\n"
        "abs.f64 rest, q;\n"
        "setp.gt.f64 ordinary, rest, 0d0000000000000000;\n"
        "@!ordinary mul.f64 q, a, r;\n"
        "cvt.rn.f32.f64 %0, q;\n}"
        : "=f"(quotient)
        : "f"(a), "f"(b));
    return quotient;
}
#else
__device__ __forceinline__ float kn_divide(float a, float b) { return a / b; }
#endif
