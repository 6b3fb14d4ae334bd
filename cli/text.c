#include "cli/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
        len += fread(*text + len, 1, cap - len - 1, f);
    } while (!feof(f) && !ferror(f));
    (*text)[len] = '\0';
    if (ferror(f))
        return kn_usage_error(e, "%s: cannot read: %s", path, strerror(errno));
    if (strlen(*text) != len)
        return kn_usage_error(e, "%s: not a text file", path);
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
