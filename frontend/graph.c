/* The builder: public operations over ir/build.h. */
#include <string.h>

#include "frontend/handles.h"
#include "frontend/parse.h"

#undef kiln_add
#undef kiln_sub
#undef kiln_mul
#undef kiln_div
#undef kiln_floordiv
#undef kiln_mod
#undef kiln_pow
#undef kiln_minimum
#undef kiln_maximum
#undef kiln_lt
#undef kiln_le
#undef kiln_gt
#undef kiln_ge
#undef kiln_eq
#undef kiln_ne
#undef kiln_and
#undef kiln_or
#undef kiln_where
#undef kiln_not
#undef kiln_neg
#undef kiln_abs
#undef kiln_sqrt
#undef kiln_rsqrt
#undef kiln_exp
#undef kiln_log
#undef kiln_tanh
#undef kiln_sin
#undef kiln_cos
#undef kiln_floor
#undef kiln_ceil
#undef kiln_cast

static const kn_loc nowhere = {0, 0};
static const kiln_val poison = {0, 0};

kiln_status kn_handle_fail(kiln_graph *g, kn_status status)
{
    if (g->status == KILN_OK) {
        g->status = (kiln_status)status;
        strncpy(g->message, kn_last_error(), sizeof g->message - 1);
    }
    return (kiln_status)status;
}

/* ---- graphs ---- */

static kn_status start(void *user)
{
    kiln_graph *g = user;
    g->core = kn_graph_new(&g->arena, "program");
    return KN_OK;
}

kiln_status kn_handle_graph(kiln_ctx *ctx, kiln_graph **graph)
{
    static uint32_t serial; /* only ever counted up, so that values of two graphs are told apart */
    const kn_allocator *from = &ctx->core->from;
    kiln_graph *g = from->alloc(from->user, sizeof *g);
    if (!g)
        return (kiln_status)kn_fail(KN_MEMORY, "out of memory");
    memset(g, 0, sizeof *g);
    g->ctx = ctx;
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
    if (!ctx || !graph)
        return (kiln_status)kn_fail(KN_ARGUMENT, "%s is NULL", ctx ? "graph" : "ctx");
    *graph = NULL;
    return kn_handle_graph(ctx, graph);
}

void kiln_graph_destroy(kiln_graph *g)
{
    if (!g)
        return;
    kn_arena_finish(&g->arena);
    g->ctx->core->from.release(g->ctx->core->from.user, g);
}

kiln_status kiln_graph_status(const kiln_graph *g)
{
    if (!g)
        return (kiln_status)kn_fail(KN_ARGUMENT, "graph is NULL");
    if (g->status != KILN_OK)
        kn_fail((kn_status)g->status, "%s", g->message);
    return g->status;
}

/* ---- one request a builder call, so that running out of memory unwinds to here ---- */

typedef enum request_kind {
    BUILD_INPUT,
    BUILD_SCALAR,
    BUILD_INT,
    BUILD_FLOAT,
    BUILD_SIZE,
    BUILD_ELEM,
    BUILD_CAST,
    BUILD_REDUCE,
    BUILD_RESHAPE,
    BUILD_BROADCAST,
    BUILD_EXPAND,
    BUILD_TRANSPOSE,
    BUILD_NAME,
    BUILD_OUTPUT,
    BUILD_ASSUME,
    BUILD_GRAPH_NAME,
} request_kind;

typedef struct request {
    kiln_graph *g;
    request_kind kind;
    kn_op op;
    kn_node *in[KN_MAX_IN];
    int nin;
    const char *name, *dims;
    kn_dtype dtype;
    int64_t i;
    double f;
    bool has_default;
    kiln_axes axes;
    bool keepdims;
    int ddof;
    kn_node *result;
} request;

static kn_status parse_dims(kn_graph *g, const char *text, kn_dim *dims, int *rank, bool holes)
{
    *rank = 0;
    const char *p = text;
    while (*p == ' ')
        p++;
    if (!*p)
        return KN_OK;
    for (;;) {
        while (*p == ' ')
            p++;
        if (*rank == KN_MAX_RANK)
            return kn_fail(KN_SHAPE, "dimensions \"%s\": more than %d", text, KN_MAX_RANK);
        if (holes && p[0] == '-' && p[1] == '1') {
            dims[(*rank)++] = NULL;
            p += 2;
        } else {
            const char *end;
            kn_dim d = kn_dim_parse(g->syms, p, &end);
            if (!d)
                return kn_fail(
                    KN_SHAPE,
                    "dimensions \"%s\", column %d: expected a name, a number, or products and sums of them",
                    text, (int)(end - text) + 1);
            dims[(*rank)++] = d;
            p = end;
        }
        while (*p == ' ')
            p++;
        if (!*p)
            return KN_OK;
        if (*p != ',')
            return kn_fail(KN_SHAPE, "dimensions \"%s\", column %d: expected ',' or the end", text,
                           (int)(p - text) + 1);
        p++;
    }
}

