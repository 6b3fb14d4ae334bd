/* Between the files of explain. */
#ifndef KN_RUNTIME_EXPLAIN_IMPL_H
#define KN_RUNTIME_EXPLAIN_IMPL_H

#include "runtime/explain.h"
#include "runtime/tune.h"

/* What is being explained. */
typedef struct subject {
    kn_program *prog;
    kn_plan *plan;
    kn_target target;
    double unfused; /* ns that it is predicted to take as one kernel an operation */
    kn_text *t;
    const char *assumed;
    kn_refusals refusals;
    kn_tuning *tuning; /* NULL: the program measures nothing for this target */
    bool measured;     /* else the candidates are those that a run would try, without times */
} subject;

/* Lines of text, each once. */
typedef struct list {
    kn_arena *a;
    KN_VEC(const char *) lines;
} list;

/* explain.c: what the user's text has that is wider than its operands, and what the kernels rely on, one line each. */
list kn_explain_wider(const subject *s);
list kn_explain_constraints(const subject *s);
/* What a kept value is called: its array, the user's name or its operation. */
const char *kn_explain_value(const kn_kernel *k, const kn_value *v);

/* explain_tune.c: s->plan, as a run would have it, and s->tuning. own: the target is the program's own device. */
kn_status kn_explain_plan(subject *s, const kn_arg *args, int nargs, bool own, kn_text *notes);
/* What was measured, in words; in JSON. Nothing where the program does not measure. */
void kn_explain_tuning(const subject *s);
void kn_explain_tuning_json(const subject *s);

/* explain_json.c */
void kn_explain_json(const subject *s);

#endif
