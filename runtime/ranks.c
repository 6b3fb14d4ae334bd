#include "runtime/ranks.h"

#include <string.h>

#include "base/hash.h"

/* A symbol that is a part, and an axis of an input that has its size. */
typedef struct divided_size {
    int sym, input, axis;
} divided_size;

/* So many agreements are kept: the last ones, so that all ranks forget the same. */
enum { MOST_AGREED = 256 };

/* What ranks said when this one's arguments had these shapes. */
typedef struct agreed {
    struct agreed *next;
    uint64_t number;    /* of the agreement, the same on all ranks */
    void *ranks;        /* for kernels that exchange; NULL: none does */
    uint64_t exchanges; /* in what order */
    int64_t sizes
        []; /* this rank's shapes, slot by slot; of each divided size all ranks' parts; whether nests exchange */
} agreed;

struct kn_divided {
    int n, ranks;
    int dims; /* of all arrays */
    const divided_size *sizes;
    agreed *agreed; /* p->lock */
    uint64_t agreements;
};

/* Numbers that a signature has besides a rank's own. */
static size_t added(const kn_divided *d) { return (size_t)(d->n * d->ranks) + 1; }

static int64_t *nests_of(const kn_divided *d, agreed *t)
{
    return &t->sizes[d->dims + d->n * d->ranks];
}

/* ---- which sizes are divided ---- */

static bool find_axis(const kn_graph *g, int sym, divided_size *out)
{
    for (int i = 0; i < g->inputs.len; i++) {
        const kn_node *n = g->inputs.data[i].node;
        for (int j = 0; j < n->rank; j++) {
            *out = (divided_size){sym, i, j};
            if (kn_dim_is_symbol(n->shape[j], sym))
                return true;
        }
    }
    return false;
}

kn_status kn_divided_make(kn_program *p)
{
    const kn_graph *g = p->optimised;
    KN_VEC(divided_size) sizes = {0};
    divided_size one;
    for (int s = 0; g->ranks > 1 && s < kn_symbols_count(g->syms); s++) {
        if (kn_symbol_whole(g->syms, s) < 0)
            continue;
        if (!find_axis(g, s, &one))
            return kn_fail(KN_SHAPE, "%s: %s is the size of no axis of an input", g->name,
                           kn_symbol_name(g->syms, s));
        kn_push(&p->arena, &sizes, one);
    }
    if (!sizes.len)
        return KN_OK;
    kn_divided *d = p->divided = KN_NEW(&p->arena, kn_divided);
    *d = (kn_divided){.n = sizes.len, .ranks = g->ranks, .sizes = sizes.data};
    for (int i = 0; i < p->nslots; i++)
        d->dims += p->slots[i].rank;
    p->signature_bytes += sizeof(int64_t) * added(d);
    return KN_OK;
}

void kn_divided_finish(kn_program *p)
{
    for (agreed *t = p->divided ? p->divided->agreed : NULL, *next; t; t = next) {
        next = t->next;
        p->ctx->from.release(p->ctx->from.user, t);
    }
}

/* ---- what was agreed ---- */

static void put_shapes(const kn_program *p, const kn_arg *const *args, int64_t *sizes)
{
    for (int i = 0; i < p->nslots; i++)
        for (int j = 0; j < p->slots[i].rank; j++)
            *sizes++ = args[i]->shape[j];
}

static agreed *find_agreed(const kn_program *p, const kn_arg *const *args)
{
    for (agreed *t = p->divided->agreed; t; t = t->next) {
        const int64_t *size = t->sizes;
        bool same = true;
        for (int i = 0; i < p->nslots && same; i++)
            for (int j = 0; j < p->slots[i].rank && same; j++)
                same = *size++ == args[i]->shape[j];
        if (same)
            return t;
    }
    return NULL;
}

