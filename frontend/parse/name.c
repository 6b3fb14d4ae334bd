/* What names mean: variables, and everything that has a name without being one. */
#include <math.h>
#include <string.h>

#include "base/guess.h"
#include "base/hash.h"
#include "frontend/parse/parser.h"

/* ---- variables ---- */

static uint64_t hash_name(const char *name) { return kn_hash(name, strlen(name), 0); }

kn_var *kn_var_find(kn_parser *p, const char *name)
{
    for (int i = -1; (i = kn_finder_next(&p->vars_by, hash_name(name), i)) >= 0;)
        if (strcmp(p->vars.data[i].name, name) == 0)
            return &p->vars.data[i];
    return NULL;
}

static void count_names(kn_parser *p, const kn_object *v, int change)
{
    if (v->kind == KN_OBJECT_NODE && v->storage > 0)
        p->storages.data[v->storage - 1].names += change;
    if (v->kind == KN_OBJECT_TUPLE)
        for (int i = 0; i < v->nitems; i++)
            if (v->items[i].kind == KN_OBJECT_NODE && v->items[i].storage > 0)
                p->storages.data[v->items[i].storage - 1].names += change;
}

static bool used_as_global(const kn_parser *p, const char *name)
{
    for (int i = 0; i < p->globals.len; i++)
        if (strcmp(p->globals.data[i], name) == 0)
            return true;
    return false;
}

bool kn_var_set(kn_parser *p, const char *name, kn_pos pos, kn_object v, bool param)
{
    if (strcmp(name, "np") == 0 || strcmp(name, "numpy") == 0)
        return kn_perror(p, pos, KN_SYNTAX, "'%s' means NumPy and cannot be another name", name);
    kn_var *var = kn_var_find(p, name);
    if (!var && used_as_global(p, name))
        return kn_perror(
            p, pos, KN_SYNTAX,
            "'%s' is used above with its meaning outside of the function; Python makes a "
            "name that is assigned local everywhere, so choose another one",
            name);
    kn_own_storage(p, &v, param ? name : NULL, var ? &var->value : NULL);
    v.name = NULL;
    count_names(p, &v, 1);
    if (var) {
        count_names(p, &var->value, -1);
        var->value = v;
        var->param = param;
    } else {
        kn_push(p->arena, &p->vars, ((kn_var){.name = name, .value = v, .param = param}));
        kn_finder_add(p->arena, &p->vars_by, hash_name(name), p->vars.len - 1);
    }
    return true;
}

bool kn_set(kn_parser *p, const char *name, kn_pos pos, kn_object v)
{
    if (v.kind == KN_OBJECT_ELLIPSIS || v.kind == KN_OBJECT_NUMPY)
        return kn_perror(p, v.pos, KN_TYPE, "%s cannot be assigned", kn_object_text(p, &v));
    if (v.kind == KN_OBJECT_NODE)
        kn_build_name(p->g, v.node, name);
    return kn_var_set(p, name, pos, v, false);
}

/* ---- unknown names ---- */

static void guess_functions(kn_guess *s)
{
    for (int i = 0; kn_callee_name(i); i++)
        kn_guess_try(s, kn_callee_name(i));
}

static bool unknown(kn_parser *p, kn_pos pos, const char *what, kn_guess *s)
{
    return kn_not_missing(p, s->wrong, pos) &&
           kn_perror(p, pos, KN_SYNTAX, "unknown %s '%.64s'%s", what, s->wrong, kn_guess_text(s));
}

bool kn_attribute_unknown(kn_parser *p, const char *name, kn_pos pos)
{
    static const char *const attributes[] = {"T", "shape", "ndim", "size", "dtype"};
    kn_callee fn;
    if (kn_callee_find(name, &fn) && fn.bare)
        return kn_perror(p, pos, KN_SYNTAX, "arrays have no method '%s'; write %s(x)", name, name);
    kn_guess s = kn_guess_new(name);
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        kn_guess_try(&s, attributes[i]);
    for (int i = 0; kn_callee_name(i); i++)
        if (kn_callee_find(kn_callee_name(i), &fn) && fn.method)
            kn_guess_try(&s, kn_callee_name(i));
    return unknown(p, pos, "attribute", &s);
}

/* ---- meanings ---- */

static const struct {
    const char *name;
    double value;
} constants[] = {{"inf", INFINITY}, {"nan", NAN}, {"pi", M_PI}, {"e", M_E}};

