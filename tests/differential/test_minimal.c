/* No other way does better: of small random programs every partition into loop nests that can be reached by merging two
 * that touch, one pair after the other, is tried, and with each every way to keep or compute again what crosses between
 * loop nests. What the optimiser makes has as few launches, global temporaries and grid barriers as the one of them that
 * has the fewest of each, and as few loop nests as any that has as few of these. docs/optimizer.md says which other
 * series of programs were searched.
 *
 * KILN_FUZZ: how many programs are looked at; KILN_SEED: the first one's seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/pass/pass.h"
#include "ir/region_impl.h"
#include "tests/differential/program.h"
#include "tests/effort.h"

enum {
    WANTED = EFFORT(60, 10),
    LEAST_OPERATIONS = 5,
    MOST_OPERATIONS = 40,
    MOST_VALUES = 9,
    MOST_PLACED = 6, /* values that a plan may keep or compute again */
    ELEMENTS = 6000,
    FIRST_SEED = 1,
    MOST_SEEDS = 4000
};

/* What there is of each in a plan. */
typedef struct counted {
    int launches, grid, temporaries, nests;
} counted;

typedef struct search {
    kn_arena *a;
    const program *p;
    kn_program *prog;
    kn_graph *g; /* refined */
    const int64_t *sizes;
    int values[MOST_VALUES], n; /* the nodes that regions are made of */
    KN_VEC(uint64_t) seen;      /* partitions: four bits a value, the first value that is with it */
    int fewest;                 /* loop nests */
    KN_VEC(counted) found;
} search;

/* ---- partitions ---- */

static uint64_t partition_of(const search *s, kn_former *f)
{
    uint64_t key = 0;
    for (int i = 0; i < s->n; i++)
        for (int j = 0; j <= i; j++)
            if (kn_region_find(f, s->values[j]) == kn_region_find(f, s->values[i])) {
                key |= (uint64_t)j << 4 * i;
                break;
            }
    return key;
}

static int first_with(uint64_t partition, int i) { return (int)(partition >> 4 * i & 15); }

/* Does value j read value i, or do both read one array? */
static bool touch(const search *s, int i, int j)
{
    const kn_node *a = s->g->nodes.data[s->values[i]], *b = s->g->nodes.data[s->values[j]];
    for (int k = 0; k < b->nin; k++) {
        const kn_node *x = kn_use_of(s->g, b, k).base;
        if (x == a)
            return true;
        for (int l = 0; l < a->nin; l++)
            if (kn_use_of(s->g, a, l).base == x && !kn_is_uniform_leaf(x))
                return true;
    }
    return false;
}

/* What these merges lead to; NULL where one is refused. */
static kn_former *replay(search *s, const kn_merge *merges, int n)
{
    kn_former *f = kn_regions_begin(s->a, s->g, s->sizes, true);
    for (int i = 0; i < n; i++)
        if (!kn_region_merge(f, kn_region_find(f, merges[i].a), kn_region_find(f, merges[i].b)))
            return NULL;
    return f;
}

/* ---- plans ---- */

/* Counts what they make, of compact arguments, and its loop nests. */
static counted plan(search *s, const kn_choices *choices)
{
    kn_arena a;
    kn_binding b;
    kn_arg args[MAX_ARGS];
    kn_target target;
    kn_plan *made;
    kn_arena_init(&a, NULL);
    kn_text notes = kn_text_new(&a);
    for (int i = 0; i < s->p->graph->inputs.len; i++)
        args[i] = (kn_arg){.name = s->p->graph->inputs.data[i].name,
                           .data = s->p->in[i].block,
                           .dtype = (int)s->p->in[i].dtype,
                           .rank = s->p->in[i].layout.rank,
                           .shape = s->p->in[i].layout.shape};
    assert_true(kn_target_of_arch("sm_90", &target));
    assert_int_equal(
        kn_bind(&a, s->prog->optimised, args, s->p->graph->inputs.len, KN_BIND_INPUTS, &notes, &b),
        KN_OK);
    const kn_problem problem = {.graph = kn_graph_clone(&a, s->prog->optimised),
                                .sizes = b.sizes,
                                .in = b.in,
                                .out = b.out,
                                .over = b.over,
                                .target = &target,
                                .fusion = true,
                                .choices = choices};
    if (kn_plan_make(&a, &problem, &made) != KN_OK)
        fail_msg("KILN_SEED=%llu: %s", (unsigned long long)s->p->seed, kn_last_error());
    counted c = {made->after.launches, made->after.grid, made->after.temporaries,
                 made->regions->list.len};
    kn_arena_finish(&a);
    return c;
}

/* Every way to place what another loop nest reads. */
static void try_placements(search *s, kn_former *f, const kn_merge *merges, int n)
{
    int crossing[MOST_VALUES], count = 0;
    for (int i = 0; i < s->n; i++) {
        const kn_node *x = s->g->nodes.data[s->values[i]];
        bool crosses = false;
        for (int r = 0; r < f->readers[x->id].len; r++)
            crosses = crosses || kn_region_find(f, f->readers[x->id].data[r].node->id) !=
                                     kn_region_find(f, x->id);
        if (crosses && kn_ops[x->op].cls == KN_ELEM && count < MOST_PLACED)
            crossing[count++] = x->id;
    }
    bool *again = KN_NEW_ARRAY(s->a, bool, s->g->nodes.len + 1);
    for (unsigned which = 0; which < 1u << count; which++) {
        for (int i = 0; i < count; i++)
            again[crossing[i]] = which >> i & 1;
        counted c = plan(s, &(kn_choices){merges, n, again});
        kn_push(s->a, &s->found, c);
    }
}

