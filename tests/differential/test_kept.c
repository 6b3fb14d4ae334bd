/* Computed values that take the place of what they are computed from, in registers and in shared memory, of a block and of
 * the blocks of a cluster: the emulator, which sees who writes and reads what, and the reference agree, however
 * --reuse forces it. tests/golden/kept.py holds what is kept where. */
#include <stdio.h>

#include "tests/differential/cases.h"

/* Normalised after a function that is worth keeping; and two of them, one after the other in one place. */
static const char grown[] = "def f(x: f32[N, C]):\n"
                            "    t = tanh(x)\n"
                            "    d = t - mean(t, axis=1, keepdims=True)\n"
                            "    return d * rsqrt(mean(d * d, axis=1, keepdims=True) + 1)\n";
static const char chain[] = "def f(x: f32[N, C], y: f32[N, C]):\n"
                            "    a = sqrt(x) + y\n"
                            "    b = exp(a / max(a, axis=1, keepdims=True))\n"
                            "    c = log(b / sum(b, axis=1, keepdims=True) + 1)\n"
                            "    return c / max(c, axis=1, keepdims=True)\n";

/* With what only the last sweep loads, so that copies bring what is kept. */
static const char beside[] = "def f(x: f32[N, C], g: f32[C]):\n"
                             "    t = tanh(x)\n"
                             "    d = t - mean(t, axis=1, keepdims=True)\n"
                             "    return d * rsqrt(mean(d * d, axis=1, keepdims=True) + 1) * g\n";

typedef struct kept_case {
    const char *text, *sizes, *schedule;
} kept_case;

static const kept_case cases[] = {
    {grown, "N=2 C=20001", "whole"},     {grown, "N=2 C=40000", "whole"},
    {grown, "N=2 C=40001", "cluster=2"}, {chain, "N=2 C=18002", "whole"},
    {chain, "N=2 C=30001", "cluster=3"}, {grown, "N=13 C=15000", "cluster=2"},
    {chain, "N=3 C=700", "whole"},       {beside, "N=9 C=6000", "cluster=2"},
};

static const char *source_of(const program *p, kn_context *ctx, kn_program_options options,
                             const char *reuse)
{
    kn_text why = kn_text_new(p->arena);
    sources s = {{0}};
    options.reuse = reuse;
    if (!program_check_cuda(p, ctx, &options, &why, &s))
        fail_msg("%s", kn_text_str(&why));
    return s.text.data[0];
}

static void check_agrees(const program *p, kn_context *ctx, const kn_program_options *options)
{
    kn_text why = kn_text_new(p->arena);
    tally seen = {0, 0};
    if (!program_check(p, ctx, options, &why, &seen))
        fail_msg("schedule %s, --reuse %s: %s", options->schedule,
                 options->reuse ? options->reuse : "chosen", kn_text_str(&why));
    assert_true(seen.compared > seen.skipped);
}

static void check(const kept_case *c, kn_context *ctx, const char *reuse)
{
    kn_arena a;
    kn_arena_init(&a, NULL);
    const kn_program_options options = {.fusion = true, .schedule = c->schedule, .reuse = reuse};
    program *p = program_of_text(&a, c->text, "f.kiln", c->sizes, 0);
    if (!p)
        fail_msg("%s: %s", c->sizes, kn_last_error());
    if (strcmp(source_of(p, ctx, options, "keep"), source_of(p, ctx, options, "recompute")) == 0)
        fail_msg("%s, schedule %s: nothing is kept", c->sizes, c->schedule);
    check_agrees(p, ctx, &options);
    kn_arena_finish(&a);
}

