/* Operations of a warp: lanes that name the same operation and the same mask meet, wherever in the text
 * each of them is, and leave together once all lanes of the mask that still run have come. */
#include "runtime/emu/check/check.h"
#include "runtime/emu/exec/calls.h"
#include "runtime/emu/exec/exec.h"

/* `op` has the size of the value in its upper bits: lanes that shuffle values of two sizes do not meet. */
enum { OP = 0xff };

const char *kn_emu_op_name(int op)
{
    static const char *const names[] = {
#define NAME(name, text) text,
        KN_EMU_WARP_OPS(NAME)
#undef NAME
    };
    _Static_assert(sizeof names / sizeof *names == KN_EMU_WARP_OP_COUNT, "a name for each");
    return names[op & OP];
}

static kn_emu_warp_state *warp_of(const kn_emu_thread *t)
{
    return &t->block->warps[t->number / KN_EMU_WARP];
}

/* Lane `lane` of the warp of `t`. */
static kn_emu_thread *lane_of(const kn_emu_thread *t, unsigned lane)
{
    return &t->block->threads[t->number / KN_EMU_WARP * KN_EMU_WARP + lane];
}

/* The lane whose value a shuffle gives to `t`: the rule of PTX's shfl. */
static unsigned shuffle_source(const kn_emu_thread *t)
{
    unsigned lane = t->lane, b = t->lanes.b & 31, clamp = t->lanes.c & 31;
    unsigned segment = t->lanes.c >> 8 & 31;
    int most = (int)((lane & segment) | (clamp & ~segment & 31));
    int from;
    bool inside;
    switch (t->op & OP) {
    case KN_EMU_SHFL_UP:
        from = (int)lane - (int)b;
        inside = from >= most;
        break;
    case KN_EMU_SHFL_DOWN:
        from = (int)(lane + b);
        inside = from <= most;
        break;
    case KN_EMU_SHFL_XOR:
        from = (int)(lane ^ b);
        inside = from <= most;
        break;
    default:
        from = (int)((lane & segment) | (b & ~segment));
        inside = from <= most;
        break;
    }
    return inside ? (unsigned)from : lane;
}

/* A shuffle's lane wants what is not there: an error, or in relaxed mode the 0 that hardware gives. */
static void no_value(kn_emu_worker *w, kn_emu_thread *t, unsigned from)
{
    unsigned first = t->number / KN_EMU_WARP * KN_EMU_WARP;
    const char *why = first + from >= t->block->nthreads ? "does not exist"
                      : !(t->mask >> from & 1)           ? "is not in the mask"
                                                         : "has exited";
    t->result = 0;
    if (w->dev->options.relaxed)
        return;
    w->thread = t;
    kn_emu_fail(w, t->site, "%s: lane %u reads lane %u, which %s (mask 0x%08x)",
                kn_emu_op_name(t->op), t->lane, from, why, t->mask);
}

static kn_emu_word combine(int op, kn_emu_word a, kn_emu_word b)
{
    uint32_t x = (uint32_t)a, y = (uint32_t)b;
    switch (op) {
    case KN_EMU_REDUCE_ADD: return x + y;
    case KN_EMU_REDUCE_MIN: return (int32_t)y < (int32_t)x ? y : x;
    case KN_EMU_REDUCE_MAX: return (int32_t)y > (int32_t)x ? y : x;
    case KN_EMU_REDUCE_UMIN: return y < x ? y : x;
    case KN_EMU_REDUCE_UMAX: return y > x ? y : x;
    case KN_EMU_REDUCE_AND: return x & y;
    case KN_EMU_REDUCE_OR: return x | y;
    default: return x ^ y;
    }
}

#define EACH_LANE(lane, lanes)                                                                     \
    for (unsigned left_ = (lanes), lane; left_ && (lane = (unsigned)__builtin_ctz(left_), 1);      \
         left_ &= left_ - 1)

