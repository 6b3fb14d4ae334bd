/* Programs: compiling, running, explaining. */
#include <string.h>

#include "base/fenv.h"
#include "frontend/handles.h"
#include "frontend/structs.h"
#include "runtime/explain.h"

static kiln_status null(const char *what)
{
    return (kiln_status)kn_fail(KN_ARGUMENT, "%s is NULL", what);
}

void kiln_options_init_size(kiln_options *s, size_t size)
{
    const kiln_options defaults = {.fusion = true};
    kn_struct_init(s, size, &defaults, sizeof defaults);
}

/* ---- compile ---- */

static const char *dims_text(kn_arena *a, const kn_graph *g, const kn_node *n)
{
    kn_text t = kn_text_new(a);
    for (int i = 0; i < n->rank; i++) {
        kn_put(&t, i ? ", " : "");
        kn_dim_print(&t, g->syms, n->shape[i]);
    }
    return kn_text_str(&t);
}

static kn_status list_io(void *user)
{
    kiln_prog *p = user;
    const kn_graph *g = p->core->original;
    int all = g->inputs.len + g->outputs.len;
    p->io = KN_NEW_ARRAY(&p->arena, kiln_io, all + 1);
    for (int i = 0; i < all; i++) {
        bool in = i < g->inputs.len;
        const kn_input *from = in ? &g->inputs.data[i] : NULL;
        const kn_node *n = in ? from->node : g->outputs.data[i - g->inputs.len].node;
        if (!in && g->outputs.data[i - g->inputs.len].updates >= 0)
            continue;
        kiln_io *io = &p->io[p->io_count++];
        io->kind = !in                                        ? KILN_ARRAY_OUT
                   : from->by_value                           ? KILN_SCALAR_IN
                   : kn_graph_find_output(g, from->name) >= 0 ? KILN_ARRAY_UPDATE
                                                              : KILN_ARRAY_IN;
        io->name = in ? from->name : g->outputs.data[i - g->inputs.len].name;
        io->dtype = (kiln_dtype)n->dtype;
        io->rank = n->rank;
        io->dims = dims_text(&p->arena, g, n);
        io->has_default = in && from->has_default;
        if (io->has_default)
            io->dflt = kn_is_inexact(from->dflt.dtype) ? from->dflt.f : (double)from->dflt.i;
        io->dflt_imag = io->has_default ? from->dflt.im : 0;
    }
    return KN_OK;
}

kiln_status kiln_compile(kiln_graph *g, const kiln_options *options, kiln_prog **prog)
{
    KN_DEFAULT_FENV;
    if (!g || !prog)
        return null(g ? "prog" : "graph");
    KN_CHECK_HERE(g->ctx);
    *prog = NULL;
    kiln_options o;
    kiln_options_init(&o);
    if (options) {
        kn_status status = kn_struct_read(&kn_struct_options, options, &o);
        if (status != KN_OK)
            return (kiln_status)status;
    }
    if (o.max_threads && (o.max_threads < KN_LEAST_LIMIT || o.max_threads > KN_MOST_LIMIT))
        return (kiln_status)kn_fail(KN_ARGUMENT,
                                    "options.max_threads is %d; it can be 0 or %d to %d",
                                    o.max_threads, KN_LEAST_LIMIT, KN_MOST_LIMIT);
    if (o.max_kinds < -1)
        return (kiln_status)kn_fail(KN_ARGUMENT, "options.max_kinds is %d; it can be -1 or more",
                                    o.max_kinds);
    if (o.autotune < 0)
        return (kiln_status)kn_fail(KN_ARGUMENT, "options.autotune is %d; it can be 0 or more",
                                    o.autotune);
    if (o.comm && o.comm->ctx != g->ctx)
        return (kiln_status)kn_fail(KN_ARGUMENT, "options.comm is of another context");
    if (o.autotune && o.batch_invariant)
        return (kiln_status)kn_fail(KN_ARGUMENT, "options.autotune chooses by measuring, which "
                                                 "options.batch_invariant excludes");
    if (kiln_graph_status(g) != KILN_OK)
        return g->status;
    const kn_allocator *from = &g->ctx->core->from;
    kiln_prog *p = from->alloc(from->user, sizeof *p);
    if (!p)
        return (kiln_status)kn_fail(KN_MEMORY, "out of memory");
    memset(p, 0, sizeof *p);
    p->ctx = g->ctx;
    kn_handle_keep(p->ctx);
    kn_arena_init(&p->arena, from);
    const kn_program_options internal = {.fusion = o.fusion,
                                         .schedule = o.schedule,
                                         .max_threads = o.max_threads,
                                         .reuse = o.reuse,
                                         .fast_math = o.fast_math,
                                         .batch_invariant = o.batch_invariant,
                                         .max_kinds = o.max_kinds,
                                         .autotune = o.autotune,
                                         .comm = o.comm ? o.comm->core : NULL};
    kn_status status = kn_program_create(g->ctx->core, g->core, &internal, &p->core);
    if (status == KN_OK)
        status = kn_protect(&p->arena, list_io, p);
    if (status != KN_OK) {
        kiln_prog_destroy(p);
        return (kiln_status)status;
    }
    *prog = p;
    return KILN_OK;
}

