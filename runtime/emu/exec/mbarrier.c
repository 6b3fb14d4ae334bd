/* mbarriers: objects in shared memory that count a phase's arrivals and the bytes of bulk copies.
 *
 * A phase ends when all have arrived and the copies brought the bytes that were announced. The copies are made
 * when somebody looks whether the phase has ended, or arrives for the next one. What a thread did before it
 * arrived, and what it read before it began one of the copies, is before what a thread does that has seen the phase
 * end: that goes by clocks, see order.c.
 *
 * The object's own 8 bytes hold nothing; what it counts is kept beside. */
#include <stdio.h>
#include <stdlib.h>

#include "runtime/emu/check/check.h"
#include "runtime/emu/exec/calls.h"
#include "runtime/emu/exec/exec.h"

enum { SIZE = 8, MAX_COUNT = (1 << 20) - 1 };

struct kn_emu_mbarrier {
    kn_emu_mbarrier *next;
    size_t offset;
    unsigned phase, count, pending; /* arrivals a phase, and those still to come in this one */
    uint64_t expected, brought;     /* bytes of this phase: announced, of its copies */
    kn_emu_copies copies;
    uint32_t *arrived, *ended; /* what who arrived knew; the same until the last phase ended */
    kn_emu_site site;          /* of its initialisation */
};

static const char *name_of(int op)
{
    static const char *const names[] = {
#define NAME(name, text) text,
        KN_EMU_MBARRIERS(NAME)
#undef NAME
    };
    _Static_assert(sizeof names / sizeof *names == KN_EMU_MBARRIER_COUNT, "a name for each");
    return names[op];
}

static kn_emu_mbarrier *find(kn_emu_place at)
{
    kn_emu_mbarrier *m = at.owner->mbarriers;
    while (m && m->offset != at.offset)
        m = m->next;
    return m;
}

static kn_emu_mbarrier *of_pointer(kn_emu_worker *w, const void *p, int op, kn_emu_site site)
{
    kn_emu_place at = kn_emu_place_of(w, p);
    if (at.owner && w->launch->checked)
        kn_emu_check(w, p, SIZE, KN_EMU_WRITE | KN_EMU_ATOMIC, site);
    kn_emu_mbarrier *m = at.owner ? find(at) : NULL;
    if (m)
        return m;
    char where[200];
    kn_emu_describe(w, p, where, sizeof where);
    if (!at.owner)
        kn_emu_fail(w, site, "%s: %s is no shared memory", name_of(op), where);
    kn_emu_fail(w, site, "%s: %s is no mbarrier; mbarrier.init makes one", name_of(op), where);
}

/* ---- phases ---- */

static bool complete(const kn_emu_mbarrier *m)
{
    return m->pending == 0 && m->expected == m->brought;
}

static void end_phase(kn_emu_worker *w, kn_emu_mbarrier *m)
{
    ++w->time;
    for (const kn_emu_copy *c = m->copies.first; c; c = c->next) {
        kn_emu_copy_perform(w, c);
        size_t by = (size_t)c->by->block->rank * c->by->block->nthreads + c->by->number;
        m->arrived[by] = w->time + 1;
    }
    ++w->time;
    kn_emu_copies_free(&m->copies);
    kn_emu_join_clock(w, m->ended, m->arrived);
    m->phase++;
    m->pending = m->count;
    m->expected = m->brought = 0;
    w->progress++;
}

/* Copies that could have been made long ago are, before the next phase begins. */
static void catch_up(kn_emu_worker *w, kn_emu_mbarrier *m)
{
    if (complete(m))
        end_phase(w, m);
}

static void arrive(kn_emu_worker *w, kn_emu_mbarrier *m, kn_emu_word count, int op,
                   kn_emu_site site)
{
    if (count == 0 || count > m->pending)
        kn_emu_fail(w, site, "%s: %llu arrivals, where the phase awaits %u more of its %u",
                    name_of(op), count, m->pending, m->count);
    kn_emu_publish(w, w->thread, m->arrived);
    m->pending -= (unsigned)count;
    w->progress++;
    if (op == KN_EMU_MBARRIER_DROP)
        m->count -= (unsigned)count;
    if (!m->copies.first)
        catch_up(w, m);
}

