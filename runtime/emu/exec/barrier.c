/* Barriers of a block, a cluster and a grid, and what is said when nobody can go on. */
#include <stdio.h>

#include "runtime/emu/check/check.h"
#include "runtime/emu/exec/calls.h"
#include "runtime/emu/exec/exec.h"

const char *kn_emu_barrier_name(int kind)
{
    static const char *const names[] = {
#define NAME(name, text) text,
        KN_EMU_BARRIERS(NAME)
#undef NAME
    };
    _Static_assert(sizeof names / sizeof *names == KN_EMU_BARRIER_KINDS, "a name for each");
    return names[kind];
}

static void wake_waiting(kn_emu_worker *w, kn_emu_block *b, kn_emu_state state)
{
    bool reversed = w->dev->options.order == KN_EMU_REVERSED;
    for (unsigned i = 0; i < b->nthreads; i++) {
        kn_emu_thread *t = &b->threads[reversed ? b->nthreads - 1 - i : i];
        if (t->state == state)
            kn_emu_wake(w, t);
    }
}

/* ---- the block ---- */

static void check_same_place(kn_emu_worker *w, kn_emu_block *b)
{
    kn_emu_thread *first = NULL;
    for (unsigned i = 0; i < b->nthreads; i++) {
        kn_emu_thread *t = &b->threads[i];
        if (t->state != KN_EMU_AT_BLOCK)
            continue;
        if (!first)
            first = t;
        if (t->site.line == first->site.line && t->op == first->op)
            continue;
        w->thread = t;
        kn_emu_fail(w, t->site,
                    "divergent barrier: thread %u waits in %s at line %d, thread %u in %s at line "
                    "%d",
                    first->number, kn_emu_barrier_name(first->op), first->site.line, t->number,
                    kn_emu_barrier_name(t->op), t->site.line);
    }
}

/* Opens the barrier when every thread that has not exited is there. */
static void try_block(kn_emu_worker *w, kn_emu_block *b)
{
    if (!b->live || b->waiting != b->live)
        return;
    if (!w->dev->options.relaxed)
        check_same_place(w, b);
    unsigned yes = 0;
    for (unsigned i = 0; i < b->nthreads; i++)
        yes += b->threads[i].state == KN_EMU_AT_BLOCK && b->threads[i].value;
    for (unsigned i = 0; i < b->nthreads; i++) {
        kn_emu_thread *t = &b->threads[i];
        if (t->state == KN_EMU_AT_BLOCK)
            t->result = t->op == KN_EMU_BARRIER_COUNT ? yes
                        : t->op == KN_EMU_BARRIER_AND ? yes == b->live
                                                      : yes != 0;
    }
    b->waiting = 0;
    b->cluster->shared_fence = b->cluster->fence_epoch;
    kn_emu_share_clocks(w, b);
    b->barrier_time = ++w->time;
    w->progress++;
    wake_waiting(w, b, KN_EMU_AT_BLOCK);
}

/* ---- the cluster ---- */

static void try_cluster(kn_emu_worker *w, kn_emu_block *head)
{
    if (!head->cluster_live || head->cluster_arrived != head->cluster_live)
        return;
    head->cluster_arrived = 0;
    head->cluster_phase++;
    head->met_time = ++w->time;
    head->shared_fence = head->fence_epoch;
    w->progress++;
    unsigned now = head->cluster_phase & 1;
    for (unsigned i = 0; i < w->launch->cluster; i++) {
        for (unsigned j = 0; j < head[i].nthreads; j++) {
            kn_emu_thread *t = &head[i].threads[j];
            t->met[now] = t->state == KN_EMU_DONE ? w->time
                          : t->relaxed            ? t->met[!now]
                                                  : t->arrived_time;
            t->cluster_arrived = false;
        }
        wake_waiting(w, &head[i], KN_EMU_AT_CLUSTER);
    }
}

void kn_emu_call_cluster_arrive(int relaxed, kn_emu_site site)
{
    kn_emu_worker *w = kn_emu_here;
    kn_emu_thread *t = w->thread;
    kn_emu_block *head = t->block->cluster;
    if (t->cluster_arrived)
        kn_emu_fail(w, site, "the thread arrives at the cluster barrier twice without waiting");
    t->site = site;
    t->cluster_arrived = true;
    t->relaxed = relaxed != 0;
    t->arrived_time = ++w->time;
    t->cluster_phase = head->cluster_phase;
    head->cluster_arrived++;
    try_cluster(w, head);
}

