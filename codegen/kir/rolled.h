/* Gathers at index where(i < c, i + a, i + b), as of roll(): two contiguous runs, which a CPU copies without computing indices. */
#ifndef KN_CODEGEN_ROLLED_H
#define KN_CODEGEN_ROLLED_H

#include "codegen/kir/phase.h"

/* Operands of where(x < c, y, z), with x, y and z growing by one a lane and c the same for all lanes; also with <=, >=, >. */
typedef struct kn_rolled {
    int own, limit;   /* what is compared */
    int first, other; /* the index of the lanes before the limit is reached, and behind */
    bool past;        /* the lane at the limit is still one of the first */
} kn_rolled;

/* Is value i of the phase one, where lanes run along this axis? */
bool kn_is_rolled(const kn_phase *p, int axis, int i, kn_rolled *out);

/* Clears `need` of the values of sweep `sweep` that serve only as indices of such gathers. */
void kn_drop_rolled_indices(kn_arena *a, const kn_phase *p, int axis, int sweep, bool *need);

#endif
