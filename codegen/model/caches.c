/* What a kernel reads once and what it reads again, in which order, and what that is to the caches. */
#include "codegen/model/caches.h"

#include "base/integer.h"
#include "base/work.h"
#include "codegen/model/machine.h"

int64_t kn_bytes_read(kn_arena *a, const kn_phase *ph, int value, const kn_buf *bufs)
{
    const kn_touched touched = kn_read_touches(a, ph, value);
    const int64_t n = touched.steps < touched.most ? touched.steps : touched.most;
    return kn_capped_product(n, kn_bytes(bufs[kn_value_at(ph, value)->access->buf].dtype));
}

int64_t kn_phase_bytes_read(kn_arena *a, const kn_phase *ph, const kn_buf *bufs)
{
    int64_t bytes = 0;
    for (int i = 0; i < ph->nest.values.len; i++)
        if (kn_is_read(kn_value_at(ph, i)) &&
            __builtin_add_overflow(bytes, kn_bytes_read(a, ph, i, bufs), &bytes))
            return INT64_MAX;
    return bytes;
}

bool kn_goes_by_group(const kn_phase *ph)
{
    return ph->how.walk == KN_WALK_ROWS && !ph->how.split && !ph->how.mixed && !ph->how.cluster &&
           ph->nest.reds.len > 0;
}

/* Times that a phase goes through its arrays, each in the reverse of the direction before. */
static int times_through(const kn_phase *ph)
{
    return kn_goes_by_group(ph) || ph->how.mixed ? 1 : ph->nest.nsweeps;
}

bool kn_varies_everywhere(const kn_phase *ph, const kn_value *v)
{
    bool varies = v->kind == KN_V_LOAD && v->level == KN_ELEMENT;
    for (int a = 0; a < ph->nest.naxes; a++)
        varies = varies && v->access->kind[a] != KN_STRIDE_ZERO;
    return varies;
}

/* The buffer of which value i reads elements; -1: of none. */
static int elements_of(const kn_phase *ph, int i)
{
    const kn_value *v = &ph->nest.values.data[i];
    return kn_varies_everywhere(ph, v) ? v->access->buf : -1;
}

/* Does a group take an element by an index from its own part of an array, which it walks as well? That does not read the
 * array again. */
static bool takes_from_its_own(const kn_phase *ph, const kn_value *v)
{
    bool walked = false;
    for (int i = 0; i < ph->nest.values.len; i++)
        walked = walked || elements_of(ph, i) == v->access->buf;
    return walked && v->kind == KN_V_GATHER && v->level == KN_GROUP &&
           kn_access_varies(v->access, 0, ph->nest.ngroup);
}

/* Group values are loaded once, also those that no sweep needs. */
const int *kn_times_read(const kn_kernel *k)
{
    int *times = KN_NEW_ARRAY(k->arena, int, k->bufs.len + 1);
    for (int p = 0; p < k->phases.len; p++) {
        const kn_phase *ph = &k->phases.data[p];
        for (int i = 0; i < ph->nest.values.len; i++) {
            const kn_value *v = &ph->nest.values.data[i];
            bool again = v->level == KN_ELEMENT && !kn_kept(ph, i);
            if (kn_is_read(v) && !takes_from_its_own(ph, v))
                times[v->access->buf] += again ? v->sweeps : 1;
        }
    }
    return times;
}

const bool *kn_walks_backwards(const kn_kernel *k)
{
    bool *backwards = KN_NEW_ARRAY(k->arena, bool, k->phases.len + 1);
    int *last = KN_NEW_ARRAY(k->arena, int, k->bufs.len + 1); /* 1 + the phase that read it */
    for (int p = 0; p < k->phases.len; p++) {
        const kn_phase *ph = &k->phases.data[p];
        int before = 0, buf;
        kn_work(1 + ph->nest.values.len / 8);
        for (int i = 0; i < ph->nest.values.len; i++)
            if ((buf = elements_of(ph, i)) >= 0 && last[buf] > before)
                before = last[buf];
        for (int i = 0; i < ph->nest.values.len; i++)
            if ((buf = elements_of(ph, i)) >= 0)
                last[buf] = p + 1;
        if (before > 0 && !kn_exchanges_groups(&ph->nest)) /* ranks have one order of groups */
            backwards[p] = backwards[before - 1] ^ (times_through(&k->phases.data[before - 1]) % 2);
    }
    return backwards;
}

