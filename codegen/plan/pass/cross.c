/* Mixed reductions: rows and columns of an array in one sweep.
 *
 * Before: two raw phases over the same axes,
 *     rows      groups i, members j     whose groups stay on chip
 *     columns   groups j, members i     which reduces what rows reads or makes, or other arrays over these axes
 *
 * After: rows is mixed: it also does the reductions of stage 0 of columns, across its groups. The results of each
 * part of its groups are partial; the rest of columns begins with combining them (pass/spread.c). Arrays that both
 * read are read once less, and reductions of columns that need results of rows wait for no barrier. What rows makes
 * for columns alone is not stored. Several such phases may be moved into the same rows.
 *
 * If rows itself waits for results of columns, it is divided (pass/part.c): its reductions are the rows above, and
 * the rest walks the same parts again, of which blocks keep on chip what there is room for. */
#include <stdlib.h>
#include <string.h>

#include "base/work.h"
#include "codegen/plan/pass/passes.h"
#include "codegen/sched/sched.h"

typedef KN_VEC(int) phase_numbers;

/* A phase whose reductions are moved. */
typedef struct moved {
    int columns; /* its number */
    const kn_phase *from;
    int *buf;      /* per reduction: its store in host, then its partial results' buffer */
    kn_range rest; /* of its members, for the rest of it */
} moved;

/* The reductions of columns being moved into rows. */
typedef struct crossing {
    kn_planner *p;
    const phase_numbers *loaded; /* loaded_by() */
    int rows;                    /* its number; if rows is divided, it comes before columns */
    const kn_phase *tail;        /* if rows is divided, the rest that waits; else NULL */
    KN_VEC(moved) before;        /* those that are moved already */
    moved now;                   /* the one being moved */
    kn_phase host;               /* rows as it will be */
    int to[KN_MAX_RANK];         /* axis of columns -> axis of rows */
    int *copy_of;                /* per value of columns: its copy in host, or -1 */
    bool depends;                /* columns reads what rows stores */
    kn_mixed_cost cost;          /* of all that are moved */
    kn_mixed_parts parts;
} crossing;

/* ---- which axis is which ---- */

/* Two axes are the same if both phases have the same stride along them in an array that both access. */
static bool match_axes(const kn_phase *rows, const kn_phase *columns, const kn_access *a,
                       const kn_access *b, int *to)
{
    uint32_t taken = 0;
    for (int x = 0; x < columns->nest.naxes; x++) {
        to[x] = -1;
        for (int y = 0; y < rows->nest.naxes && to[x] < 0; y++)
            if (!(taken >> y & 1) && b->stride[x] != 0 && a->stride[y] == b->stride[x] &&
                rows->nest.axes[y].extent == columns->nest.axes[x].extent &&
                (y < rows->nest.ngroup) == (x >= columns->nest.ngroup))
                to[x] = y;
        if (to[x] < 0)
            return false;
        taken |= 1u << to[x];
    }
    return rows->nest.naxes == columns->nest.naxes;
}

static bool is_array(const kn_value *v) { return v->kind == KN_V_LOAD && v->level == KN_ELEMENT; }

/* Does columns load the array of this access of rows? Matches axes by it. */
static bool find_axes_by(const kn_phase *rows, const kn_phase *columns, const kn_access *a, int *to)
{
    for (int i = 0; i < columns->nest.values.len; i++) {
        const kn_value *v = &columns->nest.values.data[i];
        if (is_array(v) && a->buf == v->access->buf && a->offset == v->access->offset &&
            match_axes(rows, columns, a, v->access, to))
            return true;
    }
    return false;
}

/* Does columns load this buffer? */
static bool loads_it(const crossing *c, int buf)
{
    for (int i = 0; i < c->loaded[buf].len; i++)
        if (c->loaded[buf].data[i] == c->now.columns)
            return true;
    return false;
}

