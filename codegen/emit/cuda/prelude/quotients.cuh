// A quotient that is computed once for a group of a cluster. Division has a subroutine for numbers out of the ordinary, which
// takes 5 ms to compile, and more with what it does to the code around it. Doubles need none here: every float is ordinary
// as a double. No quotient of two floats is within 2^-49 of the middle of two floats, relative to it, but those that are
// the middle; so the double nearest to the quotient, or the next, is rounded to the float that division gives. Of zeros,
// infinities and NaN the product with the reciprocal is the quotient. Blocks that have groups of their own are up to 10 %
// slower with it on an H200: they wait for doubles more often, and the code around it takes more registers.
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
