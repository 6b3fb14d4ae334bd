/* NumPy's .npy files, versions 1 to 3, of the element types that kiln has.
 *
 *     offset  bytes  what
 *     0       6      0x93 "NUMPY"
 *     6       2      version: major, minor (0)
 *     8       2 | 4  header length, little-endian; 2 bytes in version 1
 *             ...    {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }  spaces, newline
 *             ...    the elements
 */
#ifndef KN_CLI_NPY_H
#define KN_CLI_NPY_H

#include <stdio.h>

#include "cli/array.h"

/* Reads the file at `path`; with header_only its elements are not read, but their number is checked
 * where the file's size is known. A column-major file gives column-major strides. On failure *a
 * holds nothing. Everything that is wrong with a file is a usage error that names it. */
int kn_npy_read(const char *path, bool header_only, kn_cli_array *a, kn_err *e);

/* Writes a compact array as version 1. False, with errno, when writing failed. */
bool kn_npy_write(FILE *f, const kn_cli_array *a);

#endif
