/* Sizes that stand for all: what a plan decides by cost it decides for them. They are to have nothing in common by chance,
 * for a plan may ask whether one divides another. */
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

static kn_status bind(kn_arena *a, const kn_graph *g, sizing size_of, kn_binding *b)
{
    const int nsym = kn_symbols_count(g->syms);
    int64_t *sizes = KN_NEW_ARRAY(a, int64_t, nsym + 1);
    kn_arg *args = KN_NEW_ARRAY(a, kn_arg, g->inputs.len + 1);
    int open = 0, n = 0, nargs = 0;
    for (int s = 0; s < nsym; s++)
        open += kn_symbol_is_open(g->syms, s);
    for (int s = 0; s < nsym; s++)
        sizes[s] = kn_symbol_is_open(g->syms, s) ? size_of(n++, open) : KN_UNBOUND;
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
