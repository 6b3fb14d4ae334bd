/* Rematerialise or keep: which computed values a phase keeps for its later sweeps instead of computing them again.
 *
 * Before: a scheduled phase that keeps loads in registers, in shared memory, or not at all. After: of the values that
 * several sweeps need, those are kept that cost more to compute again than to keep, best first. Costs are in
 * additions an element (ir/ops.def).
 *
 *   registers  A value takes over the registers of a kept one that no later sweep needs: exp(x - max) those of x. That
 *              costs no register, and pays if it saves more than a copy. If there is none, as for a float computed from a
 *              16-bit x, it takes new registers, up to KN_KEPT_WORDS with all others. Beyond FEW_WORDS fewer threads
 *              fit, so it has to save more than NEW_REGISTER_PRICE. In mixed phases, which are not charged that, up to
 *              KN_MIXED_WORDS with all others (measured: docs/lab/mixed-rows.md). Beyond these it may spill, and has to
 *              save more than SPILL_PRICE a word.
 *   shared     In a block or a cluster it takes over the shared memory of a kept load likewise, and no other. It is written
 *              and read once more. Loads that are dead then are kept no longer.
 *   CPUs       It goes through the worker's memory, in phases of rows that the second-level cache holds; at most
 *              MOST_FRAMES values, so that it does.
 *
 * --reuse keep and recompute force it either way. */
#include "base/work.h"
#include "codegen/kir/precision.h"
#include "codegen/model/resources.h"
#include "codegen/sched/sched.h"

enum {
    REGISTER_PRICE = 1,
    /* of new registers beyond FEW_WORDS of all that is kept: fewer threads fit on a multiprocessor (measured:
     * docs/lab/rows-of-16-bits.md) */
    NEW_REGISTER_PRICE = 16,
    FEW_WORDS = 24,
    SPILL_PRICE = 32,
    MEMORY_PRICE = 4,
    MOST_FRAMES = 2,
    MOST_VALUES = 1024,
    FEWEST_LANES = 64, /* of a tile of columns */
};

/* A value that a sweep no longer needs. */
typedef struct freed {
    int sweep, value;
} freed;

/* A value in one sweep's tree of dominators. `by`: its parent, the nearest value that all its uses are for; the root, whose
 * number is the number of values, if the sweep takes the value or its uses have none. `jump`: an ancestor farther up, so that
 * common ancestors are found in logarithmic time. */
typedef struct needed {
    int by, jump, depth;
    int saved; /* additions of its subtree */
} needed;

typedef struct keeper {
    kn_arena *arena;
    const kn_phase *ph;
    kn_keep where;
    int new_price; /* of new registers, once they are many */
    int *cost;     /* of each value, to compute it again, in additions */
    /* of each sweep, a count a value: by reductions, by stores and by what the sweep computes */
    int *uses;
    KN_VEC(freed) freed;
    int *since,
        *gain;   /* of each value: the first sweep that needs it, and what keeping it would save */
    bool *taken; /* of each value, by the sweep that is looked at, */
    needed *of;  /* and what needs it there */
} keeper;

static int *uses_of(const keeper *k, int sweep) { return k->uses + sweep * k->ph->nest.values.len; }

/* Adds to the uses of what a sweep computes value i from; a value kept since an earlier sweep is not computed. */
static void add_uses(const keeper *k, int i, int sweep)
{
    const kn_value *v = &k->ph->nest.values.data[i];
    if (kn_is_found(k->ph, i, sweep))
        return;
    for (int n = 0; n < v->nin; n++)
        uses_of(k, sweep)[v->in[n]]++;
}

static void begin(keeper *k)
{
    const int n = k->ph->nest.values.len;
    bool *taken = KN_NEW_ARRAY(k->arena, bool, n + 1);
    k->uses = KN_NEW_ARRAY(k->arena, int, n * k->ph->nest.nsweeps + 1);
    for (int t = 0; t < k->ph->nest.nsweeps; t++) {
        kn_phase_takes(k->ph, t, taken);
        kn_work(n);
        for (int i = n - 1; i >= 0; i--) { /* operands come before their users */
            uses_of(k, t)[i] += taken[i];
            if (uses_of(k, t)[i])
                add_uses(k, i, t);
        }
    }
}

