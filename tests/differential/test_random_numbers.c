/* Random numbers: the generator's published vectors, the same bits on every device and in every schedule, and that they
 * are spread as they should be. `test_random_numbers cuda` holds a GPU to the same bits; `test_random_numbers cuda 3 8`
 * does the fourth of eight parts of that, whose kernels can be compiled side by side. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/parse/parse.h"
#include "ir/build_impl.h"
#include "ir/interp.h"
#include "tests/differential/check.h"

static const kn_loc nowhere;

/* ---- vectors ---- */

/* kat_vectors of the authors' Random123, philox4x32 with 10 rounds. */
static void test_vectors(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], block[4];
    } vectors[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t v = 0; v < sizeof vectors / sizeof *vectors; v++) {
        kn_arena a;
        kn_node *words[4];
        kn_array out[4];
        uint32_t got[4];
        kn_arena_init(&a, &kn_malloc_allocator);
        kn_graph *g = kn_graph_new(&a, "philox");
        for (int i = 0; i < 4; i++)
            words[i] = kn_build_const(g, (kn_scalar){.dtype = KN_U32, .i = vectors[v].counter[i]},
                                      nowhere);
        uint64_t key = (uint64_t)vectors[v].key[1] << 32 | vectors[v].key[0];
        kn_node *seed = kn_build_const(g, (kn_scalar){.dtype = KN_U64, .i = (int64_t)key}, nowhere);
        kn_build_philox(g, words, seed, nowhere);
        for (int i = 0; i < 4; i++) {
            kn_build_output(g, kn_sprintf(&a, "w%d", i), words[i], nowhere);
            out[i] = (kn_array){.dtype = KN_U32, .data = &got[i]};
        }
        assert_int_equal(kn_interp(g, &a, NULL, NULL, out, NULL), KN_OK);
        assert_memory_equal(got, vectors[v].block, sizeof got);
        kn_arena_finish(&a);
    }
}

/* ---- everywhere the same ---- */

static const struct {
    const char *text, *sizes;
} programs[] = {
    {"def f(s: u64, o: i32):\n    return random_bits(s, o, (1021,)), random_bits(s, o + 1, ())",
     ""},
    {"def f(x: f32[N, C], s: u32[()]):\n"
     "    b = random_bits(s, 7, (N, C))\n"
     "    return b, b.T, x * 2, sum(x * uniform(s, 7, (N, C)), axis=1)",
     "N=%d C=%d"},
    {"def f(x: f32[N, C], s: u64):\n"
     "    b = random_bits(s, 0, (N, C))\n"
     "    return b[1:, ::2], b ^ cast(max(x, axis=0) > 0.5, u32), any(bernoulli(0.01, s, 1, (N, C)), axis=1)",
     "N=%d C=%d"},
    {"def f(x: f64[N, C], s: u64, o: u64):\n"
     "    y = dropout(x, 0.25, s, o)\n"
     "    return y != 0, vjp(y, x, x) != 0, uniform(s, o, (N, 3), f64), normal(s, o, (C, N), f64)",
     "N=%d C=%d"},
    {"def f(x: bf16[N, C], s: u64):\n"
     "    h = x + dropout(x, 0.5, s, 3)\n"
     "    return (h - mean(h, axis=1, keepdims=True)) * rsqrt(var(h, axis=1, keepdims=True) + 1), h == x",
     "N=%d C=%d"},
};

static int part, parts = 1;

static void hold(const char *device, int rounds)
{
    static const char *const schedules[] = {NULL, "whole", "split", "resident", "tiles", "cluster"};
    kn_context *ctx = open_context(device);
    tally seen = {0};
    rng r = {5};
    for (int i = 0; i < rounds; i++) {
        kn_arena a;
        const int which = i % (int)(sizeof programs / sizeof *programs);
        const int n = 2 + below(&r, 40), c = 1 + below(&r, chance(&r, 20) ? 3000 : 90);
        const char *schedule = schedules[below(&r, 6)];
        const kn_program_options o = {.fusion = chance(&r, 90), .schedule = schedule};
        if (i % parts != part)
            continue;
        kn_arena_init(&a, &kn_malloc_allocator);
        program *p = program_of_text(&a, programs[which].text, "random",
                                     kn_sprintf(&a, programs[which].sizes, n, c), (uint64_t)i + 1);
        if (!p)
            fail_msg("%s", kn_last_error());
        must_agree(p, ctx, &o, programs[which].text, &seen);
        kn_arena_finish(&a);
    }
    must_have_compared(&seen);
    kn_context_close(ctx);
}

