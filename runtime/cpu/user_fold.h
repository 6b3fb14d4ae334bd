/* User-defined reductions: the operations of their combine as typed loops over lanes. */
#ifndef KN_RUNTIME_CPU_USER_FOLD_H
#define KN_RUNTIME_CPU_USER_FOLD_H

#include "ir/reducer.h"
#include "runtime/cpu/loops.h"

typedef struct kn_user_fold {
    const kn_reducer *by;
    kn_loop *loop;         /* per step; NULL for constants */
    double (*constant)[2]; /* per step: a constant, in room for an element of any type */
} kn_user_fold;

/* Allocates in `a`. KN_INTERNAL if there is no loop for a step. */
kn_status kn_user_fold_make(kn_arena *a, const kn_loops *loops, const kn_reducer *by,
                            const kn_user_fold **fold);
/* Memory that the functions below need for blocks of at most `lanes` lanes. */
size_t kn_user_fold_scratch(const kn_user_fold *fold, size_t lanes);

/* In the functions below, arrays have a pointer for each carried value; acc are compact, of n lanes. */

/* acc[i] = identity */
void kn_user_fold_start(const kn_user_fold *fold, int64_t n, char *const *acc);
/* acc[i] = combine(acc[i], in[i]) */
void kn_user_fold_accumulate(const kn_user_fold *fold, int64_t n, char *const *acc,
                             const kn_operand *in, size_t lanes, char *scratch);
/* acc[0] = combine(acc[0], all of in[0..n) in order) */
void kn_user_fold_reduce(const kn_user_fold *fold, int64_t n, char *const *acc,
                         const kn_operand *in, size_t lanes, char *scratch);

#endif
