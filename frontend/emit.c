/* A program as C files. */
#include <string.h>

#include "frontend/handles.h"
#include "frontend/structs.h"
#include "runtime/emit/emit.h"

void kiln_emit_options_init_size(kiln_emit_options *s, size_t size)
{
    const kiln_emit_options defaults = {0};
    kn_struct_init(s, size, &defaults, sizeof defaults);
}

typedef struct emission {
    kiln_emit_options options;
    kiln_file_fn write;
    void *user;
} emission;

static kn_status emit(kiln_prog *p, const kn_arg *args, int nargs, kn_arena *scratch, void *user)
{
    const emission *e = user;
    const kn_emitting what = {e->options.name, e->options.targets, e->options.sizes,
                              kiln_version()};
    kn_emitted made;
    KN_TRY(kn_emit(p->core, scratch, args, nargs, &what, &made));
    for (int i = 0; i < made.files.len; i++) {
        const kn_emitted_file *f = &made.files.data[i];
        KN_TRY((kn_status)e->write(e->user, f->name, f->text, strlen(f->text)));
    }
    return KN_OK;
}

kiln_status kiln_emit(kiln_prog *prog, const kiln_arg *args, int nargs,
                      const kiln_emit_options *options, kiln_file_fn write, void *user)
{
    emission e = {.write = write, .user = user};
    if (!write)
        return (kiln_status)kn_fail(KN_ARGUMENT, "write is NULL");
    kiln_emit_options_init(&e.options);
    if (options) {
        kn_status status = kn_struct_read(&kn_struct_emit_options, options, &e.options);
        if (status != KN_OK)
            return (kiln_status)status;
    }
    return kn_handle_with_scratch(prog, args, nargs, emit, &e);
}
