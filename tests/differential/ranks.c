#include "tests/differential/ranks.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/pass/pass.h"
#include "runtime/comm/comm.h"
#include "runtime/explain.h"

/* ---- programs ---- */

const ranked_program ranked_programs[RANKED_PROGRAMS] = {
    {"sum",
     "def f(x: f32[shard(N), C], w: f32[C]):\n"
     "    s = sum(x, axis=0)\n"
     "    return s, x * w + s, sum(x), N * s\n",
     "N=37 shard(N)=37 C=5"},
    {"batchnorm",
     "def f(x: f32[shard(N), C, H], g: f32[C], b: f32[C]):\n"
     "    m = mean(x, axis=(0, 2), keepdims=True)\n"
     "    v = var(x, axis=(0, 2), keepdims=True)\n"
     "    return (x - m) / sqrt(v + 1e-5) * g[None, :, None] + b[None, :, None], m, v\n",
     "N=11 shard(N)=11 C=6 H=33"},
    {"rmsnorm of a divided hidden axis",
     "def f(x: bf16[B, shard(D)], w: bf16[shard(D)]):\n"
     "    xf = x.astype(f32)\n"
     "    r = rsqrt(mean(xf * xf, axis=1, keepdims=True) + 1e-6)\n"
     "    return (xf * r * w.astype(f32)).astype(bf16)\n",
     "B=7 D=257 shard(D)=257"},
    {"clip by the global norm",
     "def f(a: f32[shard(N)], b: f32[shard(M)], most: f32):\n"
     "    norm = sqrt(sum(a * a) + sum(b * b))\n"
     "    s = minimum(1.0, most / norm)\n"
     "    return a * s, b * s, norm\n",
     "N=1000 shard(N)=1000 M=77 shard(M)=77"},
    {"softmax along a divided axis",
     "def f(x: f32[B, shard(N)]):\n"
     "    m = max(x, axis=1, keepdims=True)\n"
     "    e = exp(x - m)\n"
     "    return e / sum(e, axis=1, keepdims=True)\n",
     "B=5 N=203 shard(N)=203"},
    {"argmax, any, all, prod",
     "def f(x: f32[shard(N), C]):\n"
     "    return argmax(x, axis=0), argmin(x, axis=0), any(x > 1.5, axis=0), all(x > 0.6, axis=0), "
     "prod(x, axis=0), max(x), min(x, axis=1)\n",
     "N=9 shard(N)=9 C=4"},
    {"variance with ddof, of 16-bit floats, of a middle axis",
     "def f(x: f16[A, shard(N), C]):\n"
     "    return var(x, axis=1, ddof=1), std(x.astype(f64)), mean(x, axis=(1, 2))\n",
     "A=3 N=40 shard(N)=40 C=8"},
    {"the whole size as a number",
     "def f(x: f32[shard(N), C]):\n"
     "    i = arange(x.shape[0])\n"
     "    return x.shape[0] * x + N, i, x * (i < N // 2)[:, None], dropout(x, 0.5, 7, 1)\n",
     "N=6 shard(N)=6 C=3"},
    {"a step of k-means",
     "def f(x: f32[shard(N), D], c: f32[K, D]):\n"
     "    d = sum((x[:, None, :] - c[None, :, :]) ** 2, axis=2)\n"
     "    k = argmin(d, axis=1)\n"
     "    mine = (k[:, None] == arange(K)[None, :]).astype(f32)\n"
     "    n = sum(mine, axis=0)\n"
     "    s = sum(mine[:, :, None] * x[:, None, :], axis=0)\n"
     "    return s / maximum(n, 1)[:, None], n, k\n",
     "N=50 shard(N)=50 D=3 K=4"},
    {"gradient of a batchnorm",
     "def f(x: f32[shard(N), C], g: f32[C], dy: f32[shard(N), C]):\n"
     "    m = mean(x, axis=0)\n"
     "    v = var(x, axis=0)\n"
     "    y = (x - m) / sqrt(v + 1e-5) * g\n"
     "    dx, dg = vjp(y, dy, (x, g))\n"
     "    return dx, dg\n",
     "N=23 shard(N)=23 C=7"},
    {"two exchanges, one after the other",
     "def f(x: f32[shard(N), C], z: f32[shard(N)]):\n"
     "    a = sum(x, axis=0)\n"
     "    b = sum(x * a, axis=1)\n"
     "    return sum(b * z), max(x - a), a\n",
     "N=19 shard(N)=19 C=4"},
    {"a reshape that keeps ranges",
     "def f(x: f32[shard(N), C, H]):\n"
     "    y = reshape(x, (-1, C * H))\n"
     "    z = reshape(x, (N, H, C)) + reshape(x, (x.shape[0], H, C))\n"
     "    return y - mean(y, axis=0), sum(reshape(x, -1)), var(z, axis=(0, 1))\n",
     "N=8 shard(N)=8 C=3 H=2"},
    {"an exchange that only another one reads",
     "def f(x: f32[R, shard(D)]):\n"
     "    s = sum(x, axis=1, keepdims=True)\n"
     "    q = sum((x - s) * (x - s), axis=1, keepdims=True)\n"
     "    return x * (q / (s * s + 1))\n",
     "R=7 D=300 shard(D)=300"},
    {"an exchange of nothing",
     "def f(x: f32[shard(N), C], w: f32[K]):\n"
     "    return x - sum(x, axis=0), all(x > 0, axis=0), w * 2\n",
     "N=5 shard(N)=5 C=0 K=3"},
    {"more than kernels hold while they run",
     "def f(x: f32[shard(N), C]):\n"
     "    s = max(x, axis=0)\n"
     "    return s, max(x * s)\n",
     "N=4 shard(N)=4 C=1050000"},
};

