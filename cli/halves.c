#include "cli/halves.h"

#include <stdlib.h>
#include <string.h>

int kn_halves_make(kn_halves *h, kn_session *s, const kn_args *args, const char *arch, kn_err *e)
{
    kiln_split_options options;
    kiln_split_options_init(&options);
    *h = (kn_halves){0};
    options.save = args->save && strcmp(args->save, "none") == 0 ? "" : args->save;
    options.arch = arch;
    options.args = s->args;
    options.nargs = s->nargs;
    int status =
        kn_lib_error(e, kiln_split(s->graph, args->split, &options, &h->graph[0], &h->graph[1]));
    for (int i = 0; i < 2 && !status; i++) {
        kn_session part = {.ctx = s->ctx, .graph = h->graph[i]};
        status = kn_session_compile(&part, args, args->fusion, &h->prog[i], e);
    }
    return status;
}

static const kiln_arg *arg_named(const kiln_arg *args, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(args[i].name, name) == 0)
            return &args[i];
    return NULL;
}

/* What the forward gives besides the whole program's outputs. Without sizes nothing is known of it. */
static int save(kn_halves *h, const kn_session *s, const char *name, bool memory, kn_err *e)
{
    kiln_arg *made = &h->saved[h->nsaved];
    *made = (kiln_arg){.name = name, .shape = h->shapes[h->nsaved]};
    kiln_status status = kiln_output_shape(h->prog[0], name, h->args[0], h->nargs[0], &made->dtype,
                                           &made->rank, h->shapes[h->nsaved]);
    if (status != KILN_OK)
        return memory ? kn_lib_error(e, status) : KN_EXIT_OK;
    h->nsaved++;
    size_t bytes = kiln_dtype_size(made->dtype);
    for (int j = 0; j < made->rank; j++)
        bytes *= (size_t)made->shape[j];
    return memory ? kn_lib_error(e, kiln_alloc(s->ctx, bytes ? bytes : 1, &made->data))
                  : KN_EXIT_OK;
}

static int gather(kn_halves *h, const kn_session *s, int half, bool memory, kn_err *e)
{
    int n = kiln_prog_io_count(h->prog[half]), status = KN_EXIT_OK;
    h->args[half] = calloc((size_t)n + 1, sizeof *h->args[half]);
    if (half == 0) {
        h->saved = calloc((size_t)n + 1, sizeof *h->saved);
        h->shapes = calloc((size_t)n + 1, sizeof *h->shapes);
    }
    if (!h->args[half] || !h->saved || !h->shapes)
        return kn_run_error(e, "out of memory");
    for (int i = 0; i < n && !status; i++) { /* inputs first, then outputs */
        kiln_io io;
        kiln_prog_io(h->prog[half], i, &io);
        const kiln_arg *arg = arg_named(s->args, s->nargs, io.name);
        if (!arg && half == 0 && io.kind == KILN_ARRAY_OUT)
            status = save(h, s, io.name, memory, e);
        if (!arg && (half || memory))
            arg = arg_named(h->saved, h->nsaved, io.name);
        if (arg)
            h->args[half][h->nargs[half]++] = *arg;
    }
    return status;
}

int kn_halves_bind(kn_halves *h, const kn_session *s, bool memory, kn_err *e)
{
    int status = gather(h, s, 0, memory, e);
    return status ? status : gather(h, s, 1, memory, e);
}

void kn_halves_finish(kn_halves *h, const kn_session *s)
{
    for (int i = 0; i < h->nsaved; i++)
        if (h->saved[i].data)
            kiln_free(s->ctx, h->saved[i].data);
    for (int i = 0; i < 2; i++) {
        kiln_prog_destroy(h->prog[i]);
        kiln_graph_destroy(h->graph[i]);
        free(h->args[i]);
    }
    free(h->saved);
    free(h->shapes);
}
