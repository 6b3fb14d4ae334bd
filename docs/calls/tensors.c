/* Tensors of DLPack. Who has dlpack.h includes that in front of kiln_dlpack.h; this header lays out the same structs. */
#include "frontend/dlpack_abi.h"
#include "frontend/kiln_dlpack.h"

#include "docs/calls/calls.h"

static kiln_prog *twice(kiln_ctx *ctx)
{
    kiln_graph *g;
    kiln_prog *prog;
    check(kiln_parse(ctx, "def twice(x: f32[N]):\n    y = 2 * x\n    return y\n", NULL, &g));
    check(kiln_compile(g, NULL, &prog));
    kiln_graph_destroy(g);
    return prog;
}

static float some[] = {1, 2, 3};
static int64_t three[] = {3};

/* A tensor as an argument, and an output as a tensor, which whoever gets it releases. Nothing is copied. */
void tensors(kiln_ctx *ctx)
{
    kiln_prog *prog = twice(ctx);
    struct DLManagedTensorVersioned x = {.major = 1}, *y;
    x.tensor = (kn_dl_tensor){some, {KN_DL_CPU, 0}, 1, {KN_DL_FLOAT, 32, 1}, three, NULL, 0};
    kiln_arg args[2];
    check(kiln_arg_from_dlpack_versioned(prog, "x", &x, &args[0]));
    check(kiln_output_to_dlpack_versioned(prog, "y", args, 1, &y));
    check(kiln_arg_from_dlpack_versioned(prog, "y", y, &args[1]));
    check(kiln_run(prog, NULL, args, 2));
    kiln_prog_destroy(prog);
    const float *data = y->tensor.data;
    printf("%g %g %g\n", data[0], data[1], data[2]);
    y->deleter(y);
}

/* The same with the struct of before DLPack 1.0. */
void old_tensors(kiln_ctx *ctx)
{
    kiln_prog *prog = twice(ctx);
    struct DLManagedTensor x = {{some, {KN_DL_CPU, 0}, 1, {KN_DL_FLOAT, 32, 1}, three, NULL, 0},
                                NULL,
                                NULL},
                           *y;
    kiln_arg args[2];
    check(kiln_arg_from_dlpack(prog, "x", &x, &args[0]));
    check(kiln_output_to_dlpack(prog, "y", args, 1, &y));
    check(kiln_arg_from_dlpack(prog, "y", y, &args[1]));
    check(kiln_run(prog, NULL, args, 2));
    kiln_prog_destroy(prog);
    const float *data = y->tensor.data;
    printf("%g %g %g\n", data[0], data[1], data[2]);
    y->deleter(y);
}
