/* Loop nests: the lines of the user's text that each computes, or its operations where there is no text, and why there
 * is more than one. */
#include <string.h>

#include "runtime/explain_impl.h"

/* ---- lines ---- */

enum { LONGEST = 100, MOST_REFUSALS = 20, NOBODY = -1, SEVERAL = -2 };

/* The user's text, and who computes it. */
typedef struct text_lines {
    kn_text_lines of;
    int *nest; /* per line: the loop nest that computes what it has */
} text_lines;

static int line_of(const subject *s, const text_lines *l, const kn_node *n)
{
    return kn_explain_line(s, &l->of, n->loc);
}

static text_lines find_lines(const subject *s)
{
    const kn_regions *r = s->plan->regions;
    text_lines l = {.of = kn_explain_lines(s)};
    l.nest = KN_NEW_ARRAY(s->t->arena, int, l.of.n + 1);
    for (int i = 1; i <= l.of.n; i++)
        l.nest[i] = NOBODY;
    for (int i = 0; i < r->list.len; i++)
        for (int j = 0; j < r->list.data[i]->nodes.len; j++) {
            int *nest = &l.nest[line_of(s, &l, r->list.data[i]->nodes.data[j])];
            *nest = *nest == NOBODY || *nest == i ? i : SEVERAL;
        }
    return l;
}

/* Without what is around it, cut where it is long. */
static void put_text(kn_text *t, const char *line)
{
    line += strspn(line, " \t");
    int n = (int)strcspn(line, "\r\n");
    kn_putf(t, "%.*s%s", n > LONGEST ? LONGEST : n, line, n > LONGEST ? " ..." : "");
}

/* ---- nests ---- */

static void put_titles(const subject *s, const text_lines *l, const kn_region *r, int line)
{
    const char *before = "";
    for (int i = 0; i < r->nodes.len; i++)
        if (line_of(s, l, r->nodes.data[i]) == line) {
            kn_putf(s->t, "%s%s", before, kn_node_title(r->nodes.data[i]));
            before = ", ";
        }
}

static void put_line(const subject *s, const text_lines *l, const kn_region *r, int line)
{
    bool shared = l->nest[line] == SEVERAL;
    kn_putf(s->t, "     %3d: ", line);
    put_text(s->t, l->of.begin[line]);
    if (shared || s->verbose) {
        kn_put(s->t, shared ? "    of which: " : "    ");
        put_titles(s, l, r, line);
    }
    kn_put(s->t, "\n");
}

/* What parameters are cast to stands where nothing else does. */
static void put_operations(const subject *s, const text_lines *l, const kn_region *r)
{
    bool *has = KN_NEW_ARRAY(s->t->arena, bool, l->of.n + 1);
    bool any = false, built = false;
    for (int i = 0; i < r->nodes.len; i++) {
        has[line_of(s, l, r->nodes.data[i])] = true;
        built = built || r->nodes.data[i]->loc.line == 0;
    }
    for (int i = 1; i <= l->of.n; i++)
        if (has[i]) {
            put_line(s, l, r, i);
            any = true;
        }
    if (has[0] && (!any || built || s->verbose)) {
        kn_put(s->t, "          ");
        put_titles(s, l, r, 0);
        kn_put(s->t, "\n");
    }
}

/* "over [N, C], reducing axis 1" */
static void put_space(const subject *s, const kn_region *r)
{
    kn_text *t = s->t;
    kn_put(t, r->naxes ? "over " : "over one element");
    if (r->naxes)
        kn_shape_print(t, s->plan->regions->graph->syms, r->dim, r->naxes);
    const char *before = r->members & (r->members - 1) ? ", reducing axes " : ", reducing axis ";
    for (int a = 0; a < r->naxes && r->reduces; a++)
        if (r->members >> a & 1) {
            kn_putf(t, "%s%d", before, a);
            before = ", ";
        }
    kn_put(t, "\n");
}

/* Values of other nests that it computes again. */
static void put_again(const subject *s, const kn_region *r)
{
    const kn_regions *all = s->plan->regions;
    bool *said = KN_NEW_ARRAY(s->t->arena, bool, all->graph->nodes.len + 1);
    const char *before = "       computes again: ";
    for (int i = 0; i < r->nodes.len; i++)
        for (int k = 0; k < r->nodes.data[i]->nin; k++) {
            const kn_node *x = kn_view_root(r->nodes.data[i]->in[k]);
            if (!all->of[x->id] || all->of[x->id] == r || !s->plan->again[x->id] || said[x->id])
                continue;
            said[x->id] = true;
            kn_putf(s->t, "%s%s%s", before, kn_node_title(x), kn_loc_place(x->loc).text);
            before = ", ";
        }
    kn_put(s->t, *before == ',' ? "\n" : "");
}

list kn_explain_merges(const subject *s)
{
    const kn_regions *r = s->plan->regions;
    list l = {.a = s->t->arena};
    for (int i = 0; i < r->merges.len && !s->prog->force.undone; i++) {
        const kn_merge *m = &r->merges.data[i];
        kn_push(l.a, &l.lines,
                kn_sprintf(l.a, "%s and %s", kn_node_title(r->graph->nodes.data[m->a]),
                           kn_node_title(r->graph->nodes.data[m->b])));
    }
    return l;
}

static void put_merges(const subject *s)
{
    const list l = kn_explain_merges(s);
    kn_put(s->t, l.lines.len ? "\nmerged in this order; --schedule 'undo N' undoes one\n" : "");
    for (int i = 0; i < l.lines.len; i++)
        kn_putf(s->t, "  %d  %s\n", i + 1, l.lines.data[i]);
}

static void put_refusals(const subject *s)
{
    int all = s->refusals.len, n = s->verbose || all <= MOST_REFUSALS ? all : MOST_REFUSALS;
    kn_put(s->t, n ? "\nnot merged\n" : "");
    for (int i = 0; i < n; i++) {
        const kn_refusal *r = &s->refusals.data[i];
        kn_putf(s->t, "  %s: %s\n    would need: %s\n", r->what, r->why, r->need);
    }
    if (n < all)
        kn_putf(s->t, "  and %d more\n", all - n);
}

void kn_explain_nests(const subject *s)
{
    kn_text *t = s->t;
    const kn_regions *regions = s->plan->regions;
    text_lines lines = find_lines(s);
    kn_putf(t, "\n%d loop nest%s\n", regions->list.len, regions->list.len == 1 ? "" : "s");
    for (int i = 0; i < regions->list.len; i++) {
        const kn_region *r = regions->list.data[i];
        kn_putf(t, "  %d  ", i);
        put_space(s, r);
        put_operations(s, &lines, r);
        put_again(s, r);
    }
    if (s->verbose)
        put_merges(s);
    put_refusals(s);
}
