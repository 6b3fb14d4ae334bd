/* The disk cache under the emulator: a second process runs what the first one compiled, without running a
 * compiler; and whatever was done to the files in between, it gives the same results. */
#include <fcntl.h>
#include <glob.h>

#include "runtime/device/binary.h"
#include "tests/cache/process.h"
#include "tests/device.h"

/* ---- a process ---- */

enum { N = 300 };

/* What a process is to do, and what it says of it; in memory that both have. */
typedef struct process {
    const char *dir, *options;
    bool raw;   /* the kernel below instead of softmax */
    int rounds; /* other programs too: so many */
    kiln_status status;
    char message[2000];
    kiln_stats stats;
    kiln_cache_info info;
    float out[N];
} process;

static void report(process *p, kiln_status status)
{
    p->status = status;
    if (status != KILN_OK)
        snprintf(p->message, sizeof p->message, "%s", kiln_last_error());
}

static kiln_status run_program(kiln_ctx *ctx, process *p, void *x, void *y, int round)
{
    kiln_graph *g = NULL;
    kiln_prog *prog = NULL;
    int64_t shape[] = {3, N / 3};
    const kiln_arg args[] = {{"x", x, KILN_F32, 2, shape, NULL},
                             {"y", y, KILN_F32, 2, shape, NULL}};
    kiln_status status = kiln_graph_create(ctx, &g);
    if (status != KILN_OK)
        return status;
    kiln_val v = kiln_input(g, "x", KILN_F32, "R, C");
    for (int i = 0; i < round; i++)
        v = kiln_mul(g, v, 0.5);
    kiln_val e = kiln_exp(g, kiln_sub(g, v, kiln_max(g, v, KILN_AXES(1), KILN_KEEPDIMS)));
    kiln_output(g, "y", kiln_div(g, e, kiln_sum(g, e, KILN_AXES(1), KILN_KEEPDIMS)));
    status = kiln_compile(g, NULL, &prog);
    if (status == KILN_OK)
        status = kiln_run(prog, NULL, args, 2);
    if (status == KILN_OK)
        status = kiln_download(ctx, p->out, y, sizeof p->out);
    kiln_prog_destroy(prog);
    kiln_graph_destroy(g);
    return status;
}

/* Static and dynamic shared memory, a template, a header of the emulator's own; and `at` too large is found. */
static const char raw_source[] = "#include <cooperative_groups.h>\n"
                                 "template <int SIZE>\n"
                                 "__global__ void turn(const float *x, float *y, int n, int at)\n"
                                 "{\n"
                                 "    __shared__ float all[SIZE];\n"
                                 "    extern __shared__ float more[];\n"
                                 "    const int i = threadIdx.x;\n"
                                 "    all[i] = x[i];\n"
                                 "    more[i] = 1;\n"
                                 "    cooperative_groups::this_thread_block().sync();\n"
                                 "    y[i + at] = all[n - 1 - i] + more[n - 1 - i];\n"
                                 "}\n";

static kiln_status run_raw(kiln_ctx *ctx, process *p, void *x, void *y, int at)
{
    kiln_kernel *kernel = NULL;
    int n = N;
    void *params[] = {&x, &y, &n, &at};
    kiln_launch launch;
    kiln_launch_init(&launch);
    launch.block[0] = N;
    launch.shared = N * sizeof(float);
    kiln_status status = kiln_kernel_create(ctx, raw_source, "turn<320>", &kernel);
    if (status == KILN_OK)
        status = kiln_kernel_run(kernel, NULL, &launch, params, 4);
    if (status == KILN_OK)
        status = kiln_download(ctx, p->out, y, sizeof p->out);
    kiln_kernel_destroy(kernel);
    return status;
}

static kiln_status run_on(kiln_ctx *ctx, process *p)
{
    void *x = NULL, *y = NULL;
    kiln_status status = make_vectors(ctx, N, &x, &y);
    for (int i = p->rounds; i >= 0 && status == KILN_OK; i--)
        status = p->raw ? run_raw(ctx, p, x, y, i) : run_program(ctx, p, x, y, i);
    kiln_free(ctx, x);
    kiln_free(ctx, y);
    return status;
}

