/* Tables of programs with the schedules that they are to get, tests/differential/schedules/. Each row's schedules are
 * held to the table, and what the row's program then computes on the emulator and on the CPU to the reference
 * interpreter.
 *
 *     test_schedule_table [--update] [FILE...]
 *
 * Without files it takes all; --update writes the schedules that it found into them. A table is programs with rows:
 *
 *     # a comment
 *     def f(x: TYPE[N, C]):
 *         return x / sum(x, axis=1, keepdims=True)
 *     at TYPE=f32 N=3 C=700 --schedule cluster=2 --odd 1: async, no hoisted
 *         emu: threads 256: rows tpg 256 vec 4, cluster 2 of 352, async, ...
 *         sm_90: ...
 *
 * A size that is no number is a word, which takes the place of its name in the program. Behind the colon, which a row without
 * claims has not, it claims what its schedules say and do not, word by word: an update leaves that alone. A new row has a line
 * "emu:", "sm_90:" ... for each target, which an update fills in. Schedules are of compact arrays, as `kiln explain
 * --stage schedule` prints them; in parentheses is what follows from them and is not part of their text. A row is run if
 * one of its schedules is the emulator's. Options are
 *
 *     --schedule, --reuse, --fusion   those of the command
 *     --max-threads N                 threads of a block at most
 *     --odd N                         so many layouts beside the compact one on the emulator; on the CPU at least one
 *     --runs N                        each N times, one after the other
 *     --units N, --smem BYTES         of the emulator as plans see it
 *
 * and a line `with --schedule resident` has those of all rows from there to the next such line. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/kir/schedule_text.h"
#include "frontend/parse/parse.h"
#include "ir/interp.h"
#include "tests/differential/check.h"

enum { MOST_TEXT = 1 << 20 };

typedef struct row {
    const char *text, *sizes, *claims;
    kn_program_options options;
    int odd, runs;   /* layouts beside the compact one; runs of each */
    int units, smem; /* of the emulator; 0: as it has them */
} row;

typedef struct table {
    const char *path, *at; /* what is not read yet */
    int line, rows, failed;
    bool update;
    const char *options; /* of all rows from here on */
    kn_arena *arena;
    kn_context *emu, *cpu;
    kn_text out; /* the updated text */
    tally seen;
} table;

static void fails(table *t, const char *what, const char *why)
{
    print_error("%s:%d: %s%s\n", t->path, t->line, what, why);
    t->failed++;
}

/* ---- reading ---- */

/* The next line if it begins so; NULL otherwise. */
static const char *take(table *t, const char *begins)
{
    if (!*t->at || strncmp(t->at, begins, strlen(begins)) != 0)
        return NULL;
    size_t n = strcspn(t->at, "\n");
    const char *line = kn_sprintf(t->arena, "%.*s", (int)n, t->at);
    t->at += n + (t->at[n] == '\n');
    t->line++;
    return line;
}

static bool in_word(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* `word` in text as a word; NULL when it is not there. */
static const char *find_word(const char *text, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at++)
        if ((at == text || !in_word(at[-1])) && !in_word(at[n]))
            return at;
    return NULL;
}

static const char *replaced(kn_arena *a, const char *text, const char *word, const char *by)
{
    kn_text t = kn_text_new(a);
    for (const char *at; (at = find_word(text, word)); text = at + strlen(word))
        kn_putf(&t, "%.*s%s", (int)(at - text), text, by);
    kn_put(&t, text);
    return kn_text_str(&t);
}

static bool read_option(row *r, const char *name, const char *value)
{
    const struct {
        const char *name;
        int *number;
        const char **word;
    } known[] = {{"--schedule", NULL, &r->options.schedule},
                 {"--reuse", NULL, &r->options.reuse},
                 {"--max-threads", &r->options.max_threads, NULL},
                 {"--odd", &r->odd, NULL},
                 {"--runs", &r->runs, NULL},
                 {"--units", &r->units, NULL},
                 {"--smem", &r->smem, NULL}};
    if (strcmp(name, "--fusion") == 0) {
        r->options.fusion = strcmp(value, "off") != 0;
        return true;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i].name) == 0) {
            if (known[i].word)
                *known[i].word = value;
            else
                *known[i].number = atoi(value);
            return true;
        }
    return false;
}

static void read_words(table *t, row *r, const char *text, kn_text *sizes)
{
    char *rest = NULL;
    for (char *word = strtok_r(kn_strdup(t->arena, text), " ", &rest); word;
         word = strtok_r(NULL, " ", &rest)) {
        char *value = *word == '-' ? strtok_r(NULL, " ", &rest) : strchr(word, '=');
        if (!value || (*word == '-' && !read_option(r, word, value))) {
            fails(t, "neither a size nor an option with its value: ", word);
        } else if (*word != '-' && value[1 + strspn(value + 1, "0123456789")]) {
            *value = '\0';
            r->text = replaced(t->arena, r->text, word, value + 1);
        } else if (*word != '-') {
            kn_putf(sizes, "%s%s", sizes->len ? " " : "", word);
        }
    }
}

