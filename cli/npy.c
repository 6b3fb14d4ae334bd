#include "cli/npy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "elements are little-endian in the files");

enum { MAX_HEADER = 1 << 20 };

/* The first of a type is what is written. NumPy has no bfloat16: ml_dtypes saves it as two raw bytes. */
static const struct {
    const char *descr;
    kiln_dtype dtype;
} descrs[] = {
    {"|b1", KILN_BOOL},      {"|i1", KILN_I8},  {"<i2", KILN_I16},   {"<i4", KILN_I32},
    {"<i8", KILN_I64},       {"|u1", KILN_U8},  {"<u2", KILN_U16},   {"<u4", KILN_U32},
    {"<u8", KILN_U64},       {"<f2", KILN_F16}, {"<V2", KILN_BF16},  {"<f4", KILN_F32},
    {"<f8", KILN_F64},       {"<c8", KILN_C64}, {"<c16", KILN_C128}, {"|V2", KILN_BF16},
    {"bfloat16", KILN_BF16},
};

/* ---- the header: a Python dict of literals -----------------------------------------------------
 */

typedef struct reader {
    const char *path;
    const char *p; /* the text is NUL-terminated */
    kn_err *e;
} reader;

static int bad(reader *r, const char *what)
{
    return kn_usage_error(r->e, "%s: not a valid .npy header: %s", r->path, what);
}

static void skip_space(reader *r)
{
    while (*r->p == ' ' || *r->p == '\t' || *r->p == '\n' || *r->p == '\r')
        r->p++;
}

/* Takes `c` if it is next. */
static bool take(reader *r, char c)
{
    skip_space(r);
    if (*r->p != c)
        return false;
    r->p++;
    return true;
}

/* A quoted string without escapes, which no header of these types needs. */
static bool take_string(reader *r, char *out, size_t size)
{
    skip_space(r);
    char quote = *r->p;
    if (quote != '\'' && quote != '"')
        return false;
    const char *end = strchr(r->p + 1, quote);
    size_t n = end ? (size_t)(end - r->p - 1) : size;
    if (n >= size || memchr(r->p + 1, '\\', n))
        return false;
    memcpy(out, r->p + 1, n);
    out[n] = '\0';
    r->p = end + 1;
    return true;
}

