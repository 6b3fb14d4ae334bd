/* Other forms of a raw phase: the same results, other values or axes. */
#ifndef KN_CODEGEN_FORM_H
#define KN_CODEGEN_FORM_H

#include "codegen/plan/nests/planner.h"

/* instead.c: adds a value, or an operation on two, at the end of a raw phase, and finds its stage and level. */
int kn_add_value(kn_planner *p, kn_phase *phase, kn_value v);
int kn_add_elem(kn_planner *p, kn_phase *phase, kn_op op, kn_dtype dtype, int a, int b);
/* Rewrites a raw phase's values, each by what `rewrite` makes of it, to which all later uses refer; or only the results
 * of reduction `red`. to[] has the new numbers of the values before. */
typedef int (*kn_remake_fn)(kn_planner *p, kn_phase *phase, int value, const int *to, void *ctx);
void kn_remake_values(kn_planner *p, kn_phase *phase, kn_remake_fn rewrite, void *ctx);
void kn_instead_of_result(kn_planner *p, kn_phase *phase, int red, kn_remake_fn make, void *ctx);
/* wrap.c: remainders of indices that are at most once around, without a division. */
void kn_wrap_indices(kn_planner *p, kn_phase *phase);
/* moments.c: sum((x - mean)**2) of a raw phase without cancellation: in the sweep of sum(x), or in
 * the next. False if it has none. */
bool kn_has_moments(const kn_planner *p, const kn_phase *phase);
bool kn_use_moments(kn_planner *p, kn_phase *phase, bool one_sweep);
/* moments.c: the value by which a sum of all x, or of their squared deviations, is divided: the number of members; -1: none is. */
int kn_count_behind_mean(const kn_planner *p, const kn_phase *phase, int x);
/* online.c: max(x) and sum(exp(x - max)) of a raw phase in one sweep. False if it has none. */
bool kn_has_online(const kn_phase *phase);
bool kn_use_online(kn_planner *p, kn_phase *phase);
/* narrow.c: argmin and argmax in 32 bits, on GPUs. */
void kn_narrow_indices(kn_planner *p, kn_phase *phase);
/* normalise.c: normalises a phase, the last of n, and its local phases. keep_ones: kernels are
 * compiled, so an extent of 1 should need no other kernel than 2. */
void kn_normalise(kn_arena *arena, kn_phase *phases, int n, bool keep_ones);

#endif
