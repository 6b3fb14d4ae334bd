/* Which axes of two regions are the same, and whether one loop nest over them can hold both. */
#include <stdlib.h>
#include <string.h>

#include "ir/region_impl.h"

int kn_find_load(const kn_forming *region, const kn_node *leaf)
{
    int low = 0, high = region->loads.len;
    while (low < high) {
        int mid = (low + high) / 2;
        if (region->loads.data[mid].leaf->id < leaf->id)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Merging region s into region t. */
typedef struct merging {
    kn_former *f;
    int t, s;
    const kn_region *into, *from;
    int8_t *map;    /* axis of t per axis of s, -1 before it is known */
    uint32_t taken; /* axes of t that are in map */
} merging;

static bool can_be(const merging *m, int from, int to)
{
    return m->map[from] == to || (m->map[from] < 0 && !(m->taken >> to & 1));
}

static void let_be(merging *m, int from, int to)
{
    m->map[from] = (int8_t)to;
    m->taken |= 1u << to;
}

/* What a use of a value of one region in the other says about their axes. */
static bool follow_value(merging *m, const kn_node *user, const kn_use *use, bool user_in_s)
{
    int8_t(*axis)[KN_MAX_RANK] = m->f->out->axis;
    int8_t map[KN_MAX_RANK];
    uint32_t taken = m->taken;
    memcpy(map, m->map, sizeof map);
    for (int j = 0; j < use->base->rank; j++) {
        int a = use->axis[j] < 0 ? -1 : axis[user->id][use->axis[j]], b = axis[use->base->id][j];
        if (a < 0 || b < 0)
            continue;
        if (!can_be(m, user_in_s ? a : b, user_in_s ? b : a)) {
            memcpy(m->map, map, sizeof map);
            m->taken = taken;
            return false;
        }
        let_be(m, user_in_s ? a : b, user_in_s ? b : a);
    }
    return true;
}

/* Two loads of one array: walked along the same axes if nothing speaks against it. */
static void follow_load(merging *m, const kn_load *of_s, const kn_load *of_t)
{
    const kn_use *us = &m->f->use[of_s->by.node->id][of_s->by.k];
    const kn_use *ut = &m->f->use[of_t->by.node->id][of_t->by.k];
    for (int j = 0; j < of_s->leaf->rank; j++) {
        if (us->axis[j] < 0 || ut->axis[j] < 0)
            continue;
        int from = m->f->out->axis[of_s->by.node->id][us->axis[j]];
        int to = m->f->out->axis[of_t->by.node->id][ut->axis[j]];
        if (from >= 0 && to >= 0 && m->map[from] < 0 && can_be(m, from, to))
            let_be(m, from, to);
    }
}

/* `view`, through which `user` reads value `base`, moves its elements. */
static bool refuse_moved(kn_former *f, const kn_node *user, const kn_node *base,
                         const kn_node *view)
{
    bool reshape = view->op == KN_OP_RESHAPE, slice = view->op == KN_OP_INDEX;
    return kn_region_refuse(
        f,
        kn_sprintf(f->a, "%s reads %s %s", kn_node_title(user), kn_node_title(base),
                   reshape ? "through a reshape whose axes are no parts or products of the array's"
                   : slice
                       ? "through a slice: a loop nest has all elements of an array, or none"
                       : "at indices that it computes, as for a part of an array, a pad or a take"),
        reshape ? "sizes on one side of the reshape divide those on the other"
                : "its elements are read where they are computed");
}

/* One value between the two regions. */
static bool follow_edge(merging *m, const kn_node *base, const kn_node *user, int k, bool user_in_s)
{
    kn_former *f = m->f;
    const kn_use *use = &f->use[user->id][k];
    f->out->work++;
    if (use->base != base)
        return refuse_moved(f, user, base, use->base);
    if (follow_value(m, user, use, user_in_s))
        return true;
    const kn_region *space = user_in_s ? m->from : m->into;
    return kn_region_may_repeat(f, base, kn_region_elements(f, space->dim, space->naxes)) ||
           kn_region_refuse(
               f,
               kn_sprintf(f->a, "%s reads %s along different axes at once, as in x + x.T",
                          kn_node_title(user), kn_node_title(base)),
               "all reads of it walk the axes in the same order, or it is cheap to compute again");
}

/* What value `n` of s reads of t. */
static bool follow_operands(merging *m, const kn_node *n)
{
    kn_former *f = m->f;
    for (int k = 0; k < n->nin; k++) {
        const kn_node *x = kn_view_root(n->in[k]);
        if (f->parent[x->id] >= 0 && kn_region_find(f, x->id) == m->t &&
            !follow_edge(m, x, n, k, true))
            return false;
    }
    return true;
}

static int by_reader(const void *a, const void *b)
{
    const kn_reader *x = a, *y = b;
    return x->node != y->node ? x->node->id - y->node->id : x->k - y->k;
}

/* What t reads of s, per value of s in the order of readers[]: for values with more readers than t has operands. */
static kn_readers *readers_in(merging *m)
{
    kn_former *f = m->f;
    kn_readers *of = KN_NEW_ARRAY(f->a, kn_readers, m->from->nodes.len);
    for (int i = 0; i < m->from->nodes.len; i++)
        f->place[m->from->nodes.data[i]->id] = i;
    for (int i = 0; i < m->into->nodes.len; i++) {
        const kn_node *n = m->into->nodes.data[i];
        f->out->work += n->nin;
        for (int k = 0; k < n->nin; k++) {
            const kn_node *x = kn_view_root(n->in[k]);
            if (f->parent[x->id] >= 0 && kn_region_find(f, x->id) == m->s)
                kn_push(f->a, &of[f->place[x->id]], ((kn_reader){n, k}));
        }
    }
    for (int i = 0; i < m->from->nodes.len; i++)
        if (of[i].len > 1)
            qsort(of[i].data, (size_t)of[i].len, sizeof *of[i].data, by_reader);
    return of;
}

static bool follow_values(merging *m)
{
    kn_former *f = m->f;
    int readers = 0;
    for (int i = 0; i < m->from->nodes.len; i++)
        readers += f->readers[m->from->nodes.data[i]->id].len;
    const kn_readers *here = readers > KN_MAX_IN * m->into->nodes.len ? readers_in(m) : NULL;
    for (int i = 0; i < m->from->nodes.len; i++) {
        const kn_node *n = m->from->nodes.data[i];
        const kn_readers *by = here ? &here[i] : &f->readers[n->id];
        if (!follow_operands(m, n))
            return false;
        f->out->work += by->len;
        for (int r = 0; r < by->len; r++)
            if (kn_region_find(f, by->data[r].node->id) == m->t &&
                !follow_edge(m, n, by->data[r].node, by->data[r].k, false))
                return false;
    }
    return true;
}

static void follow_loads(merging *m)
{
    const kn_forming *s = &m->f->forming[m->s], *t = &m->f->forming[m->t];
    for (int i = 0; i < s->loads.len; i++) {
        int j = kn_find_load(t, s->loads.data[i].leaf);
        if (j < t->loads.len && t->loads.data[j].leaf == s->loads.data[i].leaf)
            follow_load(m, &s->loads.data[i], &t->loads.data[j]);
    }
}

static const char *dim_text(const kn_former *f, kn_dim d)
{
    kn_text t = kn_text_new(f->a);
    kn_dim_print(&t, f->g->syms, d);
    return kn_text_str(&t);
}

/* The first axis of t that no axis of s is; t's number of axes if there is none. */
static int first_free(const merging *m)
{
    int c = 0;
    while (c < m->into->naxes && m->taken >> c & 1)
        c++;
    return c;
}

/* Neither has all the axes of the other, so their loop nest would go over the product of what they have alone. */
static bool refuse_product(merging *m, int of_t, int of_s)
{
    return kn_region_refuse(
        m->f,
        kn_sprintf(
            m->f->a,
            "one goes over an axis %s, the other over an axis %s: one loop nest would go over "
            "every pair",
            dim_text(m->f, m->into->dim[of_t]), dim_text(m->f, m->from->dim[of_s])),
        "one of them has all the axes of the other");
}

/* Axes that nothing speaks of: those of equal extent are one, the others are new. */
static bool place_rest(merging *m)
{
    kn_former *f = m->f;
    int naxes = m->into->naxes;
    for (int a = 0; a < m->from->naxes; a++)
        for (int c = 0; c < m->into->naxes && m->map[a] < 0; c++)
            if (!(m->taken >> c & 1) && kn_dim_equal(f->g->syms, m->into->dim[c], m->from->dim[a]))
                let_be(m, a, c);
    int own = first_free(m);
    for (int a = 0; a < m->from->naxes; a++) {
        if (m->map[a] >= 0)
            continue;
        if (m->into->reduces)
            return kn_region_refuse(
                f,
                kn_sprintf(f->a, "one has an axis %s that the other's reductions do not go over",
                           dim_text(f, m->from->dim[a])),
                "its shape is the reduced array's, up to axes of size 1");
        if (own < m->into->naxes)
            return refuse_product(m, own, a);
        if (naxes == KN_MAX_RANK)
            return kn_region_refuse(f, "together they have too many axes",
                                    "at most 16 axes in one loop nest");
        let_be(m, a, naxes++);
    }
    for (int c = 0; c < m->into->naxes && m->from->reduces; c++)
        if (!(m->taken >> c & 1))
            return kn_region_refuse(
                f,
                kn_sprintf(f->a, "one has an axis %s that the other's reductions do not go over",
                           dim_text(f, m->into->dim[c])),
                "its shape is the reduced array's, up to axes of size 1");
    return true;
}

/* The reduced axes as text: "N, C". */
static const char *members_text(const kn_former *f, const kn_region *r)
{
    kn_text t = kn_text_new(f->a);
    for (int a = 0; a < r->naxes; a++)
        if (r->members >> a & 1)
            kn_putf(&t, "%s%s", t.len ? ", " : "", dim_text(f, r->dim[a]));
    return kn_text_str(&t);
}

static uint32_t mapped(const int8_t *map, uint32_t axes)
{
    uint32_t to = 0;
    for (int a = 0; a < KN_MAX_RANK; a++)
        if (axes >> a & 1)
            to |= 1u << map[a];
    return to;
}

/* "axes 0, 2" */
static const char *numbers_text(const kn_former *f, uint32_t axes)
{
    kn_text t = kn_text_new(f->a);
    for (int a = 0; a < KN_MAX_RANK; a++)
        if (axes >> a & 1)
            kn_putf(&t, "%s%d", t.len ? ", " : axes & (axes - 1) ? "axes " : "axis ", a);
    return kn_text_str(&t);
}

static bool same_members(merging *m)
{
    kn_former *f = m->f;
    if (!m->into->reduces || !m->from->reduces ||
        mapped(m->map, m->from->members) == m->into->members)
        return true;
    const char *one = members_text(f, m->into), *other = members_text(f, m->from);
    return kn_region_refuse(
        f,
        strcmp(one, other) == 0
            ? kn_sprintf(f->a, "both reduce over [%s], but one over %s, the other over %s", one,
                         numbers_text(f, m->into->members),
                         numbers_text(f, mapped(m->map, m->from->members)))
            : kn_sprintf(f->a, "one reduces over [%s], the other over [%s]", one, other),
        "both reduce over the same axes");
}

/* Reductions that do not commute go over their elements in one order. */
static bool same_order(merging *m)
{
    for (int i = 0; m->into->norder && i < m->from->norder; i++)
        if (m->map[m->from->order[i]] != m->into->order[i])
            return kn_region_refuse(
                m->f,
                "both have reductions that do not commute, and go over the axes in different orders",
                "the axes are in the same order");
    return true;
}

/* Must the loop nest of two regions compute it? Not what has no elements, nor what only they compute with. */
static bool is_wanted(kn_former *f, const kn_node *n, int t, int s)
{
    if (kn_region_elements(f, n->shape, n->rank) == 0)
        return false;
    if (f->output[n->id] || kn_ops[n->op].cls != KN_ELEM)
        return true;
    for (int r = 0; r < f->readers[n->id].len; r++) {
        int reader = kn_region_find(f, f->readers[n->id].data[r].node->id);
        if (reader != t && reader != s)
            return true;
    }
    return false;
}

/* An axis of size 0 is never walked, so a value without that axis would not be computed. Member axes are an
 * exception for what has no member axis at all: it is computed once a group, after the walk. */
bool kn_region_all_walked(kn_former *f, int t, int s, const int8_t *map)
{
    static const int8_t same[KN_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const kn_region *into = f->forming[t].region, *from = f->forming[s].region;
    const kn_region *parts[] = {into, from};
    const int8_t *maps[] = {same, map};
    uint32_t empty = 0;
    for (int p = 0; p < 2 && f->empty; p++)
        for (int a = 0; a < parts[p]->naxes; a++)
            if (kn_region_elements(f, &parts[p]->dim[a], 1) == 0)
                empty |= 1u << maps[p][a];
    uint32_t members = into->reduces   ? into->members
                       : from->reduces ? mapped(map, from->members)
                                       : 0;
    for (int p = 0; p < 2 && empty; p++)
        for (int i = 0; i < parts[p]->nodes.len; i++) {
            const kn_node *n = parts[p]->nodes.data[i];
            uint32_t axes = 0;
            for (int j = 0; j < n->rank; j++) {
                int a = f->out->axis[n->id][j];
                axes |= a < 0 ? 0 : 1u << a;
            }
            axes = mapped(maps[p], axes);
            if (empty & ~(axes & members ? axes : axes | members) && is_wanted(f, n, t, s))
                return kn_region_refuse(f, "a size is 0, so nothing is walked, but it has elements",
                                        "no axis of the loop nest has size 0");
        }
    return true;
}

bool kn_region_map_axes(kn_former *f, int t, int s, int8_t *map)
{
    merging m = {f, t, s, f->forming[t].region, f->forming[s].region, map, 0};
    memset(map, -1, KN_MAX_RANK);
    f->out->work++;
    if (!follow_values(&m))
        return false;
    follow_loads(&m);
    return place_rest(&m) && same_members(&m) && same_order(&m);
}