/* Goes on from the partition that the merges lead to. */
static void explore(search *s, kn_merge *merges, int n)
{
    kn_former *f = replay(s, merges, n);
    if (!f)
        return;
    uint64_t here = partition_of(s, f);
    for (int i = 0; i < s->seen.len; i++)
        if (s->seen.data[i] == here)
            return;
    kn_push(s->a, &s->seen, here);
    s->fewest = s->n - n < s->fewest ? s->n - n : s->fewest;
    try_placements(s, f, merges, n);
    for (int j = 1; j < s->n; j++)
        for (int i = 0; i < j; i++) {
            if (first_with(here, i) == first_with(here, j) || !touch(s, i, j))
                continue;
            merges[n] = (kn_merge){s->values[i], s->values[j]};
            explore(s, merges, n + 1);
        }
}

/* ---- programs ---- */

/* What programs are drawn from, so that they stay what they are when operations are added: cheap and dear ones, of one
 * operand to three, and formulas of several operations. */
static const kn_op elem[] = {
    KN_OP_ADD,  KN_OP_SUB, KN_OP_MUL,  KN_OP_DIV,     KN_OP_POW,     KN_OP_NEG,  KN_OP_ABS,
    KN_OP_SQRT, KN_OP_EXP, KN_OP_LOG,  KN_OP_TANH,    KN_OP_SIN,     KN_OP_RINT, KN_OP_SIGN,
    KN_OP_ERF,  KN_OP_MOD, KN_OP_SINH, KN_OP_MINIMUM, KN_OP_MAXIMUM, KN_OP_LT,   KN_OP_EQ,
    KN_OP_AND,  KN_OP_NOT, KN_OP_CAST, KN_OP_WHERE,   KN_OP_CLIP,    KN_OP_RELU, KN_OP_SIGMOID};
static const kn_op reduce[] = {KN_OP_SUM, KN_OP_PROD, KN_OP_MIN,  KN_OP_MAX,
                               KN_OP_ANY, KN_OP_ALL,  KN_OP_MEAN, KN_OP_VAR};
static const vocabulary words = {elem, reduce, (int)(sizeof elem / sizeof *elem),
                                 (int)(sizeof reduce / sizeof *reduce)};

static int operations(const kn_graph *g)
{
    int n = 0;
    for (int i = 0; i < g->nodes.len; i++)
        n += kn_is_value(g->nodes.data[i]);
    return n;
}

/* True when the program is small enough to be searched, and its views need no copies. */
static bool find_values(search *s)
{
    int n = operations(s->p->graph);
    if (n < LEAST_OPERATIONS || n > MOST_OPERATIONS)
        return false;
    for (int i = 0; i < s->g->nodes.len; i++) {
        if (kn_regroups(s->g, s->g->nodes.data[i]))
            return false;
        if (!kn_is_value(s->g->nodes.data[i]))
            continue;
        if (s->n == MOST_VALUES)
            return false;
        s->values[s->n++] = i;
    }
    s->fewest = s->n;
    return s->n > 2;
}

/* What the plan has more of than the best of those found; NULL: nothing. Loop nests are of no use in themselves: one more
 * may save a barrier. */
static const char *excess(const search *s, const counted *own)
{
    for (int i = 0; i < s->found.len; i++) {
        const counted *c = &s->found.data[i];
        if (c->launches < own->launches)
            return "launches";
        if (c->grid < own->grid)
            return "grid barriers";
        if (c->temporaries < own->temporaries)
            return "temporaries";
        if (c->nests < own->nests && c->launches == own->launches && c->grid == own->grid &&
            c->temporaries == own->temporaries)
            return "loop nests";
    }
    return NULL;
}

/* Searches a program. False when it is none to be searched; *good: nothing does better. */
static bool search_program(search *s, bool *good)
{
    kn_merge merges[MOST_VALUES];
    s->g = kn_refine(s->a, kn_graph_clone(s->a, s->prog->optimised), true, &s->sizes);
    assert_non_null(s->g);
    if (!find_values(s))
        return false;
    counted own = plan(s, NULL);
    explore(s, merges, 0);
    const char *more = excess(s, &own);
    *good = !more;
    if (more) {
        kn_text t = kn_text_new(s->a);
        kn_graph_print(&t, s->g, false);
        print_error("KILN_SEED=%llu: too many %s\n%s", (unsigned long long)s->p->seed, more,
                    kn_text_str(&t));
    }
    return true;
}

static void test_fewest(void **state)
{
    (void)state;
    int searched = 0, merged = 0, worse = 0, plans = 0;
    kn_context *ctx;
    assert_int_equal(kn_context_open(&(kn_context_config){.device = "cpu"}, &ctx), KN_OK);
    uint64_t first = setting("KILN_SEED", FIRST_SEED), most = setting("KILN_FUZZ", MOST_SEEDS);
    for (uint64_t seed = first; seed < first + most && searched < WANTED; seed++) {
        kn_arena a;
        bool good;
        kn_arena_init(&a, NULL);
        program *p = program_make_of(&a, seed, ELEMENTS, &words);
        search s = {.a = &a, .p = p, .sizes = p->sizes};
        const kn_program_options options = {.fusion = true};
        assert_int_equal(kn_program_create(ctx, p->graph, &options, &s.prog), KN_OK);
        if (search_program(&s, &good)) {
            searched++;
            worse += !good;
            plans += s.found.len;
            merged += s.fewest < s.n;
        }
        kn_program_destroy(s.prog);
        kn_arena_finish(&a);
    }
    kn_context_close(ctx);
    print_message("%d programs searched, %d of which merge, %d plans made\n", searched, merged,
                  plans);
    assert_int_equal(worse, 0);
    assert_true(searched >= WANTED && merged > searched / 2 && plans > 100 * searched);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fewest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
