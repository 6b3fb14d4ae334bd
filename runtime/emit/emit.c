#include "runtime/emit/emit.h"

#include <string.h>

#include "runtime/cuda/nvrtc.h"
#include "runtime/emit/impl.h"
#include "runtime/tune.h"

/* One thread runs it. */
static const kn_target host = {
    .kind = "cpu", .units = 1, .max_block = 1024, .max_threads_unit = 1, .cooperative = true};

/* The outputs that update inputs lie on them. */
static int *find_updates(kn_arena *a, const kn_graph *g)
{
    int *over = KN_NEW_ARRAY(a, int, g->inputs.len + 1);
    for (int i = 0; i < g->inputs.len; i++)
        over[i] = -1;
    for (int o = 0; o < g->outputs.len; o++)
        if (g->outputs.data[o].updates >= 0)
            over[g->outputs.data[o].updates] = o;
    return over;
}

/* For which sizes a plan is. */
typedef enum serving {
    PINNED,  /* those given */
    EXAMPLE, /* those that allow what the plan for an example relies on */
    ALL,
} serving;

/* Does the program measure on a GPU of this architecture, here? */
static const kn_target *measures_on(const kn_emitter *e, const kn_target *target)
{
    kn_device *dev = e->prog->ctx->dev;
    const kn_target *own = dev->ops->target(dev);
    return kn_tunes(e->prog) && own->sm && own->sm == target->sm ? own : NULL;
}

/* As autotune has found to be the quickest, if it has measured such sizes. */
static kn_status make_plan(kn_emitter *e, const kn_problem *problem, kn_plan **plan)
{
    kn_tuning learnt;
    KN_TRY(kn_plan_make(e->a, problem, plan));
    if (problem->formulas || !measures_on(e, problem->target) ||
        !kn_tune_recall(e->a, e->prog, *plan, &learnt))
        return KN_OK;
    return kn_program_plan_by(problem, &learnt.trials[learnt.winner].force, e->a, plan);
}

static kn_status add_plan(kn_emitter *e, kn_emitted_for *to, const kn_binding *b, serving sizes)
{
    kn_emitted_plan *made = KN_NEW(e->a, kn_emitted_plan);
    kn_problem problem = kn_program_problem(e->prog, b, &to->target);
    problem.over = find_updates(e->a, e->g);
    problem.universal = to->arch && sizes == ALL;
    problem.formulas = sizes != PINNED;
    problem.as_written = sizes == ALL;
    if (sizes == ALL)
        problem.force = (kn_force){.reuse = KN_REUSE_RECOMPUTE, .division = KN_DIVIDE_WHOLE};
    problem.known = NULL;
    *made = (kn_emitted_plan){.name = kn_sprintf(e->a, "%s%splan%d", to->arch ? to->arch : "",
                                                 to->arch ? "_" : "", (int)to->plans.len),
                              .pinned = sizes == PINNED ? b->sizes : NULL,
                              .target = &to->target,
                              .oldest = e->gpus.len && e->gpus.data[0] == to};
    KN_TRY(make_plan(e, &problem, &made->plan));
    kn_push(e->a, &to->plans, made);
    return KN_OK;
}

/* Does a plan with formulas rely on anything? */
static bool relies(const kn_emitter *e, const kn_plan *plan)
{
    bool does = kn_symbols_count(plan->regions->graph->syms) > kn_symbols_count(e->g->syms);
    for (int k = 0; k < plan->kernels.len; k++)
        for (int i = 0; i < plan->kernels.data[k]->phases.len; i++)
            does = does || plan->kernels.data[k]->phases.data[i].how.holds.len > 0;
    return does;
}

/* Every size is given. */
static kn_status check_pinned(const kn_emitter *e, const kn_binding *b)
{
    if (*b->assumed)
        return kn_fail(KN_ARGUMENT, "sizes are given all together or not at all: %s was not",
                       kn_strndup(e->a, b->assumed, strcspn(b->assumed, " ")));
    return KN_OK;
}

/* ---- what it is for ---- */

static kn_emitted_for *new_target(kn_emitter *e, const char *arch, kn_target target)
{
    kn_emitted_for *made = KN_NEW(e->a, kn_emitted_for);
    *made = (kn_emitted_for){.target = target, .arch = arch};
    return made;
}

