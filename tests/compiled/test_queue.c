/* Kernels that wait to be compiled in the background: those that are gone do not, so however many programs come and go, what
 * waits is bounded. The compiler of this test never ends. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/kernels.h"
#include "tests/device.h"
#include "tests/ledger.h"

enum { N = 64 };

/* Runs a program that no other is like, more often than what is not worth compiling. */
static void run_another(kiln_ctx *ctx, int number)
{
    static float x[N], y[N];
    static const int64_t shape[] = {N};
    const kiln_arg args[] = {{"x", x, KILN_F32, 1, shape, NULL},
                             {"y", y, KILN_F32, 1, shape, NULL}};
    char text[96];
    snprintf(text, sizeof text, "def f%d(x: f32[N]):\n    y = x * 2 + %d\n    return y\n", number,
             number);
    kiln_prog *prog = compile(ctx, text);
    for (int run = 0; run < 3; run++)
        good(kiln_run(prog, NULL, args, 2));
    kiln_prog_destroy(prog);
    assert_true(y[0] == (float)number);
}

static void write_compiler(const char *path)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("#!/bin/sh\ncase \"$*\" in *.c*) exec sleep 3600 ;; *) echo gcc 12 ;; esac\n", f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, 0700), 0);
}

static void test_bounded(void **state)
{
    char folder[] = "/tmp/kiln-queue-XXXXXX", compiler[64];
    ledger l = {0};
    kiln_config config;
    kiln_ctx *ctx;
    size_t before = 0;
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(compiler, sizeof compiler, "%s/cc", folder);
    write_compiler(compiler);
    setenv("KILN_CC", compiler, 1);
    kiln_config_init(&config);
    config.device = "cpu";
    config.cpu_compile = "background";
    config.cache_dir = "";
    config.alloc = counted;
    config.release = uncounted;
    config.user = &l;
    good(kiln_ctx_create(&config, &ctx));
    /* more than stay for a next user; and as many again */
    for (int i = 0; i < 3 * KN_IDLE_KERNELS; i++) {
        run_another(ctx, i);
        if (i == 3 * KN_IDLE_KERNELS / 2)
            before = l.live;
    }
    print_message("%zu bytes, and then %zu\n", before, l.live);
    assert_true(l.live < before + before / 8);
    kiln_ctx_destroy(ctx);
    assert_int_equal(l.live, 0);
    unlink(compiler);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bounded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
