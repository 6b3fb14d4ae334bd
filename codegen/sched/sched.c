#include "codegen/sched/sched.h"

#include <string.h>

const kn_schedule *kn_schedule_choose(const kn_phase *ph)
{
    static const kn_schedule *const kinds[] = {&kn_sched_flat, &kn_sched_cols, &kn_sched_rows};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i]->can(ph) && !(ph->universal && kinds[i]->walk == KN_WALK_COLS))
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
        if (a != va && ph->axes[a].extent != 1 && acc->stride[a] % vec != 0)
            return false;
    return acc->split_stride % vec == 0 && acc->offset % vec == 0;
}

static void set_kinds(const kn_phase *ph, kn_access *acc, int va)
{
    for (int a = 0; a < ph->naxes; a++)
        if (ph->universal)
            acc->kind[a] = acc->axes >> a & 1 ? KN_STRIDE_PARAM : KN_STRIDE_ZERO;
        else
            acc->kind[a] = acc->stride[a] == 0              ? KN_STRIDE_ZERO
                           : a == va && acc->stride[a] == 1 ? KN_STRIDE_ONE
                                                            : KN_STRIDE_PARAM;
    acc->shifted = acc->offset != 0 || ph->universal;
    acc->vector = ph->vec > 1 && va >= 0 && acc->kind[va] == KN_STRIDE_ONE;
}

static void set_all_kinds(kn_phase *ph)
{
    int va = kn_phase_vector_axis(ph);
    for (int i = 0; i < ph->values.len; i++)
        if (kn_has_access(&ph->values.data[i]))
            set_kinds(ph, &ph->values.data[i].access, va);
    for (int i = 0; i < ph->stores.len; i++)
        set_kinds(ph, &ph->stores.data[i].access, va);
}

/* From elements of 16 bytes to those of 4, to one. */
static int narrower(int vec, int bytes) { return vec * bytes > 4 && bytes < 4 ? 4 / bytes : 1; }

void kn_schedule_vectors(kn_phase *ph, const int *align, const kn_buf *bufs)
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
    ph->vec = widest < 2 ? 8 : 16 / widest;
    if (ph->walk == KN_WALK_COLS && ph->vec > 4)
        ph->vec = 4;
    if (va < 0 || ph->universal)
        ph->vec = 1;
    while (ph->walk == KN_WALK_COLS && ph->vec > 1 && ph->groups < KN_COLS_LANES * ph->vec)
        ph->vec /= 2; /* narrow tables: rather all lanes than wide ones */
    for (; ph->vec > 1; ph->vec = narrower(ph->vec, widest)) {
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
    set_all_kinds(ph);
}

void kn_schedule_as(kn_phase *ph, int vec)
{
    ph->vec = vec;
    set_all_kinds(ph);
}

/* What the decision to split rests on: bytes a nanosecond that one block (or CPU thread) and the whole
 * machine move, and the nanoseconds of a grid barrier with the launch of the phase behind it. Of the order
 * that an H200 and a desktop CPU show; only their ratios matter. */
typedef struct machine {
    double block_rate, machine_rate, barrier_ns;
    int64_t least_rows, least_cols;   /* members that make a range worth a block */
    int rows_per_unit, cols_per_unit; /* blocks, or ranges, for a multiprocessor */
    int rounds; /* rows: ranges that a block takes one after the other, where there is enough for all */
} machine;

/* Of blocks of 512 threads a multiprocessor holds 2, 3 or 4, as their registers allow. Twelve ranges for each go
 * round evenly in all three cases, and cost nothing beside three (measured on an H200). */
static const machine gpu_machine = {50, 3500, 2500, 4096, 64, 3, 4, 4};
static const machine cpu_machine = {8, 12, 5000, 16384, 64, 1, 1, 1};

/* Is it quicker to split the members over the machine, at a barrier a combine, than to leave each group
 * to its own block? */
static bool pays(const kn_phase *ph, const machine *m, int64_t blocks, int units)
{
    int stages = 0, sweeps = 1;
    for (int i = 0; i < ph->reds.len; i++)
        stages = ph->reds.data[i].stage >= stages ? ph->reds.data[i].stage + 1 : stages;
    for (int i = 0; i < ph->stores.len; i++)
        sweeps = ph->stores.data[i].kind == KN_STORE_ELEMENT ? stages + 1 : sweeps;
    if (sweeps < stages)
        sweeps = stages;
    double bytes = (double)ph->groups * (double)ph->members * 4 * sweeps;
    double whole = m->block_rate * (double)(blocks < units ? blocks : units);
    double waves = (double)((blocks + units - 1) / units) * units / (double)blocks;
    double unsplit = bytes / (whole < m->machine_rate ? whole : m->machine_rate);
    if (blocks > units && whole < m->machine_rate)
        unsplit *= waves;
    return bytes / m->machine_rate + stages * m->barrier_ns < unsplit;
}

int64_t kn_schedule_splits(const kn_phase *ph, const kn_schedule *kind, const kn_target *target,
                           const char *force, int64_t *chunk)
{
    bool general = force && strcmp(force, "general") == 0, gpu = strcmp(target->kind, "cuda") == 0;
    bool cols = kind->walk == KN_WALK_COLS;
    const machine *m = gpu ? &gpu_machine : &cpu_machine;
    *chunk = ph->members;
    if (ph->universal || ph->reds.len == 0 || ph->members < 2 ||
        (force && strcmp(force, "rows") == 0) || (gpu && !target->cooperative))
        return 1;
    int64_t tile = KN_COLS_LANES * ph->vec;
    int64_t blocks = cols && gpu ? (ph->groups + tile - 1) / tile : ph->groups;
    if (blocks == 0 || (!general && !pays(ph, m, blocks, target->units)))
        return 1;
    int per_unit = cols ? m->cols_per_unit : m->rows_per_unit;
    int64_t least = general ? 1 : cols ? m->least_cols : m->least_rows;
    int64_t want = ((int64_t)per_unit * target->units + blocks - 1) / blocks;
    if (!cols && ph->members / (want * m->rounds) >= 4 * least)
        want *= m->rounds;
    int64_t most = (ph->members + least - 1) / least;
    if (general && want < 2)
        want = 2;
    if (want > most)
        want = most;
    if (want < 2)
        return 1;
    *chunk = ((ph->members + want - 1) / want + 7) / 8 * 8; /* whole vectors */
    return (ph->members + *chunk - 1) / *chunk;
}
