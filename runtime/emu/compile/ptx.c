/* PTX text to C++ statements: see ptx.h for what, ptx.def for which instructions. */
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/emu/compile/ptx.h"

enum { MAX_PARTS = 16, MAX_ARGS = 12 };

typedef struct row {
    const char *head, *modifiers, *function;
    bool has_result;
} row;

static const row rows[] = {
#define PTX(head, modifiers, has_result, function) {head, modifiers, function, has_result},
#include "runtime/emu/compile/ptx.def"
#undef PTX
};

/* Names of types, and what they are in C++. */
static const char *const types[][2] = {
    {"pred", "bool"},
    {"b8", "unsigned char"},
    {"u8", "unsigned char"},
    {"s8", "signed char"},
    {"b16", "unsigned short"},
    {"u16", "unsigned short"},
    {"s16", "short"},
    {"b32", "unsigned"},
    {"u32", "unsigned"},
    {"s32", "int"},
    {"b64", "unsigned long long"},
    {"u64", "unsigned long long"},
    {"s64", "long long"},
    {"f32", "float"},
    {"f64", "double"},
};

/* Operations and comparisons: $O. */
static const char operations[] =
    "add min max exch cas and or xor inc dec eq ne lt le gt ge up down "
    "bfly idx ballot any all";

static const char special[] =
    "laneid warpid nwarpid smid nsmid gridid tid.x tid.y tid.z ntid.x ntid.y ntid.z ctaid.x ctaid.y "
    "ctaid.z nctaid.x nctaid.y nctaid.z clusterid.x clusterid.y clusterid.z nclusterid.x "
    "nclusterid.y nclusterid.z cluster_ctaid.x cluster_ctaid.y cluster_ctaid.z "
    "cluster_nctaid.x cluster_nctaid.y cluster_nctaid.z cluster_ctarank cluster_nctarank clock "
    "clock64 globaltimer lanemask_eq lanemask_lt lanemask_le lanemask_gt lanemask_ge";

typedef struct translation {
    kn_text *out;
    const char *const *operands;
    int noperands, number;
    KN_VEC(const char *) registers; /* declared by the text itself */
} translation;

void kn_emu_put_refusal(kn_text *out, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    kn_put(out, "static_assert(0, \"the emulator does not know ");
    kn_putv(out, fmt, ap);
    kn_put(out, "\"); ");
    va_end(ap);
}

/* ---- words ---- */

static bool in_name(char c) { return isalnum((unsigned char)c) || strchr("_$%.:", c); }

/* Is s[0..n) one of the words of `list`? */
static bool is_one_of(const char *s, size_t n, const char *list)
{
    for (const char *at = list; *at; at += strcspn(at, " "), at += strspn(at, " "))
        if (strcspn(at, " ") == n && strncmp(at, s, n) == 0)
            return true;
    return false;
}

static const char *type_of(const char *s, size_t n)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strlen(types[i][0]) == n && strncmp(types[i][0], s, n) == 0)
            return types[i][1];
    return NULL;
}

static const char *skip(const char *s)
{
    for (;;) {
        s += strspn(s, " \t\r\n");
        if (s[0] == '/' && s[1] == '/')
            s += strcspn(s, "\n");
        else if (s[0] == '/' && s[1] == '*')
            s = strstr(s, "*/") ? strstr(s, "*/") + 2 : s + strlen(s);
        else
            return s;
    }
}

static char *trimmed(kn_arena *a, const char *s, const char *end)
{
    s = skip(s);
    while (end > s && isspace((unsigned char)end[-1]))
        end--;
    return kn_strndup(a, s, end > s ? (size_t)(end - s) : 0);
}

/* A name of PTX as one of C++: "%p1" and "p1" are two. */
static char *plain(kn_arena *a, const char *prefix, const char *s, size_t n)
{
    char *name = kn_sprintf(a, "%s%.*s", prefix, (int)n, s);
    for (char *c = name; *c; c++)
        *c = isalnum((unsigned char)*c) ? *c : *c == '%' ? 'P' : '_';
    return name;
}

/* ---- operands ---- */

