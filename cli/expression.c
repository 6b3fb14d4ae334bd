/* The graph of an expression.
 *
 * Its arrays are given, so that their sizes are known; but a kernel that has them as numbers serves no other call.
 * Each size is a symbol of its own, so that the kernels of an expression serve all calls, whichever sizes happen to be
 * equal there; 1 stays a number, for it broadcasts. Where the expression reads sizes it is Python that computes with
 * them, and they are numbers; and so they are where symbols leave it without a meaning, as in squeeze(x). */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli/session.h"

enum { NAME_MAX_LENGTH = 32 };

/* The sizes of a call: the i-th is the symbol <stem><i>. */
typedef struct sizes {
    char stem[NAME_MAX_LENGTH]; /* "": they are numbers */
    int n;
} sizes;

/* Does the expression read a size? */
static bool reads_sizes(const char *expr)
{
    static const char *const words[] = {"shape", "size", "len"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (const char *at = expr; (at = strstr(at, words[i])); at++) {
            char before = at > expr ? at[-1] : ' ', after = at[strlen(words[i])];
            if (!isalnum((unsigned char)before) && before != '_' &&
                !isalnum((unsigned char)after) && after != '_')
                return true;
        }
    return false;
}

static bool is_used(const kn_args *args, const char *stem)
{
    for (int i = 0; i < args->nvalues; i++)
        if (strstr(args->values[i].name, stem))
            return true;
    return strstr(args->subject, stem);
}

/* Names that neither the expression nor a value has. False where there are none. */
static bool find_stem(const kn_args *args, char *stem)
{
    size_t n = (size_t)sprintf(stem, "size");
    while (is_used(args, stem) && n + 1 < NAME_MAX_LENGTH)
        n += (size_t)sprintf(stem + n, "_");
    return !is_used(args, stem);
}

/* What kiln_input() calls dims, of an array. */
static const char *put_dims(sizes *z, const kn_cli_array *a, char *dims, size_t room)
{
    size_t n = 0;
    dims[0] = '\0';
    for (int i = 0; i < a->rank; i++) {
        const char *comma = i ? ", " : "";
        long long size = a->shape[i];
        n += (size_t)(z->stem[0] && size != 1
                          ? snprintf(dims + n, room - n, "%s%s%d", comma, z->stem, z->n++)
                          : snprintf(dims + n, room - n, "%s%lld", comma, size));
    }
    return dims;
}

static void add_input(kn_session *s, sizes *z, const kn_cli_value *v)
{
    char dims[KILN_MAX_RANK * (NAME_MAX_LENGTH + 24)];
    if (kn_cli_value_is_number(v))
        kiln_scalar(s->graph, v->name,
                    v->kind == KN_VALUE_BOOL      ? KILN_BOOL
                    : v->kind == KN_VALUE_INT     ? KILN_I64
                    : v->kind == KN_VALUE_COMPLEX ? KILN_C128
                                                  : KILN_F64);
    else
        kiln_input(s->graph, v->name, v->array.dtype, put_dims(z, &v->array, dims, sizeof dims));
}

static int parse(kn_session *s, const kn_args *args, sizes *z, kn_err *e)
{
    int status = kn_lib_error(e, kiln_graph_create(s->ctx, &s->graph));
    if (!status)
        status = kn_lib_error(e, kiln_graph_name(s->graph, "eval"));
    for (int i = 0; i < args->nvalues && !status; i++)
        add_input(s, z, &args->values[i]);
    if (!status)
        status = kn_lib_error(e, kiln_graph_status(s->graph));
    if (!status)
        status = kn_lib_error(e, kiln_parse_expr(s->graph, args->subject));
    return status;
}

/* Has the program a meaning for the sizes that are bound? */
static int check_sizes(kn_session *s, kn_err *e)
{
    kn_cli_array a = {0};
    return kn_lib_error(e, kiln_output_shape(s->prog, s->io[s->nio - 1].name, s->args, s->nin,
                                             &a.dtype, &a.rank, a.shape));
}

static int attempt(kn_session *s, const kn_args *args, sizes *z, kn_err *e)
{
    int status = parse(s, args, z, e);
    if (!status)
        status = kn_session_bind(s, args, false, e);
    return status ? status : check_sizes(s, e);
}

int kn_session_bind_expr(kn_session *s, const kn_args *args, kn_err *e)
{
    sizes z = {.n = 0};
    int status = KN_EXIT_USAGE;
    for (int i = 0; i < args->nvalues; i++) {
        int loaded = kn_cli_value_load(&args->values[i], args->seed, false, e);
        if (loaded)
            return loaded;
    }
    if (!reads_sizes(args->subject) && find_stem(args, z.stem))
        status = attempt(s, args, &z, e);
    if (status == KN_EXIT_USAGE) {
        kn_session_forget(s);
        z.stem[0] = '\0';
        status = attempt(s, args, &z, e);
    }
    return status;
}
