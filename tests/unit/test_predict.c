/* Predicted times: what must hold whatever the coefficients are, and the order of schedules whose measured times lie
 * far apart (docs/lab/cluster-size.md). */
#include <math.h>
#include <stdio.h>

#include "base/number.h"
#include "codegen/kir/target.h"
#include "codegen/model/machine.h"
#include "tests/unit/api.h"

static const char sum[] = "    return sum(x)\n";
static const char square[] = "    return x + x * x\n";
static const char normalised[] = "    d = x - mean(x, axis=(0, 2), keepdims=True)\n"
                                 "    return d * rsqrt(mean(d * d, axis=(0, 2), keepdims=True))\n";

/* A number in JSON, whatever the locale. */
static double read_us(const char *at)
{
    char text[32];
    snprintf(text, sizeof text, "%.*s", (int)strspn(at, "0123456789."), at);
    return kn_read_float(text);
}

/* The predicted time of a program of one input x: microseconds; *json: what explain says of it. */
static double predicted(const char *body, const char *dims, const int64_t *shape,
                        const char *schedule, const char *arch, char **json)
{
    char text[512], *out = NULL;
    snprintf(text, sizeof text, "def f(x: f32[%s]):\n%s", dims, body);
    kiln_graph *g = NULL;
    kiln_prog *p = NULL;
    kiln_options options;
    kiln_options_init(&options);
    options.schedule = schedule;
    assert_int_equal(kiln_parse(ctx, text, "test", &g), KILN_OK);
    assert_int_equal(kiln_compile(g, &options, &p), KILN_OK);
    kiln_explain_options how;
    kiln_explain_options_init(&how);
    how.stage = "json";
    how.arch = arch;
    kiln_arg x = {"x", NULL, KILN_F32, (int)(strlen(dims) + 1) / 2, shape, NULL};
    if (kiln_explain(p, &x, 1, &how, &out) != KILN_OK)
        fail_msg("%s", kiln_last_error());
    const char *at = strstr(out, "\"predicted_us\": ");
    assert_non_null(at);
    double us = read_us(at + strlen("\"predicted_us\": "));
    if (json)
        *json = out;
    else
        kiln_text_free(ctx, out);
    kiln_prog_destroy(p);
    kiln_graph_destroy(g);
    return us;
}

static double of_length(const char *body, int64_t n, const char *schedule, const char *arch)
{
    return predicted(body, "N", &n, schedule, arch, NULL);
}

static const kn_machine *machine(const char *arch)
{
    kn_target target;
    assert_true(kn_target_of_arch(arch, &target));
    return kn_machine_of(&target);
}

/* Which of two loop nests side by side comes first in the text makes no difference. */
static void test_side_by_side(void **state)
{
    (void)state;
    const int64_t shape[] = {2006, 4};
    double few_first = predicted("    few = min(x[:8, :3], axis=1)\n"
                                 "    all = exp(x)\n"
                                 "    return few, all\n",
                                 "N,M", shape, NULL, "sm_90", NULL);
    double all_first = predicted("    all = exp(x)\n"
                                 "    few = min(x[:8, :3], axis=1)\n"
                                 "    return few, all\n",
                                 "N,M", shape, NULL, "sm_90", NULL);
    assert_true(few_first < 2 * machine("sm_90")->launch / 1e3); /* one launch */
    assert_true(fabs(few_first - all_first) < 0.01);
}

/* Nothing to do is a launch; much to do is its bytes at the memory's rate. */
static void test_limits(void **state)
{
    (void)state;
    const kn_machine *m = machine("sm_90");
    assert_true(fabs(of_length(square, 0, NULL, "sm_90") - m->launch / 1e3) < 0.01);
    const int64_t n = (int64_t)1 << 28;
    double bytes = 8 * (double)n / m->stream / 1e3, us = of_length(square, n, NULL, "sm_90");
    assert_true(us > bytes && us < 1.05 * bytes);
    us = of_length(sum, n, NULL, "sm_90");
    assert_true(us > bytes / 2 && us < 1.1 * bytes / 2);
    assert_true(of_length(square, n, NULL, "cpu") > us);
}

static void test_grows(void **state)
{
    (void)state;
    double last = 0;
    for (int64_t n = 1000; n < 1000000000; n *= 10) {
        double us = of_length(sum, n, NULL, "sm_90");
        assert_true(us >= last);
        last = us;
    }
}

static void test_parts(void **state)
{
    (void)state;
    char *json;
    const int64_t shape[] = {32, 256, 3136};
    double us = predicted(normalised, "N,C,M", shape, NULL, "sm_90", &json);
    double parts = 0;
    const char *kernel = strstr(json, "\"phases\": [");
    assert_non_null(kernel);
    for (const char *at = kernel; (at = strstr(at, "\"predicted\": {\"us\": ")); at++)
        parts += read_us(at + strlen("\"predicted\": {\"us\": "));
    assert_true(fabs(us - parts - machine("sm_90")->launch / 1e3) < 0.01);
    assert_non_null(strstr(json, "\"bound\": \"memory\""));
    kiln_text_free(ctx, json);
}

