/* Measured schedules: what options.autotune of a program does.
 *
 *   arguments -> the planner's own plan -> its class -> the schedule of all arguments of the class, as text
 *                                                   known to the program | in the disk cache | measured now
 *
 * A class is the structure of the plan's kernels, which is the program and all that they rely on, and the extents of
 * their axes, as they are collapsed, rounded up to powers of two. Of the plans that forcing a choice or two gives, the
 * few that are predicted to be the quickest are compiled and run on stand-ins of the first such arguments, the
 * planner's own first, until the budget is used up; another one is taken when it is quicker by a margin that noise does
 * not reach.
 *
 * What is learnt of a candidate is its text (codegen/kir/force.h) and its time: the text is what is kept, shown, given
 * to options.schedule, and bound for other sizes of the class; those for which it does not bind get the planner's own.
 *
 * Whatever goes wrong, the planner's own plan is taken and there is no error. Threads that meet the same class wait for
 * the one that measures. A program learns as many classes as it may have kinds of arguments (KN_MAX_KINDS), so it
 * compiles at most KN_MOST_TRIALS times as many kernels for them. */
#ifndef KN_RUNTIME_TUNE_H
#define KN_RUNTIME_TUNE_H

#include "runtime/variant.h"

enum { KN_MOST_TRIALS = 6 };

typedef struct kn_tune_trial {
    kn_force force;
    double us; /* median device time of a run with cold caches */
} kn_tune_trial;

/* What was learnt of a class. */
typedef struct kn_tuning {
    int winner, n;
    int left;                             /* candidates that the budget did not reach */
    int budget_ms;                        /* that there was */
    kn_tune_trial trials[KN_MOST_TRIALS]; /* the planner's own first */
} kn_tuning;

/* Arguments that a program has no variant for yet. */
typedef struct kn_newcomer {
    void *stream;
    const kn_arg *args;
    int nargs;
    const kn_inputs *in;
    const kn_binding *binding;
} kn_newcomer;

/* What to force for these arguments: what autotune has learnt, or the program's own forces. */
kn_force kn_tune(kn_program *p, const kn_newcomer *who);

/* What is known of the class of a plan, the planner's own for the device of the program, without measuring anything;
 * texts in `a`, or the program's. False if nothing is. */
bool kn_tune_recall(kn_arena *a, kn_program *p, const kn_plan *plan, kn_tuning *out);
/* Does the program measure on this device at all? */
bool kn_tunes(const kn_program *p);

void kn_tunings_init(kn_program *p);
void kn_tunings_finish(kn_program *p);

/* ---- between the files: tune_keep.c ---- */

/* The class of a plan, as text. */
const char *kn_tuning_class(kn_arena *a, const kn_program *p, const kn_plan *plan);
/* From and to the disk cache. False when it is not there, or there is none. Memory in `a`. */
bool kn_tuning_find(kn_arena *a, kn_program *p, const char *class, kn_tuning *out);
void kn_tuning_store(kn_arena *a, kn_program *p, const char *class, const kn_tuning *t,
                     uint64_t cost_ns);

#endif
