/* Kernels of the user's own, and timing. */
#include <string.h>

#include "base/fenv.h"
#include "frontend/handles.h"
#include "frontend/structs.h"
#include "runtime/pointers.h"

struct kiln_kernel {
    kiln_ctx *ctx;
    kn_compiled *compiled; /* of the context's */
    uint64_t pointers;     /* parameters that are known to be, a bit each */
    char *entry;           /* in messages; right behind this struct */
};

static kiln_status null(const char *what)
{
    return (kiln_status)kn_fail(KN_ARGUMENT, "%s is NULL", what);
}

static uint64_t pointers_of(kn_context *ctx, kn_code *code)
{
    uint64_t found = 0;
    for (int i = 0; i < 64 && ctx->asks && ctx->dev->ops->describe; i++) {
        kn_code_param p = {0};
        ctx->dev->ops->describe(ctx->dev, code, i, &p);
        found |= (uint64_t)p.pointer << i;
    }
    return found;
}

kiln_status kiln_kernel_create(kiln_ctx *ctx, const char *source, const char *entry,
                               kiln_kernel **kernel)
{
    KN_DEFAULT_FENV;
    if (!kernel)
        return null("kernel");
    *kernel = NULL;
    if (!ctx || !source || !entry)
        return null(!ctx ? "ctx" : !source ? "source" : "entry");
    KN_CHECK_HERE(ctx);
    if (!entry[0] || strpbrk(entry, "\r\n"))
        return (kiln_status)kn_fail(
            KN_ARGUMENT,
            "entry is '%s', which names no kernel: a __global__ function, or "
            "an instance such as \"reduce<256>\"",
            entry);
    kn_compiled *compiled;
    kn_status status = kn_context_load(ctx->core, entry, source, &compiled);
    if (status != KN_OK)
        return (kiln_status)status;
    const kn_allocator *from = &ctx->core->from;
    size_t length = strlen(entry) + 1;
    kiln_kernel *k = from->alloc(from->user, sizeof *k + length);
    if (!k) {
        kn_kernels_release(&ctx->core->kernels, compiled);
        return (kiln_status)kn_fail(KN_MEMORY, "out of memory");
    }
    *k = (kiln_kernel){ctx, compiled, pointers_of(ctx->core, compiled->code), (char *)(k + 1)};
    memcpy(k->entry, entry, length);
    kn_handle_keep(ctx);
    *kernel = k;
    return KILN_OK;
}

void kiln_kernel_destroy(kiln_kernel *k)
{
    if (!k || !kn_context_is_here(k->ctx->core))
        return;
    kiln_ctx *ctx = k->ctx;
    kn_kernels_release(&ctx->core->kernels, k->compiled);
    ctx->core->from.release(ctx->core->from.user, k);
    kn_handle_drop(ctx);
}

/* ---- parameters ---- */

int kiln_kernel_params(const kiln_kernel *k)
{
    kn_code_param unused;
    if (!k || !kn_context_is_here(k->ctx->core))
        return -1;
    kn_device *dev = k->ctx->core->dev;
    return dev->ops->describe(dev, k->compiled->code, -1, &unused);
}

kiln_status kiln_kernel_param(const kiln_kernel *k, int i, kiln_param *param)
{
    if (!k || !param)
        return null(!k ? "kernel" : "param");
    KN_CHECK_HERE(k->ctx);
    kn_device *dev = k->ctx->core->dev;
    kn_code_param p = {0};
    int n = dev->ops->describe(dev, k->compiled->code, i, &p);
    if (i < 0 || i >= n)
        return (kiln_status)kn_fail(KN_ARGUMENT, "kernel '%s': no parameter %d of %d", k->entry, i,
                                    n);
    *param = (kiln_param){p.name, (kiln_dtype)p.dtype, p.bytes, p.element, p.pointer, p.value};
    return KILN_OK;
}

/* ---- launches ---- */

void kiln_launch_init_size(kiln_launch *s, size_t size)
{
    const kiln_launch defaults = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    kn_struct_init(s, size, &defaults, sizeof defaults);
}

enum { MAX_BLOCK = 1024, MAX_BLOCK_Z = 64, MAX_GRID_YZ = 65535, MAX_CLUSTER = 16 };

static const char axis_name[3] = {'x', 'y', 'z'};

/* An extent from 1 to `most`. */
static kn_status check_extent(const char *what, int axis, unsigned extent, unsigned most)
{
    if (extent >= 1 && extent <= most)
        return KN_OK;
    return kn_fail(KN_ARGUMENT, "launch.%s.%c is %u; it can be 1 to %u", what, axis_name[axis],
                   extent, most);
}

