#include "ir/reducer.h"

#include <string.h>

#include "ir/eval.h"
#include "ir/graph.h"

void kn_reducer_combine(const kn_reducer *r, const kn_scalar *a, const kn_scalar *b, kn_scalar *out)
{
    kn_scalar value[2 * KN_MAX_CARRIED + KN_MAX_COMBINE], in[3];
    int n = 2 * r->count;
    for (int c = 0; c < r->count; c++) {
        value[c] = a[c];
        value[r->count + c] = b[c];
    }
    for (int i = 0; i < r->nsteps; i++) {
        const kn_combine_step *s = &r->steps[i];
        for (int k = 0; k < s->nin; k++)
            in[k] = value[s->in[k]];
        value[n + i] = s->op == KN_OP_CONST ? s->value : kn_eval(s->op, s->dtype, in);
    }
    for (int c = 0; c < r->count; c++)
        out[c] = value[r->result[c]];
}

static void put_value(kn_text *t, const kn_reducer *r, int value)
{
    const kn_combine_step *s = kn_reducer_step(r, value);
    if (!s)
        kn_putf(t, "%c%d", value < r->count ? 'a' : 'b', value % r->count);
    else if (s->op == KN_OP_CONST)
        kn_scalar_print(t, s->value);
    else
        kn_putf(t, "t%d", value - 2 * r->count);
}

void kn_reducer_describe(kn_arena *a, kn_reducer *r)
{
    kn_text t = kn_text_new(a);
    for (int i = 0; i < r->nsteps; i++) {
        const kn_combine_step *s = &r->steps[i];
        if (s->op == KN_OP_CONST)
            continue;
        kn_putf(&t, "t%d = ", i);
        if (s->op == KN_OP_CAST)
            kn_putf(&t, "%s(", kn_dtypes[s->dtype].text);
        else
            kn_putf(&t, "%s(", kn_ops[s->op].text);
        for (int k = 0; k < s->nin; k++) {
            kn_put(&t, k ? ", " : "");
            put_value(&t, r, s->in[k]);
        }
        kn_put(&t, "); ");
    }
    for (int c = 0; c < r->count; c++) {
        kn_putf(&t, "%s%s ", c ? ", " : "carry ", kn_dtypes[r->dtype[c]].text);
        put_value(&t, r, r->result[c]);
        kn_put(&t, " from ");
        kn_scalar_print(&t, r->identity[c]);
    }
    kn_put(&t, r->commutes ? "" : ", in order");
    r->text = kn_text_str(&t);
}

const kn_reducer *kn_reducer_clone(kn_arena *a, const kn_reducer *r)
{
    kn_reducer *to = KN_NEW(a, kn_reducer);
    *to = *r;
    kn_combine_step *steps = KN_NEW_ARRAY(a, kn_combine_step, r->nsteps + 1);
    if (r->nsteps)
        memcpy(steps, r->steps, sizeof *steps * (size_t)r->nsteps);
    to->steps = steps;
    to->rule = (kn_reducer_rule){0}; /* of the graph that it was built for */
    to->text = kn_strdup(a, r->text);
    return to;
}