static void expect_bound(const char *body, int64_t n, const char *bound)
{
    char *json, field[64];
    predicted(body, "N", &n, NULL, "sm_90", &json);
    snprintf(field, sizeof field, "\"bound\": \"%s\"", bound);
    if (!strstr(json, field))
        fail_msg("not bound by %s: %s", bound, body);
    kiln_text_free(ctx, json);
}

static void test_bounds(void **state)
{
    (void)state;
    expect_bound(square, 1 << 26, "memory");
    expect_bound(square, 1 << 10, "launch");
    expect_bound("    return tan(tan(tan(tan(tan(tan(tan(tan(x))))))))\n", 1 << 26, "instructions");
}

static double part(const char *json, const char *name)
{
    char field[32];
    snprintf(field, sizeof field, "\"%s\": ", name);
    const char *at = strstr(json, field);
    assert_non_null(at);
    return read_us(at + strlen(field));
}

static double memory_part(const char *body, const char *dims, const int64_t *shape)
{
    char *json;
    predicted(body, dims, shape, NULL, "sm_90", &json);
    double us = part(json, "memory");
    kiln_text_free(ctx, json);
    return us;
}

/* Memory is at its best where all is read once and leaves the last cache after what is written, or nothing is
 * written. */
static void test_streams(void **state)
{
    (void)state;
    static const char columns[] = "    return x / sum(x, axis=0)\n";
    const kn_machine *m = machine("sm_90");
    const int64_t small = 1 << 22, large = 1 << 26, huge = 1 << 28, table[] = {128, 1 << 19};
    const double mega = (double)(1 << 20) / 1e3;
    assert_true(fabs(memory_part(square, "N", &small) - 32 * mega / m->memory) < 0.01);
    assert_true(fabs(memory_part(square, "N", &large) - 512 * mega / m->stream) < 0.01);
    assert_true(fabs(memory_part(sum, "N", &large) - 256 * mega / m->memory) < 0.01);
    assert_true(fabs(memory_part(sum, "N", &huge) - 1024 * mega / m->stream) < 0.01);
    assert_true(memory_part(columns, "N,C", table) > 512 * mega / m->memory); /* by copies */
}

/* Blocks of elements, and of rows but the shortest, bring so many bytes that they are started sooner than these are
 * moved. */
static void test_starts(void **state)
{
    (void)state;
    static const char centred[] = "    return x - mean(x, axis=1, keepdims=True)\n";
    for (int64_t c = 6; c <= 2048; c += 1 + c / 3) {
        char *json;
        const int64_t shape[] = {((int64_t)1 << 26) / c, c};
        predicted(centred, "N,C", shape, NULL, "sm_90", &json);
        if (!(part(json, "starts") > 0) || part(json, "starts") > part(json, "memory"))
            fail_msg("rows of %d: %s", (int)c, json);
        kiln_text_free(ctx, json);
    }
    expect_bound("    return x > 0\n", 1 << 26, "memory");
}

/* What was measured to be faster by a fifth or more. */
static void test_order(void **state)
{
    (void)state;
    const int64_t n = 1 << 26, batch[] = {32, 256, 3136}, large[] = {32, 64, 12544};
    assert_true(of_length(sum, n, "split", "sm_90") < of_length(sum, n, "whole", "sm_90") / 10);
    assert_true(predicted(normalised, "N,C,M", batch, "cluster=8", "sm_90", NULL) <
                predicted(normalised, "N,C,M", batch, "whole", "sm_90", NULL));
    assert_true(predicted(normalised, "N,C,M", large, "cluster=16", "sm_90", NULL) <
                predicted(normalised, "N,C,M", large, "whole", "sm_90", NULL));
}

/* Rows too large for half a multiprocessor: nothing that can be forced instead is predicted to be quicker by more than
 * what another kernel has to be worth. */
static void test_chosen(void **state)
{
    (void)state;
    const double worth =
        0.97; /* registers that keep the rest of a part are only tried where shared memory is too small */
    static const char *const forced[] = {"whole",     "split",     "cluster=2",
                                         "cluster=4", "cluster=8", "cluster=16"};
    static const char *const bodies[] = {
        "    e = exp(x - max(x, axis=1, keepdims=True))\n"
        "    return e / sum(e, axis=1, keepdims=True)\n",
        "    d = x - mean(x, axis=1, keepdims=True)\n"
        "    return d * rsqrt(mean(d * d, axis=1, keepdims=True))\n",
    };
    const int64_t shapes[][2] = {{4096, 32768}, {256, 65536}, {1024, 131072}, {100, 262144}};
    for (size_t b = 0; b < 2; b++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            double us = predicted(bodies[b], "N,C", shapes[i], NULL, "sm_90", NULL);
            for (size_t f = 0; f < sizeof forced / sizeof *forced; f++) {
                double other = predicted(bodies[b], "N,C", shapes[i], forced[f], "sm_90", NULL);
                if (other < worth * us)
                    fail_msg("%d x %d: %g us, %g by %s", (int)shapes[i][0], (int)shapes[i][1], us,
                             other, forced[f]);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(test_limits),  test(test_side_by_side), test(test_grows),
        test(test_parts),   test(test_bounds),       test(test_starts),
        test(test_streams), test(test_order),        test(test_chosen)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
