/* What the parser's files share. Each uses those above it; but expressions, calls and indices contain each other.
 *
 *     lex.c missing.c functions.c   tokens, what NumPy has and kiln has not, the functions that there are
 *     parser.c      the place in the text, and messages
 *     storage.c       which names show the same memory
 *     value.c       what a value can be used as
 *     name.c        what a name means
 *     wider.c       what explain says of types that became wider
 *     args.c        a call's arguments
 *     reduce.c view.c join.c make.c   calls that reduce, change shapes, read elements at other places, make arrays
 *     random.c grad.c                 calls that make random numbers, that differentiate
 *     call.c index.c expr.c           the other calls; attributes and indexing; expressions
 *     dims.c        dimensions
 *     assign.c stmt.c                 assignments to elements; statements and outputs
 *     function.c    a function: parameters and body
 *     module.c      the text: which of its functions is parsed
 *     parse.c       what the other folders call
 *
 * Functions return false after a failure, which they have put into the thread's message and
 * p->status. Nothing is tried again after that. */
#ifndef KN_FRONTEND_PARSE_PARSER_H
#define KN_FRONTEND_PARSE_PARSER_H

#include "frontend/parse/lex.h"
#include "frontend/parse/parse.h"

typedef enum kn_object_kind {
    KN_OBJECT_NODE,
    KN_OBJECT_DIM, /* a size: a Python integer whose value is a dimension */
    KN_OBJECT_TUPLE,
    KN_OBJECT_DTYPE,
    KN_OBJECT_STRING,
    KN_OBJECT_NONE,
    KN_OBJECT_ELLIPSIS,
    KN_OBJECT_NUMPY, /* the module */
    KN_OBJECT_FUNCTION,
} kn_object_kind;

/* How a call is made into nodes. */
typedef enum kn_call_kind {
    KN_CALL_ELEM,
    KN_CALL_CAST,
    KN_CALL_CLIP,
    KN_CALL_NAN_TO_NUM,
    KN_CALL_PAIR,
    KN_CALL_PART,
    KN_CALL_REDUCE,
    KN_CALL_STD,
    KN_CALL_PTP,
    KN_CALL_COUNT_NONZERO,
    KN_CALL_AVERAGE,
    KN_CALL_NORM,
    KN_CALL_LOGSUMEXP,
    KN_CALL_SOFTMAX,
    KN_CALL_DOT,
    KN_CALL_ARG,
    KN_CALL_FLIP,
    KN_CALL_DIAGONAL,
    KN_CALL_TRIANGLE,
    KN_CALL_MOVEAXIS,
    KN_CALL_JOIN,
    KN_CALL_PAD,
    KN_CALL_TAKE,
    KN_CALL_TAKE_ALONG,
    KN_CALL_AT_ADD,
    KN_CALL_REPEAT,
    KN_CALL_TILE,
    KN_CALL_ROLL,
    KN_CALL_ARANGE,
    KN_CALL_FULL,
    KN_CALL_LIKE,
    KN_CALL_LEN,
    KN_CALL_RANDOM,
    KN_CALL_BERNOULLI,
    KN_CALL_DROPOUT,
    KN_CALL_VJP,
    KN_CALL_GRAD,
    KN_CALL_RESHAPE,
    KN_CALL_RAVEL,
    KN_CALL_TRANSPOSE,
    KN_CALL_SWAPAXES,
    KN_CALL_BROADCAST,
    KN_CALL_EXPAND,
    KN_CALL_SQUEEZE,
    KN_CALL_COUNT
} kn_call_kind;

typedef struct kn_callee {
    const char *name;
    kn_call_kind kind;
    kn_op op;
    bool bare, numpy, method; /* sum(x), np.sum(x), x.sum() */
} kn_callee;

/* Whose elements a value shows. NumPy's `y += 1` is seen through every name of them. */
enum { KN_STORAGE_NEW = 0 }; /* otherwise an index + 1 into p->storages */

/* An array that names show, itself or views of it. */
typedef struct kn_storage {
    const char *param; /* the array parameter that it belongs to, or NULL */
    /* its elements as they are now; a value that shows it is this or a chain of views of it */
    kn_node *base;
    int names; /* variables that show it */
    bool readonly;
} kn_storage;

