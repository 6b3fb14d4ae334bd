/* The bytes of one file of the disk cache. Numbers are in the machine's own order: a machine of the other
 * order reads another format number, and ignores the file.
 *
 *     0   "kilncach"
 *     8   XXH3-128 of all that follows
 *     24  format number, 32 bits; 32 bits of zero
 *     32  bytes of the key; bytes of the value; what making the value took, in nanoseconds: 64 bits each
 *     56  the key, then the value, then the end of the file
 *
 * The key is stored in full: a hash of it only names the file. */
#ifndef KN_KERNELS_CACHE_ENTRY_H
#define KN_KERNELS_CACHE_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Libraries of different formats have no file name in common. */
#ifndef KN_ENTRY_FORMAT
#define KN_ENTRY_FORMAT 1
#endif

enum { KN_ENTRY_HEAD = 56 };

typedef struct kn_bytes_view {
    const char *data;
    size_t size;
} kn_bytes_view;

typedef struct kn_entry {
    kn_bytes_view key, value;
    uint64_t cost_ns;
} kn_entry;

/* Bytes of the file; 0 where that is no size. */
size_t kn_entry_size(const kn_entry *entry);
void kn_entry_write(const kn_entry *entry, char *file);
/* What is in a file's bytes; the entry points into them. False: damaged, or not of this format. */
bool kn_entry_read(const char *file, size_t size, kn_entry *entry);
/* The same of a file's first bytes alone, without the check of the sum: as much of the key as is there. */
bool kn_entry_peek(const char *head, size_t have, size_t size, kn_entry *entry);

#endif
