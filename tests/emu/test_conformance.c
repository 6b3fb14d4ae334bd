/* The emulator against what the CUDA documents say and what an H200 (sm_90) printed: values to the bit, and
 * for each mistake a message with the line and the thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/emu/check/check.h"
#include "tests/emu/machine.h"

/* ---- warps: cases 1 to 15 ---- */

enum { STEPS = 27 };

/* What the table's step gives lane t. */
static int expected(int step, int t)
{
    int v = t + 100, base = t / 8 * 8;
    switch (step) {
    case 0: return t < 31 ? v + 1 : v;
    case 1: return v;
    case 2: return t < 31 ? v + 1 : v;
    case 3:
    case 4: return t > 0 ? v - 1 : v;
    case 5: return t % 8 < 7 ? v + 1 : v;
    case 6: return t % 8 < 3 ? v : v - 3;
    case 7: return t < 16 ? v : v - 16;
    case 8: return 100 + base + ((t - base) ^ 5);
    case 9: return 105 + base;
    case 10: return 131;
    case 11: return t < 16 ? v + 1 : t < 30 ? v + 2 : v;
    case 12: return 100 + (t ^ 16);
    case 13: return (t < 31 ? v + 1 : v) + (t < 16 ? 0 : 1000);
    case 14: return (int)0xAAAAAAAA;
    case 15: return t < 30 ? 7 << (t / 3 * 3) : (int)0xC0000000;
    case 16: return 496;
    case 17: return t & 1 ? (int)0xAAAAAAAA : -1;
    case 18: return t < 15 ? v + 1 : t < 16 ? v : t < 30 ? v + 2 : v;
    case 19: return 1;
    case 20: return t < 31 ? v + 1 : v;
    case 21: return -1;
    case 22: return 1;
    case 23: return 2;
    case 24: return -9;
    case 25: return -40;
    default: return 0;
    }
}

static void check_table(const char *options)
{
    machine m = open_machine(options, "warp.cu");
    kn_code *code = load(&m, "warp_table");
    int *o = take(&m, STEPS * 32 * sizeof *o, 0xff);
    good(RUN(&m, code, shape(1, 32), &o));
    for (int i = 0; i < STEPS; i++)
        for (int t = 0; t < 32; t++)
            if (o[i * 32 + t] != expected(i, t))
                fail_msg("step %d, lane %d: %d, not %d", i, t, o[i * 32 + t], expected(i, t));
    emu->release(m.dev, o);
    emu->discard(m.dev, code);
    close_machine(&m);
}

static void test_warp_table(void **state)
{
    (void)state;
    check_table(NULL);
    check_table("relaxed,reversed");
    check_table("seed=7");
    check_table("unchecked,seed=8");
}

static void test_undefined(void **state)
{
    (void)state;
    machine m = open_machine(NULL, "warp.cu");
    int *o = take(&m, 64 * sizeof *o, 0xff);
    kn_code *code = load(&m, "undefined");
    says(&m, RUN(&m, code, shape(1, 32), &o), "reads lane 16",
         "lane 15 reads lane 16, which is not in the mask");
    assert_non_null(strstr(kn_last_error(), "thread (15,0,0)"));
    assert_non_null(strstr(kn_last_error(), "kernel 'undefined'"));
    emu->release(m.dev, o);
    emu->discard(m.dev, code);
    close_machine(&m);

    m = open_machine("relaxed", "warp.cu");
    o = take(&m, 64 * sizeof *o, 0xff);
    code = load(&m, "undefined");
    good(RUN(&m, code, shape(1, 32), &o));
    for (int t = 0; t < 32; t++) {
        assert_int_equal(o[t], t < 15 ? t + 101 : t == 15 ? 0 : t < 30 ? t + 102 : t + 100);
        assert_int_equal(o[32 + t], t < 4 ? t + 104 : t < 8 ? 0 : -1);
    }
    emu->release(m.dev, o);
    emu->discard(m.dev, code);
    close_machine(&m);
}

