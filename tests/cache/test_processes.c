/* The disk cache with several processes in it, with processes that are killed in it, and on file systems that
 * are full or read-only. Values are small here: what is to be seen is the directory. */
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <time.h>

#include "tests/cache/process.h"

enum { SKIPPED = 77 };

/* Runs fn in a child and gives its exit status; a child that was killed fails the test. */
static int in_child(int (*fn)(const char *dir), const char *dir)
{
    int status;
    pid_t pid = begin_process();
    if (pid == 0)
        _exit(fn(dir));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status))
        fail_msg("killed by signal %d", WTERMSIG(status));
    return WEXITSTATUS(status);
}

/* In a child: says where, and ends it. */
#define must(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno);      \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static kn_disk *child_open(const char *dir)
{
    kn_disk *d = NULL;
    must(kn_disk_open(dir, 0, NULL, &d) == KN_OK);
    return d;
}

static int count_files(const char *dir, const char *part)
{
    int n = 0;
    DIR *stream = opendir(dir);
    assert_non_null(stream);
    for (struct dirent *e; (e = readdir(stream)) != NULL;)
        n += strstr(e->d_name, part) != NULL;
    closedir(stream);
    return n;
}

/* ---- many at once ---- */

enum { PROCESSES = 16, KERNELS = 200 };

/* What the processes tell; each has its own. */
typedef struct report {
    kn_disk_counts counts;
    unsigned wrong;
} report;

/* Each in an order of its own: 10 p + 1 has no divisor in common with 200. */
static void use_all(const char *dir, unsigned process, report *t)
{
    kn_disk *d = child_open(dir);
    for (unsigned i = 0; i < KERNELS; i++) {
        unsigned kernel = (i * (10 * process + 1) + process * 37) % KERNELS;
        int found = find_sample(d, kernel);
        if (!found)
            store_sample(d, kernel);
        t->wrong += found < 0;
    }
    for (unsigned i = 0; i < KERNELS; i++)
        t->wrong += find_sample(d, i) != 1;
    kn_disk_count(d, &t->counts);
    kn_disk_close(d);
}

static void test_many_processes(void **state)
{
    report *all = shared_memory(PROCESSES * sizeof *all);
    pid_t pids[PROCESSES];
    for (unsigned p = 0; p < PROCESSES; p++) {
        pids[p] = begin_process();
        if (pids[p] == 0) {
            use_all(*state, p, &all[p]);
            _exit(0);
        }
    }
    uint64_t writes = 0;
    for (unsigned p = 0; p < PROCESSES; p++) {
        end_process(pids[p]);
        const kn_disk_counts *c = &all[p].counts;
        assert_int_equal(all[p].wrong, 0);
        assert_int_equal(c->hits + c->misses, 2 * KERNELS);
        assert_int_equal(c->misses, c->writes);
        assert_int_equal(c->write_failures + c->evictions + c->unsafe + c->damaged + c->foreign, 0);
        writes += c->writes;
    }
    assert_true(writes >= KERNELS && writes <= PROCESSES * KERNELS);
    munmap(all, PROCESSES * sizeof *all);
    assert_int_equal(count_files(*state, ".kiln1"), KERNELS);
    kn_disk *d = open_disk(*state, 0);
    for (unsigned i = 0; i < KERNELS; i++)
        assert_int_equal(find_sample(d, i), 1);
    kn_disk_close(d);
}

/* All of them with a limit that holds a few files, so that each removes what others are reading. */
static int use_little(const char *dir)
{
    kn_disk *d = NULL;
    must(kn_disk_open(dir, 8 << 10, NULL, &d) == KN_OK);
    for (unsigned i = 0; i < 20 * KERNELS; i++) {
        unsigned kernel = (unsigned)(i * 7919u + (unsigned)getpid()) % KERNELS;
        int found = find_sample(d, kernel);
        must(found >= 0);
        if (!found)
            store_sample(d, kernel);
    }
    kn_disk_counts c = counts_of(d);
    must(c.write_failures + c.unsafe + c.damaged + c.foreign == 0);
    must(c.evictions > 0);
    kn_disk_close(d);
    return 0;
}

