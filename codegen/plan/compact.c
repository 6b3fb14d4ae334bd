/* The problem whose arguments are compact: what lies transposed is copied first.
 *
 * A loop nest that reads an array across its rows goes through a tile, or by single elements of each sector. Where several
 * nests do, or their schedules have no tiles (rows in several sweeps, clusters, mixed rows), one copy is cheaper than what
 * all of them lose. */
#include "codegen/plan/build.h"
#include "ir/view.h"

/* Do elements that are neighbours along the last axis lie apart, and those along another side by side? */
static bool lies_transposed(const kn_layout *l)
{
    bool beside = false;
    int last = -1;
    for (int j = 0; j < l->rank; j++) {
        beside = beside || (l->shape[j] > 1 && l->stride[j] == 1);
        last = l->shape[j] > 1 ? j : last;
    }
    return beside && l->stride[last] != 1 && l->stride[last] != 0;
}

static bool is_copied(const kn_problem *pr, const kn_node *x)
{
    return x->op == KN_OP_INPUT && lies_transposed(&pr->in[x->u.input]);
}

static kn_node *read_copies(void *ctx, kn_graph *g, const kn_node *old, kn_node *const *in)
{
    const kn_problem *pr = ctx;
    kn_node *from[KN_MAX_IN];
    for (int k = 0; k < old->nin; k++)
        from[k] = is_copied(pr, old->in[k]) ? kn_compact_copy_of(g, in[k]) : in[k];
    return kn_node_copy(g, old, from);
}

bool kn_may_compact(const kn_problem *pr)
{
    bool any = false;
    for (int i = 0; i < pr->graph->nodes.len; i++)
        any = any || is_copied(pr, pr->graph->nodes.data[i]);
    return any && pr->target->sm && pr->target->cooperative && pr->fusion && !pr->universal &&
           !pr->invariant && !pr->formulas && !pr->choices && pr->graph->ranks <= 1;
}

kn_status kn_problem_compact(kn_arena *a, const kn_problem *as_laid_out, kn_problem *compact)
{
    *compact = *as_laid_out;
    compact->graph =
        kn_graph_rewrite(a, as_laid_out->graph, read_copies, (void *)(uintptr_t)as_laid_out);
    return compact->graph ? KN_OK : kn_last_status();
}
