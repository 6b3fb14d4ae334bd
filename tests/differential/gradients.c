#include "tests/differential/gradients.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "frontend/parse/parse.h"
#include "ir/grad.h"
#include "ir/interp.h"

static const kn_loc nowhere;

/* ---- the graph ---- */

static kn_node *input_like(kn_graph *g, const kn_node *x, int order, int i)
{
    char name[32];
    snprintf(name, sizeof name, "seed%d_%d", order, i);
    return kn_build_input(g, kn_strdup(g->arena, name), x->dtype, x->shape, x->rank, nowhere);
}

slopes *slopes_of(kn_graph *g, int order)
{
    slopes *s = KN_NEW(g->arena, slopes);
    s->g = g;
    for (int i = 0; i < g->outputs.len; i++)
        if (kn_is_inexact(g->outputs.data[i].node->dtype))
            s->y[s->ny++] = g->outputs.data[i].node;
    for (int i = 0; i < g->inputs.len; i++)
        if (kn_is_inexact(g->inputs.data[i].node->dtype))
            s->wrt[s->nwrt++] = g->inputs.data[i].node;
    g->outputs.len = 0;
    g->outputs_by = (kn_finder){0};
    for (int o = 1; o <= order; o++) {
        for (int i = 0; i < s->ny; i++)
            s->seed[i] = input_like(g, s->y[i], o, i);
        const kn_differentiation d = {s->y, s->seed, s->ny, s->wrt, s->nwrt};
        if (kn_grad(g, &d, s->grad, nowhere) != KN_OK)
            return NULL;
        if (o == order)
            break;
        int seeds = s->ny;
        s->ny = s->nwrt;
        memcpy(s->y, s->grad, sizeof s->y);
        for (int i = 0; i < seeds; i++)
            s->wrt[s->nwrt++] = s->seed[i];
    }
    return s;
}

/* ---- values ---- */

/* Floats as they are stored: f64 and c128 only. */
static int parts(const kn_node *n) { return kn_is_complex(n->dtype) ? 2 : 1; }

static bool place(slopes *s, const kn_node *n, kn_array *to, int64_t *count)
{
    *to = (kn_array){.dtype = n->dtype, .rank = n->rank};
    if (kn_node_sizes(n, s->sizes, to->shape) != KN_OK)
        return false;
    *count = kn_count(to->shape, n->rank);
    kn_compact_strides(to->shape, n->rank, to->stride);
    return true;
}

bool slopes_fill(slopes *s, const char *sizes, rng *r, double low, double high)
{
    kn_array a;
    if (read_sizes(s->g, sizes, s->sizes) != KN_OK)
        return false;
    for (int i = 0; i < s->g->inputs.len; i++) {
        const kn_node *n = s->g->inputs.data[i].node;
        if (!place(s, n, &a, &s->count[i]))
            return false;
        s->data[i] = KN_NEW_ARRAY(s->g->arena, double, 2 * s->count[i] + 1);
        bool seed = strncmp(n->name, "seed", 4) == 0;
        for (int64_t j = 0; j < s->count[i] * (kn_is_inexact(n->dtype) ? parts(n) : 1); j++)
            if (kn_is_inexact(n->dtype))
                s->data[i][j] = seed ? between(r, -1, 1) : between(r, low, high);
            else
                kn_scalar_store((kn_scalar){.dtype = n->dtype, .i = below(r, 2)},
                                (char *)s->data[i] + j * kn_bytes(n->dtype));
    }
    return true;
}

/* The values of n nodes, one after the other. NULL with a message. */
static double *values(slopes *s, kn_node *const *of, int n, kn_arena *a)
{
    kn_array in[MAX_VALUES], out[MAX_VALUES];
    int64_t count, all = 0, at = 0;
    s->g->outputs.len = 0;
    for (int i = 0; i < s->g->inputs.len; i++) {
        if (!place(s, s->g->inputs.data[i].node, &in[i], &count))
            return NULL;
        in[i].data = s->data[i];
    }
    for (int i = 0; i < n; i++) {
        if (!place(s, of[i], &out[i], &count))
            return NULL;
        all += count * parts(of[i]);
        kn_push(s->g->arena, &s->g->outputs,
                ((kn_output){.name = "y", .node = of[i], .updates = -1}));
    }
    double *made = KN_NEW_ARRAY(a, double, all + 1);
    for (int i = 0; i < n; i++) {
        out[i].data = made + at;
        at += kn_count(out[i].shape, out[i].rank) * parts(of[i]);
    }
    return kn_interp(s->g, a, s->sizes, in, out, NULL) == KN_OK ? made : NULL;
}

/* sum(real(seed * y)) */
static double loss(slopes *s)
{
    kn_arena_mark here = kn_arena_here(s->g->arena);
    const double *y = values(s, s->y, s->ny, s->g->arena);
    long double sum = 0;
    for (int i = 0; y && i < s->ny; i++) {
        const double *seed = s->data[s->seed[i]->u.input];
        for (int64_t j = 0; j < s->count[s->seed[i]->u.input] * parts(s->y[i]); j++, y++)
            sum += (parts(s->y[i]) == 2 && j % 2 ? -1 : 1) * (long double)seed[j] * *y;
    }
    double made = y ? (double)sum : NAN;
    kn_arena_back(s->g->arena, here);
    return made;
}

/* How the loss changes with the number at x: by four points. */
static double slope(slopes *s, double *x, double h)
{
    const double was = *x;
    double f[4];
    for (int i = 0; i < 4; i++) {
        *x = was + h * (i < 2 ? i - 2 : i - 1);
        f[i] = loss(s);
    }
    *x = was;
    return (8 * (f[2] - f[1]) - (f[3] - f[0])) / (12 * h);
}

double slopes_error(slopes *s, double *smooth)
{
    double worst = 0, bent = 0;
    const double *grad = values(s, s->grad, s->nwrt, s->g->arena);
    if (!grad)
        return INFINITY;
    for (int i = 0; i < s->nwrt; i++) {
        const kn_node *x = s->wrt[i];
        int64_t n = s->count[x->u.input] * parts(x);
        double most = 1e-2, off = 0, apart = 0;
        for (int64_t j = 0; j < n; j++, grad++) {
            double *at = &s->data[x->u.input][j], got = parts(x) == 2 && j % 2 ? -*grad : *grad;
            double want = slope(s, at, 1e-3), other = smooth ? slope(s, at, 4e-4) : want;
            most = fmax(most, fabs(want));
            off = got == want ? off : fmax(off, fabs(got - want));
            off = isnan(got) || isnan(want) ? INFINITY : off;
            apart = isnan(other) ? INFINITY : fmax(apart, fabs(want - other));
        }
        worst = fmax(worst, off / most);
        bent = fmax(bent, apart / most);
    }
    if (smooth)
        *smooth = bent;
    return worst;
}
