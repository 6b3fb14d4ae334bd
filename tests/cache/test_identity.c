/* What is remembered of NVRTC: a second process need not open it to know which it is; and it knows of every
 * change. The library is tests/cache/nvrtc.c, built here with one build number or another. */
#include "runtime/cuda/identity.h"
#include "tests/cache/process.h"

/* What one process learnt. NVRTC is opened once a process, so each is a child. */
typedef struct learnt {
    kn_status status;
    uint64_t calls;
    bool mapped; /* the library is in the process's memory */
    bool hold;   /* after compiling something: the facts are of what compiled it */
    kn_nvrtc_facts facts;
} learnt;

typedef struct place {
    const char *dir;   /* of the library */
    const char *cache; /* NULL: no disk cache at all */
    /* Of a library that takes the place of the other after learning; NULL: none. */
    const char *build;
    char library[300];
} place;

static bool build_library(const char *path, const char *build)
{
    char command[1200];
    snprintf(command, sizeof command,
             "cc -shared -fPIC -DBUILD=%s -o '%s.new' tests/cache/nvrtc.c && mv '%s.new' '%s'",
             build, path, path, path);
    return system(command) == 0;
}

static void learn(const place *p, learnt *l)
{
    kn_disk *disk = NULL;
    kn_binary binary;
    setenv("KILN_NVRTC", p->library, 1);
    if (p->cache && kn_disk_open(p->cache, 0, NULL, &disk) != KN_OK)
        _exit(1);
    l->status = kn_nvrtc_learn(disk, &l->facts);
    l->calls = kn_nvrtc_calls();
    l->mapped = is_mapped(p->dir);
    if (p->build && !build_library(p->library, p->build))
        _exit(1);
    if (l->status == KN_OK && kn_nvrtc_cubin("k", "", 90, NULL, &binary) == KN_OK) {
        l->hold = kn_nvrtc_facts_hold(&l->facts);
        kn_binary_finish(&binary, &kn_malloc_allocator);
    }
    kn_disk_close(disk);
}

static const learnt *process(const place *p)
{
    static learnt *l;
    if (!l)
        l = shared_memory(sizeof *l);
    memset(l, 0, sizeof *l);
    pid_t pid = begin_process();
    if (pid == 0) {
        learn(p, l);
        _exit(0);
    }
    end_process(pid);
    return l;
}

static place set_up(const char *dir, const char *cache)
{
    place p = {.dir = dir, .cache = cache};
    snprintf(p.library, sizeof p.library, "%s/libnvrtc.so.12", dir);
    if (!build_library(p.library, "111")) {
        print_message("skipped: no C compiler\n");
        skip();
    }
    return p;
}

static void expect(const learnt *l, bool asked, const char *build)
{
    assert_int_equal(l->status, KN_OK);
    assert_int_equal(l->calls > 0, asked);
    assert_int_equal(l->mapped, asked);
    assert_string_equal(l->facts.build, build);
    assert_int_equal(l->facts.major, 12);
    assert_int_equal(l->facts.minor, 3);
    assert_int_equal(l->facts.narchs, 3);
    assert_true(kn_nvrtc_facts_support(&l->facts, 120));
    assert_false(kn_nvrtc_facts_support(&l->facts, 100));
}

static void test_remembered(void **state)
{
    place p = set_up(*state, *state);
    expect(process(&p), true, "NVRTC 12.3 CL-111");
    for (int i = 0; i < 2; i++) {
        expect(process(&p), false, "NVRTC 12.3 CL-111");
        assert_true(process(&p)->hold);
    }
}

static void test_new_build(void **state)
{
    place p = set_up(*state, *state);
    process(&p);
    assert_true(build_library(p.library, "222"));
    expect(process(&p), true, "NVRTC 12.3 CL-222");
    expect(process(&p), false, "NVRTC 12.3 CL-222");
    /* The library is replaced after its facts were recalled: what it then compiles is another's work. */
    p.build = "333";
    const learnt *l = process(&p);
    expect(l, false, "NVRTC 12.3 CL-222");
    assert_false(l->hold);
    p.build = NULL;
    expect(process(&p), true, "NVRTC 12.3 CL-333");
}

/* Another place, another way of looking, none at all. */
static void test_other_search(void **state)
{
    place p = set_up(*state, *state);
    char first[300];
    process(&p);
    snprintf(first, sizeof first, "%s", p.library);
    snprintf(p.library, sizeof p.library, "%s/another.so", (char *)*state);
    assert_true(build_library(p.library, "444"));
    expect(process(&p), true, "NVRTC 12.3 CL-444");
    setenv("LD_LIBRARY_PATH", "/nowhere", 1);
    expect(process(&p), true, "NVRTC 12.3 CL-444");
    unsetenv("LD_LIBRARY_PATH");
    expect(process(&p), false, "NVRTC 12.3 CL-444");
    assert_int_equal(unlink(p.library), 0);
    assert_int_equal(process(&p)->status, KN_DEVICE);
    /* a link that leads elsewhere now */
    assert_int_equal(symlink(first, p.library), 0);
    expect(process(&p), true, "NVRTC 12.3 CL-111");
}

static void test_without_cache(void **state)
{
    place p = set_up(*state, NULL);
    expect(process(&p), true, ""); /* the build would only be for keys */
    p.cache = "";
    expect(process(&p), true, "");
}

static void test_damaged_memory(void **state)
{
    place p = set_up(*state, *state);
    process(&p);
    assert_int_equal(run_command("for f in '%s'/*.kiln1; do printf x >>\"$f\"; done", *state), 0);
    expect(process(&p), true, "NVRTC 12.3 CL-111");
    expect(process(&p), false, "NVRTC 12.3 CL-111");
}

/* Facts that make no sense, with a right sum. */
static void test_senseless_memory(void **state)
{
    static const char *const values[] = {"", "\n\n\n\n", "/x\ny\n\n12 3\n80", "/x\ny\nb\nz\n"};
    place p = set_up(*state, *state);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char bytes[3000];
        process(&p);
        kn_entry e = largest_entry(*state, bytes, sizeof bytes);
        kn_disk *d = open_disk(*state, 0);
        kn_disk_store(d, e.key, (kn_bytes_view){values[i], strlen(values[i])}, 0);
        kn_disk_close(d);
        expect(process(&p), true, "NVRTC 12.3 CL-111");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(test_remembered),    test(test_new_build),      test(test_other_search),
        test(test_without_cache), test(test_damaged_memory), test(test_senseless_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
