/* Workloads drawn from the grammar of grammar.def: of a seed and an index the same ones in any process, as all of it is
 * arithmetic of integers. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/speed/speed.h"

typedef struct rule {
    const char *name;
    int weight;
    const char *spaces, *text;
} rule;

static const rule rules[] = {
#define SPACE(name, dims, axis, each, index, sizes)
#define DRAWN(name, weight, spaces, text) {#name, weight, spaces, text},
#define ALT(name, weight, text) {#name, weight, NULL, text},
#include "bench/speed/grammar.def"
#undef SPACE
#undef DRAWN
#undef ALT
};

static const struct space {
    const char *name, *dims, *axis, *each, *index, *sizes;
} spaces[] = {
#define SPACE(name, dims, axis, each, index, sizes) {#name, dims, axis, each, index, sizes},
#define DRAWN(name, weight, spaces, text)
#define ALT(name, weight, text)
#include "bench/speed/grammar.def"
#undef SPACE
#undef DRAWN
#undef ALT
};

enum {
    RULES = sizeof rules / sizeof *rules,
    SPACES = sizeof spaces / sizeof *spaces,
    LETTERS = 26,
    PADDED = 64, /* rows that short have no gap between them */
    LEFT = 4     /* times as many elements as a dimension has are left for those behind it */
};

typedef struct input {
    char name[16], type[8], dims[32];
    bool nonnegative;
} input;

typedef struct drawing {
    drawn *to;
    uint64_t state;
    const struct space *space;
    const char *dtype;
    input inputs[MAX_ARRAYS];
    int n, whole;        /* inputs; outputs of the size of the space */
    char body[MAX_TEXT]; /* of the program, but for its return */
    char outputs[128];
    int64_t sizes[LETTERS]; /* of the dimensions */
} drawing;

/* ---- numbers ---- */

