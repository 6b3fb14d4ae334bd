#include "runtime/variant.h"

#include <limits.h>
#include <string.h>

#include "base/table.h"
#include "codegen/plan/exchanges.h"
#include "runtime/ranks.h"

/* ---- signatures ---- */

/* Arguments mostly come in the order of the slots: slot `next` is looked at first. */
static int find_slot(const kn_program *p, const char *name, int next)
{
    if (next < p->nslots && p->slots[next].same < 0 && strcmp(p->slots[next].name, name) == 0)
        return next;
    const kn_graph *g = p->optimised;
    int i = kn_graph_find_input(g, name), o = i < 0 ? kn_graph_find_output(g, name) : -1;
    return i >= 0 ? i : o >= 0 ? g->inputs.len + o : -1;
}

static bool sort_args(const kn_program *p, const kn_arg *args, int nargs, const kn_arg **sorted)
{
    for (int k = 0, i = -1; k < nargs; k++) {
        i = args[k].name ? find_slot(p, args[k].name, i + 1) : -1;
        if (i < 0 || sorted[i])
            return false;
        const kn_slot *s = &p->slots[i];
        if (args[k].dtype != s->dtype || args[k].rank != s->rank || (s->rank && !args[k].shape) ||
            (s->by_value && !args[k].data))
            return false;
        sorted[i] = &args[k];
    }
    for (int i = 0; i < p->nslots; i++) {
        if (p->slots[i].same >= 0)
            sorted[i] = sorted[p->slots[i].same];
        if (!sorted[i] && !p->slots[i].has_default)
            return false;
    }
    return true;
}

/* The largest power of two up to 16 that divides the address; 0 for none. */
static int64_t alignment(const void *data)
{
    return (int64_t)(((uintptr_t)data | 16) & -((uintptr_t)data | 16)) * (data != NULL);
}

static int64_t *put_array(int64_t *at, const kn_arg *arg, int over)
{
    int rank = arg->rank;
    const int64_t *shape = arg->shape;
    int64_t *stride = at + 1 + rank, *end = stride + rank;
    uint64_t compact = 1; /* wraps where the shape is refused later on */
    *at++ = alignment(arg->data) | (int64_t)over << 8;
    for (int j = 0; j < rank; j++)
        *at++ = *shape++;
    if (arg->strides) {
        memcpy(stride, arg->strides, sizeof *stride * (size_t)rank);
        return end;
    }
    for (int64_t *last = end; last-- != stride; compact *= (uint64_t) * --shape)
        *last = (int64_t)compact;
    return end;
}

/* So many are compared one by one: that costs less than a finder. */
enum { FEW = 32 };

static uint64_t hash_address(const void *data)
{
    uint64_t h = (uint64_t)(uintptr_t)data * 0x9e3779b97f4a7c15u;
    return h ^ h >> 32;
}

/* 1 + the first of n outputs that has this address; 0 for none. */
static int find_over(const kn_arg *const *out, int n, const kn_finder *by, const void *data)
{
    int first = 0;
    for (int o = 0; n <= FEW && o < n && !first; o++)
        first = out[o]->data == data ? o + 1 : 0;
    for (int o = -1; n > FEW && !first && (o = kn_finder_next(by, hash_address(data), o)) >= 0;)
        first = out[o]->data == data ? o + 1 : 0;
    return first;
}

bool kn_sign(kn_program *p, kn_arena *a, const kn_arg *args, int nargs, kn_inputs *in)
{
    in->args = KN_NEW_ARRAY(a, const kn_arg *, p->nslots);
    if (!sort_args(p, args, nargs, in->args))
        return false;
    int64_t *at = in->signature = kn_alloc(a, p->signature_bytes);
    int nin = p->optimised->inputs.len;
    const kn_arg *const *out = in->args + nin;
    int nout = p->nslots - nin;
    kn_finder by = {0};
    for (int o = 0; nout > FEW && o < nout; o++)
        kn_finder_add(a, &by, hash_address(out[o]->data), o);
    for (int i = 0; i < p->nslots; i++)
        if (!p->slots[i].by_value)
            at = put_array(at, in->args[i],
                           i < nin ? find_over(out, nout, &by, in->args[i]->data) : 0);
    in->ranks = NULL;
    in->exchanges = 0;
    in->agreed = !p->divided || kn_divided_sign(p, in, at);
    return true;
}

/* ---- making one ---- */

typedef struct making {
    kn_program *prog;
    kn_variant *variant;
    const kn_inputs *in;
    const kn_binding *binding;
    kn_force force;
    bool trial;
    kn_arena planning;
    kn_plan *plan; /* there; the variant keeps what running it takes */
} making;

