/* Structs that the caller fills in begin with struct_size: an older caller's is shorter, a newer one's
 * longer. Only the fields that both sides have whole are read or written. */
#ifndef KN_FRONTEND_STRUCTS_H
#define KN_FRONTEND_STRUCTS_H

#include "base/status.h"

/* A public struct: its name without kiln_, and where each field ends. */
typedef struct kn_struct {
    const char *name;
    const size_t *ends;
    int nends;
} kn_struct;

extern const kn_struct kn_struct_config, kn_struct_stats, kn_struct_cache_info, kn_struct_options,
    kn_struct_prepared, kn_struct_launch, kn_struct_explain_options, kn_struct_split_options,
    kn_struct_emit_options, kn_struct_measurement, kn_struct_comm_config;

/* Sets the `given` bytes of the caller's *to to the library's defaults, of `size` bytes, and what those lack to 0. */
void kn_struct_init(void *to, size_t given, const void *defaults, size_t size);
/* Reads *from into *to, the library's own, which already has the defaults. ARGUMENT when struct_size cannot be one.
 * to->struct_size stays the library's. */
kn_status kn_struct_read(const kn_struct *what, const void *from, void *to);
/* Writes *from, the library's own, into the caller's *to; to->struct_size stays the caller's. */
kn_status kn_struct_write(const kn_struct *what, void *to, const void *from);

#endif
