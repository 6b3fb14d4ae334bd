/* The emulator's folder of temporary files, $TMPDIR/kiln-emulator-XXXXXX: private, of a name that nobody can foresee, and
 * locked with flock() as long as it is in use. What a killed process left is not locked any more, and removed when the next
 * process makes a folder.
 *
 * Making a folder and locking it are two steps. Who removes one holds its lock while doing so; so whoever gets the lock of
 * the folder that it made, and still finds the folder, has it. */
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
#include "runtime/emu/folder.h"

#define NAME "kiln-emulator-"
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

/* Removes what is in the folder, whose descriptor it closes. What cannot be removed stays. */
static void empty(int fd)
{
    DIR *folder = fdopendir(fd);
    if (!folder) {
        close(fd);
        return;
    }
    for (struct dirent *e; (e = readdir(folder)) != NULL;) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            unlinkat(fd, e->d_name, 0) == 0)
            continue;
        int below = open_folder(fd, e->d_name);
        if (below < 0)
            continue;
        empty(below);
        unlinkat(fd, e->d_name, AT_REMOVEDIR);
    }
    closedir(folder);
}

/* With its lock, which goes with the descriptor: last. */
static void remove_locked(int at, const char *name, int fd)
{
    int again = is_there(at, name, fd) ? open_folder(fd, ".") : -1;
    if (again >= 0) {
        empty(again);
        unlinkat(at, name, AT_REMOVEDIR);
    }
    close(fd);
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
        remove_locked(at, name, fd);
    else
        close(fd);
}

static void sweep(const char *parent)
{
    DIR *folder = opendir(parent);
    if (!folder)
        return;
    for (struct dirent *e; (e = readdir(folder)) != NULL;)
        if (strncmp(e->d_name, NAME, strlen(NAME)) == 0 && strlen(e->d_name) == strlen(NAME RANDOM))
            sweep_one(dirfd(folder), e->d_name);
    closedir(folder);
}

/* ---- the folder ---- */

/* A new one, locked; false with errno. */
static bool make(kn_emu_folder *f, const char *parent)
{
    enum { TRIES = 8 };
    for (int i = 0; i < TRIES; i++) {
        snprintf(f->path, sizeof f->path, "%s/" NAME RANDOM, parent);
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

kn_status kn_emu_folder_open(kn_emu_folder *f, bool *made)
{
    const char *parent = kn_env_temporary();
    *made = false;
    if (f->path[0] && is_there(AT_FDCWD, f->path, f->fd))
        return KN_OK;
    if (f->path[0]) /* somebody has removed it */
        close(f->fd);
    if (strlen(parent) > KN_EMU_PARENT)
        parent = "/tmp";
    sweep(parent);
    *made = make(f, parent);
    if (*made)
        return KN_OK;
    f->path[0] = '\0';
    return kn_fail(KN_IO, "the device \"emu\" works in '%s', where no folder can be made: %s",
                   parent, strerror(errno));
}

void kn_emu_folder_remove(const char *path)
{
    int fd = open_folder(AT_FDCWD, path);
    if (fd < 0)
        return;
    empty(fd);
    rmdir(path);
}

void kn_emu_folder_close(kn_emu_folder *f)
{
    if (f->path[0])
        remove_locked(AT_FDCWD, f->path, f->fd);
    f->path[0] = '\0';
}
