/* Functions of real numbers that the C library lacks, or has otherwise. */
#ifndef KN_IR_SPECIAL_H
#define KN_IR_SPECIAL_H

/* The inverse of erf: infinite at -1 and 1, NaN beyond. Within 4 ULP. */
double kn_erfinv(double x);
/* log(abs(gamma(x))), without the C library's global variable for the sign. */
double kn_lgamma(double x);
/* a * 2^n for a whole number n of any size; NaN of a NaN. */
double kn_scalb(double a, double n);

#endif
