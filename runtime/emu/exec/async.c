/* What kernels call for asynchronous copies: begin one, commit a group, wait for groups. */
#include <stdlib.h>

#include "runtime/emu/check/check.h"
#include "runtime/emu/exec/calls.h"
#include "runtime/emu/exec/exec.h"

enum { BULK_PIECE = 16 };

static void require_alignment(kn_emu_worker *w, const void *p, unsigned alignment, int line,
                              void *pc)
{
    char where[200];
    if ((uintptr_t)p % alignment == 0)
        return;
    kn_emu_describe(w, p, where, sizeof where);
    kn_emu_fail(w, line, pc, "misaligned: an asynchronous copy at %s, no multiple of %u", where,
                alignment);
}

void kn_emu_call_copy_async(void *to, const void *from, unsigned bytes, unsigned zeros,
                            unsigned alignment, int line, void *pc)
{
    kn_emu_worker *w = kn_emu_here;
    kn_emu_copies *list = &w->thread->copies[KN_EMU_COPY_THREAD];
    if (zeros > bytes)
        kn_emu_fail(w, line, pc, "a copy of %u bytes, %u of them zeros", bytes, zeros);
    require_alignment(w, to, alignment, line, pc);
    require_alignment(w, from, alignment, line, pc);
    kn_emu_copy *c = kn_emu_copy_new(w, to, from, bytes, zeros, false, line, pc);
    c->group = list->groups;
    kn_emu_copies_add(list, c);
    if (c->to.owner != w->block)
        kn_emu_fail(w, line, pc, "an asynchronous copy to what is not the block's shared memory");
}

/* What the bulk copies require of addresses and sizes. */
static void check_bulk(kn_emu_worker *w, const void *to, const void *from, unsigned bytes, int line,
                       void *pc)
{
    if (bytes == 0 || bytes % BULK_PIECE)
        kn_emu_fail(w, line, pc, "a bulk copy of %u bytes, no multiple of %d", bytes, BULK_PIECE);
    require_alignment(w, to, BULK_PIECE, line, pc);
    require_alignment(w, from, BULK_PIECE, line, pc);
}

static void store(kn_emu_worker *w, void *to, const void *from, unsigned bytes, int line, void *pc)
{
    kn_emu_copies *list = &w->thread->copies[KN_EMU_COPY_BULK];
    kn_emu_copy *c = kn_emu_copy_new(w, to, from, bytes, 0, true, line, pc);
    c->group = list->groups;
    kn_emu_copies_add(list, c);
}

void kn_emu_call_bulk(int kind, void *to, const void *from, unsigned bytes, void *barrier,
                      unsigned mask, int line, void *pc)
{
    kn_emu_worker *w = kn_emu_here;
    if (kind == KN_EMU_BULK_VALUE) {
        require_alignment(w, to, bytes, line, pc);
        kn_emu_mbarrier_store(w, to, from, bytes, barrier, line, pc);
        return;
    }
    check_bulk(w, to, from, bytes, line, pc);
    if (kind == KN_EMU_BULK_STORE) {
        store(w, to, from, bytes, line, pc);
        return;
    }
    if (kind == KN_EMU_BULK_LOAD) {
        kn_emu_mbarrier_load(w, to, from, bytes, barrier, line, pc);
        return;
    }
    if (!mask || mask >> w->launch->cluster)
        kn_emu_fail(w, line, pc, "a multicast to the blocks 0x%x of a cluster of %u", mask,
                    w->launch->cluster);
    for (unsigned rank = 0; rank < w->launch->cluster; rank++)
        if (mask >> rank & 1)
            kn_emu_mbarrier_load(w, kn_emu_in_rank(w, to, rank, line, pc), from, bytes,
                                 kn_emu_in_rank(w, barrier, rank, line, pc), line, pc);
}

void kn_emu_call_proxy_fence(void)
{
    kn_emu_worker *w = kn_emu_here;
    w->thread->proxy_fence = ++w->time;
}

void kn_emu_call_copy_commit(int kind) { kn_emu_here->thread->copies[kind].groups++; }

void kn_emu_call_copy_wait(int kind, unsigned newest, int line, void *pc)
{
    kn_emu_worker *w = kn_emu_here;
    kn_emu_copies *list = &w->thread->copies[kind];
    (void)line, (void)pc;
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
