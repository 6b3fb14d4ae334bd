#include "cli/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/number.h"

enum { FEW = 8 };

static const char *at(const kn_cli_array *a, int64_t i)
{
    return (const char *)a->data + (size_t)i * kiln_dtype_size(a->dtype);
}

static double element(const kn_cli_array *a, int64_t i)
{
    return kiln_load_float(a->dtype, at(a, i));
}

static int64_t integer(const kn_cli_array *a, int64_t i)
{
    return kiln_load_int(a->dtype, at(a, i));
}

/* Complex numbers by their real parts, then by their imaginary ones. */
static bool less(const kn_cli_array *a, int64_t i, int64_t j)
{
    if (kn_cli_is_complex(a->dtype)) {
        double x[2], y[2];
        kiln_load_complex(a->dtype, at(a, i), &x[0], &x[1]);
        kiln_load_complex(a->dtype, at(a, j), &y[0], &y[1]);
        return x[0] == y[0] ? x[1] < y[1] : x[0] < y[0];
    }
    if (kn_cli_is_float(a->dtype))
        return element(a, i) < element(a, j);
    return a->dtype == KILN_U64 ? (uint64_t)integer(a, i) < (uint64_t)integer(a, j)
                                : integer(a, i) < integer(a, j);
}

/* Is `text` this float of type t when it is read back? */
static bool reads_back(const char *text, kiln_dtype t, double v)
{
    char memory[8];
    if (t == KILN_F32) /* rounded once */
        return kn_cli_read_f32(text) == (float)v;
    kiln_store_float(t, memory, kn_cli_read(text));
    return kiln_load_float(t, memory) == v;
}

/* The shortest decimal that is v, of type t, again when read back; like Python's, with an exponent from 1e16 on. */
static void put_float(FILE *f, kiln_dtype t, double v, const char *sign)
{
    char text[64];
    if (isnan(v)) { /* printf() writes its sign */
        fprintf(f, "%snan", sign);
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        kn_cli_format(text, sizeof text, "%.*g", digits, v);
        if (reads_back(text, t, v))
            break;
    }
    if (strstr(text, "e+") && fabs(v) < 1e16)
        kn_cli_format(text, sizeof text, "%.0f", v);
    fprintf(f, "%s%s", *text == '-' ? "" : sign, text);
}

/* As Python writes them. */
static void put_complex(FILE *f, const kn_cli_array *a, int64_t i)
{
    const kiln_dtype part = a->dtype == KILN_C64 ? KILN_F32 : KILN_F64;
    double re, im;
    kiln_load_complex(a->dtype, at(a, i), &re, &im);
    fputc('(', f);
    put_float(f, part, re, "");
    put_float(f, part, im, "+");
    fputs("j)", f);
}

static void put_element(FILE *f, const kn_cli_array *a, int64_t i)
{
    double v = element(a, i);
    if (kn_cli_is_complex(a->dtype)) {
        put_complex(f, a, i);
    } else if (a->dtype == KILN_BOOL) {
        fputs(v != 0 ? "True" : "False", f);
    } else if (a->dtype == KILN_U64) {
        fprintf(f, "%llu", (unsigned long long)integer(a, i));
    } else if (!kn_cli_is_float(a->dtype)) {
        fprintf(f, "%lld", (long long)integer(a, i));
    } else {
        put_float(f, a->dtype, v, "");
    }
}

static void put_range(FILE *f, const kn_cli_array *a)
{
    const bool complex = kn_cli_is_complex(a->dtype);
    int64_t least = 0, most = 0;
    double sum = 0, imaginary = 0;
    for (int64_t i = 0; i < a->count; i++) {
        double re, im;
        kiln_load_complex(a->dtype, at(a, i), &re, &im);
        sum += re;
        imaginary += im;
        if (isnan(re) || isnan(im)) {
            fputs("  min=nan mean=nan max=nan", f);
            return;
        }
        if (less(a, i, least))
            least = i;
        if (less(a, most, i))
            most = i;
    }
    double mean = sum / (double)a->count, turned = imaginary / (double)a->count;
    fputs("  min=", f);
    put_element(f, a, least);
    if (isnan(mean) || isnan(turned)) /* inf - inf */
        fputs(" mean=nan max=", f);
    else if (complex)
        kn_cli_print(f, " mean=(%.6g%+.6gj) max=", mean, turned);
    else
        kn_cli_print(f, " mean=%.6g max=", mean);
    put_element(f, a, most);
}

void kn_summary(FILE *f, const char *name, const kn_cli_array *a)
{
    char type[KN_TYPE_TEXT];
    fprintf(f, "%s  %s", name, kn_cli_array_type(a, type));
    if (a->count == 0) {
        fputs("  empty\n", f);
        return;
    }
    put_range(f, a);
    if (a->rank == 0) {
        fputs("  ", f);
        put_element(f, a, 0);
    } else if (a->rank == 1 && a->count <= FEW) {
        for (int64_t i = 0; i < a->count; i++) {
            fputs(i ? ", " : "  [", f);
            put_element(f, a, i);
        }
        fputc(']', f);
    }
    fputc('\n', f);
}
