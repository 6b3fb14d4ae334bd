/* Status codes and the calling thread's last error message.
 *
 * Every function that can fail returns a kn_status; the message that goes with a failure is written
 * once, where the failure is found, by kn_fail(). The message lives in thread-local storage and stays
 * valid until the thread's next failure. */
#ifndef KN_BASE_STATUS_H
#define KN_BASE_STATUS_H

#include <stddef.h>

/*        name      what a user is told when there is no better message */
#define KN_STATUS_TABLE(X)                                                                         \
    X(OK, "no error")                                                                              \
    X(ARGUMENT, "invalid argument")                                                                \
    X(SYNTAX, "syntax error")                                                                      \
    X(TYPE, "type error")                                                                          \
    X(SHAPE, "shape error")                                                                        \
    X(MEMORY, "out of memory")                                                                     \
    X(IO, "input/output error")                                                                    \
    X(DEVICE, "no such device")                                                                    \
    X(COMPILE, "kernel compilation failed")                                                        \
    X(RUN, "run failed")                                                                           \
    X(INTERNAL, "internal error")

typedef enum kn_status {
#define X(name, text) KN_##name,
    KN_STATUS_TABLE(X)
#undef X
        KN_STATUS_COUNT
} kn_status;

/* Sets the thread's message and returns `status`, so that callers write `return kn_fail(...)`. */
kn_status kn_fail(kn_status status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Puts `fmt` in front of the thread's message: outer layers add context. Returns `status`. */
kn_status kn_fail_prefix(kn_status status, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

const char *kn_last_error(void);
/* The status that came with the thread's message; KN_OK after kn_clear_error(). */
kn_status kn_last_status(void);
void kn_clear_error(void);
const char *kn_status_text(kn_status status);

#define KN_TRY(expr)                                                                               \
    do {                                                                                           \
        kn_status kn_try_status_ = (expr);                                                         \
        if (kn_try_status_ != KN_OK)                                                               \
            return kn_try_status_;                                                                 \
    } while (0)

#endif
