#include "runtime/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/process.h"
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

static kn_status open_device(kn_context *ctx, const kn_context_config *given)
{
    const char *name = given->device ? given->device : "auto";
    kn_device_config config = {.threads = given->threads,
                               .emulator = given->emulator,
                               .disk = ctx->disk,
                               .from = ctx->from};
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

/* ---- kernels: each is compiled once ---- */

/* What the cache has of a key: nothing yet, for a thread that is about to compile it or failed to. */
typedef struct slot {
    bool busy;
    kn_code *code;
} slot;

void kn_context_init(kn_context *ctx, kn_device *dev, const kn_allocator *from)
{
    ctx->from = *from;
    ctx->dev = dev;
    ctx->process = kn_process();
    ctx->asks = dev->ops->reaches != NULL;
    ctx->compiling = 0;
    pthread_mutex_init(&ctx->lock, NULL);
    pthread_cond_init(&ctx->compiled, NULL);
    kn_memory_cache_init(&ctx->kernels, from);
    kn_workspaces_init(&ctx->workspaces, dev, from);
}

static void discard(void *user, void *value)
{
    kn_context *ctx = user;
    slot *s = value;
    if (s->code)
        ctx->dev->ops->discard(ctx->dev, s->code);
    ctx->from.release(ctx->from.user, s);
}

void kn_context_finish(kn_context *ctx)
{
    kn_workspaces_finish(&ctx->workspaces);
    kn_memory_cache_finish(&ctx->kernels, discard, ctx);
    pthread_cond_destroy(&ctx->compiled);
    pthread_mutex_destroy(&ctx->lock);
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

/* With the lock held. */
static kn_status slot_of(kn_context *ctx, const char *key, slot **out)
{
    *out = kn_memory_cache_find(&ctx->kernels, key);
    if (*out)
        return KN_OK;
    slot *s = ctx->from.alloc(ctx->from.user, sizeof *s);
    if (!s)
        return kn_fail(KN_MEMORY, "out of memory: %zu bytes", sizeof *s);
    *s = (slot){0};
    kn_status status = kn_memory_cache_add(&ctx->kernels, key, s);
    if (status == KN_OK)
        *out = s;
    else
        ctx->from.release(ctx->from.user, s);
    return status;
}

typedef kn_status (*compile_fn)(kn_context *ctx, void *user, kn_code **code);

/* A thread that waited for a compile that failed tries itself: the message is its own then. */
static kn_status once(kn_context *ctx, const char *key, compile_fn compile, void *user,
                      kn_code **code)
{
    slot *s = NULL;
    pthread_mutex_lock(&ctx->lock);
    kn_status status = slot_of(ctx, key, &s);
    while (status == KN_OK && !s->code && (s->busy || ctx->compiling == KN_MAX_COMPILES))
        pthread_cond_wait(&ctx->compiled, &ctx->lock);
    if (status == KN_OK && s->code) {
        __atomic_add_fetch(&ctx->cache_hits, 1, __ATOMIC_RELAXED);
    } else if (status == KN_OK) {
        kn_code *made = NULL;
        s->busy = true;
        ctx->compiling++;
        pthread_mutex_unlock(&ctx->lock);
        status = compile(ctx, user, &made);
        pthread_mutex_lock(&ctx->lock);
        ctx->compiling--;
        s->busy = false;
        s->code = status == KN_OK ? made : NULL;
        pthread_cond_broadcast(&ctx->compiled);
    }
    *code = s ? s->code : NULL;
    pthread_mutex_unlock(&ctx->lock);
    return status;
}

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

/* Running out of memory in the kernel's arena must not unwind past the slot. */
static kn_status compile_kernel(kn_context *ctx, void *user, kn_code **code)
{
    kn_kernel *kernel = user;
    request r = {ctx, kernel, code};
    return kn_protect(kernel->arena, prepare, &r);
}

kn_status kn_context_code(kn_context *ctx, kn_kernel *kernel, kn_code **code)
{
    return once(ctx, kernel->key, compile_kernel, kernel, code);
}

bool kn_context_has(kn_context *ctx, const kn_kernel *kernel)
{
    pthread_mutex_lock(&ctx->lock);
    bool has = kn_memory_cache_find(&ctx->kernels, kernel->key) != NULL;
    pthread_mutex_unlock(&ctx->lock);
    return has;
}

/* ---- raw kernels ---- */

typedef struct raw {
    const char *entry, *text;
} raw;

static kn_status compile_raw(kn_context *ctx, void *user, kn_code **code)
{
    const raw *r = user;
    return ctx->dev->ops->load(ctx->dev, r->entry, r->text, code);
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
    raw r = {entry, text};
    kn_status status = once(ctx, key, compile_raw, &r, code);
    ctx->from.release(ctx->from.user, key);
    return status;
}
