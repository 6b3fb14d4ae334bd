/* Cooperative groups and the barriers and pipelines of libraries: what they give, in every order of threads, and
 * what is said of misuse and of what is not there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/emu/machine.h"

enum { THREADS = 64, STEPS = 16 };

static const char *const orders[] = {NULL, "reversed", "seed=3"};
enum { ORDERS = 3 };

/* The sum, over the lanes of t's warp that satisfy the test, of their thread numbers; or how many there are, or how
 * many of them are below t. */
typedef bool among(int t, int other);
static bool thirds(int t, int other) { return other % 3 == 0 && t % 3 == 0; }
static bool fifths(int t, int other) { return t % 5 == other % 5; }
static bool sides(int t, int other) { return (t % 32 < 7) == (other % 32 < 7); }

typedef struct totals {
    int sum, count, rank, at[32];
} totals;

static totals total(int t, among *in)
{
    totals all = {0};
    for (int other = t / 32 * 32; other < t / 32 * 32 + 32; other++) {
        if (!in(t, other))
            continue;
        all.at[all.count] = other;
        all.sum += other;
        all.rank += other < t;
        all.count++;
    }
    return all;
}

static bool is_leader(int t, int size) { return t % size == 0; }

/* What step `step` of `groups` gives thread t; *any: whatever it likes. */
static int expected(int step, int t, bool *any)
{
    totals third = total(t, thirds), fifth = total(t, fifths), side = total(t, sides);
    int first = t / 8 * 8, bits = 0;
    switch (step) {
    case 0: *any = !is_leader(t, 64); return 2016;
    case 1: *any = !is_leader(t, 16); return 16 * t + 120;
    case 2: return t % 32 / 8 * 100 + 40 + t % 8;
    case 3: return 8 * first + 28;
    case 4: return t / 32 * 32 + 31;
    case 5: return t % 3 ? -1 : third.rank * 100 + third.count;
    case 6: return t % 3 ? -1 : third.sum;
    case 7:
        if (t % 3)
            return -1;
        return third.at[third.rank + 1 < third.count ? third.rank + 1 : third.rank] +
               1000 * third.at[third.rank < 2 ? third.rank : third.rank - 2] + 100000 * third.at[3];
    case 8: return t % 2 ? 321 : 319;
    case 9: return fifth.sum * 100 + fifth.rank;
    case 10: return side.count * 100 + side.rank + 1;
    case 11: return (t / 32 * 32 + t) * (t % 32 + 1) / 2;
    case 12: return t % 8 * (t % 8 + 1) / 2;
    case 13:
        for (int i = 0; i < side.count; i++)
            bits |= (side.at[i] & 1) << i;
        return bits;
    case 14: return (t ^ 3) * 100 + 4;
    default: return t % 32 < 7 ? 11 : 0;
    }
}

static void test_groups(void **state)
{
    (void)state;
    for (int order = 0; order < ORDERS; order++) {
        machine m = open_machine(orders[order], "groups.cu");
        kn_code *code = load(&m, "groups");
        int *o = take(&m, STEPS * THREADS * sizeof *o, 0xff);
        good(RUN(&m, code, shape(1, THREADS), &o));
        for (int step = 0; step < STEPS; step++)
            for (int t = 0; t < THREADS; t++) {
                bool any = false;
                int want = expected(step, t, &any), got = o[step * THREADS + t];
                if (got != want && !any)
                    fail_msg("step %d, thread %d: %d, not %d", step, t, got, want);
            }
        emu->release(m.dev, o);
        emu->discard(m.dev, code);
        close_machine(&m);
    }
}

/* ---- barriers and pipelines ---- */

enum { COUNT = 6 * THREADS };

