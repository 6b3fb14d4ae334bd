/* Pairs of lanes: two 16-bit floats are one register, and one instruction computes both. What else the lanes of a pair
 * have is computed lane by lane, into vectors of two. */
#include "codegen/emit/cuda/writer.h"

/* Is value i a cast that converts both lanes at once: of what has been computed in pairs? */
static bool converts_pair(const kn_cuda_writer *w, int i)
{
    const kn_value *v = kn_value_at(w->ph, i);
    if (!kn_is_elem(v, KN_OP_CAST) || !w->paired[v->in[0]])
        return false;
    const kn_dtype from = kn_value_at(w->ph, v->in[0])->dtype;
    return (kn_is_half(v->dtype) && from == KN_F32) ||
           (v->dtype == KN_F32 && kn_is_half(from) && !kn_selected_of(w->ph, v->in[0])->rounded);
}

bool kn_cuda_is_of_pair(const kn_cuda_writer *w, int i)
{
    return kn_selected_of(w->ph, i)->packed || converts_pair(w, i);
}

const char *kn_cuda_pair_type(kn_cuda_writer *w, int i)
{
    return kn_cuda_printed(w, "kn_pair<%s>", kn_cuda_type(kn_value_at(w->ph, i)->dtype));
}

/* Value i as both lanes have it. */
static const char *operand(kn_cuda_writer *w, int i)
{
    if (w->paired[i])
        return kn_cuda_value(w, i);
    if (w->wide[i] || w->broadcast[i])
        return kn_cuda_printed(w, "%s{%s, %s}", kn_cuda_pair_type(w, i),
                               kn_cuda_operand_of_lane(w, i, "pair"),
                               kn_cuda_operand_of_lane(w, i, "pair + 1"));
    return kn_cuda_printed(w, "kn_both(%s)", kn_cuda_value(w, i));
}

const char *kn_cuda_pair_expression(kn_cuda_writer *w, int i)
{
    const kn_value *v = kn_value_at(w->ph, i);
    const char *in[KN_MAX_IN] = {0};
    for (int k = 0; k < v->nin; k++)
        in[k] = operand(w, v->in[k]);
    if (v->op != KN_OP_CAST)
        return kn_cuda_operation(w, v->op, v->dtype, v->dtype, in, v->nin);
    return v->dtype == KN_F32
               ? kn_cuda_printed(w, "kn_widen_pair(%s)", in[0])
               : kn_cuda_printed(w, "kn_narrow_pair<%s>(%s)", kn_cuda_type(v->dtype), in[0]);
}
