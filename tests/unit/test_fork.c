/* The child of a fork(): what belongs to the parent is refused and left alone, and a context of its own works. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/on_device.h"
#include "tests/unit/api.h"

enum { N = 100000, SECONDS = 60 };

static const char *device;
static kiln_prog *prog;
static kiln_kernel *kernel;
static float x[N], y[N];

static kiln_prog *program(kiln_ctx *c)
{
    return compile(c, "def f(x: f32[N]):\n    y = x * 2 + 1\n    return y\n");
}

/* Runs `child` in one, which a hang would end by its alarm; true when that says so. */
static bool in_child(bool (*child)(void))
{
    int state;
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(SECONDS);
        _exit(child() ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &state, 0), pid);
    if (WIFSIGNALED(state))
        fail_msg("the child was ended by signal %d", WTERMSIG(state));
    return WEXITSTATUS(state) == 0;
}

static bool refused(kiln_status status)
{
    return status == KILN_ERR_DEVICE && strstr(kiln_last_error(), "fork()");
}

static bool everything_is_refused(void)
{
    kiln_graph *g = NULL;
    kiln_prog *p = NULL;
    kiln_kernel *k = NULL;
    kiln_stats stats;
    kiln_cache_info info;
    kiln_prepared prepared;
    kiln_measurement m;
    kiln_dtype dtype;
    char *text = NULL;
    void *memory = NULL;
    int rank;
    int64_t n = 10, shape[KILN_MAX_RANK];
    kiln_arg in = {"x", x, KILN_F32, 1, &n, NULL};
    kiln_stats_init(&stats);
    kiln_cache_info_init(&info);
    kiln_prepared_init(&prepared);
    kiln_measurement_init(&m);
    return refused(run_vector(prog, NULL, x, y, N)) && refused(run_vector(prog, NULL, x, y, 10)) &&
           refused(kiln_prepare(prog, &in, 1, &prepared)) &&
           refused(kiln_measure(prog, &in, 1, &m)) &&
           refused(kiln_output_shape(prog, "y", &in, 1, &dtype, &rank, shape)) &&
           refused(kiln_explain(prog, NULL, 0, NULL, &text)) &&
           refused(kiln_ctx_stats(ctx, &stats)) && refused(kiln_cache_stats(ctx, &info)) &&
           refused(kiln_cache_clear(ctx, NULL, NULL)) && refused(kiln_alloc(ctx, 16, &memory)) &&
           refused(kiln_upload(ctx, y, x, 4)) && refused(kiln_download(ctx, y, x, 4)) &&
           refused(kiln_sync(ctx, NULL)) && refused(kiln_graph_create(ctx, &g)) &&
           refused(kiln_parse(ctx, "def f(x: f32):\n    return x\n", NULL, &g)) &&
           refused(kiln_kernel_create(ctx, "", "k", &k)) && !g && !p && !k && !memory;
}

static bool destroying_returns(void)
{
    kiln_kernel_destroy(kernel);
    kiln_prog_destroy(prog);
    kiln_ctx_destroy(ctx);
    return true;
}

static bool its_own_works(void)
{
    kiln_config c;
    kiln_ctx *own;
    kiln_config_init(&c);
    c.device = device;
    c.threads = 2;
    if (kiln_ctx_create(&c, &own) != KILN_OK)
        return false;
    kiln_prog *p = program(own);
    x[1] = 20;
    y[1] = 0;
    bool good = run_vector(p, NULL, x, y, 6000) == KILN_OK && y[1] == 41;
    kiln_prog_destroy(p);
    kiln_ctx_destroy(own);
    return good;
}

static void open_here(void)
{
    kiln_config c;
    kiln_config_init(&c);
    c.device = device;
    c.threads = 2;
    good(kiln_ctx_create(&c, &ctx));
    prog = program(ctx);
    good(run_vector(prog, NULL, x, y, 6000));
}

static void close_here(void)
{
    good(run_vector(prog, NULL, x, y, 6000)); /* whatever its children did */
    good(run_vector(prog, NULL, x, y, 777));
    kiln_prog_destroy(prog);
    kiln_ctx_destroy(ctx);
}

static void of_an_idle_parent(const char *on)
{
    device = on;
    open_here();
    assert_true(in_child(everything_is_refused));
    assert_true(in_child(destroying_returns));
    assert_true(in_child(its_own_works));
    close_here();
}

static void test_emu(void **state)
{
    (void)state;
    device = "emu";
    open_here();
    good(kiln_kernel_create(ctx, "extern \"C\" __global__ void k(int *p) { *p = 7; }", "k",
                            &kernel));
    assert_true(in_child(everything_is_refused));
    assert_true(in_child(destroying_returns));
    assert_true(in_child(its_own_works));
    /* The folder is the parent's, which compiles there. */
    kiln_kernel *other;
    good(
        kiln_kernel_create(ctx, "extern \"C\" __global__ void j(int *p) { *p = 8; }", "j", &other));
    kiln_kernel_destroy(other);
    kiln_kernel_destroy(kernel);
    kernel = NULL;
    close_here();
}

/* ---- a busy one: locks are held at the fork ---- */

static atomic_bool stop;

static void *keep_running(void *user)
{
    float *own = user;
    for (int64_t n = 1; !atomic_load(&stop); n = n % 300 + 1) { /* of more shapes than are kept */
        int64_t size = n * 100;
        kiln_arg args[] = {{"x", x, KILN_F32, 1, &size, NULL},
                           {"y", own, KILN_F32, 1, &size, NULL}};
        if (kiln_run(prog, NULL, args, 2) != KILN_OK)
            return NULL;
    }
    return own;
}

/* The sanitizers' malloc() may be locked for good in the child, unlike the C library's. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { CAN_ALLOCATE = 0 };
#else
enum { CAN_ALLOCATE = 1 };
#endif

static bool nothing_hangs(void)
{
    return refused(run_vector(prog, NULL, x, y, N)) && destroying_returns() &&
           (!CAN_ALLOCATE || its_own_works());
}

static void test_busy(void **state)
{
    (void)state;
    enum { THREADS = 2, FORKS = 20 };
    static float out[THREADS][30000];
    pthread_t threads[THREADS];
    void *ended;
    device = "cpu";
    open_here();
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, keep_running, out[i]), 0);
    for (int i = 0; i < FORKS; i++)
        assert_true(in_child(nothing_hangs));
    atomic_store(&stop, true);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], &ended), 0);
        assert_ptr_equal(ended, out[i]);
    }
    close_here();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_DEVICE(of_an_idle_parent, "cpu"),
        ON_DEVICE(of_an_idle_parent, "ref"),
        cmocka_unit_test(test_emu),
        cmocka_unit_test(test_busy),
    };
    return cmocka_run_group_tests_name("fork", tests, NULL, NULL);
}
