#include "ir/complex.h"

#include <math.h>

static kn_complex smith(kn_complex a, kn_complex b)
{
    const double ar = creal(a), ai = cimag(a), br = creal(b), bi = cimag(b);
    if (br == 0 && bi == 0)
        return CMPLX(ar / fabs(br), ai / fabs(br));
    if (fabs(br) >= fabs(bi)) {
        const double ratio = bi / br, scale = 1 / (br + bi * ratio);
        return CMPLX((ar + ai * ratio) * scale, (ai - ar * ratio) * scale);
    }
    const double ratio = br / bi, scale = 1 / (bi + br * ratio);
    return CMPLX((ar * ratio + ai) * scale, (ai * ratio - ar) * scale);
}

static double larger_part(kn_complex a) { return fmax(fabs(creal(a)), fabs(cimag(a))); }

/* a * 2^e; once is not enough for the farthest e. */
static kn_complex scaled(kn_complex a, int e)
{
    return CMPLX(scalbn(creal(a), e), scalbn(cimag(a), e));
}

kn_complex kn_complex_div(kn_complex a, kn_complex b)
{
    bool finite =
        isfinite(creal(a)) && isfinite(cimag(a)) && isfinite(creal(b)) && isfinite(cimag(b));
    if (!finite || b == 0)
        return smith(a, b);
    if (a == 0)
        return a;
    const int up = ilogb(larger_part(a)), down = ilogb(larger_part(b));
    a = scaled(a, -up);
    b = scaled(b, -down);
    const double ar = creal(a), ai = cimag(a), br = creal(b), bi = cimag(b);
    const double square = br * br + bi * bi;
    return scaled(CMPLX((ar * br + ai * bi) / square, (ai * br - ar * bi) / square), up - down);
}

static kn_complex whole_power(kn_complex a, int n)
{
    kn_complex result = 1;
    for (; n; n /= 2, a = kn_complex_mul(a, a))
        if (n % 2)
            result = kn_complex_mul(result, a);
    return result;
}

/* Divided at the end, where the error is least, unless the power is out of range. */
static kn_complex inverse_power(kn_complex a, int n)
{
    const kn_complex power = whole_power(a, n);
    return power != 0 && isfinite(cabs(power)) ? kn_complex_div(1, power)
                                               : whole_power(kn_complex_div(1, a), n);
}

kn_complex kn_complex_pow(kn_complex a, kn_complex b)
{
    const double n = creal(b);
    if (b == 0)
        return 1;
    if (a == 0)
        return n > 0 && cimag(b) == 0 ? 0 : CMPLX(NAN, NAN);
    if (cimag(b) == 0 && fabs(n) < 100 && n == trunc(n))
        return n < 0 ? inverse_power(a, (int)-n) : whole_power(a, (int)n);
    return cexp(kn_complex_mul(b, clog(a)));
}
