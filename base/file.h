/* Whole files. What goes beyond the process's limit on file sizes is an error here, EFBIG, and no signal. */
#ifndef KN_BASE_FILE_H
#define KN_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

/* At the descriptor's end; errno says why not. */
bool kn_file_put(int fd, const void *bytes, size_t size);
/* A file of these bytes, made or replaced; errno says why not. */
bool kn_file_write(const char *path, const void *bytes, size_t size);
/* The text of a file of at most `most` bytes, to be released. False: errno says why not; EFBIG where it is longer, EILSEQ
 * where it has a zero byte, which no text has. */
bool kn_file_read(const char *path, size_t most, const kn_allocator *from, char **text);

#endif
