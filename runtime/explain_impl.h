/* Between the files of explain. */
#ifndef KN_RUNTIME_EXPLAIN_IMPL_H
#define KN_RUNTIME_EXPLAIN_IMPL_H

#include "codegen/model/predict.h"
#include "runtime/explain.h"
#include "runtime/tune.h"

/* A graph pass, or a step of planning. */
typedef struct kn_explained_step {
    const char *name, *what;
    int before, after; /* nodes; 0: no graph pass */
    kn_census left;
    bool changed; /* the graph; for steps of planning, what they left */
} kn_explained_step;
typedef KN_VEC(kn_explained_step) kn_explained_steps;

/* What is being explained. */
typedef struct subject {
    kn_program *prog;
    kn_plan *plan;
    kn_target target;
    kn_plan *unfused; /* the same as one kernel an operation */
    kn_text *t;
    bool verbose; /* steps that changed nothing too */
    kn_explained_steps steps;
    const char *assumed;
    kn_refusals refusals;
    kn_tuning *tuning; /* NULL: the program measures nothing for this target */
    bool measured;     /* else the candidates are those that a run would try, without times */
} subject;

/* A CPU has neither warps and blocks nor vectors that its kernels would depend on. */
static inline bool kn_explains_gpu(const subject *s) { return s->target.sm != 0; }

/* Lines of text, each once. */
typedef struct list {
    kn_arena *a;
    KN_VEC(const char *) lines;
} list;

/* explain_facts.c: results wider than their operands; sums that search; what the program needs to have a meaning; what
 * the kernels rely on. One line each. */
list kn_explain_wider(const subject *s);
list kn_explain_searches(const subject *s);
list kn_explain_facts(const subject *s);
list kn_explain_needs(const subject *s);

/* explain_steps.c: what s->steps are, graph passes first: those that changed something; if verbose, all. */
kn_explained_steps kn_explain_steps(const subject *s);
void kn_explain_put_steps(const subject *s);
void kn_explain_put_bytes(kn_text *t, int64_t n);

/* explain_lines.c: the user's text, if there is one, by its lines. */
typedef struct kn_text_lines {
    int n;              /* of them, from number 1 on; 0: there is no text */
    const char **begin; /* per line */
} kn_text_lines;
kn_text_lines kn_explain_lines(const subject *s);
/* The line of what was made at `loc`, or 0: what becomes of parameters before they are used has no line of its own. */
int kn_explain_line(const subject *s, const kn_text_lines *lines, kn_loc loc);

/* explain_nests.c: the loop nests by what they compute, and why there is more than one; and the merges that can be
 * undone, each by the two operations whose loop nests became one. */
void kn_explain_nests(const subject *s);
list kn_explain_merges(const subject *s);

/* explain_again.c: arrays that are read again, and temporaries of at least an eighth of the largest argument: each with
 * what stands in the way. */
list kn_explain_again(const subject *s);

/* explain_phase.c: the kernels; phase p of one, without times where `time` is NULL. */
void kn_explain_kernels(const subject *s);
void kn_explain_phase(const subject *s, const kn_kernel *k, int p, const kn_time *time);
/* An array by the user's name for it, and an axis by its name, with its number where another has the same. */
const char *kn_explain_array(const subject *s, const kn_buf *b);
const char *kn_explain_axis(const subject *s, const kn_phase *ph, int axis);

/* explain_tune.c: s->plan, as a run would have it, and s->tuning. own: the target is the program's own device. */
kn_status kn_explain_plan(subject *s, const kn_arg *args, int nargs, bool own);
/* What was measured, in words; in JSON. Nothing where the program does not measure. */
void kn_explain_tuning(const subject *s);
void kn_explain_tuning_json(const subject *s);

/* explain_words.c, explain_json.c, explain_page.c */
void kn_explain_words(const subject *s);
void kn_explain_json(const subject *s);
void kn_explain_page(const subject *s);

#endif