static void test_many_evict(void **state)
{
    enum { N = 4 };
    pid_t pids[N];
    for (int i = 0; i < N; i++) {
        pids[i] = begin_process();
        if (pids[i] == 0)
            _exit(use_little(*state));
    }
    for (int i = 0; i < N; i++)
        end_process(pids[i]);
}

/* ---- killed ---- */

enum { LARGE = 1 << 20, LARGE_KEYS = 4 };

static void large_value(unsigned seed, char *value)
{
    memset(value, (int)('a' + seed), LARGE);
    snprintf(value, 32, "value %u", seed);
}

static void write_forever(const char *dir)
{
    static char value[LARGE];
    kn_disk *d = child_open(dir);
    for (unsigned i = 0;; i = (i + 1) % LARGE_KEYS) {
        char key[32];
        int n = snprintf(key, sizeof key, "large %u", i);
        large_value(i, value);
        kn_disk_store(d, (kn_bytes_view){key, (size_t)n}, (kn_bytes_view){value, LARGE}, i);
    }
}

static void check_large(const char *dir)
{
    static char value[LARGE];
    kn_disk *d = open_disk(dir, 0);
    for (unsigned i = 0; i < LARGE_KEYS; i++) {
        char key[32];
        kn_disk_value v;
        int n = snprintf(key, sizeof key, "large %u", i);
        if (!kn_disk_find(d, (kn_bytes_view){key, (size_t)n}, &v))
            continue;
        large_value(i, value);
        assert_int_equal(v.bytes.size, LARGE);
        assert_memory_equal(v.bytes.data, value, LARGE);
        kn_disk_release(d, &v);
    }
    assert_int_equal(counts_of(d).damaged, 0);
    kn_disk_close(d);
}

static void test_killed(void **state)
{
    enum { AT_LEAST = 30, AT_MOST = 2000, TEMPORARIES = 3 };
    for (int i = 0; i < AT_MOST; i++) {
        pid_t pid = begin_process();
        if (pid == 0)
            write_forever(*state);
        nanosleep(&(struct timespec){.tv_nsec = 1000000 + i % 7 * 700000}, NULL);
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        check_large(*state);
        if (i >= AT_LEAST && count_files(*state, ".kiln1-") >= TEMPORARIES)
            break;
    }
    int halves = count_files(*state, ".kiln1-");
    assert_true(halves >= TEMPORARIES); /* or nobody was killed while writing */
    /* Somebody might still be writing them, until they are old; or from a time that has not come. */
    kn_disk *d = open_disk(*state, 0);
    kn_disk_usage u;
    assert_int_equal(kn_disk_trim(d, UINT64_MAX, &u), KN_OK);
    assert_int_equal(count_files(*state, ".kiln1-"), halves);
    assert_int_equal(run_command("cd '%s' && set -- .kiln1-* && touch -d '1 hour ago' \"$1\" && "
                                 "touch -d '1 year' \"$2\"",
                                 *state),
                     0);
    assert_int_equal(kn_disk_trim(d, UINT64_MAX, &u), KN_OK);
    assert_int_equal(count_files(*state, ".kiln1-"), halves - 2);
    assert_int_equal(kn_disk_trim(d, 0, &u), KN_OK);
    assert_int_equal(count_files(*state, ".kiln1"), 0);
    kn_disk_close(d);
}

/* ---- no room, no right ---- */

/* Stores samples until `failures` are refused; says how many are there. */
static unsigned store_until(kn_disk *d, uint64_t failures)
{
    unsigned n = 0;
    for (; n < 1000 && counts_of(d).write_failures < failures; n++)
        store_sample(d, n);
    must(counts_of(d).write_failures == failures);
    unsigned there = 0;
    for (unsigned i = 0; i < n; i++) {
        int found = find_sample(d, i);
        must(found >= 0);
        there += found > 0;
    }
    must(there == counts_of(d).writes);
    must(counts_of(d).damaged == 0);
    return there;
}