static bool find_axes(crossing *c, const kn_phase *rows)
{
    for (int i = 0; i < rows->nest.values.len; i++) {
        const kn_value *v = &rows->nest.values.data[i];
        if (is_array(v) && loads_it(c, v->access->buf) &&
            find_axes_by(rows, c->now.from, v->access, c->to))
            return true;
    }
    for (int i = 0; i < rows->nest.stores.len; i++) {
        const kn_store *st = &rows->nest.stores.data[i];
        if (st->kind == KN_STORE_ELEMENT && loads_it(c, st->access.buf) &&
            find_axes_by(rows, c->now.from, &st->access, c->to))
            return true;
    }
    return false;
}

/* ---- values ---- */

static kn_access along_rows(const crossing *c, const kn_access *old)
{
    kn_access acc = {.buf = old->buf, .offset = old->offset};
    for (int x = 0; x < c->now.from->nest.naxes; x++) {
        if (old->axes >> x & 1)
            acc.axes |= 1u << c->to[x];
        acc.stride[c->to[x]] = old->stride[x];
    }
    return acc;
}

/* Bytes of an array that is loaded; other values are small, or no loads. */
static double bytes_loaded(const crossing *c, const kn_value *v)
{
    if (!is_array(v))
        return 0;
    double n = kn_bytes(v->dtype);
    for (int a = 0; a < c->host.nest.naxes; a++)
        n *= v->access->stride[a] ? (double)c->host.nest.axes[a].extent : 1;
    return n;
}

static int add_value(crossing *c, kn_value v)
{
    for (int i = 0; i < c->host.nest.values.len; i++)
        if (kn_value_same(&c->host.nest.values.data[i], &v)) {
            c->cost.saved += bytes_loaded(c, &v);
            return i;
        }
    return kn_nest_add(c->p->arena, &c->host.nest, v);
}

/* Is it stored only behind rows: by a phase between rows and columns, or by one that is moved? */
static bool comes_later(const crossing *c, int buf)
{
    for (int i = c->rows + 1; i < c->now.columns; i++)
        if (kn_stores_to(&c->p->phases.data[i], buf))
            return true;
    for (int i = 0; i < c->before.len; i++)
        if (kn_stores_to(c->before.data[i].from, buf))
            return true;
    return false;
}

/* A load of what rows stores is the stored value itself, if it is the same element; -1 if not. */
static int load(crossing *c, kn_value v)
{
    kn_access acc = along_rows(c, v.access);
    v.access = &acc;
    v.level = v.access->axes >> c->host.nest.ngroup ? KN_ELEMENT : KN_GROUP;
    if (comes_later(c, v.access->buf))
        return -1;
    if (!kn_stores_to(&c->host, v.access->buf))
        return add_value(c, v);
    for (int i = 0; i < c->host.nest.stores.len; i++) {
        const kn_store *st = &c->host.nest.stores.data[i];
        if (st->kind != KN_STORE_PARTIAL && kn_access_same(&st->access, v.access) && !st->once) {
            c->depends = true;
            c->cost.saved += bytes_loaded(c, &v);
            return st->value;
        }
    }
    return -1;
}

/* The copy in host of value i of columns, whose operands have copies; -1: impossible. */
static int carry_one(void *ctx, int i)
{
    crossing *c = ctx;
    kn_value v = c->now.from->nest.values.data[i];
    kn_access acc;
    if (v.kind == KN_V_LOAD)
        return load(c, v);
    if (v.kind == KN_V_GATHER) /* it may read what rows has not stored yet */
        return -1;
    if (v.kind == KN_V_INDEX) {
        acc = along_rows(c, v.access);
        v.access = &acc;
        v.level = v.access->axes >> c->host.nest.ngroup ? KN_ELEMENT : KN_GROUP;
    }
    if (v.kind == KN_V_ELEM)
        v.level = KN_GROUP;
    for (int k = 0; k < v.nin; k++)
        v.in[k] = c->copy_of[v.in[k]];
    return add_value(c, v);
}

/* ---- reductions ---- */

