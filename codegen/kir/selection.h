/* Instruction selection: how a GPU computes each value of a bound phase, and how elements come into its accumulators. It
 * follows from the nest, its schedule and fast_math. The model counts what is selected, and the emitter prints it. */
#ifndef KN_CODEGEN_SELECTION_H
#define KN_CODEGEN_SELECTION_H

#include "codegen/kir/phase.h"

typedef enum kn_select {
    KN_SELECT_OPERATION, /* the operation itself; also of values that are not computed */
    /* quotients by a group value that divides many numbers, or is known before they are, by its reciprocal: rounded as
     * division does, or not */
    KN_SELECT_DIVISOR,
    KN_SELECT_APPROXIMATE_DIVISOR,
    KN_SELECT_INLINE_QUOTIENT, /* without division's subroutine for extreme operands */
    KN_SELECT_MODERATE_QUOTIENT, /* the same by an element of 1 to 4, or NaN, as logistic functions divide by */
    KN_SELECT_APPROXIMATION, /* of an exponential or a quotient that need not be exact: codegen/kir/precision.h */
    KN_SELECT_WIDE_PRODUCT, /* of 64 bits; each factor is a constant below 2^32 or the cast of a u32 */
    KN_SELECT_LANE_NUMBER, /* the lowest bits of a position: codegen/kir/lanes.h */
    /* codegen/kir/whole.h */
    KN_SELECT_SMALL_CAST,
    KN_SELECT_NEAREST_CAST,
    KN_SELECT_LATER_ROUNDING,
} kn_select;

typedef struct kn_selected {
    kn_select by;
    /* so many lanes of a vector have the same, and compute it once: of all values that lanes share, a run as long as the
     * shortest of these has, or 1 */
    int alike;
    bool known;  /* it depends on the lane alone */
    bool packed; /* one instruction computes two 16-bit floats: those of two lanes */
    bool ahead;  /* the first sweep computes it before its loads, of which it needs none */
    /* bf16, only rounded or chosen: kept as the bits of an f32 until it is widened */
    bool rounded;
} kn_selected;

typedef enum kn_accumulate {
    KN_ACCUMULATE_EACH,
    KN_ACCUMULATE_COUNTED, /* moments of neighbouring groups, which share the count of members and its reciprocal */
    KN_ACCUMULATE_VECTOR, /* the elements that a thread has of one group in a step, together */
    KN_ACCUMULATE_BATCH,  /* those of the steps of a batch; of steps that come one by one, each */
    KN_ACCUMULATE_HALVES, /* 16-bit maxima or minima of a vector, two by an instruction */
} kn_accumulate;

struct kn_selection {
    const kn_selected *values;
    const kn_accumulate *reds;
};

/* What is known of group value i as a divisor: nothing; that its reciprocal is no extreme number (but of 0, infinity or NaN),
 * and that it is positive; that it is also a constant. */
typedef enum kn_divisor_kind {
    KN_DIVISOR_ANY,
    KN_DIVISOR_ORDINARY,
    KN_DIVISOR_CONSTANT
} kn_divisor_kind;
kn_divisor_kind kn_divisor_of(const kn_phase *phase, int i);

/* Is i a quotient of f32 that a group has, by a count whose reciprocal is computed once? */
bool kn_divides_by_count(const kn_phase *phase, int i);

/* Selects for a phase, in `a`; fast: fast_math. */
const kn_selection *kn_select_phase(kn_arena *a, const kn_phase *phase, bool fast);

static inline const kn_selected *kn_selected_of(const kn_phase *ph, int value)
{
    return &ph->selection->values[value];
}
static inline kn_accumulate kn_accumulated_by(const kn_phase *ph, int red)
{
    return ph->selection->reds[red];
}

#endif
