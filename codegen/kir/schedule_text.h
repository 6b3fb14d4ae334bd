/* Schedules as text: what explain prints, what a test expects, what `--schedule` reads back.
 *
 *     threads 512, 2 a unit: cols tpg 16 lanes 32 vec 4, split 33 of 2048, resident; cols tpg 16 lanes 32 vec 4
 *     threads 256: rows tpg 256 vec 4, cluster 16 of 6272, async, chunk 7168, skew 111, hold v0_x shared
 *
 * The block; then, behind a colon, the phases, separated by semicolons: the walk with what belongs to it, and in any order
 * what is divided, held, transferred and combined (codegen/kir/schedule.h). A phase that is local follows its host and has
 * no more to say. Values are called as in the CUDA source; only their number counts. */
#ifndef KN_CODEGEN_SCHEDULE_TEXT_H
#define KN_CODEGEN_SCHEDULE_TEXT_H

#include "codegen/kir/kir.h"

/* A value that is kept, and where: kn_value.kept, room and since. */
typedef struct kn_hold {
    int value;
    kn_keep where;
    int room, since;
} kn_hold;

typedef struct kn_phase_schedule {
    bool local;
    kn_schedule how;
    kn_numbers num;
    KN_VEC(kn_hold) holds;
} kn_phase_schedule;

typedef struct kn_kernel_schedule {
    int threads, together;
    KN_VEC(kn_phase_schedule) phases;
} kn_kernel_schedule;

/* Of a bound kernel; in arena a. */
kn_kernel_schedule kn_schedule_of(kn_arena *a, const kn_kernel *k);
/* Adds its text; `k` names the values. */
void kn_schedule_put(kn_text *t, const kn_kernel_schedule *s, const kn_kernel *k);
/* Reads a text. ARGUMENT, with the word that is not understood, when it is none. */
kn_status kn_schedule_read(kn_arena *a, const char *text, kn_kernel_schedule *s);

#endif
