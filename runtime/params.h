/* The values of a generated kernel's parameters: what a launch hands to the function that codegen wrote. */
#ifndef KN_RUNTIME_PARAMS_H
#define KN_RUNTIME_PARAMS_H

#include "codegen/call.h"
#include "codegen/kir.h"

/* A launch keeps its parameters on the stack; kernels with more are refused when they are prepared. */
enum { KN_MAX_PARAMS = 1024 };

/* One parameter's bytes, at offset 0. */
typedef union kn_param_cell {
    void *ptr;
    int32_t i32;
    int64_t i64;
    double f64;
} kn_param_cell;

typedef struct kn_packed_params {
    int n;
    void *pointers[KN_MAX_PARAMS]; /* to the cells, in the order of the function's parameter list */
    kn_param_cell cells[KN_MAX_PARAMS];
} kn_packed_params;

/* How many parameters the kernel has; fails when a launch cannot hold so many. */
kn_status kn_count_params(const kn_kernel *k, int *n);

/* Fills `out` for one call of `k`, whose code was prepared for `expected` parameters. The kernel prepared
 * and the kernel launched may be two, of the same structure. */
kn_status kn_pack_params(const kn_kernel *k, const kn_call *call, int expected,
                         kn_packed_params *out);

#endif
