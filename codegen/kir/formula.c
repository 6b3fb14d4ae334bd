#include "codegen/kir/formula.h"

const kn_strides *kn_strides_compact(kn_arena *a, kn_symbols *s, const kn_dim *shape, int rank)
{
    kn_strides *to = KN_NEW(a, kn_strides);
    kn_dim step = kn_dim_const(s, 1);
    to->offset = kn_dim_const(s, 0);
    for (int j = rank - 1; j >= 0; j--) {
        to->stride[j] = step;
        step = kn_dim_mul(s, step, shape[j]);
        if (!step)
            kn_give_up(a);
    }
    return to;
}

kn_dim kn_extent_formula(const kn_nest *nest, int axis)
{
    kn_symbols *s = nest->extents->syms;
    kn_dim made = kn_dim_const(s, 1);
    for (int i = 0; i < KN_MAX_RANK && made; i++)
        if (nest->axes[axis].of >> i & 1)
            made = kn_dim_mul(s, made, nest->extents->of[i]);
    return made ? kn_dim_resolve(s, made) : NULL;
}

kn_dim kn_stride_formula(const kn_nest *nest, const kn_access *acc, int axis)
{
    kn_symbols *s = nest->extents->syms;
    kn_dim made = acc->formula ? acc->formula->stride[nest->axes[axis].inner] : NULL;
    return made && acc->axes >> axis & 1 ? kn_dim_resolve(s, made) : kn_dim_const(s, 0);
}

static bool is(const kn_nest *nest, kn_dim formula, int64_t value)
{
    int64_t known;
    return formula && kn_dim_is_const(nest->extents->syms, formula, &known) && known == value;
}

bool kn_extent_is(const kn_nest *nest, int axis, int64_t value)
{
    return nest->extents ? is(nest, kn_extent_formula(nest, axis), value)
                         : nest->axes[axis].extent == value;
}

bool kn_stride_is(const kn_nest *nest, const kn_access *acc, int axis, int64_t value)
{
    return nest->extents ? is(nest, kn_stride_formula(nest, acc, axis), value)
                         : acc->stride[axis] == value;
}

bool kn_offset_is(const kn_nest *nest, const kn_access *acc, int64_t value)
{
    return nest->extents ? !acc->formula || is(nest, acc->formula->offset, value)
                         : acc->offset == value;
}

bool kn_walks_as_one(const kn_nest *nest, const kn_access *acc, int a)
{
    if (!nest->extents)
        return acc->stride[a] == acc->stride[a + 1] * nest->axes[a + 1].extent;
    kn_symbols *s = nest->extents->syms;
    kn_dim inner = kn_stride_formula(nest, acc, a + 1), extent = kn_extent_formula(nest, a + 1);
    kn_dim both = inner && extent ? kn_dim_mul(s, inner, extent) : NULL;
    return both && kn_dim_equal(s, kn_stride_formula(nest, acc, a), both);
}

bool kn_walks_all_as_one(const kn_nest *nest, const kn_access *acc)
{
    bool one = nest->naxes > 0 && kn_stride_is(nest, acc, nest->naxes - 1, 1);
    for (int a = 0; one && a < nest->naxes - 1; a++)
        one = kn_walks_as_one(nest, acc, a);
    return one;
}
