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
    "alignas",  "alignof",   "and",       "asm",      "auto",     "bool",      "break",
    "case",     "catch",     "char",      "class",    "const",    "continue",  "default",
    "delete",   "do",        "double",    "else",     "enum",     "explicit",  "export",
    "extern",   "false",     "float",     "for",      "friend",   "goto",      "if",
    "inline",   "int",       "int8_t",    "int16_t",  "int32_t",  "int64_t",   "long",
    "main",     "mutable",   "namespace", "new",      "not",      "operator",  "or",
    "private",  "protected", "public",    "register", "restrict", "return",    "short",
    "signed",   "sizeof",    "static",    "struct",   "switch",   "template",  "this",
    "throw",    "true",      "try",       "typedef",  "typeid",   "typename",  "uint8_t",
    "uint16_t", "uint32_t",  "uint64_t",  "union",    "unsigned", "using",     "virtual",
    "void",     "volatile",  "while",     "xor",      "array",    "bytes",     "ctx",
    "memory",   "own",       "scalar",    "status",   "stream",   "workspace", "run",
    "codes",    "params",    "archs"};
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

/* "sm_80, sm_90" */
static const char *arch_list(const kn_emitter *e)
{
    kn_text t = kn_text_new(e->a);
    for (int i = 0; i < e->gpus.len; i++)
        kn_putf(&t, "%s%s", i ? ", " : "", e->gpus.data[i]->arch);
    return kn_text_str(&t);
}

static void put_context_comment(kn_emitter *e, kn_text *t)
{
    if (!e->gpus.len)
        kn_put(
            t,
            "/* What runs of the program on one device share. `device` is \"cpu\", which NULL is too. 0, or the\n"
            " * number of a message. */\n");
    else
        kn_putf(
            t,
            "/* What runs of the program on one device share. `device`: \"cuda\" or \"cuda:1\", an NVIDIA GPU (%s,\n"
            " * and newer ones, for which the driver compiles)%s. 0, or the number of a message. */\n",
            arch_list(e), e->cpu ? "; \"cpu\", which NULL is too" : "; NULL is \"cuda\"");
}

static void put_run_comment(kn_emitter *e, kn_text *t)
{
    if (!e->gpus.len)
        kn_putf(
            t,
            "/* Runs the program. 0, or the number of a message: then nothing was written, unless an index was out\n"
            " * of bounds. ctx: NULL is the CPU's. stream: of the device; the CPU has none, and is done on return.\n"
            " * workspace: memory of the size that %s_workspace() gives, aligned to 64 bytes; NULL: it is taken for\n"
            " * the call. */\n",
            e->name);
    else
        kn_putf(
            t,
            "/* Runs the program: on a GPU arrays and workspace are its memory, and it is done when the stream (a CUstream\n"
            " * or cudaStream_t; NULL: the default one) is. 0, or the number of a message: then nothing was written,\n"
            " * unless an index was out of bounds, or the driver failed.%s workspace: memory of the size that\n"
            " * %s_workspace() gives, aligned to 64 bytes; NULL: the context keeps it for the stream. The first run on\n"
            " * a device loads kernels. */\n",
            e->cpu ? " ctx: NULL is the CPU's." : "", e->name);
}

