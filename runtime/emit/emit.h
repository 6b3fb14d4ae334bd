/* emit: a program as C files that need neither the library nor a compiler of kernels.
 *
 *     NAME.h        its functions
 *     NAME.c        sizes, checks, and for each plan its nests as C (codegen/emit/c), or launches of its kernels, with the
 *                   numbers that they take
 *     kiln_cpu.h    what every such file for the CPU begins with: texts of the CPU device's own headers
 *     NAME_cubin.h  the kernels' machine code
 *     kiln_cuda.h   what every such file for GPUs begins with: runtime/emit/gpu.h
 *
 * One plan is for all sizes: its numbers are formulas (codegen/kir/formula.h), which the emitted program evaluates. Where
 * sizes are pinned there is another one for just these, with numbers as they are. The files are a pure function of the
 * program, its options and the pinned sizes. */
#ifndef KN_RUNTIME_EMIT_H
#define KN_RUNTIME_EMIT_H

#include "runtime/program.h"

typedef struct kn_emitting {
    const char *name;    /* of functions and files; NULL: the program's */
    const char *targets; /* "cpu", which NULL is too, and architectures: "cpu,sm_80,sm_90" */
    const char *sizes;   /* more that are pinned, "N=8 C=64 | N=1 C=64"; NULL: none */
    const char *version; /* of the library, for the files to say */
} kn_emitting;

typedef struct kn_emitted_file {
    const char *name, *text; /* in the arena */
} kn_emitted_file;

typedef struct kn_emitted {
    KN_VEC(kn_emitted_file) files;
} kn_emitted;

/* args: none, or arrays of the sizes that are pinned, without data. */
kn_status kn_emit(kn_program *prog, kn_arena *a, const kn_arg *args, int nargs,
                  const kn_emitting *what, kn_emitted *out);

#endif
