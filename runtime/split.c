/* What a forward saves for its backward: the values for which both together are predicted to be quickest. Inputs are
 * there in any case, and what is computed of them again costs no memory: so nothing is saved that does not gain. */
#include "runtime/split.h"

#include <string.h>

/* What is saved must gain so much of the time of both parts: results of reductions, and what has an element's memory. */
static const double least_gain[] = {0.005, 0.05};
enum { MOST_TRIALS = 96 };

typedef struct choice {
    kn_context *ctx;
    const kn_splitting *how;
    kn_split split;
    kn_binding whole;
    kn_target target;
    int trials;
    const char
        *unsaved; /* what both parts take with nothing saved, in words; "" where they cannot be */
} choice;

typedef struct trial {
    bool *saved; /* per candidate */
    kn_graph *part[2];
    double ns[2];
} trial;

/* ---- the predicted time of a part ---- */

typedef struct prediction {
    const choice *c;
    const kn_graph *part;
    kn_program *prog;
    kn_arena *a;
    double ns;
} prediction;

static const kn_arg *given(const kn_splitting *how, const char *name)
{
    for (int i = 0; i < how->nargs; i++)
        if (strcmp(how->args[i].name, name) == 0)
            return &how->args[i];
    return NULL;
}

static kn_status predict(void *user)
{
    prediction *p = user;
    const kn_graph *g = p->prog->optimised;
    kn_arg *args = KN_NEW_ARRAY(p->a, kn_arg, g->inputs.len + 1);
    kn_binding b;
    kn_plan *plan;
    for (int i = 0; i < g->inputs.len; i++) {
        const kn_node *n = p->part->inputs.data[i].node;
        int64_t *shape = KN_NEW_ARRAY(p->a, int64_t, KN_MAX_RANK);
        const kn_arg *like = given(p->c->how, g->inputs.data[i].name);
        KN_TRY(kn_node_sizes(n, p->c->whole.sizes, shape));
        args[i] = (kn_arg){.name = g->inputs.data[i].name,
                           .dtype = (int)n->dtype,
                           .rank = n->rank,
                           .shape = shape,
                           .strides = like ? like->strides : NULL};
    }
    KN_TRY(kn_bind(p->a, g, args, g->inputs.len, KN_BIND_ASSUME, &b));
    KN_TRY(kn_program_plan(p->prog, p->a, &b, &p->c->target, &plan));
    p->ns = plan->ns;
    return KN_OK;
}

static kn_status predict_part(const choice *c, const kn_graph *part, double *ns)
{
    kn_arena work;
    const kn_program_options options = {.fusion = true};
    prediction p = {.c = c, .part = part, .a = &work};
    KN_TRY(kn_program_create(c->ctx, part, &options, &p.prog));
    kn_arena_init(&work, &c->ctx->from);
    kn_status status = kn_protect(&work, predict, &p);
    kn_arena_finish(&work);
    kn_program_destroy(p.prog);
    *ns = p.ns;
    return status;
}

static kn_status try(choice *c, trial *t)
{
    c->trials++;
    KN_TRY(kn_split_parts(&c->split, t->saved, c->whole.sizes, t->part));
    for (int i = 0; i < 2; i++)
        KN_TRY(predict_part(c, t->part[i], &t->ns[i]));
    return KN_OK;
}

static double total(const trial *t) { return t->ns[0] + t->ns[1]; }

/* ---- the choice ---- */

static trial copy(const choice *c, const trial *t)
{
    trial to = {.saved = KN_NEW_ARRAY(c->split.g->arena, bool, c->split.n + 1)};
    memcpy(to.saved, t->saved, sizeof *to.saved * (size_t)c->split.n);
    return to;
}

/* All results of reductions, or all candidates, at once: one alone may gain nothing. */
static kn_status try_many(choice *c, bool only_reduced, trial *best)
{
    trial t = copy(c, best);
    for (int i = 0; i < c->split.n; i++)
        t.saved[i] = !only_reduced || c->split.candidates[i].reduced;
    KN_TRY(try(c, &t));
    if (total(&t) < total(best) * (1 - least_gain[!only_reduced]))
        *best = t;
    return KN_OK;
}

/* Saves one value more where that gains enough, or one less where that loses little. A value must gain more to be
 * added than it may lose to be dropped, so this ends. */
static kn_status improve(choice *c, trial *best, bool *improved)
{
    *improved = false;
    for (int i = 0; i < c->split.n && c->trials < MOST_TRIALS; i++) {
        trial t = copy(c, best);
        t.saved[i] = !t.saved[i];
        KN_TRY(try(c, &t));
        const double least = least_gain[!c->split.candidates[i].reduced];
        bool gains = t.saved[i] ? total(&t) < total(best) * (1 - least)
                                : total(&t) * (1 - least) < total(best);
        if (!gains)
            continue;
        *best = t;
        *improved = true;
    }
    return KN_OK;
}

static kn_status choose(choice *c, trial *best)
{
    bool improved = true;
    KN_TRY(try_many(c, true, best));
    KN_TRY(try_many(c, false, best));
    while (improved && c->trials < MOST_TRIALS)
        KN_TRY(improve(c, best, &improved));
    return KN_OK;
}

