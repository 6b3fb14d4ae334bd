/* Text in HTML and SVG. */
#include <string.h>

#include "runtime/explain_page.h"

static void put_character(kn_text *t, char c)
{
    switch (c) {
    case '<': kn_put(t, "&lt;"); break;
    case '>': kn_put(t, "&gt;"); break;
    case '&': kn_put(t, "&amp;"); break;
    case '"': kn_put(t, "&quot;"); break;
    case '\r': break;
    default: kn_putn(t, (unsigned char)c < ' ' && c != '\n' ? " " : &c, 1); break;
    }
}

/* Is it a byte of a character of UTF-8 that began before? */
static bool continues(char c) { return ((unsigned char)c & 0xc0) == 0x80; }

/* The first n bytes. */
static void put_cut(kn_text *t, const char *s, size_t n, int most)
{
    int length = 0;
    for (size_t i = 0; i < n; i++)
        length += !continues(s[i]);
    int left = length > most ? most - 1 : length;
    for (size_t i = 0; i < n && (left > 0 || continues(s[i])); i++) {
        left -= i + 1 == n || !continues(s[i + 1]);
        put_character(t, s[i]);
    }
    kn_put(t, length > most ? "…" : "");
}

void kn_put_markup(kn_text *t, const char *s)
{
    for (; *s; s++)
        put_character(t, *s);
}

void kn_put_markup_cut(kn_text *t, const char *s, int most) { put_cut(t, s, strlen(s), most); }

void kn_put_markup_line(kn_text *t, const char *line, int most)
{
    line += strspn(line, " \t");
    put_cut(t, line, strcspn(line, "\r\n"), most);
}

void kn_svg_text(kn_text *t, double x, double y, const char *class, const char *fmt, ...)
{
    kn_text text = kn_text_new(t->arena);
    va_list ap;
    va_start(ap, fmt);
    kn_putv(&text, fmt, ap);
    va_end(ap);
    kn_putf(t, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, class);
    kn_put_markup(t, kn_text_str(&text));
    kn_put(t, "</text>\n");
}
