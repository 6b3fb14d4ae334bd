#include "ir/region.h"

#include <string.h>

#include "ir/view.h"

const char *kn_node_title(const kn_node *n) { return n->name ? n->name : kn_ops[n->op].text; }

const kn_dim *kn_node_space(const kn_node *n)
{
    return kn_ops[n->op].cls == KN_REDUCE ? n->in[0]->shape : n->shape;
}

/* Building a region from a set of nodes, one node at a time. */
typedef struct former {
    kn_arena *a;
    kn_graph *g;
    const int64_t *sizes;
    int8_t (*axis)[KN_MAX_RANK]; /* of every node: values as in kn_regions, leaves as first used */
    int *stamp;                  /* per node: the attempt that placed it */
    int attempt;
    const char *why, *need; /* of the last refusal */
} former;

static bool refuse(former *f, const char *why, const char *need)
{
    f->why = why;
    f->need = need;
    return false;
}

/* Takes over what the operands already placed say about v's axes. Operands that are values must agree;
 * leaves (loads) are only a hint, since a second load of the same array may walk it differently. */
static bool follow_operands(former *f, const kn_node *v, bool values, int8_t *axis)
{
    for (int k = 0; k < v->nin; k++) {
        kn_use use = kn_use_of(f->g, v, k);
        if (kn_is_value(use.base) != values || f->stamp[use.base->id] != f->attempt)
            continue;
        for (int j = 0; j < use.base->rank; j++) {
            int i = use.axis[j], to = f->axis[use.base->id][j];
            if (i < 0 || to < 0)
                continue;
            bool taken = false;
            for (int other = 0; other < v->rank; other++)
                taken = taken || (other != i && axis[other] == to);
            if (axis[i] == to || (!values && (taken || axis[i] >= 0)))
                continue;
            if (taken || axis[i] >= 0)
                return refuse(f, "it is read along different axes at once, as in x + x.T",
                              "the two reads walk the axes in the same order");
            axis[i] = (int8_t)to;
        }
    }
    return true;
}

/* Gives v's remaining axes a place: an axis of equal extent that v does not use yet, else a new one. */
static bool place_rest(former *f, kn_region *r, const kn_node *v, int8_t *axis)
{
    const kn_dim *space = kn_node_space(v);
    for (int i = 0; i < v->rank; i++) {
        if (axis[i] >= 0 || kn_dim_is_one(f->g->syms, space[i]))
            continue;
        for (int c = 0; c < r->naxes && axis[i] < 0; c++) {
            bool used = false;
            for (int other = 0; other < v->rank; other++)
                used = used || axis[other] == c;
            if (!used && kn_dim_equal(f->g->syms, r->dim[c], space[i]))
                axis[i] = (int8_t)c;
        }
        if (axis[i] >= 0)
            continue;
        if (r->reduces)
            return refuse(f, "it has an axis that the reduction's groups and members do not have",
                          "its shape equals the reduced array's, up to axes of size 1");
        if (r->naxes == KN_MAX_RANK)
            return refuse(f, "too many axes", "at most 16 axes in one loop nest");
        r->dim[r->naxes] = space[i];
        axis[i] = (int8_t)r->naxes++;
    }
    return true;
}

static bool place_reduction(former *f, kn_region *r, const kn_node *v, const int8_t *axis)
{
    uint32_t covered = 0, members = 0;
    for (int i = 0; i < v->rank; i++) {
        if (axis[i] < 0)
            continue;
        covered |= 1u << axis[i];
        if (v->u.reduce.axes >> i & 1)
            members |= 1u << axis[i];
    }
    if (covered != (1u << r->naxes) - 1)
        return refuse(f, "the reduced array lacks an axis of the loop nest",
                      "the reduced array has every axis of the values around it");
    if (r->reduces && members != r->members)
        return refuse(f, "it reduces over other axes", "both reductions are over the same axes");
    r->reduces = true;
    r->members = members;
    return true;
}

/* A regrouped value is read from memory, which one loop nest has not finished writing. */
static bool reads_regrouped(former *f, const kn_node *v)
{
    for (int k = 0; k < v->nin; k++) {
        const kn_node *x = kn_view_root(kn_use_of(f->g, v, k).base);
        if (kn_regroups(f->g, kn_use_of(f->g, v, k).base) && f->stamp[x->id] == f->attempt)
            return true;
    }
    return false;
}

static bool place(former *f, kn_region *r, const kn_node *v)
{
    int8_t axis[KN_MAX_RANK];
    if (reads_regrouped(f, v))
        return refuse(f, "a reshape regroups the elements between them",
                      "the reshape only adds or drops axes of size 1");
    memset(axis, -1, sizeof axis);
    if (!follow_operands(f, v, true, axis) || !follow_operands(f, v, false, axis) ||
        !place_rest(f, r, v, axis))
        return false;
    if (kn_ops[v->op].cls == KN_REDUCE && !place_reduction(f, r, v, axis))
        return false;
    memcpy(f->axis[v->id], axis, sizeof axis);
    f->stamp[v->id] = f->attempt;
    for (int k = 0; k < v->nin; k++) {
        kn_use use = kn_use_of(f->g, v, k);
        if (kn_is_value(use.base) || f->stamp[use.base->id] == f->attempt)
            continue;
        for (int j = 0; j < use.base->rank; j++)
            f->axis[use.base->id][j] = (int8_t)(use.axis[j] < 0 ? -1 : axis[use.axis[j]]);
        f->stamp[use.base->id] = f->attempt;
    }
    kn_push(f->a, &r->nodes, v);
    return true;
}

