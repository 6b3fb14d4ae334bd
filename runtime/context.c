#include "runtime/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/process.h"
#include "codegen/emit/cuda/cuda.h"

/* "cuda" or "cuda:N" -> N; -1 when `text` is neither. */
static int cuda_ordinal(const char *text)
{
    if (strncmp(text, "cuda", 4) != 0)
        return -1;
    if (!text[4])
        return 0;
    char *end;
    long n = strtol(text + 5, &end, 10);
    return text[4] == ':' && text[5] && !*end && n >= 0 && n < 1024 ? (int)n : -1;
}

static kn_status open_device(kn_context *ctx, const kn_context_config *given)
{
    const char *name = given->device ? given->device : "auto";
    kn_device_config config = {.threads = given->threads,
                               .emulator = given->emulator,
                               .compile = given->cpu_compile,
                               .stream = given->cpu_stream,
                               .disk = ctx->disk,
                               .from = ctx->from};
    if (strcmp(name, "auto") == 0) {
        if (kn_cuda_device.open(&config, &ctx->dev) == KN_OK) {
            strcpy(ctx->name, "cuda:0");
            ctx->has_gpu = true;
            return KN_OK;
        }
        kn_clear_error(); /* no GPU is no error here */
        name = "cpu";
    }
    int ordinal = cuda_ordinal(name);
    ctx->reference = strcmp(name, "ref") == 0;
    if (ordinal >= 0) {
        config.ordinal = ctx->ordinal = ordinal;
        ctx->has_gpu = true;
        snprintf(ctx->name, sizeof ctx->name, "cuda:%d", ordinal);
        return kn_cuda_device.open(&config, &ctx->dev);
    }
    bool emu = strcmp(name, "emu") == 0;
    if (!emu && strcmp(name, "cpu") != 0 && !ctx->reference)
        return kn_fail(KN_ARGUMENT,
                       "unknown device '%s'; there are auto, cpu, cuda, cuda:N, emu and ref", name);
    strcpy(ctx->name, name);
    if (emu)
        return kn_emu_device.open(&config, &ctx->dev);
    return kn_cpu_device.open(&config, &ctx->dev);
}

kn_status kn_context_open(const kn_context_config *config, kn_context **out)
{
    const kn_allocator *from = config->from ? config->from : &kn_malloc_allocator;
    kn_context *ctx = from->alloc(from->user, sizeof *ctx);
    if (!ctx)
        return kn_fail(KN_MEMORY, "out of memory");
    memset(ctx, 0, sizeof *ctx);
    ctx->from = *from;
    kn_status status = kn_disk_open(config->cache_dir, config->cache_bytes, from, &ctx->disk);
    if (status == KN_OK)
        status = open_device(ctx, config);
    if (status != KN_OK) {
        kn_disk_close(ctx->disk);
        from->release(from->user, ctx);
        return status;
    }
    kn_context_init(ctx, ctx->dev, from);
    ctx->asks = ctx->asks && !config->trust_pointers;
    *out = ctx;
    return KN_OK;
}

void kn_context_close(kn_context *ctx)
{
    kn_context_finish(ctx);
    ctx->dev->ops->close(ctx->dev);
    kn_disk_close(ctx->disk);
    kn_allocator from = ctx->from;
    from.release(from.user, ctx);
}

void kn_context_init(kn_context *ctx, kn_device *dev, const kn_allocator *from)
{
    ctx->from = *from;
    ctx->dev = dev;
    ctx->process = kn_process();
    ctx->asks = dev->ops->reaches != NULL;
    kn_kernels_init(&ctx->kernels, dev, from);
    kn_workspaces_init(&ctx->workspaces, dev, from);
}

void kn_context_finish(kn_context *ctx)
{
    kn_workspaces_finish(&ctx->workspaces);
    kn_kernels_finish(&ctx->kernels);
}

bool kn_context_is_here(const kn_context *ctx) { return ctx->process == kn_process(); }

kn_status kn_context_check(const kn_context *ctx)
{
    if (kn_context_is_here(ctx))
        return KN_OK;
    return kn_fail(
        KN_DEVICE,
        "the context on \"%s\" belongs to the parent of this process, which fork() made; create one here",
        ctx->name);
}

/* ---- kernels ---- */

typedef struct request {
    kn_context *ctx;
    kn_kernel *kernel;
    kn_code **code;
} request;

static kn_status prepare(void *user)
{
    request *r = user;
    if (r->ctx->dev->ops->runs_source)
        r->kernel->source = kn_cuda_source(r->kernel->arena, r->kernel);
    return r->ctx->dev->ops->prepare(r->ctx->dev, r->kernel, r->code);
}

/* Running out of memory in the kernel's arena must not unwind past those who wait for it. */
static kn_status compile_kernel(void *user, kn_code **code)
{
    request *r = user;
    r->code = code;
    return kn_protect(r->kernel->arena, prepare, r);
}

kn_status kn_context_code(kn_context *ctx, kn_kernel *kernel, kn_compiled **out)
{
    request r = {.ctx = ctx, .kernel = kernel};
    return kn_kernels_get(&ctx->kernels, kernel->key, compile_kernel, &r, out);
}

/* ---- raw kernels ---- */

typedef struct raw {
    kn_device *dev;
    const char *entry, *text;
} raw;

static kn_status compile_raw(void *user, kn_code **code)
{
    const raw *r = user;
    return r->dev->ops->load(r->dev, r->entry, r->text, code);
}

kn_status kn_context_load(kn_context *ctx, const char *entry, const char *text, kn_compiled **out)
{
    const kn_device_ops *ops = ctx->dev->ops;
    if (!ops->load || ctx->reference)
        return kn_fail(
            KN_DEVICE,
            "kernel '%s': the device \"%s\" runs no CUDA source; \"cuda\" and \"emu\" do", entry,
            ctx->name);
    /* The keys of generated kernels have no such beginning. */
    static const char format[] = "source of a user's\n%s\n%s\n%s";
    size_t size = sizeof format + strlen(ops->kind) + strlen(entry) + strlen(text);
    char *key = ctx->from.alloc(ctx->from.user, size);
    if (!key)
        return kn_fail(KN_MEMORY, "out of memory: %zu bytes", size);
    snprintf(key, size, format, ops->kind, entry, text);
    raw r = {ctx->dev, entry, text};
    kn_status status = kn_kernels_get(&ctx->kernels, key, compile_raw, &r, out);
    ctx->from.release(ctx->from.user, key);
    return status;
}
