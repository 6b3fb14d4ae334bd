// The same program as app.c, from C++: the header's macros and overloads work there too.
#include <kiln.h>

#include <cstdio>
#include <vector>

static int fail(const char *what)
{
    std::fprintf(stderr, "%s: %s\n", what, kiln_last_error());
    return 1;
}

int main()
{
    kiln_config config;
    kiln_config_init(&config);
    config.device = "cpu";
    kiln_ctx *ctx = nullptr;
    kiln_graph *g = nullptr;
    kiln_prog *prog = nullptr;
    if (kiln_ctx_create(&config, &ctx) != KILN_OK || kiln_graph_create(ctx, &g) != KILN_OK)
        return fail("create");

    kiln_val x = kiln_input(g, "x", KILN_F32, "N, M");
    kiln_val total = kiln_sum(g, x, KILN_AXES(0, 1), 0);
    const kiln_val noise = kiln_dropout(g, x, 0.5, 42, 0), none = kiln_uniform(g, 1, 0, "N, M", KILN_F32);
    kiln_val slope;
    if (kiln_grad(g, kiln_add(g, noise, none), 1, &x, 1, &slope) != KILN_OK)
        return fail("gradient");
    if (kiln_output(g, "y", kiln_add(g, kiln_mul(g, x, 2.0), total)) != KILN_OK)
        return fail("graph");
    if (kiln_compile(g, nullptr, &prog) != KILN_OK)
        return fail("compile");
    kiln_graph_destroy(g);

    const std::vector<float> in = {1, 2, 3, 4};
    std::vector<float> out(4);
    const int64_t shape[] = {2, 2};
    const kiln_arg args[] = {kiln_arg_of_const("x", in.data(), KILN_F32, 2, shape, nullptr),
                             {"y", out.data(), KILN_F32, 2, shape, nullptr}};
    if (kiln_run(prog, nullptr, args, 2) != KILN_OK)
        return fail("run");
    std::printf("kiln %s from C++: %g %g %g %g\n", kiln_version(), out[0], out[1], out[2], out[3]);

    kiln_prog_destroy(prog);
    kiln_ctx_destroy(ctx);
    return out == std::vector<float>{12, 14, 16, 18} ? 0 : 1;
}
