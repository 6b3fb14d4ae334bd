/* Digests of what is generated: of the CUDA source of a program's kernels, and of how they are bound (their IR with its
 * numbers, and what a launch passes), for several architectures. A change that is to change nothing changes none of
 * them.
 *
 *     digests                        a line a program: its name, then SOURCE:BINDING for each architecture
 *     digests show NAME ARCH         what NAME's digests are taken of
 *
 * Programs: the benchmark's workloads in their layouts, those of tests/golden and examples at the sizes that their
 * first lines name, and random ones at small and at large sizes. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "bench/speed/speed.h"
#include "codegen/emit/cuda/cuda.h"
#include "codegen/kir/params.h"
#include "codegen/kir/schedule_text.h"
#include "frontend/parse/parse.h"
#include "tests/differential/program.h"

enum { RANDOM = 300, ELEMENTS = 6000, MOST_TEXT = 1 << 16, NAME = 160 };

static const char *const archs[] = {"sm_70", "sm_80", "sm_90", "sm_100", "sm_120"};
enum { ARCHS = sizeof archs / sizeof *archs };

static const char *wanted_name, *wanted_arch; /* NULL: all, as digests */

static unsigned digest(const char *text) { return (unsigned)kn_hash(text, strlen(text), 0); }

static void put_binding(kn_text *t, kn_arena *a, const kn_kernel *k)
{
    int n = kn_kernel_params(k, NULL, NULL, 0);
    kn_param *params = KN_NEW_ARRAY(a, kn_param, n + 1);
    kn_kernel_params(k, a, params, n);
    kn_kernel_print(t, k, true);
    for (int i = 0; i < n; i++)
        kn_putf(t, "%s = %lld\n", params[i].name, (long long)params[i].value);
}

/* Strides of a random program's argument: half of them compact, the others as parts of larger arrays. */
static void draw_strides(array *a, rng *r)
{
    int64_t step = chance(r, 20) ? 2 : 1;
    bool padded = chance(r, 50);
    int last = a->rank - 1, before = chance(r, 50) && a->rank > 1 ? a->rank - 2 : last;
    for (int i = 0; i < a->rank; i++) {
        int axis = i == 0 ? before : i == 1 && before != last ? last : last - i;
        a->stride[axis] = step;
        step = step * a->shape[axis] + (i == 0 && padded ? 8 : 0);
    }
}

/* The arguments of a graph: of the shapes that `w` names, or, without one, of the sizes. */
static int arguments(const kn_graph *g, const workload *w, const int64_t *sizes, rng *r, array *of,
                     kn_arg *args)
{
    int n = 0;
    for (int i = 0; i < g->inputs.len; i++) {
        const kn_input *in = &g->inputs.data[i];
        array *a = &of[n];
        *a = (array){.io = {.name = in->name}};
        if (w && (in->node->rank == 0 || !workload_shape(w, a)))
            continue;
        if (!w) {
            a->rank = in->node->rank;
            kn_node_sizes(in->node, sizes, a->shape);
            draw_strides(a, r);
        }
        args[n++] = (kn_arg){.name = in->name,
                             .dtype = (int)in->node->dtype,
                             .rank = a->rank,
                             .shape = a->shape,
                             .strides = a->stride};
    }
    return n;
}

/* The source and the binding of a plan's kernels. */
typedef struct generated {
    kn_text source, binding;
    kn_text schedules[2]; /* by kn_schedule_of_sizes */
} generated;

static kn_status generate(kn_arena *a, const kn_problem *problem, generated *g)
{
    kn_plan *plan;
    *g = (generated){kn_text_new(a), kn_text_new(a), {kn_text_new(a), kn_text_new(a)}};
    KN_TRY(kn_plan_make(a, problem, &plan));
    for (int i = 0; i < plan->kernels.len; i++) {
        kn_cuda_kernel(&g->source, plan->kernels.data[i]);
        put_binding(&g->binding, a, plan->kernels.data[i]);
    }
    for (int s = 0; s < 2; s++)
        kn_schedules_put(&g->schedules[s], plan->kernels.data, plan->kernels.len,
                         (kn_schedule_of_sizes)s);
    return KN_OK;
}

static bool same(const kn_text *a, const kn_text *b)
{
    return strcmp(kn_text_str(a), kn_text_str(b)) == 0;
}