/* `text` with shard(X) for the first X that is a dimension of each parameter, X being `name`. */
static const char *divided_text(kn_arena *a, const char *text, char name)
{
    kn_text t = kn_text_new(a);
    const char *end = strchr(text, '\n'); /* of the parameters */
    bool inside = false, done = false;
    for (const char *at = text; *at; at++) {
        const bool lone =
            at > text && at < end && *at == name && strchr("[ ", at[-1]) && strchr(",]", at[1]);
        inside = *at == '[' || (inside && *at != ']');
        done = *at != '[' && done;
        if (lone && inside && !done) {
            kn_putf(&t, "shard(%c)", name);
            done = true;
        } else {
            kn_putf(&t, "%c", *at);
        }
    }
    return kn_text_str(&t);
}

static const char *sizes_text(kn_arena *a, const program *p, char name)
{
    kn_text t = kn_text_new(a);
    const kn_symbols *s = p->graph->syms;
    for (int i = 0; i < kn_symbols_count(s); i++)
        if (kn_symbol_name(s, i))
            kn_putf(&t, "%s=%lld ", kn_symbol_name(s, i), (long long)p->sizes[i]);
    int divided = kn_symbol_find(s, &name, 1);
    kn_putf(&t, "shard(%c)=%lld", name, (long long)p->sizes[divided]);
    return kn_text_str(&t);
}

program *ranked_random(kn_arena *a, uint64_t seed)
{
    const program *whole = program_make(a, seed, 3000);
    for (char name = 'A'; whole && name <= 'F'; name++) {
        if (kn_symbol_find(whole->graph->syms, &name, 1) < 0)
            continue;
        const char *text = divided_text(a, program_text(whole), name);
        if (!strstr(text, "shard("))
            continue;
        program *p = program_of_text(a, text, "random", sizes_text(a, whole, name), seed);
        kn_graph *g = p ? kn_graph_clone(a, p->graph) : NULL;
        if (g)
            g->ranks = 2;
        if (g && kn_graph_optimise(a, g, false, NULL))
            return p;
        if (kn_last_status() == KN_INTERNAL)
            return p;
    }
    return NULL;
}

