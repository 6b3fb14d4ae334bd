/* Asynchronous copies and the PTX that kernels write by hand: right uses give what a GPU gives, in every order
 * of threads, and each misuse is reported with its line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/emu/machine.h"

enum { THREADS = 64, SLABS = 7, COUNT = SLABS * THREADS };

typedef struct memory {
    float *in, *out;
} memory;

static memory fill(machine *m)
{
    memory mem = {take(m, COUNT * sizeof(float), 0), take(m, 2 * THREADS * sizeof(float), 0)};
    for (int i = 0; i < COUNT; i++)
        mem.in[i] = (float)(i * 3 % 101);
    return mem;
}

static void release(machine *m, const memory *mem)
{
    emu->release(m->dev, mem->in);
    emu->release(m->dev, mem->out);
}

/* What `out` is to hold after the right kernel. */
typedef float expectation(const float *in, int t);

static float reversed(const float *in, int t) { return in[63 - t]; }
static float one_more(const float *in, int t) { return in[t] + 1; }
static float in_tail(const float *in, int t) { return t > 60 ? 0 : in[t]; }
static float other_blocks(const float *in, int t) { return in[t % 64] + (t < 64 ? 1 : 0); }
static float the_first(const float *in, int t)
{
    (void)t;
    return in[0] + 1;
}
static float of_ring(const float *in, int t)
{
    float sum = 0;
    for (int i = 0; i < 2 * SLABS; i++)
        sum += in[i * 32 + t];
    return sum;
}
static float of_slabs(const float *in, int t)
{
    float sum = 0;
    for (int i = 0; i < SLABS; i++)
        sum += in[i * 64 + 63 - t];
    return sum;
}

static const struct {
    const char *entry;
    int count; /* of results */
    unsigned cluster;
    int n; /* its last parameter; 0: there is none */
    expectation *expected;
} kernels[] = {
    {"loads", 64, 0, 0, reversed},         {"ring", 32, 0, 2 * SLABS, of_ring},
    {"stores", 64, 0, 0, one_more},        {"groups", 64, 0, SLABS, of_slabs},
    {"tails", 64, 0, -1, in_tail},         {"clusters", 128, 2, 0, other_blocks},
    {"exchange", 128, 2, 0, other_blocks}, {"readers", 128, 2, 0, the_first},
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

static kn_status start(machine *m, kn_code *code, int k, const memory *mem, int which)
{
    int n = kernels[k].n;
    kn_grid g = shape(kernels[k].cluster ? kernels[k].cluster : 1, THREADS);
    g.cluster[0] = kernels[k].cluster;
    if (n < 0)
        return RUN(m, code, g, (void *)&mem->in, (void *)&mem->out);
    if (n == 0)
        return RUN(m, code, g, &which, (void *)&mem->in, (void *)&mem->out);
    return RUN(m, code, g, &which, (void *)&mem->in, (void *)&mem->out, &n);
}

static void check_right(const char *options)
{
    machine m = open_machine(options, "copies.cu");
    memory mem = fill(&m);
    for (int k = 0; k < KERNELS; k++) {
        kn_code *code = load(&m, kernels[k].entry);
        good(start(&m, code, k, &mem, 0));
        for (int t = 0; t < kernels[k].count; t++)
            if (mem.out[t] != kernels[k].expected(mem.in, t))
                fail_msg("%s, element %d: %g, not %g", kernels[k].entry, t, (double)mem.out[t],
                         (double)kernels[k].expected(mem.in, t));
        emu->discard(m.dev, code);
    }
    release(&m, &mem);
    close_machine(&m);
}

static void test_right(void **state)
{
    (void)state;
    check_right(NULL);
    check_right("reversed");
    check_right("seed=5");
    check_right("unchecked,seed=6");
}

static const struct {
    int kernel, which;
    const char *mark, *words;
} mistakes[] = {
    {0, 1, "early", "shared tile+0 (of 512 bytes), which an asynchronous copy is to fill"},
    {0, 2, "the copy", "that nobody waited for"},
    {0, 3, "the wait", "mbarrier.try_wait (1 of 1 arrivals, copies of 256 of 512 bytes)"},
    {0, 4, "the copy", "reads shared other+0 (of 8 bytes), which nobody has written"},
    {0, 5, "the copy", "252 bytes, no multiple of 16"},
    {0, 6, "the copy", "misaligned"},
    {0, 7, "the wait", "1 of 2 arrivals"},
    {0, 8, "one", "left in the middle of a phase: 1 of 1 arrivals, 0 of 16 bytes"},
    {0, 9, "twice", "is an mbarrier already"},
    {0, 10, "under the copy", "writes shared tile+20"},
    {0, 11, "the wait", "race on shared bar+0"},
    {0, 12, "afterwards", "read-after-write race on shared tile"},
    {0, 13, "one phase too far", "mbarrier.try_wait"},
    {0, 14, "the wait", "copies of 0 of 16 bytes"},
    {1, 1, "fill", "race on shared slots+0"},
    {1, 2, "fill", "write-after-read race on shared slots+0"},
    {2, 1, "out", "no fence.proxy.async between"},
    {2, 2, "out", "never waited for"},
    {2, 3, "out", "shared tile+12 (of 256 bytes) was written again, by thread 0, before"},
    {2, 4, "out", "nor committed"},
    {2, 5, "out", "which nobody has written"},
    {2, 6, "out", "shared tile+32 (of 256 bytes) was written again, by another copy, before"},
    {3, 1, "use", "which an asynchronous copy is to fill"},
    {3, 2, "use", "which nobody has written"},
    {3, 3, "a piece", "misaligned"},
    {3, 4, "use", "which an asynchronous copy is to fill"},
    {5, 1, "multicast", "rank 1 of the cluster, which may not have started"},
    {5, 2, "theirs", "which an asynchronous copy is to fill"},
    {5, 3, "done", "1 of 2 arrivals"},
    {6, 1, "read", "which an asynchronous copy is to fill"},
    {6, 2, "remote store", "goes to the shared memory of the block that its mbarrier is in"},
    {6, 3, "remote store", "write-after-write race on shared buffer"},
    {6, 4, "read", "which nobody has written"},
    {7, 1, "changed",
     "write-after-read race on shared value+0 (of 4 bytes): thread 0 with thread 7,"},
    {7, 2, "changed", "thread 0 with thread 33,"},
    {7, 3, "changed", "thread 0 with thread 40 of another block"},
    {7, 4, "changed", "thread 0 with thread 40 of another block"},
};

static void test_mistakes(void **state)
{
    (void)state;
    machine m = open_machine(NULL, "copies.cu");
    memory mem = fill(&m);
    for (int k = 0; k < KERNELS; k++) {
        kn_code *code = load(&m, kernels[k].entry);
        for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
            if (mistakes[i].kernel != k)
                continue;
            kn_status status = start(&m, code, k, &mem, mistakes[i].which);
            if (status != KN_RUN)
                fail_msg("%s %d: no error", kernels[k].entry, mistakes[i].which);
            says(&m, status, mistakes[i].mark, mistakes[i].words);
        }
        good(start(&m, code, k, &mem, 0)); /* nothing is left of the failures */
        emu->discard(m.dev, code);
    }
    release(&m, &mem);
    close_machine(&m);
}