bool kn_divided_sign(kn_program *p, kn_inputs *in, int64_t *at)
{
    const kn_divided *d = p->divided;
    const size_t bytes = sizeof *at * added(d);
    pthread_mutex_lock(&p->lock);
    const agreed *t = find_agreed(p, in->args);
    if (t)
        memcpy(at, t->sizes + d->dims, bytes);
    else
        memset(at, 0, bytes);
    in->ranks = t ? t->ranks : NULL;
    in->exchanges = t ? t->exchanges : 0;
    pthread_mutex_unlock(&p->lock);
    return t != NULL;
}

const int64_t *kn_divided_parts(const kn_program *p, const int64_t *signature)
{
    const kn_divided *d = p->divided;
    return d ? signature + p->signature_bytes / sizeof *signature - added(d) : NULL;
}

bool kn_divided_nests(const kn_program *p, const int64_t *signature)
{
    return p->divided && signature[p->signature_bytes / sizeof *signature - 1];
}

/* ---- telling ---- */

/* What must be the same on all ranks, a line each. */
static const char *agreed_lines(const kn_submission *s)
{
    const kn_program *p = s->prog;
    const kn_graph *g = p->optimised;
    kn_text t = kn_text_new(s->scratch), graph = kn_text_new(s->scratch);
    for (int i = 0; i < p->nslots; i++) {
        const kn_node *n =
            i < g->inputs.len ? g->inputs.data[i].node : g->outputs.data[i - g->inputs.len].node;
        kn_putf(&t, "%s: %s", p->slots[i].name, kn_dtypes[n->dtype].text);
        kn_shape_print(&t, g->syms, n->shape, n->rank);
        for (int j = 0; j < n->rank; j++)
            if (!kn_dim_has_part(g->syms, n->shape[j]))
                kn_putf(&t, ", axis %d: %lld", j, (long long)s->in.args[i]->shape[j]);
        kn_put(&t, "\n");
    }
    /* what decides where kernels exchange */
    kn_putf(&t, "options: fusion %d, batch_invariant %d\n", p->options.fusion,
            p->options.batch_invariant);
    kn_graph_print(&graph, g, true);
    const char *text = kn_text_str(&graph);
    kn_putf(&t, "program %s %016llx\n", g->name,
            (unsigned long long)kn_hash(text, strlen(text), 0));
    return kn_text_str(&t);
}

/* What this rank needs to agree. */
typedef struct agreeing {
    kn_submission *s;
    const char *lines;
    int64_t *own, *all; /* parts: this rank's; then each rank's, one behind the other */
    agreed *kept;
} agreeing;

static kn_status get_ready(void *user)
{
    agreeing *g = user;
    const kn_program *p = g->s->prog;
    const kn_divided *d = p->divided;
    g->lines = agreed_lines(g->s);
    g->own = KN_NEW_ARRAY(g->s->scratch, int64_t, d->n);
    g->all = KN_NEW_ARRAY(g->s->scratch, int64_t, d->n * d->ranks);
    const size_t bytes = sizeof *g->kept + sizeof *g->kept->sizes * ((size_t)d->dims + added(d));
    g->kept = p->ctx->from.alloc(p->ctx->from.user, bytes);
    if (!g->kept)
        return kn_fail(KN_MEMORY, "out of memory: %zu bytes", bytes);
    *g->kept = (agreed){0};
    put_shapes(p, g->s->in.args, g->kept->sizes);
    for (int k = 0; k < d->n; k++)
        g->own[k] = g->s->in.args[d->sizes[k].input]->shape[d->sizes[k].axis];
    return KN_OK;
}

/* Those that are too old, or of the same shapes as `with`, which has their mailbox until it is given its own. */
static void forget(kn_program *p, agreed *with)
{
    const kn_divided *d = p->divided;
    for (agreed **at = &p->divided->agreed; *at;) {
        agreed *t = *at;
        const bool same = memcmp(t->sizes, with->sizes, sizeof *t->sizes * (size_t)d->dims) == 0;
        if (!same && t->number + MOST_AGREED > d->agreements) {
            at = &t->next;
            continue;
        }
        with->ranks = same ? t->ranks : with->ranks;
        if (same && !*nests_of(d, t)) /* variants of other layouts may rely on it */
            *nests_of(d, with) = false;
        *at = t->next;
        p->ctx->from.release(p->ctx->from.user, t);
    }
}

