/* For tests that hold programs to the reference interpreter: whatever differs ends the test, with what was checked. */
#ifndef KN_TESTS_DIFFERENTIAL_CHECK_H
#define KN_TESTS_DIFFERENTIAL_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/differential/program.h"
#include "tests/effort.h"

static inline kn_context *open_context(const char *device)
{
    kn_context *ctx;
    if (kn_context_open(&(kn_context_config){.device = device}, &ctx) != KN_OK)
        fail_msg("%s", kn_last_error());
    return ctx;
}

/* What the context's device computes is what the reference does; the caller says of what. */
static inline void must_agree(const program *p, kn_context *ctx, const kn_program_options *o,
                              const char *what, tally *seen)
{
    kn_text why = kn_text_new(p->arena);
    if (!program_check(p, ctx, o, &why, seen))
        fail_msg("%s, KILN_SEED=%llu, fusion %s, schedule %s: %s", what,
                 (unsigned long long)p->seed, o->fusion ? "on" : "off",
                 o->schedule ? o->schedule : "chosen", kn_text_str(&why));
}

/* A test that compares nothing finds nothing: nine of ten elements had a bound. */
static inline void must_have_compared(const tally *seen)
{
    assert_true(seen->compared > 0 && seen->skipped * 10 < seen->compared);
}

#endif
