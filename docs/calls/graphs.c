/* Graphs: what is built of values. */
#include <math.h>
#include <string.h>

#include "docs/calls/calls.h"

static float ones[] = {1, 2, 3, 4, 5, 6};
static const int64_t six[] = {6}, two_by_three[] = {2, 3};

/* Arithmetic has NumPy's meaning. Either operand may be a plain number, which takes the other's type. */
void arithmetic(kiln_ctx *ctx)
{
    kiln_graph *g;
    check(kiln_graph_create(ctx, &g));
    check(kiln_graph_name(g, "arithmetic"));
    kiln_val x = kiln_input(g, "x", KILN_F32, "N");
    kiln_val y = kiln_sub(g, kiln_mul(g, 2, x), kiln_div(g, x, 4));
    y = kiln_name(g, y, "y"); /* seen in the CUDA source, and in what explain says */
    check(kiln_output(g, "sum", kiln_add(g, y, kiln_neg(g, x))));
    check(kiln_output(g, "rest", kiln_mod(g, x, 4)));
    check(kiln_output(g, "whole", kiln_floordiv(g, x, 4)));
    check(kiln_output(g, "power", kiln_pow(g, x, 2)));
    check(kiln_output(g, "kept", kiln_minimum(g, kiln_maximum(g, x, 2), 5)));
    check(kiln_output(g, "far", kiln_abs(g, kiln_sub(g, x, 3))));
    run_and_show(ctx, g, &(kiln_arg){"x", ones, KILN_F32, 1, six, NULL}, 1);
    kiln_graph_destroy(g);
}

/* Elementwise functions; those without a call of their own by NumPy's name. */
void functions(kiln_ctx *ctx)
{
    kiln_graph *g;
    float quarter[] = {0.25f};
    check(kiln_graph_create(ctx, &g));
    kiln_val x = kiln_input(g, "x", KILN_F32, "N");
    check(kiln_output(g, "roots", kiln_add(g, kiln_sqrt(g, x), kiln_rsqrt(g, x))));
    check(kiln_output(g, "x_again", kiln_log(g, kiln_exp(g, x))));
    kiln_val s = kiln_sin(g, x), c = kiln_cos(g, x);
    check(kiln_output(g, "one", kiln_add(g, kiln_mul(g, s, s), kiln_mul(g, c, c))));
    check(kiln_output(g, "gate", kiln_tanh(g, kiln_mul(g, x, 100))));
    check(kiln_output(g, "between", kiln_sub(g, kiln_ceil(g, x), kiln_floor(g, x))));
    check(kiln_output(g, "by_name", kiln_apply(g, "hypot", (kiln_val[]){x, x}, 2)));
    run_and_show(ctx, g, &(kiln_arg){"x", quarter, KILN_F32, 1, (const int64_t[]){1}, NULL}, 1);
    kiln_graph_destroy(g);
}

/* Comparisons give bool, which choose, and can be counted with. */
void comparisons(kiln_ctx *ctx)
{
    kiln_graph *g;
    check(kiln_graph_create(ctx, &g));
    kiln_val x = kiln_input(g, "x", KILN_F32, "N");
    kiln_val inside = kiln_and(g, kiln_ge(g, x, 2), kiln_lt(g, x, 5));
    kiln_val edge = kiln_or(g, kiln_eq(g, x, 1), kiln_gt(g, x, 5));
    kiln_val same = kiln_not(g, kiln_ne(g, x, 3));
    check(kiln_output(g, "inside", kiln_where(g, inside, x, -1)));
    check(kiln_output(g, "edge", kiln_cast(g, edge, KILN_I32)));
    check(kiln_output(g, "same", same));
    check(kiln_output(g, "below", kiln_sum(g, kiln_le(g, x, 4), KILN_ALL, 0)));
    run_and_show(ctx, g, &(kiln_arg){"x", ones, KILN_F32, 1, six, NULL}, 1);
    kiln_graph_destroy(g);
}

/* Numbers that a run gives are scalars, with or without a default; numbers of the graph adapt to what they meet. */
void numbers(kiln_ctx *ctx)
{
    kiln_graph *g;
    float by = 10;
    check(kiln_graph_create(ctx, &g));
    kiln_val x = kiln_input(g, "x", KILN_F32, "N");
    kiln_val k = kiln_scalar(g, "k", KILN_F32);
    kiln_val eps = kiln_scalar_default(g, "eps", KILN_F32, 0.5);
    kiln_val y = kiln_add(g, kiln_mul(g, x, k), eps);
    check(kiln_output(g, "y", kiln_add(g, y, kiln_mul(g, kiln_int(g, 2), kiln_float(g, 0.25)))));
    check(kiln_output(g, "turned", kiln_mul(g, x, kiln_complex(g, 0, 1))));
    check(kiln_output(g, "n", kiln_size(g, x, 0)));
    const kiln_arg inputs[] = {{"x", ones, KILN_F32, 1, six, NULL},
                               {"k", &by, KILN_F32, 0, NULL, NULL}};
    run_and_show(ctx, g, inputs, 2);
    kiln_graph_destroy(g);
}

