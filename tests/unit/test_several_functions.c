/* Texts of several functions through the public API: one of them is chosen, from memory or from a file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/files.h"
#include "tests/unit/api.h"

static const char text[] = "\"\"\"Two of them.\"\"\"\n"
                           "import numpy as np\n"
                           "def twice(x: f32[N]):\n"
                           "    y = 2 * x\n"
                           "\n"
                           "# neither indented nor code\n"
                           "    return y\n"
                           "from kiln import *\n"
                           "def thrice(x: f32[N]):\n"
                           "    \"\"\"def no(x: f32[N]):\"\"\"\n"
                           "    return (3 *\n"
                           "x)\n"
                           "def unfinished(x: f32[N]):\n"
                           "    return frobnicate(x\n"
                           "    )\n";

/* What the program makes of 1. */
static float value_of(kiln_graph *g, const char *output)
{
    static const int64_t one = 1;
    float x = 1, y = 0;
    kiln_prog *p = NULL;
    const kiln_arg args[] = {{"x", &x, KILN_F32, 1, &one, NULL},
                             {output, &y, KILN_F32, 1, &one, NULL}};
    assert_int_equal(kiln_compile(g, NULL, &p), KILN_OK);
    assert_int_equal(kiln_run(p, NULL, args, 2), KILN_OK);
    kiln_prog_destroy(p);
    kiln_graph_destroy(g);
    return y;
}

static void one_is_chosen(void **state)
{
    (void)state;
    kiln_graph *g;
    assert_int_equal(kiln_parse_named(ctx, text, NULL, "twice", &g), KILN_OK);
    assert_true(value_of(g, "y") == 2);
    assert_int_equal(kiln_parse_named(ctx, text, NULL, "thrice", &g), KILN_OK);
    assert_true(value_of(g, "out0") == 3);
    assert_int_equal(kiln_parse_named(ctx, "def f(x: f32[N]): return x", NULL, NULL, &g), KILN_OK);
    kiln_graph_destroy(g);
    expect(kiln_parse_named(ctx, text, "t.kiln", "unfinished", &g), KILN_ERR_SYNTAX,
           "t.kiln:14:12: unknown name 'frobnicate'");
    assert_null(g);
    expect(kiln_parse(ctx, text, "t.kiln", &g), KILN_ERR_ARGUMENT,
           "t.kiln:9:5: there are several functions: twice, thrice, unfinished; say which");
    expect(
        kiln_parse_named(ctx, text, "t.kiln", "thrise", &g), KILN_ERR_ARGUMENT,
        "t.kiln has no function 'thrise'; it has twice, thrice, unfinished; did you mean 'thrice'?");
    expect(kiln_parse_named(ctx, "", NULL, "f", &g), KILN_ERR_SYNTAX, "expected 'def name(...):'");
    expect(kiln_parse_named(ctx, "def f(x: f32): return x\n@jit\ndef g(x: f32): return x", NULL,
                            "g", &g),
           KILN_ERR_SYNTAX, "<text>:2:1: decorators are not part of the text form");
    expect(kiln_parse_named(ctx, "def f(x: f32[N]):\n  return x\ndef g(x):\n  return 'x", NULL, "f",
                            &g),
           KILN_ERR_SYNTAX, "4:10: this string is never closed");
}

static void from_a_file(void **state)
{
    (void)state;
    char path[] = "/tmp/kiln_text_XXXXXX";
    kiln_graph *g;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    write_file(path, text, sizeof text - 1);
    assert_int_equal(kiln_parse_file(ctx, path, "twice", &g), KILN_OK);
    assert_true(value_of(g, "y") == 2);
    expect(kiln_parse_file(ctx, path, NULL, &g), KILN_ERR_ARGUMENT, path);
    assert_null(g);
    write_file(path, text, sizeof text); /* a zero byte at its end */
    expect(kiln_parse_file(ctx, path, "twice", &g), KILN_ERR_IO, "cannot read");
    char *many = calloc(1, (1 << 20) + 1);
    assert_non_null(many);
    write_file(path, memset(many, '#', (1 << 20) + 1), (1 << 20) + 1);
    free(many);
    expect(kiln_parse_file(ctx, path, "twice", &g), KILN_ERR_IO, "too large");
    unlink(path);
    expect(kiln_parse_file(ctx, path, NULL, &g), KILN_ERR_IO, "No such file");
    expect(kiln_parse_file(ctx, NULL, NULL, &g), KILN_ERR_ARGUMENT, "path is NULL");
}

int main(void)
{
    const struct CMUnitTest tests[] = {test(one_is_chosen), test(from_a_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
