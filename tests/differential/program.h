/* Programs at random, and what they must give.
 *
 *     seed -> graph (generate.c) -> memory of every argument (memory.c) -> the reference interpreter's
 *     results with their error bounds -> a device's results, element by element (compare.c)
 *
 * Everything follows from the seed, so a failure is repeated by naming it: KILN_SEED=12345 KILN_FUZZ=1. */
#ifndef KN_TESTS_DIFFERENTIAL_PROGRAM_H
#define KN_TESTS_DIFFERENTIAL_PROGRAM_H

#include "codegen/plan/plan.h"
#include "ir/graph.h"
#include "runtime/program.h"

enum { MAX_SYMBOLS = 4096, MAX_ARGS = 64 };

/* ---- randomness ---- */

typedef struct rng {
    uint64_t state;
} rng;

uint64_t random_bits(rng *r);
/* 0 .. n-1 */
int below(rng *r, int n);
/* True in `percent` of all cases. */
bool chance(rng *r, int percent);
/* Uniform in [low, high). */
double between(rng *r, double low, double high);

/* ---- programs ---- */

/* One argument's memory: a block on the host, in which the array's elements lie anywhere. */
typedef struct memory {
    kn_layout layout;
    kn_dtype dtype;
    char *block;      /* 16-byte aligned */
    int64_t elements; /* of the whole block */
    int64_t first;    /* element (0, 0, ...) */
} memory;

typedef struct program {
    kn_arena *arena;
    uint64_t seed;
    kn_graph *graph;
    bool compact;               /* all arrays are; otherwise they lie in memory in every odd way */
    bool fast;                  /* bounds are those of fast_math */
    bool positive;              /* floats are ordinary numbers above 0 */
    int64_t sizes[MAX_SYMBOLS]; /* per symbol */
    memory in[MAX_ARGS], out[MAX_ARGS];
    bool omitted[MAX_ARGS]; /* by-value inputs whose default is used */
    kn_array expected[MAX_ARGS];
    double *bound[MAX_ARGS];
} program;

/* What operations are drawn from. */
typedef struct vocabulary {
    const kn_op *elem, *reduce;
    int elems, reduces;
} vocabulary;

/* generate.c: the graph. `elements`: no value has more. words: NULL for every operation that there is. */
void generate_graph(program *p, rng *r, int64_t elements, const vocabulary *words);

/* memory.c: layouts and data of the inputs; layouts of the outputs. */
void place_inputs(program *p, rng *r);
void place_outputs(program *p, rng *r);
int64_t memory_bytes(const memory *m);

/* The whole of it, expected results included; in `a`, which outlives it. NULL with a message when the
 * reference interpreter fails, which it does for no program made here. */
program *program_make(kn_arena *a, uint64_t seed, int64_t elements);
/* The same program without expected results, which take most of the time: for what is planned and not run. With `words`
 * it is of these operations: a seed's program stays what it is when others are added. */
program *program_draw(kn_arena *a, uint64_t seed, int64_t elements, const vocabulary *words);
/* A program in the text form, for sizes such as "N=3 C=64"; its layouts and data follow from the seed, and all arrays
 * are compact when that is 0. Floats are positive. NULL with a message when it has no meaning for the sizes. */
program *program_of_text(kn_arena *a, const char *text, const char *path, const char *sizes,
                         uint64_t seed);
/* The same of a graph, in its arena. */
program *program_of_graph(kn_graph *g, const char *sizes, uint64_t seed);
/* A program in the text form that is only planned: it has sizes, but neither data nor results, which large ones take long for. */
program *program_to_plan(kn_arena *a, const char *text, const char *path, const char *sizes);
/* The size of each symbol, from such a text; those that neither it nor other sizes tell are KN_UNBOUND. */
kn_status read_sizes(const kn_graph *g, const char *text, int64_t *sizes);
/* The program of a .kiln file. NULL with a message also when there is no such file. */
program *program_read(kn_arena *a, const char *path, const char *sizes, uint64_t seed);
/* For a graph and sizes: where the outputs lie, and what they should be. NULL when the interpreter fails. */
program *program_results(program *p);
/* The same, with the inputs' data from the seed. */
program *program_with_data(program *p);

/* ---- changing (edit.c) ---- */

typedef enum edit_by {
    BY_NOTHING,
    BY_OPERAND,    /* operand `index` */
    BY_ONE,        /* a constant */
    BY_INPUT,      /* a new input of the same type and shape */
    BY_FLAT_INPUT, /* an input: one without axis `index` */
} edit_by;

/* One change, or several of different kinds. */
typedef struct edit {
    int node; /* this node of the graph (-1: none) is replaced */
    edit_by by;
    int index;
    bool drop[MAX_ARGS]; /* outputs that go */
    int symbol;          /* this symbol (-1: none) ... */
    int64_t size;        /* ... or dimensions of this size (0: none) that are no name ... */
    bool names;          /* ... and those that are one ... */
    int64_t becomes;     /* ... become this */
    bool compact, positive;
} edit;

/* In p's arena: what the parser makes of the changed program's text, so that what is written is what was checked.
 * A dimension that no input's shape tells any more becomes a number. NULL when the result has no meaning. */
