/* More elements, or farther apart, than 31 bits count: by strides of zero and by memory that is mostly not there. */
#include <string.h>
#include <sys/mman.h>

#include "tests/device.h"
#include "tests/effort.h"

enum { ROWS = 65537, COLUMNS = 32768 }; /* 2^31 + 2^15 elements */

/* The fact that chooses a GPU kernel's index type. */
static void must_say(kiln_ctx *on, kiln_prog *p, const kiln_arg *args, int nargs, const char *fact)
{
    char *text;
    kiln_explain_options o;
    kiln_explain_options_init(&o);
    o.arch = "sm_90";
    assert_int_equal(kiln_explain(p, args, nargs, &o, &text), KILN_OK);
    if (!strstr(text, fact))
        fail_msg("not \"%s\":\n%s", fact, text);
    kiln_text_free(on, text);
}

static const char wide[] = "indices need 64 bits", narrow[] = "indices fit in 32 bits";

/* One element, and one row, for all of them. */
static void test_many(void **state)
{
    (void)state;
    if (EFFORT(false, true))
        skip(); /* 20 s, and nothing that test_far does not do */
    kiln_ctx *cpu = open_device("cpu");
    kiln_prog *p = compile(cpu, "def f(x: bool[N, M]):\n"
                                "    return sum(x), max(x, axis=1), sum(x, axis=0)\n");
    static bool one = true, all[ROWS];
    static int64_t total, down[COLUMNS];
    const int64_t shape[] = {ROWS, COLUMNS}, none[] = {0, 0}, rows[] = {ROWS},
                  columns[] = {COLUMNS};
    kiln_arg args[] = {{"x", &one, KILN_BOOL, 2, shape, none},
                       {"out0", &total, KILN_I64, 0, NULL, NULL},
                       {"out1", all, KILN_BOOL, 1, rows, NULL},
                       {"out2", down, KILN_I64, 1, columns, NULL}};
    good(kiln_run(p, NULL, args, 4));
    assert_true(total == (int64_t)ROWS * COLUMNS);
    for (int i = 0; i < ROWS; i++)
        assert_true(all[i]);
    for (int j = 0; j < COLUMNS; j++)
        assert_true(down[j] == ROWS);
    must_say(cpu, p, args, 4, wide);
    const int64_t fewer[] = {1000, COLUMNS};
    args[0].shape = fewer;
    must_say(cpu, p, args, 1, narrow);
    kiln_prog_destroy(p);
    kiln_ctx_destroy(cpu);
}

/* Few elements, gigabytes apart; the same kernel in both index types, side by side. */
static void test_far(void **state)
{
    (void)state;
    static const char *const devices[] = {"ref", "cpu", "emu"};
    const size_t bytes = ((size_t)5 << 31) + 4096;
    float *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        skip();
    const int64_t shape[] = {3, 4}, far[] = {(int64_t)5 << 28, 2}, near[] = {100, 2},
                  small[] = {4, 1};
    for (int d = 0; d < 3; d++) {
        kiln_ctx *on = open_device(devices[d]);
        kiln_prog *p = compile(on, "def f(x: f32[N, M]):\n"
                                   "    y = x - max(x, axis=0)\n"
                                   "    return y\n");
        for (int k = 0; k < 2; k++) {
            const int64_t *strides = k ? near : far;
            float y[3][4];
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 4; j++)
                    memory[i * strides[0] + j * strides[1]] = (float)(10 * i + j * j);
            kiln_arg args[] = {{"x", memory, KILN_F32, 2, shape, strides},
                               {"y", y, KILN_F32, 2, shape, small}};
            good(kiln_run(p, NULL, args, 2));
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 4; j++)
                    assert_true(y[i][j] == (float)(10 * i - 20));
            must_say(on, p, args, 2, k ? narrow : wide);
        }
        if (d)
            assert_int_equal(stats_of(on).launches, 2);
        kiln_prog_destroy(p);
        kiln_ctx_destroy(on);
    }
    munmap(memory, bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_far),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
