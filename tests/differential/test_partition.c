/* Nothing that is predicted slower than its parts is chosen: random programs are planned for a GPU and for a CPU, at
 * their own sizes and at larger ones, and take no longer fused than one kernel an operation.
 *
 * Nor does another partition do better: of small programs every one that can be reached by merging two loop nests that
 * touch, one pair after the other, is planned, and with each every way to keep or compute again what crosses between
 * loop nests. The search of codegen/plan/search.c, which plans some of them, comes within 2 per cent of the best.
 *
 * What was planned before decides nothing, and makes the next sizes of a class cheap.
 *
 * KILN_FUZZ: how many programs are looked at; KILN_SEED: the first one's seed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/work.h"
#include "codegen/kir/schedule_text.h"
#include "ir/interp.h"
#include "ir/pass/pass.h"
#include "ir/region_impl.h"
#include "tests/differential/check.h"

enum {
    PROGRAMS = EFFORT(2500, 60), /* that are compared with one kernel an operation */
    WANTED = EFFORT(60, 6),      /* that are searched */
    GIVEN = EFFORT(500, 20),     /* whose schedules are given back */
    LEAST_OPERATIONS = 5,
    MOST_OPERATIONS = 40,
    MOST_VALUES = 9,
    MOST_PLACED = 6, /* values that a plan may keep or compute again */
    ELEMENTS = 6000,
    FIRST_SEED = 1,
    MOST_SEEDS = 4000
};

/* Where a program is planned: for which machine, and whether at sizes that fill it. */
typedef struct place {
    const char *arch;
    bool large;
} place;

static const place places[] = {{"sm_90", false}, {"cpu", false}, {"sm_90", true}, {"cpu", true}};
enum { PLACES = sizeof places / sizeof *places };

typedef struct search {
    kn_arena *a;
    const program *p;
    kn_program *prog;
    kn_graph *g; /* refined */
    const int64_t *sizes;
    const place *at;
    int values[MOST_VALUES], n; /* the nodes that regions are made of */
    KN_VEC(uint64_t) seen;      /* partitions: four bits a value, the first value that is with it */
    double least;               /* ns, of all plans */
    kn_choices best;            /* that it is the time of */
    int plans;
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
        if (!kn_region_merge(f, merges[i].a, merges[i].b))
            return NULL;
    return f;
}

/* ---- plans ---- */

static kn_target target_of(const place *at)
{
    kn_target target = {
        .kind = "cpu", .units = 2, .max_block = 1024, .max_threads_unit = 1, .cooperative = true};
    if (strcmp(at->arch, "cpu") != 0)
        assert_true(kn_target_of_arch(at->arch, &target));
    return target;
}

/* The sizes of a program, or ones that are some 60 times as large where they are more than a few. */
static void sizes_at(const program *p, const place *at, kn_arena *a, int64_t *sizes)
{
    memcpy(sizes, p->sizes, sizeof p->sizes);
    for (int i = 0; i < MAX_SYMBOLS && at->large; i++)
        sizes[i] = sizes[i] < 20 ? sizes[i] : sizes[i] < 100 ? sizes[i] * 61 - 7 : sizes[i] * 3;
    kn_symbols_derive(p->graph->syms, a, sizes);
}

/* How it is planned. */
typedef struct asked {
    bool fusion;
    const kn_choices *choices; /* NULL: the planner's own */
    kn_partitions *known;      /* NULL: none */
    const char *given;         /* its schedules; NULL: the planner's own */
    kn_text *schedules;        /* they are put there; NULL: nowhere */
} asked;