program *program_edit(const program *p, const edit *e);

/* ---- checking ---- */

typedef struct tally {
    int64_t compared, skipped; /* elements: a bound, or an infinite one */
} tally;

/* The arguments of a run. data[]: the addresses of the inputs' blocks, then of the outputs'. Returns
 * their number; args has room for 2 * MAX_ARGS. */
int program_args(const program *p, char *const *data, kn_arg *args);

/* Plans a run for `target`, in `a`. */
kn_status program_plan(const program *p, kn_program *prog, const kn_target *target, kn_arena *a,
                       kn_plan **plan);

/* What outputs and the workspace are filled with before a run. */
enum { UNTOUCHED = 0x5a, POISON = 0xff };

/* How a check fails: what was found to be wrong, or the stage that gave an error and the error's status. Failures of
 * one kind are equal. */
typedef enum fault {
    NO_FAULT,
    WRONG_VALUE,  /* a bool that is neither 0 nor 1 too */
    OTHER_VALUE,  /* than on another device */
    STRAY_WRITE,  /* between an output's elements */
    LONG_WRITE,   /* behind the workspace */
    OTHER_SOURCE, /* the second time */
    IN_REFERENCE, /* errors from here on */
    IN_CREATING,
    IN_PREPARING,
    IN_RUNNING,
    IN_PLANNING,
    IN_VERIFYING,
} fault;
typedef struct failure {
    fault fault;
    kn_status status;
} failure;
/* Is a number within the bound of what was expected? NaN equals NaN. */
bool close_enough(kn_scalar got, kn_scalar want, double bound);

static inline bool same_failure(failure a, failure b)
{
    return a.fault == b.fault && a.status == b.status;
}

/* Runs on the context's device and compares; the reason of a failure in `why`. */
failure program_failure(const program *p, kn_context *ctx, const kn_program_options *o,
                        kn_text *why, tally *t);
/* On both contexts' devices, and then the outputs are the same to the bit, but for NaNs. */
failure program_failure_on_both(const program *p, kn_context *ctx, kn_context *other,
                                const kn_program_options *o, kn_text *why, tally *t);
/* Did it pass? */
bool program_check(const program *p, kn_context *ctx, const kn_program_options *o, kn_text *why,
                   tally *t);

/* Plans for sm_90, verifies every kernel and generates its source twice; the reason of a failure in `why`.
 * out: NULL, or receives the source of each kernel, in the program's arena. */
typedef struct sources {
    KN_VEC(const char *) text;
} sources;
failure program_failure_cuda(const program *p, kn_context *ctx, const kn_program_options *o,
                             kn_text *why, sources *out);
bool program_check_cuda(const program *p, kn_context *ctx, const kn_program_options *o,
                        kn_text *why, sources *out);

/* Runs what must hold for one program and these options. */
typedef failure (*check_fn)(void *user, const program *p, const kn_program_options *o,
                            kn_text *why);
/* A device, and what was compared on it; what the check runs is program_failure(). */
typedef struct where {
    kn_context *ctx;
    tally tally;
} where;
failure check_there(void *where, const program *p, const kn_program_options *o, kn_text *why);

/* ---- reporting ---- */

/* write.c: the program as a .kiln file (its own, where it was read from one), and the command line for it: arguments
 * come from .npy files in `dir`. */
const char *program_text(const program *p);
const char *program_command(const program *p, const char *device, const kn_program_options *o,
                            const char *dir);
/* Writes both, the reason as a comment, and the data, to `dir`/failing.kiln and beside it. False with errno. */
bool program_write(const program *p, const char *device, const kn_program_options *o,
                   const char *why, const char *dir);

/* minimise.c: the smallest program found for which `check` fails in the same way, in p's arena; p itself if there is
 * none. Operations are replaced by operands, inputs and constants, outputs dropped, shapes shrunk, until no such step
 * keeps the failure. */
const program *program_minimise(const program *p, const kn_program_options *o, check_fn check,
                                void *user);
/* Reports a failure of `check` as text: seed, options, the reason, and where the minimised program was written: a new
 * directory in KILN_FAILURES of the environment, by default that of temporary files. */
const char *program_report(const program *p, const char *device, const kn_program_options *o,
                           const char *why, check_fn check, void *user);

/* random_programs.c: programs from KILN_SEED of the environment on, KILN_FUZZ of them (otherwise `programs`), each
 * checked in several ways until one fails. Returns the failures, each with a report on stderr; it ends after
 * `most_reports`. */
typedef struct random_programs {
    const char *device; /* for reports */
    uint64_t programs;
    int most_reports;
    int64_t (*elements)(uint64_t seed); /* no value has more */
    int ways;
    const kn_program_options *(*way)(uint64_t seed, int i);
    check_fn check; /* of a `where` */
} random_programs;
int check_random_programs(const random_programs *r, kn_context *ctx, tally *seen);

/* A number from the environment. */
uint64_t setting(const char *name, uint64_t otherwise);

/* Fusion on and off, each with every schedule. The first three are fused: as chosen, whole, split. */
enum { OPTION_SETS = 14 };
extern const kn_program_options option_sets[OPTION_SETS];

#endif
