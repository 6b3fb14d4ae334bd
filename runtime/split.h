/* A program in two, where what the second reads is chosen by predicted time. */
#ifndef KN_RUNTIME_SPLIT_H
#define KN_RUNTIME_SPLIT_H

#include "ir/split.h"
#include "runtime/program.h"

typedef struct kn_splitting {
    const char *late; /* the inputs that only the second part knows, with commas */
    const char *save; /* the values to save, by their names, with commas; "": none; NULL: chosen */
    const char *arch; /* as in kn_target_asked() */
    const kn_arg *args; /* of the whole program; what is missing is assumed */
    int nargs;
} kn_splitting;

/* The parts of g, which may be changed and must outlive them; what was chosen stands in their `split`. */
kn_status kn_split_choose(kn_context *ctx, kn_graph *g, const kn_splitting *how, kn_graph *part[2]);

#endif
