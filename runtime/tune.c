#include "runtime/tune.h"

#include <string.h>

#include "base/clock.h"
#include "codegen/plan/candidates.h"
#include "runtime/standin.h"
#include "runtime/submit.h"
#include "runtime/timing.h"

/* Timed runs of a candidate, behind one that is not. One that takes so many times as long as the best is not run
 * again. */
enum { RUNS = 5, HOPELESS = 2 };
/* A time must be below this part of the planner's own. */
static const double margin = 0.98;

/* What the program has of a class. */
typedef struct slot {
    bool busy, known; /* busy: a thread is about to know */
    kn_arena memory;  /* texts of the tuning; only who is busy adds to it */
    kn_tuning tuning;
} slot;

/* One class being learnt. */
typedef struct learning {
    kn_program *prog;
    const kn_newcomer *who;
    const char *class;
    slot *slot;
    kn_arena arena;
    kn_tuning tuning;
    kn_standins standins;
    kn_timing timing;
    kn_variant *variant; /* the candidate's */
    kn_force force;      /* the answer */
} learning;

static kn_device *device_of(const kn_program *p) { return p->ctx->dev; }

static uint64_t now(kn_device *dev) { return dev->ops->now ? dev->ops->now(dev) : kn_clock_ns(); }

bool kn_tunes(const kn_program *p)
{
    return p->options.autotune > 0 && p->options.max_kinds >= 0 && !p->ctx->reference &&
           device_of(p)->ops->identify;
}

/* ---- measuring ---- */

static kn_status run_standins(void *user)
{
    learning *l = user;
    return kn_variant_run(l->prog, l->variant, l->who->stream, l->standins.args, l->standins.nargs);
}

/* The median of a few runs. best: of the others, 0 for none yet. */
static kn_status time_runs(learning *l, double best, double *us)
{
    double times[1 + RUNS];
    int n = 0;
    while (n < 1 + RUNS) {
        KN_TRY(kn_standins_fill(&l->standins, l->who->stream));
        KN_TRY(kn_timing_run(&l->timing, l->who->stream, run_standins, l, &times[n++]));
        if (n > 1 && best > 0 && times[n - 1] > HOPELESS * best)
            break;
    }
    *us = kn_median(times + 1, n - 1);
    return KN_OK;
}

static kn_status try_candidate(learning *l, const kn_force *force, double best, double *us)
{
    KN_TRY(kn_variant_make(l->prog, l->who->in, l->who->binding, force, true, &l->variant));
    kn_status status = time_runs(l, best, us);
    kn_variant_release(l->prog, l->variant);
    return status;
}

/* The planner's own must run; of the others those that do not are left out. */
static kn_status try_all(learning *l, const kn_candidate *list, int n, uint64_t start)
{
    kn_tuning *t = &l->tuning;
    uint64_t budget = (uint64_t)t->budget_ms * 1000000;
    double best = 0;
    for (int i = 0; i < n; i++) {
        double us;
        if (i > 0 && now(device_of(l->prog)) - start >= budget) {
            t->left = n - i;
            break;
        }
        kn_status status = try_candidate(l, &list[i].force, best, &us);
        if (status != KN_OK && i == 0)
            return status;
        if (status != KN_OK) {
            kn_clear_error();
            continue;
        }
        best = i == 0 || us < best ? us : best;
        t->trials[t->n] = (kn_tune_trial){list[i].force, us};
        if (us < margin * t->trials[0].us && us <= t->trials[t->winner].us)
            t->winner = t->n;
        t->n++;
    }
    return KN_OK;
}

static kn_status try_on_standins(learning *l, const kn_candidate *list, int n, uint64_t start)
{
    kn_device *dev = device_of(l->prog);
    const kn_newcomer *who = l->who;
    kn_status status =
        kn_standins_make(&l->standins, &l->arena, dev, who->binding, who->args, who->nargs);
    if (status == KN_OK)
        status = kn_timing_open(&l->timing, dev);
    if (status == KN_OK) {
        status = try_all(l, list, n, start);
        kn_timing_close(&l->timing);
    }
    kn_standins_finish(&l->standins);
    return status;
}

static void count(uint64_t *counter, uint64_t by)
{
    __atomic_fetch_add(counter, by, __ATOMIC_RELAXED);
}

static kn_status measure(learning *l)
{
    kn_program *p = l->prog;
    kn_device *dev = device_of(p);
    kn_candidate list[KN_MOST_TRIALS];
    int n;
    uint64_t start = now(dev);
    const kn_problem problem = kn_program_problem(p, l->who->binding, dev->ops->target(dev));
    KN_TRY(kn_candidates_find(&problem, &l->arena, &p->ctx->from, KN_MOST_TRIALS, list, &n));
    l->tuning = (kn_tuning){.budget_ms = p->options.autotune};
    if (n == 1) { /* nothing to choose from */
        l->tuning.trials[l->tuning.n++].force = list[0].force;
        return KN_OK;
    }
    KN_TRY(try_on_standins(l, list, n, start));
    uint64_t took = now(dev) - start;
    count(&p->ctx->tunings, 1);
    count(&p->ctx->tuning_ns, took);
    kn_tuning_store(&l->arena, p, l->class, &l->tuning, took);
    return KN_OK;
}

