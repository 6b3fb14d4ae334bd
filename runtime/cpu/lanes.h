/* Lanes: the index along which blocks of a phase run, and how blocks are read and written.
 *
 *                 lanes          outer
 *     rows        members        groups    a block is a range of one group's members
 *     columns     groups         members   a block is a range of groups, at one member
 *     tiles       the last two   the axes  a block is a range of both, where one array is contiguous along one of them and
 *                 axes           before    another along the other, or rows are found by an index each
 *
 * A kn_lane_access is one access bound to a launch's numbers: strides in bytes along the lane axes (contiguous neighbours
 * are collapsed) and along the outer axes. A kn_cursor is a worker's position in it. */
#ifndef KN_RUNTIME_CPU_LANES_H
#define KN_RUNTIME_CPU_LANES_H

#include "codegen/kir/kir.h"

typedef struct kn_lane_access {
    char *base;    /* the buffer's address; NULL for counts */
    int64_t start; /* offset of element (0, 0, ...) in it */
    int bytes;     /* of an element */
    int rank;      /* lane axes after collapsing; the last has the smallest stride */
    int64_t extent[KN_MAX_RANK], stride[KN_MAX_RANK];
    bool once[KN_MAX_RANK]; /* stores: only index 0 along this lane axis */
    bool any_once;
    int64_t outer[KN_MAX_RANK]; /* stride of each outer axis */
    int64_t carry[KN_MAX_RANK]; /* step when that axis advances and all after it return to 0 */
    uint32_t outer_once;        /* stores: only index 0 along these outer axes */
    int64_t split;              /* stride of the part, in KN_STORE_PARTIAL */
    int64_t down, across;       /* strides of the phase's last two axes; 0 without */
} kn_lane_access;

/* Neighbouring axes of a phase. */
typedef struct kn_axes {
    int first, count;
} kn_axes;

/* Which axes of a phase become lane axes, which outer ones. */
typedef struct kn_lane_axes {
    kn_axes lane, outer;
} kn_lane_axes;

/* l has its base and bytes, and gets the rest. once: axes along which only index 0 stores. */
void kn_lanes_bind(kn_lane_access *l, const kn_phase *phase, const kn_access *access, uint32_t once,
                   const kn_lane_axes *axes);

typedef enum kn_lane_kind {
    KN_LANE_SAME, /* all lanes read one element */
    KN_LANE_UNIT, /* contiguous */
    KN_LANE_STEP, /* one stride */
    KN_LANE_TILE, /* rows of columns, each with a stride */
    KN_LANE_RUNS, /* anything else */
} kn_lane_kind;

typedef struct kn_cursor {
    kn_lane_kind kind;
    int64_t outer, lane;        /* offsets in bytes; their sum is lane `start`'s */
    int64_t columns;            /* TILE */
    int64_t index[KN_MAX_RANK]; /* RUNS: of lane `start` */
} kn_cursor;

/* Moves to lanes [start, start + n), n > 0. */
void kn_lanes_seek(const kn_lane_access *l, kn_cursor *c, int64_t start, int64_t n);

/* Moves to the tile of `rows` x `columns` that begins there; its lanes are row after row. */
void kn_lanes_seek_tile(const kn_lane_access *l, kn_cursor *c, int64_t row, int64_t rows,
                        int64_t column, int64_t columns);

static inline char *kn_lanes_at(const kn_lane_access *l, const kn_cursor *c)
{
    return l->base + (l->start + c->outer + c->lane);
}

/* Copies lanes to `out`, and `in` to lanes; `same`: all lanes get in[0]. */
void kn_lanes_gather(const kn_lane_access *l, const kn_cursor *c, int64_t n, void *out);
void kn_lanes_scatter(const kn_lane_access *l, const kn_cursor *c, int64_t n, const void *in,
                      bool same);

/* out[i] = the offset of lane i, an I64 or I32 */
void kn_lanes_count(const kn_lane_access *l, const kn_cursor *c, int64_t n, kn_dtype dtype,
                    void *out);

#endif
