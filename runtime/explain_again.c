/* What goes through memory more often than once, and what stands in the way. */
#include <string.h>

#include "runtime/explain_impl.h"

/* Temporaries smaller than the largest argument divided by this are not named. */
enum { SMALL = 8 };

/* Arrays that share one explanation. */
typedef struct said {
    list names;
    const char *what;
} said;

/* A phase of the plan, by number. */
typedef struct place {
    const kn_kernel *k;
    int p;
} place;

typedef struct again {
    const subject *s;
    kn_arena *a;
    KN_VEC(place) phases; /* of all kernels, in order */
    KN_VEC(said) said;
} again;

static const kn_phase *phase_of(const place *at) { return &at->k->phases.data[at->p]; }

static const char *title_of(const again *all, const place *at)
{
    return all->s->plan->kernels.len > 1 ? kn_sprintf(all->a, "phase %d of %s", at->p, at->k->name)
                                         : kn_sprintf(all->a, "phase %d", at->p);
}

/* Kernels number buffers by themselves. */
static bool is_buf(const place *at, int number, const kn_buf *b)
{
    const kn_buf *other = &at->k->bufs.data[number];
    return other->kind == b->kind && other->index == b->index;
}

/* The first value of a phase that reads elements of b; -1: none does. */
static int reads_elements(const place *at, const kn_buf *b)
{
    const kn_nest *nest = &phase_of(at)->nest;
    for (int i = 0; i < nest->values.len && !phase_of(at)->local; i++)
        if (kn_is_read(&nest->values.data[i]) && nest->values.data[i].level == KN_ELEMENT &&
            is_buf(at, nest->values.data[i].access->buf, b))
            return i;
    return -1;
}

/* The kind of its store to b; -1: it has none. */
static int stores(const place *at, const kn_buf *b)
{
    const kn_nest *nest = &phase_of(at)->nest;
    for (int i = 0; i < nest->stores.len; i++)
        if (is_buf(at, nest->stores.data[i].access.buf, b))
            return (int)nest->stores.data[i].kind;
    return -1;
}

/* ---- why another phase reads it again ---- */

static void add_name(list *names, const char *name)
{
    for (int i = 0; i < names->lines.len; i++)
        if (names->lines.data[i] == name)
            return;
    kn_push(names->a, &names->lines, name);
}

/* The results of reductions that phase `n` reads, itself or by local phases in front of it, and phases from `first` on
 * store. */
static list waited_for(const again *all, int first, int n)
{
    list names = {.a = all->a};
    for (int m = n; m > first; m--) {
        const place *at = &all->phases.data[m];
        if (m < n && !phase_of(at)->local)
            break;
        for (int i = 0; i < phase_of(at)->nest.values.len; i++) {
            const kn_value *v = kn_value_at(phase_of(at), i);
            const kn_buf *b = kn_is_read(v) ? &at->k->bufs.data[v->access->buf] : NULL;
            for (int q = first; q < m && b; q++)
                if (stores(&all->phases.data[q], b) > KN_STORE_ELEMENT)
                    add_name(&names, kn_explain_array(all->s, b));
        }
    }
    return names;
}

static const char *joined(const list *l)
{
    kn_text t = kn_text_new(l->a);
    for (int i = 0; i < l->lines.len; i++)
        kn_putf(&t, "%s%s", i ? ", " : "", l->lines.data[i]);
    return kn_text_str(&t);
}

/* "[N]": what a phase reduces. */
static const char *members_of(const again *all, const kn_phase *ph)
{
    list names = {.a = all->a};
    for (int x = ph->nest.ngroup; x < ph->nest.naxes; x++)
        kn_push(all->a, &names.lines, kn_explain_axis(all->s, ph, x));
    return kn_sprintf(all->a, "[%s]", joined(&names));
}

/* Why phase n reads again what phase `first` has read, or made. */
static const char *reason_of(const again *all, int first, int n, int value)
{
    const place *at = &all->phases.data[n];
    const kn_phase *ph = phase_of(at), *before = phase_of(&all->phases.data[first]);
    const list waits = waited_for(all, first, n);
    const double found = kn_part_on_chip(at->k, ph, value);
    const char *chip =
        found > 0 ? kn_sprintf(all->a, "; %.0f %% of it is still on chip", 100 * found) : "";
    if (waits.lines.len)
        return kn_sprintf(all->a, "needs all of %s first%s", joined(&waits), chip);
    const char *here = members_of(all, ph), *there = members_of(all, before);
    if (strcmp(here, there) != 0)
        return kn_sprintf(all->a, "goes over %s, not %s%s", here, there, chip);
    return kn_sprintf(all->a, "is another loop nest%s", chip);
}

