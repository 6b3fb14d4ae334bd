/* Generated kernels on the emulator, with every check on: the examples in every order of threads, which must
 * not change a bit, against the CPU device; and random programs against the reference interpreter.
 *
 * KILN_FUZZ: how many random programs; KILN_SEED: the first one's seed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/device.h"
#include "tests/differential/check.h"
#include "tests/files.h"
#include "tests/random.h"

/* ---- examples ---- */

enum { MAX_RANK = 4, MAX_VALUES = 40000 };

typedef struct array {
    const char *name;
    kiln_dtype dtype;
    int rank;
    int64_t shape[MAX_RANK];
} array;

typedef struct example {
    const char *file;
    array in[3], out[3];
    double tolerance;
} example;

static const example examples[] = {
    {"softmax", {{"x", KILN_F32, 2, {9, 1000}}}, {{"y", KILN_F32, 2, {9, 1000}}}, 1e-5},
    {"layernorm",
     {{"x", KILN_F32, 2, {20, 96}}, {"gamma", KILN_F32, 1, {96}}, {"beta", KILN_F32, 1, {96}}},
     {{"y", KILN_F32, 2, {20, 96}}},
     1e-4},
    {"batchnorm",
     {{"x", KILN_F32, 4, {4, 6, 12, 11}}, {"gamma", KILN_F32, 1, {6}}, {"beta", KILN_F32, 1, {6}}},
     {{"y", KILN_F32, 4, {4, 6, 12, 11}},
      {"m", KILN_F32, 4, {1, 6, 1, 1}},
      {"v", KILN_F32, 4, {1, 6, 1, 1}}},
     1e-4},
    {"double_center", {{"x", KILN_F64, 2, {101, 70}}}, {{"y", KILN_F64, 2, {101, 70}}}, 1e-12},
    {"standardize", {{"x", KILN_F32, 2, {333, 40}}}, {{"z", KILN_F32, 2, {333, 40}}}, 1e-4},
};

static int64_t count(const array *a)
{
    int64_t n = 1;
    for (int i = 0; i < a->rank; i++)
        n *= a->shape[i];
    return n;
}

static double element(const array *a, const void *data, int64_t i)
{
    return a->dtype == KILN_F32 ? (double)((const float *)data)[i] : ((const double *)data)[i];
}

static void fill(const array *a, void *data)
{
    uint32_t state = 12345;
    for (int64_t i = 0; i < count(a); i++) {
        double v = (double)(random_32(&state) >> 8) / (1 << 24) * 4 - 2;
        if (a->dtype == KILN_F32)
            ((float *)data)[i] = (float)v;
        else
            ((double *)data)[i] = v;
    }
}

/* Runs the example and leaves its outputs, one behind the other, in `result`. */
static size_t run_example(const example *e, const char *device, const char *options, char *result)
{
    char path[100];
    kiln_config config;
    kiln_ctx *ctx;
    kiln_graph *graph;
    kiln_prog *prog;
    kiln_config_init(&config);
    config.device = device;
    config.emulator = options;
    good(kiln_ctx_create(&config, &ctx));
    snprintf(path, sizeof path, "examples/%s.kiln", e->file);
    char *text = read_file(path, NULL);
    good(kiln_parse(ctx, text, path, &graph));
    free(text);
    good(kiln_compile(graph, NULL, &prog));
    kiln_arg args[6];
    int n = 0;
    size_t used = 0;
    for (int i = 0; i < 6; i++) {
        const array *a = i < 3 ? &e->in[i] : &e->out[i - 3];
        if (!a->name)
            continue;
        size_t bytes = (size_t)count(a) * kiln_dtype_size(a->dtype);
        void *data;
        good(kiln_alloc(ctx, bytes, &data));
        if (i < 3)
            fill(a, data);
        args[n++] = (kiln_arg){a->name, data, a->dtype, a->rank, a->shape, NULL};
    }
    good(kiln_run(prog, NULL, args, n));
    for (int i = 0; i < n; i++) {
        size_t bytes = kiln_dtype_size(args[i].dtype);
        for (int j = 0; j < args[i].rank; j++)
            bytes *= (size_t)args[i].shape[j];
        if (i >= n - (e->out[1].name ? 3 : 1)) {
            memcpy(result + used, args[i].data, bytes);
            used += bytes;
        }
        kiln_free(ctx, args[i].data);
    }
    kiln_prog_destroy(prog);
    kiln_graph_destroy(graph);
    kiln_ctx_destroy(ctx);
    return used;
}

static void test_examples(void **state)
{
    (void)state;
    static char expected[8 * MAX_VALUES], first[8 * MAX_VALUES], other[8 * MAX_VALUES];
    static const char *const orders[] = {NULL, "reversed", "seed=1", "seed=2,relaxed"};
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        const example *e = &examples[i];
        size_t bytes = run_example(e, "cpu", NULL, expected);
        assert_int_equal(run_example(e, "emu", orders[0], first), bytes);
        const char *at = first, *want = expected;
        for (int o = 0; o < 3 && e->out[o].name; o++) {
            for (int64_t j = 0; j < count(&e->out[o]); j++) {
                double a = element(&e->out[o], at, j), b = element(&e->out[o], want, j);
                if (!(fabs(a - b) <= e->tolerance))
                    fail_msg("%s: %s element %lld is %.9g, not %.9g", e->file, e->out[o].name,
                             (long long)j, a, b);
            }
            at += (size_t)count(&e->out[o]) * kiln_dtype_size(e->out[o].dtype);
            want += (size_t)count(&e->out[o]) * kiln_dtype_size(e->out[o].dtype);
        }
        /* one more order each, in turn: compiling is what takes the time */
        size_t order = 1 + i % 3;
        assert_int_equal(run_example(e, "emu", orders[order], other), bytes);
        if (memcmp(first, other, bytes) != 0)
            fail_msg("%s: another result in the order %s", e->file, orders[order]);
    }
}

/* ---- random programs ---- */

enum { PROGRAMS = EFFORT(12, 3), ELEMENTS = 3000 };

static int64_t elements(uint64_t seed) { return (void)seed, ELEMENTS; }

/* Compiling takes the time: one of the ways in turn. */
static const kn_program_options *way(uint64_t seed, int i)
{
    (void)i;
    return &option_sets[seed % OPTION_SETS];
}

static void test_random(void **state)
{
    (void)state;
    tally seen;
    kn_context *ctx = open_context("emu");
    const random_programs r = {"emu", PROGRAMS, 1, elements, 1, way, check_there};
    assert_int_equal(check_random_programs(&r, ctx, &seen), 0);
    kn_context_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
