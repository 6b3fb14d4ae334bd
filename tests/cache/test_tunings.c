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

/* Reads the file, and stores another value, of right sum, under its key; NULL: leaves it. */
static void put_value(const char *dir, const char *path, const char *value, char was[4096])
{
    static char bytes[1 << 16];
    kn_entry entry;
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    assert_true(kn_entry_read(bytes, n, &entry));
    snprintf(was, 4096, "%.*s", (int)entry.value.size, entry.value.data);
    kn_disk *d = open_disk(dir, 0);
    if (value)
        kn_disk_store(d, entry.key, (kn_bytes_view){value, strlen(value)}, 0);
    kn_disk_close(d);
}

/* What is kept is text: of each candidate a line, whose end is what options.schedule reads. */
static void test_kept(void **state)
{
    const char *dir = *state;
    char path[300], was[4096];
    live(dir, "one", PATIENCE, 1, 0);
    live(dir, "one", PATIENCE, 0, 1);
    live(dir, "one", 2 * PATIENCE, 0, 1); /* nothing was left out */
    only_file(dir, path);
    put_value(dir, path, NULL, was);
    assert_int_equal(strncmp(was, "best 3 of 6, 0 left, 1000 ms\n", 29), 0);
    int i = 0;
    for (const char *line = strchr(was, '\n') + 1; *line; line = strchr(line, '\n') + 1, i++)
        assert_int_equal(i > 0, strcspn(line, ":") < strcspn(line, "\n"));
    assert_int_equal(i, KN_MOST_TRIALS);
    live(dir, "two", PATIENCE, 1, 0); /* another machine */
    live(dir, "two", PATIENCE, 0, 1);
}

static void test_damaged(void **state)
{
    const char *dir = *state;
    char path[300], was[4096];
    live(dir, "one", PATIENCE, 1, 0);
    only_file(dir, path);
    flip_byte(path, -3);
    live(dir, "one", PATIENCE, 1, 0);
    live(dir, "one", PATIENCE, 0, 1);
    static const char *const wrong[] = {
        "",
        "1 0 0 1000\n0 0 0 0 5\n", /* of a version before */
        "best 0 of 1, 0 left, 1000 ms\n",
        "best 1 of 1, 0 left, 1000 ms\n5 ns\n",
        "best 0 of 9, 0 left, 1000 ms\n5 ns\n",
        "best 0 of 1, 0 left, 1000 ms\n5 ns\nmore",
        "best 0 of 1, 0 left, 1000 ms\n5 ns",
        "best 0 of 1, 0 left, 1000 ms\n-5 ns\n",
        "best 0 of 1, 0 left, 1000 ms\n5 us \n",
        "best 0 of 1, 0 left, 1000 ms\n5 ns halved\n",
        "best 0 of 1, 0 left, 1000 ms\n5 ns cluster=99\n",
        "best 0 of 1, 0 left, 1000 ms\n5 ns at most 2 threads\n",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        put_value(dir, path, wrong[i], was);
        live(dir, "one", PATIENCE, 1, 0);
        live(dir, "one", PATIENCE, 0, 1);
    }
}

/* What is there but does not bind, as the text of another program or of a planner with other rules, is the planner's
 * own schedule; nobody hears of it, and it is not measured again. */
static void test_unbindable(void **state)
{
    static const char *const texts[] = {
        "threads 96: rows tpg 96 vec 4",
        "threads 256: flat tpg 1 vec 4 unroll 4",
        "split, threads 256: rows tpg 256 vec 4; rows tpg 256 vec 4",
        "threads 256: rows tpg 256 vec 4, cluster 8, warped, hold v0_x shared",
        "cluster=8: who knows",
    };
    const char *dir = *state;
    char path[300], was[4096], value[300];
    live(dir, "one", PATIENCE, 1, 0);
    only_file(dir, path);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        machine m;
        snprintf(value, sizeof value, "best 1 of 2, 0 left, 1000 ms\n9 ns\n5 ns %s\n", texts[i]);
        put_value(dir, path, value, was);
        open_machine(&m, NULL);
        m.n.core.disk = open_disk(dir, 0);
        kiln_prog *p = tuned(&m, PATIENCE);
        kn_clear_error();
        good(run(p, ROWS, COLUMNS));
        assert_string_equal(kiln_last_error(), "");
        assert_true(planned(&m, p, ROWS, COLUMNS));
        check_counts(&m, 0, 1);
        assert_int_equal(m.timed, 0);
        kiln_prog_destroy(p);
        close_machine(&m);
    }
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
    const struct CMUnitTest tests[] = {test(test_kept), test(test_damaged), test(test_unbindable),
                                       test(test_more_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