void ranked_divide(ranked *r, rng *from)
{
    const kn_symbols *s = r->p->graph->syms;
    for (int sym = 0; sym < kn_symbols_count(s); sym++) {
        int64_t left = r->p->sizes[sym];
        if (kn_symbol_whole(s, sym) < 0)
            continue;
        for (int k = 0; k < r->ranks; k++) {
            bool last = k == r->ranks - 1, empty = chance(from, 20);
            int64_t part = last ? left : empty || !left ? 0 : below(from, (int)left + 1);
            r->part[sym][k] = part;
            left -= part;
        }
    }
}

/* One rank: its arguments, and what it computed. */
typedef struct one {
    const ranked *of;
    kn_team *team;
    int rank;
    kn_arena arena;
    int64_t sizes[MAX_SYMBOLS];
    kn_arg args[2 * MAX_ARGS];
    void *memory[2 * MAX_ARGS]; /* of the device, for them */
    int nmemory;
    char *out[MAX_ARGS]; /* on the host */
    int64_t shape[2 * MAX_ARGS][KN_MAX_RANK];
    kn_status status;
    char why[400];
} one;

/* What a rank has of an array, and where it begins in the whole, in elements. */
static int64_t part_of(one *o, const kn_node *n, const kn_layout *whole, int64_t *shape)
{
    const kn_graph *g = o->of->p->graph;
    int64_t start = 0;
    for (int j = 0; j < n->rank; j++) {
        shape[j] = whole->shape[j];
        if (!kn_dim_has_part(g->syms, n->shape[j]))
            continue;
        kn_dim_eval(n->shape[j], o->sizes, &shape[j]);
        for (int r = 0; r < o->rank; r++) {
            int64_t sizes[MAX_SYMBOLS], before;
            memcpy(sizes, o->of->p->sizes, sizeof sizes);
            for (int s = 0; s < kn_symbols_count(g->syms); s++)
                sizes[s] = kn_symbol_whole(g->syms, s) < 0 && kn_symbol_name(g->syms, s) ? sizes[s]
                           : kn_symbol_name(g->syms, s) ? o->of->part[s][r]
                                                        : KN_UNBOUND;
            kn_symbols_derive(g->syms, &o->arena, sizes);
            kn_dim_eval(n->shape[j], sizes, &before);
            start += before * whole->stride[j];
        }
    }
    return start;
}

static void find_sizes(one *o)
{
    const ranked *r = o->of;
    const kn_symbols *s = r->p->graph->syms;
    for (int i = 0; i < kn_symbols_count(s); i++)
        o->sizes[i] = !kn_symbol_name(s, i)        ? KN_UNBOUND
                      : kn_symbol_whole(s, i) >= 0 ? r->part[i][o->rank]
                                                   : r->p->sizes[i];
    kn_symbols_derive(s, &o->arena, o->sizes);
}

static kn_status place_args(one *o, int *nargs)
{
    const program *p = o->of->p;
    const kn_graph *g = p->graph;
    kn_device *dev = o->of->ctx[o->rank]->dev;
    for (int i = 0; i < g->inputs.len + g->outputs.len; i++) {
        bool output = i >= g->inputs.len;
        int at = output ? i - g->inputs.len : i;
        const kn_node *n = output ? g->outputs.data[at].node : g->inputs.data[at].node;
        const memory *m = output ? &p->out[at] : &p->in[at];
        const int64_t bytes = kn_bytes(m->dtype);
        int64_t *shape = o->shape[*nargs];
        if (!output && p->omitted[i])
            continue;
        int64_t start = part_of(o, n, &m->layout, shape);
        void *data = m->block + m->first * bytes;
        if (output || !g->inputs.data[at].by_value) {
            size_t size = (size_t)(output ? kn_count(shape, n->rank) * bytes : memory_bytes(m));
            KN_TRY(dev->ops->alloc(dev, size + 16, &data));
            o->memory[o->nmemory++] = data;
            if (!output)
                KN_TRY(dev->ops->upload(dev, data, m->block, size));
            data = (char *)data + (output ? 0 : (m->first + start) * bytes);
        }
        o->args[(*nargs)++] =
            (kn_arg){.name = output ? g->outputs.data[at].name : g->inputs.data[at].name,
                     .data = data,
                     .dtype = (int)m->dtype,
                     .rank = n->rank,
                     .shape = shape,
                     .strides = output ? NULL : m->layout.stride};
    }
    return KN_OK;
}

