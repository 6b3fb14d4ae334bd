#include "runtime/program.h"

#include <string.h>

#include "runtime/ranks.h"
#include "runtime/tune.h"

typedef struct creation {
    kn_program *prog;
    const kn_graph *graph;
    const kn_program_options *options;
} creation;

static void list_slots(kn_program *p)
{
    const kn_graph *g = p->optimised;
    p->nslots = g->inputs.len + g->outputs.len;
    p->slots = KN_NEW_ARRAY(&p->arena, kn_slot, p->nslots + 1);
    for (int i = 0; i < p->nslots; i++) {
        bool output = i >= g->inputs.len;
        const kn_input *in = output ? NULL : &g->inputs.data[i];
        const kn_output *out = output ? &g->outputs.data[i - g->inputs.len] : NULL;
        const kn_node *n = output ? out->node : in->node;
        p->slots[i] = (kn_slot){.name = output ? out->name : in->name,
                                .dtype = (int)n->dtype,
                                .rank = n->rank,
                                .output = output,
                                .by_value = in && in->by_value,
                                .has_default = in && in->has_default,
                                .same = out ? out->updates : -1};
        if (!p->slots[i].by_value)
            p->signature_bytes += sizeof(int64_t) * (size_t)(1 + 2 * n->rank);
    }
}

static kn_status create(void *user)
{
    creation *c = user;
    kn_program *p = c->prog;
    if (c->graph->outputs.len == 0)
        return kn_fail(KN_ARGUMENT, "%s has no outputs", c->graph->name);
    p->options = *c->options;
    if (p->options.comm)
        kn_comm_keep(p->comm = p->options.comm);
    const char *schedule = p->options.schedule;
    if (schedule)
        KN_TRY(kn_force_read(kn_strdup(&p->arena, schedule), &p->force));
    KN_TRY(kn_force_reuse(p->options.reuse, &p->force));
    if (p->options.max_threads)
        p->force.max_threads = p->options.max_threads;
    p->options.schedule = p->options.reuse = NULL; /* the caller's texts */
    p->original = kn_graph_clone(&p->arena, c->graph);
    p->original->ranks = p->comm ? kn_comm_count(p->comm) : 1;
    p->passes = KN_NEW_ARRAY(&p->arena, kn_pass_record, kn_graph_pass_count + 1);
    p->optimised = kn_graph_optimise(&p->arena, p->original, p->options.fast_math, p->passes);
    if (!p->optimised)
        return kn_graph_failed(&p->arena, p->original, kn_last_status());
    list_slots(p);
    return kn_divided_make(p);
}

kn_status kn_program_create(kn_context *ctx, const kn_graph *g, const kn_program_options *options,
                            kn_program **out)
{
    kn_program *p = ctx->from.alloc(ctx->from.user, sizeof *p);
    if (!p)
        return kn_fail(KN_MEMORY, "out of memory");
    memset(p, 0, sizeof *p);
    p->ctx = ctx;
    kn_arena_init(&p->arena, &ctx->from);
    kn_table_init(&p->variants, &ctx->from);
    kn_table_init(&p->kept, &ctx->from);
    pthread_mutex_init(&p->lock, NULL);
    kn_tunings_init(p);
    kn_chunks_init(&p->planning, &ctx->from);
    kn_partitions_init(&p->known, &ctx->from);
    creation c = {p, g, options};
    kn_status status = kn_protect(&p->arena, create, &c);
    if (status != KN_OK) {
        kn_program_destroy(p);
        return status;
    }
    *out = p;
    return KN_OK;
}

void kn_program_destroy(kn_program *p)
{
    kn_allocator from = p->ctx->from;
    kn_variants_finish(p);
    kn_divided_finish(p);
    kn_comm_drop(p->comm);
    kn_tunings_finish(p);
    pthread_mutex_destroy(&p->lock);
    kn_arena_finish(&p->arena);
    kn_chunks_finish(&p->planning);
    kn_partitions_finish(&p->known);
    from.release(from.user, p);
}
