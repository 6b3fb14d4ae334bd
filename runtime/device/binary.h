/* What a compiler makes of a source text: from the disk cache, or made now and kept there. Devices that run
 * source get their kernels by kn_binary_load() and nowhere else. */
#ifndef KN_RUNTIME_DEVICE_BINARY_H
#define KN_RUNTIME_DEVICE_BINARY_H

#include "base/text.h"
#include "runtime/device/device.h"

/* Machine code: a cubin, or a shared object of the emulator's. */
typedef struct kn_binary {
    char *data; /* from the allocator that was given, as is the symbol */
    size_t size;
    char *symbol; /* what the code calls its kernel */
    bool private; /* is not to be kept: it depends on more than its key says */
} kn_binary;

/* A device's compiler. */
typedef struct kn_compiler {
    /* Adds to `key`, in lines, everything but the text and the entry that a binary depends on: which compiler
     * this is, to the build, its options, the architecture. Runs no compiler if that can be helped. */
    kn_status (*describe)(kn_device *dev, const char *text, kn_text *key);
    kn_status (*compile)(kn_device *dev, const char *entry, const char *text,
                         const kn_allocator *from, kn_binary *binary);
    /* Makes `code` ready; on failure leaves it as it was. */
    kn_status (*load)(kn_device *dev, const kn_binary *binary, kn_code *code);
    /* Whether a header of this name, `n` bytes, is the library's own. NULL: none is. */
    bool (*has_header)(const char *name, size_t n);
} kn_compiler;

/* Loads the kernel `entry` of `text` into `code`. A kept binary that does not load is forgotten and compiled
 * anew. Counts in the device's counters. */
kn_status kn_binary_load(kn_device *dev, const kn_compiler *compiler, const kn_allocator *from,
                         const char *entry, const char *text, kn_code *code);

/* Whether the text alone says what is compiled: it includes nothing but own headers, and asks for no date.
 * False in doubt. Only such texts have their binaries kept. */
bool kn_text_is_whole(const char *text, bool (*has_header)(const char *name, size_t n));

/* The bytes of a file that the host's compiler made; its symbol is "". */
kn_status kn_binary_read(const char *path, const kn_allocator *from, kn_binary *binary);
void kn_binary_finish(kn_binary *binary, const kn_allocator *from);

#endif
