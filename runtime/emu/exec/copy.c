/* Asynchronous copies. A copy is done when somebody waits for it, as late as it may be: what it is to fill is
 * marked and poisoned at once, so whoever reads earlier, or never waits, is found out.
 *
 *     cp.async        into shared memory; its thread waits for groups of its own copies
 *     bulk, loading   into shared memory; an mbarrier counts the bytes: mbarrier.c
 *     bulk, storing   out of shared memory; its thread waits for groups, as for cp.async
 *     st.async        a value, into shared memory; counted as bulk loads are */
#include <stdlib.h>
#include <string.h>

#include "runtime/emu/check/check.h"
#include "runtime/emu/exec/exec.h"

static char *pointer_to(const kn_emu_worker *w, kn_emu_place at)
{
    return at.owner ? kn_emu_shared_at(w, at) : (char *)at.offset;
}

/* A copy of which only the destination is known. */
static kn_emu_copy *new_to(kn_emu_worker *w, const kn_emu_transfer *what, kn_emu_site site)
{
    kn_emu_copy *c = malloc(sizeof *c);
    if (!c)
        kn_emu_fail(w, site, "out of memory for an asynchronous copy");
    *c = (kn_emu_copy){
        .to = kn_emu_place_of(w, what->to), .bytes = what->bytes, .by = w->thread, .site = site};
    w->thread->unplaced = c; /* freed with the thread, should a check fail */
    return c;
}

kn_emu_copy *kn_emu_copy_of_value(kn_emu_worker *w, kn_emu_transfer what, kn_emu_site site)
{
    kn_emu_copy *c = new_to(w, &what, site);
    memcpy(c->value, what.from, what.bytes);
    c->from = (kn_emu_place){NULL, (uintptr_t)c->value};
    if (c->to.owner)
        kn_emu_shared_in_flight(w, c->to, what.bytes, site);
    c->issued = ++w->time;
    w->thread->unplaced = NULL;
    return c;
}

kn_emu_copy *kn_emu_copy_new(kn_emu_worker *w, kn_emu_transfer what, bool bulk, kn_emu_site site)
{
    kn_emu_copy *c = new_to(w, &what, site);
    c->from = kn_emu_place_of(w, what.from);
    c->zeros = what.zeros;
    c->bulk = bulk;
    unsigned taken = what.bytes - what.zeros;
    if (w->launch->checked && taken)
        kn_emu_check(w, what.from, taken, KN_EMU_READ, site);
    if (w->launch->checked && taken && bulk && c->from.owner)
        kn_emu_check_fenced(w, c->from, taken, site);
    if (c->to.owner)
        kn_emu_shared_in_flight(w, c->to, what.bytes, site);
    else if (w->launch->checked && what.bytes)
        kn_emu_check(w, what.to, what.bytes, KN_EMU_WRITE, site);
    c->issued = ++w->time;
    w->thread->unplaced = NULL;
    return c;
}

void kn_emu_copy_perform(kn_emu_worker *w, const kn_emu_copy *c)
{
    unsigned taken = c->bytes - c->zeros;
    char *to = pointer_to(w, c->to);
    if (w->launch->checked && c->from.owner)
        kn_emu_check_unchanged(w, c->from, taken, c->issued, c->site);
    memcpy(to, pointer_to(w, c->from), taken);
    memset(to + taken, 0, c->zeros);
    if (c->to.owner)
        kn_emu_shared_landed(w, c->to, c->bytes, c->by, c->bulk);
    w->progress++;
}

void kn_emu_copies_add(kn_emu_copies *list, kn_emu_copy *c)
{
    *list->last = c;
    list->last = &c->next;
}

void kn_emu_copies_free(kn_emu_copies *list)
{
    while (list->first) {
        kn_emu_copy *c = list->first;
        list->first = c->next;
        free(c);
    }
    list->last = &list->first;
}

void kn_emu_copies_left(kn_emu_worker *w, const kn_emu_thread *t)
{
    for (int kind = 0; kind < KN_EMU_COPY_KINDS; kind++) {
        const kn_emu_copy *c = t->copies[kind].first;
        if (c)
            kn_emu_fail(w, c->site,
                        "the thread ends with an asynchronous copy that it never waited for%s",
                        c->group == t->copies[kind].groups ? ", nor committed" : "");
    }
}
