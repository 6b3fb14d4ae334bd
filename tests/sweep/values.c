#include "tests/sweep/sweep.h"

#include <math.h>

static uint64_t mixed(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* ---- floats ---- */

/* Zeros, halfway cases, powers of two, and where functions change: ends of ranges, zeros, poles. */
static const double marks[] = {
    0,        0.5,       1,        1.5,     2,       2.5,       3,         3.5,       7,
    10,       0x1p-1074, 0x1p-149, 0x1p-24, 0x1p-14, 0x1p-126,  0x1p-63,   0x1p11,    0x1p24,
    0x1.8p23, 0x1p31,    0x1p53,   0x1p63,  0x1p100, 1e-40,     1e-5,      0.0625,    0.25,
    0.75,     0.9,       0.99999,  1.25,    1.4616,  2.4570247, 3.1415927, 1.5707964, 6.2831855,
    710,      88.7228,   103.9721, 11.0898, 20,      26.5,      35.04,     171.6,     745.13,
    8.75,     18,        38,       87.5,    104,     125.5,     149.5,     708.4,     1022.5,
    1074.5,   9000,      1e5,      1e-20,   1e-12,   0x1p-25,   INFINITY,
};
enum { MARKS = sizeof marks / sizeof *marks, OWN = 6, SPECIALS = 2 * (MARKS + OWN) + 1 };

static double special(kn_dtype t, int i)
{
    double eps = 2 * kn_unit_roundoff(t), normal = kn_least(t) / eps;
    const double own[OWN] = {kn_least(t),   normal - kn_least(t), normal,
                             kn_largest(t), 1 - eps / 2,          1 + eps};
    if (i == SPECIALS - 1)
        return NAN;
    double x = i / 2 < MARKS ? marks[i / 2] : own[i / 2 - MARKS];
    return i % 2 ? -x : x;
}

static void put_bits(kn_dtype t, uint64_t bits, void *p)
{
    switch (kn_bytes(t)) {
    case 2: *(uint16_t *)p = (uint16_t)bits; break;
    case 4: *(uint32_t *)p = (uint32_t)bits; break;
    default: *(uint64_t *)p = bits;
    }
    if (isnan(kn_scalar_load(t, p).f)) /* a quiet one */
        kn_scalar_store((kn_scalar){.dtype = t, .f = NAN}, p);
}

static void put_float(kn_dtype t, int k, int64_t i, void *p)
{
    uint64_t r = mixed((uint64_t)i * 4 + (uint64_t)k + 1);
    double x = 0;
    if (i < SPECIALS * SPECIALS) {
        int64_t at = k == 0 ? i / SPECIALS : k == 1 ? i % SPECIALS : (i / SPECIALS + i) % SPECIALS;
        x = special(t, (int)at);
    } else if (kn_is_half(t)) {
        put_bits(t, k == 0 ? (uint64_t)i : r, p); /* all of them */
        return;
    } else if (i % 3 == 0) {
        put_bits(t, r, p);
        return;
    } else if (i % 3 == 1) { /* 2^-12 to 2^12 */
        x = ldexp(1 + (double)(r >> 12) * 0x1p-52, (int)(r % 24) - 12) * (r >> 11 & 1 ? -1 : 1);
    } else { /* quarters */
        x = ((double)(r % 801) - 400) / 4;
    }
    kn_scalar_store((kn_scalar){.dtype = t, .f = kn_round(t, x)}, p);
}

/* ---- integers ---- */

static void put_int(kn_dtype t, int k, int64_t i, void *p)
{
    enum { POWERS = 64 };
    uint64_t r = mixed((uint64_t)i * 4 + (uint64_t)k + 1), v = r;
    if (kn_bytes(t) == 1) /* all pairs */
        v = (uint64_t)(k == 0 ? i : k == 1 ? i >> 8 : i * 7 >> 3);
    else if (i % 4 == 0) /* near a power of two, or its negative */
        v = ((r & 1 ? -1ull : 1ull) << (r >> 1) % POWERS) + (r >> 7) % 3 - 1;
    else if (i % 4 == 1)
        v = r % 41 - 20;
    kn_scalar_store((kn_scalar){.dtype = t, .i = kn_int_wrap(t, t == KN_BOOL ? r >> 40 & 1 : v)},
                    p);
}

void values_fill(kn_dtype t, int k, int64_t n, void *out)
{
    for (int64_t i = 0; i < n; i++) {
        char *p = (char *)out + i * kn_bytes(t);
        if (kn_is_float(t))
            put_float(t, k, i, p);
        else
            put_int(t, k, i, p);
    }
}