static void test_outsiders(void **state)
{
    (void)state;
    machine m = open_machine(NULL, "warp.cu");
    int *o = take(&m, 128 * sizeof *o, 0xff);
    kn_code *code = load(&m, "outsiders");
    says(&m, RUN(&m, code, shape(1, 32), &o), "mask 0", "lane 0 is not in its own mask 0x00000000");
    emu->release(m.dev, o);
    emu->discard(m.dev, code);
    close_machine(&m);
    static const char *const options[] = {"relaxed", "relaxed,reversed", "relaxed,seed=4"};
    for (int i = 0; i < 3; i++) {
        m = open_machine(options[i], "warp.cu");
        o = take(&m, 128 * sizeof *o, 0xff);
        code = load(&m, "outsiders");
        good(RUN(&m, code, shape(1, 32), &o));
        for (int t = 0; t < 32; t++) {
            int up = t < 31 ? t + 101 : 131;
            assert_int_equal(o[t], up);
            assert_int_equal(o[32 + t], up);
            assert_int_equal(o[64 + t], t < 15    ? t + 101
                                        : t == 15 ? 0
                                        : t < 30  ? t + 102
                                                  : t + 100);
            assert_int_equal(o[96 + t], up);
        }
        emu->release(m.dev, o);
        emu->discard(m.dev, code);
        close_machine(&m);
    }
}

static void check_partial(const int *o)
{
    for (int t = 0; t < 40; t++) {
        assert_int_equal(o[40 + t], t < 32 ? -1 : 0xff);
        assert_int_equal(o[80 + t], t < 35 ? 35 : -1);
        assert_int_equal(o[120 + t], t < 32 ? -1 : t < 35 ? 7 : -1);
    }
}

static void test_partial_warp(void **state)
{
    (void)state;
    machine m = open_machine(NULL, "warp.cu");
    int *o = take(&m, 200 * sizeof *o, 0xff), yes = 1, no = 0;
    kn_code *code = load(&m, "partial");
    good(RUN(&m, code, shape(1, 40), &o, &no));
    check_partial(o);
    says(&m, RUN(&m, code, shape(1, 40), &o, &yes), "reads lane 8 of 8",
         "lane 7 reads lane 8, which does not exist");
    emu->release(m.dev, o);
    emu->discard(m.dev, code);
    close_machine(&m);

    m = open_machine("relaxed", "warp.cu");
    o = take(&m, 200 * sizeof *o, 0xff);
    code = load(&m, "partial");
    good(RUN(&m, code, shape(1, 40), &o, &yes));
    check_partial(o);
    for (int t = 0; t < 40; t++) {
        assert_int_equal(o[t], t == 31 ? 131 : t == 39 ? 0 : t + 101);
        assert_int_equal(o[160 + t], t >= 35 ? -1 : t == 31 ? 131 : t == 34 ? 0 : t + 101);
    }
    emu->release(m.dev, o);
    emu->discard(m.dev, code);
    close_machine(&m);
}

/* ---- mistakes: cases 15, 16, 19, 20 ---- */

