#include "cli/random.h"

#include <math.h>
#include <string.h>

/* The output function of splitmix64 (Steele, Lea, Flood 2014): a bijection that scatters its input.
 */
static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* splitmix64's i-th number for the seed `key`, without the ones before. */
static uint64_t draw(uint64_t key, uint64_t i)
{
    return mix(key + (i + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

uint64_t kn_random_key(uint64_t seed, const char *name)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return mix(mix(seed) ^ h);
}

/* The logarithm of 0 < u <= 1, normal. */
static double log_unit(double u)
{
    uint64_t bits;
    memcpy(&bits, &u, sizeof bits);
    int exponent = (int)(bits >> 52) - 1023;
    bits = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1023) << 52;
    double m;
    memcpy(&m, &bits, sizeof m);
    if (m > 1.4142135623730951) {
        m *= 0.5;
        exponent++;
    }
    /* log m = 2 atanh(s), s = (m - 1) / (m + 1), |s| < 0.172 */
    double s = (m - 1) / (m + 1), z = s * s;
    static const double odd[] = {1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11,
                                 1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3,  1.0};
    double p = 0;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        p = p * z + odd[i];
    return exponent * 0.69314718055994531 + 2 * s * p;
}

/* Two independent normal numbers from two draws, after Box and Muller. */
static void normal_pair(uint64_t r1, uint64_t r2, double *out)
{
    double u = (double)((r1 >> 11) + 1) * 0x1p-53; /* 0 < u <= 1 */
    double radius = sqrt(-2 * log_unit(u));
    /* The angle is a quarter turn of four, and t in [-pi/4, pi/4) within it. */
    double t = ((double)((r2 << 2) >> 11) * 0x1p-53 - 0.5) * 1.5707963267948966;
    static const double sine[] = {1.0 / (14 * 15), 1.0 / (12 * 13), 1.0 / (10 * 11), 1.0 / (8 * 9),
                                  1.0 / (6 * 7),   1.0 / (4 * 5),   1.0 / (2 * 3)};
    static const double cosine[] = {1.0 / (13 * 14), 1.0 / (11 * 12), 1.0 / (9 * 10),
                                    1.0 / (7 * 8),   1.0 / (5 * 6),   1.0 / (3 * 4)};
    double z = t * t, s = 1, c = 1 - z / (15 * 16);
    for (size_t i = 0; i < sizeof sine / sizeof *sine; i++)
        s = 1 - s * z * sine[i];
    for (size_t i = 0; i < sizeof cosine / sizeof *cosine; i++)
        c = 1 - c * z * cosine[i];
    s *= t;
    c = 1 - c * z / 2;
    double x = radius * c, y = radius * s;
    switch (r2 >> 62) {
    case 0: out[0] = x, out[1] = y; break;
    case 1: out[0] = -y, out[1] = x; break;
    case 2: out[0] = -x, out[1] = -y; break;
    default: out[0] = y, out[1] = -x; break;
    }
}

enum { BLOCK = 1024 };

/* Elements first, first + 1, ... as doubles; first is even. */
static void float_block(const kn_dist *d, uint64_t key, uint64_t first, double *out)
{
    if (d->kind == KN_DIST_NORMAL)
        for (uint64_t i = 0; i < BLOCK; i += 2)
            normal_pair(draw(key, first + i), draw(key, first + i + 1), out + i);
    else
        for (uint64_t i = 0; i < BLOCK; i++)
            out[i] = d->lo + (d->hi - d->lo) * ((double)(draw(key, first + i) >> 11) * 0x1p-53);
}

/* The same as integers. */
static void int_block(const kn_dist *d, uint64_t key, uint64_t first, int64_t *out)
{
    __extension__ typedef unsigned __int128 wide;
    uint64_t lo = 0, range = 0; /* value lo + [0, range) */
    switch (d->kind) {
    case KN_DIST_RANDINT: lo = (uint64_t)d->ilo, range = (uint64_t)d->ihi - lo; break;
    case KN_DIST_COIN: range = 2; break;
    case KN_DIST_ONES: lo = 1; break;
    case KN_DIST_ZEROS:
    case KN_DIST_NORMAL:
    case KN_DIST_UNIFORM: break;
    }
    for (uint64_t i = 0; i < BLOCK; i++)
        out[i] = (int64_t)(lo + (uint64_t)((wide)draw(key, first + i) * range >> 64));
}

/* A complex number is two of the array's reals, which are independent. */
static kn_cli_array parts_of(const kn_cli_array *a)
{
    kn_cli_array parts = *a;
    parts.dtype = a->dtype == KILN_C64 ? KILN_F32 : KILN_F64;
    parts.count = 2 * a->count;
    return parts;
}

void kn_random_fill(const kn_dist *dist, uint64_t key, kn_cli_array *a)
{
    bool real = dist->kind == KN_DIST_NORMAL || dist->kind == KN_DIST_UNIFORM;
    double f[BLOCK];
    int64_t n[BLOCK];
    if (real && kn_cli_is_complex(a->dtype)) {
        kn_cli_array parts = parts_of(a);
        kn_random_fill(dist, key, &parts);
        return;
    }
    size_t size = kiln_dtype_size(a->dtype);
    for (int64_t first = 0; first < a->count; first += BLOCK) {
        int64_t len = a->count - first < BLOCK ? a->count - first : BLOCK;
        if (real)
            float_block(dist, key, (uint64_t)first, f);
        else
            int_block(dist, key, (uint64_t)first, n);
        char *to = (char *)a->data + (size_t)first * size;
        for (int64_t i = 0; i < len; i++, to += size) {
            if (real)
                kiln_store_float(a->dtype, to, f[i]);
            else
                kiln_store_int(a->dtype, to, n[i]);
        }
    }
}
