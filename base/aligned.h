/* Aligned memory from an allocator that knows no alignment. */
#ifndef KN_BASE_ALIGNED_H
#define KN_BASE_ALIGNED_H

#include "base/arena.h"

enum { KN_ALIGNED = 256 }; /* what a workspace must be aligned to */

/* Memory aligned to KN_ALIGNED bytes; size 0 gives a valid address. NULL when out of memory. */
void *kn_aligned_alloc(const kn_allocator *from, size_t bytes);
void kn_aligned_free(const kn_allocator *from, void *ptr);

#endif
