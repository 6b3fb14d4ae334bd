/* A text builder in an arena: grows as it is printed to; always NUL-terminated once written to. */
#ifndef KN_BASE_TEXT_H
#define KN_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>

#include "base/arena.h"

typedef struct kn_text {
    kn_arena *arena;
    char *data;
    size_t len, cap;
} kn_text;

kn_text kn_text_new(kn_arena *a);
void kn_put(kn_text *t, const char *s);
void kn_putn(kn_text *t, const char *s, size_t n);
/* A whole number, as "%lld" does, but quickly. */
void kn_puti(kn_text *t, int64_t i);
void kn_putf(kn_text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void kn_putv(kn_text *t, const char *fmt, va_list ap);
/* `s` as a JSON string, quotes included. */
void kn_put_json(kn_text *t, const char *s);
/* The text so far; "" before anything was put. */
const char *kn_text_str(const kn_text *t);

#endif
