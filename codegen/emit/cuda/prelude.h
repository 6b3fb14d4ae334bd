/* The device code in front of a kernel: those of the files codegen/emit/cuda/prelude/ that it uses, for what it does not use takes
 * time to compile, too.
 *
 * A name is the first file's that has it, in the order of CMakeLists.txt. A file is used if one of its names is, by the
 * kernel or by a file that is used. So all functions of one name are in one file, but those of a type that is the file's
 * own (tests/prelude.py holds that). */
#ifndef KN_CODEGEN_PRELUDE_H
#define KN_CODEGEN_PRELUDE_H

#include "base/text.h"

/* Puts what `kernel` uses; with `fast`, what makes its functions the hardware's approximations. */
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
