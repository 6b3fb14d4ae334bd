#include "cli/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/progress.h"
#include "cli/text.h"

int kn_session_open(kn_session *s, const kn_args *args, const char *device, kn_err *e)
{
    *s = (kn_session){0};
    kiln_config config;
    kiln_config_init(&config);
    config.device = args->device ? args->device : device;
    return kn_lib_error(e, kiln_ctx_create(&config, &s->ctx));
}

/* ---- the graph ------------------------------------------------------------------------------- */

/* The ':' in front of the function's name in FILE:NAME; NULL where there is none, or the file's name goes on there. */
static const char *name_in(const char *subject)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    const char *colon = strrchr(subject, ':');
    if (!colon || colon == subject || !colon[1] || colon[1 + strspn(colon + 1, letters)])
        return NULL;
    return access(subject, F_OK) == 0 ? NULL : colon;
}

int kn_session_parse_file(kn_session *s, const kn_args *args, kn_err *e)
{
    const char *colon = name_in(args->subject);
    size_t n = colon ? (size_t)(colon - args->subject) : strlen(args->subject);
    char *path = strndup(args->subject, n), *text = NULL;
    if (!path)
        return kn_run_error(e, "out of memory");
    int status = kn_read_text(path, &text, e);
    const char *shown = strcmp(path, "-") == 0 ? "<stdin>" : path;
    if (!status)
        status = kn_lib_error(
            e, kiln_parse_named(s->ctx, text, shown, colon ? colon + 1 : NULL, &s->graph));
    free(text);
    free(path);
    return status;
}