static void find_costs(keeper *k, const kn_target *target, bool fast)
{
    const kn_phase *ph = k->ph;
    const bool *imprecise = target->sm ? kn_find_imprecise(k->arena, ph) : NULL;
    k->cost = KN_NEW_ARRAY(k->arena, int, ph->nest.values.len + 1);
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = kn_value_at(ph, i);
        k->cost[i] = v->kind == KN_V_ELEM ? kn_ops[v->op].cost : KN_LOAD_COST;
        if (imprecise && kn_is_function(v) && (fast || kn_is_approximated(ph, imprecise, i)))
            k->cost[i] /= KN_APPROXIMATED;
    }
}

/* Takes from sweep t what it computes for value i alone, which it finds where it is kept. Returns the additions an
 * element that it saves. */
static int free_operands(keeper *k, int i, int t)
{
    const kn_value *values = k->ph->nest.values.data;
    int saved = 0, next = k->freed.len;
    for (;;) {
        saved += values[i].level == KN_ELEMENT ? k->cost[i] : 0;
        kn_work(1);
        for (int n = 0; n < values[i].nin; n++)
            if (--uses_of(k, t)[values[i].in[n]] == 0)
                kn_push(k->arena, &k->freed, ((freed){t, values[i].in[n]}));
        while (next < k->freed.len && kn_is_found(k->ph, k->freed.data[next].value, t))
            next++;
        if (next == k->freed.len)
            return saved;
        i = k->freed.data[next++].value;
    }
}

/* The first sweep, from `from` on, that needs a value; nsweeps if none does. */
static int next_need(const keeper *k, int value, int from)
{
    for (int t = from; t < k->ph->nest.nsweeps; t++)
        if (uses_of(k, t)[value])
            return t;
    return k->ph->nest.nsweeps;
}

/* Is value a dead, in every step, before value b takes over its registers? Within a step values are computed, or read
 * from where they are kept, in the order of their numbers. */
static bool is_over_before(const keeper *k, int a, int b)
{
    int since = kn_hold_of(k->ph, b)->since;
    return a < b && next_need(k, a, 0) <= since &&
           next_need(k, a, since + 1) == k->ph->nest.nsweeps;
}

/* May value i take over the registers or the shared memory of another held value: are all that use them dead before i is
 * computed, or i before them? Not of what stays for all groups of a block. */
static bool has_room(const keeper *k, const kn_hold *other, int i)
{
    const kn_value *values = k->ph->nest.values.data;
    const int r = other->value;
    bool free = other->where == k->where && other->room == r && !kn_is_hoisted(k->ph, r) &&
                values[r].dtype == values[i].dtype &&
                (values[r].kind == KN_V_ELEM || is_over_before(k, r, i));
    for (int n = 0; n < k->ph->how.holds.len && free; n++) {
        const kn_hold *h = &k->ph->how.holds.data[n];
        if (h->value != i && values[h->value].kind == KN_V_ELEM && h->room == r)
            free = is_over_before(k, h->value, i) || is_over_before(k, i, h->value);
    }
    return free;
}

/* The value of the same type whose registers or shared memory value i may take over; i itself where it gets new registers,
 * if it saves so much; -1: none. */
static int find_room(const keeper *k, int i, int gain)
{
    const int most = k->ph->how.mixed ? KN_MIXED_WORDS : KN_KEPT_WORDS,
              own = kn_kept_words(k->ph, i);
    int words = own + kn_across_words(k->ph) * k->ph->how.steps + kn_edge_words(k->ph);
    for (int n = 0; n < k->ph->how.holds.len; n++) {
        const kn_hold *h = &k->ph->how.holds.data[n];
        if (h->value != i && has_room(k, h, i))
            return h->value;
        if (h->value != i && h->where == k->where && h->room == h->value)
            words += kn_kept_words(k->ph, h->value);
    }
    const bool fits = words <= most,
               pays = gain * k->ph->how.vec * k->ph->how.steps > SPILL_PRICE * own;
    return k->where == KN_KEEP_REGISTERS && (fits || pays) ? i : -1;
}

