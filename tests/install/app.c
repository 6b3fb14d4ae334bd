/* What an application does with an installed kiln: y = x * 2 + sum(x), on the CPU. */
#include <kiln.h>

#include <stdio.h>

#define TRY(call)                                                                                  \
    do {                                                                                           \
        if ((call) != KILN_OK) {                                                                   \
            fprintf(stderr, "%s: %s\n", #call, kiln_last_error());                                 \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

int main(void)
{
    kiln_config config;
    kiln_config_init(&config);
    config.device = "cpu";
    kiln_ctx *ctx;
    TRY(kiln_ctx_create(&config, &ctx));

    kiln_graph *g;
    TRY(kiln_graph_create(ctx, &g));
    kiln_val x = kiln_input(g, "x", KILN_F32, "N");
    TRY(kiln_output(g, "y", kiln_add(g, kiln_mul(g, x, 2), kiln_sum(g, x, KILN_ALL, 0))));
    kiln_prog *prog;
    TRY(kiln_compile(g, NULL, &prog));
    kiln_graph_destroy(g);

    float in[3] = {1, 2, 3}, out[3] = {0};
    int64_t shape[1] = {3};
    kiln_arg args[] = {{.name = "x", .data = in, .dtype = KILN_F32, .rank = 1, .shape = shape},
                       {.name = "y", .data = out, .dtype = KILN_F32, .rank = 1, .shape = shape}};
    TRY(kiln_run(prog, NULL, args, 2));
    printf("kiln %s: %g %g %g\n", kiln_version(), (double)out[0], (double)out[1], (double)out[2]);

    kiln_prog_destroy(prog);
    kiln_ctx_destroy(ctx);
    return out[0] == 8 && out[1] == 10 && out[2] == 12 ? 0 : 1;
}
