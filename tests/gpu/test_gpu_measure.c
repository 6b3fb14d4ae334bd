/* A GPU is measured for the model: every number is one that a GPU can have, it is measured once and then kept, and
 * neither the caller's streams nor a capture notice. Skipped where there is no GPU. */
#include <unistd.h>

#include "frontend/handles.h"
#include "kernels_cache/disk.h"
#include "runtime/cuda/measure.h"
#include "tests/gpu/gpu.h"

static char dir[32];
static kn_disk *disk;
static kn_cuda gpu; /* the context's, with a disk cache of its own */

static void open_all(void)
{
    open_gpu_streams();
    snprintf(dir, sizeof dir, "/tmp/kiln-measure-XXXXXX");
    assert_non_null(mkdtemp(dir));
    assert_int_equal(kn_disk_open(dir, 0, NULL, &disk), KN_OK);
    gpu = *kn_cuda_of(ctx->core->dev);
    gpu.base.disk = disk;
}

static void close_all(void)
{
    kn_disk_usage usage;
    kn_disk_trim(disk, 0, &usage);
    kn_disk_close(disk);
    rmdir(dir);
    kiln_ctx_destroy(ctx);
}

/* Every number is above 0, and taken back from its text. */
static void check(const kn_probes *p)
{
    kn_arena a;
    kn_probes back;
    kn_arena_init(&a, NULL);
    kn_text t = kn_text_new(&a);
    kn_probes_put(&t, p);
    print_message("in thousandths:\n%s", kn_text_str(&t));
    assert_true(kn_probes_read(kn_text_str(&t), &back));
    kn_arena_finish(&a);
}

static void good_or_fail(kn_status status)
{
    if (status != KN_OK)
        fail_msg("%s", kn_last_error());
}

static void test_kept(void **state)
{
    (void)state;
    kn_probes first, again, other;
    kn_disk_counts counts;
    open_all();
    good_or_fail(kn_cuda_probe_once(&gpu, "one", &first));
    check(&first);
    good_or_fail(kn_cuda_probe_once(&gpu, "one", &again));
    kn_disk_count(disk, &counts);
    assert_int_equal(counts.writes, 1);
    assert_int_equal(counts.hits, 1);
    good_or_fail(kn_cuda_probe_once(&gpu, "other", &other));
    kn_disk_count(disk, &counts);
    assert_int_equal(counts.writes, 2);
    gpu.base.disk = NULL;
    assert_int_equal(kn_cuda_probe_once(&gpu, "one", &again), KN_DEVICE);
    close_all();
}

/* Another stream's capture goes on, and has what was captured. */
static void test_capture(void **state)
{
    (void)state;
    kn_cu_stream stream;
    kn_cu_graph graph = NULL;
    kn_probes p;
    open_all();
    good_or_fail(kn_cuda_enter(&gpu));
    assert_int_equal(streams.cuStreamCreate(&stream, NON_BLOCKING), 0);
    assert_int_equal(streams.cuStreamBeginCapture_v2(stream, CAPTURE_GLOBAL), 0);
    good_or_fail(kn_cuda_probe(&gpu, &p));
    assert_int_equal(streams.cuStreamEndCapture(stream, &graph), 0);
    assert_non_null(graph);
    assert_int_equal(gpu.driver->cuGraphDestroy(graph), 0);
    assert_int_equal(streams.cuStreamDestroy_v2(stream), 0);
    kn_cuda_leave(&gpu);
    close_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kept), cmocka_unit_test(test_capture)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed ? failed : skipped ? 77 : 0;
}
