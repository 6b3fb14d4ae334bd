/* cli/value, cli/random, cli/args, cli/json: what the command line means, and that random data is
 * what it says and the same everywhere. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/args.h"
#include "cli/json.h"

static kn_err err;

static kn_cli_value parse(const char *text)
{
    kn_cli_value v;
    if (kn_cli_value_parse("x", text, &v, &err))
        fail_msg("%s", err.text);
    return v;
}

static void refuses(const char *text, const char *message)
{
    kn_cli_value v;
    assert_int_equal(kn_cli_value_parse("x", text, &v, &err), KN_EXIT_USAGE);
    if (!strstr(err.text, message))
        fail_msg("'%s' lacks '%s'", err.text, message);
}

static void numbers(void **state)
{
    (void)state;
    kn_cli_value v = parse("3");
    assert_int_equal(v.kind, KN_VALUE_INT);
    assert_int_equal(v.i, 3);
    assert_true(v.f == 3);
    assert_int_equal(parse("-9223372036854775808").i, INT64_MIN);
    assert_int_equal(parse("+7").i, 7);
    assert_int_equal(parse("True").kind, KN_VALUE_BOOL);
    assert_int_equal(parse("False").i, 0);
    static const char *const floats[] = {"1e-5", ".5", "2.", "-0.0", "1E+3"};
    static const double values[] = {1e-5, 0.5, 2, -0.0, 1000};
    for (int i = 0; i < 5; i++) {
        v = parse(floats[i]);
        assert_int_equal(v.kind, KN_VALUE_FLOAT);
        assert_true(v.f == values[i]);
    }
    static const char *const complex[] = {"2j", "1-0.5j", "-1e-3+1e2J", "inf-nanj"};
    static const double parts[][2] = {{0, 2}, {1, -0.5}, {-1e-3, 100}, {INFINITY, NAN}};
    for (int i = 0; i < 4; i++) {
        v = parse(complex[i]);
        assert_int_equal(v.kind, KN_VALUE_COMPLEX);
        assert_true(v.f == parts[i][0] && (v.im == parts[i][1] || i == 3));
    }
    refuses("1+2", "expected a .npy file");
    refuses("1+2jj", "expected a .npy file");
    assert_true(isinf(parse("-inf").f));
    assert_true(isnan(parse("nan").f));
    refuses("9223372036854775808", "64 bits");
    refuses("0x10", "expected a .npy file");
    refuses("infinity", "expected a .npy file");
    refuses("1e", "expected a .npy file");
    refuses(".", "expected a .npy file");
    refuses("", "expected a .npy file");
    refuses("true", "expected a .npy file");
}

static void shapes(void **state)
{
    (void)state;
    kn_cli_value v = parse("f32[32,256, 56,56]");
    assert_int_equal(v.kind, KN_VALUE_RANDOM);
    assert_int_equal(v.array.dtype, KILN_F32);
    assert_int_equal(v.array.rank, 4);
    assert_int_equal(v.array.shape[1], 256);
    assert_int_equal(v.array.count, 32 * 256 * 56 * 56);
    assert_int_equal(v.dist.kind, KN_DIST_NORMAL);
    assert_int_equal(parse("float64[2]").array.dtype, KILN_F64);
    assert_int_equal(parse("i32[]").array.rank, 0);
    assert_int_equal(parse("f32").array.rank, 0);
    assert_int_equal(parse("f32[()]").array.rank, 0);
    assert_int_equal(parse("f32[ ( ) ]@ones").array.count, 1);
    assert_int_equal(parse("i32[4]").dist.ihi, 10);
    assert_int_equal(parse("bool[4]").dist.kind, KN_DIST_COIN);
    assert_int_equal(parse("i64[0,4]").array.count, 0);
    assert_int_equal(parse("dir/x.npy").kind, KN_VALUE_FILE);
    refuses("f31[4]", "no element type 'f31'");
    refuses("f32[4", "found the end");
    refuses("f32:4", "sizes in brackets after the type, as in f32[32,256], found ':4'");
    refuses("f32[4 5]", "',' or ']'");
    refuses("f32[-4]", "a size");
    refuses("f32[N]", "a size, found 'N]'");
    refuses("f32[4]x", "nothing more");
    refuses("f32[99999999999999999999]", "64 bits");
    refuses("f32[4611686018427387904]", "more elements");
    refuses("f64[1099511627776,1099511627776]", "more elements");
    refuses("f64[0,1099511627776,1099511627776]", "more elements");
    refuses("f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "16 axes");
}

static void distributions(void **state)
{
    (void)state;
    kn_cli_value v = parse("f32[8]@uniform(-1, 2.5)");
    assert_int_equal(v.dist.kind, KN_DIST_UNIFORM);
    assert_true(v.dist.lo == -1 && v.dist.hi == 2.5);
    v = parse("i64[8]@randint(-3,4)");
    assert_true(v.dist.ilo == -3 && v.dist.ihi == 4);
    assert_int_equal(parse("f32[8]@ones").dist.kind, KN_DIST_ONES);
    assert_int_equal(parse("bool[8]@zeros").dist.kind, KN_DIST_ZEROS);
    assert_int_equal(parse("f64@normal").dist.kind, KN_DIST_NORMAL);
    refuses("f32[8]@", "normal, uniform");
    refuses("f32[8]@gauss", "normal, uniform");
    refuses("f32[8]@uniform", "'('");
    refuses("f32[8]@uniform(1)", "','");
    refuses("f32[8]@uniform(2,1)", "nothing between");
    refuses("f32[8]@uniform(0,inf)", "nothing between");
    refuses("i32[8]@randint(1.5,3)", "an integer");
    refuses("i32[8]@randint(3,3)", "nothing between");
    refuses("i32[8]@randint(0,2147483649)", "do not fit i32");
    refuses("i32[8]@normal", "normal makes no i32");
    refuses("bool[8]@randint(0,2)", "randint makes no bool");
    refuses("f32[8]@ones()", "nothing more");
}

static void scalars(void **state)
{
    (void)state;
    kn_cli_number out;
    kn_cli_value v = parse("3");
    assert_int_equal(kn_cli_value_number(&v, KILN_F32, &out, &err), KN_EXIT_OK);
    assert_true(out.f == 3);
    assert_int_equal(kn_cli_value_number(&v, KILN_I64, &out, &err), KN_EXIT_OK);
    assert_int_equal(out.l, 3);
    assert_int_equal(kn_cli_value_number(&v, KILN_BOOL, &out, &err), KN_EXIT_USAGE);
    v = parse("1e-5");
    assert_int_equal(kn_cli_value_number(&v, KILN_F64, &out, &err), KN_EXIT_OK);
    assert_true(out.d == 1e-5);
    assert_int_equal(kn_cli_value_number(&v, KILN_I32, &out, &err), KN_EXIT_USAGE);
    assert_non_null(strstr(err.text, "x is i32, but 1e-5 is a float"));
    v = parse("True");
    assert_int_equal(kn_cli_value_number(&v, KILN_BOOL, &out, &err), KN_EXIT_OK);
    assert_int_equal(out.b, 1);
    assert_int_equal(kn_cli_value_number(&v, KILN_F32, &out, &err), KN_EXIT_USAGE);
    assert_int_equal(kn_cli_value_number(&v, KILN_I64, &out, &err), KN_EXIT_USAGE);
    v = parse("1-2j");
    assert_int_equal(kn_cli_value_number(&v, KILN_C128, &out, &err), KN_EXIT_OK);
    assert_true(out.z[0] == 1 && out.z[1] == -2);
    assert_int_equal(kn_cli_value_number(&v, KILN_F64, &out, &err), KN_EXIT_USAGE);
    assert_non_null(strstr(err.text, "x is f64, but 1-2j is a complex number"));
    v = parse("2147483648");
    assert_int_equal(kn_cli_value_number(&v, KILN_I32, &out, &err), KN_EXIT_USAGE);
    assert_int_equal(kn_cli_value_number(&v, KILN_I64, &out, &err), KN_EXIT_OK);
}

static kn_cli_value drawn(const char *name, const char *text, uint64_t seed)
{
    kn_cli_value v;
    if (kn_cli_value_parse(name, text, &v, &err) || kn_cli_value_load(&v, seed, false, &err))
        fail_msg("%s", err.text);
    return v;
}

static void data_is_fixed_for_all_time(void **state)
{
    (void)state;
    /* Recorded once. They may not change: people compare results between machines and versions. */
    kn_cli_value v = drawn("x", "f64[4]", 0);
    const double *d = v.array.data;
    static const double normal[4] = {0x1.c95a23dc90064p-2, -0x1.5c72a772a013ep+0,
                                     0x1.40202d80db3acp+0, -0x1.ef46b79d5def8p-2};
    for (int i = 0; i < 4; i++)
        if (d[i] != normal[i])
            fail_msg("element %d is %a", i, d[i]);
    kn_cli_value_finish(&v);
    v = drawn("x", "i64[4]@randint(-1000000,1000000)", 7);
    const int64_t *n = v.array.data;
    static const int64_t ints[4] = {577066, -95802, 945577, -893171};
    for (int i = 0; i < 4; i++)
        if (n[i] != ints[i])
            fail_msg("element %d is %lld", i, (long long)n[i]);
    kn_cli_value_finish(&v);
}

