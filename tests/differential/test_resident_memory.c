/* Blocks that keep on chip, over a grid barrier, what they load again: where a result lies on what it is computed from,
 * and where the distance of rows takes 64 bits. What is kept, and how much of it: schedules/resident.txt. */
#include <sys/mman.h>

#include "tests/device.h"
#include "tests/hostile.h"

#define SOFTMAX                                                                                    \
    "    e = exp(x - max(x, axis=1, keepdims=True))\n"                                             \
    "    return e / sum(e, axis=1, keepdims=True)\n"

static void run(const char *device, float *x, const int64_t *strides, float *y, int64_t rows,
                int64_t columns)
{
    kiln_options o;
    kiln_options_init(&o);
    o.schedule = "resident";
    kiln_ctx *ctx = open_device(device);
    kiln_prog *p = compile_with(ctx, "def f(x: f32[N, M]):\n" SOFTMAX, &o);
    const int64_t shape[] = {rows, columns};
    const kiln_arg args[] = {{"x", x, KILN_F32, 2, shape, strides},
                             {"out0", y, KILN_F32, 2, shape, NULL}};
    good(run_hostile(p, args, 2));
    kiln_prog_destroy(p);
    kiln_ctx_destroy(ctx);
}

enum { ROWS = 2, COLUMNS = 6000 };

static float start(int64_t i) { return (float)(i * 7919 % 1009) / 256.0F; }

/* Within what floats of a softmax may differ by. */
static void compare(const float *got, const float *want)
{
    for (int i = 0; i < ROWS * COLUMNS; i++)
        if (!(got[i] > want[i] * 0.9999F && got[i] < want[i] * 1.0001F))
            fail_msg("element %d is %g, not %g", i, (double)got[i], (double)want[i]);
}

/* A result on top of what it is computed from, and rows whose distance takes 64 bits. */
static void test_in_place_and_far_apart(void **state)
{
    (void)state;
    static float x[ROWS * COLUMNS], want[ROWS * COLUMNS], got[ROWS * COLUMNS];
    const size_t bytes = ((size_t)5 << 31) + sizeof x;
    const int64_t far[] = {(int64_t)5 << 29, 1};
    for (int64_t i = 0; i < ROWS * COLUMNS; i++)
        x[i] = start(i);
    run("ref", x, NULL, want, ROWS, COLUMNS);
    run("emu", x, NULL, x, ROWS, COLUMNS);
    compare(x, want);
    float *sparse = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (sparse == MAP_FAILED)
        skip();
    for (int64_t i = 0; i < ROWS * COLUMNS; i++)
        sparse[i / COLUMNS * far[0] + i % COLUMNS] = start(i);
    run("emu", sparse, far, got, ROWS, COLUMNS);
    compare(got, want);
    munmap(sparse, bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_in_place_and_far_apart)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
