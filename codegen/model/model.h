/* Between the files of a prediction: predict.c has what it is made of, bytes.c what moves between memory, the last cache and
 * the multiprocessors, work.c what they compute. */
#ifndef KN_CODEGEN_MODEL_H
#define KN_CODEGEN_MODEL_H

#include "codegen/kir/kir.h"
#include "codegen/model/machine.h"

/* CPUs: elements no further apart share cache lines with their neighbours. */
enum { KN_NEAR_BYTES = 128 };

/* The state of a prediction of one kernel. */
typedef struct kn_model {
    const kn_machine *m;
    const kn_target *target;
    const kn_kernel *k;
    double fit;    /* blocks that fit on a unit */
    double grid;   /* blocks of the launch */
    double rate;   /* DRAM bandwidth */
    double moved;  /* bytes moved so far */
    double *seen;  /* per buffer: `moved` when it was last touched; -1: not yet */
    double *known; /* per buffer: bytes of it that the phase moved which touched it last */
    bool *touched; /* per buffer: by this phase */
    double *own;   /* per buffer: bytes of it that this phase has moved */
    bool *needs;   /* per sweep and value of the phase: kn_phase_needs() */
    bool *need;    /* those of one sweep */
    bool reversed; /* the phase's first sweep is a reverse traversal */
    bool persistent;
    bool waited; /* for a load: a local phase of the next host */
    /* The local phases right before this one, each of which a warp does while others do the next: */
    bool together;  /* there are some */
    bool first;     /* no load was waited for before them */
    double longest; /* ns of the one that takes longest, as long as all of them take */
} kn_model;

/* How a phase is distributed over the machine. */
typedef struct kn_occupancy {
    double blocks;
    double units;         /* that have a block */
    double waves;         /* at least 1; of the last block alone, the work items that it takes */
    double blocks_a_unit; /* blocks on a unit at a time */
    bool cluster;
} kn_occupancy;

/* Bytes moved by DRAM, and by the last-level cache instead; of both, those written. */
typedef struct kn_traffic {
    double memory, cache, written;
    double lookups;   /* bytes that units could read while they look up lines for single elements */
    double broadcast; /* bytes that all groups share, read by each block */
    double at_once;   /* groups that the machine works on at a time */
    double near;      /* bytes of a unit's cache that a block has */
    bool *done;       /* per value: it is not loaded again */
    bool *touched;    /* per buffer: in this phase */
} kn_traffic;

static inline double least(double x, double y) { return x < y ? x : y; }
static inline double most(double x, double y) { return x > y ? x : y; }

/* ---- bytes.c ---- */

/* m->needs of the phase; m->need of one of its sweeps. */
void kn_model_find_needs(kn_model *m, const kn_phase *ph);
void kn_model_at_sweep(kn_model *m, const kn_phase *ph, int sweep);
/* Does this sweep, the one that m->need is of, load value i from memory? */
bool kn_model_loads(const kn_model *m, const kn_phase *ph, int i, int sweep, const bool *done);
/* Do the groups of a block load different elements of it? */
bool kn_model_differs_by_group(const kn_model *m, const kn_phase *ph, int value);
/* Of a scatter sum: blocks, or their parts, that test the destinations of all members. */
double kn_model_compacting_blocks(const kn_phase *ph);
/* The part of the members whose steps a thread takes. */
double kn_model_part_found(const kn_phase *ph);
/* The bytes of the phase, which count as moved from then on. */
kn_traffic kn_model_traffic(kn_model *m, const kn_phase *ph, const kn_occupancy *s);

/* ---- work.c ---- */

/* Additions an element in all sweeps. */
double kn_model_additions(kn_model *m, const kn_phase *ph);
/* Additions of all threads. */
double kn_model_all_additions(kn_model *m, const kn_phase *ph);

#endif
