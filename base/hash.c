#include "base/hash.h"

#include <string.h>
#include <xxhash.h>

uint64_t kn_hash(const void *data, size_t size, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, size, seed);
}

kn_digest kn_digest_of(const void *data, size_t size)
{
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(data, size));
    kn_digest digest;
    _Static_assert(sizeof digest.bytes == sizeof canonical.digest, "128 bits");
    memcpy(digest.bytes, canonical.digest, sizeof digest.bytes);
    return digest;
}

void kn_digest_text(const kn_digest *digest, char text[KN_DIGEST_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < sizeof digest->bytes; i++) {
        text[2 * i] = digits[digest->bytes[i] >> 4];
        text[2 * i + 1] = digits[digest->bytes[i] & 15];
    }
    text[KN_DIGEST_TEXT - 1] = '\0';
}
