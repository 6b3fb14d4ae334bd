/* The lines of the user's text. */
#include <string.h>

#include "runtime/explain_impl.h"

kn_text_lines kn_explain_lines(const subject *s)
{
    const char *at = s->prog->original->texts == 1 ? s->prog->original->source : NULL;
    kn_text_lines l = {0};
    for (const char *c = at; c; c = (c = strchr(c, '\n')) ? c + 1 : NULL)
        l.n++;
    l.begin = KN_NEW_ARRAY(s->t->arena, const char *, l.n + 1);
    for (int i = 1; i <= l.n; i++) {
        l.begin[i] = at;
        at = i < l.n ? strchr(at, '\n') + 1 : NULL;
    }
    return l;
}

int kn_explain_line(const subject *s, const kn_text_lines *lines, kn_loc loc)
{
    const kn_graph *g = s->prog->original;
    int line = loc.line > lines->n ? 0 : loc.line;
    for (int i = 0; i < g->inputs.len; i++)
        line = g->inputs.data[i].node->loc.line == line ? 0 : line;
    return line;
}