/* Cuts s at the commas that are in no brackets. */
static int split(kn_arena *a, const char *s, const char **args)
{
    int n = 0, depth = 0;
    const char *begin = s = skip(s);
    if (!*s)
        return 0;
    for (;; s++) {
        depth += (*s == '[' || *s == '{' || *s == '(') - (*s == ']' || *s == '}' || *s == ')');
        if (*s && (*s != ',' || depth))
            continue;
        if (n < MAX_ARGS)
            args[n++] = trimmed(a, begin, s);
        if (!*s)
            return n;
        begin = s + 1;
    }
}

static const char *number_of(kn_arena *a, const char *s)
{
    if (strncmp(s, "0f", 2) == 0 || strncmp(s, "0F", 2) == 0)
        return kn_sprintf(a, "__builtin_bit_cast(float, 0x%su)", s + 2);
    if (strncmp(s, "0d", 2) == 0 || strncmp(s, "0D", 2) == 0)
        return kn_sprintf(a, "__builtin_bit_cast(double, 0x%sull)", s + 2);
    return s;
}

/* The C++ of a register, a special register, an operand of the statement or a number. NULL: unknown. */
static const char *value_of(translation *tr, const char *s)
{
    kn_arena *a = tr->out->arena;
    if (*s == '!') {
        const char *v = value_of(tr, skip(s + 1));
        return v ? kn_sprintf(a, "!%s", v) : NULL;
    }
    for (int i = 0; i < tr->registers.len; i++)
        if (strcmp(tr->registers.data[i], s) == 0)
            return plain(a, "kn_emu_r_", s, strlen(s));
    if (s[0] == '%' && isdigit((unsigned char)s[1])) {
        int i = atoi(s + 1);
        return i < tr->noperands ? tr->operands[i] : NULL;
    }
    if (s[0] == '%' && is_one_of(s + 1, strlen(s + 1), special))
        return kn_sprintf(a, "kn_emu_ptx::%s()", plain(a, "special_", s + 1, strlen(s + 1)));
    if (isdigit((unsigned char)*s) || *s == '-')
        return number_of(a, s);
    return strcmp(s, "WARP_SZ") == 0 ? "32" : NULL;
}

/* "[%0 + 16]" */
static const char *address_of(translation *tr, const char *s)
{
    kn_arena *a = tr->out->arena;
    const char *end = strchr(s, ']'), *sign = s + 1 + strcspn(s + 1, "+]");
    if (!end)
        return NULL;
    const char *base = value_of(tr, trimmed(a, s + 1, sign));
    if (!base)
        return NULL;
    const char *offset = *sign == '+' ? trimmed(a, sign + 1, end) : "0";
    return kn_sprintf(a, "(kn_emu_ptx::address)%s + (kn_emu_ptx::address)(%s)", base, offset);
}

static const char *source_of(translation *tr, const char *s)
{
    kn_arena *a = tr->out->arena;
    const char *parts[MAX_ARGS];
    if (*s == '[')
        return address_of(tr, s);
    if (*s != '{')
        return value_of(tr, s);
    const char *close = strchr(s, '}');
    int n = close ? split(a, trimmed(a, s + 1, close), parts) : 0;
    kn_text list = kn_text_new(a);
    for (int i = 0; i < n; i++) {
        const char *v = value_of(tr, parts[i]);
        if (!v)
            return NULL;
        kn_putf(&list, "%s%s", i ? ", " : "kn_emu_ptx::several(", v);
    }
    kn_put(&list, ")");
    return n ? kn_text_str(&list) : NULL;
}

/* Writes `call` into what `to` names: a register, "_", "{a, b}" or "a|b". False: unknown. */
static bool put_result(translation *tr, const char *to, const char *call)
{
    kn_arena *a = tr->out->arena;
    const char *parts[MAX_ARGS], *names[MAX_ARGS];
    char *list = kn_strdup(a, to), *bar = strchr(list, '|');
    if (strcmp(to, "_") == 0) {
        kn_putf(tr->out, "(void)%s; ", call);
        return true;
    }
    if (bar)
        *bar = ',';
    if (*list == '{') {
        list++;
        list[strcspn(list, "}")] = 0;
    }
    int n = split(a, list, parts);
    for (int i = 0; i < n; i++)
        if (!(names[i] =
                  strcmp(parts[i], "_") == 0 ? "kn_emu_ptx::sink()" : value_of(tr, parts[i])))
            return false;
    if (n == 1 && !bar) {
        kn_putf(tr->out, "kn_emu_ptx::put(%s, %s); ", names[0], call);
        return true;
    }
    kn_putf(tr->out, "kn_emu_ptx::put_each(%s", call);
    for (int i = 0; i < n; i++)
        kn_putf(tr->out, ", %s", names[i]);
    kn_put(tr->out, "); ");
    return n > 0;
}

