/* Kernels on disk and a GPU: the second process opens no NVRTC and has the same bits; a binary that the driver
 * does not take is compiled anew. Skipped where there is no GPU. */
#include "tests/cache/process.h"
#include "tests/device.h"

enum { ROWS = 64, COLUMNS = 1000, N = ROWS * COLUMNS };

typedef struct process {
    kiln_status status;
    char message[1000];
    bool has_nvrtc; /* in its memory */
    kiln_stats stats;
    kiln_cache_info info;
    float out[N];
} process;

static kiln_status softmax(kiln_ctx *ctx, process *p)
{
    kiln_graph *g = NULL;
    kiln_prog *prog = NULL;
    void *x = NULL, *y = NULL;
    const int64_t shape[] = {ROWS, COLUMNS};
    kiln_status status = make_vectors(ctx, N, &x, &y);
    if (status == KILN_OK)
        status = kiln_graph_create(ctx, &g);
    if (status == KILN_OK) {
        kiln_val v = kiln_input(g, "x", KILN_F32, "R, C");
        kiln_val e = kiln_exp(g, kiln_sub(g, v, kiln_max(g, v, KILN_AXES(1), KILN_KEEPDIMS)));
        kiln_output(g, "y", kiln_div(g, e, kiln_sum(g, e, KILN_AXES(1), KILN_KEEPDIMS)));
        status = kiln_compile(g, NULL, &prog);
    }
    const kiln_arg args[] = {{"x", x, KILN_F32, 2, shape, NULL},
                             {"y", y, KILN_F32, 2, shape, NULL}};
    if (status == KILN_OK)
        status = kiln_run(prog, NULL, args, 2);
    if (status == KILN_OK)
        status = kiln_download(ctx, p->out, y, sizeof p->out);
    kiln_prog_destroy(prog);
    kiln_graph_destroy(g);
    kiln_free(ctx, x);
    kiln_free(ctx, y);
    return status;
}

static void live(const char *dir, process *p)
{
    kiln_config config;
    kiln_ctx *ctx;
    kiln_config_init(&config);
    config.device = "cuda";
    config.cache_dir = dir;
    p->status = kiln_ctx_create(&config, &ctx);
    if (p->status == KILN_OK)
        p->status = softmax(ctx, p);
    if (p->status != KILN_OK) {
        snprintf(p->message, sizeof p->message, "%s", kiln_last_error());
        return;
    }
    kiln_stats_init(&p->stats);
    kiln_cache_info_init(&p->info);
    kiln_ctx_stats(ctx, &p->stats);
    kiln_cache_stats(ctx, &p->info);
    p->has_nvrtc = is_mapped("libnvrtc");
    kiln_ctx_destroy(ctx);
}

static bool skipped;

/* The driver does not survive a fork: each is a child of a process that has not begun with it. */
static const process *run(const char *dir)
{
    static process *p;
    if (!p)
        p = shared_memory(sizeof *p);
    memset(p, 0, sizeof *p);
    pid_t pid = begin_process();
    if (pid == 0) {
        live(dir, p);
        _exit(0);
    }
    end_process(pid);
    if (p->status == KILN_ERR_DEVICE) {
        print_message("%s\n", p->message);
        skipped = true;
        skip();
    }
    if (p->status != KILN_OK)
        fail_msg("%s", p->message);
    return p;
}

static const process *cold(const char *dir)
{
    const process *p = run(dir);
    assert_int_equal(p->stats.compiles, 1);
    assert_int_equal(p->stats.disk_hits, 0);
    assert_true(p->stats.compiler_calls > 0);
    return p;
}

static const process *warm(const char *dir)
{
    const process *p = run(dir);
    assert_int_equal(p->stats.compiles, 0);
    assert_int_equal(p->stats.disk_hits, 1);
    assert_int_equal(p->stats.compiler_calls, 0);
    assert_false(p->has_nvrtc);
    assert_int_equal(p->info.misses, 0);
    return p;
}

static void test_second_process(void **state)
{
    static float first[N];
    memcpy(first, cold(*state)->out, sizeof first);
    for (int i = 0; i < 2; i++)
        assert_memory_equal(warm(*state)->out, first, sizeof first);
    setenv("KILN_CACHE", "off", 1);
    cold(*state);
    unsetenv("KILN_CACHE");
}

/* The kernel's entry gets values that the driver refuses, with a right sum. */
static void test_refused_by_driver(void **state)
{
    static const char *const values[] = {"", "no symbol ends", "kernel\0no cubin"};
    static const size_t sizes[] = {0, 14, 15};
    static float first[N];
    static char bytes[1 << 20];
    memcpy(first, cold(*state)->out, sizeof first);
    kn_entry entry = largest_entry(*state, bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        kn_disk *d = open_disk(*state, 0);
        kn_disk_store(d, entry.key, (kn_bytes_view){values[i], sizes[i]}, 0);
        kn_disk_close(d);
        const process *p = cold(*state);
        assert_int_equal(p->info.refused_damaged, 1);
        assert_memory_equal(p->out, first, sizeof first);
        assert_memory_equal(warm(*state)->out, first, sizeof first);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {test(test_second_process), test(test_refused_by_driver)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed ? failed : skipped ? 77 : 0;
}
