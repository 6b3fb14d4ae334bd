/* Source text to a shared object, by the host's C++ compiler.
 *
 *     FOLDER/kn_emu_cuda.h ...       the device language, written once
 *     FOLDER/support.o               what leads from a module to the emulator, compiled once
 *     FOLDER/0/kernel.cu             the source text, as it is but for asm statements: see ptx.h
 *     FOLDER/0/entry.cpp             includes the two and unpacks the parameters
 *     FOLDER/0/kernel.o, dynamic.s   and, where the text has `extern __shared__`, that memory
 *     FOLDER/0/kernel.so             this folder goes when that has been read
 *     FOLDER/1.so                    a binary, compiled or from the disk cache, as it is loaded
 *
 * The folder is private, and removed when the device closes: folder.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "runtime/emu/compile/ptx.h"
#include "runtime/emu/emu.h"

/* ---- the compiler and its folder ---- */

static kn_status write_file(const char *path, const char *text)
{
    return kn_file_write(path, text, strlen(text))
               ? KN_OK
               : kn_fail(KN_IO, "cannot write '%s': %s", path, strerror(errno));
}

#define SHIM(id, name) extern const char kn_emu_shim_##id[];
#include "runtime/emu/compile/shims.def"
#undef SHIM

static const struct {
    const char *name, *text;
} shims[] = {
#define SHIM(id, name) {name, kn_emu_shim_##id},
#include "runtime/emu/compile/shims.def"
#undef SHIM
};

/* Where the messages of a refused text name our folder, they shall not. */
static void strip(char *text, const char *folder)
{
    size_t n = strlen(folder);
    for (char *at; (at = strstr(text, folder)) != NULL;)
        memmove(at, at + n, strlen(at + n) + 1);
}

/* root: the emulator's folder. */
static kn_status run_compiler(kn_emu *dev, const char *root, char *const *argv, const char *what)
{
    const kn_emu_compiler *c = &dev->compiler;
    char out[1500];
    __atomic_fetch_add(&dev->base.compiler_calls, 1, __ATOMIC_RELAXED);
    int status = kn_host_run(argv, out, sizeof out, NULL);
    if (status == 0)
        return KN_OK;
    strip(out, root);
    return kn_fail(KN_COMPILE, "%s: the host compiler %s refused it (status %d):\n%s", what,
                   c->host.program, status, out);
}

enum { PATH_SIZE = 320 };

static void join(char *path, const char *folder, const char *name)
{
    snprintf(path, PATH_SIZE, "%.270s/%.48s", folder, name);
}

static kn_status fill_folder(kn_emu *dev)
{
    kn_emu_compiler *c = &dev->compiler;
    char path[PATH_SIZE], object[PATH_SIZE];
    for (size_t i = 0; i < sizeof shims / sizeof *shims; i++) {
        join(path, c->folder.path, shims[i].name);
        char *below = strchr(shims[i].name, '/');
        if (below) { /* "cooperative_groups/reduce.h" */
            char *end = strrchr(path, '/');
            *end = 0;
            mkdir(path, 0700);
            *end = '/';
        }
        KN_TRY(write_file(path, shims[i].text));
    }
    join(path, c->folder.path, "support.cpp");
    join(object, c->folder.path, "support.o");
    char include[PATH_SIZE + 2];
    snprintf(include, sizeof include, "-I%s", c->folder.path);
    char *argv[] = {c->host.program,
                    "-std=c++17",
                    "-O2",
                    "-w",
                    "-fPIC",
                    "-fvisibility=hidden",
                    include,
                    "-fno-exceptions",
                    "-fno-builtin",
                    "-c",
                    path,
                    "-o",
                    object,
                    NULL};
    return run_compiler(dev, c->folder.path, argv, "the emulator's support code");
}

/* ---- steps that are taken once ---- */

static kn_status get_folder(kn_emu *dev)
{
    bool made;
    KN_TRY(kn_folder_open(&dev->compiler.folder, &made));
    if (made)
        dev->compiler.ready = false;
    return KN_OK;
}

