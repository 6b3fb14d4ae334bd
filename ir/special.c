#include "ir/special.h"

#include <math.h>

#ifndef KN_SPECIAL /* emitted programs begin with this text, too */
#define KN_SPECIAL
#endif

static inline double polynomial(const double *c, int n, double x)
{
    double p = c[0];
    for (int i = 1; i < n; i++)
        p = p * x + c[i];
    return p;
}

/* A first value by the polynomials of M. Giles, "Approximating the erfinv function" (GPU Computing Gems, 2012), which
 * reach to the last single-precision number below 1, and from erfc(y) = exp(-y^2) / (y sqrt(pi)) beyond; then
 * Halley's method, with erfc of the tail, so that nothing cancels. */
KN_SPECIAL double kn_erfinv(double x)
{
    static const double centre[] = {2.81022636e-08,  3.43273939e-07, -3.5233877e-06,
                                    -4.39150654e-06, 0.00021858087,  -0.00125372503,
                                    -0.00417768164,  0.246640727,    1.50140941};
    static const double tail[] = {-0.000200214257, 0.000100950558, 0.00134934322,
                                  -0.00367342844,  0.00573950773,  -0.0076224613,
                                  0.00943887047,   1.00167406,     2.83297682};
    const double slope = 1.1283791670955126; /* 2 / sqrt(pi) */
    double a = fabs(x);
    if (!(a < 1))
        return a == 1 ? copysign(INFINITY, x) : NAN;
    if (a < 0x1p-28) /* the next term of the series is x^3 */
        return x / slope;
    double w = -log((1 - a) * (1 + a));
    double y = w > 16  ? sqrt(w + 0.69314718055994531 - 0.5 * log(3.1415926535897932 * w))
               : w < 5 ? a * polynomial(centre, 9, w - 2.5)
                       : a * polynomial(tail, 9, sqrt(w) - 3);
    for (int i = 0; i < 3; i++) {
        double excess = a < 0.5 ? erf(y) - a : (1 - a) - erfc(y);
        double step = excess / (slope * exp(-y * y));
        y -= step / (1 + y * step);
    }
    return copysign(y, x);
}

KN_SPECIAL double kn_lgamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

KN_SPECIAL double kn_scalb(double a, double n)
{
    if (n != n)
        return n;
    return ldexp(a, n > 5000 ? 5000 : n < -5000 ? -5000 : (int)n);
}
