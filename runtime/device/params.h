/* The values of a generated kernel's parameters: what a launch hands to the function that codegen wrote.
 * The numbers are packed once; a launch copies them and fills in addresses and by-value arguments. */
#ifndef KN_RUNTIME_DEVICE_PARAMS_H
#define KN_RUNTIME_DEVICE_PARAMS_H

#include "codegen/kir/call.h"
#include "codegen/kir/params.h"

/* A launch keeps its parameters on the stack; kernels with more are refused when they are prepared. */
enum { KN_MAX_PARAMS = 1024 };

/* One parameter's bytes, at offset 0. */
typedef union kn_param_cell {
    void *ptr;
    int32_t i32;
    int64_t i64;
    double f64;
    _Alignas(16) double c128[2];
} kn_param_cell;

/* A parameter that every launch fills in: KN_PARAM_BUF, SCALAR, BARRIER or RANKS. */
typedef struct kn_param_hole {
    int cell;
    kn_param_kind kind;
    int index;
    kn_dtype dtype;
} kn_param_hole;

typedef struct kn_params {
    int n, nholes;
    kn_param_cell *cells; /* in the order of the function's parameter list */
    kn_param_hole *holes;
} kn_params;

typedef struct kn_packed_params {
    void *pointers[KN_MAX_PARAMS]; /* to the cells */
    kn_param_cell cells[KN_MAX_PARAMS];
} kn_packed_params;

/* How many parameters the kernel has; COMPILE when a launch cannot hold so many. */
kn_status kn_count_params(const kn_kernel *k, int *n);
/* The parameters of `k`, whose numbers they keep; memory in `a`. */
kn_status kn_params_make(kn_arena *a, const kn_kernel *k, kn_params *out);
/* Fills the first p->n of `out` for one call. */
kn_status kn_params_pack(const kn_params *p, const kn_call *call, kn_packed_params *out);

#endif
