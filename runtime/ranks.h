/* Programs of several ranks: what ranks know of each other's arguments.
 *
 * Each rank plans for its own part of what is divided, but must know the others' sizes. They exchange them at
 * kn_program_prepare(), or at a run that was not prepared; from then on a run looks up what was agreed when its own parts
 * were of these sizes. */
#ifndef KN_RUNTIME_RANKS_H
#define KN_RUNTIME_RANKS_H

#include "runtime/comm/comm.h"
#include "runtime/submit.h"

typedef struct kn_divided kn_divided;

/* p->divided, of the optimised graph; and what it adds to a signature. */
kn_status kn_divided_make(kn_program *p);
void kn_divided_finish(kn_program *p);

/* Puts the parts of all ranks behind a signature, where they are known for these arguments; and what kernels take that
 * exchange. */
bool kn_divided_sign(kn_program *p, kn_inputs *in, int64_t *at);
/* Those in a signature; NULL where nothing is divided. */
const int64_t *kn_divided_parts(const kn_program *p, const int64_t *signature);
/* Whether loop nests may exchange with those of other ranks, by a signature. */
bool kn_divided_nests(const kn_program *p, const int64_t *signature);

/* Whether programs, types and sizes are the same, what must be, and which parts each rank has; `mine`: this rank's
 * arguments bind. Collective. */
kn_status kn_divided_agree(kn_submission *s, kn_status mine);
/* Do the ranks' variants exchange in the same order? If not, loop nests do not exchange from now on where arguments have
 * these shapes, and variants are to be made anew. `mine`: s->variant is there. Collective. */
kn_status kn_divided_compare(kn_submission *s, kn_status mine, bool *alike);
/* Does this rank's variant exchange in the order that was agreed? An error where arrays are laid out otherwise. */
kn_status kn_divided_check(const kn_submission *s);
/* Once all ranks have a variant of their arguments; `mine`: this one has. Collective. */
kn_status kn_divided_get_mailbox(kn_submission *s, kn_status mine);

#endif
