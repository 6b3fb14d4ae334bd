#include "cli/value.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/npy.h"
#include "cli/number.h"

typedef struct reader {
    const kn_cli_value *v;
    const char *p;
    kn_err *e;
} reader;

static int bad(reader *r, const char *expected)
{
    return kn_usage_error(r->e, "%s=%s: expected %s%s%s%s", r->v->name, r->v->text, expected,
                          *r->p ? ", found '" : ", found the end", r->p, *r->p ? "'" : "");
}

static bool take(reader *r, char c)
{
    while (*r->p == ' ')
        r->p++;
    if (*r->p != c)
        return false;
    r->p++;
    return true;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Length of Python's decimal integer or float literal (or inf, nan) at s, with its sign; 0 if none.
 * Without this check strtod() would take hexadecimal floats and "infinity", too. */
static size_t number_length(const char *s, bool *is_float)
{
    const char *p = s;
    if (*p == '+' || *p == '-')
        p++;
    *is_float = true;
    if (strncmp(p, "inf", 3) == 0 || strncmp(p, "nan", 3) == 0)
        return (size_t)(p + 3 - s);
    bool digits = false, point = false, exponent = false;
    for (; is_digit(*p); p++)
        digits = true;
    if (*p == '.')
        for (point = true, p++; is_digit(*p); p++)
            digits = true;
    if (!digits)
        return 0;
    if (*p == 'e' || *p == 'E') {
        const char *q = p + 1;
        if (*q == '+' || *q == '-')
            q++;
        if (is_digit(*q)) {
            exponent = true;
            for (p = q; is_digit(*p); p++) {
            }
        }
    }
    *is_float = point || exponent;
    return (size_t)(p - s);
}

/* "2j", "1-0.5j": false where it is none. The second sign is the one before the last number. */
static bool parse_complex(const char *s, double *re, double *im)
{
    bool is_float;
    *re = 0;
    size_t n = number_length(s, &is_float);
    if (n && (s[n] == '+' || s[n] == '-')) {
        *re = kn_cli_read(s);
        s += n;
        n = number_length(s, &is_float);
    }
    if (!n || (s[n] != 'j' && s[n] != 'J') || s[n + 1])
        return false;
    *im = kn_cli_read(s);
    return true;
}

static int parse_double(reader *r, double *out)
{
    bool is_float;
    take(r, ' ');
    size_t n = number_length(r->p, &is_float);
    if (!n)
        return bad(r, "a number");
    *out = kn_cli_read(r->p);
    r->p += n;
    return KN_EXIT_OK;
}

static int parse_int(reader *r, int64_t *out)
{
    bool is_float;
    take(r, ' ');
    size_t n = number_length(r->p, &is_float);
    if (!n || is_float)
        return bad(r, "an integer");
    errno = 0;
    *out = strtoll(r->p, NULL, 10);
    if (errno)
        return kn_usage_error(r->e, "%s=%s: %.*s does not fit 64 bits", r->v->name, r->v->text,
                              (int)n, r->p);
    r->p += n;
    return KN_EXIT_OK;
}

static int parse_shape(reader *r, kn_cli_array *a)
{
    bool comma = true;
    if (take(r, '(')) /* f32[()], a 0-d array as in a .kiln file */
        return take(r, ')') && take(r, ']') ? KN_EXIT_OK : bad(r, "')]', as in f32[()]");
    while (!take(r, ']')) {
        if (!comma)
            return bad(r, "',' or ']'");
        int64_t extent;
        if (!is_digit(*r->p))
            return bad(r, "a size");
        int status = parse_int(r, &extent);
        if (status)
            return status;
        if (a->rank == KILN_MAX_RANK)
            return kn_usage_error(r->e, "%s=%s: more than %d axes", r->v->name, r->v->text,
                                  KILN_MAX_RANK);
        a->shape[a->rank++] = extent;
        comma = take(r, ',');
    }
    return KN_EXIT_OK;
}

static const char *const dist_names[] = {
    [KN_DIST_NORMAL] = "normal", [KN_DIST_UNIFORM] = "uniform", [KN_DIST_ONES] = "ones",
    [KN_DIST_ZEROS] = "zeros",   [KN_DIST_RANDINT] = "randint",
};

static int parse_bounds(reader *r, kn_dist *d)
{
    int status;
    bool integers = d->kind == KN_DIST_RANDINT;
    if (!take(r, '('))
        return bad(r, "'('");
    if ((status = integers ? parse_int(r, &d->ilo) : parse_double(r, &d->lo)))
        return status;
    if (!take(r, ','))
        return bad(r, "','");
    if ((status = integers ? parse_int(r, &d->ihi) : parse_double(r, &d->hi)))
        return status;
    if (!take(r, ')'))
        return bad(r, "')'");
    if (integers ? d->ilo >= d->ihi : !(d->lo <= d->hi && isfinite(d->hi - d->lo)))
        return kn_usage_error(r->e, "%s=%s: there is nothing between these bounds", r->v->name,
                              r->v->text);
    return KN_EXIT_OK;
}

static int parse_dist(reader *r, kn_cli_value *v)
{
    size_t n = 0;
    while (isalpha((unsigned char)r->p[n]))
        n++;
    int kind = -1;
    for (int i = 0; i < (int)(sizeof dist_names / sizeof *dist_names); i++)
        if (n == strlen(dist_names[i]) && memcmp(r->p, dist_names[i], n) == 0)
            kind = i;
    if (kind < 0)
        return bad(r, "normal, uniform(a,b), ones, zeros or randint(a,b)");
    r->p += n;
    v->dist = (kn_dist){.kind = (kn_dist_kind)kind};
    if (kind == KN_DIST_UNIFORM || kind == KN_DIST_RANDINT) {
        int status = parse_bounds(r, &v->dist);
        if (status)
            return status;
    }
    kiln_dtype t = v->array.dtype;
    bool real = kn_cli_is_float(t);
    if ((!real && (kind == KN_DIST_NORMAL || kind == KN_DIST_UNIFORM)) ||
        (t == KILN_BOOL && kind == KN_DIST_RANDINT))
        return kn_usage_error(r->e, "%s=%s: %s makes no %s", v->name, v->text, dist_names[kind],
                              kiln_dtype_text(t));
    if (kind == KN_DIST_RANDINT && !real &&
        !(kn_cli_holds(t, v->dist.ilo) && kn_cli_holds(t, v->dist.ihi - 1)))
        return kn_usage_error(r->e, "%s=%s: these bounds do not fit %s", v->name, v->text,
                              kiln_dtype_text(t));
    return KN_EXIT_OK;
}

static kiln_dtype find_dtype(const char *text, size_t n)
{
    char word[16];
    if (n == 0 || n >= sizeof word)
        return KILN_NO_DTYPE;
    memcpy(word, text, n);
    word[n] = '\0';
    return kiln_dtype_find(word);
}

static int parse_random(reader *r, kn_cli_value *v)
{
    size_t n = 0;
    while (isalnum((unsigned char)r->p[n]))
        n++;
    kiln_dtype dtype = find_dtype(r->p, n);
    if (dtype == KILN_NO_DTYPE && n && r->p[n] == '[')
        return kn_usage_error(r->e, "%s=%s: there is no element type '%.*s'", v->name, v->text,
                              (int)n, r->p);
    if (dtype == KILN_NO_DTYPE)
        return kn_usage_error(
            r->e, "%s=%s: expected a .npy file, a number, or random data such as f32[32,256]",
            v->name, v->text);
    r->p += n;
    v->kind = KN_VALUE_RANDOM;
    v->array.dtype = dtype;
    v->dist.kind = KN_DIST_NORMAL;
    if (dtype == KILN_BOOL)
        v->dist.kind = KN_DIST_COIN;
    else if (!kn_cli_is_float(dtype))
        v->dist = (kn_dist){.kind = KN_DIST_RANDINT, .ilo = 0, .ihi = 10};
    int status = KN_EXIT_OK;
    if (take(r, '['))
        status = parse_shape(r, &v->array);
    else if (*r->p && *r->p != '@')
        return bad(r, "sizes in brackets after the type, as in f32[32,256]");
    if (!status && take(r, '@'))
        status = parse_dist(r, v);
    if (!status && *r->p)
        status = bad(r, "nothing more");
    return status ? status : kn_cli_array_layout(&v->array, false, v->name, r->e);
}

int kn_cli_value_parse(const char *name, const char *text, kn_cli_value *v, kn_err *e)
{
    *v = (kn_cli_value){.name = name, .text = text};
    reader r = {v, text, e};
    size_t n = strlen(text);
    if (n > 4 && strcmp(text + n - 4, ".npy") == 0) {
        v->kind = KN_VALUE_FILE;
        return KN_EXIT_OK;
    }
    if (strcmp(text, "True") == 0 || strcmp(text, "False") == 0) {
        v->kind = KN_VALUE_BOOL;
        v->i = text[0] == 'T';
        return KN_EXIT_OK;
    }
    bool is_float;
    if (n && number_length(text, &is_float) == n) {
        v->kind = is_float ? KN_VALUE_FLOAT : KN_VALUE_INT;
        v->f = kn_cli_read(text);
        return is_float ? KN_EXIT_OK : parse_int(&r, &v->i);
    }
    if (parse_complex(text, &v->f, &v->im)) {
        v->kind = KN_VALUE_COMPLEX;
        return KN_EXIT_OK;
    }
    return parse_random(&r, v);
}

int kn_cli_value_parse_raw(const char *name, const char *text, kn_cli_value *v, kn_err *e)
{
    size_t n = strcspn(text, ":");
    kiln_dtype typed = text[n] ? find_dtype(text, n) : KILN_NO_DTYPE;
    if (typed == KILN_NO_DTYPE)
        return kn_cli_value_parse(name, text, v, e);
    int status = kn_cli_value_parse(name, text + n + 1, v, e);
    v->typed = typed;
    if (!status && !kn_cli_value_is_number(v))
        status =
            kn_usage_error(e, "%s=%s: expected a number after '%.*s:'", name, text, (int)n, text);
    return status;
}

int kn_cli_value_load(kn_cli_value *v, uint64_t seed, bool shape_only, kn_err *e)
{
    if (kn_cli_value_is_number(v) || v->array.data)
        return KN_EXIT_OK;
    if (v->kind == KN_VALUE_FILE)
        return kn_npy_read(v->text, shape_only, &v->array, e);
    if (shape_only)
        return KN_EXIT_OK;
    int status = kn_cli_array_alloc(&v->array, v->name, e);
    if (!status)
        kn_random_fill(&v->dist, kn_random_key(seed, v->name), &v->array);
    return status;
}

int kn_cli_value_number(const kn_cli_value *v, kiln_dtype dtype, void *out, kn_err *e)
{
    bool is_float = v->kind == KN_VALUE_FLOAT, is_bool = v->kind == KN_VALUE_BOOL;
    const char *type = kiln_dtype_text(dtype);
    if (v->kind == KN_VALUE_COMPLEX && !kn_cli_is_complex(dtype))
        return kn_usage_error(e, "%s is %s, but %s is a complex number", v->name, type, v->text);
    if (dtype == KILN_BOOL) {
        if (!is_bool)
            return kn_usage_error(e, "%s is bool: True or False, not %s", v->name, v->text);
        kiln_store_int(dtype, out, v->i);
    } else if (kn_cli_is_float(dtype)) {
        if (is_bool)
            return kn_usage_error(e, "%s is %s, but %s is a bool", v->name, type, v->text);
        kiln_store_complex(dtype, out, v->f, v->im);
    } else {
        if (is_float || is_bool)
            return kn_usage_error(e, "%s is %s, but %s is %s", v->name, type, v->text,
                                  is_bool ? "a bool" : "a float");
        if (!kn_cli_holds(dtype, v->i))
            return kn_usage_error(e, "%s is %s, which %s does not fit", v->name, type, v->text);
        kiln_store_int(dtype, out, v->i);
    }
    return KN_EXIT_OK;
}

void kn_cli_value_finish(kn_cli_value *v) { kn_cli_array_finish(&v->array); }
