/* What was measured of schedules, in the disk cache: a second process measures nothing, unless it is of another
 * machine, has more time, or what is there is damaged. */
#include "tests/cache/cache.h"
#include "tests/scripted.h"

/* One process: a run with this directory. */
static void live(const char *dir, const char *name, int ms, uint64_t tunings, uint64_t hits)
{
    machine m;
    open_machine(&m, NULL);
    m.name = name;
    m.compile_ns = 100000000;
    m.n.core.disk = open_disk(dir, 0);
    kiln_prog *p = tuned(&m, ms);
    good(run(p, ROWS, COLUMNS));
    check_counts(&m, tunings, hits);
    assert_int_equal(m.timed > 0, tunings > 0);
    assert_true(ms >= PATIENCE ? favoured(&m, p, ROWS, COLUMNS) : planned(&m, p, ROWS, COLUMNS));
    kiln_prog_destroy(p);
    close_machine(&m);
}

static void only_file(const char *dir, char path[300])
{
    char command[300];
    snprintf(command, sizeof command, "ls '%s'/*.kiln1", dir);
    FILE *list = popen(command, "r");
    assert_non_null(list);
    assert_int_equal(fscanf(list, "%299s", path), 1);
    pclose(list);
}

static void flip_byte(const char *path, long at)
{
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, at, at < 0 ? SEEK_END : SEEK_SET), 0);
    int c = fgetc(f);
    fseek(f, -1, SEEK_CUR);
    fputc(c ^ 1, f);
    fclose(f);
}

/* Stores another value, of right sum, under the file's key. */
static void put_value(const char *dir, const char *path, const char *value)
{
    static char bytes[1 << 16];
    kn_entry entry;
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    assert_true(kn_entry_read(bytes, n, &entry));
    kn_disk *d = open_disk(dir, 0);
    kn_disk_store(d, entry.key, (kn_bytes_view){value, strlen(value)}, 0);
    kn_disk_close(d);
}

static void test_kept(void **state)
{
    const char *dir = *state;
    char path[300];
    live(dir, "one", PATIENCE, 1, 0);
    live(dir, "one", PATIENCE, 0, 1);
    live(dir, "one", 2 * PATIENCE, 0, 1); /* nothing was left out */
    only_file(dir, path);
    flip_byte(path, -3);
    live(dir, "one", PATIENCE, 1, 0);
    live(dir, "one", PATIENCE, 0, 1);
    static const char *const wrong[] = {"",
                                        "1 0 0 1000\n",
                                        "1 1 0 1000\n0 0 0 0 5\n",
                                        "9 0 0 1000\n0 0 0 0 5\n",
                                        "1 0 0 1000\n0 0 0 0 5\nmore",
                                        "1 0 0 1000\n9 0 0 0 5\n",
                                        "1 0 0 1000\n2 99 0 0 5\n",
                                        "1 0 0 1000\n0 0 0 0 -5\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        put_value(dir, path, wrong[i]);
        live(dir, "one", PATIENCE, 1, 0);
        live(dir, "one", PATIENCE, 0, 1);
    }
    live(dir, "two", PATIENCE, 1, 0); /* another machine */
    live(dir, "two", PATIENCE, 0, 1);
}

/* Who has more time than it took looks again at what was left out. */
static void test_more_time(void **state)
{
    const char *dir = *state;
    live(dir, "one", 1, 1, 0);
    live(dir, "one", 1, 0, 1);
    live(dir, "one", PATIENCE, 1, 0);
    live(dir, "one", PATIENCE, 0, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {test(test_kept), test(test_more_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
