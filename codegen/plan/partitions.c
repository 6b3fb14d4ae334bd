/* Partitions that were found: the same problem is searched once. */
#include <string.h>

#include "codegen/plan/partition.h"
#include "codegen/plan/search.h"

/* Partitions that are kept; one more drops all others. No plan depends on which are kept, for a search finds the
 * same. */
enum { MOST_FOUND = 1024 };

typedef struct found {
    kn_partition partition;
    int64_t key[];
} found;

void kn_partitions_init(kn_partitions *known, const kn_allocator *from)
{
    known->from = *from;
    pthread_mutex_init(&known->lock, NULL);
    kn_table_init(&known->found, from);
}

static void forget_all(kn_partitions *known)
{
    found *f;
    for (const kn_table_entry *at = NULL; (f = kn_table_next(&known->found, &at));)
        known->from.release(known->from.user, f);
    kn_table_finish(&known->found);
    kn_table_init(&known->found, &known->from);
}

void kn_partitions_finish(kn_partitions *known)
{
    forget_all(known);
    kn_table_finish(&known->found);
    pthread_mutex_destroy(&known->lock);
}

/* ---- what a partition follows from ---- */

static void put(kn_arena *a, kn_partition_key *k, const int64_t *numbers, int n)
{
    for (int i = 0; i < n; i++)
        kn_push(a, k, numbers[i]);
}

static void put_layouts(kn_arena *a, kn_partition_key *k, const kn_layout *layouts, int n)
{
    for (int i = 0; i < n; i++) {
        put(a, k, (const int64_t[]){layouts[i].rank, layouts[i].offset, layouts[i].align}, 3);
        put(a, k, layouts[i].shape, layouts[i].rank);
        put(a, k, layouts[i].stride, layouts[i].rank);
    }
}

kn_partition_key kn_partition_key_of(kn_arena *a, const kn_problem *pr)
{
    const kn_graph *g = pr->graph;
    const kn_target *t = pr->target;
    const kn_force *f = &pr->force;
    kn_partition_key k = {0};
    const int64_t where[] = {t->sm,
                             t->units,
                             t->max_block,
                             t->max_threads_unit,
                             t->smem_block,
                             t->cooperative,
                             t->cluster,
                             f->division,
                             f->cluster,
                             f->reuse,
                             f->max_threads,
                             f->assembling,
                             pr->inside && pr->nested};
    put(a, &k, where, sizeof where / sizeof *where);
    put(a, &k, pr->sizes, kn_symbols_count(g->syms));
    kn_push(a, &k, (int64_t)kn_graph_hash(a, g)); /* a program has several forms */
    kn_push(a, &k, g->outputs.len);
    for (int o = 0; o < g->outputs.len; o++)
        kn_push(a, &k, g->outputs.data[o].place != NULL);
    for (int i = 0; i < g->inputs.len; i++)
        kn_push(a, &k, pr->over ? pr->over[i] : -1);
    put_layouts(a, &k, pr->in, g->inputs.len);
    put_layouts(a, &k, pr->out, g->outputs.len);
    return k;
}

/* ---- memory ---- */

bool kn_partitions_recall(kn_partitions *known, const kn_partition_key *k, kn_partition *partition)
{
    pthread_mutex_lock(&known->lock);
    const found *f = kn_table_find(&known->found, k->data, sizeof *k->data * (size_t)k->len);
    if (f)
        *partition = f->partition;
    pthread_mutex_unlock(&known->lock);
    return f;
}

void kn_partitions_keep(kn_partitions *known, const kn_partition_key *k,
                        const kn_partition *partition)
{
    size_t size = sizeof *k->data * (size_t)k->len;
    found *f = known->from.alloc(known->from.user, sizeof *f + size);
    if (!f)
        return;
    f->partition = *partition;
    memcpy(f->key, k->data, size);
    pthread_mutex_lock(&known->lock);
    if (kn_table_count(&known->found) == MOST_FOUND)
        forget_all(known);
    bool there = kn_table_find(&known->found, f->key, size); /* another thread was as quick */
    if (there || kn_table_add(&known->found, f->key, size, f) != KN_OK) {
        known->from.release(known->from.user, f);
        kn_clear_error();
    }
    pthread_mutex_unlock(&known->lock);
}
