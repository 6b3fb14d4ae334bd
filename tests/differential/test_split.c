/* A program in two parts gives what it gives whole, bit by bit in the reference interpreter, whatever is saved between
 * them: programs at random, and first and second derivatives. */
#include <string.h>

#include "frontend/parse/parse.h"
#include "ir/split.h"
#include "tests/differential/check.h"
#include "tests/differential/gradients.h"

typedef struct values {
    const kn_graph *g; /* whose inputs and outputs they are of */
    kn_array in[MAX_ARGS + MAX_VALUES], out[MAX_ARGS + MAX_VALUES];
} values;

/* Arrays for what the program gives, and a run. */
static kn_status run(kn_arena *a, const int64_t *sizes, values *v)
{
    for (int o = 0; o < v->g->outputs.len; o++) {
        const kn_node *n = v->g->outputs.data[o].node;
        kn_array *x = &v->out[o];
        *x = (kn_array){.dtype = n->dtype, .rank = n->rank};
        KN_TRY(kn_node_sizes(n, sizes, x->shape));
        kn_compact_strides(x->shape, x->rank, x->stride);
        x->data = kn_alloc(a, (size_t)(kn_count(x->shape, x->rank) * kn_bytes(n->dtype)) + 1);
    }
    return kn_interp(v->g, a, sizes, v->in, v->out, NULL);
}

/* The inputs of a part: the whole's, or what the first part has left. */
static void feed(values *v, const values *whole, const values *first)
{
    for (int i = 0; i < v->g->inputs.len; i++) {
        const char *name = v->g->inputs.data[i].name;
        int saved = first ? kn_graph_find_output(first->g, name) : -1;
        int given = kn_graph_find_input(whole->g, name);
        if (saved < 0 && given < 0)
            fail_msg("%s has an input %s", v->g->name, name);
        v->in[i] = saved >= 0 ? first->out[saved] : whole->in[given];
    }
}

static void must_be_equal(const values *part, const values *whole, int *found)
{
    for (int o = 0; o < whole->g->outputs.len; o++) {
        int i = kn_graph_find_output(part->g, whole->g->outputs.data[o].name);
        const kn_array *x = &whole->out[o];
        if (i < 0)
            continue;
        ++*found;
        if (memcmp(part->out[i].data, x->data,
                   (size_t)(kn_count(x->shape, x->rank) * kn_bytes(x->dtype))))
            fail_msg("output %s of %s differs", whole->g->outputs.data[o].name, part->g->name);
    }
}

/* Splits the program of `whole`, which has run, and compares. What is saved is random. False where it cannot be
 * split so. */
static bool holds(const values *whole, const char *late, const int64_t *sizes, rng *r,
                  values part[2])
{
    kn_graph *g = (kn_graph *)(uintptr_t)whole->g, *made[2];
    kn_split s;
    int found = 0;
    if (kn_split_find(g, late, &s) != KN_OK)
        return false;
    bool *saved = KN_NEW_ARRAY(g->arena, bool, s.n + 1);
    int percent = 50 * below(r, 3);
    for (int c = 0; c < s.n; c++)
        saved[c] = chance(r, percent);
    kn_status status = kn_split_parts(&s, saved, sizes, made);
    if (status == KN_SHAPE && strstr(kn_last_error(), "is known late"))
        return false;
    if (status != KN_OK)
        fail_msg("%s", kn_last_error());
    for (int i = 0; i < 2; i++) {
        part[i].g = made[i];
        feed(&part[i], whole, i ? &part[0] : NULL);
        if (kn_graph_verify(made[i]) != KN_OK || run(g->arena, sizes, &part[i]) != KN_OK)
            fail_msg("%s: %s", made[i]->name, kn_last_error());
        must_be_equal(&part[i], whole, &found);
    }
    assert_int_equal(found, g->outputs.len);
    return true;
}