void kiln_prog_destroy(kiln_prog *p)
{
    if (!p || !kn_context_is_here(p->ctx->core))
        return;
    kiln_ctx *ctx = p->ctx;
    const kn_allocator from = ctx->core->from;
    if (p->core)
        kn_program_destroy(p->core);
    kn_arena_finish(&p->arena);
    from.release(from.user, p);
    kn_handle_drop(ctx);
}

const char *kiln_prog_name(const kiln_prog *p) { return p ? p->core->original->name : ""; }
int kiln_prog_io_count(const kiln_prog *p) { return p ? p->io_count : 0; }

kiln_status kiln_prog_io(const kiln_prog *p, int index, kiln_io *io)
{
    if (!p || !io)
        return null(p ? "io" : "prog");
    if (index < 0 || index >= p->io_count)
        return (kiln_status)kn_fail(KN_ARGUMENT, "there is no parameter or output %d", index);
    *io = p->io[index];
    return KILN_OK;
}

/* ---- arguments ---- */

kiln_status kn_handle_with_args(kiln_prog *p, const kiln_arg *args, int nargs, kn_with_args fn,
                                void *user)
{
    enum { ON_STACK = 64 };
    kn_arg few[ON_STACK], *many = few;
    KN_DEFAULT_FENV;
    few[0] = (kn_arg){0};
    if (!p)
        return null("prog");
    KN_CHECK_HERE(p->ctx);
    if (nargs < 0)
        return (kiln_status)kn_fail(KN_ARGUMENT, "nargs is %d", nargs);
    if (nargs && !args)
        return null("args");
    const kn_allocator *from = &p->ctx->core->from;
    if (nargs > ON_STACK) {
        many = from->alloc(from->user, sizeof *many * (size_t)nargs);
        if (!many)
            return (kiln_status)kn_fail(KN_MEMORY, "out of memory");
    }
    for (int i = 0; i < nargs; i++)
        many[i] = (kn_arg){args[i].name, args[i].data,  (int)args[i].dtype,
                           args[i].rank, args[i].shape, args[i].strides};
    kn_status status = fn(p, many, nargs, user);
    if (many != few)
        from->release(from->user, many);
    return (kiln_status)status;
}

typedef struct scratched {
    kn_with_scratch fn;
    void *user;
    kiln_prog *prog;
    const kn_arg *args;
    int nargs;
    kn_arena arena;
} scratched;

static kn_status call_scratched(void *user)
{
    scratched *s = user;
    return s->fn(s->prog, s->args, s->nargs, &s->arena, s->user);
}

static kn_status with_scratch(kiln_prog *p, const kn_arg *args, int nargs, void *user)
{
    scratched *s = user;
    s->prog = p;
    s->args = args;
    s->nargs = nargs;
    kn_arena_init(&s->arena, &p->ctx->core->from);
    kn_status status = kn_protect(&s->arena, call_scratched, s);
    kn_arena_finish(&s->arena);
    return status;
}

kiln_status kn_handle_with_scratch(kiln_prog *p, const kiln_arg *args, int nargs,
                                   kn_with_scratch fn, void *user)
{
    scratched s = {.fn = fn, .user = user};
    return kn_handle_with_args(p, args, nargs, with_scratch, &s);
}

/* ---- shapes, prepare, run ---- */

typedef struct shape_query {
    const char *name;
    kiln_dtype *dtype;
    int *rank;
    int64_t *shape;
} shape_query;

static kn_status output_shape(kiln_prog *p, const kn_arg *args, int nargs, kn_arena *scratch,
                              void *user)
{
    const shape_query *q = user;
    const kn_graph *g = p->core->optimised;
    int o = kn_graph_find_output(g, q->name);
    kn_binding b;
    if (o < 0)
        return kn_fail(KN_ARGUMENT, "%s has no output %s", g->name, q->name);
    KN_TRY(kn_bind(scratch, g, args, nargs, KN_BIND_INPUTS, &b));
    *q->dtype = (kiln_dtype)g->outputs.data[o].node->dtype;
    *q->rank = b.out[o].rank;
    memcpy(q->shape, b.out[o].shape, sizeof *q->shape * (size_t)b.out[o].rank);
    return KN_OK;
}

