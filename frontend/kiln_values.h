/* Numbers as values: C numbers where kiln_add() and other calls take a kiln_val, and lists of axes. kiln.h includes this
 * header. */
#ifndef KILN_VALUES_H
#define KILN_VALUES_H

#include "kiln.h"

static inline kiln_val kiln_val_of_val(kiln_graph *g, kiln_val v)
{
    (void)g;
    return v;
}

#ifdef __cplusplus
static inline kiln_val KILN_VAL(kiln_graph *g, kiln_val v) { return kiln_val_of_val(g, v); }
static inline kiln_val KILN_VAL(kiln_graph *g, int v) { return kiln_int(g, v); }
static inline kiln_val KILN_VAL(kiln_graph *g, long v) { return kiln_int(g, v); }
static inline kiln_val KILN_VAL(kiln_graph *g, long long v) { return kiln_int(g, v); }
static inline kiln_val KILN_VAL(kiln_graph *g, unsigned v) { return kiln_int(g, (int64_t)v); }
static inline kiln_val KILN_VAL(kiln_graph *g, unsigned long v) { return kiln_int(g, (int64_t)v); }
static inline kiln_val KILN_VAL(kiln_graph *g, unsigned long long v)
{
    return kiln_int(g, (int64_t)v);
}
static inline kiln_val KILN_VAL(kiln_graph *g, float v) { return kiln_float(g, (double)v); }
static inline kiln_val KILN_VAL(kiln_graph *g, double v) { return kiln_float(g, v); }

template <typename... Axes> static inline kiln_axes KILN_AXES(Axes... axes)
{
    return kiln_axes{(int)sizeof...(axes), {axes...}};
}
#define KILN_ALL (kiln_axes{-1, {0}})
#else
#define KILN_VAL(g, v)                                                                             \
    _Generic((v), kiln_val                                                                         \
             : kiln_val_of_val, float                                                              \
             : kiln_float, double                                                                  \
             : kiln_float, default                                                                 \
             : kiln_int)(g, v)
#define KILN_AXES(...)                                                                             \
    ((kiln_axes){(int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), {__VA_ARGS__}})
#define KILN_ALL ((kiln_axes){-1, {0}})
#endif

#define kiln_add(g, a, b) kiln_add(g, KILN_VAL(g, a), KILN_VAL(g, b))
#define kiln_sub(g, a, b) kiln_sub(g, KILN_VAL(g, a), KILN_VAL(g, b))
#define kiln_mul(g, a, b) kiln_mul(g, KILN_VAL(g, a), KILN_VAL(g, b))
#define kiln_div(g, a, b) kiln_div(g, KILN_VAL(g, a), KILN_VAL(g, b))
#define kiln_floordiv(g, a, b) kiln_floordiv(g, KILN_VAL(g, a), KILN_VAL(g, b))
#define kiln_mod(g, a, b) kiln_mod(g, KILN_VAL(g, a), KILN_VAL(g, b))
#define kiln_pow(g, a, b) kiln_pow(g, KILN_VAL(g, a), KILN_VAL(g, b))
#define kiln_minimum(g, a, b) kiln_minimum(g, KILN_VAL(g, a), KILN_VAL(g, b))
#define kiln_maximum(g, a, b) kiln_maximum(g, KILN_VAL(g, a), KILN_VAL(g, b))
#define kiln_lt(g, a, b) kiln_lt(g, KILN_VAL(g, a), KILN_VAL(g, b))
#define kiln_le(g, a, b) kiln_le(g, KILN_VAL(g, a), KILN_VAL(g, b))
#define kiln_gt(g, a, b) kiln_gt(g, KILN_VAL(g, a), KILN_VAL(g, b))
#define kiln_ge(g, a, b) kiln_ge(g, KILN_VAL(g, a), KILN_VAL(g, b))
#define kiln_eq(g, a, b) kiln_eq(g, KILN_VAL(g, a), KILN_VAL(g, b))
#define kiln_ne(g, a, b) kiln_ne(g, KILN_VAL(g, a), KILN_VAL(g, b))
#define kiln_and(g, a, b) kiln_and(g, KILN_VAL(g, a), KILN_VAL(g, b))
#define kiln_or(g, a, b) kiln_or(g, KILN_VAL(g, a), KILN_VAL(g, b))
#define kiln_not(g, a) kiln_not(g, KILN_VAL(g, a))
#define kiln_neg(g, a) kiln_neg(g, KILN_VAL(g, a))
#define kiln_abs(g, a) kiln_abs(g, KILN_VAL(g, a))
#define kiln_sqrt(g, a) kiln_sqrt(g, KILN_VAL(g, a))
#define kiln_rsqrt(g, a) kiln_rsqrt(g, KILN_VAL(g, a))
#define kiln_exp(g, a) kiln_exp(g, KILN_VAL(g, a))
#define kiln_log(g, a) kiln_log(g, KILN_VAL(g, a))
#define kiln_tanh(g, a) kiln_tanh(g, KILN_VAL(g, a))
#define kiln_sin(g, a) kiln_sin(g, KILN_VAL(g, a))
#define kiln_cos(g, a) kiln_cos(g, KILN_VAL(g, a))
#define kiln_floor(g, a) kiln_floor(g, KILN_VAL(g, a))
#define kiln_ceil(g, a) kiln_ceil(g, KILN_VAL(g, a))
#define kiln_cast(g, a, dtype) kiln_cast(g, KILN_VAL(g, a), dtype)
#define kiln_assign(g, x, index, a) kiln_assign(g, x, index, KILN_VAL(g, a))
#define kiln_where(g, a, b, c) kiln_where(g, KILN_VAL(g, a), KILN_VAL(g, b), KILN_VAL(g, c))
#define kiln_update(g, name, a) kiln_update(g, name, KILN_VAL(g, a))
#define kiln_random_bits(g, seed, offset, dims)                                                    \
    kiln_random_bits(g, KILN_VAL(g, seed), KILN_VAL(g, offset), dims)
#define kiln_uniform(g, seed, offset, dims, dtype)                                                 \
    kiln_uniform(g, KILN_VAL(g, seed), KILN_VAL(g, offset), dims, dtype)
#define kiln_normal(g, seed, offset, dims, dtype)                                                  \
    kiln_normal(g, KILN_VAL(g, seed), KILN_VAL(g, offset), dims, dtype)
#define kiln_dropout(g, x, p, seed, offset)                                                        \
    kiln_dropout(g, x, KILN_VAL(g, p), KILN_VAL(g, seed), KILN_VAL(g, offset))
#define kiln_grad(g, y, seed, ...) kiln_grad(g, y, KILN_VAL(g, seed), __VA_ARGS__)

#endif
