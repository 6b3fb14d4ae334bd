/* Partitions as numbers, and what they must not separate. */
#include "codegen/plan/parts.h"
#include "codegen/plan/partition.h"
#include "ir/view.h"

enum { LONGEST_BOND = 8 };

/* ---- parts ---- */

const int *kn_parts_of(kn_arena *a, const kn_regions *r)
{
    int n = r->graph->nodes.len, *of = KN_NEW_ARRAY(a, int, n + 1);
    for (int i = 0; i < n; i++)
        of[i] = r->of[i] ? r->of[i]->nodes.data[0]->id : -1;
    return of;
}

static int find(int *of, int i)
{
    while (of[i] != i)
        i = of[i] = of[of[i]];
    return i;
}

static void unite(int *of, int a, int b)
{
    int x = find(of, a), y = find(of, b);
    of[x > y ? x : y] = x < y ? x : y;
}

/* But for what the ranks have of one value, which is one exchange. */
static int *each_alone(kn_arena *a, const kn_graph *g)
{
    int *of = KN_NEW_ARRAY(a, int, g->nodes.len + 1);
    for (int i = 0; i < g->nodes.len; i++)
        of[i] = i;
    for (int i = 0; i < g->nodes.len; i++)
        for (int j = i - 1; j >= 0 && g->nodes.data[i]->op == KN_OP_OF_RANK; j--)
            if (kn_same_exchange(g->nodes.data[i], g->nodes.data[j]))
                unite(of, i, j);
    return of;
}

static const int *unite_all(const kn_graph *g, int *of, const kn_merge *merges, int n)
{
    for (int i = 0; i < n; i++)
        unite(of, merges[i].a, merges[i].b);
    for (int i = g->nodes.len - 1; i >= 0; i--)
        of[i] = kn_is_value(g->nodes.data[i]) ? find(of, i) : -1;
    return of;
}

const int *kn_parts_by(kn_arena *a, const kn_graph *g, const kn_merge *merges, int n)
{
    return unite_all(g, each_alone(a, g), merges, n);
}

const int *kn_parts_separate(kn_arena *a, const kn_graph *g, const kn_bonds *bonds)
{
    int *of = each_alone(a, g);
    for (int o = 0; o < g->outputs.len; o++) {
        const kn_node *n = g->outputs.data[o].node;
        const kn_node *shown = kn_is_output_copy(g, n) ? kn_shown_value(n) : NULL;
        if (shown)
            unite(of, n->id, shown->id);
    }
    return unite_all(g, of, bonds->merges.data, bonds->merges.len);
}

const int *kn_parts_whole(kn_arena *a, const kn_graph *g)
{
    int *of = KN_NEW_ARRAY(a, int, g->nodes.len + 1), first = -1;
    for (int i = 0; i < g->nodes.len; i++) {
        first = first < 0 && kn_is_value(g->nodes.data[i]) ? i : first;
        of[i] = kn_is_value(g->nodes.data[i]) ? first : -1;
    }
    return of;
}

/* ---- what must stay together ---- */

static const kn_node *operand(const kn_graph *g, const kn_node *n, int k)
{
    return k < n->nin ? kn_use_of(g, n, k).base : n;
}

/* Follows operands from a reduction of the squares of x - mean(x) to the reduction of x; returns the length of the
 * chain of nodes, 0 if there is none. A mean may be a sum that is divided, by a count that is computed. */
static int follow_squares(const kn_graph *g, const kn_node *n, const kn_node **chain)
{
    const kn_node *square = operand(g, n, 0), *d = operand(g, square, 0), *m = operand(g, d, 1);
    const kn_node *nodes[] = {n, square, d, m};
    int length = 0;
    if (kn_ops[n->op].cls != KN_REDUCE || square->op != KN_OP_MUL ||
        square->in[0] != square->in[1] || d->op != KN_OP_SUB)
        return 0;
    while (length < 4) {
        chain[length] = nodes[length];
        length++;
    }
    if (m->op == KN_OP_DIV || m->op == KN_OP_MUL) {
        const kn_node *count = operand(g, m, 1);
        if (kn_is_value(count))
            chain[length++] = count;
        chain[length++] = m = operand(g, m, 0);
    }
    return kn_ops[m->op].cls == KN_REDUCE && operand(g, m, 0) == operand(g, d, 0) ? length : 0;
}

/* Follows operands from a sum of where(place == index, x, 0) to the comparison. */
static int follow_places(const kn_graph *g, const kn_node *n, const kn_node **chain)
{
    int length = 0;
    if (n->op != KN_OP_SUM || operand(g, n, 0)->op != KN_OP_WHERE)
        return 0;
    chain[length++] = n;
    chain[length++] = n = operand(g, n, 0);
    n = operand(g, n, 0);
    while (n->op == KN_OP_AND && length < LONGEST_BOND - 1) {
        chain[length++] = n;
        n = operand(g, n, operand(g, n, 0)->op == KN_OP_AND ? 0 : 1);
    }
    chain[length++] = n;
    return n->op == KN_OP_EQ &&
                   (operand(g, n, 0)->op == KN_OP_IOTA || operand(g, n, 1)->op == KN_OP_IOTA)
               ? length
               : 0;
}

/* The planner corrects a variance for the rounding of its mean if both are in one region
 * (codegen/plan/form/moments.c), and makes a scatter sum of one that compares places (codegen/kir/scatter_sum.h). So
 * what is together in the first plan stays together. first: its regions; NULL: bonds->reductions says what is
 * together. */
static void find_bonds(kn_arena *a, const kn_graph *g, const kn_regions *first, kn_bonds *bonds)
{
    const kn_node *chain[LONGEST_BOND];
    for (int i = 0; i < g->nodes.len; i++) {
        int length = follow_squares(g, g->nodes.data[i], chain);
        length = length ? length : follow_places(g, g->nodes.data[i], chain);
        if (!length)
            continue;
        bool bonded = first || bonds->reductions >> i & 1;
        for (int k = 1; first && k < length; k++)
            bonded = bonded && first->of[chain[k]->id] == first->of[i];
        for (int k = 1; bonded && k < length; k++)
            kn_push(a, &bonds->merges, ((kn_merge){chain[k]->id, chain[k - 1]->id}));
        if (bonded && i < KN_MOST_SEARCHED)
            bonds->reductions |= (uint64_t)1 << i;
    }
}

void kn_bonds_find(kn_arena *a, const kn_regions *first, kn_bonds *bonds)
{
    find_bonds(a, first->graph, first, bonds);
}

void kn_bonds_recall(kn_arena *a, const kn_graph *g, kn_bonds *bonds)
{
    find_bonds(a, g, NULL, bonds);
}

bool kn_bonds_hold(const kn_bonds *bonds, const int *part_of)
{
    for (int i = 0; i < bonds->merges.len; i++)
        if (part_of[bonds->merges.data[i].a] != part_of[bonds->merges.data[i].b])
            return false;
    return true;
}
