/* A quotient by what many are divided by (codegen/emit/cuda/prelude/divisors.cuh): x / by as x times the reciprocal,
 * corrected once by the remainder, in f32. Before the correction it is less than 1.5 units of the last place off, so
 * the remainder is, and with the reciprocal's own error the corrected one is the quotient rounded unless that lies
 * within 8 / (by 2^(places)) of the middle of two numbers, with x and by whole numbers of 24 bits and the middle a
 * multiple of 2^-places. All of these are tried. Of whole divisors quotients below the normal numbers are as near as can
 * be, too. */
#include <float.h>
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

/* x / by for a whole number. */
static float by_whole(float x, float by)
{
    const float reciprocal = 1 / by, q = x * reciprocal;
    const float corrected = fmaf(fmaf(-q, by, x), reciprocal, q);
    return fabsf(corrected) > 0 ? corrected : q;
}

/* Quotients of the least floats, around where they become normal numbers: they may be half a unit off, as those that
 * end there are that lie between two. */
static void test_small_quotients_by_whole_numbers(void **state)
{
    (void)state;
    const float unit = FLT_TRUE_MIN;
    const int normal = 1 << 23; /* units */
    for (int by = 1; by < 3000; by++)
        for (int near = 0; near < 2 * normal - by; near += normal / 2 - 3)
            for (int x = near < by ? 0 : near - by; x <= near + by; x += 1 + by / EFFORT(60, 5)) {
                const float of = (float)x * unit, got = by_whole(of, (float)by);
                const double off = fabs((double)got * by - (double)of);
                if (x < (double)by * normal ? off > 0.5 * by * (double)unit : got != of / (float)by)
                    fail_msg("%d / %d units is %g", x, by, (double)(got / unit));
            }
}

static void test_whole_divisors_out_of_the_ordinary(void **state)
{
    (void)state;
    const float xs[] = {0.0f, -0.0f, INFINITY, -INFINITY, FLT_MAX, -FLT_MAX, 1.0f, FLT_MIN, NAN},
                wholes[] = {0.0f, 1.0f, -3.0f, 16777216.0f, 0x1p63f, 0x1p64f};
    for (size_t i = 0; i < sizeof xs / sizeof *xs; i++)
        for (size_t j = 0; j < sizeof wholes / sizeof *wholes; j++) {
            const float want = xs[i] / wholes[j], got = by_whole(xs[i], wholes[j]);
            assert_true(isnan(want) ? isnan(got) : got == want && !signbit(got) == !signbit(want));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_correction_is_enough),
        cmocka_unit_test(test_small_quotients_by_whole_numbers),
        cmocka_unit_test(test_whole_divisors_out_of_the_ordinary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
