#include "ir/fast.h"

#include <math.h>

typedef enum unit { OF_RESULT, OF_LARGEST, OF_ONE } unit;

typedef struct looser {
    double ulp;   /* 0: as without fast_math */
    double of_in; /* more for each unit of the operand */
    unit unit;
} looser;

static const looser table[KN_OP_COUNT] = {
    [KN_OP_ADD] = {1, 0, OF_LARGEST},  [KN_OP_SUB] = {1, 0, OF_LARGEST},
    [KN_OP_MUL] = {2, 0, OF_RESULT},   [KN_OP_DIV] = {8, 0, OF_RESULT},
    [KN_OP_POW] = {16, 0, OF_RESULT},  [KN_OP_SQRT] = {4, 0, OF_RESULT},
    [KN_OP_RSQRT] = {4, 0, OF_RESULT}, [KN_OP_EXP] = {4, 2, OF_RESULT},
    [KN_OP_EXP2] = {4, 2, OF_RESULT},  [KN_OP_LOG] = {8, 0, OF_ONE},
    [KN_OP_LOG2] = {8, 0, OF_ONE},     [KN_OP_LOG10] = {8, 0, OF_ONE},
    [KN_OP_TANH] = {8, 0, OF_ONE},
};

static bool in_range(kn_scalar v)
{
    double most = v.dtype == KN_F64 ? 0x1p300 : 0x1p40, x = fabs(v.f);
    return x == 0 || (x >= 1 / most && x <= most); /* false for NaN */
}

double kn_fast_ulp(const kn_node *n, const kn_scalar *in, kn_scalar r, kn_scalar *of)
{
    const looser *how = &table[n->op];
    *of = r;
    if (how->ulp == 0 || !kn_is_float(n->dtype))
        return kn_op_ulp(n->op, n->dtype);
    bool known = in_range(r);
    for (int k = 0; k < n->nin; k++) {
        known = known && in_range(in[k]);
        if (how->unit == OF_LARGEST && fabs(in[k].f) > fabs(of->f))
            of->f = in[k].f;
    }
    if (!known)
        return INFINITY;
    if (how->unit == OF_ONE && fabs(r.f) < 1)
        of->f = 1;
    double ulp = how->ulp + how->of_in * fabs(in[0].f);
    return kn_is_half(n->dtype) ? 0.5 + ulp * kn_unit_roundoff(KN_F32) / kn_unit_roundoff(n->dtype)
                                : ulp;
}