/* A plan's schedules, read back from their text with its sizes and without, bind it as it is. */
static kn_status read_back(kn_arena *a, const kn_problem *problem, const generated *g)
{
    for (int s = 0; s < 2; s++) {
        kn_problem forced = *problem;
        generated again;
        forced.force.text = kn_text_str(&g->schedules[s]);
        KN_TRY(generate(a, &forced, &again));
        if (same(&g->source, &again.source) && same(&g->binding, &again.binding))
            continue;
        fprintf(stderr, "%s\n%s\n", forced.force.text, kn_text_str(&again.schedules[0]));
        return kn_fail(KN_INTERNAL, "its schedules' text does not bind it so again");
    }
    return KN_OK;
}

/* Plans for one architecture and prints what is asked for. */
static kn_status one_arch(kn_program *prog, const kn_arg *args, int nargs, const char *name,
                          const char *arch)
{
    kn_arena a;
    kn_target target;
    kn_binding b;
    generated g;
    kn_arena_init(&a, NULL);
    kn_status status = kn_target_of_arch(arch, &target) ? KN_OK : KN_ARGUMENT;
    if (status == KN_OK)
        status = kn_bind(&a, prog->optimised, args, nargs, KN_BIND_ASSUME, &b);
    if (status == KN_OK) {
        kn_problem problem = kn_program_problem(prog, &b, &target);
        problem.graph = kn_graph_clone(&a, prog->optimised);
        status = generate(&a, &problem, &g);
        if (status == KN_OK)
            status = read_back(&a, &problem, &g);
    }
    if (wanted_name && strcmp(arch, wanted_arch) == 0)
        printf("%s\n%s", kn_text_str(&g.source), kn_text_str(&g.binding));
    else if (!wanted_name && status == KN_OK)
        printf(" %08x:%08x", digest(kn_text_str(&g.source)), digest(kn_text_str(&g.binding)));
    if (status != KN_OK)
        fprintf(stderr, "%s for %s: %s\n", name, arch, kn_last_error());
    kn_arena_finish(&a);
    return status;
}

static kn_context *ctx;

static kn_status one_program(kn_graph *g, const char *name, const workload *w, const int64_t *sizes,
                             rng *r, const char *schedule)
{
    array arrays[MAX_ARGS];
    kn_arg args[MAX_ARGS];
    kn_program *prog;
    const kn_program_options options = {.fusion = true, .schedule = schedule};
    if (wanted_name && strcmp(name, wanted_name) != 0)
        return KN_OK;
    KN_TRY(kn_program_create(ctx, g, &options, &prog));
    int n = arguments(prog->optimised, w, sizes, r, arrays, args);
    if (!wanted_name)
        printf("%s", name);
    kn_status status = KN_OK;
    for (int i = 0; i < ARCHS && status == KN_OK; i++)
        status = one_arch(prog, args, n, name, archs[i]);
    if (!wanted_name)
        printf("\n");
    kn_program_destroy(prog);
    return status;
}

/* A program's text at the shapes that `shapes` names: "x=f32[4,5] gamma=f32[5]", or without types and brackets. */
static kn_status one_text(const char *text, const char *file, const char *name, const char *shapes,
                          const char *schedule)
{
    kn_arena a;
    char plain[MOST_TEXT];
    size_t n = 0;
    for (const char *c = shapes; *c && n + 1 < sizeof plain; c++) {
        plain[n++] = *c;
        if (*c == '=' && strchr("bfiuc", c[1]))
            c += strcspn(c, "[\n") - (strchr(c, '[') == NULL);
        n -= *c == ']';
    }
    plain[n] = '\0';
    kn_arena_init(&a, NULL);
    kn_graph *g = kn_graph_new(&a, "program");
    kn_status status = kn_parse(g, text, file);
    if (status == KN_OK)
        status = one_program(g, name, &(workload){.shapes = plain}, NULL, NULL, schedule);
    else
        fprintf(stderr, "%s: %s\n", name, kn_last_error());
    kn_arena_finish(&a);
    return status;
}

static kn_status benchmark(void)
{
    for (int i = 0; i < workload_count; i++) {
        char text[MOST_TEXT], name[NAME];
        workload_text(&workloads[i], workloads[i].dtype, text, sizeof text);
        workload_name(&workloads[i], name, sizeof name);
        for (char *c = name; *c; c++)
            *c = *c == ' ' ? '_' : *c;
        KN_TRY(one_text(text, name, name, workloads[i].shapes, NULL));
    }
    return KN_OK;
}

