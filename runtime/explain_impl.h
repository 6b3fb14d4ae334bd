/* Between the files of explain. */
#ifndef KN_RUNTIME_EXPLAIN_IMPL_H
#define KN_RUNTIME_EXPLAIN_IMPL_H

#include "runtime/explain.h"

/* What is being explained. */
typedef struct subject {
    kn_program *prog;
    kn_plan *plan;
    kn_target target;
    kn_text *t;
    const char *assumed;
    kn_refusals refusals;
} subject;

/* Lines of text, each once. */
typedef struct list {
    kn_arena *a;
    KN_VEC(const char *) lines;
} list;

/* explain.c: what the kernels rely on, one line each. */
list kn_explain_constraints(const subject *s);
/* What a kept value is called: its array, the user's name or its operation. */
const char *kn_explain_value(const kn_kernel *k, const kn_value *v);
/* Accesses of a phase by number: loads, then stores; NULL for values that are no loads. */
const kn_access *kn_explain_access(const kn_phase *ph, int i);

/* explain_json.c */
void kn_explain_json(const subject *s);

#endif
