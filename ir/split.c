/* Which values of a graph are early and late, which may be saved in between, and the two graphs. */
#include "ir/split.h"

#include <ctype.h>
#include <string.h>

#include "ir/assembly.h"
#include "ir/build.h"

/* ---- late and early ---- */

static int input_named(const kn_graph *g, const char *name, size_t n)
{
    for (int i = 0; i < g->inputs.len; i++)
        if (strlen(g->inputs.data[i].name) == n && memcmp(g->inputs.data[i].name, name, n) == 0)
            return i;
    return -1;
}

static kn_status mark_late_inputs(kn_split *s, const char *late)
{
    for (const char *p = late;;) {
        p += strspn(p, " ");
        size_t n = strcspn(p, ", ");
        int i = input_named(s->g, p, n);
        if (i < 0)
            return kn_fail(KN_ARGUMENT, "split: %s has no input '%.*s'", s->g->name,
                           n > 64 ? 64 : (int)n, p);
        s->late[s->g->inputs.data[i].node->id] = true;
        p += n;
        p += strspn(p, " ");
        if (*p++ != ',')
            return p[-1] ? kn_fail(KN_ARGUMENT, "split: inputs that are known late need commas")
                         : KN_OK;
    }
}

static bool is_late_output(const kn_split *s, int o)
{
    const kn_output *out = &s->g->outputs.data[o];
    return s->late[out->node->id] ||
           (out->updates >= 0 && s->late[s->g->inputs.data[out->updates].node->id]);
}

static kn_status mark(kn_split *s, const char *late)
{
    const kn_graph *g = s->g;
    int nlate = 0;
    KN_TRY(mark_late_inputs(s, late));
    for (int i = 0; i < g->nodes.len; i++)
        for (int k = 0; k < g->nodes.data[i]->nin && !s->late[i]; k++)
            s->late[i] = s->late[g->nodes.data[i]->in[k]->id];
    for (int o = 0; o < g->outputs.len; o++) {
        nlate += is_late_output(s, o);
        if (g->outputs.data[o].updates >= 0 && !is_late_output(s, o))
            s->lost[g->inputs.data[g->outputs.data[o].updates].node->id] = true;
    }
    if (nlate > 0 && nlate < g->outputs.len)
        return KN_OK;
    return kn_fail(KN_ARGUMENT, "split: %s output of %s depends on %s%s", nlate ? "every" : "no",
                   g->name, late, nlate ? "; return also what the forward is to give" : "");
}

/* ---- what may be saved ---- */

static int candidate_of(const kn_split *s, const kn_node *n)
{
    for (int c = 0; c < s->n; c++)
        if (s->candidates[c].node == n)
            return c;
    return -1;
}

static bool is_given(const kn_split *s, const bool *saved, const kn_node *n)
{
    int c = saved ? candidate_of(s, n) : -1;
    return s->lost[n->id] || (c >= 0 && saved[c]);
}

const bool *kn_split_second_needs(const kn_split *s, const bool *saved)
{
    const kn_graph *g = s->g;
    bool *needed = KN_NEW_ARRAY(g->arena, bool, g->nodes.len + 1);
    for (int o = 0; o < g->outputs.len; o++)
        if (is_late_output(s, o))
            needed[g->outputs.data[o].node->id] = true;
    for (int i = g->nodes.len - 1; i >= 0; i--) {
        const kn_node *n = g->nodes.data[i];
        if (needed[i] && !is_given(s, saved, n))
            for (int k = 0; k < n->nin; k++)
                needed[n->in[k]->id] = true;
    }
    return needed;
}

/* The early values that late operations read, through views and casts if there are any in between. */
static void mark_frontier(const kn_split *s, const bool *needed, bool *frontier)
{
    for (int i = s->g->nodes.len - 1; i >= 0; i--) {
        const kn_node *n = s->g->nodes.data[i];
        bool shown = frontier[i] && (kn_ops[n->op].cls == KN_VIEW || n->op == KN_OP_CAST);
        for (int k = 0; k < n->nin; k++)
            if (needed[i] && !s->late[n->in[k]->id] && (s->late[i] || shown))
                frontier[n->in[k]->id] = true;
    }
}

static const char *early_output_of(const kn_split *s, const kn_node *n)
{
    for (int o = 0; o < s->g->outputs.len; o++)
        if (s->g->outputs.data[o].node == n && !is_late_output(s, o))
            return s->g->outputs.data[o].name;
    return NULL;
}

