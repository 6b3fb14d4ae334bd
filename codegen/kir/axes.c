/* The axes of a phase, which all of its accesses share. */
#include <stdlib.h>

#include "codegen/kir/kir.h"

typedef void (*access_fn)(kn_access *acc, uint32_t *once, int a, int b);

int kn_phase_vector_axis(const kn_phase *p)
{
    if (p->walk == KN_WALK_COLS && !p->abreast)
        return p->ngroup - 1;
    return p->naxes > p->ngroup ? p->naxes - 1 : -1;
}

bool kn_access_turned(const kn_access *acc, int across, int down, int bytes)
{
    enum { LINE = 64 };
    return llabs(acc->stride[down]) == 1 && llabs(acc->stride[across]) * bytes >= LINE;
}

static int axes_of(const kn_access *acc) { return __builtin_popcount(acc->axes); }

const kn_access *kn_phase_primary(const kn_phase *ph)
{
    const kn_access *best = NULL;
    if (ph->reds.len == 0)
        for (int i = 0; i < ph->stores.len; i++)
            if (!best || axes_of(&ph->stores.data[i].access) > axes_of(best))
                best = &ph->stores.data[i].access;
    for (int i = 0; i < ph->values.len && ph->reds.len; i++)
        if (ph->values.data[i].kind == KN_V_LOAD &&
            (!best || axes_of(&ph->values.data[i].access) > axes_of(best)))
            best = &ph->values.data[i].access;
    return best;
}

static void each_access(kn_phase *ph, access_fn fn, int a, int b)
{
    uint32_t none = 0;
    for (int i = 0; i < ph->values.len; i++)
        if (kn_has_access(&ph->values.data[i]))
            fn(&ph->values.data[i].access, &none, a, b);
    for (int i = 0; i < ph->stores.len; i++)
        fn(&ph->stores.data[i].access, &ph->stores.data[i].once, a, b);
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
    each_access(ph, drop_in_access, a, ph->naxes);
    for (int i = a; i + 1 < ph->naxes; i++)
        ph->axes[i] = ph->axes[i + 1];
    ph->naxes--;
    if (a < ph->ngroup)
        ph->ngroup--;
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
    kn_axis t = ph->axes[a];
    ph->axes[a] = ph->axes[b];
    ph->axes[b] = t;
}
