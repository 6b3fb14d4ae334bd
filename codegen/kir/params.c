#include "codegen/kir/params.h"

#include "codegen/kir/formula.h"

typedef struct params {
    kn_param *out;
    int cap, n;
    kn_arena *arena;
} params;

static void put(params *ps, kn_param p)
{
    if (ps->n < ps->cap)
        ps->out[ps->n] = p;
    ps->n++;
}

static void put_index(params *ps, int64_t value, const char *name)
{
    put(ps, (kn_param){.kind = KN_PARAM_INDEX, .value = value, .name = name});
}

static void put_formula(params *ps, int64_t value, kn_dim formula, const char *name)
{
    put(ps, (kn_param){.kind = KN_PARAM_INDEX, .value = value, .name = name, .formula = formula});
}

/* Are formulas wanted, and are there any? */
static bool has_formulas(const params *ps, const kn_phase *ph)
{
    return ps->arena && ph->nest.extents;
}

/* "p0_v3_stride1": what is given of the i-th access, by values ('v') or stores ('o') */
static const char *access_name(const params *ps, int phase, char kind, int i, const char *axis)
{
    return ps->arena ? kn_sprintf(ps->arena, "p%d_%c%d_%s", phase, kind, i, axis) : NULL;
}

/* "p0_v3_g1_stride": of the axis that the value's operand 1 gives the index of */
static const char *index_name(const params *ps, int phase, int i, int operand, const char *what)
{
    return ps->arena ? kn_sprintf(ps->arena, "p%d_v%d_g%d_%s", phase, i, operand, what) : NULL;
}

static void access_params(params *ps, const kn_phase *ph, int phase, const kn_access *acc,
                          char kind, int i)
{
    const bool formulas = has_formulas(ps, ph) && acc->formula;
    if (acc->shifted)
        put_formula(ps, acc->offset, formulas ? acc->formula->offset : NULL,
                    access_name(ps, phase, kind, i, "offset"));
    for (int a = 0; a < ph->nest.naxes; a++)
        if (acc->kind[a] == KN_STRIDE_PARAM) {
            const char *name = ps->arena ? kn_sprintf(ps->arena, "stride%d", a) : NULL;
            put_formula(ps, acc->stride[a], formulas ? kn_stride_formula(&ph->nest, acc, a) : NULL,
                        access_name(ps, phase, kind, i, name));
        }
}

/* The elements of an array that the access can read. */
static void range_params(params *ps, const kn_phase *ph, int phase, const kn_access *acc, int i)
{
    const kn_access_ends reach = kn_access_reach(&ph->nest, acc, 0);
    put_index(ps, reach.low, access_name(ps, phase, 'v', i, "first"));
    put_index(ps, reach.high + 1, access_name(ps, phase, 'v', i, "end"));
}

/* Division of what is below 2^31 by n is a multiplication and a shift: Granlund and Montgomery, "Division by invariant
 * integers using multiplication", 1994, theorem 4.2. */
static void divisor_params(params *ps, int phase, const char *of, int64_t n)
{
    int shift = 0; /* beyond the 31 bits by which kn_quotient() always shifts */
    while (shift < 31 && (int64_t)1 << shift < n)
        shift++;
    int64_t multiplier = n > 0 ? ((int64_t)1 << (31 + shift)) / n + 1 : 0;
    put_index(ps, multiplier,
              ps->arena ? kn_sprintf(ps->arena, "p%d_%s_multiplier", phase, of) : NULL);
    put_index(ps, shift, ps->arena ? kn_sprintf(ps->arena, "p%d_%s_shift", phase, of) : NULL);
}

/* What runs are divided by, where vectors and edges are taken apart. */
static void run_params(params *ps, const kn_kernel *k, int p)
{
    const kn_phase *ph = &k->phases.data[p];
    if (!ph->how.by_run)
        return;
    const int64_t extents[] = {kn_phase_whole(ph), kn_phase_edges(ph)};
    const char *const names[] = {"whole", "edges"};
    for (int i = 0; i < 2; i++) {
        put_index(ps, extents[i], ps->arena ? kn_sprintf(ps->arena, "p%d_%s", p, names[i]) : NULL);
        if (!k->wide && !kn_phase_one_run(ph))
            divisor_params(ps, p, names[i], extents[i]);
    }
}

/* The extents of a phase's axes, and where its accesses are. */
static void nest_params(params *ps, const kn_kernel *k, int p)
{
    const kn_phase *ph = &k->phases.data[p];
    kn_arena *a = ps->arena;
    for (int x = 0; x < ph->nest.naxes; x++) {
        put_formula(ps, ph->nest.axes[x].extent,
                    has_formulas(ps, ph) ? kn_extent_formula(&ph->nest, x) : NULL,
                    a ? kn_sprintf(a, "p%d_n%d", p, x) : NULL);
        if (!k->wide && x != 0 && x != ph->nest.ngroup)
            divisor_params(ps, p, a ? kn_sprintf(a, "n%d", x) : NULL, ph->nest.axes[x].extent);
    }
    run_params(ps, k, p);
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = &ph->nest.values.data[i];
        if (kn_has_access(v))
            access_params(ps, ph, p, v->access, 'v', i);
        if (kn_is_shifted(ph, i))
            range_params(ps, ph, p, v->access, i);
        for (int j = 0; v->kind == KN_V_GATHER && j < v->nin; j++) {
            put_formula(ps, v->access->gathered[j].stride, v->access->gathered[j].stride_is,
                        index_name(ps, p, i, j, "stride"));
            if (v->access->checked)
                put_formula(ps, v->access->gathered[j].extent, v->access->gathered[j].extent_is,
                            index_name(ps, p, i, j, "extent"));
        }
    }
    for (int i = 0; i < ph->nest.stores.len; i++) {
        const kn_store *s = &ph->nest.stores.data[i];
        access_params(ps, ph, p, &s->access, 'o', i);
        if (s->kind == KN_STORE_PARTIAL)
            put_index(ps, s->access.split_stride, access_name(ps, p, 'o', i, "split_stride"));
    }
}

