/* The environment. It is read here and nowhere else, and docs/process.md lists what is read: tests/environment.sh holds
 * both. A privileged program, one that runs with more rights than who started it (setuid), believes none of it. */
#ifndef KN_BASE_ENV_H
#define KN_BASE_ENV_H

#include <stdbool.h>
#include <stddef.h>

/* A variable; NULL where it is not set, is empty, or the program is privileged. */
const char *kn_env(const char *name);
bool kn_env_privileged(void);

/* The folder for temporary files: $TMPDIR where that is an absolute path, else /tmp. */
const char *kn_env_temporary(void);

/* The executable file that `program` means: itself if there is a slash in it, else the first of that name in $PATH. */
bool kn_env_find_program(const char *program, char *file, size_t size);
/* What programs that are started inherit, but that they speak English: a list to be freed, up to a NULL. NULL: no
 * memory. */
char **kn_env_for_programs(void);

#endif
