/* Writing JSON. */
#ifndef KN_CLI_JSON_H
#define KN_CLI_JSON_H

#include <stdio.h>

/* `text` as a string, quotes included. */
void kn_json_string(FILE *f, const char *text);
/* A number that reads back as the same double; null where JSON has none (infinities and NaN). */
void kn_json_number(FILE *f, double v);

#endif
