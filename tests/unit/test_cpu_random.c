/* runtime/cpu: kernels at random: axes, walks, stages, splits, strides and stores, against the
 * walker of cpu_kernels.h, bit by bit. KILN_FUZZ: how many. */
#include "tests/random.h"
#include "tests/unit/cpu_kernels.h"

static uint32_t seed;
static int below(int n) { return (int)((random_32(&seed) >> 8) % (uint32_t)n); }

/* Strides of a compact array over the axes in `axes`, in a random order of axes, some walked
 * backwards; gives the number of elements and where (0, ...) lies. */
static int64_t strides(const kn_phase *p, uint32_t axes, int64_t *stride, int64_t *first)
{
    int order[KN_MAX_RANK];
    int64_t count = 1;
    *first = 0;
    for (int a = 0; a < p->nest.naxes; a++) {
        int k = below(3) ? a : below(a + 1);
        order[a] = order[k];
        order[k] = a;
    }
    for (int i = p->nest.naxes - 1; i >= 0; i--) {
        int a = order[i];
        int64_t e = p->nest.axes[a].extent;
        stride[a] = 0;
        if (!(axes >> a & 1))
            continue;
        stride[a] = count;
        if (below(6) == 0 && e > 0) {
            *first += (e - 1) * count;
            stride[a] = -count;
        }
        count *= e;
    }
    return count;
}

/* A value of type t; of group level if `group`. */
static int pick(world *w, kn_dtype t, int stage, bool group)
{
    const kn_phase *p = last_phase(w);
    for (;;) {
        int v = below(p->nest.values.len);
        const kn_value *x = &p->nest.values.data[v];
        if (x->dtype == t && x->stage <= stage && (!group || x->level == KN_GROUP))
            return v;
    }
}

static void random_store(world *w, int v, kn_store_kind kind)
{
    kn_phase *p = last_phase(w);
    kn_dtype t =
        kind == KN_STORE_PARTIAL ? p->nest.reds.data[v].dtype : p->nest.values.data[v].dtype;
    uint32_t groups = (1u << p->nest.ngroup) - 1, all = (1u << p->nest.naxes) - 1;
    uint32_t mine = kind == KN_STORE_ELEMENT ? all : groups, once = 0;
    int64_t stride[KN_MAX_RANK], first;
    if (kind != KN_STORE_PARTIAL && below(3) == 0)
        once = mine & (uint32_t)below(1 << p->nest.naxes);
    int64_t count = strides(p, mine & ~once, stride, &first);
    int b = buffer(w, KN_BUF_OUTPUT, t, count * p->num.splits, first);
    store(w, kind, v, b, stride, once);
    if (kind == KN_STORE_PARTIAL)
        p->nest.stores.data[p->nest.stores.len - 1].access.split_stride = count;
}

static void random_values(world *w, kn_dtype t, int stage)
{
    static const kn_op ops[] = {KN_OP_ADD,     KN_OP_SUB, KN_OP_MAXIMUM,
                                KN_OP_MINIMUM, KN_OP_NEG, KN_OP_ABS};
    for (int i = below(5) + 1; i > 0; i--) {
        int a = pick(w, t, stage, false), b = pick(w, t, stage, false);
        if (below(5) == 0)
            op(w, KN_OP_WHERE, t, op(w, KN_OP_LT, KN_BOOL, a, b, 0), pick(w, t, 0, false), b);
        else
            op(w, ops[below(6)], t, a, b, 0);
    }
}

static void random_loads(world *w, kn_dtype t)
{
    const kn_phase *p = last_phase(w);
    uint32_t groups = (1u << p->nest.ngroup) - 1, all = (1u << p->nest.naxes) - 1;
    number(w, t, 2);
    for (int i = below(3) + 2; i > 0; i--) {
        bool element = i % 2 == 0;
        int64_t stride[KN_MAX_RANK], first;
        uint32_t axes = element ? all : groups;
        if (below(2))
            axes &= (uint32_t)below(1 << p->nest.naxes);
        int64_t count = strides(p, axes, stride, &first);
        load(w, element ? KN_ELEMENT : KN_GROUP, buffer(w, KN_BUF_INPUT, t, count, first), stride);
    }
}

static void random_phase(world *w)
{
    static const int64_t extents[] = {2, 3, 7, 16, 40, 300, 1025, 2050};
    static const kn_dtype dtypes[] = {KN_I32, KN_I64, KN_F32, KN_F64};
    kn_walk walk = (kn_walk)below(3);
    bool flat = walk == KN_WALK_FLAT, split = !flat && below(4) == 0;
    int naxes = below(4) + 1, ngroup = flat ? 0 : below(naxes + 1),
        nsweeps = flat || split ? 1 : below(3) + 1;
    int64_t e[KN_MAX_RANK], size = 1;
    for (int a = 0; a < naxes; a++) {
        e[a] = extents[below(8)];
        if (size * e[a] > 30000)
            e[a] = 2;
        if (below(40) == 0)
            e[a] = below(2);
        size *= e[a] ? e[a] : 1;
    }
    kn_dtype t = dtypes[below(4)];
    phase(w, walk, naxes, ngroup, e, nsweeps);
    kn_phase *p = last_phase(w);
    if (split) {
        p->how.split = true;
        p->num.splits = below(5) + 1;
        p->num.chunk = (p->nest.members + p->num.splits - 1) / p->num.splits;
        p->num.chunk += below(2);
    }
    random_loads(w, t);
    for (int stage = 0; stage < nsweeps; stage++) {
        random_values(w, t, stage);
        for (int i = below(2); i >= 0; i--)
            random_store(w, pick(w, t, stage, false), KN_STORE_ELEMENT);
        for (int i = flat ? -1 : below(2); i >= 0; i--) {
            /* sums of sums would not be exact in a float */
            kn_op o = stage == 0 || kn_is_int(t) ? KN_OP_SUM : KN_OP_MAX;
            int r = reduce(w, below(3) ? o : KN_OP_MIN, pick(w, t, stage, false));
            if (split)
                random_store(w, r, KN_STORE_PARTIAL);
            else
                result(w, r);
        }
        if (below(2))
            random_store(w, pick(w, t, split ? 0 : stage + 1, true), KN_STORE_GROUP);
    }
}

static void random_kernels(void **state)
{
    (void)state;
    const char *count = getenv("KILN_FUZZ");
    for (uint32_t i = 0, end = count ? (uint32_t)atoi(count) : 300; i < end; i++) {
        seed = i * 2654435761u + 1;
        world w;
        world_init(&w);
        for (int n = below(2); n >= 0; n--)
            random_phase(&w);
        char what[32];
        snprintf(what, sizeof what, "kernel %u", i);
        check(&w, what);
        world_finish(&w);
    }
}

int main(void)
{
    if (open_devices())
        return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_kernels)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    close_devices();
    return failed;
}
