/* The disk cache as the public API shows it. */
#include <string.h>

#include "base/fenv.h"
#include "frontend/handles.h"
#include "frontend/structs.h"
#include "kernels_cache/disk.h"

static kiln_status null(const char *what)
{
    return (kiln_status)kn_fail(KN_ARGUMENT, "%s is NULL", what);
}

void kiln_cache_info_init_size(kiln_cache_info *s, size_t size)
{
    const kiln_cache_info defaults = {.dir = ""};
    kn_struct_init(s, size, &defaults, sizeof defaults);
}

kiln_status kiln_cache_stats(kiln_ctx *ctx, kiln_cache_info *info)
{
    if (!ctx || !info)
        return null(ctx ? "info" : "ctx");
    KN_CHECK_HERE(ctx);
    kn_disk *disk = ctx->core->disk;
    kn_disk_counts c;
    kn_disk_usage usage;
    kn_status status = kn_disk_list(disk, NULL, NULL, &usage);
    if (status != KN_OK)
        return (kiln_status)status;
    kn_disk_count(disk, &c);
    kiln_cache_info i = {.dir = kn_disk_dir(disk),
                         .files = usage.files,
                         .bytes = usage.bytes,
                         .limit = kn_disk_limit(disk),
                         .hits = c.hits,
                         .misses = c.misses,
                         .writes = c.writes,
                         .write_failures = c.write_failures,
                         .evictions = c.evictions,
                         .refused_unsafe = c.unsafe,
                         .refused_damaged = c.damaged,
                         .refused_foreign = c.foreign};
    kn_disk_problem(disk, i.problem, sizeof i.problem);
    return (kiln_status)kn_struct_write(&kn_struct_cache_info, info, &i);
}

typedef struct listing {
    void (*fn)(void *user, const kiln_cache_entry *entry);
    void *user;
    kn_fenv caller;
} listing;

static void show(void *user, const kn_disk_entry *e)
{
    listing *l = user;
    const kiln_cache_entry shown = {.title = e->title,
                                    .bytes = e->bytes,
                                    .used = e->used / 1000000000,
                                    .compile_ms = (double)e->cost_ns / 1e6};
    kn_fenv_leave(&l->caller);
    l->fn(l->user, &shown);
    kn_fenv_enter(&l->caller);
}

kiln_status kiln_cache_list(kiln_ctx *ctx, void (*fn)(void *user, const kiln_cache_entry *entry),
                            void *user)
{
    if (!ctx || !fn)
        return null(ctx ? "fn" : "ctx");
    KN_CHECK_HERE(ctx);
    listing l = {.fn = fn, .user = user};
    kn_disk_usage usage;
    kn_fenv_enter(&l.caller);
    kn_status status = kn_disk_list(ctx->core->disk, show, &l, &usage);
    kn_fenv_leave(&l.caller);
    return (kiln_status)status;
}

kiln_status kiln_cache_trim(kiln_ctx *ctx, uint64_t bytes, uint64_t *removed_files,
                            uint64_t *removed_bytes)
{
    if (!ctx)
        return null("ctx");
    KN_CHECK_HERE(ctx);
    kn_disk_usage removed;
    kn_status status = kn_disk_trim(ctx->core->disk, bytes, &removed);
    if (removed_files)
        *removed_files = removed.files;
    if (removed_bytes)
        *removed_bytes = removed.bytes;
    return (kiln_status)status;
}

kiln_status kiln_cache_clear(kiln_ctx *ctx, uint64_t *removed_files, uint64_t *removed_bytes)
{
    return kiln_cache_trim(ctx, 0, removed_files, removed_bytes);
}