/* "C % 4 == 0" or "N == 2*M" */
static kn_status assume(kn_graph *g, const char *text)
{
    const char *p;
    kn_dim a = kn_dim_parse(g->syms, text, &p), b = NULL;
    while (a && *p == ' ')
        p++;
    kn_fact_kind kind = a && *p == '%' ? KN_FACT_DIVIDES : KN_FACT_EQUAL;
    if (kind == KN_FACT_DIVIDES)
        b = kn_dim_parse(g->syms, p + 1, &p);
    while (p && *p == ' ')
        p++;
    if (a && p[0] == '=' && p[1] == '=') {
        kn_dim right = kn_dim_parse(g->syms, p + 2, &p);
        int64_t zero;
        while (right && *p == ' ')
            p++;
        if (kind == KN_FACT_EQUAL)
            b = right;
        else if (!right || !kn_dim_is_const(g->syms, right, &zero) || zero != 0)
            b = NULL;
        if (right && b && !*p) {
            kn_build_assume(g, kind, a, b, nowhere);
            return KN_OK;
        }
    }
    return kn_fail(KN_SYNTAX, "constraint \"%s\": expected \"A %% B == 0\" or \"A == B\"", text);
}

static kn_node *sized(kn_node *x, request *r)
{
    int axis = (int)r->i < 0 ? (int)r->i + x->rank : (int)r->i;
    if (axis < 0 || axis >= x->rank) {
        kn_fail(KN_SHAPE, "size: axis %d is out of bounds for rank %d", (int)r->i, x->rank);
        return NULL;
    }
    return kn_build_extent(r->g->core, x->shape[axis], nowhere);
}

static kn_status build_view(request *r)
{
    kn_graph *g = r->g->core;
    kn_dim parsed[KN_MAX_RANK];
    int rank;
    if (r->kind == BUILD_TRANSPOSE) {
        r->result = kn_build_transpose(g, r->in[0], r->axes.count < 0 ? NULL : r->axes.axis,
                                       r->axes.count, nowhere);
        return KN_OK;
    }
    KN_TRY(parse_dims(g, r->dims, parsed, &rank, r->kind == BUILD_RESHAPE));
    kn_dim *dims = KN_NEW_ARRAY(g->arena, kn_dim, rank + 1);
    memcpy(dims, parsed, sizeof *dims * (size_t)rank);
    if (r->kind == BUILD_INPUT)
        r->result = kn_build_input(g, r->name, r->dtype, dims, rank, nowhere);
    else if (r->kind == BUILD_RESHAPE)
        r->result = kn_build_reshape(g, r->in[0], dims, rank, nowhere);
    else
        r->result = kn_build_broadcast_to(g, r->in[0], dims, rank, nowhere);
    return KN_OK;
}

