/* From measurements of a GPU to the model's coefficients, and their text. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/kir/target.h"
#include "codegen/model/probes.h"

static const kn_probes some = {.copy = 700,
                               .cached = 2000,
                               .block = 60,
                               .adds = 190.5,
                               .adds_f64 = 3.25,
                               .add = 1.75,
                               .load = 550,
                               .launch = 2500,
                               .barrier = 1200,
                               .cache_bytes = 72 << 20,
                               .near_bytes = 100 << 10};

enum {
    NPROBES = sizeof(kn_probes) / sizeof(double),
    NFIELDS = sizeof(kn_machine) / sizeof(double)
};

static double field(const kn_machine *m, int i) { return ((const double *)m)[i]; }
static int index_of(size_t offset) { return (int)(offset / sizeof(double)); }

/* Of the coefficients, how many differ once probe i is twice as large; all do by this factor. */
static int scaled(int i, double factor)
{
    kn_probes twice = some;
    ((double *)&twice)[i] *= 2;
    const kn_machine before = kn_machine_probed(&some), after = kn_machine_probed(&twice);
    int n = 0;
    for (int j = 0; j < NFIELDS; j++) {
        if (field(&after, j) == field(&before, j)) // NOLINT: to the bit
            continue;
        assert_true(fabs(field(&after, j) / field(&before, j) - factor) < 1e-12);
        n++;
    }
    return n;
}

#define SCALED(probe, factor) scaled(index_of(offsetof(kn_probes, probe)), factor)

static void test_each_probe_scales_its_own(void **state)
{
    (void)state;
    assert_int_equal(SCALED(copy, 2), 2);        /* memory, stream */
    assert_int_equal(SCALED(cached, 2), 1);      /* cache */
    assert_int_equal(SCALED(block, 2), 1);       /* unit */
    assert_int_equal(SCALED(adds, 2), 2);        /* adds; f64 is so much the slower beside it */
    assert_int_equal(SCALED(adds_f64, 0.5), 1);  /* wide */
    assert_int_equal(SCALED(load, 2), 1);        /* latency */
    assert_int_equal(SCALED(launch, 2), 1);      /* launch */
    assert_int_equal(SCALED(barrier, 2), 1);     /* grid */
    assert_int_equal(SCALED(cache_bytes, 2), 3); /* and from where loads evict otherwise */
    assert_int_equal(SCALED(near_bytes, 2), 1);
    assert_int_equal(SCALED(add, 2), 11);
}

static void test_no_coefficient_is_lost(void **state)
{
    (void)state;
    kn_machine known;
    assert_true(kn_machine_named("NVIDIA H200", &known));
    const kn_machine m = kn_machine_probed(&some);
    for (int i = 0; i < NFIELDS; i++)
        assert_true((field(&m, i) > 0) == (field(&known, i) > 0));
    kn_probes none = some; /* no grid barriers: what they would take is an H200's */
    none.barrier = 0;
    assert_true(kn_machine_probed(&none).grid > 0);
}

static void test_targets(void **state)
{
    (void)state;
    kn_machine m;
    kn_target target;
    assert_false(kn_machine_named("NVIDIA H2000", &m));
    assert_true(kn_machine_named("NVIDIA H100 80GB HBM3", &m));
    assert_true(kn_target_of_arch("sm_90", &target));
    assert_true(kn_machine_of(&target)->memory > m.memory); /* an H200's */
    target.machine = &m;
    assert_ptr_equal(kn_machine_of(&target), &m);
}

static void test_text(void **state)
{
    (void)state;
    kn_arena a;
    kn_probes read;
    kn_arena_init(&a, NULL);
    kn_text t = kn_text_new(&a);
    kn_probes_put(&t, &some);
    const char *text = kn_text_str(&t);
    assert_true(kn_probes_read(text, &read));
    assert_memory_equal(&read, &some, sizeof some);

    for (size_t n = 0; n < t.len; n++)
        assert_false(kn_probes_read(kn_strndup(&a, text, n), &read));
    kn_put(&t, "copy 1\n");
    assert_false(kn_probes_read(kn_text_str(&t), &read));
    for (int i = 0; i < NPROBES; i++) {
        const double bad[] = {-1, 0, 1e13};
        for (int j = 0; j < 3; j++) {
            kn_probes wrong = some;
            ((double *)&wrong)[i] = bad[j];
            kn_text u = kn_text_new(&a);
            kn_probes_put(&u, &wrong);
            /* a GPU may have no grid barriers */
            const bool may = j == 1 && i == index_of(offsetof(kn_probes, barrier));
            assert_int_equal(kn_probes_read(kn_text_str(&u), &read), may);
        }
    }
    kn_arena_finish(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_probe_scales_its_own),
        cmocka_unit_test(test_no_coefficient_is_lost),
        cmocka_unit_test(test_targets),
        cmocka_unit_test(test_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
