/* Results of a device against the reference interpreter's. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/emit/cuda/cuda.h"
#include "frontend/parse/parse.h"
#include "tests/differential/program.h"

const kn_program_options option_sets[OPTION_SETS] = {
    {.fusion = true},
    {.fusion = true, .schedule = "whole", .reuse = "keep"},
    {.fusion = true, .schedule = "split"},
    {.fusion = false},
    {.fusion = false, .schedule = "whole"},
    {.fusion = false, .schedule = "split"},
    {.fusion = true, .max_kinds = -1},
    {.fusion = true, .schedule = "cluster=2"},
    {.fusion = true, .schedule = "cluster=3"},
    {.fusion = true, .schedule = "cluster=8"},
    {.fusion = false, .schedule = "cluster=5"},
    {.fusion = true, .schedule = "tiles"},
    {.fusion = true, .schedule = "resident"},
    {.fusion = true, .schedule = "copies"},
};

uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

/* ---- making ---- */

static kn_status reference(program *p)
{
    const kn_graph *g = p->graph;
    kn_array in[MAX_ARGS];
    for (int i = 0; i < g->inputs.len; i++) {
        const memory *m = &p->in[i];
        in[i] = (kn_array){.dtype = m->dtype,
                           .rank = m->layout.rank,
                           .data = m->block + m->first * kn_bytes(m->dtype)};
        memcpy(in[i].shape, m->layout.shape, sizeof in[i].shape);
        memcpy(in[i].stride, m->layout.stride, sizeof in[i].stride);
    }
    for (int o = 0; o < g->outputs.len; o++) {
        const memory *m = &p->out[o];
        kn_array *x = &p->expected[o];
        *x = (kn_array){.dtype = m->dtype, .rank = m->layout.rank};
        memcpy(x->shape, m->layout.shape, sizeof x->shape);
        kn_compact_strides(x->shape, x->rank, x->stride);
        x->data =
            kn_alloc(p->arena, (size_t)(kn_count(x->shape, x->rank) * kn_bytes(x->dtype)) + 16);
    }
    return kn_interp(g, p->arena, p->sizes, in, p->expected,
                     &(kn_bounds){.of = p->bound, .fast = p->fast});
}

program *program_results(program *p)
{
    rng r = {~p->seed};
    place_outputs(p, &r);
    return reference(p) == KN_OK ? p : NULL;
}

program *program_with_data(program *p)
{
    rng r = {p->seed};
    place_inputs(p, &r);
    return program_results(p);
}

program *program_draw(kn_arena *a, uint64_t seed, int64_t elements, const vocabulary *words)
{
    program *p = KN_NEW(a, program);
    rng r = {seed}, of_outputs = {~seed};
    p->arena = a;
    p->seed = seed;
    generate_graph(p, &r, elements, words);
    place_inputs(p, &r);
    place_outputs(p, &of_outputs);
    return p;
}

program *program_make(kn_arena *a, uint64_t seed, int64_t elements)
{
    program *p = program_draw(a, seed, elements, NULL);
    return reference(p) == KN_OK ? p : NULL;
}

kn_status read_sizes(const kn_graph *g, const char *text, int64_t *sizes)
{
    for (int i = 0; i < MAX_SYMBOLS; i++)
        sizes[i] = KN_UNBOUND;
    for (char *end; *text; text = end + strspn(end, " ")) {
        size_t name = strcspn(text, "=");
        int symbol = kn_symbol_find(g->syms, text, name);
        int64_t value = strtoll(text + name + 1, &end, 10);
        if (symbol >= 0)
            sizes[symbol] = value;
    }
    return kn_symbols_derive(g->syms, g->arena, sizes);
}

/* With sizes, without data. NULL for sizes that have no meaning. */
static program *sized(kn_graph *g, const char *sizes)
{
    program *p = KN_NEW(g->arena, program);
    *p = (program){.arena = g->arena, .graph = g, .positive = true};
    if (read_sizes(g, sizes, p->sizes) != KN_OK)
        return NULL;
    for (int i = 0; i < p->graph->inputs.len; i++)
        p->omitted[i] = p->graph->inputs.data[i].has_default;
    return p;
}

