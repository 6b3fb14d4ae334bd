/* Lines, names and literals. */
#include <math.h>
#include <string.h>

#include "codegen/emit/c/writer.h"

static void put_line(kn_c_writer *w, const char *fmt, va_list ap, const char *end)
{
    kn_putf(w->t, "%*s", w->indent * 4, "");
    kn_putv(w->t, fmt, ap);
    kn_put(w->t, end);
}

void kn_c_line(kn_c_writer *w, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    put_line(w, fmt, ap, "\n");
    va_end(ap);
}

void kn_c_open(kn_c_writer *w, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    put_line(w, fmt, ap, " {\n");
    va_end(ap);
    w->indent++;
}

void kn_c_block(kn_c_writer *w)
{
    kn_c_line(w, "{");
    w->indent++;
}

void kn_c_close_as(kn_c_writer *w, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    w->indent--;
    put_line(w, fmt, ap, "\n");
    va_end(ap);
}

void kn_c_close(kn_c_writer *w) { kn_c_close_as(w, "}"); }

const char *kn_c_printed(kn_c_writer *w, const char *fmt, ...)
{
    kn_text t = kn_text_new(w->a);
    va_list ap;
    va_start(ap, fmt);
    kn_putv(&t, fmt, ap);
    va_end(ap);
    return kn_text_str(&t);
}

const char *kn_c_value(kn_c_writer *w, int value)
{
    const kn_value *v = &w->ph->nest.values.data[value];
    return v->name ? kn_identifier(w->a, kn_c_printed(w, "v%d_", value), v->name)
                   : kn_c_printed(w, "v%d", value);
}

const char *kn_c_mode_text(kn_c_mode mode)
{
    static const char *const text[KN_C_MODES] = {"rows",       "short",       "cols",      "tiles",
                                                 "tiled_rows", "tiled_short", "tiled_cols"};
    return text[mode];
}

const char *kn_c_state(kn_c_writer *w)
{
    return kn_c_printed(w, "%s_%d_%s", w->k->name, w->p, kn_c_mode_text(w->mode));
}

static const char *integer(kn_c_writer *w, kn_scalar v)
{
    if (v.dtype == KN_U64)
        return kn_c_printed(w, "(u64)%lluu", (unsigned long long)v.i);
    if (v.i == INT64_MIN) /* has no decimal literal */
        return "(i64)(-9223372036854775807 - 1)";
    return kn_c_printed(w, "(%s)%s%lld%s", kn_c_type(v.dtype), v.i < 0 ? "(" : "", (long long)v.i,
                        v.i < 0 ? ")" : "");
}

const char *kn_c_literal(kn_c_writer *w, kn_scalar v)
{
    if (kn_is_complex(v.dtype)) {
        const kn_dtype t = kn_real_of(v.dtype);
        return kn_c_printed(w, "__builtin_complex(%s, %s)",
                            kn_c_literal(w, (kn_scalar){.dtype = t, .f = v.f}),
                            kn_c_literal(w, (kn_scalar){.dtype = t, .f = v.im}));
    }
    if (!kn_is_float(v.dtype))
        return integer(w, v);
    if (kn_is_half(v.dtype)) {
        uint16_t bits;
        kn_scalar_store(v, &bits);
        return kn_c_printed(w, "(%s)0x%04x", kn_c_type(v.dtype), bits);
    }
    const char *suffix = v.dtype == KN_F32 ? "f" : "";
    if (isnan(v.f))
        return kn_c_printed(w, "__builtin_nan%s(\"\")", suffix);
    if (isinf(v.f))
        return kn_c_printed(w, "(%s__builtin_inf%s())", v.f < 0 ? "-" : "", suffix);
    const char *digits = kn_c_printed(w, v.dtype == KN_F32 ? "%.9g" : "%.17g", v.f);
    const char *point = strpbrk(digits, ".e") ? "" : ".0";
    return kn_c_printed(w, signbit(v.f) ? "(%s%s%s)" : "%s%s%s", digits, point, suffix);
}
