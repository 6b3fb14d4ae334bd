/* Partitions as numbers, and what they must not separate. */
#include "codegen/plan/parts.h"
#include "codegen/plan/partition.h"
#include "ir/view.h"

/* Nodes of a form: of longer ones the first. */
enum { LONGEST_BOND = 24 };

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

const int *kn_parts_with(kn_arena *a, const kn_graph *g, const int *part_of, kn_merge more)
{
    const int x = part_of[more.a], y = part_of[more.b], first = x < y ? x : y;
    int *of = kn_alloc_copy(a, part_of, sizeof *of * (size_t)(g->nodes.len + 1));
    for (int i = 0; i < g->nodes.len; i++)
        of[i] = of[i] == x || of[i] == y ? first : of[i];
    return of;
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
    return k < n->nin ? kn_base_of(g, n, k) : n;
}

/* Nodes that a form of a loop nest is made of: the reduction first, each with the one that uses it. */
typedef struct form {
    const kn_node *node[LONGEST_BOND], *user[LONGEST_BOND];
    int n;
} form;

static const kn_node *add(form *f, const kn_node *node, const kn_node *user)
{
    if (f->n < LONGEST_BOND) {
        f->node[f->n] = node;
        f->user[f->n++] = user;
    }
    return node;
}

/* From a reduction of the squares of x - mean(x) to the reduction of x. A mean may be a sum that is divided, by a count
 * that is computed. */
static bool follow_squares(const kn_graph *g, const kn_node *n, form *f)
{
    const kn_node *square = operand(g, n, 0), *d = operand(g, square, 0), *m = operand(g, d, 1);
    if (kn_ops[n->op].cls != KN_REDUCE || square->op != KN_OP_MUL ||
        square->in[0] != square->in[1] || d->op != KN_OP_SUB)
        return false;
    add(f, n, n);
    add(f, square, n);
    add(f, d, square);
    add(f, m, d);
    if (m->op == KN_OP_DIV || m->op == KN_OP_MUL) {
        const kn_node *quotient = m, *count = operand(g, m, 1);
        if (kn_is_value(count))
            add(f, count, quotient);
        m = add(f, operand(g, quotient, 0), quotient);
    }
    return kn_ops[m->op].cls == KN_REDUCE && operand(g, m, 0) == operand(g, d, 0);
}

/* What a destination is computed of. */
static void add_operands(const kn_graph *g, const kn_node *n, form *f)
{
    for (int k = 0; k < n->nin; k++) {
        const kn_node *x = operand(g, n, k);
        if (kn_ops[x->op].cls == KN_ELEM && kn_is_value(x))
            add_operands(g, add(f, x, n), f);
    }
}

/* From a sum of where(destination == index, x, 0) to all that the destination is computed of. */
static bool follow_destinations(const kn_graph *g, const kn_node *n, form *f)
{
    if (n->op != KN_OP_SUM || operand(g, n, 0)->op != KN_OP_WHERE)
        return false;
    add(f, n, n);
    n = add(f, operand(g, n, 0), n);
    n = add(f, operand(g, n, 0), n);
    while (n->op == KN_OP_AND && f->n < LONGEST_BOND)
        n = add(f, operand(g, n, operand(g, n, 0)->op == KN_OP_AND ? 0 : 1), n);
    if (n->op != KN_OP_EQ ||
        (operand(g, n, 0)->op != KN_OP_IOTA && operand(g, n, 1)->op != KN_OP_IOTA))
        return false;
    add_operands(g, n, f);
    return true;
}

/* The planner corrects a variance for the rounding of its mean if both are in one region
 * (codegen/plan/form/moments.c), and makes a scatter sum of one that compares destinations, which adds in the order of its
 * members (codegen/kir/scatter_sum.h). So what is together in the first plan stays together. first: its regions; NULL:
 * bonds->reductions says what is together. */
static void find_bonds(kn_arena *a, const kn_graph *g, const kn_regions *first, kn_bonds *bonds)
{
    for (int i = 0; i < g->nodes.len; i++) {
        form squares = {.n = 0}, destinations = {.n = 0};
        const form *f = follow_squares(g, g->nodes.data[i], &squares)             ? &squares
                        : follow_destinations(g, g->nodes.data[i], &destinations) ? &destinations
                                                                                  : NULL;
        bool bonded = f && (first || bonds->reductions >> i & 1);
        for (int k = 1; bonded && first && k < f->n; k++)
            bonded = first->of[f->node[k]->id] == first->of[i];
        for (int k = 1; bonded && k < f->n; k++)
            kn_push(a, &bonds->merges, ((kn_merge){f->node[k]->id, f->user[k]->id}));
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
