#include "bench/speed/speed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *text;
} programs[] = {
#define PROGRAM(name, text) {#name, text},
#define WORKLOAD(where, program, dtype, shapes)
#include "bench/speed/workloads.def"
#undef PROGRAM
#undef WORKLOAD
};

enum { C, G };

const workload workloads[] = {
#define PROGRAM(name, body)
#define WORKLOAD(where, name, type, sizes)                                                         \
    {.on_gpu = where, .program = #name, .dtype = #type, .shapes = sizes},
#include "bench/speed/workloads.def"
#undef PROGRAM
#undef WORKLOAD
};

const int workload_count = sizeof workloads / sizeof *workloads;

static const char *body_of(const char *program)
{
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (strcmp(programs[i].name, program) == 0)
            return programs[i].text;
    return "";
}

void workload_text(const workload *w, const char *dtype, char *text, size_t size)
{
    bool half = strcmp(dtype, "f16") == 0 || strcmp(dtype, "bf16") == 0;
    int n = snprintf(text, size, "def %s", w->program);
    for (const char *p = w->text ? w->text : body_of(w->program); *p && (size_t)n + 1 < size; p++) {
        if (*p != '$') {
            text[n++] = *p;
            continue;
        }
        p++;
        n += snprintf(text + n, size - (size_t)n, "%s", *p == 'A' && half ? "f32" : dtype);
    }
    text[n] = '\0';
}

void workload_name(const workload *w, char *name, size_t size)
{
    const char *first = strchr(w->shapes, '=') + 1;
    int n = snprintf(name, size, "%s%s %s %.*s", w->label ? w->label : "", w->program, w->dtype,
                     (int)strcspn(first, " :"), first);
    for (char *p = name; p < name + n; p++)
        if (*p == ',')
            *p = 'x';
    for (const char *p = strchr(first, ':'); p; p = strchr(p + 1, ':'))
        if (strncmp(p, ":abs", 4) != 0)
            n += snprintf(name + n, size - (size_t)n, " %.*s", (int)strcspn(p, " "), p);
}

/* Compact strides of the shape, changed as `layout` says. */
static void lay_out(array *a, const char *layout, size_t length)
{
    bool swapped = length == 1 && layout[0] == 't' && a->rank >= 2;
    int64_t shape[KILN_MAX_RANK];
    int order[KILN_MAX_RANK]; /* axes from the slowest to the fastest */
    for (int i = 0; i < a->rank; i++)
        order[i] = i;
    if (swapped)
        order[a->rank - 1] = a->rank - 2, order[a->rank - 2] = a->rank - 1;
    for (int i = 0; i < a->rank; i++)
        shape[i] = a->shape[order[i]];
    int64_t step = length == 1 && layout[0] == '2' ? 2 : 1;
    int64_t pad = length == 3 && strncmp(layout, "pad", 3) == 0 ? 64 : 0;
    a->nonnegative = length == 3 && strncmp(layout, "abs", 3) == 0;
    a->offset = length == 3 && strncmp(layout, "off", 3) == 0;
    a->count = step;
    for (int i = a->rank - 1; i >= 0; i--) {
        a->stride[order[i]] = a->count;
        a->count *= shape[i];
        if (i == a->rank - 1)
            a->count += pad;
    }
    a->count += a->offset;
}

bool workload_shape(const workload *w, array *a)
{
    size_t length = strlen(a->io.name);
    for (const char *p = w->shapes; *p; p += strcspn(p, " "), p += *p == ' ') {
        if (strncmp(p, a->io.name, length) != 0 || p[length] != '=')
            continue;
        a->rank = 0;
        char *end = (char *)(uintptr_t)(p + length);
        do {
            a->shape[a->rank++] = strtoll(end + 1, &end, 10);
        } while (*end == ',' && a->rank < KILN_MAX_RANK);
        size_t layout = *end == ':' ? strcspn(end + 1, " ") : 0;
        lay_out(a, end + 1, layout);
        return true;
    }
    return false;
}
