#include "codegen/kir/scatter_sum.h"

/* Values that are looked at to find out whether a destination is the same for all groups. */
enum { MOST_VALUES = 64 };

static bool is_of_members(const kn_phase *ph, int i, int *left)
{
    const kn_value *v = kn_value_at(ph, i);
    bool is = --*left >= 0 && v->kind != KN_V_RESULT && v->kind != KN_V_LOCAL &&
              v->kind != KN_V_GATHER &&
              !(kn_has_access(v) && kn_access_varies(v->access, 0, ph->nest.ngroup));
    for (int k = 0; k < v->nin && is; k++)
        is = is_of_members(ph, v->in[k], left);
    return is;
}

/* Is value i the index along one group axis? */
static bool is_index(const kn_phase *ph, int i, int *axis)
{
    const kn_value *v = kn_value_at(ph, i);
    int n = 0;
    if (v->kind != KN_V_INDEX || kn_access_varies(v->access, ph->nest.ngroup, ph->nest.naxes))
        return false;
    for (int a = 0; a < ph->nest.ngroup; a++)
        if (kn_access_varies(v->access, a, a + 1)) {
            *axis = a;
            n++;
        }
    return n == 1;
}

/* Does the condition hold only for members whose destination is the group? */
static bool is_test_of_destination(const kn_phase *ph, int condition, kn_scatter_sum *s)
{
    const kn_value *v = kn_value_at(ph, condition);
    if (kn_is_elem(v, KN_OP_AND))
        return is_test_of_destination(ph, v->in[0], s) || is_test_of_destination(ph, v->in[1], s);
    for (int k = 0; k < 2 && kn_is_elem(v, KN_OP_EQ); k++) {
        int left = MOST_VALUES;
        *s = (kn_scatter_sum){v->in[k], v->in[1 - k], 0};
        if (kn_is_int(kn_value_at(ph, s->destination)->dtype) && is_index(ph, s->index, &s->axis) &&
            is_of_members(ph, s->destination, &left))
            return true;
    }
    return false;
}

static bool is_zero(const kn_value *v)
{
    return v->kind == KN_V_CONST && kn_scalar_number(v->value) == 0 && v->value.im == 0;
}

/* The condition without which reduction r adds 0; -1: there is none. */
static int condition_of(const kn_phase *ph, int r)
{
    const kn_red *red = &ph->nest.reds.data[r];
    const kn_value *v = kn_value_at(ph, red->value);
    while (kn_is_elem(v, KN_OP_CAST))
        v = kn_value_at(ph, v->in[0]);
    bool is = red->op == KN_OP_SUM && red->part == KN_PART_RESULT && !red->across &&
              kn_is_elem(v, KN_OP_WHERE) && is_zero(kn_value_at(ph, v->in[2]));
    return is ? v->in[0] : -1;
}

bool kn_find_scatter_sum(const kn_phase *ph, kn_scatter_sum *s)
{
    bool is = ph->nest.reds.len > 0 && ph->nest.ngroup > 0 && ph->nest.naxes > ph->nest.ngroup &&
              ph->nest.nsweeps == 1 && !kn_phase_stores_elements(ph) && !ph->local &&
              !ph->how.split && !ph->how.mixed;
    for (int r = 0; r < ph->nest.reds.len && is; r++) {
        kn_scatter_sum one = {0};
        int condition = condition_of(ph, r);
        is = condition >= 0 && is_test_of_destination(ph, condition, &one) &&
             (r == 0 || (one.destination == s->destination && one.index == s->index));
        *s = one;
    }
    return is;
}

double kn_scatter_sum_part(const kn_phase *ph, double width)
{
    kn_scatter_sum s;
    if (!kn_find_scatter_sum(ph, &s))
        return 1;
    double inner = (double)kn_nest_count(&ph->nest, s.axis + 1, ph->nest.ngroup);
    double extent = (double)ph->nest.axes[s.axis].extent, indices = width / inner + 1;
    return indices < extent ? indices / extent : 1;
}
