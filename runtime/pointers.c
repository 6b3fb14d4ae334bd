#include "runtime/pointers.h"

#include <stdio.h>

#include "runtime/promise.h"

static void **place_of(kn_context *ctx, const void *data)
{
    uint64_t mixed = (uint64_t)(uintptr_t)data * 0x9e3779b97f4a7c15u;
    return &ctx->pointers[mixed >> (64 - KN_POINTER_BITS)];
}

static bool is_known(kn_context *ctx, const void *data)
{
    return __atomic_load_n(place_of(ctx, data), __ATOMIC_RELAXED) == data;
}

/* Asks the device, and keeps what is good: in the place of another address, which is asked about again then. */
static bool ask(kn_context *ctx, const void *data)
{
    if (!ctx->dev->ops->reaches(ctx->dev, data))
        return false;
    __atomic_store_n(place_of(ctx, data), (void *)(uintptr_t)data, __ATOMIC_RELAXED);
    return true;
}

static bool is_empty(const kn_arg *arg)
{
    for (int i = 0; i < arg->rank; i++)
        if (arg->shape[i] == 0)
            return true;
    return false;
}

static kn_status refuse(const kn_context *ctx, const char *what, const char *name, const void *data)
{
    return kn_fail(
        KN_ARGUMENT,
        "%s %s is at %p, which is no memory that a kernel on \"%s\" can use (host memory?); take device "
        "memory, as kiln_alloc() gives it, and copy to it with kiln_upload()",
        what, name, data, ctx->name);
}

kn_status kn_check_pointers(kn_program *p, const kn_inputs *in, bool promises)
{
    kn_context *ctx = p->ctx;
    const kn_slot *slot = p->slots, *end = slot + p->nslots;
    const kn_arg *const *arg = in->args;
    for (; ctx->asks && slot < end; slot++, arg++)
        if (!slot->by_value && !is_known(ctx, (*arg)->data) && (*arg)->data && !is_empty(*arg) &&
            !(promises && kn_is_promised((*arg)->data)) && !ask(ctx, (*arg)->data))
            return kn_fail_prefix(
                refuse(ctx, slot->output ? "output" : "input", (*arg)->name, (*arg)->data),
                "%s: ", p->optimised->name);
    return KN_OK;
}

kn_status kn_check_workspace(kn_program *p, const void *workspace)
{
    kn_context *ctx = p->ctx;
    if (!ctx->asks || is_known(ctx, workspace) || ask(ctx, workspace))
        return KN_OK;
    return kn_fail_prefix(refuse(ctx, "the", "workspace", workspace), "%s: ", p->optimised->name);
}

kn_status kn_check_parameter(kn_context *ctx, int i, const void *data)
{
    char number[16];
    if (!ctx->asks || !data || is_known(ctx, data) || ask(ctx, data))
        return KN_OK;
    if (ctx->dev->ops->reaches(ctx->dev, (const char *)data - 1)) /* where an array ends */
        return KN_OK;
    snprintf(number, sizeof number, "%d", i);
    return refuse(ctx, "parameter", number, data);
}
