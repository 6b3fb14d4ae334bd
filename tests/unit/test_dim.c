/* shapes/: symbolic dimensions, what is known to be equal, sizes, and facts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "frontend/parse/parse.h"

typedef struct world {
    kn_arena arena;
    kn_symbols *s;
} world;

static int setup(void **state)
{
    static world w;
    kn_arena_init(&w.arena, NULL);
    w.s = kn_symbols_new(&w.arena);
    *state = &w;
    return 0;
}

static int teardown(void **state)
{
    world *w = *state;
    kn_arena_finish(&w->arena);
    return 0;
}

static kn_dim dim(world *w, const char *text)
{
    kn_dim d[KN_MAX_RANK];
    int rank;
    kn_graph g = {.arena = &w->arena, .syms = w->s};
    assert_int_equal(kn_parse_dims(&g, text, false, d, &rank), KN_OK);
    assert_int_equal(rank, 1);
    return d[0];
}

static const char *text_of(world *w, kn_dim d)
{
    kn_text t = kn_text_new(&w->arena);
    kn_dim_print(&t, w->s, d);
    return kn_text_str(&t);
}

static int symbol(world *w, const char *name) { return kn_symbol_find(w->s, name, strlen(name)); }

static int64_t *unbound(world *w)
{
    int64_t *values = KN_NEW_ARRAY(&w->arena, int64_t, kn_symbols_count(w->s) + 1);
    for (int i = 0; i < kn_symbols_count(w->s); i++)
        values[i] = KN_UNBOUND;
    return values;
}

static void test_polynomials(void **state)
{
    world *w = *state;
    static const struct {
        const char *text, *printed;
    } cases[] = {
        {"N", "N"},
        {"3", "3"},
        {"0", "0"},
        {"N + 0", "N"},
        {"M + N + M", "N + 2*M"},
        {"2*N*3", "6*N"},
        {"K*N + N*K", "2*N*K"},
        {"1 + N*N + N", "N*N + N + 1"},
        {"2*3 + 4", "10"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(text_of(w, dim(w, cases[i].text)), cases[i].printed);
    assert_true(kn_dim_equal(w->s, dim(w, "N*K + M"), dim(w, "M + K*N")));
    assert_false(kn_dim_equal(w->s, dim(w, "N"), dim(w, "M")));
    assert_false(kn_dim_equal(w->s, dim(w, "N"), dim(w, "2*N")));
}

static void test_texts(void **state)
{
    world *w = *state;
    static const char *const wrong[] = {
        "*",
        "N +",
        "N,",
        "N,,C",
        "-1",
        "(N",
        "N)",
        "1.5",
        "N - 1",
        "99999999999999999999",
        "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1",
    };
    kn_graph g = {.arena = &w->arena, .syms = w->s};
    kn_dim d[KN_MAX_RANK];
    int rank;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_not_equal(kn_parse_dims(&g, wrong[i], false, d, &rank), KN_OK);
    assert_int_equal(kn_parse_dims(&g, " ", false, d, &rank), KN_OK);
    assert_int_equal(rank, 0);
    assert_int_equal(kn_parse_dims(&g, "N , -1, (C+1)*2", true, d, &rank), KN_OK);
    assert_int_equal(rank, 3);
    assert_null(d[1]);
    assert_string_equal(text_of(w, d[2]), "2*C + 2");
}

static void test_too_large(void **state)
{
    world *w = *state;
    kn_dim huge = kn_dim_const(w->s, INT64_MAX);
    assert_null(kn_dim_add(w->s, huge, kn_dim_const(w->s, 1)));
    assert_int_equal(kn_last_status(), KN_SHAPE);
    assert_null(kn_dim_mul(w->s, huge, dim(w, "2*N")));
    kn_dim n = dim(w, "N"), product = n;
    for (int i = 1; i < KN_DIM_DEGREE; i++)
        product = kn_dim_mul(w->s, product, n);
    assert_non_null(product);
    assert_null(kn_dim_mul(w->s, product, n));
    /* NULL in, NULL out: the first error stays the one reported */
    assert_null(kn_dim_add(w->s, NULL, n));
    assert_null(kn_dim_mul(w->s, n, NULL));
    assert_null(kn_dim_quotient(w->s, NULL, n));
}

