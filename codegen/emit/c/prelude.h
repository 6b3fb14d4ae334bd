/* What generated C begins with: the types that it shares with who calls it. This file is both, a header of the library
 * and the first part of each generated text, so it includes nothing. */
#ifndef KN_CODEGEN_C_PRELUDE_H
#define KN_CODEGEN_C_PRELUDE_H

/* Iterations are independent, even where the result overwrites an operand. (To clang it also says that sums may be
 * reordered; these loops have none.) */
#if defined(__clang__)
#define KN_LANES _Pragma("clang loop vectorize(assume_safety)")
#else
#define KN_LANES _Pragma("GCC ivdep")
#endif

/* A loop over a few lanes, which becomes vectors: gcc would unroll it before, and then sees none. */
#if defined(__clang__)
#define KN_FEW
#else
#define KN_FEW _Pragma("GCC unroll 1")
#endif
/* Begins the body of a loop over so few iterations that vectors of it were never full: compilers spend no time on them. */
#if defined(__clang__)
#define KN_SCALAR (void)0
#else
#define KN_SCALAR __asm__ volatile("")
#endif
/* A loop of a few iterations that is unrolled before loops around it become vectors. */
#if defined(__clang__)
#define KN_UNROLL _Pragma("clang loop unroll(full)")
#else
#define KN_UNROLL _Pragma("GCC unroll 16")
#endif

/* out[i] = op(in[0][i], ...) for i < n. Bit k of `uniform`: operand k is one element for all i; at least one operand
 * is not, unless n is 1. `out` may be one of the operands, else it overlaps none. */
typedef void kn_loop_function(__INT64_TYPE__ n, void *out, const void *const *in, unsigned uniform);
typedef kn_loop_function *kn_loop;

/* A reduction at a type. An accumulator has `acc_bytes`: a double for sums and products of floats, four for
 * variances, else the operand's type; but what members of columns accumulate in, until it is added to a total, is of the
 * operand's type. The accumulators of n groups are one state, and all functions get the same n for it. */
typedef struct kn_fold {
    int acc_bytes;
    unsigned char
        blocked; /* yes or no: accumulating many into one place loses accuracy: sum blocks, then merge */
    void (*start)(__INT64_TYPE__ n, void *acc);                  /* acc[i] = identity */
    void (*reduce)(__INT64_TYPE__ n, void *acc, const void *in); /* acc[0] accumulates in[0..n) */
    void (*accumulate)(__INT64_TYPE__ n, void *acc, const void *in); /* acc[i] accumulates in[i] */
    /* total acc[i] accumulates from[i], what members were accumulated in; and those begin, or begin again; only if blocked */
    void (*merge)(__INT64_TYPE__ n, void *acc, const void *from);
    void (*again)(__INT64_TYPE__ n, void *acc, const void *total);
    /* 2 n groups become n: acc[i] gets what acc[n + i] has, in the totals of those that are blocked */
    void (*halve)(__INT64_TYPE__ n, void *acc);
    void (*finish)(__INT64_TYPE__ n, void *out,
                   const void *acc); /* converts to the operand's type */
    void (*mean)(__INT64_TYPE__ n, double *out, const void *acc);  /* VAR: the group's mean, */
    void (*count)(__INT64_TYPE__ n, double *out, const void *acc); /* its number of members, */
    void (*sum)(__INT64_TYPE__ n, void *out, const void *acc);     /* and their sum */
} kn_fold;

/* Rows: independent accumulators of a block, which are combined in a fixed order. */
#define KN_FOLD_LANES 16
/* Functions work on less lanes than this at a time. */
#define KN_MOST_LANES 0x7fffffff
/* Columns: members before an accumulator that is blocked is added to its total. */
#define KN_FOLD_MEMBERS 128

/* Where the block of members ends that begins at member i. Where there are variances of f64 the first ones are short, for what
 * is known of the mean before they end is one member, or the mean of a few (runtime/cpu/forms.h). */
static inline __INT64_TYPE__ kn_members_end(__INT64_TYPE__ i, int f64_variances)
{
    return !f64_variances || i >= 64 ? (i / KN_FOLD_MEMBERS + 1) * KN_FOLD_MEMBERS
           : i >= 16                 ? 64
           : i >= 4                  ? 16
                                     : 4;
}

/* The first checked index that is out of bounds. */
typedef struct kn_bad_index {
    int found; /* atomic */
    int value; /* of the phase */
    __INT64_TYPE__ index, size;
} kn_bad_index;

/* Tiles have so many rows and columns, and a copy of one fills so many arrays of a block. Loops read a line of memory and the
 * next one, which processors fetch with it. */
enum { KN_TILE_SIDE = 64, KN_TILE_SLOTS = 4 };

/* One phase of one call. Its work is divided into units: ranges of members of a group, or of a tile of groups. */
typedef struct kn_c_call {
    void *const *buf;               /* arrays: element (0, 0, ...) */
    const void *const *scalar;      /* arguments by value */
    const __INT64_TYPE__ *extent;   /* sizes that the program reads */
    const __INT64_TYPE__ *num;      /* the phase's own: kn_c_numbers() */
    const kn_loop *loop;            /* the functions that the text lists */
    const kn_fold *const *fold;     /* per reduction: its owner's */
    __INT64_TYPE__ groups, members; /* products of extents */
    __INT64_TYPE__ parts, part; /* ranges that members are divided into, and the length of each */
    /* The most lanes of a block. Blocks end at the end of a run of lanes, and every run_step lanes of it; run 0: every
     * `most` lanes. */
    __INT64_TYPE__ most, run, run_step;
    __INT64_TYPE__ slot, row; /* bytes of a block's array, and of a row's that later sweeps read */
    __INT64_TYPE__ tile_groups; /* tiled rows: groups of a tile, at most */
    int stream;                 /* does it move so much that stores go past the caches? */
    kn_bad_index *bad;
    /* Narrow columns: so many members of all groups lie side by side, and are as many lanes (a power of 2); the same call of
     * lanes and members that are so taken. 1, and a null pointer: they do not. */
    __INT64_TYPE__ beside;
    const struct kn_c_call *side;
    /* The same of so many that they are long rows, for sweeps that reduce nothing: no result depends on how many they are. */
    const struct kn_c_call *wide;
} kn_c_call;

/* Elements from row to row of a tile of rows of so many, as lines an odd number: rows of a power of two drive each other out of
 * the cache. */
static inline __INT64_TYPE__ kn_tile_row(__INT64_TYPE__ members, __INT64_TYPE__ bytes)
{
    return (((members * bytes + 63) / 64) | 1) * 64 / bytes;
}

/* Works on units [unit, end). The memory at `scratch` is the worker's. */
typedef void kn_c_work(const kn_c_call *c, __INT64_TYPE__ unit, __INT64_TYPE__ end, char *scratch);

#endif