static kn_status run_program(one *o, kn_program *prog)
{
    const kn_graph *g = o->of->p->graph;
    kn_device *dev = o->of->ctx[o->rank]->dev;
    int nargs = 0;
    kn_prepared info;
    KN_TRY(place_args(o, &nargs));
    KN_TRY(kn_program_prepare(prog, o->args, nargs, &(kn_preparing){.reserve = true}, &info));
    for (int times = 0; times < 2; times++)
        KN_TRY(kn_program_run(prog, NULL, o->args, nargs, NULL, 0));
    KN_TRY(dev->ops->sync(dev, NULL));
    if (o->of->explained && o->rank == 0 && /* which takes all parts to be as rank 0's */
        kn_explain(prog, o->args, nargs, &(kn_explaining){0}, o->of->explained) != KN_OK)
        kn_clear_error();
    for (int i = 0; i < g->outputs.len; i++) {
        const kn_arg *arg = &o->args[nargs - g->outputs.len + i];
        size_t bytes = (size_t)(kn_count(arg->shape, arg->rank) * kn_bytes((kn_dtype)arg->dtype));
        o->out[i] = kn_alloc(&o->arena, bytes + 16);
        KN_TRY(dev->ops->download(dev, o->out[i], arg->data, bytes));
    }
    return KN_OK;
}

static kn_status run_rank(void *user)
{
    one *o = user;
    const ranked *r = o->of;
    kn_program_options options = *r->options;
    kn_program *prog;
    kn_comm *comm;
    find_sizes(o);
    KN_TRY(kn_comm_open(&(kn_comm_config){.dev = r->ctx[o->rank]->dev,
                                          .from = &r->ctx[o->rank]->from,
                                          .rank = o->rank,
                                          .count = r->ranks,
                                          .team = o->team,
                                          .deadline_ms = 20000,
                                          .path = r->path},
                        &comm));
    options.comm = comm;
    if (r->schedule_of_last && o->rank == r->ranks - 1)
        options.schedule = r->schedule_of_last;
    kn_status status = kn_program_create(r->ctx[o->rank], r->p->graph, &options, &prog);
    if (status == KN_OK) {
        status = run_program(o, prog);
        for (int i = 0; i < o->nmemory; i++)
            r->ctx[o->rank]->dev->ops->release(r->ctx[o->rank]->dev, o->memory[i]);
        kn_program_destroy(prog);
    }
    kn_comm_drop(comm);
    return status;
}

static void *in_thread(void *user)
{
    one *o = user;
    o->status = kn_protect(&o->arena, run_rank, o);
    if (o->status != KN_OK)
        snprintf(o->why, sizeof o->why, "%s", kn_last_error());
    return NULL;
}

/* ---- comparing ---- */

/* Output `i` of a rank against its part of what was expected of the whole. */
static bool compare(one *o, int i, kn_text *why, tally *seen)
{
    const program *p = o->of->p;
    const kn_node *n = p->graph->outputs.data[i].node;
    kn_layout whole = {.rank = n->rank};
    int64_t shape[KN_MAX_RANK], index[KN_MAX_RANK] = {0};
    memcpy(whole.shape, p->expected[i].shape, sizeof whole.shape);
    kn_compact_strides(whole.shape, n->rank, whole.stride);
    int64_t at = part_of(o, n, &whole, shape), bytes = kn_bytes(n->dtype);
    for (int64_t k = 0; k < kn_count(shape, n->rank); k++) {
        kn_scalar got = kn_scalar_load(n->dtype, o->out[i] + k * bytes);
        kn_scalar want = kn_scalar_load(n->dtype, (const char *)p->expected[i].data + at * bytes);
        double bound = 2 * p->bound[i][at]; /* the ranks' results are combined once more */
        seen->compared += !isinf(bound);
        seen->skipped += isinf(bound);
        if (!isinf(bound) && !close_enough(got, want, bound)) {
            kn_putf(why, "rank %d of %d: %s, element %lld of its part: %.17g, not %.17g within %g",
                    o->rank, o->of->ranks, p->graph->outputs.data[i].name, (long long)k,
                    kn_scalar_number(got), kn_scalar_number(want), bound);
            return false;
        }
        for (int j = n->rank - 1; j >= 0; j--) {
            at += whole.stride[j];
            if (++index[j] < shape[j])
                break;
            at -= whole.stride[j] * shape[j];
            index[j] = 0;
        }
    }
    return true;
}