static kn_status check_launch(const kiln_launch *l)
{
    static const unsigned most_grid[3] = {INT32_MAX, MAX_GRID_YZ, MAX_GRID_YZ},
                          most_block[3] = {MAX_BLOCK, MAX_BLOCK, MAX_BLOCK_Z};
    const unsigned *b = l->block;
    uint64_t cluster = 1;
    for (int i = 0; i < 3; i++) {
        KN_TRY(check_extent("grid", i, l->grid[i], most_grid[i]));
        KN_TRY(check_extent("block", i, b[i], most_block[i]));
        if (l->cluster[i])
            KN_TRY(check_extent("cluster", i, l->cluster[i], MAX_CLUSTER));
        unsigned blocks = l->cluster[i] ? l->cluster[i] : 1;
        if (l->grid[i] % blocks != 0)
            return kn_fail(KN_ARGUMENT,
                           "launch.cluster.%c is %u, which does not divide launch.grid.%c, %u",
                           axis_name[i], blocks, axis_name[i], l->grid[i]);
        cluster *= blocks;
    }
    if (b[0] * b[1] * b[2] > MAX_BLOCK)
        return kn_fail(KN_ARGUMENT, "launch.block is %ux%ux%u: %u threads, more than %d", b[0],
                       b[1], b[2], b[0] * b[1] * b[2], MAX_BLOCK);
    if (cluster > MAX_CLUSTER)
        return kn_fail(KN_ARGUMENT, "launch.cluster has %u blocks, more than %d", (unsigned)cluster,
                       MAX_CLUSTER);
    if (l->shared > INT32_MAX)
        return kn_fail(KN_ARGUMENT, "launch.shared is %zu bytes, more than any block has",
                       l->shared);
    return KN_OK;
}

/* Checks what does not depend on the kernel, and translates the launch. */
static kn_status read_launch(const kiln_launch *launch, void *const *params, int nparams,
                             kn_grid *grid)
{
    kiln_launch l;
    kiln_launch_init(&l);
    KN_TRY(kn_struct_read(&kn_struct_launch, launch, &l));
    KN_TRY(check_launch(&l));
    if (nparams < 0)
        return kn_fail(KN_ARGUMENT, "nparams is %d", nparams);
    for (int i = 0; i < nparams; i++)
        if (!params[i])
            return kn_fail(KN_ARGUMENT, "params[%d] is NULL: it points to the parameter's value",
                           i);
    *grid = (kn_grid){.shared = l.shared, .cooperative = l.cooperative};
    memcpy(grid->grid, l.grid, sizeof grid->grid);
    memcpy(grid->block, l.block, sizeof grid->block);
    bool clusters = l.cluster[0] || l.cluster[1] || l.cluster[2];
    for (int i = 0; i < 3 && clusters; i++)
        grid->cluster[i] = l.cluster[i] ? l.cluster[i] : 1;
    return KN_OK;
}

kiln_status kiln_kernel_run(kiln_kernel *k, void *stream, const kiln_launch *launch,
                            void *const *params, int nparams)
{
    KN_DEFAULT_FENV;
    if (!k || !launch || (nparams > 0 && !params))
        return null(!k ? "kernel" : !launch ? "launch" : "params");
    KN_CHECK_HERE(k->ctx);
    kn_grid grid;
    kn_status status = read_launch(launch, params, nparams, &grid);
    for (int i = 0; i < nparams && i < 64 && status == KN_OK; i++)
        if (k->pointers >> i & 1)
            status = kn_check_parameter(k->ctx->core, i, *(void *const *)params[i]);
    if (status != KN_OK)
        return (kiln_status)kn_fail_prefix(status, "kernel '%s': ", k->entry);
    kn_device *dev = k->ctx->core->dev;
    return (kiln_status)dev->ops->start(dev, k->compiled->code, &grid, params, nparams, stream);
}

/* ---- time ---- */

typedef struct timed {
    kiln_status (*fn)(void *user);
    void *user;
    kn_fenv caller;
} timed;

static kn_status call_timed(void *ctx)
{
    timed *t = ctx;
    kn_fenv_leave(&t->caller);
    kn_status status = (kn_status)t->fn(t->user);
    kn_fenv_enter(&t->caller);
    return status;
}

kiln_status kiln_time(kiln_ctx *ctx, void *stream, kiln_status (*fn)(void *user), void *user,
                      double *us)
{
    if (!ctx || !fn || !us)
        return null(!ctx ? "ctx" : !fn ? "fn" : "us");
    KN_CHECK_HERE(ctx);
    timed t = {.fn = fn, .user = user};
    kn_device *dev = ctx->core->dev;
    kn_fenv_enter(&t.caller);
    kn_status status = dev->ops->time(dev, stream, call_timed, &t, us);
    kn_fenv_leave(&t.caller);
    return (kiln_status)status;
}
