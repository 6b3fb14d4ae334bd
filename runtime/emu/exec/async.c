/* What kernels call for asynchronous copies: begin one, commit a group, wait for groups. */
#include <stdlib.h>

#include "runtime/emu/check/check.h"
#include "runtime/emu/exec/calls.h"
#include "runtime/emu/exec/exec.h"

enum { BULK_PIECE = 16 };

static void require_alignment(kn_emu_worker *w, const void *p, unsigned alignment, kn_emu_site site)
{
    char where[200];
    if ((uintptr_t)p % alignment == 0)
        return;
    kn_emu_describe(w, p, where, sizeof where);
    kn_emu_fail(w, site, "misaligned: an asynchronous copy at %s, no multiple of %u", where,
                alignment);
}

void kn_emu_call_copy_async(kn_emu_transfer what, unsigned alignment, kn_emu_site site)
{
    kn_emu_worker *w = kn_emu_here;
    kn_emu_copies *list = &w->thread->copies[KN_EMU_COPY_THREAD];
    if (what.zeros > what.bytes)
        kn_emu_fail(w, site, "a copy of %u bytes, %u of them zeros", what.bytes, what.zeros);
    require_alignment(w, what.to, alignment, site);
    require_alignment(w, what.from, alignment, site);
    kn_emu_copy *c = kn_emu_copy_new(w, what, false, site);
    c->group = list->groups;
    kn_emu_copies_add(list, c);
    if (c->to.owner != w->block)
        kn_emu_fail(w, site, "an asynchronous copy to what is not the block's shared memory");
}

/* What the bulk copies require of addresses and sizes. */
static void check_bulk(kn_emu_worker *w, const kn_emu_transfer *what, kn_emu_site site)
{
    if (what->bytes == 0 || what->bytes % BULK_PIECE)
        kn_emu_fail(w, site, "a bulk copy of %u bytes, no multiple of %d", what->bytes, BULK_PIECE);
    require_alignment(w, what->to, BULK_PIECE, site);
    require_alignment(w, what->from, BULK_PIECE, site);
}

static void store(kn_emu_worker *w, kn_emu_transfer what, kn_emu_site site)
{
    kn_emu_copies *list = &w->thread->copies[KN_EMU_COPY_BULK];
    kn_emu_copy *c = kn_emu_copy_new(w, what, true, site);
    c->group = list->groups;
    kn_emu_copies_add(list, c);
}

void kn_emu_call_bulk(int kind, kn_emu_transfer what, void *barrier, unsigned mask,
                      kn_emu_site site)
{
    kn_emu_worker *w = kn_emu_here;
    if (kind == KN_EMU_BULK_VALUE) {
        require_alignment(w, what.to, what.bytes, site);
        kn_emu_mbarrier_store(w, what, barrier, site);
        return;
    }
    check_bulk(w, &what, site);
    if (kind == KN_EMU_BULK_STORE) {
        store(w, what, site);
        return;
    }
    if (kind == KN_EMU_BULK_LOAD) {
        kn_emu_mbarrier_load(w, what, barrier, site);
        return;
    }
    if (!mask || mask >> w->launch->cluster)
        kn_emu_fail(w, site, "a multicast to the blocks 0x%x of a cluster of %u", mask,
                    w->launch->cluster);
    for (unsigned rank = 0; rank < w->launch->cluster; rank++) {
        kn_emu_transfer there = what;
        if (!(mask >> rank & 1))
            continue;
        there.to = kn_emu_in_rank(w, what.to, rank, site);
        kn_emu_mbarrier_load(w, there, kn_emu_in_rank(w, barrier, rank, site), site);
    }
}

void kn_emu_call_proxy_fence(void)
{
    kn_emu_worker *w = kn_emu_here;
    w->thread->proxy_fence = ++w->time;
}

void kn_emu_call_copy_commit(int kind) { kn_emu_here->thread->copies[kind].groups++; }

void kn_emu_call_copy_wait(int kind, unsigned newest, kn_emu_site site)
{
    kn_emu_worker *w = kn_emu_here;
    kn_emu_copies *list = &w->thread->copies[kind];
    (void)site;
    while (list->first && list->first->group < list->groups &&
           list->groups - list->first->group > newest) {
        kn_emu_copy *c = list->first;
        kn_emu_copy_perform(w, c);
        list->first = c->next;
        if (!list->first)
            list->last = &list->first;
        free(c);
    }
}
