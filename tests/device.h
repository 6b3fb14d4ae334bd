/* For tests of a device through the public API: whatever fails ends the test with kiln's message. */
#ifndef KN_TESTS_DEVICE_H
#define KN_TESTS_DEVICE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

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

/* Ends the test where there is no such device. */
static inline void skip_without(const char *device)
{
    kiln_config config;
    kiln_ctx *ctx;
    kiln_config_init(&config);
    config.device = device;
    if (kiln_ctx_create(&config, &ctx) != KILN_OK)
        skip();
    kiln_ctx_destroy(ctx);
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

/* y, an expression of x: f32[N, C]. */
static inline kiln_prog *compile_expression(kiln_ctx *ctx, const char *expression,
                                            const kiln_options *options)
{
    char text[256];
    snprintf(text, sizeof text, "def f(x: f32[N, C]):\n    y = %s\n    return y\n", expression);
    return compile_with(ctx, text, options);
}

static inline kiln_stats stats_of(kiln_ctx *ctx)
{
    kiln_stats s;
    kiln_stats_init(&s);
    good(kiln_ctx_stats(ctx, &s));
    return s;
}

/* Memory of the context's device for n floats each: x, of small numbers, and y. */
static inline kiln_status make_vectors(kiln_ctx *ctx, int n, void **x, void **y)
{
    const size_t bytes = (size_t)n * sizeof(float);
    float *host = malloc(bytes);
    for (int i = 0; i < n; i++)
        host[i] = (float)(i * 7 % 31) * 0.25f;
    kiln_status status = kiln_alloc(ctx, bytes, x);
    if (status == KILN_OK)
        status = kiln_alloc(ctx, bytes, y);
    if (status == KILN_OK)
        status = kiln_upload(ctx, *x, host, bytes);
    free(host);
    return status;
}

/* y of x, both of n floats. */
static inline kiln_status run_vector(kiln_prog *p, void *stream, void *x, void *y, int64_t n)
{
    const kiln_arg args[] = {{"x", x, KILN_F32, 1, &n, NULL}, {"y", y, KILN_F32, 1, &n, NULL}};
    return kiln_run(p, stream, args, 2);
}

static inline kiln_prog *compile(kiln_ctx *ctx, const char *text)
{
    return compile_with(ctx, text, NULL);
}

#endif