/* ---- instructions ---- */

typedef struct instruction {
    const char *name; /* "add.rn.f32" */
    size_t length;
    const row *row;
    const char *type, *space, *operation;
    int vector;
    size_t operation_length;
    bool hint; /* the last operand is a cache policy */
} instruction;

static const char *space_of(const char *s, size_t n)
{
    return is_one_of(s, n, "shared shared::cta") ? "shared"
           : is_one_of(s, n, "shared::cluster")  ? "cluster"
                                                 : NULL;
}

/* Notes what a part of the name says. False when the row does not allow it. */
static bool take_part(instruction *in, const char *s, size_t n)
{
    if (type_of(s, n)) {
        in->type = type_of(s, n);
        return true;
    }
    if (n == 2 && s[0] == 'v' && strchr("248", s[1])) {
        in->vector = s[1] - '0';
        return true;
    }
    if (is_one_of(s, n, "L2::cache_hint"))
        in->hint = true;
    if (n > 4 && (strncmp(s, "L1::", 4) == 0 || strncmp(s, "L2::", 4) == 0))
        return true;
    if (!in->operation && strstr(in->row->modifiers, "$O") && is_one_of(s, n, operations)) {
        in->operation = s;
        in->operation_length = n;
        return true;
    }
    if (!is_one_of(s, n, in->row->modifiers))
        return false;
    if (space_of(s, n))
        in->space = space_of(s, n);
    return true;
}

/* Does the row fit the name? */
static bool fits(instruction *in, const row *r)
{
    size_t head = strlen(r->head);
    if (head > in->length || strncmp(in->name, r->head, head) != 0 ||
        (head < in->length && in->name[head] != '.'))
        return false;
    *in = (instruction){.name = in->name, .length = in->length, .row = r, .vector = 1};
    in->type = "unsigned";
    in->space = "anywhere";
    const char *s = in->name + head, *end = in->name + in->length;
    while (s < end) {
        const char *part = ++s;
        while (s < end && *s != '.')
            s++;
        if (!take_part(in, part, (size_t)(s - part)))
            return false;
    }
    return in->operation || !strstr(r->function, "$O");
}

static bool find_row(instruction *in)
{
    instruction best = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (fits(in, &rows[i]) && (!best.row || strlen(rows[i].head) > strlen(best.row->head)))
            best = *in;
    *in = (instruction){.name = in->name, .length = in->length};
    if (!best.row)
        return false;
    *in = best;
    return true;
}

static void put_function(kn_text *call, const instruction *in)
{
    kn_put(call, "kn_emu_ptx::");
    for (const char *s = in->row->function; *s; s++) {
        if (*s != '$') {
            kn_putn(call, s, 1);
            continue;
        }
        switch (*++s) {
        case 'T': kn_put(call, in->type); break;
        case 'V': kn_putf(call, "%d", in->vector); break;
        case 'S': kn_putf(call, "kn_emu_ptx::%s", in->space); break;
        default: kn_putn(call, in->operation, in->operation_length); break;
        }
    }
}

/* Name and operands, without what surrounds them. */
static void put_instruction(translation *tr, const char *s)
{
    kn_arena *a = tr->out->arena;
    instruction in = {.name = s, .length = strcspn(s, " \t\r\n")};
    const char *args[MAX_ARGS];
    if (!find_row(&in)) {
        kn_emu_put_refusal(tr->out, "the PTX instruction %.*s", (int)in.length, s);
        return;
    }
    int n = split(a, s + in.length, args), first = in.row->has_result;
    if (n < first) {
        kn_emu_put_refusal(tr->out, "%.*s without operands", (int)in.length, s);
        return;
    }
    kn_text call = kn_text_new(a);
    put_function(&call, &in);
    kn_put(&call, "(");
    for (int i = first; i < n - in.hint; i++) {
        const char *v = source_of(tr, args[i]);
        if (!v) {
            kn_emu_put_refusal(tr->out, "the operand %s of %.*s", args[i], (int)in.length, s);
            return;
        }
        kn_putf(&call, "%s%s", i > first ? ", " : "", v);
    }
    kn_put(&call, ")");
    if (!first)
        kn_putf(tr->out, "%s; ", kn_text_str(&call));
    else if (!put_result(tr, args[0], kn_text_str(&call)))
        kn_emu_put_refusal(tr->out, "the operand %s of %.*s", args[0], (int)in.length, s);
}

