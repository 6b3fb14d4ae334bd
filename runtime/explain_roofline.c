/* The roofline: arithmetic a byte of memory against arithmetic a second, both logarithmic. What the machine allows is a
 * slope, its memory's bandwidth, under a ceiling, its arithmetic; the program is a point for each of its plans. */
#include <math.h>

#include "codegen/model/machine.h"
#include "runtime/explain_page.h"

enum { WIDTH = 620, HEIGHT = 380, LEFT = 62, RIGHT = 16, TOP = 24, BOTTOM = 46 };

/* A range of powers of ten on an axis. */
typedef struct range {
    double low, high; /* logarithms */
} range;

typedef struct roofline {
    const kn_page *page;
    range x, y;
    double memory, cache, peak; /* GB/s, and thousand million additions a second */
    double work;                /* additions of the program */
} roofline;

/* ---- what is counted ---- */

static double count(const kn_node *n, const int64_t *sizes)
{
    int64_t shape[KN_MAX_RANK];
    return kn_node_sizes(n, sizes, shape) == KN_OK ? (double)kn_count(shape, n->rank) : 0;
}

/* What the program's operations cost, in additions, as ops.def says. */
static double work_of(const subject *s)
{
    const kn_graph *g = s->plan->regions->graph;
    const bool *needed = kn_needed_nodes(g, s->t->arena);
    double sum = 0;
    for (int i = 0; i < g->nodes.len; i++) {
        const kn_node *n = g->nodes.data[i];
        if (!needed[i])
            continue;
        if (kn_ops[n->op].cls == KN_ELEM)
            sum += count(n, s->plan->sizes) * kn_ops[n->op].cost;
        else if (kn_ops[n->op].cls == KN_REDUCE)
            sum += count(n->in[0], s->plan->sizes);
    }
    return sum;
}

static double bytes_of(const kn_plan *plan)
{
    return fmax(1, (double)(plan->after.bytes_read + plan->after.bytes_written));
}

/* ---- the drawing ---- */

static double at_x(const roofline *r, double v)
{
    return LEFT + (log10(v) - r->x.low) / (r->x.high - r->x.low) * (WIDTH - LEFT - RIGHT);
}

static double at_y(const roofline *r, double v)
{
    return HEIGHT - BOTTOM -
           (log10(v) - r->y.low) / (r->y.high - r->y.low) * (HEIGHT - TOP - BOTTOM);
}

static range decades(double least, double most)
{
    return (range){floor(log10(least)), ceil(log10(most))};
}

static const char *number(const roofline *r, double v)
{
    kn_arena *a = r->page->s->t->arena;
    return v >= 1e3   ? kn_sprintf(a, "%.3g k", v / 1e3)
           : v >= 0.1 ? kn_sprintf(a, "%.3g", v)
                      : kn_sprintf(a, "%.2g", v);
}

static void put_axes(const roofline *r)
{
    kn_text *t = r->page->s->t;
    for (double e = r->x.low; e <= r->x.high; e++) {
        double x = at_x(r, pow(10, e));
        kn_putf(t, "<path d=\"M%.1f %dV%d\" class=\"grid\"/>\n", x, TOP, HEIGHT - BOTTOM);
        kn_svg_text(t, x, HEIGHT - BOTTOM + 16, "small middle", "%s", number(r, pow(10, e)));
    }
    for (double e = r->y.low; e <= r->y.high; e++) {
        double y = at_y(r, pow(10, e));
        kn_putf(t, "<path d=\"M%d %.1fH%d\" class=\"grid\"/>\n", LEFT, y, WIDTH - RIGHT);
        kn_svg_text(t, LEFT - 6, y + 4, "small end", "%s", number(r, pow(10, e)));
    }
    kn_svg_text(t, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 8, "small middle",
                "additions a byte of memory");
    kn_putf(
        t,
        "<text transform=\"translate(12 %d) rotate(-90)\" class=\"small middle\">10⁹ additions a "
        "second</text>\n",
        (TOP + HEIGHT - BOTTOM) / 2);
}

/* What is written at a place. */
typedef struct spot {
    double x, y;
} spot;

static spot spot_of(const roofline *r, const kn_plan *plan)
{
    return (spot){at_x(r, r->work / bytes_of(plan)), at_y(r, r->work / plan->ns)};
}

static bool says_to_the_left(spot point) { return point.x > WIDTH * 0.55; }

/* Does what is said of the quicker plan have room above it only? */
static bool says_above(const roofline *r, const kn_plan *plan)
{
    const subject *s = r->page->s;
    const kn_plan *other = plan == s->plan ? s->unfused : s->plan;
    spot a = spot_of(r, plan), b = spot_of(r, other);
    bool higher = a.y < b.y || (a.y == b.y && plan == s->plan);
    return s->prog->options.fusion && higher && fabs(a.y - b.y) < 34;
}

