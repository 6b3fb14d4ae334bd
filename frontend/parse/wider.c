/* Where NumPy's rules make an f64 or a c128 of operands that are none: what explain says of it. */
#include <string.h>

#include "frontend/parse/parse.h"
#include "frontend/parse/parser.h"

static bool is_wide(const kn_node *x)
{
    return !x->weak && (x->dtype == KN_F64 || x->dtype == KN_C128);
}

/* Is there such a value in v? */
static bool has_wide(const kn_object *v)
{
    for (int i = 0; v->kind == KN_OBJECT_TUPLE && i < v->nitems; i++)
        if (has_wide(&v->items[i]))
            return true;
    return v->kind == KN_OBJECT_NODE && is_wide(v->node);
}

static void add_type(kn_text *t, const char *type)
{
    if (!strstr(kn_text_str(t), type))
        kn_putf(t, "%s%s", t->len ? " and " : "", type);
}

static const char *node_type(const kn_node *x)
{
    return x->weak ? kn_number_text(x->dtype) : kn_dtypes[x->dtype].text;
}

/* Adds what v is to a list, once: "i32", "a float", "a size". */
static void list_types(kn_parser *p, const kn_object *v, kn_text *t)
{
    for (int i = 0; v->kind == KN_OBJECT_TUPLE && i < v->nitems; i++)
        list_types(p, &v->items[i], t);
    if (v->kind == KN_OBJECT_NODE)
        add_type(t, node_type(v->node));
    else if (v->kind == KN_OBJECT_DIM)
        add_type(t, kn_object_text(p, v));
}

static void note(kn_graph *g, const char *what, kn_loc loc, const kn_node *made, const char *types)
{
    const char *text = kn_sprintf(g->arena, "%s%s: %s of %s", what, kn_loc_place(loc).text,
                                  kn_dtypes[made->dtype].text, types);
    kn_push(g->arena, &g->wider, ((kn_remark){made->id, text}));
}

void kn_note_wider(kn_parser *p, const char *what, kn_pos pos, const kn_object *args, int n,
                   const kn_object *made)
{
    kn_object operands = {.kind = KN_OBJECT_TUPLE, .items = args, .nitems = n};
    for (int i = 0; made->kind == KN_OBJECT_TUPLE && i < made->nitems; i++)
        kn_note_wider(p, what, pos, args, n, &made->items[i]);
    if (made->kind != KN_OBJECT_NODE || !is_wide(made->node) || has_wide(&operands))
        return;
    kn_text types = kn_text_new(p->arena);
    list_types(p, &operands, &types);
    note(p->g, what, kn_loc_of(pos), made->node, kn_text_str(&types));
}

void kn_note_wider_node(kn_graph *g, kn_node *const *in, int n, const kn_node *made)
{
    kn_text types = kn_text_new(g->arena);
    if (!is_wide(made))
        return;
    for (int i = 0; i < n; i++) {
        if (is_wide(in[i]))
            return;
        add_type(&types, node_type(in[i]));
    }
    note(g, kn_ops[kn_view_root(made)->op].text, made->loc, made, kn_text_str(&types));
}