static void test_cpu(void **state)
{
    (void)state;
    hold("cpu", EFFORT(60, 10));
}

static void test_emu(void **state)
{
    (void)state;
    hold("emu", EFFORT(10, 5));
}

/* ---- neighbours ---- */

/* Whose blocks lanes of a vector share: the same bits, and each block is computed once for them. */
static const struct {
    const char *text, *sizes, *schedule;
    bool shared;
} neighbours[] = {
    {"def f(s: u64):\n    return random_bits(s, 1, (64, 40))", "", NULL, true},
    {"def f(x: f32[N, C], s: u64):\n    return dropout(x, 0.5, s, 1)", "N=5 C=24", NULL, true},
    {"def f(x: f32[N, C], s: u64):\n    return dropout(x, 0.5, s, 1)", "N=5 C=30", NULL, true},
    {"def f(x: bf16[N, C], s: u64):\n    return dropout(x, 0.5, s, 1)", "N=5 C=24", NULL, true},
    {"def f(x: f64[N, C], s: u64):\n    return x * normal(s, 1, (N, C), f64)", "N=5 C=24", NULL,
     true},
    {"def f(x: f64[N, C], s: u64):\n    return dropout(x, 0.5, s, 1) + x * uniform(s, 2, (N, C), f64)",
     "N=5 C=24", NULL, true},
    {"def f(x: bf16[N, C], s: u64):\n"
     "    h = x + dropout(x, 0.5, s, 3)\n"
     "    return (h - mean(h, axis=1, keepdims=True)) * rsqrt(var(h, axis=1, keepdims=True) + 1)",
     "N=5 C=320", NULL, true},
    {"def f(x: f32[N, C], s: u64):\n    return sum(dropout(x, 0.5, s, 3), axis=0)", "N=70 C=256",
     "split", true},
    {"def f(x: f32[N, C], s: u64):\n    return sum(dropout(x, 0.5, s, 3), axis=1)", "N=3 C=4096",
     "split", true},
    {"def f(x: f32[N, C], s: u64):\n    return sum(dropout(x[:, 2:-2], 0.5, s, 3), axis=1)",
     "N=3 C=4100", NULL, false},
    {"def f(x: f32[N, C], s: u64):\n    return dropout(x.T, 0.5, s, 1) + x.T", "N=64 C=32", "tiles",
     true},
    {"def f(x: f32[N, C], s: u64):\n    return x * (random_bits(s, 1, (N, 3, C))[:, 1] > 9)",
     "N=8 C=16", NULL, true},
};

static void hold_neighbours(const char *device)
{
    kn_context *ctx = open_context(device);
    tally seen = {0};
    for (size_t i = 0; i < sizeof neighbours / sizeof *neighbours; i++) {
        kn_arena a;
        sources made = {0};
        bool shared = false;
        const kn_program_options o = {.fusion = true, .schedule = neighbours[i].schedule};
        kn_arena_init(&a, &kn_malloc_allocator);
        program *p = program_of_text(&a, neighbours[i].text, "random", neighbours[i].sizes, 0);
        kn_text why = kn_text_new(&a);
        if (!p || program_failure_cuda(p, ctx, &o, &why, &made).fault)
            fail_msg("%s: %s", neighbours[i].text, p ? kn_text_str(&why) : kn_last_error());
        for (int k = 0; k < made.text.len; k++)
            shared = shared || strstr(made.text.data[k], "first_lane");
        if (shared != neighbours[i].shared)
            fail_msg("%s, %s: blocks are%s shared", neighbours[i].text, neighbours[i].sizes,
                     shared ? "" : " not");
        must_agree(p, ctx, &o, neighbours[i].text, &seen);
        kn_arena_finish(&a);
    }
    must_have_compared(&seen);
    kn_context_close(ctx);
}

static void test_neighbours(void **state)
{
    (void)state;
    hold_neighbours("emu");
}

