#include <string.h>

#include "frontend/parse/parser.h"

/* Functions that are no plain operation of ops.def, or that NumPy has otherwise than the rest. */
static const kn_callee functions[] = {
    /* name        how                 op            bare   np.    method */
    {"cast", KN_CALL_CAST, KN_OP_CAST, true, false, false},
    {"astype", KN_CALL_CAST, KN_OP_CAST, true, true, true},
    {"copy", KN_CALL_ELEM, KN_OP_COPY, true, true, true},
    {"clip", KN_CALL_CLIP, KN_OP_CLIP, true, true, true},
    {"nan_to_num", KN_CALL_NAN_TO_NUM, KN_OP_NAN_TO_NUM, true, true, false},
    {"conj", KN_CALL_PART, KN_OP_CONJ, true, true, true},
    {"conjugate", KN_CALL_PART, KN_OP_CONJ, true, true, true},
    {"real", KN_CALL_PART, KN_OP_REAL, true, true, false},
    {"imag", KN_CALL_PART, KN_OP_IMAG, true, true, false},
    {"round", KN_CALL_ELEM, KN_OP_ROUND, true, true, true},
    {"divmod", KN_CALL_PAIR, KN_OP_FLOORDIV, true, true, false},
    {"modf", KN_CALL_PAIR, KN_OP_FRACTION, true, true, false},
    {"frexp", KN_CALL_PAIR, KN_OP_MANTISSA, true, true, false},
    {"amin", KN_CALL_REDUCE, KN_OP_MIN, true, true, false},
    {"amax", KN_CALL_REDUCE, KN_OP_MAX, true, true, false},
    {"std", KN_CALL_STD, KN_OP_VAR, true, true, true},
    {"nansum", KN_CALL_REDUCE, KN_OP_SUM, true, true, false},
    {"nanprod", KN_CALL_REDUCE, KN_OP_PROD, true, true, false},
    {"nanmin", KN_CALL_REDUCE, KN_OP_MIN, true, true, false},
    {"nanmax", KN_CALL_REDUCE, KN_OP_MAX, true, true, false},
    {"nanmean", KN_CALL_REDUCE, KN_OP_MEAN, true, true, false},
    {"nanvar", KN_CALL_REDUCE, KN_OP_VAR, true, true, false},
    {"nanstd", KN_CALL_STD, KN_OP_VAR, true, true, false},
    {"ptp", KN_CALL_PTP, KN_OP_MAX, true, true, false},
    {"count_nonzero", KN_CALL_COUNT_NONZERO, KN_OP_SUM, true, true, false},
    {"average", KN_CALL_AVERAGE, KN_OP_MEAN, true, true, false},
    {"norm", KN_CALL_NORM, KN_OP_SUM, true, false, false},
    {"logsumexp", KN_CALL_LOGSUMEXP, KN_OP_SUM, true, false, false},
    {"softmax", KN_CALL_SOFTMAX, KN_OP_SUM, true, false, false},
    {"log_softmax", KN_CALL_SOFTMAX, KN_OP_SUM, true, false, false},
    {"argmin", KN_CALL_ARG, KN_OP_MIN, true, true, true},
    {"argmax", KN_CALL_ARG, KN_OP_MAX, true, true, true},
    {"flip", KN_CALL_FLIP, KN_OP_INDEX, true, true, false},
    {"flipud", KN_CALL_FLIP, KN_OP_INDEX, true, true, false},
    {"fliplr", KN_CALL_FLIP, KN_OP_INDEX, true, true, false},
    {"diagonal", KN_CALL_DIAGONAL, KN_OP_INDEX, true, true, true},
    {"trace", KN_CALL_DIAGONAL, KN_OP_SUM, true, true, true},
    {"tril", KN_CALL_TRIANGLE, KN_OP_LE, true, true, false},
    {"triu", KN_CALL_TRIANGLE, KN_OP_GE, true, true, false},
    {"moveaxis", KN_CALL_MOVEAXIS, KN_OP_PERMUTE, true, true, false},
    {"concatenate", KN_CALL_JOIN, KN_OP_TAKE, true, true, false},
    {"concat", KN_CALL_JOIN, KN_OP_TAKE, true, true, false},
    {"stack", KN_CALL_JOIN, KN_OP_TAKE, true, true, false},
    {"pad", KN_CALL_PAD, KN_OP_TAKE, true, true, false},
    {"take", KN_CALL_TAKE, KN_OP_TAKE, true, true, true},
    {"take_along_axis", KN_CALL_TAKE_ALONG, KN_OP_TAKE, true, true, false},
    {"at_add", KN_CALL_AT_ADD, KN_OP_TAKE, true, false, false},
    {"repeat", KN_CALL_REPEAT, KN_OP_TAKE, true, true, true},
    {"tile", KN_CALL_TILE, KN_OP_TAKE, true, true, false},
    {"roll", KN_CALL_ROLL, KN_OP_TAKE, true, true, false},
    {"arange", KN_CALL_ARANGE, KN_OP_IOTA, true, true, false},
    {"full", KN_CALL_FULL, KN_OP_BROADCAST, true, true, false},
    {"zeros", KN_CALL_FULL, KN_OP_BROADCAST, true, true, false},
    {"ones", KN_CALL_FULL, KN_OP_BROADCAST, true, true, false},
    {"full_like", KN_CALL_LIKE, KN_OP_BROADCAST, true, true, false},
    {"zeros_like", KN_CALL_LIKE, KN_OP_BROADCAST, true, true, false},
    {"ones_like", KN_CALL_LIKE, KN_OP_BROADCAST, true, true, false},
    {"len", KN_CALL_LEN, KN_OP_EXTENT, true, false, false},
    {"random_bits", KN_CALL_RANDOM, KN_OP_IOTA, true, false, false},
    {"uniform", KN_CALL_RANDOM, KN_OP_IOTA, true, false, false},
    {"normal", KN_CALL_RANDOM, KN_OP_IOTA, true, false, false},
    {"bernoulli", KN_CALL_BERNOULLI, KN_OP_IOTA, true, false, false},
    {"dropout", KN_CALL_DROPOUT, KN_OP_IOTA, true, false, false},
    {"vjp", KN_CALL_VJP, KN_OP_COPY, true, false, false},
    {"grad", KN_CALL_GRAD, KN_OP_COPY, true, false, false},
    {"dot", KN_CALL_DOT, KN_OP_SUM, true, true, true},
    {"vdot", KN_CALL_DOT, KN_OP_SUM, true, true, false},
    {"inner", KN_CALL_DOT, KN_OP_SUM, true, true, false},
    {"reshape", KN_CALL_RESHAPE, KN_OP_RESHAPE, true, true, true},
    {"ravel", KN_CALL_RAVEL, KN_OP_RESHAPE, true, true, true},
    {"flatten", KN_CALL_RAVEL, KN_OP_RESHAPE, false, false, true},
    {"transpose", KN_CALL_TRANSPOSE, KN_OP_PERMUTE, true, true, true},
    {"permute_dims", KN_CALL_TRANSPOSE, KN_OP_PERMUTE, true, true, false},
    {"swapaxes", KN_CALL_SWAPAXES, KN_OP_PERMUTE, true, true, true},
    {"broadcast_to", KN_CALL_BROADCAST, KN_OP_BROADCAST, true, true, false},
    {"expand_dims", KN_CALL_EXPAND, KN_OP_RESHAPE, true, true, false},
    {"squeeze", KN_CALL_SQUEEZE, KN_OP_RESHAPE, true, true, true},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* Operations that NumPy does not have. */
static bool is_own(int op)
{
    static const kn_op own[] = {
        KN_OP_RSQRT,     KN_OP_ERF,     KN_OP_ERFC,       KN_OP_ERFINV,   KN_OP_GAMMA,
        KN_OP_LGAMMA,    KN_OP_SCALB,   KN_OP_MANTISSA,   KN_OP_EXPONENT, KN_OP_FRACTION,
        KN_OP_WHOLE,     KN_OP_SIGMOID, KN_OP_SOFTPLUS,   KN_OP_SILU,     KN_OP_GELU,
        KN_OP_GELU_TANH, KN_OP_RELU,    KN_OP_LEAKY_RELU, KN_OP_PAIR,
    };
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (own[i] == (kn_op)op)
            return true;
    return false;
}

bool kn_callee_find(const char *name, kn_callee *out)
{
    for (int i = 0; i < FUNCTIONS; i++)
        if (strcmp(functions[i].name, name) == 0) {
            *out = functions[i];
            return true;
        }
    int op = kn_op_find(name, strlen(name));
    if (op < 0 || (!kn_op_elementwise(op) && kn_ops[op].cls != KN_REDUCE))
        return false;
    bool reduce = kn_ops[op].cls == KN_REDUCE;
    *out = (kn_callee){name,  reduce ? KN_CALL_REDUCE : KN_CALL_ELEM, (kn_op)op, true, !is_own(op),
                       reduce};
    return true;
}

const char *kn_callee_name(int i)
{
    if (i < FUNCTIONS)
        return functions[i].name;
    for (int op = 0, left = i - FUNCTIONS; op < KN_OP_COUNT; op++)
        if ((kn_op_elementwise(op) || kn_ops[op].cls == KN_REDUCE) && op != KN_OP_REDUCE_BY &&
            left-- == 0)
            return kn_ops[op].text;
    return NULL;
}
