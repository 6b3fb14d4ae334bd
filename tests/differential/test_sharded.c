/* Programs of arrays that are divided over 1 to 5 ranks, which are threads, against the reference interpreter's results
 * for whole arrays. On the CPU device and the emulator.*/
#include <stdio.h>
#include <string.h>

#include "frontend/parse/parse.h"
#include "tests/differential/check.h"
#include "tests/differential/ranks.h"

static kn_context *contexts[MOST_RANKS];
static const char *path, *schedule_of_last;

static void check_one(const ranked_program *s, int ranks, uint64_t seed, tally *seen)
{
    kn_arena a;
    kn_arena_init(&a, NULL);
    const ranked_place place = {contexts, ranks, path, schedule_of_last};
    kn_text why = kn_text_new(&a);
    if (!ranked_program_check(&a, s, &place, seed, &why, seen))
        fail_msg("%s, seed %d: %s", s->what, (int)seed, kn_text_str(&why));
    kn_arena_finish(&a);
}

/* Programs from number `first` on, each `step`-th, over up to so many ranks. */
typedef struct choice {
    int first, step, least, most;
} choice;

static void on_device(const char *device, choice of)
{
    const int n = RANKED_PROGRAMS;
    tally seen = {0};
    if (setting("KILN_FUZZ", 0))
        of = (choice){0, 1, 1, MOST_RANKS};
    for (int r = 0; r < MOST_RANKS; r++)
        if (kn_context_open(&(kn_context_config){.device = device, .threads = 1}, &contexts[r]) !=
            KN_OK)
            fail_msg("%s", kn_last_error());
    for (int i = of.first; i < n; i += of.step)
        for (int ranks = of.least; ranks <= of.most; ranks++)
            check_one(&ranked_programs[i], ranks, (uint64_t)(i + ranks), &seen);
    for (int r = 0; r < MOST_RANKS; r++)
        kn_context_close(contexts[r]);
    must_have_compared(&seen);
}

static void test_cpu(void **state)
{
    (void)state;
    path = NULL;
    on_device("cpu", (choice){0, 1, EFFORT(1, 2), EFFORT(MOST_RANKS, 3)});
}

/* Kernels that exchange while they run: few, for each rank compiles its own. */
static void test_emu(void **state)
{
    (void)state;
    path = NULL;
    on_device("emu", (choice){1, 2 * RANKED_PROGRAMS, 2, 2});
    on_device("emu", (choice){3, 2 * RANKED_PROGRAMS, 2, 2});
}

/* One of the programs, over 2 to `most` ranks on the emulator. */
static void on_emulator(const char *what, int most)
{
    int i = 0;
    while (strcmp(ranked_programs[i].what, what) != 0)
        i++;
    on_device("emu", (choice){i, 2 * RANKED_PROGRAMS, 2, most});
}

/* Groups that exchange as soon as they have results: once, twice, of no elements. */
static void test_groups(void **state)
{
    (void)state;
    path = NULL;
    on_emulator("rmsnorm of a divided hidden axis", 3);
    on_emulator("softmax along a divided axis", 2);
    on_emulator("an exchange that only another one reads", 2);
    on_emulator("an exchange of nothing", 2);
}

/* A rank whose loop nests are others than those of the rest: then none exchanges group by group. */
static void test_unlike_plans(void **state)
{
    (void)state;
    path = NULL;
    schedule_of_last = "undo 1";
    on_emulator("batchnorm", 3);
    schedule_of_last = NULL;
}

/* The same, cut where ranks exchange by the host. */
static void test_cut(void **state)
{
    (void)state;
    path = "host";
    on_device("emu", (choice){0, 2 * RANKED_PROGRAMS, 2, 2});
}

/* The same where they would exchange too much: in pieces, by kernels of their own. */
static void test_large(void **state)
{
    (void)state;
    path = NULL;
    on_device("emu", (choice){RANKED_PROGRAMS - 1, 1, 2, 2});
}

/* Random programs, on the CPU device. */
static void test_random(void **state)
{
    (void)state;
    const uint64_t first = setting("KILN_SEED", 1), n = setting("KILN_FUZZ", EFFORT(100, 20));
    tally seen = {0};
    int found = 0;
    path = NULL;
    for (int r = 0; r < MOST_RANKS; r++)
        if (kn_context_open(&(kn_context_config){.device = "cpu", .threads = 1}, &contexts[r]) !=
            KN_OK)
            fail_msg("%s", kn_last_error());
    for (uint64_t seed = first; seed < first + n; seed++) {
        kn_arena a;
        kn_arena_init(&a, NULL);
        program *p = ranked_random(&a, seed);
        rng r = {seed};
        kn_program_options options = option_sets[seed % 4];
        ranked of = {.p = p, .ranks = 2 + (int)(seed % 4), .options = &options};
        kn_text why = kn_text_new(&a);
        memcpy(of.ctx, contexts, sizeof of.ctx);
        if (p)
            ranked_divide(&of, &r);
        if (p && !ranked_check(&of, &why, &seen))
            fail_msg("KILN_SEED=%d KILN_FUZZ=1: %s\n%s", (int)seed, kn_text_str(&why),
                     p->graph->source);
        found += p != NULL;
        kn_arena_finish(&a);
    }
    for (int r = 0; r < MOST_RANKS; r++)
        kn_context_close(contexts[r]);
    assert_true(setting("KILN_FUZZ", 0) || found * 2 > (int)n);
}

int main(int argc, char **argv)
{
    if (argc > 1) /* test_random, ... */
        cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu),          cmocka_unit_test(test_random),
        cmocka_unit_test(test_emu),          cmocka_unit_test(test_cut),
        cmocka_unit_test(test_large),        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_unlike_plans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
