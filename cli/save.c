#include "cli/save.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/ending.h"
#include "cli/npy.h"
#include "cli/summary.h"

typedef struct file {
    char *volatile temp; /* NULL once renamed */
    char *path;
} file;

/* What a signal that ends the program must not leave behind. */
static struct {
    file *files;
    int n;
    const char *dir; /* NULL: it was there before */
} unfinished;

static void leave_nothing(void)
{
    for (int i = 0; i < unfinished.n; i++)
        if (unfinished.files[i].temp)
            unlink(unfinished.files[i].temp);
    if (unfinished.dir)
        rmdir(unfinished.dir); /* unless something is in it */
}

static char *join(const char *dir, const char *before, const char *name, const char *after)
{
    size_t size = strlen(dir) + strlen(before) + strlen(name) + strlen(after) + 2;
    char *path = malloc(size);
    if (path)
        snprintf(path, size, "%s/%s%s%s", dir, before, name, after);
    return path;
}

static int cannot_write(const char *path, kn_err *e)
{
    return kn_run_error(e, "%s: cannot write: %s", path, strerror(errno));
}

static int write_temp(file *f, const char *dir, const char *name, const kn_cli_array *a, kn_err *e)
{
    f->path = join(dir, "", name, ".npy");
    char *temp = join(dir, ".", name, ".npy.XXXXXX");
    if (!f->path || !temp) {
        free(temp);
        return kn_run_error(e, "out of memory");
    }
    struct stat st;
    if (stat(f->path, &st) == 0 && S_ISDIR(st.st_mode)) {
        free(temp);
        errno = EISDIR; /* found now, because rename() would find it too late */
        return cannot_write(f->path, e);
    }
    f->temp = temp; /* before there is such a file, so that no signal leaves it behind */
    int fd = mkstemp(temp);
    if (fd < 0) {
        f->temp = NULL;
        free(temp);
        return cannot_write(f->path, e);
    }
    mode_t mask = umask(0);
    umask(mask);
    fchmod(fd, 0666 & ~mask); /* mkstemp() made it private */
    FILE *stream = fdopen(fd, "wb");
    if (!stream) {
        close(fd);
        return cannot_write(f->path, e);
    }
    bool ok = kn_npy_write(stream, a);
    int error = errno;
    if (fclose(stream) != 0 && ok) {
        ok = false;
        error = errno;
    }
    errno = error;
    return ok ? KN_EXIT_OK : cannot_write(f->path, e);
}

static int rename_temp(file *f, kn_err *e)
{
    if (rename(f->temp, f->path) != 0)
        return cannot_write(f->path, e);
    char *temp = f->temp;
    f->temp = NULL;
    free(temp);
    return KN_EXIT_OK;
}

int kn_save(const char *dir, const char *const *names, const kn_cli_array *const *arrays, int n,
            kn_err *e)
{
    bool made = mkdir(dir, 0777) == 0;
    if (!made && errno != EEXIST)
        return kn_run_error(e, "%s: cannot make this directory: %s", dir, strerror(errno));
    file *files = calloc((size_t)n + 1, sizeof *files);
    if (!files)
        return kn_run_error(e, "out of memory");
    unfinished.files = files;
    unfinished.n = n;
    unfinished.dir = made ? dir : NULL;
    kn_ending_first(leave_nothing);
    int status = KN_EXIT_OK, renamed = 0;
    for (int i = 0; i < n && !status; i++)
        status = write_temp(&files[i], dir, names[i], arrays[i], e);
    while (renamed < n && !status) {
        status = rename_temp(&files[renamed], e);
        renamed += !status;
    }
    for (int i = 0; i < n; i++) {
        if (status && i < renamed)
            unlink(files[i].path);
        if (files[i].temp)
            unlink(files[i].temp);
    }
    kn_ending_first(NULL);
    for (int i = 0; i < n; i++) {
        free(files[i].temp);
        free(files[i].path);
    }
    free(files);
    if (status && made)
        rmdir(dir);
    return status;
}

int kn_deliver(const char *dir, const char *const *names, const kn_cli_array *const *arrays, int n,
               kn_err *e)
{
    if (dir)
        return kn_save(dir, names, arrays, n, e);
    for (int i = 0; i < n; i++)
        kn_summary(stdout, names[i], arrays[i]);
    return KN_EXIT_OK;
}