static void data_depends_on_seed_name_and_index_only(void **state)
{
    (void)state;
    kn_cli_value a = drawn("x", "f32[5000]", 1), b = drawn("x", "f32[50,61]", 1);
    kn_cli_value c = drawn("y", "f32[5000]", 1), d = drawn("x", "f32[5000]", 2);
    assert_memory_equal(a.array.data, b.array.data, b.array.bytes);
    assert_memory_not_equal(a.array.data, c.array.data, 16);
    assert_memory_not_equal(a.array.data, d.array.data, 16);
    kn_cli_value_finish(&a);
    kn_cli_value_finish(&b);
    kn_cli_value_finish(&c);
    kn_cli_value_finish(&d);
}

/* Moments of a large sample, within five standard errors. */
static void data_is_distributed_as_said(void **state)
{
    (void)state;
    enum { N = 1000000 };
    kn_cli_value v = drawn("x", "f64[1000000]", 3);
    const double *d = v.array.data;
    double m[5] = {0}, tails = 0, lag = 0;
    for (int i = 0; i < N; i++) {
        double p = 1;
        for (int k = 0; k < 5; k++, p *= d[i])
            m[k] += p / N;
        tails += fabs(d[i]) > 3;
        lag += i ? d[i] * d[i - 1] / N : 0;
    }
    assert_true(fabs(m[1]) < 5 * sqrt(1.0 / N));
    assert_true(fabs(m[2] - 1) < 5 * sqrt(2.0 / N));
    assert_true(fabs(m[3]) < 5 * sqrt(15.0 / N));
    assert_true(fabs(m[4] - 3) < 5 * sqrt(96.0 / N));
    assert_true(fabs(tails - 0.0026998 * N) < 5 * sqrt(0.0027 * N));
    assert_true(fabs(lag) < 5 * sqrt(1.0 / N));
    kn_cli_value_finish(&v);

    v = drawn("x", "f64[1000000]@uniform(2,4)", 3);
    d = v.array.data;
    double sum = 0, low = 4, high = 2;
    for (int i = 0; i < N; i++)
        sum += d[i], low = fmin(low, d[i]), high = fmax(high, d[i]);
    assert_true(low >= 2 && low < 2.0001 && high < 4 && high > 3.9999);
    assert_true(fabs(sum / N - 3) < 5 * 2 / sqrt(12.0 * N));
    kn_cli_value_finish(&v);

    v = drawn("x", "i32[1000000]@randint(-2,3)", 3);
    int counts[5] = {0};
    for (int i = 0; i < N; i++) {
        int32_t e = ((const int32_t *)v.array.data)[i];
        assert_in_range(e + 2, 0, 4);
        counts[e + 2]++;
    }
    for (int k = 0; k < 5; k++)
        assert_true(abs(counts[k] - N / 5) < 5 * 400);
    kn_cli_value_finish(&v);

    v = drawn("x", "bool[1000]", 3);
    int coins = 0;
    for (int i = 0; i < 1000; i++) {
        assert_in_range(((const uint8_t *)v.array.data)[i], 0, 1);
        coins += ((const uint8_t *)v.array.data)[i];
    }
    assert_in_range(coins, 420, 580);
    kn_cli_value_finish(&v);
    v = drawn("x", "i32[3]@ones", 3);
    assert_int_equal(((const int32_t *)v.array.data)[2], 1);
    kn_cli_value_finish(&v);
}

