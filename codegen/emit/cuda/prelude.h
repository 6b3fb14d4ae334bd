/* The device code in front of a kernel: the files of codegen/emit/cuda/prelude/ that it uses; the others would only
 * take time to compile.
 *
 * A name belongs to the first file that has it, in the order of CMakeLists.txt. A kernel uses a file if it, or a file
 * that it uses, has one of the file's names. So all overloads of a function must be in one file, except those for a
 * type that another file defines, which are beside the type (tests/prelude.py checks it). */
#ifndef KN_CODEGEN_PRELUDE_H
#define KN_CODEGEN_PRELUDE_H

#include "base/text.h"

/* Puts the files that `kernel` uses; with `fast`, also fast.cuh, which maps functions to the hardware's
 * approximations. */
void kn_prelude(kn_text *t, const char *kernel, bool fast);

/* ---- the tables, which cmake/prelude.cmake makes ---- */

typedef struct kn_prelude_part {
    const char *text;
    unsigned needs; /* a bit for each part before it */
} kn_prelude_part;

/* Sorted. */
typedef struct kn_prelude_name {
    const char *name;
    int part;
} kn_prelude_name;

extern const kn_prelude_part kn_prelude_parts[];
extern const kn_prelude_name kn_prelude_names[];
extern const int kn_prelude_count, kn_prelude_name_count;

#endif
