/* The flow of a plan as a drawing: kernels from top to bottom, each a card with a line for what each sweep computes;
 * to the right, a bar for each array from where it is written to where it is read last, as wide as it is large.
 *
 *       inputs            x     gamma
 *   +---------------+     |       |
 *   | kernel  57 us |     |       |
 *   | 3 m           |<----o       |
 *   |...............|     |       |        what a sweep waits for at its end
 *   | 6 y           |<------------o
 *   +---------------+
 *   - - - - - - - - - - - - - - - - -      what the next kernel waits for
 */
#include <math.h>
#include <string.h>

#include "codegen/model/predict.h"
#include "runtime/explain_page.h"

enum {
    CARD = 300,    /* width of a card */
    LANE = 80,     /* from bar to bar */
    MARGIN = 40,   /* from the cards to the first bar */
    TOP = 46,      /* for what inputs are called */
    BOTTOM = 44,   /* for what outputs are called */
    HEAD = 34,     /* what a card begins with */
    SUBHEAD = 20,  /* what a further phase begins with */
    LABEL = 20,    /* a line of a row */
    WAIT = 18,     /* what a row ends with, or what a phase waits for */
    GAP = 28,      /* between cards */
    THICKEST = 18, /* bar */
    WIDE = 8,      /* characters of an array's name that have room */
};

/* Where things are. */
typedef struct layout {
    const kn_page *page;
    const kn_flow *flow;
    double *row;         /* per row, and one behind the last: its top */
    double *begin, *end; /* per kernel: of its card */
    double longest;      /* ns of a kernel, and bytes of an array, at full scale */
    double largest;
    kn_time **times; /* per kernel and phase */
    kn_time *total;  /* per kernel */
} layout;

int kn_page_flow_width(const kn_flow *flow) { return CARD + MARGIN + LANE * flow->lanes + 10; }

/* ---- layout ---- */

static double height_of(const kn_flow_row *r)
{
    return LABEL * r->labels.len + 6 + (r->ended ? WAIT : 0);
}

static void place_rows(layout *l)
{
    const kn_flow *f = l->flow;
    double y = TOP;
    for (int i = 0; i < f->rows.len; i++) {
        const kn_flow_row *r = &f->rows.data[i];
        if (!r->began && r->axes) {
            y += i ? GAP : 0;
            l->begin[r->kernel] = y;
            y += HEAD;
        } else if (r->began) {
            y += (*r->began ? WAIT : 0) + SUBHEAD;
        }
        l->row[i] = y;
        y += height_of(r);
        l->end[r->kernel] = y;
    }
    l->row[f->rows.len] = y;
}

static void scale_to(layout *l, const kn_flow *flow)
{
    for (int i = 0; flow && i < flow->plan->kernels.len; i++)
        l->longest =
            fmax(l->longest,
                 kn_predict_kernel(flow->plan->kernels.data[i], &l->page->s->target, NULL).ns);
    for (int i = 0; flow && i < flow->arrays.len; i++)
        l->largest = fmax(l->largest, (double)flow->arrays.data[i].bytes);
}

static layout layout_of(const kn_page *page, const kn_flow *flow, const kn_flow *other)
{
    kn_arena *a = page->s->t->arena;
    int kernels = flow->plan->kernels.len;
    layout l = {.page = page, .flow = flow, .longest = 1, .largest = 1};
    l.row = KN_NEW_ARRAY(a, double, flow->rows.len + 1);
    l.begin = KN_NEW_ARRAY(a, double, kernels + 1);
    l.end = KN_NEW_ARRAY(a, double, kernels + 1);
    l.times = KN_NEW_ARRAY(a, kn_time *, kernels + 1);
    l.total = KN_NEW_ARRAY(a, kn_time, kernels + 1);
    for (int i = 0; i < kernels; i++) {
        const kn_kernel *k = flow->plan->kernels.data[i];
        l.times[i] = KN_NEW_ARRAY(a, kn_time, k->phases.len + 1);
        l.total[i] = kn_predict_kernel(k, &page->s->target, l.times[i]);
    }
    scale_to(&l, flow);
    scale_to(&l, other);
    place_rows(&l);
    return l;
}

/* ---- arrays ---- */

static double lane_x(const kn_flow_array *a) { return CARD + MARGIN + LANE * (a->lane + 0.2); }

static double thickness(const layout *l, const kn_flow_array *a)
{
    return fmax(3, THICKEST * sqrt((double)a->bytes / l->largest));
}

