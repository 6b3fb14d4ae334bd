/* Slices that have no elements for some sizes begin where the array ends, or beyond. What is taken from them is used by
 * nobody, but it is read. */
#include <string.h>

#include "tests/differential/check.h"
#include "tests/on_device.h"

static const char *const programs[] = {
    "def f(x: i16[N, M]):\n    v = roll(x, 1, axis=0)\n    v[:, 2:] |= 2\n    return v\n",
    "def f(x: i16[N, M]):\n    v = roll(x, 1, axis=0)\n    v[:, 600000000::2] |= 2\n    return v\n",
    "def f(x: f32[N, M]):\n    v = repeat(x, 2, axis=1)\n    v[:, 5::3] *= 2\n    return v\n",
    "def f(x: f32[N, M]):\n    v = roll(x, 1, axis=1)\n    v[3:, ::-2] -= 1\n    return v\n",
    "def f(x: f32[N, M]):\n    return concatenate((x[4:] * 2, x[:4], roll(x, 2, axis=0)[2:]), axis=0)\n",
    "def f(x: i32[N, M]):\n    v = take(x, x, axis=0, mode='clip')\n    v[:, :, 6::2] |= 2\n    return v\n",
    /* what is stored once is stored by loops over nothing, side by side */
    "def f(x: f32[N], y: f32[M]):\n    n = sqrt(sum(x * x) + sum(y * y))\n    return x * n, y * n, n\n",
};
static const char *const sizes[] = {"N=5 M=2", "N=2 M=3", "N=1 M=1", "N=4 M=7",
                                    "N=3 M=0", "N=0 M=2", "N=0 M=0"};
enum {
    PROGRAMS = sizeof programs / sizeof *programs,
    SIZES = sizeof sizes / sizeof *sizes,
};

static void on_device(const char *device)
{
    kn_context *ctx = open_context(device);
    for (int i = 0; i < PROGRAMS * SIZES; i++) {
        kn_arena a;
        tally seen = {0, 0};
        kn_arena_init(&a, NULL);
        program *p = program_of_text(&a, programs[i / SIZES], "f.kiln", sizes[i % SIZES], 0);
        if (p) /* there may be nothing to take from */
            must_agree(p, ctx, &(kn_program_options){.fusion = true}, sizes[i % SIZES], &seen);
        else if (!strstr(kn_last_error(), "nothing") && !strstr(kn_last_error(), "empty"))
            fail_msg("%s with %s: %s", programs[i / SIZES], sizes[i % SIZES], kn_last_error());
        kn_arena_finish(&a);
    }
    kn_context_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {ON_DEVICE(on_device, "cpu"), ON_DEVICE(on_device, "emu")};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
