/* Products of printed dimensions: "16" and "N/16" are "N". */
#include <stdlib.h>
#include <string.h>

#include "shapes/dim.h"

enum { MOST = 64 };

typedef struct factor {
    const char *text;
    size_t n;
} factor;

typedef struct fraction {
    factor part[2][MOST]; /* above, below */
    int n[2];
} fraction;

/* What is cut may stand for anything. */
static bool is_same(factor a, factor b)
{
    return a.n == b.n && memcmp(a.text, b.text, a.n) == 0 &&
           !memmem(a.text, a.n, KN_DIM_CUT, strlen(KN_DIM_CUT));
}

/* The first of `any` in f outside parentheses, or its end. */
static size_t find(factor f, char any)
{
    int depth = 0;
    size_t i = 0;
    for (; i < f.n && (depth || f.text[i] != any); i++)
        depth += (f.text[i] == '(') - (f.text[i] == ')');
    return i;
}

/* The last one: N/4/2 is N/4 by 2. */
static size_t find_last(factor f, char any)
{
    size_t last = f.n;
    for (size_t i = find(f, any); i < f.n;
         i += 1 + find((factor){f.text + i + 1, f.n - i - 1}, any))
        last = i;
    return last;
}

static bool has(factor f, char any) { return find(f, any) < f.n; }

/* "(N*G)" without its parentheses; what has none, or is a sum, stays. */
static factor bare(factor f)
{
    factor inside = {f.text + 1, f.n - 2};
    bool product = f.n > 2 && f.text[0] == '(' && f.text[f.n - 1] == ')' &&
                   find(inside, ')') == inside.n && !has(inside, ' ');
    return product ? inside : f;
}

/* Adds the factors of a product above, or below, the line. False when there are too many. */
static bool add_factors(factor f, fraction *to, int below)
{
    bool fits = true;
    for (size_t end; f.n && fits; f.text += end, f.n -= end) {
        end = find(f, '*');
        factor part = {f.text, end}, inside = bare(part);
        size_t over = find_last(part, '/');
        end += end < f.n;
        if (inside.n < part.n) {
            fits = add_factors(inside, to, below);
        } else if (over < part.n) {
            factor divisor = {part.text + over + 1, part.n - over - 1};
            fits = add_factors((factor){part.text, over}, to, below) &&
                   add_factors(bare(divisor), to, !below);
        } else {
            fits = to->n[below] < MOST;
            if (fits)
                to->part[below][to->n[below]++] = part;
        }
    }
    return fits;
}

static void drop(fraction *f, int below, int i)
{
    factor *list = f->part[below];
    memmove(&list[i], &list[i + 1], sizeof *list * (size_t)(--f->n[below] - i));
}

static void cancel(fraction *f)
{
    for (int d = 0; d < f->n[1]; d++)
        for (int n = 0; n < f->n[0]; n++)
            if (is_same(f->part[1][d], f->part[0][n])) {
                drop(f, 1, d--);
                drop(f, 0, n);
                break;
            }
}

static void put_factors(kn_text *t, const fraction *f, int below)
{
    for (int i = 0; i < f->n[below]; i++) {
        kn_put(t, i ? "*" : "");
        kn_putn(t, f->part[below][i].text, f->part[below][i].n);
    }
}

/* A sum gets parentheses. */
static const char *as_factor(kn_arena *a, const char *x)
{
    return has((factor){x, strlen(x)}, ' ') ? kn_sprintf(a, "(%s)", x) : x;
}

const char *kn_dim_operand_text(kn_arena *a, const char *x, bool right)
{
    factor f = {x, strlen(x)};
    return right && (has(f, '*') || has(f, '/')) ? kn_sprintf(a, "(%s)", x) : as_factor(a, x);
}

bool kn_dim_text_divides(const char *x, int by)
{
    factor f = {x, strlen(x)};
    bool divides = false, plain = !has(f, ' ') && !has(f, '/');
    for (size_t end; f.n && plain && !divides; f.text += end, f.n -= end) {
        end = find(f, '*');
        divides = strspn(f.text, "0123456789") == end && atoll(f.text) % by == 0;
        end += end < f.n;
    }
    return divides;
}

const char *kn_dim_product_text(kn_arena *a, const char *x, const char *y)
{
    const char *plain = *y ? kn_sprintf(a, "%s*%s", as_factor(a, x), as_factor(a, y)) : x;
    factor whole = {plain, strlen(plain)};
    fraction f = {.n = {0}};
    if (!strchr(plain, '/') || strstr(plain, "//") || has(whole, ' ') || !add_factors(whole, &f, 0))
        return plain;
    cancel(&f);
    kn_text t = kn_text_new(a);
    kn_put(&t, f.n[0] ? "" : "1");
    put_factors(&t, &f, 0);
    kn_put(&t, !f.n[1] ? "" : f.n[1] > 1 ? "/(" : "/");
    put_factors(&t, &f, 1);
    kn_put(&t, f.n[1] > 1 ? ")" : "");
    return kn_text_str(&t);
}
