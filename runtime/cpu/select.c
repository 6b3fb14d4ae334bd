#include "runtime/cpu/loops.h"

const kn_loops *kn_loops_choose(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &kn_loops_avx2;
#endif
    return &kn_loops_baseline;
}

kn_loop kn_loops_elem(const kn_loops *loops, kn_op op, const kn_dtype *in, kn_dtype out)
{
    const kn_op_info *info = &kn_ops[op];
    if (info->cls != KN_ELEM)
        return NULL;
    if (op == KN_OP_CAST)
        return loops->cast[in[0]][out];
    kn_dtype type = in[info->arity - 1];
    for (int k = 0; k < info->arity; k++)
        if (in[k] != (op == KN_OP_WHERE && k == 0 ? KN_BOOL : type))
            return NULL;
    if (out != kn_op_result(op, type))
        return NULL;
    kn_loop vector = loops->maths ? loops->maths->elem[op][type] : NULL;
    return vector ? vector : loops->elem[op][type];
}

const kn_fold *kn_loops_fold(const kn_loops *loops, kn_op op, kn_dtype dtype)
{
    const kn_fold *fold = &loops->fold[op][dtype];
    return fold->reduce ? fold : NULL;
}
