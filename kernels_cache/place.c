#include "kernels_cache/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/env.h"

/* ---- which ---- */

static bool reason(char path[KN_PLACE_PATH], const char *why)
{
    snprintf(path, KN_PLACE_PATH, "%s", why);
    return false;
}

/* folder + below, without slashes at the end: behind one, a link would be followed. */
static bool join(char path[KN_PLACE_PATH], const char *folder, const char *below)
{
    size_t n = strlen(folder);
    while (n > 1 && folder[n - 1] == '/')
        n--;
    if (n + strlen(below) >= KN_PLACE_PATH)
        return reason(path, "the directory's name is too long");
    memmove(path, folder, n);
    strcpy(path + n, below);
    return true;
}

bool kn_place_choose(const char *given, char path[KN_PLACE_PATH])
{
    const char *off = kn_env("KILN_CACHE"), *own = kn_env("KILN_CACHE_DIR"),
               *cache = kn_env("XDG_CACHE_HOME"), *home = kn_env("HOME");
    if (off && strcmp(off, "off") == 0)
        return reason(path, "KILN_CACHE is off");
    if (given)
        return given[0] ? join(path, given, "") : reason(path, "the program turned it off");
    if (own)
        return join(path, own, "");
    if (cache && cache[0] == '/') /* the XDG specification: relative names are to be ignored */
        return join(path, cache, "/kiln");
    if (home && home[0] == '/')
        return join(path, home, "/.cache/kiln");
    return reason(path, "there is no KILN_CACHE_DIR, XDG_CACHE_HOME or HOME");
}

/* ---- safely ---- */

static bool ours_alone(const struct stat *st)
{
    return st->st_uid == geteuid() && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

static void make_all(const char *path)
{
    char part[KN_PLACE_PATH];
    size_t n = strlen(path);
    if (n >= sizeof part)
        return;
    for (size_t i = 1; i <= n; i++)
        if (path[i] == '/' || i == n) {
            memcpy(part, path, i);
            part[i] = '\0';
            mkdir(part, S_IRWXU); /* a failure shows when the directory is opened */
        }
}

kn_place_state kn_place_open(const char *path, bool create, int *fd)
{
    const int how = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int dir = open(path, how);
    if (dir < 0 && errno == ENOENT && create) {
        make_all(path);
        dir = open(path, how);
    }
    if (dir < 0) {
        struct stat link;
        if (errno == ENOENT)
            return KN_PLACE_ABSENT;
        int why = errno;
        bool is_link = lstat(path, &link) == 0 && S_ISLNK(link.st_mode);
        errno = why;
        return is_link ? KN_PLACE_UNSAFE : KN_PLACE_UNUSABLE;
    }
    struct stat st;
    if (fstat(dir, &st) != 0 || !ours_alone(&st)) {
        close(dir);
        return KN_PLACE_UNSAFE;
    }
    *fd = dir;
    return KN_PLACE_OPEN;
}

kn_place_state kn_place_open_file(int dir, const char *name, kn_place_file *file)
{
    /* O_NONBLOCK: what is no plain file must not keep us waiting either. */
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT  ? KN_PLACE_ABSENT
               : errno == ELOOP ? KN_PLACE_UNSAFE
                                : KN_PLACE_UNUSABLE;
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || !ours_alone(&st)) {
        close(fd);
        return KN_PLACE_UNSAFE;
    }
    *file = (kn_place_file){fd, (size_t)st.st_size,
                            (long long)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec};
    return KN_PLACE_OPEN;
}