static void test_mistakes(void **state)
{
    (void)state;
    static const struct {
        int which, n;
        const char *mark, *words;
    } cases[] = {
        {1, 1, "own mask", "lane 16 is not in its own mask 0x0000ffff"},
        {3, 1, "mask two", "wait for each other"},
        {10, 1, "else", "divergent barrier"},
        {11, 1, "second", "divergent barrier"},
        {12, 1, "not cooperative", "not cooperative"},
        {20, 1, "past the end", "writes 4 bytes at o+256 (of 256 bytes)"},
        {21, 1, "before the beginning", "reads 4 bytes at o-4 (of 256 bytes)"},
        {22, 1, "misaligned", "misaligned"},
        {23, 1, "nothing there", "no memory of this launch"},
        {24, 1, "atomic", "o+256"},
        {25, 1, "by zero", "integer division by zero"},
        {26, 1, "too large", "the quotient of an integer division does not fit"},
        {30, 1, "dynamic", "dynamic shared memory+256 (of 256 bytes)"},
        {31, 1, "unwritten", "shared s+252 (of 256 bytes), which nobody has written"},
        {32, 1, "read after write", "shared s"},
        {33, 1, "write after read", "write-after-read race on shared s"},
        {34, 1, "write after write", "write-after-write race on shared s+0"},
        {35, 1, "index", "index 32"},
        {39, 1, "another tile", "shared s"},
        {40, 1, "volatile", "race on shared s"},
        {41, 1, "before the wait", "which an asynchronous copy is to fill, and nobody has waited"},
        {42, 1, "never waited for", "never waited for"},
        {44, 1, "atomic misaligned", "misaligned"},
        {50, 1, "global read after write", "read-after-write race on o+"},
        {51, 1, "global write after write", "write-after-write race on o+0"},
        {52, 1, "global write after read", "write-after-read race on o+"},
        {53, 1, "global write after many reads", "write-after-read race on o+252"},
        {56, 1, "global write beside atomic", "write-after-write race on o+0"},
    };
    machine m = open_machine(NULL, "errors.cu");
    kn_code *code = load(&m, "mistake");
    int *o = take(&m, 64 * sizeof *o, 0);
    kn_grid g = shape(1, 64);
    g.shared = 256;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int which = cases[i].which, n = which == 20 || which == 24 ? 1 : cases[i].n;
        says(&m, RUN(&m, code, g, &which, &o, &n), cases[i].mark, cases[i].words);
    }
    /* the thread and the text of the line are there too */
    int which = 20, n = 1;
    assert_int_equal(RUN(&m, code, g, &which, &o, &n), KN_RUN);
    assert_non_null(strstr(kn_last_error(), "thread (63,0,0)"));
    assert_non_null(strstr(kn_last_error(), "| "));
    assert_non_null(strstr(kn_last_error(), "o[t + n] = t;"));
    which = 50;
    assert_int_equal(RUN(&m, code, g, &which, &o, &n), KN_RUN);
    assert_non_null(strstr(kn_last_error(), "block (0,0,0), thread (32,0,0)"));
    assert_non_null(strstr(kn_last_error(), "with thread 0 of the block"));
    /* who waits where */
    which = 2;
    assert_int_equal(RUN(&m, code, g, &which, &o, &n), KN_RUN);
    const char *const waits[] = {"half a warp", "the others"};
    assert_non_null(strstr(kn_last_error(), "deadlock"));
    for (int i = 0; i < 2; i++) {
        char line[40];
        snprintf(line, sizeof line, "line %d", line_of(m.text, waits[i]));
        assert_non_null(strstr(kn_last_error(), line));
    }
    which = 3;
    says(&m, RUN(&m, code, g, &which, &o, &n), "mask one", "0xffff0001");
    emu->release(m.dev, o);
    emu->discard(m.dev, code);
    close_machine(&m);
}

/* Memory of small arrays and of blocks can lie side by side: what an address is nearest to is what it is a mistake
 * about. */
