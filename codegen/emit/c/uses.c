/* Which of the values, reductions and stores of a sweep a loop has. */
#include "codegen/emit/c/writer.h"

bool kn_c_adds_here(const kn_c_writing *g, int r, int loop)
{
    const kn_phase *p = g->w->ph;
    const kn_red *red = &p->nest.reds.data[r];
    if (g->l.group || red->stage != g->l.stage || kn_c_owner(p, r) != r ||
        !kn_c_is_added(g->w, red))
        return false;
    int v = red->value;
    return loop == (g->l.way[v] == KN_C_CALLED   ? g->l.loop[v] + 1
                    : g->l.way[v] == KN_C_INLINE ? g->l.loop[v]
                                                 : 0);
}

bool kn_c_adds(const kn_c_writing *g, int loop)
{
    for (int r = 0; r < g->w->ph->nest.reds.len; r++)
        if (kn_c_adds_here(g, r, loop))
            return true;
    return false;
}

/* Is v made elsewhere, or read, and wanted in an array? Then the first loop copies it. */
bool kn_c_copies(const kn_c_writing *g, int v, int loop)
{
    return loop == 0 && g->l.array[v] && g->l.way[v] <= KN_C_READ;
}

/* Does the loop use value v, which is read? */
bool kn_c_reads(const kn_c_writing *g, int v, int loop)
{
    const kn_phase *p = g->w->ph;
    if (g->l.way[v] != KN_C_READ)
        return false;
    bool uses = kn_c_copies(g, v, loop);
    for (int i = 0; i < p->nest.values.len; i++)
        for (int k = 0; k < kn_c_value_at(g, i)->nin; k++)
            uses |= g->l.way[i] == KN_C_INLINE && g->l.loop[i] == loop &&
                    kn_c_value_at(g, i)->in[k] == v;
    for (int s = 0; s < p->nest.stores.len; s++)
        uses |= kn_c_stores_in(g, s, loop) && kn_c_store_at(g, s)->kind != KN_STORE_PARTIAL &&
                kn_c_store_at(g, s)->value == v;
    for (int r = 0; r < p->nest.reds.len; r++)
        uses |= kn_c_adds_here(g, r, loop) && p->nest.reds.data[r].value == v;
    return uses;
}

bool kn_c_is_empty(const kn_c_writing *g, int loop)
{
    const kn_phase *p = g->w->ph;
    for (int i = 0; i < p->nest.values.len; i++)
        if ((g->l.way[i] == KN_C_INLINE && g->l.loop[i] == loop) || kn_c_copies(g, i, loop))
            return false;
    for (int s = 0; s < p->nest.stores.len; s++)
        if (kn_c_stores_in(g, s, loop))
            return false;
    return !kn_c_adds(g, loop);
}

const char *kn_c_store_subscript(kn_c_writing *g, int s, const char *l)
{
    if (g->w->store_copy[s] >= 0)
        return l;
    return kn_c_subscript(g->w, &kn_c_store_at(g, s)->access, kn_c_number_of(g->w->ph, true, s), l);
}

bool kn_c_shifts(const kn_c_writing *g, int r, int loop)
{
    return kn_c_adds_here(g, r, loop) && g->w->ph->nest.reds.data[r].op == KN_OP_VAR;
}

bool kn_c_is_long(const kn_c_writing *g, int loop)
{
    enum { MOST = 200 };
    int n = 0;
    for (int v = 0; v < g->w->ph->nest.values.len; v++)
        n += g->l.way[v] == KN_C_INLINE && g->l.loop[v] == loop;
    return n > MOST;
}
