/* A run in the floating-point mode of a hostile caller (tests/hostile.c), for tests that compute what they expect. */
#ifndef KN_TESTS_HOSTILE_H
#define KN_TESTS_HOSTILE_H

#include <stdlib.h>

#include "frontend/kiln.h"
#include "tests/fpmode.h"

static inline kiln_status run_hostile(kiln_prog *prog, const kiln_arg *args, int nargs)
{
    fenv_t usual;
    fegetenv(&usual);
    if (getenv("KILN_HOSTILE")) {
        fesetround(FE_UPWARD);
        flush_to_zero();
    }
    kiln_status status = kiln_run(prog, NULL, args, nargs);
    fesetenv(&usual);
    return status;
}

#endif
