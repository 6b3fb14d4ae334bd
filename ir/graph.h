/* The graph: a hash-consed DAG of typed values with symbolic shapes.
 *
 *     node = op(in[0], in[1], ...) : dtype[shape]
 *
 * Invariants, held by ir/verify.c:
 *   - operands come before their users in `nodes`; a node's number is its place there
 *   - elementwise operands have the result's rank, each dimension equal to the result's or 1, and exactly
 *     the operation's compute type (casts are explicit nodes)
 *   - a reduction keeps its axes as size 1; dropping them is a reshape. REDUCE_BY has an operand a value that it
 *     carries, all of one shape; one that does not commute reduces one axis, or what has been made of one
 *   - weak constants are gone: the builder gives each its type where it is used */
#ifndef KN_IR_GRAPH_H
#define KN_IR_GRAPH_H

#include "base/arena.h"
#include "base/status.h"
#include "base/text.h"
#include "ir/op.h"
#include "ir/reducer.h"
#include "shapes/dim.h"
#include "shapes/facts.h"

enum { KN_MAX_IN = 5 };

/* A place in the user's text; line 0 when there is none (built through the C API). */
typedef struct kn_loc {
    int line, col;
} kn_loc;

/* INDEX: axis j of the operand is read at start[j] + step[j] * i, where i is the index along the result's axis
 * axis[j], or 0 where axis[j] < 0. */
typedef struct kn_indexing {
    int8_t axis[KN_MAX_RANK];
    int64_t step[KN_MAX_RANK];
    kn_dim start[KN_MAX_RANK];
} kn_indexing;

/* TAKE: a view, the first operand, stands for memory. Its axis j is read at the place that operand by[j] gives; where
 * by[j] is 0, at the index along the result's axis axis[j], or at 0 where that is < 0. Places are of the result's rank,
 * i64, and within the axis, unless `checked`: then devices that check say what is not, and others read the nearest
 * element. */
typedef struct kn_gathering {
    int8_t axis[KN_MAX_RANK];
    int8_t by[KN_MAX_RANK];
    int checked;
} kn_gathering;

typedef struct kn_node kn_node;
struct kn_node {
    kn_op op;
    kn_dtype dtype;
    bool weak; /* a Python number, or arithmetic of Python numbers only */
    int rank;
    int id;
    const kn_dim *shape;
    kn_node *in[KN_MAX_IN];
    int nin;
    union {
        int input;       /* INPUT, SCALAR: index into graph->inputs; CARRIED: its number */
        kn_scalar value; /* CONST */
        kn_dim dim;      /* EXTENT */
        struct {
            uint32_t axes; /* bit i: axis i is reduced */
            int ddof;      /* VAR */
            int nonempty;  /* 1: over nothing it has no meaning (min and max without a start) */
            int carried;   /* REDUCE_BY: which of the values carried it is */
        } reduce;
        struct {
            int exchange; /* a number that it has on all ranks, however they plan; the same for what each has */
            int rank;
        } part; /* OF_RANK */
        /* COPY: computed in a loop nest of its own, and kept, for others to read a compact array */
        bool own_nest;
        int8_t perm[KN_MAX_RANK]; /* PERMUTE */
        const kn_indexing *index; /* INDEX */
        kn_gathering gather;      /* TAKE */
    } u;
    const kn_reducer *by; /* REDUCE_BY */
    kn_loc loc;
    const char *name; /* the user's, or NULL */
    uint64_t hash;
};

typedef struct kn_input {
    const char *name;
    kn_node *node; /* INPUT or SCALAR */
    bool by_value;
    bool has_default;
    kn_scalar dflt;
} kn_input;

/* Elements of an array: along axis j those at start[j] + step[j] * i, for each i below size[j]. */
typedef struct kn_rectangle {
    kn_dim start[KN_MAX_RANK], size[KN_MAX_RANK];
    int64_t step[KN_MAX_RANK];
} kn_rectangle;

