/* Where NumPy's rules make an f64 or a c128 of operands that are none: what explain says of it. */
#include <string.h>

#include "frontend/parse/parser.h"

static bool is_wide(const kn_node *x)
{
    return !x->weak && (x->dtype == KN_F64 || x->dtype == KN_C128);
}

/* Is there such a value in v? */
static bool has_wide(const kn_value *v)
{
    for (int i = 0; v->kind == KN_V_TUPLE && i < v->nitems; i++)
        if (has_wide(&v->items[i]))
            return true;
    return v->kind == KN_V_NODE && is_wide(v->node);
}

/* Adds what v is to a list, once: "i32", "a float", "a size". */
static void list_types(kn_parser *p, const kn_value *v, kn_text *t)
{
    for (int i = 0; v->kind == KN_V_TUPLE && i < v->nitems; i++)
        list_types(p, &v->items[i], t);
    if (v->kind != KN_V_NODE && v->kind != KN_V_DIM)
        return;
    bool array = v->kind == KN_V_NODE && !v->node->weak;
    const char *type = array ? kn_dtypes[v->node->dtype].text : kn_value_text(p, v);
    if (!strstr(kn_text_str(t), type))
        kn_putf(t, "%s%s", t->len ? " and " : "", type);
}

void kn_note_wider(kn_parser *p, const char *what, kn_pos pos, const kn_value *args, int n,
                   const kn_value *made)
{
    kn_value operands = {.kind = KN_V_TUPLE, .items = args, .nitems = n};
    for (int i = 0; made->kind == KN_V_TUPLE && i < made->nitems; i++)
        kn_note_wider(p, what, pos, args, n, &made->items[i]);
    if (made->kind != KN_V_NODE || !is_wide(made->node) || has_wide(&operands))
        return;
    kn_text types = kn_text_new(p->arena);
    list_types(p, &operands, &types);
    const char *text =
        kn_sprintf(p->arena, "%s%s: %s of %s", what, kn_loc_place(kn_loc_of(pos)).text,
                   kn_dtypes[made->node->dtype].text, kn_text_str(&types));
    kn_push(p->arena, &p->g->wider, ((kn_wider){made->node->id, text}));
}
