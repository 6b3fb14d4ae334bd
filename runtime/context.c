#include "runtime/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/cuda.h"

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

static kn_status open_device(kn_context *ctx, const char *name, int threads, const char *emulator)
{
    kn_device_config config = {.threads = threads, .emulator = emulator, .from = ctx->from};
    if (strcmp(name, "auto") == 0) {
        if (kn_cuda_device.open(&config, &ctx->dev) == KN_OK) {
            strcpy(ctx->name, "cuda:0");
            return KN_OK;
        }
        kn_clear_error(); /* no GPU is no error here */
        name = "cpu";
    }
    int ordinal = cuda_ordinal(name);
    ctx->reference = strcmp(name, "ref") == 0;
    if (ordinal >= 0) {
        config.ordinal = ordinal;
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

kn_status kn_context_open(const char *device, int threads, const char *emulator,
                          const kn_allocator *from, kn_context **out)
{
    if (!from)
        from = &kn_malloc_allocator;
    kn_context *ctx = from->alloc(from->user, sizeof *ctx);
    if (!ctx)
        return kn_fail(KN_MEMORY, "out of memory");
    memset(ctx, 0, sizeof *ctx);
    ctx->from = *from;
    kn_status status = open_device(ctx, device ? device : "auto", threads, emulator);
    if (status != KN_OK) {
        from->release(from->user, ctx);
        return status;
    }
    pthread_mutex_init(&ctx->lock, NULL);
    kn_memory_cache_init(&ctx->kernels, from);
    *out = ctx;
    return KN_OK;
}

static void discard(void *user, void *code)
{
    kn_context *ctx = user;
    ctx->dev->ops->discard(ctx->dev, code);
}

void kn_context_close(kn_context *ctx)
{
    kn_memory_cache_finish(&ctx->kernels, discard, ctx);
    ctx->dev->ops->close(ctx->dev);
    pthread_mutex_destroy(&ctx->lock);
    kn_allocator from = ctx->from;
    from.release(from.user, ctx);
}

static kn_status find_or_compile(kn_context *ctx, kn_kernel *kernel, kn_code **code)
{
    *code = kn_memory_cache_find(&ctx->kernels, kernel->key);
    if (*code) {
        __atomic_add_fetch(&ctx->cache_hits, 1, __ATOMIC_RELAXED);
        return KN_OK;
    }
    if (ctx->dev->ops->runs_source)
        kernel->source = kn_cuda_source(kernel->arena, kernel);
    KN_TRY(ctx->dev->ops->prepare(ctx->dev, kernel, code));
    kn_status status = kn_memory_cache_add(&ctx->kernels, kernel->key, *code);
    if (status != KN_OK)
        ctx->dev->ops->discard(ctx->dev, *code);
    return status;
}

typedef struct request {
    kn_context *ctx;
    kn_kernel *kernel;
    kn_code **code;
} request;

static kn_status serve(void *user)
{
    request *r = user;
    return find_or_compile(r->ctx, r->kernel, r->code);
}

kn_status kn_context_code(kn_context *ctx, kn_kernel *kernel, kn_code **code)
{
    /* One compile at a time: the lock is held across it, so that the same kernel is compiled once. Running
     * out of memory in the kernel's arena must not unwind past the lock. */
    request r = {ctx, kernel, code};
    pthread_mutex_lock(&ctx->lock);
    kn_status status = kn_protect(kernel->arena, serve, &r);
    pthread_mutex_unlock(&ctx->lock);
    return status;
}

/* ---- raw kernels ---- */

/* With the lock held. */
static kn_status find_or_load(kn_context *ctx, const char *key, const char *entry, const char *text,
                              kn_code **code)
{
    *code = kn_memory_cache_find(&ctx->kernels, key);
    if (*code) {
        __atomic_add_fetch(&ctx->cache_hits, 1, __ATOMIC_RELAXED);
        return KN_OK;
    }
    KN_TRY(ctx->dev->ops->load(ctx->dev, entry, text, code));
    kn_status status = kn_memory_cache_add(&ctx->kernels, key, *code);
    if (status != KN_OK)
        ctx->dev->ops->discard(ctx->dev, *code);
    return status;
}

kn_status kn_context_load(kn_context *ctx, const char *entry, const char *text, kn_code **code)
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
    pthread_mutex_lock(&ctx->lock);
    kn_status status = find_or_load(ctx, key, entry, text, code);
    pthread_mutex_unlock(&ctx->lock);
    ctx->from.release(ctx->from.user, key);
    return status;
}
