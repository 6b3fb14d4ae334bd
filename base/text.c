#include "base/text.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"

kn_text kn_text_new(kn_arena *a) { return (kn_text){.arena = a}; }

static void reserve(kn_text *t, size_t more)
{
    size_t need = t->len + more + 1;
    if (need <= t->cap)
        return;
    size_t cap = t->cap ? t->cap * 2 : 256;
    while (cap < need)
        cap *= 2;
    char *p = kn_alloc(t->arena, cap);
    if (t->len)
        memcpy(p, t->data, t->len);
    t->data = p;
    t->cap = cap;
}

void kn_putn(kn_text *t, const char *s, size_t n)
{
    reserve(t, n);
    memcpy(t->data + t->len, s, n);
    t->len += n;
    t->data[t->len] = '\0';
}

void kn_put(kn_text *t, const char *s) { kn_putn(t, s, strlen(s)); }

/* What the C library formats. */
static void put_formatted(kn_text *t, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    reserve(t, 0);
    size_t room = t->cap - t->len;
    int n = kn_format(t->data + t->len, room, fmt, ap);
    if (n > 0 && (size_t)n >= room) {
        reserve(t, (size_t)n);
        kn_format(t->data + t->len, (size_t)n + 1, fmt, again);
    }
    t->len += n > 0 ? (size_t)n : 0;
    va_end(again);
}

/* Nearly all text is words and whole numbers, which need no more; the C library does the rest of a format from the first
 * other directive on. */
void kn_putv(kn_text *t, const char *fmt, va_list from)
{
    va_list ap;
    va_copy(ap, from);
    while (*fmt) {
        size_t words = strcspn(fmt, "%");
        kn_putn(t, fmt, words);
        fmt += words;
        if (strncmp(fmt, "%s", 2) == 0)
            kn_put(t, va_arg(ap, const char *));
        else if (strncmp(fmt, "%d", 2) == 0)
            kn_puti(t, va_arg(ap, int));
        else if (strncmp(fmt, "%lld", 4) == 0)
            kn_puti(t, va_arg(ap, long long));
        else
            break;
        fmt += fmt[1] == 'l' ? 4 : 2;
    }
    if (*fmt)
        put_formatted(t, fmt, ap);
    va_end(ap);
}

void kn_puti(kn_text *t, int64_t i)
{
    char digits[24], *at = digits + sizeof digits;
    uint64_t rest = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
    do
        *--at = (char)('0' + rest % 10);
    while (rest /= 10);
    if (i < 0)
        *--at = '-';
    kn_putn(t, at, (size_t)(digits + sizeof digits - at));
}

void kn_putf(kn_text *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    kn_putv(t, fmt, ap);
    va_end(ap);
}

void kn_put_json(kn_text *t, const char *s)
{
    kn_put(t, "\"");
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            kn_putf(t, "\\%c", c);
        else if (c == '\n')
            kn_put(t, "\\n");
        else if (c < 0x20)
            kn_putf(t, "\\u%04x", c);
        else
            kn_putn(t, s, 1);
    }
    kn_put(t, "\"");
}

const char *kn_text_str(const kn_text *t) { return t->data ? t->data : ""; }
