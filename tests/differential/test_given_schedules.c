/* Schedules that are given. What the planner chose is changed at random, in its block, its threads a group, vectors,
 * steps, clusters, in what it holds, where and since when, in how that comes there, in what it transposes, and in the
 * loops of its sweeps: a changed schedule is refused, with the rule that it breaks, or it is right. And merges of loop
 * nests that are undone one by one. */
#include <stdio.h>
#include <string.h>

#include "codegen/kir/schedule_text.h"
#include "tests/differential/check.h"

static const struct {
    const char *text, *sizes;
    const char *choice; /* that the phases follow from; NULL: none */
} programs[] = {
    {"def p(x: f32[N, C]):\n    return x * 2 + 1\n", "N=70 C=300", NULL},
    {"def p(x: f32[N, C]):\n    e = exp(x - max(x, axis=-1, keepdims=True))\n"
     "    return e / sum(e, axis=-1, keepdims=True)\n",
     "N=9 C=1500", NULL},
    {"def p(x: f32[N, C], g: f32[C]):\n    d = x - mean(x, axis=-1, keepdims=True)\n"
     "    return d * rsqrt(mean(d * d, axis=-1, keepdims=True) + 1e-5) * g\n",
     "N=40 C=128", NULL},
    {"def p(x: f32[N, C, H]):\n    d = x - mean(x, axis=(0, 2), keepdims=True)\n"
     "    return d / sqrt(mean(d * d, axis=(0, 2), keepdims=True))\n",
     "N=8 C=6 H=400", NULL},
    {"def p(x: f32[N, C]):\n    return (x - mean(x, axis=0)) / max(abs(x), axis=0)\n",
     "N=300 C=200", NULL},
    {"def p(x: f64[N, C]):\n    return sum(x, axis=0)\n", "N=500 C=64", NULL},
    {"def p(x: f32[N, C]):\n    return logsumexp(x, axis=1)\n", "N=4 C=9000", NULL},
    {"def p(x: f32[N, C]):\n    d = x - mean(x, axis=-1, keepdims=True)\n"
     "    return exp(d) * x / sum(exp(d), axis=-1, keepdims=True)\n",
     "N=9 C=256", NULL},
    {"def p(x: f32[N, C, P]):\n    d = x - mean(x, axis=(0, 2), keepdims=True)\n"
     "    return d * rsqrt(mean(d * d, axis=(0, 2), keepdims=True) + 1)\n",
     "N=32 C=48 P=49", NULL},
    {"def p(x: f32[C, N]):\n    e = exp(x.T - max(x, axis=0)[:, None])\n"
     "    return e / sum(e, axis=1, keepdims=True)\n",
     "N=68 C=600", NULL},
    {"def p(x: f32[N, C]):\n    return sum(x, axis=0), sum(x, axis=1)\n", "N=300 C=2040", NULL},
    {"def p(x: f32[N], y: f32[N]):\n    return sum(x * y)\n", "N=100000", NULL},
    {"def p(x: f32[N]):\n    return x / sqrt(sum(x * x) + max(x))\n", "N=60000", NULL},
    {"def p(x: bf16[N], y: f32[N]):\n    return x * 2, y + 1, x - y\n", "N=2029", NULL},
    {"def p(x: f32[N]):\n    return (x - mean(x)) / (sum(abs(x)) + max(x))\n", "N=12003", "whole"},
    {"def p(x: bf16[N]):\n    return softmax(x, axis=0)\n", "N=40005", "cluster=2"},
    {"def p(x: f32[N]):\n    return x / sqrt(sum(x * x) + max(x))\n", "N=60001", "resident"},
    {"def p(x: f32[N, C]):\n    return (x - mean(x, axis=0)) / (1 + max(abs(x), axis=0))\n",
     "N=6000 C=64", NULL},
    {"def p(x: f32[N, C], y: f32[C, N]):\n    return x + y.T\n", "N=300 C=200", NULL},
    {"def p(x: f32[N, C], y: f32[C, N]):\n    return sum(x * y.T, axis=0)\n", "N=300 C=200", NULL},
    {"def p(x: bf16[N, C]):\n    return softmax(x, axis=1)\n", "N=3 C=30001", NULL},
    {"def p(x: bf16[N, C]):\n    return softmax(x, axis=1)\n", "N=90 C=2048", NULL},
    {"def p(x: f64[N, C]):\n    return softmax(x, axis=1)\n", "N=3 C=58000", "cluster=2"},
    {"def p(x: f32[C, N], y: f32[C, N]):\n    d = x.T - max(x * y, axis=0)[:, None]\n"
     "    return d, y.T + d, d.T, cast(d, f64)\n",
     "N=66 C=92", "tiles"},
    {"def p(x: f16[N, C]):\n    return sum(x, axis=0), max(x, axis=0)\n", "N=2003 C=19", NULL},
    {"def p(x: f16[N, C]):\n    a = abs(cast(x, f32)) + 0.1\n"
     "    return a * rsqrt(sum(a, axis=1, keepdims=True)) * rsqrt(sum(a, axis=0))\n",
     "N=4100 C=31", NULL},
    {"def p(x: f32[N, C]):\n    return (x - mean(x, axis=0)) / (1 + var(x, axis=0))\n",
     "N=3001 C=21", "resident"},
    {"def p(x: bf16[N, C], y: bf16[C, N]):\n    return x + y.T, y.T - x\n", "N=137 C=91", "tiles"},
    {"def p(x: f16[N, C], y: f16[N, C]):\n    return x + y, (x - y).T\n", "N=75 C=131", "tiles"},
    {"def p(x: f32[N, C]):\n    return softmax(x, axis=1), sum(x)\n", "N=7 C=9000", "cluster=2"},
    {"def p(x: f32[N, C], y: f32[M, D]):\n    return max(x, axis=1), softmax(y, axis=1)\n",
     "N=9 C=3000 M=5 D=4001", NULL},
};
enum { FLAT = 0, SOFTMAX = 1, DEVIATIONS = 7, PACKED = 8, TILES = 18 };
enum { UNDONE = EFFORT(80, 10), ELEMENTS = 6000 }; /* programs whose merges are undone */
enum { PROGRAMS = sizeof programs / sizeof *programs, CHANGED = EFFORT(8, 2), MOST_EDITS = 3 };