program *program_to_plan(kn_arena *a, const char *text, const char *path, const char *sizes)
{
    kn_graph *g = kn_graph_new(a, "program");
    return kn_parse(g, text, path) == KN_OK ? sized(g, sizes) : NULL;
}

program *program_of_text(kn_arena *a, const char *text, const char *path, const char *sizes,
                         uint64_t seed)
{
    kn_graph *g = kn_graph_new(a, "program");
    return kn_parse(g, text, path) == KN_OK ? program_of_graph(g, sizes, seed) : NULL;
}

program *program_of_graph(kn_graph *g, const char *sizes, uint64_t seed)
{
    program *p = sized(g, sizes);
    if (!p)
        return NULL;
    p->seed = seed;
    p->compact = seed == 0;
    return program_with_data(p);
}

program *program_read(kn_arena *a, const char *path, const char *sizes, uint64_t seed)
{
    FILE *f = fopen(path, "r");
    if (!f) {
        kn_fail(KN_ARGUMENT, "no file %s", path);
        return NULL;
    }
    char *text = kn_alloc(a, KN_PARSE_MAX_TEXT);
    text[fread(text, 1, KN_PARSE_MAX_TEXT - 1, f)] = '\0';
    fclose(f);
    return program_of_text(a, text, path, sizes, seed);
}

/* ---- arguments ---- */

static void put_arg(kn_arg *arg, const char *name, const memory *m, char *block)
{
    *arg = (kn_arg){.name = name,
                    .data = block + m->first * kn_bytes(m->dtype),
                    .dtype = (int)m->dtype,
                    .rank = m->layout.rank,
                    .shape = m->layout.shape,
                    .strides = m->layout.stride};
}

int program_args(const program *p, char *const *data, kn_arg *args)
{
    int n = 0, nin = p->graph->inputs.len;
    for (int i = 0; i < nin; i++)
        if (!p->omitted[i])
            put_arg(&args[n++], p->graph->inputs.data[i].name, &p->in[i], data[i]);
    for (int o = 0; o < p->graph->outputs.len; o++)
        if (p->graph->outputs.data[o].updates < 0)
            put_arg(&args[n++], p->graph->outputs.data[o].name, &p->out[o], data[nin + o]);
    return n;
}

kn_status program_plan(const program *p, kn_program *prog, const kn_target *target, kn_arena *a,
                       kn_plan **plan)
{
    char *data[2 * MAX_ARGS];
    kn_arg args[2 * MAX_ARGS];
    int nin = p->graph->inputs.len;
    for (int i = 0; i < nin; i++)
        data[i] = p->in[i].block;
    for (int o = 0; o < p->graph->outputs.len; o++)
        data[nin + o] = p->out[o].block;
    kn_binding b;
    KN_TRY(kn_bind(a, prog->optimised, args, program_args(p, data, args), KN_BIND_RUN, &b));
    return kn_program_plan(prog, a, &b, target, plan);
}

/* ---- comparing ---- */

bool close_enough(kn_scalar got, kn_scalar want, double bound)
{
    if (!kn_is_inexact(want.dtype))
        return fabsl((long double)got.i - (long double)want.i) <= (long double)bound;
    bool nan[] = {isnan(got.f) || isnan(got.im), isnan(want.f) || isnan(want.im)};
    if (nan[0] || nan[1])
        return nan[0] && nan[1];
    return (got.f == want.f && got.im == want.im) ||
           hypot(got.f - want.f, got.im - want.im) <= bound;
}

static void put_scalar(kn_text *t, kn_scalar v)
{
    if (kn_is_complex(v.dtype))
        kn_putf(t, "%.17g %+.17gj (%a, %a)", v.f, v.im, v.f, v.im);
    else if (kn_is_float(v.dtype))
        kn_putf(t, "%.17g (%a)", v.f, v.f);
    else
        kn_putf(t, "%lld", (long long)v.i);
}

