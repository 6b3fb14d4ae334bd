/* Programs whose calls are timed, with arguments that lack only their data. */
#ifndef KN_BENCH_CASES_H
#define KN_BENCH_CASES_H

#include "frontend/kiln.h"

enum { MOST_ARGS = 6 };

static const int64_t few[] = {1000}, nchw[] = {8, 64, 28, 28}, c[] = {64}, kept[] = {1, 64, 1, 1},
                     table[] = {512, 1000}, many[] = {1 << 22};

enum { ADD, SOFTMAX, BATCHNORM, UNIT_NORM, CASES };

static const struct {
    const char *name, *text;
    int nargs;
    kiln_arg args[MOST_ARGS];
} cases[CASES] = {
    [ADD] = {"add",
             "def add(x: f32[N], y: f32[N]):\n    z = x + y\n    return z\n",
             3,
             {{"x", NULL, KILN_F32, 1, few, NULL},
              {"y", NULL, KILN_F32, 1, few, NULL},
              {"z", NULL, KILN_F32, 1, few, NULL}}},
    [SOFTMAX] = {"softmax",
                 "def softmax(x: f32[N, C]):\n"
                 "    e = exp(x - max(x, axis=1, keepdims=True))\n"
                 "    y = e / sum(e, axis=1, keepdims=True)\n"
                 "    return y\n",
                 2,
                 {{"x", NULL, KILN_F32, 2, table, NULL}, {"y", NULL, KILN_F32, 2, table, NULL}}},
    [BATCHNORM] =
        {"batchnorm",
         "def batchnorm(x: f32[N, C, H, W], gamma: f32[C], beta: f32[C], eps: f32 = 1e-5):\n"
         "    m = mean(x, axis=(0, 2, 3), keepdims=True)\n"
         "    d = x - m\n"
         "    v = mean(d * d, axis=(0, 2, 3), keepdims=True)\n"
         "    y = d * rsqrt(v + eps) * gamma[:, None, None] + beta[:, None, None]\n"
         "    return y, m, v\n",
         6,
         {{"x", NULL, KILN_F32, 4, nchw, NULL},
          {"gamma", NULL, KILN_F32, 1, c, NULL},
          {"beta", NULL, KILN_F32, 1, c, NULL},
          {"y", NULL, KILN_F32, 4, nchw, NULL},
          {"m", NULL, KILN_F32, 4, kept, NULL},
          {"v", NULL, KILN_F32, 4, kept, NULL}}},
    [UNIT_NORM] = {"unit_norm", /* a grid barrier, a workspace */
                   "def unit_norm(x: f32[N]):\n    y = x / sqrt(sum(x * x))\n    return y\n",
                   2,
                   {{"x", NULL, KILN_F32, 1, many, NULL}, {"y", NULL, KILN_F32, 1, many, NULL}}},
};

#endif
