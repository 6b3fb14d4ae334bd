/* explain in words: first what it costs, then what was merged, how it got there, and how it runs. */
#include "runtime/explain_impl.h"

static void put_cost(const subject *s, const char *what, int kernels, double ns)
{
    static const char *const names[2][2] = {{"kernel", "kernels"}, {"launch", "launches"}};
    kn_putf(s->t, "  %-8s %d %s, predicted %.1f us\n", what, kernels,
            names[kn_explains_gpu(s)][kernels != 1], ns / 1e3);
}

static void put_head(const subject *s)
{
    kn_text *t = s->t;
    const kn_program_options *o = &s->prog->options;
    kn_putf(t, "%s for %s", s->prog->optimised->name, s->target.kind);
    if (s->target.sm)
        kn_putf(t, " sm_%d", s->target.sm);
    else
        kn_putf(t, ", %d thread%s", s->target.units, s->target.units == 1 ? "" : "s");
    kn_put(t, o->fusion ? "" : ", fusion off");
    kn_put(t, o->batch_invariant ? ", batch invariant" : "");
    kn_put(t, o->fast_math ? ", fast math\n" : "\n");
    if (o->fusion)
        put_cost(s, "unfused", s->plan->before.launches, s->unfused->ns);
    put_cost(s, o->fusion ? "fused" : "unfused", s->plan->kernels.len, s->plan->ns);
    if (*s->assumed)
        kn_putf(t, "  assumed  %s\n", s->assumed);
    if (s->prog->original->split)
        kn_putf(t, "\n%s", s->prog->original->split);
}

static void put_list(const subject *s, const char *title, list l)
{
    if (l.lines.len)
        kn_putf(s->t, "\n%s\n", title);
    for (int i = 0; i < l.lines.len; i++)
        kn_putf(s->t, "  %s\n", l.lines.data[i]);
}

void kn_explain_words(const subject *s)
{
    put_head(s);
    put_list(s, "wider than their operands, as in NumPy (cast the operands to stay narrow)",
             kn_explain_wider(s));
    put_list(s, "searched for, as their indices are values", kn_explain_searches(s));
    kn_explain_nests(s);
    kn_explain_put_steps(s);
    kn_explain_kernels(s);
    put_list(s, "through memory again", kn_explain_again(s));
    kn_explain_tuning(s);
    put_list(s, "the program needs", kn_explain_facts(s));
    put_list(s, "the kernels rely on", kn_explain_needs(s));
}
