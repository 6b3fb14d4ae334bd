/* Rows that are short or have few bytes an element, whose time goes to instructions: where threads take exactly all of
 * their steps they have no tests; what is computed from 16-bit floats is kept as f32; quotients that become 16-bit floats
 * go by a reciprocal, exponentials before them by the hardware's approximation; extremes of 16-bit floats are found two at a
 * time; where an extreme is is looked for in 32 bits. Every device agrees with the reference interpreter. */
#include "tests/differential/cases.h"

#define SOFTMAX(T)                                                                                 \
    "def f(x: " T "[N, C]):\n"                                                                     \
    "    h = cast(x, f32)\n"                                                                       \
    "    e = exp(h - max(h, axis=1, keepdims=True))\n"                                             \
    "    return cast(e / sum(e, axis=1, keepdims=True), " T ")\n"
#define OVER(T, FACTOR)                                                                            \
    "def f(x: " T "[N, C]):\n"                                                                     \
    "    h = cast(x, f32)\n"                                                                       \
    "    m = max(abs(h), axis=1, keepdims=True)\n"                                                 \
    "    return cast((h * " FACTOR ") / (m * " FACTOR "), " T "), cast(h / (m * " FACTOR "), " T   \
    ")\n"

/* An exponential and what is left of it. */
#define GROWN(E, RESULTS)                                                                          \
    "def f(x: f16[N, C]):\n"                                                                       \
    "    e = exp(cast(x, f32) * " E ")\n"                                                          \
    "    return " RESULTS "\n"

/* Those that have a phase without tests. */
static const text_case cases[] = {
    {SOFTMAX("bf16"), "N=65 C=64", true}, /* threads without a row */
    {SOFTMAX("f16"), "N=33 C=128", true},
    {SOFTMAX("bf16"), "N=9 C=1024", true}, /* a warp a row */
    {SOFTMAX("f16"), "N=3 C=4096", true},  /* a block a row */
    {SOFTMAX("bf16"), "N=33 C=136", false},
    {SOFTMAX("f16"), "N=33 C=63", false},
    {SOFTMAX("f32"), "N=33 C=32", true},   /* short */
    {SOFTMAX("f32"), "N=33 C=256", false}, /* and longer, with as many bytes again to write */
    {"def f(x: bf16[N, C]):\n    return softmax(x, axis=1)\n", "N=33 C=64", true},
    {"def f(x: bf16[N, C], gamma: f16[C]):\n"
     "    h = cast(x, f32)\n"
     "    d = h - mean(h, axis=1, keepdims=True)\n"
     "    return cast(d * rsqrt(mean(d * d, axis=1, keepdims=True) + 1e-5) * gamma, bf16)\n",
     "N=5 C=2048", true},
    {"def f(x: f32[N, C]):\n    return argmax(x, axis=1), argmin(x, axis=1)\n", "N=5 C=2048", true},
    {"def f(x: bf16[N, C]):\n    return argmax(x, axis=1)\n", "N=40 C=64", true},
    {"def f(x: i8[N, C]):\n    return argmin(x, axis=1), argmax(x, axis=0)\n", "N=40 C=63", false},
    /* divisors below the normal numbers, and of all but the largest */
    {OVER("bf16", "1e-40"), "N=33 C=64", true},
    {OVER("bf16", "1e37"), "N=33 C=64", true},
    {OVER("f16", "1e-3"), "N=33 C=64", true},
    /* extremes, two at a time */
    {"def f(x: bf16[N, C]):\n    h = cast(x, f32)\n    return max(h, axis=1), min(h, axis=1)\n",
     "N=5 C=2048", false},
    {"def f(x: bf16[N, C]):\n    h = cast(x, f32)\n    return max(h, axis=1), min(h, axis=1)\n",
     "N=40 C=256", false}, /* by warps, several steps at a time */
    {"def f(x: f16[N, C]):\n    h = cast(x, f32)\n    return h - max(h, axis=1, keepdims=True)\n",
     "N=3 C=8201", false},
    /* exponentials: to 16 bits only, of all sizes; also as they are; of which something else is left */
    {GROWN("9", "cast(e / sum(e, axis=1, keepdims=True), f16)"), "N=65 C=64", true},
    {GROWN("-6", "cast(e * 1e-3 / mean(e, axis=1, keepdims=True), bf16)"), "N=9 C=63", false},
    {GROWN("9", "cast(e / sum(e, axis=1, keepdims=True), f16), e"), "N=9 C=64", false},
    {GROWN("3", "cast(e / 3, f16), cast(e, f16)"), "N=9 C=64", false},
    {GROWN("3", "cast((e - 1) * 5, f16), cast(sum(e * x, axis=1), bf16)"), "N=9 C=64", false},
};
enum { CASES = sizeof cases / sizeof *cases };

static bool is_full(const kn_phase *ph) { return ph->how.full; }

static void test_cpu(void **state)
{
    (void)state;
    check_cases("cpu", cases, CASES, 1, is_full);
}

static void test_emu(void **state)
{
    (void)state;
    check_cases("emu", cases, CASES, 4, is_full);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cpu), cmocka_unit_test(test_emu)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