/* What dropout leaves is what the uniform numbers say, whatever the probability. */
static void test_probabilities(void **state)
{
    (void)state;
    static const char *const p[] = {"0",           "1",    "0.1",   "0.5",      "0x1p-24",
                                    "1 - 0x1p-24", "1.25", "-0.25", "1e30",     "-1e30",
                                    "nan",         "inf",  "-0.0",  "0.999999", "1e-45"};
    for (size_t i = 0; i < sizeof p / sizeof *p; i++) {
        kn_arena a;
        kn_array out = {.dtype = KN_BOOL, .rank = 1, .shape = {512}, .stride = {1}};
        char same[512] = {0};
        double value = strcmp(p[i], "1 - 0x1p-24") == 0 ? 1 - 0x1p-24 : strtod(p[i], NULL);
        kn_array in = {.dtype = KN_F32, .data = &(float){(float)value}};
        out.data = same;
        kn_arena_init(&a, &kn_malloc_allocator);
        kn_graph *g = kn_graph_new(&a, "f");
        if (kn_parse(g,
                     "def f(p: f32):\n"
                     "    kept = dropout(cast(arange(512) + 1, f32), p, 4, 5) != 0\n"
                     "    return kept == (uniform(4, 5, (512,)) >= p)\n",
                     "f") ||
            kn_interp(g, &a, (int64_t[]){0}, &in, &out, NULL))
            fail_msg("%s", kn_last_error());
        for (int k = 0; k < 512; k++)
            if (!same[k])
                fail_msg("p is %s: element %d", p[i], k);
        kn_arena_finish(&a);
    }
}

/* ---- distributions ---- */

enum { MANY = 1 << 14 };

/* MANY numbers, by the reference. */
static const void *numbers(kn_arena *a, const char *value, kn_dtype t)
{
    kn_graph *g = kn_graph_new(a, "f");
    void *data = kn_alloc(a, (size_t)MANY * (size_t)kn_bytes(t));
    kn_array out = {.dtype = t, .rank = 1, .shape = {MANY}, .stride = {1}, .data = data};
    if (kn_parse(g, kn_sprintf(a, "def f():\n    return %s\n", value), "f") ||
        kn_interp(g, a, (int64_t[]){0}, NULL, &out, NULL))
        fail_msg("%s: %s", value, kn_last_error());
    return data;
}

/* Moments within five of their standard errors. */
static void moments(const char *value, kn_dtype t, double mean, double variance, double fourth)
{
    kn_arena a;
    kn_arena_init(&a, &kn_malloc_allocator);
    const char *x = numbers(&a, value, t);
    double sum = 0, squares = 0, lag = 0, last = 0;
    for (int i = 0; i < MANY; i++) {
        double d = kn_scalar_number(kn_scalar_load(t, x + i * kn_bytes(t))) - mean;
        sum += d;
        squares += d * d;
        lag += d * last;
        last = d;
    }
    double error = 5 / sqrt(MANY);
    assert_true(fabs(sum / MANY) < error * sqrt(variance));
    assert_true(fabs(squares / MANY - variance) < error * sqrt(fourth - variance * variance));
    assert_true(fabs(lag / MANY) <
                error * variance); /* neighbours have nothing to do with each other */
    kn_arena_finish(&a);
}

static void test_distributions(void **state)
{
    (void)state;
    moments("uniform(1, 2, (16384,))", KN_F32, 0.5, 1.0 / 12, 1.0 / 80);
    moments("uniform(1, 2, (16384,), f64)", KN_F64, 0.5, 1.0 / 12, 1.0 / 80);
    moments("normal(1, 3, (16384,))", KN_F32, 0, 1, 3);
    moments("normal(1, 3, (16384,), dtype=f64)", KN_F64, 0, 1, 3);
    moments("bernoulli(0.2, 1, 4, (16384,))", KN_BOOL, 0.2, 0.16, 0.16 * 0.52);
    moments("dropout(ones((16384,), f32), 0.2, 1, 5)", KN_F32, 1, 0.25, 0.25 * 0.8125);
}

static const char *asked; /* a device */

static void test_asked(void **state)
{
    (void)state;
    hold(asked, 200);
    hold_neighbours(asked);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest one[] = {cmocka_unit_test(test_asked)};
    asked = argv[1];
    part = argc > 3 ? atoi(argv[2]) : 0;
    parts = argc > 3 ? atoi(argv[3]) : 1;
    if (argc > 1)
        return cmocka_run_group_tests(one, NULL, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),       cmocka_unit_test(test_cpu),
        cmocka_unit_test(test_emu),           cmocka_unit_test(test_neighbours),
        cmocka_unit_test(test_probabilities), cmocka_unit_test(test_distributions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
