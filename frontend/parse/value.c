/* What a value can be used as, and what it is called. */
#include <string.h>

#include "frontend/parse/parser.h"

bool kn_as_node(kn_parser *p, const kn_object *v, kn_node **out)
{
    switch (v->kind) {
    case KN_OBJECT_NODE: *out = v->node; return true;
    case KN_OBJECT_DIM:
        *out = kn_build_extent(p->g, v->dim, kn_loc_of(v->pos));
        return *out || kn_pwrap(p, v->pos);
    case KN_OBJECT_FUNCTION:
        return kn_perror(p, v->pos, KN_TYPE, "%s is a function; call it: %s(...)", v->fn.name,
                         v->fn.name);
    default:
        return kn_perror(p, v->pos, KN_TYPE, "expected a number or an array, found %s",
                         kn_object_text(p, v));
    }
}

kn_dim kn_as_dim(kn_parser *p, const kn_object *v)
{
    if (v->kind == KN_OBJECT_DIM)
        return v->dim;
    return v->kind == KN_OBJECT_NODE && v->node->weak ? kn_build_size(p->g, v->node) : NULL;
}

bool kn_as_int(kn_parser *p, const kn_object *v, int64_t *out)
{
    kn_dim d = kn_as_dim(p, v);
    return d && kn_dim_is_const(p->g->syms, d, out);
}

bool kn_dtype_unknown(kn_parser *p, const char *name, kn_pos pos)
{
    kn_text t = kn_text_new(p->arena);
    for (int i = 0; i < KN_DTYPE_LIMIT; i++)
        if (kn_dtypes[i].text)
            kn_putf(&t, "%s%s", t.len ? ", " : "", kn_dtypes[i].text);
    return kn_perror(p, pos, KN_SYNTAX, "unknown type '%.64s'; the types are %s", name,
                     kn_text_str(&t));
}

bool kn_as_dtype(kn_parser *p, const kn_object *v, kn_dtype *out)
{
    if (v->kind == KN_OBJECT_DTYPE) {
        *out = v->dtype;
        return true;
    }
    if (v->kind != KN_OBJECT_STRING)
        return kn_perror(p, v->pos, KN_TYPE, "expected a type such as f32, found %s",
                         kn_object_text(p, v));
    for (int i = 0; i < KN_DTYPE_LIMIT; i++) /* only NumPy's names: "f32" is none there */
        if (kn_dtypes[i].text && strcmp(kn_dtypes[i].numpy, v->text) == 0) {
            *out = (kn_dtype)i;
            return true;
        }
    return kn_dtype_unknown(p, v->text, v->pos);
}

/* NumPy's are views, which here nobody can write through: `uncertain` of a complex array, what it shows once the array
 * has changed. That of a real array is the array itself, and its imaginary part, zeros, is read-only in NumPy too. */
bool kn_part_value(kn_parser *p, kn_op op, const kn_object *x, kn_object *out)
{
    kn_node *made = x->node;
    bool complex = kn_is_complex(made->dtype);
    if (complex || op == KN_OP_IMAG)
        made = kn_build_elem(p->g, op, &made, 1, kn_loc_of(x->pos));
    if (!made)
        return false;
    *out = kn_node_value(made, x->pos);
    if (complex || op == KN_OP_REAL)
        out->storage = kn_view_storage(p, x->storage);
    out->scalar = x->scalar;
    out->uncertain = out->storage && (complex || x->uncertain);
    out->readonly = x->readonly || complex || op == KN_OP_IMAG;
    return true;
}

const char *kn_number_text(kn_dtype dtype)
{
    return kn_is_int(dtype) ? "an integer" : kn_is_complex(dtype) ? "a complex number" : "a float";
}

const char *kn_object_text(kn_parser *p, const kn_object *v)
{
    switch (v->kind) {
    case KN_OBJECT_NODE: {
        const char *type = kn_dtypes[v->node->dtype].text;
        if (v->node->weak)
            return kn_number_text(v->node->dtype);
        if (v->node->rank == 0)
            return kn_sprintf(p->arena, "a value of type %s", type);
        kn_text t = kn_text_new(p->arena);
        kn_putf(&t, "an array of type %s", type);
        kn_shape_print(&t, p->g->syms, v->node->shape, v->node->rank);
        return kn_text_str(&t);
    }
    case KN_OBJECT_DIM: return "a size";
    case KN_OBJECT_TUPLE: return v->list ? "a list" : "a tuple";
    case KN_OBJECT_DTYPE: return kn_sprintf(p->arena, "the type %s", kn_dtypes[v->dtype].text);
    case KN_OBJECT_STRING: return "a string";
    case KN_OBJECT_NONE: return "None";
    case KN_OBJECT_ELLIPSIS: return "'...'";
    case KN_OBJECT_NUMPY: return "the module NumPy";
    case KN_OBJECT_FUNCTION: return kn_sprintf(p->arena, "the function %s", v->fn.name);
    }
    return "a value";
}
