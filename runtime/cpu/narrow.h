/* Narrow columns: where there are fewer groups than lanes make a step worth while, several members lie side by side, as many
 * as are lanes enough, and are accumulated apart; in the end they are halved down to one. So 4 columns of 1,000,003
 * members become 64 of 62,500, and 3 members of 4 groups:
 *
 *     member 0            member 1            ...    member 15
 *     group 0 1 2 3       group 0 1 2 3              group 0 1 2 3       one block of 64 lanes
 *     member 16           member 17                  member 31
 *     group 0 1 2 3       group 0 1 2 3              group 0 1 2 3       the next one
 *
 * Of several group axes the last is such a run, and each run a tile. That takes arrays in which members follow each other
 * without gaps. How many there are depends on sizes and strides
 * alone, so results are the same for any number of threads, and the same interpreted and compiled. */
#ifndef KN_RUNTIME_CPU_NARROW_H
#define KN_RUNTIME_CPU_NARROW_H

#include "runtime/cpu/frame.h"

/* How many members of a phase's columns can lie side by side; 1: none can. */
int64_t kn_cpu_can_lie_beside(const kn_phase_plan *plan, const kn_phase *p);
/* How many do in a job that has been cut. */
int64_t kn_cpu_beside(const kn_job *job);

/* How many do where compiled code reduces nothing; no result depends on it, so that rows may be longer, and the last one
 * shorter. */
int64_t kn_cpu_wide(const kn_job *job);

/* The numbers of the phase (kn_c_numbers()), for members so taken. */
void kn_cpu_side_numbers(const kn_phase *p, int64_t beside, int64_t *numbers);

/* A job whose lanes and members are so taken; its lanes are those of a run, from where that begins. */
typedef struct kn_cpu_side {
    kn_job job;
    kn_phase phase;
} kn_cpu_side;

/* Makes it of a bound job; `lanes` is memory for those of its accesses. */
void kn_cpu_side_make(kn_cpu_side *s, const kn_job *job, int64_t beside, kn_lane_access *lanes);

#endif
