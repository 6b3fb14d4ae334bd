/* How many parts a bound kernel has of what is split: as many as blocks run at a time. */
#include "codegen/model/resources.h"
#include "codegen/sched/sched.h"

/* Does a local phase merge what `store` leaves for each of so many parts, and nothing else? */
static bool merges(const kn_phase *reader, const kn_store *store, int64_t parts)
{
    return reader->local && reader->nest.ngroup == 0 && reader->nest.naxes == 1 &&
           reader->nest.axes[0].extent == parts && store->access.split_stride == 1;
}

/* Visits the phases that read what `split` stores for each of so many parts; false: not all merge it. With `fewer`
 * they have so many from then on. */
static bool visit_mergers(kn_kernel *k, const kn_phase *split, int64_t parts, int64_t fewer)
{
    for (int s = 0; s < split->nest.stores.len; s++) {
        const kn_store *st = &split->nest.stores.data[s];
        for (int i = 0; i < k->phases.len && st->kind == KN_STORE_PARTIAL; i++) {
            kn_phase *reader = &k->phases.data[i];
            if (!kn_reads_from(reader, st->access.buf))
                continue;
            if (!merges(reader, st, parts))
                return false;
            if (fewer)
                reader->nest.axes[0].extent = reader->nest.members = reader->num.chunk = fewer;
        }
    }
    return true;
}

bool kn_may_have_fewer_parts(kn_kernel *k, int p)
{
    const kn_phase *ph = &k->phases.data[p];
    return ph->how.walk == KN_WALK_ROWS && kn_is_cyclic(ph) && !ph->how.resident &&
           ph->nest.groups == 1 && visit_mergers(k, ph, ph->num.splits, 0);
}

void kn_have_parts(kn_kernel *k, int p, int64_t parts)
{
    kn_phase *ph = &k->phases.data[p];
    visit_mergers(k, ph, ph->num.splits, parts);
    ph->num.splits = parts;
}

void kn_fit_parts(const kn_site *at, kn_kernel *k, int p)
{
    const int64_t splits = k->phases.data[p].num.splits;
    if (splits <= 1)
        return;
    const int64_t blocks = (int64_t)(kn_blocks_a_unit(k, at->target) * at->target->units);
    if (splits > blocks && blocks > 1 && kn_may_have_fewer_parts(k, p))
        kn_have_parts(k, p, blocks);
}