/* Whether the phase ended that a thread asks about: by its number, or its number's last bit. */
static bool ended(kn_emu_worker *w, kn_emu_mbarrier *m, bool parity, kn_emu_word phase)
{
    bool current = parity ? (m->phase & 1) == (phase & 1) : m->phase == phase;
    if (current && complete(m)) {
        end_phase(w, m);
        current = false;
    }
    if (!current && m->phase)
        kn_emu_learn(w, w->thread, m->ended);
    return !current;
}

/* try_wait may take its time: the others run, once. */
static bool try_wait(kn_emu_worker *w, kn_emu_mbarrier *m, bool parity, kn_emu_word phase,
                     kn_emu_site site)
{
    if (ended(w, m, parity, phase))
        return true;
    w->thread->polled_barrier = m;
    kn_emu_yield(w, site);
    w->thread->polled_barrier = NULL;
    return ended(w, m, parity, phase);
}

/* ---- the object ---- */

static void init(kn_emu_worker *w, void *p, kn_emu_word count, kn_emu_site site)
{
    char where[200];
    kn_emu_place at = kn_emu_place_of(w, p);
    kn_emu_describe(w, p, where, sizeof where);
    if (at.owner != w->block || !at.owner)
        kn_emu_fail(w, site, "mbarrier.init: %s is not in the block's shared memory", where);
    if (at.offset % SIZE)
        kn_emu_fail(w, site, "misaligned: an mbarrier at %s, no multiple of %d", where, SIZE);
    if (count == 0 || count > MAX_COUNT)
        kn_emu_fail(w, site, "mbarrier.init: %llu arrivals; 1 to %d can be", count, MAX_COUNT);
    if (find(at))
        kn_emu_fail(w, site, "mbarrier.init: %s is an mbarrier already", where);
    if (w->launch->checked)
        kn_emu_check(w, p, SIZE, KN_EMU_WRITE, site);
    kn_emu_mbarrier *m = calloc(1, sizeof *m);
    if (!m)
        kn_emu_fail(w, site, "out of memory for an mbarrier");
    *m = (kn_emu_mbarrier){.next = at.owner->mbarriers,
                           .offset = at.offset,
                           .count = (unsigned)count,
                           .pending = (unsigned)count,
                           .site = site};
    m->copies.last = &m->copies.first;
    at.owner->mbarriers = m;
    m->arrived = kn_emu_new_clock(w);
    m->ended = kn_emu_new_clock(w);
}

static void free_one(kn_emu_mbarrier *m)
{
    kn_emu_copies_free(&m->copies);
    free(m->arrived);
    free(m->ended);
    free(m);
}

static void check_rest(kn_emu_worker *w, const kn_emu_mbarrier *m, kn_emu_site site)
{
    const kn_emu_copy *c = m->copies.first;
    if (c && w->launch->checked)
        kn_emu_fail(w, c->site,
                    "a bulk copy of %u bytes that nobody waited for: its mbarrier's phase has not "
                    "been seen to end",
                    c->bytes);
    if ((m->pending != m->count || m->expected) && !w->dev->options.relaxed)
        kn_emu_fail(w, site,
                    "an mbarrier is left in the middle of a phase: %u of %u arrivals, %llu of %llu "
                    "bytes",
                    m->count - m->pending, m->count, (unsigned long long)m->brought,
                    (unsigned long long)m->expected);
}

static void invalidate(kn_emu_worker *w, kn_emu_mbarrier *m, kn_emu_site site)
{
    check_rest(w, m, site);
    kn_emu_mbarrier **at = &w->block->mbarriers;
    while (*at && *at != m)
        at = &(*at)->next;
    if (!*at)
        kn_emu_fail(w, site, "mbarrier.inval: an mbarrier of another block");
    *at = m->next;
    free_one(m);
}

void kn_emu_mbarriers_left(kn_emu_worker *w, const kn_emu_block *b)
{
    for (const kn_emu_mbarrier *m = b->mbarriers; m; m = m->next)
        check_rest(w, m, m->site);
}

