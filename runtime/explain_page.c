/* explain as a page of HTML that needs nothing but itself: no script, no file beside it, no network. */
#include "runtime/explain_page.h"

#include "codegen/kir/schedule_text.h"

extern const char kn_explain_style[];

/* ---- what is at the top ---- */

static const char *bytes(const subject *s, int64_t n)
{
    kn_text t = kn_text_new(s->t->arena);
    kn_explain_put_bytes(&t, n);
    return kn_text_str(&t);
}

/* One figure: what it was unfused, and what it is. */
static void put_figure(const subject *s, const char *name, const char *before, const char *after)
{
    kn_putf(s->t, "<div><span>%s</span>", name);
    if (s->prog->options.fusion)
        kn_putf(s->t, "<s>%s</s> ", before);
    kn_putf(s->t, "<b>%s</b></div>\n", after);
}

static const char *temporaries(const subject *s, const kn_census *c)
{
    return c->temporaries ? bytes(s, c->temporary_bytes) : "none";
}

static void put_figures(const subject *s)
{
    kn_arena *a = s->t->arena;
    const kn_census *before = &s->unfused->after, *after = &s->plan->after;
    kn_put(s->t, "<div class=\"figures\">\n");
    put_figure(s, kn_explains_gpu(s) ? "launches" : "kernels",
               kn_sprintf(a, "%d", s->unfused->kernels.len),
               kn_sprintf(a, "%d", s->plan->kernels.len));
    put_figure(s, "temporaries", temporaries(s, before), temporaries(s, after));
    put_figure(s, "through memory", bytes(s, before->bytes_read + before->bytes_written),
               bytes(s, after->bytes_read + after->bytes_written));
    put_figure(s, "predicted", kn_sprintf(a, "%.1f us", s->unfused->ns / 1e3),
               kn_sprintf(a, "%.1f us", s->plan->ns / 1e3));
    kn_put(s->t, "</div>\n");
}

static void put_head(const subject *s)
{
    kn_text *t = s->t;
    kn_put(t, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
              "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
    kn_put_markup(t, s->prog->optimised->name);
    kn_put(t, "</title>\n<style>\n");
    kn_put(t, kn_explain_style);
    kn_put(t, "</style>\n</head>\n<body>\n<header><h1>");
    kn_put_markup(t, s->prog->optimised->name);
    kn_putf(t, "</h1><p>for %s", s->target.kind);
    if (s->target.sm)
        kn_putf(t, " sm_%d; times are predicted for an H200", s->target.sm);
    else
        kn_putf(t, ", %d thread%s; times are predicted", s->target.units,
                s->target.units == 1 ? "" : "s");
    kn_put(t, s->prog->options.fast_math ? "; fast math</p>\n" : "</p>\n");
    if (*s->assumed) {
        kn_put(t, "<p>assumed ");
        kn_put_markup(t, s->assumed);
        kn_put(t, "</p>\n");
    }
    put_figures(s);
    kn_put(t, "</header>\n");
}

/* ---- sections ---- */

/* Colours go to lines in order, those of both plans. */
static void find_colours(kn_page *page)
{
    const subject *s = page->s;
    const kn_plan *const plans[] = {s->unfused, s->plan};
    page->lines = kn_explain_lines(s);
    page->colour = KN_NEW_ARRAY(s->t->arena, int, page->lines.n + 1);
    bool *has = KN_NEW_ARRAY(s->t->arena, bool, page->lines.n + 1);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < plans[i]->regions->graph->nodes.len; j++) {
            const kn_node *n = plans[i]->regions->graph->nodes.data[j];
            if (plans[i]->regions->of[n->id])
                has[kn_explain_line(s, &page->lines, n->loc)] = true;
        }
    for (int line = 1, next = 0; line <= page->lines.n; line++)
        page->colour[line] = has[line] ? next++ : -1;
}

static void put_panel(const kn_page *page, const kn_flow *flow, const kn_flow *other,
                      const char *title)
{
    const kn_plan *plan = flow->plan;
    const subject *s = page->s;
    int n = plan->kernels.len;
    kn_putf(s->t, "<div><h3>%s</h3>\n<p class=\"note\">%d %s%s, %.1f us; reads %s, writes %s</p>\n",
            title, n, kn_explains_gpu(s) ? "launch" : "kernel",
            n == 1               ? ""
            : kn_explains_gpu(s) ? "es"
                                 : "s",
            plan->ns / 1e3, bytes(s, plan->after.bytes_read), bytes(s, plan->after.bytes_written));
    kn_page_flow(page, flow, other, title);
    kn_put(s->t, "</div>\n");
}

static void put_flows(const kn_page *page)
{
    const subject *s = page->s;
    const kn_flow *before = s->prog->options.fusion ? kn_flow_of(s, s->unfused) : NULL;
    const kn_flow *after = kn_flow_of(s, s->plan);
    kn_put(
        s->t,
        "<section><h2>what runs</h2>\n"
        "<p class=\"note\">From top to bottom, each box a kernel, its bar its predicted time. To the "
        "right what is in memory meanwhile, wider where it is larger: <i class=\"in\">inputs</i>, "
        "<i class=\"temp\">temporaries</i>, <i class=\"out\">outputs</i>; an arrow where it is "
        "read or written.</p>\n");
    if (before)
        kn_putf(s->t, "<div class=\"flows\" style=\"grid-template-columns:%dfr %dfr\">\n",
                kn_page_flow_width(before), kn_page_flow_width(after));
    else
        kn_put(s->t, "<div>\n");
    if (before)
        put_panel(page, before, after, "unfused");
    put_panel(page, after, before, before ? "fused" : "as planned, fusion off");
    kn_put(s->t, "</div></section>\n");
}

/* What `put` writes, as it is. */
static void put_words(const subject *s, void (*put)(const subject *))
{
    kn_text text = kn_text_new(s->t->arena);
    subject there = *s;
    there.t = &text;
    put(&there);
    const char *words = kn_text_str(&text);
    kn_put(s->t, "<pre class=\"words\">");
    kn_put_markup(s->t, *words == '\n' ? words + 1 : words);
    kn_put(s->t, "</pre>\n");
}

static void put_schedule(const subject *s)
{
    kn_text text = kn_text_new(s->t->arena);
    kn_schedules_put(&text, s->plan->kernels.data, s->plan->kernels.len, KN_SCHEDULE_OF_THESE);
    kn_put(
        s->t,
        "<div><h2>the schedule</h2>\n<p class=\"note\">As <code>--schedule</code> reads it:</p>\n"
        "<pre class=\"words wrap\">");
    kn_put_markup(s->t, kn_text_str(&text));
    kn_put(s->t, "</pre>\n");
    put_words(s, kn_explain_kernels);
    kn_put(s->t, "</div>\n");
}

void kn_explain_page(const subject *s)
{
    kn_page page = {.s = s};
    find_colours(&page);
    put_head(s);
    kn_put(s->t, "<main>\n");
    kn_page_text(&page);
    put_flows(&page);
    kn_put(
        s->t,
        "<section class=\"two\"><div><h2>the roofline</h2>\n"
        "<p class=\"note\">What the machine allows, and where the program is: to the right with less "
        "memory moved, up with less time.</p>\n");
    kn_page_roofline(&page);
    kn_put(s->t, "</div>\n");
    put_schedule(s);
    kn_put(s->t, "</section>\n");
    kn_page_cuda(&page);
    kn_put(s->t, "<section><details><summary>all of it in words</summary>\n");
    put_words(s, kn_explain_words);
    kn_put(s->t, "</details></section>\n</main>\n</body>\n</html>\n");
}
