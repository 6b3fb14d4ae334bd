/* Raw phases normalised and shaped, once each: passes look at the same phases that kernels are then made of, and the
 * plans of a search mostly differ in a few of them. */
#include "base/work.h"
#include "codegen/plan/form/form.h"
#include "codegen/plan/nests/planner.h"

/* What shaping asks of the buffers of all accesses, which are known by number otherwise. */
static kn_layouts layouts_of(const kn_site *at, const kn_phase *raw, int n)
{
    kn_layouts layouts = {0};
    for (int i = 0; i < n; i++)
        for (int j = 0; j < kn_accesses(&raw[i]); j++) {
            const kn_value *v = j < raw[i].nest.values.len ? kn_value_at(&raw[i], j) : NULL;
            if (v && !kn_is_read(v))
                continue;
            int buf = v ? v->access->buf : kn_store_at(&raw[i], j)->access.buf;
            int layout = buf < 0 ? 0 : (int)at->bufs[buf].dtype << 8 | at->align[buf];
            kn_push(at->arena, &layouts, layout);
        }
    return layouts;
}

static bool is_of(const kn_shaped *s, const kn_layouts *layouts, const kn_phase *raw, int n,
                  bool alone)
{
    bool same = s->n == n && s->alone == alone && s->layouts.len == layouts->len;
    for (int i = 0; i < n && same; i++)
        same = kn_phase_same(&s->raw[i], &raw[i]);
    for (int i = 0; i < layouts->len && same; i++)
        same = s->layouts.data[i] == layouts->data[i];
    return same;
}

static kn_phase *copies(kn_arena *a, const kn_phase *phases, int n)
{
    kn_phase *copy = kn_alloc_copy(a, phases, sizeof *phases * (size_t)n);
    for (int i = 0; i < n; i++)
        copy[i] = kn_phase_copy(a, &phases[i]);
    return copy;
}

/* What shaping made, without all that it allocated beside. */
static const kn_phase *kept(kn_arena *a, const kn_phase *phases, int n)
{
    kn_phase *copy = copies(a, phases, n);
    for (int i = 0; i < n; i++)
        for (int x = 0; x < copy[i].nest.naxes; x++)
            copy[i].nest.axes[x].name = kn_strdup(a, copy[i].nest.axes[x].name);
    return copy;
}

static kn_phase *shaped(const kn_site *at, const kn_phase *raw, int n, bool alone)
{
    kn_phase *phases = copies(at->arena, raw, n);
    kn_normalise(at->arena, phases, n, at->target->sm != 0);
    phases[n - 1].alone = alone;
    for (int i = 0; i < n; i++) {
        kn_work(phases[i].nest.values.len);
        kn_shape_phase(at, &phases[i]);
    }
    return phases;
}

const kn_phase *kn_shaped_with_other_vectors(kn_planner *p, kn_shaped *s)
{
    kn_site at = kn_planner_site(p);
    if (s->other_vectors)
        return s->other_vectors;
    at.arena = p->shapes->arena;
    kn_phase host; /* the last; local ones follow it */
    s->other_vectors = s->phases;
    if (kn_schedule_runs(&at, &s->phases[s->n - 1], &host) ||
        kn_schedule_narrower(&at, &s->phases[s->n - 1], &host)) {
        kn_phase *with = kn_alloc_copy(at.arena, s->phases, sizeof *with * (size_t)s->n);
        with[s->n - 1] = host;
        s->other_vectors = with;
    }
    return s->other_vectors;
}

kn_shaped *kn_shape(kn_planner *p, const kn_phase *raw, int n, bool alone)
{
    kn_shapes *all = p->shapes;
    kn_site at = kn_planner_site(p);
    const kn_layouts layouts = layouts_of(&at, raw, n);
    const uint64_t hash = kn_phase_hash(&raw[n - 1]);
    for (int i = -1; (i = kn_finder_next(&all->found, hash, i)) >= 0;)
        if (is_of(all->list.data[i], &layouts, raw, n, alone))
            return all->list.data[i];
    kn_shaped *s = KN_NEW(all->arena, kn_shaped);
    *s = (kn_shaped){.raw = copies(all->arena, raw, n),
                     .phases = kept(all->arena, shaped(&at, raw, n, alone), n),
                     .n = n,
                     .alone = alone};
    kn_copy_vec(all->arena, &s->layouts, &layouts);
    kn_finder_add(all->arena, &all->found, hash, all->list.len);
    kn_push(all->arena, &all->list, s);
    return s;
}