static kn_status get_ready(kn_emu *dev)
{
    kn_emu_compiler *c = &dev->compiler;
    KN_TRY(kn_emu_find_compiler(dev));
    KN_TRY(get_folder(dev));
    if (!c->ready)
        KN_TRY(fill_folder(dev));
    c->ready = true;
    return KN_OK;
}

/* Where a kernel is compiled or loaded from: the emulator's folder, which may be another one for the next kernel, and a
 * number that names files there. */
typedef struct place {
    char root[sizeof((kn_folder *)0)->path];
    unsigned number;
} place;

static kn_status step(kn_emu *dev, kn_status (*fn)(kn_emu *dev), place *at)
{
    kn_emu_compiler *c = &dev->compiler;
    pthread_mutex_lock(&c->lock);
    kn_status status = fn(dev);
    strcpy(at->root, c->folder.path);
    at->number = c->count++;
    pthread_mutex_unlock(&c->lock);
    return status;
}

/* ---- one module ---- */

/* All extern __shared__ arrays are names of the same memory. */
static kn_status define_dynamic(void *user, const kn_emu_symbol *symbol)
{
    FILE *f = user;
    if (symbol->defined)
        return KN_OK;
    if (ftell(f) == 0)
        fputs(".section .tbss,\"awT\",%nobits\n.p2align 7\n.globl kn_emu_dynamic\n"
              "kn_emu_dynamic:\n",
              f);
    fprintf(f, ".globl %s\n%s:\n", symbol->name, symbol->name);
    return KN_OK;
}

static kn_status write_dynamic(const char *object, const char *path, bool *any)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return kn_fail(KN_MEMORY, "out of memory");
    kn_status status = kn_emu_tls_symbols(object, define_dynamic, f);
    *any = ftell(f) > 0;
    if (*any)
        fprintf(f, ".zero %d\n.section .note.GNU-stack,\"\",%%progbits\n", KN_EMU_MAX_SHARED);
    if (fclose(f) != 0)
        status = kn_fail(KN_MEMORY, "out of memory");
    if (status == KN_OK && *any)
        status = write_file(path, text);
    free(text);
    return status;
}

static kn_status write_entry(const char *path, const char *entry, const char *text, bool ptx)
{
    static const char form[] =
        "#include \"kn_emu_cuda.h\"\n"
        "%s"
        "#include \"kernel.cu\"\n"
        "extern \"C\" {\n"
        "extern __attribute__((visibility(\"default\"))) const auto kn_emu_params =\n"
        "    kn_emu::params_of(&%s);\n"
        "extern __attribute__((visibility(\"default\"))) const unsigned kn_emu_cluster[3] = {%.*s};\n"
        "__attribute__((visibility(\"default\"), no_sanitize(\"thread\", \"alignment\")))\n"
        "void kn_emu_entry(void *const *params) { kn_emu::call(&%s, params); }\n"
        "}\n";
    size_t length, size;
    const char *with = ptx ? "#include \"kn_emu_ptx.h\"\n" : "";
    const char *cluster = kn_emu_find_cluster(text, entry, &length);
    size = sizeof form + strlen(with) + 2 * strlen(entry) + length;
    char *entry_text = malloc(size);
    if (!entry_text)
        return kn_fail(KN_MEMORY, "out of memory");
    snprintf(entry_text, size, form, with, entry, (int)length, cluster, entry);
    kn_status status = write_file(path, entry_text);
    free(entry_text);
    return status;
}

typedef struct source {
    kn_arena arena;
    const char *path, *text;
    bool ptx;
} source;

/* The text as it is, but for asm statements. */
static kn_status write_source(void *user)
{
    source *s = user;
    const char *without = kn_emu_without_asm(&s->arena, s->text);
    s->ptx = without != NULL;
    return write_file(s->path, without ? without : s->text);
}

enum { MAX_FLAGS = 40 };

