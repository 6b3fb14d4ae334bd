/* Between the files of explain's page of HTML. Its drawings are SVG in the page's own text; colours are classes, which
 * explain_page.css has for light and dark screens. */
#ifndef KN_RUNTIME_EXPLAIN_PAGE_H
#define KN_RUNTIME_EXPLAIN_PAGE_H

#include "runtime/explain_impl.h"

/* ---- explain_markup.c ---- */

/* `s` with what HTML and XML mean otherwise escaped; of more than `most` characters the first, and an ellipsis. */
void kn_put_markup(kn_text *t, const char *s);
void kn_put_markup_cut(kn_text *t, const char *s, int most);
/* The same up to the end of a line, without what is around it. */
void kn_put_markup_line(kn_text *t, const char *line, int most);
/* <text> of these classes at a place. */
void kn_svg_text(kn_text *t, double x, double y, const char *class, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* ---- explain_flow.c: what a plan does in time, as rows, and the arrays that it does it to ---- */

/* What a row computes of a line of the user's text (0: of no line): "m", or "multiply, sum". */
typedef struct kn_flow_label {
    int line;
    const char *text;
} kn_flow_label;

/* A sweep of a phase, with what follows from its reductions. */
typedef struct kn_flow_row {
    int kernel, phase;
    KN_VEC(kn_flow_label) labels;
    const char *axes; /* of a phase's first row: what it is over */
    const char *
        began; /* of a phase's first row, behind others of its kernel: what it waits for; else NULL */
    const char *ended; /* what its threads wait for at the end; NULL: nothing */
} kn_flow_row;

/* How a row touches an array, as bits. */
enum { KN_FLOW_READS = 1, KN_FLOW_WRITES = 2 };

typedef struct kn_flow_array {
    kn_buf_kind kind;
    int index;
    const char *name;
    kn_dtype dtype;
    int64_t bytes;
    int first,
        last; /* rows from which on and up to which it is there: inputs from -1 on, outputs up to behind all */
    int lane;      /* arrays that are not there at the same time may share one */
    char *touched; /* per row */
} kn_flow_array;

typedef struct kn_flow {
    const kn_plan *plan;
    KN_VEC(kn_flow_row) rows;
    KN_VEC(kn_flow_array) arrays;
    int lanes;
} kn_flow;

kn_flow *kn_flow_of(const subject *s, const kn_plan *plan);

/* ---- the page's parts ---- */

/* Lines that something is computed of, numbered by the colours that stand for them. */
typedef struct kn_page {
    const subject *s;
    kn_text_lines lines;
    int *colour; /* per line; -1: none */
} kn_page;

enum { KN_LINE_COLOURS = 8 };

/* explain_draw.c: the flow of a plan as a drawing, its times and arrays to the scale of `other`, too (NULL: of none).
 * Returns its width. */
int kn_page_flow_width(const kn_flow *flow);
void kn_page_flow(const kn_page *page, const kn_flow *flow, const kn_flow *other,
                  const char *title);
/* explain_roofline.c */
void kn_page_roofline(const kn_page *page);
/* explain_source.c: the user's text; the CUDA source with the user's lines beside it. */
void kn_page_text(const kn_page *page);
void kn_page_cuda(const kn_page *page);
/* A small square with a line's number, for SVG at a place, and for HTML. */
void kn_page_line_svg(const kn_page *page, int line, double x, double y);
void kn_page_line_html(const kn_page *page, int line);

#endif