/* Where a row's arrows are: what it reads above what it writes. */
static double touch_y(const layout *l, int row, int how)
{
    const kn_flow_row *r = &l->flow->rows.data[row];
    double labels = LABEL * r->labels.len;
    return l->row[row] + 3 +
           (how == KN_FLOW_READS ? fmin(7, labels / 3) : labels - fmin(6, labels / 3));
}

static double bar_begin(const layout *l, const kn_flow_array *a)
{
    return a->first < 0 ? TOP - 10 : touch_y(l, a->first, KN_FLOW_WRITES);
}

static double bar_end(const layout *l, const kn_flow_array *a)
{
    if (a->last >= l->flow->rows.len)
        return l->row[l->flow->rows.len] + 14;
    return a->last < 0 ? TOP : touch_y(l, a->last, KN_FLOW_READS);
}

static const char *class_of(const kn_flow_array *a)
{
    return a->kind == KN_BUF_INPUT ? "in" : a->kind == KN_BUF_OUTPUT ? "out" : "temp";
}

/* Its name, and below it its bytes: where it begins, or ends. */
static void put_name(const layout *l, const kn_flow_array *a)
{
    const double half = thickness(l, a) / 2;
    const double x = lane_x(a) + (a->kind == KN_BUF_TEMP ? half + 4 : -half);
    const double y = a->kind == KN_BUF_INPUT    ? TOP - 29
                     : a->kind == KN_BUF_OUTPUT ? l->row[l->flow->rows.len] + 28
                                                : bar_begin(l, a) + 4;
    kn_text *t = l->page->s->t;
    kn_text bytes = kn_text_new(t->arena);
    kn_explain_put_bytes(&bytes, a->bytes);
    kn_putf(t, "<text x=\"%.1f\" y=\"%.1f\" class=\"name %s\">", x, y, class_of(a));
    kn_put_markup_cut(t, a->name, WIDE);
    kn_put(t, "</text>\n");
    kn_svg_text(t, x, y + 13, "small", "%s", kn_text_str(&bytes));
}

static void put_bar(const layout *l, const kn_flow_array *a)
{
    kn_text *t = l->page->s->t;
    double w = thickness(l, a), x = lane_x(a), y = bar_begin(l, a), end = bar_end(l, a);
    kn_text bytes = kn_text_new(t->arena);
    kn_explain_put_bytes(&bytes, a->bytes);
    kn_put(t, "<g><title>");
    kn_put_markup(t, a->name);
    kn_putf(t, ": %s, %s</title>\n", kn_dtypes[a->dtype].text, kn_text_str(&bytes));
    kn_putf(t,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"%.1f\" "
            "class=\"bar %s\"/>\n",
            x - w / 2, y, w, fmax(end - y, 2), fmin(w / 2, 3), class_of(a));
    kn_put(t, "</g>\n");
}

static void put_head(kn_text *t, double x, double y, int to_right, const char *class)
{
    kn_putf(t, "<path d=\"M%.1f %.1fl%d -4v8z\" class=\"head %s\"/>\n", x, y, to_right ? -7 : 7,
            class);
}

/* The arrow of a row to or from an array. */
static void put_touch(const layout *l, const kn_flow_array *a, int row, int how)
{
    kn_text *t = l->page->s->t;
    double x = lane_x(a), y = touch_y(l, row, how), edge = x - thickness(l, a) / 2;
    kn_putf(t, "<path d=\"M%d %.1fH%.1f\" class=\"wire %s\"/>\n", CARD + 2, y, edge, class_of(a));
    if (how == KN_FLOW_READS)
        put_head(t, CARD + 1, y, 0, class_of(a));
    else
        put_head(t, edge, y, 1, class_of(a));
    kn_putf(t, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\" class=\"dot\"/>\n", x, y);
}

static void put_arrays(const layout *l)
{
    const kn_flow *f = l->flow;
    for (int i = 0; i < f->arrays.len; i++)
        put_bar(l, &f->arrays.data[i]);
    for (int i = 0; i < f->arrays.len; i++)
        for (int row = 0; row < f->rows.len; row++)
            for (int how = KN_FLOW_READS; how <= KN_FLOW_WRITES; how++)
                if (f->arrays.data[i].touched[row] & how)
                    put_touch(l, &f->arrays.data[i], row, how);
    for (int i = 0; i < f->arrays.len; i++) /* over arrows that pass by */
        put_name(l, &f->arrays.data[i]);
}

/* ---- cards ---- */

