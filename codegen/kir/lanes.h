/* What the elements of a vector have in common: its lanes. The elements of a vector along its axis have positions that
 * follow each other from a multiple of the vector's width on, where they are aligned; so the upper bits of the positions are
 * the same for runs of lanes, and the lowest bits are known beforehand. Random numbers are made of both. */
#ifndef KN_CODEGEN_LANES_H
#define KN_CODEGEN_LANES_H

#include "codegen/kir/kir.h"

typedef struct kn_lanes {
    int alike; /* so many lanes, from each multiple of it on, have the same; a power of two up to vec */
    bool position; /* an integer that counts up along the lanes, from a multiple of vec on */
    bool known;    /* it depends on the lane alone */
} kn_lanes;

/* One for each value, in `a`; NULL where all have an instance a lane, and none is known. */
const kn_lanes *kn_find_lanes(kn_arena *a, const kn_phase *ph);

/* Is value i the lowest bits of a position? These become *bits. */
bool kn_is_lane_number(const kn_phase *ph, const kn_lanes *lanes, int i, int *bits);

/* Are there blocks of random numbers, which neighbours of a vector share? Without branches between a thread's steps
 * these share the keys too, and what several blocks compute is interleaved. */
bool kn_shares_blocks(const kn_phase *ph);

#endif