/* Reductions over some axes, or all of them. */
void reductions(kiln_ctx *ctx)
{
    kiln_graph *g;
    check(kiln_graph_create(ctx, &g));
    kiln_val x = kiln_input(g, "x", KILN_F32, "N, C");
    check(kiln_output(g, "rows", kiln_sum(g, x, KILN_AXES(1), 0)));
    check(kiln_output(g, "columns", kiln_prod(g, x, KILN_AXES(0), 0)));
    check(kiln_output(g, "range",
                      kiln_sub(g, kiln_max(g, x, KILN_ALL, 0), kiln_min(g, x, KILN_ALL, 0))));
    kiln_val mean = kiln_mean(g, x, KILN_AXES(-1), KILN_KEEPDIMS);
    check(kiln_output(g, "centred", kiln_sub(g, x, mean)));
    check(kiln_output(g, "variance", kiln_var(g, x, KILN_ALL, 0)));
    check(kiln_output(g, "large", kiln_any(g, kiln_gt(g, x, 5), KILN_AXES(1), 0)));
    check(kiln_output(g, "positive", kiln_all(g, kiln_gt(g, x, 0), KILN_ALL, 0)));
    check(kiln_output(g, "sample", kiln_reduce(g, "var", x, KILN_ALL, 0, KILN_F64, 1)));
    run_and_show(ctx, g, &(kiln_arg){"x", ones, KILN_F32, 2, two_by_three, NULL}, 1);
    kiln_graph_destroy(g);
}

/* A reduction of one's own, by what becomes of two neighbouring ranges: the last element that is no NaN. */
void own_reduction(kiln_ctx *ctx)
{
    kiln_graph *g;
    float holes[] = {1, 2, NAN, NAN};
    check(kiln_graph_create(ctx, &g));
    kiln_val x = kiln_input(g, "x", KILN_F32, "N"), last;
    kiln_val a = kiln_carried(g, KILN_F32), b = kiln_carried(g, KILN_F32);
    const kiln_reducer by = {.count = 1,
                             .left = {a},
                             .right = {b},
                             .identity = {kiln_float(g, NAN)},
                             .combined = {kiln_where(g, kiln_apply(g, "isnan", &b, 1), a, b)}};
    check(kiln_reduce_by(g, &by, &x, KILN_ALL, 0, NULL, NULL, &last));
    check(kiln_output(g, "last", last));
    run_and_show(ctx, g, &(kiln_arg){"x", holes, KILN_F32, 1, (const int64_t[]){4}, NULL}, 1);
    kiln_graph_destroy(g);
}

/* Views move nothing. */
void views(kiln_ctx *ctx)
{
    kiln_graph *g;
    check(kiln_graph_create(ctx, &g));
    kiln_val x = kiln_input(g, "x", KILN_F32, "2, 3");
    check(kiln_output(g, "turned", kiln_transpose(g, x, KILN_AXES(1, 0))));
    check(kiln_output(g, "flat", kiln_reshape(g, x, "-1")));
    kiln_val row = kiln_max(g, x, KILN_AXES(0), 0);
    check(kiln_output(g, "repeated", kiln_broadcast_to(g, row, "2, 3")));
    check(kiln_output(g, "column", kiln_expand_dims(g, row, 1)));
    run_and_show(ctx, g, &(kiln_arg){"x", ones, KILN_F32, 2, two_by_three, NULL}, 1);
    kiln_graph_destroy(g);
}

/* A part of a value, and a value with another part; an input is changed by kiln_update() only: here by a step of
 * smoothing, for which every element is read before any is written. */
void slices(kiln_ctx *ctx)
{
    kiln_graph *g;
    float x[] = {0, 0, 12, 0, 0};
    check(kiln_graph_create(ctx, &g));
    kiln_val v = kiln_input(g, "x", KILN_F32, "N");
    kiln_val beside = kiln_add(g, kiln_slice(g, v, "2:"), kiln_slice(g, v, ":-2"));
    kiln_val inner = kiln_div(g, kiln_add(g, beside, kiln_slice(g, v, "1:-1")), 3);
    check(kiln_update(g, "x", kiln_assign(g, v, "1:-1", inner)));
    run_and_show(ctx, g, &(kiln_arg){"x", x, KILN_F32, 1, (const int64_t[]){5}, NULL}, 1);
    kiln_graph_destroy(g);
}

