#include "cli/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 8 };

static double element(const kn_cli_array *a, int64_t i)
{
    switch (a->dtype) {
    case KILN_BOOL: return ((const uint8_t *)a->data)[i];
    case KILN_I32: return ((const int32_t *)a->data)[i];
    case KILN_I64: return (double)((const int64_t *)a->data)[i];
    case KILN_F32: return (double)((const float *)a->data)[i];
    case KILN_F64: return ((const double *)a->data)[i];
    case KILN_NO_DTYPE: break;
    }
    return 0;
}

static int64_t integer(const kn_cli_array *a, int64_t i)
{
    return a->dtype == KILN_I64 ? ((const int64_t *)a->data)[i] : (int64_t)element(a, i);
}

/* The shortest decimal that is this element again when read back. */
static void put_element(FILE *f, const kn_cli_array *a, int64_t i)
{
    char text[64];
    double v = element(a, i);
    if (a->dtype == KILN_BOOL) {
        fputs(v != 0 ? "True" : "False", f);
    } else if (a->dtype == KILN_I32 || a->dtype == KILN_I64) {
        fprintf(f, "%lld", (long long)integer(a, i));
    } else if (isnan(v)) {
        fputs("nan", f); /* printf() writes the sign of a NaN */
    } else {
        for (int digits = 1; digits <= 17; digits++) {
            snprintf(text, sizeof text, "%.*g", digits, v);
            if (a->dtype == KILN_F32 ? strtof(text, NULL) == (float)v : strtod(text, NULL) == v)
                break;
        }
        fputs(text, f);
    }
}

static bool is_float(const kn_cli_array *a) { return a->dtype == KILN_F32 || a->dtype == KILN_F64; }

static void put_range(FILE *f, const kn_cli_array *a)
{
    int64_t least = 0, most = 0;
    double sum = 0, low = element(a, 0), high = low;
    for (int64_t i = 0; i < a->count; i++) {
        double v = element(a, i);
        sum += v;
        if (isnan(v)) {
            fputs("  min=nan mean=nan max=nan", f);
            return;
        }
        bool less = is_float(a) ? v < low : integer(a, i) < integer(a, least);
        bool more = is_float(a) ? v > high : integer(a, i) > integer(a, most);
        if (less)
            least = i, low = v;
        if (more)
            most = i, high = v;
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
