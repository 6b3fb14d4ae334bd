/* Finds arguments that share memory: sorts all by address, then compares each with those that it may reach. */
#include "codegen/kir/call.h"

enum { RUN = 8 };

/* A span and its argument's number: an input, or output n - nin. */
typedef struct by_address {
    const kn_span *span;
    int n;
} by_address;

/* Insertion sort, for short runs. */
static void sort_run(by_address *list, int start, int end)
{
    for (int i = start + 1; i < end; i++) {
        by_address one = list[i];
        int at = i;
        for (; at > start && list[at - 1].span->low > one.span->low; at--)
            list[at] = list[at - 1];
        list[at] = one;
    }
}

/* Bottom-up merge sort between `list` and `other`, so that nothing else is allocated. */
static by_address *sorted(by_address *list, by_address *other, int n)
{
    for (int start = 0; start < n; start += RUN)
        sort_run(list, start, start + RUN < n ? start + RUN : n);
    for (int width = RUN; width < n; width *= 2) {
        for (int start = 0; start < n; start += 2 * width) {
            int mid = start + width < n ? start + width : n;
            int end = mid + width < n ? mid + width : n;
            for (int i = start, j = mid, k = start; k < end; k++) {
                bool first = j == end || (i < mid && list[i].span->low <= list[j].span->low);
                other[k] = list[first ? i++ : j++];
            }
        }
        by_address *from = list;
        list = other;
        other = from;
    }
    return list;
}

/* Drops the spans that end before `low`. */
static int drop_passed(by_address *list, int n, const char *low)
{
    int kept = 0;
    for (int i = 0; i < n; i++)
        if (list[i].span->high > low)
            list[kept++] = list[i];
    return kept;
}

bool kn_overlaps(kn_arena *a, const kn_span *in, int nin, const kn_span *out, int nout,
                 kn_overlap_fn fn, void *ctx)
{
    int n = 0, most = nin + nout, count[2] = {0, 0};
    by_address *all = KN_NEW_ARRAY(a, by_address, 3 * most);
    by_address *open[2] = {all + 2 * most, all + 2 * most + nin}; /* inputs, outputs */
    for (int i = 0; i < most; i++) {
        const kn_span *span = i < nin ? &in[i] : &out[i - nin];
        if (span->low)
            all[n++] = (by_address){span, i};
    }
    all = sorted(all, all + most, n);
    const char *reach = NULL;
    for (int i = 0; i < n; i++) {
        int is_output = all[i].n >= nin;
        if (all[i].span->low >= reach)
            count[0] = count[1] = 0;
        for (int other = !is_output; other < 2; other++) { /* inputs may overlap each other */
            count[other] = drop_passed(open[other], count[other], all[i].span->low);
            for (int k = 0; k < count[other]; k++) {
                int x = all[i].n, y = open[other][k].n;
                if (kn_spans_overlap(all[i].span, open[other][k].span) &&
                    !fn(ctx, x < y ? x : y, (x < y ? y : x) - nin))
                    return false;
            }
        }
        open[is_output][count[is_output]++] = all[i];
        reach = all[i].span->high > reach ? all[i].span->high : reach;
    }
    return true;
}
