#include "cli/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static bool less(const kn_cli_array *a, int64_t i, int64_t j)
{
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
        return strtof(text, NULL) == (float)v;
    kiln_store_float(t, memory, strtod(text, NULL));
    return kiln_load_float(t, memory) == v;
}

/* The shortest decimal that is this element again when read back. */
static void put_element(FILE *f, const kn_cli_array *a, int64_t i)
{
    char text[64];
    double v = element(a, i);
    if (a->dtype == KILN_BOOL) {
        fputs(v != 0 ? "True" : "False", f);
    } else if (a->dtype == KILN_U64) {
        fprintf(f, "%llu", (unsigned long long)integer(a, i));
    } else if (!kn_cli_is_float(a->dtype)) {
        fprintf(f, "%lld", (long long)integer(a, i));
    } else if (isnan(v)) {
        fputs("nan", f); /* printf() writes the sign of a NaN */
    } else {
        for (int digits = 1; digits <= 17; digits++) {
            snprintf(text, sizeof text, "%.*g", digits, v);
            if (reads_back(text, a->dtype, v))
                break;
        }
        fputs(text, f);
    }
}

static void put_range(FILE *f, const kn_cli_array *a)
{
    int64_t least = 0, most = 0;
    double sum = 0;
    for (int64_t i = 0; i < a->count; i++) {
        double v = element(a, i);
        sum += v;
        if (isnan(v)) {
            fputs("  min=nan mean=nan max=nan", f);
            return;
        }
        if (less(a, i, least))
            least = i;
        if (less(a, most, i))
            most = i;
    }
    double mean = sum / (double)a->count;
    fputs("  min=", f);
    put_element(f, a, least);
    if (isnan(mean)) /* inf - inf */
        fputs(" mean=nan max=", f);
    else
        fprintf(f, " mean=%.6g max=", mean);
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