/* An axis of size 0 is never walked, so a value without that axis would not be computed. Member axes are an
 * exception for what has no member axis at all: it is computed once a group, after the walk. */
static bool is_walked(former *f, const kn_region *r, const kn_node *v)
{
    uint32_t covered = 0, empty = 0;
    int64_t size;
    for (int c = 0; c < r->naxes; c++)
        if (kn_dim_eval(r->dim[c], f->sizes, &size) && size == 0)
            empty |= 1u << c;
    for (int i = 0; empty && i < v->rank; i++)
        if (f->axis[v->id][i] >= 0)
            covered |= 1u << f->axis[v->id][i];
    if (r->reduces && !(covered & r->members))
        empty &= ~r->members;
    return !(empty & ~covered) ||
           refuse(f, "a size is 0, so nothing is walked, but it has elements",
                  "no axis of the loop nest has size 0");
}

/* A region of exactly these nodes (sorted), or NULL with the reason in f. */
static kn_region *form(former *f, const kn_node *const *nodes, int n)
{
    kn_region *r = KN_NEW(f->a, kn_region);
    f->attempt++;
    for (int i = 0; i < n; i++)
        if (!place(f, r, nodes[i]))
            return NULL;
    for (int i = 0; i < n; i++)
        if (!is_walked(f, r, nodes[i]))
            return NULL;
    return r;
}

/* ---- merging ---- */

typedef struct merger {
    former f;
    kn_regions *out;
    KN_VEC(kn_region *) regions; /* live ones */
    bool *seen;
} merger;

static bool reads_region(merger *m, const kn_region *user, const kn_region *of)
{
    for (int i = 0; i < user->nodes.len; i++)
        for (int k = 0; k < user->nodes.data[i]->nin; k++) {
            const kn_node *x = kn_view_root(user->nodes.data[i]->in[k]);
            if (m->out->of[x->id] == of)
                return true;
        }
    return false;
}

/* Would a and b as one unit depend on themselves through a third region? */
static bool makes_cycle(merger *m, kn_region *a, kn_region *b)
{
    int n = m->regions.len;
    memset(m->seen, 0, (size_t)n);
    /* regions are few: mark what is reachable from a or b through others */
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < n; i++) {
            kn_region *r = m->regions.data[i];
            if (r == a || r == b || m->seen[i])
                continue;
            bool reached = reads_region(m, r, a) || reads_region(m, r, b);
            for (int j = 0; !reached && j < n; j++)
                reached = m->seen[j] && reads_region(m, r, m->regions.data[j]);
            if (reached)
                changed = m->seen[i] = true;
        }
    }
    for (int i = 0; i < n; i++)
        if (m->seen[i] &&
            (reads_region(m, a, m->regions.data[i]) || reads_region(m, b, m->regions.data[i])))
            return true;
    return false;
}

static kn_region *try_merge(merger *m, kn_region *a, kn_region *b)
{
    int n = 0, i = 0, j = 0;
    const kn_node **nodes = KN_NEW_ARRAY(m->f.a, const kn_node *, a->nodes.len + b->nodes.len);
    while (i < a->nodes.len || j < b->nodes.len) {
        bool from_a =
            j == b->nodes.len || (i < a->nodes.len && a->nodes.data[i]->id < b->nodes.data[j]->id);
        nodes[n++] = from_a ? a->nodes.data[i++] : b->nodes.data[j++];
    }
    kn_region *r = form(&m->f, nodes, n);
    if (r && makes_cycle(m, a, b)) {
        refuse(&m->f, "a value between them is computed elsewhere, from one and for the other",
               "that value joins the loop nest too");
        return NULL;
    }
    return r;
}

static void replace(merger *m, kn_region *a, kn_region *b, kn_region *by)
{
    int w = 0;
    for (int i = 0; i < m->regions.len; i++) {
        kn_region *r = m->regions.data[i];
        if (r != b)
            m->regions.data[w++] = r == a ? by : r;
    }
    m->regions.len = w;
    for (int i = 0; i < by->nodes.len; i++)
        m->out->of[by->nodes.data[i]->id] = by;
}

/* The array that a load reads: what two regions share when they read the same input. */
static const kn_node *shared_leaf(const kn_graph *g, const kn_node *v, int k)
{
    const kn_node *base = kn_use_of(g, v, k).base;
    return kn_is_value(base) || kn_is_uniform_leaf(base) ? NULL : base;
}

