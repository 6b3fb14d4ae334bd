/* Does the emulator notice? Plants one defect at a time into generated sources: a barrier dropped, a mask
 * narrowed, an index shifted, a loop cut short, a range widened; and into kernels written by hand: a cluster's
 * barrier dropped, memory read before the copy's wait. A defect is caught when the emulator reports it or the
 * outputs differ, in the usual order of threads or in one of three others; at least 96 of 100 must be. Those
 * missed are listed. One worker runs all blocks, so that the test gives the same every time.
 *
 * KILN_MUTANTS=n: only every n-th (sanitized, 12). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/emit/cuda/cuda.h"
#include "codegen/kir/params.h"
#include "frontend/parse/parse.h"
#include "runtime/launch.h"
#include "runtime/program.h"
#include "tests/effort.h"
#include "tests/emu/machine.h"

/* ---- programs, each with the shapes that bring out a way of walking ---- */

typedef struct subject {
    const char *what, *text, *schedule;
    int64_t shape[2];
} subject;

static const subject subjects[] = {
    {"rows of a block",
     "def f(x: f32[N, C]):\n    e = exp(x - max(x, axis=1, keepdims=True))\n    return e / sum(e, axis=1, keepdims=True)\n",
     "whole",
     {3, 40000}},
    {"rows in registers",
     "def f(x: f32[N, C]):\n    d = x - mean(x, axis=1, keepdims=True)\n    return d * rsqrt(mean(d * d, axis=1, keepdims=True))\n",
     "whole",
     {9, 4000}},
    {"rows of a warp",
     "def f(x: f32[N, C]):\n    return x / sum(x * x, axis=1, keepdims=True), max(x, axis=1)\n",
     "whole",
     {70, 128}},
    {"clusters",
     "def f(x: f32[N, C]):\n    e = exp(x - max(x, axis=1, keepdims=True))\n    return x[0] * e / sum(e, axis=1, keepdims=True), sum(x * x, axis=1)\n",
     "cluster=3",
     {5, 24000}},
    {"columns",
     "def f(x: f32[N, C]):\n    return x - mean(x, axis=0), var(x, axis=0)\n",
     "whole",
     {600, 77}},
    {"split columns",
     "def f(x: f32[N, C]):\n    return (x - mean(x, axis=0)) / sqrt(var(x, axis=0))\n",
     "split",
     {1200, 70}},
    {"split rows",
     "def f(x: f32[N, C]):\n    return x / sqrt(sum(x * x)), prod(x)\n",
     "split",
     {150, 101}},
    {"a last block", "def f(x: f32[N, C]):\n    return sum(x), max(x)\n", "split", {500, 401}},
    {"packed atomics",
     "def f(x: f32[N, C]):\n    return cast(sum(cast(-1 - 100 * x, i32)), f32)\n",
     "split",
     {60, 401}},
    {"mixed reductions",
     "def f(x: f32[N, C]):\n    r = x / sum(x, axis=1)[:, None]\n    return r / sum(r, axis=0)\n",
     NULL,
     {300, 512}},
    {"tiles", "def f(x: f32[N, N]):\n    return x + x.T\n", NULL, {132, 132}},
    {"columns in tiles",
     "def f(x: f32[C, N]):\n    return x.T / sum(x, axis=0)[:, None]\n",
     "tiles",
     {160, 136}},
    {"columns of a cluster",
     "def f(x: f32[N, C]):\n    e = exp(x - max(x, axis=0))\n    return e / sum(e, axis=0), sum(x * x, axis=0)\n",
     "cluster=3",
     {60, 132}},
};
enum { SUBJECTS = sizeof subjects / sizeof *subjects };

/* ---- defects: each place where `find` stands is one ---- */

typedef struct defect {
    const char *what, *find, *put;
} defect;

