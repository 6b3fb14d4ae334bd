#include "cli/text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 64 << 20 }; /* of what is no program, an end may never come */

static int read_stream(FILE *f, const char *path, char **text, kn_err *e)
{
    size_t len = 0, cap = 0;
    do {
        if (cap - len < 2) {
            cap = cap ? cap * 2 : 4096;
            char *more = realloc(*text, cap);
            if (!more)
                return kn_run_error(e, "%s: out of memory", path);
            *text = more;
        }
        size_t n = fread(*text + len, 1, cap - len - 1, f);
        if (memchr(*text + len, '\0', n))
            return kn_usage_error(e, "%s: not a text file", path);
        len += n;
    } while (!feof(f) && !ferror(f) && len <= MOST_BYTES);
    (*text)[len] = '\0';
    if (ferror(f))
        return kn_usage_error(e, "%s: cannot read: %s", path, strerror(errno));
    if (len > MOST_BYTES)
        return kn_usage_error(e, "%s: longer than %d MiB, which no program is", path,
                              MOST_BYTES >> 20);
    return KN_EXIT_OK;
}

int kn_read_text(const char *path, char **text, kn_err *e)
{
    *text = NULL;
    if (strcmp(path, "-") == 0)
        return read_stream(stdin, "<stdin>", text, e);
    FILE *f = fopen(path, "rb");
    if (!f)
        return kn_usage_error(e, "%s: cannot open: %s", path, strerror(errno));
    int status = read_stream(f, path, text, e);
    fclose(f);
    return status;
}

int kn_write_text(const char *path, const char *text, kn_err *e)
{
    FILE *f = fopen(path, "wb");
    bool ok = f && fputs(text, f) >= 0;
    int error = errno;
    if (f && fclose(f) != 0 && ok) {
        ok = false;
        error = errno;
    }
    return ok ? KN_EXIT_OK : kn_run_error(e, "%s: cannot write: %s", path, strerror(error));
}
