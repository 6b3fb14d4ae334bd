#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* A write beyond this limit would end the process by a signal. */
static bool allowed(size_t size)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
        (limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur))
        return true;
    errno = EFBIG;
    return false;
}

bool kn_file_put(int fd, const void *bytes, size_t size)
{
    const char *from = bytes;
    if (!allowed(size))
        return false;
    while (size > 0) {
        ssize_t n = write(fd, from, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        from += n;
        size -= (size_t)n;
    }
    return true;
}

bool kn_file_write(const char *path, const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    bool good = kn_file_put(fd, bytes, size);
    int why = errno;
    good = close(fd) == 0 && good;
    errno = why;
    return good;
}

/* As much as there is room for. False: errno says why not. */
static bool take(int fd, char *to, size_t room, size_t *got)
{
    for (*got = 0; *got < room;) {
        ssize_t n = read(fd, to + *got, room - *got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0;
        *got += (size_t)n;
    }
    return true;
}

/* Into memory of most + 1 bytes. */
static bool read_text(const char *path, size_t most, char *text)
{
    size_t size;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool good = take(fd, text, most + 1, &size);
    int why = errno;
    close(fd);
    if (good && size > most)
        good = false, why = EFBIG;
    if (good && memchr(text, '\0', size))
        good = false, why = EILSEQ;
    if (good)
        text[size] = '\0';
    errno = why;
    return good;
}

bool kn_file_read(const char *path, size_t most, const kn_allocator *from, char **text)
{
    *text = from->alloc(from->user, most + 1);
    if (!*text) {
        errno = ENOMEM;
        return false;
    }
    if (read_text(path, most, *text))
        return true;
    int why = errno;
    from->release(from->user, *text);
    *text = NULL;
    errno = why;
    return false;
}
