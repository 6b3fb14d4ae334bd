/* cli/npy: files of NumPy's are read, everything else is refused by name, what we write reads
 * back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/npy.h"

static char path[] = "/tmp/kiln-test-npy-XXXXXX";
static kn_err err;

static int make_file(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static void put(const void *start, size_t nstart, const char *dict, const void *data, size_t ndata)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fwrite(start, 1, nstart, f);
    fwrite(dict, 1, strlen(dict), f);
    fwrite(data, 1, ndata, f);
    assert_int_equal(fclose(f), 0);
}

/* A file of `version` with this header text and these bytes of elements. */
static int read_made(int version, const char *dict, const void *data, size_t ndata, kn_cli_array *a)
{
    unsigned char start[12] = {0x93, 'N', 'U', 'M', 'P', 'Y', (unsigned char)version, 0};
    size_t n = strlen(dict);
    start[8] = (unsigned char)n;
    start[9] = (unsigned char)(n >> 8);
    put(start, version == 1 ? 10 : 12, dict, data, ndata);
    return kn_npy_read(path, false, a, &err);
}

static void refuses(const char *dict, const char *message)
{
    kn_cli_array a;
    static const char data[64];
    assert_int_equal(read_made(1, dict, data, 24, &a), KN_EXIT_USAGE);
    if (!strstr(err.text, message))
        fail_msg("'%s' lacks '%s'", err.text, message);
    assert_non_null(strstr(err.text, path));
    assert_null(a.data);
}

static void reads_each_version_and_spelling(void **state)
{
    (void)state;
    static const float data[6] = {1, 2, 3, 4, 5, 6};
    static const char *const dicts[] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n",
        "{'shape':(2,3),'descr':\"<f4\",'fortran_order':False}",
        "  { 'fortran_order' : False , 'shape' : ( 2L , 3L , ) , 'descr' : '<f4' } \n",
    };
    for (int version = 1; version <= 3; version++)
        for (size_t i = 0; i < sizeof dicts / sizeof *dicts; i++) {
            kn_cli_array a;
            assert_int_equal(read_made(version, dicts[i], data, sizeof data, &a), KN_EXIT_OK);
            assert_int_equal(a.dtype, KILN_F32);
            assert_int_equal(a.rank, 2);
            assert_int_equal(a.shape[0], 2);
            assert_int_equal(a.shape[1], 3);
            assert_true(a.compact);
            assert_int_equal(a.strides[0], 3);
            assert_memory_equal(a.data, data, sizeof data);
            kn_cli_array_finish(&a);
        }
}

static void reads_column_major_as_strides(void **state)
{
    (void)state;
    kn_cli_array a;
    static const int32_t data[6] = {1, 2, 3, 4, 5, 6};
    const char *dict = "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3)}";
    assert_int_equal(read_made(1, dict, data, sizeof data, &a), KN_EXIT_OK);
    assert_false(a.compact);
    assert_int_equal(a.strides[0], 1);
    assert_int_equal(a.strides[1], 2);
    kn_cli_array_finish(&a);
    dict = "{'descr': '<i4', 'fortran_order': True, 'shape': (6,)}";
    assert_int_equal(read_made(1, dict, data, sizeof data, &a), KN_EXIT_OK);
    assert_true(a.compact);
    kn_cli_array_finish(&a);
}

static void reads_scalars_and_empty_arrays(void **state)
{
    (void)state;
    kn_cli_array a;
    double v = 2.5;
    const char *dict = "{'descr': '<f8', 'fortran_order': False, 'shape': ()}";
    assert_int_equal(read_made(1, dict, &v, sizeof v, &a), KN_EXIT_OK);
    assert_int_equal(a.rank, 0);
    assert_int_equal(a.count, 1);
    assert_true(*(double *)a.data == 2.5);
    kn_cli_array_finish(&a);
    dict = "{'descr': '|b1', 'fortran_order': False, 'shape': (4, 0, 2)}";
    assert_int_equal(read_made(1, dict, "", 0, &a), KN_EXIT_OK);
    assert_int_equal(a.count, 0);
    assert_int_equal(a.bytes, 0);
    kn_cli_array_finish(&a);
}

static void refuses_bad_headers(void **state)
{
    (void)state;
#define DICT(descr, order, shape)                                                                  \
    "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape "}"
    refuses(DICT("'>f4'", "False", "(6,)"), "big-endian");
    refuses(DICT("'<f16'", "False", "(6,)"), "'<f16' is not supported");
    refuses(DICT("'<U4'", "False", "(6,)"), "not supported");
    refuses(DICT("[('a', '<f4')]", "False", "(6,)"), "structured");
    refuses(DICT("3", "False", "(6,)"), "'descr'");
    refuses(DICT("'<f4'", "0", "(6,)"), "'fortran_order'");
    refuses(DICT("'<f4'", "Falsely", "(6,)"), "'fortran_order'");
    refuses(DICT("'<f4'", "False", "6"), "tuple");
    refuses(DICT("'<f4'", "False", "(6)"), "tuple");
    refuses(DICT("'<f4'", "False", "(2 3)"), "comma");
    refuses(DICT("'<f4'", "False", "(-6,)"), "no size");
    refuses(DICT("'<f4'", "False", "(6,"), "'shape'");
    refuses(DICT("'<f4'", "False", "(99999999999999999999,)"), "63 bits");
    refuses(DICT("'<f4'", "False", "(4294967296, 4294967296)"), "more elements");
    refuses(DICT("'<f4'", "False", "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)"), "16 axes");
    refuses("{'descr': '<f4', 'shape': (6,)}", "missing");
    refuses("{'descr': '<f4', 'descr': '<f4'}", "twice");
    refuses("{'order': 'C'}", "other than");
    refuses("{'descr' '<f4'}", "':'");
    refuses("{'descr': '<f4' 'shape': (6,)}", "','");
    refuses("{descr: '<f4'}", "key");
    refuses("{'descr", "key");
    refuses(DICT("'<f4'", "False", "(6,)") " x", "follows");
    refuses("", "'{'");
}

