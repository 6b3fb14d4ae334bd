/* Hashing: XXH3 of byte strings. Hashes only find candidates and damage; every table compares in full. */
#ifndef KN_BASE_HASH_H
#define KN_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t kn_hash(const void *data, size_t size, uint64_t seed);

/* 128 bits, the same on every machine. */
typedef struct kn_digest {
    uint8_t bytes[16];
} kn_digest;
kn_digest kn_digest_of(const void *data, size_t size);

enum { KN_DIGEST_TEXT = 33 };
/* As 32 hexadecimal digits and a NUL. */
void kn_digest_text(const kn_digest *digest, char text[KN_DIGEST_TEXT]);

#endif
