/* Programs at random that have derivatives nearly everywhere, as text, which is Python too: others can run it. Values
 * stay of the order of 1. */
#include <stdio.h>
#include <string.h>

#include "tests/differential/gradients.h"

enum { MOST = 40, RANK = 3, ELEMENTS = 200 };

typedef struct shape {
    int rank, size[RANK];
} shape;

typedef struct writer {
    kn_arena *a;
    rng *r;
    kn_text text;
    shape of[MOST]; /* of v0, v1, ... */
    int n;
} writer;

static int count(const shape *s)
{
    int n = 1;
    for (int i = 0; i < s->rank; i++)
        n *= s->size[i];
    return n;
}

static bool broadcasts(const shape *a, const shape *b, shape *out)
{
    out->rank = a->rank > b->rank ? a->rank : b->rank;
    for (int i = 0; i < out->rank; i++) {
        int ia = i - (out->rank - a->rank), ib = i - (out->rank - b->rank);
        int x = ia < 0 ? 1 : a->size[ia], y = ib < 0 ? 1 : b->size[ib];
        if (x != y && x != 1 && y != 1)
            return false;
        out->size[i] = x == 1 ? y : x;
    }
    return count(out) <= ELEMENTS;
}

/* "v7 = ...": `how` with %d for each operand, all the same number of the same values. */
static void add(writer *w, shape s, const char *how, int a, int b)
{
    if (w->n == MOST || count(&s) > ELEMENTS)
        return;
    kn_putf(&w->text, "    v%d = ", w->n);
    for (const char *c = how; *c; c++)
        if (*c == '$')
            kn_putf(&w->text, "v%d", a);
        else if (*c == '#')
            kn_putf(&w->text, "v%d", b);
        else
            kn_putf(&w->text, "%c", *c);
    kn_putf(&w->text, "\n");
    w->of[w->n++] = s;
}

static void unary(writer *w, int x)
{
    static const char *const how[] = {"sin($)",           "tanh($)",
                                      "exp(-$ * $)",      "sqrt(1 + $ ** 2)",
                                      "log(2 + tanh($))", "arctan($)",
                                      "1 / (2 + cos($))", "cos($) ** 3",
                                      "abs($)",           "expm1(sin($))",
                                      "log1p($ * $)",     "arcsinh($)",
                                      "maximum($, 0.3)",  "where($ > 0, $, 0.1 * $)",
                                      "-$ * 0.7",         "(1.5 + sin($)) ** tanh($)"};
    add(w, w->of[x], how[below(w->r, (int)(sizeof how / sizeof *how))], x, 0);
}

static void binary(writer *w, int x, int y)
{
    static const char *const how[] = {"$ + #",
                                      "$ - 0.5 * #",
                                      "tanh($ * #)",
                                      "$ / (2 + sin(#))",
                                      "minimum($, #)",
                                      "maximum($, #)",
                                      "where($ < #, $, 0.3 * #)",
                                      "arctan2($, 3 + tanh(#))",
                                      "hypot($, 1 + #)"};
    shape s;
    if (broadcasts(&w->of[x], &w->of[y], &s))
        add(w, s, how[below(w->r, (int)(sizeof how / sizeof *how))], x, y);
}

static void reduction(writer *w, int x)
{
    static const char *const how[] = {
        "mean", "sum", "var", "max", "min", "prod(tanh($) + 1.2", "mean($ * $", "sum($ * sin($)"};
    shape s = w->of[x];
    if (s.rank == 0)
        return;
    int axis = below(w->r, s.rank);
    bool keep = chance(w->r, 60);
    const char *name = how[below(w->r, (int)(sizeof how / sizeof *how))];
    s.size[axis] = 1;
    for (int i = axis; !keep && i + 1 < s.rank; i++)
        s.size[i] = s.size[i + 1];
    s.rank -= !keep;
    add(w, s,
        kn_sprintf(w->a, "%s%s, axis=%d%s)", name, strchr(name, '(') ? "" : "($", axis,
                   keep ? ", keepdims=True" : ""),
        x, 0);
}

static void normalised(writer *w, int x)
{
    static const char *const how[] = {
        ("exp($ - max($, axis=%d, keepdims=True)) / sum(exp($ - max($, axis=%d, keepdims=True)), "
         "axis=%d, keepdims=True)"),
        "($ - mean($, axis=%d, keepdims=True)) / sqrt(var($, axis=%d, keepdims=True) + 0.1 + 0 * %d)",
        "$ - log(sum(exp($), axis=%d, keepdims=True)) + 0 * %d + 0 * %d"};
    int axis = w->of[x].rank ? below(w->r, w->of[x].rank) : -1;
    if (axis >= 0)
        add(w, w->of[x], kn_sprintf(w->a, how[below(w->r, 3)], axis, axis, axis), x, 0);
}

