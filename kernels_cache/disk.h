/* The disk cache: what a compiler made of a key, kept for other processes and later days.
 *
 *   key (all that the result depends on, as text) -> value (bytes) in DIR/<hash of the key>.kiln1
 *
 * It cannot hurt: whatever is wrong with a directory or a file is a miss, is counted, and is never an error.
 * A value is given out only if the directory and the file are the user's own and writable by nobody else
 * (place.h), the file's sum is right (entry.h), and the key stored in it equals the one asked for, in full.
 *
 * Processes share a directory without a lock or a daemon. A file appears by rename(), whole, and is never
 * changed afterwards but for its time of last use. When one process thinks that the directory has grown over
 * its limit, it removes what was unused for longest; a file that somebody is reading stays readable.
 *
 * All functions are safe to call from several threads. */
#ifndef KN_KERNELS_CACHE_DISK_H
#define KN_KERNELS_CACHE_DISK_H

#include "base/arena.h"
#include "kernels_cache/entry.h"

typedef struct kn_disk kn_disk;

enum { KN_DISK_LIMIT_MB = 256 }; /* when no limit is given */

/* dir: see kn_place_choose(). limit: bytes; 0: the default. Touches no file yet. MEMORY. */
kn_status kn_disk_open(const char *dir, uint64_t limit, const kn_allocator *from, kn_disk **disk);
void kn_disk_close(kn_disk *d);

/* A value that was found; released with kn_disk_release(). */
typedef struct kn_disk_value {
    kn_bytes_view bytes; /* and a NUL behind them */
    uint64_t cost_ns;    /* what making it took */
    void *memory;
} kn_disk_value;

bool kn_disk_find(kn_disk *d, kn_bytes_view key, kn_disk_value *value);
void kn_disk_release(kn_disk *d, kn_disk_value *value);
/* Keeps a value. cost_ns: what making it took. */
void kn_disk_store(kn_disk *d, kn_bytes_view key, kn_bytes_view value, uint64_t cost_ns);
/* Forgets a value that was found and then turned out to be of no use; it counts as damaged. */
void kn_disk_reject(kn_disk *d, kn_bytes_view key);

/* ---- looking after it ---- */

/* Since kn_disk_open(). Every find() is a hit or a miss, unless there is no directory; the three last are misses (or
 * writes that were not done) whose reason is worth knowing. */
typedef struct kn_disk_counts {
    uint64_t hits, misses, writes, write_failures, evictions;
    uint64_t unsafe;  /* a directory or file that others own or may write to */
    uint64_t damaged; /* cut short, changed, or of no use when loaded */
    uint64_t foreign; /* a file with another key than its name is for */
} kn_disk_counts;
void kn_disk_count(const kn_disk *d, kn_disk_counts *counts);

/* The directory; "" when there is none. */
const char *kn_disk_dir(const kn_disk *d);
uint64_t kn_disk_limit(const kn_disk *d);
/* "" when it can be used (perhaps after being made), or why not, in words: into `text`. */
void kn_disk_problem(const kn_disk *d, char *text, size_t size);

/* A file of the cache. */
typedef struct kn_disk_entry {
    const char *title; /* the key's first line */
    uint64_t bytes;
    long long used; /* when last, in nanoseconds since 1970 */
    uint64_t cost_ns;
} kn_disk_entry;

/* Files and bytes of this format in the directory. */
typedef struct kn_disk_usage {
    uint64_t files, bytes;
} kn_disk_usage;

/* Calls fn for each file, the longest unused first; fn may be NULL. MEMORY, with what was seen until then. */
kn_status kn_disk_list(kn_disk *d, void (*fn)(void *user, const kn_disk_entry *entry), void *user,
                       kn_disk_usage *usage);
/* Removes the longest unused files until at most `bytes` are left; 0 removes all. What a process that died
 * left half-written goes too. `usage` is of what was removed. */
kn_status kn_disk_trim(kn_disk *d, uint64_t bytes, kn_disk_usage *usage);

#endif