static kn_status build(void *user)
{
    request *r = user;
    kn_graph *g = r->g->core;
    kn_scalar dflt = {.dtype = KN_F64, .f = r->f};
    switch (r->kind) {
    case BUILD_INPUT:
    case BUILD_RESHAPE:
    case BUILD_BROADCAST:
    case BUILD_TRANSPOSE: KN_TRY(build_view(r)); break;
    case BUILD_SCALAR:
        r->result = kn_build_scalar(g, r->name, r->dtype, r->has_default ? &dflt : NULL, nowhere);
        break;
    case BUILD_INT: r->result = kn_build_int(g, r->i, nowhere); break;
    case BUILD_FLOAT: r->result = kn_build_float(g, r->f, nowhere); break;
    case BUILD_SIZE: r->result = sized(r->in[0], r); break;
    case BUILD_ELEM: r->result = kn_build_elem(g, r->op, r->in, r->nin, nowhere); break;
    case BUILD_CAST: r->result = kn_build_cast(g, r->in[0], r->dtype, nowhere); break;
    case BUILD_REDUCE:
        r->result = kn_build_reduce(g, r->op, r->in[0], r->axes.axis, r->axes.count, r->keepdims,
                                    r->dtype, r->ddof, nowhere);
        break;
    case BUILD_EXPAND: r->result = kn_build_expand_dims(g, r->in[0], (int)r->i, nowhere); break;
    case BUILD_NAME:
        KN_TRY(kn_build_check_name(r->name, "a value"));
        kn_build_name(g, r->in[0], r->name);
        r->result = r->in[0];
        break;
    case BUILD_OUTPUT:
        KN_TRY(kn_build_output(g, r->name, r->in[0], nowhere));
        r->result = r->in[0];
        break;
    case BUILD_ASSUME: return assume(g, r->name);
    case BUILD_GRAPH_NAME:
        KN_TRY(kn_build_check_name(r->name, "a program"));
        g->name = kn_strdup(g->arena, r->name);
        return KN_OK;
    }
    if (r->result)
        return KN_OK;
    /* what a NULL node stands for: what kn_fail() was told last */
    return kn_last_status() != KN_OK ? kn_last_status() : KN_INTERNAL;
}

static kn_status run_request(request *r) { return kn_protect(&r->g->arena, build, r); }

static kiln_val value_of(const kiln_graph *g, const kn_node *n)
{
    return (kiln_val){g->serial, (uint32_t)n->id + 1};
}

/* Puts v's node in r->in; false when v is poisoned or not of this graph (then the graph has an error). */
static bool take(request *r, kiln_val v)
{
    kiln_graph *g = r->g;
    if (v.id == 0) {
        if (g->status == KILN_OK)
            kn_handle_fail(
                g, kn_fail(KN_ARGUMENT,
                           "a poisoned value was used, of a call that failed or another graph"));
        return false;
    }
    if (v.graph != g->serial || v.id > (uint32_t)g->core->nodes.len) {
        kn_handle_fail(g, kn_fail(KN_ARGUMENT, "a value of another graph was used"));
        return false;
    }
    r->in[r->nin++] = g->core->nodes.data[v.id - 1];
    return true;
}

static kiln_val finish(request *r)
{
    if (!r->g || r->g->status != KILN_OK)
        return poison;
    kn_status status = run_request(r);
    if (status != KN_OK) {
        kn_handle_fail(r->g, status);
        return poison;
    }
    return value_of(r->g, r->result);
}

static kiln_val unary(request r, kiln_val x) { return r.g && take(&r, x) ? finish(&r) : poison; }

/* ---- inputs and numbers ---- */

static bool named(kiln_graph *g, const char *name, const char *what)
{
    if (!g)
        return false;
    if (!name)
        kn_handle_fail(g, kn_fail(KN_ARGUMENT, "%s is NULL", what));
    return name != NULL;
}

kiln_val kiln_input(kiln_graph *g, const char *name, kiln_dtype dtype, const char *dims)
{
    request r = {.g = g, .kind = BUILD_INPUT, .name = name, .dtype = (kn_dtype)dtype, .dims = dims};
    return named(g, name, "name") && named(g, dims, "dims") ? finish(&r) : poison;
}

kiln_val kiln_scalar(kiln_graph *g, const char *name, kiln_dtype dtype)
{
    request r = {.g = g, .kind = BUILD_SCALAR, .name = name, .dtype = (kn_dtype)dtype};
    return named(g, name, "name") ? finish(&r) : poison;
}

kiln_val kiln_scalar_default(kiln_graph *g, const char *name, kiln_dtype dtype, double value)
{
    request r = {.g = g,
                 .kind = BUILD_SCALAR,
                 .name = name,
                 .dtype = (kn_dtype)dtype,
                 .f = value,
                 .has_default = true};
    return named(g, name, "name") ? finish(&r) : poison;
}

kiln_val kiln_int(kiln_graph *g, int64_t value)
{
    request r = {.g = g, .kind = BUILD_INT, .i = value};
    return finish(&r);
}

kiln_val kiln_float(kiln_graph *g, double value)
{
    request r = {.g = g, .kind = BUILD_FLOAT, .f = value};
    return finish(&r);
}

kiln_val kiln_size(kiln_graph *g, kiln_val x, int axis)
{
    return unary((request){.g = g, .kind = BUILD_SIZE, .i = axis}, x);
}

