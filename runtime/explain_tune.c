/* What autotune has learnt of the arguments that are being explained, or would try. */
#include "codegen/plan/candidates.h"
#include "runtime/explain_impl.h"

static kn_status list_candidates(const subject *s, const kn_problem *problem)
{
    kn_tuning *t = s->tuning;
    kn_candidate found[KN_MOST_TRIALS];
    KN_TRY(kn_candidates_find(problem, s->t->arena, &s->prog->ctx->from, KN_MOST_TRIALS, found,
                              &t->n));
    for (int i = 0; i < t->n; i++)
        t->trials[i].force = found[i].force;
    return KN_OK;
}

static kn_status plan_unfused(subject *s, kn_problem problem)
{
    problem.fusion = false;
    problem.force.text = NULL; /* it is of the fused kernels */
    return kn_plan_make(s->t->arena, &problem, &s->unfused);
}

kn_status kn_explain_plan(subject *s, const kn_arg *args, int nargs, bool own)
{
    kn_program *p = s->prog;
    kn_arena *a = s->t->arena;
    kn_binding b;
    KN_TRY(kn_bind(a, p->optimised, args, nargs, KN_BIND_ASSUME, &b));
    s->assumed = b.assumed;
    kn_problem problem = kn_program_problem(p, &b, &s->target);
    problem.explained = true;
    KN_TRY(kn_plan_make(a, &problem, &s->plan));
    KN_TRY(plan_unfused(s, problem));
    if (!own || !kn_tunes(p))
        return KN_OK;
    s->tuning = KN_NEW(a, kn_tuning);
    s->measured = kn_tune_recall(a, p, s->plan, s->tuning);
    if (!s->measured)
        return list_candidates(s, &problem);
    const kn_force *best = &s->tuning->trials[s->tuning->winner].force;
    return kn_program_plan_by(&problem, best, a, &s->plan);
}

static const char *forced(const subject *s, int i)
{
    kn_text t = kn_text_new(s->t->arena);
    kn_force_put(&t, &s->tuning->trials[i].force);
    return kn_text_str(&t);
}

void kn_explain_tuning(const subject *s)
{
    const kn_tuning *tuning = s->tuning;
    if (!tuning && s->prog->options.autotune > 0)
        kn_put(s->t,
               "\nautotune: measures on a device, cuda or cpu; this is a target without one\n");
    if (!tuning)
        return;
    if (tuning->n == 1 && tuning->left == 0) {
        kn_put(s->t, "\nautotune: one plan only is worth a try, so nothing is measured\n");
        return;
    }
    kn_put(s->t, s->measured ? "\nautotune: measured for such sizes\n"
                             : "\nautotune: not measured yet for such sizes; a run would try\n");
    for (int i = 0; i < tuning->n; i++) {
        if (s->measured)
            kn_putf(s->t, "  %10.2f us %-5s", tuning->trials[i].us,
                    i == tuning->winner ? "taken" : "");
        kn_putf(s->t, "  %s\n", *forced(s, i) ? forced(s, i) : "as planned");
    }
    if (tuning->left)
        kn_putf(s->t, "  %d more for which %d ms were too little\n", tuning->left,
                tuning->budget_ms);
}

void kn_explain_tuning_json(const subject *s)
{
    const kn_tuning *tuning = s->tuning;
    if (!tuning)
        return;
    kn_putf(s->t,
            "  \"autotune\": {\"measured\": %s, \"winner\": %d, \"left\": %d, \"candidates\": [",
            s->measured ? "true" : "false", tuning->winner, tuning->left);
    for (int i = 0; i < tuning->n; i++) {
        kn_put(s->t, i ? ", {\"forced\": " : "{\"forced\": ");
        kn_put_json(s->t, forced(s, i));
        if (s->measured)
            kn_putf(s->t, ", \"us\": %.3f}", tuning->trials[i].us);
        else
            kn_put(s->t, ", \"us\": null}");
    }
    kn_put(s->t, "]},\n");
}