/* Keeps value i, and returns the additions that it saves; 0 if they are no more than `least`, or there is no room. */
static int keep_one(keeper *k, kn_phase *ph, int i, int least)
{
    kn_hold *h = kn_hold_value(k->arena, ph, i, k->where); /* what else is needed depends on it */
    int gain = 0;
    h->since = next_need(k, i, 0);
    k->freed.len = 0;
    for (int t = h->since + 1; t < ph->nest.nsweeps; t++)
        gain += uses_of(k, t)[i] ? free_operands(k, i, t) : 0;
    if (gain <= least || (k->where != KN_KEEP_FRAME && (h->room = find_room(k, i, gain)) < 0))
        return 0;
    bool fewer_threads = k->where == KN_KEEP_REGISTERS && h->room == i && !ph->how.mixed &&
                         kn_held_words(ph) > FEW_WORDS;
    return fewer_threads && gain <= k->new_price ? 0 : gain;
}

/* Undoes keep_one(). */
static void release(keeper *k, kn_phase *ph, int i)
{
    const int since = kn_hold_of(ph, i)->since;
    kn_release_value(ph, i);
    for (int n = 0; n < k->freed.len; n++)
        add_uses(k, k->freed.data[n].value, k->freed.data[n].sweep);
    for (int t = since + 1; t < ph->nest.nsweeps; t++)
        if (uses_of(k, t)[i])
            add_uses(k, i, t);
}

/* Adds value i to the tree, below its parent. */
static void put_below(needed *of, int i)
{
    const int by = of[i].by, jump = of[by].jump;
    const bool even = of[by].depth - of[jump].depth == of[jump].depth - of[of[jump].jump].depth;
    of[i].depth = of[by].depth + 1;
    of[i].jump = even ? of[jump].jump : by;
}

/* The lowest common ancestor. */
static int common(const needed *of, int a, int b)
{
    while (a != b) {
        if (of[a].depth < of[b].depth) {
            const int t = a;
            a = b;
            b = t;
        }
        if (of[of[a].jump].depth >= of[b].depth) {
            a = of[a].jump;
        } else if (of[a].depth == of[b].depth && of[a].jump != of[b].jump) {
            a = of[a].jump;
            b = of[b].jump;
        } else {
            a = of[a].by;
        }
    }
    return a;
}

/* Adds what keeping each value would save in sweep t, if it is kept since an earlier one: itself, and what it alone needs. */
static void add_savings(keeper *k, int t)
{
    needed *of = k->of;
    const kn_value *values = k->ph->nest.values.data;
    const int n = k->ph->nest.values.len;
    const int *uses = uses_of(k, t);
    kn_phase_takes(k->ph, t, k->taken);
    of[n] = (needed){.by = n, .jump = n};
    for (int i = 0; i < n; i++)
        of[i] = (needed){.by = k->taken[i] ? n : -1};
    for (int i = n - 1; i >= 0; i--) { /* operands come before their users */
        if (!uses[i])
            continue;
        put_below(of, i);
        for (int x = 0; x < values[i].nin && !kn_is_found(k->ph, i, t); x++) {
            needed *in = &of[values[i].in[x]];
            in->by = in->by < 0 ? i : common(of, in->by, i);
        }
    }
    for (int i = 0; i < n; i++) {
        if (!uses[i])
            continue;
        of[i].saved += values[i].level == KN_ELEMENT && !kn_is_found(k->ph, i, t) ? k->cost[i] : 0;
        of[of[i].by].saved += of[i].saved;
        k->gain[i] += t > k->since[i] ? of[i].saved : 0;
    }
    kn_work(1 + n / 8);
}

/* What keeping each value would save. */
static void find_savings(keeper *k)
{
    const kn_phase *ph = k->ph;
    const int n = ph->nest.values.len;
    for (int i = 0; i < n; i++) {
        k->since[i] = next_need(k, i, 0);
        k->gain[i] = 0;
    }
    for (int t = 0; t < ph->nest.nsweeps; t++)
        add_savings(k, t);
    for (int i = 0; i < n; i++) {
        const kn_value *v = kn_value_at(ph, i);
        if (v->kind != KN_V_ELEM || v->level != KN_ELEMENT || kn_kept(ph, i) || v->sweeps < 2)
            k->gain[i] = 0;
    }
}