static int args(kn_args *a, int argc, const char *const *argv)
{
    enum { ALL = 255 };
    const kn_syntax syntax = {"run", ALL & ~KN_OPT_ARCH, "FILE"};
    return kn_args_parse(argc, (char **)(uintptr_t)argv, &syntax, a, &err);
}
#define ARGS(a, ...)                                                                               \
    args(a, (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)),                         \
         (const char *[]){__VA_ARGS__})

static void refuses_args(int status, kn_args *a, const char *message)
{
    assert_int_equal(status, KN_EXIT_USAGE);
    if (!strstr(err.text, message))
        fail_msg("'%s' lacks '%s'", err.text, message);
    kn_args_finish(a);
}

static void command_lines(void **state)
{
    (void)state;
    kn_args a;
    assert_int_equal(ARGS(&a, "-o", "out", "f.kiln", "x=f32[3]", "--seed=9", "--fusion", "off",
                          "eps=1e-5", "--json", "--device", "cuda:1"),
                     KN_EXIT_OK);
    assert_string_equal(a.subject, "f.kiln");
    assert_string_equal(a.out_dir, "out");
    assert_string_equal(a.device, "cuda:1");
    assert_int_equal(a.seed, 9);
    assert_false(a.fusion);
    assert_true(a.json);
    assert_int_equal(a.nvalues, 2);
    assert_string_equal(a.values[0].name, "x");
    assert_string_equal(a.values[1].name, "eps");
    kn_args_finish(&a);
    assert_int_equal(ARGS(&a, "--", "-x == 1", "x=2"), KN_EXIT_OK);
    assert_string_equal(a.subject, "-x == 1");
    kn_args_finish(&a);
    refuses_args(ARGS(&a, "f", "--arch", "sm_90"), &a, "no option '--arch'");
    refuses_args(ARGS(&a, "f", "--frob=1"), &a, "no option '--frob'");
    refuses_args(ARGS(&a, "f", "--json=1"), &a, "takes no value");
    refuses_args(ARGS(&a, "f", "--device"), &a, "--device needs a value");
    refuses_args(ARGS(&a, "f", "--seed", "-1"), &a, "'-1'");
    refuses_args(ARGS(&a, "f", "--seed", "18446744073709551616"), &a, "2^64-1");
    refuses_args(ARGS(&a, "f", "--fusion", "yes"), &a, "'yes'");
    refuses_args(ARGS(&a, "f", "x"), &a, "NAME=VALUE, found 'x'");
    refuses_args(ARGS(&a, "f", "2x=3"), &a, "found '2x=3'");
    refuses_args(ARGS(&a, "f", "x=3", "x=4"), &a, "x is given twice");
    refuses_args(ARGS(&a, "f", "x=what"), &a, "x=what");
    refuses_args(ARGS(&a, "--json"), &a, "needs FILE");
}

