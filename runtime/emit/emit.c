#include "runtime/emit/emit.h"

#include <string.h>

#include "runtime/emit/impl.h"

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

static kn_status add_plan(kn_emitter *e, const kn_binding *b, serving sizes)
{
    kn_plan *plan;
    kn_problem problem = kn_program_problem(e->prog, b, &host);
    problem.over = find_updates(e->a, e->g);
    problem.universal = false;
    problem.formulas = sizes != PINNED;
    problem.as_written = sizes == ALL;
    if (sizes == ALL)
        problem.force.reuse = KN_REUSE_RECOMPUTE;
    problem.known = NULL;
    KN_TRY(kn_plan_make(e->a, &problem, &plan));
    kn_push(e->a, &e->plans, plan);
    kn_push(e->a, &e->pinned, sizes == PINNED ? (const int64_t *)b->sizes : NULL);
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

static void put_source(kn_emitter *e, kn_text *t, const char *body)
{
    kn_putf(t,
            "/* %s: made by kiln emit, version %s. Do not edit. */\n"
            "#ifndef _DEFAULT_SOURCE\n#define _DEFAULT_SOURCE\n#endif\n"
            "#include \"%s.h\"\n\n#include <stdlib.h>\n#include <string.h>\n\n"
            "#include \"kiln_cpu.h\"\n\n",
            e->name, e->version, e->name);
    for (int i = 0; i < e->functions.len; i++)
        kn_putf(t, "%s\n", e->functions.data[i]);
    kn_putf(t, "\n%s", body);
}

kn_status kn_emit(kn_program *prog, kn_arena *a, const kn_arg *args, int nargs,
                  const kn_emitting *what, kn_emitted *out)
{
    kn_emitter e = {.a = a, .prog = prog, .g = prog->optimised, .version = what->version};
    kn_binding b, example;
    if (what->targets && strcmp(what->targets, "cpu") != 0)
        return kn_fail(KN_ARGUMENT, "programs are emitted for 'cpu', not for '%s'", what->targets);
    e.name = kn_identifier(a, "", what->name ? what->name : e.g->name);
    KN_TRY(kn_name_sizes(&e));
    KN_TRY(kn_name_parameters(&e));
    if (nargs) {
        KN_TRY(kn_bind(a, e.g, args, nargs, KN_BIND_ASSUME, &b));
        KN_TRY(check_pinned(&e, &b));
        KN_TRY(add_plan(&e, &b, PINNED));
    }
    kn_status found = kn_bind_example(a, e.g, &example);
    if (found != KN_OK && nargs) { /* what it needs of sizes is fulfilled by these */
        kn_clear_error();
        example = b;
        found = KN_OK;
    }
    KN_TRY(found);
    KN_TRY(add_plan(&e, &example, EXAMPLE));
    if (relies(&e, e.plans.data[e.plans.len - 1]))
        KN_TRY(add_plan(&e, &example, ALL));
    kn_text header = kn_text_new(a), source = kn_text_new(a), support = kn_text_new(a),
            body = kn_text_new(a);
    kn_put_checks(&e, &body);
    for (int i = 0; i < e.plans.len; i++)
        KN_TRY(kn_put_plan(&e, &body, i));
    kn_put_interface(&e, &body);
    kn_put_header(&e, &header);
    put_source(&e, &source, kn_text_str(&body));
    kn_put_support(&support);
    *out = (kn_emitted){e.name, kn_text_str(&header), kn_text_str(&source), kn_text_str(&support)};
    return KN_OK;
}