static void view(writer *w, int x)
{
    shape s = w->of[x], t = s;
    int axis = s.rank ? below(w->r, s.rank) : 0;
    if (s.rank == 0)
        return;
    const char *colons = axis == 0 ? "" : axis == 1 ? ":, " : ":, :, ";
    switch (below(w->r, 6)) {
    case 0: add(w, s, kn_sprintf(w->a, "$[%s::-1]", colons), x, 0); break;
    case 1:
        t.size[axis]--;
        if (t.size[axis])
            add(w, t, kn_sprintf(w->a, "$[%s1:]", colons), x, 0);
        break;
    case 2:
        for (int i = 0; i < s.rank; i++)
            t.size[i] = s.size[s.rank - 1 - i];
        add(w, t, "transpose($)", x, 0);
        break;
    case 3: add(w, (shape){1, {count(&s)}}, "reshape($, (-1,))", x, 0); break;
    case 4:
        t.size[axis] = (s.size[axis] + 1) / 2;
        add(w, t, kn_sprintf(w->a, "$[%s::2]", colons), x, 0);
        break;
    default:
        for (int i = axis; i + 1 < s.rank; i++)
            t.size[i] = s.size[i + 1];
        t.rank--;
        add(w, t, kn_sprintf(w->a, "$[%s0]", colons), x, 0);
    }
}

static void join(writer *w, int x, int y)
{
    shape s = w->of[x], t = s;
    if (s.rank == 0)
        return;
    int axis = below(w->r, s.rank), kind = below(w->r, 6);
    const char *mode[] = {"constant", "edge", "wrap", "symmetric"};
    switch (kind) {
    case 0:
        if (memcmp(&w->of[y], &s, sizeof s) == 0) {
            t.size[axis] *= 2;
            add(w, t, kn_sprintf(w->a, "concatenate(($, #), axis=%d)", axis), x, y);
        }
        break;
    case 1:
        for (int i = 0; i < s.rank; i++)
            t.size[i] += 2;
        add(w, t, kn_sprintf(w->a, "pad($, 1, mode='%s')", mode[below(w->r, 4)]), x, 0);
        break;
    case 2:
        add(w, s, kn_sprintf(w->a, "roll($, %d, axis=%d)", below(w->r, 5) - 2, axis), x, 0);
        break;
    case 3:
        t.size[axis] *= 2;
        add(w, t, kn_sprintf(w->a, "repeat($, 2, axis=%d)", axis), x, 0);
        break;
    case 4:
        t.size[s.rank - 1] *= 3;
        add(w, t, "tile($, 3)", x, 0);
        break;
    default:
        t.size[axis] = 3;
        add(w, t, kn_sprintf(w->a, "take($, i, axis=%d, mode='wrap')", axis), x, 0);
    }
}

const char *smooth_program(kn_arena *a, rng *r)
{
    writer w = {.a = a, .r = r, .text = kn_text_new(a)};
    int inputs = 1 + below(r, 3), steps = 4 + below(r, 9);
    int dims[] = {1 + below(r, 4), 2 + below(r, 3), 3};
    kn_putf(&w.text, "def f(i: i64[3]");
    for (int k = 0; k < inputs; k++) {
        shape s = {.rank = k == 0 ? 2 : below(r, 4)};
        kn_putf(&w.text, ", v%d: f64[", k);
        for (int j = 0; j < s.rank; j++) {
            s.size[j] = chance(r, 15) ? 1 : dims[j + RANK - s.rank];
            kn_putf(&w.text, "%s%d", j ? ", " : "", s.size[j]);
        }
        kn_putf(&w.text, s.rank ? "]" : "()]");
        w.of[w.n++] = s;
    }
    kn_putf(&w.text, "):\n");
    for (int k = 0; k < steps; k++) {
        int x = chance(r, 50) ? w.n - 1 : below(r, w.n), y = below(r, w.n);
        switch (below(r, 8)) {
        case 0: unary(&w, x); break;
        case 1:
        case 2:
        case 3: binary(&w, x, y); break;
        case 4: reduction(&w, x); break;
        case 5: normalised(&w, x); break;
        case 6: view(&w, x); break;
        default: join(&w, x, y);
        }
    }
    unary(&w, w.n - 1);
    kn_putf(&w.text, "    return v%d * 1.0, v%d * 2.0\n", w.n - 1, w.n / 2);
    return kn_text_str(&w.text);
}
