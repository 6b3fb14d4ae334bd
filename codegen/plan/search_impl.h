/* Between the files of the search: search.c tries changes, changes.c finds those of a state. */
#ifndef KN_CODEGEN_SEARCH_IMPL_H
#define KN_CODEGEN_SEARCH_IMPL_H

#include "codegen/plan/search.h"

/* Times that differ by less are nearly the same. Of other plans than the first the earlier is taken unless a later one is
 * quicker by more: it has fewer changes. */
static const double kn_nearly_same = 1 / 1.005;

/* A partition one change away from a state. */
typedef struct kn_change {
    double bound;
    int number;
    const kn_merge *merges; /* NULL: the state's */
    int n;
    int toggled;   /* a node to rematerialise instead of keeping, or to keep instead; -1: none */
    uint64_t kind; /* a hash of what is changed, whatever the state */
} kn_change;

/* A plan that was tried. */
typedef struct kn_tried {
    double ns;
    const kn_merge *merges; /* that make its regions */
    int n;
    const kn_reuse *reuse; /* that it was asked for; NULL: all by cost */
    /* What became of the values that cross, for at other sizes their cost may say otherwise, and then it is a plan that
     * was compared with none. NULL: there are copies, and nodes have other numbers. */
    const kn_reuse *outcome;
    const bool *again; /* per node: rematerialised */
    uint64_t content;  /* a hash of what each of its regions computes */
    bool expanded;     /* changes of it were tried */
    bool done;         /* all of them were */
    bool twin;         /* a state of the same content had all its changes tried */
    int alike;         /* states of nearly the same time that had changes tried */
} kn_tried;

/* A set of hashes. */
typedef struct kn_hashes {
    kn_finder found;
    KN_VEC(uint64_t) list;
} kn_hashes;

bool kn_hashes_have(const kn_hashes *h, uint64_t hash);
/* False: it is in there. */
bool kn_hashes_add(kn_arena *a, kn_hashes *h, uint64_t hash);

typedef struct kn_search {
    kn_arena *a;
    const kn_problem *problem;
    kn_trials trials;
    kn_bounding *bounds; /* NULL: none was asked for yet */
    kn_former *separate; /* each value a region of its own; NULL: not begun yet */
    kn_bonds bonds;
    KN_VEC(kn_tried) states; /* the first merges all that may be merged */
    kn_hashes seen;          /* what was planned */
    kn_hashes asked;         /* what changes come to */
    kn_hashes lost;          /* kinds of changes that made a state no quicker */
    double least;            /* the lower bound of any partition */
    int64_t begun;           /* steps of work before */
    int64_t on_new, on_all;  /* steps of work on changes of kinds that have not lost, and of all */
    int tried;
    int best;            /* a state */
    int from;            /* the state that changes are of */
    kn_regions *regions; /* its regions; NULL: not formed yet */
    bool only_new;       /* of kinds that have not lost */
    KN_VEC(kn_change) changes;
    uint64_t *operands,
        again; /* of these, as bits: per node, what it reads; what is computed again */
    int order; /* of merging, that the best is of */
} kn_search;

/* Of partitions that bonds allow: is one with these parts worth planning? *bound: its lower bound. */
bool kn_may_gain(kn_search *s, const int *part_of, double *bound);
/* A hash of the parts, and of what is said of values that cross; reuse NULL: nothing. */
uint64_t kn_key_of(const kn_search *s, const int *part_of, const kn_reuse *reuse);
/* Per node: does its value cross from its part to another, which loads it or computes it again? */
const bool *kn_crossing(kn_arena *a, const kn_graph *g, const int *part_of);

/* The merging of a state. */
kn_merging kn_merging_of(const kn_search *s, const kn_tried *from);

/* ends.c: sets the partition's other, if a state is better than the best at the largest sizes of the class. The problem is
 * not refined. */
void kn_find_other(kn_search *s, const kn_problem *written, kn_partition *p);

/* changes.c: sets s->changes to those of the state, in the order in which to try them; they live in trials.scratch. */
void kn_find_changes(kn_search *s);

#endif
