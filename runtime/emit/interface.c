/* The functions that an application calls:
 *
 *     int NAME_create(NAME_ctx **, const char *device)       and NAME_destroy()
 *     int NAME_run(NAME_ctx *, void *stream, arrays and sizes..., void *workspace)
 *     int64_t NAME_workspace(NAME_ctx *, sizes...)
 *     const char *NAME_message(int) */
#include <string.h>

#include "runtime/emit/impl.h"

/* ---- names ---- */

/* Keywords of C and C++, and what the functions here, and those of plans, have names for. */
static const char *const reserved[] = {
    "alignas",  "alignof",   "and",       "asm",      "auto",     "bool",     "break",
    "case",     "catch",     "char",      "class",    "const",    "continue", "default",
    "delete",   "do",        "double",    "else",     "enum",     "explicit", "export",
    "extern",   "false",     "float",     "for",      "friend",   "goto",     "if",
    "inline",   "int",       "int8_t",    "int16_t",  "int32_t",  "int64_t",  "long",
    "main",     "mutable",   "namespace", "new",      "not",      "operator", "or",
    "private",  "protected", "public",    "register", "restrict", "return",   "short",
    "signed",   "sizeof",    "static",    "struct",   "switch",   "template", "this",
    "throw",    "true",      "try",       "typedef",  "typeid",   "typename", "uint8_t",
    "uint16_t", "uint32_t",  "uint64_t",  "union",    "unsigned", "using",    "virtual",
    "void",     "volatile",  "while",     "xor",      "array",    "bytes",    "ctx",
    "memory",   "own",       "scalar",    "status",   "stream",   "workspace"};
static const char *const reserved_of_sizes[] = {
    "bad", "buf", "c", "cols", "cut", "e", "extents", "folds", "scalars", "num", "shape", "top"};

static bool is_among(const char *name, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(words[i], name) == 0)
            return true;
    return false;
}

static bool is_taken(const kn_emitter *e, const char *name, bool size)
{
    bool taken = is_among(name, reserved, sizeof reserved / sizeof *reserved) ||
                 (size && is_among(name, reserved_of_sizes,
                                   sizeof reserved_of_sizes / sizeof *reserved_of_sizes)) ||
                 strncmp(name, "kn_", 3) == 0 || strncmp(name, "KN_", 3) == 0;
    for (int i = 0; i < e->sizes.len; i++)
        taken = taken || strcmp(e->size[e->sizes.data[i]], name) == 0;
    for (int i = 0; i < e->g->inputs.len; i++)
        taken = taken || (e->input[i] && strcmp(e->input[i], name) == 0);
    for (int o = 0; o < e->g->outputs.len; o++)
        taken = taken || (e->output[o] && strcmp(e->output[o], name) == 0);
    return taken;
}

static const char *new_name(const kn_emitter *e, const char *name, bool size)
{
    const char *made = kn_identifier(e->a, "", name);
    while (is_taken(e, made, size))
        made = kn_sprintf(e->a, "%s_", made);
    return made;
}

kn_status kn_name_parameters(kn_emitter *e)
{
    const kn_graph *g = e->g;
    e->input = KN_NEW_ARRAY(e->a, const char *, g->inputs.len + 1);
    e->output = KN_NEW_ARRAY(e->a, const char *, g->outputs.len + 1);
    for (int i = 0; i < e->sizes.len; i++) {
        const char **name = &e->size[e->sizes.data[i]], *given = *name;
        *name = "";
        *name = new_name(e, given, true);
    }
    for (int i = 0; i < g->inputs.len; i++)
        e->input[i] = new_name(e, g->inputs.data[i].name, false);
    for (int o = 0; o < g->outputs.len; o++) {
        const int i = g->outputs.data[o].updates;
        e->output[o] = i >= 0 ? e->input[i] : new_name(e, g->outputs.data[o].name, false);
    }
    for (int i = 0; i < g->inputs.len + g->outputs.len; i++) {
        const kn_node *n =
            i < g->inputs.len ? g->inputs.data[i].node : g->outputs.data[i - g->inputs.len].node;
        if (kn_is_complex(n->dtype))
            return kn_fail(KN_TYPE,
                           "%s has complex numbers, which cannot be emitted: C++ has others",
                           g->name);
    }
    return KN_OK;
}

