/* kiln_grad() and random numbers: what they give, and what they refuse. */
#include <math.h>

#include "tests/unit/api.h"

static void test_gives(void **state)
{
    (void)state;
    float x[2][3] = {{1, 2, 3}, {4, 5, 6}}, w[3] = {1, 0, -1}, t = 2, dx[2][3], dw[3], dt,
          ddx[2][3];
    kiln_graph *g = new_graph();
    kiln_prog *p = NULL;
    kiln_val v[] = {kiln_input(g, "x", KILN_F32, "N, M"), kiln_input(g, "w", KILN_F32, "M"),
                    kiln_scalar(g, "t", KILN_F32)},
             d[3], dd;
    kiln_val y = kiln_mul(g, kiln_mul(g, kiln_mul(g, v[0], v[0]), v[1]), v[2]);
    assert_int_equal(kiln_grad(g, y, 1, v, 3, d), KILN_OK);
    assert_int_equal(kiln_grad(g, d[0], kiln_float(g, 1), v, 1, &dd), KILN_OK);
    kiln_output(g, "dx", d[0]);
    kiln_output(g, "dw", d[1]);
    kiln_output(g, "dt", d[2]);
    kiln_output(g, "ddx", dd);
    int64_t shape[] = {2, 3};
    kiln_arg args[] = {
        {"x", x, KILN_F32, 2, shape, NULL},       {"w", w, KILN_F32, 1, shape + 1, NULL},
        {"t", &t, KILN_F32, 0, NULL, NULL},       {"dx", dx, KILN_F32, 2, shape, NULL},
        {"dw", dw, KILN_F32, 1, shape + 1, NULL}, {"dt", &dt, KILN_F32, 0, NULL, NULL},
        {"ddx", ddx, KILN_F32, 2, shape, NULL}};
    if (kiln_compile(g, NULL, &p) || kiln_run(p, NULL, args, 7))
        fail_msg("%s", kiln_last_error());
    for (int i = 0; i < 6; i++) {
        assert_true(dx[i / 3][i % 3] == 2 * x[i / 3][i % 3] * w[i % 3] * t);
        assert_true(ddx[i / 3][i % 3] == 2 * w[i % 3] * t);
    }
    assert_true(dw[0] == 34 && dw[1] == 58 && dw[2] == 90);
    assert_true(dt == 17 - 45);
    kiln_prog_destroy(p);
    kiln_graph_destroy(g);
}

/* The message of a graph's first error has `why`; results are poisoned. */
static void refuses(kiln_graph *g, kiln_val y, kiln_val x, const char *why)
{
    kiln_val d = {1, 1};
    assert_int_not_equal(kiln_grad(g, y, kiln_float(g, 1), &x, 1, &d), KILN_OK);
    if (!strstr(kiln_last_error(), why))
        fail_msg("%s\nlacks %s", kiln_last_error(), why);
    assert_int_equal(d.id, 0);
    kiln_graph_destroy(g);
}

static void test_refuses(void **state)
{
    (void)state;
    kiln_graph *g = new_graph();
    kiln_val x = kiln_input(g, "x", KILN_F32, "N"), i = kiln_input(g, "i", KILN_I32, "N"), y;
    refuses(g, kiln_mul(g, x, i), i, "i, is i32: only floats");

    g = new_graph();
    x = kiln_input(g, "x", KILN_F32, "N");
    kiln_val v[] = {kiln_carried(g, KILN_F32), kiln_carried(g, KILN_F32)};
    kiln_reducer by = {.count = 1,
                       .left = {v[0]},
                       .right = {v[1]},
                       .combined = {kiln_mul(g, v[0], v[1])},
                       .identity = {kiln_float(g, 1)},
                       .commutes = true};
    assert_int_equal(kiln_reduce_by(g, &by, &x, KILN_ALL, 0, NULL, NULL, &y), KILN_OK);
    refuses(g, y, x, "reduce_by: a reduction of the user's own that has no rule for its gradient");

    g = new_graph();
    x = kiln_input(g, "x", KILN_F32, "N");
    assert_int_equal(kiln_grad(g, x, x, NULL, 1, &y), KILN_ERR_ARGUMENT);
    assert_int_equal(kiln_grad(NULL, x, x, &x, 1, &y), KILN_ERR_ARGUMENT);
    kiln_graph_destroy(g);
    g = new_graph();
    x = kiln_input(g, "x", KILN_F32, "N");
    assert_int_equal(kiln_grad(g, x, x, &x, 0, &y), KILN_ERR_ARGUMENT);
    kiln_graph_destroy(g);

    enum { TOO_MANY = 257 };
    kiln_val wrt[TOO_MANY], grads[TOO_MANY];
    g = new_graph();
    x = kiln_input(g, "x", KILN_F32, "N");
    for (int k = 0; k < TOO_MANY; k++)
        wrt[k] = grads[k] = x;
    assert_int_equal(kiln_grad(g, x, x, wrt, TOO_MANY, grads), KILN_ERR_ARGUMENT);
    for (int k = 0; k < TOO_MANY; k++)
        assert_int_equal(grads[k].id, 0);
    kiln_graph_destroy(g);
}

