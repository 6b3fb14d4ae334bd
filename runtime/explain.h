/* explain: what would run, in words, as JSON, or as the text of one stage. */
#ifndef KN_RUNTIME_EXPLAIN_H
#define KN_RUNTIME_EXPLAIN_H

#include "runtime/program.h"

/* stage: NULL for words, "json", "graph", "ir", "schedule", "cuda", "ptx" or "dot". arch: "sm_90" or
 * NULL for the context's device (sm_90 when that is no GPU). Needs no GPU. The text goes to `t`. */
kn_status kn_explain(kn_program *prog, const kn_arg *args, int nargs, const char *stage,
                     const char *arch, kn_text *t);

#endif
