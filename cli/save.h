/* Output files: all of a set or none. */
#ifndef KN_CLI_SAVE_H
#define KN_CLI_SAVE_H

#include "cli/array.h"

/* Writes arrays[i] as DIR/<names[i]>.npy. Each is written to a temporary file in `dir` first; they
 * get their names when all are complete. `dir` is made if it does not exist. */
int kn_save(const char *dir, const char *const *names, const kn_cli_array *const *arrays, int n,
            kn_err *e);
/* The same, or where `dir` is NULL a line about each on standard output. */
int kn_deliver(const char *dir, const char *const *names, const kn_cli_array *const *arrays, int n,
               kn_err *e);

#endif
