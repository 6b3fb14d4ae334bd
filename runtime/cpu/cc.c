/* FOLDER/0.c, 0.so   a text as it is compiled; both go with the end of it
 * FOLDER/1.so        an object, compiled or from the disk cache, until it is loaded
 *
 * The folder is private, and removed when the device closes: runtime/device/folder.h. */
#include "runtime/cpu/cc.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"
#include "base/file.h"
#include "base/hash.h"

enum { PATH_SIZE = 320, MAX_FLAGS = 24, CPUINFO = 16384 };

static kn_cc *of(kn_device *dev) { return (kn_cc *)dev; }

/* Keys of the disk cache begin with its kind. */
static const kn_device_ops as_device = {.kind = "cpu"};

void kn_cc_init(kn_cc *cc, kn_device *owner, const kn_allocator *from)
{
    *cc = (kn_cc){.base = {.ops = &as_device, .disk = owner ? owner->disk : NULL},
                  .owner = owner,
                  .from = *from,
                  .folder.name = "kiln-cpu-"};
    pthread_mutex_init(&cc->lock, NULL);
    pthread_mutex_init(&cc->running.lock, NULL);
}

void kn_cc_stop(kn_cc *cc) { kn_host_stop(&cc->running); }

void kn_cc_finish(kn_cc *cc)
{
    kn_folder_close(&cc->folder);
    pthread_mutex_destroy(&cc->running.lock);
    pthread_mutex_destroy(&cc->lock);
}

/* ---- which compiler ---- */

static bool answers(kn_cc *cc, const char *program)
{
    return kn_host_answers(&cc->base, &cc->host, program, &cc->running);
}

static bool seek(kn_cc *cc)
{
    const char *given = kn_env("KILN_CC");
    if (kn_env_privileged())
        return false;
    return given ? answers(cc, given)
                 : answers(cc, kn_env("CC")) || answers(cc, "gcc") || answers(cc, "clang") ||
                       answers(cc, "cc");
}

kn_status kn_cc_find(kn_cc *cc)
{
    pthread_mutex_lock(&cc->lock);
    if (!cc->sought)
        cc->found = seek(cc);
    cc->sought = true;
    pthread_mutex_unlock(&cc->lock);
    if (cc->found)
        return KN_OK;
    if (kn_env_privileged())
        return kn_fail(KN_DEVICE,
                       "a program with more rights than who started it (setuid) must not run a "
                       "compiler for them");
    return kn_fail(KN_DEVICE, kn_env("KILN_CC")
                                  ? "KILN_CC is no C compiler that can be run"
                                  : "there is no gcc or clang; install one (apt install gcc) or "
                                    "name one in KILN_CC");
}

/* ---- how it is run ---- */

/* None of them changes a value. */
static const char *const always[] = {
    "-std=gnu11",      "-w",    "-O3",     "-march=native",      "-ffp-contract=off",
    "-fno-math-errno", "-fPIC", "-shared", "-fno-trapping-math", "-fvisibility=hidden",
    "-nostartfiles",   "-pipe"};

/* Threading jumps makes branches of selections by constants, as of clip(x, 0, 1), before loops become vectors.
 * Splitting paths moves the conversion of KN_TO_i64(x) to a float behind that of x to an integer, and gcc takes both for
 * trunc(x) then, which keeps -0: that is wrong, unless traps are honoured, which would leave no vectors.
 * Scheduling before registers are given out interleaves the vectors of a loop: a processor that waits for one of them to
 * end, as for the polynomial of exp, sees only some sixty operations ahead.
 * Half of a linker's time is the C library, whose functions are found without it: each process has them. */
static const char *const of_gcc[] = {"-fno-thread-jumps", "-fno-tree-pre",    "-fno-split-paths",
                                     "-fschedule-insns",  "-fsched-pressure", "-nostdlib"};

/* Up to a NULL. What is compiled is checked as the library is, if the same compiler can. */
static void put_flags(const kn_cc *cc, const char *flags[MAX_FLAGS])
{
    int n = 0;
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        flags[n++] = always[i];
    for (size_t i = 0; i < sizeof of_gcc / sizeof *of_gcc && !cc->host.clang; i++)
        flags[n++] = of_gcc[i];
#if defined(KN_SANITIZE)
#if defined(__clang__)
    const bool same = cc->host.clang;
#else
    const bool same = !cc->host.clang;
#endif
    if (same) {
        /* What takes most of the time, and finds nothing more, is left out: the optimiser, and messages. */
        flags[n++] = "-O0";
        flags[n++] = "-fsanitize-undefined-trap-on-error";
        flags[n++] = "-fsanitize=" KN_SANITIZE;
        flags[n++] = "-fno-sanitize-recover=all";
    }
#endif
    flags[n] = NULL;
}

/* What tells this processor from others, to -march=native: the first processor's lines of /proc/cpuinfo but for those
 * that change. False: unknown. */