static const defect defects[] = {
    {"a block barrier dropped", "__syncthreads();", ";"},
    {"a grid barrier dropped", "\n    kn_grid_barrier(barrier);", "\n    ;"},
    {"a cluster barrier not awaited", "    kn_cluster_wait();", "    ;"},
    {"a cluster barrier not arrived at", "    kn_cluster_arrive();", "    ;"},
    {"a copy not awaited", "    kn_wait_barrier(&full[0], parity);", "    ;"},
    {"a parity that stays", "parity ^= 1;", ";"},
    {"the part of another group", " / 4, in_x + (a0", " / 4, in_x + ((a0 + 1)"},
    {"a copy cut short", "(unsigned)run * 4", "(unsigned)run * 4 - 16"},
    {"fewer bytes announced", " : 0) * 4);", " : 0) * 4 - 16);"},
    {"half a cluster barrier", "asm volatile(\"barrier.cluster.wait;\"", "asm volatile(\"\""},
    {"an exchange not awaited", "kn_wait_barrier(&received[exchanges % 2], exchanges / 2 % 2);",
     ";"},
    {"one buffer for all exchanges", "++exchanges;", "exchanges += 2;"},
    {"blocks share a slot", "buffer + kn_cluster_rank() * STRIDE", "buffer + 0"},
    {"a block left out", "rank < kn_cluster_blocks()", "rank + 1 < kn_cluster_blocks()"},
    {"fewer words sent", "i < WORDS; i += SIDE", "i < WORDS - SIDE; i += SIDE"},
    {"a block takes another's part", "kn_least(rank *", "kn_least((rank + 1) *"},
    {"every block leads", "lane == 0 && rank == 0", "lane == 0"},
    {"a shuffle mask narrowed", "0xffffffffu", "0x0000ffffu"},
    {"a load shifted", "kn_load_with_policy<4>(policy, in_x + (",
     "kn_load_with_policy<4>(policy, in_x + 4 + ("},
    {"a load shifted", "= in_x[", "= in_x[1 + "},
    {"a store shifted", "kn_store_streaming(out_", "kn_store_streaming(4 + out_"},
    {"a store shifted", "out_out0[", "out_out0[1 + "},
    {"a partial result shifted", "_partial[", "_partial[1 + "},
    {"a range one too long", "i < end;", "i <= end;"},
    {"a step skipped", "i < end;", "i + 40 < end;"},
    {"a group skipped", "const kn_count g = first;", "const kn_count g = first + 1;"},
    {"a combine cut short", "step >= FROM;", "step > FROM;"},
    {"a combine cut short", "other < LEFT;", "other < LEFT - LAST;"},
    {"results that only the first row has", ", 4, false>(scratch", ", 4, true>(scratch"},
    {"a block not merged", "&& block < blocks", "&& block + 1 < blocks"},
    {"another column's slot", "(buffer + block * STRIDE))[threadIdx.x % WIDTH]",
     "(buffer + block * STRIDE))[(threadIdx.x + 1) % WIDTH]"},
    {"a thread's copies not awaited", "    kn_wait_copies();", "    ;"},
    {"a copy from the next column", "+ column], in_x + (", "+ column], in_x + 4 + ("},
    {"a column's slot twice", "* 16 + column] = ", "* 8 + column] = "},
    {"warps share a word", "warps)[threadIdx.x / 32] = v;", "warps)[0] = v;"},
    {"the wrong warp's word", "warps)[first + lane]", "warps)[first + (lane ^ 1 | 1)]"},
    {"everyone leads", "if (threadIdx.x % 32 == 0)\n        ((T *)warps)",
     "if (true)\n        ((T *)warps)"},
    {"an accumulator not cleared", " acc1 = 0.0f;", " acc1 = acc0;"},
    {"a row of another column", "all + other * WIDTH", "all + other * WIDTH - threadIdx.x % WIDTH"},
    {"the wrong start", "begin + (kn_count)lane * 4", "begin + 4 + (kn_count)lane * 4"},
    {"a shared value in the next slot", "_kept[i / 4] = ", "_kept[i / 4 + 1] = "},
    {"the last block miscounted", "== blocks - 1", "== blocks - 2"},
    {"a fence dropped", "atom.acq_rel.gpu", "atom.relaxed.gpu"},
    {"the last to add miscounted", ">> 48 == blocks", ">> 48 == blocks - 1"},
    {"an upper half cut", "((word)sum >> 32)", "((unsigned)sum >> 31)"},
    {"a block not added", "sum = kn_add(sum, r0);", ";"},
    {"a row of the next part", "const kn_count part_first = part",
     "const kn_count part_first = 1 + part"},
    {"a member of another step", "acc1[step][l] +=", "acc1[0][l] +="},
    {"a transposed group of the next tile", "kn_least(tile * 128 + c",
     "kn_least(tile * 128 + c + 1"},
    {"a register tile permuted", "_regs[r + k].at[l]", "_regs[r + (k ^ 1)].at[l]"},
    {"a tile's edge cut", "(to - from) - 4 - first", "(to - from) - 8 - first"},
    {"a tile's members shifted", "* 32 + k) *", "* 32 + k + 1) *"},
    {"a tile's groups permuted", "column * 4 + l]", "column * 4 + (l ^ 1)]"},
    {"a tile cut short", "step * 8 < remaining", "step * 8 + 8 < remaining"},
    {"a direct load short of the edge", "step * 8, to - 1)", "step * 8, to - 9)"},
    {"an odd tile out", "from += 32", "from += 64"},
    {"arrivals miscounted", "top - (gridDim.x - 1)", "top - (gridDim.x - 2)"},
};
enum { DEFECTS = sizeof defects / sizeof *defects };

