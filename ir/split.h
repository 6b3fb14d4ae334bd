/* A program in two: what can be computed before some inputs are known, and the rest. So a forward and its backward
 * become programs of their own, the gradients that come from outside being the inputs that are known late.
 *
 *     inputs, none late ──▶ first ──▶ its outputs, values saved ──▶ second ◀── the inputs that it reads, late ones too
 *
 * The second computes again what is not saved. */
#ifndef KN_IR_SPLIT_H
#define KN_IR_SPLIT_H

#include "ir/graph.h"

typedef struct kn_candidate_value {
    const kn_node *node;
    const char *
        name; /* the user's, or made from the operation's; no input or output has it, but an output of the
                         first part that is this value */
    bool reduced; /* a result a group, not one an element */
} kn_candidate_value;

/* Where a graph can be split. */
typedef struct kn_split {
    kn_graph *g;
    bool *late; /* per node: does a late input go into it? */
    bool *
        lost; /* per node: an input that the first part updates, so that the second does not find it */
    /* What the second part may read instead of computing it, operands first: results of reductions, what late operations
     * read, outputs of the first part. */
    kn_candidate_value *candidates;
    int n;
} kn_split;

/* late: names of inputs with commas. ARGUMENT for a name that is no input's, and where no output, or every one, depends on them. All
 * memory is the graph's arena's. */
kn_status kn_split_find(kn_graph *g, const char *late, kn_split *s);

/* Per node: does the second part, in which these candidates are given, read or compute it? What is given, and inputs
 * that are lost, have needs of their own no more. */
const bool *kn_split_second_needs(const kn_split *s, const bool *saved);

/* The two parts, in the arena of s->g. sizes: per symbol, of any arguments of the whole, by which it is found which
 * inputs tell the sizes of a part. SHAPE where none does. */
kn_status kn_split_parts(const kn_split *s, const bool *saved, const int64_t *sizes,
                         kn_graph *part[2]);

#endif