static void test_random(void **state)
{
    (void)state;
    int n = EFFORT(600, 150), done = 0;
    for (int seed = 1; seed <= n; seed++) {
        kn_arena a;
        rng r = {(uint64_t)seed};
        kn_arena_init(&a, &kn_malloc_allocator);
        program *p = program_make(&a, (uint64_t)seed, 60);
        values whole = {.g = p->graph}, part[2] = {0};
        for (int i = 0; i < p->graph->inputs.len; i++) {
            const memory *m = &p->in[i];
            whole.in[i] = (kn_array){.dtype = m->dtype, .rank = m->layout.rank};
            memcpy(whole.in[i].shape, m->layout.shape, sizeof m->layout.shape);
            memcpy(whole.in[i].stride, m->layout.stride, sizeof m->layout.stride);
            whole.in[i].data = m->block + m->first * kn_bytes(m->dtype);
        }
        if (run(&a, p->sizes, &whole) != KN_OK)
            fail_msg("seed %d: %s", seed, kn_last_error());
        if (p->graph->inputs.len) {
            int late = below(&r, p->graph->inputs.len);
            done += holds(&whole, p->graph->inputs.data[late].name, p->sizes, &r, part);
        }
        kn_arena_finish(&a);
    }
    print_message("%d of %d programs have two parts\n", done, n);
    assert_true(done * 4 > n);
}

/* ---- derivatives ---- */

/* "seed1_0, seed1_1, ...", those of an order. */
static const char *seeds(const kn_graph *g, int order)
{
    kn_text t = kn_text_new(g->arena);
    const char *begin = kn_sprintf(g->arena, "seed%d_", order);
    for (int i = 0; i < g->inputs.len; i++)
        if (strncmp(g->inputs.data[i].name, begin, strlen(begin)) == 0)
            kn_putf(&t, "%s%s", t.len ? ", " : "", g->inputs.data[i].name);
    return kn_text_str(&t);
}

static void add_outputs(kn_graph *g, const char *name, kn_node *const *x, int n)
{
    for (int i = 0; i < n; i++)
        if (kn_build_output(g, kn_sprintf(g->arena, "%s%d", name, i), x[i], (kn_loc){0}))
            fail_msg("%s", kn_last_error());
}

/* What is differentiated and its derivatives of this order, in programs for each order. */
static void derivatives(int seed, int order)
{
    kn_arena a;
    rng r = {(uint64_t)seed};
    values whole = {0}, part[2] = {0}, later[2] = {0};
    kn_node *y[MAX_VALUES];
    int ny = 0;
    kn_arena_init(&a, &kn_malloc_allocator);
    kn_graph *g = kn_graph_new(&a, "f");
    const char *text = smooth_program(&a, &r);
    if (kn_parse(g, text, "f") != KN_OK)
        fail_msg("%s\n%s", text, kn_last_error());
    for (int o = 0; o < g->outputs.len; o++)
        y[ny++] = g->outputs.data[o].node;
    slopes *s = slopes_of(g, order);
    if (!s || !slopes_fill(s, "", &r, -1.5, 1.5))
        fail_msg("%s\n%s", text, kn_last_error());
    add_outputs(g, "y", y, ny);
    add_outputs(g, "dy", s->y, order > 1 ? s->ny : 0);
    add_outputs(g, "d", s->grad, s->nwrt);
    whole.g = g;
    for (int i = 0; i < g->inputs.len; i++) {
        const kn_node *n = g->inputs.data[i].node;
        whole.in[i] = (kn_array){.dtype = n->dtype, .rank = n->rank, .data = s->data[i]};
        kn_node_sizes(n, s->sizes, whole.in[i].shape);
        kn_compact_strides(whole.in[i].shape, n->rank, whole.in[i].stride);
    }
    if (run(&a, s->sizes, &whole) != KN_OK || !holds(&whole, seeds(g, 1), s->sizes, &r, part))
        fail_msg("%s\n%s", text, kn_last_error());
    const char *second = order > 1 ? seeds(part[1].g, 2) : "";
    if (*second && !holds(&part[1], second, s->sizes, &r, later))
        fail_msg("%s\n%s", text, kn_last_error());
    kn_arena_finish(&a);
}

static void test_first(void **state)
{
    (void)state;
    for (int seed = 1; seed <= EFFORT(500, 50); seed++)
        derivatives(seed, 1);
}

static void test_second(void **state)
{
    (void)state;
    for (int seed = 1; seed <= EFFORT(50, 10); seed++)
        derivatives(seed, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_first),
        cmocka_unit_test(test_second),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
