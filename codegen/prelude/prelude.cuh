// kiln's device prelude: what generated kernels call. Needs no header.

// ---- memory: N neighbouring elements as one access of up to 16 bytes ----

template <class T, int N> struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) kn_vec {
    T at[N];
};

template <int N, class T> __device__ __forceinline__ kn_vec<T, N> kn_load(const T *p)
{
    return *reinterpret_cast<const kn_vec<T, N> *>(p);
}

template <int N, class T> __device__ __forceinline__ void kn_store(T *p, const kn_vec<T, N> &v)
{
    *reinterpret_cast<kn_vec<T, N> *>(p) = v;
}

// The same for what nobody reads again soon: caches let go of it first.
template <int BYTES> struct kn_word;
template <> struct kn_word<1> { typedef unsigned char type; };
template <> struct kn_word<2> { typedef unsigned short type; };
template <> struct kn_word<4> { typedef unsigned type; };
template <> struct kn_word<8> { typedef uint2 type; };
template <> struct kn_word<16> { typedef uint4 type; };
template <int N, class T> __device__ __forceinline__ void kn_stream(T *p, const kn_vec<T, N> &v)
{
    typedef typename kn_word<sizeof(T) * N>::type word;
    __stcs(reinterpret_cast<word *>(p), *reinterpret_cast<const word *>(&v));
}

// The first index of first, first + step, ... that is not below `end`.
template <class T> __device__ __forceinline__ T kn_walk_end(T first, T end, T step)
{
    return first < end ? first + (end - first + step - 1) / step * step : first;
}

// ---- elementwise operations: ir/ops.def says what they mean ----

#define KN_INF __longlong_as_double(0x7ff0000000000000LL)
#define KN_NAN __longlong_as_double(0x7ff8000000000000LL)

// Integers wrap: their arithmetic is that of an unsigned type of at least their size.
template <int BYTES> struct kn_modular { typedef unsigned type; };
template <> struct kn_modular<8> { typedef unsigned long long type; };
template <class T> __device__ __forceinline__ T kn_add(T a, T b)
{
    typedef typename kn_modular<sizeof(T)>::type word;
    return (T)((word)a + (word)b);
}
template <class T> __device__ __forceinline__ T kn_subtract(T a, T b)
{
    typedef typename kn_modular<sizeof(T)>::type word;
    return (T)((word)a - (word)b);
}
template <class T> __device__ __forceinline__ T kn_multiply(T a, T b)
{
    typedef typename kn_modular<sizeof(T)>::type word;
    return (T)((word)a * (word)b);
}
__device__ __forceinline__ float kn_add(float a, float b) { return a + b; }
__device__ __forceinline__ double kn_add(double a, double b) { return a + b; }
__device__ __forceinline__ float kn_multiply(float a, float b) { return a * b; }
__device__ __forceinline__ double kn_multiply(double a, double b) { return a * b; }
__device__ __forceinline__ bool kn_logical_and(bool a, bool b) { return a & b; }
__device__ __forceinline__ bool kn_logical_or(bool a, bool b) { return a | b; }
__device__ __forceinline__ bool kn_logical_not(bool a) { return !a; }

template <class T> __device__ __forceinline__ T kn_negative(T a) { return kn_subtract((T)0, a); }
__device__ __forceinline__ float kn_negative(float a) { return -a; }
__device__ __forceinline__ double kn_negative(double a) { return -a; }
template <class T> __device__ __forceinline__ T kn_abs(T a) { return a < 0 ? kn_negative(a) : a; }
__device__ __forceinline__ float kn_abs(float a) { return fabsf(a); }
__device__ __forceinline__ double kn_abs(double a) { return fabs(a); }
template <class T> __device__ __forceinline__ T kn_where(bool c, T a, T b) { return c ? a : b; }
template <class T> __device__ __forceinline__ T kn_copy(T a) { return a; }

// NaN wins.
template <class T> __device__ __forceinline__ T kn_minimum(T a, T b)
{
    return a < b || a != a ? a : b;
}
template <class T> __device__ __forceinline__ T kn_maximum(T a, T b)
{
    return a > b || a != a ? a : b;
}

