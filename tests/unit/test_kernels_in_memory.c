/* Compiled kernels in memory: who has one keeps it, the rest are bounded, and the one unused for longest goes first. */
#include <stdio.h>

#include "bench/null_device.h"
#include "tests/device.h"

/* ---- the kernels of a context ---- */

typedef struct fixture {
    null_device dev;
    kn_device_ops ops;
    kn_kernels kernels;
    int compiles, discards;
    bool fails;
} fixture;

static fixture f;

static kn_status compile_one(void *user, kn_code **code)
{
    (void)user;
    f.compiles++;
    if (f.fails)
        return kn_fail(KN_COMPILE, "refused");
    *code = malloc(sizeof **code);
    return KN_OK;
}

static void discard_one(kn_device *dev, kn_code *code)
{
    f.discards++;
    null_discard(dev, code);
}

static void set_up(void)
{
    f = (fixture){.ops = null_ops};
    f.ops.discard = discard_one;
    f.dev.base.ops = &f.ops;
    kn_kernels_init(&f.kernels, &f.dev.base, &kn_malloc_allocator);
}

static void tear_down(void)
{
    kn_kernels_finish(&f.kernels);
    assert_int_equal(f.compiles, f.discards);
}

static kn_compiled *get(int i)
{
    char key[32];
    kn_compiled *c = NULL;
    snprintf(key, sizeof key, "kernel %d", i);
    assert_int_equal(kn_kernels_get(&f.kernels, key, compile_one, NULL, &c), KN_OK);
    assert_non_null(c);
    return c;
}

static void use(int i) { kn_kernels_release(&f.kernels, get(i)); }

static void test_bounded(void **state)
{
    (void)state;
    enum { MANY = 3 * KN_IDLE_KERNELS };
    set_up();
    for (int i = 0; i < MANY; i++)
        use(i);
    assert_int_equal(f.compiles, MANY);
    assert_int_equal(kn_kernels_count(&f.kernels), KN_IDLE_KERNELS);
    assert_int_equal(f.kernels.dropped, MANY - KN_IDLE_KERNELS);
    assert_int_equal(f.discards, MANY - KN_IDLE_KERNELS);
    tear_down();
}

static void test_order(void **state)
{
    (void)state;
    set_up();
    for (int i = 0; i < KN_IDLE_KERNELS; i++)
        use(i);
    use(0); /* now 1 is the one unused for longest */
    use(KN_IDLE_KERNELS);
    assert_true(kn_kernels_has(&f.kernels, "kernel 0"));
    assert_false(kn_kernels_has(&f.kernels, "kernel 1"));
    assert_true(kn_kernels_has(&f.kernels, "kernel 2"));
    int before = f.compiles;
    use(0);
    assert_int_equal(f.compiles, before);
    use(1);
    assert_int_equal(f.compiles, before + 1);
    tear_down();
}

static void test_in_use(void **state)
{
    (void)state;
    set_up();
    kn_compiled *mine = get(-1);
    assert_ptr_equal(get(-1), mine);
    for (int i = 0; i < 2 * KN_IDLE_KERNELS; i++)
        use(i);
    assert_true(kn_kernels_has(&f.kernels, "kernel -1"));
    kn_kernels_release(&f.kernels, mine);
    for (int i = 0; i < 2 * KN_IDLE_KERNELS; i++)
        use(i);
    assert_true(kn_kernels_has(&f.kernels, "kernel -1")); /* the other user */
    kn_kernels_release(&f.kernels, mine);
    for (int i = 0; i < 2 * KN_IDLE_KERNELS; i++)
        use(i);
    assert_false(kn_kernels_has(&f.kernels, "kernel -1"));
    tear_down();
}

static void test_failures(void **state)
{
    (void)state;
    kn_compiled *c;
    set_up();
    f.fails = true;
    for (int i = 0; i < 3; i++)
        assert_int_equal(kn_kernels_get(&f.kernels, "bad", compile_one, NULL, &c), KN_COMPILE);
    assert_int_equal(kn_kernels_count(&f.kernels), 0);
    assert_int_equal(f.compiles, 3);
    f.fails = false;
    f.compiles = 0;
    use(0);
    tear_down();
}

/* ---- programs ---- */

static bool never(kn_device *dev, void *stream)
{
    (void)dev, (void)stream;
    return false;
}

/* Runs with so many kinds of arguments that variants are forgotten. */
static void run_many(kiln_prog *p, int64_t columns)
{
    for (int n = 1; n <= 300; n++) {
        const int64_t shape[] = {n, columns + n};
        kiln_arg args[] = {{"x", (void *)(uintptr_t)0x10000000000, KILN_F32, 2, shape, NULL},
                           {"y", (void *)(uintptr_t)0x20000000000, KILN_F32, 2, shape, NULL}};
        good(kiln_run(p, NULL, args, 2));
    }
}

/* A launch that was captured has its kernel as long as the program is there. */
static void test_programs(void **state)
{
    (void)state;
    for (int captures = 0; captures < 2; captures++) {
        null_context n;
        kn_device_ops ops = null_ops;
        kiln_stats before, after;
        ops.captures = captures ? never : NULL;
        null_open(&n, &kn_malloc_allocator);
        n.dev.base.ops = &ops;
        kiln_prog *p = compile(&n.ctx, "def f(x: f32[N, C]):\n"
                                       "    y = x - sum(x, axis=1, keepdims=True)\n    return y\n");
        run_many(p, 32);
        run_many(p, 200000); /* by other kernels, and those before are forgotten */
        kiln_stats_init(&before);
        kiln_stats_init(&after);
        good(kiln_ctx_stats(&n.ctx, &before));
        assert_in_range(before.kernels, 2, before.compiles);
        assert_int_equal(n.core.kernels.idle == 0, captures); /* else those of forgotten variants */
        kiln_prog_destroy(p);
        good(kiln_ctx_stats(&n.ctx, &after));
        assert_int_equal(n.core.kernels.idle, after.kernels);
        assert_int_equal(after.kernels + after.kernels_dropped, after.compiles);
        null_close(&n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounded),  cmocka_unit_test(test_order),
        cmocka_unit_test(test_in_use),   cmocka_unit_test(test_failures),
        cmocka_unit_test(test_programs),
    };
    return cmocka_run_group_tests_name("kernels", tests, NULL, NULL);
}
