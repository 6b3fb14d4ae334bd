/* What it takes to compute a value from arguments once more.
 *
 * A value that one loop nest reads along two orders of its axes, as exp(x) + exp(x).T does, would have to be kept
 * in memory. Where it is elementwise and cheap, and made from arrays no larger than what that would move, it
 * is computed twice instead. */
#include "base/integer.h"
#include "ir/region_impl.h"

/* Additions an element: about what the memory traffic of one float takes on a GPU (50 a load or store). */
enum { CHEAP = 64, NEVER = 1 << 20 };
/* A loop nest with more elements than that for one of the value computes it too often. */
enum { REPEATED = 4 };

int64_t kn_region_elements(const kn_former *f, const kn_dim *shape, int rank)
{
    int64_t n = 1, size;
    for (int i = 0; i < rank; i++)
        if (!kn_dim_eval(shape[i], f->sizes, &size) || __builtin_mul_overflow(n, size, &n))
            return INT64_MAX;
    return n;
}

static int64_t bytes_of(const kn_former *f, const kn_node *n)
{
    return kn_capped_product(kn_region_elements(f, n->shape, n->rank), kn_bytes(n->dtype));
}

static int64_t sum(int64_t a, int64_t b)
{
    int64_t c;
    return __builtin_add_overflow(a, b, &c) ? INT64_MAX : c;
}

void kn_region_costs(kn_former *f)
{
    int n = f->g->nodes.len;
    f->cost = KN_NEW_ARRAY(f->a, int, n + 1);
    f->bytes = KN_NEW_ARRAY(f->a, int64_t, n + 1);
    for (int i = 0; i < n; i++) {
        const kn_node *v = f->g->nodes.data[i];
        if (!kn_is_value(v))
            continue;
        f->cost[i] =
            kn_ops[v->op].cls == KN_REDUCE || v->op == KN_OP_OF_RANK ? NEVER : kn_ops[v->op].cost;
        for (int k = 0; k < v->nin; k++) {
            const kn_node *x = f->use[i][k].base, *root = kn_view_root(x);
            if (k > 0 && v->in[k] == v->in[k - 1])
                continue;
            f->cost[i] += kn_is_value(x) ? f->cost[x->id] : kn_is_value(root) ? NEVER : 0;
            f->bytes[i] = sum(f->bytes[i], kn_is_value(x)          ? f->bytes[x->id]
                                           : kn_is_uniform_leaf(x) ? 0
                                                                   : bytes_of(f, root));
        }
        f->cost[i] = f->cost[i] > NEVER ? NEVER : f->cost[i];
    }
}

static bool is_dense(const kn_former *f, const kn_node *n, int64_t elements)
{
    return elements <= kn_capped_product(REPEATED, kn_region_elements(f, n->shape, n->rank));
}

bool kn_region_may_repeat(const kn_former *f, const kn_node *n, int64_t elements)
{
    return f->cost[n->id] <= CHEAP && f->bytes[n->id] <= kn_capped_product(2, bytes_of(f, n)) &&
           is_dense(f, n, elements);
}
