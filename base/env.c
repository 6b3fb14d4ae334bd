#include "base/env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

const char *kn_env(const char *name)
{
    const char *value = secure_getenv(name);
    return value && value[0] ? value : NULL;
}

bool kn_env_privileged(void) { return getauxval(AT_SECURE) != 0; }

const char *kn_env_temporary(void)
{
    const char *given = kn_env("TMPDIR");
    return given && given[0] == '/' ? given : "/tmp";
}

static bool is_program(const char *file)
{
    struct stat st;
    return access(file, X_OK) == 0 && stat(file, &st) == 0 && S_ISREG(st.st_mode);
}

bool kn_env_find_program(const char *program, char *file, size_t size)
{
    if (strchr(program, '/'))
        return snprintf(file, size, "%s", program) < (int)size && is_program(file);
    const char *path = kn_env("PATH");
    for (const char *s = path ? path : "/bin:/usr/bin"; s; s = *s ? s + 1 : NULL) {
        int n = (int)strcspn(s, ":");
        if (snprintf(file, size, "%.*s%s%s", n, s, n ? "/" : "./", program) < (int)size &&
            is_program(file))
            return true;
        s += n;
    }
    return false;
}

char **kn_env_for_programs(void)
{
    size_t n = 0, kept = 0;
    while (environ && environ[n])
        n++;
    char **list = malloc((n + 2) * sizeof *list);
    if (!list)
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (strncmp(environ[i], "LC_ALL=", 7) != 0)
            list[kept++] = environ[i];
    list[kept++] = (char *)"LC_ALL=C";
    list[kept] = NULL;
    return list;
}
