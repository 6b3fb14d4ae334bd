/* Plain C that computes what programs do, as one would write it by hand. */
#ifndef KN_BENCH_C_PEERS_H
#define KN_BENCH_C_PEERS_H

#include <stdint.h>

/* arg: the arrays in the order of the program's arguments; size: the first argument's extents, then the second's. */
typedef void peer_function(void *const *arg, const int64_t *size);

peer_function c_layernorm, c_gelu, c_softmax, c_loss_backward, c_residual, c_adam, c_embedding,
    c_batchnorm, c_batchnorm_last, c_row_shares, c_column_sums, c_argmax, c_min_max,
    c_softmax_middle, c_cosines, c_transpose, c_rmsnorm, c_log_sum_exp, c_softmax_backward,
    c_bias_gradient, c_moments, c_hypot, c_total;
/* Only beside the workload of bench/speed that has its name (bench/peers.py). */
peer_function c_x_plus_xx;

/* By so many threads, if OpenMP is there; 0: as many as there are cores. */
void c_threads(int threads);

#endif