static kn_status unknown_value(const choice *c, const char *name, int n)
{
    kn_text names = kn_text_new(c->split.g->arena);
    for (int i = 0; i < c->split.n; i++)
        kn_putf(&names, "%s%s", i ? ", " : "", c->split.candidates[i].name);
    return kn_fail(KN_ARGUMENT, "split: there is no value '%.*s' to save; there %s %s",
                   n > 64 ? 64 : n, name, c->split.n == 1 ? "is" : "are",
                   c->split.n ? kn_text_str(&names) : "none");
}

/* save: "m, r"; "" for nothing. */
static kn_status force(const choice *c, const char *save, bool *saved)
{
    for (const char *p = save + strspn(save, ", "); *p; p += strspn(p, ", ")) {
        int n = (int)strcspn(p, ", "), i = 0;
        while (i < c->split.n && ((int)strlen(c->split.candidates[i].name) != n ||
                                  strncmp(c->split.candidates[i].name, p, (size_t)n) != 0))
            i++;
        if (i == c->split.n)
            return unknown_value(c, p, n);
        saved[i] = true;
        p += n;
    }
    return KN_OK;
}

/* ---- in words ---- */

static void put_value(const choice *c, kn_text *t, const kn_candidate_value *v)
{
    int64_t shape[KN_MAX_RANK];
    kn_putf(t, "%s %s", v->name, kn_dtypes[v->node->dtype].text);
    kn_shape_print(t, c->split.g->syms, v->node->shape, v->node->rank);
    if (kn_node_sizes(v->node, c->whole.sizes, shape) == KN_OK)
        kn_putf(t, " (%lld bytes)",
                (long long)(kn_count(shape, v->node->rank) * kn_bytes(v->node->dtype)));
}

/* The candidates that the second part reads, or those that it computes again. */
static void put_values(const choice *c, const trial *t, bool read, kn_text *text)
{
    const bool *needed = kn_split_second_needs(&c->split, t->saved);
    int n = 0;
    for (int i = 0; i < c->split.n; i++) {
        const kn_candidate_value *v = &c->split.candidates[i];
        bool is_input = kn_graph_find_input(t->part[1], v->name) >= 0;
        if (!needed[v->node->id] || is_input != read)
            continue;
        kn_put(text, n++ ? ", " : "");
        put_value(c, text, v);
    }
    kn_put(text, n ? "\n" : "nothing\n");
}

static void put_inputs(const choice *c, const trial *t, kn_text *text)
{
    int n = 0;
    for (int i = 0; i < t->part[1]->inputs.len; i++) {
        const char *name = t->part[1]->inputs.data[i].name;
        int whole = kn_graph_find_input(c->split.g, name);
        if (whole < 0 || c->split.late[c->split.g->inputs.data[whole].node->id])
            continue;
        kn_putf(text, "%s%s", n++ ? ", " : "", name);
    }
    kn_put(text, n ? "\n" : "none\n");
}

static const char *times(const choice *c, const trial *t)
{
    return kn_sprintf(c->split.g->arena, "%.1f + %.1f us", t->ns[0] / 1e3, t->ns[1] / 1e3);
}

static void describe(const choice *c, trial *t)
{
    kn_text text = kn_text_new(c->split.g->arena);
    kn_putf(&text, "the backward knows %s besides, and\n", c->how->late);
    kn_put(&text, "  reads saved      ");
    put_values(c, t, true, &text);
    kn_put(&text, "  reads inputs     ");
    put_inputs(c, t, &text);
    kn_put(&text, "  computes again   ");
    put_values(c, t, false, &text);
    kn_putf(&text, "  predicted        %s, forward and backward; with nothing saved %s\n",
            times(c, t), c->unsaved);
    if (c->how->save)
        kn_put(&text, "  chosen           by the caller\n");
    else
        kn_putf(&text, "  chosen           of %d ways\n", c->trials);
    t->part[0]->split = t->part[1]->split = kn_text_str(&text);
}

kn_status kn_split_choose(kn_context *ctx, kn_graph *g, const kn_splitting *how, kn_graph *part[2])
{
    choice c = {.ctx = ctx, .how = how};
    bool is_own;
    trial t = {0};
    KN_TRY(kn_target_asked(ctx, how->arch, g->arena, &c.target, &is_own));
    KN_TRY(kn_bind(g->arena, g, how->args, how->nargs, KN_BIND_ASSUME, &c.whole));
    KN_TRY(kn_split_find(g, how->late, &c.split));
    t.saved = KN_NEW_ARRAY(g->arena, bool, c.split.n + 1);
    KN_TRY(try(&c, &t));
    c.unsaved = times(&c, &t);
    if (how->save) {
        KN_TRY(force(&c, how->save, t.saved));
        KN_TRY(try(&c, &t));
    } else {
        KN_TRY(choose(&c, &t));
    }
    describe(&c, &t);
    memcpy(part, t.part, sizeof t.part);
    return KN_OK;
}