static void refuses_wrong_sizes(void **state)
{
    (void)state;
    refuses(DICT("'<f4'", "False", "(7,)"), "shorter than its f32[7]");
    refuses(DICT("'<f4'", "False", "(5,)"), "longer than its f32[5]");
    refuses(DICT("'<f4'", "False", "(100000, 1000000)"), "shorter");
    refuses(DICT("'<f4'", "False", "(0,)"), "longer");
}

static void refuses_other_files(void **state)
{
    (void)state;
    kn_cli_array a;
    put("PK\3\4 a zip", 10, "", "", 0);
    assert_int_equal(kn_npy_read(path, false, &a, &err), KN_EXIT_USAGE);
    assert_non_null(strstr(err.text, "not a .npy file"));
    put("", 0, "", "", 0);
    assert_int_equal(kn_npy_read(path, false, &a, &err), KN_EXIT_USAGE);
    assert_non_null(strstr(err.text, "not a .npy file"));
    put("\x93NUMPY\1\0\x20", 9, "", "", 0);
    assert_int_equal(kn_npy_read(path, false, &a, &err), KN_EXIT_USAGE);
    assert_non_null(strstr(err.text, "truncated"));
    put("\x93NUMPY\1\0\x20\0{'de", 14, "", "", 0);
    assert_int_equal(kn_npy_read(path, false, &a, &err), KN_EXIT_USAGE);
    assert_non_null(strstr(err.text, "truncated"));
    put("\x93NUMPY\4\0\x20\0", 10, "", "", 0);
    assert_int_equal(kn_npy_read(path, false, &a, &err), KN_EXIT_USAGE);
    assert_non_null(strstr(err.text, "version 4.0"));
    put("\x93NUMPY\2\0\xff\xff\xff\xff", 12, "", "", 0);
    assert_int_equal(kn_npy_read(path, false, &a, &err), KN_EXIT_USAGE);
    assert_non_null(strstr(err.text, "4294967295 bytes"));
    assert_int_equal(kn_npy_read("/nonexistent/x.npy", false, &a, &err), KN_EXIT_USAGE);
    assert_non_null(strstr(err.text, "cannot open"));
    assert_int_equal(kn_npy_read("/tmp", false, &a, &err), KN_EXIT_USAGE);
    assert_non_null(strstr(err.text, "cannot read"));
    assert_int_equal(read_made(1, DICT("'|b1'", "False", "(2,)"), "\1\2", 2, &a), KN_EXIT_USAGE);
    assert_non_null(strstr(err.text, "neither 0 nor 1"));
}

static void header_only_checks_size_but_reads_nothing(void **state)
{
    (void)state;
    kn_cli_array a;
    static const float data[6];
    assert_int_equal(read_made(1, DICT("'<f4'", "False", "(6,)"), data, sizeof data, &a),
                     KN_EXIT_OK);
    kn_cli_array_finish(&a);
    assert_int_equal(kn_npy_read(path, true, &a, &err), KN_EXIT_OK);
    assert_null(a.data);
    assert_int_equal(a.shape[0], 6);
    assert_int_equal(truncate(path, 40), 0);
    assert_int_equal(kn_npy_read(path, true, &a, &err), KN_EXIT_USAGE);
}

static void written_files_read_back(void **state)
{
    (void)state;
    static const int64_t shapes[][4] = {{0}, {1, 6}, {2, 2, 3}, {3, 2, 0, 3}};
    static unsigned char data[6 * 16] = {0, 1, 1, 0, 1, 0};
    for (size_t s = 0; s < 4; s++)
        for (kiln_dtype t = KILN_BOOL; t <= KILN_C128; t++) {
            kn_cli_array a = {.dtype = t, .rank = (int)shapes[s][0], .data = data}, b;
            memcpy(a.shape, shapes[s] + 1, 3 * sizeof *a.shape);
            assert_int_equal(kn_cli_array_layout(&a, false, "a", &err), KN_EXIT_OK);
            FILE *f = fopen(path, "wb");
            assert_non_null(f);
            assert_true(kn_npy_write(f, &a));
            assert_int_equal((ftell(f) - (long)a.bytes) % 64, 0);
            assert_int_equal(fclose(f), 0);
            assert_int_equal(kn_npy_read(path, false, &b, &err), KN_EXIT_OK);
            assert_int_equal(b.dtype, a.dtype);
            assert_int_equal(b.rank, a.rank);
            assert_memory_equal(b.shape, a.shape, sizeof a.shape);
            assert_memory_equal(b.data, data, a.bytes);
            kn_cli_array_finish(&b);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_each_version_and_spelling),
        cmocka_unit_test(reads_column_major_as_strides),
        cmocka_unit_test(reads_scalars_and_empty_arrays),
        cmocka_unit_test(refuses_bad_headers),
        cmocka_unit_test(refuses_wrong_sizes),
        cmocka_unit_test(refuses_other_files),
        cmocka_unit_test(header_only_checks_size_but_reads_nothing),
        cmocka_unit_test(written_files_read_back),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
