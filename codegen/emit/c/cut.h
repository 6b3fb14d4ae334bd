/* How a phase's work is divided into blocks of lanes and units, whoever runs it: the CPU device, which includes this file,
 * and emitted programs, which begin with its text. It is C11 and C++17, and follows prelude.h.
 *
 * Which index the lanes are, and where blocks begin within a group, depends on the call's numbers alone, so that results
 * are the same for any number of threads. */
#ifndef KN_CODEGEN_C_CUT_H
#define KN_CODEGEN_C_CUT_H

#include "codegen/emit/c/prelude.h"
#include "codegen/kir/integers.h"

/* What is known of a phase without a call's numbers. */
typedef struct kn_c_shape {
    int walks_cols;           /* its schedule walks columns */
    int divisible;            /* its members can be divided: no reductions, no second sweep */
    int row_lanes, col_lanes; /* the most lanes of a block */
    int kept; /* members of the rows that keep values for later sweeps, at most; 0: none does */
    int work, group_work; /* steps: of a member, and of a group */
    /* runs of lanes at least this long get blocks of their own: of rows, those of whole vectors, of columns */
    int run_rows, run_whole, run_cols;
    int moved; /* bytes of a member, of each array that has one for all groups and members */
} kn_c_shape;

/* What a call's numbers add. */
typedef struct kn_c_extents {
    __INT64_TYPE__ groups, members;
    __INT64_TYPE__ run;           /* of the last axis of several that lanes run along; 0: of one */
    __INT64_TYPE__ splits, chunk; /* of a split phase; else splits is 0 */
    __INT64_TYPE__ tiles;         /* how many there are; -1: blocks are no tiles */
    double stream; /* bytes that are moved, from which on stores go past the caches */
    int threads;
} kn_c_extents;

typedef struct kn_c_cut {
    __INT64_TYPE__ most, run, run_step, parts, part; /* as in kn_c_call */
    __INT64_TYPE__ units, per_task;
    int several; /* it is worth several threads */
    int stream;  /* as in kn_c_call */
} kn_c_cut;

/* From so many bytes that a phase moves no cache is taken to hold what it wrote until somebody reads it. */
#ifndef KN_STREAM_BYTES
#define KN_STREAM_BYTES (32.0 * 1024 * 1024)
#endif

enum {
    KN_INLINE_WORK = 32 * 1024, /* steps over elements: less is not worth waking a thread */
    KN_TASK_WORK = 32 * 1024,
    KN_TASKS_A_THREAD = 8,
    KN_FEW_MEMBERS = 16,
    KN_FEW_GROUPS = 4,
    KN_SIDE = 64,           /* the most lanes that members side by side become, */
    KN_WIDE = 512,          /* and where nothing is reduced */
    KN_LEAST_COLUMNS = 128, /* of a tile, where several threads have some, before they are even */
    KN_TILE = 32            /* the side of an interpreted tile */
};

/* Narrow columns: how many members side by side, a power of 2, are lanes enough; 1: columns are wide. */
static inline __INT64_TYPE__ kn_beside(__INT64_TYPE__ groups)
{
    __INT64_TYPE__ beside = 1;
    while (groups > 0 && 2 * beside * groups <= KN_SIDE)
        beside *= 2;
    return beside;
}

/* Are groups the lanes, of a phase that has both? So if the schedule walks columns, unless there are too few; and if rows have
 * few members, where a schedule for all sizes, or an emitted program, could not know. */
static inline int kn_by_cols(int walks_cols, __INT64_TYPE__ groups, __INT64_TYPE__ members)
{
    if (walks_cols)
        return groups >= KN_FEW_GROUPS || groups > members;
    return members < KN_FEW_MEMBERS && groups / 4 > members;
}

/* Columns of a tile, `most` at most: as many tiles for each thread, or as leave each KN_LEAST_COLUMNS, and all as wide, up to
 * whole 32. */
static inline __INT64_TYPE__ kn_even_columns(__INT64_TYPE__ most, __INT64_TYPE__ groups,
                                             __INT64_TYPE__ beside)
{
    const __INT64_TYPE__ each = kn_ceiling(kn_ceiling(groups, most), beside) * beside,
                         least = kn_greater(KN_LEAST_COLUMNS, kn_ceiling(groups, each * 64) * 64);
    return kn_lesser(most, kn_ceiling(groups, kn_greater(1, kn_ceiling(groups, least)) * 32) * 32);
}

