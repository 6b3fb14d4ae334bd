/* Where lanes are: where an access begins, at which indices, and which values may differ between lanes. */
#include "codegen/emit/c/writer.h"

const char *kn_c_origin(kn_c_writer *w, const kn_access *acc, int at, bool partial)
{
    kn_text t = kn_text_new(w->a);
    if (acc->shifted)
        kn_putf(&t, " + num[%d]", at);
    if (partial)
        kn_putf(&t, " + s->part * num[%d]", at + 1);
    for (int a = 0; a < w->ph->nest.naxes; a++)
        if (acc->kind[a] == KN_STRIDE_ONE)
            kn_putf(&t, " + s->i[%d]", a);
        else if (acc->kind[a] == KN_STRIDE_PARAM)
            kn_putf(&t, " + s->i[%d] * num[%d]", a, at + 2 + a);
    return kn_text_str(&t);
}

void kn_c_put_seek(kn_c_writer *w, int first, int end, const char *linear)
{
    if (first == end)
        return;
    kn_c_line(w, "s->i[%d] = %s;", first, linear);
    for (int a = end - 1; a > first; a--)
        kn_c_line(w, "s->i[%d] = s->i[%d] %% KN_SOME(num[%d]), s->i[%d] /= KN_SOME(num[%d]);", a,
                  first, a, first, a);
}

bool kn_c_varies_by_member(const kn_c_writer *w, const kn_access *acc)
{
    for (int a = w->ph->nest.ngroup; a < w->ph->nest.naxes; a++)
        if (acc->kind[a] != KN_STRIDE_ZERO)
            return true;
    return false;
}

/* May its access differ from lane to lane? Lanes of packed blocks are all members. Group values outlive a run of lanes, so
 * they differ also from run to run. */
static bool walks(const kn_c_writer *w, const kn_value *v)
{
    if (!kn_has_access(v) || w->axis < 0)
        return false;
    if (w->packed && kn_c_varies_by_member(w, v->access))
        return true;
    return w->mode == KN_C_COLS && kn_c_is_group(v)
               ? (v->access->axes & ((1u << w->ph->nest.ngroup) - 1)) != 0
               : v->access->kind[w->axis] != KN_STRIDE_ZERO;
}

void kn_c_find_lanes(kn_c_writer *w)
{
    const kn_phase *p = w->ph;
    w->lane = KN_NEW_ARRAY(w->a, bool, p->nest.values.len + 1);
    for (int i = 0; i < p->nest.values.len; i++) {
        const kn_value *v = &p->nest.values.data[i];
        w->lane[i] = kn_kept(p, i) == KN_KEEP_FRAME ||
                     (v->kind == KN_V_RESULT && w->mode == KN_C_COLS) || walks(w, v);
        for (int k = 0; k < v->nin; k++)
            w->lane[i] = w->lane[i] || w->lane[v->in[k]];
    }
}

/* " + l * step6": index `l` along an axis of an access. */
static const char *step(kn_c_writer *w, const kn_access *acc, int at, int axis, const char *index)
{
    if (axis < 0 || acc->kind[axis] == KN_STRIDE_ZERO)
        return "";
    return acc->kind[axis] == KN_STRIDE_ONE
               ? kn_c_printed(w, " + %s", index)
               : kn_c_printed(w, " + %s * step%d", index, at + 2 + axis);
}

const char *kn_c_subscript(kn_c_writer *w, const kn_access *acc, int at, const char *l)
{
    const char *lane = step(w, acc, at, w->axis, l);
    const char *member = w->members ? step(w, acc, at, w->ph->nest.naxes - 1, "m") : "";
    return !*lane && !*member
               ? "0"
               : kn_c_printed(w, "%s%s", *lane ? lane : member, *lane ? member : "") + 3;
}