static void test_quotients(void **state)
{
    world *w = *state;
    assert_string_equal(text_of(w, kn_dim_quotient(w->s, dim(w, "6*N*K"), dim(w, "2*K"))), "3*N");
    assert_string_equal(text_of(w, kn_dim_quotient(w->s, dim(w, "N*K + K"), dim(w, "K"))), "N + 1");
    assert_null(kn_dim_divide_exact(w->s, dim(w, "N"), dim(w, "2")));
    assert_null(kn_dim_divide_exact(w->s, dim(w, "N*K"), dim(w, "N + K")));

    kn_dim q = kn_dim_quotient(w->s, dim(w, "N"), dim(w, "4"));
    assert_string_equal(text_of(w, q), "N/4");
    assert_true(kn_dim_equal(w->s, q, kn_dim_quotient(w->s, dim(w, "N"), dim(w, "4"))));
    assert_string_equal(text_of(w, kn_dim_quotient(w->s, dim(w, "N"), q)), "4");
    int64_t *values = unbound(w), v;
    values[symbol(w, "N")] = 12;
    assert_false(kn_dim_eval(q, values, &v));
    assert_int_equal(kn_symbols_derive(w->s, &w->arena, values), KN_OK);
    assert_true(kn_dim_eval(q, values, &v));
    assert_int_equal(v, 3);

    values = unbound(w);
    values[symbol(w, "N")] = 13;
    assert_int_equal(kn_symbols_derive(w->s, &w->arena, values), KN_SHAPE);
    assert_string_equal(kn_last_error(), "N/4 is not a whole number: 4 does not divide 13");
    assert_null(kn_dim_quotient(w->s, dim(w, "N"), dim(w, "0")));
    assert_int_equal(kn_last_status(), KN_SHAPE);
    assert_string_equal(text_of(w, kn_dim_quotient(w->s, dim(w, "N + 1"), dim(w, "2*K"))),
                        "(N + 1)/(2*K)");
    assert_string_equal(text_of(w, kn_dim_quotient(w->s, dim(w, "K"), q)), "K/(N/4)");
}