void kn_emu_mbarriers_free(kn_emu_block *b)
{
    while (b->mbarriers) {
        kn_emu_mbarrier *m = b->mbarriers;
        b->mbarriers = m->next;
        free_one(m);
    }
}

void kn_emu_mbarrier_describe(const kn_emu_mbarrier *m, char *text, size_t size)
{
    snprintf(text, size, "mbarrier.try_wait (%u of %u arrivals, copies of %llu of %llu bytes)",
             m->count - m->pending, m->count, (unsigned long long)m->brought,
             (unsigned long long)m->expected);
}

/* ---- what kernels call ---- */

/* The phase counts this copy. */
static void count_copy(kn_emu_worker *w, kn_emu_mbarrier *m, kn_emu_copy *c, const void *barrier)
{
    kn_emu_copies_add(&m->copies, c);
    kn_emu_publish_reads(w, c->by, m->arrived);
    if (!c->to.owner || c->to.owner != kn_emu_place_of(w, barrier).owner)
        kn_emu_fail(w, c->site,
                    "a bulk copy goes to the shared memory of the block that its mbarrier is in");
    m->brought += c->bytes;
    if (m->expected && m->brought > m->expected)
        kn_emu_fail(w, c->site,
                    "the mbarrier's phase expects %llu bytes, and its copies bring %llu",
                    (unsigned long long)m->expected, (unsigned long long)m->brought);
    w->progress++;
}

void kn_emu_mbarrier_load(kn_emu_worker *w, kn_emu_transfer what, void *barrier, kn_emu_site site)
{
    kn_emu_mbarrier *m = of_pointer(w, barrier, KN_EMU_MBARRIER_LOAD, site);
    catch_up(w, m);
    count_copy(w, m, kn_emu_copy_new(w, what, true, site), barrier);
}

void kn_emu_mbarrier_store(kn_emu_worker *w, kn_emu_transfer what, void *barrier, kn_emu_site site)
{
    kn_emu_mbarrier *m = of_pointer(w, barrier, KN_EMU_MBARRIER_STORE, site);
    catch_up(w, m);
    count_copy(w, m, kn_emu_copy_of_value(w, what, site), barrier);
}

/* cp.async.mbarrier.arrive: the thread's copies so far end with the phase, to which they are an arrival. */
static void arrive_with_copies(kn_emu_worker *w, kn_emu_mbarrier *m, bool counted, kn_emu_site site)
{
    kn_emu_copies *mine = &w->thread->copies[KN_EMU_COPY_THREAD];
    catch_up(w, m);
    if (mine->first) {
        *m->copies.last = mine->first;
        m->copies.last = mine->last;
        mine->first = NULL;
        mine->last = &mine->first;
    }
    if (counted)
        arrive(w, m, 1, KN_EMU_MBARRIER_COPIES, site);
    else
        kn_emu_publish(w, w->thread, m->arrived);
}

kn_emu_word kn_emu_call_mbarrier(int op, void *p, kn_emu_word a, unsigned bytes, kn_emu_site site)
{
    kn_emu_worker *w = kn_emu_here;
    if (op == KN_EMU_MBARRIER_INIT) {
        init(w, p, a, site);
        return 0;
    }
    kn_emu_mbarrier *m = of_pointer(w, p, op, site);
    kn_emu_word phase = m->phase + (complete(m) ? 1u : 0);
    switch (op) {
    case KN_EMU_MBARRIER_INVAL: invalidate(w, m, site); return 0;
    case KN_EMU_MBARRIER_EXPECT:
    case KN_EMU_MBARRIER_ARRIVE:
    case KN_EMU_MBARRIER_DROP:
        catch_up(w, m);
        m->expected += bytes;
        if (op != KN_EMU_MBARRIER_EXPECT)
            arrive(w, m, a, op, site);
        return phase;
    case KN_EMU_MBARRIER_COPIES: arrive_with_copies(w, m, a != 0, site); return phase;
    case KN_EMU_MBARRIER_TEST: return ended(w, m, false, a);
    case KN_EMU_MBARRIER_TEST_PARITY: return ended(w, m, true, a);
    case KN_EMU_MBARRIER_TRY: return try_wait(w, m, false, a, site);
    default: return try_wait(w, m, true, a, site);
    }
}