template <class T> __device__ __forceinline__ T kn_floor(T a) { return a; }
template <class T> __device__ __forceinline__ T kn_ceil(T a) { return a; }
#define KN_FLOAT_FUNCTION(name, f32, f64)                                                          \
    __device__ __forceinline__ float kn_##name(float a) { return f32(a); }                         \
    __device__ __forceinline__ double kn_##name(double a) { return f64(a); }
KN_FLOAT_FUNCTION(floor, floorf, floor)
KN_FLOAT_FUNCTION(ceil, ceilf, ceil)
KN_FLOAT_FUNCTION(sqrt, sqrtf, sqrt)
KN_FLOAT_FUNCTION(rsqrt, rsqrtf, rsqrt)
KN_FLOAT_FUNCTION(exp, expf, exp)
KN_FLOAT_FUNCTION(log, logf, log)
KN_FLOAT_FUNCTION(tanh, tanhf, tanh)
KN_FLOAT_FUNCTION(sin, sinf, sin)
KN_FLOAT_FUNCTION(cos, cosf, cos)
#undef KN_FLOAT_FUNCTION

// Division towards minus infinity; by zero it gives 0. (T)-1 < 0 says that T is signed.
template <class T> __device__ __forceinline__ T kn_floor_divide(T a, T b)
{
    if (b == 0)
        return 0;
    if ((T)-1 < 0 && b == (T)-1)
        return kn_negative(a);
    return (T)(a / b - (a % b != 0 && (a < 0) != (b < 0)));
}
template <class T> __device__ __forceinline__ T kn_remainder(T a, T b)
{
    if (b == 0 || ((T)-1 < 0 && b == (T)-1))
        return 0;
    const T r = (T)(a % b);
    return r != 0 && (r < 0) != (b < 0) ? (T)(r + b) : r;
}
#define KN_FLOAT_DIVISION(T, fmod, floor, copysign)                                                \
    __device__ __forceinline__ T kn_remainder(T a, T b)                                            \
    {                                                                                              \
        const T r = fmod(a, b);                                                                    \
        if (b != 0 && r != 0 && (r < 0) != (b < 0))                                                \
            return r + b;                                                                          \
        return r == 0 ? copysign((T)0, b) : r;                                                     \
    }                                                                                              \
    __device__ __forceinline__ T kn_floor_divide(T a, T b)                                         \
    {                                                                                              \
        if (b == 0)                                                                                \
            return a / b;                                                                          \
        const T r = fmod(a, b);                                                                    \
        T q = (a - r) / b;                                                                         \
        if (r != 0 && (r < 0) != (b < 0))                                                          \
            q -= 1;                                                                                \
        if (q == 0)                                                                                \
            return copysign((T)0, a / b);                                                          \
        const T whole = floor(q);                                                                  \
        return q - whole > (T)0.5 ? whole + 1 : whole;                                             \
    }
KN_FLOAT_DIVISION(float, fmodf, floorf, copysignf)
KN_FLOAT_DIVISION(double, fmod, floor, copysign)
#undef KN_FLOAT_DIVISION

// By squaring; a negative exponent gives the whole part of 1 / a**-b.
template <class T> __device__ __forceinline__ T kn_power(T a, T b)
{
    if (b < 0)
        return a == 1 ? 1 : a == (T)-1 ? (b & 1 ? (T)-1 : 1) : 0;
    T result = 1;
    for (; b; b = (T)(b >> 1), a = kn_multiply(a, a))
        if (b & 1)
            result = kn_multiply(result, a);
    return result;
}
__device__ __forceinline__ float kn_power(float a, float b) { return powf(a, b); }
__device__ __forceinline__ double kn_power(double a, double b) { return pow(a, b); }

