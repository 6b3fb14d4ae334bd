/* What fusion brings: each workload as the planner fuses it, with one kernel an operation, and with each single merge
 * of its loop nests undone (options.schedule "undo N"). All of a workload's variants run in turns, so that what else
 * the machine does falls on all of them, and each time is compared with that of the fused program in the same turn.
 * Without a merge the planner may compute a value again and come to kernels that another variant has: those run once.
 *
 * Fused is not the quickest where another variant takes less than `margin` of its time in the median turn, and less
 * than its time in nine of ten turns. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/progress.h"
#include "bench/speed/speed.h"

enum { MAX_VARIANTS = 2 + 64, MAX_TURNS = 101 };
static const double margin = 0.98;

typedef struct variant {
    char schedule[16]; /* "undo 3"; "": the planner's */
    bool unfused;
    char what[128]; /* the merge that is undone */
    kiln_prog *prog;
    char *ir; /* its kernels */
    int same; /* the first variant that has these */
    uint64_t launches;
    double predicted_us, error;
    double us, ratio; /* the median; over fused's, of the same turn */
    double p90;       /* nine of ten ratios are not more */
    double times[MAX_TURNS];
} variant;

typedef struct measured {
    job job;
    int n; /* the first is fused */
    variant variants[MAX_VARIANTS];
} measured;

/* ---- variants ---- */

static void add(measured *d, const char *schedule, bool unfused, const char *what, int length)
{
    variant *v = &d->variants[d->n++];
    *v = (variant){.unfused = unfused};
    snprintf(v->schedule, sizeof v->schedule, "%s", schedule);
    snprintf(v->what, sizeof v->what, "%.*s", length, what);
}

/* One for each of the "merges" that explain lists, whose texts may have brackets. */
static void add_merges(measured *d)
{
    static const char list[] = "\"merges\": [";
    char schedule[16];
    const char *at = strstr(d->job.explained, list);
    at = at ? at + strlen(list) : "";
    for (int i = 1; d->n < MAX_VARIANTS; i++) {
        const char *name = at + strspn(at, " ,\n");
        if (*name++ != '"')
            return;
        for (at = name; *at && *at != '"';)
            at += *at == '\\' && at[1] ? 2 : 1;
        snprintf(schedule, sizeof schedule, "undo %d", i % 100);
        add(d, schedule, false, name, (int)(at - name));
        at += *at == '"';
    }
}

static bool compile(machine *m, measured *d, variant *v)
{
    const workload *w = d->job.w;
    kiln_options how;
    kiln_options_init(&how);
    how.fusion = !v->unfused;
    how.schedule = v->schedule[0] ? v->schedule : NULL;
    return !failed(w->program, workload_compile(m->ctx, w, w->dtype, &how, &v->prog));
}

/* Finds the first variant that has the same kernels. */
static bool find_same(machine *m, measured *d, variant *v)
{
    kiln_explain_options what;
    kiln_explain_options_init(&what);
    what.stage = "ir";
    what.arch = machine_arch(m);
    if (failed("ir", kiln_explain(v->prog, d->job.args, d->job.n, &what, &v->ir)))
        return false;
    v->same = 0;
    while (strcmp(d->variants[v->same].ir, v->ir) != 0)
        v->same++;
    return true;
}

static bool is_own(const measured *d, const variant *v) { return v == &d->variants[v->same]; }

/* Compiles a variant, and checks it if there is a reference. */
static bool begin(machine *m, measured *d, variant *v, const array *ref)
{
    job *j = &d->job;
    kiln_prepared info;
    kiln_prepared_init(&info);
    if ((!v->prog && !compile(m, d, v)) || !find_same(m, d, v))
        return false;
    j->prog = v->prog;
    kiln_text_free(m->ctx, j->explained);
    j->explained = NULL;
    bool ok = job_explain(j, machine_arch(m)) &&
              !failed(j->w->program, kiln_prepare(j->prog, j->args, j->n, &info));
    ok = ok && (ref ? job_agrees(m, j, ref) : !failed(j->w->program, job_run(j)));
    v->launches = info.launches;
    v->predicted_us = j->predicted_us;
    v->error = j->error;
    return ok && !failed(j->w->program, kiln_sync(m->ctx, NULL));
}

/* ---- times ---- */

/* Each turn begins with another variant. */
static bool take_turns(machine *m, measured *d, int turns)
{
    for (int t = 0; t < turns; t++)
        for (int i = 0; i < d->n; i++) {
            variant *v = &d->variants[(i + t) % d->n];
            d->job.prog = v->prog;
            if (is_own(d, v) &&
                failed(d->job.w->program, machine_time_once(m, job_run, &d->job, &v->times[t])))
                return false;
        }
    return true;
}

static void compare(measured *d, int turns)
{
    double ratios[MAX_TURNS], times[MAX_TURNS];
    for (int i = d->n - 1; i >= 0; i--) {
        variant *v = &d->variants[i];
        const variant *timed = &d->variants[v->same];
        for (int t = 0; t < turns; t++) {
            ratios[t] = timed->times[t] / d->variants[0].times[t];
            times[t] = timed->times[t];
        }
        v->us = median(times, turns);
        v->ratio = median(ratios, turns); /* sorts them */
        v->p90 = ratios[turns * 9 / 10];
    }
}

static bool is_quicker(const variant *v) { return v->ratio < margin && v->p90 < 1; }