int kn_session_compile(kn_session *s, const kn_args *args, bool fusion, kiln_prog **prog, kn_err *e)
{
    kiln_options options;
    kiln_options_init(&options);
    options.fusion = fusion;
    options.schedule = args->schedule;
    options.reuse = args->reuse;
    options.fast_math = args->fast_math;
    options.batch_invariant = args->batch_invariant;
    options.autotune = args->autotune;
    options.comm = s->comm;
    return kn_lib_error(e, kiln_compile(s->graph, &options, prog));
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* "f32[N, C]", or "f32" for a scalar. */
static const char *io_type(const kiln_io *io, char *text, size_t size)
{
    if (io->kind == KILN_SCALAR_IN)
        snprintf(text, size, "%s", kiln_dtype_text(io->dtype));
    else
        snprintf(text, size, "%s[%s]", kiln_dtype_text(io->dtype), io->rank ? io->dims : "()");
    return text;
}

static int unknown_name(const kn_session *s, const char *name, kn_err *e)
{
    char list[2048], type[512];
    size_t n = 0;
    list[0] = '\0';
    for (int i = 0; i < s->nio && n < sizeof list; i++)
        if (s->io[i].kind != KILN_ARRAY_OUT)
            n += (size_t)snprintf(list + n, sizeof list - n, "%s%s: %s", n ? ", " : "",
                                  s->io[i].name, io_type(&s->io[i], type, sizeof type));
    return kn_usage_error(e, "%s has no parameter '%s'; its parameters are %s",
                          kiln_prog_name(s->prog), name, n ? list : "none");
}

/* Whether v can be what io asks for; if it can, fills in *arg but for its data. */
static int check_value(const kiln_io *io, const kn_cli_value *v, kn_err *e)
{
    char want[512], have[KN_TYPE_TEXT];
    io_type(io, want, sizeof want);
    if (kn_cli_value_is_number(v)) {
        if (io->kind == KILN_SCALAR_IN)
            return KN_EXIT_OK; /* kn_cli_value_number() checks its type */
        return kn_usage_error(e, "%s is %s, but %s is a number", v->name, want, v->text);
    }
    int rank = io->kind == KILN_SCALAR_IN ? 0 : io->rank;
    if (v->array.dtype == io->dtype && v->array.rank == rank)
        return KN_EXIT_OK;
    kn_cli_array_type(&v->array, have);
    if (v->kind == KN_VALUE_FILE)
        return kn_usage_error(e, "%s is %s, but %s is %s", v->name, want, v->text, have);
    return kn_usage_error(e, "%s is %s, but %s was given", v->name, want, have);
}

static int bind_input(kn_session *s, const kn_args *args, int index, bool shape_only, kn_err *e)
{
    const kiln_io *io = &s->io[index];
    kn_cli_value *v = s->given[index];
    char type[512];
    if (!v) {
        if (shape_only || io->has_default)
            return KN_EXIT_OK;
        return kn_usage_error(e, "%s is missing: give %s=..., which is %s", io->name, io->name,
                              io_type(io, type, sizeof type));
    }
    /* Random data is checked before it is made, a file after it is read. */
    bool known = v->kind == KN_VALUE_RANDOM;
    int status = known ? check_value(io, v, e) : KN_EXIT_OK;
    if (!status)
        status = kn_cli_value_load(v, args->seed, shape_only, e);
    if (!status && !known)
        status = check_value(io, v, e);
    if (status)
        return status;

    kiln_arg *arg = &s->args[s->nargs++];
    *arg = (kiln_arg){.name = io->name, .dtype = io->dtype};
    if (io->kind == KILN_SCALAR_IN) {
        arg->data = &s->numbers[index];
        if (kn_cli_value_is_number(v))
            return kn_cli_value_number(v, io->dtype, arg->data, e);
        if (v->array.data)
            memcpy(arg->data, v->array.data, v->array.bytes);
        else
            memset(arg->data, 0, sizeof s->numbers[index]);
        return KN_EXIT_OK;
    }
    arg->rank = v->array.rank;
    arg->shape = v->array.shape;
    arg->strides = v->array.compact ? NULL : v->array.strides;
    return KN_EXIT_OK;
}

int kn_session_bind(kn_session *s, const kn_args *args, bool shape_only, kn_err *e)
{
    kn_progress("reading and making data");
    int status = kn_session_compile(s, args, args->fusion, &s->prog, e);
    if (status)
        return status;
    s->nio = kiln_prog_io_count(s->prog);
    size_t n = (size_t)s->nio + 1;
    s->io = calloc(n, sizeof *s->io);
    s->given = calloc(n, sizeof *s->given);
    s->outputs = calloc(n, sizeof *s->outputs);
    s->numbers = calloc(n, sizeof *s->numbers);
    s->args = calloc(n, sizeof *s->args);
    if (!s->io || !s->given || !s->outputs || !s->numbers || !s->args)
        return kn_run_error(e, "out of memory");
    for (int i = 0; i < s->nio && !status; i++)
        status = kn_lib_error(e, kiln_prog_io(s->prog, i, &s->io[i]));
    for (int k = 0; k < args->nvalues && !status; k++) {
        int i = 0;
        while (i < s->nio && (s->io[i].kind == KILN_ARRAY_OUT ||
                              strcmp(s->io[i].name, args->values[k].name) != 0))
            i++;
        if (i == s->nio)
            status = unknown_name(s, args->values[k].name, e);
        else
            s->given[i] = &args->values[k];
    }
    for (int i = 0; i < s->nio && !status; i++)
        if (s->io[i].kind != KILN_ARRAY_OUT)
            status = bind_input(s, args, i, shape_only, e);
    s->nin = s->nargs;
    return status;
}

int kn_session_load(kn_session *s, const kn_args *args, const char *device, bool shape_only,
                    kn_err *e)
{
    int status = kn_session_open(s, args, device, e);
    if (!status)
        status = kn_session_parse_file(s, args, e);
    return status ? status : kn_session_bind(s, args, shape_only, e);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static int upload_input(kn_session *s, kiln_arg *arg, kn_cli_array *a, kn_err *e)
{
    int status = kn_lib_error(e, kiln_alloc(s->ctx, a->bytes ? a->bytes : 1, &arg->data));
    if (!status && a->bytes)
        status = kn_lib_error(e, kiln_upload(s->ctx, arg->data, a->data, a->bytes));
    kn_cli_array_finish(a);
    return status;
}

static int alloc_output(kn_session *s, int index, kn_err *e)
{
    kn_cli_array *a = &s->outputs[index];
    const char *name = s->io[index].name;
    int status = kn_lib_error(
        e, kiln_output_shape(s->prog, name, s->args, s->nin, &a->dtype, &a->rank, a->shape));
    if (!status)
        status = kn_cli_array_layout(a, false, name, e);
    if (status)
        return status;
    kiln_arg *arg = &s->args[s->nargs++];
    *arg = (kiln_arg){.name = name, .dtype = a->dtype, .rank = a->rank, .shape = a->shape};
    return kn_lib_error(e, kiln_alloc(s->ctx, a->bytes ? a->bytes : 1, &arg->data));
}

int kn_session_upload(kn_session *s, kn_err *e)
{
    int status = KN_EXIT_OK;
    for (int i = 0, k = 0; i < s->nio && !status; i++)
        if (s->given[i]) {
            if (s->io[i].kind != KILN_SCALAR_IN)
                status = upload_input(s, &s->args[k], &s->given[i]->array, e);
            if (s->io[i].kind == KILN_ARRAY_UPDATE) /* its data is the device's now */
                s->outputs[i] = s->given[i]->array;
            k++;
        }
    for (int i = 0; i < s->nio && !status; i++)
        if (s->io[i].kind == KILN_ARRAY_OUT)
            status = alloc_output(s, i, e);
    return status;
}

int kn_session_download(kn_session *s, int index, kn_err *e)
{
    kn_cli_array *a = &s->outputs[index];
    int status = kn_cli_array_alloc(a, s->io[index].name, e);
    for (int k = 0; k < s->nargs && !status; k++)
        if (s->args[k].name == s->io[index].name && a->bytes)
            status = kn_lib_error(e, kiln_download(s->ctx, a->data, s->args[k].data, a->bytes));
    return status ? status : kn_cli_array_compact(a, s->io[index].name, e);
}

void kn_session_forget(kn_session *s)
{
    /* The data of a scalar is s->numbers'; every other argument's is the device's. */
    for (int k = 0; k < s->nargs; k++)
        if (s->args[k].shape)
            kiln_free(s->ctx, s->args[k].data);
    for (int i = 0; s->outputs && i < s->nio; i++)
        kn_cli_array_finish(&s->outputs[i]);
    free(s->io);
    free(s->given);
    free(s->outputs);
    free(s->numbers);
    free(s->args);
    kiln_prog_destroy(s->prog);
    kiln_graph_destroy(s->graph);
    *s = (kn_session){.ctx = s->ctx, .comm = s->comm};
}

void kn_session_finish(kn_session *s)
{
    kn_session_forget(s);
    kiln_comm_destroy(s->comm);
    kiln_ctx_destroy(s->ctx);
    *s = (kn_session){0};
}
