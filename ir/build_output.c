/* Outputs, and inputs that are updated. */
#include "ir/build_impl.h"

/* Is it made of an operand of a combine, which has a value only there? */
static bool is_carried(const kn_graph *g, const kn_node *x)
{
    bool *needed = KN_NEW_ARRAY(g->arena, bool, g->nodes.len);
    needed[x->id] = true;
    for (int i = x->id; i >= 0; i--) {
        const kn_node *n = g->nodes.data[i];
        if (needed[i] && n->op == KN_OP_CARRIED)
            return true;
        for (int k = 0; needed[i] && k < n->nin; k++)
            needed[n->in[k]->id] = true;
    }
    return false;
}

static kn_status check_output(const kn_graph *g, const char *name, const kn_node *x)
{
    return g->carried && is_carried(g, x)
               ? kn_fail(KN_ARGUMENT, "output %s uses a carried value outside of a combine", name)
               : KN_OK;
}

kn_status kn_build_output(kn_graph *g, const char *name, kn_node *x, kn_loc loc)
{
    (void)loc;
    KN_TRY(kn_build_check_name(name, "an output"));
    if (kn_graph_find_output(g, name) >= 0 || kn_graph_find_input(g, name) >= 0)
        return kn_fail(KN_ARGUMENT, "there is an %s %s already",
                       kn_graph_find_output(g, name) >= 0 ? "output" : "input", name);
    KN_TRY(check_output(g, name, x));
    if (x->weak)
        x = kn_build_cast_to(g, x, x->dtype);
    kn_graph_add_output(g,
                        (kn_output){.name = kn_strdup(g->arena, name), .node = x, .updates = -1});
    return KN_OK;
}

kn_status kn_build_update(kn_graph *g, const char *name, kn_node *x, kn_loc loc)
{
    int input = kn_graph_find_input(g, name);
    if (input < 0 || g->inputs.data[input].by_value)
        return kn_fail(KN_ARGUMENT,
                       input < 0 ? "there is no input %s to update"
                                 : "%s is a number passed by value, which cannot change",
                       name);
    if (kn_graph_find_output(g, name) >= 0)
        return kn_fail(KN_ARGUMENT, "the input %s is updated already", name);
    KN_TRY(check_output(g, name, x));
    const kn_node *in = g->inputs.data[input].node;
    x = kn_build_broadcast_to(g, kn_build_cast(g, x, in->dtype, loc), in->shape, in->rank, loc);
    if (!x)
        return kn_last_status();
    kn_graph_add_output(g, (kn_output){.name = in->name, .node = x, .updates = input});
    return KN_OK;
}
