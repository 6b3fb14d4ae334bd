/* What the benchmarks have in common: the clock in milliseconds, and an end at the first failure. */
#ifndef KN_BENCH_COMMON_H
#define KN_BENCH_COMMON_H

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "frontend/kiln.h"

static inline double now_ms(void) { return (double)kn_clock_ns() * 1e-6; }

static inline void check(kiln_status status)
{
    if (status == KILN_OK)
        return;
    fprintf(stderr, "%s\n", kiln_last_error());
    exit(3);
}

/* NVRTC keeps what it compiled in the driver's cache from version 12.9 on: a second process would measure that. */
static inline void without_compilers_cache(void) { setenv("CUDA_CACHE_DISABLE", "1", 1); }

#endif
