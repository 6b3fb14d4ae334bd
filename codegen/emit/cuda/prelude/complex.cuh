// Complex numbers: two floats, aligned so that they move as one access. Functions, branch cuts and special values as
// C17's Annex G and NumPy have them; ops.def has their bounds.

template <class T> struct alignas(2 * sizeof(T)) kn_complex {
    T re, im;
};
typedef kn_complex<float> kn_c64;
typedef kn_complex<double> kn_c128;
#define KN_COMPLEX template <class T> __device__ __forceinline__ kn_complex<T>
#define KN_COMPLEX_TEST template <class T> __device__ __forceinline__ bool

// Constants that differ between f32 and f64: where formulas change.
template <class T> struct kn_limits;
template <> struct kn_limits<float> {
    // squares of numbers from `small` to `large` are neither 0 nor infinite
    static __device__ __forceinline__ float small() { return 1e-15f; }
    static __device__ __forceinline__ float large() { return 1e15f; }
    static __device__ __forceinline__ float flat() { return 10; }      // tanh is 1 from here on
    static __device__ __forceinline__ float exp_fits() { return 88; }  // exp is finite up to here
    static __device__ __forceinline__ float down() { return 1.0f / (1 << 30); }
    static __device__ __forceinline__ float up() { return 1 << 30; }
    static __device__ __forceinline__ float log_up() { return 20.79441541679836f; }
};
template <> struct kn_limits<double> {
    static __device__ __forceinline__ double small() { return 1e-140; }
    static __device__ __forceinline__ double large() { return 1e140; }
    static __device__ __forceinline__ double flat() { return 22; }
    static __device__ __forceinline__ double exp_fits() { return 709; }
    static __device__ __forceinline__ double down() { return 1.0 / (1 << 30); }
    static __device__ __forceinline__ double up() { return 1 << 30; }
    static __device__ __forceinline__ double log_up() { return 20.79441541679836; }
};
template <class T> __device__ __forceinline__ T kn_nan_of() { return (T)KN_NAN; }
template <class T> __device__ __forceinline__ T kn_inf_of() { return (T)KN_INF; }
template <class T> __device__ __forceinline__ T kn_larger_part(kn_complex<T> a)
{
    return kn_maximum(kn_abs(a.re), kn_abs(a.im));
}
KN_COMPLEX_TEST kn_isnan(kn_complex<T> a) { return a.re != a.re || a.im != a.im; }
KN_COMPLEX_TEST kn_isfinite(kn_complex<T> a) { return kn_isfinite(a.re) && kn_isfinite(a.im); }

// ---- parts, arithmetic, order ----

