/* kiln run, kiln eval: run a program once; write or summarise its outputs. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/commands.h"
#include "cli/halves.h"
#include "cli/progress.h"
#include "cli/save.h"
#include "cli/session.h"

static int deliver(kn_session *s, const kn_args *args, kn_err *e)
{
    const char **names = calloc((size_t)s->nio + 1, sizeof *names);
    const kn_cli_array **arrays = calloc((size_t)s->nio + 1, sizeof *arrays);
    int n = 0, status = KN_EXIT_OK;
    if (!names || !arrays)
        status = kn_run_error(e, "out of memory");
    for (int i = 0; i < s->nio && !status; i++)
        if (s->io[i].kind == KILN_ARRAY_OUT || s->io[i].kind == KILN_ARRAY_UPDATE) {
            status = kn_session_download(s, i, e);
            names[n] = s->io[i].name;
            arrays[n++] = &s->outputs[i];
        }
    if (!status)
        status = kn_deliver(args->out_dir, names, arrays, n, e);
    free(names);
    free(arrays);
    return status;
}

/* Forward and backward, one after the other. */
static int run_halves(kn_session *s, const kn_args *args, kn_err *e)
{
    kn_halves h;
    int status = kn_halves_make(&h, s, args, NULL, e);
    if (!status)
        status = kn_halves_bind(&h, s, true, e);
    for (int i = 0; i < 2 && !status; i++)
        status = kn_lib_error(e, kiln_run(h.prog[i], NULL, h.args[i], h.nargs[i]));
    if (!status)
        status = kn_lib_error(e, kiln_sync(s->ctx, NULL));
    kn_halves_finish(&h, s);
    return status;
}

static int run(kn_session *s, const kn_args *args, kn_err *e)
{
    int status = kn_session_upload(s, e);
    kn_progress(args->autotune ? "compiling, and measuring schedules" : "compiling and running");
    if (!status)
        status = args->split ? run_halves(s, args, e)
                             : kn_lib_error(e, kiln_run(s->prog, NULL, s->args, s->nargs));
    if (!status)
        status = kn_lib_error(e, kiln_sync(s->ctx, NULL));
    kn_progress(NULL);
    return status ? status : deliver(s, args, e);
}

int kn_cmd_run(const kn_args *args, kn_err *e)
{
    kn_session s;
    int status = kn_session_load(&s, args, "auto", false, e);
    if (!status)
        status = run(&s, args, e);
    kn_session_finish(&s);
    return status;
}

int kn_cmd_eval(const kn_args *args, kn_err *e)
{
    kn_session s;
    int status = kn_session_open(&s, args, "auto", e);
    if (!status)
        status = kn_session_bind_expr(&s, args, e);
    if (!status)
        status = run(&s, args, e);
    kn_session_finish(&s);
    return status;
}
