/* Graphs: their handles, leaves, names, constraints and outputs, and the text form. */
#include <errno.h>
#include <string.h>

#include "base/fenv.h"
#include "base/file.h"
#include "frontend/parse/parse.h"
#include "frontend/request.h"
#include "ir/eval.h"

#undef kiln_update

/* ---- graphs ---- */

static kn_status start(void *user)
{
    kiln_graph *g = user;
    g->core = kn_graph_new(&g->arena, "program");
    return KN_OK;
}

kiln_status kn_handle_graph(kiln_ctx *ctx, kiln_graph **graph)
{
    static uint32_t serial; /* never reused, so that values of different graphs differ */
    KN_CHECK_HERE(ctx);
    const kn_allocator *from = &ctx->core->from;
    kiln_graph *g = from->alloc(from->user, sizeof *g);
    if (!g)
        return (kiln_status)kn_fail(KN_MEMORY, "out of memory");
    memset(g, 0, sizeof *g);
    g->ctx = ctx;
    kn_handle_keep(ctx);
    g->serial = __atomic_add_fetch(&serial, 1, __ATOMIC_RELAXED);
    kn_arena_init(&g->arena, from);
    kn_status status = kn_protect(&g->arena, start, g);
    if (status != KN_OK) {
        kiln_graph_destroy(g);
        return (kiln_status)status;
    }
    *graph = g;
    return KILN_OK;
}

kiln_status kiln_graph_create(kiln_ctx *ctx, kiln_graph **graph)
{
    KN_DEFAULT_FENV;
    if (!ctx || !graph)
        return (kiln_status)kn_fail(KN_ARGUMENT, "%s is NULL", ctx ? "graph" : "ctx");
    *graph = NULL;
    return kn_handle_graph(ctx, graph);
}

void kiln_graph_destroy(kiln_graph *g)
{
    if (!g)
        return;
    kiln_ctx *ctx = g->ctx;
    kn_arena_finish(&g->arena);
    ctx->core->from.release(ctx->core->from.user, g);
    kn_handle_drop(ctx);
}

/* ---- inputs and numbers ---- */

static kn_status make_input(kn_graph *g, kn_request *r)
{
    kn_dim shape[KN_MAX_RANK];
    int rank;
    KN_TRY(kn_parse_dims(g, r->dims, false, shape, &rank));
    return kn_request_made(r, kn_build_input(g, r->name, r->dtype, shape, rank, kn_nowhere));
}

kiln_val kiln_input(kiln_graph *g, const char *name, kiln_dtype dtype, const char *dims)
{
    kn_request r = {
        .g = g, .make = make_input, .name = name, .dtype = (kn_dtype)dtype, .dims = dims};
    return kn_request_named(g, name, "name") && kn_request_named(g, dims, "dims")
               ? kn_request_finish(&r)
               : kn_poison;
}

static kn_status make_scalar(kn_graph *g, kn_request *r)
{
    kn_scalar dflt = {.dtype = KN_F64, .f = r->f};
    const kn_scalar *given = r->has_default ? &dflt : NULL;
    if (given && kn_dtype_valid((int)r->dtype) && !kn_is_inexact(r->dtype) &&
        kn_scalar_number(kn_eval_cast(dflt, r->dtype)) != r->f)
        return kn_fail(KN_TYPE, "input %s: %s cannot have %.17g as its default", r->name,
                       kn_dtypes[r->dtype].text, r->f);
    return kn_request_made(r, kn_build_scalar(g, r->name, r->dtype, given, kn_nowhere));
}

kiln_val kiln_scalar(kiln_graph *g, const char *name, kiln_dtype dtype)
{
    kn_request r = {.g = g, .make = make_scalar, .name = name, .dtype = (kn_dtype)dtype};
    return kn_request_named(g, name, "name") ? kn_request_finish(&r) : kn_poison;
}

