/* What a kernel reads once and what it reads again, and so how its loads and stores treat the caches. */
#include "codegen/cuda.h"
#include "codegen/cuda_writer.h"
#include "codegen/plan.h"

/* Loads of buffer `buf` in the whole kernel, a sweep that loads it again being another. Group values are loaded once,
 * also those that no sweep needs. */
static int times_read(const kn_kernel *k, int buf)
{
    int times = 0;
    for (int p = 0; p < k->phases.len; p++) {
        const kn_phase *ph = &k->phases.data[p];
        for (int i = 0; i < ph->values.len; i++) {
            const kn_value *v = &ph->values.data[i];
            bool again = v->level == KN_ELEMENT && v->kept == KN_KEEP_NONE;
            if (kn_is_read(v) && v->access.buf == buf)
                times += again ? v->sweeps : 1;
        }
    }
    return times;
}

/* Each of its elements is loaded by one step of one worker. */
static bool varies_everywhere(const kn_phase *ph, const kn_value *v)
{
    bool varies = v->kind == KN_V_LOAD && v->level == KN_ELEMENT;
    for (int a = 0; a < ph->naxes; a++)
        varies = varies && v->access.kind[a] != KN_STRIDE_ZERO;
    return varies;
}

static bool reads_elements(const kn_phase *ph, int buf)
{
    bool reads = false;
    for (int i = 0; i < ph->values.len; i++)
        reads = reads || (varies_everywhere(ph, &ph->values.data[i]) &&
                          ph->values.data[i].access.buf == buf);
    return reads;
}

int kn_cuda_read_before(const kn_kernel *k, int p)
{
    const kn_phase *phases = k->phases.data, *ph = &phases[p];
    for (int q = p - 1; q >= 0; q--)
        for (int i = 0; i < ph->values.len; i++)
            if (varies_everywhere(ph, &ph->values.data[i]) &&
                reads_elements(&phases[q], ph->values.data[i].access.buf))
                return q;
    return -1;
}

bool kn_cuda_turns_round(const kn_kernel *k, int p)
{
    bool turned = false;
    for (int q = kn_cuda_read_before(k, p); q >= 0; q = kn_cuda_read_before(k, q))
        turned ^= kn_cuda_goes_round(&k->phases.data[q]) % 2;
    return turned;
}

static bool reads_again(const kn_kernel *k)
{
    bool again = false;
    for (int p = 0; p < k->phases.len; p++) {
        const kn_phase *ph = &k->phases.data[p];
        for (int i = 0; i < ph->values.len; i++)
            again = again || (varies_everywhere(ph, &ph->values.data[i]) &&
                              times_read(k, ph->values.data[i].access.buf) > 1);
    }
    return again;
}

void kn_cuda_find_traffic(kn_cuda_writer *w) { w->rereads = reads_again(w->k); }

/* Is the buffer only read into places on chip, where later phases find it? */
static bool stays_on_chip(const kn_kernel *k, int buf)
{
    bool stays = true;
    for (int p = 0; p < k->phases.len; p++)
        for (int i = 0; i < k->phases.data[p].values.len; i++) {
            const kn_value *v = &k->phases.data[p].values.data[i];
            stays =
                stays && (!kn_is_read(v) || v->access.buf != buf || v->kept == KN_KEEP_RESIDENT);
        }
    return stays;
}

static bool stores_elements(const kn_kernel *k)
{
    bool stores = false;
    for (int p = 0; p < k->phases.len; p++)
        stores = stores || kn_phase_stores_elements(&k->phases.data[p]);
    return stores;
}

/* By which policy is a number of the launch: a kernel is the same for all sizes.
 *
 * Where a kernel only reads, what it will not read again lets go of the caches first: what others left there to be
 * written back can stay. On an H200 a sum of 128 MB behind a kernel that writes 256 writes 9 MB back, not 27, and takes
 * 40 us, not 44. But these few come one by one, so that from some 280 MB on it takes longer: 105 us for 384 MB, not 102;
 * 263 for 1 GB, not 250. Beside writes of the same size it costs 5 %, but not where these come later, behind a barrier:
 * what stays on chip lets go in any case (x / norm(x) of 16 MB: 15.4 us against 15.8).
 *
 * Where it writes too, and reads more than an L2 cache holds, the cache lets go of that last: layernorm of 256 MB takes
 * 129 us, not 134, whatever was there before. What is written leaves earlier then, nearer to the order in which it
 * came. Smaller arrays are left to the caches as ever: whoever comes next may find there what was written. */
int64_t kn_cuda_policy(const kn_kernel *k)
{
    const int64_t most = (int64_t)288 << 20, least = (int64_t)48 << 20;
    int64_t bytes = 0;
    bool reads = false;
    for (int p = 0; p < k->phases.len; p++) {
        const kn_phase *ph = &k->phases.data[p];
        int64_t read = kn_phase_bytes_read(ph, k->bufs.data);
        bytes = read < most - bytes ? bytes + read : most;
        reads = reads || kn_fetches_groups(ph);
        for (int i = 0; i < ph->values.len; i++)
            reads = reads || varies_everywhere(ph, &ph->values.data[i]);
    }
    if (!reads)
        return 0;
    if (stores_elements(k))
        return bytes >= least ? KN_POLICY_LAST : KN_POLICY_NONE;
    return bytes < most ? KN_POLICY_FIRST : KN_POLICY_NONE;
}

/* Columns that copies bring come by no policy. */
bool kn_cuda_streams(const kn_kernel *k)
{
    bool last = k->policy == KN_POLICY_LAST;
    for (int p = 0; p < k->phases.len; p++)
        last = last && !(k->phases.data[p].fetched && k->phases.data[p].walk == KN_WALK_COLS);
    return (last || (k->policy == KN_POLICY_NONE && !stores_elements(k))) && !reads_again(k);
}

static bool by_policy(const kn_cuda_writer *w, const kn_value *v)
{
    return stores_elements(w->k) || times_read(w->k, v->access.buf) == 1;
}

const char *kn_cuda_loaded(kn_cuda_writer *w, const kn_value *v, int n, const char *address)
{
    bool stays = w->near && stays_on_chip(w->k, v->access.buf);
    if (!varies_everywhere(w->ph, v) || !(stays || by_policy(w, v)))
        return kn_cuda_printed(w, "kn_load<%d>(%s)", n, address);
    return stays ? kn_cuda_printed(w, "kn_load_once<%d>(%s)", n, address)
                 : kn_cuda_printed(w, "kn_load_by<%d>(policy, %s)", n, address);
}

/* What is written for others lets go of the caches first where the kernel itself has use for them. */
const char *kn_cuda_store_function(const kn_cuda_writer *w, int buf)
{
    return w->rereads && times_read(w->k, buf) == 0 ? "kn_stream" : "kn_store";
}