/* ---- parameters ---- */

static bool is_updated(const kn_emitter *e, int input)
{
    for (int o = 0; o < e->g->outputs.len; o++)
        if (e->g->outputs.data[o].updates == input)
            return true;
    return false;
}

/* Sizes stand behind the first array that has them. */
static void put_parameters(kn_emitter *e, kn_text *t)
{
    const kn_graph *g = e->g;
    int sizes = 0;
    for (int i = 0; i < g->inputs.len; i++) {
        const kn_input *in = &g->inputs.data[i];
        kn_putf(t, "%s%s%s%s, ", in->by_value || is_updated(e, i) ? "" : "const ",
                kn_c_name_of(in->node->dtype), in->by_value ? " " : " *", e->input[i]);
        int need = sizes;
        for (int j = 0; j < in->node->rank; j++)
            for (int k = sizes; k < e->sizes.len; k++)
                if (kn_dim_symbol_after(in->node->shape[j], e->sizes.data[k] - 1) ==
                    e->sizes.data[k])
                    need = need > k + 1 ? need : k + 1;
        for (; sizes < need; sizes++)
            kn_putf(t, "int64_t %s, ", e->size[e->sizes.data[sizes]]);
    }
    for (; sizes < e->sizes.len; sizes++)
        kn_putf(t, "int64_t %s, ", e->size[e->sizes.data[sizes]]);
    for (int o = 0; o < g->outputs.len; o++)
        if (g->outputs.data[o].updates < 0)
            kn_putf(t, "%s *%s, ", kn_c_name_of(g->outputs.data[o].node->dtype), e->output[o]);
    kn_put(t, "void *workspace");
}

/* "x: f32[N, C], y: ..." */
static void put_arrays(kn_emitter *e, kn_text *t)
{
    const kn_graph *g = e->g;
    for (int i = 0; i < g->inputs.len + g->outputs.len; i++) {
        const bool out = i >= g->inputs.len;
        const int o = i - g->inputs.len;
        const kn_node *n = out ? g->outputs.data[o].node : g->inputs.data[i].node;
        if (out && g->outputs.data[o].updates >= 0)
            continue;
        kn_putf(t, " *     %s: %s", out ? e->output[o] : e->input[i], kn_dtypes[n->dtype].text);
        if (out || !g->inputs.data[i].by_value)
            kn_shape_print(t, g->syms, n->shape, n->rank);
        kn_put(t, out ? ", written" : is_updated(e, i) ? ", read and written" : "");
        kn_put(t, "\n");
    }
}

/* What a header declares. */
static void put_prototypes(kn_emitter *e, kn_text *t)
{
    const char *n = e->name;
    kn_putf(
        t,
        "/* What runs of the program on one device share. `device` is \"cpu\", which NULL is too. 0, or the\n"
        " * number of a message. */\n"
        "typedef struct %s_ctx %s_ctx;\n"
        "int %s_create(%s_ctx **ctx, const char *device);\n"
        "void %s_destroy(%s_ctx *ctx);\n\n",
        n, n, n, n, n, n);
    kn_putf(
        t,
        "/* Runs the program. 0, or the number of a message: then nothing was written, unless an index was out\n"
        " * of bounds. ctx: NULL is the CPU's. stream: of the device; the CPU has none, and is done on return.\n"
        " * workspace: memory of the size that %s_workspace() gives, aligned to 64 bytes; NULL: it is taken for\n"
        " * the call. */\n"
        "int %s_run(%s_ctx *ctx, void *stream, ",
        n, n, n);
    put_parameters(e, t);
    kn_putf(t,
            ");\n\n"
            "/* Bytes of workspace for these sizes; -1 where %s_run() would refuse them. */\n"
            "int64_t %s_workspace(%s_ctx *ctx%s%s);\n\n"
            "/* What went wrong, in words. */\n"
            "const char *%s_message(int number);\n\n"
            "#ifdef __cplusplus\n}\n#endif\n\n#endif\n",
            n, n, n, e->sizes.len ? ", " : "", e->sizes.len ? kn_size_list(e, true) : "", n);
}