/* ".reg .b32 a, b<4>" */
static void put_registers(translation *tr, const char *s)
{
    kn_arena *a = tr->out->arena;
    const char *args[MAX_ARGS];
    s = skip(s + strcspn(s, " \t\r\n"));
    size_t n = strcspn(s, " \t\r\n");
    const char *type = *s == '.' ? type_of(s + 1, n - 1) : NULL;
    if (!type) {
        kn_emu_put_refusal(tr->out, "registers of the type %.*s", (int)n, s);
        return;
    }
    int count = split(a, s + n, args);
    for (int i = 0; i < count; i++) {
        size_t length = strcspn(args[i], "<");
        int several = args[i][length] ? atoi(args[i] + length + 1) : 0;
        for (int j = 0; j < (several ? several : 1); j++) {
            const char *name = several ? kn_sprintf(a, "%.*s%d", (int)length, args[i], j) : args[i];
            kn_push(a, &tr->registers, name);
            kn_putf(tr->out, "%s %s; ", type, plain(a, "kn_emu_r_", name, strlen(name)));
        }
    }
}

static char *label(translation *tr, const char *s, size_t n)
{
    kn_arena *a = tr->out->arena;
    return plain(a, kn_sprintf(a, "kn_emu_l%d_", tr->number), s, n);
}

/* One statement, without its semicolon. */
static void put_statement(translation *tr, const char *s)
{
    kn_arena *a = tr->out->arena;
    if (*s == '@') {
        size_t n = strcspn(s, " \t\r\n");
        const char *p = value_of(tr, kn_strndup(a, s + 1, n - 1));
        if (!p) {
            kn_emu_put_refusal(tr->out, "the predicate %.*s", (int)n, s);
            return;
        }
        kn_putf(tr->out, "if (%s) { ", p);
        put_statement(tr, skip(s + n));
        kn_put(tr->out, "} ");
    } else if (strncmp(s, ".reg", 4) == 0) {
        put_registers(tr, s);
    } else if (strncmp(s, "bra", 3) == 0 && strchr(". \t\n", s[3])) {
        s = skip(s + strcspn(s, " \t\r\n"));
        kn_putf(tr->out, "goto %s; ", label(tr, s, strlen(s)));
    } else if (*s) {
        put_instruction(tr, s);
    }
}

/* Past a label at s; s itself if there is none. */
static const char *take_label(translation *tr, const char *s)
{
    const char *end = s;
    while (in_name(*end) && *end != ':')
        end++;
    if (end == s || *skip(end) != ':' || skip(end)[1] == ':' || *s == '.')
        return s;
    kn_putf(tr->out, "%s:; ", label(tr, s, (size_t)(end - s)));
    return skip(end) + 1;
}

void kn_emu_put_ptx(kn_text *out, const char *ptx, const char *const *operands, int noperands,
                    int number)
{
    translation tr = {.out = out, .operands = operands, .noperands = noperands, .number = number};
    kn_arena *a = out->arena;
    /* "%%" is how a text with operands writes "%", and "%=" a number of the statement's own */
    char *text = kn_strdup(a, ptx), *to = text;
    for (const char *s = ptx; *s; s++) {
        if (s[0] == '%' && s[1] == '%')
            s++;
        if (s[0] == '%' && s[1] == '=')
            s += 2;
        if (!*s)
            break;
        *to++ = *s;
    }
    *to = 0;
    for (const char *s = skip(text); *s; s = skip(s)) {
        const char *past = take_label(&tr, s);
        if (past > s) {
            s = past;
        } else if (*s == '{' || *s == '}') {
            kn_putf(out, "%c ", *s++);
        } else {
            size_t n = strcspn(s, ";");
            put_statement(&tr, trimmed(a, s, s + n));
            s += n + (s[n] == ';');
        }
    }
}
