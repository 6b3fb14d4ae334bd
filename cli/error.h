/* How the command fails: a function that can fail returns an exit status and leaves one message.
 * main() prints it; nothing else does. */
#ifndef KN_CLI_ERROR_H
#define KN_CLI_ERROR_H

#include "frontend/kiln.h"

enum {
    KN_EXIT_OK = 0,
    KN_EXIT_USAGE = 2, /* what was asked for has no meaning: usage, parse, type, shape, argument */
    KN_EXIT_RUN = 3    /* it has, but could not be done: device, compile, run, output, memory */
};

typedef struct kn_err {
    char text[4096];
} kn_err;

/* Each writes the message and returns its exit status. */
int kn_usage_error(kn_err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int kn_run_error(kn_err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The library's last message; KN_EXIT_OK, untouched, for KILN_OK. */
int kn_lib_error(kn_err *e, kiln_status status);

#endif
