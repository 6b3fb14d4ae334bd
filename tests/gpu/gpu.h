/* For tests of what only a GPU does: its context, or the test is skipped. */
#ifndef KN_TESTS_GPU_GPU_H
#define KN_TESTS_GPU_GPU_H

#include <stdbool.h>

#include "tests/device.h"

static bool skipped;
static kiln_ctx *ctx;

static inline void skip_gpu(const char *why)
{
    print_message("%s\n", why);
    skipped = true;
    skip();
}

static inline void open_gpu(void)
{
    kiln_config c;
    kiln_config_init(&c);
    c.device = "cuda";
    if (kiln_ctx_create(&c, &ctx) != KILN_OK)
        skip_gpu(kiln_last_error());
}

#endif