/* The oldest first, each once. */
static void add_gpu(kn_emitter *e, kn_emitted_for *gpu)
{
    int at = 0;
    while (at < e->gpus.len && e->gpus.data[at]->target.sm < gpu->target.sm)
        at++;
    if (at < e->gpus.len && e->gpus.data[at]->target.sm == gpu->target.sm)
        return;
    kn_push(e->a, &e->gpus, gpu);
    for (int i = e->gpus.len - 1; i > at; i--)
        e->gpus.data[i] = e->gpus.data[i - 1];
    e->gpus.data[at] = gpu;
}

/* "cpu,sm_80,sm_90" */
static kn_status read_targets(kn_emitter *e, const char *text)
{
    for (const char *end; text; text = *end ? end + 1 : NULL) {
        end = text + strcspn(text, ",");
        const char *word = kn_strndup(e->a, text, (size_t)(end - text));
        kn_target target;
        kn_text known = kn_text_new(e->a);
        if (strcmp(word, "cpu") == 0) {
            e->cpu = new_target(e, NULL, host);
        } else if (kn_target_of_arch(word, &target)) {
            add_gpu(e, new_target(e, word, target));
        } else {
            kn_target_put_archs(&known);
            return kn_fail(KN_ARGUMENT, "programs are emitted for cpu, %s, not for '%s'",
                           kn_text_str(&known), word);
        }
    }
    return e->gpus.len ? kn_nvrtc_find() : KN_OK;
}

/* ---- plans ---- */

/* Sizes that are given: as arguments, and as text. */
typedef KN_VEC(kn_binding) givens;

static kn_status read_given(kn_emitter *e, const kn_arg *args, int nargs, const char *text,
                            givens *all)
{
    kn_binding b;
    if (nargs) {
        KN_TRY(kn_bind(e->a, e->g, args, nargs, KN_BIND_ASSUME, &b));
        KN_TRY(check_pinned(e, &b));
        kn_push(e->a, all, b);
    }
    for (const char *end; text; text = *end ? end + 1 : NULL) {
        end = text + strcspn(text, "|");
        KN_TRY(kn_bind_given(e->a, e->g, kn_strndup(e->a, text, (size_t)(end - text)), &b));
        kn_push(e->a, all, b);
    }
    return KN_OK;
}

static kn_status add_plans(kn_emitter *e, kn_emitted_for *to, const givens *given,
                           const kn_binding *example)
{
    const kn_target *own = to->arch ? measures_on(e, &to->target) : NULL;
    if (own)
        to->target = *own;
    for (int i = 0; i < given->len; i++)
        KN_TRY(add_plan(e, to, &given->data[i], PINNED));
    if (to->arch)
        return add_plan(e, to, example, ALL);
    KN_TRY(add_plan(e, to, example, EXAMPLE));
    return relies(e, to->plans.data[to->plans.len - 1]->plan) ? add_plan(e, to, example, ALL)
                                                              : KN_OK;
}

static kn_status put_plans(kn_emitter *e, kn_text *t, const givens *given)
{
    kn_binding example;
    kn_status found = kn_bind_example(e->a, e->g, &example);
    if (found != KN_OK && given->len) { /* what it needs of sizes is fulfilled by these */
        kn_clear_error();
        example = given->data[0];
        found = KN_OK;
    }
    KN_TRY(found);
    const int all = e->gpus.len + (e->cpu != NULL);
    for (int i = 0; i < all; i++) {
        const bool gpu = i < e->gpus.len;
        kn_emitted_for *to = gpu ? e->gpus.data[i] : e->cpu;
        KN_TRY(add_plans(e, to, given, &example));
        for (int p = 0; p < to->plans.len; p++)
            KN_TRY((gpu ? kn_put_gpu_plan : kn_put_cpu_plan)(e, t, to->plans.data[p]));
    }
    return KN_OK;
}

/* ---- files ---- */