/* ---- one run ---- */

enum { ORDERS = 4 };
static const char *const order_options[ORDERS] = {NULL, "reversed", "seed=3", "seed=4"};

typedef struct bench {
    kn_arena arena;
    kn_device *const *orders; /* the same emulator with other orders of threads */
    kn_context *ctx;
    kn_program *prog;
    kn_plan *plan;
    const subject *s;
    float *x;
    char *out[2], *good[2];
    size_t bytes[2];
    kn_arg args[3];
    int64_t shape[3][KN_MAX_RANK];
} bench;

static kn_status parse_subject(void *user)
{
    bench *b = user;
    kn_graph *g = kn_graph_new(&b->arena, "f");
    KN_TRY(kn_parse(g, b->s->text, NULL));
    kn_program_options options = {.fusion = true, .schedule = b->s->schedule};
    return kn_program_create(b->ctx, g, &options, &b->prog);
}

static kn_status make_arguments(void *user)
{
    bench *b = user;
    const kn_graph *g = b->prog->optimised;
    kn_binding bound;
    int64_t n = b->s->shape[0] * b->s->shape[1];
    b->x = kn_alloc(&b->arena, sizeof *b->x * (size_t)n);
    for (int64_t i = 0; i < n; i++)
        b->x[i] = 0.5F + (float)((i * 7919) % 1009) / 1009.0F;
    memcpy(b->shape[0], b->s->shape, sizeof b->s->shape);
    b->args[0] = (kn_arg){"x", b->x, KN_F32, 2, b->shape[0], NULL};
    KN_TRY(kn_bind(&b->arena, g, b->args, 1, KN_BIND_INPUTS, &bound));
    for (int o = 0; o < g->outputs.len; o++) {
        int64_t count = kn_count(bound.out[o].shape, bound.out[o].rank);
        b->bytes[o] = (size_t)count * sizeof(float);
        b->out[o] = kn_alloc(&b->arena, b->bytes[o]);
        b->good[o] = kn_alloc(&b->arena, b->bytes[o]);
        memcpy(b->shape[1 + o], bound.out[o].shape, sizeof bound.out[o].shape);
        b->args[1 + o] = (kn_arg){g->outputs.data[o].name, b->out[o],       KN_F32,
                                  bound.out[o].rank,       b->shape[1 + o], NULL};
    }
    KN_TRY(kn_bind(&b->arena, g, b->args, 1 + g->outputs.len, KN_BIND_RUN, &bound));
    return kn_program_plan(b->prog, &b->arena, &bound, emu->target(b->ctx->dev), &b->plan);
}

