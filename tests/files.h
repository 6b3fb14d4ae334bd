/* Whole files, for tests: what cannot be read or written ends the test. */
#ifndef KN_TESTS_FILES_H
#define KN_TESTS_FILES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* A file's bytes and a NUL behind them, to be freed. size: NULL, or receives their number. */
static inline char *read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("no file %s", path);
    fseek(f, 0, SEEK_END);
    const size_t n = (size_t)ftell(f);
    rewind(f);
    char *bytes = calloc(1, n + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, n, f), n);
    fclose(f);
    if (size)
        *size = n;
    return bytes;
}

static inline void write_file(const char *path, const char *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

#endif