static int64_t rounded_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

static void scale(int *n, bool up) { *n = up ? *n * 2 : *n / 2; }

/* Changes where a value is held, and since when, or holds one value less or one more. */
static void change_hold(kn_arena *a, kn_phase_schedule *of, const kn_nest *nest, rng *r)
{
    kn_hold *h = of->how.holds.len ? &of->how.holds.data[below(r, of->how.holds.len)] : NULL;
    switch (below(r, 4)) {
    case 0:
        if (h)
            h->room = chance(r, 50) ? of->how.holds.data[0].value : below(r, nest->values.len);
        break;
    case 1:
        if (h)
            h->since = below(r, nest->nsweeps + 1);
        break;
    case 2: of->how.holds.len -= of->how.holds.len > 0; break;
    case 3: {
        int value = below(r, nest->values.len);
        kn_hold more = {.value = value,
                        .where = h ? h->where : KN_KEEP_REGISTERS,
                        .since = below(r, nest->nsweeps + 1),
                        .room = h && chance(r, 50) ? h->value : value};
        kn_push(a, &of->how.holds, more);
        break;
    }
    }
}

/* Changes how what is held comes there, how many groups at a time, or when groups are combined. */
static void change_transfer(kn_schedule *how, rng *r)
{
    bool *const flags[] = {&how->by_chunk, &how->persistent, &how->prefetch, &how->skewed};
    int flag = below(r, 7);
    if (flag < 4)
        *flags[flag] = !*flags[flag];
    else if (flag == 6)
        how->groups = below(r, KN_MOST_GROUPS + 1);
    else if (flag < 5)
        scale(&how->copies, chance(r, 50));
    else
        how->deferred = how->deferred ? below(r, 2 * how->deferred) : chance(r, 50);
}

/* Transposes by other vectors, in registers or by tiles, or one access less or one more. */
static void change_transpose(kn_arena *a, kn_schedule *how, const kn_nest *nest, rng *r)
{
    const int n = how->transposes.len;
    kn_transpose *t = n ? &how->transposes.data[below(r, n)] : NULL;
    const bool store = chance(r, 50);
    const kn_transpose more = {.store = store,
                               .of = below(r, store ? nest->stores.len + 1 : nest->values.len),
                               .vec = 1 << below(r, 4)};
    switch (t ? below(r, 4) : 3) {
    case 0: scale(&t->vec, chance(r, 50)); break;
    case 1: t->in_registers = !t->in_registers; break;
    case 2: how->transposes.len--; break;
    case 3: kn_push(a, &how->transposes, more); break;
    }
}

