/* Schedules as text: what `explain --stage schedule` prints first, what tests expect, what `--schedule` reads.
 *
 *     threads 512, 2 a unit: cols tpg 16 lanes 32 vec 4, split 33 of 2048, resident; cols tpg 16 lanes 32 vec 4
 *     threads 256: rows tpg 256 vec 4, cluster 16 of 6272, async, chunk 7168, persistent, skew 111, hold v0_x shared
 *     threads 256: rows tpg 32 vec 4, loop 0 unroll 4 batch, loop 1 unroll 4 batch backwards
 *     threads 256: cols tpg 8 lanes 32 vec 4 tile 32, split 10 of 32, transpose v1_y by 4, loop 0 unroll 4 loads 4
 *
 * The block, a colon, then the phases, separated by semicolons: each its walk with the words of it, then in any order
 * what is divided, held, transferred, combined and transposed, and how sweeps take their steps (codegen/kir/schedule.h).
 * Loops that are left out are the binder's, and so are transposes, if all are. A local phase follows its host and says
 * only that, and its loops. Values and stores have their names in the CUDA source, of which only the number counts. Schedules of several
 * kernels have '|' between them.
 *
 * The numbers that follow from one call's sizes may be left out, and the binder puts in those of the sizes that it has:
 * "split" for "split 33 of 2048", "cluster 16" for "cluster 16 of 6272", and the chunk of async copies. */
#ifndef KN_CODEGEN_SCHEDULE_TEXT_H
#define KN_CODEGEN_SCHEDULE_TEXT_H

#include "codegen/kir/kir.h"

typedef struct kn_phase_schedule {
    bool local;
    kn_schedule how;
    kn_numbers num;
} kn_phase_schedule;

typedef struct kn_kernel_schedule {
    int threads, min_blocks;
    KN_VEC(kn_phase_schedule) phases;
} kn_kernel_schedule;

/* The schedule of a bound kernel; allocates in `a`. */
kn_kernel_schedule kn_schedule_of(kn_arena *a, const kn_kernel *k);
/* Writes how a phase is bound, local or not: with its numbers, or only what compiled code depends on. */
void kn_phase_put(kn_text *t, const kn_kernel *k, int phase, bool numbers);
/* Writes the text; `k` names the values. */
void kn_schedule_put(kn_text *t, const kn_kernel_schedule *s, const kn_kernel *k);
/* Writes the schedules of n kernels: as they are, or for all sizes, without what follows from the sizes. */
typedef enum kn_schedule_of_sizes { KN_SCHEDULE_OF_THESE, KN_SCHEDULE_OF_ALL } kn_schedule_of_sizes;
void kn_schedules_put(kn_text *t, kn_kernel *const *kernels, int n, kn_schedule_of_sizes sizes);
/* Reads a text. KN_ARGUMENT if it is none, with the word that was not understood. */
kn_status kn_schedule_read(kn_arena *a, const char *text, kn_kernel_schedule *s);

#endif