static kn_reach reach_of(const kn_span *span, const void *data)
{
    if (!span->low)
        return (kn_reach){0};
    return (kn_reach){span->low - (const char *)data, span->high - (const char *)data, span->step,
                      span->size};
}

static void note_memory(making *m)
{
    kn_variant *v = m->variant;
    const kn_binding *b = m->binding;
    const kn_graph *g = b->graph;
    v->in = KN_NEW_ARRAY(&v->arena, kn_reach, g->inputs.len + 1);
    v->out = KN_NEW_ARRAY(&v->arena, kn_reach, g->outputs.len + 1);
    v->in_place = KN_NEW_ARRAY(&v->arena, int, g->inputs.len + 1);
    for (int i = 0; i < g->inputs.len; i++) {
        bool in_place = b->over[i] >= 0 && kn_plan_in_place(&m->planning, m->plan, i, b->over[i]);
        v->in[i] = reach_of(&b->in_span[i], b->in_data[i]);
        v->in_place[i] = in_place ? b->over[i] : -1;
    }
    for (int o = 0; o < g->outputs.len; o++)
        v->out[o] = reach_of(&b->out_span[o], b->out_data[o]);
}

static bool has_all(kn_context *ctx, const kn_plan *plan)
{
    bool all = true;
    for (int i = 0; i < plan->kernels.len; i++)
        all = all && kn_kernels_has(&ctx->kernels, plan->kernels.data[i]->key);
    return all;
}

/* The plan that suits the arguments best, or, where that takes kernels of one kind too many, the one that other
 * arguments share. Devices that run no source compile nothing. */
static kn_status make_plan(making *m)
{
    kn_program *p = m->prog;
    const kn_target *target = p->ctx->dev->ops->target(p->ctx->dev);
    int most = p->options.max_kinds ? p->options.max_kinds : KN_MAX_KINDS;
    if (p->options.batch_invariant) /* the shared plan combines in another order */
        most = INT_MAX;
    kn_problem problem = kn_program_problem(p, m->binding, target);
    problem.nested = kn_divided_nests(p, m->in->signature);
    if (m->trial) /* of these schedules and no others */
        problem.force = m->force;
    KN_TRY(kn_program_plan_by(&problem, &m->force, &m->planning, &m->plan));
    if (!p->ctx->dev->ops->runs_source || problem.universal || m->trial || has_all(p->ctx, m->plan))
        return KN_OK;
    if (__atomic_add_fetch(&p->kinds, 1, __ATOMIC_RELAXED) <= most)
        return KN_OK;
    __atomic_sub_fetch(&p->kinds, 1, __ATOMIC_RELAXED);
    problem.universal = true;
    problem.force = p->force;
    return kn_plan_make(&m->planning, &problem, &m->plan);
}

static kn_status make(void *user)
{
    making *m = user;
    kn_variant *v = m->variant;
    kn_context *ctx = m->prog->ctx;
    int64_t *signature = kn_alloc(&v->arena, m->prog->signature_bytes);
    v->signature = memcpy(signature, m->in->signature, m->prog->signature_bytes);
    KN_TRY(make_plan(m));
    note_memory(m);
    v->exchanges = m->prog->divided ? kn_plan_exchanges(&m->planning, m->plan) : 0;
    v->plan = kn_plan_keep(&v->arena, m->plan);
    v->launches = KN_NEW_ARRAY(&v->arena, kn_launch, v->plan->kernels.len + 1);
    v->compiled = KN_NEW_ARRAY(&v->arena, kn_compiled *, v->plan->kernels.len + 1);
    for (int i = 0; i < v->plan->kernels.len; i++) {
        kn_kernel *k = v->plan->kernels.data[i];
        KN_TRY(kn_context_code(ctx, k, &v->compiled[i]));
        KN_TRY(kn_launch_make(&v->arena, ctx->dev, k, v->compiled[i]->code, &v->launches[i]));
        v->most_bufs = k->bufs.len > v->most_bufs ? k->bufs.len : v->most_bufs;
        v->most_scalars = k->scalars.len > v->most_scalars ? k->scalars.len : v->most_scalars;
        v->meets = v->meets || kn_kernel_meets(k);
        for (int j = 0; k->ranks && j < k->bufs.len; j++)
            v->words += kn_exchange_words(&k->bufs.data[j]);
    }
    return KN_OK;
}

static kn_status make_protected(void *user)
{
    return kn_protect(&((making *)user)->planning, make, user);
}

static void free_variant(kn_program *p, kn_variant *v)
{
    for (int i = 0; v->compiled && i < v->plan->kernels.len; i++)
        kn_kernels_release(&p->ctx->kernels, v->compiled[i]);
    kn_arena_finish(&v->arena);
    p->ctx->from.release(p->ctx->from.user, v);
}

