/* A call on a variant: where its arguments lie, what must be copied first, and the launches of its kernels. */
#ifndef KN_RUNTIME_SUBMIT_H
#define KN_RUNTIME_SUBMIT_H

#include "runtime/variant.h"

typedef struct kn_submission {
    kn_program *prog;
    void *stream;
    const kn_arg *args;
    int nargs;
    void *workspace; /* the caller's; NULL: the context's */
    size_t bytes;
    kn_prepared *info; /* what it takes goes there, and nothing is launched; NULL: it is */
    bool reserve;      /* then: the context shall have the workspace */
    int alignment;     /* then: of arrays that are promised */
    /* what is found on the way */
    kn_arena *scratch;
    kn_inputs in;
    kn_variant *variant;
} kn_submission;

/* Runs fn(s) with a scratch arena, and releases the variant that it has then. */
kn_status kn_submission_serve(kn_submission *s, kn_protected_fn fn);
/* Launches; of arguments that are signed and have a variant. */
kn_status kn_submit(const kn_submission *s);
/* Binds the arguments, which are signed; what is divided by what ranks have agreed on. */
kn_status kn_submission_bind(const kn_submission *s, kn_binding *b);
/* What kn_bind() has against arguments that were not taken. */
kn_status kn_submission_refuse(const kn_submission *s);

/* A run of this variant. */
kn_status kn_variant_run(kn_program *p, kn_variant *v, void *stream, const kn_arg *args, int nargs);

#endif