/* Compares output `o`, whose block the device has left as `block`. */
static fault compare_output(const program *p, int o, const unsigned char *block, kn_text *why,
                            tally *seen)
{
    const memory *m = &p->out[o];
    const kn_layout *l = &m->layout;
    int64_t index[KN_MAX_RANK] = {0}, at = m->first, bytes = kn_bytes(m->dtype);
    int64_t count = kn_count(l->shape, l->rank);
    bool *own = calloc((size_t)m->elements + 1, sizeof *own);
    fault found = NO_FAULT;
    for (int64_t i = 0; i < count && !found; i++) {
        kn_scalar got = kn_scalar_load(m->dtype, block + at * bytes);
        kn_scalar want = kn_scalar_load(m->dtype, (const char *)p->expected[o].data + i * bytes);
        double bound = p->bound[o][i];
        own[at] = true;
        seen->compared += !isinf(bound);
        seen->skipped += isinf(bound);
        if (m->dtype == KN_BOOL && block[at] > 1) {
            kn_putf(why, "a bool is %d", block[at]);
            found = WRONG_VALUE;
        } else if (!isinf(bound) && !close_enough(got, want, bound)) {
            kn_put(why, "got ");
            put_scalar(why, got);
            kn_put(why, ", want ");
            put_scalar(why, want);
            kn_putf(why, " within %.17g", bound);
            found = WRONG_VALUE;
        }
        for (int j = l->rank - 1; !found && j >= 0; j--) {
            at += l->stride[j];
            if (++index[j] < l->shape[j])
                break;
            at -= l->stride[j] * l->shape[j];
            index[j] = 0;
        }
    }
    if (found) {
        kn_putf(why, " at %s[", p->graph->outputs.data[o].name);
        for (int j = 0; j < l->rank; j++)
            kn_putf(why, "%s%lld", j ? ", " : "", (long long)index[j]);
        kn_put(why, "]");
    }
    const int updates = p->graph->outputs.data[o].updates;
    const unsigned char *before = updates < 0 ? NULL : (unsigned char *)p->in[updates].block;
    for (int64_t i = 0; i < m->elements * bytes && !found; i++)
        if (!own[i / bytes] && block[i] != (before ? before[i] : UNTOUCHED)) {
            kn_putf(why, "memory between the elements of %s was written, at byte %lld of its block",
                    p->graph->outputs.data[o].name, (long long)i);
            found = STRAY_WRITE;
        }
    free(own);
    return found;
}

enum { GUARD = 256 }; /* bytes behind the workspace */

/* Runs in a workspace of the program's own size, which is poisoned before. NULL for *block: it needs none. */
static fault run_poisoned(kn_context *ctx, kn_program *prog, const kn_arg *args, int nargs,
                          void **block)
{
    const kn_device_ops *ops = ctx->dev->ops;
    kn_prepared info = {0};
    bool kept = true;
    *block = NULL;
    if (kn_program_prepare(prog, args, nargs, &(kn_preparing){.reserve = false}, &info) != KN_OK)
        return IN_PREPARING;
    if (!info.workspace)
        return kn_program_run(prog, NULL, args, nargs, NULL, 0) == KN_OK ? NO_FAULT : IN_RUNNING;
    size_t bytes = info.workspace + 2 * GUARD;
    unsigned char *fill = malloc(bytes);
    memset(fill, POISON, bytes);
    kn_status status = ops->alloc(ctx->dev, bytes, block);
    if (status == KN_OK)
        status = ops->upload(ctx->dev, *block, fill, bytes);
    char *at = (char *)(((uintptr_t)*block + GUARD - 1) / GUARD * GUARD);
    if (status == KN_OK)
        status = kn_program_run(prog, NULL, args, nargs, at, info.workspace);
    if (status == KN_OK)
        status = ops->download(ctx->dev, fill, *block, bytes);
    for (size_t i = (size_t)(at - (char *)*block) + info.workspace; i < bytes; i++)
        kept = kept && fill[i] == POISON;
    free(fill);
    return status != KN_OK ? IN_RUNNING : kept ? NO_FAULT : LONG_WRITE;
}