static void set_up(bench *b, kn_context *ctx, const subject *s)
{
    *b = (bench){.ctx = ctx, .s = s};
    kn_arena_init(&b->arena, NULL);
    if (kn_protect(&b->arena, parse_subject, b) != KN_OK ||
        kn_protect(&b->arena, make_arguments, b) != KN_OK)
        fail_msg("%s: %s", s->what, kn_last_error());
    assert_int_equal(b->plan->kernels.len, 1);
}

static void tear_down(bench *b)
{
    kn_program_destroy(b->prog);
    kn_arena_finish(&b->arena);
}

/* Runs the plan's kernel with this source, outputs poisoned first. */
static kn_status run_source(bench *b, kn_device *dev, const char *source)
{
    kn_kernel kernel = *b->plan->kernels.data[0];
    kn_code *code;
    void *temps = NULL, *word = NULL, *bufs[64];
    kn_span spans[64];
    kn_status status;
    kernel.source = source;
    for (int o = 0; o < 2; o++)
        if (b->out[o])
            memset(b->out[o], 0xff, b->bytes[o]);
    assert_int_equal(emu->alloc(dev, (size_t)b->plan->workspace + 256, &temps), KN_OK);
    assert_int_equal(emu->alloc(dev, KN_BARRIER_WORDS * sizeof(unsigned), &word), KN_OK);
    memset(temps, 0xff, (size_t)b->plan->workspace + 256);
    memset(word, 0, KN_BARRIER_WORDS * sizeof(unsigned));
    for (int j = 0; j < kernel.bufs.len; j++) {
        const kn_buf *buf = &kernel.bufs.data[j];
        int64_t n = b->s->shape[0] * b->s->shape[1];
        size_t bytes = buf->kind == KN_BUF_INPUT    ? (size_t)n * sizeof(float)
                       : buf->kind == KN_BUF_OUTPUT ? b->bytes[buf->index]
                                                    : (size_t)buf->bytes;
        bufs[j] = buf->kind == KN_BUF_INPUT    ? (void *)b->x
                  : buf->kind == KN_BUF_OUTPUT ? (void *)b->out[buf->index]
                                               : (void *)((char *)temps + buf->offset);
        spans[j] = (kn_span){bufs[j], (char *)bufs[j] + bytes, 0, 0};
    }
    status = emu->prepare(dev, &kernel, &code);
    if (status == KN_OK) {
        kn_call call = {.bufs = bufs, .spans = spans, .barrier = word};
        kn_launch launch;
        status = kn_launch_make(&b->arena, dev, &kernel, code, &launch);
        if (status == KN_OK)
            status = emu->launch(dev, &launch, &call, NULL);
        emu->discard(dev, code);
    }
    emu->release(dev, temps);
    emu->release(dev, word);
    return status;
}

static bool outputs_differ(const bench *b)
{
    for (int o = 0; o < 2; o++)
        if (b->out[o] && memcmp(b->out[o], b->good[o], b->bytes[o]) != 0)
            return true;
    return false;
}

/* ---- planting ---- */

