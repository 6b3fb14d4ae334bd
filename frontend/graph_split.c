/* A graph in two, forward and backward. */
#include "base/fenv.h"
#include "frontend/handles.h"
#include "frontend/structs.h"
#include "runtime/split.h"

void kiln_split_options_init_size(kiln_split_options *s, size_t size)
{
    const kiln_split_options defaults = {0};
    kn_struct_init(s, size, &defaults, sizeof defaults);
}

typedef struct splitting {
    kiln_graph *g, *to[2];
    kn_splitting how;
    kn_arena *scratch;
    const kiln_arg *args;
    kn_graph *part; /* that is copied to */
    int index;      /* to[index] */
} splitting;

static kn_status copy_part(void *user)
{
    splitting *s = user;
    kiln_graph *to = s->to[s->index];
    to->core = kn_graph_clone(&to->arena, s->part);
    return KN_OK;
}

static kn_status split(void *user)
{
    splitting *s = user;
    kn_graph *part[2];
    kn_arg *args = KN_NEW_ARRAY(s->scratch, kn_arg, s->how.nargs + 1);
    for (int i = 0; i < s->how.nargs; i++)
        args[i] = (kn_arg){s->args[i].name, s->args[i].data,  (int)s->args[i].dtype,
                           s->args[i].rank, s->args[i].shape, s->args[i].strides};
    s->how.args = args;
    KN_TRY(kn_split_choose(s->g->ctx->core, kn_graph_clone(s->scratch, s->g->core), &s->how, part));
    for (s->index = 0; s->index < 2; s->index++) {
        s->part = part[s->index];
        KN_TRY(kn_protect(&s->to[s->index]->arena, copy_part, s));
    }
    return KN_OK;
}

static kn_status make(splitting *s)
{
    kn_arena scratch;
    for (int i = 0; i < 2; i++) {
        kiln_status status = kn_handle_graph(s->g->ctx, &s->to[i]);
        if (status != KILN_OK)
            return (kn_status)status;
    }
    kn_arena_init(&scratch, &s->g->ctx->core->from);
    s->scratch = &scratch;
    kn_status status = kn_protect(&scratch, split, s);
    kn_arena_finish(&scratch);
    return status;
}

kiln_status kiln_split(kiln_graph *g, const char *late, const kiln_split_options *options,
                       kiln_graph **forward, kiln_graph **backward)
{
    KN_DEFAULT_FENV;
    kiln_split_options o;
    kiln_split_options_init(&o);
    if (!g || !late || !forward || !backward)
        return (kiln_status)kn_fail(KN_ARGUMENT, "%s is NULL",
                                    !g         ? "graph"
                                    : !late    ? "late"
                                    : !forward ? "forward"
                                               : "backward");
    *forward = *backward = NULL;
    KN_CHECK_HERE(g->ctx);
    kn_status status = options ? kn_struct_read(&kn_struct_split_options, options, &o) : KN_OK;
    if (status != KN_OK)
        return (kiln_status)status;
    if (o.nargs < 0 || (o.nargs && !o.args))
        return (kiln_status)kn_fail(KN_ARGUMENT, "split_options.nargs is %d%s", o.nargs,
                                    o.args ? "" : " of no args");
    if (kiln_graph_status(g) != KILN_OK)
        return g->status;
    splitting s = {.g = g, .args = o.args};
    s.how = (kn_splitting){.late = late, .save = o.save, .arch = o.arch, .nargs = o.nargs};
    status = make(&s);
    if (status != KN_OK) {
        kiln_graph_destroy(s.to[0]);
        kiln_graph_destroy(s.to[1]);
        return (kiln_status)status;
    }
    *forward = s.to[0];
    *backward = s.to[1];
    return KILN_OK;
}
