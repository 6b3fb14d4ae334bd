/* Stand-ins: arguments for runs that are only timed. What shares memory with an output lies elsewhere, as far apart and
 * as well aligned as the caller's, so that runs overlap, copy and write in place as the caller's would, and leave
 * nothing of it behind; and so does what is only promised, as zeros. The rest of the inputs are the caller's own: they are
 * read. */
#ifndef KN_RUNTIME_STANDIN_H
#define KN_RUNTIME_STANDIN_H

#include "runtime/variant.h"

/* Memory that stands for [low, high) of the caller's. */
typedef struct kn_standin {
    const char *low, *high;
    char *block; /* device memory */
    char *at;    /* in it: what stands for `low` */
} kn_standin;

typedef struct kn_standins {
    kn_device *dev;
    const kn_binding *binding;
    kn_arg *args; /* with these addresses */
    int nargs, n;
    kn_standin *list;
} kn_standins;

/* Host memory in `a`, all of it taken before any of the device's. On failure too, kn_standins_finish() releases what
 * there is. */
kn_status kn_standins_make(kn_standins *s, kn_arena *a, kn_device *dev, const kn_binding *b,
                           const kn_arg *args, int nargs);
void kn_standins_finish(kn_standins *s);

/* Copies the inputs that lie there anew, on the stream: a run has changed them. */
kn_status kn_standins_fill(const kn_standins *s, void *stream);

#endif
