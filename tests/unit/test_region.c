/* ir/region: what becomes one loop nest, what does not, and the reasons given. */
#include "ir/build.h"
#include "ir/pass/pass.h"
#include "ir/region.h"
#include "tests/unit/graphs.h"

/* Of "def f(<params>): return <expressions>" for sizes "N=4, C=6". */
static kn_regions *regions_at(const char *params, const char *expressions, const char *sizes,
                              bool fuse)
{
    kn_graph *g = kn_graph_optimise(&arena, graph_of(params, expressions), false, NULL);
    assert_non_null(g);
    const int64_t *values = sizes_of(g, sizes);
    g = kn_refine(&arena, g, fuse, &values);
    assert_non_null(g);
    kn_regions *r = kn_regions_form(&arena, g, values, fuse);
    assert_non_null(r);
    return r;
}

/* For the sizes that these tests name: four different ones. */
static kn_regions *regions_of(const char *params, const char *expressions, bool fuse)
{
    const char *sizes = "";
    static const char *const all[] = {"N=40", "C=60", "H=50", "W=30", "M=70"};
    for (size_t i = 0; i < sizeof all / sizeof *all;
         i++) /* where the parameters have it as a size */
        for (const char *at = strpbrk(params, "["); at; at = strpbrk(at + 1, "[, "))
            if (at[1] == *all[i] || (at[1] == ' ' && at[2] == *all[i])) {
                sizes = kn_sprintf(&arena, "%s%s%s", sizes, *sizes ? ", " : "", all[i]);
                break;
            }
    return regions_at(params, expressions, sizes, fuse);
}

/* "[N, C] over 1: mean subtract; [C]: exp": space, reduced axes, nodes. */
static const char *regions_text(const kn_regions *r)
{
    kn_text t = kn_text_new(&arena);
    for (int i = 0; i < r->list.len; i++) {
        const kn_region *one = r->list.data[i];
        kn_put(&t, i ? "; " : "");
        kn_shape_print(&t, r->graph->syms, one->dim, one->naxes);
        for (int a = 0; a < one->naxes && one->reduces; a++)
            if (one->members >> a & 1)
                kn_putf(&t, one->members & ((1u << a) - 1) ? ",%d" : " over %d", a);
        for (int k = 0; k < one->nodes.len; k++)
            kn_putf(&t, "%s%s", k ? " " : ": ", kn_ops[one->nodes.data[k]->op].text);
    }
    return kn_text_str(&t);
}

