/* Dropout, residual and layernorm, forward and backward, one kernel each. The backward is derived, and makes the mask of
 * the forward again from its seed: none is stored. Exit status 1 if the derivative is not the slope, or it takes more
 * launches. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <kiln.h>

#define HEAD "(x: f64[N, C], r: f64[N, C], gamma: f64[C], beta: f64[C], seed: u64, offset: u64"
#define LAYER                                                                                      \
    "    h = r + dropout(x, 0.25, seed, offset)\n"                                                 \
    "    d = h - mean(h, axis=1, keepdims=True)\n"                                                 \
    "    y = d * rsqrt(mean(d * d, axis=1, keepdims=True) + 1e-5) * gamma + beta\n"

static const char forward_text[] = "def forward" HEAD "):\n" LAYER "    return y\n";
static const char backward_text[] = "def backward" HEAD ", dy: f64[N, C]):\n" LAYER
                                    "    dx, dr, dgamma, dbeta = vjp(y, dy, (x, r, gamma, beta))\n"
                                    "    return dx, dr, dgamma, dbeta\n";

enum { N = 8, C = 96 };

static double x[N][C], r[N][C], y[N][C], dy[N][C], dx[N][C], dr[N][C], scale[C], shift[C],
    dscale[C], dshift[C];
static uint64_t seed = 42, offset = 7;
static const int64_t shape[] = {N, C};

/* Compiles a program, runs it and says what it took. */
static int run(kiln_ctx *ctx, const char *text, const kiln_arg *more, int n)
{
    kiln_arg args[16] = {{"x", x, KILN_F64, 2, shape, NULL},
                         {"r", r, KILN_F64, 2, shape, NULL},
                         {"gamma", scale, KILN_F64, 1, shape + 1, NULL},
                         {"beta", shift, KILN_F64, 1, shape + 1, NULL},
                         {"seed", &seed, KILN_U64, 0, NULL, NULL},
                         {"offset", &offset, KILN_U64, 0, NULL, NULL}};
    kiln_graph *g = NULL;
    kiln_prog *prog = NULL;
    kiln_stats before, after;
    memcpy(args + 6, more, sizeof *more * (size_t)n);
    kiln_stats_init(&before);
    kiln_stats_init(&after);
    kiln_ctx_stats(ctx, &before);
    int wrong = kiln_parse(ctx, text, NULL, &g) || kiln_compile(g, NULL, &prog) ||
                kiln_run(prog, NULL, args, 6 + n);
    if (wrong)
        fprintf(stderr, "dropout_norm: %s\n", kiln_last_error());
    kiln_ctx_stats(ctx, &after);
    wrong = wrong || after.launches - before.launches != 1;
    kiln_prog_destroy(prog);
    kiln_graph_destroy(g);
    return wrong;
}

/* sum(dy * y) with x[row][col] moved by h. */
static double loss(kiln_ctx *ctx, int row, int col, double h, int *wrong)
{
    const kiln_arg out = {"y", y, KILN_F64, 2, shape, NULL};
    const double was = x[row][col];
    double sum = 0;
    x[row][col] += h;
    *wrong |= run(ctx, forward_text, &out, 1);
    x[row][col] = was;
    for (int i = 0; i < N * C; i++)
        sum += dy[i / C][i % C] * y[i / C][i % C];
    return sum;
}

int main(void)
{
    const kiln_arg back[] = {{"dy", dy, KILN_F64, 2, shape, NULL},
                             {"dx", dx, KILN_F64, 2, shape, NULL},
                             {"dr", dr, KILN_F64, 2, shape, NULL},
                             {"dgamma", dscale, KILN_F64, 1, shape + 1, NULL},
                             {"dbeta", dshift, KILN_F64, 1, shape + 1, NULL}};
    kiln_ctx *ctx = NULL;
    kiln_config config;
    int wrong = 0, dropped = 0;
    for (int i = 0; i < N * C; i++) {
        x[i / C][i % C] = sin(i * 1.3);
        r[i / C][i % C] = cos(i * 0.7);
        dy[i / C][i % C] = sin(i * 0.9 + 1);
        scale[i % C] = 1 + 0.01 * (i % C);
    }
    kiln_config_init(&config);
    config.device = "cpu";
    if (kiln_ctx_create(&config, &ctx)) {
        fprintf(stderr, "%s\n", kiln_last_error());
        return 1;
    }
    wrong = run(ctx, backward_text, back, 5);
    for (int i = 0; i < N * C; i++)
        dropped += dx[i / C][i % C] == 0;
    printf("%d of %d elements dropped\n", dropped, N * C);
    for (int i = 0; i < 5 && !wrong; i++) {
        const int row = i % N, col = 17 * i % C;
        double slope =
            (loss(ctx, row, col, 1e-5, &wrong) - loss(ctx, row, col, -1e-5, &wrong)) / 2e-5;
        printf("x[%d][%2d]: derived %9.6f, slope %9.6f\n", row, col, dx[row][col], slope);
        wrong = wrong || fabs(slope - dx[row][col]) > 1e-6;
    }
    kiln_ctx_destroy(ctx);
    return wrong;
}