/* Adds the reductions of stage 0 to host, with partial stores that have no buffer yet: of so many bytes a part. */
static bool carry_reductions(crossing *c, double *bytes)
{
    const kn_phase *from = c->now.from;
    const kn_access groups = kn_over_groups(from, -1), partial = along_rows(c, &groups);
    const int64_t count = kn_count_groups(from);
    for (int r = 0; r < from->nest.reds.len; r++) {
        kn_red red = from->nest.reds.data[r];
        if (red.stage > 0)
            continue;
        red.value = kn_copy_value(c->p->arena, &from->nest, c->copy_of, red.value, carry_one, c);
        if (red.value < 0 || red.part != KN_PART_RESULT || kn_red_state(from, r))
            return false;
        red.stage = c->host.nest.values.data[red.value].stage;
        red.across = true;
        kn_push(c->p->arena, &c->host.nest.reds, red);
        kn_store st = {
            .kind = KN_STORE_PARTIAL, .value = c->host.nest.reds.len - 1, .access = partial};
        st.access.split_stride = count;
        kn_push(c->p->arena, &c->host.nest.stores, st);
        c->now.buf[r] = c->host.nest.stores.len - 1;
        *bytes += (double)count * kn_bytes(red.dtype);
    }
    c->host.how.mixed = true;
    c->host.how.resident = c->tail != NULL;
    return true;
}

static void give_buffers(crossing *c, const moved *m)
{
    for (int r = 0; r < m->from->nest.reds.len; r++) {
        if (m->from->nest.reds.data[r].stage > 0)
            continue;
        kn_access *acc = &c->host.nest.stores.data[m->buf[r]].access;
        acc->buf = m->buf[r] = kn_planner_temp(c->p, m->from->nest.reds.data[r].dtype, "partial",
                                               acc->split_stride * c->parts.parts.n);
    }
}

/* ---- phases ---- */

static bool is_raw(const kn_phase *ph)
{
    return !ph->how.split && !ph->local && !ph->how.mixed && ph->nest.ngroup > 0 &&
           ph->nest.ngroup < ph->nest.naxes && ph->nest.reds.len > 0 &&
           !kn_nest_exchanges(&ph->nest);
}

/* Has stage 0 nothing but reductions? */
static bool only_reduces(const kn_phase *ph)
{
    for (int i = 0; i < ph->nest.stores.len; i++)
        if (ph->nest.stores.data[i].stage == 0)
            return false;
    for (int i = 0; i < ph->nest.values.len; i++)
        if (ph->nest.values.data[i].kind == KN_V_LOCAL)
            return false;
    return true;
}

/* If columns comes first: may it be moved behind rows? */
static bool can_wait(const crossing *c)
{
    const kn_phase *all = c->p->phases.data;
    for (int i = c->now.columns + 1; i <= c->rows; i++)
        for (int j = 0; j < all[i].nest.values.len; j++)
            if (kn_is_read(&all[i].nest.values.data[j]) &&
                kn_stores_to(c->now.from, all[i].nest.values.data[j].access->buf))
                return false;
    return true;
}

/* Would it be split, and have a barrier for its partial results? */
static bool is_spread(crossing *c, kn_shaped *ph) { return kn_preview_splits(c->p, ph).n > 1; }

/* Bytes that the rest of rows loads again; 0 if it cannot walk the same parts. */
static double bytes_again(const crossing *c)
{
    double bytes = 0;
    kn_phase bound = kn_phase_copy(c->p->arena, c->tail);
    bound.how.mixed = bound.how.resident = true;
    const kn_phase *shaped = kn_preview(c->p, &bound)->phases;
    if (shaped->nest.reds.len || !kn_rows_can_mix(shaped, c->p->problem->target))
        return 0;
    for (int i = 0; i < c->tail->nest.values.len; i++)
        for (int j = 0; j < c->host.nest.values.len; j++)
            if (is_array(kn_value_at(c->tail, i)) &&
                kn_value_same(kn_value_at(c->tail, i), kn_value_at(&c->host, j)))
                bytes += bytes_loaded(c, kn_value_at(c->tail, i));
    return bytes;
}

