/* No order of merging does better: for small random programs every partition into loop nests that can be reached by merging
 * two that touch, one pair after the other, is tried, and the optimiser's has as few loop nests as the best. */
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

enum { WANTED = 60, MOST_VALUES = 9, ELEMENTS = 6000, MOST_SEEDS = 4000 };

typedef struct search {
    kn_arena *a;
    kn_graph *g;
    const int64_t *sizes;
    int values[MOST_VALUES], n; /* the nodes that regions are made of */
    KN_VEC(uint64_t) seen;      /* partitions: four bits a value, the first value that is with it */
    int fewest;
} search;

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

/* What merging these pairs, in order, leads to; NULL where one is refused. */
static kn_former *replay(search *s, const int8_t *order, int merges)
{
    kn_former *f = kn_regions_begin(s->a, s->g, s->sizes, true);
    for (int i = 0; i < merges; i++)
        if (!kn_region_merge(f, kn_region_find(f, s->values[order[2 * i]]),
                             kn_region_find(f, s->values[order[2 * i + 1]])))
            return NULL;
    return f;
}

/* Goes on from the partition that the merges of order[] lead to. */
static void explore(search *s, int8_t *order, int merges)
{
    kn_former *f = replay(s, order, merges);
    if (!f)
        return;
    uint64_t here = partition_of(s, f);
    for (int i = 0; i < s->seen.len; i++)
        if (s->seen.data[i] == here)
            return;
    kn_push(s->a, &s->seen, here);
    s->fewest = s->n - merges < s->fewest ? s->n - merges : s->fewest;
    for (int j = 1; j < s->n; j++)
        for (int i = 0; i < j; i++) {
            if (first_with(here, i) == first_with(here, j) || !touch(s, i, j))
                continue;
            order[2 * merges] = (int8_t)i;
            order[2 * merges + 1] = (int8_t)j;
            explore(s, order, merges + 1);
        }
}

/* True when the program is small enough to be searched. */
static bool find_values(search *s)
{
    for (int i = 0; i < s->g->nodes.len; i++) {
        if (!kn_is_value(s->g->nodes.data[i]))
            continue;
        if (s->n == MOST_VALUES)
            return false;
        s->values[s->n++] = i;
    }
    s->fewest = s->n;
    return s->n > 2;
}

static void test_fewest(void **state)
{
    (void)state;
    int searched = 0, merged = 0, worse = 0;
    uint64_t first = setting("KILN_SEED", 1), most = setting("KILN_FUZZ", MOST_SEEDS);
    for (uint64_t seed = first; seed < first + most && searched < WANTED; seed++) {
        kn_arena a;
        kn_arena_init(&a, NULL);
        program *p = program_make(&a, seed, ELEMENTS);
        search s = {.a = &a, .sizes = p->sizes};
        s.g = kn_graph_optimise(&a, p->graph, false, NULL);
        s.g = s.g ? kn_refine(&a, s.g, true, &s.sizes) : NULL;
        assert_non_null(s.g);
        if (find_values(&s)) {
            int8_t order[2 * MOST_VALUES];
            int got = kn_regions_form(&a, s.g, s.sizes, true)->list.len;
            explore(&s, order, 0);
            searched++;
            merged += s.fewest < s.n;
            if (got > s.fewest) {
                kn_text t = kn_text_new(&a);
                kn_graph_print(&t, s.g, false);
                print_error("KILN_SEED=%llu: %d loop nests, and %d of %d values can be\n%s",
                            (unsigned long long)seed, got, s.fewest, s.n, kn_text_str(&t));
                worse++;
            }
        }
        kn_arena_finish(&a);
    }
    print_message("%d programs searched, %d of which merge\n", searched, merged);
    assert_int_equal(worse, 0);
    assert_true(searched >= WANTED && merged > searched / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fewest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