/* Of a graph in pieces (ir/pieces.h): the output whose array a piece goes to, and where in it. */
typedef struct kn_place {
    int output;
    int rank;
    const kn_dim *shape; /* the array's */
    kn_rectangle at;
} kn_place;

typedef struct kn_output {
    const char *name;
    kn_node *node;
    int updates;           /* the input whose elements become these, and whose name it has; or -1 */
    const kn_place *place; /* NULL: the node is all of it */
} kn_output;

/* What a formula of ops.def has become: `node` is op(in[0], in[1], ...) of operands that all are of its type and rank, by
 * their numbers. Between the two are operations that the graph may have for another reason too. */
typedef struct kn_expansion {
    kn_op op;
    int node, nin;
    int in[KN_MAX_IN];
} kn_expansion;

/* What an assignment to a part of an array, a pad or a concatenation has become: `node` has the elements of each piece where
 * that lies, and those of `rest`, of its shape or 0-d, elsewhere. rest -1: the pieces, which do not overlap, are all of
 * it. */
typedef struct kn_piece {
    int node; /* of the rectangle's sizes, or 1 along an axis */
    kn_rectangle at;
} kn_piece;

typedef struct kn_assembly {
    int node, rest, n;
    const kn_piece *pieces;
} kn_assembly;

/* What one program may take: operations, and bytes of an arena that it is built or planned in. Beyond it unwinds
 * (kn_give_up()), with an error that names `op` and its place. */
typedef struct kn_budget {
    int64_t nodes, bytes;
} kn_budget;
extern const kn_budget kn_usual_budget; /* of every new graph */
void kn_keep_within(const kn_budget *b, kn_arena *a, int64_t nodes, const char *title, kn_loc loc);

/* What explain says of a node, if the program needs it. */
typedef struct kn_remark {
    int node;         /* the number of what it gives */
    const char *text; /* "** at 2:13: f64 of a float and i32" */
} kn_remark;
typedef KN_VEC(kn_remark) kn_remarks;

typedef struct kn_graph kn_graph;
struct kn_graph {
    kn_arena *arena;
    kn_symbols *syms;
    kn_facts facts;
    const char *name;   /* the program's, "program" by default */
    const char *source; /* the first text that was parsed for it, or NULL */
    int texts;          /* how many were: places are in any of them */
    const char *split;  /* of a part of a program that was split: how, for explain; or NULL */
    const char *file;
    KN_VEC(kn_node *) nodes;
    KN_VEC(kn_input) inputs;
    KN_VEC(kn_output) outputs;
    kn_finder inputs_by, outputs_by; /* by name */
    kn_finder nodes_by;
    /* Of a graph as it was built, rewriting leaves them out: operations of the user's text whose result is wider than
     * their operands, by NumPy's rules; sums that search for what belongs to them */
    kn_remarks wider, searches;
    KN_VEC(kn_expansion) expansions; /* of such a graph too; for differentiation (ir/grad.c) */
    KN_VEC(kn_assembly) assemblies;  /* of such a graph too */
    int carried;                     /* CARRIED nodes so far */
    int ranks;                       /* over how many what is divided is divided; 0: as 1 */
    /* loop nests may exchange with other ranks, group by group: all ranks have the same nests */
    bool exchanges_in_nests;
    /* Of an optimised graph: the INDEX nodes of the one before, in it, that a call's sizes can take out of bounds. */
    KN_VEC(const kn_node *) indices;
    /* Of an optimised graph: another one of the same inputs and symbols, whose outputs are stored in pieces. NULL: none of
     * them is made of any. */
    kn_graph *in_pieces;
    /* Of an optimised graph: another one of the same inputs, outputs and symbols, where reductions are taken by the groups of
     * others (ir/grouped.h). NULL: none of them can be. */
    kn_graph *grouped;
    /* Of a refined graph: the uses of its nodes so far, KN_MAX_IN each (ir/view.h). */
    const struct kn_use *uses;
    int used;
    kn_budget budget;
};