/* The part of the text that this kernel runs: prelude functions it does not call cannot fail. */
static bool is_used(const char *source, const char *at)
{
    static const struct {
        const char *head, *called; /* how its definition begins; what calls it, in the kernel */
    } functions[] = {
        {"kn_store_warp_result(", "kn_store_warp_result"},
        {"kn_combine_warps(", "kn_combine_warps"},
        {"kn_combine_rows(", "kn_combine_rows"},
        {"kn_grid_barrier(", "kn_grid_barrier"},
        {"T kn_combine_lanes(", "kn_combine_"},
        {"T kn_from_lane_xor(", "kn_combine_"},
        {"bool kn_from_lane_xor(", "kn_any"},
        {"kn_last_block(", "kn_last_block"},
        {"kn_last_to_add(", "kn_last_to_add"},
        {"void kn_exchange_store(", "kn_exchange_store<"},
        {"void kn_exchange_store_rows(", "kn_exchange_store_rows"},
        {"void kn_store_async(", "kn_exchange_store"},
        {"void kn_exchange_merge_rows(", "kn_exchange_merge_rows"},
        {"T kn_exchange_merge(", "kn_exchange_merge<"},
        {"kn_cluster_wait()", "kn_cluster_wait"},
    };
    const char *kernel = strstr(source, "// ---- the kernel ----");
    if (at >= kernel)
        return true;
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
        const char *from = strstr(source, functions[f].head);
        const char *end = from ? strstr(from, "\n}\n") : NULL;
        if (!from || at < from || at >= end)
            continue;
        bool lanes = strstr(kernel, "kn_combine_warps") || strstr(kernel, "kn_combine_lanes");
        return strcmp(functions[f].called, "kn_combine_") == 0
                   ? lanes
                   : strstr(kernel, functions[f].called) != NULL;
    }
    return true;
}

/* Places in the kernel at which a defect changes nothing. */
static bool guards_nothing(const char *source, const char *at)
{
    static const char paused[] = "__syncthreads(); // it is everybody's time",
                      group[] = "const kn_count g = first;";
    const char *kernel = strstr(source, "// ---- the kernel ----");
    if (at <= kernel)
        return false;
    if (strncmp(at, group, strlen(group)) == 0) /* of one group, of which nobody asks which it is */
        return !strstr(at, "(kn_index)g");
    /* behind the last combine: for the next group of the block, and these blocks have one */
    return strncmp(at, paused, strlen(paused)) == 0 ||
           (strncmp(at, "__syncthreads();", 16) == 0 && !strstr(at, "scratch"));
}

static char *planted(kn_arena *a, const char *source, const char *at, const defect *d)
{
    char *text = kn_alloc(a, strlen(source) + strlen(d->put) + 1);
    size_t before = (size_t)(at - source);
    memcpy(text, source, before);
    strcpy(text + before, d->put);
    strcat(text, at + strlen(d->find));
    return text;
}

static int line_of_place(const char *source, const char *at)
{
    int line = 1;
    for (const char *c = source; c < at; c++)
        line += *c == '\n';
    return line;
}

typedef struct tally {
    int places, every, planted, caught;
} tally;

typedef struct planting {
    bench *b;
    tally *t;
    bool *found; /* by defect: a subject has a place for it */
} planting;

static kn_status plant_all(void *user)
{
    planting *pl = user;
    bench *b = pl->b;
    const char *source = kn_cuda_source(&b->arena, b->plan->kernels.data[0]);
    for (int order = ORDERS - 1; order >= 0; order--)
        if (run_source(b, b->orders[order], source) != KN_OK)
            fail_msg("%s without a defect: %s", b->s->what, kn_last_error());
    for (int o = 0; o < 2; o++)
        if (b->out[o])
            memcpy(b->good[o], b->out[o], b->bytes[o]);
    for (int d = 0; d < DEFECTS; d++)
        for (const char *at = source; (at = strstr(at, defects[d].find)); at++) {
            if (!is_used(source, at) || guards_nothing(source, at))
                continue;
            pl->found[d] = true;
            if (pl->t->places++ % pl->t->every)
                continue;
            const char *text = planted(&b->arena, source, at, &defects[d]);
            bool caught = false;
            for (int order = 0; order < ORDERS && !caught; order++) {
                kn_status status = run_source(b, b->orders[order], text);
                caught = status == KN_RUN || (status == KN_OK && outputs_differ(b));
                if (status != KN_OK && status != KN_RUN)
                    fail_msg("%s, %s: %s", b->s->what, defects[d].what, kn_last_error());
            }
            pl->t->planted++;
            pl->t->caught += caught;
            if (!caught)
                print_message("missed: %s: %s, line %d\n", b->s->what, defects[d].what,
                              line_of_place(source, at));
        }
    return KN_OK;
}

