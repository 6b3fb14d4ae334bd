/* Small reductions by each block for itself, where the phase that has them stores something along its members too and
 * where it does not: every device agrees with the reference interpreter. */
#include "tests/differential/cases.h"

/* Those that have a local phase. */
static const text_case cases[] = {
    /* by vectors, of which the last threads have one less */
    {"def f(x: f32[N], y: f32[M]):\n"
     "    v = var(x)\n"
     "    return x - v, y * v + max(x)\n",
     "N=1036 M=1000", true},
    {"def f(x: f64[N], y: f32[M]):\n"
     "    v = var(x)\n"
     "    return v, tanh(x - mean(x)), v / y\n",
     "N=513 M=3000", true},
    /* one of two results is read, by two loop nests */
    {"def f(x: i32[N], y: f32[M], z: f32[M, K]):\n"
     "    s = sum(x)\n"
     "    return x - max(x), y + s, sum(z, axis=1) * s, s\n",
     "N=700 M=80 K=90", true},
    /* nothing else is stored */
    {"def f(x: f32[N], y: f32[M]):\n    return y / sum(x)\n", "N=300 M=1000", true},
    {"def f(x: f32[N], y: f32[M]):\n"
     "    s = sum(x)\n"
     "    return s, y / s\n",
     "N=300 M=1000", true},
    /* who reads it waits for what is stored along the members anyway */
    {"def f(x: f32[N, N]):\n"
     "    e = tanh(exp(sin(x - mean(x))))\n"
     "    return e, e + e.T - mean(x)\n",
     "N=40", false},
    {"def f(x: f32[N], y: f32[M]):\n    return x - mean(x), y * mean(x)\n", "N=16500 M=100", false},
    {"def f(x: f32[N], y: f32[M]):\n    return x - mean(x), y * mean(x)\n", "N=0 M=100", true},
    {"def f(x: f32[N], y: f32[M]):\n    return x - mean(x), y * mean(x)\n", "N=100 M=0", true},
    {"def f(x: f32[N], y: f32[M]):\n    return x - mean(x), y * mean(x)\n", "N=1 M=1", true},
    /* a reader without groups cannot store the sum */
    {"def f(x: f32[N], y: f32[M, N]):\n"
     "    s = sum(x)\n"
     "    return s, mean(y + s, axis=1)\n",
     "N=3 M=5", true},
    {"def f(x: f32[N], y: f32[M, N]):\n"
     "    s = sum(x)\n"
     "    return s, mean(y + s, axis=1)\n",
     "N=3 M=0", false},
    {"def f(x: f32[N], y: f32[M, N], z: f32[K, N]):\n"
     "    s = sum(x)\n"
     "    return s, mean(y + s, axis=1), sum(z * s, axis=1)\n",
     "N=3 M=0 K=5", true},
};
enum { CASES = sizeof cases / sizeof *cases };

static bool is_local(const kn_phase *ph) { return ph->local; }

static void test_cpu(void **state)
{
    (void)state;
    check_cases("cpu", cases, CASES, 1, is_local);
}

static void test_emu(void **state)
{
    (void)state;
    check_cases("emu", cases, CASES, 4, is_local);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cpu), cmocka_unit_test(test_emu)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
