/* Tensors of DLPack as arguments, and outputs as tensors. */
#include <string.h>

#include "frontend/dlpack_abi.h"
#include "frontend/handles.h"
#include "frontend/kiln_dlpack.h"

static kiln_status null(const char *what)
{
    return (kiln_status)kn_fail(KN_ARGUMENT, "%s is NULL", what);
}

/* ---- types ---- */

static kiln_dtype dtype_of(const kn_dl_type *t)
{
    for (kiln_dtype i = KILN_BOOL; i <= KILN_C128; i++) {
        kn_dl_type of = kn_dl_type_of(i);
        if (of.kind == t->kind && of.bits == t->bits && of.lanes == t->lanes)
            return i;
    }
    return KILN_NO_DTYPE;
}

/* ---- from a tensor ---- */

static const kiln_io *find_io(const kiln_prog *p, const char *name)
{
    for (int i = 0; i < p->io_count; i++)
        if (strcmp(p->io[i].name, name) == 0)
            return &p->io[i];
    return NULL;
}

/* Can the context's kernels use memory there? A number is read by the host. */
static bool reaches(const kn_context *ctx, const kn_dl_device *at, bool is_number)
{
    switch (at->type) {
    case KN_DL_CPU: return is_number || !ctx->has_gpu;
    case KN_DL_CUDA: return !is_number && ctx->has_gpu && ctx->ordinal == at->id;
    case KN_DL_CUDA_HOST:
    case KN_DL_CUDA_MANAGED: return true;
    default: return false;
    }
}

static kiln_status check(const kiln_prog *p, const kiln_io *io, const kn_dl_tensor *t,
                         bool read_only)
{
    const kn_context *ctx = p->ctx->core;
    if (!reaches(ctx, &t->device, io->kind == KILN_SCALAR_IN))
        return (kiln_status)kn_fail(
            KN_ARGUMENT, "%s is on %s:%d, DLPack's device type %d, which %s on \"%s\" cannot use",
            io->name,
            t->device.type == KN_DL_CPU    ? "cpu"
            : t->device.type == KN_DL_CUDA ? "cuda"
                                           : "another device",
            (int)t->device.id, (int)t->device.type,
            io->kind == KILN_SCALAR_IN ? "a number of a program" : "a program", ctx->name);
    if (read_only && (io->kind == KILN_ARRAY_OUT || io->kind == KILN_ARRAY_UPDATE))
        return (kiln_status)kn_fail(KN_ARGUMENT, "%s is written by the program, but read-only",
                                    io->name);
    if (dtype_of(&t->type) == KILN_NO_DTYPE)
        return (kiln_status)kn_fail(
            KN_TYPE, "%s: kiln has no dtype of DLPack's code %d with %d bits and %d lanes",
            io->name, t->type.kind, t->type.bits, t->type.lanes);
    if (t->rank < 0 || t->rank > KILN_MAX_RANK)
        return (kiln_status)kn_fail(KN_SHAPE, "%s has rank %d; there are up to %d axes", io->name,
                                    (int)t->rank, KILN_MAX_RANK);
    return KILN_OK;
}

static kiln_status take(kiln_prog *p, const char *name, const kn_dl_tensor *t, bool read_only,
                        kiln_arg *arg)
{
    KN_CHECK_HERE(p->ctx);
    const kiln_io *io = find_io(p, name);
    if (!io)
        return (kiln_status)kn_fail(KN_ARGUMENT, "%s has no input or output '%.64s'",
                                    kiln_prog_name(p), name);
    kiln_status status = check(p, io, t, read_only);
    if (status == KILN_OK)
        *arg = (kiln_arg){.name = name,
                          .data = t->data ? (char *)t->data + t->offset : NULL,
                          .dtype = dtype_of(&t->type),
                          .rank = t->rank,
                          .shape = t->shape,
                          .strides = t->strides};
    return status;
}

kiln_status kiln_arg_from_dlpack(kiln_prog *p, const char *name,
                                 const struct DLManagedTensor *tensor, kiln_arg *arg)
{
    if (!p || !name || !tensor || !arg)
        return null(!p ? "prog" : !name ? "name" : tensor ? "arg" : "tensor");
    return take(p, name, &tensor->tensor, false, arg);
}