kiln_status kiln_output_shape(kiln_prog *prog, const char *name, const kiln_arg *args, int nargs,
                              kiln_dtype *dtype, int *rank, int64_t *shape)
{
    if (!name || !dtype || !rank || !shape)
        return null(!name ? "name" : !dtype ? "dtype" : !rank ? "rank" : "shape");
    shape_query q = {name, dtype, rank, shape};
    return kn_handle_with_scratch(prog, args, nargs, output_shape, &q);
}

void kiln_prepared_init_size(kiln_prepared *s, size_t size)
{
    const kiln_prepared defaults = {0};
    kn_struct_init(s, size, &defaults, sizeof defaults);
}

static kn_status prepare(kiln_prog *p, const kn_arg *args, int nargs, void *user)
{
    kiln_prepared *out = user;
    kn_prepared info;
    const kn_preparing how = {!out->own_workspace, out->alignment};
    if (out->alignment < 0 || (out->alignment & (out->alignment - 1)))
        return kn_fail(KN_ARGUMENT, "prepared.alignment is %d; it can be 0 or a power of two",
                       out->alignment);
    KN_TRY(kn_program_prepare(p->core, args, nargs, &how, &info));
    out->workspace = info.workspace;
    out->launches = (uint64_t)info.launches;
    out->copies = (uint64_t)info.copies;
    return KN_OK;
}

kiln_status kiln_prepare(kiln_prog *prog, const kiln_arg *args, int nargs, kiln_prepared *info)
{
    kiln_prepared own;
    kiln_prepared_init(&own);
    kn_status status = info ? kn_struct_read(&kn_struct_prepared, info, &own) : KN_OK;
    if (status == KN_OK)
        status = (kn_status)kn_handle_with_args(prog, args, nargs, prepare, &own);
    if (status == KN_OK && info)
        status = kn_struct_write(&kn_struct_prepared, info, &own);
    return (kiln_status)status;
}

typedef struct running {
    void *stream, *workspace;
    size_t bytes;
} running;

static kn_status run(kiln_prog *p, const kn_arg *args, int nargs, void *user)
{
    const running *r = user;
    return kn_program_run(p->core, r->stream, args, nargs, r->workspace, r->bytes);
}

kiln_status kiln_run(kiln_prog *prog, void *stream, const kiln_arg *args, int nargs)
{
    running r = {.stream = stream};
    return kn_handle_with_args(prog, args, nargs, run, &r);
}

kiln_status kiln_run_in(kiln_prog *prog, void *stream, const kiln_arg *args, int nargs,
                        void *workspace, size_t bytes)
{
    running r = {stream, workspace, bytes};
    return kn_handle_with_args(prog, args, nargs, run, &r);
}

/* ---- explain ---- */

void kiln_explain_options_init_size(kiln_explain_options *s, size_t size)
{
    const kiln_explain_options defaults = {0};
    kn_struct_init(s, size, &defaults, sizeof defaults);
}

typedef struct explanation {
    kiln_explain_options options;
    char **text;
} explanation;

static kn_status explain(kiln_prog *p, const kn_arg *args, int nargs, kn_arena *scratch, void *user)
{
    const explanation *e = user;
    const kn_allocator *from = &p->ctx->core->from;
    kn_text t = kn_text_new(scratch);
    const kn_explaining what = {e->options.stage, e->options.arch, e->options.verbose};
    KN_TRY(kn_explain(p->core, args, nargs, &what, &t));
    *e->text = from->alloc(from->user, t.len + 1);
    if (!*e->text)
        return kn_fail(KN_MEMORY, "out of memory");
    memcpy(*e->text, kn_text_str(&t), t.len + 1);
    return KN_OK;
}

kiln_status kiln_explain(kiln_prog *prog, const kiln_arg *args, int nargs,
                         const kiln_explain_options *options, char **text)
{
    if (!text)
        return null("text");
    *text = NULL;
    explanation e = {.text = text};
    kiln_explain_options_init(&e.options);
    if (options) {
        kn_status status = kn_struct_read(&kn_struct_explain_options, options, &e.options);
        if (status != KN_OK)
            return (kiln_status)status;
    }
    return kn_handle_with_scratch(prog, args, nargs, explain, &e);
}