static int limited_file_size(const char *dir)
{
    kn_disk *d = child_open(dir);
    store_sample(d, 2000);
    must(setrlimit(RLIMIT_FSIZE, &(struct rlimit){300, 300}) == 0);
    store_sample(d, 2001); /* a plain write() would end this process with SIGXFSZ */
    must(counts_of(d).writes == 1 && counts_of(d).write_failures == 1);
    must(find_sample(d, 2000) == 1 && find_sample(d, 2001) == 0);
    return 0;
}

static void test_limited_file_size(void **state)
{
    assert_int_equal(in_child(limited_file_size, *state), 0);
    assert_int_equal(count_files(*state, ".kiln1-"), 0);
}

/* A small file system of the child's own. */
static bool mount_small(const char *dir)
{
    if (geteuid() != 0 ? unshare(CLONE_NEWUSER | CLONE_NEWNS) : unshare(CLONE_NEWNS))
        return false;
    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
    return mount("none", dir, "tmpfs", 0, "size=64k,mode=0700") == 0;
}

static int full(const char *dir)
{
    if (!mount_small(dir))
        return SKIPPED;
    kn_disk *d = child_open(dir);
    unsigned there = store_until(d, 20);
    must(there > 0);
    DIR *stream = opendir(dir);
    must(stream);
    for (struct dirent *e; (e = readdir(stream)) != NULL;)
        must(!strstr(e->d_name, ".kiln1-")); /* no half file stays */
    closedir(stream);
    kn_disk_usage u;
    must(kn_disk_trim(d, 0, &u) == KN_OK && u.files == there);
    store_sample(d, 1);
    must(find_sample(d, 1) == 1);
    return 0;
}

static void skip_without_mounts(int status)
{
    if (status == SKIPPED) {
        print_message("skipped: mounting is not permitted\n");
        skip();
    }
    assert_int_equal(status, 0);
}

static void test_full(void **state) { skip_without_mounts(in_child(full, *state)); }

static int read_only(const char *dir)
{
    if (!mount_small(dir))
        return SKIPPED;
    kn_disk *d = child_open(dir);
    store_sample(d, 1);
    must(mount(NULL, dir, NULL, MS_REMOUNT | MS_RDONLY, NULL) == 0);
    store_sample(d, 2);
    must(find_sample(d, 1) == 1 && find_sample(d, 2) == 0);
    kn_disk_usage u;
    must(kn_disk_trim(d, 0, &u) == KN_OK && u.files == 0);
    kn_disk_counts c = counts_of(d);
    must(c.write_failures == 1 && c.evictions == 0);
    char why[300];
    kn_disk_problem(d, why, sizeof why);
    must(strstr(why, "written"));
    return 0;
}

static void test_read_only(void **state) { skip_without_mounts(in_child(read_only, *state)); }

/* The same by the directory's mode, and below a directory in which nothing can be made. */
static int no_right(const char *dir)
{
    enum { NOBODY = 65534 };
    char inner[300];
    if (geteuid() == 0)
        must(chown(dir, NOBODY, NOBODY) == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
    kn_disk *d = child_open(dir);
    store_sample(d, 1);
    must(chmod(dir, 0500) == 0);
    store_sample(d, 2);
    must(find_sample(d, 1) == 1 && find_sample(d, 2) == 0);
    must(counts_of(d).write_failures == 1);
    snprintf(inner, sizeof inner, "%s/inner", dir);
    kn_disk *none = child_open(inner);
    store_sample(none, 1);
    must(find_sample(none, 1) == 0 && counts_of(none).write_failures == 1);
    must(chmod(dir, 0) == 0);
    must(find_sample(d, 1) == 0);
    must(counts_of(d).unsafe == 0);
    return 0;
}

static void test_no_right(void **state) { assert_int_equal(in_child(no_right, *state), 0); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(test_many_processes),    test(test_many_evict), test(test_killed),
        test(test_limited_file_size), test(test_full),       test(test_read_only),
        test(test_no_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
