/* kiln kernel: launch a kernel of the user's own once; write or summarise what it wrote. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/save.h"
#include "cli/text.h"

/* One argument: `param` points to `value`, or to `data`. */
typedef struct argument {
    kn_cli_value *from;
    void *data;       /* device memory of an array */
    kiln_dtype dtype; /* of a number */
    kn_cli_number value;
} argument;

typedef struct job {
    const kn_args *args;
    kiln_ctx *ctx;
    kiln_kernel *kernel;
    kiln_launch launch;
    argument *arguments; /* in the order of the kernel's parameters */
    void **params;
} job;

/* ---- the launch ------------------------------------------------------------------------------ */

/* A decimal number at *p, which is advanced; false if there is none or it does not fit. */
static bool take_number(const char **p, unsigned long long most, unsigned long long *out)
{
    const char *start = *p;
    unsigned long long n = 0;
    for (; **p >= '0' && **p <= '9'; (*p)++) {
        n = n * 10 + (unsigned long long)(**p - '0');
        if (n > most)
            return false;
    }
    *out = n;
    return *p > start;
}

/* "X", "X,Y" or "X,Y,Z"; what is missing stays as it is. */
static int parse_extents(const char *option, const char *text, unsigned out[3], kn_err *e)
{
    const char *p = text;
    for (int i = 0; i < 3; i++) {
        unsigned long long n;
        if (!take_number(&p, UINT32_MAX, &n))
            break;
        out[i] = (unsigned)n;
        if (!*p)
            return KN_EXIT_OK;
        if (*p++ != ',')
            break;
    }
    return kn_usage_error(e, "%s is X, X,Y or X,Y,Z, not '%s'", option, text);
}

static int parse_launch(job *j, kn_err *e)
{
    const kn_args *args = j->args;
    kiln_launch *l = &j->launch;
    kiln_launch_init(l);
    if (!args->entry || !args->grid || !args->block)
        return kn_usage_error(e, "kernel needs %s; see kiln help kernel",
                              !args->entry  ? "--entry NAME"
                              : !args->grid ? "--grid X[,Y,Z]"
                                            : "--block X[,Y,Z]");
    int status = parse_extents("--grid", args->grid, l->grid, e);
    if (!status)
        status = parse_extents("--block", args->block, l->block, e);
    if (!status && args->cluster)
        status = parse_extents("--cluster", args->cluster, l->cluster, e);
    if (!status && args->shared) {
        const char *p = args->shared;
        unsigned long long n = 0;
        if (!take_number(&p, INT32_MAX, &n) || *p)
            status = kn_usage_error(e, "--shared is a number of bytes, not '%s'", args->shared);
        l->shared = (size_t)n;
    }
    l->cooperative = args->cooperative;
    return status;
}

/* ---- the kernel ------------------------------------------------------------------------------ */

/* A GPU if there is one, else the emulator, unless the user said which. */
static int open_context(job *j, kn_err *e)
{
    kiln_config config;
    kiln_config_init(&config);
    config.emulator = j->args->emulator;
    const char *device = j->args->device;
    if (device && strcmp(device, "auto") != 0) {
        config.device = device;
        return kn_lib_error(e, kiln_ctx_create(&config, &j->ctx));
    }
    config.device = "cuda";
    if (!j->args->emulator && kiln_ctx_create(&config, &j->ctx) == KILN_OK)
        return KN_EXIT_OK;
    config.device = "emu";
    return kn_lib_error(e, kiln_ctx_create(&config, &j->ctx));
}

/* The source with a first line that says what file it is, for the compilers' messages. */
static char *name_lines(const char *path, const char *text)
{
    static const char begin[] = "#line 1 \"", end[] = "\"\n";
    char *named = malloc(sizeof begin + 2 * strlen(path) + sizeof end + strlen(text));
    if (!named)
        return NULL;
    char *to = stpcpy(named, begin);
    for (const char *p = path; *p; p++) {
        if (*p == '"' || *p == '\\')
            *to++ = '\\';
        *to++ = *p;
    }
    stpcpy(stpcpy(to, end), text);
    return named;
}

static int make_kernel(job *j, kn_err *e)
{
    const char *path = j->args->subject;
    char *text = NULL, *named = NULL;
    int status = kn_read_text(path, &text, e);
    if (!status && !(named = name_lines(strcmp(path, "-") == 0 ? "<stdin>" : path, text)))
        status = kn_run_error(e, "out of memory");
    if (!status)
        status = open_context(j, e);
    if (!status)
        status = kn_lib_error(e, kiln_kernel_create(j->ctx, named, j->args->entry, &j->kernel));
    free(text);
    free(named);
    return status;
}

/* ---- the arguments --------------------------------------------------------------------------- */

/* By value: as the type written before it, or else as i32, f32, bool or c64. */
static int bind_number(argument *a, kn_err *e)
{
    const kn_cli_value *v = a->from;
    kiln_dtype dtype = v->typed                      ? v->typed
                       : v->kind == KN_VALUE_INT     ? KILN_I32
                       : v->kind == KN_VALUE_BOOL    ? KILN_BOOL
                       : v->kind == KN_VALUE_COMPLEX ? KILN_C64
                                                     : KILN_F32;
    if (v->out)
        return kn_usage_error(e, "out:%s is an array, but %s is a number", v->name, v->text);
    a->dtype = dtype;
    return kn_cli_value_number(v, dtype, &a->value, e);
}

/* What an array of which only the shape was given for output has at first: bytes that look like
 * nothing a kernel writes. */
static int fill(const job *j, kn_cli_value *v, kn_err *e)
{
    if (!v->out || v->kind != KN_VALUE_RANDOM || strchr(v->text, '@'))
        return kn_cli_value_load(v, j->args->seed, false, e);
    int status = kn_cli_array_alloc(&v->array, v->name, e);
    if (!status)
        memset(v->array.data, 0xFF, v->array.bytes);
    return status;
}

