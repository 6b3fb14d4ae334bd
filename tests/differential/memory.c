/* Arguments in memory: compact, or with every oddity that strides allow. */
#include <math.h>
#include <string.h>

#include "tests/differential/program.h"

int64_t memory_bytes(const memory *m) { return m->elements * kn_bytes(m->dtype); }

/* Steps along the axes in a random order, from the fastest. */
static void stride_oddly(memory *m, rng *r, bool may_repeat)
{
    kn_layout *l = &m->layout;
    int order[KN_MAX_RANK];
    for (int i = 0; i < l->rank; i++)
        order[i] = l->rank - 1 - i;
    if (chance(r, 60))
        for (int i = l->rank - 1; i > 0; i--) {
            int k = below(r, i + 1), swap = order[i];
            order[i] = order[k];
            order[k] = swap;
        }
    bool gaps = chance(r, 50), flips = chance(r, 50), repeats = may_repeat && chance(r, 30);
    int64_t step = gaps && chance(r, 40) ? 1 + below(r, 3) : 1;
    for (int i = 0; i < l->rank; i++) {
        int a = order[i];
        int64_t size = l->shape[a] > 0 ? l->shape[a] : 1;
        l->stride[a] = step;
        if (repeats && chance(r, 40)) {
            l->stride[a] = 0;
            continue;
        }
        if (flips && chance(r, 40)) {
            l->stride[a] = -step;
            m->first += step * (size - 1);
        }
        step = step * size + (gaps ? below(r, 3) : 0);
    }
    if (m->elements == 0)
        m->first = 0;
    else
        m->elements = step;
}

static void place(const program *p, memory *m, rng *r, bool is_input)
{
    kn_layout *l = &m->layout;
    kn_compact_strides(l->shape, l->rank, l->stride);
    m->first = 0;
    m->elements = kn_count(l->shape, l->rank);
    if (!p->compact && !chance(r, 50))
        stride_oddly(m, r, is_input);
    if (!p->compact && chance(r, 40)) { /* anywhere within a vector */
        int64_t lead = below(r, 6);
        m->first += lead;
        m->elements += lead;
    }
    m->elements += p->compact ? 0 : below(r, 4);
    m->block = kn_alloc(p->arena, (size_t)memory_bytes(m) + 16);
    uint64_t odd = (uint64_t)(m->first * kn_bytes(m->dtype));
    l->align = odd % 16 == 0 ? 16 : odd % 8 == 0 ? 8 : odd % 4 == 0 ? 4 : odd % 2 == 0 ? 2 : 1;
}

typedef enum flavour { SMALL, WHOLE, LARGE, SPECIAL, POSITIVE } flavour;

static double random_float(rng *r, kn_dtype t, flavour f)
{
    static const double special[] = {NAN, INFINITY, -INFINITY, -0.0, 0.0, 1e-40, 3e38, -1e30};
    double v = f == WHOLE      ? (double)(below(r, 9) - 4)
               : f == POSITIVE ? between(r, 0.25, 2)
                               : between(r, -2, 2);
    if (f == LARGE)
        v *= exp(between(r, -8, 8));
    if (f == SPECIAL && chance(r, 3))
        v = special[below(r, 8)];
    return kn_round(t, v);
}

static int64_t random_int(rng *r, kn_dtype t, flavour f)
{
    if (t == KN_BOOL)
        return below(r, 2);
    if (f == LARGE)
        return kn_int_wrap(t, random_bits(r));
    if (f == SPECIAL && chance(r, 3))
        return chance(r, 50) ? kn_int_min(t) : kn_int_max(t);
    int spread = f == WHOLE ? 4 : 100;
    return below(r, 2 * spread + 1) - (kn_is_unsigned(t) ? 0 : spread);
}

static void fill(const program *p, memory *m, rng *r)
{
    flavour f = chance(r, 60) ? SMALL : (flavour)(1 + below(r, 3));
    f = p->positive ? POSITIVE : f;
    for (int64_t i = 0; i < m->elements; i++) {
        kn_scalar v = {.dtype = m->dtype};
        if (kn_is_inexact(m->dtype))
            v.f = random_float(r, m->dtype, f);
        else
            v.i = random_int(r, m->dtype, f);
        if (kn_is_complex(m->dtype))
            v.im = random_float(r, m->dtype, f);
        kn_scalar_store(v, m->block + i * kn_bytes(m->dtype));
    }
}

static void shape_of(const program *p, const kn_node *n, memory *m)
{
    m->dtype = n->dtype;
    m->layout.rank = n->rank;
    for (int j = 0; j < n->rank; j++)
        kn_dim_eval(n->shape[j], p->sizes, &m->layout.shape[j]);
}

/* Is it one whose elements an output becomes? */
static bool is_updated(const program *p, int input)
{
    bool updated = false;
    for (int o = 0; o < p->graph->outputs.len; o++)
        updated = updated || p->graph->outputs.data[o].updates == input;
    return updated;
}

void place_inputs(program *p, rng *r)
{
    for (int i = 0; i < p->graph->inputs.len; i++) {
        const kn_input *in = &p->graph->inputs.data[i];
        memory *m = &p->in[i];
        shape_of(p, in->node, m);
        if (in->by_value) {
            m->elements = 1;
            m->block = kn_alloc(p->arena, 16);
            if (p->omitted[i])
                kn_scalar_store(in->dflt, m->block);
            else
                fill(p, m, r);
            continue;
        }
        place(p, m, r, !is_updated(p, i));
        fill(p, m, r);
    }
}

void place_outputs(program *p, rng *r)
{
    for (int o = 0; o < p->graph->outputs.len; o++) {
        const int updates = p->graph->outputs.data[o].updates;
        memory *m = &p->out[o];
        if (updates >= 0) { /* as the input lies; its data stay what they are */
            *m = p->in[updates];
            m->block = kn_alloc(p->arena, (size_t)memory_bytes(m) + 16);
            continue;
        }
        shape_of(p, p->graph->outputs.data[o].node, m);
        place(p, m, r, false);
    }
}
