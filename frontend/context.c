/* Contexts, memory, and the public numbers that must agree with the internal tables. */
#include <math.h>
#include <string.h>

#include "base/fenv.h"
#include "frontend/handles.h"
#include "frontend/structs.h"
#include "runtime/cuda/doctor.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/device/folder.h"

#define SAME_STATUS(name, internal) _Static_assert((int)KILN_##name == (int)KN_##internal, #name)
SAME_STATUS(OK, OK);
SAME_STATUS(ERR_ARGUMENT, ARGUMENT);
SAME_STATUS(ERR_SYNTAX, SYNTAX);
SAME_STATUS(ERR_TYPE, TYPE);
SAME_STATUS(ERR_SHAPE, SHAPE);
SAME_STATUS(ERR_MEMORY, MEMORY);
SAME_STATUS(ERR_IO, IO);
SAME_STATUS(ERR_DEVICE, DEVICE);
SAME_STATUS(ERR_COMPILE, COMPILE);
SAME_STATUS(ERR_RUN, RUN);
SAME_STATUS(ERR_INTERNAL, INTERNAL);
#define DTYPE(name, code, text, kind, bytes, ctype, cuda, numpy)                                   \
    _Static_assert((int)KILN_##name == (code), text);
#include "ir/dtype.def"
#undef DTYPE
_Static_assert((int)KILN_MAX_RANK == (int)KN_MAX_RANK, "rank limit");
#include "ir/eval.h"

#define STRING_(x) #x
#define STRING(x) STRING_(x)

const char *kiln_last_error(void) { return kn_last_error(); }
const char *kiln_status_text(kiln_status status) { return kn_status_text((kn_status)status); }

const char *kiln_version(void)
{
    return STRING(KILN_VERSION_MAJOR) "." STRING(KILN_VERSION_MINOR) "." STRING(KILN_VERSION_PATCH);
}

size_t kiln_dtype_size(kiln_dtype dtype)
{
    return kn_dtype_valid((int)dtype) ? (size_t)kn_bytes((kn_dtype)dtype) : 0;
}

const char *kiln_dtype_text(kiln_dtype dtype)
{
    return kn_dtype_valid((int)dtype) ? kn_dtypes[dtype].text : NULL;
}

kiln_dtype kiln_dtype_find(const char *text)
{
    return text ? (kiln_dtype)kn_dtype_find(text, strlen(text)) : KILN_NO_DTYPE;
}

static bool is_dtype(kiln_dtype dtype)
{
    return kn_dtype_valid((int)dtype) ||
           kn_fail(KN_TYPE, "an element of an unknown dtype, %d", (int)dtype) == KN_OK;
}

static kn_scalar load(kiln_dtype dtype, const void *element)
{
    return is_dtype(dtype) ? kn_scalar_load((kn_dtype)dtype, element)
                           : (kn_scalar){.dtype = KN_F64, .f = NAN};
}

static void store(kiln_dtype dtype, void *element, kn_scalar v)
{
    if (is_dtype(dtype))
        kn_scalar_store(kn_eval_cast(v, (kn_dtype)dtype), element);
}

double kiln_load_float(kiln_dtype dtype, const void *element)
{
    KN_DEFAULT_FENV;
    return kn_scalar_number(load(dtype, element));
}

int64_t kiln_load_int(kiln_dtype dtype, const void *element)
{
    KN_DEFAULT_FENV;
    if (!is_dtype(dtype))
        return 0;
    kn_scalar v = kn_scalar_load((kn_dtype)dtype, element);
    return kn_is_inexact(v.dtype) ? kn_eval_cast(v, KN_I64).i : v.i;
}

void kiln_store_float(kiln_dtype dtype, void *element, double value)
{
    KN_DEFAULT_FENV;
    store(dtype, element, (kn_scalar){.dtype = KN_F64, .f = value});
}

void kiln_store_int(kiln_dtype dtype, void *element, int64_t value)
{
    KN_DEFAULT_FENV;
    store(dtype, element, (kn_scalar){.dtype = KN_I64, .i = value});
}

void kiln_load_complex(kiln_dtype dtype, const void *element, double *re, double *im)
{
    KN_DEFAULT_FENV;
    kn_scalar v = load(dtype, element);
    *re = kn_scalar_number(v);
    *im = v.im;
}

void kiln_store_complex(kiln_dtype dtype, void *element, double re, double im)
{
    KN_DEFAULT_FENV;
    store(dtype, element, (kn_scalar){.dtype = KN_C128, .f = re, .im = im});
}

static kiln_status fail(const char *what)
{
    return (kiln_status)kn_fail(KN_ARGUMENT, "%s is NULL", what);
}

void kiln_config_init_size(kiln_config *s, size_t size)
{
    const kiln_config defaults = {.device = "auto"};
    kn_struct_init(s, size, &defaults, sizeof defaults);
}

kiln_status kiln_ctx_create(const kiln_config *config, kiln_ctx **ctx)
{
    KN_DEFAULT_FENV;
    if (!ctx)
        return fail("ctx");
    *ctx = NULL;
    kiln_config c;
    kiln_config_init(&c);
    if (config) {
        kn_status status = kn_struct_read(&kn_struct_config, config, &c);
        if (status != KN_OK)
            return (kiln_status)status;
    }
    if (!c.alloc != !c.release)
        return (kiln_status)kn_fail(KN_ARGUMENT,
                                    "config needs both of alloc and release, or neither");
    if (c.threads < 0 || c.threads > 1024)
        return (kiln_status)kn_fail(KN_ARGUMENT, "config.threads is %d; it can be 0 to 1024",
                                    c.threads);
    kn_allocator from = c.alloc ? (kn_allocator){c.alloc, c.release, c.user} : kn_malloc_allocator;
    kiln_ctx *made = from.alloc(from.user, sizeof *made);
    if (!made)
        return (kiln_status)kn_fail(KN_MEMORY, "out of memory");
    const kn_context_config inner = {.device = c.device,
                                     .threads = c.threads,
                                     .emulator = c.emulator,
                                     .cache_dir = c.cache_dir,
                                     .cache_bytes = c.cache_bytes,
                                     .trust_pointers = c.trust_pointers,
                                     .cpu_compile = c.cpu_compile,
                                     .from = &from};
    kn_status status = kn_context_open(&inner, &made->core);
    if (status != KN_OK) {
        from.release(from.user, made);
        return (kiln_status)status;
    }
    made->users = 1;
    *ctx = made;
    return KILN_OK;
}

void kn_handle_keep(kiln_ctx *ctx) { __atomic_add_fetch(&ctx->users, 1, __ATOMIC_RELAXED); }

void kn_handle_drop(kiln_ctx *ctx)
{
    KN_DEFAULT_FENV;
    if (!kn_context_is_here(ctx->core) || __atomic_sub_fetch(&ctx->users, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    kn_allocator from = ctx->core->from;
    kn_context_close(ctx->core);
    from.release(from.user, ctx);
}

void kiln_ctx_destroy(kiln_ctx *ctx)
{
    if (ctx)
        kn_handle_drop(ctx);
}

void kiln_remove_temporary_files(void) { kn_folders_remove(); }

const char *kiln_ctx_device(const kiln_ctx *ctx) { return ctx ? ctx->core->name : ""; }

void kiln_stats_init_size(kiln_stats *s, size_t size)
{
    const kiln_stats defaults = {0};
    kn_struct_init(s, size, &defaults, sizeof defaults);
}

kiln_status kiln_ctx_stats(kiln_ctx *ctx, kiln_stats *stats)
{
    KN_DEFAULT_FENV;
    if (!ctx || !stats)
        return fail(ctx ? "stats" : "ctx");
    KN_CHECK_HERE(ctx);
    const kn_device *dev = ctx->core->dev;
    kiln_stats s = {.launches = __atomic_load_n(&dev->launches, __ATOMIC_RELAXED),
                    .compiles = __atomic_load_n(&dev->compiles, __ATOMIC_RELAXED),
                    .cache_hits = __atomic_load_n(&ctx->core->kernels.hits, __ATOMIC_RELAXED),
                    .copies = __atomic_load_n(&ctx->core->copies, __ATOMIC_RELAXED),
                    .compile_ms = (double)__atomic_load_n(&dev->compile_ns, __ATOMIC_RELAXED) / 1e6,
                    .disk_hits = __atomic_load_n(&dev->disk_hits, __ATOMIC_RELAXED),
                    .saved_ms = (double)__atomic_load_n(&dev->saved_ns, __ATOMIC_RELAXED) / 1e6,
                    .compiler_calls = __atomic_load_n(&dev->compiler_calls, __ATOMIC_RELAXED),
                    .tunings = __atomic_load_n(&ctx->core->tunings, __ATOMIC_RELAXED),
                    .tuning_hits = __atomic_load_n(&ctx->core->tuning_hits, __ATOMIC_RELAXED),
                    .tuning_ms =
                        (double)__atomic_load_n(&ctx->core->tuning_ns, __ATOMIC_RELAXED) / 1e6};
    s.kernels = kn_kernels_count(&ctx->core->kernels);
    s.kernels_dropped = __atomic_load_n(&ctx->core->kernels.dropped, __ATOMIC_RELAXED);
    if (dev->ops == &kn_cuda_device)
        s.compiler_calls += kn_nvrtc_calls();
    return (kiln_status)kn_struct_write(&kn_struct_stats, stats, &s);
}

kiln_status kiln_alloc(kiln_ctx *ctx, size_t bytes, void **ptr)
{
    KN_DEFAULT_FENV;
    if (!ctx || !ptr)
        return fail(ctx ? "ptr" : "ctx");
    KN_CHECK_HERE(ctx);
    *ptr = NULL;
    return (kiln_status)ctx->core->dev->ops->alloc(ctx->core->dev, bytes, ptr);
}

void kiln_free(kiln_ctx *ctx, void *ptr)
{
    KN_DEFAULT_FENV;
    if (ctx && ptr && kn_context_is_here(ctx->core))
        ctx->core->dev->ops->release(ctx->core->dev, ptr);
}

kiln_status kiln_upload(kiln_ctx *ctx, void *device, const void *host, size_t bytes)
{
    KN_DEFAULT_FENV;
    if (!ctx || (bytes && (!device || !host)))
        return fail(!ctx ? "ctx" : device ? "host" : "device");
    KN_CHECK_HERE(ctx);
    return bytes ? (kiln_status)ctx->core->dev->ops->upload(ctx->core->dev, device, host, bytes)
                 : KILN_OK;
}

kiln_status kiln_download(kiln_ctx *ctx, void *host, const void *device, size_t bytes)
{
    KN_DEFAULT_FENV;
    if (!ctx || (bytes && (!device || !host)))
        return fail(!ctx ? "ctx" : device ? "host" : "device");
    KN_CHECK_HERE(ctx);
    return bytes ? (kiln_status)ctx->core->dev->ops->download(ctx->core->dev, host, device, bytes)
                 : KILN_OK;
}

kiln_status kiln_sync(kiln_ctx *ctx, void *stream)
{
    KN_DEFAULT_FENV;
    if (!ctx)
        return fail("ctx");
    KN_CHECK_HERE(ctx);
    return (kiln_status)ctx->core->dev->ops->sync(ctx->core->dev, stream);
}

/* ---- doctor ---- */

typedef struct report {
    kn_arena *arena;
    char **text;
} report;

/* The directory that programs use unless they name another. */
static kn_status put_cache(kn_text *t)
{
    kn_disk *disk;
    kn_disk_usage usage;
    char problem[256];
    KN_TRY(kn_disk_open(NULL, 0, NULL, &disk));
    const char *dir = kn_disk_dir(disk);
    kn_status status = kn_disk_list(disk, NULL, NULL, &usage);
    kn_disk_problem(disk, problem, sizeof problem);
    if (!dir[0])
        kn_putf(t, "cache     kernels are not kept on disk: %s\n", problem);
    else if (problem[0])
        kn_putf(t, "cache     %s is not used: %s\n", dir, problem);
    else
        kn_putf(t, "cache     %s: %llu files, %.1f of %.0f MiB\n", dir,
                (unsigned long long)usage.files, (double)usage.bytes / 1048576,
                (double)kn_disk_limit(disk) / 1048576);
    kn_disk_close(disk);
    return status;
}

static kn_status write_report(void *user)
{
    report *r = user;
    kn_text t = kn_text_new(r->arena);
    kn_putf(&t, "kiln %s\n", kiln_version());
    kn_cpu_doctor(&t);
    kn_emu_doctor(&t);
    kn_cuda_doctor(&t);
    KN_TRY(put_cache(&t));
    size_t n = strlen(kn_text_str(&t)) + 1;
    *r->text = kn_malloc_allocator.alloc(NULL, n);
    if (!*r->text)
        return kn_fail(KN_MEMORY, "out of memory");
    memcpy(*r->text, kn_text_str(&t), n);
    return KN_OK;
}

kiln_status kiln_doctor(char **text)
{
    KN_DEFAULT_FENV;
    if (!text)
        return fail("text");
    kn_arena a;
    kn_arena_init(&a, NULL);
    report r = {&a, text};
    kn_status status = kn_protect(&a, write_report, &r);
    kn_arena_finish(&a);
    return (kiln_status)status;
}

void kiln_text_free(kiln_ctx *ctx, char *text)
{
    const kn_allocator *from = ctx ? &ctx->core->from : &kn_malloc_allocator;
    if (text)
        from->release(from->user, text);
}