/* What each of `lanes`, all at the operation of `some`, gets. */
static void compute(kn_emu_worker *w, const kn_emu_thread *some, unsigned lanes)
{
    kn_emu_thread *warp = lane_of(some, 0);
    int op = some->op & OP;
    unsigned votes = 0;
    kn_emu_word all = 0;
    bool first = true, same = true;
    switch (op) {
    case KN_EMU_SHFL:
    case KN_EMU_SHFL_UP:
    case KN_EMU_SHFL_DOWN:
    case KN_EMU_SHFL_XOR:
        EACH_LANE(lane, lanes)
        {
            kn_emu_thread *t = &warp[lane];
            unsigned from = shuffle_source(t);
            if (lanes >> from & 1)
                t->result = warp[from].value;
            else
                no_value(w, t, from);
        }
        return;
    case KN_EMU_MATCH_ANY:
        EACH_LANE(lane, lanes)
        {
            kn_emu_thread *t = lane_of(some, lane);
            t->result = 0;
            for (unsigned other = 0; other < KN_EMU_WARP; other++)
                if (lanes >> other & 1 && lane_of(some, other)->value == t->value)
                    t->result |= 1u << other;
        }
        return;
    default: break;
    }
    EACH_LANE(lane, lanes)
    {
        kn_emu_word v = lane_of(some, lane)->value;
        votes |= (unsigned)(v & 1) << lane;
        same = same && (first || v == all);
        all = first || op < KN_EMU_REDUCE_ADD ? v : combine(op, all, v);
        first = false;
    }
    kn_emu_word result = op == KN_EMU_BALLOT      ? votes
                         : op == KN_EMU_ANY       ? votes != 0
                         : op == KN_EMU_ALL       ? votes == lanes
                         : op == KN_EMU_MATCH_ALL ? (same ? lanes : 0)
                                                  : all;
    EACH_LANE(lane, lanes) lane_of(some, lane)->result = result;
}

/* Gives `lanes` their results, and wakes them but for `self`, which runs. */
static void leave(kn_emu_worker *w, kn_emu_thread *warp, unsigned lanes, const kn_emu_thread *self)
{
    const kn_emu_thread *some = &warp[__builtin_ctz(lanes)];
    w->progress++;
    if ((some->op & OP) == KN_EMU_SYNCWARP)
        kn_emu_order_lanes(w, warp, lanes);
    else
        compute(w, some, lanes);
    bool reversed = w->dev->options.order == KN_EMU_REVERSED;
    if (self)
        lanes &= ~(1u << self->lane);
    while (lanes) {
        unsigned lane = (unsigned)(reversed ? 31 - __builtin_clz(lanes) : __builtin_ctz(lanes));
        lanes &= ~(1u << lane);
        kn_emu_wake(w, &warp[lane]);
    }
}

/* Ends meeting i when everyone has come. `self`, one of them or NULL, is running and is not woken. In relaxed
 * mode lanes that the mask lacks may be on their way: unless all lanes are there it waits for
 * kn_emu_answer_stragglers(), which insists. */
static bool complete(kn_emu_worker *w, const kn_emu_thread *near, int i, const kn_emu_thread *self,
                     bool insist)
{
    kn_emu_warp_state *s = warp_of(near);
    kn_emu_meeting m = s->meetings[i];
    unsigned lanes = m.mask & s->alive;
    if ((m.arrived & lanes) != lanes)
        return false;
    if (w->dev->options.relaxed && lanes != s->alive && !insist)
        return false;
    s->meetings[i] = s->meetings[--s->nmeetings];
    if (lanes)
        leave(w, lane_of(near, 0), lanes, self);
    return true;
}

void kn_emu_warp_left(kn_emu_worker *w, kn_emu_thread *t)
{
    kn_emu_warp_state *s = warp_of(t);
    s->alive &= ~(1u << t->lane);
    for (int i = 0; i < s->nmeetings;)
        i = complete(w, t, i, NULL, false) ? 0 : i + 1;
}

/* Two lanes that wait for each other in different meetings will wait for ever. */
static void check_agreement(kn_emu_worker *w, const kn_emu_thread *t)
{
    const kn_emu_warp_state *s = warp_of(t);
    if (s->nmeetings < 2)
        return;
    EACH_LANE(lane, t->mask & s->alive)
    {
        const kn_emu_thread *o = lane_of(t, lane);
        if (o == t || o->state != KN_EMU_AT_WARP || (o->op & OP) == KN_EMU_ACTIVEMASK ||
            !(o->mask >> t->lane & 1) || (o->mask == t->mask && o->op == t->op))
            continue;
        kn_emu_fail(w, t->site,
                    "%s: lane %u with mask 0x%08x (line %d) and lane %u in %s with mask 0x%08x "
                    "(line %d) wait for each other: the lanes of a mask must name the same "
                    "operation and the same mask",
                    kn_emu_op_name(t->op), t->lane, t->mask, t->site.line, lane,
                    kn_emu_op_name(o->op), o->mask, o->site.line);
    }
}

