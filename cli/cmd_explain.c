/* kiln explain: what would run, and why. Runs nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "cli/text.h"

/* A device that is asked for is the one explained. */
static const char *arch_of(const kn_args *args)
{
    return args->arch || args->device ? args->arch : "sm_90";
}

/* The text of a stage, to a file or, with NULL, to standard output. */
static int put_stage(kn_session *s, const kn_args *args, const char *stage, const char *file,
                     kn_err *e)
{
    kiln_explain_options options;
    kiln_explain_options_init(&options);
    options.stage = stage;
    options.verbose = args->verbose;
    options.arch = arch_of(args);
    char *text = NULL;
    int status = kn_lib_error(e, kiln_explain(s->prog, s->args, s->nargs, &options, &text));
    if (status)
        return status;
    size_t n = strlen(text);
    if (file)
        status = kn_write_text(file, text, e);
    else
        printf("%s%s", text, n && text[n - 1] != '\n' ? "\n" : "");
    kiln_text_free(s->ctx, text);
    return status;
}

/* Stages come as a list with commas. */
static int put_stages(kn_session *s, const kn_args *args, kn_err *e)
{
    if (args->html)
        return put_stage(s, args, "html", args->html, e);
    if (args->json)
        return put_stage(s, args, "json", NULL, e);
    if (!args->stage)
        return put_stage(s, args, NULL, NULL, e);
    for (const char *p = args->stage;; p++) {
        char stage[32];
        size_t n = strcspn(p, ",");
        if (n >= sizeof stage)
            return kn_usage_error(e, "--stage: there is no stage '%.*s'", (int)n, p);
        memcpy(stage, p, n);
        stage[n] = '\0';
        int status = put_stage(s, args, stage, NULL, e);
        p += n;
        if (status || !*p)
            return status;
    }
}

/* ---- a program in two ---- */

typedef struct halves {
    kiln_graph *graph[2];
    kiln_prog *prog[2];
    kiln_arg *
        args[2]; /* of each: what was given, and the saved values, whose shapes are the forward's */
    int nargs[2];
    int64_t (*shapes)[KILN_MAX_RANK];
} halves;

static const kiln_arg *arg_named(const kiln_arg *args, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(args[i].name, name) == 0)
            return &args[i];
    return NULL;
}

/* The arguments of a half, as far as they are known. */
static int gather(const kn_session *s, halves *h, int half, kn_err *e)
{
    int n = kiln_prog_io_count(h->prog[half]);
    h->args[half] = calloc((size_t)n + 1, sizeof *h->args[half]);
    if (half)
        h->shapes = calloc((size_t)n + 1, sizeof *h->shapes);
    if (!h->args[half] || (half && !h->shapes))
        return kn_run_error(e, "out of memory");
    for (int i = 0; i < n; i++) {
        kiln_io io;
        kiln_prog_io(h->prog[half], i, &io);
        const kiln_arg *whole = arg_named(s->args, s->nargs, io.name);
        kiln_arg made = {.name = io.name};
        bool known = io.kind != KILN_ARRAY_OUT && whole;
        if (known)
            made = *whole;
        else if (half && io.kind == KILN_ARRAY_IN)
            known = kiln_output_shape(h->prog[0], io.name, h->args[0], h->nargs[0], &made.dtype,
                                      &made.rank, h->shapes[i]) == KILN_OK;
        if (known && !made.shape && half)
            made.shape = h->shapes[i];
        if (known)
            h->args[half][h->nargs[half]++] = made;
    }
    return KN_EXIT_OK;
}

static int put_half(kn_session *s, const kn_args *args, halves *h, int half, kn_err *e)
{
    kn_session part = {.ctx = s->ctx, .graph = h->graph[half]};
    int status = kn_session_compile(&part, args, args->fusion, &h->prog[half], e);
    if (!status)
        status = gather(s, h, half, e);
    if (status)
        return status;
    part.prog = h->prog[half];
    part.args = h->args[half];
    part.nargs = h->nargs[half];
    if (half)
        puts(args->json ? "," : "");
    return put_stages(&part, args, e);
}

static int put_halves(kn_session *s, const kn_args *args, kn_err *e)
{
    halves h = {0};
    kiln_split_options options;
    kiln_split_options_init(&options);
    options.save = args->save && strcmp(args->save, "none") == 0 ? "" : args->save;
    options.arch = arch_of(args);
    options.args = s->args;
    options.nargs = s->nargs;
    int status =
        kn_lib_error(e, kiln_split(s->graph, args->split, &options, &h.graph[0], &h.graph[1]));
    if (!status && args->json)
        puts("[");
    for (int i = 0; i < 2 && !status; i++)
        status = put_half(s, args, &h, i, e);
    if (!status && args->json)
        puts("]");
    for (int i = 0; i < 2; i++) {
        kiln_prog_destroy(h.prog[i]);
        kiln_graph_destroy(h.graph[i]);
        free(h.args[i]);
    }
    free(h.shapes);
    return status;
}

int kn_cmd_explain(const kn_args *args, kn_err *e)
{
    kn_session s;
    if (args->json + !!args->stage + !!args->html > 1)
        return kn_usage_error(e, "--json, --stage and --html exclude each other");
    if (args->html && args->split)
        return kn_usage_error(e, "--html draws one program; --split makes two");
    if (args->save && !args->split)
        return kn_usage_error(e, "--save is of a program that --split divides");
    int status = kn_session_open(&s, args, "cpu", e);
    if (!status)
        status = kn_session_parse_file(&s, args, e);
    if (!status)
        status = kn_session_bind(&s, args, true, e);
    kn_progress(NULL);
    if (!status)
        status = (args->split ? put_halves : put_stages)(&s, args, e);
    kn_session_finish(&s);
    return status;
}
