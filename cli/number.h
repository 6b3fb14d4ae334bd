/* Numbers as text, with a decimal point whatever the locale of the process has: as base/number.h does it for the
 * library, which programs do not see. tests/numbers.sh holds that all of the command does it by these. */
#ifndef KN_CLI_NUMBER_H
#define KN_CLI_NUMBER_H

#include <stdio.h>

/* As snprintf and fprintf do. */
int kn_cli_format(char *to, size_t size, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void kn_cli_print(FILE *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* As strtod and strtof do, of a text that begins with a number. */
double kn_cli_read(const char *text);
float kn_cli_read_f32(const char *text);

#endif