kn_graph *kn_graph_new(kn_arena *a, const char *name);

/* The node equal to `n` (which the caller fills in but for id and hash), made if there is none. */
kn_node *kn_graph_intern(kn_graph *g, const kn_node *n);

/* The name that stands for a node in messages: the user's, or the operation's. */
const char *kn_node_title(const kn_node *n);
/* " at 2:14" for messages, or "" where there is no text. */
typedef struct kn_loc_said {
    char text[32];
} kn_loc_said;
kn_loc_said kn_loc_place(kn_loc loc);
/* `status` of a run of `g`: a failure's message gets the name of the file that g is of in front, where it does not
 * begin with it. Text in `a`. */
kn_status kn_graph_failed(kn_arena *a, const kn_graph *g, kn_status status);
/* kn_fail() about a node: its title and place stand in front. */
kn_status kn_node_fail(kn_status status, const kn_node *n, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Per node: is it an input, or does an output need it? */
const bool *kn_needed_nodes(const kn_graph *g, kn_arena *a);

/* Rewriting: a new graph in `a` with the same inputs, symbols and facts, whose nodes are made by
 * `fn(new, old, in)` for each node that an output needs, operands first; `in` are old's operands in the
 * new graph. */
typedef kn_node *(*kn_rewrite_fn)(void *ctx, kn_graph *to, const kn_node *old, kn_node *const *in);
kn_graph *kn_graph_rewrite(kn_arena *a, const kn_graph *from, kn_rewrite_fn fn, void *ctx);
/* The rewrite that changes nothing: copies `old` with operands `in`. */
kn_node *kn_node_copy(kn_graph *to, const kn_node *old, kn_node *const *in);

/* A copy in `a` that shares nothing with `g`, symbols included. */
kn_graph *kn_graph_clone(kn_arena *a, const kn_graph *g);

/* The reduction `old` over axes of one element only, which are no axes of it any more: the operand itself. */
kn_node *kn_reduce_nothing(kn_graph *to, const kn_node *old, kn_node *const *in);

/* An elementwise, reduced, gathered or exchanged value: what is computed, neither a leaf nor a view. */
bool kn_is_value(const kn_node *n);
/* A reduction that has no meaning over no elements. */
bool kn_needs_members(const kn_node *n);
/* Do they have, of two ranks, the same value? */
bool kn_same_exchange(const kn_node *x, const kn_node *y);
/* What a chain of views is of; `n` itself when it is no view. */
const kn_node *kn_view_root(const kn_node *n);

/* The computed value that `n` shows, itself or with its axes regrouped or in another order, perhaps copied to be an
 * output; NULL for leaves, and for values repeated. */
const kn_node *kn_shown_value(const kn_node *n);
/* Is `n` a copy that is computed in a loop nest of its own? */
bool kn_has_own_nest(const kn_node *n);
/* Is `n` a copy that is there to be an output? */
bool kn_is_output_copy(const kn_graph *g, const kn_node *n);

/* Names are as long as the graph. */
void kn_graph_add_input(kn_graph *g, kn_input in);
void kn_graph_add_output(kn_graph *g, kn_output out);
int kn_graph_find_input(const kn_graph *g, const char *name);
int kn_graph_find_output(const kn_graph *g, const char *name);
/* The product of the node's dimensions. */
kn_dim kn_node_count(kn_graph *g, const kn_node *n);

/* One line a node; stable, so it also serves as the graph's canonical text in cache keys (without names
 * and places when `canonical`). */
void kn_graph_print(kn_text *t, const kn_graph *g, bool canonical);
/* A number as the text form has it. */
void kn_scalar_print(kn_text *t, kn_scalar v);
void kn_graph_dot(kn_text *t, const kn_graph *g);
/* INTERNAL, naming the node and the broken invariant, when the graph is not well formed. */
kn_status kn_graph_verify(const kn_graph *g);

#endif
