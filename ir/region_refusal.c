/* What a refusal to make two regions one says. */
#include "ir/region_impl.h"

const char *kn_region_title(const kn_former *f, const kn_region *r)
{
    for (int i = r->nodes.len - 1; i >= 0; i--)
        if (r->nodes.data[i]->name)
            return r->nodes.data[i]->name;
    const kn_node *n = r->nodes.data[r->nodes.len - 1];
    kn_text t = kn_text_new(f->a);
    kn_putf(&t, "%s(", kn_node_title(n));
    for (int k = 0; k < n->nin; k++)
        kn_putf(&t, "%s%s", k ? ", " : "", kn_node_title(kn_view_root(n->in[k])));
    kn_putf(&t, ")%s", kn_loc_place(n->loc).text);
    return kn_text_str(&t);
}

bool kn_region_refuse(kn_former *f, const char *why, const char *need)
{
    f->why = why;
    f->need = need;
    return false;
}

bool kn_region_refuse_between(kn_former *f)
{
    const char *title = kn_region_title(f, f->forming[f->between].region);
    return kn_region_refuse(
        f,
        kn_sprintf(f->a, "%s, of another loop nest, is made from one and needed by the other",
                   title),
        kn_sprintf(f->a, "%s joins the loop nest too", title));
}