/* Changes a loop, or leaves it to the binder, or takes groups in reverse. */
static void change_loop(kn_schedule *how, rng *r)
{
    kn_sweep_loop *l = how->loops.len ? &how->loops.data[below(r, how->loops.len)] : NULL;
    switch (l ? below(r, 11) : 6 + below(r, 2)) {
    case 0: scale(&l->unroll, chance(r, 50)); break;
    case 1:
        l->batch = (kn_batch)below(r, 3);
        l->counted = !l->batch && chance(r, 50);
        break;
    case 2: l->backwards = !l->backwards; break;
    case 3: l->counted = !l->counted; break;
    case 4: l->guarded = !l->guarded; break;
    case 5: *l = how->loops.data[--how->loops.len]; break;
    case 6: how->reversed = !how->reversed; break;
    case 7: how->inline_quotients = !how->inline_quotients; break;
    case 8: scale(&l->loads, chance(r, 50)); break;
    case 9: l->unguarded = chance(r, 50) ? l->unroll : below(r, l->unroll + 1); break;
    case 10: l->whole = !l->whole; break;
    }
}

/* Interleaves columns, or undoes it. */
static void lay(kn_schedule *how, int threads)
{
    how->interleaved = !how->interleaved;
    how->tpg = how->interleaved ? 1 : threads / KN_COLS_LANES;
    how->lanes = how->interleaved ? threads : KN_COLS_LANES;
}

/* One change of a phase, and what has to go with it mostly goes. */
static void change(kn_arena *a, kn_kernel_schedule *s, kn_phase_schedule *of, const kn_nest *nest,
                   rng *r)
{
    kn_schedule *how = &of->how;
    const bool up = chance(r, 50), whole = how->tpg == s->threads;
    if (of->local) {
        change_loop(how, r);
        return;
    }
    switch (below(r, how->tile ? 16 : 14)) {
    case 0:
        scale(&s->threads, up);
        if (whole || how->walk == KN_WALK_COLS)
            scale(&how->tpg, up);
        break;
    case 1: scale(&how->vec, up); break;
    case 2: scale(&how->steps, up); break;
    case 3: how->tpg = (const int[]){1, 4, 16, 32, s->threads}[below(r, 5)]; break;
    case 4:
        scale(&how->lanes, up);
        scale(&how->tpg, !up);
        break;
    case 5: scale(&how->unroll, up); break;
    case 6:
        if (!how->cluster && chance(r, 80))
            break;
        how->cluster = true;
        of->num.splits = up ? of->num.splits * 2 : of->num.splits / 2;
        of->num.chunk = of->num.splits && chance(r, 50)
                            ? rounded_up((nest->members + of->num.splits - 1) / of->num.splits, 8)
                            : 0;
        break;
    case 7:
        of->how.holds.len = chance(r, 50) ? 0 : of->how.holds.len - (of->how.holds.len > 0);
        how->steps = chance(r, 50) ? 0 : how->steps;
        break;
    case 8: change_hold(a, of, nest, r); break;
    case 9: change_transfer(how, r); break;
    case 10: how->beside = !how->beside; break;
    case 11:
        if (how->walk == KN_WALK_COLS)
            lay(how, s->threads);
        break;
    case 14:
    case 15: change_transpose(a, how, nest, r); break;
    default: change_loop(how, r); break;
    }
}

static const char *changed(const program *p, const kn_kernel *k, const char *choice, rng *r)
{
    kn_kernel_schedule s = kn_schedule_of(p->arena, k);
    kn_text t = kn_text_new(p->arena);
    for (int edits = 1 + below(r, MOST_EDITS); edits > 0; edits--) {
        int phase = below(r, s.phases.len);
        change(p->arena, &s, &s.phases.data[phase], &k->phases.data[phase].nest, r);
    }
    kn_put(&t, choice ? choice : "");
    kn_put(&t, choice ? ", " : "");
    kn_schedule_put(&t, &s, k);
    return kn_text_str(&t);
}

