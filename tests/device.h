/* For tests of a device through the public API: whatever fails ends the test with kiln's message. */
#ifndef KN_TESTS_DEVICE_H
#define KN_TESTS_DEVICE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "frontend/kiln.h"

static inline void good(kiln_status status)
{
    if (status != KILN_OK)
        fail_msg("%s", kiln_last_error());
}

static inline kiln_ctx *open_device(const char *device)
{
    kiln_config config;
    kiln_ctx *ctx;
    kiln_config_init(&config);
    config.device = device;
    good(kiln_ctx_create(&config, &ctx));
    return ctx;
}

static inline kiln_prog *compile_with(kiln_ctx *ctx, const char *text, const kiln_options *options)
{
    kiln_graph *graph;
    kiln_prog *prog;
    good(kiln_parse(ctx, text, NULL, &graph));
    good(kiln_compile(graph, options, &prog));
    kiln_graph_destroy(graph);
    return prog;
}

static inline kiln_prog *compile(kiln_ctx *ctx, const char *text)
{
    return compile_with(ctx, text, NULL);
}

#endif
