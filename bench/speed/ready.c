/* How long a new program takes on the CPU device until its first result, which is interpreted, and until all that a call of it
 * takes is compiled, while it runs over and over. How many objects that is, a context that waits for them says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common.h"
#include "bench/speed/speed.h"

enum { LONGEST_MS = 60000 };

typedef struct times {
    double first, ready;
    int objects;
} times;

static bool open_context(const char *when, kiln_ctx **ctx)
{
    kiln_config config;
    kiln_config_init(&config);
    config.device = "cpu";
    config.cache_dir = "";
    config.cpu_compile = when;
    return !failed("context", kiln_ctx_create(&config, ctx));
}

/* So many times the compiler has run: for each object, and to say who it is. */
static int compiler_calls(kiln_ctx *ctx)
{
    kiln_stats s = {.struct_size = sizeof s};
    check(kiln_ctx_stats(ctx, &s));
    return (int)s.compiler_calls;
}

static bool make_job(machine *m, job *j)
{
    return job_shapes(j) && job_memory(m, j) && job_data(m, j);
}

/* Runs it in a new context that waits, or until the compiler has run so many times. */
static bool try_until(const asked *o, const workload *w, const char *when, int calls, times *t)
{
    machine m = {0};
    job j = {.w = w};
    if (!open_context(when, &m.ctx))
        return false;
    double start = now_ms();
    bool ok = !failed(w->program, workload_compile(m.ctx, w, w->dtype, &o->how, &j.prog));
    const double before = now_ms();
    ok = ok && make_job(&m, &j);
    start += now_ms() - before;
    ok = ok && !failed(w->program, job_run(&j));
    t->first = now_ms() - start;
    while (ok && compiler_calls(m.ctx) < calls && now_ms() - start < LONGEST_MS)
        ok = !failed(w->program, job_run(&j));
    t->ready = now_ms() - start;
    t->objects = compiler_calls(m.ctx);
    job_release(&m, &j);
    kiln_prog_destroy(j.prog);
    kiln_ctx_destroy(m.ctx);
    return ok;
}

int measure_ready(const asked *o)
{
    double *first = malloc(sizeof(double) * (size_t)o->count);
    double *ready = malloc(sizeof(double) * (size_t)o->count);
    int n = 0, failures = 0;
    printf("%-48s %10s %10s %8s\n", "", "first ms", "ready ms", "objects");
    for (int i = 0; i < o->count && first && ready; i++) {
        char name[MAX_NAME];
        times t;
        workload_name(&o->all[i], name, sizeof name);
        if (o->all[i].on_gpu || (o->only && !strstr(name, o->only)))
            continue;
        if (!try_until(o, &o->all[i], "wait", 0, &t) ||
            !try_until(o, &o->all[i], "background", t.objects, &t)) {
            failures++;
            continue;
        }
        printf("%-48s %10.2f %10.0f %8d\n", name, t.first, t.ready, t.objects - 1);
        first[n] = t.first;
        ready[n++] = t.ready;
    }
    if (n) { /* median() sorts */
        const double middle[] = {median(first, n), median(ready, n)};
        printf("%-48s %10.2f %10.0f\n%-48s %10.2f %10.0f\n", "median", middle[0], middle[1], "most",
               first[n - 1], ready[n - 1]);
    }
    free(first);
    free(ready);
    return failures;
}