/* Less than n, for n below 2^32. */
static int64_t below(drawing *d, int64_t n)
{
    d->state += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
    uint64_t z = (d->state ^ (d->state >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (int64_t)(((z ^ (z >> 31)) >> 32) * (uint64_t)n >> 32);
}

static bool chance(drawing *d, int percent) { return below(d, 100) < percent; }

/* 2^(l / 65536), within 1 in 300. */
static int64_t power_of_two(int64_t l)
{
    int64_t f = l & 0xffff, more = f * (43021 + (22515 * f >> 16)) >> 16;
    return ((65536 + more) << (l >> 16)) >> 16;
}

static int64_t log_of_two(int64_t x)
{
    int64_t l = 0;
    for (int64_t step = INT64_C(32) << 16; step; step /= 2)
        if (power_of_two(l + step) <= x)
            l += step;
    return l;
}

/* Log-uniform from lo to hi. */
static int64_t between(drawing *d, int64_t lo, int64_t hi)
{
    int64_t least = log_of_two(lo), most = log_of_two(hi);
    return most <= least ? lo : power_of_two(least + below(d, most - least));
}

/* An extent of about n: odd, or with two digits or three in binary that are not 0 at its end. */
static int64_t extent(drawing *d, int64_t n)
{
    if (n < 4)
        return n < 1 ? 1 : n;
    if (chance(d, 50))
        return n | 1;
    int keep = 2 + (int)below(d, 2), bits = 0;
    while (n >> bits)
        bits++;
    int zeros = bits > keep ? bits - keep : 0;
    return n >> zeros << zeros;
}

/* ---- texts ---- */

static void put(char *to, size_t size, const char *text, size_t length)
{
    size_t n = strlen(to);
    snprintf(to + n, size - n, "%.*s", (int)length, text);
}

static const rule *choose(drawing *d, const char *name, size_t length)
{
    int64_t sum = 0, at;
    for (int pass = 0; pass < 2; pass++) {
        at = pass ? below(d, sum) : 0;
        for (int i = 0; i < RULES; i++) {
            const rule *r = &rules[i];
            bool fits =
                name ? !r->spaces && strlen(r->name) == length && memcmp(r->name, name, length) == 0
                     : r->spaces != NULL;
            if (fits && !pass)
                sum += r->weight;
            else if (fits && (at -= r->weight) < 0)
                return r;
        }
    }
    fprintf(stderr, "speed: the grammar has no <%.*s>\n", (int)length, name);
    exit(3);
}

/* What a capital stands for; NULL for another rule. */
static const char *of_space(drawing *d, const char *name, size_t length)
{
    if (length != 1)
        return NULL;
    switch (*name) {
    case 'D': return d->space->dims;
    case 'A': return d->space->axis;
    case 'E': return d->space->each;
    case 'I': return d->space->index;
    case 'P': return strcmp(d->dtype, "f16") != 0 && chance(d, 50) ? "$T" : "$A";
    default: return NULL;
    }
}

/* Replaces rules until there is none. */
static void expand(drawing *d, const char *text, char *to, size_t size)
{
    while (*text) {
        size_t plain = strcspn(text, "<");
        /* "<x>" is a rule, "a < 1" a comparison */
        if (text[plain] && !islower((unsigned char)text[plain + 1]) &&
            !isupper((unsigned char)text[plain + 1]))
            plain++;
        put(to, size, text, plain);
        text += plain;
        if (*text != '<')
            continue;
        size_t length = strcspn(++text, ">");
        const char *known = of_space(d, text, length);
        if (known)
            put(to, size, known, strlen(known));
        else
            expand(d, choose(d, text, length)->text, to, size);
        text += length + 1;
    }
}

/* "{x: $T[N, C]:abs}", of which `text` begins behind the brace, becomes an input unless it is one. */
static const char *declare(drawing *d, const char *text)
{
    input in = {0};
    size_t name = strcspn(text, ":"), type = strcspn(text + name + 2, "[");
    const char *dims = text + name + 2 + type + 1, *end = strchr(dims, ']');
    put(in.name, sizeof in.name, text, name);
    put(in.type, sizeof in.type, text + name + 2, type);
    put(in.dims, sizeof in.dims, dims, (size_t)(end - dims));
    in.nonnegative = strncmp(end, "]:abs", 5) == 0;
    put(d->body, sizeof d->body, in.name, name);
    int i = 0;
    while (i < d->n && strcmp(d->inputs[i].name, in.name) != 0)
        i++;
    if (i == d->n && d->n < MAX_ARRAYS)
        d->inputs[d->n++] = in;
    return strchr(end, '}') + 1;
}

/* Takes inputs and outputs out of the text; the rest is the body. */
static void collect(drawing *d, const char *text)
{
    static const char returns[] = "    return";
    while (*text) {
        if (strncmp(text, returns, sizeof returns - 1) == 0) {
            text += sizeof returns - 1;
            d->whole += *text == '+';
            text += *text == '+' ? 2 : 1;
            size_t length = strcspn(text, "\n");
            put(d->outputs, sizeof d->outputs, ", ", d->outputs[0] ? 2 : 0);
            put(d->outputs, sizeof d->outputs, text, length);
            text += length + 1;
            continue;
        }
        for (; *text && *text != '\n'; text++)
            if (*text == '{')
                text = declare(d, text + 1) - 1;
            else
                put(d->body, sizeof d->body, text, 1);
        put(d->body, sizeof d->body, "\n", *text == '\n');
        text += *text == '\n';
    }
}

static void put_program(drawing *d)
{
    char *to = d->to->text;
    size_t size = sizeof d->to->text;
    put(to, size, "(", 1);
    for (int i = 0; i < d->n; i++) {
        size_t n = strlen(to);
        snprintf(to + n, size - n, "%s%s: %s[%s]", i ? ", " : "", d->inputs[i].name,
                 d->inputs[i].type, d->inputs[i].dims);
    }
    put(to, size, "):\n", 3);
    put(to, size, d->body, strlen(d->body));
    put(to, size, "    return ", 11);
    put(to, size, d->outputs, strlen(d->outputs));
    put(to, size, "\n", 1);
}

/* ---- sizes and layouts ---- */

static int64_t type_bytes(const drawing *d, const char *type)
{
    const char *at = *type == '$' ? d->dtype : type;
    bool wide = strcmp(type, "$A") == 0 && strcmp(at, "f64") != 0;
    if (wide)
        return 4;
    at += strcspn(at, "0123456789");
    return *at ? atoi(at) / 8 : 1;
}

/* Bytes for each element of the space. */
static int64_t element_bytes(const drawing *d)
{
    int64_t bytes = d->whole * type_bytes(d, "$T");
    for (int i = 0; i < d->n; i++)
        if (strcmp(d->inputs[i].dims, d->space->dims) == 0)
            bytes += type_bytes(d, d->inputs[i].type);
    return bytes;
}

/* The dimensions of a space of so many elements. */
static void draw_sizes(drawing *d, int64_t elements)
{
    for (const char *p = d->space->sizes; *p; p += strcspn(p, " "), p += *p == ' ') {
        int64_t *size = &d->sizes[*p - 'A'], left = elements > 1 ? elements : 1;
        if (p[1] != '=')
            *size = extent(d, left);
        else if (isupper((unsigned char)p[2]))
            *size = d->sizes[p[2] - 'A'];
        else {
            char *end;
            int64_t lo = strtoll(p + 2, &end, 10), hi = strtoll(end + 1, NULL, 10);
            *size = extent(d, between(d, lo, hi < left / LEFT ? hi : left / LEFT));
        }
        elements /= *size;
    }
}

static const char *draw_layout(drawing *d, const input *in)
{
    bool is_table = strchr(in->dims, ',') != NULL;
    char last = in->dims[strlen(in->dims) - 1];
    int64_t at = below(d, 100);
    if (strcmp(in->dims, d->space->dims) != 0)
        return at < 5 ? ":off" : "";
    if (at < 8)
        return is_table ? ":t" : ":off";
    if (at < 16)
        return is_table && d->sizes[last - 'A'] >= PADDED ? ":pad" : ":2";
    return at < 22 ? ":2" : at < 32 ? ":off" : "";
}

/* "x=16,32:t gamma=32" */
static void put_shapes(drawing *d)
{
    char *to = d->to->shapes;
    size_t size = sizeof d->to->shapes;
    for (int i = 0; i < d->n; i++) {
        const input *in = &d->inputs[i];
        size_t n = strlen(to);
        snprintf(to + n, size - n, "%s%s=", i ? " " : "", in->name);
        for (const char *p = in->dims; *p; p++) {
            n = strlen(to);
            if (isupper((unsigned char)*p))
                snprintf(to + n, size - n, "%lld", (long long)d->sizes[*p - 'A']);
            else if (*p != ' ')
                put(to, size, p, 1);
        }
        const char *layout = in->nonnegative ? ":abs" : draw_layout(d, in);
        put(to, size, layout, strlen(layout));
    }
}

static const struct space *draw_space(drawing *d, const char *names)
{
    int count = 1;
    for (const char *p = names; *p; p++)
        count += *p == ' ';
    for (int64_t skip = below(d, count); skip; skip--)
        names = strchr(names, ' ') + 1;
    size_t length = strcspn(names, " ");
    for (int i = 0; i < SPACES; i++)
        if (strlen(spaces[i].name) == length && memcmp(spaces[i].name, names, length) == 0)
            return &spaces[i];
    fprintf(stderr, "speed: the grammar has no space %.*s\n", (int)length, names);
    exit(3);
}

void draw_workload(drawn *to, const draws *from, int index)
{
    char text[MAX_TEXT] = "";
    drawing d = {.to = to, .state = from->seed * UINT64_C(0xd1342543de82ef95) + (uint64_t)index};
    *to = (drawn){0};
    below(&d, 2); /* seeds that are alike are none any more */
    int64_t type = below(&d, 100);
    d.dtype = type < 42 ? "f32" : type < 78 ? "bf16" : type < 95 ? "f16" : "f64";
    const rule *program = choose(&d, NULL, 0);
    d.space = draw_space(&d, program->spaces);
    expand(&d, program->text, text, sizeof text);
    collect(&d, text);
    put_program(&d);
    int64_t bytes = between(&d, from->least, from->most);
    draw_sizes(&d, bytes / element_bytes(&d));
    put_shapes(&d);
    snprintf(to->label, sizeof to->label, "%llu.%d ", (unsigned long long)from->seed, index);
    to->w = (workload){.program = program->name,
                       .dtype = d.dtype,
                       .shapes = to->shapes,
                       .label = to->label,
                       .text = to->text};
}