/* ---- operations ---- */

static kiln_val elem(kiln_graph *g, kn_op op, int n, kiln_val a, kiln_val b, kiln_val c)
{
    request r = {.g = g, .kind = BUILD_ELEM, .op = op};
    if (!g || !take(&r, a) || (n > 1 && !take(&r, b)) || (n > 2 && !take(&r, c)))
        return poison;
    return finish(&r);
}

#define UNARY(name, op)                                                                            \
    kiln_val kiln_##name(kiln_graph *g, kiln_val a) { return elem(g, KN_OP_##op, 1, a, a, a); }
#define BINARY(name, op)                                                                           \
    kiln_val kiln_##name(kiln_graph *g, kiln_val a, kiln_val b)                                    \
    {                                                                                              \
        return elem(g, KN_OP_##op, 2, a, b, b);                                                    \
    }
BINARY(add, ADD)
BINARY(sub, SUB)
BINARY(mul, MUL)
BINARY(div, DIV)
BINARY(floordiv, FLOORDIV)
BINARY(mod, MOD)
BINARY(pow, POW)
BINARY(minimum, MINIMUM)
BINARY(maximum, MAXIMUM)
BINARY(lt, LT)
BINARY(le, LE)
BINARY(gt, GT)
BINARY(ge, GE)
BINARY(eq, EQ)
BINARY(ne, NE)
BINARY(and, AND)
BINARY(or, OR)
UNARY(not, NOT)
UNARY(neg, NEG)
UNARY(abs, ABS)
UNARY(sqrt, SQRT)
UNARY(rsqrt, RSQRT)
UNARY(exp, EXP)
UNARY(log, LOG)
UNARY(tanh, TANH)
UNARY(sin, SIN)
UNARY(cos, COS)
UNARY(floor, FLOOR)
UNARY(ceil, CEIL)

kiln_val kiln_where(kiln_graph *g, kiln_val a, kiln_val b, kiln_val c)
{
    return elem(g, KN_OP_WHERE, 3, a, b, c);
}

kiln_val kiln_cast(kiln_graph *g, kiln_val a, kiln_dtype dtype)
{
    return unary((request){.g = g, .kind = BUILD_CAST, .dtype = (kn_dtype)dtype}, a);
}

kiln_val kiln_apply(kiln_graph *g, const char *op, const kiln_val *args, int nargs)
{
    if (!named(g, op, "op"))
        return poison;
    int found = kn_op_find(op, strlen(op));
    request r = {.g = g, .kind = BUILD_ELEM, .op = (kn_op)found};
    if (found < 0 || kn_ops[found].cls != KN_ELEM) {
        kn_handle_fail(g, kn_fail(KN_ARGUMENT, "there is no elementwise operation '%s'", op));
        return poison;
    }
    if (nargs < 0 || nargs > KN_MAX_IN || (nargs && !args)) {
        kn_handle_fail(g, kn_fail(KN_ARGUMENT, "%s: %d arguments", op, nargs));
        return poison;
    }
    for (int i = 0; i < nargs; i++)
        if (!take(&r, args[i]))
            return poison;
    return finish(&r);
}

static kiln_val reduce(kiln_graph *g, kn_op op, kiln_val x, kiln_axes axes, unsigned flags,
                       kiln_dtype dtype, int ddof)
{
    request r = {.g = g,
                 .kind = BUILD_REDUCE,
                 .op = op,
                 .axes = axes,
                 .keepdims = flags & KILN_KEEPDIMS,
                 .dtype = (kn_dtype)dtype,
                 .ddof = ddof};
    if (g && axes.count > KN_MAX_RANK) {
        kn_handle_fail(g, kn_fail(KN_ARGUMENT, "%s: %d axes", kn_ops[op].text, axes.count));
        return poison;
    }
    return unary(r, x);
}

#define REDUCTION(name, op)                                                                        \
    kiln_val kiln_##name(kiln_graph *g, kiln_val x, kiln_axes axes, unsigned flags)                \
    {                                                                                              \
        return reduce(g, KN_OP_##op, x, axes, flags, KILN_NO_DTYPE, 0);                            \
    }
REDUCTION(sum, SUM)
REDUCTION(prod, PROD)
REDUCTION(min, MIN)
REDUCTION(max, MAX)
REDUCTION(any, ANY)
REDUCTION(all, ALL)
REDUCTION(mean, MEAN)
REDUCTION(var, VAR)

kiln_val kiln_reduce(kiln_graph *g, const char *op, kiln_val x, kiln_axes axes, unsigned flags,
                     kiln_dtype dtype, int ddof)
{
    if (!named(g, op, "op"))
        return poison;
    int found = kn_op_find(op, strlen(op));
    if (found < 0 || kn_ops[found].cls != KN_REDUCE) {
        kn_handle_fail(g, kn_fail(KN_ARGUMENT, "there is no reduction '%s'", op));
        return poison;
    }
    return reduce(g, (kn_op)found, x, axes, flags, dtype, ddof);
}

/* ---- views ---- */

kiln_val kiln_reshape(kiln_graph *g, kiln_val x, const char *dims)
{
    request r = {.g = g, .kind = BUILD_RESHAPE, .dims = dims};
    return named(g, dims, "dims") ? unary(r, x) : poison;
}

kiln_val kiln_broadcast_to(kiln_graph *g, kiln_val x, const char *dims)
{
    request r = {.g = g, .kind = BUILD_BROADCAST, .dims = dims};
    return named(g, dims, "dims") ? unary(r, x) : poison;
}

kiln_val kiln_expand_dims(kiln_graph *g, kiln_val x, int axis)
{
    return unary((request){.g = g, .kind = BUILD_EXPAND, .i = axis}, x);
}

kiln_val kiln_transpose(kiln_graph *g, kiln_val x, kiln_axes axes)
{
    return unary((request){.g = g, .kind = BUILD_TRANSPOSE, .axes = axes}, x);
}

/* ---- names, constraints, outputs ---- */

kiln_val kiln_name(kiln_graph *g, kiln_val v, const char *name)
{
    request r = {.g = g, .kind = BUILD_NAME, .name = name};
    return named(g, name, "name") ? unary(r, v) : poison;
}

/* Calls that give a status: the first error of the graph, if it has one. */
static kiln_status status_request(request *r, const char *what)
{
    if (!r->g)
        return (kiln_status)kn_fail(KN_ARGUMENT, "graph is NULL");
    if (named(r->g, r->name, what) && r->g->status == KILN_OK) {
        kn_status status = run_request(r);
        if (status != KN_OK)
            kn_handle_fail(r->g, status);
    }
    return kiln_graph_status(r->g);
}

kiln_status kiln_assume(kiln_graph *g, const char *constraint)
{
    request r = {.g = g, .kind = BUILD_ASSUME, .name = constraint};
    return status_request(&r, "constraint");
}

kiln_status kiln_graph_name(kiln_graph *g, const char *name)
{
    request r = {.g = g, .kind = BUILD_GRAPH_NAME, .name = name};
    return status_request(&r, "name");
}

kiln_status kiln_output(kiln_graph *g, const char *name, kiln_val v)
{
    request r = {.g = g, .kind = BUILD_OUTPUT, .name = name};
    if (g && g->status == KILN_OK && named(g, name, "name"))
        take(&r, v);
    return status_request(&r, "name");
}

/* ---- text form ---- */

typedef struct parsing {
    kiln_graph *g;
    const char *text, *file;
} parsing;

static kn_status parse_whole(void *user)
{
    parsing *p = user;
    return kn_parse(p->g->core, p->text, p->file);
}

static kn_status parse_expression(void *user)
{
    parsing *p = user;
    return kn_parse_expr(p->g->core, p->text);
}

kiln_status kiln_parse(kiln_ctx *ctx, const char *text, const char *file, kiln_graph **graph)
{
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
    parsing p = {g, text, file};
    status = (kiln_status)kn_protect(&g->arena, parse_whole, &p);
    if (status != KILN_OK) {
        kiln_graph_destroy(g);
        return status;
    }
    *graph = g;
    return KILN_OK;
}

kiln_status kiln_parse_expr(kiln_graph *g, const char *text)
{
    if (!g || !text)
        return (kiln_status)kn_fail(KN_ARGUMENT, "%s is NULL", g ? "text" : "graph");
    if (g->status != KILN_OK)
        return kiln_graph_status(g);
    parsing p = {g, text, NULL};
    kn_status status = kn_protect(&g->arena, parse_expression, &p);
    return status == KN_OK ? KILN_OK : kn_handle_fail(g, status);
}
