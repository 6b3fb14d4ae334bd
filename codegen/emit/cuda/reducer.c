/* User-defined reductions: a struct of the values that one carries, and its combine as a functor.
 *
 *     struct carried_p0_r0 { float c0; int c1; };
 *     struct combine_p0_r0 { static carried_p0_r0 of(carried_p0_r0 a, carried_p0_r0 b); };
 *
 * Lanes shuffle it value by value, and combine in the order of lanes, so that all get the same result even where
 * combine(a, b) and combine(b, a) round differently. */
#include "codegen/emit/cuda/writer.h"
#include "codegen/model/resources.h"

const char *kn_cuda_reducer_name(kn_cuda_writer *w, int r)
{
    return kn_cuda_printed(w, "carried_p%d_r%d", w->p, r);
}

const char *kn_cuda_reducer_combine(kn_cuda_writer *w, int r)
{
    return kn_cuda_printed(w, "combine_p%d_r%d", w->p, r);
}

static const char *operand_text(kn_cuda_writer *w, const kn_reducer *by, int value)
{
    const kn_combine_step *s = kn_reducer_step(by, value);
    if (!s)
        return kn_cuda_printed(w, "%c.c%d", value < by->count ? 'a' : 'b', value % by->count);
    return s->op == KN_OP_CONST ? kn_cuda_literal(w, s->value)
                                : kn_cuda_printed(w, "t%d", value - 2 * by->count);
}

/* type{x, y, ...}, with a text for each value that is carried. */
static const char *braced(kn_cuda_writer *w, const char *type, const char *const *each, int n)
{
    kn_text t = kn_text_new(w->t->arena);
    for (int c = 0; c < n; c++)
        kn_putf(&t, "%s%s", c ? ", " : "", each[c]);
    return kn_cuda_printed(w, "%s{%s}", type, kn_text_str(&t));
}

static void write_combine(kn_cuda_writer *w, int r, const char *type)
{
    const kn_reducer *by = w->ph->nest.reds.data[r].by;
    const char *each[KN_MAX_CARRIED];
    kn_cuda_open(w, "struct %s", kn_cuda_reducer_combine(w, r));
    kn_cuda_open(w, "static __device__ __forceinline__ %s of(const %s &a, const %s &b)", type, type,
                 type);
    for (int i = 0; i < by->nsteps; i++) {
        const kn_combine_step *s = &by->steps[i];
        const char *in[3] = {0};
        if (s->op == KN_OP_CONST)
            continue;
        for (int k = 0; k < s->nin; k++)
            in[k] = operand_text(w, by, s->in[k]);
        kn_cuda_line(
            w, "const %s t%d = %s;", kn_cuda_type(s->dtype), i,
            kn_cuda_operation(w, s->op, s->dtype, kn_reducer_type(by, s->in[0]), in, s->nin));
    }
    for (int c = 0; c < by->count; c++)
        each[c] = operand_text(w, by, by->result[c]);
    kn_cuda_line(w, "return %s;", braced(w, type, each, by->count));
    kn_cuda_close(w);
    kn_cuda_close_as(w, "};");
}

static void write_type(kn_cuda_writer *w, int r)
{
    const kn_reducer *by = w->ph->nest.reds.data[r].by;
    const char *type = kn_cuda_reducer_name(w, r), *each[KN_MAX_CARRIED];
    kn_cuda_open(w, "struct %s", type);
    for (int c = 0; c < by->count; c++) {
        kn_cuda_line(w, "%s c%d;", kn_cuda_type(by->dtype[c]), c);
        each[c] = kn_cuda_printed(w, "kn_from_lane_xor(v.c%d, mask)", c);
    }
    kn_cuda_close_as(w, "};");
    kn_cuda_line(w,
                 "static_assert(sizeof(%s) == %d, \"the exchange buffer has slots of this size\");",
                 type, kn_reducer_bytes(by));
    write_combine(w, r, type);
    kn_cuda_line(w, "template <> struct kn_ordered<%s> { static const bool value = true; };",
                 kn_cuda_reducer_combine(w, r));
    kn_cuda_open(w, "__device__ __forceinline__ %s kn_from_lane_xor(const %s &v, int mask)", type,
                 type);
    kn_cuda_line(w, "return %s;", braced(w, type, each, by->count));
    kn_cuda_close(w);
    kn_put(w->t, "\n");
}

void kn_cuda_reducer_types(kn_cuda_writer *w)
{
    kn_cuda_writer outer = *w;
    w->indent = 0;
    for (w->p = 0; w->p < w->k->phases.len; w->p++) {
        w->ph = &w->k->phases.data[w->p];
        for (int r = 0; r < w->ph->nest.reds.len; r++)
            if (w->ph->nest.reds.data[r].by && w->ph->nest.reds.data[r].carried == 0)
                write_type(w, r);
    }
    *w = outer;
}

const char *kn_cuda_reducer_identity(kn_cuda_writer *w, int r)
{
    const kn_reducer *by = w->ph->nest.reds.data[r].by;
    const char *each[KN_MAX_CARRIED];
    for (int c = 0; c < by->count; c++)
        each[c] = kn_cuda_literal(w, by->identity[c]);
    return braced(w, kn_cuda_reducer_name(w, r), each, by->count);
}

const char *kn_cuda_reducer_element(kn_cuda_writer *w, int r)
{
    const kn_reducer *by = w->ph->nest.reds.data[r].by;
    const char *each[KN_MAX_CARRIED];
    for (int c = 0; c < by->count; c++)
        each[c] = kn_cuda_operand(w, w->ph->nest.reds.data[r + c].value);
    return braced(w, kn_cuda_reducer_name(w, r), each, by->count);
}
