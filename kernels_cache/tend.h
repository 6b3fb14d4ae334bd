/* Looking after a directory of the disk cache: what is in it, and what goes when it is too much.
 *
 * Only files with names of this format are seen: "<32 hexadecimal digits>.kiln1", and ".kiln1-<random>" while
 * they are written. Everything else in the directory is somebody else's and stays as it is. */
#ifndef KN_KERNELS_CACHE_TEND_H
#define KN_KERNELS_CACHE_TEND_H

#include "base/arena.h"
#include "base/hash.h"
#include "kernels_cache/disk.h"

enum { KN_TEND_NAME = 64 };

/* The names of the file for a key, and of a file that is being written. */
void kn_tend_name(kn_bytes_view key, char name[KN_TEND_NAME]);
void kn_tend_temporary(uint64_t random, char name[KN_TEND_NAME]);

/* Now, in nanoseconds since 1970. */
long long kn_tend_now(void);

/* As kn_disk_list() and kn_disk_trim(), in the open directory `dir`. When trim() finds more than `bytes`, it
 * goes on until at most `until` are left. */
kn_status kn_tend_list(int dir, const kn_allocator *from,
                       void (*fn)(void *user, const kn_disk_entry *entry), void *user,
                       kn_disk_usage *usage);
kn_status kn_tend_trim(int dir, const kn_allocator *from, uint64_t bytes, uint64_t until,
                       kn_disk_usage *removed);

#endif