static int kernel_args(kn_args *a, int argc, const char *const *argv)
{
    const kn_syntax syntax = {"kernel", KN_OPT_LAUNCH, "FILE.cu"};
    return kn_args_parse(argc, (char **)(uintptr_t)argv, &syntax, a, &err);
}
#define KERNEL_ARGS(a, ...)                                                                        \
    kernel_args(a, (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)),                  \
                (const char *[]){__VA_ARGS__})

static void kernel_command_lines(void **state)
{
    (void)state;
    kn_args a;
    assert_int_equal(KERNEL_ARGS(&a, "f.cu", "--entry=k<1, int>", "--grid", "2,3", "--block", "4",
                                 "--shared", "64", "--cluster", "2", "--cooperative", "--emulator",
                                 "relaxed", "x=f32[3]", "out:y=i32[4]@zeros", "n=i64:-5", "a=2.5",
                                 "out:z=z.npy", "b=bool:True"),
                     KN_EXIT_OK);
    assert_string_equal(a.subject, "f.cu");
    assert_string_equal(a.entry, "k<1, int>");
    assert_string_equal(a.grid, "2,3");
    assert_string_equal(a.block, "4");
    assert_string_equal(a.shared, "64");
    assert_string_equal(a.cluster, "2");
    assert_string_equal(a.emulator, "relaxed");
    assert_true(a.cooperative);
    static const struct {
        const char *name;
        kn_cli_value_kind kind;
        bool out;
        kiln_dtype typed;
    } want[] = {
        {"x", KN_VALUE_RANDOM, false, KILN_NO_DTYPE}, {"y", KN_VALUE_RANDOM, true, KILN_NO_DTYPE},
        {"n", KN_VALUE_INT, false, KILN_I64},         {"a", KN_VALUE_FLOAT, false, KILN_NO_DTYPE},
        {"z", KN_VALUE_FILE, true, KILN_NO_DTYPE},    {"b", KN_VALUE_BOOL, false, KILN_BOOL}};
    assert_int_equal(a.nvalues, 6);
    for (int i = 0; i < 6; i++) {
        assert_string_equal(a.values[i].name, want[i].name);
        assert_int_equal(a.values[i].kind, want[i].kind);
        assert_int_equal(a.values[i].out, want[i].out);
        assert_int_equal(a.values[i].typed, want[i].typed);
    }
    assert_int_equal(a.values[2].i, -5);
    kn_args_finish(&a);
    refuses_args(KERNEL_ARGS(&a, "f", "x=i32:"), &a, "x=");
    refuses_args(KERNEL_ARGS(&a, "f", "x=i32:a.npy"), &a, "expected a number after 'i32:'");
    refuses_args(KERNEL_ARGS(&a, "f", "x=i33:3"), &a, "x=i33:3");
    refuses_args(KERNEL_ARGS(&a, "f", "out:=3"), &a, "expected NAME=VALUE");
    refuses_args(KERNEL_ARGS(&a, "f", "out:x=f32[1]", "x=3"), &a, "x is given twice");
    refuses_args(KERNEL_ARGS(&a, "f", "--cooperative=1"), &a, "takes no value");
    refuses_args(KERNEL_ARGS(&a, "f", "--fusion", "on"), &a, "kernel has no option '--fusion'");
    refuses_args(ARGS(&a, "f", "x=i32:3"), &a, "x=i32:3"); /* of kernels only */
}

static void json(void **state)
{
    (void)state;
    char text[256] = "";
    FILE *f = fmemopen(text, sizeof text, "w");
    assert_non_null(f);
    kn_json_string(f, "a\"b\\c\n\t\x7f\xc3\xa9");
    static const double values[] = {0, 0.1, 1e300, -3, 123456789, 1.0 / 3, NAN, INFINITY};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        fputc(' ', f);
        kn_json_number(f, values[i]);
    }
    fclose(f);
    assert_string_equal(text, "\"a\\\"b\\\\c\\n\\u0009\\u007f\xc3\xa9\" 0 0.1 1e+300 -3 123456789 "
                              "0.3333333333333333 null null");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(shapes),
        cmocka_unit_test(distributions),
        cmocka_unit_test(scalars),
        cmocka_unit_test(data_is_fixed_for_all_time),
        cmocka_unit_test(data_depends_on_seed_name_and_index_only),
        cmocka_unit_test(data_is_distributed_as_said),
        cmocka_unit_test(command_lines),
        cmocka_unit_test(kernel_command_lines),
        cmocka_unit_test(json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
