/* Numbers as text, always with a decimal point: the application's locale must not matter. The library reads and writes
 * numbers by these functions only (tests/numbers.sh). */
#ifndef KN_BASE_NUMBER_H
#define KN_BASE_NUMBER_H

#include <stdarg.h>
#include <stddef.h>

/* As vsnprintf does. */
int kn_format(char *to, size_t size, const char *fmt, va_list ap);
/* As strtod does, of a text that is a number and nothing else. */
double kn_read_float(const char *text);

#endif