bool kn_reads_again(const kn_kernel *k)
{
    const int *times = kn_times_read(k);
    bool again = false;
    for (int p = 0; p < k->phases.len; p++) {
        const kn_phase *ph = &k->phases.data[p];
        for (int i = 0; i < ph->nest.values.len; i++) {
            const kn_value *v = &ph->nest.values.data[i];
            again = again || (kn_varies_everywhere(ph, v) && times[v->access->buf] > 1);
        }
    }
    return again;
}

bool kn_stays_on_chip(const kn_kernel *k, int buf)
{
    bool stays = true;
    for (int p = 0; p < k->phases.len; p++)
        for (int i = 0; i < k->phases.data[p].nest.values.len; i++) {
            const kn_value *v = &k->phases.data[p].nest.values.data[i];
            stays = stays && (!kn_is_read(v) || v->access->buf != buf ||
                              kn_kept(&k->phases.data[p], i) == KN_KEEP_RESIDENT);
        }
    return stays;
}

bool kn_kernel_stores_elements(const kn_kernel *k)
{
    bool stores = false;
    for (int p = 0; p < k->phases.len; p++)
        stores = stores || kn_phase_stores_elements(&k->phases.data[p]);
    return stores;
}

/* The policy is a number of the launch, so that a kernel is the same for all sizes.
 *
 * A kernel that only reads evicts first what it reads, below kn_machine.evict_first: lines that others left to be written back
 * may then stay (measured: docs/lab/sums-behind-writes.md). What stays on chip across a barrier is evicted first in any
 * case.
 *
 * One that also writes, and reads more than L2 holds (kn_machine.evict_last), evicts last what it reads: what it writes is evicted earlier
 * then, nearer to the order in which it was written (measured: docs/lab/cache-policy.md). Smaller arrays keep the usual
 * policy: the next kernel may find in L2 what this one wrote. */
int64_t kn_cache_policy(const kn_kernel *k, const kn_target *target)
{
    const double mib = 1 << 20;
    const int64_t most = (int64_t)(kn_machine_of(target)->evict_first * mib);
    const int64_t least = (int64_t)(kn_machine_of(target)->evict_last * mib);
    int64_t bytes = 0;
    bool reads = false;
    for (int p = 0; p < k->phases.len; p++) {
        const kn_phase *ph = &k->phases.data[p];
        int64_t read = kn_phase_bytes_read(k->arena, ph, k->bufs.data);
        bytes = read < most - bytes ? bytes + read : most;
        reads = reads || kn_copies_groups(ph);
        for (int i = 0; i < ph->nest.values.len; i++)
            reads = reads || kn_varies_everywhere(ph, &ph->nest.values.data[i]);
    }
    if (!reads)
        return 0;
    if (kn_kernel_stores_elements(k))
        return bytes >= least ? KN_POLICY_LAST : KN_POLICY_NONE;
    return bytes < most ? KN_POLICY_FIRST : KN_POLICY_NONE;
}

/* Columns that async copies bring have no policy. */
bool kn_streams_through(const kn_kernel *k)
{
    bool last = k->policy == KN_POLICY_LAST;
    for (int p = 0; p < k->phases.len; p++)
        last = last && !(k->phases.data[p].how.async && k->phases.data[p].how.walk == KN_WALK_COLS);
    return (last || (k->policy == KN_POLICY_NONE && !kn_kernel_stores_elements(k))) &&
           !kn_reads_again(k);
}
