/* The command line, taken apart: options, one FILE or EXPR, and NAME=VALUE words.
 *
 * Options may stand anywhere, as `--name value` or `--name=value` (one whose value may be left out only so); `--` ends
 * them. The NAME=VALUE words of a command with KN_OPT_LAUNCH may be out:NAME=VALUE, and VALUE a number with its type,
 * f32:0.5. */
#ifndef KN_CLI_ARGS_H
#define KN_CLI_ARGS_H

#include "cli/value.h"

enum { KN_MOST_RANKS = 64 };

/* Which options a command takes. */
enum {
    KN_OPT_DEVICE = 1,
    KN_OPT_FUSION = 2,
    KN_OPT_SEED = 4,
    KN_OPT_JSON = 8,
    KN_OPT_OUT = 16,
    KN_OPT_STAGE = 32,
    KN_OPT_ARCH = 64,
    KN_OPT_SCHEDULE = 128,
    KN_OPT_LAUNCH = 256, /* those of a kernel's launch */
    KN_OPT_BYTES = 512,
    KN_OPT_FAST = 1024,
    KN_OPT_TUNE = 2048,
    KN_OPT_VERBOSE = 4096,
    KN_OPT_HTML = 8192,
    KN_OPT_SVG = 16384,
    KN_OPT_SPLIT = 32768,
    KN_OPT_EMIT = 65536,  /* --cpu, --name, --sizes */
    KN_OPT_RANKS = 131072 /* --ranks, --path */
};

typedef struct kn_args {
    const char *device; /* NULL: not given, as are the other strings */
    bool fusion;        /* default true */
    uint64_t seed;      /* default 0 */
    bool json, verbose;
    const char *out_dir;
    const char *stage;
    const char *html, *svg; /* files to be written */
    const char *arch;
    const char *schedule, *reuse;
    const char *split, *save; /* KN_OPT_SPLIT */
    bool fast_math, batch_invariant;
    int autotune;     /* milliseconds; 0: not given */
    int ranks;        /* 0: not given */
    const char *path; /* KN_OPT_RANKS */
    const char *bytes;
    const char *entry, *grid, *block, *cluster, *shared, *emulator; /* KN_OPT_LAUNCH */
    bool cooperative;
    bool cpu;                 /* KN_OPT_EMIT */
    const char *name, *sizes; /* KN_OPT_EMIT */
    const char *subject;      /* FILE or EXPR */
    kn_cli_value *values;     /* of the NAME=VALUE words, in order; names are unique */
    int nvalues;
    char *names; /* what the values' names point into */
} kn_args;

/* What words a command takes. */
typedef struct kn_syntax {
    const char *command;
    unsigned options;
    const char *subject; /* what its plain word is, "FILE"; NULL: it takes none */
} kn_syntax;

/* Reads the words after the command's name. On failure too, *args is to be finished. */
int kn_args_parse(int argc, char **argv, const kn_syntax *syntax, kn_args *args, kn_err *e);
void kn_args_finish(kn_args *args);

#endif