/* Can rows take reductions of columns at all? */
static bool can_take(crossing *c, const kn_phase *rows)
{
    if (!is_raw(rows) || kn_phase_in_order(rows))
        return false;
    kn_shaped *alone = kn_preview(c->p, rows);
    return alone->phases->how.walk == KN_WALK_ROWS && !is_spread(c, alone);
}

/* Moves the reductions of phase `columns` too, if that is possible and pays. */
static bool move(crossing *c, int columns)
{
    kn_planner *p = c->p;
    const kn_target *target = p->problem->target;
    crossing with = *c;
    double bytes = 0;
    with.now = (moved){.columns = columns, .from = &p->phases.data[columns]};
    with.host = kn_phase_copy(p->arena, &c->host);
    with.depends = false;
    const kn_phase *from = with.now.from;
    if (!is_raw(from) || !only_reduces(from) || !find_axes(&with, &c->host))
        return false;
    with.copy_of = KN_NEW_ARRAY(p->arena, int, from->nest.values.len + 1);
    with.now.buf = KN_NEW_ARRAY(p->arena, int, from->nest.reds.len + 1);
    memset(with.copy_of, -1, sizeof(int) * (size_t)from->nest.values.len);
    if ((columns < c->rows && !can_wait(&with)) || !carry_reductions(&with, &bytes))
        return false;
    const kn_phase *after = kn_preview(p, &with.host)->phases;
    if (with.cost.saved <= c->cost.saved || !kn_rows_can_mix(after, target))
        return false;
    kn_shaped *alone = kn_preview(p, from);
    const bool waits = with.depends || is_spread(&with, alone);
    with.now.rest = kn_schedule_rest(after, alone->phases, target);
    with.cost.results +=
        bytes * (double)(1 + (alone->phases->nest.nsweeps > 1 ? with.now.rest.n : 1));
    with.cost.barriers = !waits && (c->before.len == 0 || c->cost.barriers);
    with.cost.again = c->tail ? bytes_again(&with) : 0;
    if (c->tail && with.cost.again == 0)
        return false;
    with.parts = kn_schedule_mixed(after, target, &with.cost);
    if (with.parts.gain <= c->parts.gain)
        return false;
    kn_push(p->arena, &with.before, with.now);
    *c = with;
    return true;
}

static void divide(kn_phase *ph, const kn_range *parts)
{
    ph->num.parts = parts->n;
    ph->num.rounds = parts->length;
}

static bool is_read(const kn_planner *p, int buf)
{
    for (int i = 0; i < p->phases.len; i++)
        if (kn_reads_from(&p->phases.data[i], buf))
            return true;
    return false;
}

/* Drops what a phase stores for no other one. */
static void drop_unread(kn_planner *p, kn_phase *ph)
{
    int kept = 0;
    for (int i = 0; i < ph->nest.stores.len; i++) {
        const kn_store st = ph->nest.stores.data[i];
        if (p->bufs.data[st.access.buf].kind != KN_BUF_TEMP || is_read(p, st.access.buf))
            ph->nest.stores.data[kept++] = st;
    }
    ph->nest.stores.len = kept;
    kn_drop_dead(p->arena, ph);
}

static void finish_host(crossing *c)
{
    for (int i = 0; i < c->before.len; i++)
        give_buffers(c, &c->before.data[i]);
    divide(&c->host, &c->parts.parts);
}

/* What is left of a phase whose reductions were moved, behind rows. */
static void leave_rest(crossing *c, const moved *m)
{
    kn_planner *p = c->p;
    int at = m->columns;
    if (at < c->rows) {
        const kn_phase ph = p->phases.data[at];
        const int region = p->region_of.data[at];
        kn_drop_phase(p, at);
        at = c->rows--;
        kn_insert_phase(p, at, ph, region);
    }
    kn_spread(p, at, m->rest, &(kn_partials){c->parts.parts.n, m->buf});
}