typedef struct kn_object kn_object;
struct kn_object {
    kn_object_kind kind;
    kn_pos pos;             /* where its expression begins */
    const char *name;       /* when the expression is one name and nothing else */
    kn_node *node;          /* NODE; FUNCTION: what the method is of, or NULL */
    int storage;            /* NODE; FUNCTION of a node: the node's */
    kn_dim dim;             /* DIM */
    const kn_object *items; /* TUPLE */
    int nitems;
    bool list;      /* TUPLE: written with [] */
    bool scalar;    /* NODE: an element, which NumPy copies: x[0] of a vector */
    bool readonly;  /* NODE: a view that NumPy lets nobody write through */
    bool uncertain; /* NODE: a view or a copy of what its storage has, as strides allow */
    bool stale;     /* NODE: the memory that it may or may not show has changed since */
    kn_dtype dtype;
    const char *text; /* STRING: its contents */
    kn_callee fn;
    bool through_numpy; /* FUNCTION: written np.name */
};

typedef struct kn_var {
    const char *name;
    kn_object value;
    bool param;
} kn_var;

enum { KN_MAX_TUPLE = 64, KN_MAX_ARGS = 64, KN_CALL_SLOTS = 8 };

typedef struct kn_parser {
    kn_graph *g;
    kn_arena *arena;
    const char *file;
    kn_lexer lex;
    kn_tok tok;       /* the next token to be used */
    const char *used; /* the end of the last one that was */
    kn_status status;
    int depth;
    KN_VEC(kn_var) vars;
    kn_finder vars_by; /* by name */
    KN_VEC(kn_storage) storages;
    KN_VEC(const char *) globals; /* names that were used as not the function's own */
} kn_parser;

/* ---- functions.c ---- */

/* The function of that name, one that NumPy has only as a method included. */
bool kn_callee_find(const char *name, kn_callee *out);
/* Names of functions, for suggestions: NULL after the last. */
const char *kn_callee_name(int i);

/* ---- parser.c ---- */