/* Units of a task, about `least`: all tasks have as many, and all threads as many tasks. */
static inline __INT64_TYPE__ kn_even_tasks(__INT64_TYPE__ units, __INT64_TYPE__ least,
                                           __INT64_TYPE__ threads)
{
    __INT64_TYPE__ tasks = kn_ceiling(units, kn_greater(1, least));
    if (tasks > threads)
        tasks = kn_ceiling(tasks, threads) * threads;
    return kn_ceiling(units, kn_greater(1, tasks));
}

/* Divides long runs along the last lane axis evenly, so that no block spans the end of one. */
static inline void kn_cut_runs(kn_c_cut *c, __INT64_TYPE__ run, __INT64_TYPE__ least)
{
    c->run = c->run_step = 0;
    if (run < least || run == 0)
        return;
    c->run = run;
    c->run_step = kn_lesser(c->most, (kn_ceiling(run, kn_ceiling(run, c->most)) + 15) / 16 * 16);
}

/* As many lanes as are whole runs, and whole vectors if they are no more: blocks then have the same of what each run has. */
static inline __INT64_TYPE__ kn_whole_runs(__INT64_TYPE__ most, __INT64_TYPE__ run)
{
    __INT64_TYPE__ unit = run;
    if (run < 1 || run > most)
        return most;
    while (unit % KN_FOLD_LANES)
        unit *= 2;
    return most - most % (unit > most ? run : unit);
}

static inline kn_c_cut kn_cut(const kn_c_shape *s, int cols, const kn_c_extents *e)
{
    kn_c_cut c;
    const double work = (double)e->groups * ((double)e->members * s->work + s->group_work);
    const int alone = e->threads == 1 || work < KN_INLINE_WORK;
    const __INT64_TYPE__ across = alone ? 1 : e->threads;
    /* tiles beside each other, for as many threads as parts leave idle */
    const __INT64_TYPE__ beside = kn_ceiling(across, kn_greater(1, e->splits));
    __INT64_TYPE__ blocks = e->groups; /* rows, or tiles of groups */
    c.most = cols ? s->col_lanes : s->row_lanes;
    if (cols && !alone) /* enough tiles for all threads; no result depends on it */
        c.most = kn_even_columns(c.most, e->groups, beside);
    if (cols && s->kept) /* the row buffers of a tile */
        c.most = kn_greater(1, kn_lesser(c.most, s->kept / kn_greater(1, e->members)));
    if (!cols && s->divisible)
        c.most = kn_whole_runs(c.most, e->run);
    kn_cut_runs(&c, e->run, cols ? s->run_cols : e->run % 16 == 0 ? s->run_whole : s->run_rows);
    if (cols)
        blocks = c.run ? e->groups / c.run * kn_ceiling(c.run, c.run_step)
                       : kn_ceiling(e->groups, c.most);
    c.parts = 1;
    c.part = e->members;
    if (e->tiles >= 0)
        blocks = e->tiles;
    if (e->splits) {
        c.parts = e->splits;
        c.part = e->chunk;
    } else if (e->tiles < 0 && !alone && s->divisible && blocks < 4 * across) {
        const __INT64_TYPE__ least = cols     ? 16
                                     : e->run ? c.most
                                              : 64,
                             parts = kn_ceiling(4 * across, blocks);
        c.part = kn_greater(1, kn_ceiling(kn_ceiling(e->members, parts), least) * least);
        c.parts = kn_greater(1, kn_ceiling(e->members, c.part));
    }
    c.units = blocks * c.parts;
    const double unit_work = work / (double)kn_greater(1, c.units) + 1;
    c.per_task = alone ? c.units
                       : kn_even_tasks(c.units,
                                       kn_greater(c.units / (KN_TASKS_A_THREAD * across),
                                                  (__INT64_TYPE__)(KN_TASK_WORK / unit_work)),
                                       across);
    c.per_task = kn_greater(1, c.per_task);
    c.several = !alone && c.units > c.per_task;
    c.stream = (double)e->groups * (double)e->members * s->moved >= e->stream;
    return c;
}

#endif