/* What a header declares. */
static void put_prototypes(kn_emitter *e, kn_text *t)
{
    const char *n = e->name;
    put_context_comment(e, t);
    kn_putf(t,
            "typedef struct %s_ctx %s_ctx;\n"
            "int %s_create(%s_ctx **ctx, const char *device);\n"
            "void %s_destroy(%s_ctx *ctx);\n\n",
            n, n, n, n, n, n);
    put_run_comment(e, t);
    kn_putf(t, "int %s_run(%s_ctx *ctx, void *stream, ", n, n);
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

/* "N == 8 && C == 64"; "1" where there are no sizes */
static const char *match(kn_emitter *e, const int64_t *pinned)
{
    kn_text t = kn_text_new(e->a);
    for (int k = 0; k < e->sizes.len; k++)
        kn_putf(&t, "%s%s == %lld", k ? " && " : "", e->size[e->sizes.data[k]],
                (long long)pinned[e->sizes.data[k]]);
    return e->sizes.len ? kn_text_str(&t) : "1";
}

static void put_cpu_dispatch(kn_emitter *e, kn_text *t)
{
    const char *sizes = kn_size_list(e, false), *comma = e->sizes.len ? ", " : "";
    kn_putf(t,
            "static int plan_for(%s%svoid *const *array, const void *const *scalar, char *memory,\n"
            "                    int64_t *bytes)\n{\n",
            e->sizes.len ? kn_size_list(e, true) : "", comma);
    kn_put(t, "    int status = 0;\n    (void)status;\n");
    for (int i = 0; i < e->cpu->plans.len; i++) {
        const kn_emitted_plan *p = e->cpu->plans.data[i];
        const char *call =
            kn_sprintf(e->a, "%s(%s%sarray, scalar, memory, bytes)", p->name, sizes, comma);
        const bool last = i + 1 == e->cpu->plans.len || (p->pinned && !e->sizes.len);
        if (last)
            kn_putf(t, "    return %s;\n", call);
        else if (p->pinned)
            kn_putf(t, "    if (%s) return %s;\n", match(e, p->pinned), call);
        else
            kn_putf(t,
                    "    status = %s;\n    if (status != KN_OTHER_PLAN)\n        return status;\n",
                    call);
        if (last)
            break;
    }
    kn_put(t, "}\n\n");
}

/* Plans of given sizes rely on aligned arrays. Without arrays any of them may be taken. */
static void put_gpu_dispatch(kn_emitter *e, kn_text *t)
{
    const char *comma = e->sizes.len ? ", " : "";
    const char *args = kn_sprintf(e->a, "run%s%s, array, scalar", comma, kn_size_list(e, false));
    const int arrays = e->g->inputs.len + e->g->outputs.len;
    kn_putf(
        t,
        "static int gpu_plan_for(kn_gpu_run *run%s%s, void *const *array, const void *const *scalar)\n{\n"
        "    int status = 0;\n    (void)status;\n    switch (run->gpu->set) {\n",
        comma, e->sizes.len ? kn_size_list(e, true) : "");
    for (int g = 0; g < e->gpus.len; g++) {
        const kn_emitted_for *gpu = e->gpus.data[g];
        kn_putf(t, g + 1 < e->gpus.len ? "    case %d:\n" : "    default:\n", g);
        for (int i = 0; i + 1 < gpu->plans.len; i++) {
            const kn_emitted_plan *p = gpu->plans.data[i];
            kn_putf(
                t,
                "        if (%s && (!array || kn_aligned(array, %d))) {\n            status = %s(%s);\n"
                "            if (status || array)\n                return status;\n        }\n",
                match(e, p->pinned), arrays, p->name, args);
        }
        kn_putf(t, "        return %s(%s);\n", gpu->plans.data[gpu->plans.len - 1]->name, args);
    }
    kn_put(t, "    }\n}\n\n");
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

static void put_reach(kn_emitter *e, kn_text *t, const char *name, const char *count)
{
    kn_putf(t, "        if (kn_gpu_foreign(&ctx->gpu, %s, %s))\n            return %d;\n", name,
            count,
            kn_message(e, "%s is memory of the host, which kernels on the GPU cannot use", name));
}

/* No array lies in the host's memory. */
static void put_reaches(kn_emitter *e, kn_text *t, kn_scope *s)
{
    const kn_graph *g = e->g;
    for (int i = 0; i < g->inputs.len + g->outputs.len; i++) {
        const bool out = i >= g->inputs.len;
        const int o = i - g->inputs.len;
        if (out ? g->outputs.data[o].updates >= 0 : g->inputs.data[i].by_value)
            continue;
        const char *name = out ? e->output[o] : e->input[i];
        const kn_node *n = out ? g->outputs.data[o].node : g->inputs.data[i].node;
        put_reach(e, t, name, kn_put_count(s, n));
    }
    put_reach(e, t, "workspace", "workspace != 0");
}

static void put_gpu_run(kn_emitter *e, kn_text *t, kn_scope *s)
{
    const char *sizes = kn_size_list(e, false), *comma = e->sizes.len ? ", " : "";
    kn_put(t, e->cpu ? "    if (ctx && ctx->on_gpu) {\n" : "    {\n");
    put_reaches(e, t, s);
    kn_putf(t,
            "        kn_gpu_run run;\n        kn_gpu_ask(&run, &ctx->gpu, stream);\n"
            "        status = gpu_plan_for(&run%s%s, array, scalar);\n"
            "        if (!status)\n            status = kn_gpu_begin(&run, workspace);\n"
            "        if (status)\n            return status;\n"
            "        status = gpu_plan_for(&run%s%s, array, scalar);\n"
            "        kn_gpu_end(&run);\n        return status;\n    }\n",
            comma, sizes, comma, sizes);
}

static void put_cpu_run(kn_emitter *e, kn_text *t)
{
    const char *sizes = kn_size_list(e, false), *comma = e->sizes.len ? ", " : "";
    kn_putf(t,
            "    int64_t bytes;\n"
            "    status = plan_for(%s%sarray, scalar, 0, &bytes);\n"
            "    if (status)\n        return status;\n"
            "    char *own = 0, *memory = (char *)workspace;\n"
            "    if (!workspace) { /* aligned within */\n"
            "        own = (char *)malloc((size_t)bytes + 63);\n"
            "        if (!own)\n            return %d;\n"
            "        memory = own + (64 - (uintptr_t)own %% 64) %% 64;\n    }\n"
            "    status = plan_for(%s%sarray, scalar, memory, 0);\n"
            "    free(own);\n    return status;\n",
            sizes, comma, kn_message(e, "out of memory"), sizes, comma);
}

static void put_run(kn_emitter *e, kn_text *t)
{
    kn_scope s = kn_scope_new(e, t, e->g->syms);
    kn_putf(t, "int %s_run(%s_ctx *ctx, void *stream, ", e->name, e->name);
    put_parameters(e, t);
    kn_putf(t,
            ")\n{\n    (void)ctx, (void)stream;\n    int status = check_sizes(%s);\n"
            "    if (status)\n        return status;\n",
            kn_size_list(e, false));
    if (!e->cpu)
        kn_putf(t, "    if (!ctx)\n        return %d;\n",
                kn_message(e, "a run on a GPU takes a context: %s_create()", e->name));
    kn_put_check(&s, "(uintptr_t)workspace % 64 != 0",
                 kn_message(e, "workspace is not aligned to 64 bytes"));
    put_overlaps(e, &s);
    put_arrays_of_run(e, t, &s);
    if (e->gpus.len)
        put_gpu_run(e, t, &s);
    if (e->cpu)
        put_cpu_run(e, t);
    kn_put(t, "}\n\n");
}

static void put_workspace(kn_emitter *e, kn_text *t)
{
    const char *sizes = kn_size_list(e, false), *comma = e->sizes.len ? ", " : "";
    kn_putf(t,
            "int64_t %s_workspace(%s_ctx *ctx%s%s)\n{\n    (void)ctx;\n"
            "    if (check_sizes(%s))\n        return -1;\n",
            e->name, e->name, comma, e->sizes.len ? kn_size_list(e, true) : "", sizes);
    if (e->gpus.len)
        kn_putf(t,
                "    if (%s) {\n        kn_gpu_run run;\n        kn_gpu_ask(&run, &ctx->gpu, 0);\n"
                "        return gpu_plan_for(&run%s%s, 0, 0) ? -1 : run.bytes;\n    }\n",
                e->cpu ? "ctx && ctx->on_gpu" : "ctx", comma, sizes);
    if (e->cpu)
        kn_putf(t,
                "    int64_t bytes;\n    return plan_for(%s%s0, 0, 0, &bytes) ? -1 : bytes;\n}\n\n",
                sizes, comma);
    else
        kn_put(t, "    return -1;\n}\n\n");
}

static void put_context(kn_emitter *e, kn_text *t)
{
    const char *n = e->name;
    const int codes = e->codes.len, memory = kn_message(e, "out of memory");
    const int unknown =
        !e->gpus.len ? kn_message(e, "the program was emitted for the device 'cpu' alone")
        : e->cpu     ? kn_message(e, "there are the devices 'cpu', 'cuda' and 'cuda:1', ...")
                     : kn_message(e, "there are the devices 'cuda', 'cuda:1', ...");
    kn_putf(t, "struct %s_ctx {\n    int on_gpu;\n%s};\n\n", n,
            e->gpus.len ? "    kn_gpu gpu;\n" : "");
    kn_putf(
        t,
        "int %s_create(%s_ctx **ctx, const char *device)\n{\n    *ctx = 0;\n"
        "    const char *const name = device ? device : \"%s\";\n"
        "    const int on_gpu = strcmp(name, \"cpu\") != 0;\n    if (%s)\n        return %d;\n"
        "    %s_ctx *made = (%s_ctx *)calloc(1, sizeof *made);\n    if (!made)\n        return %d;\n"
        "    made->on_gpu = on_gpu;\n",
        n, n, e->cpu ? "cpu" : "cuda",
        !e->gpus.len ? "on_gpu"
        : e->cpu     ? "on_gpu && kn_gpu_ordinal(name) < 0"
                     : "kn_gpu_ordinal(name) < 0",
        unknown, n, n, memory);
    if (e->gpus.len) {
        kn_put(t, "    static const int archs[] = {");
        for (int i = 0; i < e->gpus.len; i++)
            kn_putf(t, "%s%d", i ? ", " : "", e->gpus.data[i]->target.sm);
        kn_putf(t,
                "};\n    const int status =\n"
                "        on_gpu ? kn_gpu_open(&made->gpu, name, archs, %d, codes, %d) : 0;\n"
                "    if (status) {\n        free(made);\n        return status;\n    }\n",
                e->gpus.len, codes);
    }
    kn_putf(t,
            "    *ctx = made;\n    return 0;\n}\n\n"
            "void %s_destroy(%s_ctx *ctx)\n{\n%s    free(ctx);\n}\n\n",
            n, n,
            e->gpus.len ? "    if (ctx && ctx->on_gpu)\n        kn_gpu_close(&ctx->gpu);\n" : "");
}

static void put_messages(kn_emitter *e, kn_text *t)
{
    kn_putf(t,
            "const char *%s_message(int number)\n{\n    static const char *const text[] = {\n"
            "        \"no error\",\n",
            e->name);
    for (int i = 0; i < e->messages.len; i++) {
        kn_text message = kn_text_new(e->a);
        kn_put_json(&message, e->messages.data[i]);
        kn_putf(t, "        %s,\n", kn_text_str(&message));
    }
    kn_putf(t, "    };\n    return number >= 0 && number <= %d ? text[number] : %s;\n}\n",
            e->messages.len, e->gpus.len ? "kn_gpu_message(number)" : "\"no such error\"");
}

void kn_put_interface(kn_emitter *e, kn_text *t)
{
    kn_text codes = kn_text_new(e->a);
    if (e->gpus.len) {
        kn_put_codes(e, &codes);
        kn_put(t, kn_text_str(&codes));
        put_gpu_dispatch(e, t);
    }
    if (e->cpu)
        put_cpu_dispatch(e, t);
    put_context(e, t);
    put_run(e, t);
    put_workspace(e, t);
    put_messages(e, t);
}
