/* kiln explain: what would run, and why. Runs nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/halves.h"
#include "cli/progress.h"
#include "cli/ranks.h"
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

static int put_halves(kn_session *s, const kn_args *args, kn_err *e)
{
    kn_halves h;
    int status = kn_halves_make(&h, s, args, arch_of(args), e);
    if (!status)
        status = kn_halves_bind(&h, s, false, e);
    if (!status && args->json)
        puts("[");
    for (int i = 0; i < 2 && !status; i++) {
        kn_session part = {.ctx = s->ctx,
                           .graph = h.graph[i],
                           .prog = h.prog[i],
                           .args = h.args[i],
                           .nargs = h.nargs[i]};
        if (i)
            puts(args->json ? "," : "");
        status = put_stages(&part, args, e);
    }
    if (!status && args->json)
        puts("]");
    kn_halves_finish(&h, s);
    return status;
}

/* ---- a program of several ranks ---- */

/* The first of ranks that have equal parts, on GPUs that reach each other's memory, which the emulator stands in for. */
static int explain_rank(const kn_args *args, kn_err *e)
{
    kn_rank *ranks = calloc((size_t)args->ranks, sizeof *ranks);
    if (!ranks)
        return kn_run_error(e, "out of memory");
    kn_session *s = &ranks->session;
    int status = kn_ranks_open(ranks, args, "emu", e);
    if (!status)
        status = kn_session_parse_file(s, &ranks->args, e);
    if (!status)
        status = kn_session_bind(s, &ranks->args, true, e);
    kn_progress(NULL);
    if (!status)
        status = put_stages(s, args, e);
    kn_ranks_finish(ranks, args->ranks);
    free(ranks);
    return status;
}

int kn_cmd_explain(const kn_args *args, kn_err *e)
{
    kn_session s;
    if (args->json + !!args->stage + !!args->html > 1)
        return kn_usage_error(e, "--json, --stage and --html exclude each other");
    if (args->ranks && args->split)
        return kn_usage_error(e, "--split explains two programs, --ranks one of several ranks");
    if (args->html && args->split)
        return kn_usage_error(e, "--html draws one program; --split makes two");
    if (args->ranks)
        return explain_rank(args, e);
    int status = kn_session_load(&s, args, "cpu", true, e);
    kn_progress(NULL);
    if (!status)
        status = (args->split ? put_halves : put_stages)(&s, args, e);
    kn_session_finish(&s);
    return status;
}