static void test_emu(void **state)
{
    (void)state;
    static const char *const forced[] = {NULL, "keep", "recompute"};
    kn_context *ctx;
    assert_int_equal(kn_context_open(&(kn_context_config){.device = "emu"}, &ctx), KN_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(&cases[i], ctx, forced[i % 3]);
    kn_context_close(ctx);
}

/* Rows that fill a block's shared memory beside more sums than there is room to combine at a time. */
static void test_many_sums(void **state)
{
    enum { SUMS = 40 };
    (void)state;
    kn_arena a;
    kn_context *ctx;
    kn_arena_init(&a, NULL);
    kn_text text = kn_text_new(&a), all = kn_text_new(&a);
    kn_put(&text, "def f(x: f64[N, C]):\n");
    for (int i = 1; i <= SUMS; i++) {
        kn_putf(&text, "    s%d = sum(x * (x + %d), axis=1, keepdims=True)\n", i, i);
        kn_putf(&all, " - s%d", i);
    }
    kn_putf(&text, "    return x%s\n", kn_text_str(&all));
    assert_int_equal(kn_context_open(&(kn_context_config){.device = "emu"}, &ctx), KN_OK);
    program *p = program_of_text(&a, kn_text_str(&text), "f.kiln", "N=1 C=28000", 0);
    assert_non_null(p);
    check_agrees(p, ctx, &(kn_program_options){.fusion = true, .schedule = "whole"});
    kn_context_close(ctx);
    kn_arena_finish(&a);
}

static void describe(kn_text *t, const kn_kernel *k, const kn_phase *ph)
{
    for (int i = 0; i < ph->nest.values.len && ph->how.hoisted; i++)
        if (kn_is_hoisted(ph, &ph->nest.values.data[i]))
            kn_putf(t, "%s ", k->bufs.data[ph->nest.values.data[i].access.buf].name);
    if (ph->how.rest_in_registers)
        kn_putf(t, "%d of %d%s ", (int)ph->num.held, (int)ph->num.chunk,
                kn_waits_by_chunk(ph) ? " as they come" : "");
    for (int i = 0; i < ph->nest.values.len && ph->how.rest_in_registers; i++)
        if (ph->nest.values.data[i].kept && ph->nest.values.data[i].kind == KN_V_ELEM)
            kn_put(t, "computed ");
}

/* What all groups share and blocks keep from their first group to their last, beside what differs from some groups to others;
 * of other types, apart in memory, needed by several sweeps; with results in the place of what is fetched. */
static void test_lasting(void **state)
{
    (void)state;
    static const scheduled_case lasting[] = {
        {"def f(x: f32[N, C], g: f32[C], b: f16[C]):\n"
         "    d = x - mean(x, axis=1, keepdims=True)\n"
         "    return d * rsqrt(mean(d * d, axis=1, keepdims=True) + 1) * g + b\n",
         "N=19 C=15000", "cluster=2", "in_g in_b "},
        {"def f(x: f32[N, M, C], g: f32[M, C], b: f32[C]):\n"
         "    return (x + g) / sum(x * x, axis=2, keepdims=True) * b\n",
         "N=7 M=3 C=16000", "cluster=2", "in_b "},
        {beside, "N=7 C=30000", "cluster=4", "in_g "},
        {"def f(x: f32[N, C], g: f32[C], h: f32[D]):\n"
         "    return x / sum(x * g, axis=1, keepdims=True) * h[::2] + g\n",
         "N=14 C=12000 D=24000", "cluster=2", "in_g in_h "},
        /* all that is fetched is the same for several groups */
        {"def f(x: f32[B, N], y: f32[M, N]):\n"
         "    z = x[:, None, :] + y[None, :, :]\n"
         "    return z / sum(z * z, axis=2, keepdims=True)\n",
         "B=2 M=3 N=40000", "cluster=2", ""},
    };
    check_scheduled(lasting, sizeof lasting / sizeof *lasting, 2, 1, describe);
}

/* Groups of which shared memory has no room for all: the rest is in registers, in a step or several, of one array or two, and
 * that of the next group while the last sweep works on one. As it comes, where maximum and sum are from one sweep; with values
 * in the place of what is fetched. */
static void test_rest(void **state)
{
    (void)state;
    static const scheduled_case most[] = {
        {"def f(x: f32[N, C]):\n"
         "    e = exp(x - max(x, axis=1, keepdims=True))\n"
         "    return e / sum(e, axis=1, keepdims=True)\n",
         "N=3 C=121000", "cluster=2", "56064 of 60504 as they come "},
        {"def f(x: f64[N, C]):\n" /* by half as many threads, which have room for half as much */
         "    return softmax(x, axis=1)\n",
         "N=3 C=58000", "cluster=2", "28032 of 29000 as they come "},
        {"def f(x: f64[N, C]):\n"
         "    return softmax(x, axis=1)\n",
         "N=1 C=70000", "cluster=2", ""},
        {"def f(x: f32[N, M, C], y: f32[N, M, C]):\n"
         "    t = tanh(x)\n"
         "    return t / sum(t * y, axis=2, keepdims=True) + y\n",
         "N=3 M=2 C=60000", "cluster=2", "28032 of 30000 computed "},
    };
    check_scheduled(most, sizeof most / sizeof *most, 2, 1, describe);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_emu), cmocka_unit_test(test_many_sums),
                                       cmocka_unit_test(test_lasting), cmocka_unit_test(test_rest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
