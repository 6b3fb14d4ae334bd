#include "ir/build_impl.h"
#include "ir/eval.h"

const char *kn_build_shape_text(kn_graph *g, const kn_dim *shape, int rank)
{
    kn_text t = kn_text_new(g->arena);
    kn_shape_print(&t, g->syms, shape, rank);
    return kn_text_str(&t);
}

const char *kn_build_place(kn_graph *g, kn_loc loc)
{
    return kn_strdup(g->arena, kn_loc_place(loc).text);
}

const char *kn_build_int_text(kn_graph *g, kn_scalar v)
{
    return v.dtype == KN_U64 ? kn_sprintf(g->arena, "%llu", (unsigned long long)v.i)
                             : kn_sprintf(g->arena, "%lld", (long long)v.i);
}

/* ---- leaves ---- */

/* Names stand in generated source, in file names and in Graphviz text. */
static bool is_identifier(const char *name)
{
    bool ok = *name && !(*name >= '0' && *name <= '9');
    for (; ok && *name; name++)
        ok = *name == '_' || (*name >= '0' && *name <= '9') || (*name >= 'a' && *name <= 'z') ||
             (*name >= 'A' && *name <= 'Z');
    return ok;
}

kn_status kn_build_check_name(const char *name, const char *what)
{
    if (!name || !*name)
        return kn_fail(KN_ARGUMENT, "%s needs a name", what);
    if (!is_identifier(name))
        return kn_fail(KN_ARGUMENT, "the name '%s' of %s is not an identifier: letters, digits, _",
                       name, what);
    return KN_OK;
}

static kn_status new_input(kn_graph *g, const char *name, kn_dtype dtype)
{
    KN_TRY(kn_build_check_name(name, "an input"));
    if (!kn_dtype_valid((int)dtype))
        return kn_fail(KN_TYPE, "input %s: unknown dtype %d", name, (int)dtype);
    if (kn_graph_find_input(g, name) >= 0)
        return kn_fail(KN_ARGUMENT, "there is an input %s already", name);
    return KN_OK;
}

kn_node *kn_build_input(kn_graph *g, const char *name, kn_dtype dtype, const kn_dim *shape,
                        int rank, kn_loc loc)
{
    if (new_input(g, name, dtype) != KN_OK)
        return NULL;
    if (rank > KN_MAX_RANK) {
        kn_fail(KN_SHAPE, "input %s has %d dimensions; %d is the limit", name, rank, KN_MAX_RANK);
        return NULL;
    }
    kn_node n = {.op = KN_OP_INPUT, .dtype = dtype, .rank = rank, .shape = shape, .loc = loc};
    n.u.input = g->inputs.len;
    n.name = kn_strdup(g->arena, name);
    kn_node *made = kn_graph_intern(g, &n);
    kn_graph_add_input(g, (kn_input){.name = made->name, .node = made});
    return made;
}

kn_node *kn_build_scalar(kn_graph *g, const char *name, kn_dtype dtype, const kn_scalar *dflt,
                         kn_loc loc)
{
    if (new_input(g, name, dtype) != KN_OK)
        return NULL;
    kn_node n = {.op = KN_OP_SCALAR, .dtype = dtype, .loc = loc};
    n.u.input = g->inputs.len;
    n.name = kn_strdup(g->arena, name);
    kn_node *made = kn_graph_intern(g, &n);
    kn_input in = {.name = made->name, .node = made, .by_value = true, .has_default = dflt != NULL};
    if (dflt)
        in.dflt = kn_eval_cast(*dflt, dtype);
    kn_graph_add_input(g, in);
    return made;
}

kn_node *kn_build_constant(kn_graph *g, kn_scalar v, bool weak, kn_loc loc)
{
    kn_node n = {.op = KN_OP_CONST, .dtype = v.dtype, .weak = weak, .loc = loc};
    n.u.value = v;
    return kn_graph_intern(g, &n);
}

kn_node *kn_build_int(kn_graph *g, int64_t v, kn_loc loc)
{
    return kn_build_constant(g, (kn_scalar){.dtype = KN_I64, .i = v}, true, loc);
}

kn_node *kn_build_uint(kn_graph *g, uint64_t v, kn_loc loc)
{
    kn_scalar large = {.dtype = KN_U64, .i = (int64_t)v};
    return v <= INT64_MAX ? kn_build_int(g, (int64_t)v, loc)
                          : kn_build_constant(g, large, true, loc);
}

kn_node *kn_build_float(kn_graph *g, double v, kn_loc loc)
{
    return kn_build_constant(g, (kn_scalar){.dtype = KN_F64, .f = v}, true, loc);
}

kn_node *kn_build_complex_number(kn_graph *g, double re, double im, kn_loc loc)
{
    return kn_build_constant(g, (kn_scalar){.dtype = KN_C128, .f = re, .im = im}, true, loc);
}

kn_node *kn_build_bool(kn_graph *g, bool v, kn_loc loc)
{
    return kn_build_constant(g, (kn_scalar){.dtype = KN_BOOL, .i = v}, false, loc);
}

kn_node *kn_build_const(kn_graph *g, kn_scalar v, kn_loc loc)
{
    return kn_build_constant(g, v, false, loc);
}

kn_node *kn_build_extent(kn_graph *g, kn_dim d, kn_loc loc)
{
    int64_t v;
    if (!d)
        return NULL;
    if (kn_dim_is_const(g->syms, d, &v))
        return kn_build_int(g, v, loc);
    kn_node n = {.op = KN_OP_EXTENT, .dtype = KN_I64, .weak = true, .loc = loc};
    n.u.dim = kn_dim_resolve(g->syms, d);
    return kn_graph_intern(g, &n);
}

/* ---- names and constraints ---- */

void kn_build_name(kn_graph *g, kn_node *x, const char *name)
{
    if (x && !x->name)
        x->name = kn_strdup(g->arena, name);
}

static void add_fact(kn_graph *g, kn_fact fact)
{
    if (fact.kind == KN_FACT_EQUAL)
        kn_dim_unify(g->syms, fact.a, fact.b);
    kn_facts_add(&g->facts, g->syms, g->arena, fact);
}

void kn_build_need(kn_graph *g, kn_fact_kind kind, kn_dim a, kn_dim b, const char *what, kn_loc loc)
{
    const char *why = kn_sprintf(g->arena, "%s%s", what, kn_build_place(g, loc));
    add_fact(g, (kn_fact){.kind = kind, .a = a, .b = b, .why = why});
}

void kn_build_assume(kn_graph *g, kn_fact_kind kind, kn_dim a, kn_dim b, const char *said,
                     kn_loc loc)
{
    const char *why = kn_sprintf(g->arena, "stated%s", kn_build_place(g, loc));
    add_fact(g, (kn_fact){.kind = kind, .a = a, .b = b, .said = said, .why = why});
}