// 16-bit floats: bits in memory and between operations. Arithmetic is that of float, rounded once.
struct kn_f16 {
    unsigned short bits;
};
struct kn_bf16 {
    unsigned short bits;
};
__device__ __forceinline__ float kn_widen(kn_bf16 h) { return __uint_as_float((unsigned)h.bits << 16); }
#ifdef __CUDACC_RTC__ // one instruction each
__device__ __forceinline__ float kn_widen(kn_f16 h)
{
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h.bits));
    return f;
}
__device__ __forceinline__ void kn_narrow(float f, kn_f16 &h)
{
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h.bits) : "f"(f));
}
__device__ __forceinline__ void kn_narrow(float f, kn_bf16 &h)
{
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h.bits) : "f"(f));
}
#else // what they do, bit by bit
__device__ __forceinline__ float kn_widen(kn_f16 h)
{
    const unsigned m = h.bits & 0x7fff;
    const unsigned u = m >= 0x7c00 ? m << 13 | 0x7f800000
                                   : __float_as_uint(__uint_as_float(m << 13) * 5192296858534827628530496329220096.0f);
    return __uint_as_float(u | (unsigned)(h.bits & 0x8000) << 16);
}
__device__ __forceinline__ void kn_narrow(float f, kn_f16 &h)
{
    const unsigned u = __float_as_uint(f), m = u & 0x7fffffff;
    unsigned r;
    if (m > 0x7f800000)
        r = 0x7fff;
    else if (m >= 0x477ff000)
        r = 0x7c00;
    else if (m < 0x38800000) // below the normal numbers, adding 1/2 rounds where the last bit is
        r = __float_as_uint(__uint_as_float(m) + 0.5f) - 0x3f000000;
    else
        r = (m - 0x38000000 + 0xfff + (m >> 13 & 1)) >> 13;
    h.bits = (unsigned short)(r | (u >> 16 & 0x8000));
}
__device__ __forceinline__ void kn_narrow(float f, kn_bf16 &h)
{
    const unsigned u = __float_as_uint(f);
    h.bits = (unsigned short)(f != f ? 0x7fff : (u + 0x7fff + (u >> 16 & 1)) >> 16);
}
#endif

// A float out of the range of int, and NaN, become its smallest value, of which narrower types have the low
// bits; unsigned ones of 32 bits and 64-bit ones go through long long in the same way.
template <class To, class From> struct kn_converter {
    static __device__ __forceinline__ To of(From v) { return (To)v; }
};
template <class From> struct kn_converter<bool, From> {
    static __device__ __forceinline__ bool of(From v) { return v != 0; }
};
template <class From> __device__ __forceinline__ int kn_to_int(From v)
{
    return v >= (From)-2147483648.0 && v < (From)2147483648.0 ? (int)v : (int)0x80000000u;
}
template <class From> __device__ __forceinline__ long long kn_to_long(From v)
{
    return v >= (From)-9223372036854775808.0 && v < (From)9223372036854775808.0
               ? (long long)v
               : (long long)0x8000000000000000ull;
}
#define KN_FLOAT_TO_INT(To, way)                                                                   \
    template <> struct kn_converter<To, float> {                                                   \
        static __device__ __forceinline__ To of(float v) { return (To)way(v); }                    \
    };                                                                                             \
    template <> struct kn_converter<To, double> {                                                  \
        static __device__ __forceinline__ To of(double v) { return (To)way(v); }                   \
    };
