/* explain: what would run, in words, as JSON, or as the text of one stage. */
#ifndef KN_RUNTIME_EXPLAIN_H
#define KN_RUNTIME_EXPLAIN_H

#include "runtime/program.h"

typedef struct kn_explaining {
    const char
        *stage; /* NULL for words, "json", "graph", "ir", "schedule", "cuda", "ptx" or "dot" */
    const char
        *arch; /* "sm_90", or NULL for the context's device, which is an sm_90 when it is no GPU */
    bool verbose; /* steps that changed nothing too */
} kn_explaining;

/* Needs no GPU. The text goes to `t`. */
kn_status kn_explain(kn_program *prog, const kn_arg *args, int nargs, const kn_explaining *what,
                     kn_text *t);

#endif
