/* What the public handles are, for the files of frontend/. */
#ifndef KN_FRONTEND_HANDLES_H
#define KN_FRONTEND_HANDLES_H

#include "frontend/kiln.h"
#include "ir/build.h"
#include "runtime/comm/comm.h"
#include "runtime/program.h"

struct kiln_ctx {
    kn_context *core;
    int users; /* atomic: the application until it destroys it, graphs, programs, kernels */
};

struct kiln_graph {
    kiln_ctx *ctx;
    kn_arena arena;
    kn_graph *core;
    uint32_t serial;    /* what its values carry */
    kiln_status status; /* the first error */
    char message[1024]; /* its text */
};

struct kiln_prog {
    kiln_ctx *ctx;
    kn_program *core;
    kn_arena arena; /* strings of kiln_prog_io() */
    kiln_io *io;
    int io_count;
};

struct kiln_comm {
    kiln_ctx *ctx;
    kn_comm *core;
};

/* What is made from a context keeps it until it is itself destroyed. */
void kn_handle_keep(kiln_ctx *ctx);
void kn_handle_drop(kiln_ctx *ctx);

/* Ends a public call on what is another process's: see kn_context_check(). */
#define KN_CHECK_HERE(ctx)                                                                         \
    do {                                                                                           \
        kn_status kn_here_status_ = kn_context_check((ctx)->core);                                 \
        if (kn_here_status_ != KN_OK)                                                              \
            return (kiln_status)kn_here_status_;                                                   \
    } while (0)

/* A new graph with nothing in it. */
kiln_status kn_handle_graph(kiln_ctx *ctx, kiln_graph **graph);
/* Records `status` with the thread's message as the graph's error unless it has one; returns it. */
kiln_status kn_handle_fail(kiln_graph *g, kn_status status);

/* Calls fn with the caller's arguments as the runtime has them. ARGUMENT for NULL handles. */
typedef kn_status (*kn_with_args)(kiln_prog *prog, const kn_arg *args, int nargs, void *user);
kiln_status kn_handle_with_args(kiln_prog *prog, const kiln_arg *args, int nargs, kn_with_args fn,
                                void *user);
/* The same with an arena of its own, out of whose memory it may run. */
typedef kn_status (*kn_with_scratch)(kiln_prog *prog, const kn_arg *args, int nargs,
                                     kn_arena *scratch, void *user);
kiln_status kn_handle_with_scratch(kiln_prog *prog, const kiln_arg *args, int nargs,
                                   kn_with_scratch fn, void *user);

#endif
