/* From a kernel's source text to a shared object, by the host's C++ compiler, in a folder of temporary files. What the
 * text is compiled with is in shim/. Nothing here runs a kernel. */
#ifndef KN_RUNTIME_EMU_COMPILE_COMPILE_H
#define KN_RUNTIME_EMU_COMPILE_COMPILE_H

#include <pthread.h>

#include "runtime/device/binary.h"
#include "runtime/device/folder.h"
#include "runtime/device/host.h"

typedef struct kn_emu kn_emu;

/* The host's compiler, found when it is first asked for; and the folder that modules are compiled in and
 * loaded from, made when it is first needed. */
typedef struct kn_emu_compiler {
    pthread_mutex_t lock;
    kn_host_compiler host; /* found or not */
    kn_folder folder;
    bool ready;     /* what every module needs is in the folder */
    unsigned count; /* so far: names files */
} kn_emu_compiler;

/* The folder's name in what is compiled. */
#define KN_EMU_FOLDER "/kiln-emu"

/* ---- what the text says: declaration.c ---- */

typedef char kn_emu_name[48];
/* The names of the kernel's first `count` parameters. */
void kn_emu_name_params(const char *text, const char *entry, kn_emu_name *names, int count);
/* What is between the brackets of the kernel's __cluster_dims__; *length is 0 when it has none. */
const char *kn_emu_find_cluster(const char *text, const char *entry, size_t *length);
/* Is there a kernel of this name in the text? Puts the names of those that there are into `list`. */
bool kn_emu_find_entry(const char *text, const char *entry, char *list, size_t size);

/* ---- the compiler: host.c; with its lock held ---- */

kn_status kn_emu_find_compiler(kn_emu *dev);

/* ---- the shared object: compile.c, as in kn_compiler ---- */

kn_status kn_emu_describe_compiler(kn_device *base, const char *text, kn_text *key);
kn_status kn_emu_compile(kn_device *base, const char *entry, const char *text,
                         const kn_allocator *from, kn_binary *binary);
bool kn_emu_has_header(const char *name, size_t n);
/* Writes a shared object where it can be loaded; `path` receives its name. The file remains until
 * the module is unloaded, for line numbers. */
kn_status kn_emu_write(kn_emu *dev, const kn_binary *binary, char *path, size_t size);

/* ---- the thread-local symbols of an object file: elf.c ---- */

typedef struct kn_emu_symbol {
    const char *name;
    size_t offset, bytes;
    bool defined;
} kn_emu_symbol;
kn_status kn_emu_tls_symbols(const char *path,
                             kn_status (*fn)(void *user, const kn_emu_symbol *symbol), void *user);

#endif