kn_status kn_variant_make(kn_program *p, const kn_inputs *in, const kn_binding *b,
                          const kn_force *force, bool trial, kn_variant **out)
{
    const kn_allocator *from = &p->ctx->from;
    kn_variant *v = from->alloc(from->user, sizeof *v);
    if (!v)
        return kn_fail(KN_MEMORY, "out of memory: %zu bytes", sizeof *v);
    memset(v, 0, sizeof *v);
    kn_arena_init(&v->arena, from);
    v->users = 1;
    const kn_allocator chunks = kn_chunks_allocator(&p->planning);
    making m = {p, v, in, b, *force, trial, {.next = NULL}, NULL};
    kn_arena_init(&m.planning, &chunks);
    kn_status status = kn_protect(&v->arena, make_protected, &m);
    kn_arena_finish(&m.planning);
    if (status == KN_OK)
        *out = v;
    else
        free_variant(p, v);
    return status;
}

/* ---- keeping them; with the lock held ---- */

static void unlink_variant(kn_program *p, kn_variant *v)
{
    *(v->newer ? &v->newer->older : &p->newest) = v->older;
    *(v->older ? &v->older->newer : &p->oldest) = v->newer;
}

static void link_newest(kn_program *p, kn_variant *v)
{
    v->newer = NULL;
    v->older = p->newest;
    *(p->newest ? &p->newest->newer : &p->oldest) = v;
    p->newest = v;
}

static kn_variant *find(kn_program *p, const int64_t *signature)
{
    kn_variant *v = p->newest;
    if (!v)
        return NULL;
    if (memcmp(v->signature, signature, p->signature_bytes) != 0) {
        v = kn_table_find(&p->variants, signature, p->signature_bytes);
        if (!v)
            return NULL;
        unlink_variant(p, v);
        link_newest(p, v);
    }
    __atomic_add_fetch(&v->users, 1, __ATOMIC_RELAXED);
    return v;
}

/* Launches may be captured, and repeated as long as the program is there: it keeps their kernels. How many there are is
 * bounded by the program's kinds. */
static kn_status keep_kernels(kn_program *p, const kn_variant *v)
{
    if (!p->ctx->dev->ops->captures)
        return KN_OK;
    for (int i = 0; i < v->plan->kernels.len; i++) {
        kn_compiled *c = v->compiled[i];
        if (kn_table_find(&p->kept, &c->number, sizeof c->number))
            continue;
        KN_TRY(kn_table_add(&p->kept, &c->number, sizeof c->number, c));
        kn_kernels_keep(&p->ctx->kernels, c);
    }
    return KN_OK;
}

/* Gives the program the variant, which then has one user more. *evicted: what the program no longer has. */
static kn_status add(kn_program *p, kn_variant *v, kn_variant **evicted)
{
    KN_TRY(keep_kernels(p, v));
    KN_TRY(kn_table_add(&p->variants, v->signature, p->signature_bytes, v));
    v->users++;
    link_newest(p, v);
    if (++p->nvariants <= KN_MAX_VARIANTS)
        return KN_OK;
    *evicted = p->oldest;
    unlink_variant(p, *evicted);
    kn_table_remove(&p->variants, (*evicted)->signature, p->signature_bytes);
    p->nvariants--;
    return KN_OK;
}

void kn_variant_release(kn_program *p, kn_variant *v)
{
    if (v && __atomic_sub_fetch(&v->users, 1, __ATOMIC_ACQ_REL) == 0)
        free_variant(p, v);
}

kn_variant *kn_variant_find(kn_program *p, const int64_t *signature)
{
    pthread_mutex_lock(&p->lock);
    kn_variant *v = find(p, signature);
    pthread_mutex_unlock(&p->lock);
    return v;
}

kn_status kn_variant_keep(kn_program *p, kn_variant **v)
{
    kn_variant *mine = *v, *evicted = NULL;
    pthread_mutex_lock(&p->lock);
    kn_variant *found = find(p, mine->signature);
    kn_status status = found ? KN_OK : add(p, mine, &evicted);
    pthread_mutex_unlock(&p->lock);
    kn_variant_release(p, evicted);
    if (found || status != KN_OK)
        kn_variant_release(p, mine);
    *v = found ? found : status == KN_OK ? mine : NULL;
    return status;
}

void kn_variants_finish(kn_program *p)
{
    for (kn_variant *v = p->newest, *older; v; v = older) {
        older = v->older;
        kn_variant_release(p, v);
    }
    kn_table_finish(&p->variants);
    kn_compiled *c;
    for (const kn_table_entry *at = NULL; (c = kn_table_next(&p->kept, &at));)
        kn_kernels_release(&p->ctx->kernels, c);
    kn_table_finish(&p->kept);
}
