/* Elements and rows at indices that an array has, on the CPU device: the same as on the reference. */
#include <stdio.h>

#include "tests/unit/api.h"

enum { ROWS = 23, PLACES = 40, LONGEST = 2500 };

#define HEAD "def f(w: f32[V, D], i: i64[N], b: f32[D]):\n    return "
static const char *const texts[] = {
    HEAD "w[i]\n",
    HEAD "w[i] * 2 + b\n",
    HEAD "w[i] + w[i // 2, ::-1]\n",
    HEAD "w[i, ::-1] - max(w[i], axis=1, keepdims=True)\n",
    HEAD "w[i[abs(i)]] - w[i]\n",
    HEAD "w[i] * (cast(i, f32)[:, None] + b) + b[0 * i][:, None]\n",
    HEAD "w[i.reshape(-1, 5)].reshape(i.shape[0], b.shape[0])\n",
    HEAD "stack((w[i], w[-1 - i]), axis=1)[:, 1] * b\n",
    HEAD "broadcast_to(sum(w[i] * b, axis=1, keepdims=True), (i.shape[0], b.shape[0]))\n",
};
static const int64_t widths[] = {1, 2, 5, 31, 32, 33, 64, 255, 256, 257, 1030, LONGEST};

static float w[ROWS * LONGEST], b[LONGEST], want[PLACES * LONGEST], got[PLACES * LONGEST];
static int64_t at[PLACES];

/* What lies with its rows apart: nothing, w, the output. */
enum { COMPACT, TRANSPOSED_W, TRANSPOSED_OUT, LAYOUTS };

static kiln_status run(kiln_ctx *on, const char *text, int64_t width, int layout, float *out)
{
    const int64_t of_w[] = {ROWS, width}, of_i[] = {PLACES}, of_out[] = {PLACES, width},
                  strides[] = {1, ROWS}, apart[] = {1, PLACES};
    kiln_prog *p = compile(on, text);
    kiln_arg args[] = {{"w", w, KILN_F32, 2, of_w, layout == TRANSPOSED_W ? strides : NULL},
                       {"i", at, KILN_I64, 1, of_i, NULL},
                       {"b", b, KILN_F32, 1, &of_w[1], NULL},
                       {"out0", out, KILN_F32, 2, of_out, layout == TRANSPOSED_OUT ? apart : NULL}};
    kiln_status status = kiln_run(p, NULL, args, 4);
    kiln_prog_destroy(p);
    return status;
}

static void fill(void)
{
    for (int k = 0; k < ROWS * LONGEST; k++)
        w[k] = (float)(k * 7919LL % 2003 - 1000) / 8;
    for (int k = 0; k < LONGEST; k++)
        b[k] = (float)(k % 17) - 8;
    for (int k = 0; k < PLACES; k++)
        at[k] = k * 31 % (2 * ROWS) - ROWS; /* negative ones count from the end */
}

static void test_places(void **state)
{
    (void)state;
    kiln_ctx *ref = open_device("ref");
    fill();
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
        for (size_t k = 0; k < sizeof widths / sizeof *widths; k++)
            for (int layout = 0; layout < LAYOUTS; layout++) {
                good(run(ref, texts[t], widths[k], layout, want));
                good(run(ctx, texts[t], widths[k], layout, got));
                if (memcmp(got, want, sizeof *got * PLACES * (size_t)widths[k]) != 0)
                    fail_msg("rows of %d, layout %d, %s", (int)widths[k], layout, texts[t]);
            }
    kiln_ctx_destroy(ref);
}

/* A place that is not there is an error, also where one stands for a row. */
static void test_out_of_bounds(void **state)
{
    (void)state;
    fill();
    at[PLACES - 1] = ROWS;
    for (size_t k = 0; k < sizeof widths / sizeof *widths; k++)
        expect(run(ctx, texts[0], widths[k], COMPACT, got), KILN_ERR_RUN,
               "index 23 is out of bounds for an axis with size 23");
}

/* Indices that are written over afterwards, and rows that are: blocks read what they need before they write. */
static void test_in_place(void **state)
{
    (void)state;
    static const char *const updating[] = {
        "def f(w: f32[V, D], i: i64[N], b: f32[D]):\n    out0 = w[i]\n    i[...] = 2\n    return out0\n",
        "def f(w: f32[V, D], i: i64[N], b: f32[D]):\n    out0 = w[i] + 1\n    w[...] = w[0]\n    return out0\n",
        "def f(w: f32[V, D], i: i64[N], b: f32[D]):\n    out0 = w[i]\n    i += 1\n    w *= 2\n    return out0\n",
    };
    kiln_ctx *ref = open_device("ref");
    for (size_t t = 0; t < sizeof updating / sizeof *updating; t++)
        for (size_t k = 0; k < sizeof widths / sizeof *widths; k++) {
            fill();
            good(run(ref, updating[t], widths[k], COMPACT, want));
            fill();
            good(run(ctx, updating[t], widths[k], COMPACT, got));
            if (memcmp(got, want, sizeof *got * PLACES * (size_t)widths[k]) != 0)
                fail_msg("rows of %d, %s", (int)widths[k], updating[t]);
        }
    kiln_ctx_destroy(ref);
}

/* One that depends on sizes is looked for before the run, whatever becomes of the index. */
static void test_sizes_out_of_bounds(void **state)
{
    (void)state;
    static const char *const of_7[] = {
        HEAD "w[:, 7]\n",
        HEAD "(w + 1)[:, 7]\n",
        HEAD "w[i][:, 7]\n",
        HEAD "roll(w, -3, axis=0)[:, 7]\n",
        HEAD "repeat(w, 2, axis=0)[:, -8]\n",
        HEAD "concatenate((w, w * 2))[:, 1000000000000]\n",
        HEAD "tile(w, (2, 1))[..., 7]\n",
        HEAD "flip(roll(w, 1, axis=0), axis=0)[:, 7]\n",
        HEAD "full((V, D), 2.5)[:, 7]\n",
        HEAD "sum(roll(w, 1, axis=0)[:, 7])\n",
    };
    kiln_ctx *ref = open_device("ref");
    fill();
    for (size_t t = 0; t < sizeof of_7 / sizeof *of_7; t++) {
        expect(run(ref, of_7[t], 7, COMPACT, got), KILN_ERR_SHAPE, "out of bounds for axis 1");
        expect(run(ctx, of_7[t], 7, COMPACT, got), KILN_ERR_SHAPE, "out of bounds for axis 1");
    }
    kiln_ctx_destroy(ref);
}

int main(void)
{
    const struct CMUnitTest tests[] = {test(test_places), test(test_out_of_bounds),
                                       test(test_in_place), test(test_sizes_out_of_bounds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