KN_FLOAT_TO_INT(signed char, kn_to_int)
KN_FLOAT_TO_INT(short, kn_to_int)
KN_FLOAT_TO_INT(int, kn_to_int)
KN_FLOAT_TO_INT(long long, kn_to_long)
KN_FLOAT_TO_INT(unsigned char, kn_to_int)
KN_FLOAT_TO_INT(unsigned short, kn_to_int)
KN_FLOAT_TO_INT(unsigned, kn_to_long)
template <class From> __device__ __forceinline__ unsigned long long kn_to_unsigned_long(From v)
{
    const From half = (From)9223372036854775808.0;
    return v >= half ? (unsigned long long)kn_to_long(v - half) ^ 0x8000000000000000ull
                     : (unsigned long long)kn_to_long(v);
}
KN_FLOAT_TO_INT(unsigned long long, kn_to_unsigned_long)
#undef KN_FLOAT_TO_INT
template <> struct kn_converter<float, kn_f16> {
    static __device__ __forceinline__ float of(kn_f16 v) { return kn_widen(v); }
};
template <> struct kn_converter<float, kn_bf16> {
    static __device__ __forceinline__ float of(kn_bf16 v) { return kn_widen(v); }
};
template <> struct kn_converter<kn_f16, float> {
    static __device__ __forceinline__ kn_f16 of(float v)
    {
        kn_f16 h;
        kn_narrow(v, h);
        return h;
    }
};
template <> struct kn_converter<kn_bf16, float> {
    static __device__ __forceinline__ kn_bf16 of(float v)
    {
        kn_bf16 h;
        kn_narrow(v, h);
        return h;
    }
};
// To float with the last bit set when anything was cut off, so that rounding once more rounds as at once.
template <> struct kn_converter<kn_f16, double> {
    static __device__ __forceinline__ kn_f16 of(double v)
    {
        float f = (float)v;
        const double back = (double)f;
        const unsigned u = __float_as_uint(f);
        if (back != v && v == v && !(u & 1))
            f = __uint_as_float(fabs(back) > fabs(v) ? u - 1 : u + 1);
        return kn_converter<kn_f16, float>::of(f);
    }
};
template <class To, class From> __device__ __forceinline__ To kn_cast(From v)
{
    return kn_converter<To, From>::of(v);
}

// ---- combining the accumulators of the threads that share a group ----

struct kn_sum {
    template <class T> static __device__ __forceinline__ T of(T a, T b) { return kn_add(a, b); }
};
struct kn_prod {
    template <class T> static __device__ __forceinline__ T of(T a, T b) { return kn_multiply(a, b); }
};
struct kn_min {
    template <class T> static __device__ __forceinline__ T of(T a, T b) { return kn_minimum(a, b); }
};
struct kn_max {
    template <class T> static __device__ __forceinline__ T of(T a, T b) { return kn_maximum(a, b); }
};
struct kn_any {
    static __device__ __forceinline__ bool of(bool a, bool b) { return a | b; }
};
struct kn_all {
    static __device__ __forceinline__ bool of(bool a, bool b) { return a & b; }
};

