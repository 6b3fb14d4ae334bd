/* A topological order of the regions, kept up while they merge. One region can need another only through regions
 * between the two, so only these are searched. A merge moves those of them that the later region needs before the
 * earlier one, where the merged region stays (as in Pearce and Kelly, "A dynamic topological sort algorithm for
 * directed acyclic graphs", 2007, but with labels that leave gaps). */
#include <stdlib.h>

#include "ir/region_impl.h"

static const int64_t ROOM = (int64_t)1 << 40;
/* 2: ranges must be no fuller than half to be labelled anew, whatever their size; 1: they may be full. */
static const double GROWING = 1.4;

/* The order is a ring of regions with one more, behind the last node, before the first and behind the last. */
static int ring_end(const kn_former *f) { return f->g->nodes.len; }

static void unlink_region(kn_former *f, int r)
{
    f->after[f->before[r]] = f->after[r];
    f->before[f->after[r]] = f->before[r];
}

static void link_before(kn_former *f, int r, int next)
{
    f->before[r] = f->before[next];
    f->after[r] = next;
    f->after[f->before[next]] = r;
    f->before[next] = r;
}

/* Spreads the labels of the regions around r: within the smallest aligned range of labels that is sparse enough, and
 * the larger the range, the sparser it must be. So a region is labelled about log(n) times (Bender and others, "Two
 * simplified algorithms for maintaining order in a list", 2002). */
static void make_room(kn_former *f, int r)
{
    int first = r, last = r, bits = 1;
    int64_t count = 1, least, room;
    for (double most = 1;; bits++, most *= 2 / GROWING) {
        least = f->label[r] >> bits << bits;
        room = (int64_t)1 << bits;
        for (; f->before[first] != ring_end(f) && f->label[f->before[first]] >= least; count++)
            first = f->before[first];
        for (; f->after[last] != ring_end(f) && f->label[f->after[last]] < least + room; count++)
            last = f->after[last];
        if ((double)count < most)
            break;
    }
    room /= count;
    for (int64_t i = 0; i < count; i++, first = f->after[first])
        f->label[first] = least + room / 2 + room * i;
    f->out->work += count;
}

void kn_region_order_begin(kn_former *f)
{
    int n = f->g->nodes.len;
    f->label = KN_NEW_ARRAY(f->a, int64_t, n + 1);
    f->before = KN_NEW_ARRAY(f->a, int, n + 1);
    f->after = KN_NEW_ARRAY(f->a, int, n + 1);
    f->before[n] = f->after[n] = n;
    for (int i = 0; i < n; i++)
        if (f->parent[i] == i)
            link_before(f, i, n);
    int64_t label = 0;
    for (int r = f->after[n]; r != n; r = f->after[r])
        f->label[r] = label += ROOM;
}

int kn_region_next(const kn_former *f, int r)
{
    r = f->after[r < 0 ? ring_end(f) : r];
    return r == ring_end(f) ? -1 : r;
}

/* The regions that r reads: each is in its list once from now on. True when `low` is one of them. Those behind `low`
 * that the search has not seen yet join it. */
static bool look_at(kn_former *f, int r, int low)
{
    kn_forming *region = &f->forming[r];
    bool reads_low = false;
    int kept = 0;
    f->list++;
    for (int i = 0; i < region->reads.len; i++) {
        int x = kn_region_find(f, region->reads.data[i]);
        f->out->work++;
        if (x == r || f->listed[x] == f->list)
            continue;
        f->listed[x] = f->list;
        region->reads.data[kept++] = region->reads.data[i];
        reads_low = reads_low || x == low;
        if (f->seen[x] != f->visit && f->label[x] > f->label[low])
            kn_push(f->a, &f->needed, x);
        f->seen[x] = f->visit;
    }
    region->reads.len = kept;
    return reads_low;
}

bool kn_region_between(kn_former *f, int a, int b)
{
    int low = f->label[a] < f->label[b] ? a : b, high = low == a ? b : a;
    f->visit++;
    f->seen[low] = f->seen[high] = f->visit;
    f->needed.len = 0;
    look_at(f, high, low);
    for (int i = 0; i < f->needed.len; i++)
        if (look_at(f, f->needed.data[i], low)) {
            f->between = f->needed.data[i];
            return true;
        }
    return false;
}

typedef struct labelled {
    int64_t label;
    int region;
} labelled;

static int by_label(const void *a, const void *b)
{
    int64_t x = ((const labelled *)a)->label, y = ((const labelled *)b)->label;
    return (x > y) - (x < y);
}

/* Moves what kn_region_between() found last in front of region `low`. */
static void move_needed(kn_former *f, int low)
{
    int n = f->needed.len;
    labelled *moved = KN_NEW_ARRAY(f->a, labelled, n);
    for (int i = 0; i < n; i++)
        moved[i] = (labelled){f->label[f->needed.data[i]], f->needed.data[i]};
    qsort(moved, (size_t)n, sizeof *moved, by_label);
    int64_t label = f->label[f->before[low]], step = (f->label[low] - label) / (n + 1);
    if (step == 0)
        label = f->label[low];
    for (int i = 0; i < n; i++) {
        unlink_region(f, moved[i].region);
        link_before(f, moved[i].region, low);
        f->label[moved[i].region] = label += step;
    }
    if (step == 0)
        make_room(f, low);
}

void kn_region_order_merge(kn_former *f, int t, int s)
{
    bool t_first = f->label[t] < f->label[s];
    if (f->needed.len)
        move_needed(f, t_first ? t : s);
    unlink_region(f, t_first ? s : t);
    if (t_first)
        return;
    f->label[t] = f->label[s];
    link_before(f, t, s);
    unlink_region(f, s);
}