/* The compiler's options, up to a NULL; those that name files are not among them. */
static void put_flags(const kn_emu *dev, const char *text, const char *flags[MAX_FLAGS])
{
    static const char *const always[] = {
        "-std=c++17",
        "-w",
        "-O1",
        "-g1",
        "-gdwarf-4", /* addr2line names the wrong file for newer ones */
        "-fPIC",
        "-fvisibility=hidden",
        "-fno-exceptions",
        "-fno-rtti",
        "-fno-strict-aliasing",
        "-fwrapv",
        "-ffp-contract=off",
        "-fno-math-errno",
        "-fno-trapping-math",
        "-fno-stack-protector",
        "-fsanitize=integer-divide-by-zero,signed-integer-overflow"}; /* -fwrapv: of division only */
    int n = 0;
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        flags[n++] = always[i];
    if (!dev->compiler.host.clang)
        flags[n++] = "-fno-extern-tls-init";
    /* Unchecked code needs the hooks only for loops that poll: see kn_emu_call_access. */
    bool hooks = !dev->options.unchecked || strstr(text, "volatile");
    if (hooks) {
        flags[n++] = "-fsanitize=thread";
        if (dev->compiler.host.clang) {
            flags[n++] = "-mllvm";
            flags[n++] = "-tsan-distinguish-volatile=1";
            flags[n++] = "-mllvm";
            flags[n++] = "-tsan-instrument-func-entry-exit=0";
        } else {
            flags[n++] = "--param=tsan-distinguish-volatile=1";
            flags[n++] = "--param=tsan-instrument-func-entry-exit=0";
        }
    }
    if (!dev->options.unchecked)
        flags[n++] = "-fsanitize=bounds,alignment";
    flags[n] = NULL;
}

static kn_status compile_object(kn_emu *dev, const char *root, const char *text, const char *entry,
                                const char *object)
{
    const kn_emu_compiler *c = &dev->compiler;
    char include[PATH_SIZE + 2], map[PATH_SIZE + 64];
    const char *argv[MAX_FLAGS + 10] = {c->host.program};
    snprintf(include, sizeof include, "-I%s", root);
    /* What is compiled does not depend on where. */
    snprintf(map, sizeof map, "-ffile-prefix-map=%s=" KN_EMU_FOLDER, root);
    put_flags(dev, text, argv + 1);
    int n = 1;
    while (argv[n])
        n++;
    argv[n++] = include;
    argv[n++] = map;
    argv[n++] = "-c";
    argv[n++] = entry;
    argv[n++] = "-o";
    argv[n++] = object;
    return run_compiler(dev, root, (char *const *)argv, "compiling for the emulator");
}

static kn_status build_in(kn_emu *dev, const char *root, const char *folder, const char *entry,
                          const char *text, char *path)
{
    const kn_emu_compiler *c = &dev->compiler;
    char kernel[PATH_SIZE], wrapper[PATH_SIZE], object[PATH_SIZE], memory[PATH_SIZE],
        support[PATH_SIZE];
    join(kernel, folder, "kernel.cu");
    join(wrapper, folder, "entry.cpp");
    join(object, folder, "kernel.o");
    join(memory, folder, "dynamic.s");
    join(path, folder, "kernel.so");
    join(support, root, "support.o");
    source src = {.path = kernel, .text = text};
    kn_arena_init(&src.arena, NULL);
    kn_status status = kn_protect(&src.arena, write_source, &src);
    kn_arena_finish(&src.arena);
    KN_TRY(status);
    KN_TRY(write_entry(wrapper, entry, text, src.ptx));
    KN_TRY(compile_object(dev, root, text, wrapper, object));
    bool with_dynamic;
    KN_TRY(write_dynamic(object, memory, &with_dynamic));
    const char *argv[12] = {c->host.program, "-shared", "-nostdlib", "-o", path, object};
    int n = 6;
    if (with_dynamic) /* before support.o, whose variable ends the image */
        argv[n++] = memory;
    argv[n++] = support;
    argv[n++] = "-lm";
    argv[n++] = "-lc";
    return run_compiler(dev, root, (char *const *)argv, "linking for the emulator");
}

/* ---- binaries ---- */

bool kn_emu_has_header(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof shims / sizeof *shims; i++)
        if (strlen(shims[i].name) == n && memcmp(shims[i].name, name, n) == 0)
            return true;
    return false;
}

