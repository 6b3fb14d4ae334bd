/* Programs that are deep: operations that each need the one before, and expressions nested as far as they may be. A
 * thread of little stack builds, plans and runs them. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "tests/device.h"
#include "tests/effort.h"

#ifdef __clang__
#define LITTLE 512 /* its frames of the parser are three times as large as gcc's */
#else
#define LITTLE 128
#endif
enum { STACK = EFFORT(LITTLE, 2048) * 1024, DEEP = EFFORT(8000, 4000), NESTED = 195, SIZE = 4 };

typedef struct deep {
    const char *text, *device;
    const char *failed;
} deep;

static kiln_status work(deep *d, kiln_ctx **ctx)
{
    kiln_config config;
    kiln_graph *graph;
    kiln_prog *prog;
    kiln_explain_options explain;
    char *text;
    static float x[SIZE * SIZE], y[SIZE * SIZE];
    static const int64_t shape[] = {SIZE, SIZE};
    const kiln_arg args[] = {{"x", x, KILN_F32, 2, shape, NULL},
                             {"v", y, KILN_F32, 2, shape, NULL}};
    kiln_config_init(&config);
    config.device = d->device;
    kiln_explain_options_init(&explain);
    explain.stage = "schedule";
    explain.arch = "sm_90";
    kiln_status s = kiln_ctx_create(&config, ctx);
    s = s ? s : kiln_parse(*ctx, d->text, NULL, &graph);
    s = s ? s : kiln_compile(graph, NULL, &prog);
    if (s)
        return s;
    s = kiln_explain(prog, NULL, 0, &explain, &text); /* plans for a GPU */
    if (!s)
        kiln_text_free(*ctx, text);
    s = s ? s : kiln_run(prog, NULL, args, 2);
    kiln_prog_destroy(prog);
    kiln_graph_destroy(graph);
    return s;
}

static void *go(void *user)
{
    deep *d = user;
    kiln_ctx *ctx = NULL;
    if (work(d, &ctx) != KILN_OK)
        d->failed = strdup(kiln_last_error());
    kiln_ctx_destroy(ctx);
    return NULL;
}

/* Message, or NULL; the caller's to free. */
static const char *run_deep(const char *device, const kn_text *text)
{
    deep d = {.text = kn_text_str(text), .device = device};
    pthread_attr_t small;
    pthread_t thread;
    pthread_attr_init(&small);
    assert_int_equal(pthread_attr_setstacksize(&small, STACK), 0);
    assert_int_equal(pthread_create(&thread, &small, go, &d), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&small);
    return d.failed;
}

static void must_run(const char *device, const kn_text *text)
{
    const char *failed = run_deep(device, text);
    if (failed)
        fail_msg("%s", failed);
}

static void must_fail(const kn_text *text, const char *why)
{
    const char *failed = run_deep("cpu", text);
    if (!failed || !strstr(failed, why))
        fail_msg("not \"%s\": %s", why, failed ? failed : "it ran");
    free((char *)(uintptr_t)failed);
}

static const char head[] = "def f(x: f32[N, M]):\n    v = x\n", tail[] = "    return v\n";

/* One operation after the other, and what they may end with. */
static void test_operations(void **state)
{
    (void)state;
    static const char several[] = "    v = v + sum(v, axis=0)\n"
                                  "    v = v + sum(x * sum(v, axis=1, keepdims=True), axis=0)\n";
    static const char *const ends[] = {"", "    v = v * sum(v)\n", /* spread over the machine */
                                       several};
    kn_arena a;
    kn_arena_init(&a, NULL);
    for (size_t e = 0; e < sizeof ends / sizeof *ends; e++) {
        kn_text t = kn_text_new(&a);
        kn_put(&t, head);
        for (int i = 0; i < DEEP; i++)
            kn_put(&t, i % 2 ? "    v = v + x\n" : "    v = v * x\n");
        kn_put(&t, ends[e]);
        kn_put(&t, tail);
        must_run("cpu", &t);
        if (e == 0)
            must_run("ref", &t);
    }
    kn_arena_finish(&a);
}

/* Views of views, which show no element more or less, and what is written through them. */
static void test_views(void **state)
{
    (void)state;
    kn_arena a;
    kn_arena_init(&a, NULL);
    kn_text t = kn_text_new(&a);
    kn_put(&t, head);
    for (int i = 0; i < DEEP / 10; i++)
        kn_put(&t, "    v = v[::-1].T\n");
    kn_put(&t, "    v = v + 1\n");
    kn_put(&t, tail);
    must_run("cpu", &t);
    kn_arena_finish(&a);
}

static void nest(kn_text *t, const char *open, const char *inner, const char *close, int n)
{
    kn_put(t, head);
    kn_put(t, "    v = ");
    for (int i = 0; i < n; i++)
        kn_put(t, open);
    kn_put(t, inner);
    for (int i = 0; i < n; i++)
        kn_put(t, close);
    kn_put(t, "\n");
    kn_put(t, tail);
}

static void test_nested(void **state)
{
    (void)state;
    static const char *const nests[][3] = {
        {"(", "v + 1", ")"},
        {"abs(", "v + 1", ")"},
        {"v + v * -(", "v", ")"},
        {"v[", "0", "]"},
        {"(1 < v) | (v > 2) & (", "v < 1", ")"},
    };
    kn_arena a;
    kn_arena_init(&a, NULL);
    for (size_t i = 0; i < sizeof nests / sizeof *nests; i++) {
        kn_text t = kn_text_new(&a), deeper = kn_text_new(&a);
        nest(&t, nests[i][0], nests[i][1], nests[i][2], NESTED / (i == 2 ? 2 : 1));
        nest(&deeper, nests[i][0], nests[i][1], nests[i][2], 10 * NESTED);
        must_fail(&deeper, "nested more than 200 deep");
        if (i < 3)
            must_run("cpu", &t);
    }
    kn_arena_finish(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_nested),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
