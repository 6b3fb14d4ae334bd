#include "codegen/plan/nests/planner.h"

int kn_planner_temp(kn_planner *p, kn_dtype dtype, const char *name, int64_t count)
{
    int number = 0;
    for (int i = p->bufs.len - 1; i >= 0 && !number; i--)
        number = p->bufs.data[i].kind == KN_BUF_TEMP ? p->bufs.data[i].index + 1 : 0;
    kn_buf b = {.kind = KN_BUF_TEMP,
                .index = number,
                .dtype = dtype,
                .name = kn_identifier(p->arena, kn_sprintf(p->arena, "t%d_", number), name),
                .bytes = count * kn_bytes(dtype)};
    kn_push(p->arena, &p->bufs, b);
    return p->bufs.len - 1;
}

static int alignment_of(const kn_planner *p, const kn_buf *b)
{
    return b->kind == KN_BUF_INPUT    ? p->problem->in[b->index].align
           : b->kind == KN_BUF_OUTPUT ? p->problem->out[b->index].align
                                      : 16;
}

const kn_force *kn_force_of_phases(kn_arena *a, const kn_problem *problem)
{
    kn_force *force = kn_alloc_copy(a, &problem->force, sizeof *force);
    if (force->division == KN_DIVIDE_CLUSTERS)
        force->division = KN_DIVIDE_BY_COST;
    return force;
}

static kn_site site_of(const kn_planner *p, const kn_buf *bufs, int n, const int *align)
{
    const kn_division division = p->problem->force.division;
    return (kn_site){
        .arena = p->arena,
        .target = p->problem->target,
        .force = p->force,
        .bufs = bufs,
        .nbufs = n,
        .align = align,
        .clusters = division == KN_DIVIDE_CLUSTERS || division == KN_DIVIDE_CLUSTER,
    };
}

kn_site kn_planner_site(kn_planner *p)
{
    for (int i = p->align.len; i < p->bufs.len; i++)
        kn_push(p->arena, &p->align, alignment_of(p, &p->bufs.data[i]));
    return site_of(p, p->bufs.data, p->bufs.len, p->align.data);
}

kn_site kn_kernel_site(const kn_planner *p, const kn_kernel *k)
{
    int *align = KN_NEW_ARRAY(p->arena, int, k->bufs.len + 1);
    for (int i = 0; i < k->bufs.len; i++)
        align[i] = alignment_of(p, &k->bufs.data[i]);
    return site_of(p, k->bufs.data, k->bufs.len, align);
}

int kn_planner_round(const kn_planner *p, int index)
{
    return p->regions->list.data[p->region_of.data[index]]->round;
}

void kn_insert_phase(kn_planner *p, int at, kn_phase ph, int region)
{
    kn_push(p->arena, &p->phases, ph);
    kn_push(p->arena, &p->region_of, region);
    for (int i = p->phases.len - 1; i > at; i--) {
        p->phases.data[i] = p->phases.data[i - 1];
        p->region_of.data[i] = p->region_of.data[i - 1];
    }
    p->phases.data[at] = ph;
    p->region_of.data[at] = region;
}

void kn_drop_phase(kn_planner *p, int at)
{
    for (int i = at; i + 1 < p->phases.len; i++) {
        p->phases.data[i] = p->phases.data[i + 1];
        p->region_of.data[i] = p->region_of.data[i + 1];
    }
    p->phases.len--;
    p->region_of.len--;
}
