/* Where compiled kernels are kept on disk: which directory that is, and opening it only if it is safe.
 *
 * Safe means: a directory itself and no symbolic link to one, owned by the effective user, and writable by
 * nobody else. What is made here has mode 0700. Nothing is remembered: a directory is looked at anew each
 * time it is opened, and what happens in it goes by the descriptor, not by the name. */
#ifndef KN_KERNELS_CACHE_PLACE_H
#define KN_KERNELS_CACHE_PLACE_H

#include <stdbool.h>
#include <stddef.h>

enum { KN_PLACE_PATH = 4096 };

/* The directory, in this order: `given` ("" is none at all), $KILN_CACHE_DIR, $XDG_CACHE_HOME/kiln,
 * $HOME/.cache/kiln; none with KILN_CACHE=off, or where the environment is not to be trusted and `given` is
 * NULL. False: none; `path` then holds the reason in words. */
bool kn_place_choose(const char *given, char path[KN_PLACE_PATH]);

typedef enum kn_place_state {
    KN_PLACE_OPEN,
    KN_PLACE_ABSENT,  /* not there */
    KN_PLACE_UNSAFE,  /* a link, somebody else's, or others may write to it */
    KN_PLACE_UNUSABLE /* errno says why */
} kn_place_state;

/* Opens the directory, after making it and those above it if `create`. */
kn_place_state kn_place_open(const char *path, bool create, int *fd);

/* Opens a file of ours in the directory for reading, if it is a plain file, the user's, and writable by
 * nobody else. Also gives its size and time of last use (nanoseconds since 1970). */
typedef struct kn_place_file {
    int fd;
    size_t size;
    long long used;
} kn_place_file;
kn_place_state kn_place_open_file(int dir, const char *name, kn_place_file *file);

#endif
