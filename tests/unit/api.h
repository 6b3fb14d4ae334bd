/* For tests of the public API: a context on the CPU, and failures with their messages. */
#ifndef KN_TESTS_UNIT_API_H
#define KN_TESTS_UNIT_API_H

#include <stdlib.h>
#include <string.h>

#include "tests/device.h"

static kiln_ctx *ctx;

static inline int open_cpu(void **state)
{
    (void)state;
    kiln_config c;
    kiln_config_init(&c);
    c.device = "cpu";
    c.threads = 2;
    return kiln_ctx_create(&c, &ctx) != KILN_OK;
}

static inline int close_cpu(void **state)
{
    (void)state;
    kiln_ctx_destroy(ctx);
    return 0;
}

/* The call failed so, and its message has `text` in it. */
static inline void expect(kiln_status got, kiln_status want, const char *text)
{
    if (got != want || !strstr(kiln_last_error(), text))
        fail_msg("status %d (%s), wanted %d with \"%s\"", (int)got, kiln_last_error(), (int)want,
                 text);
}

static inline kiln_graph *new_graph(void)
{
    kiln_graph *g = NULL;
    assert_int_equal(kiln_graph_create(ctx, &g), KILN_OK);
    return g;
}

/* y = x + b for x: f32[N, C], b: f32[C] */
static inline kiln_prog *add_program(void)
{
    kiln_graph *g = new_graph();
    kiln_val x = kiln_input(g, "x", KILN_F32, "N, C"), b = kiln_input(g, "b", KILN_F32, "C");
    kiln_prog *p = NULL;
    assert_int_equal(kiln_output(g, "y", kiln_add(g, x, b)), KILN_OK);
    assert_int_equal(kiln_compile(g, NULL, &p), KILN_OK);
    kiln_graph_destroy(g);
    return p;
}

#define test(name) cmocka_unit_test_setup_teardown(name, open_cpu, close_cpu)

#endif
