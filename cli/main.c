/* The command `kiln`: a thin program over frontend/kiln.h. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/ending.h"
#include "cli/progress.h"

#define VALUE_HELP                                                                                 \
    "\n"                                                                                           \
    "VALUE, best in quotes for the shell's sake, is one of\n"                                      \
    "  path.npy              a NumPy file of any element type that kiln has\n"                     \
    "  3  -2.5  1e-5  True   a number; 2+3j is complex\n"                                          \
    "  f32[32,256]           random data: normal for floats and the parts of complex numbers,\n"   \
    "                        0..9 for integers, a coin for bool; f32[()] is 0-d\n"                 \
    "  f32[8]@uniform(-1,1)  with a distribution: @normal, @uniform(a,b), @ones, @zeros,\n"        \
    "                        @randint(a,b); b itself is not drawn\n"

#define DEVICE_HELP "  --device D     auto (default), cpu, cuda, cuda:N, emu, or ref\n"
#define FUSION_HELP "  --fusion F     on (default), or off: one kernel an operation\n"
#define SEED_HELP                                                                                  \
    "  --seed N       of random data; the same seed gives the same data on every machine\n"
#define SPLIT_HELP                                                                                      \
    "  --split NAMES  in two: what can be computed before these parameters are known (a gradient dy\n"  \
    "                 that comes from outside), and the rest; what the first saves for the second is\n" \
    "                 chosen by predicted time\n"                                                       \
    "  --save NAMES   saves these values instead, or none\n"
#define SCHEDULE_HELP                                                                                     \
    "  --schedule S   how groups are divided: whole; split (over the machine); resident (split, and\n"    \
    "                 kept on chip); cluster or cluster=N; clusters (as chosen, and one of several\n"     \
    "                 loop nests may have them); tiles (whole, and what lies transposed\n"                \
    "                 through tiles); pieces or joined (outputs of assigned parts, pads and joined\n"     \
    "                 arrays); grouped or direct (reductions by the groups of others, or not); copies,\n" \
    "                 or 'in place' (how arguments that are not row by row are read, as of a .npy\n"      \
    "                 in Fortran order); assembled or aligned (how columns are read whose vectors\n"      \
    "                 are not aligned in memory); or, behind choices that it was made by, the first\n"    \
    "                 line that explain --stage schedule prints, or a line of explain --autotune;\n"      \
    "                 undo N: without a merge of explain -v\n"                                            \
    "  --reuse R      keep or recompute: what becomes of values that several places need\n"               \
    "  --fast-math    algebra that floating point does not allow, approximate functions\n"                \
    "  --batch-invariant\n"                                                                               \
    "                 a group's results do not depend on how many groups there are, to the bit\n"
#define PATH_HELP                                                                                  \
    "  --path P       how they exchange: kernel, nccl or host; not given: the first that works\n"
#define TUNE_HELP                                                                                  \
    "  --autotune[=MS]\n"                                                                          \
    "                 measure a few schedules for at most MS milliseconds (2000), take the\n"      \
    "                 quickest, and keep what was found on disk\n"
#define OUT_HELP                                                                                   \
    "  -o DIR         write DIR/<output>.npy, all or none, instead of printing a summary\n"

static const struct command {
    kn_syntax takes;
    int (*run)(const kn_args *args, kn_err *e);
    const char *summary;
    const char *usage;
} commands[] = {
    {{"run",
      KN_OPT_DEVICE | KN_OPT_FUSION | KN_OPT_SEED | KN_OPT_OUT | KN_OPT_SCHEDULE | KN_OPT_FAST |
          KN_OPT_TUNE | KN_OPT_SPLIT,
      "FILE"},
     kn_cmd_run,
     "run a .kiln file",
     "usage: kiln run FILE[:FUNCTION] [NAME=VALUE ...] [-o DIR]\n"
     "\n"
     "Runs the function in FILE (- is standard input), whose language docs/language.md describes;\n"
     "where there are several, FILE:FUNCTION says which.\n"
     "Every parameter without a default needs a value of its type and rank; nothing is converted.\n"
     "Prints one line about each output. For example\n"
     "\n"
     "  kiln run examples/layernorm.kiln 'x=f32[32,256]' gamma=gamma.npy 'beta=f32[256]@zeros'\n"
     "\n" OUT_HELP SPLIT_HELP DEVICE_HELP FUSION_HELP SEED_HELP SCHEDULE_HELP TUNE_HELP VALUE_HELP},
    {{"eval",
      KN_OPT_DEVICE | KN_OPT_FUSION | KN_OPT_SEED | KN_OPT_OUT | KN_OPT_SCHEDULE | KN_OPT_FAST |
          KN_OPT_TUNE,
      "EXPR"},
     kn_cmd_eval,
     "evaluate one expression",
     "usage: kiln eval 'EXPR' [NAME=VALUE ...] [-o DIR]\n"
     "\n"
     "Evaluates an expression of docs/language.md: kiln eval 'softmax(x / 8, axis=1)' 'x=f32[4,8]'.\n"
     "Commas give several outputs out0, out1, ... Parameters have the types of their values. A\n"
     "number given as VALUE is a scalar parameter of type i64, f64, c128 or bool; a number written\n"
     "in EXPR takes the type of what it meets, as in NumPy. What is compiled for EXPR serves other\n"
     "sizes too, unless EXPR reads a size (shape, size, len). An EXPR that begins with a minus sign\n"
     "comes after --: kiln eval -- '-x' 'x=f32[4]'\n"
     "\n" OUT_HELP DEVICE_HELP FUSION_HELP SEED_HELP SCHEDULE_HELP TUNE_HELP VALUE_HELP},
    {{"bench",
      KN_OPT_DEVICE | KN_OPT_SEED | KN_OPT_JSON | KN_OPT_SVG | KN_OPT_SCHEDULE | KN_OPT_FAST |
          KN_OPT_TUNE | KN_OPT_SPLIT | KN_OPT_RANKS,
      "FILE"},
     kn_cmd_bench,
     "measure a .kiln file fused and unfused",
     "usage: kiln bench FILE[:FUNCTION] NAME=VALUE ... [--json] [--svg FILE]\n"
     "                  [--split NAMES [--save NAMES] | --ranks N [--path P]]\n"
     "\n"
     "Runs the function fused, and as one kernel an operation, and compares kernel launches, "
     "device\n"
     "time, host time a call, bytes moved (also as a fraction of what a large copy moves on this\n"
     "machine) and compile time.\n"
     "\n"
     "  --json         one JSON object instead of a table\n"
     "  --svg FILE     write a chart of it, too\n"
     "  --ranks N      on N devices, cuda:0 and on (or cpu, emu), which divide what is shard() among\n"
     "                 them: a value is one's part; the device time is that of the slowest\n" PATH_HELP
         SPLIT_HELP
     "                 measured are forward and backward, beside the whole\n" DEVICE_HELP SEED_HELP
         SCHEDULE_HELP TUNE_HELP VALUE_HELP},
    {{"explain",
      KN_OPT_DEVICE | KN_OPT_FUSION | KN_OPT_JSON | KN_OPT_STAGE | KN_OPT_HTML | KN_OPT_ARCH |
          KN_OPT_SCHEDULE | KN_OPT_FAST | KN_OPT_TUNE | KN_OPT_VERBOSE | KN_OPT_SPLIT |
          KN_OPT_RANKS,
      "FILE"},
     kn_cmd_explain,
     "say what would run, and why",
     "usage: kiln explain FILE[:FUNCTION] [NAME=VALUE ...] [-v] [--stage S] [--html FILE] [--arch A]\n"
     "                    [--json] [--split NAMES [--save NAMES] | --ranks N [--path P]]\n"
     "\n"
     "Says in words what a .kiln file becomes; runs nothing and needs no GPU. Only the types and\n"
     "shapes of values matter; parameters that are not given have assumed sizes.\n"
     "\n"
     "  -v             steps that changed nothing too, the operations of each line, and all reasons\n"
     "                 not to merge, beyond the first 20\n"
     "  --stage S      print that text instead: graph, ir, schedule, c, cuda, ptx, resources, dot, or\n"
     "                 several of them with commas\n"
     "  --html FILE    write a page with drawings instead: what runs, unfused beside fused; the\n"
     "                 roofline; the schedule; the CUDA source beside the program's lines\n"
     "  --arch A       for another GPU architecture than sm_90: sm_80, sm_100, ...; or cpu\n"
     "  --json         one JSON object\n"
     "  --ranks N      for the first of N GPUs that divide what is shard() among them: a value is\n"
     "                 one's part; with --device cpu, for threads\n" PATH_HELP SPLIT_HELP
     "  --device D     for this machine's device: cpu, cuda, cuda:N, or auto: its GPU, else its CPU\n"
     "  --autotune     with --device cpu or cuda: what a run with --autotune has measured there for\n"
     "                 such sizes, or would try; measures nothing itself\n" FUSION_HELP
         SCHEDULE_HELP VALUE_HELP},
    {{"emit",
      KN_OPT_FUSION | KN_OPT_OUT | KN_OPT_FAST | KN_OPT_EMIT | KN_OPT_ARCH | KN_OPT_DEVICE |
          KN_OPT_TUNE,
      "FILE"},
     kn_cmd_emit,
     "write a program as C that needs no kiln to run",
     "usage: kiln emit FILE[:FUNCTION] --cpu|--arch A,... [NAME=f32[8,64] ...] [-o DIR]\n"
     "                 [--name NAME]\n"
     "\n"
     "Writes NAME.h, NAME.c and what they include: a C library of one function, which serves all\n"
     "sizes and needs only the C library, and on GPUs the driver. They compile as C11 and C++17.\n"
     "docs/emit.md says how to call it.\n"
     "\n"
     "  --cpu          it runs on the CPU\n"
     "  --arch A,...   it runs on GPUs of these architectures, sm_80,sm_90, and on newer ones; takes\n"
     "                 NVRTC, and no GPU\n"
     "  NAME=f32[8,64] sizes that get code of their own; they decide every size of the program\n"
     "  --sizes S      more of them by the names of sizes: 'N=8 C=64 | N=1 C=64'\n"
     "  --autotune     with --device cuda: the code for NAME=f32[8,64] is what measuring here finds the\n"
     "                 quickest for this machine's GPU\n"
     "  -o DIR         where to (here); DIR is made if there is none\n"
     "  --name NAME    of functions and files (the function's own)\n" FUSION_HELP
     "  --fast-math    algebra that floating point does not allow\n"
     "  --batch-invariant\n"
     "                 a group's results do not depend on how many groups there are, to the bit\n"},
    {{"kernel", KN_OPT_DEVICE | KN_OPT_SEED | KN_OPT_OUT | KN_OPT_LAUNCH, "FILE.cu"},
     kn_cmd_kernel,
     "launch a CUDA kernel of your own",
     "usage: kiln kernel FILE.cu --entry NAME --grid X[,Y,Z] --block X[,Y,Z] [ARG ...] [-o DIR]\n"
     "\n"
     "Compiles FILE.cu (- is standard input) and launches one of its kernels once, on a GPU or, run\n"
     "and checked thread by thread, on the emulator. The ARGs are the kernel's parameters, in order:\n"
     "\n"
     "  NAME=VALUE     an array in device memory, or a number. A number is passed as i32, with a\n"
     "                 point or an exponent as f32, True and False as bool; i32:5, i64:5, f32:0.5,\n"
     "                 f64:0.5 and bool:True say the type. An unsigned parameter takes i32 or i64.\n"
     "  out:NAME=VALUE an array that is printed, or written, after the run. f32[1024] alone begins\n"
     "                 with all bits set (-1, nan), so that what the kernel leaves out shows;\n"
     "                 f32[1024]@zeros begins with zeros, a file or another @ with that.\n"
     "\n"
     "  --entry NAME   a __global__ function, or an instance of a template: 'reduce<256, float>'\n"
     "  --grid, --block, --cluster X[,Y,Z]\n"
     "                 blocks of the grid, threads of a block, blocks of a cluster (no clusters)\n"
     "  --shared BYTES dynamic shared memory of a block\n"
     "  --cooperative  a grid that can synchronise\n"
     "  --emulator W   on emu, which it implies: relaxed, unchecked, reversed, seed=N, or several\n"
     "                 with commas\n"
     "  --device D     cuda, cuda:N or emu; without it cuda if there is a GPU, else emu\n" OUT_HELP
         SEED_HELP VALUE_HELP},
    {{"cache", KN_OPT_JSON | KN_OPT_BYTES, "WHAT"},
     kn_cmd_cache,
     "look after what is kept on disk: compiled kernels, measured schedules",
     "usage: kiln cache stats|list|clear|trim\n"
     "\n"
     "Compiled kernels, and what --autotune measured, are kept in $KILN_CACHE_DIR, else\n"
     "$XDG_CACHE_HOME/kiln, else $HOME/.cache/kiln; KILN_CACHE=off keeps none.\n"
     "\n"
     "  stats          the directory, whether it can be used, what is in it\n"
     "  list           each file: when it was last used, its size, what making it took\n"
     "  clear          removes all of kiln's files there\n"
     "  trim           removes the longest unused ones beyond a limit, and what was half written\n"
     "  --bytes N      the limit of trim: 64M; without it the one that kiln keeps itself\n"
     "  --json         of stats: one JSON object\n"},
    {{"doctor", 0, NULL},
     kn_cmd_doctor,
     "say what this machine has, and what is missing",
     "usage: kiln doctor\n"
     "\n"
     "Says what was found of driver, compiler and devices, and what to do about what was not.\n"},
};

enum { NCOMMANDS = sizeof commands / sizeof *commands };

static const struct command *find_command(const char *name)
{
    for (int i = 0; i < NCOMMANDS; i++)
        if (strcmp(commands[i].takes.command, name) == 0)
            return &commands[i];
    return NULL;
}

static void put_usage(FILE *f)
{
    fputs("usage: kiln COMMAND ...\n\n", f);
    for (int i = 0; i < NCOMMANDS; i++)
        fprintf(f, "  kiln %-8s  %s\n", commands[i].takes.command, commands[i].summary);
    fputs("  kiln --version\n"
          "\n"
          "kiln help COMMAND says more. Exit status: 0 done; 2 the request has no meaning (usage,\n"
          "syntax, types, shapes); 3 it could not be done (device, compiler, memory, output).\n",
          f);
}

static int dispatch(int argc, char **argv, kn_err *e)
{
    const char *name = argc > 1 ? argv[1] : "";
    bool help = strcmp(name, "help") == 0;
    if (argc == 1)
        return kn_usage_error(e, "no command given; kiln --help lists them");
    if (strcmp(name, "--version") == 0) {
        printf("kiln %s\n", kiln_version());
        return KN_EXIT_OK;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || (help && argc == 2)) {
        put_usage(stdout);
        return KN_EXIT_OK;
    }
    const struct command *c = find_command(help ? argv[2] : name);
    if (!c)
        return kn_usage_error(e, "there is no command '%s'; see kiln --help",
                              help ? argv[2] : name);
    if (help || (argc > 2 && (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0))) {
        fputs(c->usage, stdout);
        return KN_EXIT_OK;
    }
    kn_args args;
    int status = kn_args_parse(argc - 2, argv + 2, &c->takes, &args, e);
    if (!status)
        status = c->run(&args, e);
    kn_args_finish(&args);
    return status;
}

int main(int argc, char **argv)
{
    kn_err e = {0};
    kn_ending_watch();
    signal(SIGXFSZ, SIG_IGN); /* writing beyond a limit on file sizes is an error like others */
    int status = dispatch(argc, argv, &e);
    kn_progress(NULL);
    if (!status && (fflush(stdout) != 0 || ferror(stdout)))
        status = kn_run_error(&e, "cannot write to standard output");
    if (status)
        fprintf(stderr, "kiln: %s\n", e.text);
    return status;
}
