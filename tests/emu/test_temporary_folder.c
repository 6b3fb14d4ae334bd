/* The emulator's folder: it is made again when it has gone, what killed processes left is swept and nothing else is,
 * and neither an odd TMPDIR nor a limit on file sizes does more than fail with a message. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/device.h"

static char temporary[64];

static int make_temporary(void **state)
{
    (void)state;
    strcpy(temporary, "/tmp/kiln-folders-XXXXXX");
    return !mkdtemp(temporary) || setenv("TMPDIR", temporary, 1) != 0;
}

static int remove_temporary(void **state)
{
    char command[100];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", temporary);
    return system(command);
}

/* How many folders of the emulator there are; the name of the last. */
static int folders(char *name, size_t size)
{
    int n = 0;
    DIR *d = opendir(temporary);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        if (strncmp(e->d_name, "kiln-emulator-", 14) == 0) {
            n++;
            if (name)
                snprintf(name, size, "%s/%s", temporary, e->d_name);
        }
    closedir(d);
    return n;
}

static kiln_ctx *open_emulator(void)
{
    kiln_config config;
    kiln_ctx *ctx;
    kiln_config_init(&config);
    config.device = "emu";
    config.cache_dir = "";
    good(kiln_ctx_create(&config, &ctx));
    return ctx;
}

static kiln_status compiles(kiln_ctx *ctx, int number)
{
    char text[100];
    kiln_kernel *k;
    snprintf(text, sizeof text, "extern \"C\" __global__ void k(int *p) { *p = %d; }", number);
    kiln_status status = kiln_kernel_create(ctx, text, "k", &k);
    if (status == KILN_OK)
        kiln_kernel_destroy(k);
    return status;
}

static void test_goes_with_the_context(void **state)
{
    (void)state;
    kiln_ctx *ctx = open_emulator();
    assert_int_equal(folders(NULL, 0), 0);
    good(compiles(ctx, 1));
    assert_int_equal(folders(NULL, 0), 1);
    kiln_ctx_destroy(ctx);
    assert_int_equal(folders(NULL, 0), 0);
}

static void test_removed_by_others(void **state)
{
    char name[400], command[500];
    (void)state;
    kiln_ctx *ctx = open_emulator();
    good(compiles(ctx, 1));
    assert_int_equal(folders(name, sizeof name), 1);
    snprintf(command, sizeof command, "rm -rf '%s'", name);
    assert_int_equal(system(command), 0);
    good(compiles(ctx, 2));
    assert_int_equal(folders(NULL, 0), 1);
    kiln_ctx_destroy(ctx);
    assert_int_equal(folders(NULL, 0), 0);
}

/* A child that has a folder and waits; its end of a pipe closes when it dies. */
static pid_t start_child(void)
{
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        kiln_ctx *ctx = open_emulator();
        bool made = compiles(ctx, 1) == KILN_OK;
        if (write(ends[1], made ? "y" : "n", 1) == 1)
            pause();
        _exit(1);
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(byte, 'y');
    close(ends[0]);
    close(ends[1]);
    return pid;
}

static void kill_child(pid_t pid)
{
    int status;
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
}

static void test_swept(void **state)
{
    (void)state;
    char strange[100], other[100], others[100];
    snprintf(strange, sizeof strange, "%s/kiln-emulator-of-mine", temporary);
    snprintf(other, sizeof other, "%s/kiln-emulator-open00", temporary);
    snprintf(others, sizeof others, "%s/kiln-emulator-theirs", temporary);
    assert_int_equal(mkdir(strange, 0700), 0); /* by its name not the emulator's */
    assert_int_equal(mkdir(other, 0700), 0);
    assert_int_equal(chmod(other, 0755), 0); /* nor this by its mode */
    assert_int_equal(mkdir(others, 0700), 0);
    bool theirs = geteuid() == 0 && chown(others, 1, 1) == 0;
    pid_t dead = start_child(), alive = start_child();
    assert_int_equal(folders(NULL, 0), 5);
    kill_child(dead);
    assert_int_equal(folders(NULL, 0), 5);
    kiln_ctx *ctx = open_emulator();
    good(compiles(ctx, 1)); /* removes the dead one's, and "theirs" if that was ours; makes one */
    assert_int_equal(folders(NULL, 0), theirs ? 5 : 4);
    kiln_ctx_destroy(ctx);
    kill_child(alive);
    assert_int_equal(rmdir(strange), 0);
    assert_int_equal(rmdir(other), 0);
    assert_int_equal(rmdir(others), theirs ? 0 : -1);
}

/* As the handler of a signal does; only what is the process's own. */
static void test_removed_at_the_end(void **state)
{
    (void)state;
    int status;
    kiln_ctx *ctx = open_emulator();
    good(compiles(ctx, 1));
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        kiln_remove_temporary_files();
        _exit(folders(NULL, 0) == 1 ? 0 : 1); /* the parent's */
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    kiln_remove_temporary_files();
    assert_int_equal(folders(NULL, 0), 0);
    kiln_ctx_destroy(ctx);
    kiln_remove_temporary_files();
}

static void test_relative_names_are_ignored(void **state)
{
    (void)state;
    kiln_ctx *ctx = open_emulator();
    setenv("TMPDIR", "-fplugin=x", 1);
    good(compiles(ctx, 1));
    assert_int_equal(access("-fplugin=x", F_OK), -1);
    kiln_ctx_destroy(ctx);
}

static void test_no_place(void **state)
{
    (void)state;
    kiln_ctx *ctx = open_emulator();
    setenv("TMPDIR", "/nowhere/at/all", 1);
    assert_int_equal(compiles(ctx, 1), KILN_ERR_IO);
    assert_non_null(strstr(kiln_last_error(), "/nowhere/at/all"));
    kiln_ctx_destroy(ctx);
}

static void test_limited_files(void **state)
{
    (void)state;
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        kiln_ctx *ctx = open_emulator();
        const struct rlimit limit = {1000, 1000};
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
            _exit(1);
        kiln_status got = compiles(ctx, 1);
        kiln_ctx_destroy(ctx);
        _exit(got == KILN_ERR_IO && strstr(kiln_last_error(), strerror(EFBIG)) ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(folders(NULL, 0), 0);
}

#define test(name) cmocka_unit_test_setup_teardown(name, make_temporary, remove_temporary)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(test_goes_with_the_context),
        test(test_removed_by_others),
        test(test_swept),
        test(test_removed_at_the_end),
        test(test_relative_names_are_ignored),
        test(test_no_place),
        test(test_limited_files),
    };
    return cmocka_run_group_tests_name("folder", tests, NULL, NULL);
}
