/* kiln emit: a program as C files. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/session.h"

typedef struct emission {
    const char *dir;
    kn_err *e;
    int status;
} emission;

static int write_file(const char *path, const char *text, size_t bytes, kn_err *e)
{
    FILE *f = fopen(path, "wb");
    if (!f)
        return kn_run_error(e, "%s: %s", path, strerror(errno));
    const bool written = fwrite(text, 1, bytes, f) == bytes;
    return fclose(f) == 0 && written ? KN_EXIT_OK
                                     : kn_run_error(e, "%s: %s", path, strerror(errno));
}

static kiln_status take_file(void *user, const char *file, const char *text, size_t bytes)
{
    emission *m = user;
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%s", m->dir, file) >= (int)sizeof path)
        m->status = kn_run_error(m->e, "the path of %s is too long", file);
    else
        m->status = write_file(path, text, bytes, m->e);
    if (!m->status) {
        kn_progress(NULL);
        printf("%s\n", path);
    }
    return m->status ? KILN_ERR_IO : KILN_OK;
}

static int emit(kn_session *s, const kn_args *args, kn_err *e)
{
    emission m = {.dir = args->out_dir ? args->out_dir : ".", .e = e};
    kiln_emit_options options;
    kiln_emit_options_init(&options);
    options.name = args->name;
    options.sizes = args->sizes;
    char targets[1024];
    if (!args->cpu && !args->arch)
        return kn_usage_error(
            e, "say what the program is to run on: --cpu, --arch sm_80,sm_90, or both");
    if (snprintf(targets, sizeof targets, "%s%s%s", args->cpu ? "cpu" : "",
                 args->cpu && args->arch ? "," : "",
                 args->arch ? args->arch : "") >= (int)sizeof targets)
        return kn_usage_error(e, "--arch: too many architectures");
    options.targets = targets;
    if (mkdir(m.dir, 0777) != 0 && errno != EEXIST)
        return kn_run_error(e, "%s: %s", m.dir, strerror(errno));
    kiln_status status = KILN_OK;
    if (args->autotune) { /* measures, where that has not been done */
        kn_progress("compiling, and measuring schedules");
        status = kiln_prepare(s->prog, s->args, s->nargs, NULL);
    }
    kn_progress(args->arch ? "compiling" : "planning");
    if (status == KILN_OK)
        status = kiln_emit(s->prog, s->args, s->nargs, &options, take_file, &m);
    kn_progress(NULL);
    return m.status ? m.status : kn_lib_error(e, status);
}

int kn_cmd_emit(const kn_args *args, kn_err *e)
{
    kn_session s;
    int status = kn_session_load(&s, args, "cpu", true, e);
    if (!status)
        status = emit(&s, args, e);
    kn_session_finish(&s);
    return status;
}
