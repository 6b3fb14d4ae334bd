/* kiln_cpu.h: the texts of the CPU device's own headers, one after the other. kiln_cuda.h: gpu.h with what it includes. */
#include <string.h>

#include "runtime/emit/impl.h"

extern const char kn_c_prelude[], kn_c_functions[], kn_c_helpers[], kn_c_conversions[],
    kn_c_cut_text[], kn_cpu_whole[], kn_cpu_real[], kn_cpu_expr[], kn_cpu_forms[], kn_ir_special[],
    kn_kir_integers[], kn_kir_blocks[], kn_cuda_abi[], kn_cuda_driver[], kn_cuda_pointer[],
    kn_cuda_stream[], kn_emit_gpu[],
    kn_emit_checks[]; /* made of the files of those names by the build */

#define DTYPE(name, code, text, kind, bytes, ctype, cuda, numpy) {#name, #ctype, KN_##name},
static const struct {
    const char *name, *is;
    kn_dtype dtype;
} types[] = {
#include "ir/dtype.def"
};

/* A text without its includes of ours, and of what they declare. */
static void put_file(kn_text *t, const char *text)
{
    bool skip = false;
    for (const char *end; *text; text = end) {
        end = text + strcspn(text, "\n");
        end += *end == '\n';
        const bool begins = strncmp(text, "#define DTYPE", 13) == 0;
        skip = skip || begins;
        if (!skip && strncmp(text, "#include \"", 10) != 0)
            kn_putn(t, text, (size_t)(end - text));
        skip = skip && strncmp(text, "#undef DTYPE", 12) != 0;
    }
    kn_put(t, "\n");
}

void kn_put_cpu_support(kn_text *t)
{
    kn_put(
        t,
        "/* What the C of emitted programs begins with, one text for all of one version. It is made of kiln's own\n"
        " * headers, and under its licence, Apache-2.0. */\n"
        "#ifndef KILN_CPU_H\n#define KILN_CPU_H\n\n"
        "#if defined(__FAST_MATH__)\n"
        "#error \"compile without -ffast-math: it takes NaN, infinities and the order of sums away\"\n"
        "#endif\n"
        "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n#include <string.h>\n\n"
        "#define KN_WORK static __attribute__((unused))\n#define KN_SPECIAL static inline\n"
        "/* No product becomes part of a fused multiply-add, so that results do not depend on the processor. */\n"
        "#if defined(__clang__)\n#pragma STDC FP_CONTRACT OFF\n#pragma clang diagnostic ignored \"-Wpass-failed\"\n"
        "#elif defined(__GNUC__)\n#pragma GCC optimize(\"fp-contract=off\")\n#endif\n\n");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!kn_is_complex(types[i].dtype))
            kn_putf(t, "typedef %s kn_c_%s;\n", types[i].is, types[i].name);
    kn_put(t, "\n");
    const char *const files[] = {kn_c_prelude,    kn_c_functions, kn_c_helpers, kn_c_conversions,
                                 kn_kir_integers, kn_c_cut_text,  kn_cpu_whole, kn_cpu_real,
                                 kn_ir_special,   kn_cpu_expr,    kn_cpu_forms, kn_emit_checks};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        put_file(t, files[i]);
    kn_put(t, "#endif\n");
}

/* A text with those that it includes of ours in their places. */
static void put_whole(kn_text *t, const char *text)
{
    static const struct {
        const char *path, *text;
    } ours[] = {
        {"codegen/kir/blocks.h", kn_kir_blocks},     {"codegen/kir/integers.h", kn_kir_integers},
        {"runtime/cuda/abi.h", kn_cuda_abi},         {"runtime/cuda/driver.def", kn_cuda_driver},
        {"runtime/cuda/pointer.h", kn_cuda_pointer}, {"runtime/cuda/stream.h", kn_cuda_stream},
        {"runtime/emit/checks.h", kn_emit_checks},
    };
    static const char include[] = "#include \"";
    const size_t n = sizeof include - 1;
    for (const char *end; *text; text = end) {
        end = text + strcspn(text, "\n");
        end += *end == '\n';
        if (strncmp(text, include, n) != 0) {
            kn_putn(t, text, (size_t)(end - text));
            continue;
        }
        for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
            if (strncmp(text + n, ours[i].path, strlen(ours[i].path)) == 0)
                put_whole(t, ours[i].text);
    }
}

void kn_put_gpu_support(kn_text *t)
{
    kn_put(
        t,
        "/* What emitted programs for NVIDIA GPUs begin with, one text for all of one version. It is made of\n"
        " * kiln's own headers, and under its licence, Apache-2.0. */\n");
    put_whole(t, kn_emit_gpu);
}

const char *kn_c_name_of(kn_dtype t)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].dtype == t)
            return types[i].is;
    return "void";
}