static bool take_word(reader *r, const char *word)
{
    skip_space(r);
    size_t n = strlen(word);
    if (strncmp(r->p, word, n) != 0)
        return false;
    char next = r->p[n];
    if ((next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z') || next == '_')
        return false;
    r->p += n;
    return true;
}

static int read_descr(reader *r, kiln_dtype *dtype)
{
    char descr[64];
    skip_space(r);
    if (*r->p == '[')
        return kn_usage_error(r->e, "%s: structured elements are not supported", r->path);
    if (!take_string(r, descr, sizeof descr))
        return bad(r, "'descr' is no string");
    for (size_t i = 0; i < sizeof descrs / sizeof *descrs; i++)
        if (strcmp(descr, descrs[i].descr) == 0) {
            *dtype = descrs[i].dtype;
            return KN_EXIT_OK;
        }
    if (descr[0] == '>')
        return kn_usage_error(
            r->e, "%s: element type '%s' is big-endian; only little-endian is supported", r->path,
            descr);
    return kn_usage_error(
        r->e,
        "%s: element type '%s' is not supported; the supported ones are "
        "|b1 |i1 <i2 <i4 <i8 |u1 <u2 <u4 <u8 <f2 <f4 <f8 <c8 <c16 and <V2 for bfloat16",
        r->path, descr);
}

static int read_shape(reader *r, kn_cli_array *a)
{
    if (!take(r, '('))
        return bad(r, "'shape' is no tuple");
    bool comma = true;
    while (!take(r, ')')) {
        if (!comma)
            return bad(r, "'shape' lacks a comma or a ')'");
        if (*r->p < '0' || *r->p > '9')
            return bad(r, "'shape' holds something that is no size");
        errno = 0;
        char *end;
        long long extent = strtoll(r->p, &end, 10);
        if (errno)
            return kn_usage_error(r->e, "%s: a size in 'shape' does not fit 63 bits", r->path);
        r->p = end + (*end == 'L'); /* Python 2 wrote long integers as 3L */
        if (a->rank == KILN_MAX_RANK)
            return kn_usage_error(r->e, "%s: more than %d axes", r->path, KILN_MAX_RANK);
        a->shape[a->rank++] = extent;
        comma = take(r, ',');
    }
    if (a->rank == 1 && !comma)
        return bad(r, "'shape' is a number in brackets, not a tuple");
    return KN_EXIT_OK;
}

static int read_dict(reader *r, kn_cli_array *a)
{
    enum { DESCR = 1, ORDER = 2, SHAPE = 4 };
    int seen = 0, status;
    bool fortran = false, comma = true;
    if (!take(r, '{'))
        return bad(r, "no '{'");
    while (!take(r, '}')) {
        char key[64];
        if (!comma)
            return bad(r, "a ',' or '}' is missing");
        if (!take_string(r, key, sizeof key))
            return bad(r, "a key is no string");
        int which = strcmp(key, "descr") == 0           ? DESCR
                    : strcmp(key, "fortran_order") == 0 ? ORDER
                    : strcmp(key, "shape") == 0         ? SHAPE
                                                        : 0;
        if (!which)
            return bad(r, "a key other than descr, fortran_order and shape");
        if (seen & which)
            return bad(r, "a key twice");
        seen |= which;
        if (!take(r, ':'))
            return bad(r, "a ':' is missing");
        status = KN_EXIT_OK;
        if (which == DESCR)
            status = read_descr(r, &a->dtype);
        else if (which == SHAPE)
            status = read_shape(r, a);
        else if (take_word(r, "True"))
            fortran = true;
        else if (!take_word(r, "False"))
            status = bad(r, "'fortran_order' is neither True nor False");
        if (status)
            return status;
        comma = take(r, ',');
    }
    skip_space(r);
    if (*r->p)
        return bad(r, "something follows the '}'");
    if (seen != (DESCR | ORDER | SHAPE))
        return bad(r, "one of descr, fortran_order and shape is missing");
    return kn_cli_array_layout(a, fortran, r->path, r->e);
}

/* ---- the file ----------------------------------------------------------------------------------
 */

static int truncated(const char *path, FILE *f, kn_err *e)
{
    if (ferror(f))
        return kn_usage_error(e, "%s: cannot read: %s", path, strerror(errno));
    return kn_usage_error(e, "%s: truncated in its header", path);
}

/* Reads up to the first element. *offset: where that is. */
static int read_header(const char *path, FILE *f, kn_cli_array *a, size_t *offset, kn_err *e)
{
    unsigned char start[8], length[4] = {0};
    size_t got = fread(start, 1, sizeof start, f);
    if (ferror(f))
        return truncated(path, f, e);
    if (got < 6 || memcmp(start, "\x93NUMPY", 6) != 0)
        return kn_usage_error(e, "%s: not a .npy file", path);
    if (got < 8)
        return truncated(path, f, e);
    if (start[6] < 1 || start[6] > 3 || start[7] != 0)
        return kn_usage_error(e, "%s: .npy version %d.%d is not supported", path, start[6],
                              start[7]);
    size_t nlength = start[6] == 1 ? 2 : 4;
    if (fread(length, 1, nlength, f) != nlength)
        return truncated(path, f, e);
    size_t n =
        length[0] | (size_t)length[1] << 8 | (size_t)length[2] << 16 | (size_t)length[3] << 24;
    if (n > MAX_HEADER)
        return kn_usage_error(e, "%s: a .npy header of %zu bytes is not supported", path, n);
    char *text = malloc(n + 1);
    if (!text)
        return kn_run_error(e, "%s: out of memory", path);
    int status;
    if (fread(text, 1, n, f) != n) {
        status = truncated(path, f, e);
    } else {
        text[n] = '\0';
        reader r = {path, text, e};
        status = strlen(text) == n ? read_dict(&r, a) : bad(&r, "a NUL byte");
    }
    free(text);
    *offset = sizeof start + nlength + n;
    return status;
}

static int wrong_size(const char *path, const kn_cli_array *a, const char *how, kn_err *e)
{
    char type[KN_TYPE_TEXT];
    return kn_usage_error(e, "%s: the file is %s than its %s of %zu bytes", path, how,
                          kn_cli_array_type(a, type), a->bytes);
}

static int read_file(const char *path, FILE *f, bool header_only, kn_cli_array *a, kn_err *e)
{
    size_t offset = 0;
    int status = read_header(path, f, a, &offset, e);
    if (status)
        return status;
    /* Compare sizes before allocating, so that a damaged shape does not ask for all memory. */
    struct stat st;
    if (fstat(fileno(f), &st) == 0 && S_ISREG(st.st_mode)) {
        size_t size = (size_t)st.st_size;
        if (size < offset || size - offset < a->bytes)
            return wrong_size(path, a, "shorter", e);
        if (size - offset > a->bytes)
            return wrong_size(path, a, "longer", e);
    }
    if (header_only)
        return KN_EXIT_OK;
    status = kn_cli_array_alloc(a, path, e);
    if (status)
        return status;
    if (fread(a->data, 1, a->bytes, f) != a->bytes)
        return ferror(f) ? truncated(path, f, e) : wrong_size(path, a, "shorter", e);
    if (fgetc(f) != EOF)
        return wrong_size(path, a, "longer", e);
    if (a->dtype == KILN_BOOL) {
        const unsigned char *b = a->data;
        for (size_t i = 0; i < a->bytes; i++)
            if (b[i] > 1)
                return kn_usage_error(e, "%s: a bool is %d, neither 0 nor 1", path, b[i]);
    }
    return KN_EXIT_OK;
}

int kn_npy_read(const char *path, bool header_only, kn_cli_array *a, kn_err *e)
{
    *a = (kn_cli_array){0};
    FILE *f = fopen(path, "rb");
    if (!f)
        return kn_usage_error(e, "%s: cannot open: %s", path, strerror(errno));
    int status = read_file(path, f, header_only, a, e);
    fclose(f);
    if (status)
        kn_cli_array_finish(a);
    return status;
}

bool kn_npy_write(FILE *f, const kn_cli_array *a)
{
    const char *descr = "";
    for (size_t i = 0; i < sizeof descrs / sizeof *descrs && !*descr; i++)
        if (descrs[i].dtype == a->dtype)
            descr = descrs[i].descr;

    /* NumPy pads with spaces, so that the elements start at a multiple of 64. */
    char text[128 + 24 * KILN_MAX_RANK];
    int n =
        snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (int i = 0; i < a->rank; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%lld%s", i ? " " : "",
                      (long long)a->shape[i], i + 1 < a->rank || a->rank == 1 ? "," : "");
    n += snprintf(text + n, sizeof text - (size_t)n, "), }");
    enum { START = 10, ALIGN = 64 };
    int length = (START + n + 1 + ALIGN - 1) / ALIGN * ALIGN - START;

    unsigned char start[START] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    start[8] = (unsigned char)(length & 255);
    start[9] = (unsigned char)(length >> 8);
    return fwrite(start, 1, START, f) == START &&
           fprintf(f, "%s%*s\n", text, length - n - 1, "") == length &&
           fwrite(a->data, 1, a->bytes, f) == a->bytes;
}
