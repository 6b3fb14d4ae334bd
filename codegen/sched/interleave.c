/* Are columns interleaved (interleaved.c)? Where that is predicted to be quicker. */
#include "codegen/model/resources.h"
#include "codegen/sched/sched.h"

/* Fewer steps of a lane do not make up for the combine, which takes microseconds (measured: docs/lab/interleaved-columns.md). */
enum { LEAST_STEPS = 6 };

/* What it takes as it is, in narrower tiles too where there would be few. */
static double separate_ns(const kn_site *at, const kn_phase *ph)
{
    kn_phase few = *ph;
    kn_schedule_few_columns(&few, at->target);
    const double ns = kn_predict_phase_ns(at, ph),
                 other = few.how.lanes < ph->how.lanes ? kn_predict_phase_ns(at, &few) : ns;
    return other < ns ? other : ns;
}

bool kn_interleave_if_quicker(const kn_site *at, kn_phase *ph)
{
    const double alike = 1.02;
    const kn_division force = at->force->division;
    const int64_t members = ph->how.split ? ph->num.chunk : ph->nest.members;
    kn_phase with = *ph;
    if ((force != KN_DIVIDE_BY_COST && force != KN_DIVIDE_SPLIT && force != KN_DIVIDE_RESIDENT &&
         force != KN_DIVIDE_WHOLE) ||
        !kn_interleave(at, &with) ||
        members < (int64_t)LEAST_STEPS * kn_members_interleaved(&with) ||
        kn_predict_phase_ns(at, &with) * (with.how.vec > ph->how.vec ? 1 : alike) >=
            alike * separate_ns(at, ph))
        return false;
    *ph = with;
    return true;
}
