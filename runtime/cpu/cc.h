/* The host's C compiler: from generated C to a shared object in memory that is loaded. Objects are kept in the disk
 * cache by the text and all else that they depend on, the processor included, for they are compiled for this one. */
#ifndef KN_RUNTIME_CPU_CC_H
#define KN_RUNTIME_CPU_CC_H

#include "runtime/device/binary.h"
#include "runtime/device/folder.h"
#include "runtime/device/host.h"

typedef struct kn_cc {
    kn_device base;   /* first: a kn_device * of this kind points to it */
    kn_device *owner; /* whose disk cache and counters it uses; NULL: nobody's */
    kn_allocator from;
    pthread_mutex_t lock;
    bool sought, found;    /* the compiler */
    kn_host_compiler host; /* found once */
    kn_host_children running;
    kn_folder folder; /* where it works, and where objects are loaded from */
    unsigned count;   /* so far: names files */
} kn_cc;

void kn_cc_init(kn_cc *cc, kn_device *owner, const kn_allocator *from);
void kn_cc_finish(kn_cc *cc);
/* Ends what runs; nothing runs from then on. */
void kn_cc_stop(kn_cc *cc);

/* Finds the compiler: KILN_CC, else CC, gcc, clang, cc. DEVICE: there is none. */
kn_status kn_cc_find(kn_cc *cc);
/* The shared object of the text of kernel `name`, for dlsym() and dlclose(). */
kn_status kn_cc_load(kn_cc *cc, const char *name, const char *text, void **object);

#endif
