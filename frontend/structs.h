/* Structs that the caller fills in begin with struct_size: an older caller's is shorter, a newer one's
 * longer. Only the bytes that both sides know are read or written. */
#ifndef KN_FRONTEND_STRUCTS_H
#define KN_FRONTEND_STRUCTS_H

#include "base/status.h"

/* Sets the `given` bytes of the caller's *to to the library's defaults, of `size` bytes, and what those lack to 0. */
void kn_struct_init(void *to, size_t given, const void *defaults, size_t size);
/* Reads *from into *to, which has `size` bytes and already the defaults; `what` is the struct's name
 * without kiln_. ARGUMENT when struct_size cannot be one. to->struct_size stays the library's own. */
kn_status kn_struct_read(const char *what, const void *from, void *to, size_t size);
/* Writes *from, of `size` bytes, into the caller's *to; to->struct_size stays the caller's. */
kn_status kn_struct_write(const char *what, void *to, const void *from, size_t size);

#endif
