/* A loop nest: WHAT is computed, over which axes, from and to which arrays. How it is bound to a machine is
 * codegen/kir/schedule.h's.
 *
 *   axis     kept ("group") axes first, then reduced ("member") axes; the last of each kind is the fastest
 *   value    an SSA value. A group value has one instance a group, an element value one a member. `stage` is the number of
 *            combines that must have happened before it can be computed
 *   sweep t  one walk over the members of each group, doing the reductions and element stores of stage t; the element
 *            values they need are computed again in every sweep that needs them, unless they are kept
 *   combine  after sweep t, the accumulators of a group's workers become one value
 *
 *   for each group:                       |  group values and group stores of stage 0
 *     for each member:  sweep 0           |  element values of stage 0 as needed; accumulate; store
 *     combine 0                           |
 *                                         |  group values and group stores of stage 1
 *     for each member:  sweep 1           |  ...
 *
 * Structure and numbers: fields marked (n) are the numbers of one call. Everything else is structure, which is what a
 * compiled kernel depends on. */
#ifndef KN_CODEGEN_NEST_H
#define KN_CODEGEN_NEST_H

#include "base/arena.h"
#include "base/text.h"
#include "ir/graph.h"

/* ---- arrays ---- */

/* The "buffer" of a KN_V_INDEX, whose elements would be their own offsets. */
enum { KN_BUF_COUNT = -2 };

typedef enum kn_buf_kind { KN_BUF_INPUT, KN_BUF_OUTPUT, KN_BUF_TEMP } kn_buf_kind;

/* An array in memory. */
typedef struct kn_buf {
    kn_buf_kind kind;
    int index; /* graph input or output number; temporary number */
    kn_dtype dtype;
    const char *name;
    int exchange;    /* 1 + the number of the exchange between ranks that it is for; 0: none */
    int64_t word;    /* (n) of kernels that exchange: its first word of 32 bits in mailboxes */
    int64_t part;    /* (n) of those: bytes of each rank's */
    int64_t bytes;   /* (n) temporaries: size; offset is in the workspace */
    kn_dim elements; /* temporaries: how many, where numbers have formulas */
    int64_t offset;  /* (n) */
} kn_buf;

/* Do ranks exchange it? Then it has a part of each rank, in their order. */
static inline bool kn_is_exchanged(const kn_buf *b) { return b->exchange > 0; }

/* How the axes of a nest step through a buffer: element = base + offset + sum over axes of index * stride. */
typedef enum kn_stride_kind {
    KN_STRIDE_ZERO, /* the buffer does not have the axis, or broadcasts it: every index reads the same element */
    KN_STRIDE_ONE,   /* contiguous: the vector axis, or of a transposed access the last axis */
    KN_STRIDE_PARAM, /* given at run time */
} kn_stride_kind;

/* Formulas, of plans that have them: codegen/kir/formula.h */
typedef struct kn_extents kn_extents;
typedef struct kn_strides kn_strides;

/* An axis of an array that a GATHER does not walk but indexes by a value. */
typedef struct kn_gathered_axis {
    int64_t stride;              /* (n) elements */
    int64_t extent;              /* (n) indices are below it */
    kn_dim stride_is, extent_is; /* their formulas, or NULL */
} kn_gathered_axis;

typedef struct kn_access {
    int buf;
    uint32_t axes; /* bit a: the buffer varies along axis a */
    kn_stride_kind kind[KN_MAX_RANK];
    int64_t stride[KN_MAX_RANK]; /* (n) elements, per axis */
    bool shifted;                /* offset may be other than 0 */
    int64_t offset;              /* (n) elements */
    int64_t split_stride; /* (n) KN_STORE_PARTIAL: elements from one part's results to the next's */
    kn_gathered_axis *gathered; /* GATHER: what each operand indexes; else NULL */
    bool checked;               /* GATHER: report indices that are out of bounds */
    const kn_strides *formula;  /* of offset and strides, along the region's axes; NULL: none */
} kn_access;

