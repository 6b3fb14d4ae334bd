/* Modules: a kernel's source text compiled by the host's C++ compiler, kept like other binaries, and loaded. */
#ifndef KN_RUNTIME_EMU_MODULE_H
#define KN_RUNTIME_EMU_MODULE_H

#include <pthread.h>

#include "runtime/device/binary.h"
#include "runtime/emu/folder.h"
#include "runtime/emu/shim/kn_emu_abi.h"

typedef struct kn_emu kn_emu;
typedef struct kn_emu_span kn_emu_span;

/* ---- the compiler ---- */

/* The host's compiler, found when it is first asked for; and the folder that modules are compiled in and
 * loaded from, made when it is first needed. */
typedef struct kn_emu_compiler {
    pthread_mutex_t lock;
    char program[512];  /* "": not found yet */
    char file[8192];    /* which file that is: name, size, time */
    char version[1024]; /* what it says to --version */
    bool clang;
    kn_emu_folder folder;
    bool ready;     /* what every module needs is in the folder */
    unsigned count; /* so far: names files */
} kn_emu_compiler;

/* The folder's name in what is compiled. */
#define KN_EMU_FOLDER "/kiln-emu"

/* ---- modules ---- */

/* A variable in shared memory: where it lies in the image. */
typedef struct kn_emu_shared {
    char name[48];
    size_t offset, bytes;
} kn_emu_shared;

struct kn_code {
    kn_emu *dev;
    char *name;     /* of the kernel, for messages */
    char *source;   /* its text, for messages */
    char path[320]; /* of the shared object */
    char *base;     /* where it is loaded */
    void *handle;
    void (*entry)(void *const *params);
    void *(*anchor)(void);
    int nparams;
    const kn_emu_param *params;
    char (*names)[48];       /* of parameters */
    const unsigned *cluster; /* its __cluster_dims__; 0: it has none */
    /* the module in memory: what may be read, and of it what may be written */
    char *low, *high, *writable, *writable_end;
    size_t anchor_offset;
    size_t image;   /* bytes of the thread-local image that hold shared variables */
    size_t fixed;   /* of it, bytes [0, fixed) that have a size known to the compiler */
    size_t dynamic; /* where dynamic shared memory begins; image when there is none */
    bool has_dynamic;
    kn_emu_shared *shared;
    int nshared;
};

/* The kernel `entry` of `text`, compiled or from the disk cache. */
kn_status kn_emu_module_load(kn_emu *dev, const char *entry, const char *text, kn_code **code);
void kn_emu_module_unload(kn_code *code);

/* params.c */
kn_status kn_emu_name_params(kn_code *code, const char *entry);
/* What is between the brackets of the kernel's __cluster_dims__; *length is 0 when it has none. */
const char *kn_emu_find_cluster(const char *text, const char *entry, size_t *length);
/* Is there a kernel of this name in the text? Puts the names of those that there are into `list`. */
bool kn_emu_find_entry(const char *text, const char *entry, char *list, size_t size);
int kn_emu_describe_param(kn_device *dev, kn_code *code, int i, kn_code_param *out);
/* The span's name and whether it is watched, when the parameters have these values. */
void kn_emu_span_of_params(const kn_code *code, void *const *values, kn_emu_span *span);

/* host.c; the first with the compiler's lock held */
kn_status kn_emu_find_compiler(kn_emu *dev);
/* Runs a program, argv[0] sought in PATH; up to size-1 bytes of its output (both streams) in `out`. -1: it
 * could not be run; otherwise its exit status. */
int kn_emu_run(char *const *argv, char *out, size_t size);

/* compile.c: as in kn_compiler. */
kn_status kn_emu_describe_compiler(kn_device *base, const char *text, kn_text *key);
kn_status kn_emu_compile(kn_device *base, const char *entry, const char *text,
                         const kn_allocator *from, kn_binary *binary);
bool kn_emu_has_header(const char *name, size_t n);
/* Writes a shared object where it can be loaded; `path` receives its name. The file remains until
 * the module is unloaded, for line numbers. */
kn_status kn_emu_write(kn_emu *dev, const kn_binary *binary, char *path, size_t size);

/* elf.c: the thread-local symbols of an object file. */
typedef struct kn_emu_symbol {
    const char *name;
    size_t offset, bytes;
    bool defined;
} kn_emu_symbol;
kn_status kn_emu_tls_symbols(const char *path,
                             kn_status (*fn)(void *user, const kn_emu_symbol *symbol), void *user);

#endif