/* Keeps the value that saves most of those that have room, if it is worth more than `price`. */
static bool keep_best(keeper *k, kn_phase *ph, int price)
{
    find_savings(k);
    for (;;) {
        int best = -1, most = price;
        for (int i = 0; i < ph->nest.values.len; i++)
            if (k->gain[i] > most)
                most = k->gain[best = i];
        if (best < 0 || keep_one(k, ph, best, price))
            return best >= 0;
        release(k, ph, best);
        k->gain[best] = 0;
    }
}

/* Do several sweeps need value i, though they find what was computed of it where that is held? */
static bool is_needed_again(const keeper *k, int i)
{
    return next_need(k, i, next_need(k, i, 0) + 1) < k->ph->nest.nsweeps;
}

/* Releases loads in shared memory which only the sweep that loads them needs since a value that is computed of them is held,
 * and whose memory none of these has. Not those that async copies bring: they arrive with the rest of the group. */
static void release_dead(const keeper *k, kn_phase *ph)
{
    bool *taken = KN_NEW_ARRAY(k->arena, bool, ph->nest.values.len + 1);
    for (int n = 0; n < ph->how.holds.len; n++) {
        const kn_hold *h = &ph->how.holds.data[n];
        taken[h->room] = taken[h->room] || h->room != h->value;
    }
    for (int i = 0; i < ph->nest.values.len; i++)
        if (kn_kept(ph, i) == KN_KEEP_SHARED && kn_value_at(ph, i)->kind == KN_V_LOAD &&
            !taken[i] && !is_needed_again(k, i))
            kn_release_value(ph, i);
}

void kn_keep_computed(const kn_site *at, kn_phase *ph, bool fast)
{
    const bool cpu = at->target->sm == 0;
    const kn_reuse reuse = at->force->reuse;
    keeper k = {.arena = at->arena, .ph = ph};
    if (ph->nest.nsweeps < 2 || ph->how.split || ph->nest.values.len > MOST_VALUES ||
        reuse == KN_REUSE_RECOMPUTE)
        return;
    for (int i = 0; i < ph->nest.values.len && !k.where; i++)
        if (!kn_is_hoisted(ph, i))
            k.where = kn_kept(ph, i);
    const int64_t lanes = ph->how.walk == KN_WALK_COLS ? FEWEST_LANES : 1;
    if (cpu && ph->how.walk != KN_WALK_FLAT && ph->nest.members <= KN_FRAME_MEMBERS / lanes)
        k.where = KN_KEEP_FRAME;
    if (!k.where)
        return;
    begin(&k);
    find_costs(&k, at->target, fast);
    k.since = KN_NEW_ARRAY(k.arena, int, ph->nest.values.len + 1);
    k.gain = KN_NEW_ARRAY(k.arena, int, ph->nest.values.len + 1);
    k.taken = KN_NEW_ARRAY(k.arena, bool, ph->nest.values.len + 1);
    k.of = KN_NEW_ARRAY(k.arena, needed, ph->nest.values.len + 1);
    int price = reuse == KN_REUSE_KEEP         ? 0
                : k.where == KN_KEEP_REGISTERS ? REGISTER_PRICE
                                               : MEMORY_PRICE;
    k.new_price = reuse == KN_REUSE_KEEP ? 0 : NEW_REGISTER_PRICE;
    for (int n = 0; (k.where != KN_KEEP_FRAME || n < MOST_FRAMES) && keep_best(&k, ph, price);)
        n++;
    if (!ph->how.async)
        release_dead(&k, ph);
}

bool kn_computed_have_room(kn_arena *a, const kn_phase *ph)
{
    keeper k = {.arena = a, .ph = ph};
    begin(&k);
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_hold *h = kn_hold_of(ph, i);
        if (!h || kn_value_at(ph, i)->kind != KN_V_ELEM)
            continue;
        k.where = h->where;
        const kn_hold *other = kn_hold_of(ph, h->room);
        bool room = h->room == i ? h->where != KN_KEEP_SHARED : other && has_room(&k, other, i);
        if (h->since != next_need(&k, i, 0) || !room)
            return false;
    }
    return true;
}

bool kn_shared_holds_all(kn_arena *a, const kn_phase *ph)
{
    keeper k = {.arena = a, .ph = ph};
    bool all = true;
    begin(&k);
    for (int i = 0; i < ph->nest.values.len; i++)
        all = all && (!kn_is_reread(ph, i) || kn_kept(ph, i) || !is_needed_again(&k, i));
    return all;
}
