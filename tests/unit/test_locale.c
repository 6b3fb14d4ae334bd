/* Numbers are read and written with a point where the application's locale has a comma. */
#include <locale.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/on_device.h"
#include "tests/unit/api.h"

static char dir[64];

/* A German locale of our own, made where the system has the parts. */
static int use_german(void **state)
{
    char command[200];
    (void)state;
    strcpy(dir, "/tmp/kiln-locale-XXXXXX");
    if (!mkdtemp(dir))
        return 1;
    snprintf(command, sizeof command,
             "localedef -i de_DE -f UTF-8 '%s/de_DE.UTF-8' >'%s/said' 2>&1", dir, dir);
    if (system(command) == 0)
        setenv("LOCPATH", dir, 1);
    return 0;
}

static int remove_german(void **state)
{
    char command[100];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command);
}

static void in_german(void)
{
    char text[16];
    if (!setlocale(LC_ALL, "de_DE.UTF-8"))
        skip();
    snprintf(text, sizeof text, "%.1f", 1.5);
    assert_string_equal(text, "1,5");
}

/* No digit, comma, digit but in lists of numbers, which have a space or stand in shapes. */
static void has_points_only(const char *text)
{
    static const char digits[] = "0123456789";
    for (const char *s = text; (s = strchr(s + 1, ',')) != NULL;)
        if (strchr(digits, s[-1]) && s[1] && strchr(digits, s[1]))
            fail_msg("%.*s in %s", 40, s - 3, text);
}

static void on_device(const char *device)
{
    static const char *const stages[] = {NULL, "json", "graph", "ir", "schedule", "dot", "cuda"};
    in_german();
    float x[] = {1, 2}, y[2];
    int64_t n = 2;
    kiln_arg args[] = {{"x", x, KILN_F32, 1, &n, NULL}, {"y", y, KILN_F32, 1, &n, NULL}};
    kiln_ctx *c = open_device(device);
    kiln_prog *p = compile(c, "def f(x: f32[N], e: f32 = 0.25):\n"
                              "    y = x * 1.25 + 0.5e-1 + e + sum(x) * 0.125\n    return y\n");
    good(kiln_run(p, NULL, args, 2));
    assert_float_equal(y[0], 1.925, 1e-6);
    assert_float_equal(y[1], 3.175, 1e-6);
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        kiln_explain_options o;
        char *text;
        kiln_explain_options_init(&o);
        o.stage = stages[i];
        good(kiln_explain(p, NULL, 0, &o, &text));
        has_points_only(text);
        kiln_text_free(c, text);
    }
    kiln_prog_destroy(p);
    kiln_ctx_destroy(c);
    setlocale(LC_ALL, "C");
}

static void test_doctor(void **state)
{
    (void)state;
    char *text;
    in_german();
    good(kiln_doctor(&text));
    has_points_only(text);
    kiln_text_free(NULL, text);
    setlocale(LC_ALL, "C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_DEVICE(on_device, "ref"),
        ON_DEVICE(on_device, "cpu"),
        ON_DEVICE(on_device, "emu"),
        cmocka_unit_test(test_doctor),
    };
    return cmocka_run_group_tests_name("locale", tests, use_german, remove_german);
}