/* ---- kernels written by hand: tests/emu/planted.cu ---- */

enum { ELEMENTS = 512 };

static const struct {
    const char *entry;
    unsigned blocks, cluster;
    int nparams;
} written[] = {
    {"cluster_sum", 8, 4, 2}, {"cluster_ring", 8, 4, 2}, {"cluster_gather", 8, 4, 2},
    {"staged", 1, 1, 2},      {"together", 1, 1, 2},     {"ring", 1, 1, 2},
    {"stores", 1, 1, 2},      {"last_block", 8, 1, 3},
};
enum { WRITTEN = sizeof written / sizeof *written };

/* In any of their bodies. */
static const defect slips[] = {
    {"a block barrier dropped", "    __syncthreads();", "    ;"},
    {"a block barrier dropped", "block.sync();", ";"},
    {"a warp barrier dropped", "__syncwarp();", ";"},
    {"a fence dropped", "__threadfence();", ";"},
    {"a cluster barrier dropped", "cluster.sync();", ";"},
    {"a cluster barrier dropped", "cluster_arrive();\n    cluster_wait();", ";"},
    {"a cluster barrier dropped", "cluster_arrive();\n        cluster_wait();", ";"},
    {"a cluster barrier not waited for", "cluster_wait();", ";"},
    {"a cluster barrier of the block only", "cluster.sync();", "__syncthreads();"},
    {"another block's memory", "&mine, rank)", "&mine, rank + 1)"},
    {"another block's memory", "(rank + 1) % 4", "rank"},
    {"another block's memory", "[t], 0)[0]", "[t], 1)[0]"},
    {"read before the copy's wait", "__pipeline_wait_prior(1);", ";"},
    {"read before the copy's wait", "__pipeline_wait_prior(1);", "__pipeline_wait_prior(2);"},
    {"a group of copies not committed", "__pipeline_commit();", ";"},
    {"read before the copy's wait", "cg::wait(block);", ";"},
    {"read before the copy's wait", "wait(&full[i % SLOTS], i / SLOTS & 1);", ";"},
    {"written before the slot was empty", "wait(&empty[i % SLOTS], (i / SLOTS - 1) & 1);", ";"},
    {"the wrong phase", "(i / SLOTS - 1) & 1", "i / SLOTS & 1"},
    {"the wrong phase", "i / SLOTS & 1);\n            sum",
     "(i / SLOTS + 1) & 1);\n            sum"},
    {"a slot given back early",
     "sum += slots[i % SLOTS][t - 32];\n            arrive(&empty[i % SLOTS]);",
     "arrive(&empty[i % SLOTS]);\n            sum += slots[i % SLOTS][t - 32];"},
    {"an arrival dropped", "arrive(&empty[i % SLOTS]);", ";"},
    {"arrivals miscounted", "init(&empty[i], 32)", "init(&empty[i], 31)"},
    {"too few bytes announced", "SIZE * 4);", "SIZE * 4 - 16);"},
    {"a fence dropped", "asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");", ";"},
    {"written before the copy's wait",
     "asm volatile(\"cp.async.bulk.wait_group.read 0;\" ::: \"memory\");", ";"},
    {"a group of copies not committed",
     "asm volatile(\"cp.async.bulk.commit_group;\" ::: \"memory\");", ";"},
};
enum { SLIPS = sizeof slips / sizeof *slips };

/* Runs kernel k of the text; its results are in `out`. */
static kn_status run_written(kn_device *dev, int k, const char *text, float *out)
{
    machine m = {.dev = dev};
    kn_code *code;
    kn_status status = emu->load(dev, written[k].entry, text, &code);
    if (status != KN_OK)
        return status;
    float *in = take(&m, ELEMENTS * sizeof *in, 0), *to = take(&m, ELEMENTS * sizeof *to, 0xff);
    unsigned *count = take(&m, sizeof *count, 0);
    for (int i = 0; i < ELEMENTS; i++)
        in[i] = 0.5F + (float)((i * 7919) % 1009) / 1009.0F;
    kn_grid g = shape(written[k].blocks, 64);
    g.cluster[0] = written[k].cluster;
    void *params[] = {&in, &to, &count};
    status = run(&m, code, g, written[k].nparams, params);
    memcpy(out, to, ELEMENTS * sizeof *to);
    emu->release(dev, in);
    emu->release(dev, to);
    emu->release(dev, count);
    emu->discard(dev, code);
    return status;
}