static void live(process *p)
{
    kiln_config config;
    kiln_ctx *ctx;
    kiln_config_init(&config);
    config.device = "emu";
    config.threads = 1;
    config.emulator = p->options;
    config.cache_dir = p->dir;
    report(p, kiln_ctx_create(&config, &ctx));
    if (p->status != KILN_OK)
        return;
    report(p, run_on(ctx, p));
    kiln_stats_init(&p->stats);
    kiln_cache_info_init(&p->info);
    kiln_ctx_stats(ctx, &p->stats);
    kiln_cache_stats(ctx, &p->info);
    kiln_ctx_destroy(ctx);
}

static pid_t start(process *p)
{
    pid_t pid = begin_process();
    if (pid == 0) {
        live(p);
        _exit(0);
    }
    return pid;
}

/* Runs the program, or the raw kernel, in a process of its own. The result is overwritten by the next call's. */
static const process *run(const char *dir, bool raw, const char *options)
{
    static process *p;
    if (!p)
        p = shared_memory(sizeof *p);
    *p = (process){.dir = dir, .options = options, .raw = raw};
    end_process(start(p));
    if (p->status == KILN_ERR_DEVICE)
        skip();
    if (p->status != KILN_OK)
        fail_msg("%s", p->message);
    return p;
}

static const process *cold(const char *dir, bool raw)
{
    const process *p = run(dir, raw, NULL);
    assert_int_equal(p->stats.compiles, 1);
    assert_int_equal(p->stats.disk_hits, 0);
    assert_true(p->stats.compiler_calls > 0);
    return p;
}

/* The kernels' own file: the largest. */
static const char *kernel_file(const char *dir)
{
    static char path[300];
    char pattern[300];
    glob_t found;
    off_t most = 0;
    snprintf(pattern, sizeof pattern, "%s/*.kiln1", dir);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct stat st;
        assert_int_equal(stat(found.gl_pathv[i], &st), 0);
        if (st.st_size > most) {
            most = st.st_size;
            snprintf(path, sizeof path, "%s", found.gl_pathv[i]);
        }
    }
    globfree(&found);
    return path;
}

/* ---- warm ---- */

static void test_second_process(void **state)
{
    for (int raw = 0; raw < 2; raw++) {
        float first[N];
        const process *p = cold(*state, raw);
        memcpy(first, p->out, sizeof first);
        assert_int_equal(p->info.write_failures, 0);
        double took = p->stats.compile_ms;
        for (int i = 0; i < 2; i++) {
            p = run(*state, raw, NULL);
            assert_int_equal(p->stats.compiler_calls, 0);
            assert_int_equal(p->stats.compiles, 0);
            assert_int_equal(p->stats.disk_hits, 1);
            assert_true(p->stats.compile_ms == 0);
            assert_true(p->stats.saved_ms == took);
            assert_int_equal(p->info.misses, 0);
            assert_int_equal(p->info.writes, 0);
            assert_memory_equal(p->out, first, sizeof first);
        }
    }
}

/* The compiler is a script that says when it is run. */
static void test_compiler_is_not_run(void **state)
{
    static const char script[] = "#!/bin/sh\necho run >>\"$KILN_TEST_LOG\"\nexec g++ \"$@\"\n";
    char path[300], log[300];
    struct stat st;
    snprintf(path, sizeof path, "%s/compiler", (char *)*state);
    snprintf(log, sizeof log, "%s/log", (char *)*state);
    write_file(path, script, sizeof script - 1);
    assert_int_equal(chmod(path, 0755), 0);
    setenv("KILN_CXX", path, 1);
    setenv("KILN_TEST_LOG", log, 1);
    cold(*state, false);
    assert_int_equal(stat(log, &st), 0);
    assert_int_equal(unlink(log), 0);
    assert_int_equal(run(*state, false, NULL)->stats.compiles, 0);
    assert_int_not_equal(stat(log, &st), 0);
    /* another compiler of that name: what the old one made is not used */
    write_file(path, script, sizeof script - 1);
    assert_int_equal(truncate(path, sizeof script - 1), 0);
    FILE *f = fopen(path, "a");
    assert_non_null(f);
    fputs("# newer\n", f);
    fclose(f);
    assert_int_equal(run(*state, false, NULL)->stats.compiles, 1);
    assert_int_equal(stat(log, &st), 0);
    unsetenv("KILN_CXX");
    unsetenv("KILN_TEST_LOG");
}

