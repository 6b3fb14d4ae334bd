// The upper half of single precision, computed in single precision and rounded once.
#pragma once
#include <cuda_fp16.h>

struct alignas(2) __nv_bfloat16 {
    unsigned short bits;
    __nv_bfloat16() = default;
    __nv_bfloat16(float f)
    {
        const unsigned x = __float_as_uint(f);
        bits = (x & 0x7fffffff) > 0x7f800000 ? 0x7fff
                                             : (unsigned short)((x + 0x7fff + (x >> 16 & 1)) >> 16);
    }
    __nv_bfloat16(double f) : __nv_bfloat16((float)f) {}
    __nv_bfloat16(int i) : __nv_bfloat16((float)i) {}
    operator float() const { return __uint_as_float((unsigned)bits << 16); }
};
typedef __nv_bfloat16 nv_bfloat16;
KN_EMU_DTYPE(__nv_bfloat16, 11)
struct alignas(4) __nv_bfloat162 {
    __nv_bfloat16 x, y;
};
typedef __nv_bfloat162 nv_bfloat162;
KN_EMU_SMALL_FLOAT(__nv_bfloat16, __nv_bfloat162, bfloat16)
KN_EMU_INLINE unsigned short __bfloat16_as_ushort(__nv_bfloat16 h) { return h.bits; }
KN_EMU_INLINE __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits)
{
    __nv_bfloat16 h;
    h.bits = bits;
    return h;
}
