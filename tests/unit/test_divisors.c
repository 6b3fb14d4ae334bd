/* A quotient by what many are divided by (codegen/prelude/divisors.cuh): x / by as x times the reciprocal, corrected once
 * by the remainder, in f32. Before the correction it is less than 1.5 units of the last place off, so the remainder is, and
 * with the reciprocal's own error the corrected one is the quotient rounded unless that lies within 8 / (by 2^(places)) of the
 * middle of two numbers, with x and by whole numbers of 24 bits and the middle a multiple of 2^-places. All of these are
 * tried. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/effort.h"

enum { BITS = 24, NEAR = 8, EVERY = EFFORT(1, 101) };

static long tried;

static void try(uint32_t x, uint32_t by)
{
    const float a = (float)x, b = (float)by, reciprocal = 1 / b, rough = a * reciprocal;
    const float quotient = fmaf(fmaf(-rough, b, a), reciprocal, rough);
    tried++;
    if (quotient != a / b)
        fail_msg("%u / %u is %a, not %a", x, by, (double)quotient, (double)(a / b));
}

/* 1 / odd modulo 2^32. */
static uint32_t inverse(uint32_t odd)
{
    uint32_t of = odd;
    for (int i = 0; i < 4; i++) /* each doubles the bits that are right, 3 at first */
        of *= 2 - odd * of;
    return of;
}

/* All x of 24 bits with x 2^places = middle by + off, where middle / 2^places is the middle of two numbers of 24 bits:
 * an odd number of 25. */
static void try_middles(uint32_t by, int places, int off)
{
    const int twos = __builtin_ctz(by);
    if (twos >= places || off % (1 << twos) != 0)
        return;
    const uint32_t step = 1u << (places - twos);
    const uint32_t first = (uint32_t)(-off / (1 << twos)) * inverse(by >> twos) % step;
    for (uint64_t middle = first; middle < 1u << (BITS + 1); middle += step) {
        const uint64_t x = (middle * by + (uint64_t)(int64_t)off) >> places;
        if (middle >> BITS == 1 && middle % 2 == 1 && x >> (BITS - 1) == 1)
            try((uint32_t)x, by);
    }
}

static void test_one_correction_is_enough(void **state)
{
    (void)state;
    for (uint32_t by = 1u << (BITS - 1); by < 1u << BITS; by += EVERY)
        for (int off = -NEAR; off <= NEAR; off++)
            for (int places = BITS; off != 0 && places <= BITS + 1; places++)
                try_middles(by, places, off);
    assert_true(tried > 40000000 / EVERY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_correction_is_enough)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