/* What is the same with np. in front and without. */
static bool common_value(kn_parser *p, const char *name, kn_pos pos, kn_object *out)
{
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (strcmp(constants[i].name, name) == 0) {
            *out = kn_node_value(kn_build_float(p->g, constants[i].value, kn_loc_of(pos)), pos);
            return true;
        }
    *out = (kn_object){.pos = pos};
    if (strcmp(name, "newaxis") == 0) {
        out->kind = KN_OBJECT_NONE;
        return true;
    }
    out->kind = KN_OBJECT_DTYPE;
    for (int i = 0; i < KN_DTYPE_LIMIT; i++)
        if (kn_dtypes[i].text && strcmp(kn_dtypes[i].numpy, name) == 0) {
            out->dtype = (kn_dtype)i;
            return true;
        }
    out->kind = KN_OBJECT_FUNCTION;
    return kn_callee_find(name, &out->fn);
}

bool kn_numpy_value(kn_parser *p, const char *name, kn_pos pos, kn_object *out)
{
    if (common_value(p, name, pos, out) && (out->kind != KN_OBJECT_FUNCTION || out->fn.numpy)) {
        out->through_numpy = true;
        return true;
    }
    if (strcmp(name, "bool_") == 0) {
        *out = (kn_object){.kind = KN_OBJECT_DTYPE, .pos = pos, .dtype = KN_BOOL};
        return true;
    }
    if (strcmp(name, "linalg") == 0) {
        *out = (kn_object){.kind = KN_OBJECT_NUMPY, .pos = pos, .text = name};
        return true;
    }
    kn_dtype ours = kn_dtype_find(name, strlen(name));
    if (ours)
        return kn_perror(p, pos, KN_SYNTAX, "NumPy has no '%s'; write np.%s or %s", name,
                         kn_dtypes[ours].numpy, name);
    if (out->kind == KN_OBJECT_FUNCTION && out->fn.name && out->fn.bare)
        return kn_perror(p, pos, KN_SYNTAX, "NumPy has no '%s'; write %s(...) without np.", name,
                         name);
    kn_guess s = kn_guess_new(name);
    guess_functions(&s);
    return unknown(p, pos, "NumPy function", &s);
}

bool kn_name_value(kn_parser *p, const char *name, kn_pos pos, kn_object *out)
{
    const kn_var *var = kn_var_find(p, name);
    if (var) {
        *out = var->value;
        if (out->stale)
            return kn_perror(
                p, pos, KN_TYPE,
                "'%s' was reshaped from an array that has been assigned to since, or is a part of a "
                "complex one, or what a computed index shows; it may or may not show the "
                "assignment. Reshape or index again, or copy first",
                name);
        out->pos = pos;
        out->name = name;
        return true;
    }
    bool known = true;
    kn_dtype dtype = kn_dtype_find(name, strlen(name));
    if (kn_symbol_find(p->g->syms, name, strlen(name)) >= 0) {
        *out = (kn_object){.kind = KN_OBJECT_DIM, .pos = pos};
        out->dim = kn_dim_sym(p->g->syms, name, strlen(name));
    } else if (strcmp(name, "np") == 0 || strcmp(name, "numpy") == 0) {
        *out = (kn_object){.kind = KN_OBJECT_NUMPY, .pos = pos};
    } else if (strcmp(name, "float") == 0 || strcmp(name, "int") == 0 ||
               strcmp(name, "complex") == 0) {
        kn_dtype python = *name == 'f' ? KN_F64 : *name == 'i' ? KN_I64 : KN_C128;
        *out = (kn_object){.kind = KN_OBJECT_DTYPE, .pos = pos, .dtype = python};
    } else if (dtype) {
        *out = (kn_object){.kind = KN_OBJECT_DTYPE, .pos = pos, .dtype = dtype};
    } else {
        known =
            common_value(p, name, pos, out) && (out->kind != KN_OBJECT_FUNCTION || out->fn.bare);
    }
    if (known) {
        out->name = name;
        if (!used_as_global(p, name))
            kn_push(p->arena, &p->globals, name);
        return true;
    }
    kn_guess s = kn_guess_new(name);
    for (int i = 0; i < p->vars.len; i++)
        kn_guess_try(&s, p->vars.data[i].name);
    for (int i = 0; i < kn_symbols_count(p->g->syms); i++)
        if (kn_symbol_name(p->g->syms, i))
            kn_guess_try(&s, kn_symbol_name(p->g->syms, i));
    guess_functions(&s);
    return unknown(p, pos, "name", &s);
}