/* Do values of this dtype do for a parameter of that dtype and size? */
static bool same_type(kiln_dtype given, kiln_dtype wanted, size_t bytes)
{
    if (bytes && bytes != kiln_dtype_size(given))
        return false;
    bool integers = !kn_cli_is_float(given) && !kn_cli_is_float(wanted);
    return wanted == KILN_NO_DTYPE || wanted == given ||
           (integers && given != KILN_BOOL && wanted != KILN_BOOL);
}

/* Does the value fit the kernel's parameter, as far as the device knows it? */
static int check_type(const argument *a, const kiln_param *p, int place, kn_err *e)
{
    const kn_cli_value *v = a->from;
    bool number = kn_cli_value_is_number(v);
    kiln_dtype given = number ? a->dtype : v->array.dtype;
    const char *type = p->dtype ? kiln_dtype_text(p->dtype) : "another type";
    char what[100];
    snprintf(what, sizeof what, "the kernel's parameter %d%s%.60s%s", place, p->name ? ", '" : "",
             p->name ? p->name : "", p->name ? "'," : "");
    if (number ? p->is_pointer : p->is_value || (p->bytes && p->bytes != sizeof(void *)))
        return kn_usage_error(e, "%s=%s is %s, but %s is %s %s", v->name, v->text,
                              number ? "a number" : "an array", what,
                              p->is_pointer ? "a pointer to" : "a value of", type);
    if (number && !same_type(given, p->dtype, p->bytes))
        return kn_usage_error(
            e,
            "%s=%s is of the type %s, but %s is of %s (%zu bytes); write the type "
            "before the number, as in f32:1",
            v->name, v->text, kiln_dtype_text(given), what, type, p->bytes);
    if (!number && p->dtype && !same_type(given, p->dtype, p->element_bytes))
        return kn_usage_error(e, "%s has elements of the type %s, but %s points to %s", v->name,
                              kiln_dtype_text(given), what, type);
    return KN_EXIT_OK;
}

static int bind_array(const job *j, argument *a, kn_err *e)
{
    kn_cli_value *v = a->from;
    int status = fill(j, v, e);
    size_t bytes = v->array.bytes;
    if (!status && !v->array.compact)
        status = kn_usage_error(e,
                                "%s: %s is in column-major order, which a kernel cannot see; save "
                                "it in row-major order",
                                v->name, v->text);
    if (!status)
        status = kn_lib_error(e, kiln_alloc(j->ctx, bytes ? bytes : 1, &a->data));
    if (!status && bytes)
        status = kn_lib_error(e, kiln_upload(j->ctx, a->data, v->array.data, bytes));
    if (!v->out)
        kn_cli_array_finish(&v->array);
    return status;
}

static int bind(job *j, kn_err *e)
{
    int n = j->args->nvalues, status = KN_EXIT_OK;
    j->arguments = calloc((size_t)n + 1, sizeof *j->arguments);
    j->params = calloc((size_t)n + 1, sizeof *j->params);
    if (!j->arguments || !j->params)
        return kn_run_error(e, "out of memory");
    int known = kiln_kernel_params(j->kernel);
    for (int i = 0; i < n && !status; i++) {
        argument *a = &j->arguments[i];
        a->from = &j->args->values[i];
        bool number = kn_cli_value_is_number(a->from);
        status = number ? bind_number(a, e) : bind_array(j, a, e);
        j->params[i] = number ? (void *)&a->value : (void *)&a->data;
        kiln_param p;
        if (!status && i < known)
            status = kn_lib_error(e, kiln_kernel_param(j->kernel, i, &p));
        if (!status && i < known)
            status = check_type(a, &p, i + 1, e);
    }
    return status;
}

/* ---- the results ----------------------------------------------------------------------------- */

static int deliver(const job *j, kn_err *e)
{
    int n = 0, count = j->args->nvalues, status = KN_EXIT_OK;
    const char **names = calloc((size_t)count + 1, sizeof *names);
    const kn_cli_array **arrays = calloc((size_t)count + 1, sizeof *arrays);
    if (!names || !arrays)
        status = kn_run_error(e, "out of memory");
    for (int i = 0; i < count && !status; i++) {
        kn_cli_value *v = j->arguments[i].from;
        if (!v->out)
            continue;
        names[n] = v->name;
        arrays[n++] = &v->array;
        if (v->array.bytes)
            status = kn_lib_error(
                e, kiln_download(j->ctx, v->array.data, j->arguments[i].data, v->array.bytes));
    }
    if (!status)
        status = kn_deliver(j->args->out_dir, names, arrays, n, e);
    free(names);
    free(arrays);
    return status;
}

static void finish(job *j)
{
    for (int i = 0; j->arguments && i < j->args->nvalues; i++)
        kiln_free(j->ctx, j->arguments[i].data);
    free(j->arguments);
    free(j->params);
    kiln_kernel_destroy(j->kernel);
    kiln_ctx_destroy(j->ctx);
}

int kn_cmd_kernel(const kn_args *args, kn_err *e)
{
    job j = {.args = args};
    int status = parse_launch(&j, e);
    if (!status)
        status = make_kernel(&j, e);
    if (!status)
        status = bind(&j, e);
    kn_progress("running");
    if (!status)
        status =
            kn_lib_error(e, kiln_kernel_run(j.kernel, NULL, &j.launch, j.params, args->nvalues));
    if (!status)
        status = kn_lib_error(e, kiln_sync(j.ctx, NULL));
    kn_progress(NULL);
    if (!status)
        status = deliver(&j, e);
    finish(&j);
    return status;
}
