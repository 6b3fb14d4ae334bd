#include "tests/differential/ranks.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/comm/comm.h"

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
    kn_status status = kn_program_create(r->ctx[o->rank], r->p->graph, &options, &prog);
    if (status == KN_OK) {
        status = run_program(o, prog);
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

static bool is_close(kn_scalar got, kn_scalar want, double bound)
{
    if (!kn_is_inexact(want.dtype))
        return fabsl((long double)got.i - (long double)want.i) <= (long double)bound;
    bool nan[] = {isnan(got.f) || isnan(got.im), isnan(want.f) || isnan(want.im)};
    if (nan[0] || nan[1])
        return nan[0] && nan[1];
    return (got.f == want.f && got.im == want.im) ||
           hypot(got.f - want.f, got.im - want.im) <= bound;
}

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
        if (!isinf(bound) && !is_close(got, want, bound)) {
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
