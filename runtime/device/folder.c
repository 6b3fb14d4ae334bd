/* A folder of temporary files, $TMPDIR/kiln-emulator-XXXXXX: private, of a name that nobody can foresee,
 * and locked with flock() as long as it is in use. What a killed process left is not locked any more, and removed when
 * the next process makes a folder.
 *
 * Making a folder and locking it are two steps. Who removes one holds its lock while doing so; so whoever gets the lock
 * of the folder that it made, and still finds the folder, has it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/env.h"
#include "base/process.h"
#include "runtime/device/folder.h"

#define RANDOM "XXXXXX"

static int open_folder(int at, const char *name)
{
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Is the folder `fd` what `name` still names? */
static bool is_there(int at, const char *name, int fd)
{
    struct stat opened, named;
    return fstat(fd, &opened) == 0 && fstatat(at, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

/* ---- removing ---- */

static void empty(int fd);

/* One pass over the folder; how much it removed. */
static int empty_once(int fd)
{
    _Alignas(struct dirent64) char entries[4096];
    int removed = 0;
    for (ssize_t n; (n = getdents64(fd, entries, sizeof entries)) > 0;)
        for (ssize_t at = 0; at < n;) {
            const struct dirent64 *e = (const void *)(entries + at);
            at += e->d_reclen;
            if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
                continue;
            bool gone = unlinkat(fd, e->d_name, 0) == 0;
            int below = gone ? -1 : open_folder(fd, e->d_name);
            if (below >= 0) {
                empty(below);
                gone = unlinkat(fd, e->d_name, AT_REMOVEDIR) == 0;
            }
            removed += gone;
        }
    return removed;
}

/* Removes what is in the folder, whose descriptor it closes. What cannot be removed stays. Async-signal-safe, so
 * without readdir(). */
static void empty(int fd)
{
    while (empty_once(fd) > 0) /* a folder that changes may be read in part */
        lseek(fd, 0, SEEK_SET);
    close(fd);
}

/* With its lock. */
static void remove_folder(int at, const char *name, int fd)
{
    int again = is_there(at, name, fd) ? open_folder(fd, ".") : -1;
    if (again < 0)
        return;
    empty(again);
    unlinkat(at, name, AT_REMOVEDIR);
}

/* Removes `name` if it is a folder of this user's that no process has locked. */
static void sweep_one(int at, const char *name)
{
    struct stat st;
    int fd = open_folder(at, name);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 077) == 0 &&
        flock(fd, LOCK_EX | LOCK_NB) == 0)
        remove_folder(at, name, fd);
    close(fd); /* and the lock with it */
}

static void sweep(const char *parent, const char *prefix)
{
    DIR *folder = opendir(parent);
    if (!folder)
        return;
    for (struct dirent *e; (e = readdir(folder)) != NULL;)
        if (strncmp(e->d_name, prefix, strlen(prefix)) == 0 &&
            strlen(e->d_name) == strlen(prefix) + strlen(RANDOM))
            sweep_one(dirfd(folder), e->d_name);
    closedir(folder);
}

/* ---- all of this process ---- */

enum { MOST_LISTED = 64 };             /* the rest is left to whoever sweeps next */
static kn_folder *listed[MOST_LISTED]; /* atomic, each */

static void list(kn_folder *f)
{
    f->process = kn_process();
    for (int i = 0; i < MOST_LISTED; i++) {
        kn_folder *none = NULL;
        if (__atomic_compare_exchange_n(&listed[i], &none, f, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
            return;
    }
}

static void unlist(kn_folder *f)
{
    for (int i = 0; i < MOST_LISTED; i++) {
        kn_folder *it = f;
        __atomic_compare_exchange_n(&listed[i], &it, NULL, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
    }
}

void kn_folders_remove(void)
{
    for (int i = 0; i < MOST_LISTED; i++) {
        const kn_folder *f = __atomic_load_n(&listed[i], __ATOMIC_ACQUIRE);
        if (f && f->process == kn_process())
            remove_folder(AT_FDCWD, f->path, f->fd);
    }
}

/* ---- the folder ---- */

/* A new one, locked; false with errno. */
static bool make(kn_folder *f, const char *parent)
{
    enum { TRIES = 8 };
    for (int i = 0; i < TRIES; i++) {
        snprintf(f->path, sizeof f->path, "%s/%s" RANDOM, parent, f->name);
        if (!mkdtemp(f->path))
            return false;
        f->fd = open_folder(AT_FDCWD, f->path);
        if (f->fd < 0) {
            if (errno == ENOENT) /* swept already */
                continue;
            return false;
        }
        while (flock(f->fd, LOCK_EX) != 0 && errno == EINTR)
            ; /* where there are no such locks, nobody sweeps either */
        if (is_there(AT_FDCWD, f->path, f->fd))
            return true;
        close(f->fd);
    }
    errno = EAGAIN;
    return false;
}

kn_status kn_folder_open(kn_folder *f, bool *made)
{
    const char *parent = kn_env_temporary();
    *made = false;
    if (f->path[0] && is_there(AT_FDCWD, f->path, f->fd))
        return KN_OK;
    if (f->path[0]) { /* somebody has removed it */
        unlist(f);
        close(f->fd);
    }
    if (strlen(parent) > KN_FOLDER_PARENT)
        parent = "/tmp";
    sweep(parent, f->name);
    *made = make(f, parent);
    if (*made) {
        list(f);
        return KN_OK;
    }
    f->path[0] = '\0';
    return kn_fail(KN_IO, "temporary files go to '%s', where no folder can be made: %s", parent,
                   strerror(errno));
}

void kn_folder_remove(const char *path)
{
    int fd = open_folder(AT_FDCWD, path);
    if (fd < 0)
        return;
    empty(fd);
    rmdir(path);
}

void kn_folder_close(kn_folder *f)
{
    if (!f->path[0])
        return;
    unlist(f);
    remove_folder(AT_FDCWD, f->path, f->fd);
    close(f->fd);
    f->path[0] = '\0';
}