static void test_async(void **state)
{
    (void)state;
    static const struct {
        const char *entry;
        int which;
        const char *mark, *words;
    } mistakes[] = {
        {"barriers", 1, "early", "reads shared slab+252 (of 512 bytes), which nobody has written"},
        {"barriers", 2, "the copy", "shared slab"},
        {"barriers", 3, "after arriving", "which nobody has written"},
        {"pipelines", 1, "own", "which an asynchronous copy is to fill, and nobody has waited"},
        {"pipelines", 2, "all's", "which an asynchronous copy is to fill, and nobody has waited"},
    };
    for (int order = 0; order < ORDERS; order++) {
        machine m = open_machine(orders[order], "groups.cu");
        float *in = take(&m, COUNT * sizeof *in, 0), *out = take(&m, THREADS * sizeof *out, 0);
        for (int i = 0; i < COUNT; i++)
            in[i] = (float)(i * 3 % 101);
        for (int k = 0; k < 2; k++) {
            const char *entry = k ? "pipelines" : "barriers";
            kn_code *code = load(&m, entry);
            int which = 0;
            good(RUN(&m, code, shape(1, THREADS), &which, &in, &out));
            for (int t = 0; t < THREADS; t++) {
                float own = 0, sum = 0, other = 0;
                for (int i = 0; i < (k ? 6 : 3); i++) {
                    own += in[i * 64 + t];
                    sum += in[i * 64 + 63 - t];
                }
                other = k ? own * 1000 + sum : sum + own + in[t];
                assert_true(out[t] == other);
            }
            for (size_t i = 0; !order && i < sizeof mistakes / sizeof *mistakes; i++)
                if (strcmp(mistakes[i].entry, entry) == 0) {
                    which = mistakes[i].which;
                    says(&m, RUN(&m, code, shape(1, THREADS), &which, &in, &out), mistakes[i].mark,
                         mistakes[i].words);
                }
            emu->discard(m.dev, code);
        }
        emu->release(m.dev, in);
        emu->release(m.dev, out);
        close_machine(&m);
    }
}

static void test_cluster_names(void **state)
{
    (void)state;
    machine m = open_machine(NULL, "groups.cu");
    kn_code *code = load(&m, "cluster_names");
    int *o = take(&m, 8 * THREADS * sizeof *o, 0);
    kn_grid g = shape(8, THREADS);
    g.cluster[0] = 4;
    good(RUN(&m, code, g, &o));
    for (int i = 0; i < 8 * THREADS; i++) {
        int block = i / THREADS, cluster = block / 4;
        assert_int_equal(o[i], (block + 1) % 4 * 1000 + cluster * 100 + cluster + 2 + 4);
    }
    emu->release(m.dev, o);
    emu->discard(m.dev, code);
    close_machine(&m);
}

/* What is not there says so. */
static void test_limits(void **state)
{
    (void)state;
    static const struct {
        const char *header, *body, *words;
    } cases[] = {
        {"cooperative_groups.h",
         "auto g = cooperative_groups::tiled_partition<64>(cooperative_groups::this_thread_block()); o[0] = g.size();",
         "the emulator knows no tiles of more than 32 threads"},
        {"cuda/barrier", "__shared__ cuda::barrier<cuda::thread_scope_device> b; init(&b, 1);",
         "the emulator knows only barriers of a block"},
        {"cuda/pipeline",
         "__shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> s;\n"
         "cuda::make_pipeline(cooperative_groups::this_thread_block(), &s, cuda::pipeline_role::producer);",
         "the emulator knows no pipelines with threads that only produce or only consume"},
        {"cub/cub.cuh", "", "cub/cub.cuh"},
    };
    machine m = open_machine(NULL, "groups.cu");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[500];
        kn_code *code = NULL;
        snprintf(text, sizeof text, "#include <%s>\n__global__ void k(int *o)\n{\n    %s\n}\n",
                 cases[i].header, cases[i].body);
        assert_int_equal(emu->load(m.dev, "k", text, &code), KN_COMPILE);
        if (!strstr(kn_last_error(), cases[i].words))
            fail_msg("'%s' does not say '%s'", kn_last_error(), cases[i].words);
    }
    close_machine(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_async),
        cmocka_unit_test(test_cluster_names),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