/* How far from all that is written about a plan? */
static double away(const roofline *r, const kn_plan *plan, spot from)
{
    spot point = spot_of(r, plan);
    double beside = point.x + (says_to_the_left(point) ? -80 : 80);
    return fmin(hypot(from.x - point.x, from.y - point.y),
                hypot((from.x - beside) / 2, from.y - point.y - 18));
}

/* Where along a slope its name is farthest from the points. */
static spot name_place(const roofline *r, spot low, spot high)
{
    const subject *s = r->page->s;
    spot best = low;
    double most = -1;
    for (double part = 0.15; part < 0.85; part += 0.05) {
        spot at = {low.x + part * (high.x - low.x), low.y + part * (high.y - low.y)};
        double distance = fmin(away(r, s->unfused, at), away(r, s->plan, at));
        if (distance > most) {
            most = distance;
            best = at;
        }
    }
    return best;
}

/* A slope of a bandwidth, up to where the ceiling cuts it, its name along it, so far below. */
static void put_slope(const roofline *r, double bandwidth, const char *name, const char *class,
                      double down)
{
    kn_text *t = r->page->s->t;
    double least = fmax(pow(10, r->x.low), pow(10, r->y.low) / bandwidth);
    spot low = {at_x(r, least), at_y(r, least * bandwidth)};
    spot high = {at_x(r, r->peak / bandwidth), at_y(r, r->peak)}, at = name_place(r, low, high);
    double angle = atan2(high.y - low.y, high.x - low.x) * 180 / 3.14159265358979;
    kn_putf(t, "<path d=\"M%.1f %.1fL%.1f %.1f\" class=\"roof %s\"/>\n", low.x, low.y, high.x,
            high.y, class);
    kn_putf(t,
            "<text transform=\"translate(%.1f %.1f) rotate(%.1f) translate(0 %.1f)\" "
            "class=\"small middle\">%s, ",
            at.x, at.y, angle, down, name);
    kn_putf(t, bandwidth >= 1e3 ? "%.2f TB/s</text>\n" : "%.0f GB/s</text>\n",
            bandwidth >= 1e3 ? bandwidth / 1e3 : bandwidth);
}

/* A plan, and how far it is under its roof. */
static void put_point(const roofline *r, const kn_plan *plan, const char *name, const char *class)
{
    kn_text *t = r->page->s->t;
    spot at = spot_of(r, plan);
    bool left = says_to_the_left(at);
    double x = left ? at.x - 12 : at.x + 12, y = says_above(r, plan) ? at.y - 22 : at.y + 12;
    kn_putf(t, "<path d=\"M%.1f %.1fV%d\" class=\"drop\"/>\n", at.x, at.y, HEIGHT - BOTTOM);
    kn_putf(t, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"6\" class=\"point %s\"/>\n", at.x, at.y, class);
    kn_svg_text(t, x, y, left ? "label end" : "label", "%s, %.1f us", name, plan->ns / 1e3);
    kn_svg_text(t, x, y + 14, left ? "small end" : "small", "%.0f %% of the bandwidth of memory",
                100 * bytes_of(plan) / plan->ns / r->memory);
}

static void put_ceiling(const roofline *r)
{
    kn_text *t = r->page->s->t;
    double y = at_y(r, r->peak);
    kn_putf(t, "<path d=\"M%.1f %.1fH%d\" class=\"roof\"/>\n", at_x(r, r->peak / r->cache), y,
            WIDTH - RIGHT);
    kn_svg_text(t, WIDTH - RIGHT - 4, y - 6, "small end", "%s·10⁹ additions of f32 a second",
                number(r, r->peak));
}

void kn_page_roofline(const kn_page *page)
{
    const subject *s = page->s;
    const kn_machine *m = kn_machine_of(&s->target);
    roofline r = {.page = page, .memory = m->memory, .cache = m->cache, .work = work_of(s)};
    r.peak = m->adds * (s->target.units > 0 ? s->target.units : 1);
    if (r.work <= 0 || s->plan->ns <= 0 || s->unfused->ns <= 0) {
        kn_put(s->t, "<p class=\"note\">It computes nothing.</p>\n");
        return;
    }
    double least = fmin(r.work / bytes_of(s->unfused), r.work / bytes_of(s->plan));
    double most = fmax(r.work / bytes_of(s->unfused), r.work / bytes_of(s->plan));
    double slow = r.work / fmax(s->unfused->ns, s->plan->ns);
    r.x = decades(fmin(least / 2, 0.1), fmax(most * 2, 3 * r.peak / r.memory));
    r.y = decades(slow / 2, r.peak * 1.2);
    kn_putf(s->t,
            "<svg class=\"roofline\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"roofline\">\n",
            WIDTH, HEIGHT);
    put_axes(&r);
    put_slope(&r, r.memory, "memory", "", 15);
    put_slope(&r, r.cache, "last-level cache", "faint", -6);
    put_ceiling(&r);
    if (s->prog->options.fusion)
        put_point(&r, s->unfused, "unfused", "before");
    put_point(&r, s->plan, s->prog->options.fusion ? "fused" : "unfused", "after");
    kn_put(s->t, "</svg>\n");
}
