/* Programs in the text form, held to the reference interpreter on a device, and to what is known of their phases. */
#ifndef KN_TESTS_CASES_H
#define KN_TESTS_CASES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/differential/program.h"
#include "tests/effort.h"

/* has: is there a phase of a certain kind on the emulator where all arrays are compact? */
typedef struct text_case {
    const char *text, *sizes;
    bool has;
} text_case;

typedef bool (*phase_kind)(const kn_phase *ph);

/* The plan of a run on the context's device, in the program's arena. */
static inline const kn_plan *plan_of(const program *p, kn_context *ctx, const kn_program_options *o)
{
    kn_program *prog;
    kn_plan *plan;
    assert_int_equal(kn_program_create(ctx, p->graph, o, &prog), KN_OK);
    assert_int_equal(program_plan(p, prog, ctx->dev->ops->target(ctx->dev), p->arena, &plan),
                     KN_OK);
    kn_program_destroy(prog);
    return plan;
}

/* Resident loads of all phases. */
static inline int resident_loads(const program *p, kn_context *ctx, const kn_program_options *o)
{
    const kn_plan *plan = plan_of(p, ctx, o);
    int loads = 0;
    for (int k = 0; k < plan->kernels.len; k++)
        for (int i = 0; i < plan->kernels.data[k]->phases.len; i++) {
            const kn_phase *ph = &plan->kernels.data[k]->phases.data[i];
            for (int v = 0; v < ph->nest.values.len; v++)
                loads += ph->nest.values.data[v].kept == KN_KEEP_RESIDENT;
        }
    return loads;
}

static inline bool has_phase(const program *p, kn_context *ctx, phase_kind kind)
{
    const kn_plan *plan = plan_of(p, ctx, &option_sets[0]);
    bool has = false;
    for (int k = 0; k < plan->kernels.len; k++)
        for (int i = 0; i < plan->kernels.data[k]->phases.len; i++)
            has = has || kind(&plan->kernels.data[k]->phases.data[i]);
    return has;
}

/* Every case with compact arrays (sanitized, every third), and each `every`th with others. */
static inline void check_cases(const char *device, const text_case *cases, int n, int every,
                               phase_kind kind)
{
    kn_context *ctx;
    tally seen = {0, 0};
    int failed = 0;
    assert_int_equal(kn_context_open(&(kn_context_config){.device = device}, &ctx), KN_OK);
    for (int i = 0; i < n; i += EFFORT(1, 3))
        for (uint64_t seed = 0; seed <= (i % every == 0); seed++) {
            kn_arena a;
            kn_arena_init(&a, NULL);
            kn_text why = kn_text_new(&a);
            program *p = program_of_text(&a, cases[i].text, "text", cases[i].sizes, seed);
            if (!p)
                fail_msg("%s%s: %s", cases[i].text, cases[i].sizes, kn_last_error());
            if (!program_check(p, ctx, &option_sets[0], &why, &seen))
                fail_msg("%s with %s, seed %d, on %s: %s", cases[i].text, cases[i].sizes, (int)seed,
                         device, kn_text_str(&why));
            if (seed == 0 && strcmp(device, "emu") == 0 &&
                has_phase(p, ctx, kind) != cases[i].has) {
                print_error("%s with %s: %s\n", cases[i].text, cases[i].sizes,
                            cases[i].has ? "no such phase" : "there is such a phase");
                failed++;
            }
            kn_arena_finish(&a);
        }
    kn_context_close(ctx);
    assert_int_equal(failed, 0);
    assert_true(seen.compared > 0 && seen.skipped * 10 < seen.compared);
}

/* how: what is known of the phases by a forced schedule, in words, where all arrays are compact; "" for nothing. */
typedef struct scheduled_case {
    const char *text, *sizes, *schedule, *how;
} scheduled_case;

/* Adds those of one phase. */
typedef void (*phase_words)(kn_text *t, const kn_kernel *k, const kn_phase *ph);

static inline const char *in_words(const program *p, const kn_plan *plan, phase_words describe)
{
    kn_text t = kn_text_new(p->arena);
    for (int k = 0; k < plan->kernels.len; k++)
        for (int i = 0; i < plan->kernels.data[k]->phases.len; i++)
            describe(&t, plan->kernels.data[k], &plan->kernels.data[k]->phases.data[i]);
    return kn_text_str(&t);
}

/* Every case on the emulator with compact arrays (sanitized, every second), and each `every`th with `others` other layouts,
 * not sanitized. */
static inline void check_scheduled(const scheduled_case *cases, int n, int every, int others,
                                   phase_words describe)
{
    kn_context *ctx;
    tally seen = {0, 0};
    int failed = 0;
    assert_int_equal(kn_context_open(&(kn_context_config){.device = "emu"}, &ctx), KN_OK);
    for (int i = 0; i < n; i += EFFORT(1, 2)) {
        const kn_program_options o = {.fusion = true, .schedule = cases[i].schedule};
        const int seeds = EFFORT(1, 0) && i % every == 0 ? others : 0;
        for (int seed = 0; seed <= seeds; seed++) {
            kn_arena a;
            kn_arena_init(&a, NULL);
            kn_text why = kn_text_new(&a);
            program *p = program_of_text(&a, cases[i].text, "text", cases[i].sizes, (uint64_t)seed);
            if (!p)
                fail_msg("%s%s: %s", cases[i].text, cases[i].sizes, kn_last_error());
            const char *how = in_words(p, plan_of(p, ctx, &o), describe);
            if (!program_check(p, ctx, &o, &why, &seen)) {
                print_error("%s with %s, seed %d: %s\n", cases[i].text, cases[i].sizes, seed,
                            kn_text_str(&why));
                failed++;
            } else if (seed == 0 && strcmp(how, cases[i].how) != 0) {
                print_error("%s with %s: '%s', not '%s'\n", cases[i].text, cases[i].sizes, how,
                            cases[i].how);
                failed++;
            }
            kn_arena_finish(&a);
        }
    }
    kn_context_close(ctx);
    assert_int_equal(failed, 0);
    assert_true(seen.compared > 0 && seen.skipped * 10 < seen.compared);
}

#endif