static bool touch(merger *m, const kn_region *a, const kn_region *b)
{
    if (reads_region(m, a, b) || reads_region(m, b, a))
        return true;
    for (int i = 0; i < a->nodes.len; i++)
        for (int k = 0; k < a->nodes.data[i]->nin; k++) {
            const kn_node *leaf = shared_leaf(m->f.g, a->nodes.data[i], k);
            for (int p = 0; leaf && p < b->nodes.len; p++)
                for (int q = 0; q < b->nodes.data[p]->nin; q++)
                    if (shared_leaf(m->f.g, b->nodes.data[p], q) == leaf)
                        return true;
        }
    return false;
}

/* Merges region `r`, just made for node v, into whatever v touches. */
static void merge_greedily(merger *m, kn_region *r, const kn_node *v)
{
    for (int k = 0; k < v->nin; k++) {
        const kn_node *x = kn_view_root(v->in[k]);
        kn_region *to = m->out->of[x->id], *both;
        if (!to || to == r || kn_regroups(m->f.g, kn_use_of(m->f.g, v, k).base) ||
            !(both = try_merge(m, to, r)))
            continue;
        replace(m, to, r, both);
        r = both;
    }
    for (int k = 0; k < v->nin; k++) {
        const kn_node *leaf = shared_leaf(m->f.g, v, k);
        for (int i = m->regions.len - 1; leaf && i >= 0; i--) {
            kn_region *to = m->regions.data[i], *both;
            bool shares = false;
            for (int p = 0; to != r && !shares && p < to->nodes.len; p++)
                for (int q = 0; !shares && q < to->nodes.data[p]->nin; q++)
                    shares = shared_leaf(m->f.g, to->nodes.data[p], q) == leaf;
            if (!shares || !(both = try_merge(m, to, r)))
                continue;
            replace(m, to, r, both);
            r = both;
            i = m->regions.len;
        }
    }
}

static void explain_refusals(merger *m)
{
    for (int i = 0; i < m->regions.len; i++)
        for (int j = i + 1; j < m->regions.len; j++) {
            kn_region *a = m->regions.data[i], *b = m->regions.data[j];
            if (!touch(m, a, b) || try_merge(m, a, b))
                continue;
            const char *what =
                kn_sprintf(m->f.a, "%s and %s", kn_node_title(a->nodes.data[a->nodes.len - 1]),
                           kn_node_title(b->nodes.data[b->nodes.len - 1]));
            kn_push(m->f.a, &m->out->refusals, ((kn_refusal){what, m->f.why, m->f.need}));
        }
}

static void order_by_level(merger *m)
{
    int n = m->regions.len;
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                kn_region *r = m->regions.data[i], *s = m->regions.data[j];
                if (i != j && r->level <= s->level && reads_region(m, r, s)) {
                    r->level = s->level + 1;
                    changed = true;
                }
            }
    }
    for (int level = 0, left = n; left; level++)
        for (int i = 0; i < n; i++)
            if (m->regions.data[i]->level == level) {
                kn_push(m->f.a, &m->out->list, m->regions.data[i]);
                left--;
            }
}

kn_regions *kn_regions_form(kn_arena *a, kn_graph *g, const int64_t *sizes, bool fuse)
{
    int n = g->nodes.len;
    merger m = {.f = {.a = a, .g = g, .sizes = sizes}};
    m.out = KN_NEW(a, kn_regions);
    m.out->graph = g;
    m.out->of = KN_NEW_ARRAY(a, kn_region *, n + 1);
    m.f.axis = kn_alloc(a, sizeof *m.f.axis * (size_t)(n + 1));
    m.f.stamp = KN_NEW_ARRAY(a, int, n + 1);
    m.seen = KN_NEW_ARRAY(a, bool, n + 1);
    for (int i = 0; i < n; i++) {
        const kn_node *v = g->nodes.data[i];
        if (!kn_is_value(v))
            continue;
        kn_region *r = form(&m.f, &v, 1);
        if (!r) { /* cannot happen: one node always has a space of its own */
            kn_fail(KN_INTERNAL, "no iteration space for %s: %s", kn_node_title(v), m.f.why);
            return NULL;
        }
        kn_push(a, &m.regions, r);
        m.out->of[i] = r;
        /* what only gives an output its shape is no operation: it stays with the value that it shows */
        if (fuse || (kn_is_output_copy(g, v) && kn_shown_value(v)))
            merge_greedily(&m, r, v);
    }
    if (fuse)
        explain_refusals(&m);
    order_by_level(&m);

    m.out->axis = kn_alloc(a, sizeof *m.out->axis * (size_t)(n + 1));
    for (int i = 0; i < m.out->list.len; i++) { /* attempts overwrote each other: place once more */
        kn_region *r = m.out->list.data[i];
        form(&m.f, r->nodes.data, r->nodes.len);
        for (int k = 0; k < r->nodes.len; k++)
            memcpy(m.out->axis[r->nodes.data[k]->id], m.f.axis[r->nodes.data[k]->id],
                   sizeof *m.f.axis);
    }
    return m.out;
}