/* ---- PTX ---- */

/* What step `step` of `numbers` gives thread t. */
static unsigned number(int step, unsigned t)
{
    switch (step) {
    case 0: return t % 32;
    case 1: return t;
    case 2: return t + 4320;
    case 3: return 2;
    case 4: return (63u - t) * 3;
    case 5: return (t < 10 && t >= 5 ? 36u : 9u) * 1000 + 7 + (t < 10 ? t : 0);
    case 6: return t + 1;
    case 7: return t ^ 1;
    case 8: return 1u << 3;
    case 9: return t % 32 ? 0 : 1;
    case 10: return 3 + t;
    case 11: return t + 1;
    default: return (63u - t) * 3;
    }
}

static void test_numbers(void **state)
{
    (void)state;
    enum { STEPS = 13 };
    machine m = open_machine(NULL, "ptx.cu");
    kn_code *code = load(&m, "numbers");
    unsigned *o = take(&m, STEPS * THREADS * sizeof *o, 0xff);
    float *in = take(&m, 4 * THREADS * sizeof *in, 0), *out = take(&m, 129 * sizeof *out, 0);
    for (int t = 0; t < THREADS; t++)
        memcpy(in + 4 * t, (float[]){(float)t, 2, 3, 4}, 4 * sizeof *in);
    good(RUN(&m, code, shape(1, THREADS), &o, &in, &out));
    for (int step = 0; step < STEPS; step++)
        for (unsigned t = 0; t < THREADS; t++)
            if (o[step * THREADS + (int)t] != number(step, t))
                fail_msg("step %d, thread %u: %u, not %u", step, t, o[step * THREADS + (int)t],
                         number(step, t));
    for (int t = 0; t < 2 * THREADS; t++)
        assert_true(out[t] == (t % 2 ? 4 : 2));
    assert_true(out[128] == THREADS);
    emu->release(m.dev, o);
    emu->release(m.dev, in);
    emu->release(m.dev, out);
    emu->discard(m.dev, code);
    close_machine(&m);
}

/* What is not understood is refused by name, on its line. */
static void test_unknown(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");",
         "the PTX instruction wgmma.fence.sync.aligned"},
        {"asm volatile(\"ld.weird.u32 %0, [%1];\" : \"=r\"(o[0]) : \"l\"(o));",
         "the PTX instruction ld.weird.u32"},
        {"asm volatile(\"add.u32 %0, %1, there;\" : \"=r\"(o[0]) : \"r\"(1));",
         "the operand there of add.u32"},
        {"asm volatile(\"mov.b128 %0, %1;\" : \"=q\"(o[0]) : \"q\"(o[1]));",
         "an asm operand's constraint"},
    };
    machine m = open_machine(NULL, "ptx.cu");
    kn_code *code = NULL;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[300];
        snprintf(text, sizeof text, "__global__ void k(unsigned *o)\n{\n\n    %s\n}\n",
                 texts[i][0]);
        assert_int_equal(emu->load(m.dev, "k", text, &code), KN_COMPILE);
        const char *message = kn_last_error();
        if (!strstr(message, "kernel.cu:4") || !strstr(message, texts[i][1]))
            fail_msg("'%s' does not say '%s' of line 4", message, texts[i][1]);
    }
    close_machine(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
