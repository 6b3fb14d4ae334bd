/* From a program that fails to the smallest part of it that still does. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/differential/program.h"

/* The sizes that a node brings in; returns how many. */
static int shape_given(const program *p, const kn_node *n, int64_t *shape)
{
    bool gives = n->op == KN_OP_INPUT || n->op == KN_OP_BROADCAST;
    return gives && kn_node_sizes(n, p->sizes, shape) == KN_OK ? n->rank : 0;
}

/* Each step makes this less: operations before leaves, leaves before sizes, sizes before how data lies. */
static int64_t weight(const program *p)
{
    const kn_graph *g = p->graph;
    int64_t operations = 0, axes = 0, sizes = 0, shape[KN_MAX_RANK];
    for (int i = 0; i < g->nodes.len; i++) {
        const kn_node *n = g->nodes.data[i];
        operations += kn_ops[n->op].cls != KN_LEAF;
        for (int j = shape_given(p, n, shape); j-- > 0; sizes += shape[j])
            axes++;
    }
    int64_t arguments = g->outputs.len + g->inputs.len;
    return (((operations * 100 + arguments) * 1000 + axes) * 1000000 + sizes) * 4 +
           2 * !p->compact + !p->positive;
}

typedef struct search {
    const program *best;
    const kn_program_options *o;
    check_fn check;
    void *user;
    failure failure; /* the one that is looked for */
} search;

static const edit no_edit = {.node = -1, .symbol = -1};

static failure check(const search *s, const program *p)
{
    kn_text why = kn_text_new(p->arena);
    return s->check(s->user, p, s->o, &why);
}

/* Takes the edit if it makes the program smaller and leaves it failing in the same way. */
static bool try(search *s, const edit *e)
{
    program *p = program_edit(s->best, e);
    if (!p || weight(p) >= weight(s->best) || !same_failure(check(s, p), s->failure))
        return false;
    s->best = p;
    return true;
}

static bool drop_outputs(search *s)
{
    int n = s->best->graph->outputs.len;
    for (int keep = 0; keep < n && n > 1; keep++) {
        edit e = no_edit;
        for (int o = 0; o < n; o++)
            e.drop[o] = o != keep;
        if (try(s, &e))
            return true;
    }
    for (int o = 0; o < n && n > 1; o++) {
        edit e = no_edit;
        e.drop[o] = true;
        if (try(s, &e))
            return true;
    }
    return false;
}

static bool replace_node(search *s, int i)
{
    const kn_node *n = s->best->graph->nodes.data[i];
    edit e = no_edit;
    e.node = i;
    e.by = BY_ONE;
    if (try(s, &e))
        return true;
    e.by = BY_OPERAND;
    for (e.index = 0; e.index < n->nin; e.index++)
        if (try(s, &e))
            return true;
    e.by = n->op == KN_OP_INPUT ? BY_FLAT_INPUT : BY_INPUT;
    for (e.index = 0; e.index < (e.by == BY_INPUT ? 1 : n->rank); e.index++)
        if (try(s, &e))
            return true;
    return false;
}

/* Anything in the place of a node, from the last on. */
static bool replace_nodes(search *s)
{
    for (int i = s->best->graph->nodes.len - 1; i >= 0; i--)
        if (replace_node(s, i))
            return true;
    return false;
}

static bool shrink(search *s, edit e, int64_t size)
{
    const int64_t smaller[] = {1, 2, size / 2, size - 1};
    for (int k = 0; k < 4; k++) {
        e.becomes = smaller[k];
        if (smaller[k] > 0 && smaller[k] < size && try(s, &e))
            return true;
    }
    return false;
}

static bool shrink_sizes(search *s)
{
    const program *p = s->best;
    for (int i = 0; i < kn_symbols_count(p->graph->syms); i++) {
        edit e = no_edit;
        e.symbol = i;
        if (p->sizes[i] > 1 && shrink(s, e, p->sizes[i]))
            return true;
    }
    for (int i = 0; i < p->graph->nodes.len; i++) {
        int64_t shape[KN_MAX_RANK];
        for (int j = shape_given(p, p->graph->nodes.data[i], shape); j-- > 0;)
            for (int names = 0; names < 2 && shape[j] > 1; names++) {
                edit e = no_edit;
                e.size = shape[j];
                e.names = names;
                if (shrink(s, e, e.size))
                    return true;
            }
    }
    return false;
}

static bool simplify_data(search *s)
{
    edit compact = no_edit, positive = no_edit;
    compact.compact = positive.positive = true;
    return try(s, &compact) || try(s, &positive);
}

const program *program_minimise(const program *p, const kn_program_options *o, check_fn look,
                                void *user)
{
    search s = {.best = p, .o = o, .check = look, .user = user};
    s.failure = check(&s, p);
    if (s.failure.fault == NO_FAULT) /* now it passes: it depends on more than the program */
        return p;
    program *written = program_edit(p, &no_edit);
    if (written && same_failure(check(&s, written), s.failure))
        s.best = written;
    while (drop_outputs(&s) || replace_nodes(&s) || shrink_sizes(&s) || simplify_data(&s))
        ;
    return s.best;
}

const char *program_report(const program *p, const char *device, const kn_program_options *o,
                           const char *why, check_fn look, void *user)
{
    kn_text t = kn_text_new(p->arena), reason = kn_text_new(p->arena);
    const char *under = getenv("KILN_FAILURES"), *temporary = getenv("TMPDIR");
    under = under ? under : temporary ? temporary : "/tmp";
    char *dir = kn_strdup(
        p->arena, kn_sprintf(p->arena, "%s/kiln-%llu-XXXXXX", under, (unsigned long long)p->seed));
    kn_putf(&t, "KILN_SEED=%llu on %s, fusion %s, schedule %s: %s\n", (unsigned long long)p->seed,
            device, o->fusion ? "on" : "off", o->schedule ? o->schedule : "chosen", why);
    const program *smallest = program_minimise(p, o, look, user);
    if (look(user, smallest, o, &reason).fault == NO_FAULT)
        kn_put(&reason, why);
    if (!mkdtemp(dir) || !program_write(smallest, device, o, kn_text_str(&reason), dir))
        kn_putf(&t, "cannot write to %s: %s\n", dir, strerror(errno));
    kn_putf(&t, "minimised: %s\n%s%s\n", kn_text_str(&reason), program_text(smallest),
            program_command(smallest, device, o, dir));
    return kn_text_str(&t);
}
