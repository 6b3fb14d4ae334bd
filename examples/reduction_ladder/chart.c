#include "examples/reduction_ladder/chart.h"

#include <stdio.h>

enum {
    WIDTH = 860,
    TOP = 56,
    ROW = 30,
    BAR = 20,
    LEFT = 310, /* where the bars begin */
    LONGEST = 440
};

/* Text with the characters that XML gives a meaning written out. */
static void put_escaped(FILE *f, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '<': fputs("&lt;", f); break;
        case '>': fputs("&gt;", f); break;
        case '&': fputs("&amp;", f); break;
        default: fputc(*text, f); break;
        }
}

static void put_text(FILE *f, double x, int y, const char *attributes, const char *text)
{
    fprintf(f, "<text x=\"%.1f\" y=\"%d\" %s>", x, y, attributes);
    put_escaped(f, text);
    fputs("</text>\n", f);
}

static void put_bar(FILE *f, const bar *b, int row, bool last, double most)
{
    int y = TOP + row * ROW, base = y + BAR - 5;
    double length = most > 0 ? b->ms / most * LONGEST : 0;
    put_text(f, 16, base, "font-weight=\"bold\"", b->name);
    put_text(f, 130, base, "fill=\"#555\" font-size=\"12\"", b->what);
    if (length > 0)
        fprintf(f, "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" rx=\"2\" fill=\"%s\"/>\n",
                LEFT, y, length, BAR, last ? "#d9480f" : "#5c7cba");
    char time[32];
    snprintf(time, sizeof time, "%.3f ms", b->ms);
    put_text(f, LEFT + length + 8, base, "font-size=\"12\"", b->note ? b->note : time);
}

bool chart_write(const char *path, const char *title, const bar *bars, int nbars)
{
    FILE *f = fopen(path, "w");
    if (!f)
        return false;
    double most = 0;
    for (int i = 0; i < nbars; i++)
        if (bars[i].ms > most)
            most = bars[i].ms;
    int height = TOP + nbars * ROW + 10;
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d "
            "%d\" font-family=\"sans-serif\" font-size=\"14\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            WIDTH, height, WIDTH, height);
    put_text(f, 16, 30, "font-size=\"17\"", title);
    for (int i = 0; i < nbars; i++)
        put_bar(f, &bars[i], i, i == nbars - 1, most);
    fputs("</svg>\n", f);
    bool ok = !ferror(f);
    return fclose(f) == 0 && ok;
}