/* "N=3 --odd 1: async" */
static row read_row(table *t, const char *line, const char *text)
{
    row r = {.text = text, .claims = "", .options = {.fusion = true}, .runs = 1};
    kn_text sizes = kn_text_new(t->arena);
    const char *claims = strstr(line, ": ");
    if (claims)
        r.claims = claims + 2;
    read_words(t, &r, t->options, &sizes);
    read_words(
        t, &r,
        kn_sprintf(t->arena, "%.*s", (int)(claims ? claims - line : (ptrdiff_t)strlen(line)), line),
        &sizes);
    r.sizes = kn_text_str(&sizes);
    return r;
}

/* ---- schedules ---- */

/* Shapes are known, addresses are not. The plan names values as the program does, and lives no longer. */
static kn_status plan_of(const row *r, kn_program *prog, const kn_target *target, kn_arena *a,
                         kn_plan **plan)
{
    static int64_t sizes[MAX_SYMBOLS];
    int64_t shapes[MAX_ARGS][KN_MAX_RANK];
    kn_arg args[MAX_ARGS];
    int n = 0;
    const kn_graph *g = prog->optimised;
    kn_binding b;
    KN_TRY(read_sizes(g, r->sizes, sizes));
    for (int i = 0; i < g->inputs.len; i++) {
        const kn_input *in = &g->inputs.data[i];
        if (in->by_value)
            continue;
        KN_TRY(kn_node_sizes(in->node, sizes, shapes[n]));
        args[n] = (kn_arg){.name = in->name,
                           .dtype = (int)in->node->dtype,
                           .rank = in->node->rank,
                           .shape = shapes[n]};
        n++;
    }
    KN_TRY(kn_bind(a, g, args, n, KN_BIND_ASSUME, &b));
    return kn_program_plan(prog, a, &b, target, plan);
}

static void put_fact(kn_text *t, const char *fact, const char *name, const char *how)
{
    kn_putf(t, "%s%s%s%s", t->len ? ", " : "", fact, name, how);
}

/* What follows from a schedule. */
static void put_facts(kn_text *t, const kn_kernel *k)
{
    if (kn_kernel_cooperative(k))
        put_fact(t, "grid barrier", "", "");
    for (int p = 0; p < k->phases.len; p++) {
        const kn_phase *ph = &k->phases.data[p];
        for (int v = 0; v < ph->nest.values.len; v++) {
            const kn_value *value = &ph->nest.values.data[v];
            if (ph->how.hoisted && kn_is_hoisted(ph, v))
                put_fact(t, "hoists ", k->bufs.data[value->access->buf].name, "");
        }
        for (int i = 0; i < ph->how.transposes.len; i++) {
            const kn_transpose *of = &ph->how.transposes.data[i];
            put_fact(t, "transposed ", k->bufs.data[kn_transposed_access(ph, of)->buf].name,
                     of->in_registers ? " in registers" : "");
        }
    }
}

static kn_status put_schedules(kn_text *t, const row *r, kn_program *prog, const kn_target *target)
{
    kn_plan *plan;
    KN_TRY(plan_of(r, prog, target, t->arena, &plan));
    for (int i = 0; i < plan->kernels.len; i++) {
        const kn_kernel *k = plan->kernels.data[i];
        const kn_kernel_schedule s = kn_schedule_of(t->arena, k);
        kn_text facts = kn_text_new(t->arena);
        kn_put(t, i ? " | " : "");
        kn_schedule_put(t, &s, k);
        put_facts(&facts, k);
        if (facts.len)
            kn_putf(t, " (%s)", kn_text_str(&facts));
    }
    kn_put(t, plan->kernels.len ? "" : "no kernel");
    return KN_OK;
}

/* The schedules of a row for a target, or why there are none. */
static const char *schedules_of(table *t, const row *r, const kn_target *target)
{
    kn_program *prog = NULL;
    kn_graph *g = kn_graph_new(t->arena, "program");
    kn_text text = kn_text_new(t->arena);
    kn_status status = kn_parse(g, r->text, "text");
    if (status == KN_OK)
        status = kn_program_create(t->emu, g, &r->options, &prog);
    if (status == KN_OK)
        status = put_schedules(&text, r, prog, target);
    if (status != KN_OK)
        fails(t, "no plan: ", kn_last_error());
    if (prog)
        kn_program_destroy(prog);
    return kn_text_str(&text);
}

/* "async, no hoisted" */
static void check_claims(table *t, const row *r, const char *schedules)
{
    char *rest = NULL;
    for (char *claim = strtok_r(kn_strdup(t->arena, r->claims), ",", &rest); claim;
         claim = strtok_r(NULL, ",", &rest)) {
        claim += strspn(claim, " ");
        const bool no = strncmp(claim, "no ", 3) == 0;
        if (!find_word(schedules, claim + (no ? 3 : 0)) != no)
            fails(t, "the schedule has not: ", claim);
    }
}