static void test_other_options(void **state)
{
    cold(*state, false);
    assert_int_equal(run(*state, false, "reversed")->stats.compiles,
                     0);                                /* another order, same code */
    const process *p = run(*state, false, "unchecked"); /* other code */
    assert_int_equal(p->stats.compiles, 1);
    assert_int_equal(run(*state, false, "unchecked")->stats.compiles, 0);
    assert_int_equal(run(*state, false, NULL)->stats.compiles, 0);
}

static void test_off(void **state)
{
    cold("", false);
    setenv("KILN_CACHE", "off", 1);
    for (int i = 0; i < 2; i++) {
        const process *p = cold(*state, false);
        assert_string_equal(p->info.dir, "");
        assert_string_not_equal(p->info.problem, "");
        assert_int_equal(p->info.files + p->info.hits + p->info.misses, 0);
    }
    unsetenv("KILN_CACHE");
    cold(*state, false); /* nothing was kept */
}

/* Messages name the line of the user's text, also when another process compiled it. */
static void test_lines_of_messages(void **state)
{
    process *p = shared_memory(2 * sizeof *p);
    for (int i = 0; i < 2; i++) {
        p[i] = (process){.dir = *state, .raw = true, .rounds = 1};
        end_process(start(&p[i]));
    }
    assert_int_equal(p[0].status, KILN_ERR_RUN);
    assert_non_null(strstr(p[0].message, "line 11"));
    assert_non_null(strstr(p[0].message, "y[i + at] = all"));
    assert_string_equal(p[0].message, p[1].message);
    assert_int_equal(p[1].stats.compiler_calls, 0);
    munmap(p, 2 * sizeof *p);
}

/* ---- what was done to the files ---- */

static void test_damaged(void **state)
{
    float first[N];
    size_t size;
    memcpy(first, cold(*state, true)->out, sizeof first);
    char path[300];
    snprintf(path, sizeof path, "%s", kernel_file(*state));
    char *bytes = read_file(path, &size);
    for (int i = 0; i < 6; i++) {
        size_t at = (size - 1) * (size_t)i / 5;
        bytes[at] ^= 4;
        write_file(path, bytes, i == 3 ? size / 2 : size);
        bytes[at] ^= 4;
        const process *p = cold(*state, true);
        assert_int_equal(p->info.refused_damaged, 1);
        assert_memory_equal(p->out, first, sizeof first);
        assert_int_equal(run(*state, true, NULL)->stats.compiler_calls, 0); /* and is whole again */
    }
    free(bytes);
}

/* Sum and key are right, and what they belong to is no shared object, or one of somebody else's. */
static void test_wrong_value(void **state)
{
    static const char *const values[] = {"", "no symbol ends", "x\0no shared object", "\0\177ELF"};
    static const size_t sizes[] = {0, 14, 18, 5};
    static char bytes[1 << 20];
    float first[N];
    memcpy(first, cold(*state, true)->out, sizeof first);
    kn_entry entry = largest_entry(*state, bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        kn_disk *d = open_disk(*state, 0);
        kn_disk_store(d, entry.key, (kn_bytes_view){values[i], sizes[i]}, 0);
        kn_disk_close(d);
        const process *p = cold(*state, true);
        assert_int_equal(p->info.refused_damaged, 1);
        assert_memory_equal(p->out, first, sizeof first);
        assert_int_equal(run(*state, true, NULL)->stats.compiler_calls, 0);
    }
}

