/* Hashing: XXH3 of byte strings. Hashes only find candidates; every table compares in full. */
#ifndef KN_BASE_HASH_H
#define KN_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t kn_hash(const void *data, size_t size, uint64_t seed);

#endif
