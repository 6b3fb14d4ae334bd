/* Examples of every call, which the reference shows with what they print: each function here that takes a context is
 * one, with the comment above it. docs/calls/expected.txt has what they print. */
#ifndef KILN_CALLS_H
#define KILN_CALLS_H

#include <stdio.h>
#include <stdlib.h>

#include "frontend/kiln.h"

/* Ends the program where a call failed. */
static inline void check(kiln_status status)
{
    if (status == KILN_OK)
        return;
    fprintf(stderr, "%s: %s\n", kiln_status_text(status), kiln_last_error());
    exit(1);
}

/* Compiles a graph, runs it with these inputs, and prints its outputs. */
void run_and_show(kiln_ctx *ctx, kiln_graph *g, const kiln_arg *inputs, int n);

#define EXAMPLE(name) void name(kiln_ctx *ctx);
#include "docs/calls/calls.def"
#undef EXAMPLE

#endif