// A product that does not become part of a fused multiply-add.
__device__ __forceinline__ float kn_product(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ double kn_product(double a, double b) { return __dmul_rn(a, b); }

// Welford's running mean and sum of squared deviations. The quotient need not be exact: what the mean is off
// by, the later deviations take up.
__device__ __forceinline__ float kn_quotient(float a, float b) { return __fdividef(a, b); }
__device__ __forceinline__ double kn_quotient(double a, double b) { return a / b; }
template <class T> struct kn_moments {
    T n, mean, m2;
    __device__ __forceinline__ void add(T x)
    {
        const T d = x - mean;
        n += 1;
        mean += kn_quotient(d, n);
        m2 += d * (x - mean);
    }
};
// Chan's merge; symmetric, so that lanes that exchange their halves agree to the bit.
struct kn_var {
    template <class T>
    static __device__ __forceinline__ kn_moments<T> of(const kn_moments<T> &a, const kn_moments<T> &b)
    {
        const T n = a.n + b.n, d = a.mean - b.mean;
        if (n == 0)
            return a;
        return kn_moments<T>{n, (kn_product(a.n, a.mean) + kn_product(b.n, b.mean)) / n, a.m2 + b.m2 + d * d * (a.n * b.n / n)};
    }
};

// The largest value so far and the sum of exp(x - max) so far (Milakov and Gimelshein, "Online normalizer calculation
// for softmax", 2018). Infinite maxima stay out of the differences, so that a finite sum is one.
template <class T> struct kn_peak {
    T max, sum;
    static __device__ __forceinline__ T scale(T x, T max) { return x == max ? (T)1 : kn_exp(x - max); }
    __device__ __forceinline__ void add(T x)
    {
        const T e = x == max ? (T)1 : kn_exp(-kn_abs(x - max));
        sum = x > max ? sum * e + 1 : sum + e;
        max = kn_maximum(max, x);
    }
    // The sum as the definition has it: x - max of infinities is NaN.
    __device__ __forceinline__ T whole() const { return sum + (max - max); }
};
// Symmetric, so that lanes that exchange their halves agree to the bit.
struct kn_max_and_sum {
    template <class T> static __device__ __forceinline__ kn_peak<T> of(const kn_peak<T> &a, const kn_peak<T> &b)
    {
        const T max = kn_maximum(a.max, b.max);
        return kn_peak<T>{max, kn_product(a.sum, kn_peak<T>::scale(a.max, max)) +
                                   kn_product(b.sum, kn_peak<T>::scale(b.max, max))};
    }
};

template <class T> __device__ __forceinline__ T kn_from_lane_xor(T v, int mask)
{
    return __shfl_xor_sync(0xffffffffu, v, mask);
}
__device__ __forceinline__ bool kn_from_lane_xor(bool v, int mask)
{
    return __shfl_xor_sync(0xffffffffu, (int)v, mask) != 0;
}

template <class T>
__device__ __forceinline__ kn_moments<T> kn_from_lane_xor(const kn_moments<T> &v, int mask)
{
    return kn_moments<T>{kn_from_lane_xor(v.n, mask), kn_from_lane_xor(v.mean, mask),
                         kn_from_lane_xor(v.m2, mask)};
}

template <class T>
__device__ __forceinline__ kn_peak<T> kn_from_lane_xor(const kn_peak<T> &v, int mask)
{
    return kn_peak<T>{kn_from_lane_xor(v.max, mask), kn_from_lane_xor(v.sum, mask)};
}

// Among WIDTH neighbouring lanes; every lane gets the result. Called by whole, converged warps.
template <class Op, int WIDTH, class T> __device__ __forceinline__ T kn_combine_lanes(T v)
{
#pragma unroll
    for (int step = WIDTH / 2; step > 0; step /= 2)
        v = Op::of(v, kn_from_lane_xor(v, step));
    return v;
}

// Among all THREADS of the block; every thread gets the result. `scratch` has room for one value a warp
// and is free again on return.
template <class Op, int THREADS, class T>
__device__ __forceinline__ T kn_combine_block(T v, T identity, void *scratch)
{
    T *const warps = (T *)scratch;
    const int lane = threadIdx.x % 32;
    v = kn_combine_lanes<Op, 32>(v);
    if (lane == 0)
        warps[threadIdx.x / 32] = v;
    __syncthreads();
    v = kn_combine_lanes<Op, 32>(lane < THREADS / 32 ? warps[lane] : identity);
    __syncthreads();
    return v;
}

// Among the ROWS threads of the block that share threadIdx.x % 32, in order, each of their N values; every one
// of them gets the results. `scratch` has room for N values a thread and is free again on return.
template <class Op, int ROWS, int N, class T>
__device__ __forceinline__ void kn_combine_rows(T (&v)[N], T identity, void *scratch)
{
    T *const all = (T *)scratch;
#pragma unroll
    for (int l = 0; l < N; ++l)
        all[l * ROWS * 32 + threadIdx.x] = v[l];
    __syncthreads();
#pragma unroll
    for (int l = 0; l < N; ++l) {
        v[l] = identity;
#pragma unroll
        for (int row = 0; row < ROWS; ++row)
            v[l] = Op::of(v[l], all[(l * ROWS + row) * 32 + threadIdx.x % 32]);
    }
    __syncthreads();
}
template <class Op, int ROWS, int N, class T>
__device__ __forceinline__ void kn_combine_rows(T &v, T identity, void *scratch)
{
    T one[1] = {v};
    kn_combine_rows<Op, ROWS, 1>(one, identity, scratch);
    v = one[0];
}

// All blocks of a cooperative launch meet; what was written to memory before is seen after. The arrivals add
// up to 2^31: the word's top bit turns over when all have come. The other bits are zero again then, so that
// one word, zeroed once, serves launch after launch.
__device__ __forceinline__ void kn_grid_barrier(unsigned *barrier)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        const unsigned top = 0x80000000u;
        const unsigned before = atomicAdd(barrier, blockIdx.x == 0 ? top - (gridDim.x - 1) : 1u);
        while (((*(volatile unsigned *)barrier ^ before) & top) == 0) {
        }
        __threadfence();
    }
    __syncthreads();
}
