/* explain: what would run, in words, as JSON, or as the text of one stage. */
#ifndef KN_RUNTIME_EXPLAIN_H
#define KN_RUNTIME_EXPLAIN_H

#include "runtime/program.h"

typedef struct kn_explaining {
    /* NULL for words; "json"; "html", a page; or a stage's text: "graph", "dot", "ir", "schedule", "c", "cuda", "ptx",
     * "resources" */
    const char *stage;
    const char *arch; /* "sm_90", ...; NULL: the context's device, or an sm_90 for the reference */
    bool verbose;     /* steps that changed nothing too */
} kn_explaining;

/* Needs no GPU. The text goes to `t`. */
kn_status kn_explain(kn_program *prog, const kn_arg *args, int nargs, const kn_explaining *what,
                     kn_text *t);

#endif
