/* For tests of the disk cache: a directory of the test's own, and keys and values that a number stands for. */
#ifndef KN_TESTS_CACHE_CACHE_H
#define KN_TESTS_CACHE_CACHE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "kernels_cache/disk.h"
#include "tests/files.h"
#include "tests/random.h"

/* What differs with `seed`; sizes too. */
enum { KEY_MOST = 4096, VALUE_MOST = 20000 };

typedef struct sample {
    char key[KEY_MOST], value[VALUE_MOST];
    size_t key_size, value_size;
} sample;

static inline void make_sample(unsigned seed, sample *s)
{
    uint32_t state = seed * 2654435761u + 1;
    s->key_size = (size_t)snprintf(s->key, sizeof s->key, "sample %u\nof a test\n", seed);
    for (; s->key_size < 100 + seed % 97; s->key_size++)
        s->key[s->key_size] = (char)('a' + s->key_size % 26);
    s->value_size = 200 + seed * 37 % 1500;
    for (size_t i = 0; i < s->value_size; i++)
        s->value[i] = (char)(random_32(&state) >> 24);
}

static inline void store_sample(kn_disk *d, unsigned seed)
{
    sample s;
    make_sample(seed, &s);
    kn_disk_store(d, (kn_bytes_view){s.key, s.key_size}, (kn_bytes_view){s.value, s.value_size},
                  seed);
}

/* Whether the sample is there; -1: something else is. */
static inline int find_sample(kn_disk *d, unsigned seed)
{
    sample s;
    kn_disk_value v;
    make_sample(seed, &s);
    if (!kn_disk_find(d, (kn_bytes_view){s.key, s.key_size}, &v))
        return 0;
    bool same = v.bytes.size == s.value_size && v.cost_ns == seed &&
                memcmp(v.bytes.data, s.value, s.value_size) == 0;
    kn_disk_release(d, &v);
    return same ? 1 : -1;
}

static inline kn_disk_counts counts_of(const kn_disk *d)
{
    kn_disk_counts c;
    kn_disk_count(d, &c);
    return c;
}

static inline kn_disk *open_disk(const char *dir, uint64_t limit)
{
    kn_disk *d = NULL;
    assert_int_equal(kn_disk_open(dir, limit, NULL, &d), KN_OK);
    return d;
}

static inline int run_command(const char *format, const char *path)
{
    char command[400];
    snprintf(command, sizeof command, format, path);
    return system(command);
}

/* A new, empty directory; the state of each test. */
static inline int make_folder(void **state)
{
    char *path = strdup("/tmp/kiln-test-cache-XXXXXX");
    if (!path || !mkdtemp(path))
        return -1;
    *state = path;
    return 0;
}

static inline int remove_folder(void **state)
{
    int status = run_command("chmod -R u+rwx '%s'", *state);
    if (status == 0)
        status = run_command("rm -rf '%s'", *state);
    free(*state);
    return status;
}

#define test(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

#endif
