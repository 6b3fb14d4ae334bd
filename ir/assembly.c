#include "ir/assembly.h"

void kn_note_assembly(kn_graph *g, const kn_node *made, const kn_piece *pieces, int n,
                      const kn_node *rest)
{
    if (!made || (rest && rest->id >= made->id))
        return;
    for (int i = 0; i < n; i++) {
        bool known = pieces[i].node >= 0 && pieces[i].node < made->id;
        for (int j = 0; known && j < made->rank; j++)
            known = pieces[i].at.start[j] && pieces[i].at.size[j];
        if (!known)
            return;
    }
    const kn_piece *kept = kn_alloc_copy(g->arena, pieces, sizeof *pieces * (size_t)n);
    kn_push(g->arena, &g->assemblies, ((kn_assembly){made->id, rest ? rest->id : -1, n, kept}));
}

static void copy_rectangle(kn_symbols *to, kn_rectangle *at, int rank)
{
    for (int j = 0; j < rank; j++) {
        at->start[j] = kn_dim_copy(to, at->start[j]);
        at->size[j] = kn_dim_copy(to, at->size[j]);
    }
}

void kn_copy_assemblies(kn_graph *to, const kn_graph *from, kn_node *const *map)
{
    for (int i = 0; i < from->assemblies.len; i++) {
        kn_assembly as = from->assemblies.data[i];
        const kn_node *made = map[as.node], *rest = as.rest < 0 ? NULL : map[as.rest];
        kn_piece *pieces = kn_alloc_copy(to->arena, as.pieces, sizeof *pieces * (size_t)as.n);
        bool there = made && (rest || as.rest < 0);
        for (int k = 0; k < as.n && there; k++) {
            there = map[pieces[k].node];
            pieces[k].node = there ? map[pieces[k].node]->id : -1;
            if (there && to->syms != from->syms)
                copy_rectangle(to->syms, &pieces[k].at, made->rank);
        }
        if (there)
            kn_push(to->arena, &to->assemblies,
                    ((kn_assembly){made->id, rest ? rest->id : -1, as.n, pieces}));
    }
}