static void keep_agreed(kn_program *p, agreed *t, const int64_t *all)
{
    kn_divided *d = p->divided;
    for (int k = 0; k < d->n; k++)
        for (int r = 0; r < d->ranks; r++)
            t->sizes[d->dims + k * d->ranks + r] = all[r * d->n + k];
    *nests_of(d, t) = true;
    pthread_mutex_lock(&p->lock);
    t->number = ++d->agreements;
    forget(p, t);
    t->next = d->agreed;
    d->agreed = t;
    pthread_mutex_unlock(&p->lock);
}

kn_status kn_divided_agree(kn_submission *s, kn_status mine)
{
    kn_program *p = s->prog;
    const kn_divided *d = p->divided;
    agreeing g = {.s = s, .lines = ""};
    if (mine == KN_OK)
        mine = kn_protect(s->scratch, get_ready, &g);
    kn_status status = kn_comm_agree(p->comm, mine, g.lines);
    if (status == KN_OK)
        status = kn_comm_gather(p->comm, g.own, g.all, sizeof *g.own * (size_t)d->n);
    if (status == KN_OK)
        keep_agreed(p, g.kept, g.all);
    else if (g.kept)
        p->ctx->from.release(p->ctx->from.user, g.kept);
    return status;
}

kn_status kn_divided_compare(kn_submission *s, kn_status mine, bool *alike)
{
    kn_program *p = s->prog;
    KN_TRY(kn_comm_all_well(p->comm, mine));
    KN_TRY(kn_comm_same(p->comm, s->variant->exchanges, alike));
    pthread_mutex_lock(&p->lock);
    agreed *t = find_agreed(p, s->in.args);
    t->exchanges = s->variant->exchanges;
    if (!*alike)
        *nests_of(p->divided, t) = false;
    pthread_mutex_unlock(&p->lock);
    return KN_OK;
}

kn_status kn_divided_check(const kn_submission *s)
{
    const kn_program *p = s->prog;
    if (!kn_divided_nests(p, s->in.signature) || s->variant->exchanges == s->in.exchanges)
        return KN_OK;
    return kn_fail(KN_ARGUMENT,
                   "%s: arrays are laid out otherwise than those that ranks have prepared: prepare "
                   "these on all ranks",
                   p->optimised->name);
}

/* Whether kernels are cut where ranks exchange. */
static bool has_rounds(const kn_plan *plan)
{
    return plan->kernels.len && plan->kernels.data[plan->kernels.len - 1]->round > 0;
}

/* Of what is exchanged between kernels, the most words at a time. */
static size_t words_between(const kn_plan *plan)
{
    int64_t words = 0;
    for (int i = 0; i < plan->kernels.len; i++) {
        const kn_kernel *k = plan->kernels.data[i];
        for (int j = 0; j < k->bufs.len && !k->ranks; j++)
            if (kn_is_exchanged(&k->bufs.data[j]) && kn_exchange_words(&k->bufs.data[j]) > words)
                words = kn_exchange_words(&k->bufs.data[j]);
    }
    return (size_t)(words < KN_MOST_MAIL ? words : KN_MOST_MAIL);
}

kn_status kn_divided_get_mailbox(kn_submission *s, kn_status mine)
{
    kn_program *p = s->prog;
    void *unused;
    if (mine == KN_OK && has_rounds(s->variant->plan))
        mine = kn_comm_load(p->comm);
    KN_TRY(kn_comm_all_well(p->comm, mine));
    if (has_rounds(s->variant->plan) && kn_comm_path_of(p->comm) == KN_PATH_KERNEL)
        KN_TRY(kn_comm_mailbox(p->comm, words_between(s->variant->plan), &unused));
    if (!s->variant->words)
        return KN_OK;
    KN_TRY(kn_comm_mailbox(p->comm, (size_t)s->variant->words, &s->in.ranks));
    pthread_mutex_lock(&p->lock);
    agreed *t = find_agreed(p, s->in.args);
    t->ranks = s->in.ranks;
    pthread_mutex_unlock(&p->lock);
    return KN_OK;
}