/* What somebody waits for: a broken line with its name. */
static void put_wait(kn_text *t, double y, double width, const char *what, const char *class)
{
    kn_putf(t, "<path d=\"M10 %.1fH%.1f\" class=\"wait %s\"/>\n", y, width, class);
    kn_putf(t, "<rect x=\"18\" y=\"%.1f\" width=\"%.1f\" height=\"14\" class=\"%s\"/>\n", y - 7,
            5.6 * (double)strlen(what) + 10, *class ? "paper" : "card");
    kn_svg_text(t, 23, y + 4, *class ? "waits wide" : "waits", "%s", what);
}

static void put_row(const layout *l, int i)
{
    kn_text *t = l->page->s->t;
    const kn_flow_row *r = &l->flow->rows.data[i];
    if (r->began) {
        if (*r->began)
            put_wait(t, l->row[i] - SUBHEAD - WAIT / 2, CARD - 10, r->began, "");
        kn_putf(t, "<text x=\"12\" y=\"%.1f\" class=\"small\">", l->row[i] - 5);
        kn_put_markup_cut(t, r->axes, 44);
        kn_put(t, "</text>\n");
    }
    for (int j = 0; j < r->labels.len; j++) {
        double y = l->row[i] + LABEL * j;
        const kn_flow_label *label = &r->labels.data[j];
        kn_put(t, "<g><title>");
        kn_put_markup(t, label->text);
        kn_put(t, "</title>");
        if (label->line)
            kn_page_line_svg(l->page, label->line, 12, y + 3);
        kn_putf(t, "<text x=\"%d\" y=\"%.1f\" class=\"label\">", label->line ? 38 : 12, y + 14.5);
        kn_put_markup_cut(t, label->text, label->line ? 34 : 38);
        kn_put(t, "</text></g>\n");
    }
    if (r->ended)
        put_wait(t, l->row[i] + height_of(r) - WAIT / 2 - 1, CARD - 10, r->ended, "");
}

/* A kernel: its axes and its time, which is also a bar under them. */
static void put_card(const layout *l, int kernel, const kn_flow_row *first)
{
    kn_text *t = l->page->s->t;
    const kn_time *time = &l->total[kernel];
    double y = l->begin[kernel];
    kn_putf(
        t, "<rect x=\"1\" y=\"%.1f\" width=\"%d\" height=\"%.1f\" rx=\"7\" class=\"card edge\"/>\n",
        y, CARD - 1, l->end[kernel] - y);
    kn_putf(t, "<g><title>");
    kn_put_markup(t, first->axes);
    kn_putf(t, "</title><text x=\"12\" y=\"%.1f\" class=\"small\">", y + 18);
    kn_put_markup_cut(t, first->axes, 30);
    kn_put(t, "</text></g>\n");
    kn_putf(t, "<text x=\"%d\" y=\"%.1f\" class=\"time\">%.1f us</text>\n", CARD - 12, y + 18,
            time->ns / 1e3);
    kn_putf(t, "<rect x=\"12\" y=\"%.1f\" width=\"%d\" height=\"3\" rx=\"1.5\" class=\"scale\"/>\n",
            y + 25, CARD - 24);
    kn_putf(t,
            "<rect x=\"12\" y=\"%.1f\" width=\"%.1f\" height=\"3\" rx=\"1.5\" class=\"spent\"/>\n",
            y + 25, fmax(3, (CARD - 24) * time->ns / l->longest));
}

static void put_cards(const layout *l, int width)
{
    kn_text *t = l->page->s->t;
    const bool gpu = kn_explains_gpu(l->page->s);
    for (int i = 0; i < l->flow->rows.len; i++) {
        const kn_flow_row *r = &l->flow->rows.data[i];
        if (!r->began && r->axes) {
            if (r->kernel > 0)
                put_wait(t, l->begin[r->kernel] - GAP / 2, width - 6,
                         gpu ? "the whole machine waits" : "all threads wait", "between");
            put_card(l, r->kernel, r);
        }
        put_row(l, i);
    }
}

void kn_page_flow(const kn_page *page, const kn_flow *flow, const kn_flow *other, const char *title)
{
    kn_text *t = page->s->t;
    const layout l = layout_of(page, flow, other);
    int width = kn_page_flow_width(flow);
    double height = l.row[flow->rows.len] + BOTTOM;
    kn_putf(t,
            "<div class=\"scroll\"><svg class=\"flow\" viewBox=\"0 0 %d %.0f\" "
            "style=\"max-width:%dpx;min-width:%dpx\" role=\"img\" aria-label=\"%s\">\n",
            width, height, width, width * 2 / 3, title);
    put_arrays(&l);
    put_cards(&l, width);
    kn_put(t, "</svg></div>\n");
}
