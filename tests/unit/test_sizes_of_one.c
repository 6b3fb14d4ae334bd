/* Sizes that are 1 where others were more, and the reverse: results are right on every device, and on those that
 * compile, the kernels are those that larger sizes have. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/device.h"

enum { RANK = 4, MORE = 3, MOST = 81 /* elements */ };

typedef struct program {
    const char *text;
    int inputs[3]; /* axes of x, y, z as bits, first axis of the program first; 0: no such input */
    int outputs[2];
} program;

/* Axes are N, C, H, W; an output's reduced axes are kept with one element. */
static const program programs[] = {
    {"def f(x: f32[N, C, H, W], y: f32[C], z: f32[C]):\n"
     "    m = mean(x, axis=(0, 2, 3), keepdims=True)\n"
     "    d = x - m\n"
     "    v = mean(d * d, axis=(0, 2, 3), keepdims=True)\n"
     "    o = d * rsqrt(v + 1e-5) * y[:, None, None] + z[:, None, None]\n"
     "    return o, m\n",
     {0xf, 0x4, 0x4},
     {0xf, 0x4}},
    {"def f(x: f32[N, C, H, W]):\n"
     "    e = exp(x - max(x, axis=3, keepdims=True))\n"
     "    o = e / sum(e, axis=3, keepdims=True)\n"
     "    return o, max(x, axis=1, keepdims=True)\n",
     {0xf},
     {0xf, 0xb}},
    {"def f(x: f32[N, C, H, W], y: f32[W], z: f32[C, W]):\n"
     "    o = x * y + z[:, None, :]\n"
     "    return o, o.transpose(3, 1, 0, 2).reshape(W * C, N * H).sum(axis=1).reshape(W, C)"
     ".T[None, :, None, :]\n",
     {0xf, 0x1, 0x5},
     {0xf, 0x5}},
};
enum { PROGRAMS = sizeof programs / sizeof *programs };

/* The shape of an array with these axes; inputs do not have the others, outputs have one element there. */
static int shape_of(int axes, bool output, const int64_t *sizes, int64_t *shape)
{
    int rank = 0;
    for (int a = 0; a < RANK; a++) {
        bool has = axes >> (RANK - 1 - a) & 1;
        if (has || output)
            shape[rank++] = has ? sizes[a] : 1;
    }
    return rank;
}

typedef float results[2][MOST];

/* `odd` gives axes of one element strides that make no sense, which is what NumPy does too. */
static void run(kiln_prog *p, const program *of, const int64_t *sizes, bool odd, results out)
{
    static float in[3][MOST];
    int64_t shape[5][RANK], stride[5][RANK];
    kiln_arg args[5];
    int n = 0;
    for (int i = 0; i < 5; i++) {
        int axes = i < 3 ? of->inputs[i] : of->outputs[i - 3];
        if (!axes)
            continue;
        kiln_io io;
        assert_int_equal(kiln_prog_io(p, n, &io), KILN_OK);
        int rank = shape_of(axes, i >= 3, sizes, shape[i]);
        int64_t step = 1;
        for (int a = rank - 1; a >= 0; a--) {
            stride[i][a] = odd && shape[i][a] == 1 ? 1234567 - i : step;
            step *= shape[i][a];
        }
        for (int k = 0; i < 3 && k < MOST; k++)
            in[i][k] = (float)((k * 37 + i * 11) % 19) / 4 - 2;
        args[n++] =
            (kiln_arg){io.name, i < 3 ? in[i] : out[i - 3], KILN_F32, rank, shape[i], stride[i]};
    }
    if (kiln_run(p, NULL, args, n) != KILN_OK)
        fail_msg("%s", kiln_last_error());
}

static uint64_t compiles_of(kiln_ctx *on)
{
    const kiln_stats s = stats_of(on);
    return s.compiles + s.disk_hits;
}

/* Every choice of sizes from 1 and MORE, from the largest down and back up. */
static void check(kiln_ctx *on, const program *of, uint64_t most_kernels)
{
    kiln_ctx *by = open_device("ref");
    kiln_prog *p = compile(on, of->text), *reference = compile(by, of->text);
    uint64_t before = compiles_of(on);
    for (int k = 0; k < 4 << RANK; k++) {
        static results got, want;
        int ones = k >> RANK & 1 ? ~k : k;
        int64_t sizes[RANK];
        for (int a = 0; a < RANK; a++)
            sizes[a] = ones >> a & 1 ? 1 : MORE;
        memset(got, 0, sizeof got);
        memset(want, 0, sizeof want);
        run(p, of, sizes, k >> (RANK + 1), got);
        run(reference, of, sizes, false, want);
        for (int o = 0; o < 2; o++)
            for (int i = 0; i < MOST; i++)
                if (!(fabsf(got[o][i] - want[o][i]) <= 1e-5F * (1 + fabsf(want[o][i]))))
                    fail_msg("sizes %d %d %d %d: output %d has %g at %d, not %g", (int)sizes[0],
                             (int)sizes[1], (int)sizes[2], (int)sizes[3], o, (double)got[o][i], i,
                             (double)want[o][i]);
    }
    assert_in_range(compiles_of(on) - before, 0, most_kernels);
    kiln_prog_destroy(p);
    kiln_prog_destroy(reference);
    kiln_ctx_destroy(by);
}

static void test_cpu(void **state)
{
    (void)state;
    kiln_ctx *cpu = open_device("cpu");
    for (int i = 0; i < PROGRAMS; i++)
        check(cpu, &programs[i], UINT64_MAX); /* its kernels take no compiler */
    kiln_ctx_destroy(cpu);
}

static void test_emulator(void **state)
{
    (void)state;
    /* A table whose rows have one element is a column. */
    static const uint64_t kernels[PROGRAMS] = {1, 2, 2};
    kiln_ctx *emu = open_device("emu");
    for (int i = 0; i < PROGRAMS; i++)
        check(emu, &programs[i], kernels[i]);
    kiln_ctx_destroy(emu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu),
        cmocka_unit_test(test_emulator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