static bool measure_variants(machine *m, const asked *o, measured *d)
{
    job *j = &d->job;
    array ref[MAX_ARRAYS] = {0};
    int turns = o->repeats < MAX_TURNS ? o->repeats : MAX_TURNS;
    add(d, "", false, "", 0);
    add(d, "", true, "", 0);
    if (!compile(m, d, &d->variants[0]))
        return false;
    j->prog = d->variants[0].prog;
    bool ok = job_shapes(j) && job_memory(m, j) && job_data(m, j) &&
              job_explain(j, machine_arch(m)) && (!o->check || job_reference(m, j, ref));
    if (ok)
        add_merges(d);
    for (int i = 0; i < d->n && ok; i++)
        ok = begin(m, d, &d->variants[i], o->check ? ref : NULL);
    if (o->check)
        job_reference_free(j, ref);
    ok = ok && take_turns(m, d, turns);
    if (ok)
        compare(d, turns);
    return ok;
}

static void release(machine *m, measured *d)
{
    job_release(m, &d->job);
    for (int i = 0; i < d->n; i++) {
        kiln_text_free(m->ctx, d->variants[i].ir);
        kiln_prog_destroy(d->variants[i].prog);
    }
}

/* ---- reporting ---- */

/* "fused", "unfused", "undo 2: e and sum" */
static const char *title(const variant *v, char text[160])
{
    const char *first = v->unfused ? "unfused" : v->schedule[0] ? v->schedule : "fused";
    snprintf(text, 160, "%s%s%s", first, v->what[0] ? ": " : "", v->what);
    return text;
}

static void put_rows(const measured *d, bool ok)
{
    char name[MAX_NAME], text[160];
    workload_name(d->job.w, name, sizeof name);
    printf("%s%s\n", name, ok ? "" : " FAILED");
    for (int i = 0; i < d->n && ok; i++) {
        const variant *v = &d->variants[i];
        printf("  %-44s %8llu %10.1f %7.2f %7.2f %10.1f %9.1e%s", title(v, text),
               (unsigned long long)v->launches, v->us, v->ratio, v->p90, v->predicted_us, v->error,
               is_quicker(v) ? "  quicker" : "");
        if (!is_own(d, v))
            printf("  as %s", title(&d->variants[v->same], text));
        printf("\n");
    }
    fflush(stdout);
}

static void put_json(FILE *f, const measured *d, bool ok)
{
    char name[MAX_NAME];
    workload_name(d->job.w, name, sizeof name);
    fprintf(f, "{\"name\": \"%s\", \"ok\": %s, \"variants\": [", name, ok ? "true" : "false");
    for (int i = 0; i < d->n && ok; i++) {
        const variant *v = &d->variants[i];
        fprintf(f, "%s\n    {\"fusion\": %s, \"schedule\": \"%s\", \"undone\": ", i ? "," : "",
                v->unfused ? "false" : "true", v->schedule);
        put_text(f, v->what);
        fprintf(
            f,
            ", \"same_as\": %d, \"launches\": %llu, \"us\": %.3f, \"ratio\": %.4f, \"p90\": %.4f, "
            "\"predicted_us\": %.3f, \"error\": %.3g, \"quicker\": %s}",
            v->same, (unsigned long long)v->launches, v->us, v->ratio, v->p90, v->predicted_us,
            v->error, is_quicker(v) ? "true" : "false");
    }
    fputs("]}", f);
    fflush(f);
}

/* Adds a line for each variant that is quicker than fused to what is printed at last. */
static void list_quicker(FILE *list, const measured *d)
{
    char name[MAX_NAME], text[160];
    workload_name(d->job.w, name, sizeof name);
    for (int i = 1; i < d->n; i++)
        if (is_quicker(&d->variants[i]) && d->variants[i].same == i)
            fprintf(list, "  %s, %s: %.2f of fused's time, predicted %.2f\n", name,
                    title(&d->variants[i], text), d->variants[i].ratio,
                    d->variants[i].predicted_us / d->variants[0].predicted_us);
}

int measure_merges(machine *m, const asked *o, FILE *json)
{
    int failures = 0, rows = 0;
    char *list = NULL;
    size_t size = 0;
    FILE *quicker = open_memstream(&list, &size);
    measured *d = malloc(sizeof *d);
    printf("%-46s %8s %10s %7s %7s %10s %9s\n", kiln_ctx_device(m->ctx), "launches", "us",
           "/ fused", "p90", "predicted", "error");
    if (json)
        fprintf(json, "{\"device\": \"%s\", \"repeats\": %d, \"checked\": %s, \"workloads\": [",
                kiln_ctx_device(m->ctx), o->repeats, o->check ? "true" : "false");
    for (int i = 0; i < o->count && d && quicker; i++) {
        if (!is_wanted(o, m, &o->all[i]))
            continue;
        *d = (measured){.job.w = &o->all[i]};
        say_which(o, i);
        bool ok = measure_variants(m, o, d);
        progress(NULL);
        failures += !ok;
        put_rows(d, ok);
        if (ok)
            list_quicker(quicker, d);
        if (json)
            fprintf(json, "%s\n  ", rows++ ? "," : "");
        if (json)
            put_json(json, d, ok);
        release(m, d);
    }
    if (json)
        fprintf(json, "]}\n");
    if (quicker)
        fclose(quicker);
    printf("\nfused is not the quickest:%s\n%s", size ? "" : " nowhere", list ? list : "");
    free(list);
    free(d);
    return failures + !d + !quicker;
}
