/* The members of a group that are walked otherwise than the rest: each as a phase of its own schedule, for the same
 * values. */
#ifndef KN_CODEGEN_REMAINDER_H
#define KN_CODEGEN_REMAINDER_H

#include "codegen/kir/phase.h"

/* The tail behind whole vectors: one step of one element. Rows load it before their first sweep, so that it is in flight
 * with the rest, and keep it in registers for all sweeps, wherever else they keep vectors. */
const kn_phase *kn_phase_of_tail(kn_arena *a, const kn_phase *ph, bool fast);

/* by_run: the elements in front of the vectors of each run, and behind them. */
const kn_phase *kn_phase_of_edges(kn_arena *a, const kn_phase *ph, bool fast);

/* rest_in_registers: what shared memory has no room for. */
const kn_phase *kn_phase_of_rest(kn_arena *a, const kn_phase *ph, bool fast);

#endif
