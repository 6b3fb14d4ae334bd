/* Text files that the command reads and writes. */
#ifndef KN_CLI_TEXT_H
#define KN_CLI_TEXT_H

#include "cli/error.h"

/* Reads the file at `path` ("-" is standard input, which messages call <stdin>). *text is malloc'ed, to
 * be freed on failure, too. */
int kn_read_text(const char *path, char **text, kn_err *e);
/* Writes a text as the file at `path`. */
int kn_write_text(const char *path, const char *text, kn_err *e);

#endif