void kn_put_header(kn_emitter *e, kn_text *t)
{
    const char *upper = kn_strdup(e->a, e->name);
    for (char *c = (char *)(uintptr_t)upper; *c; c++)
        *c = (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    kn_putf(t, "/* %s: made by kiln emit, version %s. Do not edit.\n *\n", e->name, e->version);
    put_arrays(e, t);
    kn_putf(
        t,
        " *\n * Arrays are compact, the last axis contiguous. An output shares no memory with another array. All\n"
        " * functions may be called by several threads at a time. */\n"
        "#ifndef %s_H\n#define %s_H\n\n#include <stdint.h>\n\n"
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n",
        upper, upper);
    put_prototypes(e, t);
}

/* ---- functions ---- */

static void put_dispatch(kn_emitter *e, kn_text *t, const char *indent, const char *args)
{
    for (int i = 0; i < e->plans.len; i++) {
        const int64_t *pinned = e->pinned.data[i];
        const bool last = i + 1 == e->plans.len || (pinned && !e->sizes.len);
        if (!pinned && !last) {
            kn_putf(
                t,
                "%sstatus = plan%d(%s%s%s);\n%sif (status != KN_OTHER_PLAN)\n%s    return status;\n",
                indent, i, kn_size_list(e, false), e->sizes.len ? ", " : "", args, indent, indent);
            continue;
        }
        kn_put(t, indent);
        for (int k = 0; pinned && k < e->sizes.len; k++)
            kn_putf(t, "%s%s == %lld", k ? " && " : "if (", e->size[e->sizes.data[k]],
                    (long long)pinned[e->sizes.data[k]]);
        kn_putf(t, "%sreturn plan%d(%s%s%s);\n", pinned && e->sizes.len ? ") " : "", i,
                kn_size_list(e, false), e->sizes.len ? ", " : "", args);
        if (last)
            return;
    }
}

/* No output shares memory with another array. */
static void put_overlaps(kn_emitter *e, kn_scope *s)
{
    const kn_graph *g = e->g;
    for (int o = 0; o < g->outputs.len; o++) {
        const char *out = e->output[o], *size = kn_put_bytes(s, g->outputs.data[o].node);
        for (int i = 0; i < g->inputs.len; i++) {
            const kn_input *in = &g->inputs.data[i];
            if (in->by_value || is_updated(e, i))
                continue;
            const char *bytes = kn_put_bytes(s, in->node);
            kn_put_check(
                s, kn_sprintf(e->a, "kn_share(%s, %s, %s, %s)", out, size, e->input[i], bytes),
                kn_message(e, "%s and %s share memory", out, e->input[i]));
        }
        for (int p = 0; p < o; p++) {
            const char *bytes = kn_put_bytes(s, g->outputs.data[p].node);
            kn_put_check(
                s, kn_sprintf(e->a, "kn_share(%s, %s, %s, %s)", out, size, e->output[p], bytes),
                kn_message(e, "%s and %s share memory", out, e->output[p]));
        }
    }
}

/* What plans are given: inputs and outputs, and the numbers among the inputs. */
static void put_arrays_of_run(kn_emitter *e, kn_text *t, kn_scope *s)
{
    const kn_graph *g = e->g;
    kn_text arrays = kn_text_new(e->a), scalars = kn_text_new(e->a);
    for (int i = 0; i < g->inputs.len; i++) {
        const kn_input *in = &g->inputs.data[i];
        kn_putf(&arrays, "%s", i ? ", " : "");
        if (in->by_value)
            kn_put(&arrays, "0");
        else
            kn_putf(&arrays, "kn_some(%s, %s)", e->input[i], kn_put_count(s, in->node));
        kn_putf(&scalars, "%s%s%s", i ? ", " : "", in->by_value ? "&" : "",
                in->by_value ? e->input[i] : "0");
    }
    for (int o = 0; o < g->outputs.len; o++)
        kn_putf(&arrays, "%skn_some(%s, %s)", arrays.len ? ", " : "", e->output[o],
                kn_put_count(s, g->outputs.data[o].node));
    kn_putf(t, "    void *const array[] = {%s};\n    const void *const scalar[] = {%s};\n",
            kn_text_str(&arrays), scalars.len ? kn_text_str(&scalars) : "0");
}

static void put_run(kn_emitter *e, kn_text *t)
{
    const char *sizes = kn_size_list(e, false), *comma = e->sizes.len ? ", " : "";
    kn_scope s = kn_scope_new(e, t, e->g->syms);
    kn_putf(t, "int %s_run(%s_ctx *ctx, void *stream, ", e->name, e->name);
    put_parameters(e, t);
    kn_putf(
        t,
        ")\n{\n    (void)ctx, (void)stream;\n    int64_t bytes;\n    int status = check_sizes(%s);\n"
        "    if (status)\n        return status;\n",
        sizes);
    put_overlaps(e, &s);
    put_arrays_of_run(e, t, &s);
    kn_putf(t,
            "    status = plan_for(%s%sarray, scalar, 0, &bytes);\n"
            "    if (status)\n        return status;\n"
            "    char *own = 0, *memory = (char *)workspace;\n"
            "    if (!workspace) { /* aligned within */\n"
            "        own = (char *)malloc((size_t)bytes + 63);\n"
            "        if (!own)\n            return %d;\n"
            "        memory = own + (64 - (uintptr_t)own %% 64) %% 64;\n    }\n"
            "    status = plan_for(%s%sarray, scalar, memory, 0);\n"
            "    free(own);\n    return status;\n}\n\n",
            sizes, comma, kn_message(e, "out of memory"), sizes, comma);
}

static void put_context(kn_emitter *e, kn_text *t)
{
    const char *n = e->name;
    kn_putf(t,
            "struct %s_ctx {\n    int cpu;\n};\n\n"
            "int %s_create(%s_ctx **ctx, const char *device)\n{\n    *ctx = 0;\n"
            "    if (device && strcmp(device, \"cpu\") != 0)\n        return %d;\n"
            "    *ctx = (%s_ctx *)malloc(sizeof **ctx);\n    if (!*ctx)\n        return %d;\n"
            "    (*ctx)->cpu = 1;\n    return 0;\n}\n\n"
            "void %s_destroy(%s_ctx *ctx)\n{\n    free(ctx);\n}\n\n",
            n, n, n, kn_message(e, "the program was emitted for the device 'cpu' alone"), n,
            kn_message(e, "out of memory"), n, n);
}

void kn_put_interface(kn_emitter *e, kn_text *t)
{
    const char *typed = kn_size_list(e, true), *sizes = kn_size_list(e, false);
    const char *comma = e->sizes.len ? ", " : "";
    kn_putf(t,
            "static int plan_for(%s%svoid *const *array, const void *const *scalar, char *memory,\n"
            "                    int64_t *bytes)\n{\n",
            e->sizes.len ? typed : "", comma);
    kn_put(t, "    int status = 0;\n    (void)status;\n");
    put_dispatch(e, t, "    ", "array, scalar, memory, bytes");
    kn_put(t, "}\n\n");
    put_run(e, t);
    kn_putf(t,
            "int64_t %s_workspace(%s_ctx *ctx%s%s)\n{\n    int64_t bytes;\n    (void)ctx;\n"
            "    if (check_sizes(%s) || plan_for(%s%s0, 0, 0, &bytes))\n        return -1;\n"
            "    return bytes;\n}\n\n",
            e->name, e->name, comma, e->sizes.len ? typed : "", sizes, sizes, comma);
    put_context(e, t);
    kn_putf(t,
            "const char *%s_message(int number)\n{\n    static const char *const text[] = {\n"
            "        \"no error\",\n",
            e->name);
    for (int i = 0; i < e->messages.len; i++) {
        kn_text message = kn_text_new(e->a);
        kn_put_json(&message, e->messages.data[i]);
        kn_putf(t, "        %s,\n", kn_text_str(&message));
    }
    kn_putf(
        t,
        "    };\n    return number >= 0 && number <= %d ? text[number] : \"no such error\";\n}\n",
        e->messages.len);
}