static bool is_divided(const kn_graph *g, const kn_node *n)
{
    bool divided = false;
    for (int j = 0; j < n->rank; j++)
        divided = divided || kn_dim_has_part(g->syms, n->shape[j]);
    return divided;
}

static bool compare_all(one *all, const ranked *r, kn_text *why, tally *seen)
{
    const kn_graph *g = r->p->graph;
    int refused = 0;
    for (int k = 0; k < r->ranks; k++)
        refused += all[k].status == KN_SHAPE;
    if (refused == r->ranks) /* whole arrays have shapes that parts of these sizes have not */
        return true;
    for (int k = 0; k < r->ranks; k++)
        if (all[k].status != KN_OK) {
            kn_putf(why, "rank %d of %d: %s", k, r->ranks, all[k].why);
            return false;
        }
    for (int k = 0; k < r->ranks; k++)
        for (int i = 0; i < g->outputs.len; i++) {
            const kn_node *n = g->outputs.data[i].node;
            const kn_array *x = &r->p->expected[i];
            size_t bytes = (size_t)(kn_count(x->shape, x->rank) * kn_bytes(x->dtype));
            if (!compare(&all[k], i, why, seen))
                return false;
            if (!is_divided(g, n) && memcmp(all[k].out[i], all[0].out[i], bytes) != 0) {
                kn_putf(why, "%s is not the same on ranks 0 and %d", g->outputs.data[i].name, k);
                return false;
            }
        }
    return true;
}

bool ranked_check(const ranked *r, kn_text *why, tally *seen)
{
    one *all = calloc((size_t)r->ranks, sizeof *all);
    pthread_t thread[MOST_RANKS];
    kn_team *team;
    if (kn_team_create(r->ranks, &team) != KN_OK)
        return kn_put(why, kn_last_error()), false;
    for (int k = 0; k < r->ranks; k++) {
        all[k].of = r;
        all[k].team = team;
        all[k].rank = k;
        kn_arena_init(&all[k].arena, NULL);
        pthread_create(&thread[k], NULL, in_thread, &all[k]);
    }
    for (int k = 0; k < r->ranks; k++)
        pthread_join(thread[k], NULL);
    bool good = compare_all(all, r, why, seen);
    for (int k = 0; k < r->ranks; k++)
        kn_arena_finish(&all[k].arena);
    kn_team_drop(team);
    free(all);
    return good;
}

bool ranked_program_check(kn_arena *a, const ranked_program *s, const ranked_place *at,
                          uint64_t seed, kn_text *why, tally *seen)
{
    rng r = {seed * 31 + (uint64_t)at->ranks};
    const kn_program_options options = {.fusion = seed % 3 != 1};
    kn_text words = kn_text_new(a);
    ranked of = {.p = program_of_text(a, s->text, NULL, s->sizes, seed),
                 .ranks = at->ranks,
                 .path = at->path,
                 .schedule_of_last = at->schedule_of_last,
                 .options = &options,
                 .explained = &words};
    if (!of.p)
        return kn_put(why, kn_last_error()), false;
    memcpy(of.ctx, at->ctx, sizeof *of.ctx * (size_t)at->ranks);
    ranked_divide(&of, &r);
    if (!ranked_check(&of, why, seen))
        return false;
    bool explains = at->ranks == 1 || !strstr(s->text, "mean(") ||
                    strstr(kn_text_str(&words), " of each\n") != NULL;
    kn_put(why, explains ? "" : "explain has no exchange");
    return explains;
}
