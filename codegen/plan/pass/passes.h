/* Passes over the raw phases, and what they share. */
#ifndef KN_CODEGEN_PASSES_H
#define KN_CODEGEN_PASSES_H

#include "codegen/plan/nests/planner.h"

/* spread.c: copies a value with all that it is computed from, operands first. `one` makes the copy of a value whose
 * operands have theirs, and returns its number; -1: impossible. copy_of[]: -1 for what has none yet. */
typedef int (*kn_copy_fn)(void *ctx, int value);
int kn_copy_value(kn_arena *a, const kn_nest *from, int *copy_of, int value, kn_copy_fn one,
                  void *ctx);
/* Partial results of a phase's stage-0 reductions that another phase stores: `n` of each, each compact over the
 * phase's group axes; buf[] per reduction. */
typedef struct kn_partials {
    int64_t n;
    const int *buf;
} kn_partials;
/* spread.c: replaces phase `index` by its split form; `made`: its partial results of stage 0, if
 * another phase stores them, or NULL. */
void kn_spread(kn_planner *p, int index, kn_range members, const kn_partials *made);
/* spread.c: the number of groups of a raw phase, and an access to a compact array over them. */
int64_t kn_count_groups(const kn_phase *phase);
kn_access kn_over_groups(const kn_phase *phase, int buf);
/* part.c: divides raw phase `index` in two, if it waits for what phases [from, index) store but no
 * reduction of it does: its reductions, and its stores, which read their results through new temporaries. */
bool kn_part_phase(kn_planner *p, int index, int from, kn_phase *head, kn_phase *tail);
/* Passes over the raw phases, in codegen/plan/pass/. */
void kn_pass_wraps(kn_planner *p);
void kn_pass_moments(kn_planner *p);
void kn_pass_online(kn_planner *p);
void kn_pass_cross(kn_planner *p);
void kn_pass_spread(kn_planner *p);
void kn_pass_local(kn_planner *p);
/* table.c: runs all passes in order; after each the phases are verified and counted, unless plan is NULL. */
kn_status kn_run_passes(kn_planner *p, kn_plan *plan);

#endif
