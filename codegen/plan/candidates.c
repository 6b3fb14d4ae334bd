#include "codegen/plan/candidates.h"

#include <string.h>

#include "base/hash.h"
#include "codegen/kir/schedule_text.h"

enum { MOST_CHANGES = 2 };
/* A plan that is predicted to take this many times as long as the planner's own is not worth compiling. */
enum { NOT_WORTH_COMPILING = 2 };

/* What is tried in all pairs; the first of each list leaves it to the planner. */
static const struct {
    kn_division division;
    int cluster;
    bool gpus_only; /* a CPU would make the same plan by another of them */
} divisions[] = {
    {KN_DIVIDE_BY_COST, 0, false}, {KN_DIVIDE_WHOLE, 0, false},  {KN_DIVIDE_SPLIT, 0, false},
    {KN_DIVIDE_RESIDENT, 0, true}, {KN_DIVIDE_TILES, 0, true},   {KN_DIVIDE_CLUSTERS, 0, true},
    {KN_DIVIDE_CLUSTER, 2, true},  {KN_DIVIDE_CLUSTER, 4, true}, {KN_DIVIDE_CLUSTER, 8, true},
    {KN_DIVIDE_CLUSTER, 16, true},
};
static const kn_reuse reuses[] = {KN_REUSE_BY_COST, KN_REUSE_KEEP, KN_REUSE_RECOMPUTE};
static const int threads[] = {0, 512, 256, 128};
/* Each of these is tried alone. */
static const kn_force others[] = {
    {.storing = KN_STORE_JOINED},     {.storing = KN_STORE_PIECES},
    {.reading = KN_READ_AS_LAID_OUT}, {.reading = KN_READ_COPIES},
    {.grouping = KN_GROUP_DIRECT},    {.grouping = KN_GROUP_GROUPED},
    {.assembling = KN_ASSEMBLE_NONE}, {.assembling = KN_ASSEMBLE_ALL},
};
#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))
enum {
    MOST_PLANS = COUNT(divisions) * COUNT(reuses) * COUNT(threads) + COUNT(others) + KN_MOST_UNDONE
};

typedef struct finding {
    const kn_problem *problem;
    int most, n;
    kn_candidate *list;
    kn_force force; /* being tried */
    int merges;     /* of loop nests, in the planner's own choice */
    int nseen;
    kn_digest seen[MOST_PLANS]; /* digests of the plans so far, as text */
    kn_arena *texts;            /* of the list */
    kn_arena arena;             /* for one plan */
} finding;

/* A new entry of the list, which is by predicted time behind the planner's own choice. NULL: it is full of better ones. */
static kn_candidate *insert(finding *f, double ns)
{
    int at = f->n;
    if (at > 0 && ns > NOT_WORTH_COMPILING * f->list[0].ns)
        return NULL;
    while (at > 1 && f->list[at - 1].ns > ns)
        at--;
    if (at == f->most)
        return NULL;
    f->n += f->n < f->most;
    memmove(&f->list[at + 1], &f->list[at], sizeof *f->list * (size_t)(f->n - 1 - at));
    f->list[at] = (kn_candidate){f->force, ns};
    return &f->list[at];
}

static bool is_new(finding *f, const kn_plan *plan)
{
    kn_text t = kn_text_new(&f->arena);
    for (int i = 0; i < plan->kernels.len; i++)
        kn_kernel_print(&t, plan->kernels.data[i], true);
    kn_digest digest = kn_digest_of(kn_text_str(&t), t.len);
    for (int i = 0; i < f->nseen; i++)
        if (memcmp(&f->seen[i], &digest, sizeof digest) == 0)
            return false;
    f->seen[f->nseen++] = digest;
    return true;
}

static kn_status try_force(void *user)
{
    finding *f = user;
    kn_problem problem = *f->problem;
    kn_plan *plan;
    problem.force = f->force;
    KN_TRY(kn_plan_make(&f->arena, &problem, &plan));
    if (f->n == 0)
        f->merges = plan->regions->merges.len;
    kn_candidate *c = is_new(f, plan) ? insert(f, plan->ns) : NULL;
    if (c && c != f->list) {
        kn_text t = kn_text_new(f->texts);
        kn_schedules_put(&t, plan->kernels.data, plan->kernels.len, KN_SCHEDULE_OF_ALL);
        c->force.text = kn_text_str(&t);
    }
    return KN_OK;
}

