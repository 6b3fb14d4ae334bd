#include "runtime/cuda/identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/env.h"

/* "" when there is no such file. */
static void describe_file(const char *path, char *text, size_t size)
{
    struct stat st;
    text[0] = '\0';
    if (stat(path, &st) == 0)
        snprintf(text, size, "%llx:%llx %lld bytes, changed %lld.%09ld",
                 (unsigned long long)st.st_dev, (unsigned long long)st.st_ino,
                 (long long)st.st_size, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

/* ---- the kept facts ---- */

/* Everything that decides which library is found. */
static void put_search(kn_text *key)
{
    const struct {
        const char *name, *value;
    } settings[] = {{"KILN_NVRTC", kn_env("KILN_NVRTC")},
                    {"CUDA_HOME", kn_env("CUDA_HOME")},
                    {"CUDA_PATH", kn_env("CUDA_PATH")},
                    {"LD_LIBRARY_PATH", kn_env("LD_LIBRARY_PATH")},
                    {"LD_PRELOAD", kn_env("LD_PRELOAD")}};
    char program[4096], loader[128];
    kn_put(key, "nvrtc's version and build\n");
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        kn_putf(key, "%s=%s\n", settings[i].name, settings[i].value ? settings[i].value : "");
    ssize_t n =
        readlink("/proc/self/exe", program, sizeof program - 1); /* it may have a run path */
    program[n > 0 ? n : 0] = '\0';
    describe_file("/etc/ld.so.cache", loader, sizeof loader);
    kn_putf(key, "program %s\nloader %s\n", program, loader);
}

static void write_facts(const kn_nvrtc_facts *f, kn_text *value)
{
    kn_putf(value, "%s\n%s\n%s\n%d %d\n", f->path, f->file, f->build, f->major, f->minor);
    for (int i = 0; i < f->narchs; i++)
        kn_putf(value, "%d ", f->archs[i]);
}

/* Copies a line and moves behind it. */
static bool take_line(const char **at, char *line, size_t size)
{
    size_t n = strcspn(*at, "\n");
    if ((*at)[n] != '\n' || n >= size)
        return false;
    memcpy(line, *at, n);
    line[n] = '\0';
    *at += n + 1;
    return true;
}

static bool read_facts(const char *at, kn_nvrtc_facts *f)
{
    char versions[64];
    if (!take_line(&at, f->path, sizeof f->path) || !take_line(&at, f->file, sizeof f->file) ||
        !take_line(&at, f->build, sizeof f->build) || !take_line(&at, versions, sizeof versions) ||
        sscanf(versions, "%d %d", &f->major, &f->minor) != 2 || !f->build[0])
        return false;
    int used = 0;
    f->narchs = 0;
    while (f->narchs < KN_NVRTC_ARCHS && sscanf(at, "%d %n", &f->archs[f->narchs], &used) == 1) {
        f->narchs++;
        at += used;
    }
    return true;
}

/* ---- learning them ---- */

typedef struct learning {
    kn_disk *disk;
    kn_nvrtc_facts *facts;
    kn_arena arena;
} learning;

static bool recall(learning *l, kn_bytes_view key)
{
    kn_disk_value value;
    char now[sizeof l->facts->file];
    if (!kn_disk_find(l->disk, key, &value))
        return false;
    char *text = kn_strndup(&l->arena, value.bytes.data, value.bytes.size);
    kn_disk_release(l->disk, &value);
    if (!read_facts(text, l->facts))
        return false;
    describe_file(l->facts->path, now, sizeof now);
    return now[0] && strcmp(now, l->facts->file) == 0;
}

static kn_status ask(kn_nvrtc_facts *f, bool build)
{
    KN_TRY(kn_nvrtc_find());
    *f = (kn_nvrtc_facts){0};
    snprintf(f->path, sizeof f->path, "%s", kn_nvrtc_path());
    describe_file(f->path, f->file, sizeof f->file);
    kn_nvrtc_version(&f->major, &f->minor);
    f->narchs = kn_nvrtc_archs(f->archs);
    if (build)
        snprintf(f->build, sizeof f->build, "%s", kn_nvrtc_build());
    return KN_OK;
}

static kn_status learn(void *user)
{
    learning *l = user;
    kn_text key = kn_text_new(&l->arena), value = kn_text_new(&l->arena);
    put_search(&key);
    const kn_bytes_view k = {kn_text_str(&key), key.len};
    if (recall(l, k))
        return KN_OK;
    KN_TRY(ask(l->facts, true));
    write_facts(l->facts, &value);
    if (l->facts->file[0])
        kn_disk_store(l->disk, k, (kn_bytes_view){kn_text_str(&value), value.len}, 0);
    return KN_OK;
}

kn_status kn_nvrtc_learn(kn_disk *disk, kn_nvrtc_facts *facts)
{
    if (!disk || !kn_disk_dir(disk)[0])
        return ask(facts, false);
    learning l = {.disk = disk, .facts = facts};
    kn_arena_init(&l.arena, NULL);
    kn_status status = kn_protect(&l.arena, learn, &l);
    kn_arena_finish(&l.arena);
    return status;
}

bool kn_nvrtc_facts_support(const kn_nvrtc_facts *f, int sm)
{
    for (int i = 0; i < f->narchs; i++)
        if (f->archs[i] == sm)
            return true;
    return f->narchs == 0;
}

bool kn_nvrtc_facts_hold(const kn_nvrtc_facts *f)
{
    char now[sizeof f->file];
    describe_file(kn_nvrtc_path(), now, sizeof now);
    return now[0] && strcmp(kn_nvrtc_path(), f->path) == 0 && strcmp(now, f->file) == 0;
}