/* A file at each of the sizes that its first lines name, or at assumed ones; the golden programs by each schedule
 * too. */
static kn_status one_file(const char *path, bool schedules)
{
    static const char *const forced[] = {NULL, "whole", "cluster", "split", "resident", "tiles"};
    char text[MOST_TEXT], shapes[MOST_TEXT], name[NAME];
    FILE *f = fopen(path, "r");
    if (!f)
        return kn_fail(KN_ARGUMENT, "no file %s", path);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    int count = 0;
    for (const char *line = text; *line == '#' || count == 0; line = strchr(line, '\n') + 1) {
        size_t length = strcspn(line, "\n");
        bool sized = strncmp(line, "# ", 2) == 0 && memchr(line, '=', length) && line[3] != ' ';
        if (!sized && *line == '#')
            continue;
        snprintf(shapes, sizeof shapes, "%.*s", sized ? (int)length - 2 : 0, line + 2);
        for (int i = 0; i < (schedules ? 6 : 1); i++) {
            snprintf(name, sizeof name, "%s:%d%s%s", path, count, forced[i] ? ":" : "",
                     forced[i] ? forced[i] : "");
            KN_TRY(one_text(text, path, name, shapes, forced[i]));
        }
        count++;
        if (!sized)
            break;
    }
    return KN_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static kn_status folder(const char *dir, bool schedules)
{
    kn_arena a;
    KN_VEC(char *) paths = {0};
    kn_status status = KN_OK;
    DIR *d = opendir(dir);
    kn_arena_init(&a, NULL);
    for (struct dirent *e; d && (e = readdir(d));)
        if (strlen(e->d_name) > 5 && strcmp(e->d_name + strlen(e->d_name) - 5, ".kiln") == 0)
            kn_push(&a, &paths, (char *)(uintptr_t)kn_sprintf(&a, "%s/%s", dir, e->d_name));
    if (d)
        closedir(d);
    qsort(paths.data, (size_t)paths.len, sizeof *paths.data, by_name);
    for (int i = 0; i < paths.len && status == KN_OK; i++)
        status = one_file(paths.data[i], schedules);
    kn_arena_finish(&a);
    return status;
}

/* Sizes that fill a machine, where the program has a meaning for them. */
static void enlarge(program *p)
{
    kn_binding b;
    array arrays[MAX_ARGS];
    kn_arg args[MAX_ARGS];
    rng r = {p->seed};
    int64_t own[MAX_SYMBOLS];
    memcpy(own, p->sizes, sizeof own);
    for (int i = 0; i < MAX_SYMBOLS; i++)
        p->sizes[i] = own[i] < 20 ? own[i] : own[i] * 61 - 7;
    int n = arguments(p->graph, NULL, p->sizes, &r, arrays, args);
    if (kn_symbols_derive(p->graph->syms, p->arena, p->sizes) != KN_OK ||
        kn_bind(p->arena, p->graph, args, n, KN_BIND_ASSUME, &b) != KN_OK)
        memcpy(p->sizes, own, sizeof own);
}

static kn_status at_random(void)
{
    for (uint64_t seed = 1; seed <= RANDOM; seed++) {
        kn_arena a;
        char name[NAME];
        rng r = {seed};
        kn_arena_init(&a, NULL);
        program *p = KN_NEW(&a, program);
        p->arena = &a;
        p->seed = seed;
        generate_graph(p, &r, ELEMENTS, NULL);
        if (seed % 3 != 0)
            enlarge(p);
        snprintf(name, sizeof name, "random:%llu", (unsigned long long)seed);
        kn_status status = one_program(p->graph, name, NULL, p->sizes, &r, NULL);
        kn_arena_finish(&a);
        KN_TRY(status);
    }
    return KN_OK;
}

static kn_status all(void)
{
    KN_TRY(kn_context_open(&(kn_context_config){.device = "cpu"}, &ctx));
    KN_TRY(benchmark());
    KN_TRY(folder("tests/golden/programs", true));
    KN_TRY(folder("tests/golden", false));
    KN_TRY(folder("examples", false));
    KN_TRY(at_random());
    kn_context_close(ctx);
    return KN_OK;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "show") == 0)
        wanted_name = argv[2], wanted_arch = argv[3];
    else if (argc != 1)
        return fprintf(stderr, "usage: digests [show NAME ARCH]\n"), 2;
    return all() == KN_OK ? 0 : 1;
}