static void test_changed(void **state)
{
    kn_context *ctx;
    tally t = {0};
    int right = 0, refused = 0;
    rng r = {setting("KILN_SEED", 1)};
    (void)state;
    ctx = open_context("emu");
    for (int i = 0; i < PROGRAMS; i++) {
        kn_arena a;
        kn_arena_init(&a, NULL);
        program *p = program_of_text(&a, programs[i].text, "schedules", programs[i].sizes, 0);
        assert_non_null(p);
        kn_program *prog; /* has the names of values */
        kn_plan *plan;
        const kn_program_options options = {.fusion = true, .schedule = programs[i].choice};
        assert_int_equal(kn_program_create(ctx, p->graph, &options, &prog), KN_OK);
        assert_int_equal(program_plan(p, prog, ctx->dev->ops->target(ctx->dev), &a, &plan), KN_OK);
        for (int n = (int)setting("KILN_FUZZ", CHANGED); n > 0 && plan->kernels.len == 1; n--) {
            const char *text = changed(p, plan->kernels.data[0], programs[i].choice, &r);
            kn_text why = kn_text_new(&a);
            failure f = program_failure(
                p, ctx, &(kn_program_options){.fusion = true, .schedule = text}, &why, &t);
            bool rule = f.status == KN_ARGUMENT && strstr(kn_text_str(&why), "schedule, phase");
            if (f.fault != NO_FAULT && !rule)
                fail_msg("program %d, --schedule '%s': %s", i, text, kn_text_str(&why));
            right += f.fault == NO_FAULT;
            refused += rule;
        }
        kn_program_destroy(prog);
        kn_arena_finish(&a);
    }
    kn_context_close(ctx);
    print_message("%d schedules were right, %d refused\n", right, refused);
    assert_true(right > 0 && refused > 0);
}

/* The planner's schedule with batches of `unroll` steps, of which the first are unguarded, or whole batches have a form of their
 * own; NULL: it has no batch. */
static const char *with_batches(const program *p, const kn_kernel *k, int unroll, int unguarded,
                                bool whole)
{
    kn_kernel_schedule s = kn_schedule_of(p->arena, k);
    kn_text t = kn_text_new(p->arena);
    bool any = false;
    for (int i = 0; i < s.phases.len; i++)
        for (int j = 0; j < s.phases.data[i].how.loops.len; j++) {
            kn_sweep_loop *l = &s.phases.data[i].how.loops.data[j];
            if (!l->batch)
                continue;
            any = true;
            l->unroll = unroll;
            l->unguarded = unguarded;
            l->whole = whole;
        }
    kn_schedule_put(&t, &s, k);
    return any ? kn_text_str(&t) : NULL;
}

/* Is it right, or refused because members are not for all those steps? */
static bool is_right_or_refused(const program *p, kn_context *ctx, const char *text)
{
    tally t = {0};
    kn_text why = kn_text_new(p->arena);
    failure f =
        program_failure(p, ctx, &(kn_program_options){.fusion = true, .schedule = text}, &why, &t);
    const bool refused = f.status == KN_ARGUMENT && strstr(kn_text_str(&why), "steps of a batch");
    if (f.fault != NO_FAULT && !refused)
        fail_msg("--schedule '%s': %s", text, kn_text_str(&why));
    return !refused;
}

static const struct {
    const char *text, *sizes;
    int least, step; /* sizes to begin with, and what they differ by */
} with_rests[] = {
    {"def p(x: bf16[N, C]):\n    return (x - mean(x, axis=0)) / max(abs(x), axis=0)\n", "N=%d C=37",
     128, 8},
    {"def p(x: bf16[N, C]):\n    return sum(x * x, axis=0)\n", "N=%d C=33", 120, 8},
    {"def p(x: f32[N, C]):\n    return (x - mean(x, axis=0)) / max(abs(x), axis=0)\n", "N=%d C=71",
     4000, 28},
    {"def p(x: f32[C, N]):\n    return sum(x * x, axis=1)\n", "N=%d C=9", 12288, 512},
    {"def p(x: f32[N], y: f32[N]):\n    return sum(x * y)\n", "N=%d", 100000, 1024},
    {"def p(x: f32[N, C]):\n    return sum(x, axis=0)\n", "N=%d C=64", 6000, 32},
    {"def p(x: f32[N], y: f32[N]):\n    return exp(x) * y\n", "N=%d", 100001, 1024}};
enum { WITH_RESTS = sizeof with_rests / sizeof *with_rests, UNROLL = 4 };

/* Batches of program i, with so much behind the least, which are tested, unguarded or in two forms. Adds up how many there were, and
 * how many unguarded. */
