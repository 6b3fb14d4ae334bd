/* The disk cache against everything that can be wrong with its directory and its files: always a miss, always
 * counted, never another value than the one that was stored. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <time.h>

#include "kernels_cache/place.h"
#include "kernels_cache/tend.h"
#include "tests/cache/cache.h"

/* The name of the sample's file. */
static const char *file_of(const char *dir, unsigned seed)
{
    static char path[300];
    char name[KN_TEND_NAME];
    sample s;
    make_sample(seed, &s);
    kn_tend_name((kn_bytes_view){s.key, s.key_size}, name);
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static kn_disk_usage usage_of(kn_disk *d)
{
    kn_disk_usage u;
    assert_int_equal(kn_disk_list(d, NULL, NULL, &u), KN_OK);
    return u;
}

static void test_store_and_find(void **state)
{
    kn_disk *d = open_disk(*state, 0);
    assert_int_equal(find_sample(d, 1), 0);
    for (unsigned i = 0; i < 50; i++)
        store_sample(d, i);
    for (unsigned i = 0; i < 50; i++)
        assert_int_equal(find_sample(d, i), 1);
    assert_int_equal(find_sample(d, 50), 0);
    kn_disk_counts c = counts_of(d);
    assert_int_equal(c.hits, 50);
    assert_int_equal(c.misses, 2);
    assert_int_equal(c.writes, 50);
    assert_int_equal(c.write_failures + c.evictions + c.unsafe + c.damaged + c.foreign, 0);
    kn_disk_close(d);
    /* another process's view; values of no bytes are values too */
    d = open_disk(*state, 0);
    assert_int_equal(find_sample(d, 49), 1);
    kn_disk_value v;
    const kn_bytes_view key = {"empty", 5};
    kn_disk_store(d, key, (kn_bytes_view){"", 0}, 0);
    assert_true(kn_disk_find(d, key, &v));
    assert_int_equal(v.bytes.size, 0);
    kn_disk_release(d, &v);
    assert_int_equal(usage_of(d).files, 51);
    kn_disk_close(d);
}

/* ---- files ---- */

static void test_every_byte_flipped(void **state)
{
    kn_disk *d = open_disk(*state, 0);
    size_t n;
    store_sample(d, 7);
    char *bytes = read_file(file_of(*state, 7), &n);
    for (size_t i = 0; i < n; i++) {
        const char was = bytes[i];
        bytes[i] = (char)(was ^ (1 << i % 8));
        write_file(file_of(*state, 7), bytes, n);
        bytes[i] = was;
        assert_int_equal(find_sample(d, 7), 0);
    }
    assert_int_equal(counts_of(d).damaged, n);
    write_file(file_of(*state, 7), bytes, n);
    assert_int_equal(find_sample(d, 7), 1);
    free(bytes);
    kn_disk_close(d);
}

static void test_every_length(void **state)
{
    kn_disk *d = open_disk(*state, 0);
    size_t n;
    store_sample(d, 8);
    char *bytes = read_file(file_of(*state, 8), &n);
    for (size_t i = 0; i <= n + 1; i++) {
        write_file(file_of(*state, 8), bytes, i);
        assert_int_equal(find_sample(d, 8), i == n);
    }
    assert_int_equal(counts_of(d).damaged, n + 1);
    free(bytes);
    /* what is damaged is replaced by the next write */
    store_sample(d, 8);
    assert_int_equal(find_sample(d, 8), 1);
    kn_disk_close(d);
}

/* Whole and undamaged, but of another key: as if the hashes of two keys were equal. */
static void test_another_entry(void **state)
{
    kn_disk *d = open_disk(*state, 0);
    char other[300];
    store_sample(d, 1);
    store_sample(d, 2);
    snprintf(other, sizeof other, "%s", file_of(*state, 2));
    assert_int_equal(rename(other, file_of(*state, 1)), 0);
    assert_int_equal(find_sample(d, 1), 0);
    assert_int_equal(find_sample(d, 2), 0);
    assert_int_equal(counts_of(d).foreign, 1);
    kn_disk_close(d);
}

/* A valid file behind a link, a file that others may write to, and things that are no files at all. */
static void test_unsafe_files(void **state)
{
    kn_disk *d = open_disk(*state, 0);
    char real[300];
    snprintf(real, sizeof real, "%s/real", (char *)*state);
    store_sample(d, 3);
    assert_int_equal(rename(file_of(*state, 3), real), 0);
    assert_int_equal(symlink("real", file_of(*state, 3)), 0);
    assert_int_equal(find_sample(d, 3), 0);
    assert_int_equal(counts_of(d).unsafe, 1);
    store_sample(d, 3); /* replaces the link, not what it leads to */
    assert_int_equal(find_sample(d, 3), 1);

    static const mode_t writable[] = {0620, 0602, 0666};
    for (size_t i = 0; i < sizeof writable / sizeof *writable; i++) {
        assert_int_equal(chmod(file_of(*state, 3), writable[i]), 0);
        assert_int_equal(find_sample(d, 3), 0);
        assert_int_equal(counts_of(d).unsafe, 2 + i);
    }
    assert_int_equal(chmod(file_of(*state, 3), 0644), 0);
    assert_int_equal(find_sample(d, 3), 1);

    assert_int_equal(unlink(file_of(*state, 3)), 0);
    assert_int_equal(mkfifo(file_of(*state, 3), 0600), 0);
    assert_int_equal(find_sample(d, 3), 0); /* and does not wait for a writer */
    assert_int_equal(counts_of(d).unsafe, 5);
    assert_int_equal(unlink(file_of(*state, 3)), 0);
    assert_int_equal(mkdir(file_of(*state, 3), 0700), 0);
    assert_int_equal(find_sample(d, 3), 0);
    uint64_t failures = counts_of(d).write_failures;
    store_sample(d, 3);
    assert_int_equal(counts_of(d).write_failures, failures + 1);
    assert_int_equal(usage_of(d).files, 0);
    kn_disk_close(d);
}

static void test_foreign_owner(void **state)
{
    kn_disk *d = open_disk(*state, 0);
    store_sample(d, 4);
    if (chown(file_of(*state, 4), 12345, 12345) != 0) {
        print_message("skipped: giving files away needs root: %s\n", strerror(errno));
        kn_disk_close(d);
        skip();
    }
    assert_int_equal(find_sample(d, 4), 0);
    assert_int_equal(counts_of(d).unsafe, 1);
    store_sample(d, 4); /* ours again: the directory is */
    assert_int_equal(find_sample(d, 4), 1);
    assert_int_equal(chown(*state, 12345, 12345), 0);
    assert_int_equal(find_sample(d, 4), 0);
    store_sample(d, 5);
    kn_disk_counts c = counts_of(d);
    assert_int_equal(c.unsafe, 3);
    assert_int_equal(c.write_failures, 1);
    char why[300];
    kn_disk_problem(d, why, sizeof why);
    assert_non_null(strstr(why, "this user's"));
    assert_int_equal(chown(*state, getuid(), getgid()), 0);
    assert_int_equal(find_sample(d, 4), 1);
    assert_int_equal(find_sample(d, 5), 0);
    kn_disk_close(d);
}

/* ---- directories ---- */

static void test_unsafe_directories(void **state)
{
    char inner[300], link[300], slash[300];
    snprintf(inner, sizeof inner, "%s/inner", (char *)*state);
    snprintf(link, sizeof link, "%s/link", (char *)*state);
    snprintf(slash, sizeof slash, "%s/link//", (char *)*state);
    kn_disk *d = open_disk(inner, 0);
    store_sample(d, 1);
    assert_int_equal(find_sample(d, 1), 1);
    static const mode_t writable[] = {0770, 0707, 0777, 01777};
    for (size_t i = 0; i < sizeof writable / sizeof *writable; i++) {
        assert_int_equal(chmod(inner, writable[i]), 0);
        assert_int_equal(find_sample(d, 1), 0);
        assert_int_equal(counts_of(d).unsafe, i + 1);
    }
    assert_int_equal(chmod(inner, 0755), 0);
    assert_int_equal(find_sample(d, 1), 1);
    kn_disk_close(d);

    assert_int_equal(symlink("inner", link), 0);
    const char *names[] = {link, slash};
    for (int i = 0; i < 2; i++) {
        d = open_disk(names[i], 0);
        assert_int_equal(find_sample(d, 1), 0);
        store_sample(d, 2);
        assert_int_equal(counts_of(d).unsafe, 2);
        assert_int_equal(counts_of(d).write_failures, 1);
        kn_disk_close(d);
    }
}

static void test_missing_directory(void **state)
{
    char deep[300];
    struct stat st;
    snprintf(deep, sizeof deep, "%s/a/b/c/", (char *)*state);
    mode_t mask = umask(0);
    kn_disk *d = open_disk(deep, 0);
    assert_int_equal(find_sample(d, 1), 0);
    assert_int_not_equal(stat(deep, &st), 0); /* looking makes nothing */
    store_sample(d, 1);
    assert_int_equal(find_sample(d, 1), 1);
    assert_int_equal(stat(deep, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(stat(file_of(deep, 1), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    umask(mask);
    /* removed while it is in use, and made again */
    assert_int_equal(run_command("rm -r '%s/a'", *state), 0);
    assert_int_equal(find_sample(d, 1), 0);
    store_sample(d, 1);
    assert_int_equal(find_sample(d, 1), 1);
    kn_disk_close(d);
}

static void test_file_for_directory(void **state)
{
    char path[300], below[310];
    snprintf(path, sizeof path, "%s/file", (char *)*state);
    snprintf(below, sizeof below, "%s/below", path);
    write_file(path, "x", 1);
    const char *names[] = {path, below};
    for (int i = 0; i < 2; i++) {
        kn_disk *d = open_disk(names[i], 0);
        assert_int_equal(find_sample(d, 1), 0);
        store_sample(d, 1);
        assert_int_equal(counts_of(d).misses, 1);
        assert_int_equal(counts_of(d).write_failures, 1);
        char why[300];
        kn_disk_problem(d, why, sizeof why);
        assert_string_not_equal(why, "");
        kn_disk_usage u = usage_of(d);
        assert_int_equal(u.files, 0);
        assert_int_equal(kn_disk_trim(d, 0, &u), KN_OK);
        kn_disk_close(d);
    }
}

/* What the environment says; each line overrides those below it. */
static void test_choice_of_directory(void **state)
{
    (void)state;
    char path[KN_PLACE_PATH];
    char *was[4];
    static const char *const names[] = {"KILN_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "KILN_CACHE"};
    for (int i = 0; i < 4; i++) {
        const char *value = getenv(names[i]);
        was[i] = value ? strdup(value) : NULL;
        unsetenv(names[i]);
    }
    assert_false(kn_place_choose(NULL, path));
    assert_non_null(strstr(path, "HOME"));
    setenv("HOME", "/h/", 1);
    assert_true(kn_place_choose(NULL, path));
    assert_string_equal(path, "/h/.cache/kiln");
    setenv("XDG_CACHE_HOME", "relative", 1);
    assert_true(kn_place_choose(NULL, path));
    assert_string_equal(path, "/h/.cache/kiln");
    setenv("XDG_CACHE_HOME", "/x", 1);
    assert_true(kn_place_choose(NULL, path));
    assert_string_equal(path, "/x/kiln");
    setenv("KILN_CACHE_DIR", "", 1);
    assert_true(kn_place_choose(NULL, path));
    assert_string_equal(path, "/x/kiln");
    setenv("KILN_CACHE_DIR", "/c//", 1);
    assert_true(kn_place_choose(NULL, path));
    assert_string_equal(path, "/c");
    assert_true(kn_place_choose("/given", path));
    assert_string_equal(path, "/given");
    assert_false(kn_place_choose("", path));
    setenv("KILN_CACHE", "on", 1);
    assert_true(kn_place_choose("/given", path));
    setenv("KILN_CACHE", "off", 1);
    assert_false(kn_place_choose("/given", path));
    assert_non_null(strstr(path, "KILN_CACHE"));
    static char longest[5000];
    memset(longest, 'x', sizeof longest - 1);
    unsetenv("KILN_CACHE");
    assert_false(kn_place_choose(longest, path));
    for (int i = 0; i < 4; i++) {
        if (was[i])
            setenv(names[i], was[i], 1);
        else
            unsetenv(names[i]);
        free(was[i]);
    }
}

static void test_off(void **state)
{
    (void)state;
    kn_disk *d = open_disk("", 0);
    store_sample(d, 1);
    assert_int_equal(find_sample(d, 1), 0);
    kn_disk_counts c = counts_of(d), none = {0};
    assert_memory_equal(&c, &none, sizeof c);
    assert_string_equal(kn_disk_dir(d), "");
    kn_disk_close(d);
}

/* ---- the limit ---- */

static void set_used(const char *dir, unsigned seed, long long seconds_from_now)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    now.tv_sec += seconds_from_now;
    assert_int_equal(utimensat(AT_FDCWD, file_of(dir, seed), (struct timespec[]){now, now}, 0), 0);
}

static void test_trim_oldest(void **state)
{
    kn_disk *d = open_disk(*state, 0);
    for (unsigned i = 0; i < 10; i++) {
        store_sample(d, i);
        set_used(*state, i, -1000 * (long long)(10 - i));
    }
    assert_int_equal(find_sample(d, 0), 1); /* was the oldest, is the newest */
    kn_disk_usage all = usage_of(d), removed;
    sample two;
    make_sample(1, &two);
    uint64_t first = KN_ENTRY_HEAD + two.key_size + two.value_size;
    assert_int_equal(kn_disk_trim(d, all.bytes, &removed), KN_OK);
    assert_int_equal(removed.files, 0);
    assert_int_equal(kn_disk_trim(d, all.bytes - 1, &removed), KN_OK);
    assert_int_equal(removed.files, 1);
    assert_int_equal(removed.bytes, first);
    assert_int_equal(find_sample(d, 1), 0);
    assert_int_equal(find_sample(d, 0), 1);
    assert_int_equal(kn_disk_trim(d, 0, &removed), KN_OK);
    assert_int_equal(removed.files, 9);
    assert_int_equal(usage_of(d).files, 0);
    assert_int_equal(counts_of(d).evictions, 10);
    kn_disk_close(d);
}

/* Files from a time when the clock was ahead go first: were they of use, they would have been touched since.
 * Those that are used get the right time. */
static void test_clock_put_back(void **state)
{
    kn_disk *d = open_disk(*state, 0);
    const long long year = 365 * 86400;
    for (unsigned i = 0; i < 9; i++) {
        store_sample(d, i);
        set_used(*state, i, i < 3 ? year + i : i < 6 ? -year : -10);
    }
    assert_int_equal(find_sample(d, 0), 1); /* from the future, and in use */
    assert_int_equal(find_sample(d, 3), 1); /* old, and in use */
    kn_disk_usage all = usage_of(d), removed;
    assert_int_equal(kn_disk_trim(d, all.bytes - 1, &removed), KN_OK);
    assert_int_equal(find_sample(d, 1), 0);
    all = usage_of(d);
    kn_disk_trim(d, all.bytes - 1, &removed);
    assert_int_equal(find_sample(d, 2), 0);
    all = usage_of(d);
    kn_disk_trim(d, all.bytes - 1, &removed);
    assert_int_equal(find_sample(d, 4) + find_sample(d, 5), 1); /* two of the same age */
    static const unsigned stay[] = {0, 3, 6, 7, 8};
    for (size_t i = 0; i < sizeof stay / sizeof *stay; i++)
        assert_int_equal(find_sample(d, stay[i]), 1);
    kn_disk_close(d);
}

/* A writer keeps the directory below its limit and what it writes between looks. */
static void test_limit(void **state)
{
    enum { LIMIT = 64 << 10 };
    kn_disk *d = open_disk(*state, LIMIT);
    for (unsigned i = 0; i < 1000; i++) {
        store_sample(d, i);
        assert_true(usage_of(d).bytes <= LIMIT + LIMIT / 8);
        assert_int_equal(find_sample(d, i), 1);
    }
    kn_disk_counts c = counts_of(d);
    assert_int_equal(c.writes, 1000);
    assert_true(c.evictions > 500);
    assert_int_equal(usage_of(d).files, 1000 - c.evictions);
    /* one value that is larger than everything allowed */
    static char large[LIMIT + 1];
    kn_disk_store(d, (kn_bytes_view){"large", 5}, (kn_bytes_view){large, sizeof large}, 0);
    assert_int_equal(counts_of(d).write_failures, 1);
    kn_disk_close(d);
}

/* What is not the cache's own is not touched, whatever it is called. */
static void test_strangers_stay(void **state)
{
    static const char *const names[] = {
        "notes.txt",
        "0123456789abcdef0123456789abcdef.kiln",
        ".kiln1",
        "x.kiln1",
        "0123456789ABCDEF0123456789ABCDEF.kiln1",
        "0123456789abcdef0123456789abcdef.kiln11",
        "0123456789abcdef0123456789abcdef.kiln0",
    };
    enum { N = sizeof names / sizeof *names };
    char path[400];
    kn_disk *d = open_disk(*state, 0);
    kn_disk_usage removed;
    for (int i = 0; i < N; i++) {
        snprintf(path, sizeof path, "%s/%s", (char *)*state, names[i]);
        write_file(path, "mine", 4);
    }
    store_sample(d, 1);
    assert_int_equal(usage_of(d).files, 1);
    assert_int_equal(kn_disk_trim(d, 0, &removed), KN_OK);
    assert_int_equal(removed.files, 1);
    for (int i = 0; i < N; i++) {
        snprintf(path, sizeof path, "%s/%s", (char *)*state, names[i]);
        assert_int_equal(access(path, F_OK), 0);
    }
    kn_disk_close(d);
}

/* ---- list ---- */

typedef struct listing {
    int n;
    char title[10][40];
    uint64_t cost[10];
} listing;

static void note(void *user, const kn_disk_entry *e)
{
    listing *l = user;
    snprintf(l->title[l->n], sizeof l->title[l->n], "%s", e->title);
    l->cost[l->n++] = e->cost_ns;
}

static void test_list(void **state)
{
    kn_disk *d = open_disk(*state, 0);
    listing l = {0};
    kn_disk_usage u;
    for (unsigned i = 0; i < 3; i++) {
        store_sample(d, i);
        set_used(*state, i, -(long long)i * 100); /* the last is the longest unused */
    }
    write_file(file_of(*state, 3), "rubbish", 7);
    set_used(*state, 3, -1000);
    assert_int_equal(kn_disk_list(d, note, &l, &u), KN_OK);
    assert_int_equal(l.n, 4);
    assert_string_equal(l.title[0], "?");
    for (unsigned i = 0; i < 3; i++) {
        char title[40];
        snprintf(title, sizeof title, "sample %u", 2 - i);
        assert_string_equal(l.title[i + 1], title);
        assert_int_equal(l.cost[i + 1], 2 - i);
    }
    kn_disk_close(d);
}

/* ---- two libraries of different formats ---- */

kn_status other_disk_open(const char *dir, uint64_t limit, const kn_allocator *from, kn_disk **d);
void other_disk_close(kn_disk *d);
bool other_disk_find(kn_disk *d, kn_bytes_view key, kn_disk_value *value);
void other_disk_release(kn_disk *d, kn_disk_value *value);
void other_disk_store(kn_disk *d, kn_bytes_view key, kn_bytes_view value, uint64_t cost_ns);
void other_disk_count(const kn_disk *d, kn_disk_counts *counts);
kn_status other_disk_trim(kn_disk *d, uint64_t bytes, kn_disk_usage *usage);

static void test_other_format(void **state)
{
    const kn_bytes_view key = {"the same key", 12};
    kn_disk *mine = open_disk(*state, 0), *other = NULL;
    kn_disk_value v;
    kn_disk_usage removed;
    assert_int_equal(other_disk_open(*state, 0, NULL, &other), KN_OK);
    kn_disk_store(mine, key, (kn_bytes_view){"mine", 4}, 1);
    assert_false(other_disk_find(other, key, &v));
    other_disk_store(other, key, (kn_bytes_view){"other", 5}, 2);
    assert_true(kn_disk_find(mine, key, &v));
    assert_int_equal(v.bytes.size, 4);
    kn_disk_release(mine, &v);
    assert_true(other_disk_find(other, key, &v));
    assert_int_equal(v.bytes.size, 5);
    other_disk_release(other, &v);
    /* neither clears what is the other's */
    assert_int_equal(kn_disk_trim(mine, 0, &removed), KN_OK);
    assert_int_equal(removed.files, 1);
    assert_true(other_disk_find(other, key, &v));
    other_disk_release(other, &v);
    kn_disk_store(mine, key, (kn_bytes_view){"mine", 4}, 1);
    assert_int_equal(other_disk_trim(other, 0, &removed), KN_OK);
    assert_int_equal(removed.files, 1);
    assert_int_equal(kn_disk_find(mine, key, &v), true);
    kn_disk_release(mine, &v);
    kn_disk_counts a = counts_of(mine), b;
    other_disk_count(other, &b);
    assert_int_equal(a.damaged + a.foreign + a.unsafe + b.damaged + b.foreign + b.unsafe, 0);
    kn_disk_close(mine);
    other_disk_close(other);
}

/* The other format's bytes under this format's name. */
static void test_other_format_renamed(void **state)
{
    char command[400], name[300];
    kn_disk *mine = open_disk(*state, 0), *other = NULL;
    sample s;
    make_sample(1, &s);
    const kn_bytes_view key = {s.key, s.key_size};
    assert_int_equal(other_disk_open(*state, 0, NULL, &other), KN_OK);
    other_disk_store(other, key, (kn_bytes_view){"other", 5}, 2);
    snprintf(name, sizeof name, "%s", file_of(*state, 1));
    snprintf(command, sizeof command, "mv %s/*.kiln2 '%s'", (char *)*state, name);
    assert_int_equal(system(command), 0);
    assert_int_equal(find_sample(mine, 1), 0);
    assert_int_equal(counts_of(mine).damaged, 1);
    kn_disk_close(mine);
    other_disk_close(other);
}

/* ---- memory ---- */

static size_t left;

static void *scarce(void *user, size_t size)
{
    (void)user;
    return left && left-- ? malloc(size) : NULL;
}

static void release(void *user, void *p)
{
    (void)user;
    free(p);
}

static void test_no_memory(void **state)
{
    const kn_allocator from = {scarce, release, NULL};
    kn_disk *d;
    left = 0;
    assert_int_equal(kn_disk_open(*state, 0, &from, &d), KN_MEMORY);
    left = 1;
    assert_int_equal(kn_disk_open(*state, 0, &from, &d), KN_OK);
    store_sample(d, 1);
    assert_int_equal(counts_of(d).write_failures, 1);
    left = 1; /* for the file, not for looking at how many there are */
    store_sample(d, 1);
    assert_int_equal(counts_of(d).writes, 1);
    assert_int_equal(find_sample(d, 1), 0);
    left = 1;
    assert_int_equal(find_sample(d, 1), 1);
    kn_disk_usage u;
    assert_int_equal(kn_disk_list(d, NULL, NULL, &u), KN_MEMORY);
    assert_int_equal(kn_disk_trim(d, 0, &u), KN_MEMORY);
    kn_disk_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(test_store_and_find),
        test(test_every_byte_flipped),
        test(test_every_length),
        test(test_another_entry),
        test(test_unsafe_files),
        test(test_foreign_owner),
        test(test_unsafe_directories),
        test(test_missing_directory),
        test(test_file_for_directory),
        test(test_choice_of_directory),
        test(test_off),
        test(test_trim_oldest),
        test(test_clock_put_back),
        test(test_limit),
        test(test_strangers_stay),
        test(test_list),
        test(test_other_format),
        test(test_other_format_renamed),
        test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