/* "    sm_90: threads ...", or NULL for one that is missing; the target's name. */
static const char *check_schedule(table *t, const row *r, const char *line)
{
    const size_t n = line ? strcspn(line + 4, ":") : 3;
    const char *name = kn_sprintf(t->arena, "%.*s", (int)n, line ? line + 4 : "emu");
    kn_target known;
    const bool emu = strcmp(name, "emu") == 0, is_known = kn_target_of_arch(name, &known);
    if (!emu && !is_known)
        fails(t, "no target: ", name);
    const char *schedules =
        schedules_of(t, r, is_known ? &known : t->emu->dev->ops->target(t->emu->dev));
    const char *found = kn_sprintf(t->arena, "    %s: %s", name, schedules);
    if (!t->update && (!line || strcmp(line, found) != 0))
        fails(t, "the schedule is\n", found);
    check_claims(t, r, schedules);
    kn_putf(&t->out, "%s\n", found);
    return name;
}

/* ---- results ---- */

static void check_result(table *t, const row *r, const program *p, kn_context *ctx,
                         const char *device)
{
    kn_text why = kn_text_new(p->arena);
    for (int run = 0; run < r->runs; run++)
        if (!program_check(p, ctx, &r->options, &why, &t->seen)) {
            fails(t, kn_sprintf(p->arena, "layout %d, on %s: ", (int)p->seed, device),
                  kn_text_str(&why));
            return;
        }
}

static void check_results(table *t, const row *r)
{
    for (int seed = 0; seed <= r->odd || seed <= 1; seed++) {
        kn_arena a;
        kn_arena_init(&a, NULL);
        program *p = program_of_text(&a, r->text, "text", r->sizes, (uint64_t)seed);
        if (!p) {
            fails(t, r->text, kn_last_error());
        } else {
            check_result(t, r, p, t->cpu, "cpu");
            if (seed <= r->odd)
                check_result(t, r, p, t->emu, "emu");
        }
        kn_arena_finish(&a);
    }
}

/* ---- tables ---- */

/* The line behind "at", and the schedules that follow. */
static void check_row(table *t, const char *line, const char *text)
{
    row r = read_row(t, line, text);
    kn_target *target = (kn_target *)(uintptr_t)t->emu->dev->ops->target(t->emu->dev);
    const kn_target usual = *target;
    const bool due = t->rows++ % EFFORT(1, 4) == 0;
    bool runs = false;
    if (r.units)
        target->units = r.units;
    if (r.smem)
        target->smem_block = r.smem;
    const char *schedule = take(t, "    ");
    do
        runs = strcmp(check_schedule(t, &r, schedule), "emu") == 0 || runs;
    while (schedule && (schedule = take(t, "    ")));
    if (runs && due && !t->update)
        check_results(t, &r);
    *target = usual;
}

static void check_table(table *t)
{
    const char *text = "";
    for (const char *line; (line = take(t, ""));) {
        kn_putf(&t->out, "%s\n", line);
        if (strncmp(line, "def ", 4) == 0) {
            kn_text lines = kn_text_new(t->arena);
            for (; line; line = take(t, "    ")) {
                if (lines.len) /* its first line is written */
                    kn_putf(&t->out, "%s\n", line);
                kn_putf(&lines, "%s\n", line);
            }
            text = kn_text_str(&lines);
        } else if (strncmp(line, "with", 4) == 0) {
            t->options = line + 4;
        } else if (strncmp(line, "at ", 3) == 0) {
            check_row(t, line + 3, text);
        }
    }
}

/* Failures. */
static int check_file(const char *path, bool update)
{
    kn_arena a;
    kn_arena_init(&a, NULL);
    char *text = kn_alloc(&a, MOST_TEXT);
    FILE *f = fopen(path, "r");
    if (!f)
        return print_error("no file %s\n", path), 1;
    text[fread(text, 1, MOST_TEXT - 1, f)] = '\0';
    fclose(f);
    table t = {.path = path,
               .at = text,
               .options = "",
               .update = update,
               .arena = &a,
               .out = kn_text_new(&a)};
    t.emu = open_context("emu");
    t.cpu = open_context("cpu");
    check_table(&t);
    kn_context_close(t.emu);
    kn_context_close(t.cpu);
    if (!update && t.seen.skipped * 10 > t.seen.compared)
        fails(&t, "most elements have no bound", "");
    if (update && (f = fopen(path, "w"))) {
        fputs(kn_text_str(&t.out), f);
        fclose(f);
    }
    print_message("%s: %d rows, %d failures, %lld elements compared\n", path, t.rows, t.failed,
                  (long long)t.seen.compared);
    kn_arena_finish(&a);
    return t.failed;
}

int main(int argc, char **argv)
{
    const bool update = argc > 1 && strcmp(argv[1], "--update") == 0;
    int failed = 0;
    glob_t all = {0};
    if (argc == 1 + update && glob("tests/differential/schedules/*.txt", 0, NULL, &all) != 0)
        return print_error("no tables here\n"), 1;
    for (size_t i = 0; i < all.gl_pathc; i++)
        failed += check_file(all.gl_pathv[i], update);
    for (int i = 1 + update; i < argc; i++)
        failed += check_file(argv[i], update);
    globfree(&all);
    return failed != 0;
}