/* Uploads, runs, downloads, compares. */
static fault run_and_compare(const program *p, kn_context *ctx, kn_program *prog, char **data,
                             kn_text *why, tally *seen)
{
    const kn_device_ops *ops = ctx->dev->ops;
    int nin = p->graph->inputs.len, n = nin + p->graph->outputs.len;
    kn_arg args[2 * MAX_ARGS];
    for (int i = 0; i < n; i++) {
        const memory *m = i < nin ? &p->in[i] : &p->out[i - nin];
        const int updates = i < nin ? -1 : p->graph->outputs.data[i - nin].updates;
        size_t bytes = (size_t)memory_bytes(m);
        if (i < nin && p->graph->inputs.data[i].by_value) {
            data[i] = m->block;
            continue;
        }
        if (updates >= 0) {
            data[i] = data[updates];
            continue;
        }
        void *ptr = NULL;
        if (ops->alloc(ctx->dev, bytes + 16, &ptr) != KN_OK)
            return IN_RUNNING;
        data[i] = ptr;
        if (i >= nin)
            memset(m->block, UNTOUCHED, bytes);
        if (ops->upload(ctx->dev, data[i], m->block, bytes) != KN_OK)
            return IN_RUNNING;
    }
    int nargs = program_args(p, data, args);
    void *workspace;
    fault found = run_poisoned(ctx, prog, args, nargs, &workspace);
    if (workspace)
        ops->release(ctx->dev, workspace);
    if (found == LONG_WRITE)
        kn_put(why, "memory behind the workspace was written");
    if (found == NO_FAULT && ops->sync(ctx->dev, NULL) != KN_OK)
        found = IN_RUNNING;
    for (int o = 0; o < p->graph->outputs.len && !found; o++) {
        const memory *m = &p->out[o];
        found = ops->download(ctx->dev, m->block, data[nin + o], (size_t)memory_bytes(m)) != KN_OK
                    ? IN_RUNNING
                    : compare_output(p, o, (const unsigned char *)m->block, why, seen);
    }
    return found;
}

/* The thread's last error is why, when the fault is one. */
static failure failure_of(fault found, kn_text *why)
{
    if (found < IN_REFERENCE)
        return (failure){found, KN_OK};
    kn_put(why, kn_last_error());
    return (failure){found, kn_last_status()};
}

failure program_failure(const program *p, kn_context *ctx, const kn_program_options *o,
                        kn_text *why, tally *seen)
{
    char *data[2 * MAX_ARGS] = {0};
    kn_program *prog;
    kn_clear_error();
    if (kn_program_create(ctx, p->graph, o, &prog) != KN_OK)
        return failure_of(IN_CREATING, why);
    failure f = failure_of(run_and_compare(p, ctx, prog, data, why, seen), why);
    kn_program_destroy(prog);
    const int nin = p->graph->inputs.len;
    for (int i = 0; i < nin + p->graph->outputs.len; i++)
        if (data[i] && (i < nin ? !p->graph->inputs.data[i].by_value
                                : p->graph->outputs.data[i - nin].updates < 0))
            ctx->dev->ops->release(ctx->dev, data[i]);
    return f;
}

bool program_check(const program *p, kn_context *ctx, const kn_program_options *o, kn_text *why,
                   tally *seen)
{
    return program_failure(p, ctx, o, why, seen).fault == NO_FAULT;
}

failure check_there(void *user, const program *p, const kn_program_options *o, kn_text *why)
{
    where *w = user;
    return program_failure(p, w->ctx, o, why, &w->tally);
}

/* ---- two devices ---- */