/* The time of a plan of compact arguments, in ns; less than 0 where the sizes mean nothing. */
static double plan_by(const program *p, const kn_program *prog, const place *at, const asked *how)
{
    kn_arena a;
    kn_binding b;
    kn_arg args[MAX_ARGS];
    int64_t sizes[MAX_SYMBOLS], shape[MAX_ARGS][KN_MAX_RANK];
    const kn_target target = target_of(at);
    kn_plan *made;
    double ns = -1;
    kn_arena_init(&a, NULL);
    sizes_at(p, at, &a, sizes);
    for (int i = 0; i < p->graph->inputs.len; i++) {
        const kn_input *in = &p->graph->inputs.data[i];
        kn_node_sizes(in->node, sizes, shape[i]);
        args[i] = (kn_arg){.name = in->name,
                           .dtype = (int)in->node->dtype,
                           .rank = in->node->rank,
                           .shape = shape[i]};
    }
    if (kn_bind(&a, prog->optimised, args, p->graph->inputs.len, KN_BIND_ASSUME, &b) == KN_OK) {
        const kn_problem problem = {.graph = kn_graph_clone(&a, prog->optimised),
                                    .sizes = b.sizes,
                                    .in = b.in,
                                    .out = b.out,
                                    .over = b.over,
                                    .target = &target,
                                    .fusion = how->fusion,
                                    .force.text = how->given,
                                    .choices = how->choices,
                                    .known = how->known};
        if (kn_plan_make(&a, &problem, &made) != KN_OK)
            fail_msg("KILN_SEED=%llu: %s", (unsigned long long)p->seed, kn_last_error());
        ns = made->ns;
        if (how->schedules)
            kn_schedules_put(how->schedules, made->kernels.data, made->kernels.len,
                             KN_SCHEDULE_OF_THESE);
        if (!(ns > 0 && ns < 1e18))
            fail_msg("KILN_SEED=%llu, %s: predicted to take %g ns", (unsigned long long)p->seed,
                     at->arch, ns);
    }
    kn_arena_finish(&a);
    return ns;
}

