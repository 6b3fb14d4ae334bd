/* The parameters of the generated function, in order:
 *
 *   pointers of bufs; scalars; extents (long long)
 *   for each phase
 *     extents of its axes; with 32-bit indices also multiplier and shift to divide by each that is not the first of its kind;
 *     by_run: members of a run that vectors have, and its edges, each likewise with multiplier and shift where a group has several
 *     for each access, values then stores: its offset if shifted; strides that are KN_STRIDE_PARAM; of what is
 *     assembled by shifts the range of its elements; strides of the axes that a GATHER indexes and, if it is checked, their extents; the split stride
 *     split: splits, and of contiguous ranges chunk; mixed: parts; packed: pack and lanes; cluster: chunk
 *     skew, copy_chunk and in_shared, where it has them
 *   the number of steps with room for resident values; the eviction policy; the barrier words (unsigned *)
 *   kernels that exchange with other ranks: of each buffer that they do it with the elements of a part and the first word
 *     in mailboxes; what they know of the other ranks (kn_ranks *) */
#ifndef KN_CODEGEN_PARAMS_H
#define KN_CODEGEN_PARAMS_H

#include "codegen/kir/kir.h"

typedef enum kn_param_kind {
    KN_PARAM_BUF,     /* void * */
    KN_PARAM_SCALAR,  /* its dtype */
    KN_PARAM_EXTENT,  /* long long */
    KN_PARAM_INDEX,   /* int, or long long when wide */
    KN_PARAM_POLICY,  /* unsigned long long */
    KN_PARAM_BARRIER, /* unsigned *: see kn_call */
    KN_PARAM_RANKS,   /* kn_ranks *: the same */
} kn_param_kind;

/* Words in which blocks count arrivals; 0 between launches, but for the top bit of the first, which the grid barrier
 * flips. The second counts for the last block; of tiles each has a word, from the second on; packed atomics of
 * integer sums use the third to the eighth. The last ones, of as many phases, count the work items that blocks have fetched. */
enum { KN_BARRIER_WORDS = 512, KN_FETCH_WORDS = 16 };

typedef struct kn_param {
    kn_param_kind kind;
    int index;        /* BUF, SCALAR, EXTENT */
    kn_dtype dtype;   /* SCALAR */
    int64_t value;    /* (n) EXTENT, INDEX, POLICY */
    const char *name; /* C identifier in the source */
    kn_dim formula;   /* EXTENT, INDEX: of nests that have formulas; NULL: none */
} kn_param;

/* Writes up to `cap` parameters to `out` and returns how many there are; call with cap 0 to count. Names and formulas
 * are made in `a` unless it is NULL. */
int kn_kernel_params(const kn_kernel *k, kn_arena *a, kn_param *out, int cap);

#endif
