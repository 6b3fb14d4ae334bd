/* Sizes to plan for: those given as text, and examples for the rest. Decisions by cost are made for these. They must
 * share no factor by accident, since a plan may ask whether one divides another. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/emit/impl.h"

typedef int64_t (*sizing)(int i, int n);

static int64_t large_primes(int i, int n)
{
    static const int64_t primes[] = {1009, 1013, 1019, 1021, 1031, 1033, 1039, 1049};
    (void)n;
    return primes[i % 8];
}

static int64_t small_primes(int i, int n)
{
    static const int64_t primes[] = {37, 41, 43, 47, 53, 59, 61, 67};
    (void)n;
    return primes[i % 8];
}

/* Each divides the next; each the one before. */
static int64_t rising(int i, int n)
{
    (void)n;
    return (int64_t)16 << (i % 10);
}

static int64_t falling(int i, int n) { return (int64_t)16 << ((n - 1 - i) % 10); }

static int64_t equal(int i, int n)
{
    (void)i, (void)n;
    return KN_ASSUMED_SIZE;
}

/* With many divisors. */
static int64_t round_number(int i, int n)
{
    (void)i, (void)n;
    return 240;
}

/* sizes: of the open symbols; the others are derived */
static kn_status bind_sizes(kn_arena *a, const kn_graph *g, int64_t *sizes, kn_binding *b)
{
    kn_arg *args = KN_NEW_ARRAY(a, kn_arg, g->inputs.len + 1);
    int nargs = 0;
    KN_TRY(kn_symbols_derive(g->syms, a, sizes));
    for (int i = 0; i < g->inputs.len; i++) {
        const kn_input *in = &g->inputs.data[i];
        if (in->by_value)
            continue;
        int64_t *shape = KN_NEW_ARRAY(a, int64_t, KN_MAX_RANK);
        KN_TRY(kn_node_sizes(in->node, sizes, shape));
        args[nargs++] = (kn_arg){.name = in->name,
                                 .dtype = (int)in->node->dtype,
                                 .rank = in->node->rank,
                                 .shape = shape};
    }
    return kn_bind(a, g, args, nargs, KN_BIND_ASSUME, b);
}

static int64_t *no_sizes(kn_arena *a, const kn_graph *g)
{
    const int n = kn_symbols_count(g->syms);
    int64_t *sizes = KN_NEW_ARRAY(a, int64_t, n + 1);
    for (int s = 0; s < n; s++)
        sizes[s] = KN_UNBOUND;
    return sizes;
}

static kn_status bind(kn_arena *a, const kn_graph *g, sizing size_of, kn_binding *b)
{
    const int nsym = kn_symbols_count(g->syms);
    int64_t *sizes = no_sizes(a, g);
    int open = 0, n = 0;
    for (int s = 0; s < nsym; s++)
        open += kn_symbol_is_open(g->syms, s);
    for (int s = 0; s < nsym; s++)
        sizes[s] = kn_symbol_is_open(g->syms, s) ? size_of(n++, open) : KN_UNBOUND;
    return bind_sizes(a, g, sizes, b);
}

/* The open symbol of that name; -1: there is none. */
static int find_symbol(const kn_graph *g, const char *name, size_t n)
{
    for (int s = 0; s < kn_symbols_count(g->syms); s++) {
        const char *is = kn_symbol_name(g->syms, s);
        if (kn_symbol_is_open(g->syms, s) && strlen(is) == n && memcmp(is, name, n) == 0)
            return s;
    }
    return -1;
}

kn_status kn_bind_given(kn_arena *a, const kn_graph *g, const char *text, kn_binding *b)
{
    int64_t *sizes = no_sizes(a, g);
    for (const char *at = text + strspn(text, " ,"); *at; at += strspn(at, " ,")) {
        const size_t n = strcspn(at, "= ,");
        const int sym = find_symbol(g, at, n);
        char *end = NULL;
        if (at[n] != '=' || !isdigit((unsigned char)at[n + 1]))
            return kn_fail(KN_ARGUMENT, "sizes are given as N=8 C=64, not as '%s'", text);
        if (sym < 0)
            return kn_fail(KN_ARGUMENT, "%s has no size '%.*s'", g->name, (int)n, at);
        errno = 0;
        sizes[sym] = strtoll(at + n + 1, &end, 10);
        if (errno)
            return kn_fail(KN_ARGUMENT, "the size of %.*s is out of range", (int)n, at);
        at = end;
    }
    for (int s = 0; s < kn_symbols_count(g->syms); s++)
        if (kn_symbol_is_open(g->syms, s) && sizes[s] == KN_UNBOUND)
            return kn_fail(KN_ARGUMENT, "'%s' does not say what %s is", text,
                           kn_symbol_name(g->syms, s));
    return bind_sizes(a, g, sizes, b);
}

kn_status kn_bind_example(kn_arena *a, const kn_graph *g, kn_binding *b)
{
    static const sizing all[] = {large_primes, small_primes, falling, rising, equal, round_number};
    kn_status status = KN_OK;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        status = bind(a, g, all[i], b);
        if (status == KN_OK)
            break;
        if (i + 1 < sizeof all / sizeof *all)
            kn_clear_error();
    }
    return status;
}
