/* One program with its arguments on a device: what run, eval, bench and explain share. The steps
 * are taken in this order; each may fail, and kn_session_finish() releases what there is. */
#ifndef KN_CLI_SESSION_H
#define KN_CLI_SESSION_H

#include "cli/args.h"

typedef struct kn_session {
    kiln_ctx *ctx;
    kiln_comm *comm; /* of several ranks; NULL: one */
    kiln_graph *graph;
    kiln_prog *prog;
    int nio;
    kiln_io *io;            /* of prog: inputs first, then outputs */
    kn_cli_value **given;   /* by io: the value of an input; NULL where none was given */
    kn_cli_array *outputs;  /* by io: shapes of the outputs */
    kn_cli_number *numbers; /* by io: values of scalars */
    kiln_arg *args;         /* inputs that were given, then outputs */
    int nargs;
    int nin;
} kn_session;

/* Makes the context: on args->device, or else on `device`. */
int kn_session_open(kn_session *s, const kn_args *args, const char *device, kn_err *e);
/* Reads the graph from the file args->subject ("-" is standard input), FILE:NAME its function of that name. */
int kn_session_parse_file(kn_session *s, const kn_args *args, kn_err *e);
/* Makes the graph of the expression args->subject, whose parameters have the types of the values, and binds it. */
int kn_session_bind_expr(kn_session *s, const kn_args *args, kn_err *e);
/* Compiles the graph; *prog is the caller's. */
int kn_session_compile(kn_session *s, const kn_args *args, bool fusion, kiln_prog **prog,
                       kn_err *e);
/* Compiles into s->prog and finds the value of each parameter; types and ranks must be equal. With
 * shape_only no data is read or made, and values may be missing. */
int kn_session_bind(kn_session *s, const kn_args *args, bool shape_only, kn_err *e);
/* The steps so far, of a file. */
int kn_session_load(kn_session *s, const kn_args *args, const char *device, bool shape_only,
                    kn_err *e);
/* Puts the inputs on the device, releases them here, and allocates the outputs there. */
int kn_session_upload(kn_session *s, kn_err *e);
/* Gets output s->outputs[index] back to the host: allocates its data. */
int kn_session_download(kn_session *s, int index, kn_err *e);
/* Releases everything but the context. */
void kn_session_forget(kn_session *s);
void kn_session_finish(kn_session *s);

#endif
