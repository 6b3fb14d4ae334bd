#include "runtime/device/host.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/env.h"

/* ---- running programs ---- */

/* With both of its streams going to `out`. A child that may be ended has a process group of its own, so that what it
 * runs ends with it, and takes the signal, which the thread that starts it may block and the application ignore. */
static int start(pid_t *pid, const char *file, char *const *argv, int out, bool group)
{
    char **environment = kn_env_for_programs();
    if (!environment)
        return ENOMEM;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out, 1);
    posix_spawn_file_actions_adddup2(&actions, out, 2);
    if (group) {
        sigset_t none, ending;
        sigemptyset(&none);
        sigemptyset(&ending);
        sigaddset(&ending, SIGTERM);
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setsigdefault(&attributes, &ending);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                                  POSIX_SPAWN_SETSIGDEF);
    }
    int failed = posix_spawn(pid, file, &actions, &attributes, argv, environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    free(environment);
    return failed;
}

/* Puts `to` where `from` is; nowhere if that is not there. With the lock held. */
static void replace(kn_host_children *among, pid_t from, pid_t to)
{
    for (int i = 0; i < KN_HOST_CHILDREN; i++)
        if (among->pids[i] == from) {
            among->pids[i] = to;
            return;
        }
}

/* The same, unless none is to run any more. */
static int start_child(pid_t *pid, const char *file, char *const *argv, int out,
                       kn_host_children *among)
{
    if (!among)
        return start(pid, file, argv, out, false);
    pthread_mutex_lock(&among->lock);
    int failed = among->stopped ? ECANCELED : start(pid, file, argv, out, true);
    if (!failed)
        replace(among, 0, *pid);
    pthread_mutex_unlock(&among->lock);
    return failed;
}

/* Up to size-1 bytes of what comes; what does not fit is read and dropped, so that the program can end. */
static void read_all(int from, char *out, size_t size)
{
    size_t len = 0;
    for (;;) {
        char rest[512];
        bool room = len + 1 < size;
        ssize_t n = read(from, room ? out + len : rest, room ? size - 1 - len : sizeof rest);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        len += room ? (size_t)n : 0;
    }
    out[len] = 0;
}

/* The exit status; 0 where somebody else waits for all children: what was to be made shows the outcome. The number of a
 * child is free for others once it was waited for, so nobody may end it then. */
static int wait_for(pid_t pid, kn_host_children *among)
{
    siginfo_t info;
    int state = 0;
    pid_t done;
    while (among && waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR)
        ;
    if (among)
        pthread_mutex_lock(&among->lock);
    while ((done = waitpid(pid, &state, 0)) < 0 && errno == EINTR)
        ;
    if (among) {
        replace(among, pid, 0);
        pthread_mutex_unlock(&among->lock);
    }
    return done < 0 ? 0 : WIFEXITED(state) ? WEXITSTATUS(state) : 128;
}

int kn_host_run(char *const *argv, char *out, size_t size, kn_host_children *among)
{
    int ends[2];
    char file[PATH_MAX];
    if (!kn_env_find_program(argv[0], file, sizeof file) || pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    pid_t pid;
    int failed = start_child(&pid, file, argv, ends[1], among);
    close(ends[1]);
    out[0] = 0;
    if (!failed)
        read_all(ends[0], out, size);
    close(ends[0]);
    return failed ? -1 : wait_for(pid, among);
}

void kn_host_stop(kn_host_children *among)
{
    pthread_mutex_lock(&among->lock);
    among->stopped = true;
    for (int i = 0; i < KN_HOST_CHILDREN; i++)
        if (among->pids[i])
            kill(-among->pids[i], SIGTERM);
    pthread_mutex_unlock(&among->lock);
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
static bool ask(kn_device *dev, kn_host_compiler *c, const char *program, kn_host_children *among)
{
    char key[sizeof c->file + 64];
    const size_t size = sizeof c->version;
    kn_disk_value value;
    int n = snprintf(key, sizeof key, "what a compiler says to --version\n%s\n", c->file);
    const kn_bytes_view k = {key, (size_t)n};
    if (dev->disk && kn_disk_find(dev->disk, k, &value)) {
        bool fits = value.bytes.size < size;
        if (fits) {
            memcpy(c->version, value.bytes.data, value.bytes.size);
            c->version[value.bytes.size] = '\0';
        }
        kn_disk_release(dev->disk, &value);
        if (fits)
            return true;
    }
    char *argv[] = {(char *)program, "--version", NULL};
    __atomic_fetch_add(&dev->compiler_calls, 1, __ATOMIC_RELAXED);
    if (kn_host_run(argv, c->version, size, among) != 0)
        return false;
    if (dev->disk)
        kn_disk_store(dev->disk, k, (kn_bytes_view){c->version, strlen(c->version)}, 0);
    return true;
}

bool kn_host_answers(kn_device *dev, kn_host_compiler *c, const char *program,
                     kn_host_children *among)
{
    if (!program || strlen(program) >= sizeof c->program ||
        !describe_file(program, c->file, sizeof c->file) || !ask(dev, c, program, among))
        return false;
    strcpy(c->program, program);
    c->clang = strstr(c->version, "clang") != NULL;
    return true;
}
