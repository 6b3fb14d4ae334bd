/* The user's text and the CUDA source, line by line: a line of the source belongs to the line of the text whose value it
 * computes or stores. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/emit/cuda/cuda.h"
#include "runtime/explain_page.h"

enum { WHOLE = 1000 };

/* ---- lines of the text ---- */

/* The class of its colour; "" where it has none. */
static const char *class_of(const kn_page *page, int line)
{
    int colour = line > 0 && line <= page->lines.n ? page->colour[line] : -1;
    return colour < 0 ? "" : kn_sprintf(page->s->t->arena, "l%d", colour % KN_LINE_COLOURS);
}

void kn_page_line_svg(const kn_page *page, int line, double x, double y)
{
    kn_putf(page->s->t,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"20\" height=\"15\" rx=\"4\" class=\"chip %s\"/>",
            x, y, class_of(page, line));
    kn_svg_text(page->s->t, x + 10, y + 11.5, "number", "%d", line);
}

void kn_page_line_html(const kn_page *page, int line)
{
    kn_putf(page->s->t, "<b class=\"chip %s\">%d</b>", class_of(page, line), line);
}

/* Without the indentation that all lines share, nor empty lines at the end. */
void kn_page_text(const kn_page *page)
{
    kn_text *t = page->s->t;
    int n = page->lines.n;
    while (n > 0 && !page->lines.begin[n][strspn(page->lines.begin[n], " \t\r\n")])
        n--;
    if (n == 0)
        return;
    kn_put(t, "<section><h2>the program</h2>\n<div class=\"code text\">\n");
    for (int i = 1; i <= n; i++) {
        const char *line = page->lines.begin[i];
        kn_put(t, "<div>");
        kn_page_line_html(page, i);
        kn_putf(t, "<code>%*s", (int)strspn(line, " "), "");
        kn_put_markup_line(t, line, WHOLE);
        kn_put(t, "</code></div>\n");
    }
    kn_put(t, "</div></section>\n");
}

/* ---- lines of the source ---- */

static bool in_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* The line of the text that value i was made for; 0: of none. */
static int line_of_value(const kn_page *page, const kn_phase *ph, int i)
{
    return i < ph->nest.values.len
               ? kn_explain_line(page->s, &page->lines, ph->nest.values.data[i].loc)
               : 0;
}

static int line_of_reduction(const kn_page *page, const kn_phase *ph, int red)
{
    for (int i = 0; i < ph->nest.values.len; i++)
        if (ph->nest.values.data[i].kind == KN_V_RESULT && ph->nest.values.data[i].index == red)
            return line_of_value(page, ph, i);
    return 0;
}

/* The emitter calls values v0_x, reductions acc0 and r0, stores o0. */
static int line_of_word(const kn_page *page, const kn_phase *ph, const char *word)
{
    const char *digits = word + (strncmp(word, "acc", 3) == 0 ? 3 : 1);
    if (!isdigit((unsigned char)*digits))
        return 0;
    char *end;
    long n = strtol(digits, &end, 10);
    if (in_word(*end) && *end != '_')
        return 0;
    if (*word == 'v')
        return line_of_value(page, ph, (int)n);
    if (*word == 'r' || *word == 'a')
        return *word == 'a' && digits == word + 1 ? 0 : line_of_reduction(page, ph, (int)n);
    if (*word != 'o' || n >= ph->nest.stores.len)
        return 0;
    const kn_store *st = &ph->nest.stores.data[n];
    return st->kind == KN_STORE_PARTIAL ? line_of_reduction(page, ph, st->value)
                                        : line_of_value(page, ph, st->value);
}

/* By the first word that says it. */
static int line_of_source(const kn_page *page, const kn_phase *ph, const char *at, const char *end)
{
    for (bool inside = false; ph && at < end; inside = in_word(*at++)) {
        int line = inside ? 0 : line_of_word(page, ph, at);
        if (line)
            return line;
    }
    return 0;
}

/* The phase that begins on this line: "// phase 1, y: ..."; else the one before. */
static const kn_phase *phase_of(const kn_kernel *k, const kn_phase *before, const char *at,
                                const char *end)
{
    static const char comment[] = "// phase ";
    for (; at + sizeof comment < end; at++)
        if (memcmp(at, comment, sizeof comment - 1) == 0) {
            int p = atoi(at + sizeof comment - 1);
            return p < k->phases.len ? &k->phases.data[p] : before;
        }
    return before;
}

/* The line of the text, if it is one; its number alone where it has just been said. */
static void put_said(const kn_page *page, int line, bool again)
{
    kn_text *t = page->s->t;
    if (line)
        kn_page_line_html(page, line);
    if (!line || again)
        return;
    kn_put(t, "<code>");
    kn_put_markup_line(t, page->lines.begin[line], WHOLE);
    kn_put(t, "</code>");
}

/* Neighbouring lines of the same line of the text share a part. */
static void put_kernel(const kn_page *page, const kn_kernel *k)
{
    kn_text *t = page->s->t, source = kn_text_new(t->arena);
    const kn_phase *ph = NULL;
    int open = -1, said = 0;
    kn_cuda_kernel(&source, k);
    kn_put(t, "<div class=\"code cuda\">\n");
    for (const char *at = kn_text_str(&source); *at;) {
        const char *end = strchr(at, '\n');
        end = end ? end : at + strlen(at);
        ph = phase_of(k, ph, at, end);
        int line = line_of_source(page, ph, at, end);
        if (line != open) {
            kn_put(t, open < 0 ? "" : "</pre>\n");
            kn_put(t, "<div class=\"said\">");
            put_said(page, line, line == said);
            kn_putf(t, "</div><pre class=\"%s\">", class_of(page, line));
            said = line ? line : said;
            open = line;
        }
        kn_put_markup(t, kn_sprintf(t->arena, "%.*s\n", (int)(end - at), at));
        at = *end ? end + 1 : end;
    }
    kn_put(t, open < 0 ? "</div>\n" : "</pre>\n</div>\n");
}

void kn_page_cuda(const kn_page *page)
{
    const kn_plan *plan = page->s->plan;
    if (!kn_explains_gpu(page->s)) /* it runs the nests themselves */
        return;
    kn_putf(page->s->t,
            "<section><h2>the CUDA source</h2>\n<p class=\"note\">Beside it the line of the "
            "program that it computes; the functions that it calls are left out.</p>\n");
    for (int i = 0; i < plan->kernels.len; i++)
        put_kernel(page, plan->kernels.data[i]);
    kn_put(page->s->t, "</section>\n");
}