/* A product, and the number of its factors: the rule of the first is dy * y / x. */
static kiln_val product_rule(void *user, kiln_graph *g, const kiln_reduced *of, int operand)
{
    ++*(int *)user;
    if (of->result != operand || operand == 1)
        return kiln_float(g, 0);
    return kiln_div(g, kiln_mul(g, of->dy, of->results[0]), of->x[0]);
}

static void test_rule(void **state)
{
    (void)state;
    float x[2][3] = {{1, 2, 3}, {4, 5, 6}}, dx[2][3], ddx[2][3];
    int calls = 0;
    kiln_graph *g = new_graph();
    kiln_prog *p = NULL;
    kiln_val a[] = {kiln_carried(g, KILN_F32), kiln_carried(g, KILN_F32)},
             b[] = {kiln_carried(g, KILN_F32), kiln_carried(g, KILN_F32)};
    kiln_reducer by = {.count = 2,
                       .left = {a[0], a[1]},
                       .right = {b[0], b[1]},
                       .combined = {kiln_mul(g, a[0], b[0]), kiln_add(g, a[1], b[1])},
                       .identity = {kiln_float(g, 1), kiln_float(g, 0)},
                       .commutes = true,
                       .gradient = product_rule,
                       .user = &calls};
    kiln_val v = kiln_input(g, "x", KILN_F32, "N, M"), in[] = {v, kiln_float(g, 1)}, y[2], d, dd;
    kiln_reduce_by(g, &by, in, KILN_AXES(1), 0, NULL, NULL, y);
    kiln_grad(g, kiln_mul(g, y[0], y[1]), kiln_float(g, 1), &v, 1, &d);
    kiln_grad(g, d, kiln_float(g, 1), &v, 1, &dd);
    kiln_output(g, "dx", d);
    kiln_output(g, "ddx", dd);
    int64_t shape[] = {2, 3};
    kiln_arg args[] = {{"x", x, KILN_F32, 2, shape, NULL},
                       {"dx", dx, KILN_F32, 2, shape, NULL},
                       {"ddx", ddx, KILN_F32, 2, shape, NULL}};
    if (kiln_compile(g, NULL, &p) || kiln_run(p, NULL, args, 3))
        fail_msg("%s", kiln_last_error());
    assert_true(calls > 1);
    for (int r = 0; r < 2; r++)
        for (int i = 0; i < 3; i++) {
            float u = x[r][(i + 1) % 3],
                  w = x[r][(i + 2) % 3]; /* d(3xuw)/dx = 3uw, summed: 3u + 3w */
            assert_true(fabsf(dx[r][i] - 3 * u * w) < 1e-4f);
            assert_true(fabsf(ddx[r][i] - 3 * (u + w)) < 1e-3f);
        }
    kiln_prog_destroy(p);
    kiln_graph_destroy(g);
}

static void test_random(void **state)
{
    (void)state;
    uint32_t bits[4];
    float u[4], n[4], y[4], x[4] = {1, 1, 1, 1};
    kiln_graph *g = new_graph();
    kiln_prog *p = NULL;
    kiln_val seed = kiln_int(g, 0), offset = kiln_scalar(g, "offset", KILN_U64);
    kiln_output(g, "bits", kiln_random_bits(g, seed, offset, "4"));
    kiln_output(g, "u", kiln_uniform(g, seed, offset, "4", KILN_F32));
    kiln_output(g, "n", kiln_normal(g, seed, offset, "4", KILN_F32));
    kiln_output(g, "y", kiln_dropout(g, kiln_input(g, "x", KILN_F32, "4"), 0.5, seed, offset));
    uint64_t zero = 0;
    int64_t shape[] = {4};
    kiln_arg args[] = {
        {"offset", &zero, KILN_U64, 0, NULL, NULL}, {"x", x, KILN_F32, 1, shape, NULL},
        {"bits", bits, KILN_U32, 1, shape, NULL},   {"u", u, KILN_F32, 1, shape, NULL},
        {"n", n, KILN_F32, 1, shape, NULL},         {"y", y, KILN_F32, 1, shape, NULL}};
    if (kiln_compile(g, NULL, &p) || kiln_run(p, NULL, args, 6))
        fail_msg("%s", kiln_last_error());
    const uint32_t want[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(bits[i], want[i]);
        assert_true(u[i] == (float)(want[i] >> 8) * 0x1p-24f);
        assert_true(y[i] == (u[i] < 0.5f ? 0 : 2));
        double size = sqrt(-2 * log(u[i / 2 * 2] + 0x1p-24)), angle = 6.283185307179586 * u[i | 1];
        assert_true(fabs(n[i] - size * (i % 2 ? sin(angle) : cos(angle))) < 1e-5);
    }
    kiln_prog_destroy(p);
    kiln_graph_destroy(g);
    g = new_graph();
    assert_int_equal(kiln_random_bits(g, kiln_float(g, 1), kiln_int(g, 0), "4").id, 0);
    expect(kiln_graph_status(g), KILN_ERR_TYPE, "random_bits: seed must be one integer, not f64[]");
    kiln_graph_destroy(g);
    g = new_graph();
    assert_int_equal(kiln_uniform(g, 1, 0, "4", KILN_F16).id, 0);
    expect(kiln_graph_status(g), KILN_ERR_TYPE, "uniform: dtype= must be f32 or f64");
    kiln_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {test(test_gives), test(test_refuses), test(test_rule),
                                       test(test_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
