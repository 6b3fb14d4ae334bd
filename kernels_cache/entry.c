#include "kernels_cache/entry.h"

#include <string.h>

#include "base/hash.h"

static const char magic[8] = "kilncach"; /* no NUL */

typedef struct head {
    char magic[8];
    kn_digest sum;
    uint32_t format, zero;
    uint64_t key_size, value_size, cost_ns;
} head;
_Static_assert(sizeof(head) == KN_ENTRY_HEAD, "no padding");
enum { UNSUMMED = sizeof magic + sizeof(kn_digest) };

size_t kn_entry_size(const kn_entry *e)
{
    size_t most = SIZE_MAX / 4; /* more than any memory, and the sum is no overflow */
    return e->key.size > most || e->value.size > most ? 0
                                                      : KN_ENTRY_HEAD + e->key.size + e->value.size;
}

void kn_entry_write(const kn_entry *e, char *file)
{
    head h = {.format = KN_ENTRY_FORMAT,
              .key_size = e->key.size,
              .value_size = e->value.size,
              .cost_ns = e->cost_ns};
    memcpy(h.magic, magic, sizeof magic);
    memcpy(file, &h, sizeof h);
    memcpy(file + sizeof h, e->key.data, e->key.size);
    memcpy(file + sizeof h + e->key.size, e->value.data, e->value.size);
    h.sum = kn_digest_of(file + UNSUMMED, kn_entry_size(e) - UNSUMMED);
    memcpy(file, &h, sizeof h);
}

bool kn_entry_peek(const char *file, size_t have, size_t size, kn_entry *e)
{
    head h;
    if (have < sizeof h || size < have)
        return false;
    memcpy(&h, file, sizeof h);
    uint64_t rest = size - sizeof h;
    if (memcmp(h.magic, magic, sizeof magic) != 0 || h.format != KN_ENTRY_FORMAT || h.zero != 0 ||
        h.key_size > rest || h.value_size != rest - h.key_size)
        return false;
    size_t key = (size_t)h.key_size, seen = have - sizeof h;
    *e = (kn_entry){.key = {file + sizeof h, key < seen ? key : seen}, .cost_ns = h.cost_ns};
    return true;
}

bool kn_entry_read(const char *file, size_t size, kn_entry *e)
{
    if (!kn_entry_peek(file, size, size, e))
        return false;
    kn_digest sum = kn_digest_of(file + UNSUMMED, size - UNSUMMED), stored;
    memcpy(&stored, file + sizeof magic, sizeof stored);
    e->value.data = e->key.data + e->key.size;
    e->value.size = size - KN_ENTRY_HEAD - e->key.size;
    return memcmp(&sum, &stored, sizeof sum) == 0;
}