kiln_status kiln_arg_from_dlpack_versioned(kiln_prog *p, const char *name,
                                           const struct DLManagedTensorVersioned *tensor,
                                           kiln_arg *arg)
{
    if (!p || !name || !tensor || !arg)
        return null(!p ? "prog" : !name ? "name" : tensor ? "arg" : "tensor");
    if (tensor->major != KN_DL_MAJOR) /* what lies behind it is unknown */
        return (kiln_status)kn_fail(KN_ARGUMENT, "%s: a tensor of DLPack %u; kiln knows version %d",
                                    name, (unsigned)tensor->major, KN_DL_MAJOR);
    return take(p, name, &tensor->tensor, tensor->flags & KN_DL_READ_ONLY, arg);
}

/* ---- to a tensor ---- */

/* A tensor with what its deleter needs. */
typedef struct exported {
    union {
        struct DLManagedTensor plain;
        struct DLManagedTensorVersioned versioned;
    } managed; /* first: its address is the tensor's */
    kiln_ctx *ctx;
    void *memory;
    int64_t sizes[2 * KILN_MAX_RANK]; /* shape, strides */
} exported;

static void release(exported *e)
{
    kiln_ctx *ctx = e->ctx;
    if (!kn_context_is_here(ctx->core))
        return;
    const kn_allocator from = ctx->core->from;
    kiln_free(ctx, e->memory);
    from.release(from.user, e);
    kn_handle_drop(ctx);
}

static void delete_plain(struct DLManagedTensor *self)
{
    if (self)
        release(self->manager);
}

static void delete_versioned(struct DLManagedTensorVersioned *self)
{
    if (self)
        release(self->manager);
}

/* Fills in *t, whose memory is new, for an output; sizes has room for its shape and strides. */
static kiln_status make(kiln_prog *p, const char *name, const kiln_arg *args, int nargs,
                        exported *e, kn_dl_tensor *t)
{
    kiln_dtype dtype;
    int rank;
    kiln_status status = kiln_output_shape(p, name, args, nargs, &dtype, &rank, e->sizes);
    if (status != KILN_OK)
        return status;
    int64_t count = kn_count(e->sizes, rank), *strides = e->sizes + KILN_MAX_RANK;
    kn_compact_strides(e->sizes, rank, strides);
    const kn_context *ctx = p->ctx->core;
    *t = (kn_dl_tensor){.device = {ctx->has_gpu ? KN_DL_CUDA : KN_DL_CPU, ctx->ordinal},
                        .rank = rank,
                        .type = kn_dl_type_of(dtype),
                        .shape = e->sizes,
                        .strides = strides};
    if (count == 0)
        return KILN_OK;
    status = kiln_alloc(p->ctx, (size_t)count * kiln_dtype_size(dtype), &e->memory);
    t->data = e->memory;
    return status;
}

/* The versioned tensor or the other one. */
static kiln_status export(kiln_prog *p, const char *name, const kiln_arg *args, int nargs,
                          bool versioned, exported **out)
{
    KN_CHECK_HERE(p->ctx);
    const kn_allocator *from = &p->ctx->core->from;
    exported *e = from->alloc(from->user, sizeof *e);
    if (!e)
        return (kiln_status)kn_fail(KN_MEMORY, "out of memory");
    *e = (exported){.ctx = p->ctx};
    if (versioned)
        e->managed.versioned = (struct DLManagedTensorVersioned){
            KN_DL_MAJOR, KN_DL_MINOR, e, delete_versioned, 0, {0}};
    else
        e->managed.plain = (struct DLManagedTensor){{0}, e, delete_plain};
    kiln_status status = make(p, name, args, nargs, e,
                              versioned ? &e->managed.versioned.tensor : &e->managed.plain.tensor);
    if (status != KILN_OK) {
        from->release(from->user, e);
        return status;
    }
    kn_handle_keep(p->ctx);
    *out = e;
    return KILN_OK;
}

kiln_status kiln_output_to_dlpack(kiln_prog *p, const char *name, const kiln_arg *args, int nargs,
                                  struct DLManagedTensor **tensor)
{
    exported *e;
    if (!p || !tensor)
        return null(p ? "tensor" : "prog");
    *tensor = NULL;
    kiln_status status = export(p, name, args, nargs, false, &e);
    if (status == KILN_OK)
        *tensor = &e->managed.plain;
    return status;
}

kiln_status kiln_output_to_dlpack_versioned(kiln_prog *p, const char *name, const kiln_arg *args,
                                            int nargs, struct DLManagedTensorVersioned **tensor)
{
    exported *e;
    if (!p || !tensor)
        return null(p ? "tensor" : "prog");
    *tensor = NULL;
    kiln_status status = export(p, name, args, nargs, true, &e);
    if (status == KILN_OK)
        *tensor = &e->managed.versioned;
    return status;
}
