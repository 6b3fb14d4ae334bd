/* Memory of this process that several devices use, found by a number, so that a late reader finds nothing rather than
 * freed memory. */
#ifndef KN_RUNTIME_DEVICE_SHARED_H
#define KN_RUNTIME_DEVICE_SHARED_H

#include <stdbool.h>
#include <stdint.h>

typedef struct kn_shared {
    struct kn_shared *next;
    uint64_t number;
    int users;
} kn_shared;

/* With one user, and a number that no other has had. */
void kn_shared_begin(kn_shared *s);
/* With one user more; NULL: its last one has left. */
kn_shared *kn_shared_find(uint64_t number);
/* Was that the last user? Then it is found no more. */
bool kn_shared_leave(kn_shared *s);

#endif