static void try_batches(kn_context *ctx, int i, int rest, int *batches, int *unguarded)
{
    char sizes[64];
    kn_arena a;
    kn_program *prog;
    kn_plan *plan;
    const kn_program_options options = {.fusion = true};
    kn_arena_init(&a, NULL);
    snprintf(sizes, sizeof sizes, with_rests[i].sizes,
             with_rests[i].least + rest * with_rests[i].step);
    program *p = program_of_text(&a, with_rests[i].text, "schedules", sizes, 0);
    assert_int_equal(kn_program_create(ctx, p->graph, &options, &prog), KN_OK);
    assert_int_equal(program_plan(p, prog, ctx->dev->ops->target(ctx->dev), &a, &plan), KN_OK);
    const kn_kernel *k = plan->kernels.data[0];
    assert_int_equal(plan->kernels.len, 1);
    if (with_batches(p, k, UNROLL, 0, false)) {
        ++*batches;
        assert_true(is_right_or_refused(p, ctx, with_batches(p, k, UNROLL, 0, false)));
        assert_true(is_right_or_refused(p, ctx, with_batches(p, k, UNROLL, 0, true)));
        for (int n = 2; n <= UNROLL; n++)
            *unguarded += is_right_or_refused(p, ctx, with_batches(p, k, UNROLL, n, false));
    }
    kn_program_destroy(prog);
    kn_arena_finish(&a);
}

/* Batches that leave a rest of every length. */
static void test_batches(void **state)
{
    kn_context *ctx = open_context("emu");
    int batches = 0, unguarded = 0;
    (void)state;
    for (int i = 0; i < WITH_RESTS; i++)
        for (int rest = 0; rest <= 2 * UNROLL; rest++)
            try_batches(ctx, i, rest, &batches, &unguarded);
    kn_context_close(ctx);
    print_message("%d programs with batches, %d times with unguarded steps\n", batches, unguarded);
    assert_true(batches > WITH_RESTS && unguarded > UNROLL);
}

/* What is no schedule is refused with its place, and so is one of another program. */
static void test_refused(void **state)
{
    static const struct {
        const char *text, *why;
        int program;
    } cases[] = {
        {"threads 256: rows tpg", "column 22: a number is wanted, not ''", SOFTMAX},
        {"threads 256: diagonal vec 4",
         "column 14: flat, rows, cols or local is wanted, not 'diagonal'", SOFTMAX},
        {"threads 256: rows tpg 256 vec 4, hold x shared",
         "a value, as v3 or v3_x, is wanted, not 'x'", SOFTMAX},
        {"threads 256: rows tpg 256 vec 4; local; local", "the schedule has 3 phases, the kernel 1",
         SOFTMAX},
        {"threads 256: rows tpg 256 vec 4|threads 32: nonsense",
         "there are more schedules than kernels, which are 1", SOFTMAX},
        {"threads 96: rows tpg 32 vec 4", "a block has a power of two of threads", SOFTMAX},
        {"threads 256: flat tpg 1 vec 4 unroll 1", "the walk is the planner's", SOFTMAX},
        {"threads 256: rows tpg 32", "vectors are no wider", SOFTMAX},
        {"threads 256: rows tpg 256 vec 4 unroll 1000", "the loops of rows and columns", SOFTMAX},
        {"threads 256: rows tpg 256 vec 1, cluster 4 of 376, async, chunk 512, hold v0 shared",
         "async copies bring whole runs", SOFTMAX},
        {"undo 5", "there are 4 merges of loop nests to undo", SOFTMAX},
        {"undo 65", "unknown schedule 'undo 65'", SOFTMAX},
        {"threads 2147483648: rows tpg 32", "column 9: a number is wanted", SOFTMAX},
        {"threads 256: rows tpg 256 vec 4, cluster 2 of 99999999999999999999",
         "column 47: a number is wanted", SOFTMAX},
        {"threads 64: rows tpg 32 vec 4 steps 2, hold v0 registers, hold v5 registers at v0 sweep 1",
         "a computed value is held since", DEVIATIONS},
        {"threads 64: rows tpg 32 vec 4 steps 2, hold v0 registers, hold v5 registers sweep 0",
         "a computed value is held since", DEVIATIONS},
        {"threads 256: rows tpg 256 vec 4, cluster 4 of 376, async, chunk 1024",
         "what shared memory holds", SOFTMAX},
        {"threads 256: rows tpg 256 vec 4, hold v0 shared, hold v5 shared at v5 sweep 1",
         "a computed value is held since", DEVIATIONS},
        {"threads 256: cols tpg 5 lanes 49 vec 4 steps 7 pack 3 packed, hold v0 registers",
         "how rows are packed", PACKED},
        {"threads 256: cols tpg 5 lanes 49 vec 4 steps 7 pack 4 packed, cluster 2 of 784, hold v0 "
         "registers",
         "how rows are packed", PACKED},
        {"threads 64: flat tpg 1 vec 4 unroll 2, cluster 2", "clusters share groups", FLAT},
        {"threads 64: rows tpg 32 vec 4 steps 2, hold v0 registers sweep 1",
         "a load is held from the first sweep", DEVIATIONS},
        {"threads 256: cols tpg 16 lanes 16 vec 4 tile 64, split, transpose v1_y by 3",
         "by vectors no wider", TILES},
        {"threads 256: cols tpg 16 lanes 16 vec 4 tile 64, split, transpose o0 by 4",
         "contiguous along their members", TILES},
        {"threads 256: cols tpg 16 lanes 16 vec 4 tile 64, split, transpose v1_y by 4, "
         "transpose v0_x by 4",
         "in the order of their values", TILES},
        {"threads 256: cols tpg 16 lanes 16 vec 4 tile 64, split, transpose v1_y by 4 in "
         "registers",
         "registers transpose stores", TILES},
        {"threads 256: cols tpg 16 lanes 16 vec 4 tile 64, transpose v1_y 4", "'by' is wanted",
         TILES},
        {"threads 128: cols tpg 5 lanes 49 vec 4 steps 7 pack 4 packed, hold v0 registers",
         "a thread for each lane and row", PACKED},
    };
    kn_arena a;
    kn_context *ctx;
    (void)state;
    kn_arena_init(&a, NULL);
    ctx = open_context("emu");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        program *p = program_of_text(&a, programs[cases[i].program].text, "schedules",
                                     programs[cases[i].program].sizes, 0);
        kn_text why = kn_text_new(&a);
        tally t = {0};
        failure f = program_failure(
            p, ctx, &(kn_program_options){.fusion = true, .schedule = cases[i].text}, &why, &t);
        if (f.status != KN_ARGUMENT)
            fail_msg("'%s' was not refused", cases[i].text);
        if (!strstr(kn_text_str(&why), cases[i].why))
            fail_msg("'%s': %s", cases[i].text, kn_text_str(&why));
    }
    kn_context_close(ctx);
    kn_arena_finish(&a);
}