kiln_val kiln_scalar_default(kiln_graph *g, const char *name, kiln_dtype dtype, double value)
{
    kn_request r = {.g = g,
                    .make = make_scalar,
                    .name = name,
                    .dtype = (kn_dtype)dtype,
                    .f = value,
                    .has_default = true};
    return kn_request_named(g, name, "name") ? kn_request_finish(&r) : kn_poison;
}

static kn_status make_int(kn_graph *g, kn_request *r)
{
    return kn_request_made(r, kn_build_int(g, r->i, kn_nowhere));
}

kiln_val kiln_int(kiln_graph *g, int64_t value)
{
    kn_request r = {.g = g, .make = make_int, .i = value};
    return kn_request_finish(&r);
}

static kn_status make_float(kn_graph *g, kn_request *r)
{
    return kn_request_made(r, kn_build_float(g, r->f, kn_nowhere));
}

kiln_val kiln_float(kiln_graph *g, double value)
{
    kn_request r = {.g = g, .make = make_float, .f = value};
    return kn_request_finish(&r);
}

static kn_status make_complex(kn_graph *g, kn_request *r)
{
    return kn_request_made(r, kn_build_complex_number(g, r->f, r->imag, kn_nowhere));
}

kiln_val kiln_complex(kiln_graph *g, double re, double im)
{
    kn_request r = {.g = g, .make = make_complex, .f = re, .imag = im};
    return kn_request_finish(&r);
}

static kn_status make_size(kn_graph *g, kn_request *r)
{
    const kn_node *x = r->in[0];
    int64_t axis = r->i < 0 ? r->i + x->rank : r->i;
    if (axis < 0 || axis >= x->rank)
        return kn_fail(KN_SHAPE, "size: axis %d is out of bounds for rank %d", (int)r->i, x->rank);
    return kn_request_made(r, kn_build_extent(g, x->shape[axis], kn_nowhere));
}

kiln_val kiln_size(kiln_graph *g, kiln_val x, int axis)
{
    return kn_request_unary((kn_request){.g = g, .make = make_size, .i = axis}, x);
}

/* ---- names, constraints, outputs ---- */

static kn_status make_name(kn_graph *g, kn_request *r)
{
    KN_TRY(kn_build_check_name(r->name, "a value"));
    kn_build_name(g, r->in[0], r->name);
    return kn_request_made(r, r->in[0]);
}

kiln_val kiln_name(kiln_graph *g, kiln_val v, const char *name)
{
    kn_request r = {.g = g, .make = make_name, .name = name};
    return kn_request_named(g, name, "name") ? kn_request_unary(r, v) : kn_poison;
}

static kn_status make_assumption(kn_graph *g, kn_request *r)
{
    return kn_parse_constraint(g, r->name);
}

kiln_status kiln_assume(kiln_graph *g, const char *constraint)
{
    kn_request r = {.g = g, .make = make_assumption, .name = constraint};
    return kn_request_status(&r, "constraint");
}

static kn_status make_graph_name(kn_graph *g, kn_request *r)
{
    KN_TRY(kn_build_check_name(r->name, "a program"));
    g->name = kn_strdup(g->arena, r->name);
    return KN_OK;
}

kiln_status kiln_graph_name(kiln_graph *g, const char *name)
{
    kn_request r = {.g = g, .make = make_graph_name, .name = name};
    return kn_request_status(&r, "name");
}

static kn_status make_output(kn_graph *g, kn_request *r)
{
    return kn_build_output(g, r->name, r->in[0], kn_nowhere);
}

static kn_status make_update(kn_graph *g, kn_request *r)
{
    return kn_build_update(g, r->name, r->in[0], kn_nowhere);
}

/* Gives v to what has the name. */
static kiln_status give(kn_status (*make)(kn_graph *g, kn_request *r), kiln_graph *g,
                        const char *name, kiln_val v)
{
    kn_request r = {.g = g, .make = make, .name = name};
    if (g && g->status == KILN_OK && kn_request_named(g, name, "name"))
        kn_request_take(&r, v);
    return kn_request_status(&r, "name");
}

kiln_status kiln_output(kiln_graph *g, const char *name, kiln_val v)
{
    return give(make_output, g, name, v);
}