static void test_one(void **state)
{
    (void)state;
    static const struct {
        const char *params, *expressions, *text;
    } cases[] = {
        {"x: f32[N, C]", "exp(x) + 1", "[N, C]: exp add"},
        /* chains around reductions, siblings over the same axes */
        {"x: f32[N, C]", "x - mean(x, axis=1, keepdims=True)", "[N, C] over 1: mean subtract"},
        {"x: f32[N, C]", "sum(x, axis=0), max(exp(x), axis=0)",
         "[N, C] over 0: sum exp max copy copy"},
        {"x: f32[N, C]",
         "exp(x - max(x, axis=1, keepdims=True)) / sum(exp(x - max(x, axis=1, "
         "keepdims=True)), axis=1, keepdims=True)",
         "[N, C] over 1: max subtract exp sum divide"},
        {"x: f32[N, C, H, W], b: f32[C]",
         "(x - mean(x, axis=(0, 2, 3), keepdims=True)) * b[:, None, None]",
         "[N, C, H, W] over 0,2,3: mean subtract multiply"},
        /* siblings that share a load only, and one that broadcasts */
        {"x: f32[N, C]", "exp(x), log(x)", "[N, C]: exp log"},
        {"x: f32[N, C], b: f32[C]", "x * exp(b)", "[C, N]: exp multiply"},
        /* group values stay with their reduction, whatever their shape */
        {"x: f32[N, C]", "sqrt(sum(x, axis=1)) + 1", "[N, C] over 1: sum sqrt add"},
        {"x: f32[N]", "sum(x) / x", "[N] over 0: sum divide"},
        /* a transposed use walks the same axes */
        {"x: f32[N, C]", "x.T + sum(x, axis=1)[None, :]", "[N, C] over 1: sum add"},
        /* the only element of an axis, however it is taken */
        {"x: f32[N, C]",
         "x - mean(x, axis=1, keepdims=True), mean(x, axis=1, keepdims=True)[:, 0], "
         "mean(x, axis=1, keepdims=True)[:, 0:1][..., ::-1]",
         "[N, C] over 1: mean subtract copy"},
        /* axes of size 1 are nobody's */
        {"x: f32[N, 1, C]", "x - mean(x, axis=(1, 2), keepdims=True)",
         "[N, C] over 1: mean subtract"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kn_regions *r = regions_of(cases[i].params, cases[i].expressions, true);
        assert_string_equal(regions_text(r), cases[i].text);
        assert_int_equal(kn_regions_refusals(r).len, 0);
    }
}

/* Siblings may share what another loop nest computes, too. */
static void test_siblings(void **state)
{
    (void)state;
    kn_regions *r = regions_of("x: f32[N, C]", "sum(prod(x, axis=1)), max(prod(x, axis=1))", true);
    assert_string_equal(regions_text(r), "[N, C] over 1: prod; [N] over 0: sum max copy copy");
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *params, *expressions, *text, *what, *why;
    } cases[] = {
        {"x: f32[N, C]", "x - mean(x, axis=0) - mean(x, axis=1, keepdims=True)",
         "[N, C] over 1: mean; [N, C] over 0: mean subtract subtract",
         "mean(x) at 2:34 and subtract(subtract, mean) at 2:32",
         "one reduces over [C], the other over [N]"},
        {"x: f32[N, N]", "x - mean(x, axis=0) - mean(x, axis=1, keepdims=True)",
         "[N, N] over 1: mean; [N, N] over 0: mean subtract subtract",
         "mean(x) at 2:34 and subtract(subtract, mean) at 2:32",
         "both reduce over [N], but one over axis 1, the other over axis 0"},
        {"x: f32[N, C]", "sum(exp(x).reshape(C, N))", "[N, C]: exp; [C, N] over 0,1: sum copy",
         "exp(x) at 2:16 and copy(sum) at 2:12",
         "sum reads exp through a reshape whose axes are no parts or products of the array's"},
        {"x: f32[N, C]", "sum(prod(x, axis=1)[1:])",
         "[N, C] over 1: prod; [max(N - 1, 0)] over 0: sum copy",
         "prod(x) at 2:16 and copy(sum) at 2:12",
         "sum reads prod through a slice: a loop nest has all elements of an array, or none"},
        {"x: f32[N], y: f32[M], s: f32[()]", "x * s, y * s", "[N]: multiply; [M]: multiply",
         "multiply(x, s) at 2:14 and multiply(y, s) at 2:21",
         "one goes over an axis N, the other over an axis M: one loop nest would go over every "
         "pair"},
        {"x: f32[N]", "x[:, None] * sum(x)  + x[None, :]", "[N] over 0: sum; [N, N]: multiply add",
         "sum(x) at 2:25 and add(multiply, x) at 2:33",
         "one has an axis N that the other's reductions do not go over"},
        {"x: f32[N, N]", "tanh(exp(sin(-x))) + tanh(exp(sin(-x))).T",
         "[N, N]: negative sin exp tanh; [N, N]: add",
         "tanh(exp) at 2:12 and add(tanh, tanh) at 2:31",
         "add reads tanh along different axes at once, as in x + x.T"},
        {"x: f32[N], y: f32[M]", "sum(x) + sum(y)", "[N] over 0: sum; [M] over 0: sum add",
         "sum(x) at 2:12 and add(sum, sum) at 2:19",
         "one has an axis M that the other's reductions do not go over"},
        {"x: f32[N, C]", "sum(sum(x, axis=1))", "[N, C] over 1: sum; [N] over 0: sum copy",
         "sum(x) at 2:16 and copy(sum) at 2:12",
         "one has an axis C that the other's reductions do not go over"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kn_regions *r = regions_of(cases[i].params, cases[i].expressions, true);
        assert_string_equal(regions_text(r), cases[i].text);
        kn_refusals refusals = kn_regions_refusals(r);
        assert_int_equal(refusals.len, 1);
        assert_string_equal(refusals.data[0].what, cases[i].what);
        assert_string_equal(refusals.data[0].why, cases[i].why);
        assert_true(strlen(refusals.data[0].need) > 0);
    }
}

/* What stands between two loop nests has a name; and what looks the same is said once. */
static void test_refused_between(void **state)
{
    (void)state;
    kn_regions *r =
        regions_of("a: f32[N, N], v: f32[N]", "sum(a * (a * sum(v * v)), axis=1)", true);
    assert_int_equal(kn_regions_refusals(r).len, 1);
    r = regions_of("a: f32[N, N]", "a / sum(sum(a, axis=1)), sum(a, axis=1)", true);
    kn_refusals list = kn_regions_refusals(r);
    bool between = false;
    for (int i = 0; i < list.len; i++) {
        const char *by = " of another loop nest, is made from one and needed by the other";
        between = between || strstr(list.data[i].why, by);
        for (int j = 0; j < i; j++)
            assert_true(strcmp(list.data[i].what, list.data[j].what) != 0 ||
                        strcmp(list.data[i].why, list.data[j].why) != 0);
    }
    assert_true(between);
}

/* What needs a number is merged with what makes it where the loop nest is the largest, whatever the order in the text;
 * nests of similar sizes have one order. */
static void test_largest_first(void **state)
{
    (void)state;
    static const char *const scaled = "x * (sum(x) + sum(y)), y * (sum(x) + sum(y))";
    static const struct {
        const char *sizes, *text;
    } cases[] = {
        {"N=1000, M=100", "[M] over 0: sum; [N] over 0: sum add multiply; [M]: multiply"},
        {"N=100, M=1000", "[N] over 0: sum; [M] over 0: sum add multiply; [N]: multiply"},
        {"N=600, M=1000", "[M] over 0: sum; [N] over 0: sum add multiply; [M]: multiply"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(
            regions_text(regions_at("x: f32[N], y: f32[M]", scaled, cases[i].sizes, true)),
            cases[i].text);
}

/* Values come before arguments: what is reduced is in the loop nest of its reduction, not in that of another which
 * reads the same array. */
static void test_siblings_last(void **state)
{
    (void)state;
    kn_regions *r = regions_of("x: f32[N, C]", "sum(x, axis=1) + 1, sum(exp(x))", true);
    assert_string_equal(regions_text(r), "[N, C] over 1: sum add; [N, C] over 0,1: exp sum copy");
    r = regions_of("x: f32[N, N]", "exp(x) + exp(x.T)", true);
    assert_string_equal(regions_text(r), "[N, N]: exp exp add");
}

/* Read along two orders of its axes, what is cheap is computed twice; what is not goes through memory. */
static void test_two_orders(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"x: f32[N, N]", "exp(x) + exp(x).T", "[N, N]: exp add"},
        {"x: f32[N, N]", "(exp(x) - mean(exp(x), axis=1, keepdims=True)) * exp(x).T",
         "[N, N] over 1: exp mean subtract multiply"},
        /* not what takes long */
        {"x: f32[N, N]", "tanh(exp(sin(-x))) + tanh(exp(sin(-x))).T",
         "[N, N]: negative sin exp tanh; [N, N]: add"},
        /* nor what takes more reading than it saves: three arrays for one */
        {"x: f32[N, N], y: f32[N, N], z: f32[N, N]", "(x + y + z) * (x + y + z).T",
         "[N, N]: add add; [N, N]: multiply"},
        /* nor a matrix' worth of work for a vector */
        {"x: f32[N]", "exp(x)[:, None] * exp(x)", "[N]: exp; [N, N]: multiply"},
        /* nor anything with a reduction */
        {"x: f32[N, N]", "(x - mean(x)) + (x - mean(x)).T",
         "[N, N] over 0,1: mean subtract; [N, N]: add"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(regions_text(regions_of(cases[i][0], cases[i][1], true)), cases[i][2]);
}

/* Loading x in two orders is no dependence: one nest reads it twice. */
static void test_transposed_loads(void **state)
{
    (void)state;
    kn_regions *r = regions_of("x: f32[N, N]", "x + x.T", true);
    assert_string_equal(regions_text(r), "[N, N]: add");
}

static void test_unfused(void **state)
{
    (void)state;
    kn_regions *r = regions_of("x: f32[N, C]", "exp(x - mean(x, axis=1, keepdims=True))", false);
    assert_string_equal(regions_text(r), "[N, C] over 1: mean; [N, C]: subtract; [N, C]: exp");
    assert_int_equal(kn_regions_refusals(r).len, 0);
    for (int i = 0; i < r->list.len; i++)
        assert_int_equal(r->list.data[i]->level, i);
}

/* Every loop nest comes behind those that it reads. */
static void assert_no_cycle(const kn_regions *r)
{
    for (int i = 0; i < r->list.len; i++)
        for (int k = 0; k < r->list.data[i]->nodes.len; k++) {
            const kn_node *n = r->list.data[i]->nodes.data[k];
            assert_ptr_equal(r->of[n->id], r->list.data[i]);
            for (int j = 0; j < n->nin; j++) {
                const kn_node *x = n->in[j];
                while (kn_ops[x->op].cls == KN_VIEW)
                    x = x->in[0];
                if (r->of[x->id] && r->of[x->id] != r->list.data[i])
                    assert_true(r->of[x->id]->level < r->list.data[i]->level);
            }
        }
    assert_true(r->list.len > 1);
}

static void test_no_cycles(void **state)
{
    (void)state;
    /* a -> c directly and through b, which cannot join: a and c may not be one then */
    assert_no_cycle(
        regions_of("x: f32[N, C]", "exp(x) + sum(exp(x).reshape(C, N), axis=0).sum()", true));
    /* sum(y) is needed by the sums of exp(x) only because exp(x) is one with a later node that needs it */
    assert_no_cycle(regions_of("x: f32[N, C], y: f32[H]",
                               "sum(exp(x).reshape(C, N), axis=0).sum(), exp(x) * sum(y), "
                               "sum(y) + sum(exp(x).reshape(C, N), axis=0).sum()",
                               true));
}

/* Every node's axes have the extents of its region's. */
static void test_axes(void **state)
{
    (void)state;
    kn_regions *r =
        regions_of("x: f32[N, C, H], b: f32[H, 1]",
                   "(x.T * b[:, None]).reshape(H, C, N, 1) - sum(x, axis=(0, 2))[:, None, "
                   "None]",
                   true);
    kn_symbols *s = r->graph->syms;
    for (int i = 0; i < r->list.len; i++)
        for (int k = 0; k < r->list.data[i]->nodes.len; k++) {
            const kn_node *n = r->list.data[i]->nodes.data[k];
            for (int j = 0; j < n->rank; j++) {
                int a = r->axis[n->id][j];
                kn_dim d = kn_node_space(n)[j];
                assert_int_equal(a < 0, kn_dim_is_one(s, d));
                if (a >= 0)
                    assert_true(kn_dim_equal(s, r->list.data[i]->dim[a], d));
            }
        }
}

/* A loop nest that is never walked computes nothing, so nothing that has elements may be in it. */
static void test_empty(void **state)
{
    (void)state;
    const char *params = "x: f32[N, C], b: f32[C]", *expressions = "exp(b) * x, exp(b)";
    assert_string_equal(regions_text(regions_of(params, expressions, true)),
                        "[C, N]: exp multiply");
    kn_regions *r = regions_at(params, expressions, "N=0, C=5", true);
    assert_string_equal(regions_text(r), "[C]: exp; [N, C]: multiply");
    assert_string_equal(kn_regions_refusals(r).data[0].why,
                        "a size is 0, so nothing is walked, but it has elements");
    /* a group without members is walked: its mean is NaN */
    r = regions_at("x: f32[N, C]", "x - mean(x, axis=0), mean(x, axis=0)", "N=0, C=5", true);
    assert_string_equal(regions_text(r), "[N, C] over 0: mean subtract copy");
}

/* Group normalisation is one loop nest, whichever way its groups are written. */
static void test_reshaped(void **state)
{
    (void)state;
    static const char *const programs[][3] = {
        {"x: f32[N, G*K, H, W], b: f32[G*K], g: f32[G]",
         "((x.reshape(N, G, K, H, W) - mean(x.reshape(N, G, K, H, W), axis=(2, 3, 4), "
         "keepdims=True)) / g[:, None, None, None]).reshape(N, G*K, H, W) * b[:, None, None]",
         "N=2, G=3, K=4, H=5, W=6"},
        {"x: f32[N, C, H, W], b: f32[C], g: f32[G]",
         "((x.reshape(N, G, -1) - mean(x.reshape(N, G, -1), axis=2, keepdims=True))"
         " / g[:, None]).reshape(N, C, H, W) * b[:, None, None]",
         "N=2, C=12, G=%d, H=5, W=6"},
        {"x: f32[W, H, C, N], b: f32[C], g: f32[G]",
         "((x.T.reshape(N, G, -1) - mean(x.T.reshape(N, G, -1), axis=2, keepdims=True))"
         " / g[:, None]).reshape(N, C, H, W) * b[:, None, None]",
         "N=2, C=12, G=%d, H=5, W=6"},
    };
    static const int groups[] = {1, 3, 4, 12};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        const char *first = NULL;
        for (size_t j = 0; j < sizeof groups / sizeof *groups; j++) {
            char sizes[64];
            snprintf(sizes, sizeof sizes, i ? "N=2, C=12, G=%d, H=5, W=6" : programs[0][2],
                     groups[j]);
            kn_regions *r = regions_at(programs[i][0], programs[i][1], sizes, true);
            assert_int_equal(r->list.len, 1);
            assert_int_equal(r->list.data[0]->naxes, 5);
            /* no size decides what it is: a compiled kernel serves all of them */
            kn_text t = kn_text_new(&arena);
            kn_graph_print(&t, r->graph, true);
            first = first ? first : kn_text_str(&t);
            assert_string_equal(kn_text_str(&t), first);
        }
    }
}

/* ---- large programs: work in proportion, whatever they look like ---- */

enum { OPERATIONS = 4000, STEPS_EACH = 40 };

typedef kn_node *(*grow_fn)(kn_graph *g, kn_node *x, kn_node *v, int i);

static kn_node *elem1(kn_graph *g, kn_op op, kn_node *a)
{
    return kn_build_elem(g, op, (kn_node *[]){a}, 1, (kn_loc){0});
}

static kn_node *elem2(kn_graph *g, kn_op op, kn_node *a, kn_node *b)
{
    return kn_build_elem(g, op, (kn_node *[]){a, b}, 2, (kn_loc){0});
}

static kn_node *reduced(kn_graph *g, kn_node *x, int axis)
{
    const kn_reduction r = {.axes = &axis, .naxes = 1, .keepdims = true};
    return kn_build_reduction(g, KN_OP_SUM, x, &r, (kn_loc){0});
}

static kn_node *chain(kn_graph *g, kn_node *x, kn_node *v, int i)
{
    return i % 2 ? elem1(g, KN_OP_SIN, v) : elem2(g, KN_OP_ADD, v, x);
}

/* each reads the array, none another one; all are outputs */
static kn_node *siblings(kn_graph *g, kn_node *x, kn_node *v, int i)
{
    (void)v;
    kn_node *y = elem2(g, KN_OP_ADD, x, kn_build_float(g, i, (kn_loc){0}));
    kn_build_output(g, kn_sprintf(g->arena, "y%d", i), y, (kn_loc){0});
    return y;
}

/* every loop nest ends after a few operations */
static kn_node *alternate(kn_graph *g, kn_node *x, kn_node *v, int i)
{
    (void)x;
    return i % 4 == 0   ? elem2(g, KN_OP_SUB, v, reduced(g, v, i / 4 % 2))
           : i % 4 == 1 ? elem1(g, KN_OP_TANH, v)
                        : elem1(g, KN_OP_SIN, v);
}

/* and all of them read the first array */
static kn_node *residual(kn_graph *g, kn_node *x, kn_node *v, int i)
{
    return i % 4 == 3 ? elem2(g, KN_OP_ADD, v, x) : alternate(g, x, v, i);
}

/* two loop nests that never can be one, and everything reads both */
static kn_node *apart(kn_graph *g, kn_node *x, kn_node *v, int i)
{
    return i < 2 ? elem2(g, KN_OP_ADD, v, reduced(g, x, i % 2))
                 : elem2(g, KN_OP_ADD, elem1(g, KN_OP_SIN, v), reduced(g, x, i % 2));
}

static void test_large(void **state)
{
    (void)state;
    static const grow_fn programs[] = {chain, siblings, alternate, residual, apart};
    for (size_t p = 0; p < sizeof programs / sizeof *programs; p++) {
        kn_graph *g = kn_graph_new(&arena, "large");
        kn_dim shape[] = {kn_dim_sym(g->syms, "N", 1), kn_dim_sym(g->syms, "C", 1)};
        kn_node *x = kn_build_input(g, "x", KN_F32, shape, 2, (kn_loc){0}), *v = x;
        for (int i = 0; g->nodes.len < OPERATIONS; i++)
            v = programs[p](g, x, v, i);
        kn_build_output(g, "out", elem1(g, KN_OP_EXP, v), (kn_loc){0});
        kn_regions *r = kn_regions_form(&arena, g, sizes_of(g, "N=40, C=60"), true);
        assert_non_null(r);
        assert_true(r->work < (int64_t)STEPS_EACH * g->nodes.len);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(test_one),
        test(test_siblings),
        test(test_refused),
        test(test_refused_between),
        test(test_transposed_loads),
        test(test_unfused),
        test(test_no_cycles),
        test(test_axes),
        test(test_empty),
        test(test_reshaped),
        test(test_largest_first),
        test(test_siblings_last),
        test(test_two_orders),
        test(test_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