static kn_status recall_or_measure(learning *l)
{
    kn_program *p = l->prog;
    if (!kn_tuning_find(&l->arena, p, l->class, &l->tuning))
        return measure(l);
    if (l->tuning.left && l->tuning.budget_ms < p->options.autotune)
        return measure(l);
    count(&p->ctx->tuning_hits, 1);
    return KN_OK;
}

static kn_status learn(void *user)
{
    learning *l = user;
    KN_TRY(recall_or_measure(l));
    for (int i = 0; i < l->tuning.n; i++) {
        const char **text = &l->tuning.trials[i].force.text;
        *text = *text ? kn_strdup(&l->slot->memory, *text) : NULL;
    }
    return KN_OK;
}

static kn_status learn_protected(void *user)
{
    return kn_protect(&((learning *)user)->slot->memory, learn, user);
}

/* ---- once a class ---- */

/* With the lock held. NULL: there are too many, or there is no memory. */
static slot *slot_of(kn_program *p, const char *class)
{
    int most = p->options.max_kinds ? p->options.max_kinds : KN_MAX_KINDS;
    slot *s = kn_memory_cache_find(&p->tunings, class);
    if (s || p->ntunings == most)
        return s;
    s = p->ctx->from.alloc(p->ctx->from.user, sizeof *s);
    if (!s)
        return NULL;
    *s = (slot){0};
    kn_arena_init(&s->memory, &p->ctx->from);
    if (kn_memory_cache_add(&p->tunings, class, s) != KN_OK) {
        kn_clear_error();
        p->ctx->from.release(p->ctx->from.user, s);
        return NULL;
    }
    p->ntunings++;
    return s;
}

/* With the lock held. Only the thread that set busy is without it for a time. */
static void learn_once(learning *l, bool may_measure)
{
    kn_program *p = l->prog;
    slot *s = l->slot;
    while (may_measure && s->busy)
        pthread_cond_wait(&p->tuned, &p->lock);
    if (!s->known && may_measure) {
        s->busy = true;
        pthread_mutex_unlock(&p->lock);
        kn_status status = kn_protect(&l->arena, learn_protected, l);
        pthread_mutex_lock(&p->lock);
        s->busy = false;
        s->known = status == KN_OK;
        if (s->known)
            s->tuning = l->tuning;
        else
            kn_clear_error(); /* of what nobody asked for */
        pthread_cond_broadcast(&p->tuned);
    }
    if (s->known)
        l->force = s->tuning.trials[s->tuning.winner].force;
}

static kn_status find_force(void *user)
{
    learning *l = user;
    kn_program *p = l->prog;
    kn_device *dev = device_of(p);
    const kn_problem problem = kn_program_problem(p, l->who->binding, dev->ops->target(dev));
    bool captured = dev->ops->captures && dev->ops->captures(dev, l->who->stream);
    kn_plan *plan;
    KN_TRY(kn_plan_make(&l->arena, &problem, &plan));
    l->class = kn_tuning_class(&l->arena, p, plan);
    pthread_mutex_lock(&p->lock);
    l->slot = slot_of(p, l->class);
    if (l->slot)
        learn_once(l, !captured);
    pthread_mutex_unlock(&p->lock);
    return KN_OK;
}

kn_force kn_tune(kn_program *p, const kn_newcomer *who)
{
    learning l = {.prog = p, .who = who, .force = p->force};
    if (!kn_tunes(p))
        return p->force;
    kn_arena_init(&l.arena, &p->ctx->from);
    if (kn_protect(&l.arena, find_force, &l) != KN_OK)
        kn_clear_error();
    kn_arena_finish(&l.arena);
    return l.force;
}

/* ---- looking ---- */

typedef struct recalling {
    kn_program *prog;
    const kn_plan *plan;
    kn_tuning *out;
    kn_arena *arena;
    bool found;
} recalling;

static kn_status recall(void *user)
{
    recalling *r = user;
    const char *class = kn_tuning_class(r->arena, r->prog, r->plan);
    pthread_mutex_lock(&r->prog->lock);
    const slot *s = kn_memory_cache_find(&r->prog->tunings, class);
    r->found = s && s->known;
    if (r->found)
        *r->out = s->tuning;
    pthread_mutex_unlock(&r->prog->lock);
    r->found = r->found || kn_tuning_find(r->arena, r->prog, class, r->out);
    return KN_OK;
}

bool kn_tune_recall(kn_arena *a, kn_program *p, const kn_plan *plan, kn_tuning *out)
{
    recalling r = {p, plan, out, a, .found = false};
    if (kn_protect(a, recall, &r) == KN_OK)
        return r.found;
    kn_clear_error();
    return false;
}

static void discard(void *user, void *value)
{
    kn_program *p = user;
    kn_arena_finish(&((slot *)value)->memory);
    p->ctx->from.release(p->ctx->from.user, value);
}

void kn_tunings_init(kn_program *p)
{
    kn_memory_cache_init(&p->tunings, &p->ctx->from);
    pthread_cond_init(&p->tuned, NULL);
}

void kn_tunings_finish(kn_program *p)
{
    kn_memory_cache_finish(&p->tunings, discard, p);
    pthread_cond_destroy(&p->tuned);
}