template <class T> __device__ __forceinline__ T kn_real(kn_complex<T> a) { return a.re; }
template <class T> __device__ __forceinline__ T kn_imag(kn_complex<T> a) { return a.im; }
KN_COMPLEX kn_complex_of(T re, T im) { return kn_complex<T>{re, im}; }
KN_COMPLEX kn_conjugate(kn_complex<T> a) { return kn_complex<T>{a.re, -a.im}; }
KN_COMPLEX kn_negative(kn_complex<T> a) { return kn_complex<T>{-a.re, -a.im}; }
KN_COMPLEX kn_scaled(kn_complex<T> a, T by) { return kn_complex<T>{a.re * by, a.im * by}; }
KN_COMPLEX operator+(kn_complex<T> a, kn_complex<T> b) { return kn_complex<T>{a.re + b.re, a.im + b.im}; }
KN_COMPLEX operator-(kn_complex<T> a, kn_complex<T> b) { return kn_complex<T>{a.re - b.re, a.im - b.im}; }
KN_COMPLEX operator*(kn_complex<T> a, kn_complex<T> b)
{
    return kn_complex<T>{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
KN_COMPLEX kn_add(kn_complex<T> a, kn_complex<T> b) { return a + b; }
KN_COMPLEX kn_multiply(kn_complex<T> a, kn_complex<T> b) { return a * b; }

// R. L. Smith's (CACM 5, 1962, algorithm 116), whose infinities and NaN are NumPy's.
KN_COMPLEX kn_divide_smith(kn_complex<T> a, kn_complex<T> b)
{
    if (b.re == 0 && b.im == 0)
        return kn_complex<T>{a.re / kn_abs(b.re), a.im / kn_abs(b.re)};
    if (kn_abs(b.re) >= kn_abs(b.im)) {
        const T ratio = b.im / b.re, scale = 1 / (b.re + b.im * ratio);
        return kn_complex<T>{(a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale};
    }
    const T ratio = b.re / b.im, scale = 1 / (b.im + b.re * ratio);
    return kn_complex<T>{(a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale};
}
KN_COMPLEX kn_divide_plain(kn_complex<T> a, kn_complex<T> b)
{
    const T square = b.re * b.re + b.im * b.im;
    return kn_complex<T>{(a.re * b.re + a.im * b.im) / square, (a.im * b.re - a.re * b.im) / square};
}
__device__ __forceinline__ float kn_ldexp(float a, int e) { return ldexpf(a, e); }
__device__ __forceinline__ double kn_ldexp(double a, int e) { return ldexp(a, e); }
KN_COMPLEX kn_ldexp(kn_complex<T> a, int e)
{
    return kn_complex<T>{kn_ldexp(a.re, e), kn_ldexp(a.im, e)};
}
// Operands are scaled by powers of two where a square or a product could overflow or underflow.
KN_COMPLEX operator/(kn_complex<T> a, kn_complex<T> b)
{
    const T size = kn_larger_part(a), by = kn_larger_part(b), small = kn_limits<T>::small(), large = kn_limits<T>::large();
    if (by > small && by < large && size < large && size > small)
        return kn_divide_plain(a, b);
    if (!kn_isfinite(a) || !kn_isfinite(b) || by == 0)
        return kn_divide_smith(a, b);
    if (size == 0)
        return a;
    const int up = kn_frexp_exponent(size), down = kn_frexp_exponent(by);
    return kn_ldexp(kn_divide_plain(kn_ldexp(a, -up), kn_ldexp(b, -down)), up - down);
}

// By the real part, then by the imaginary one. Comparisons with a NaN are false, but where real parts are equal only the
// imaginary parts count.
KN_COMPLEX_TEST operator<(kn_complex<T> a, kn_complex<T> b)
{
    return a.re == b.re ? a.im < b.im : a.re < b.re && a.im == a.im && b.im == b.im;
}
KN_COMPLEX_TEST operator==(kn_complex<T> a, kn_complex<T> b) { return a.re == b.re && a.im == b.im; }
KN_COMPLEX_TEST operator!=(kn_complex<T> a, kn_complex<T> b) { return !(a == b); }
KN_COMPLEX_TEST operator<=(kn_complex<T> a, kn_complex<T> b) { return a < b || a == b; }
KN_COMPLEX_TEST operator>(kn_complex<T> a, kn_complex<T> b) { return b < a; }
KN_COMPLEX_TEST operator>=(kn_complex<T> a, kn_complex<T> b) { return b <= a; }

KN_COMPLEX kn_from_lane_xor(kn_complex<T> v, int mask)
{
    return kn_complex<T>{__shfl_xor_sync(0xffffffffu, v.re, mask), __shfl_xor_sync(0xffffffffu, v.im, mask)};
}

// ---- conversion; others are those of the real part ----

template <class T> struct kn_converter<kn_complex<T>, T> {
    static __device__ __forceinline__ kn_complex<T> of(T v) { return kn_complex<T>{v, 0}; }
};
template <class S> struct kn_converter<bool, kn_complex<S>> {
    static __device__ __forceinline__ bool of(kn_complex<S> v) { return v.re != 0 || v.im != 0; }
};
template <class T, class S> struct kn_converter<kn_complex<T>, kn_complex<S>> {
    static __device__ __forceinline__ kn_complex<T> of(kn_complex<S> v) { return kn_complex<T>{(T)v.re, (T)v.im}; }
};

// ---- roots, exponentials, logarithms ----

// Scaled by a power of four where the sum of the parts would underflow or overflow.
KN_COMPLEX kn_sqrt(kn_complex<T> a)
{
    const T size = kn_larger_part(a);
    if (kn_isinf(a.im))
        return kn_complex<T>{kn_inf_of<T>(), a.im};
    if (kn_isinf(a.re))
        return a.re > 0 ? kn_complex<T>{a.re, a.im == a.im ? kn_copysign((T)0, a.im) : a.im}
                        : kn_complex<T>{a.im == a.im ? (T)0 : a.im, kn_copysign(-a.re, a.im)};
    if (kn_isnan(a))
        return kn_complex<T>{kn_nan_of<T>(), kn_nan_of<T>()};
    if (size == 0)
        return kn_complex<T>{0, a.im};
    const bool low = size < kn_limits<T>::small(), high = size > kn_limits<T>::large();
    const T in = low ? kn_limits<T>::up() * kn_limits<T>::up() : high ? (T)0.0625 : (T)1;
    const T out = low ? kn_limits<T>::down() : high ? (T)4 : (T)1;
    const T x = kn_abs(a.re) * in, y = a.im * in, t = kn_sqrt((x + kn_hypot(x, y)) * (T)0.5);
    const T other = y / (2 * t);
    return a.re >= 0 ? kn_complex<T>{t * out, other * out}
                     : kn_complex<T>{kn_abs(other) * out, kn_copysign(t, a.im) * out};
}

// by * e^x (cos y, sin y), by two factors e^(x / 2) where e^x overflows.
KN_COMPLEX kn_scaled_polar(T x, T y, T by)
{
    const bool far = x > kn_limits<T>::exp_fits();
    const T e = kn_exp(far ? x * (T)0.5 : x), more = far ? e : (T)1;
    return kn_complex<T>{e * by * kn_cos(y) * more, e * by * kn_sin(y) * more};
}
KN_COMPLEX kn_exp(kn_complex<T> a)
{
    if (a.im == 0)
        return kn_complex<T>{kn_exp(a.re), a.im};
    if (!kn_isfinite(a.im)) {
        if (kn_isinf(a.re))
            return a.re < 0 ? kn_complex<T>{0, 0} : kn_complex<T>{a.re, kn_nan_of<T>()};
        return kn_complex<T>{kn_nan_of<T>(), kn_nan_of<T>()};
    }
    return kn_scaled_polar(a.re, a.im, (T)1);
}

// log(abs(a)): near 1 by abs(a)^2 - 1, which abs(a) would lose.
template <class T> __device__ __forceinline__ T kn_log_abs(kn_complex<T> a)
{
    const T x = kn_abs(a.re), y = kn_abs(a.im), most = x > y ? x : y, least = x > y ? y : x;
    if (!(most < kn_limits<T>::large()))
        return kn_isinf(x) || kn_isinf(y)
                   ? kn_inf_of<T>()
                   : kn_log(kn_hypot(x * kn_limits<T>::down(), y * kn_limits<T>::down())) + kn_limits<T>::log_up();
    if (most < kn_limits<T>::small() && most > 0) {
        const T up = kn_limits<T>::up() * kn_limits<T>::up();
        return kn_log(kn_hypot(x * up, y * up)) - 2 * kn_limits<T>::log_up();
    }
    if (most > (T)0.7 && most < (T)1.5)
        return kn_log1p((most - 1) * (most + 1) + least * least) * (T)0.5;
    return kn_log(kn_hypot(x, y));
}
KN_COMPLEX kn_log(kn_complex<T> a) { return kn_complex<T>{kn_log_abs(a), kn_arctan2(a.im, a.re)}; }

KN_COMPLEX kn_integer_power(kn_complex<T> a, int n)
{
    kn_complex<T> result = {1, 0};
    for (; n; n /= 2, a = a * a)
        if (n % 2)
            result = result * a;
    return result;
}
// exp(b log(a)); by multiplication for whole numbers b between -100 and 100.
__device__ __forceinline__ kn_c128 kn_power(kn_c128 a, kn_c128 b)
{
    if (b.re == 0 && b.im == 0)
        return kn_c128{1, 0};
    if (a.re == 0 && a.im == 0)
        return b.re > 0 && b.im == 0 ? kn_c128{0, 0} : kn_c128{KN_NAN, KN_NAN};
    if (b.im == 0 && fabs(b.re) < 100 && b.re == trunc(b.re)) {
        const int n = (int)b.re;
        const kn_c128 power = kn_integer_power(a, n < 0 ? -n : n), one = {1, 0};
        if (n >= 0)
            return power;
        // divided at the end, where the error is least, unless the power is out of range
        return kn_isfinite(power) && power != kn_c128{0, 0} ? one / power : kn_integer_power(one / a, -n);
    }
    return kn_exp(b * kn_log(a));
}
// The exponential makes b log(a), which may be 88, an error: in double.
__device__ __forceinline__ kn_c64 kn_power(kn_c64 a, kn_c64 b)
{
    return kn_cast<kn_c64>(kn_power(kn_cast<kn_c128>(a), kn_cast<kn_c128>(b)));
}

// ---- hyperbolic functions, and circular ones by them ----

KN_COMPLEX kn_sinh(kn_complex<T> a)
{
    const T x = a.re, y = a.im;
    if (y == 0)
        return kn_complex<T>{kn_sinh(x), y};
    if (!kn_isfinite(y))
        return kn_complex<T>{x == 0 || kn_isinf(x) ? x : kn_nan_of<T>(), kn_nan_of<T>()};
    if (kn_abs(x) > kn_limits<T>::exp_fits() && kn_isfinite(x)) {
        const kn_complex<T> e = kn_scaled_polar(kn_abs(x), y, (T)0.5);
        return kn_complex<T>{kn_copysign((T)1, x) * e.re, e.im};
    }
    return kn_complex<T>{x == 0 ? x : kn_sinh(x) * kn_cos(y), kn_cosh(x) * kn_sin(y)};
}
KN_COMPLEX kn_cosh(kn_complex<T> a)
{
    const T x = a.re, y = a.im;
    if (y == 0)
        return kn_complex<T>{kn_cosh(x), x == x ? kn_copysign((T)1, x) * y : y};
    if (!kn_isfinite(y))
        return kn_complex<T>{kn_isinf(x) ? kn_abs(x) : kn_nan_of<T>(), x == 0 ? x : kn_nan_of<T>()};
    if (kn_abs(x) > kn_limits<T>::exp_fits() && kn_isfinite(x)) {
        const kn_complex<T> e = kn_scaled_polar(kn_abs(x), y, (T)0.5);
        return kn_complex<T>{e.re, kn_copysign((T)1, x) * e.im};
    }
    return kn_complex<T>{kn_cosh(x) * kn_cos(y), x == 0 ? x : kn_sinh(x) * kn_sin(y)};
}
// W. Kahan, "Branch cuts for complex elementary functions" (1987).
KN_COMPLEX kn_tanh(kn_complex<T> a)
{
    const T x = a.re, y = a.im;
    if (y == 0)
        return kn_complex<T>{kn_tanh(x), y};
    if (kn_isinf(x))
        return kn_complex<T>{kn_copysign((T)1, x), 0};
    if (!kn_isfinite(y) || x != x)
        return kn_complex<T>{x == 0 ? x : kn_nan_of<T>(), kn_nan_of<T>()};
    if (kn_abs(x) > kn_limits<T>::flat()) {
        const T e = kn_exp(-kn_abs(x));
        return kn_complex<T>{kn_copysign((T)1, x), 4 * kn_sin(y) * kn_cos(y) * e * e};
    }
    const T t = kn_tan(y), beta = 1 + t * t, s = kn_sinh(x), rho = kn_sqrt(1 + s * s), by = 1 + beta * s * s;
    return kn_complex<T>{beta * rho * s / by, t / by};
}
// sin(z) = -i sinh(iz), and so on.
KN_COMPLEX kn_sin(kn_complex<T> a)
{
    const kn_complex<T> w = kn_sinh(kn_complex<T>{-a.im, a.re});
    return kn_complex<T>{w.im, -w.re};
}
KN_COMPLEX kn_cos(kn_complex<T> a) { return kn_cosh(kn_complex<T>{-a.im, a.re}); }
KN_COMPLEX kn_tan(kn_complex<T> a)
{
    const kn_complex<T> w = kn_tanh(kn_complex<T>{-a.im, a.re});
    return kn_complex<T>{w.im, -w.re};
}

// ---- inverses ----

// Of x, y >= 0, after T. E. Hull, T. F. Fairgrieve, P. T. P. Tang, "Implementing the complex arcsine and arccosine
// functions using exception handling" (ACM TOMS 23, 1997): `angle` the real part of arcsin, `rest` that of arccos,
// `height` the imaginary part of both.
template <class T> struct kn_arcs {
    T angle, rest, height;
};
template <class T> __device__ __forceinline__ kn_arcs<T> kn_arcs_of(T x, T y)
{
    const T half_pi = (T)1.5707963267948966, small = kn_limits<T>::small(), large = kn_limits<T>::large();
    if (x > large || y > large) { // the imaginary part is log(2 abs(z))
        const T size = kn_log_abs(kn_complex<T>{x, y}) + (T)0.6931471805599453;
        return kn_arcs<T>{kn_arctan2(x, y), kn_arctan2(y, x), size};
    }
    const T r = kn_hypot(x + 1, y), s = kn_hypot(x - 1, y), a = (r + s) * (T)0.5, b = x / a;
    kn_arcs<T> out;
    if (y < small && x != 1) { // y * y is negligible
        if (x < 1) {
            const T root = kn_sqrt((1 - x) * (1 + x));
            return kn_arcs<T>{kn_arcsin(x), kn_arccos(x), y / root};
        }
        const T root = kn_sqrt((x - 1) * (x + 1));
        return kn_arcs<T>{half_pi, y / root, kn_log1p((x - 1) + root)};
    }
    if (y < small) { // z = 1 + iy
        const T root = kn_sqrt(y);
        return kn_arcs<T>{half_pi - root, root, root};
    }
    if (b <= (T)0.6417) {
        out.angle = kn_arcsin(b);
        out.rest = kn_arccos(b);
    } else {
        const T sum = a + x;
        const T d = x <= 1 ? kn_sqrt((T)0.5 * sum * (y * y / (r + x + 1) + (s + (1 - x))))
                           : y * kn_sqrt((T)0.5 * (sum / (r + x + 1) + sum / (s + (x - 1))));
        out.angle = kn_arctan2(x, d);
        out.rest = kn_arctan2(d, x);
    }
    if (a <= (T)1.5) {
        const T other = x < 1 ? y * y / (s + (1 - x)) : s + (x - 1);
        const T above = (T)0.5 * (y * y / (r + (x + 1)) + other);
        out.height = kn_log1p(above + kn_sqrt(above * (a + 1)));
    } else {
        out.height = kn_log(a + kn_sqrt((a - 1) * (a + 1)));
    }
    return out;
}
KN_COMPLEX kn_arcsin(kn_complex<T> a)
{
    const T x = kn_abs(a.re), y = kn_abs(a.im);
    if (a.re == 0 && a.im != a.im)
        return a;
    if (kn_isinf(x) || kn_isinf(y)) {
        const T re = x != x || y != y ? (kn_isinf(y) ? x : y) : kn_arctan2(x, y);
        return kn_complex<T>{kn_copysign(re, a.re), kn_copysign(kn_inf_of<T>(), a.im)};
    }
    if (kn_isnan(a))
        return kn_complex<T>{kn_nan_of<T>(), kn_nan_of<T>()};
    const kn_arcs<T> arcs = kn_arcs_of(x, y);
    return kn_complex<T>{kn_copysign(arcs.angle, a.re), kn_copysign(arcs.height, a.im)};
}
KN_COMPLEX kn_arccos(kn_complex<T> a)
{
    const T x = kn_abs(a.re), y = kn_abs(a.im), half_pi = (T)1.5707963267948966;
    if (a.re == 0 && a.im != a.im)
        return kn_complex<T>{half_pi, a.im};
    if (kn_isinf(x) || kn_isinf(y)) {
        const T re = x != x || y != y ? kn_nan_of<T>() : kn_arctan2(y, a.re);
        return kn_complex<T>{re, kn_copysign(kn_inf_of<T>(), -a.im)};
    }
    if (kn_isnan(a))
        return kn_complex<T>{kn_nan_of<T>(), kn_nan_of<T>()};
    const kn_arcs<T> arcs = kn_arcs_of(x, y);
    const T re = kn_signbit(a.re) ? 2 * half_pi - arcs.rest : arcs.rest;
    return kn_complex<T>{re, kn_signbit(a.im) ? arcs.height : -arcs.height};
}
// i arcsinh(z) = arcsin(iz), and so on.
KN_COMPLEX kn_arcsinh(kn_complex<T> a)
{
    const kn_complex<T> w = kn_arcsin(kn_complex<T>{a.im, a.re});
    return kn_complex<T>{w.im, w.re};
}
KN_COMPLEX kn_arccosh(kn_complex<T> a)
{
    const kn_complex<T> w = kn_arccos(a);
    return kn_complex<T>{kn_abs(w.im), kn_copysign(w.re, a.im)};
}
KN_COMPLEX kn_arctanh(kn_complex<T> a)
{
    const T half_pi = (T)1.5707963267948966, large = kn_limits<T>::large(), small = kn_limits<T>::small();
    const T x = kn_abs(a.re), y = kn_abs(a.im);
    T re, im;
    if (kn_isinf(x) || kn_isinf(y)) {
        re = 0;
        im = y == y ? half_pi : y;
    } else if (kn_isnan(a)) {
        re = x == 0 ? x : kn_nan_of<T>();
        im = kn_nan_of<T>();
    } else if (x > large || y > large) { // 1 / z is negligible against pi / 2
        re = kn_real(kn_complex<T>{1, 0} / kn_complex<T>{x, y});
        im = half_pi;
    } else if (y < small) { // y * y is negligible
        re = x == 1 ? (T)0.5 * ((T)0.6931471805599453 - kn_log(y))
                    : (T)0.5 * kn_log1p(x < 1 ? 2 * x / (1 - x) : 2 / (x - 1));
        im = x == 1 ? half_pi / 2 : x > 1 ? half_pi : (T)0.5 * kn_arctan2(2 * y, (1 - x) * (1 + x));
    } else {
        re = (T)0.25 * kn_log1p(4 * x / ((1 - x) * (1 - x) + y * y));
        im = (T)0.5 * kn_arctan2(2 * y, (1 - x) * (1 + x) - y * y);
    }
    return kn_complex<T>{kn_copysign(re, a.re), kn_copysign(im, a.im)};
}
KN_COMPLEX kn_arctan(kn_complex<T> a)
{
    const kn_complex<T> w = kn_arctanh(kn_complex<T>{a.im, a.re});
    return kn_complex<T>{w.im, w.re};
}
#undef KN_COMPLEX
#undef KN_COMPLEX_TEST
