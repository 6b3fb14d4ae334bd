#include "codegen/sched/sched.h"

#include <string.h>

const kn_schedule *kn_schedule_choose(const kn_phase *ph)
{
    static const kn_schedule *const kinds[] = {&kn_sched_flat, &kn_sched_cols, &kn_sched_rows};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i]->can(ph))
            return kinds[i];
    return &kn_sched_rows;
}

/* Can `acc` be walked by vectors of `vec` elements along axis `va`? True also where it need not be. */
static bool vector_fits(const kn_phase *ph, const kn_access *acc, const kn_buf *buf, int align,
                        int va, int vec)
{
    int bytes = kn_bytes(buf->dtype) * vec;
    if (acc->stride[va] != 1)
        return true;
    if (align % (bytes < 16 ? bytes : 16) != 0)
        return false;
    for (int a = 0; a < ph->naxes; a++)
        if (a != va && acc->stride[a] % vec != 0)
            return false;
    return acc->split_stride % vec == 0;
}

static void set_kinds(const kn_phase *ph, kn_access *acc, int va)
{
    for (int a = 0; a < ph->naxes; a++)
        acc->kind[a] = acc->stride[a] == 0              ? KN_STRIDE_ZERO
                       : a == va && acc->stride[a] == 1 ? KN_STRIDE_ONE
                                                        : KN_STRIDE_PARAM;
    acc->vector = ph->vec > 1 && va >= 0 && acc->kind[va] == KN_STRIDE_ONE;
}

void kn_schedule_vectors(kn_phase *ph, const int *align, const kn_buf *bufs, bool allow)
{
    int va = kn_phase_vector_axis(ph), widest = 1;
    for (int i = 0; i < ph->values.len; i++) {
        int b = kn_bytes(ph->values.data[i].dtype);
        if (ph->values.data[i].kind == KN_V_LOAD && b > widest)
            widest = b;
    }
    for (int i = 0; i < ph->stores.len; i++) {
        int b = kn_bytes(bufs[ph->stores.data[i].access.buf].dtype);
        if (ph->stores.data[i].kind == KN_STORE_ELEMENT && b > widest)
            widest = b;
    }
    ph->vec = widest == 8 ? 2 : 4;
    if (va < 0 || !allow || ph->walk == KN_WALK_COLS)
        ph->vec = 1;
    for (; ph->vec > 1; ph->vec /= 2) {
        bool fits = ph->axes[va].extent % ph->vec == 0 && ph->axes[va].extent > 0;
        for (int i = 0; fits && i < ph->values.len; i++) {
            const kn_value *v = &ph->values.data[i];
            if (v->kind == KN_V_LOAD)
                fits = vector_fits(ph, &v->access, &bufs[v->access.buf], align[v->access.buf], va,
                                   ph->vec);
        }
        for (int i = 0; fits && i < ph->stores.len; i++) {
            const kn_access *acc = &ph->stores.data[i].access;
            if (ph->stores.data[i].kind == KN_STORE_ELEMENT)
                fits = vector_fits(ph, acc, &bufs[acc->buf], align[acc->buf], va, ph->vec);
        }
        if (fits)
            break;
    }
    for (int i = 0; i < ph->values.len; i++)
        if (ph->values.data[i].kind == KN_V_LOAD)
            set_kinds(ph, &ph->values.data[i].access, va);
    for (int i = 0; i < ph->stores.len; i++)
        set_kinds(ph, &ph->stores.data[i].access, va);
}

int64_t kn_schedule_splits(const kn_phase *ph, const kn_schedule *kind, const kn_target *target,
                           const char *force, int64_t *chunk)
{
    bool general = force && strcmp(force, "general") == 0, gpu = strcmp(target->kind, "cuda") == 0;
    *chunk = ph->members;
    if (ph->reds.len == 0 || ph->members < 2 || (force && strcmp(force, "rows") == 0) ||
        (gpu && !target->cooperative))
        return 1;
    int64_t blocks = kind->walk == KN_WALK_COLS && gpu ? (ph->groups + 31) / 32 : ph->groups;
    int64_t work = ph->groups * ph->members;
    if (blocks == 0 || (!general && (blocks >= target->units || work < 1 << 16)))
        return 1;
    /* a range is worth a block: some steps for each of its threads */
    int64_t least = general ? 1 : kind->walk == KN_WALK_COLS ? 64 : gpu ? 4096 : 16384;
    int64_t want = ((gpu ? 4 : 1) * target->units + blocks - 1) / blocks;
    int64_t most = (ph->members + least - 1) / least;
    if (general && want < 2)
        want = 2;
    if (want > most)
        want = most;
    if (want < 2)
        return 1;
    *chunk = ((ph->members + want - 1) / want + 3) / 4 * 4; /* whole vectors */
    int64_t splits = (ph->members + *chunk - 1) / *chunk;
    return general && splits < 2 ? 1 : splits;
}
