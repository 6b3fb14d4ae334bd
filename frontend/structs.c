#include "frontend/structs.h"

#include <string.h>

#include "frontend/kiln.h"

#define END(type, field) (offsetof(type, field) + sizeof(((type *)0)->field))

/* All fields behind struct_size in their order, the last by itself. */
#define STRUCT(what, last, ...)                                                                    \
    static const size_t what##_ends[] = {sizeof(size_t), __VA_ARGS__, END(kiln_##what, last)};     \
    _Static_assert(sizeof(kiln_##what) - END(kiln_##what, last) < sizeof(size_t),                  \
                   "a field of kiln_" #what " is not listed");                                     \
    const kn_struct kn_struct_##what = {#what, what##_ends, sizeof what##_ends / sizeof(size_t)};

#define F(field) END(kiln_config, field)
STRUCT(config, cpu_compile, F(device), F(threads), F(alloc), F(release), F(user), F(emulator),
       F(cache_dir), F(cache_bytes), F(trust_pointers))
#undef F
#define F(field) END(kiln_stats, field)
STRUCT(stats, kernels_dropped, F(launches), F(compiles), F(cache_hits), F(copies), F(compile_ms),
       F(disk_hits), F(saved_ms), F(compiler_calls), F(tunings), F(tuning_hits), F(tuning_ms),
       F(kernels))
#undef F
#define F(field) END(kiln_cache_info, field)
STRUCT(cache_info, refused_foreign, F(dir), F(problem), F(files), F(bytes), F(limit), F(hits),
       F(misses), F(writes), F(write_failures), F(evictions), F(refused_unsafe), F(refused_damaged))
#undef F
#define F(field) END(kiln_options, field)
STRUCT(options, comm, F(fusion), F(schedule), F(max_threads), F(reuse), F(max_kinds), F(fast_math),
       F(autotune), F(batch_invariant))
#undef F
#define F(field) END(kiln_prepared, field)
STRUCT(prepared, alignment, F(own_workspace), F(workspace), F(launches), F(copies))
#undef F
#define F(field) END(kiln_comm_config, field)
STRUCT(comm_config, path, F(rank), F(count), F(team), F(all_gather), F(user), F(nccl),
       F(deadline_ms))
#undef F
#define F(field) END(kiln_launch, field)
STRUCT(launch, cooperative, F(grid), F(block), F(cluster), F(shared))
#undef F
#define F(field) END(kiln_explain_options, field)
STRUCT(explain_options, verbose, F(stage), F(arch))
#undef F
#define F(field) END(kiln_split_options, field)
STRUCT(split_options, nargs, F(save), F(arch), F(args))
#undef F
#define F(field) END(kiln_emit_options, field)
STRUCT(emit_options, sizes, F(name), F(targets))
#undef F
#define F(field) END(kiln_measurement, field)
STRUCT(measurement, disk_hits, F(repeats), F(launches), F(device_us), F(host_us), F(compile_ms),
       F(bytes), F(copy_gbps))
#undef F

enum { MOST_BYTES = 4096 };

void kn_struct_init(void *to, size_t given, const void *defaults, size_t size)
{
    if (!to || given < sizeof given)
        return;
    memset(to, 0, given);
    memcpy(to, defaults, given < size ? given : size);
    memcpy(to, &given, sizeof given);
}

/* Copies the fields behind struct_size that both have; `theirs` is the caller's of the two. */
static kn_status copy(const kn_struct *what, const void *theirs, void *to, const void *from)
{
    size_t given, end = sizeof given;
    memcpy(&given, theirs, sizeof given);
    if (given < sizeof given || given > MOST_BYTES)
        return kn_fail(KN_ARGUMENT, "%s.struct_size is %zu; call kiln_%s_init()", what->name, given,
                       what->name);
    for (int i = 0; i < what->nends; i++)
        if (what->ends[i] <= given)
            end = what->ends[i];
    memcpy((char *)to + sizeof given, (const char *)from + sizeof given, end - sizeof given);
    return KN_OK;
}

kn_status kn_struct_read(const kn_struct *what, const void *from, void *to)
{
    return copy(what, from, to, from);
}

kn_status kn_struct_write(const kn_struct *what, void *to, const void *from)
{
    return copy(what, to, to, from);
}
