/* A reduction of one's own: the largest sum of neighbouring elements, the maximum segment sum, of each row, in the
 * kernel that also centres the rows.
 *
 * What is carried over a range of neighbours is its sum, its best prefix, its best suffix and its best segment; two
 * ranges side by side make one, in this order, so the reduction does not commute. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <kiln.h>

enum { ROWS = 4, COLUMNS = 50000, SUM = 0, PREFIX, SUFFIX, BEST, CARRIED };

static kiln_graph *build(kiln_ctx *ctx)
{
    kiln_graph *g;
    if (kiln_graph_create(ctx, &g))
        return NULL;
    kiln_val x = kiln_input(g, "x", KILN_F32, "N, C");
    kiln_val y =
        kiln_expr(g, "cast(x - mean(x, axis=1, keepdims=True), f64)", (const char *[]){"x"}, &x, 1);
    kiln_reducer by = {.count = CARRIED};
    for (int c = 0; c < CARRIED; c++) {
        by.left[c] = kiln_carried(g, KILN_F64);
        by.right[c] = kiln_carried(g, KILN_F64);
        by.identity[c] = kiln_float(g, c == SUM ? 0.0 : -(double)INFINITY);
    }
    const kiln_val *a = by.left, *b = by.right;
    by.combined[SUM] = kiln_add(g, a[SUM], b[SUM]);
    by.combined[PREFIX] = kiln_maximum(g, a[PREFIX], kiln_add(g, a[SUM], b[PREFIX]));
    by.combined[SUFFIX] = kiln_maximum(g, b[SUFFIX], kiln_add(g, a[SUFFIX], b[SUM]));
    by.combined[BEST] =
        kiln_maximum(g, kiln_maximum(g, a[BEST], b[BEST]), kiln_add(g, a[SUFFIX], b[PREFIX]));
    kiln_val each[CARRIED] = {y, y, y, y}, found[CARRIED];
    kiln_reduce_by(g, &by, each, KILN_AXES(1), 0, NULL, NULL, found);
    kiln_output(g, "best", found[BEST]);
    return g;
}

/* Kadane's algorithm. */
static double expected(const float *x)
{
    double mean = 0, here = -(double)INFINITY, best = here;
    for (int i = 0; i < COLUMNS; i++)
        mean += (double)x[i] / COLUMNS;
    for (int i = 0; i < COLUMNS; i++) {
        double y = (double)(float)((double)x[i] - mean);
        here = here > 0 ? here + y : y;
        best = here > best ? here : best;
    }
    return best;
}

int main(void)
{
    static float x[ROWS][COLUMNS];
    double best[ROWS];
    kiln_config config;
    kiln_ctx *ctx;
    kiln_prog *prog = NULL;
    int wrong = 0;
    for (int i = 0; i < ROWS * COLUMNS; i++) /* some numbers */
        x[i / COLUMNS][i % COLUMNS] = (float)((i * 7919LL + i / 13 * 104729LL) % 1999) / 1000;
    kiln_config_init(&config);
    config.device = "cpu";
    if (kiln_ctx_create(&config, &ctx)) {
        fprintf(stderr, "%s\n", kiln_last_error());
        return 1;
    }
    kiln_graph *g = build(ctx);
    const int64_t shape[] = {ROWS, COLUMNS};
    const kiln_arg args[] = {{"x", x, KILN_F32, 2, shape, NULL},
                             {"best", best, KILN_F64, 1, shape, NULL}};
    if (!g || kiln_compile(g, NULL, &prog) || kiln_run(prog, NULL, args, 2)) {
        fprintf(stderr, "%s\n", kiln_last_error());
        wrong = 1;
    }
    for (int r = 0; r < ROWS && !wrong; r++) {
        double want = expected(x[r]);
        wrong = fabs(best[r] - want) > 1e-2 + 1e-6 * want;
        printf("row %d: %.4f, by a loop %.4f\n", r, best[r], want);
    }
    kiln_prog_destroy(prog);
    kiln_graph_destroy(g);
    kiln_ctx_destroy(ctx);
    return wrong;
}
