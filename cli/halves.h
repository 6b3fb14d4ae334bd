/* A session's program in two, as kiln_split() divides it: --split. */
#ifndef KN_CLI_HALVES_H
#define KN_CLI_HALVES_H

#include "cli/session.h"

typedef struct kn_halves {
    kiln_graph *graph[2]; /* forward, backward */
    kiln_prog *prog[2];
    kiln_arg *args[2]; /* of each: what the session has, and the saved values */
    int nargs[2];
    kiln_arg *saved; /* what the forward gives for the backward */
    int nsaved;
    int64_t (*shapes)[KILN_MAX_RANK]; /* of these */
} kn_halves;

/* Divides s->graph, and compiles both. What is saved is chosen for s->args, or is what --save says. */
int kn_halves_make(kn_halves *h, kn_session *s, const kn_args *args, const char *arch, kn_err *e);
/* Gathers the arguments of both, as far as they are known. With `memory` what is saved gets some. */
int kn_halves_bind(kn_halves *h, const kn_session *s, bool memory, kn_err *e);
void kn_halves_finish(kn_halves *h, const kn_session *s);

#endif
