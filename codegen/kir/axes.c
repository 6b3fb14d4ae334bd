/* Questions about, and changes of, the axes that all accesses of a phase share. */
#include <stdlib.h>

#include "codegen/kir/kir.h"

typedef void (*access_fn)(kn_access *acc, uint32_t *once, int a, int b);

bool kn_access_transposed(const kn_access *acc, int across, int down, int bytes)
{
    enum { LINE = 64 };
    return llabs(acc->stride[down]) == 1 && llabs(acc->stride[across]) * bytes >= LINE;
}

static int axes_of(const kn_access *acc) { return __builtin_popcount(acc->axes); }

/* Axes of what a value reads: an index stands for one, where it says which row of neighbours is read. */
static int axes_read(const kn_phase *ph, const kn_value *v)
{
    bool rows = false;
    for (int a = 0; a < ph->nest.naxes && v->kind == KN_V_GATHER; a++)
        rows = rows || v->access->stride[a] == 1;
    return v->kind == KN_V_LOAD ? axes_of(v->access) : rows ? axes_of(v->access) + v->nin : -1;
}

const kn_access *kn_phase_primary(const kn_phase *ph)
{
    const kn_access *best = NULL;
    int most = -1;
    if (ph->nest.reds.len == 0)
        for (int i = 0; i < ph->nest.stores.len; i++)
            if (!best || axes_of(&ph->nest.stores.data[i].access) > axes_of(best))
                best = &ph->nest.stores.data[i].access;
    for (int i = 0; i < ph->nest.values.len && ph->nest.reds.len; i++) {
        int axes = axes_read(ph, &ph->nest.values.data[i]);
        best = axes > most ? ph->nest.values.data[i].access : best;
        most = axes > most ? axes : most;
    }
    return best;
}

static void each_access(kn_phase *ph, access_fn fn, int a, int b)
{
    uint32_t none = 0;
    for (int i = 0; i < kn_accesses(ph); i++)
        if (kn_any_access(ph, i))
            fn(kn_any_access(ph, i), i < ph->nest.values.len ? &none : &kn_store_at(ph, i)->once, a,
               b);
}

static uint32_t drop_bit(uint32_t bits, int a)
{
    uint32_t low = bits & ((1u << a) - 1);
    return low | (bits >> (a + 1)) << a;
}

static void drop_in_access(kn_access *acc, uint32_t *once, int a, int naxes)
{
    for (int i = a; i + 1 < naxes; i++)
        acc->stride[i] = acc->stride[i + 1];
    acc->stride[naxes - 1] = 0;
    acc->axes = drop_bit(acc->axes, a);
    *once = drop_bit(*once, a);
}

void kn_drop_axis(kn_phase *ph, int a)
{
    each_access(ph, drop_in_access, a, ph->nest.naxes);
    for (int i = a; i + 1 < ph->nest.naxes; i++)
        ph->nest.axes[i] = ph->nest.axes[i + 1];
    ph->nest.naxes--;
    if (a < ph->nest.ngroup)
        ph->nest.ngroup--;
}

static void swap_in_access(kn_access *acc, uint32_t *once, int a, int b)
{
    int64_t s = acc->stride[a];
    acc->stride[a] = acc->stride[b];
    acc->stride[b] = s;
    uint32_t *bits[] = {&acc->axes, once};
    for (int i = 0; i < 2; i++)
        if ((*bits[i] >> a & 1) != (*bits[i] >> b & 1))
            *bits[i] ^= 1u << a | 1u << b;
}

void kn_swap_axes(kn_phase *ph, int a, int b)
{
    each_access(ph, swap_in_access, a, b);
    kn_axis t = ph->nest.axes[a];
    ph->nest.axes[a] = ph->nest.axes[b];
    ph->nest.axes[b] = t;
}