/* Do both address the same elements of the same buffer? */
bool kn_access_same(const kn_access *a, const kn_access *b);
/* The same of different buffers. */
bool kn_access_alike(const kn_access *a, const kn_access *b);
/* Does it step along any of the axes [from, to)? */
bool kn_access_varies(const kn_access *acc, int from, int to);
/* Is the access contiguous along axis `down` but at least half a cache line from element to element along axis
 * `across`? Then threads that are neighbours along `across` would each touch a line of their own. */
bool kn_access_transposed(const kn_access *acc, int across, int down, int bytes);

/* ---- values ---- */

typedef enum kn_vkind {
    KN_V_LOAD,   /* access */
    KN_V_GATHER, /* access, plus in[k] * access->gathered[k].stride for each k */
    KN_V_INDEX,  /* an i64 or i32: the offset that access has; its buf is KN_BUF_COUNT */
    KN_V_SCALAR, /* kernel->scalars[index] */
    KN_V_CONST,  /* value */
    KN_V_EXTENT, /* kernel->extents[index], an i64 */
    KN_V_ELEM,   /* op over in[] */
    KN_V_RESULT, /* reds[index] after its combine */
    KN_V_RANK, /* what rank `rank` has of group value in[0], from its store that sends; access: where, in its part */
    KN_V_LOCAL, /* exports[index - first_export] of a local phase */
} kn_vkind;

typedef enum kn_level { KN_GROUP, KN_ELEMENT } kn_level;

typedef struct kn_value {
    kn_vkind kind;
    kn_dtype dtype;
    kn_level level;
    int stage;
    int in[KN_MAX_IN], nin; /* operands: of ELEM, GATHER and RANK */
    union {
        kn_op op;        /* ELEM */
        int index;       /* SCALAR, EXTENT, RESULT, LOCAL */
        kn_scalar value; /* CONST */
        struct {
            kn_access *access; /* LOAD, GATHER, INDEX, RANK: this value's alone */
            int rank, round; /* RANK: of which rank; how many exchanges must come before this one */
        };
    };
    int sweeps;       /* how many sweeps need it */
    const char *name; /* the user's name or NULL */
    kn_loc loc;
} kn_value;

/* Are they the same computation of the same operands? */
bool kn_value_same(const kn_value *x, const kn_value *y);
/* Equal for values that are the same. */
uint64_t kn_value_hash(const kn_value *v);

/* A number; an operation on so many of a, b and c as are not -1. */
kn_value kn_number(kn_scalar value);
kn_value kn_elem(kn_op op, kn_dtype dtype, int a, int b, int c);

/* Is it computed by this operation? */
static inline bool kn_is_elem(const kn_value *v, kn_op op)
{
    return v->kind == KN_V_ELEM && v->op == op;
}

/* Is it read from memory? */
static inline bool kn_is_read(const kn_value *v)
{
    return v->kind == KN_V_LOAD || v->kind == KN_V_GATHER;
}

/* Does it have an access? */
static inline bool kn_has_access(const kn_value *v)
{
    return kn_is_read(v) || v->kind == KN_V_INDEX || v->kind == KN_V_RANK;
}

/* ---- reductions and stores ---- */

/* An accumulation of an element value over the members: op is SUM, PROD, MIN, MAX, ANY, ALL, or VAR, the sum of
 * squared deviations from the group's mean. The result has the operand's dtype; floats accumulate in their own type
 * or wider.
 *
 * Some accumulators have further results. Other reductions, with the same operation on the same value, name these as
 * their `part` and have no accumulator: of a VAR the mean and the number of members, both f64; of a MAX, on GPUs, the
 * sum of exp(x - max).
 *
 * A REDUCE_BY, a user-defined reduction, carries several values: it is as many consecutive reductions, of which the
 * first has the accumulator. */