static void wait_for_cluster(kn_emu_worker *w, kn_emu_thread *t)
{
    kn_emu_block *head = t->block->cluster;
    if (!t->cluster_arrived && t->cluster_phase == head->cluster_phase)
        kn_emu_fail(w, t->site, "the thread waits at the cluster barrier without arriving");
    if (t->cluster_phase == head->cluster_phase) {
        t->state = KN_EMU_AT_CLUSTER;
        kn_emu_pause(w);
    }
    t->cluster_phase = head->cluster_phase;
    t->block->met_cluster = true;
}

/* ---- the grid ---- */

static void try_grid(kn_emu_worker *w)
{
    for (unsigned i = 0; i < w->gang_size; i++)
        if (!w->gang[i].live || w->gang[i].at_grid != w->gang[i].live)
            return;
    uint32_t now = ++w->time;
    w->progress++;
    kn_emu_grid_epoch(w);
    for (unsigned i = 0; i < w->gang_size; i++) {
        kn_emu_block *b = &w->gang[i];
        b->at_grid = 0;
        b->barrier_time = b->cluster_time = now;
        wake_waiting(w, b, KN_EMU_AT_GRID);
    }
}

/* ---- all ---- */

int kn_emu_call_barrier(int kind, int predicate, kn_emu_site site)
{
    kn_emu_worker *w = kn_emu_here;
    kn_emu_thread *t = w->thread;
    t->op = kind;
    t->site = site;
    t->value = predicate != 0;
    if (kind == KN_EMU_BARRIER_CLUSTER) {
        wait_for_cluster(w, t);
        return 0;
    }
    if (kind == KN_EMU_BARRIER_GRID) {
        if (!w->launch->grid.cooperative)
            kn_emu_fail(w, site, "a grid barrier in a launch that is not cooperative");
        t->state = KN_EMU_AT_GRID;
        t->block->at_grid++;
        try_grid(w);
    } else {
        t->state = KN_EMU_AT_BLOCK;
        t->block->waiting++;
        try_block(w, t->block);
    }
    kn_emu_pause(w);
    return (int)t->result;
}

void kn_emu_barrier_left(kn_emu_worker *w, kn_emu_thread *t)
{
    kn_emu_block *b = t->block, *head = b->cluster;
    head->cluster_live--;
    if (t->cluster_arrived)
        head->cluster_arrived--;
    try_block(w, b);
    if (w->launch->cluster > 1)
        try_cluster(w, head);
    if (w->launch->grid.cooperative && b->at_grid)
        try_grid(w);
}

/* ---- deadlock ---- */

/* `text` is room for what has to be put together. */
static const char *waits_in(const kn_emu_thread *t, char *text, size_t size)
{
    if (t->polled_barrier) {
        kn_emu_mbarrier_describe(t->polled_barrier, text, size);
        return text;
    }
    switch ((kn_emu_state)t->state) {
    case KN_EMU_AT_WARP: return kn_emu_op_name(t->op);
    case KN_EMU_POLLING: return "a loop that polls memory which nobody changes";
    case KN_EMU_AT_BLOCK:
    case KN_EMU_AT_GRID:
    case KN_EMU_AT_CLUSTER: return kn_emu_barrier_name(t->op);
    default: return "the queue";
    }
}

static bool same_wait(const kn_emu_thread *a, const kn_emu_thread *b)
{
    return a->state == b->state && a->site.line == b->site.line && a->site.pc == b->site.pc &&
           a->polled_barrier == b->polled_barrier;
}

/* Neighbours that wait at the same place are one range. */
void kn_emu_deadlock(kn_emu_worker *w)
{
    enum { MOST = 8 };
    char text[900];
    size_t len = 0;
    int ranges = 0;
    const kn_emu_thread *witness = NULL;
    for (unsigned i = 0; i < w->gang_size; i++) {
        const kn_emu_block *b = &w->gang[i];
        for (unsigned first = 0, last; first < b->nthreads; first = last + 1) {
            const kn_emu_thread *t = &b->threads[first];
            last = first;
            if (t->state == KN_EMU_DONE)
                continue;
            witness = witness ? witness : t;
            while (last + 1 < b->nthreads && same_wait(t, &b->threads[last + 1]))
                last++;
            char line[32] = "", what[120];
            if (t->site.line)
                snprintf(line, sizeof line, " at line %d", t->site.line);
            if (ranges++ < MOST && len < sizeof text)
                len += (size_t)snprintf(text + len, sizeof text - len,
                                        "; block (%u,%u,%u) threads %u to %u wait in %s%s",
                                        b->idx.x, b->idx.y, b->idx.z, first, last,
                                        waits_in(t, what, sizeof what), line);
        }
    }
    char more[40] = "";
    if (ranges > MOST)
        snprintf(more, sizeof more, "; and %d more", ranges - MOST);
    kn_emu_fail_block(w, witness->site, "deadlock%s%s", text, more);
}