static kn_status try_protected(void *user)
{
    return kn_protect(&((finding *)user)->arena, try_force, user);
}

/* Sets force to choices d, r and t. False if the problem forces one of them itself, or the machine lacks it. */
static bool set_force(finding *f, int d, int r, int t)
{
    const kn_force *own = &f->problem->force;
    const kn_target *target = f->problem->target;
    if (((d || r || t) && own->text) || (d && own->division != KN_DIVIDE_BY_COST) ||
        (r && own->reuse != KN_REUSE_BY_COST) || (t && (own->max_threads || !target->sm)) ||
        divisions[d].cluster > target->cluster ||
        (divisions[d].division == KN_DIVIDE_CLUSTERS && target->cluster < 2) ||
        (divisions[d].gpus_only && !target->sm))
        return false;
    f->force = *own;
    if (d) {
        f->force.division = divisions[d].division;
        f->force.cluster = divisions[d].cluster;
    }
    f->force.reuse = r ? reuses[r] : own->reuse;
    f->force.max_threads = t ? threads[t] : own->max_threads;
    return true;
}

static kn_status try_one(finding *f, const kn_allocator *from)
{
    kn_arena_init(&f->arena, from);
    kn_status status = kn_protect(f->texts, try_protected, f);
    kn_arena_finish(&f->arena);
    return status;
}

/* Tries what a program may not have: pieces of arrays, or a reshape that takes a copy. */
static kn_status try_if_possible(finding *f, const kn_allocator *from)
{
    const kn_status status = try_one(f, from);
    if (status != KN_ARGUMENT)
        return status;
    kn_clear_error();
    return KN_OK;
}

static kn_status try_changes(finding *f, int changes, const kn_allocator *from)
{
    for (int t = 0; t < COUNT(threads); t++)
        for (int r = 0; r < COUNT(reuses); r++)
            for (int d = 0; d < COUNT(divisions); d++) {
                if ((d > 0) + (r > 0) + (t > 0) != changes || !set_force(f, d, r, t))
                    continue;
                KN_TRY(try_one(f, from));
            }
    return KN_OK;
}

/* Adds one of the others. False if it is the problem's to choose. */
static bool add_other(kn_force *to, const kn_force *other)
{
    if ((other->storing && to->storing) || (other->reading && to->reading) ||
        (other->grouping && to->grouping) || (other->assembling && to->assembling))
        return false;
    to->storing = other->storing ? other->storing : to->storing;
    to->reading = other->reading ? other->reading : to->reading;
    to->grouping = other->grouping ? other->grouping : to->grouping;
    to->assembling = other->assembling ? other->assembling : to->assembling;
    return true;
}

static kn_status try_others(finding *f, const kn_allocator *from)
{
    for (int i = 0; i < COUNT(others) && !f->problem->force.text; i++) {
        f->force = f->problem->force;
        if (add_other(&f->force, &others[i]))
            KN_TRY(try_if_possible(f, from));
    }
    return KN_OK;
}

/* Each merge undone, alone: the loop nests of the planner's own choice are not the only ones. */
static kn_status try_undone(finding *f, const kn_allocator *from)
{
    const kn_force *own = &f->problem->force;
    const bool may = f->problem->fusion && !own->text && !own->undone;
    for (int i = 0; i < f->merges && i < KN_MOST_UNDONE && may; i++) {
        f->force = *own;
        f->force.undone = (uint64_t)1 << i;
        KN_TRY(try_if_possible(f, from));
    }
    return KN_OK;
}

kn_status kn_candidates_find(const kn_problem *problem, kn_arena *a, const kn_allocator *from,
                             int most, kn_candidate *list, int *n)
{
    finding f = {.problem = problem, .most = most, .list = list, .texts = a};
    for (int changes = 0; changes <= MOST_CHANGES; changes++)
        KN_TRY(try_changes(&f, changes, from));
    KN_TRY(try_others(&f, from));
    KN_TRY(try_undone(&f, from));
    *n = f.n;
    return KN_OK;
}