static bool read_processor(char *text, size_t size)
{
    FILE *f = fopen("/proc/cpuinfo", "re");
    size_t n = f ? fread(text, 1, size - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = '\0';
    char *end = strstr(text, "\n\n");
    if (end)
        end[1] = '\0';
    return n > 0;
}

static bool changes(const char *line)
{
    static const char *const changing[] = {"cpu MHz",   "bogomips",       "BogoMIPS", "processor",
                                           "apicid",    "initial apicid", "core id",  "siblings",
                                           "cpu cores", "physical id"};
    for (size_t i = 0; i < sizeof changing / sizeof *changing; i++)
        if (strncmp(line, changing[i], strlen(changing[i])) == 0)
            return true;
    return false;
}

static kn_status describe(kn_device *dev, const char *text, kn_text *key)
{
    const kn_cc *cc = of(dev);
    const char *flags[MAX_FLAGS];
    char processor[CPUINFO];
    (void)text;
    kn_putf(key, "compiler %s\n%s\noptions", cc->host.file, cc->host.version);
    put_flags(cc, flags);
    for (int i = 0; flags[i]; i++)
        kn_putf(key, " %s", flags[i]);
    kn_put(key, "\n");
    read_processor(processor, sizeof processor);
    for (const char *line = processor; *line;) {
        size_t length = strcspn(line, "\n") + 1;
        if (!changes(line))
            kn_putn(key, line, length);
        line += line[length - 1] ? length : length - 1;
    }
    return KN_OK;
}

/* A new name in the folder, without its ending. */
static kn_status new_name(kn_cc *cc, char *path)
{
    bool made;
    pthread_mutex_lock(&cc->lock);
    kn_status status = kn_folder_open(&cc->folder, &made);
    snprintf(path, PATH_SIZE, "%.270s/%u", cc->folder.path, cc->count++);
    pthread_mutex_unlock(&cc->lock);
    return status;
}

static kn_status write_file(const char *path, const void *data, size_t size)
{
    return kn_file_write(path, data, size)
               ? KN_OK
               : kn_fail(KN_IO, "cannot write '%s': %s", path, strerror(errno));
}

static kn_status run(kn_cc *cc, const char *name, const char *source, const char *object)
{
    char out[1500];
    const char *argv[MAX_FLAGS + 8] = {cc->host.program};
    put_flags(cc, argv + 1);
    int n = 1;
    while (argv[n])
        n++;
    argv[n++] = source;
    argv[n++] = "-o";
    argv[n++] = object;
    argv[n++] = "-lm";
    if (!cc->host.clang)
        argv[n++] = "-lgcc";
    argv[n] = NULL;
    __atomic_fetch_add(&cc->base.compiler_calls, 1, __ATOMIC_RELAXED);
    int status = kn_host_run((char *const *)argv, out, sizeof out, &cc->running);
    return status == 0
               ? KN_OK
               : kn_fail(KN_COMPILE, "kernel '%s': the compiler %s refused it (status %d):\n%s",
                         name, cc->host.program, status, out);
}

static kn_status compile(kn_device *dev, const char *name, const char *text,
                         const kn_allocator *from, kn_binary *binary)
{
    kn_cc *cc = of(dev);
    char path[PATH_SIZE], source[PATH_SIZE + 4], object[PATH_SIZE + 4];
    KN_TRY(new_name(cc, path));
    snprintf(source, sizeof source, "%s.c", path);
    snprintf(object, sizeof object, "%s.so", path);
    kn_status status = write_file(source, text, strlen(text));
    if (status == KN_OK)
        status = run(cc, name, source, object);
    if (status == KN_OK)
        status = kn_binary_read(object, from, binary);
    unlink(source);
    unlink(object);
    binary->private = access("/proc/cpuinfo", R_OK) != 0; /* another processor would find it */
    return status;
}

/* `code` is where the handle goes. */
static kn_status load(kn_device *dev, const kn_binary *binary, kn_code *code)
{
    char path[PATH_SIZE], object[PATH_SIZE + 4];
    KN_TRY(new_name(of(dev), path));
    snprintf(object, sizeof object, "%s.so", path);
    kn_status status = write_file(object, binary->data, binary->size);
    void *handle = status == KN_OK ? dlopen(object, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (status == KN_OK && !handle)
        status = kn_fail(KN_COMPILE, "an object cannot be loaded: %s", dlerror());
    unlink(object);
    if (handle)
        *(void **)(void *)code = handle;
    return status;
}

/* Hands what was counted to the owner, but for the compiles: to it a kernel is compiled when it has a plan. */
static void hand_over(uint64_t *from, uint64_t *to)
{
    __atomic_fetch_add(to, __atomic_exchange_n(from, 0, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

kn_status kn_cc_load(kn_cc *cc, const char *name, const char *text, void **object)
{
    static const kn_compiler compiler = {describe, compile, load, NULL};
    kn_status status = kn_cc_find(cc);
    if (status == KN_OK)
        status =
            kn_binary_load(&cc->base, &compiler, &cc->from, name, text, (kn_code *)(void *)object);
    if (cc->owner) {
        hand_over(&cc->base.compile_ns, &cc->owner->compile_ns);
        hand_over(&cc->base.compiler_calls, &cc->owner->compiler_calls);
        hand_over(&cc->base.disk_hits, &cc->owner->disk_hits);
        hand_over(&cc->base.saved_ns, &cc->owner->saved_ns);
    }
    return status;
}