/* A module that is fine, of another kernel, under this kernel's name: its code must not run. */
static void test_exchanged(void **state)
{
    float softmax[N], raw[N];
    char path[300], away[300];
    memcpy(softmax, cold(*state, false)->out, sizeof softmax);
    snprintf(path, sizeof path, "%s", kernel_file(*state));
    snprintf(away, sizeof away, "%s/away", (char *)*state);
    assert_int_equal(rename(path, away), 0);
    memcpy(raw, run(*state, true, NULL)->out, sizeof raw);
    assert_int_equal(rename(kernel_file(*state), path), 0);
    const process *p = cold(*state, false);
    assert_int_equal(p->info.refused_foreign, 1);
    assert_memory_equal(p->out, softmax, sizeof softmax);
    p = cold(*state, true);
    assert_memory_equal(p->out, raw, sizeof raw);
}

static void test_writable_by_others(void **state)
{
    cold(*state, false);
    assert_int_equal(chmod(kernel_file(*state), 0666), 0);
    const process *p = cold(*state, false);
    assert_int_equal(p->info.refused_unsafe, 1);
    assert_int_equal(run(*state, false, NULL)->stats.compiles, 0);
    assert_int_equal(chmod(*state, 0777), 0);
    p = cold(*state, false);
    assert_true(p->info.refused_unsafe > 0);
    assert_true(p->info.write_failures > 0);
    assert_string_not_equal(p->info.problem, "");
    assert_int_equal(chmod(*state, 0700), 0);
    assert_int_equal(run(*state, false, NULL)->stats.compiles, 0);
}

/* ---- several at once ---- */

static void test_processes_at_once(void **state)
{
    enum { PROCESSES = 4, ROUNDS = 2 };
    process *p = shared_memory(PROCESSES * sizeof *p);
    pid_t pids[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        p[i] = (process){.dir = *state, .rounds = ROUNDS};
        pids[i] = start(&p[i]);
    }
    for (int i = 0; i < PROCESSES; i++) {
        end_process(pids[i]);
        assert_int_equal(p[i].status, KILN_OK);
        assert_int_equal(p[i].stats.compiles + p[i].stats.disk_hits, ROUNDS + 1);
        assert_memory_equal(p[i].out, p[0].out, sizeof p->out);
        assert_int_equal(p[i].info.refused_damaged + p[i].info.refused_unsafe, 0);
    }
    p[0] = (process){.dir = *state, .rounds = ROUNDS};
    end_process(start(&p[0]));
    assert_int_equal(p[0].stats.compiler_calls, 0);
    assert_memory_equal(p[0].out, p[1].out, sizeof p->out);
    munmap(p, PROCESSES * sizeof *p);
}

/* ---- texts that are not kept ---- */

static bool own_header(const char *name, size_t n) { return n == 5 && !memcmp(name, "own.h", n); }

static void test_whole_texts(void **state)
{
    (void)state;
    static const char *const whole[] = {
        "",
        "int x;",
        "#define A 1\n  #  ifdef A\n#endif\n",
        "#pragma unroll\n#line 3 \"x\"\n",
        "#define P(a, b) a##b\n",
        "#include \"own.h\"\n# include  <own.h>\n",
    };
    static const char *const not [] = {
        "#include <cuda_fp16.h>\n",
        "#include \"mine.h\"\n",
        "#include <own.h\n",
        "# /**/ include <x>",
        "#\\\ninclude <x>",
        "%:include <x>",
        "#include NAME\n",
        "#include_next <own.h>\n",
        "int a; // #embed \"x\"",
        "#define S(x) #x\n",
        "const char *d = __DATE__;",
        "__TIME__",
        "__has_include(<x>)",
        "asm(\".incbin \\\"x\\\"\")",
        "#",
        "import <x>;",
        "#include <own.h\">",
    };
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (!kn_text_is_whole(whole[i], own_header))
            fail_msg("not whole: %s", whole[i]);
    for (size_t i = 0; i < sizeof not / sizeof *not ; i++)
        if (kn_text_is_whole(not [i], own_header))
            fail_msg("whole: %s", not [i]);
    assert_false(kn_text_is_whole("#include <own.h>\n", NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(test_second_process),     test(test_compiler_is_not_run),
        test(test_other_options),      test(test_off),
        test(test_lines_of_messages),  test(test_damaged),
        test(test_wrong_value),        test(test_exchanged),
        test(test_writable_by_others), test(test_processes_at_once),
        test(test_whole_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