kn_emu_word kn_emu_call_warp(int op, unsigned mask, kn_emu_word value, kn_emu_shuffle lanes,
                             kn_emu_site site)
{
    kn_emu_worker *w = kn_emu_here;
    kn_emu_thread *t = w->thread;
    t->op = op;
    t->mask = mask;
    t->value = value;
    t->lanes = lanes;
    t->site = site;
    t->state = KN_EMU_AT_WARP;
    bool member = mask >> t->lane & 1;
    if (op == KN_EMU_ACTIVEMASK || (!member && w->dev->options.relaxed)) {
        kn_emu_pause(w);
        return t->result;
    }
    if (!member)
        kn_emu_fail(w, site, "%s: lane %u is not in its own mask 0x%08x", kn_emu_op_name(op),
                    t->lane, mask);
    kn_emu_warp_state *s = warp_of(t);
    int i = 0;
    while (i < s->nmeetings && (s->meetings[i].mask != mask || s->meetings[i].op != op))
        i++;
    if (i == s->nmeetings)
        s->meetings[s->nmeetings++] = (kn_emu_meeting){.op = op, .mask = mask};
    s->meetings[i].arrived |= 1u << t->lane;
    if (complete(w, t, i, t, false)) {
        t->state = KN_EMU_READY;
        return t->result;
    }
    if (!w->dev->options.relaxed)
        check_agreement(w, t);
    kn_emu_pause(w);
    return t->result;
}

/* ---- when nothing else runs ---- */

static bool waits(const kn_emu_thread *t) { return t->state == KN_EMU_AT_WARP; }

/* Waiting lanes of the warp at the operation, the mask and the line of `t`: those that run together there. */
static unsigned lanes_with(const kn_emu_thread *t)
{
    unsigned lanes = 0;
    EACH_LANE(lane, warp_of(t)->alive)
    {
        const kn_emu_thread *o = lane_of(t, lane);
        if (waits(o) && o->op == t->op && o->mask == t->mask && o->site.line == t->site.line)
            lanes |= 1u << lane;
    }
    return lanes;
}

/* They go on without the others of their meeting. */
static void leave_meeting(kn_emu_worker *w, kn_emu_thread *t, unsigned lanes)
{
    kn_emu_warp_state *s = warp_of(t);
    for (int i = 0; i < s->nmeetings; i++) {
        kn_emu_meeting *m = &s->meetings[i];
        if (m->op != t->op || m->mask != t->mask)
            continue;
        m->arrived &= ~lanes;
        if (!m->arrived)
            *m = s->meetings[--s->nmeetings];
        break;
    }
    leave(w, lane_of(t, 0), lanes, NULL);
}

/* __activemask: the lanes that ask together. */
static bool answer_activemask(kn_emu_worker *w, kn_emu_thread *t)
{
    if (t->op != KN_EMU_ACTIVEMASK)
        return false;
    unsigned lanes = lanes_with(t);
    w->progress++;
    EACH_LANE(lane, lanes)
    {
        lane_of(t, lane)->result = lanes;
        kn_emu_wake(w, lane_of(t, lane));
    }
    return true;
}

/* What hardware does with a constant mask that lacks a caller: the lanes that run together make do with each
 * other. */
static bool answer_outsider(kn_emu_worker *w, kn_emu_thread *t)
{
    if (t->mask >> t->lane & 1)
        return false;
    leave_meeting(w, t, lanes_with(t));
    return true;
}

static bool answer_meeting(kn_emu_worker *w, kn_emu_thread *t)
{
    const kn_emu_warp_state *s = warp_of(t);
    for (int i = 0; i < s->nmeetings; i++)
        if (s->meetings[i].arrived >> t->lane & 1 && complete(w, t, i, NULL, true))
            return true;
    return false;
}

bool kn_emu_answer_stragglers(kn_emu_worker *w, kn_emu_block *b)
{
    typedef bool answer(kn_emu_worker *, kn_emu_thread *);
    static answer *const answers[] = {answer_activemask, answer_outsider, answer_meeting};
    int n = !b->live ? 0 : w->dev->options.relaxed ? 3 : 1;
    for (int a = 0; a < n; a++)
        for (unsigned i = 0; i < b->nthreads; i++)
            if (waits(&b->threads[i]) && answers[a](w, &b->threads[i]))
                return true;
    return false;
}