static bool slip_is_caught(kn_device *const *devs, int k, const char *text, const float *good)
{
    float out[ELEMENTS];
    for (int order = 0; order < ORDERS; order++) {
        kn_status status = run_written(devs[order], k, text, out);
        if (status == KN_RUN || (status == KN_OK && memcmp(out, good, sizeof out) != 0))
            return true;
        if (status != KN_OK)
            fail_msg("%s: %s", written[k].entry, kn_last_error());
    }
    return false;
}

static void plant_slips(kn_device *const *devs, int k, tally *t)
{
    kn_arena arena;
    machine m = open_machine(NULL, "planted.cu");
    float good[ELEMENTS], out[ELEMENTS];
    char head[80];
    kn_arena_init(&arena, NULL);
    snprintf(head, sizeof head, "__global__ void %s(", written[k].entry);
    const char *from = strstr(m.text, head), *end = from ? strstr(from, "\n}\n") : NULL;
    assert_non_null(end);
    for (int order = ORDERS - 1; order >= 0; order--) {
        if (run_written(devs[order], k, m.text, order ? out : good) != KN_OK)
            fail_msg("%s without a defect: %s", written[k].entry, kn_last_error());
    }
    assert_memory_equal(out, good, sizeof good);
    for (int d = 0; d < SLIPS; d++)
        for (const char *at = from; (at = strstr(at, slips[d].find)) && at < end; at++) {
            if (t->places++ % t->every)
                continue;
            bool caught = slip_is_caught(devs, k, planted(&arena, m.text, at, &slips[d]), good);
            t->planted++;
            t->caught += caught;
            if (!caught)
                print_message("missed: %s: %s, line %d\n", written[k].entry, slips[d].what,
                              line_of_place(m.text, at));
        }
    kn_arena_finish(&arena);
    close_machine(&m);
}

static void test_mutants(void **state)
{
    (void)state;
    const char *given = getenv("KILN_MUTANTS");
    int every = given ? atoi(given) : 0;
    tally all = {.every = every > 0 ? every : EFFORT(1, 12)};
    bool found[DEFECTS] = {false};
    kn_context *ctxs[ORDERS];
    kn_device *devs[ORDERS];
    for (int order = 0; order < ORDERS; order++) {
        if (kn_context_open(&(kn_context_config){.device = "emu",
                                                 .threads = 1,
                                                 .emulator = order_options[order]},
                            &ctxs[order]) != KN_OK)
            fail_msg("%s", kn_last_error());
        devs[order] = ctxs[order]->dev;
    }
    for (int s = 0; s < SUBJECTS; s++) {
        bench b;
        set_up(&b, ctxs[0], &subjects[s]);
        b.orders = devs;
        planting pl = {&b, &all, found};
        if (kn_protect(&b.arena, plant_all, &pl) != KN_OK)
            fail_msg("%s", kn_last_error());
        tear_down(&b);
    }
    for (int k = 0; k < WRITTEN; k++)
        plant_slips(devs, k, &all);
    for (int order = 0; order < ORDERS; order++)
        kn_context_close(ctxs[order]);
    print_message("%d of %d planted defects caught\n", all.caught, all.planted);
    for (int d = 0; d < DEFECTS; d++)
        if (!found[d])
            fail_msg("no kernel has a place for: %s: '%s'", defects[d].what, defects[d].find);
    assert_true(all.planted * all.every >= 100);
    assert_true(all.caught * 100 >= all.planted * (all.every == 1 ? 96 : 90)); /* few say less */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_mutants)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
