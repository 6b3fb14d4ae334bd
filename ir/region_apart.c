/* Why regions that touch are not one: asked for by people, so worked out when they ask. */
#include <string.h>

#include "base/hash.h"
#include "ir/region_impl.h"

static bool reads(const kn_regions *out, const kn_region *r, const kn_region *from)
{
    for (int i = 0; i < r->nodes.len; i++)
        for (int k = 0; k < r->nodes.data[i]->nin; k++)
            if (out->of[kn_view_root(r->nodes.data[i]->in[k])->id] == from)
                return true;
    return false;
}

static bool load_the_same(const kn_forming *a, const kn_forming *b)
{
    for (int i = 0, j = 0; i < a->loads.len && j < b->loads.len;) {
        int x = a->loads.data[i].leaf->id, y = b->loads.data[j].leaf->id;
        if (x == y)
            return true;
        *(x < y ? &i : &j) += 1;
    }
    return false;
}

/* What looks the same is said once. */
static void add(kn_arena *a, kn_refusals *list, kn_finder *by, kn_refusal r)
{
    uint64_t hash = kn_hash(r.what, strlen(r.what), kn_hash(r.why, strlen(r.why), 0));
    for (int i = -1; (i = kn_finder_next(by, hash, i)) >= 0;)
        if (strcmp(list->data[i].what, r.what) == 0 && strcmp(list->data[i].why, r.why) == 0)
            return;
    kn_push(a, list, r);
    kn_finder_add(a, by, hash, list->len - 1);
}

kn_refusals kn_regions_refusals(const kn_regions *out)
{
    kn_former *f = out->former;
    kn_refusals list = {0};
    kn_finder by = {0};
    int8_t map[KN_MAX_RANK];
    for (int i = 0; f->fuse && i < out->list.len; i++)
        for (int j = i + 1; j < out->list.len; j++) {
            const kn_region *a = out->list.data[i], *b = out->list.data[j];
            int x = kn_region_find(f, a->nodes.data[0]->id);
            int y = kn_region_find(f, b->nodes.data[0]->id);
            if (!reads(out, b, a) && !load_the_same(&f->forming[x], &f->forming[y]))
                continue;
            if (kn_region_can_merge(f, x, y, map))
                kn_region_refuse(f, "each of them joined other operations first",
                                 "fewer operations between them");
            const char *what =
                kn_sprintf(f->a, "%s and %s", kn_region_title(f, a), kn_region_title(f, b));
            add(f->a, &list, &by, (kn_refusal){what, f->why, f->need});
        }
    return list;
}
