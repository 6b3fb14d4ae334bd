/* Arrays that are promised: kn_program_prepare() may be told of them without their addresses.
 *
 * They get addresses that no memory has, as well aligned as is promised and apart from each other, so that everything up
 * to the launches sees what a run will see: the same signature, the same variant, the same copies. */
#ifndef KN_RUNTIME_PROMISE_H
#define KN_RUNTIME_PROMISE_H

#include "runtime/program.h"

/* The arguments, with such addresses where an array has elements and no data, and zeros for numbers; arrays that do not
 * fit the program stay as they are. alignment: a power of two. `args` itself where all have data. */
const kn_arg *kn_promised_args(kn_arena *a, const kn_program *p, const kn_arg *args, int nargs,
                               int alignment);
bool kn_is_promised(const void *data);

#endif
