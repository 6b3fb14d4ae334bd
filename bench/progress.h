/* A line on a terminal's standard error that says how far something is, for what takes long; another takes its place a
 * moment later. Nothing is written where standard error is no terminal. */
#ifndef KN_BENCH_PROGRESS_H
#define KN_BENCH_PROGRESS_H

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

/* NULL: nothing, as before anything else is printed. */
__attribute__((format(printf, 1, 2))) static inline void progress(const char *fmt, ...)
{
    enum { MOMENT = 200000000 }; /* ns */
    static uint64_t last;
    uint64_t now = kn_clock_ns();
    if (!isatty(STDERR_FILENO) || (fmt && last && now - last < MOMENT))
        return;
    last = fmt ? now : 0;
    fputs("\r\033[K", stderr);
    if (fmt) {
        va_list ap;
        va_start(ap, fmt);
        vfprintf(stderr, fmt, ap);
        va_end(ap);
    }
    fflush(stderr);
}

#endif
