#include "frontend/structs.h"

#include <string.h>

enum { MOST_BYTES = 4096 };

void kn_struct_init(void *to, size_t given, const void *defaults, size_t size)
{
    if (!to || given < sizeof given)
        return;
    memset(to, 0, given);
    memcpy(to, defaults, given < size ? given : size);
    memcpy(to, &given, sizeof given);
}

/* Copies what is behind struct_size and both have; `theirs` is the caller's of the two. */
static kn_status copy(const char *what, const void *theirs, void *to, const void *from, size_t size)
{
    size_t given;
    memcpy(&given, theirs, sizeof given);
    if (given < sizeof given || given > MOST_BYTES)
        return kn_fail(KN_ARGUMENT, "%s.struct_size is %zu; call kiln_%s_init()", what, given,
                       what);
    memcpy((char *)to + sizeof given, (const char *)from + sizeof given,
           (given < size ? given : size) - sizeof given);
    return KN_OK;
}

kn_status kn_struct_read(const char *what, const void *from, void *to, size_t size)
{
    return copy(what, from, to, from, size);
}

kn_status kn_struct_write(const char *what, void *to, const void *from, size_t size)
{
    return copy(what, to, to, from, size);
}