/* ---- arrays ---- */

static void add(again *all, const char *name, const char *what)
{
    int i = 0;
    while (i < all->said.len && strcmp(all->said.data[i].what, what) != 0)
        i++;
    if (i == all->said.len)
        kn_push(all->a, &all->said, ((said){.names = {.a = all->a}, .what = what}));
    add_name(&all->said.data[i].names, name);
}

/* Sweeps of a phase that load what it does not hold. */
static int sweeps_of(const again *all, const kn_phase *ph, int value)
{
    bool *need = KN_NEW_ARRAY(all->a, bool, ph->nest.values.len + 1);
    int sweeps = 0;
    for (int t = 0; t < ph->nest.nsweeps && !kn_kept(ph, value); t++) {
        memset(need, 0, sizeof *need * (size_t)ph->nest.values.len);
        kn_phase_needs(ph, t, need);
        sweeps += need[value];
    }
    return sweeps;
}

static void add_sweeps(again *all, const place *at, const char *name, int value)
{
    const kn_phase *ph = phase_of(at);
    const bool gpu = kn_explains_gpu(all->s);
    const int sweeps = sweeps_of(all, ph, value);
    kn_text t = kn_text_new(all->a);
    /* a CPU finds so few in its cache again */
    if (sweeps < 2 || (!gpu && ph->nest.members <= KN_FRAME_MEMBERS))
        return;
    kn_putf(&t, "read by %d sweeps of %s: a group's ", sweeps, title_of(all, at));
    kn_explain_put_bytes(&t, ph->nest.members * kn_bytes(kn_value_at(ph, value)->dtype));
    kn_put(&t, gpu ? " are not kept on chip" : " may have left the cache");
    add(all, name, kn_text_str(&t));
}

/* An argument that is read again, or a temporary, which is written to be read: from phase `made` on, or -1. */
static void add_array(again *all, const kn_buf *b, int made)
{
    const char *name = kn_explain_array(all->s, b);
    int first = made;
    for (int n = made + 1; n < all->phases.len; n++) {
        const place *at = &all->phases.data[n];
        const int value = reads_elements(at, b);
        if (value < 0)
            continue;
        add_sweeps(all, at, name, value);
        if (first >= 0)
            add(all, name,
                kn_sprintf(all->a, "%s %s, which %s", made >= 0 ? "written for" : "read again by",
                           title_of(all, at), reason_of(all, first, n, value)));
        first = first < 0 ? n : first;
    }
}

static int64_t bytes_of(const again *all, const kn_node *n)
{
    int64_t shape[KN_MAX_RANK];
    kn_node_sizes(n, all->s->plan->sizes, shape);
    return kn_count(shape, n->rank) * kn_bytes(n->dtype);
}

/* The first phase that stores it; -1: none does. */
static int made_by(const again *all, const kn_buf *b)
{
    for (int n = 0; n < all->phases.len; n++)
        if (stores(&all->phases.data[n], b) >= 0)
            return n;
    return -1;
}

list kn_explain_again(const subject *s)
{
    again all = {.s = s, .a = s->t->arena};
    list lines = {.a = all.a};
    const kn_graph *g = s->prog->optimised;
    int64_t largest = 0;
    for (int i = 0; i < s->plan->kernels.len; i++)
        for (int p = 0; p < s->plan->kernels.data[i]->phases.len; p++)
            kn_push(all.a, &all.phases, ((place){s->plan->kernels.data[i], p}));
    for (int i = 0; i < g->inputs.len; i++) {
        const kn_buf b = {.kind = KN_BUF_INPUT, .index = i};
        if (g->inputs.data[i].by_value)
            continue;
        const int64_t bytes = bytes_of(&all, g->inputs.data[i].node);
        largest = bytes > largest ? bytes : largest;
        if (s->plan->after.input_read[i] > bytes)
            add_array(&all, &b, -1);
    }
    for (int i = 0; i < s->plan->temporaries.len; i++) {
        const kn_buf *b = &s->plan->temporaries.data[i];
        if (b->bytes * SMALL >= largest)
            add_array(&all, b, made_by(&all, b));
    }
    for (int i = 0; i < all.said.len; i++)
        kn_push(
            all.a, &lines.lines,
            kn_sprintf(all.a, "%s: %s", joined(&all.said.data[i].names), all.said.data[i].what));
    return lines;
}