static double plan(const program *p, const kn_program *prog, const place *at, bool fusion,
                   const kn_choices *choices)
{
    return plan_by(p, prog, at, &(asked){.fusion = fusion, .choices = choices});
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
    kn_reuse *reuse = KN_NEW_ARRAY(s->a, kn_reuse, s->g->nodes.len + 1);
    for (unsigned which = 0; which < 1u << count; which++) {
        for (int i = 0; i < count; i++)
            reuse[crossing[i]] = which >> i & 1 ? KN_REUSE_RECOMPUTE : KN_REUSE_KEEP;
        double ns = plan(s->p, s->prog, s->at, true, &(kn_choices){merges, n, reuse});
        s->plans++;
        if (ns >= s->least)
            continue;
        s->least = ns;
        s->best = (kn_choices){kn_alloc_copy(s->a, merges, sizeof *merges * (size_t)n), n,
                               kn_alloc_copy(s->a, reuse, sizeof *reuse * (size_t)s->g->nodes.len)};
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
    return s->n > 2;
}

/* How many times as long as the best partition takes the one that is chosen; 0 where there is nothing to search. */
static double search_program(search *s)
{
    kn_merge merges[MOST_VALUES];
    double own = plan(s->p, s->prog, s->at, true, NULL);
    s->g = kn_refine(s->a, kn_graph_clone(s->a, s->prog->optimised), true, &s->sizes);
    assert_non_null(s->g);
    if (own < 0 || !find_values(s))
        return 0;
    s->least = own;
    explore(s, merges, 0);
    return own / s->least;
}

static kn_program *compile(kn_context *ctx, const program *p)
{
    kn_program *prog;
    assert_int_equal(kn_program_create(ctx, p->graph, &(kn_program_options){.fusion = true}, &prog),
                     KN_OK);
    return prog;
}

/* The program, and what is planned and could be. */
static void show(const search *s, double own)
{
    kn_text planned = kn_text_new(s->a), best = kn_text_new(s->a);
    asked how = {.fusion = true, .schedules = &planned};
    int64_t sizes[MAX_SYMBOLS];
    plan_by(s->p, s->prog, s->at, &how);
    how = (asked){.fusion = true, .choices = &s->best, .schedules = &best};
    plan_by(s->p, s->prog, s->at, &how);
    printf("%s", program_text(s->p));
    sizes_at(s->p, s->at, s->a, sizes);
    for (int i = 0; i < kn_symbols_count(s->p->graph->syms); i++)
        printf("%s=%lld ", kn_symbol_name(s->p->graph->syms, i), (long long)sizes[i]);
    printf("\nplanned: %.0f ns by %s\npossible: %.0f ns by %s\n", own, kn_text_str(&planned),
           s->least, kn_text_str(&best));
}

/* What was searched. */
typedef struct totals {
    int searched, above, plans;
    double most;
} totals;

static void search_seed(kn_context *ctx, uint64_t seed, totals *t)
{
    kn_arena a;
    kn_arena_init(&a, NULL);
    program *p = program_draw(&a, seed, ELEMENTS, &words);
    kn_program *prog = compile(ctx, p);
    search s = {.a = &a, .p = p, .prog = prog, .sizes = p->sizes, .at = &places[seed % PLACES]};
    double times = search_program(&s);
    t->searched += times > 0;
    t->above += times > 1.02;
    t->plans += s.plans;
    t->most = times > t->most ? times : t->most;
    if (times > 1.02) {
        print_message("KILN_SEED=%llu, %s, %s sizes: %.3f times the best partition\n",
                      (unsigned long long)seed, s.at->arch, s.at->large ? "large" : "small", times);
        show(&s, times * s.least);
    }
    kn_program_destroy(prog);
    kn_arena_finish(&a);
}

/* Programs whose plan once was not within 2 per cent of the best, and why. */
static const uint64_t close_seeds[] = {
    /* the class has two partitions of nearly the same time, of which the first is not the best here */
    5184,
    21714,
    202790,
    /* at the smallest sizes of the class another is the best, by 1 to 3 per cent; of the first, too, where it is planned for: since the
     * last block combines between two barriers, a plan two changes away is quicker by 2.5 */
    3086,
    93122,
    /* a local phase that waits for nothing made the next one's waits count less */
    33916,
    /* local phases that a warp each does took as long as the first, and so less than the lower bound */
    206762,
    /* what its class kept or computed again by cost, it did otherwise by the cost here */
    33639,
    /* the search tried changes of many plans of one time, and ended before those of a slower one */
    31188,
    /* the binder splits a group here in another way than for the class */
    32014,
    /* plans of nearly one time, which differ in one detail each, came before all others */
    51578,
    53011,
    /* what a merge that is undone parts belongs with another region: alone it is slower than with either */
    60173,
    52941,
    /* what a merge that is undone separates is computed again by its cost, which is the plan before: it is kept, too */
    75502,
    92003,
    /* a search of few plans, for their cheap steps counted as much as others; it tried again what had lost elsewhere */
    60354,
    /* the search planned twice what loop nests share that is an output, which is stored in any case, and ended */
    201703,
    /* a cluster's blocks had 128 threads, though each was alone on its multiprocessor */
    54410,
    /* phases side by side hid their waits in the barrier before the first of them */
    206890,
    /* a single small local phase went by a block, though a warp was predicted to be quicker */
    206408,
    /* tiles were taken wherever caches move fewer bytes by them: a small array waits less without */
    301580,
    /* what reads a value that is computed again for it reads what that is made of: it was not merged with others that do */
    306137,
};

static void test_close(void **state)
{
    (void)state;
    kn_context *ctx = open_context("cpu");
    totals t = {.most = 1};
    for (size_t i = 0; i < sizeof close_seeds / sizeof *close_seeds; i++)
        search_seed(ctx, close_seeds[i], &t);
    kn_context_close(ctx);
    assert_int_equal(t.searched, sizeof close_seeds / sizeof *close_seeds);
    assert_true(t.above <= 1 && t.most <= 1.03); /* 3086 */
}

static void test_best(void **state)
{
    (void)state;
    kn_context *ctx = open_context("cpu");
    totals t = {.most = 1};
    uint64_t first = setting("KILN_SEED", FIRST_SEED), seeds = setting("KILN_FUZZ", 0);
    const int wanted = seeds ? (int)seeds : WANTED;
    seeds = seeds ? seeds : MOST_SEEDS;
    for (uint64_t seed = first; seed < first + seeds && t.searched < wanted; seed++)
        search_seed(ctx, seed, &t);
    kn_context_close(ctx);
    print_message("%d programs searched, %d plans made; %d take more than 1.02 times the best of "
                  "them, %.3f times at most\n",
                  t.searched, t.plans, t.above, t.most);
    assert_true(wanted != WANTED || (t.searched == wanted && t.plans > 100 * t.searched));
    assert_int_equal(t.above, 0);
}

static void test_parts(void **state)
{
    (void)state;
    int slower = 0, compared = 0;
    kn_context *ctx;
    ctx = open_context("cpu");
    uint64_t first = setting("KILN_SEED", FIRST_SEED), seeds = setting("KILN_FUZZ", PROGRAMS);
    for (uint64_t seed = first; seed < first + seeds; seed++) {
        kn_arena a;
        kn_arena_init(&a, NULL);
        program *p = program_draw(&a, seed, ELEMENTS, NULL);
        kn_program *prog = compile(ctx, p);
        const place *at = &places[seed % PLACES];
        const asked searched = {.fusion = true, .known = &prog->known};
        const double fused = plan_by(p, prog, at, &searched),
                     parts = plan(p, prog, at, false, NULL);
        compared += fused >= 0;
        /* as it was found, and, of some, as it is searched without anything known */
        for (int alone = 0; alone < (seed / PLACES % 8 == 0 ? 2 : 1); alone++) {
            double again = alone ? plan(p, prog, at, true, NULL) : plan_by(p, prog, at, &searched);
            if (again != fused)
                fail_msg("KILN_SEED=%llu, %s: %.17g ns, and before %.17g ns",
                         (unsigned long long)seed, at->arch, again, fused);
        }
        if (fused >= 0 && fused > parts * (1 + 1e-12)) {
            slower++;
            print_error(
                "KILN_SEED=%llu, %s, %s sizes: %.0f ns, one kernel an operation %.0f ns\n%s",
                (unsigned long long)seed, at->arch, at->large ? "large" : "small", fused, parts,
                program_text(p));
        }
        kn_program_destroy(prog);
        kn_arena_finish(&a);
    }
    kn_context_close(ctx);
    print_message("%d programs compared with one kernel an operation\n", compared);
    assert_int_equal(slower, 0);
    assert_true((uint64_t)compared * 10 > seeds * 8);
}

/* Loops over different arrays that share something small are no loop over all pairs of their elements, and loops that
 * one array suits less than the others do not share a walk. */
static const struct {
    const char *text, *sizes;
} everyday[] = {
    {"def f(x: f32[N], y: f32[M], s: f32[()]):\n    return x * s, y * s\n", "N=1000000 M=900000"},
    {"def f(w: f32[A], dw: f32[A], b: f32[B], db: f32[B], lr: f32[()]):\n"
     "    w -= lr * dw\n    b -= lr * db\n",
     "A=1000000 B=3000"},
    {"def f(q: f32[T, H, D], k: f32[T, G, D], cs: f32[T, D]):\n"
     "    return q * cs[:, None, :], k * cs[:, None, :]\n",
     "T=512 H=16 G=4 D=64"},
    {"def f(x: f32[N, V], a: f32[N, W], t: f32[N]):\n    return x * t[:, None], a * t[:, None]\n",
     "N=1000 V=500 W=300"},
    {"def f(a: f32[M], x: f32[M], b: f32[M, N]):\n    return a * x, b * x[:, None]\n",
     "M=1000 N=700"},
    {"def f(x: f32[N], y: f32[M], p: i32[P]):\n    return take(x, p), take(y, p), roll(x, 3), roll(y, 3)\n",
     "N=100000 M=70000 P=9"},
};

static double plan_text(kn_context *ctx, const char *text, const char *sizes, const char *arch,
                        bool fusion)
{
    kn_arena a;
    kn_arena_init(&a, NULL);
    program *p = program_to_plan(&a, text, "text", sizes);
    assert_non_null(p);
    kn_program *prog = compile(ctx, p);
    double ns = plan(p, prog, &(place){arch, false}, fusion, NULL);
    kn_program_destroy(prog);
    kn_arena_finish(&a);
    return ns;
}

static void test_everyday(void **state)
{
    (void)state;
    kn_context *ctx;
    ctx = open_context("cpu");
    for (size_t i = 0; i < sizeof everyday / sizeof *everyday; i++)
        for (int arch = 0; arch < 2; arch++) {
            const char *name = arch ? "cpu" : "sm_90";
            double fused = plan_text(ctx, everyday[i].text, everyday[i].sizes, name, true);
            double parts = plan_text(ctx, everyday[i].text, everyday[i].sizes, name, false);
            if (fused > parts)
                fail_msg("%swith %s on %s: %.0f ns, one kernel an operation %.0f ns",
                         everyday[i].text, everyday[i].sizes, name, fused, parts);
        }
    kn_context_close(ctx);
}

/* ---- another size ---- */

static const char layernorm_backward[] =
    "def f(x: f32[N, C], dy: f32[N, C], gamma: f32[C], mu: f32[N], rstd: f32[N]):\n"
    "    xh = (x - mu[:, None]) * rstd[:, None]\n"
    "    d = dy * gamma\n"
    "    dx = d - mean(d, axis=1, keepdims=True) - xh * mean(d * xh, axis=1, keepdims=True)\n"
    "    return dx * rstd[:, None], sum(dy * xh, axis=0), sum(dy, axis=0)\n";

static const char batchnorm_backward[] =
    "def f(dy: f32[N, C, H, W], x: f32[N, C, H, W], gamma: f32[C], m: f32[1, C, 1, 1],\n"
    "      v: f32[1, C, 1, 1], eps: f32 = 1e-5):\n"
    "    r = rsqrt(v + eps)\n"
    "    h = (x - m) * r\n"
    "    db, dg = sum(dy, axis=(0, 2, 3)), sum(dy * h, axis=(0, 2, 3))\n"
    "    n = cast(N * H * W, f32)\n"
    "    s = gamma[:, None, None] * r\n"
    "    return s * (dy - db[:, None, None] / n - h * (dg[:, None, None] / n)), dg, db\n";
static const char padded_softmax[] = "def f(x: f32[N, V]):\n"
                                     "    return pad(softmax(x, axis=1), ((0, 0), (0, 47)))\n";
static const char softmax[] = "def f(x: f32[N, C]):\n    return softmax(x, axis=1)\n";

static const char layernorm[] = "def f(x: f32[N, C], g: f32[C], b: f32[C]):\n"
                                "    m = mean(x, axis=1, keepdims=True)\n"
                                "    v = var(x, axis=1, keepdims=True)\n"
                                "    return (x - m) * rsqrt(v + 1e-5) * g + b\n";
static const char adam[] = "def f(p: f32[N], g: f32[N], m: f32[N], v: f32[N], t: i32 = 1):\n"
                           "    m[...] = 0.9 * m + 0.1 * g\n"
                           "    v[...] = 0.999 * v + 0.001 * g * g\n"
                           "    b = 1 - 0.999 ** cast(t, f32)\n"
                           "    p -= 1e-3 * m / (1 - 0.9 ** cast(t, f32)) / (sqrt(v / b) + 1e-8)\n";
static const char derived_layernorm[] =
    "def f(x: f32[N, C], gamma: f32[C], beta: f32[C], dy: f32[N, C]):\n"
    "    d = x - mean(x, axis=1, keepdims=True)\n"
    "    v = mean(d * d, axis=1, keepdims=True)\n"
    "    y = d * rsqrt(v + 1e-5) * gamma + beta\n"
    "    dx, dg, db = vjp(y, dy, (x, gamma, beta))\n"
    "    return dx, dg, db\n";
static const char cross_entropy[] =
    "def f(x: f32[N, V], t: i32[N]):\n"
    "    return logsumexp(x, axis=1) - sum(where(arange(V) == t[:, None], x, 0), axis=1)\n";

static int64_t work_of(kn_program *prog, const char *text, const char *sizes, const place *at)
{
    kn_arena a;
    kn_arena_init(&a, NULL);
    const program *p = program_to_plan(&a, text, "text", sizes);
    assert_non_null(p);
    int64_t before = kn_work_done();
    assert_true(plan_by(p, prog, at, &(asked){.fusion = true, .known = &prog->known}) > 0);
    kn_arena_finish(&a);
    return kn_work_done() - before;
}

static int64_t work_at(kn_program *prog, const char *sizes, const char *arch)
{
    return work_of(prog, layernorm_backward, sizes, &(place){arch, true});
}

/* A size of a class that is known is planned once; one of another class is searched. N becomes 4141, 4263, 4995 and
 * 5483. */
static void test_another_size(void **state)
{
    (void)state;
    kn_arena a;
    kn_context *ctx;
    kn_arena_init(&a, NULL);
    ctx = open_context("cpu");
    kn_program *prog = compile(ctx, program_to_plan(&a, layernorm_backward, "text", "N=68 C=40"));
    for (size_t i = 0; i < 2; i++) {
        int64_t first = work_at(prog, "N=68 C=40", places[i].arch);
        assert_true(work_at(prog, "N=70 C=40", places[i].arch) * 4 < first);
        assert_true(work_at(prog, "N=82 C=40", places[i].arch) * 4 < first);
        assert_true(work_at(prog, "N=90 C=40", places[i].arch) * 4 > first);
    }
    kn_program_destroy(prog);
    kn_context_close(ctx);
    kn_arena_finish(&a);
}

/* The most steps that a size may take: with a search of its class, and where that is known. They are an eighth above what
 * these take, so that doing the same twice is seen, as is a search that tries many more partitions. Rows that begin anywhere
 * take more steps: each width of vectors by run is predicted, unless single elements are near what bytes and waits take. The
 * first is mixed by run at the largest sizes of its class, not at the smallest, so that two plans are compared. Rows of few members
 * are also tried as columns of tiles, on CPUs. */
static const struct {
    const char *text, *sizes, *arch;
    int64_t searched, known;
} planned[] = {
    {layernorm_backward, "N=20 C=20", "sm_90", 64000, 1150},
    {layernorm_backward, "N=5464 C=67", "sm_90", 60200, 505},
    {layernorm_backward, "N=20 C=20", "cpu", 34520, 385},
    {layernorm_backward, "N=5464 C=67", "cpu", 34470, 275},
    {batchnorm_backward, "N=8 C=20 H=19 W=19", "sm_90", 65220, 1075},
    {batchnorm_backward, "N=8 C=20 H=19 W=19", "cpu", 36710, 520},
    {padded_softmax, "N=100 V=16000", "sm_90", 59140, 270},
    {padded_softmax, "N=100 V=16000", "cpu", 37560, 235},
    {softmax, "N=67 C=67", "sm_90", 1400, 190},
    {softmax, "N=67 C=67", "cpu", 290, 130},
    {layernorm, "N=67 C=13", "sm_90", 7020, 665},
    {layernorm, "N=67 C=13", "cpu", 31200, 875},
    {adam, "N=16000", "sm_90", 2260, 275},
    {adam, "N=16000", "cpu", 720, 260},
    {derived_layernorm, "N=67 C=13", "sm_90", 66620, 1650},
    {derived_layernorm, "N=67 C=13", "cpu", 37670, 2340},
    {cross_entropy, "N=20 V=85", "sm_90", 5000, 785},
    {cross_entropy, "N=20 V=85", "cpu", 37500, 290},
};

static void test_work(void **state)
{
    (void)state;
    int slower = 0;
    kn_context *ctx = open_context("cpu");
    for (size_t i = 0; i < sizeof planned / sizeof *planned; i++) {
        const char *text = planned[i].text, *sizes = planned[i].sizes;
        const place at = {planned[i].arch, true};
        kn_arena a;
        kn_arena_init(&a, NULL);
        kn_program *prog = compile(ctx, program_to_plan(&a, text, "text", sizes));
        int64_t searched = work_of(prog, text, sizes, &at), known = work_of(prog, text, sizes, &at);
        if (searched > planned[i].searched || known > planned[i].known)
            print_error("%s with %s on %s: %lld steps to search and plan, %lld to plan\n", text,
                        sizes, at.arch, (long long)searched, (long long)known);
        slower += searched > planned[i].searched || known > planned[i].known;
        kn_program_destroy(prog);
        kn_arena_finish(&a);
    }
    kn_context_close(ctx);
    assert_int_equal(slower, 0);
}

/* ---- schedules that are given ---- */

/* The schedules that a plan has, given back, are the plan's again, whatever it came to; and choosing what they are of takes
 * little more than without them. */
static void give_back(kn_context *ctx, uint64_t seed, const vocabulary *of, int64_t *own,
                      int64_t *given)
{
    kn_arena a;
    kn_arena_init(&a, NULL);
    program *p = program_draw(&a, seed, ELEMENTS, of);
    kn_program *prog = compile(ctx, p);
    const place *at = &places[seed % PLACES];
    kn_text first = kn_text_new(&a), again = kn_text_new(&a);
    asked how = {.fusion = true, .known = &prog->known};
    if (plan_by(p, prog, at, &how) >= 0) {
        how.schedules = &first;
        *own -= kn_work_done();
        double ns = plan_by(p, prog, at, &how);
        *own += kn_work_done();
        how.given = kn_text_str(&first);
        how.schedules = &again;
        *given -= kn_work_done();
        double same = plan_by(p, prog, at, &how);
        *given += kn_work_done();
        if (same != ns || strcmp(kn_text_str(&first), kn_text_str(&again)) != 0)
            fail_msg("KILN_SEED=%llu, %s: %.0f ns by\n%s\nthat was given, %.0f ns and\n%s",
                     (unsigned long long)seed, at->arch, same, kn_text_str(&again), ns,
                     kn_text_str(&first));
    }
    kn_program_destroy(prog);
    kn_arena_finish(&a);
}

/* Programs whose schedules were refused. */
static const uint64_t refused_seeds[] = {
    /* one kernel an operation, on the axes as they are written */
    1490,
    /* computed values are held that may spill */
    8886,
};

static void test_given_back(void **state)
{
    (void)state;
    int64_t own = 0, given = 0;
    kn_context *ctx = open_context("cpu");
    const uint64_t first = setting("KILN_SEED", FIRST_SEED), seeds = setting("KILN_FUZZ", GIVEN);
    for (uint64_t seed = first; seed < first + seeds; seed++)
        give_back(ctx, seed, NULL, &own, &given);
    for (size_t i = 0; i < sizeof refused_seeds / sizeof *refused_seeds; i++)
        give_back(ctx, refused_seeds[i], NULL, &own, &given);
    kn_context_close(ctx);
    print_message("%lld steps to plan, %lld by schedules that are given\n", (long long)own,
                  (long long)given);
    assert_true(given * 2 < own * 3); /* not planned twice */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everyday),   cmocka_unit_test(test_another_size),
        cmocka_unit_test(test_work),       cmocka_unit_test(test_parts),
        cmocka_unit_test(test_given_back), cmocka_unit_test(test_close),
        cmocka_unit_test(test_best)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