/* To the bit, but for NaNs. */
static bool same_element(kn_dtype t, const char *x, const char *y)
{
    if (memcmp(x, y, (size_t)kn_bytes(t)) == 0)
        return true;
    if (!kn_is_inexact(t))
        return false;
    kn_scalar a = kn_scalar_load(t, x), b = kn_scalar_load(t, y);
    bool real = memcmp(&a.f, &b.f, sizeof a.f) == 0 || (isnan(a.f) && isnan(b.f));
    bool imaginary = memcmp(&a.im, &b.im, sizeof a.im) == 0 || (isnan(a.im) && isnan(b.im));
    return real && imaginary;
}

static fault compare_blocks(const program *p, int o, const char *want, kn_text *why)
{
    const memory *m = &p->out[o];
    const int bytes = kn_bytes(m->dtype);
    for (int64_t at = 0; at < m->elements; at++)
        if (!same_element(m->dtype, want + at * bytes, m->block + at * bytes)) {
            kn_putf(why, "element %lld of the block of %s is ", (long long)at,
                    p->graph->outputs.data[o].name);
            put_scalar(why, kn_scalar_load(m->dtype, want + at * bytes));
            kn_put(why, ", on the other device ");
            put_scalar(why, kn_scalar_load(m->dtype, m->block + at * bytes));
            return OTHER_VALUE;
        }
    return NO_FAULT;
}

failure program_failure_on_both(const program *p, kn_context *ctx, kn_context *other,
                                const kn_program_options *o, kn_text *why, tally *seen)
{
    char *want[MAX_ARGS];
    failure f = program_failure(p, ctx, o, why, seen);
    if (f.fault)
        return f;
    for (int i = 0; i < p->graph->outputs.len; i++)
        want[i] = kn_alloc_copy(p->arena, p->out[i].block, (size_t)memory_bytes(&p->out[i]));
    f = program_failure(p, other, o, why, seen);
    for (int i = 0; i < p->graph->outputs.len && !f.fault; i++)
        f.fault = compare_blocks(p, i, want[i], why);
    return f;
}

/* ---- the CUDA generator, without a GPU ---- */

static fault generate_once(const program *p, kn_program *prog, kn_arena *a, sources *out)
{
    kn_target target;
    kn_plan *plan;
    kn_target_of_arch("sm_90", &target);
    if (program_plan(p, prog, &target, a, &plan) != KN_OK)
        return IN_PLANNING;
    for (int i = 0; i < plan->kernels.len; i++) {
        kn_kernel *k = plan->kernels.data[i];
        if (kn_kernel_verify(k) != KN_OK)
            return IN_VERIFYING;
        kn_push(p->arena, &out->text, kn_strdup(p->arena, kn_cuda_source(a, k)));
    }
    return NO_FAULT;
}

failure program_failure_cuda(const program *p, kn_context *ctx, const kn_program_options *o,
                             kn_text *why, sources *out)
{
    sources twice[2] = {{{0}}, {{0}}};
    fault found = NO_FAULT;
    for (int i = 0; i < 2 && !found; i++) {
        kn_arena a;
        kn_program *prog;
        if (kn_program_create(ctx, p->graph, o, &prog) != KN_OK)
            return failure_of(IN_CREATING, why);
        kn_arena_init(&a, NULL);
        found = generate_once(p, prog, &a, &twice[i]);
        kn_arena_finish(&a);
        kn_program_destroy(prog);
    }
    for (int k = 0; k < twice[0].text.len && !found; k++)
        if (twice[1].text.len != twice[0].text.len ||
            strcmp(twice[0].text.data[k], twice[1].text.data[k]) != 0) {
            kn_putf(why, "the CUDA source of kernel %d differs the second time", k);
            found = OTHER_SOURCE;
        }
    if (out)
        *out = twice[0];
    return failure_of(found, why);
}

bool program_check_cuda(const program *p, kn_context *ctx, const kn_program_options *o,
                        kn_text *why, sources *out)
{
    return program_failure_cuda(p, ctx, o, why, out).fault == NO_FAULT;
}
