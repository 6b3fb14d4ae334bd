/* Complex numbers in double: what the reference interpreter and the CPU device have where C's own arithmetic or
 * <complex.h> is not NumPy's. Exponentials, logarithms, roots, circular and hyperbolic functions and their inverses are
 * the C library's, whose branch cuts are those of C17, Annex G, and NumPy's. */
#ifndef KN_IR_COMPLEX_H
#define KN_IR_COMPLEX_H

#include <complex.h>
#include <stdbool.h>

#ifndef CMPLX /* glibc has them for GCC only */
#define CMPLX(x, y) __builtin_complex((double)(x), (double)(y))
#define CMPLXF(x, y) __builtin_complex((float)(x), (float)(y))
#define CMPLXL(x, y) __builtin_complex((long double)(x), (long double)(y))
#endif

typedef double _Complex kn_complex;

/* By parts, without Annex G's search for infinities. */
static inline kn_complex kn_complex_mul(kn_complex a, kn_complex b)
{
    const double ar = creal(a), ai = cimag(a), br = creal(b), bi = cimag(b);
    return CMPLX(ar * br - ai * bi, ar * bi + ai * br);
}

/* Operands are scaled by powers of two, so that nothing overflows or underflows on the way; by zero, and of what is not
 * finite, R. L. Smith's algorithm (CACM 5, 1962, algorithm 116), whose infinities and NaN are NumPy's. */
kn_complex kn_complex_div(kn_complex a, kn_complex b);
/* exp(b log(a)); by multiplication for whole numbers b between -100 and 100; 1 for b == 0. 0 to a number that is not
 * positive is NaN. */
kn_complex kn_complex_pow(kn_complex a, kn_complex b);

/* The order of NumPy: by the real part, then by the imaginary one; none with a NaN, but for numbers of equal real part,
 * where the imaginary parts decide. */
static inline bool kn_complex_less(kn_complex a, kn_complex b)
{
    const double ai = cimag(a), bi = cimag(b);
    return creal(a) == creal(b) ? ai < bi : creal(a) < creal(b) && ai == ai && bi == bi;
}

static inline bool kn_complex_less_equal(kn_complex a, kn_complex b)
{
    return kn_complex_less(a, b) || a == b;
}

/* A NaN on either side wins. */
static inline kn_complex kn_complex_minimum(kn_complex a, kn_complex b)
{
    return a != a || kn_complex_less_equal(a, b) ? a : b;
}

static inline kn_complex kn_complex_maximum(kn_complex a, kn_complex b)
{
    return a != a || kn_complex_less_equal(b, a) ? a : b;
}

#endif
