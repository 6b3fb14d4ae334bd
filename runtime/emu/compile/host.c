/* Programs of the host's, run directly and never by a shell.
 *
 * Which C++ compiler the emulator uses is found and told apart without running it, if it is one that has been
 * run before: what it said then is kept in the disk cache, and holds while its file is as it was. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/env.h"
#include "runtime/emu/emu.h"

/* ---- running programs ---- */

/* With both of its streams going to `out`. */
static int start(pid_t *pid, const char *file, char *const *argv, int out)
{
    char **environment = kn_env_for_programs();
    if (!environment)
        return ENOMEM;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out, 1);
    posix_spawn_file_actions_adddup2(&actions, out, 2);
    int failed = posix_spawn(pid, file, &actions, NULL, argv, environment);
    posix_spawn_file_actions_destroy(&actions);
    free(environment);
    return failed;
}

int kn_emu_run(char *const *argv, char *out, size_t size)
{
    int ends[2];
    char file[PATH_MAX];
    if (!kn_env_find_program(argv[0], file, sizeof file) || pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    pid_t pid;
    int failed = start(&pid, file, argv, ends[1]);
    close(ends[1]);
    size_t len = 0;
    while (!failed) { /* what does not fit is read and dropped, so that the program can end */
        char rest[512];
        bool room = len + 1 < size;
        ssize_t n = read(ends[0], room ? out + len : rest, room ? size - 1 - len : sizeof rest);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        len += room ? (size_t)n : 0;
    }
    out[len] = 0;
    close(ends[0]);
    if (failed)
        return -1;
    int state;
    while (waitpid(pid, &state, 0) < 0)
        if (errno != EINTR)
            return 0; /* somebody else waits for all children; what was to be made shows the outcome */
    return WIFEXITED(state) ? WEXITSTATUS(state) : 128;
}

/* ---- the compiler ---- */

/* "g++: /usr/bin/x86_64-linux-gnu-g++-12, 1234 bytes, ..." */
static bool describe_file(const char *program, char *text, size_t size)
{
    char file[PATH_MAX], real[PATH_MAX];
    struct stat st;
    if (!kn_env_find_program(program, file, sizeof file) || !realpath(file, real) ||
        stat(real, &st) != 0)
        return false;
    int n = snprintf(text, size, "%s: %s, %llx:%llx %lld bytes, changed %lld.%09ld", program, real,
                     (unsigned long long)st.st_dev, (unsigned long long)st.st_ino,
                     (long long)st.st_size, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
    return n > 0 && (size_t)n < size;
}

/* What the program says to --version. */
static bool ask(kn_emu *dev, const char *program, const char *file, char *version, size_t size)
{
    char key[sizeof dev->compiler.file + 64];
    kn_disk_value value;
    int n = snprintf(key, sizeof key, "what a compiler says to --version\n%s\n", file);
    const kn_bytes_view k = {key, (size_t)n};
    if (dev->base.disk && kn_disk_find(dev->base.disk, k, &value)) {
        bool fits = value.bytes.size < size;
        if (fits) {
            memcpy(version, value.bytes.data, value.bytes.size);
            version[value.bytes.size] = '\0';
        }
        kn_disk_release(dev->base.disk, &value);
        if (fits)
            return true;
    }
    char *argv[] = {(char *)program, "--version", NULL};
    __atomic_fetch_add(&dev->base.compiler_calls, 1, __ATOMIC_RELAXED);
    if (kn_emu_run(argv, version, size) != 0)
        return false;
    if (dev->base.disk)
        kn_disk_store(dev->base.disk, k, (kn_bytes_view){version, strlen(version)}, 0);
    return true;
}

static bool answers(kn_emu *dev, const char *program)
{
    kn_emu_compiler *c = &dev->compiler;
    if (!program || strlen(program) >= sizeof c->program ||
        !describe_file(program, c->file, sizeof c->file) ||
        !ask(dev, program, c->file, c->version, sizeof c->version))
        return false;
    strcpy(c->program, program);
    c->clang = strstr(c->version, "clang") != NULL;
    return true;
}

kn_status kn_emu_find_compiler(kn_emu *dev)
{
    const char *given = kn_env("KILN_CXX");
    if (dev->compiler.program[0])
        return KN_OK;
    if (given)
        return answers(dev, given)
                   ? KN_OK
                   : kn_fail(KN_DEVICE,
                             "the device \"emu\" needs a C++ compiler, and KILN_CXX is "
                             "'%.300s', which cannot be run",
                             given);
    if (answers(dev, kn_env("CXX")) || answers(dev, "g++") || answers(dev, "clang++") ||
        answers(dev, "c++"))
        return KN_OK;
    return kn_fail(
        KN_DEVICE,
        "the device \"emu\" needs a C++ compiler, and there is no g++ or clang++; install "
        "one (apt install g++) or name one in KILN_CXX");
}