static void put_source(kn_emitter *e, kn_text *t, const char *body)
{
    kn_putf(t,
            "/* %s: made by kiln emit, version %s. Do not edit. */\n"
            "#ifndef _DEFAULT_SOURCE\n#define _DEFAULT_SOURCE\n#endif\n"
            "#include \"%s.h\"\n\n#include <stdlib.h>\n#include <string.h>\n\n%s",
            e->name, e->version, e->name, e->cpu ? "#include \"kiln_cpu.h\"\n" : "");
    if (e->gpus.len)
        kn_putf(t, "#include \"kiln_cuda.h\"\n#include \"%s_cubin.h\"\n", e->name);
    kn_put(t, "\n");
    for (int i = 0; i < e->functions.len; i++)
        kn_putf(t, "%s\n", e->functions.data[i]);
    kn_putf(t, "\n%s", body);
}

/* The kernels, and what they are. */
static void put_cubins(kn_emitter *e, kn_text *t)
{
    int major, minor;
    kn_nvrtc_version(&major, &minor);
    kn_putf(
        t,
        "/* The kernels of %s: made by kiln emit, version %s, with NVRTC %d.%d. Do not edit.\n *\n",
        e->name, e->version, major, minor);
    for (int i = 0; i < e->codes.len; i++) {
        const kn_emitted_code *c = &e->codes.data[i];
        kn_putf(t, " *   image%-3d sm_%-4d %7zu bytes  %s: %s\n", i, c->of->target->sm, c->bytes,
                c->kernel->name, c->of->pinned ? "the sizes that were given" : "all sizes");
    }
    kn_putf(
        t,
        " *\n * texts: PTX of the oldest architecture, for GPUs that are newer than all. The source of each kernel\n"
        " * is in its .cu. */\n#include <stdint.h>\n\n%s",
        kn_text_str(&e->images));
}

static void add_file(kn_emitter *e, kn_emitted *out, const char *name, kn_text *text)
{
    const kn_emitted_file file = {name, kn_text_str(text)};
    kn_push(e->a, &out->files, file);
}

static void add_gpu_files(kn_emitter *e, kn_emitted *out)
{
    kn_text cubins = kn_text_new(e->a), support = kn_text_new(e->a);
    put_cubins(e, &cubins);
    kn_put_gpu_support(&support);
    add_file(e, out, kn_sprintf(e->a, "%s_cubin.h", e->name), &cubins);
    add_file(e, out, "kiln_cuda.h", &support);
    for (int i = 0; i < e->codes.len; i++) {
        const kn_kernel *k = e->codes.data[i].kernel;
        const kn_emitted_file file = {kn_sprintf(e->a, "%s.cu", k->name), k->source};
        kn_push(e->a, &out->files, file);
    }
}

kn_status kn_emit(kn_program *prog, kn_arena *a, const kn_arg *args, int nargs,
                  const kn_emitting *what, kn_emitted *out)
{
    kn_emitter e = {.a = a,
                    .prog = prog,
                    .g = prog->optimised,
                    .version = what->version,
                    .images = kn_text_new(a)};
    kn_text header = kn_text_new(a), source = kn_text_new(a), support = kn_text_new(a),
            body = kn_text_new(a);
    *out = (kn_emitted){0};
    KN_TRY(read_targets(&e, what->targets ? what->targets : "cpu"));
    for (int s = 0; s < kn_symbols_count(e.g->syms); s++)
        if (kn_symbol_whole(e.g->syms, s) >= 0)
            return kn_fail(KN_ARGUMENT, "%s is divided over ranks, which emitted programs have not",
                           kn_symbol_name(e.g->syms, kn_symbol_whole(e.g->syms, s)));
    e.name = kn_identifier(a, "", what->name ? what->name : e.g->name);
    KN_TRY(kn_name_sizes(&e));
    KN_TRY(kn_name_parameters(&e));
    givens given = {0};
    KN_TRY(read_given(&e, args, nargs, what->sizes, &given));
    kn_put_checks(&e, &body);
    KN_TRY(put_plans(&e, &body, &given));
    kn_put_interface(&e, &body);
    kn_put_header(&e, &header);
    put_source(&e, &source, kn_text_str(&body));
    add_file(&e, out, kn_sprintf(a, "%s.h", e.name), &header);
    add_file(&e, out, kn_sprintf(a, "%s.c", e.name), &source);
    if (e.cpu) {
        kn_put_cpu_support(&support);
        add_file(&e, out, "kiln_cpu.h", &support);
    }
    if (e.gpus.len)
        add_gpu_files(&e, out);
    return KN_OK;
}