static void cross(crossing *c)
{
    finish_host(c);
    c->p->phases.data[c->rows] = c->host;
    /* the last first: numbers of others do not change */
    for (int i = c->before.len - 1; i >= 0; i--)
        leave_rest(c, &c->before.data[i]);
    drop_unread(c->p, &c->p->phases.data[c->rows]);
}

/* ---- rows that wait for columns ---- */

static bool cross_parted(kn_planner *p, const phase_numbers *loaded, int rows, int columns)
{
    kn_phase head, tail;
    if (!is_raw(&p->phases.data[rows]) || !kn_part_phase(p, rows, columns, &head, &tail))
        return false;
    crossing c = {.p = p, .loaded = loaded, .rows = columns - 1, .tail = &tail, .host = head};
    if (!can_take(&c, &head) || !move(&c, columns))
        return false;
    finish_host(&c);
    divide(&tail, &c.parts.parts);
    tail.how.mixed = tail.how.resident = true;
    p->phases.data[rows] = tail;
    kn_insert_phase(p, columns, c.host, p->region_of.data[rows]);
    kn_spread(p, columns + 1, c.now.rest, &(kn_partials){c.parts.parts.n, c.now.buf});
    return true;
}

/* ---- which phases to look at ---- */

/* Per buffer: the phases that load it as an array, and whose reductions another phase could do. */
static phase_numbers *loaded_by(kn_planner *p)
{
    phase_numbers *by = KN_NEW_ARRAY(p->arena, phase_numbers, p->bufs.len + 1);
    for (int i = 0; i < p->phases.len; i++) {
        const kn_phase *ph = &p->phases.data[i];
        if (!is_raw(ph) || !only_reduces(ph))
            continue;
        for (int j = 0; j < ph->nest.values.len; j++) {
            if (!is_array(&ph->nest.values.data[j]))
                continue;
            phase_numbers *list = &by[ph->nest.values.data[j].access->buf];
            if (!(list->len && list->data[list->len - 1] == i))
                kn_push(p->arena, list, i);
        }
    }
    return by;
}

static int by_number(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* The phases that load an array which phase `rows` loads or stores; with duplicates. */
static phase_numbers related(kn_planner *p, const phase_numbers *loaded, int rows)
{
    const kn_phase *ph = &p->phases.data[rows];
    phase_numbers all = {0};
    for (int i = 0; is_raw(ph) && i < kn_accesses(ph); i++) {
        const kn_value *v = i < ph->nest.values.len ? &ph->nest.values.data[i] : NULL;
        if (v ? !is_array(v) : kn_store_at(ph, i)->kind != KN_STORE_ELEMENT)
            continue;
        const phase_numbers *by = &loaded[v ? v->access->buf : kn_store_at(ph, i)->access.buf];
        for (int k = 0; k < by->len; k++)
            kn_push(p->arena, &all, by->data[k]);
    }
    if (all.len)
        qsort(all.data, (size_t)all.len, sizeof *all.data, by_number);
    kn_work(1 + all.len);
    return all;
}

/* Tries to move the reductions of other phases into phase `rows`. */
static bool cross_one(kn_planner *p, const phase_numbers *loaded, int rows)
{
    phase_numbers columns = related(p, loaded, rows);
    crossing c = {.p = p, .loaded = loaded, .rows = rows, .host = p->phases.data[rows]};
    const bool takes = columns.len && can_take(&c, &c.host);
    for (int i = 0; i < columns.len; i++) {
        int n = columns.data[i];
        if (n == rows || (i && n == columns.data[i - 1]) ||
            kn_planner_round(p, n) != kn_planner_round(p, rows))
            continue;
        if (!(takes && move(&c, n)) && c.before.len == 0 && n < rows &&
            cross_parted(p, loaded, rows, n))
            return true;
    }
    if (c.before.len)
        cross(&c);
    return c.before.len > 0;
}

void kn_pass_cross(kn_planner *p)
{
    const phase_numbers *loaded = loaded_by(p);
    for (int rows = 0; rows < p->phases.len; rows++)
        if (cross_one(p, loaded, rows))
            loaded = loaded_by(p);
}