typedef enum kn_part { KN_PART_RESULT, KN_PART_MEAN, KN_PART_COUNT, KN_PART_EXPSUM } kn_part;

typedef struct kn_red {
    kn_op op;
    kn_part part;
    int value;
    kn_dtype dtype;
    int stage;
    bool across; /* mixed phases: over the groups, for each member; its result is only stored */
    const kn_reducer *by; /* REDUCE_BY */
    int carried;          /* REDUCE_BY: which of the carried values */
} kn_red;

/* How many consecutive reductions a REDUCE_BY is; 1 for others. */
static inline int kn_red_width(const kn_red *red) { return red->by ? red->by->count : 1; }

typedef enum kn_store_kind {
    KN_STORE_ELEMENT, /* an element value, in its sweep */
    KN_STORE_GROUP,   /* a group value, once a group */
    KN_STORE_PARTIAL, /* reds[value]: once a group for each part of its members, or once a member for each part of the groups */
} kn_store_kind;

/* `once`: axes that the value does not have; only the worker with index 0 along each of them stores. */
typedef struct kn_store {
    kn_store_kind kind;
    /* a group value to all ranks' mailboxes, for the RANK values of the same buffer; not to memory */
    bool sends;
    int value; /* PARTIAL: index in reds */
    kn_access access;
    int stage;
    uint32_t once;
    const char *part; /* of the array, for people: "[:, 1:V]"; NULL: all of it */
} kn_store;

/* prefix + name, as a C identifier. */
const char *kn_identifier(kn_arena *a, const char *prefix, const char *name);

/* ---- the nest ---- */

typedef struct kn_axis {
    const char *name; /* "C", or "H*W" for collapsed axes */
    bool member;
    int at;         /* its index among the region's axes; of collapsed axes, the first's */
    int inner;      /* the same; of collapsed axes, the last's */
    uint32_t of;    /* the same: all that it is collapsed of, a bit each */
    int64_t extent; /* (n) */
} kn_axis;

typedef struct kn_nest {
    const char *name;
    int naxes, ngroup;
    kn_axis axes[KN_MAX_RANK];
    KN_VEC(kn_value) values; /* operands before users */
    KN_VEC(kn_red) reds;
    KN_VEC(kn_store) stores;
    int nsweeps; /* 1 + the highest stage of a reduction or element store; 0 without any */
    int64_t groups, members; /* (n) products of extents; 1 where there are no such axes; may be 0 */
    const kn_extents *extents; /* formulas of the region's extents; NULL: numbers have none */
} kn_nest;

/* Elements of an array that an access reaches, from `low` to `high`. Axes along which it steps by multiples of the period are left out;
 * period 0: none is. */
typedef struct kn_access_ends {
    int64_t low, high;
} kn_access_ends;
kn_access_ends kn_access_reach(const kn_nest *nest, const kn_access *acc, int64_t period);

/* Adds a value like v, with an access of its own, and of no lower stage and level than its operands. Returns its
 * number. */
int kn_nest_add(kn_arena *a, kn_nest *nest, kn_value v);
/* Values have new numbers, to[]: reductions and stores refer to those. */
void kn_renumber_values(kn_nest *nest, const int *to);
/* With how many ranks, this one included, does it exchange group values, as soon as a group has them? 0: with none. */
int kn_nest_ranks(const kn_nest *nest);
static inline bool kn_nest_exchanges(const kn_nest *nest) { return kn_nest_ranks(nest) > 0; }
/* Of several groups, in the same order on all ranks? */
static inline bool kn_exchanges_groups(const kn_nest *nest)
{
    return nest->ngroup > 0 && kn_nest_exchanges(nest);
}
/* Elements along the axes [from, to). */
int64_t kn_nest_count(const kn_nest *nest, int from, int to);
/* A deep copy. */
kn_nest kn_nest_copy(kn_arena *a, const kn_nest *nest);

#endif