/* The plan with a merge undone; NULL where that is not possible. Allocates in a. */
static kn_plan *plan_undone(kn_arena *a, kn_context *ctx, const program *p, const char *text)
{
    kn_program *prog;
    kn_plan *plan;
    const kn_program_options o = {.fusion = true, .schedule = text};
    assert_int_equal(kn_program_create(ctx, p->graph, &o, &prog), KN_OK);
    kn_status status = program_plan(p, prog, ctx->dev->ops->target(ctx->dev), a, &plan);
    kn_program_destroy(prog);
    return status == KN_OK ? plan : NULL;
}

static void must_be_right(kn_context *ctx, const program *p, const char *text)
{
    tally t = {0};
    kn_text why = kn_text_new(p->arena);
    const kn_program_options o = {.fusion = true, .schedule = text};
    failure f = program_failure(p, ctx, &o, &why, &t);
    if (f.fault != NO_FAULT)
        fail_msg("seed %llu, --schedule '%s': %s", (unsigned long long)p->seed, text,
                 kn_text_str(&why));
}

/* Each merge of the planner's undone alone: more loop nests, the same results, and schedules whose text binds what is
 * left. */
static void test_undone(void **state)
{
    kn_context *ctx = open_context("cpu");
    int undone = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= UNDONE; seed++) {
        kn_arena a;
        kn_arena_init(&a, NULL);
        program *p = program_make(&a, seed, ELEMENTS);
        assert_non_null(p);
        const kn_plan *own = plan_undone(&a, ctx, p, NULL);
        assert_non_null(own);
        for (int i = 0; i < own->regions->merges.len; i++) {
            kn_text text = kn_text_new(&a);
            kn_putf(&text, "undo %d", i + 1);
            const kn_plan *plan = plan_undone(&a, ctx, p, kn_text_str(&text));
            if (!plan && strstr(kn_last_error(), "a reshape takes a copy"))
                break;
            assert_non_null(plan);
            assert_true(plan->regions->list.len > own->regions->list.len);
            must_be_right(ctx, p, kn_text_str(&text));
            kn_put(&text, ", ");
            kn_schedules_put(&text, plan->kernels.data, plan->kernels.len, KN_SCHEDULE_OF_ALL);
            must_be_right(ctx, p, kn_text_str(&text));
            undone++;
        }
        kn_arena_finish(&a);
    }
    kn_context_close(ctx);
    print_message("%d merges undone\n", undone);
    assert_true(undone > UNDONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changed), cmocka_unit_test(test_batches),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_undone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