void kn_parser_init(kn_parser *p, kn_graph *g, const char *text, const char *file, bool joined);
/* Fails with the message, the place, the line and a caret. Returns false. */
bool kn_perror(kn_parser *p, kn_pos pos, kn_status status, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* The same with the thread's message, which an operation has just set. */
bool kn_pwrap(kn_parser *p, kn_pos pos);
/* Fails where kn_missing_advice() knows of `name`: says what to write instead. True, without a message, where it does
 * not. */
bool kn_not_missing(kn_parser *p, const char *name, kn_pos pos);
/* Fails with "expected <what>, found <the next token>". */
bool kn_pexpected(kn_parser *p, const char *what);
void kn_advance(kn_parser *p);
kn_tok kn_peek(const kn_parser *p); /* the token after the next */
bool kn_at(const kn_parser *p, int kind);
bool kn_at_keyword(const kn_parser *p, const char *word);
/* Uses the token if it is there. */
bool kn_accept(kn_parser *p, int kind);
bool kn_expect(kn_parser *p, int kind, const char *what);
const char *kn_tok_text(kn_parser *p, const kn_tok *tok);
kn_loc kn_loc_of(kn_pos pos);
/* Bytes in front of the token in its line. */
size_t kn_indentation(const kn_tok *tok);

/* ---- storage.c ---- */

/* A variable's value, which was *was before, gets a storage of its own, if it has none. */
void kn_own_storage(kn_parser *p, kn_object *v, const char *param, const kn_object *was);
/* The elements of a storage, and of all that show them, become those of `base`. */
void kn_storage_set(kn_parser *p, int storage, kn_node *base);
/* The storage of a view of a value of storage `storage`: a number, which NumPy copies, gives a new one. */
int kn_view_storage(const kn_parser *p, int storage);
/* Parameters that were assigned to become outputs. False after a failure; *any: are there any? */
bool kn_updates(kn_parser *p, bool *any);
/* The parameter whose updated elements v is; NULL if it is not one. */
const char *kn_updated_param(const kn_parser *p, const kn_object *v);

/* ---- value.c ---- */

/* Inline: a returned struct takes stack in each nested expression, which have little. */
static inline kn_object kn_node_value(kn_node *node, kn_pos pos)
{
    return (kn_object){.kind = KN_OBJECT_NODE, .pos = pos, .node = node};
}
/* The value as a node; fails when it is no number or array. */
bool kn_as_node(kn_parser *p, const kn_object *v, kn_node **out);
/* A Python integer made of numbers and sizes as a dimension: NULL when it is none, without a
 * message. */
kn_dim kn_as_dim(kn_parser *p, const kn_object *v);
bool kn_as_int(kn_parser *p, const kn_object *v, int64_t *out);
bool kn_dtype_unknown(kn_parser *p, const char *name, kn_pos pos);
bool kn_as_dtype(kn_parser *p, const kn_object *v, kn_dtype *out);
/* x.real (op REAL) or x.imag (IMAG) of a value with a node. False without a place after a failure. */
bool kn_part_value(kn_parser *p, kn_op op, const kn_object *x, kn_object *out);
/* "an f32[N, C] array", "a tuple", ... */
const char *kn_object_text(kn_parser *p, const kn_object *v);
/* What a weak number is: "an integer". */
const char *kn_number_text(kn_dtype dtype);

/* ---- name.c ---- */

kn_var *kn_var_find(kn_parser *p, const char *name);
/* Gives the variable its new value; fails when Python would. */
bool kn_var_set(kn_parser *p, const char *name, kn_pos pos, kn_object v, bool param);
/* The meaning of a name on its own, or of np.name. */
bool kn_name_value(kn_parser *p, const char *name, kn_pos pos, kn_object *out);
bool kn_numpy_value(kn_parser *p, const char *name, kn_pos pos, kn_object *out);
bool kn_attribute_unknown(kn_parser *p, const char *name, kn_pos pos);
/* The variable becomes v, which gets its name. */
bool kn_set(kn_parser *p, const char *name, kn_pos pos, kn_object v);

/* ---- wider.c ---- */

/* Notes that `what` at `pos` made an f64 or a c128 of operands that are none, if it did. */
void kn_note_wider(kn_parser *p, const char *what, kn_pos pos, const kn_object *args, int n,
                   const kn_object *made);

/* ---- call.c ---- */

/* At the '(' of a call of `callee`. */
bool kn_parse_call(kn_parser *p, const kn_object *callee, kn_object *out);

/* ---- index.c ---- */

/* At the '.'; *v is replaced by what it gives. */
bool kn_attribute(kn_parser *p, kn_object *v);
/* At the '[': what is between the brackets; NULL after a failure. And what *v gives with that. */
typedef struct kn_subscripts kn_subscripts;
const kn_subscripts *kn_subscripts_of(kn_parser *p);
bool kn_index(kn_parser *p, kn_object *v, const kn_subscripts *s);

/* ---- expr.c ---- */

bool kn_expr(kn_parser *p, kn_object *out);
/* Expressions with commas between them: a tuple if there is a comma. */
bool kn_expr_list(kn_parser *p, kn_object *out);
/* `tok` is the operator's kind: '+', KN_TOK2('*', '*'), ... */
bool kn_parse_binary(kn_parser *p, int tok, kn_pos pos, const kn_object *l, const kn_object *r,
                     kn_object *out);

/* ---- dims.c ---- */

/* At the '[' of `f32[N, C]`. */
bool kn_dims(kn_parser *p, kn_dim *shape, int *rank);

/* ---- assign.c ---- */

/* The operator of `+=` and the like; 0 of other tokens. */
int kn_augmented_op(int tok);
/* The elements that `target`, a value with a storage, shows become v; pos is for messages. */
bool kn_assign_value(kn_parser *p, const kn_object *target, kn_pos pos, const kn_object *v);
/* At `=` or `+=` behind `target`, which is a name of an array or was written with an index. */
bool kn_assign_elements(kn_parser *p, const kn_object *target);
/* At `name +=`. */
bool kn_assign_augmented(kn_parser *p);

/* ---- stmt.c ---- */

/* `C % 4 == 0` or `N == 2*M`, a relation of sizes; what is evident is said to be so. The caller adds the fact. */
bool kn_constraint(kn_parser *p, kn_fact *fact, bool *evident);
/* The statements of one line, its end included. */
bool kn_statements(kn_parser *p, bool *returned);
/* Makes the value, or each of a tuple's, an output: by its name, or out<i>. */
bool kn_outputs(kn_parser *p, const kn_object *v);

/* ---- function.c ---- */

/* At `def`: what the graph is to compute. */
bool kn_definition(kn_parser *p);

/* ---- module.c ---- */

/* At the begin of the text: the function of that name, or with NULL the only one. */
bool kn_module(kn_parser *p, const char *name);

#endif
