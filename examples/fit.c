/* Gradient descent: a decaying curve a * exp(-b * t) + c fitted to points, its gradient derived by kiln_grad(). A step is one
 * run, which updates the parameters in place. Exit status 1 if it does not arrive. */
#include <math.h>
#include <stdio.h>

#include <kiln.h>

enum { POINTS = 64, STEPS = 1000 };

/* p -= rate * gradient of the loss by p; the loss is an output. */
static kiln_graph *build(kiln_ctx *ctx)
{
    kiln_graph *g = NULL;
    if (kiln_graph_create(ctx, &g))
        return NULL;
    kiln_graph_name(g, "step");
    const char *const names[] = {"t", "y", "p"};
    kiln_val in[] = {kiln_input(g, "t", KILN_F32, "N"), kiln_input(g, "y", KILN_F32, "N"),
                     kiln_input(g, "p", KILN_F32, "3")};
    kiln_val rate = kiln_scalar(g, "rate", KILN_F32), dp;
    kiln_val loss = kiln_expr(g, "mean((p[0] * exp(-p[1] * t) + p[2] - y) ** 2)", names, in, 3);
    kiln_grad(g, loss, kiln_float(g, 1), &in[2], 1, &dp);
    kiln_update(g, "p", kiln_sub(g, in[2], kiln_mul(g, rate, dp)));
    kiln_output(g, "loss", loss); /* reports the first error of all the above */
    return g;
}

static int descend(kiln_prog *prog, const float *t, const float *y, float *p)
{
    float loss = 0, rate = 0.2F;
    const int64_t points = POINTS, three = 3;
    const kiln_arg args[] = {{"t", (void *)(uintptr_t)t, KILN_F32, 1, &points, NULL},
                             {"y", (void *)(uintptr_t)y, KILN_F32, 1, &points, NULL},
                             {"p", p, KILN_F32, 1, &three, NULL},
                             {"rate", &rate, KILN_F32, 0, NULL, NULL},
                             {"loss", &loss, KILN_F32, 0, NULL, NULL}};
    for (int step = 0; step <= STEPS; step++) {
        if (kiln_run(prog, NULL, args, 5))
            return 1;
        if (step % 100 == 0)
            printf("step %4d: loss %.7f, a %.4f b %.4f c %.4f\n", step, (double)loss, (double)p[0],
                   (double)p[1], (double)p[2]);
    }
    return 0;
}

int main(void)
{
    static const float truth[] = {2, 1.5F, 0.5F};
    float t[POINTS], y[POINTS], p[] = {1, 1, 0};
    kiln_ctx *ctx = NULL;
    kiln_prog *prog = NULL;
    kiln_config config;
    for (int i = 0; i < POINTS; i++) {
        t[i] = 4 * (float)i / POINTS;
        y[i] = truth[0] * expf(-truth[1] * t[i]) + truth[2];
    }
    kiln_config_init(&config);
    config.device = "cpu";
    kiln_graph *g = kiln_ctx_create(&config, &ctx) ? NULL : build(ctx);
    int wrong = !g || kiln_compile(g, NULL, &prog) || descend(prog, t, y, p);
    if (wrong)
        fprintf(stderr, "fit: %s\n", kiln_last_error());
    for (int i = 0; i < 3 && !wrong; i++)
        wrong = fabsf(p[i] - truth[i]) > 1e-2F;
    kiln_prog_destroy(prog);
    kiln_graph_destroy(g);
    kiln_ctx_destroy(ctx);
    return wrong;
}
