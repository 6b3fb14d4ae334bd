#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
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
