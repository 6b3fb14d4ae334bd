/* Bars from top to bottom, in groups of two that share a scale:
 *
 *     batchnorm on cpu
 *     device time        unfused ==================== 320.4 us      9 launches
 *                        fused   ====| 57.0 us    5.6 times as fast
 *                                    a copy of its bytes
 *     ...
 */
#include "cli/chart.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/number.h"
#include "cli/text.h"

enum {
    WIDTH = 820,
    HEIGHT = 300,
    NAMES = 130,
    BARS = 190,
    LONGEST = 380,
    TOP = 58,
    GROUP = 72,
    BAR = 18
};

static const char head[] =
    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" style=\"width:%dpx;max-width:100%%\" role=\"img\">\n"
    "<style>\n"
    "svg{--paper:#fbfaf8;--ink:#1d1d1f;--soft:#6b6b70;--rule:#dedbd5;--before:#bd5a22;--after:#24805a}\n"
    "@media(prefers-color-scheme:dark){svg{--paper:#16171a;--ink:#e8e6e3;--soft:#9c9ca3;--rule:#373a40;"
    "--before:#e0925e;--after:#5fc08b}}\n"
    "text{font:13px system-ui,\"DejaVu Sans\",sans-serif;fill:var(--ink)}\n"
    ".paper{fill:var(--paper)}.soft{fill:var(--soft);font-size:12px}.title{font-size:17px;font-weight:600}\n"
    ".end{text-anchor:end}.before{fill:var(--before);opacity:.75}.after{fill:var(--after);opacity:.85}\n"
    ".copy{stroke:var(--ink);stroke-width:1.5;stroke-dasharray:3 2}\n"
    "</style>\n"
    "<rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n";

static void put_markup(FILE *f, const char *text)
{
    for (; *text; text++)
        if (*text == '<' || *text == '&')
            fputs(*text == '<' ? "&lt;" : "&amp;", f);
        else
            fputc(*text, f);
}

/* A quantity of both programs. */
typedef struct quantity {
    const char *name, *unit;
    double unfused, fused;
    const char *better; /* a format of the ratio */
} quantity;

static void put_bar(FILE *f, double y, double part, const char *name, const char *class)
{
    fprintf(f, "<text class=\"soft end\" x=\"%d\" y=\"%.0f\">%s</text>\n", BARS - 8, y + 13, name);
    kn_cli_print(f,
                 "<rect class=\"%s\" x=\"%d\" y=\"%.0f\" width=\"%.1f\" height=\"%d\" rx=\"2\"/>\n",
                 class, BARS, y, part * LONGEST > 1 ? part * LONGEST : 1, BAR);
}

static void put_value(FILE *f, double y, double part, const quantity *q, double value)
{
    kn_cli_print(f, "<text x=\"%.1f\" y=\"%.0f\">%.*f %s", BARS + part * LONGEST + 8, y + 13,
                 value < 100 ? 2 : 1, value, q->unit);
}

static void put_quantity(FILE *f, double y, const quantity *q)
{
    double most = q->unfused > q->fused ? q->unfused : q->fused;
    double before = most > 0 ? q->unfused / most : 0, after = most > 0 ? q->fused / most : 0;
    fprintf(f, "<text class=\"end\" x=\"%d\" y=\"%.0f\">%s</text>\n", NAMES - 16, y + 24, q->name);
    put_bar(f, y, before, "unfused", "before");
    put_value(f, y, before, q, q->unfused);
    fputs("</text>\n", f);
    put_bar(f, y + BAR + 4, after, "fused", "after");
    put_value(f, y + BAR + 4, after, q, q->fused);
    if (q->fused > 0) {
        fputs("<tspan class=\"soft\" dx=\"10\">", f);
        kn_cli_print(f, q->better, q->unfused / q->fused);
        fputs("</tspan>", f);
    }
    fputs("</text>\n", f);
}

/* Over the bar of the fused program, how long a copy of as many bytes would take. */
static void put_copy(FILE *f, const kn_chart *c)
{
    double most =
        c->unfused->device_us > c->fused->device_us ? c->unfused->device_us : c->fused->device_us;
    double us = c->fused->copy_gbps > 0 ? (double)c->fused->bytes / c->fused->copy_gbps / 1e3 : 0;
    if (us <= 0 || us > most)
        return;
    kn_cli_print(f, "<path class=\"copy\" d=\"M%.1f %dv%d\"/>\n", BARS + us / most * LONGEST,
                 TOP + BAR + 1, BAR + 8);
    fprintf(f, "<path class=\"copy\" d=\"M%d %dv14\"/>\n", BARS + 4, HEIGHT - 24);
    kn_cli_print(
        f,
        "<text class=\"soft\" x=\"%d\" y=\"%d\">a copy of as many bytes as the fused program "
        "moves: %.2f us, at %.1f GB/s</text>\n",
        BARS + 14, HEIGHT - 13, us, c->fused->copy_gbps);
}

static void put_chart(FILE *f, const kn_chart *c)
{
    const kiln_measurement *u = c->unfused, *v = c->fused;
    const quantity all[] = {
        {"device time", "us", u->device_us, v->device_us, "%.2f times as fast"},
        {"time of a call", "us", u->host_us, v->host_us, "%.2f times as fast"},
        {"bytes moved", "MB", (double)u->bytes / 1e6, (double)v->bytes / 1e6, "%.2f times less"},
    };
    fprintf(f, head, WIDTH, HEIGHT, WIDTH);
    fputs("<text class=\"title\" x=\"20\" y=\"32\">", f);
    put_markup(f, c->program);
    fputs(" on ", f);
    put_markup(f, c->device);
    fprintf(
        f,
        "</text>\n<text class=\"soft end\" x=\"%d\" y=\"32\">%llu launch%s instead of %llu</text>\n",
        WIDTH - 20, (unsigned long long)v->launches, v->launches == 1 ? "" : "es",
        (unsigned long long)u->launches);
    for (int i = 0; i < 3; i++)
        put_quantity(f, TOP + i * GROUP, &all[i]);
    put_copy(f, c);
    fputs("</svg>\n", f);
}

int kn_chart_write(const char *path, const kn_chart *chart, kn_err *e)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    if (f)
        put_chart(f, chart);
    bool made = f && fclose(f) == 0;
    int status = made ? kn_write_text(path, text, e) : kn_run_error(e, "out of memory");
    free(text);
    return status;
}