static void test_product_text(void **state)
{
    world *w = *state;
    static const char *const cases[][3] = {
        {"N", "C", "N*C"},
        {"16", "N/16", "N"},
        {"N/16", "16", "N"},
        {"16*(N*N/16)", "", "N*N"},
        {"N*G*(N*C/(N*G))", "H", "N*C*H"},
        {"2*N", "C/2", "N*C"},
        {"N*G", "N*C*H/(N*G)", "N*C*H"},
        {"N*C*H/(N*G)", "", "C*H/G"},
        {"16", "16/16", "16"},
        {"G", "1/G", "1"},
        {"N/(2*K)", "K", "N/2"},
        {"N/4/4", "4", "N/4"},
        {"N/4/4", "G/2/(N/4)", "G/(4*2)"},
        {"(N + 1)/2", "2", "(N + 1)"},
        {"(N + 1)*C", "4", "(N + 1)*C*4"},
        {"(N)//(2)", "2", "(N)//(2)*2"}, /* rounded down: no quotient */
        {"N/(C + 1)", "C + 1", "N"},
        {"max(..., 1)", "N/max(..., 1)", "max(..., 1)*N/max(..., 1)"}, /* not known to be one */
        {"N", "C + 1", "N*(C + 1)"},
        {"C + 1", "", "C + 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(kn_dim_product_text(&w->arena, cases[i][0], cases[i][1]), cases[i][2]);
}

static void test_text_divides(void **state)
{
    (void)state;
    static const struct {
        const char *size;
        int by;
        bool divides;
    } cases[] = {{"8", 4, true},        {"6", 4, false},       {"N*8", 4, true},
                 {"8*N", 16, false},    {"N", 4, false},       {"4*N/2", 4, false},
                 {"4*(N/2)", 4, true},  {"4*N + 2", 4, false}, {"(N + 1)*4", 4, true},
                 {"(N)//(2)", 2, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(kn_dim_text_divides(cases[i].size, cases[i].by), cases[i].divides);
}

static void test_unify(void **state)
{
    world *w = *state;
    int64_t v;
    assert_int_equal(kn_dim_unify(w->s, dim(w, "N"), dim(w, "M")), KN_UNIFIED);
    assert_true(kn_dim_equal(w->s, dim(w, "N*2 + 1"), dim(w, "M + M + 1")));
    assert_int_equal(kn_dim_unify(w->s, dim(w, "M"), dim(w, "4")), KN_UNIFIED);
    assert_true(kn_dim_is_const(w->s, dim(w, "N*M"), &v));
    assert_int_equal(v, 16);
    assert_int_equal(kn_dim_unify(w->s, dim(w, "N"), dim(w, "5")), KN_NEVER);

    assert_int_equal(kn_dim_unify(w->s, dim(w, "A"), dim(w, "B*C")), KN_UNIFIED);
    assert_true(kn_dim_equal(w->s, dim(w, "A*2"), dim(w, "2*C*B")));
    assert_int_equal(kn_dim_unify(w->s, dim(w, "2*D"), dim(w, "E*E")), KN_UNDECIDED);
    assert_int_equal(kn_dim_unify(w->s, dim(w, "F + 1"), dim(w, "F")), KN_NEVER);
    assert_int_equal(kn_dim_unify(w->s, dim(w, "G"), dim(w, "1")), KN_UNIFIED);
    assert_true(kn_dim_is_one(w->s, dim(w, "G")));
}

static void test_derive_both_ways(void **state)
{
    world *w = *state;
    kn_dim_unify(w->s, dim(w, "N"), dim(w, "M"));
    for (int first = 0; first < 2; first++) {
        int64_t *values = unbound(w);
        values[symbol(w, first ? "N" : "M")] = 7;
        assert_int_equal(kn_symbols_derive(w->s, &w->arena, values), KN_OK);
        assert_int_equal(values[symbol(w, "M")], 7);
        assert_int_equal(values[symbol(w, "N")], 7);
    }
}

static void test_solve(void **state)
{
    world *w = *state;
    kn_dim d = dim(w, "2*N + 1"), product = dim(w, "A*B"), square = dim(w, "S*S");
    int64_t *values = unbound(w);
    assert_int_equal(kn_dim_solve(w->s, d, 8, values), -1);
    assert_int_equal(kn_dim_solve(w->s, d, -3, values), -1); /* N would be negative */
    assert_int_equal(kn_dim_solve(w->s, d, 9, values), 1);
    assert_int_equal(values[symbol(w, "N")], 4);
    assert_int_equal(kn_dim_solve(w->s, d, 9, values), 1);
    assert_int_equal(kn_dim_solve(w->s, d, 11, values), -1);

    assert_int_equal(kn_dim_solve(w->s, product, 12, values), 0); /* two unknowns */
    values[symbol(w, "A")] = 3;
    assert_int_equal(kn_dim_solve(w->s, product, 12, values), 1);
    assert_int_equal(values[symbol(w, "B")], 4);
    assert_int_equal(kn_dim_solve(w->s, square, 9, values), 0);

    values[symbol(w, "A")] = 0; /* 0*B is 0 whatever B is, and never 5 */
    values[symbol(w, "B")] = KN_UNBOUND;
    assert_int_equal(kn_dim_solve(w->s, product, 0, values), 0);
    assert_int_equal(kn_dim_solve(w->s, product, 5, values), -1);
}

static void test_eval_overflow(void **state)
{
    world *w = *state;
    kn_dim d = dim(w, "N*N");
    int64_t *values = unbound(w), v;
    values[symbol(w, "N")] = (int64_t)1 << 31;
    assert_true(kn_dim_eval(d, values, &v));
    values[symbol(w, "N")] = (int64_t)1 << 32;
    assert_false(kn_dim_eval(d, values, &v));
}

/* Two sizes that one operation makes equal to the same number are two facts, though both are that number by then. */
static void test_facts_of_one_number(void **state)
{
    world *w = *state;
    kn_facts f = {0};
    const char *const names[] = {"N", "M"};
    for (int i = 0; i < 2; i++) {
        kn_fact fact = {KN_FACT_EQUAL, dim(w, names[i]), dim(w, "3"), "add", NULL};
        kn_dim_unify(w->s, fact.a, fact.b);
        kn_facts_add(&f, w->s, &w->arena, fact);
    }
    int64_t *values = unbound(w);
    values[symbol(w, "N")] = 3;
    values[symbol(w, "M")] = 4;
    assert_int_equal(kn_facts_check(&f, w->s, &w->arena, values), KN_SHAPE);
}

/* What is of two sizes has the value of its parts, whatever it was said to equal; what is known needs no symbol. */
static void test_functions(void **state)
{
    world *w = *state;
    kn_symbols *s = w->s;
    kn_dim n = dim(w, "N"), zero = dim(w, "0"), two = dim(w, "2");
    kn_dim less = kn_dim_sub(s, n, two), cut = kn_dim_max(s, less, zero);
    assert_string_equal(text_of(w, cut), "max(N - 2, 0)");
    assert_true(kn_dim_equal(s, cut, kn_dim_max(s, less, zero)));
    assert_true(kn_dim_equal(s, kn_dim_min(s, less, n), less));
    assert_true(kn_dim_equal(s, kn_dim_max(s, n, zero), n));
    assert_true(kn_dim_equal(s, kn_dim_floordiv(s, dim(w, "4*N"), two), dim(w, "2*N")));
    assert_true(kn_dim_equal(s, kn_dim_floordiv(s, kn_dim_const(s, -7), two), kn_dim_const(s, -4)));
    kn_dim half = kn_dim_floordiv(s, n, two);
    assert_string_equal(text_of(w, half), "(N)//(2)");
    assert_true(kn_dim_not_negative(s, half));
    assert_false(kn_dim_not_negative(s, less));
    assert_int_equal(kn_dim_unify(s, cut, dim(w, "M")), KN_UNIFIED);

    int64_t *values = unbound(w), v;
    values[symbol(w, "N")] = 1;
    values[symbol(w, "M")] = 5;
    assert_int_equal(kn_symbols_derive(s, &w->arena, values), KN_OK);
    assert_true(kn_dim_eval(cut, values, &v));
    assert_int_equal(v, 0);
    assert_true(kn_dim_eval(half, values, &v));
    assert_int_equal(v, 0);
    kn_dim num, den;
    assert_null(kn_dim_take_exact(s, cut, &num, &den));
    assert_string_equal(text_of(w, kn_dim_take_exact(s, half, &num, &den)), "N/2");
}

static void test_facts(void **state)
{
    world *w = *state;
    kn_facts f = {0};
    kn_fact same = {KN_FACT_EQUAL, dim(w, "N"), dim(w, "M"), "add of [N] and [M]", NULL};
    kn_facts_add(&f, w->s, &w->arena, same);
    kn_facts_add(&f, w->s, &w->arena, same);
    assert_int_equal(f.list.len, 1);
    kn_fact four = {KN_FACT_DIVIDES, dim(w, "N"), dim(w, "4"), "stated",
                    "f:1:2: assert N % 4 == 0"};
    kn_facts_add(&f, w->s, &w->arena, four);
    kn_fact trivial = {KN_FACT_DIVIDES, dim(w, "8"), dim(w, "4"), "the constraint", NULL};
    kn_facts_add(&f, w->s, &w->arena, trivial);
    kn_fact evident = {KN_FACT_LESS, dim(w, "2"), dim(w, "3"), "assignment", NULL};
    kn_facts_add(&f, w->s, &w->arena, evident);
    assert_int_equal(f.list.len, 2);
    kn_fact never = {KN_FACT_LESS, dim(w, "3"), dim(w, "2"), "assignment", NULL};
    kn_fact divided = {KN_FACT_DIVIDES, dim(w, "N + M"), dim(w, "2*N"), "stated", NULL};
    kn_facts other = {0};
    kn_facts_add(&other, w->s, &w->arena, never);
    kn_facts_add(&other, w->s, &w->arena, divided);
    assert_int_equal(other.list.len, 2);
    kn_text text = kn_text_new(&w->arena);
    kn_fact_print(&text, w->s, &other.list.data[1]);
    assert_string_equal(kn_text_str(&text), "(N + M) % (2*N) == 0");

    kn_dim gap = kn_dim_sub(w->s, dim(w, "P"), dim(w, "V"));
    assert_false(kn_facts_not_negative(&other, w->s, gap));
    kn_fact less = {KN_FACT_LESS, dim(w, "V"), dim(w, "P"), "stated", NULL};
    kn_facts_add(&other, w->s, &w->arena, less);
    assert_true(kn_facts_not_negative(&other, w->s, kn_dim_sub(w->s, gap, dim(w, "1"))));
    assert_false(kn_facts_not_negative(&other, w->s, kn_dim_sub(w->s, gap, dim(w, "2"))));

    int64_t *values = unbound(w);
    values[symbol(w, "N")] = values[symbol(w, "M")] = 8;
    assert_int_equal(kn_facts_check(&f, w->s, &w->arena, values), KN_OK);
    values[symbol(w, "M")] = 3;
    assert_int_equal(kn_facts_check(&f, w->s, &w->arena, values), KN_SHAPE);
    assert_string_equal(kn_last_error(),
                        "add of [N] and [M] needs N == M, but it is 8 == 3 (N is 8, M is 3)");
    values[symbol(w, "N")] = values[symbol(w, "M")] = 6;
    assert_int_equal(kn_facts_check(&f, w->s, &w->arena, values), KN_SHAPE);
    assert_string_equal(kn_last_error(), "f:1:2: assert N % 4 == 0, but N is 6");
    values[symbol(w, "M")] = KN_UNBOUND;
    assert_int_equal(kn_facts_check(&f, w->s, &w->arena, values), KN_SHAPE);
}

/* The size of a ring buffer that drops its first row and appends one, again and again: each is made of the one before
 * it twice. It is there once, whoever asks, its text stays short, and so does what it takes. */
static void test_nested(void **state)
{
    enum { STEPS = 5000 };
    world *w = *state;
    kn_symbols *s = w->s;
    kn_dim n = dim(w, "N"), one = dim(w, "1"), two = dim(w, "2"), zero = dim(w, "0");
    int before = kn_symbols_count(s);
    for (int i = 0; i < STEPS; i++) {
        kn_dim rest = kn_dim_max(s, kn_dim_sub(s, n, one), zero), first = kn_dim_min(s, n, two);
        assert_ptr_equal(kn_dim_min(s, n, two), first);
        n = kn_dim_add(s, rest, first);
        assert_non_null(n);
        assert_true(strlen(text_of(w, n)) < 1000);
        assert_true(kn_dim_not_negative(s, n));
    }
    assert_int_equal(kn_symbols_count(s), before + 2 * STEPS);
    assert_non_null(strstr(text_of(w, n), KN_DIM_CUT));
    kn_symbols *copy = kn_symbols_clone(&w->arena, s);
    assert_string_equal(text_of(w, n), text_of(w, kn_dim_copy(copy, n)));

    int64_t *values = unbound(w), v;
    values[symbol(w, "N")] = 7;
    assert_int_equal(kn_symbols_derive(s, &w->arena, values), KN_OK);
    assert_true(kn_dim_eval(n, values, &v));
    assert_int_equal(v, 7 + STEPS);
}

/* What an array is cut into is as long as the array. */
static void test_cut(void **state)
{
    world *w = *state;
    kn_symbols *s = w->s;
    const struct {
        const char *n, *at;
    } cuts[] = {{"N", "1"}, {"N", "K"}, {"2*N + M", "M + 3"}, {"N*M", "K*K"}};
    kn_dim zero = dim(w, "0"), three = dim(w, "3"), k = dim(w, "K + 2");
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        kn_dim n = dim(w, cuts[i].n), at = dim(w, cuts[i].at);
        kn_dim rest = kn_dim_max(s, kn_dim_sub(s, n, at), zero), first = kn_dim_min(s, at, n);
        assert_ptr_equal(kn_dim_add(s, rest, first), n);
        assert_ptr_equal(kn_dim_add(s, kn_dim_min(s, n, at), rest), n);
        assert_ptr_equal(kn_dim_add(s, kn_dim_max(s, n, at), first), kn_dim_add(s, n, at));
        assert_ptr_equal(kn_dim_add(s, kn_dim_mul(s, first, three),
                                    kn_dim_add(s, kn_dim_mul(s, rest, three), k)),
                         kn_dim_add(s, kn_dim_mul(s, n, three), k));
        /* neither one and a half of it, nor parts of different arrays */
        assert_ptr_not_equal(kn_dim_add(s, kn_dim_add(s, rest, rest), first), n);
        kn_dim other = kn_dim_min(s, kn_dim_add(s, at, three), n);
        assert_int_equal(kn_dim_add(s, rest, other) == n, false);
    }
}

/* What is made of sizes that turn out to be equal is one size. */
static void test_parts_that_are_equal(void **state)
{
    world *w = *state;
    kn_symbols *s = w->s;
    kn_dim two = dim(w, "2"), of_m = kn_dim_floordiv(s, dim(w, "M + K"), two);
    assert_int_equal(kn_dim_unify(s, dim(w, "N"), dim(w, "M")), KN_UNIFIED);
    assert_int_equal(kn_dim_unify(s, dim(w, "K"), dim(w, "3")), KN_UNIFIED);
    assert_ptr_equal(kn_dim_floordiv(s, dim(w, "N + 3"), two), of_m);
    kn_symbols *within = kn_symbols_within(&w->arena, s);
    assert_ptr_equal(kn_dim_floordiv(within, dim(w, "N + 3"), two), of_m);
    int count = kn_symbols_count(s);
    assert_int_equal(kn_dim_unify(within, dim(w, "N"), dim(w, "A")), KN_UNIFIED);
    assert_ptr_equal(kn_dim_floordiv(within, dim(w, "A + 3"), two), of_m);
    assert_ptr_not_equal(kn_dim_floordiv(s, dim(w, "A + 3"), two), of_m);
    assert_true(kn_symbols_count(s) > count);
    /* however long a chain of equalities is */
    enum { LINKS = 3000 };
    for (int i = LINKS; i > 0; i--)
        kn_dim_unify(s, dim(w, kn_sprintf(&w->arena, "x%d", i)),
                     dim(w, kn_sprintf(&w->arena, "x%d", i - 1)));
    assert_true(kn_dim_equal(s, dim(w, "x0"), dim(w, kn_sprintf(&w->arena, "x%d", LINKS))));
}

static int64_t known(kn_symbols *s, kn_dim a)
{
    int64_t v;
    return kn_dim_is_const(s, a, &v) ? v : -1;
}

/* What is made of sizes that turn out to be known is known, and what is made of that. */
static void test_parts_that_are_known(void **state)
{
    world *w = *state;
    kn_symbols *s = w->s;
    kn_dim n = dim(w, "N"), m = dim(w, "M"), two = dim(w, "2"), eight = dim(w, "8");
    kn_dim quotient = kn_dim_quotient(s, n, eight), half = kn_dim_floordiv(s, n, two);
    kn_dim least = kn_dim_min(s, half, m), most = kn_dim_max(s, kn_dim_add(s, least, two), eight);
    kn_dim apart = kn_dim_quotient(s, m, dim(w, "3")),
           by_zero = kn_dim_floordiv(s, eight, dim(w, "Z"));
    kn_symbols *within = kn_symbols_within(&w->arena, s);
    assert_int_equal(kn_dim_unify(within, n, eight), KN_UNIFIED);
    assert_int_equal(known(within, quotient), 1);
    assert_int_equal(known(within, half), 4);
    assert_string_equal(text_of(w, kn_dim_resolve(within, kn_dim_add(within, half, apart))),
                        "M/3 + 4");
    assert_int_equal(kn_dim_unify(within, m, dim(w, "9")), KN_UNIFIED);
    assert_int_equal(known(within, least), 4);
    assert_int_equal(known(within, most), 8);
    assert_int_equal(known(within, apart), 3);
    assert_int_equal(kn_dim_unify(within, dim(w, "Z"), dim(w, "0")), KN_UNIFIED);
    assert_int_equal(known(within, by_zero), -1);
    assert_int_equal(known(s, half), -1);

    kn_dim chain = m; /* however many depend on each other */
    for (int i = 0; i < 3000; i++)
        chain = kn_dim_floordiv(s, kn_dim_add(s, chain, n), two);
    assert_int_equal(kn_dim_unify(s, m, dim(w, "5")), KN_UNIFIED);
    assert_int_equal(kn_dim_unify(s, n, dim(w, "6")), KN_UNIFIED);
    assert_int_equal(known(s, chain), 5);
}

static void test_clone(void **state)
{
    world *w = *state;
    kn_dim_unify(w->s, dim(w, "N"), dim(w, "M"));
    kn_dim q = kn_dim_quotient(w->s, dim(w, "N*N"), dim(w, "3"));
    kn_symbols *copy = kn_symbols_clone(&w->arena, w->s);
    assert_int_equal(kn_symbols_count(copy), kn_symbols_count(w->s));
    assert_true(kn_dim_equal(copy, kn_dim_copy(copy, dim(w, "N")), kn_dim_copy(copy, dim(w, "M"))));
    assert_true(kn_dim_copy(copy, q) ==
                kn_dim_quotient(copy, kn_dim_copy(copy, dim(w, "N*N")), kn_dim_const(copy, 3)));
    kn_dim_sym(copy, "Z", 1);
    assert_int_equal(symbol(w, "Z"), -1);
    assert_null(kn_dim_copy(copy, NULL));
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(test_polynomials),
        test(test_texts),
        test(test_too_large),
        test(test_quotients),
        test(test_product_text),
        test(test_text_divides),
        test(test_unify),
        test(test_parts_that_are_known),
        test(test_derive_both_ways),
        test(test_solve),
        test(test_eval_overflow),
        test(test_facts),
        test(test_facts_of_one_number),
        test(test_functions),
        test(test_nested),
        test(test_cut),
        test(test_parts_that_are_equal),
        test(test_clone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
