/* Axes in their shortest form.
 *
 * Before: a phase over the region's axes, with numeric strides. After: group axes, and member axes, are ordered so
 * that the phase's primary access steps through memory in order, and neighbouring axes that every access walks as one
 * are collapsed. So a kernel depends on the pattern that is left, not on the rank of the user's arrays: an
 * eight-dimensional contiguous sum is one-dimensional code. This reorders sums, always in the same way for the same
 * strides; members that must be combined in order keep theirs.
 *
 * Where kernels are compiled, an extent that happens to be 1 is treated like any other, so that the kernel for
 * batches serves a batch of one: its axis stays, and prevents the collapses that it would prevent if it were 2. Only
 * the axis that vectors would run along is dropped, in phases without reductions: its neighbour has longer runs.
 * Elsewhere all axes of extent 1 are dropped. */
#include <stdlib.h>

#include "codegen/kir/formula.h"
#include "codegen/plan/form/form.h"

/* Phases that work on the same groups together: local ones and their host, which is the last. What happens to a group
 * axis happens in all of them that have groups. */
typedef struct family {
    kn_phase *phases;
    int n;
} family;

static bool shares_groups(const family *f, int i)
{
    return i == f->n - 1 || f->phases[i].nest.ngroup > 0;
}

/* Insertion sort by decreasing stride of the last phase's primary access; axes that it lacks come first. */
static void order(const family *f, int from, int to)
{
    const kn_access *primary = kn_phase_primary(&f->phases[f->n - 1]);
    if (!primary)
        return;
    for (int i = from + 1; i < to; i++)
        for (int j = i; j > from; j--) {
            int64_t left = llabs(primary->stride[j - 1]), right = llabs(primary->stride[j]);
            if (right == 0 ? left == 0 : left == 0 || left >= right)
                break;
            for (int k = 0; k < f->n; k++)
                if (shares_groups(f, k))
                    kn_swap_axes(&f->phases[k], j - 1, j);
        }
}

/* Axes of extent 1 between axes a and a+1: arrays that have them could not be walked as one if they were larger. */
static uint32_t ones_between(const kn_phase *ph, int a)
{
    uint32_t ones = 0;
    for (int b = 0; b < ph->nest.naxes; b++)
        if (ph->nest.axes[b].extent == 1 && ph->nest.axes[a].at < ph->nest.axes[b].at &&
            ph->nest.axes[b].at < ph->nest.axes[a + 1].at)
            ones |= 1u << b;
    return ones & ~(1u << a | 2u << a);
}

/* Can every access walk axes a and a+1 as one axis of extent n(a) * n(a+1)? */
static bool collapsible(const kn_phase *ph, int a)
{
    uint32_t between = ones_between(ph, a);
    for (int i = 0; i < kn_accesses(ph); i++) {
        const kn_access *acc = kn_any_access(ph, i);
        const uint32_t once = i < ph->nest.values.len ? 0 : kn_store_at(ph, i)->once >> a;
        if (acc && (!kn_walks_as_one(&ph->nest, acc, a) || acc->axes & between ||
                    (once & 1) != (once >> 1 & 1)))
            return false;
    }
    return true;
}

static void collapse(kn_phase *ph, kn_arena *arena, int a)
{
    ph->nest.axes[a + 1].extent *= ph->nest.axes[a].extent;
    ph->nest.axes[a + 1].name =
        kn_dim_product_text(arena, ph->nest.axes[a].name, ph->nest.axes[a + 1].name);
    ph->nest.axes[a + 1].at = ph->nest.axes[a].at;
    ph->nest.axes[a + 1].of |= ph->nest.axes[a].of;
    kn_drop_axis(ph, a);
}

static void normalise_groups(kn_arena *arena, const family *f, bool keep_ones)
{
    const kn_phase *host = &f->phases[f->n - 1];
    for (int a = host->nest.ngroup - 1; a >= 0; a--)
        for (int i = 0; i < f->n && !keep_ones && kn_extent_is(&host->nest, a, 1); i++)
            if (shares_groups(f, i))
                kn_drop_axis(&f->phases[i], a);
    order(f, 0, host->nest.ngroup);
    for (int a = host->nest.ngroup - 2; a >= 0; a--) {
        bool can = true;
        for (int i = 0; i < f->n; i++)
            can = can && (!shares_groups(f, i) || collapsible(&f->phases[i], a));
        for (int i = 0; i < f->n && can; i++)
            if (shares_groups(f, i))
                collapse(&f->phases[i], arena, a);
    }
}

static void normalise_members(kn_arena *arena, kn_phase *ph, bool keep_ones)
{
    for (int a = ph->nest.naxes - 1; a >= ph->nest.ngroup; a--)
        if (!keep_ones && kn_extent_is(&ph->nest, a, 1))
            kn_drop_axis(ph, a);
    if (!kn_phase_in_order(ph))
        order(&(family){ph, 1}, ph->nest.ngroup, ph->nest.naxes);
    for (int a = ph->nest.naxes - 2; a >= ph->nest.ngroup; a--)
        if (collapsible(ph, a))
            collapse(ph, arena, a);
    while (ph->nest.naxes > 1 && ph->nest.reds.len == 0 && ph->nest.ngroup == 0 &&
           kn_extent_is(&ph->nest, ph->nest.naxes - 1, 1))
        kn_drop_axis(ph, ph->nest.naxes - 1);
}

static void count_elements(kn_phase *ph)
{
    ph->nest.groups = kn_nest_count(&ph->nest, 0, ph->nest.ngroup);
    ph->nest.members = kn_nest_count(&ph->nest, ph->nest.ngroup, ph->nest.naxes);
}

void kn_normalise(kn_arena *arena, kn_phase *phases, int n, bool keep_ones)
{
    bool universal = phases[n - 1].universal;
    keep_ones = keep_ones || phases[n - 1].invariant; /* a single group is one of many */
    if (!universal)
        normalise_groups(arena, &(family){phases, n}, keep_ones);
    for (int i = 0; i < n; i++) {
        if (!universal)
            normalise_members(arena, &phases[i], keep_ones);
        count_elements(&phases[i]);
    }
}