static void test_neighbours(void **state)
{
    (void)state;
    static char memory[512];
    const kn_emu_span spans[] = {{.low = memory + 256, .high = memory + 384, .name = "x"}};
    kn_code code = {.name = "k"};
    kn_emu_launch launch = {.spans = (kn_emu_span *)spans, .nspans = 1, .code = &code};
    const kn_emu_worker w = {.launch = &launch, .image = memory, .shared_bytes = 64};
    static const struct {
        int at;
        const char *words;
    } cases[] = {
        {64, "shared memory+64 (past its 64 bytes)"},
        {100, "shared memory+100 (past its 64 bytes)"},
        {250, "x-6 (of 128 bytes)"},
        {256, "x+0 (of 128 bytes)"},
        {384, "x+128 (of 128 bytes)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200];
        kn_emu_describe(&w, memory + cases[i].at, text, sizeof text);
        assert_string_equal(text, cases[i].words);
    }
}

static void test_clean(void **state)
{
    (void)state;
    static const char *const options[] = {NULL, "reversed", "seed=3"};
    for (int i = 0; i < 3; i++) {
        machine m = open_machine(options[i], "errors.cu");
        kn_code *code = load(&m, "mistake");
        int *o = take(&m, 64 * sizeof *o, 0), one = 1;
        kn_grid g = shape(1, 64);
        for (int which = 36; which <= 38; which++) {
            good(RUN(&m, code, g, &which, &o, &one));
            for (int t = 0; t < 64; t++)
                assert_int_equal(o[t], which == 36 ? (t ^ 2) ^ 1 : which == 37 ? 2016 : t ^ 8);
        }
        int which = 43;
        for (int t = 0; t < 64; t++)
            o[t] = 7 * t;
        good(RUN(&m, code, g, &which, &o, &one));
        for (int t = 0; t < 64; t++)
            assert_int_equal(o[t], 7 * (63 - t));
        which = 54;
        good(RUN(&m, code, g, &which, &o, &one));
        for (int t = 0; t < 64; t++)
            assert_int_equal(o[t], 7 * t - 7 * 63);
        which = 55;
        good(RUN(&m, code, g, &which, &o, &one));
        for (int t = 0; t < 64; t++)
            assert_int_equal(o[t], t ^ 1);
        emu->release(m.dev, o);
        emu->discard(m.dev, code);
        close_machine(&m);
    }
}

static void test_relaxed_barriers(void **state)
{
    (void)state;
    machine m = open_machine("relaxed", "errors.cu");
    kn_code *code = load(&m, "mistake");
    int *o = take(&m, 64 * sizeof *o, 0), n = 1;
    for (int which = 10; which <= 11; which++) {
        good(RUN(&m, code, shape(1, 64), &which, &o, &n));
        for (int t = 0; t < 64; t++)
            assert_int_equal(o[t], 63 - t);
    }
    emu->release(m.dev, o);
    emu->discard(m.dev, code);
    close_machine(&m);
}

/* ---- reductions: cases 17 and 18 ---- */

enum { N = 1 << 20, THREADS = 256 };

static void check_ladder(machine *m, const char *entry, const float *in, int step)
{
    kn_code *code = load(m, entry);
    unsigned blocks = step < 3 ? N / THREADS : step < 6 ? N / THREADS / 2 : 64, n = N;
    float *out = take(m, blocks * sizeof *out, 0);
    kn_grid g = shape(blocks, THREADS);
    g.shared = step < 7 ? THREADS * sizeof *out : 0;
    good(RUN(m, code, g, &in, &out, &n));
    double sum = 0;
    for (unsigned i = 0; i < blocks; i++)
        sum += (double)out[i];
    if (sum != 786430.5)
        fail_msg("%s: %.9g", entry, sum);
    emu->release(m->dev, out);
    emu->discard(m->dev, code);
}

static void test_ladder(void **state)
{
    (void)state;
    machine m = open_machine(NULL, "ladder.cu");
    float *in = take(&m, N * sizeof *in, 0);
    for (int i = 0; i < N; i++)
        in[i] = (float)(i % 7) * 0.25f;
    for (int step = 0; step < 7; step++) {
        char entry[40];
        snprintf(entry, sizeof entry, "ladder<%d, float>", step);
        check_ladder(&m, entry, in, step);
    }
    check_ladder(&m, "tiles<float>", in, 7);
    int *ints = (int *)(void *)in, sum = 0;
    for (int i = 0; i < N; i++)
        ints[i] = i % 7;
    kn_code *code = load(&m, "ladder<6, int>");
    int *out = take(&m, 64 * sizeof *out, 0);
    unsigned n = N;
    kn_grid g = shape(64, THREADS);
    g.shared = THREADS * sizeof *out;
    good(RUN(&m, code, g, &ints, &out, &n));
    for (int i = 0; i < 64; i++)
        sum += out[i];
    assert_int_equal(sum, 3145722);
    emu->release(m.dev, out);
    emu->release(m.dev, in);
    emu->discard(m.dev, code);
    close_machine(&m);
}

static void test_grid_sum(void **state)
{
    (void)state;
    machine m = open_machine(NULL, "ladder.cu");
    kn_code *code = load(&m, "grid_sum");
    enum { COUNT = 100000 };
    int *in = take(&m, COUNT * sizeof *in, 0), *partial = take(&m, 64 * sizeof *in, 0),
        *out = take(&m, 2 * sizeof *in, 0), n = COUNT;
    for (int i = 0; i < COUNT; i++)
        in[i] = i % 5;
    kn_grid g = shape(64, 64);
    g.cooperative = true;
    good(RUN(&m, code, g, &in, &partial, &out, &n));
    assert_int_equal(out[0], 200000);
    assert_int_equal(out[1], 0);
    emu->release(m.dev, in);
    emu->release(m.dev, partial);
    emu->release(m.dev, out);
    emu->discard(m.dev, code);
    close_machine(&m);
}

/* ---- the rest ---- */

static void test_shapes(void **state)
{
    (void)state;
    machine m = open_machine(NULL, "ladder.cu");
    kn_code *code = load(&m, "shapes");
    struct {
        double x, y;
    } scale = {1.5, 2.0};
    int *o = take(&m, 12 * 24 * sizeof *o, 0);
    float *v = take(&m, 12 * sizeof *v, 0);
    memcpy(v, (float[]){2, 3, 4, 5}, 4 * sizeof *v);
    kn_grid g = {.grid = {2, 3, 2}, .block = {4, 3, 2}};
    good(RUN(&m, code, g, &o, &v, &scale));
    for (int b = 0; b < 12; b++)
        for (int t = 0; t < 24; t++)
            assert_int_equal(o[b * 24 + t], b * 100 + t);
    const float expect[] = {7, 0.5f, 7, 3.5f, 1, 16, 31, 2};
    assert_memory_equal(v + 4, expect, sizeof expect);
    emu->release(m.dev, o);
    emu->release(m.dev, v);
    emu->discard(m.dev, code);
    close_machine(&m);
}

static void test_refusals(void **state)
{
    (void)state;
    machine m = open_machine(NULL, "ladder.cu");
    kn_code *code = NULL;
    assert_int_equal(
        emu->load(m.dev, "k", "__global__ void k(int *o)\n{\n    o[0] = missing;\n}\n", &code),
        KN_COMPILE);
    assert_non_null(strstr(kn_last_error(), "kernel.cu:3"));
    assert_non_null(strstr(kn_last_error(), "missing"));
    assert_int_equal(emu->load(m.dev, "absent", "__global__ void k(int *o) {}\n", &code),
                     KN_COMPILE);
    assert_non_null(strstr(kn_last_error(), "no kernel 'absent' in the source; it has k"));
    code = load(&m, "grid_sum");
    int *o = take(&m, 4, 0);
    assert_int_equal(RUN(&m, code, shape(1, 64), &o), KN_ARGUMENT);
    assert_non_null(strstr(kn_last_error(), "4 parameters; 1"));
    assert_int_equal(RUN(&m, code, shape(1, 1025), &o, &o, &o, &o), KN_ARGUMENT);
    assert_int_equal(RUN(&m, code, shape(0, 32), &o, &o, &o, &o), KN_ARGUMENT);
    kn_device *none;
    assert_int_equal(emu->open(&(kn_device_config){.emulator = "lenient"}, &none), KN_ARGUMENT);
    assert_non_null(strstr(kn_last_error(), "relaxed"));
    emu->release(m.dev, o);
    emu->discard(m.dev, code);
    close_machine(&m);

    assert_int_equal(setenv("KILN_CXX", "/no/such/compiler", 1), 0);
    m = open_machine(NULL, "ladder.cu");
    assert_int_equal(emu->load(m.dev, "grid_sum", m.text, &code), KN_DEVICE);
    assert_non_null(strstr(kn_last_error(), "KILN_CXX"));
    close_machine(&m);
    unsetenv("KILN_CXX");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_warp_table), cmocka_unit_test(test_undefined),
        cmocka_unit_test(test_outsiders),  cmocka_unit_test(test_partial_warp),
        cmocka_unit_test(test_mistakes),   cmocka_unit_test(test_neighbours),
        cmocka_unit_test(test_clean),      cmocka_unit_test(test_relaxed_barriers),
        cmocka_unit_test(test_ladder),     cmocka_unit_test(test_grid_sum),
        cmocka_unit_test(test_shapes),     cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