static bool is_taken(const kn_split *s, const char *name)
{
    if (kn_graph_find_input(s->g, name) >= 0 || kn_graph_find_output(s->g, name) >= 0)
        return true;
    for (int c = 0; c < s->n; c++)
        if (strcmp(s->candidates[c].name, name) == 0)
            return true;
    return false;
}

static const char *name_for(const kn_split *s, const kn_node *n)
{
    const char *output = early_output_of(s, n);
    const char *base = kn_node_title(n);
    const char *name = base;
    if (output)
        return output;
    for (const char *c = base; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_')
            base = name = "saved";
    for (int i = 2; is_taken(s, name); i++)
        name = kn_sprintf(s->g->arena, "%s_%d", base, i);
    return name;
}

static bool may_be_saved(const kn_split *s, const kn_node *n, const bool *frontier)
{
    bool costly = kn_ops[n->op].cls == KN_REDUCE || n->op == KN_OP_TAKE;
    return !s->late[n->id] && kn_is_value(n) && !n->weak &&
           (costly || frontier[n->id] || early_output_of(s, n));
}

/* Per node: does it depend on an input, and not on sizes and numbers alone? */
static const bool *varying(const kn_graph *g)
{
    bool *varies = KN_NEW_ARRAY(g->arena, bool, g->nodes.len + 1);
    for (int i = 0; i < g->inputs.len; i++)
        varies[g->inputs.data[i].node->id] = true;
    for (int i = 0; i < g->nodes.len; i++)
        for (int k = 0; k < g->nodes.data[i]->nin; k++)
            varies[i] |= varies[g->nodes.data[i]->in[k]->id];
    return varies;
}

static void list_candidates(kn_split *s)
{
    kn_arena *a = s->g->arena;
    const bool *needed = kn_split_second_needs(s, NULL), *varies = varying(s->g);
    bool *frontier = KN_NEW_ARRAY(a, bool, s->g->nodes.len + 1);
    mark_frontier(s, needed, frontier);
    s->candidates = KN_NEW_ARRAY(a, kn_candidate_value, s->g->nodes.len + 1);
    for (int i = 0; i < s->g->nodes.len; i++) {
        const kn_node *n = s->g->nodes.data[i];
        if (needed[i] && varies[i] && (s->lost[i] || may_be_saved(s, n, frontier))) {
            const char *name = name_for(s, n);
            s->candidates[s->n++] = (kn_candidate_value){n, name, kn_ops[n->op].cls == KN_REDUCE};
        }
    }
}

kn_status kn_split_find(kn_graph *g, const char *late, kn_split *s)
{
    *s = (kn_split){.g = g,
                    .late = KN_NEW_ARRAY(g->arena, bool, g->nodes.len + 1),
                    .lost = KN_NEW_ARRAY(g->arena, bool, g->nodes.len + 1)};
    KN_TRY(mark(s, late));
    list_candidates(s);
    return KN_OK;
}

/* ---- the parts ---- */

/* One of the two, as it is made. */
typedef struct making {
    const kn_split *s;
    const bool *saved;
    bool second;
    const bool *needed; /* per node: of this part */
    bool *given;        /* per node: an input of the second part that the first one computes */
    bool *kept;         /* per input of the whole: this part's, too */
    const int64_t *sizes;
    int64_t *known; /* per symbol: its size, as far as the part's inputs tell it */
} making;

/* What the inputs that are kept tell of sizes. */
static void solve(making *m, const kn_node *n)
{
    const kn_graph *g = m->s->g;
    int64_t size;
    for (int j = 0; j < n->rank; j++)
        if (kn_dim_eval(n->shape[j], m->sizes, &size))
            kn_dim_solve(g->syms, n->shape[j], size, m->known);
}

static kn_status learn(making *m)
{
    const kn_graph *g = m->s->g;
    int n = kn_symbols_count(g->syms);
    for (int before = -1, now = 0; before != now;) {
        before = now;
        for (int i = 0; i < g->inputs.len; i++)
            if (m->kept[i])
                solve(m, g->inputs.data[i].node);
        for (int i = 0; i < g->nodes.len; i++)
            if (m->given[i])
                solve(m, g->nodes.data[i]);
        KN_TRY(kn_symbols_derive(g->syms, g->arena, m->known));
        now = 0;
        for (int i = 0; i < n; i++)
            now += m->known[i] != KN_UNBOUND;
    }
    return KN_OK;
}

/* A size that node n has and the part's inputs do not tell; NULL: none. */
static kn_dim unknown_of(const making *m, const kn_node *n)
{
    int64_t size;
    for (int j = 0; j < n->rank; j++)
        if (!kn_dim_eval(n->shape[j], m->known, &size))
            return n->shape[j];
    if (n->op == KN_OP_EXTENT && !kn_dim_eval(n->u.dim, m->known, &size))
        return n->u.dim;
    for (int j = 0; n->op == KN_OP_INDEX && j < n->in[0]->rank; j++)
        if (!kn_dim_eval(n->u.index->start[j], m->known, &size))
            return n->u.index->start[j];
    return NULL;
}

static kn_dim unknown(const making *m)
{
    kn_dim d = NULL;
    for (int i = 0; i < m->s->g->nodes.len && !d; i++)
        d = m->needed[i] ? unknown_of(m, m->s->g->nodes.data[i]) : NULL;
    return d;
}

static bool may_be_kept(const making *m, int input)
{
    int id = m->s->g->inputs.data[input].node->id;
    return m->second ? !m->s->lost[id] : !m->s->late[id];
}

/* Inputs that nothing of the part reads are its own where they tell a size. */
static kn_status keep_inputs(making *m)
{
    const kn_graph *g = m->s->g;
    for (int i = 0; i < g->inputs.len; i++) {
        int id = g->inputs.data[i].node->id;
        m->kept[i] = may_be_kept(m, i) && (m->needed[id] || m->s->late[id]);
    }
    for (int o = 0; o < g->outputs.len; o++)
        if (g->outputs.data[o].updates >= 0 && is_late_output(m->s, o) == m->second)
            m->kept[g->outputs.data[o].updates] = true;
    KN_TRY(learn(m));
    for (int i = 0; i < g->inputs.len && unknown(m); i++) {
        if (m->kept[i] || !may_be_kept(m, i) || !unknown_of(m, g->inputs.data[i].node))
            continue;
        m->kept[i] = true;
        KN_TRY(learn(m));
    }
    kn_dim missing = unknown(m);
    if (!missing)
        return KN_OK;
    kn_text t = kn_text_new(g->arena);
    kn_dim_print(&t, g->syms, missing);
    return kn_fail(KN_SHAPE, "split: the size %s is known late", kn_text_str(&t));
}

static kn_node *copy_input(kn_graph *to, kn_input in)
{
    kn_node n = *in.node;
    n.u.input = to->inputs.len;
    in.node = kn_graph_intern(to, &n);
    if (!in.node->name)
        in.node->name = n.name;
    kn_graph_add_input(to, in);
    return in.node;
}

/* What the first part computes, as an input of the second. */
static kn_node *given_input(kn_graph *to, const kn_node *value, const char *name)
{
    kn_node n = {.op = KN_OP_INPUT,
                 .dtype = value->dtype,
                 .rank = value->rank,
                 .shape = value->shape,
                 .u.input = to->inputs.len,
                 .loc = value->loc,
                 .name = name};
    kn_node *made = kn_graph_intern(to, &n);
    kn_graph_add_input(to, (kn_input){.name = name, .node = made});
    return made;
}

static void copy_facts(const making *m, kn_graph *to)
{
    const kn_facts *facts = &m->s->g->facts;
    int64_t size;
    for (int i = 0; i < facts->list.len; i++)
        if (kn_dim_eval(facts->list.data[i].a, m->known, &size) &&
            kn_dim_eval(facts->list.data[i].b, m->known, &size))
            kn_facts_add(&to->facts, to->syms, to->arena, facts->list.data[i]);
}

static void copy_nodes(const making *m, kn_graph *to, kn_node **map)
{
    const kn_graph *g = m->s->g;
    for (int i = 0; i < g->inputs.len; i++)
        if (m->kept[i])
            map[g->inputs.data[i].node->id] = copy_input(to, g->inputs.data[i]);
    for (int c = 0; c < m->s->n; c++)
        if (m->given[m->s->candidates[c].node->id])
            map[m->s->candidates[c].node->id] =
                given_input(to, m->s->candidates[c].node, m->s->candidates[c].name);
    for (int i = 0; i < g->nodes.len; i++) {
        kn_node *in[KN_MAX_IN] = {0};
        if (!m->needed[i] || map[i])
            continue;
        for (int k = 0; k < g->nodes.data[i]->nin; k++)
            in[k] = map[g->nodes.data[i]->in[k]->id];
        map[i] = kn_node_copy(to, g->nodes.data[i], in);
    }
}

static void copy_remarks(kn_graph *g, kn_remarks *to, const kn_remarks *from, kn_node *const *map)
{
    for (int i = 0; i < from->len; i++)
        if (map[from->data[i].node])
            kn_push(g->arena, to, ((kn_remark){map[from->data[i].node]->id, from->data[i].text}));
}

/* Those of which the part has the result and all operands. */
static void copy_expansions(kn_graph *to, const kn_graph *g, kn_node *const *map)
{
    for (int i = 0; i < g->expansions.len; i++) {
        kn_expansion e = g->expansions.data[i];
        bool there = map[e.node] != NULL;
        for (int k = 0; k < e.nin; k++)
            there = there && map[e.in[k]];
        if (!there)
            continue;
        e.node = map[e.node]->id;
        for (int k = 0; k < e.nin; k++)
            e.in[k] = map[e.in[k]]->id;
        kn_push(to->arena, &to->expansions, e);
    }
}

static void copy_outputs(const making *m, kn_graph *to, kn_node *const *map)
{
    const kn_graph *g = m->s->g;
    for (int o = 0; o < g->outputs.len; o++) {
        kn_output out = g->outputs.data[o];
        if (is_late_output(m->s, o) != m->second)
            continue;
        out.node = map[out.node->id];
        out.updates = out.updates >= 0 ? kn_graph_find_input(to, out.name) : -1;
        kn_graph_add_output(to, out);
    }
    for (int c = 0; c < m->s->n && !m->second; c++)
        if (m->saved[c] && !early_output_of(m->s, m->s->candidates[c].node))
            kn_graph_add_output(to, (kn_output){.name = m->s->candidates[c].name,
                                                .node = map[m->s->candidates[c].node->id],
                                                .updates = -1});
    copy_remarks(to, &to->wider, &g->wider, map);
    copy_remarks(to, &to->searches, &g->searches, map);
    copy_expansions(to, g, map);
    kn_copy_assemblies(to, g, map);
}

/* What the first part needs: its outputs and what is saved. What the second does not read either is its, too. */
static const bool *first_needs(const making *m, const bool *second)
{
    const kn_graph *g = m->s->g;
    bool *needed = KN_NEW_ARRAY(g->arena, bool, g->nodes.len + 1);
    for (int o = 0; o < g->outputs.len; o++)
        if (!is_late_output(m->s, o))
            needed[g->outputs.data[o].node->id] = true;
    for (int c = 0; c < m->s->n; c++)
        needed[m->s->candidates[c].node->id] |= m->saved[c];
    for (int i = 0; i < g->inputs.len; i++) {
        int id = g->inputs.data[i].node->id;
        needed[id] |= !second[id] && !m->s->late[id];
    }
    for (int i = g->nodes.len - 1; i >= 0; i--)
        for (int k = 0; needed[i] && k < g->nodes.data[i]->nin; k++)
            needed[g->nodes.data[i]->in[k]->id] = true;
    return needed;
}

static kn_graph *new_part(const kn_graph *g, bool second)
{
    kn_graph *to = kn_graph_new(
        g->arena, kn_sprintf(g->arena, "%s_%s", g->name, second ? "backward" : "forward"));
    to->syms = g->syms;
    to->budget = g->budget;
    to->source = g->source;
    to->texts = g->texts;
    to->file = g->file;
    return to;
}

static kn_status make(making *m, kn_graph **part)
{
    const kn_graph *g = m->s->g;
    int nsyms = kn_symbols_count(g->syms);
    m->kept = KN_NEW_ARRAY(g->arena, bool, g->inputs.len + 1);
    m->known = KN_NEW_ARRAY(g->arena, int64_t, nsyms + 1);
    for (int i = 0; i < nsyms; i++)
        m->known[i] = KN_UNBOUND;
    KN_TRY(keep_inputs(m));
    kn_graph *to = new_part(g, m->second);
    kn_node **map = KN_NEW_ARRAY(g->arena, kn_node *, g->nodes.len + 1);
    copy_nodes(m, to, map);
    copy_outputs(m, to, map);
    copy_facts(m, to);
    *part = to;
    return KN_OK;
}

kn_status kn_split_parts(const kn_split *s, const bool *saved, const int64_t *sizes,
                         kn_graph *part[2])
{
    kn_arena *a = s->g->arena;
    const bool *second = kn_split_second_needs(s, saved);
    bool *read = KN_NEW_ARRAY(a, bool, s->n + 1);
    making m = {.s = s, .saved = read, .sizes = sizes};
    m.given = KN_NEW_ARRAY(a, bool, s->g->nodes.len + 1);
    for (int c = 0; c < s->n; c++)
        read[c] = second[s->candidates[c].node->id] && is_given(s, saved, s->candidates[c].node);
    m.needed = first_needs(&m, second);
    KN_TRY(make(&m, &part[0]));
    for (int c = 0; c < s->n; c++)
        m.given[s->candidates[c].node->id] = read[c];
    m.second = true;
    m.needed = second;
    return make(&m, &part[1]);
}