kiln_status kiln_update(kiln_graph *g, const char *name, kiln_val v)
{
    return give(make_update, g, name, v);
}

/* ---- text form ---- */

typedef struct parsing {
    kiln_graph *g;
    const char *text, *file, *name;
} parsing;

static kn_status parse_whole(void *user)
{
    parsing *p = user;
    return kn_parse_named(p->g->core, p->text, p->file, p->name);
}

static kn_status parse_expression(void *user)
{
    parsing *p = user;
    return kn_parse_expr(p->g->core, p->text);
}

enum { MOST_NAMES = 64 };

typedef struct naming {
    kn_request r; /* first: `make` gets it */
    const char *const *names;
    kn_node *nodes[MOST_NAMES];
    int n;
} naming;

static kn_status make_expression(kn_graph *g, kn_request *r)
{
    const naming *in = (const naming *)r;
    return kn_parse_value(g, r->name, in->names, in->nodes, in->n, &r->result);
}

kiln_val kiln_expr(kiln_graph *g, const char *text, const char *const *names,
                   const kiln_val *values, int n)
{
    naming in = {.r = {.g = g, .make = make_expression, .name = text}, .names = names, .n = n};
    if (!kn_request_named(g, text, "text"))
        return kn_poison;
    if (n < 0 || n > MOST_NAMES || (n && (!names || !values))) {
        kn_handle_fail(
            g, kn_fail(KN_ARGUMENT, "an expression of %d names; it can have %d", n, MOST_NAMES));
        return kn_poison;
    }
    return kn_request_nodes(g, values, n, in.nodes) ? kn_request_finish(&in.r) : kn_poison;
}

kiln_status kiln_parse_named(kiln_ctx *ctx, const char *text, const char *file, const char *name,
                             kiln_graph **graph)
{
    KN_DEFAULT_FENV;
    if (!ctx || !text || !graph)
        return (kiln_status)kn_fail(KN_ARGUMENT, "%s is NULL",
                                    !ctx   ? "ctx"
                                    : text ? "graph"
                                           : "text");
    *graph = NULL;
    kiln_graph *g;
    kiln_status status = kn_handle_graph(ctx, &g);
    if (status != KILN_OK)
        return status;
    parsing p = {g, text, file, name};
    status = (kiln_status)kn_protect(&g->arena, parse_whole, &p);
    if (status != KILN_OK) {
        kiln_graph_destroy(g);
        return status;
    }
    *graph = g;
    return KILN_OK;
}

kiln_status kiln_parse(kiln_ctx *ctx, const char *text, const char *file, kiln_graph **graph)
{
    return kiln_parse_named(ctx, text, file, NULL, graph);
}

kiln_status kiln_parse_file(kiln_ctx *ctx, const char *path, const char *name, kiln_graph **graph)
{
    char *text, why[256];
    if (!ctx || !path || !graph)
        return (kiln_status)kn_fail(KN_ARGUMENT, "%s is NULL",
                                    !ctx   ? "ctx"
                                    : path ? "graph"
                                           : "path");
    *graph = NULL;
    KN_CHECK_HERE(ctx);
    const kn_allocator *from = &ctx->core->from;
    if (!kn_file_read(path, KN_PARSE_MAX_TEXT, from, &text))
        return (kiln_status)kn_fail(KN_IO, "%s: cannot read: %s", path,
                                    strerror_r(errno, why, sizeof why));
    kiln_status status = kiln_parse_named(ctx, text, path, name, graph);
    from->release(from->user, text);
    return status;
}

kiln_status kiln_parse_expr(kiln_graph *g, const char *text)
{
    KN_DEFAULT_FENV;
    if (!g || !text)
        return (kiln_status)kn_fail(KN_ARGUMENT, "%s is NULL", g ? "text" : "graph");
    if (g->status != KILN_OK)
        return kiln_graph_status(g);
    parsing p = {g, text, NULL, NULL};
    kn_status status = kn_protect(&g->arena, parse_expression, &p);
    return status == KN_OK ? KILN_OK : kn_handle_fail(g, status);
}