/* Random numbers follow from a seed, an offset and an element's position, on every device the same. */
void random_numbers(kiln_ctx *ctx)
{
    kiln_graph *g;
    check(kiln_graph_create(ctx, &g));
    kiln_val x = kiln_input(g, "x", KILN_F32, "N"),
             offset = kiln_scalar_default(g, "offset", KILN_I64, 0);
    check(kiln_output(g, "bits", kiln_random_bits(g, 42, offset, "2")));
    check(kiln_output(g, "uniform", kiln_uniform(g, 42, offset, "3", KILN_F32)));
    check(kiln_output(g, "normal", kiln_normal(g, 42, offset, "3", KILN_F64)));
    check(kiln_output(g, "kept", kiln_dropout(g, x, 0.5, 42, offset)));
    run_and_show(ctx, g, &(kiln_arg){"x", ones, KILN_F32, 1, six, NULL}, 1);
    kiln_graph_destroy(g);
}

/* Gradients are values too, which fuse with what they are of: d/dx of the sum of x**3, and its own derivative. */
void gradients(kiln_ctx *ctx)
{
    kiln_graph *g;
    check(kiln_graph_create(ctx, &g));
    kiln_val x = kiln_input(g, "x", KILN_F32, "N"), dx, ddx;
    kiln_val loss = kiln_sum(g, kiln_pow(g, x, 3), KILN_ALL, 0);
    check(kiln_grad(g, loss, 1, &x, 1, &dx));
    check(kiln_grad(g, dx, 1, &x, 1, &ddx));
    check(kiln_output(g, "dx", dx));
    check(kiln_output(g, "ddx", ddx));
    run_and_show(ctx, g, &(kiln_arg){"x", ones, KILN_F32, 1, six, NULL}, 1);
    kiln_graph_destroy(g);
}

/* A forward and its backward, in two programs: dx of sum(dy * x**3), where dy comes from outside. The forward saves
 * nothing here, so the backward needs x again. */
void forward_and_backward(kiln_ctx *ctx)
{
    kiln_graph *g, *forward, *backward;
    kiln_split_options options;
    check(kiln_graph_create(ctx, &g));
    kiln_val x = kiln_input(g, "x", KILN_F32, "N"), dy = kiln_input(g, "dy", KILN_F32, "N"), dx;
    kiln_val y = kiln_pow(g, x, 3);
    check(kiln_grad(g, y, dy, &x, 1, &dx));
    check(kiln_output(g, "y", y));
    check(kiln_output(g, "dx", dx));
    kiln_split_options_init(&options);
    options.save = "";
    check(kiln_split(g, "dy", &options, &forward, &backward));
    const kiln_arg inputs[] = {{"x", ones, KILN_F32, 1, six, NULL},
                               {"dy", ones, KILN_F32, 1, six, NULL}};
    run_and_show(ctx, forward, inputs, 1);
    run_and_show(ctx, backward, inputs, 2);
    kiln_graph_destroy(backward);
    kiln_graph_destroy(forward);
    kiln_graph_destroy(g);
}

/* What is assumed of sizes is checked when a program runs. The first error of a graph is kept until it is asked for. */
void sizes(kiln_ctx *ctx)
{
    kiln_graph *g;
    kiln_prog *prog;
    float y[6];
    check(kiln_graph_create(ctx, &g));
    kiln_val x = kiln_input(g, "x", KILN_F32, "N");
    check(kiln_assume(g, "N % 4 == 0"));
    check(kiln_output(g, "y", kiln_mul(g, x, x)));
    check(kiln_compile(g, NULL, &prog));
    const kiln_arg args[] = {{"x", ones, KILN_F32, 1, six, NULL}, {"y", y, KILN_F32, 1, six, NULL}};
    printf("%s\n", kiln_run(prog, NULL, args, 2) ? kiln_last_error() : "it ran");
    kiln_prog_destroy(prog);

    kiln_add(g, x, kiln_input(g, "z", KILN_F32, "N, 3, 3"));
    kiln_add(g, kiln_reshape(g, x, "5"), kiln_reshape(g, x, "7"));
    printf("%s\n", kiln_status_text(kiln_graph_status(g)));
    kiln_graph_destroy(g);
}