/* What its schedule goes by. */
static void schedule_params(params *ps, kn_assignment *d, int p)
{
    const kn_phase *ph = &d->k->phases.data[p];
    kn_arena *a = ps->arena;
    if (!ph->local)
        kn_assign_phase(d, p);
    if (!ph->local && kn_runs_beside(d->k, p)) {
        put_index(ps, d->first, a ? kn_sprintf(a, "p%d_first", p) : NULL);
        put_index(ps, d->blocks, a ? kn_sprintf(a, "p%d_blocks", p) : NULL);
    }
    if (ph->how.mixed)
        put_index(ps, ph->num.parts, a ? kn_sprintf(a, "p%d_parts", p) : NULL);
    if (ph->how.split) {
        put_index(ps, ph->num.splits, a ? kn_sprintf(a, "p%d_splits", p) : NULL);
        if (!kn_is_cyclic(ph))
            put_index(ps, ph->num.chunk, a ? kn_sprintf(a, "p%d_chunk", p) : NULL);
    }
    if (ph->how.planes) {
        put_index(ps, kn_phase_step(ph), a ? kn_sprintf(a, "p%d_step", p) : NULL);
        if (!d->k->wide)
            divisor_params(ps, p, "plane", kn_plane(ph, ph->how.planes));
    }
    if (ph->how.interleaved && !ph->local)
        put_index(ps, kn_members_interleaved(ph), a ? kn_sprintf(a, "p%d_interleaved", p) : NULL);
    if (ph->how.packed) {
        put_index(ps, ph->num.pack, a ? kn_sprintf(a, "p%d_pack", p) : NULL);
        put_index(ps, ph->how.lanes, a ? kn_sprintf(a, "p%d_lanes", p) : NULL);
    }
    if (ph->how.cluster)
        put_index(ps, ph->num.chunk, a ? kn_sprintf(a, "p%d_chunk", p) : NULL);
    if (ph->how.persistent || ph->how.skewed)
        put_index(ps, ph->num.skew, a ? kn_sprintf(a, "p%d_skew", p) : NULL);
    if (kn_copies_in_chunks(ph))
        put_index(ps, ph->num.copy_chunk, a ? kn_sprintf(a, "p%d_copy_chunk", p) : NULL);
    if (ph->how.rest_in_registers)
        put_index(ps, ph->num.in_shared, a ? kn_sprintf(a, "p%d_in_shared", p) : NULL);
}

static void exchange_params(params *ps, const kn_kernel *k)
{
    for (int i = 0; i < k->bufs.len; i++) {
        const kn_buf *b = &k->bufs.data[i];
        if (!kn_is_exchanged(b))
            continue;
        put_index(ps, b->part / kn_bytes(b->dtype),
                  ps->arena ? kn_sprintf(ps->arena, "%s_part", b->name) : NULL);
        put_index(ps, b->word, ps->arena ? kn_sprintf(ps->arena, "%s_word", b->name) : NULL);
    }
    put(ps, (kn_param){.kind = KN_PARAM_RANKS, .name = "ranks"});
}

int kn_kernel_params(const kn_kernel *k, kn_arena *a, kn_param *out, int cap)
{
    params ps = {out, cap, 0, a};
    for (int i = 0; i < k->bufs.len; i++)
        put(&ps, (kn_param){.kind = KN_PARAM_BUF, .index = i, .name = k->bufs.data[i].name});
    for (int i = 0; i < k->scalars.len; i++)
        put(&ps, (kn_param){.kind = KN_PARAM_SCALAR,
                            .index = i,
                            .dtype = k->scalars.data[i].dtype,
                            .name = k->scalars.data[i].name});
    for (int i = 0; i < k->extents.len; i++)
        put(&ps, (kn_param){.kind = KN_PARAM_EXTENT,
                            .index = i,
                            .value = k->extents.data[i].value,
                            .formula = a ? k->extents.data[i].dim : NULL,
                            .name = a ? kn_sprintf(a, "count%d", i) : NULL});
    kn_assignment assigned = kn_assign_work(k);
    for (int p = 0; p < k->phases.len; p++) {
        nest_params(&ps, k, p);
        schedule_params(&ps, &assigned, p);
    }
    if (kn_kernel_resident(k))
        put_index(&ps, k->resident_steps, "resident_steps");
    if (k->policy)
        put(&ps, (kn_param){.kind = KN_PARAM_POLICY, .value = k->policy, .name = "policy"});
    if (kn_kernel_meets(k))
        put(&ps, (kn_param){.kind = KN_PARAM_BARRIER, .name = "barrier"});
    if (k->ranks)
        exchange_params(&ps, k);
    return ps.n;
}