kn_status kn_emu_describe_compiler(kn_device *base, const char *text, kn_text *key)
{
    kn_emu *dev = kn_emu_of(base);
    place at;
    const char *flags[MAX_FLAGS];
    KN_TRY(step(dev, kn_emu_find_compiler, &at));
    kn_putf(key, "compiler %s\n%s\noptions", dev->compiler.host.file, dev->compiler.host.version);
    put_flags(dev, text, flags);
    for (int i = 0; flags[i]; i++)
        kn_putf(key, " %s", flags[i]);
    kn_put(key, "\n");
    for (size_t i = 0; i < sizeof shims / sizeof *shims; i++) {
        char digest[KN_DIGEST_TEXT];
        const kn_digest d = kn_digest_of(shims[i].text, strlen(shims[i].text));
        kn_digest_text(&d, digest);
        kn_putf(key, "header %s %s\n", shims[i].name, digest);
    }
    const char *without = kn_emu_without_asm(key->arena, text);
    if (without) { /* what became of it is this library's doing */
        char digest[KN_DIGEST_TEXT];
        const kn_digest d = kn_digest_of(without, strlen(without));
        kn_digest_text(&d, digest);
        kn_putf(key, "without asm %s\n", digest);
    }
    return KN_OK;
}

/* What the compiler said first is about our own lines: `entry` is not what they can be written with. */
static bool about_entry(const char *message)
{
    const char *error = strstr(message, ": error: "), *line = error;
    while (line && line > message && line[-1] != '\n')
        line--;
    const char *file = line ? strstr(line, "/entry.cpp:") : NULL;
    return file && file < error;
}

static kn_status refuse(const char *entry, const char *text)
{
    char list[300], before[1500];
    bool found = kn_emu_find_entry(text, entry, list, sizeof list);
    snprintf(before, sizeof before, "%s", kn_last_error());
    if (found && !about_entry(before))
        return kn_fail_prefix(KN_COMPILE, "kernel '%s': ", entry);
    char hint[600] = "";
    if (found) {
        const char *why = strstr(before, ": error: ") + strlen(": error: ");
        snprintf(hint, sizeof hint,
                 "; an instance of a template is named as in 'name<256, float>' (%.*s)",
                 (int)strcspn(why, "\n"), why);
    }
    return kn_fail(KN_COMPILE, "there is no kernel '%s' in the source; %s%s%s", entry,
                   list[0] ? "it has " : "it has no __global__ function", list, hint);
}

/* In a folder of its own, which goes with the end of it. */
static kn_status build(kn_emu *dev, const place *at, const char *entry, const char *text,
                       const kn_allocator *from, kn_binary *binary)
{
    char folder[PATH_SIZE], made[PATH_SIZE];
    snprintf(folder, sizeof folder, "%.255s/%u", at->root, at->number);
    if (mkdir(folder, 0700) != 0)
        return kn_fail(KN_IO, "cannot make '%s': %s", folder, strerror(errno));
    kn_status status = build_in(dev, at->root, folder, entry, text, made);
    if (status == KN_OK)
        status = kn_binary_read(made, from, binary); /* every module calls it kn_emu_entry */
    kn_folder_remove(folder);
    return status;
}

kn_status kn_emu_compile(kn_device *base, const char *entry, const char *text,
                         const kn_allocator *from, kn_binary *binary)
{
    kn_emu *dev = kn_emu_of(base);
    place at;
    KN_TRY(step(dev, get_ready, &at));
    kn_status status = build(dev, &at, entry, text, from, binary);
    if (status == KN_COMPILE)
        return refuse(entry, text);
    return status == KN_OK ? KN_OK : kn_fail_prefix(status, "kernel '%s': ", entry);
}

kn_status kn_emu_write(kn_emu *dev, const kn_binary *binary, char *path, size_t size)
{
    place at;
    KN_TRY(step(dev, get_folder, &at));
    snprintf(path, size, "%.255s/%u.so", at.root, at.number);
    return kn_file_write(path, binary->data, binary->size)
               ? KN_OK
               : kn_fail(KN_IO, "cannot write '%s': %s", path, strerror(errno));
}
