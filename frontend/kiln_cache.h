/* Compiled kernels on disk. What the compiler made is kept in a directory, so that later processes need no compiler for
 * it. docs/cache.md says what is stored and what makes it safe. Nothing that is wrong with the directory is ever an error.
 * kiln.h includes this header. */
#ifndef KILN_CACHE_H
#define KILN_CACHE_H

#include "kiln.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kiln_cache_info {
    size_t struct_size;
    const char *dir; /* the context's; "" when nothing is kept on disk */
    char problem
        [256]; /* why it cannot be used, in words; "" when it can (it may not be there yet) */
    uint64_t files, bytes; /* in the directory now */
    uint64_t limit;        /* bytes that it may grow to */
    /* of this context, since it was made. A lookup is a hit or a miss; kernels are looked up, what was measured of
     * schedules, and what is known of the compiler itself. */
    uint64_t hits, misses, writes;
    uint64_t write_failures; /* no room, no right, ...: the kernel runs all the same */
    uint64_t evictions;      /* files removed for room */
    /* reasons of misses and write failures */
    uint64_t refused_unsafe;  /* a directory or file that others own or may write to */
    uint64_t refused_damaged; /* a file that was cut short or changed, or did not load */
    uint64_t refused_foreign; /* a file of another key */
} kiln_cache_info;
KILN_INIT(kiln_cache_info)
KILN_API kiln_status kiln_cache_stats(kiln_ctx *ctx, kiln_cache_info *info);

typedef struct kiln_cache_entry {
    const char *title; /* "cuda kiln_batchnorm", "tuning of batchnorm, up to ..."; "?" when the file
                          cannot be read */
    uint64_t bytes;
    int64_t used;      /* when last: seconds since 1970 */
    double compile_ms; /* what making it took */
} kiln_cache_entry;
/* Calls fn for each file in the directory, the longest unused first. */
KILN_API kiln_status kiln_cache_list(kiln_ctx *ctx,
                                     void (*fn)(void *user, const kiln_cache_entry *entry),
                                     void *user);
/* Removes the longest unused files until at most `bytes` are left; clear() removes all. Only this library's own
 * files, and those of the same format, are touched. What was removed: files and bytes, which may be NULL. */
KILN_API kiln_status kiln_cache_trim(kiln_ctx *ctx, uint64_t bytes, uint64_t *removed_files,
                                     uint64_t *removed_bytes);
KILN_API kiln_status kiln_cache_clear(kiln_ctx *ctx, uint64_t *removed_files,
                                      uint64_t *removed_bytes);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
