#include "codegen/kir/force.h"

#include <stdlib.h>
#include <string.h>

#include "codegen/kir/target.h"

static const char *const divisions[KN_DIVISIONS] = {[KN_DIVIDE_WHOLE] = "whole",
                                                    [KN_DIVIDE_CLUSTER] = "cluster",
                                                    [KN_DIVIDE_SPLIT] = "split",
                                                    [KN_DIVIDE_TILES] = "tiles",
                                                    [KN_DIVIDE_RESIDENT] = "resident"};
static const char *const reuses[KN_REUSES] = {
    [KN_REUSE_KEEP] = "keep", [KN_REUSE_RECOMPUTE] = "recompute"};

kn_status kn_force_schedule(const char *text, kn_force *force)
{
    force->division = KN_DIVIDE_BY_COST;
    force->cluster = 0;
    force->text = text && strchr(text, ':') ? text : NULL;
    if (!text || force->text)
        return KN_OK;
    for (int d = KN_DIVIDE_WHOLE; d < KN_DIVISIONS; d++)
        if (strcmp(text, divisions[d]) == 0) {
            force->division = (kn_division)d;
            return KN_OK;
        }
    char *end = NULL;
    long n = strncmp(text, "cluster=", 8) == 0 ? strtol(text + 8, &end, 10) : 0;
    if (n < 2 || n > KN_MOST_CLUSTER || *end)
        return kn_fail(
            KN_ARGUMENT,
            "unknown schedule '%s'; there are whole, split, resident, tiles, cluster, "
            "cluster=N with N from 2 to %d, and the line that explain --stage schedule prints first",
            text, KN_MOST_CLUSTER);
    force->division = KN_DIVIDE_CLUSTER;
    force->cluster = (int)n;
    return KN_OK;
}

kn_status kn_force_reuse(const char *text, kn_force *force)
{
    force->reuse = KN_REUSE_BY_COST;
    for (int r = KN_REUSE_KEEP; text && r < KN_REUSES; r++)
        if (strcmp(text, reuses[r]) == 0)
            force->reuse = (kn_reuse)r;
    return !text || force->reuse != KN_REUSE_BY_COST
               ? KN_OK
               : kn_fail(KN_ARGUMENT, "unknown reuse '%s'; there are keep and recompute", text);
}

void kn_force_put(kn_text *t, const kn_force *force)
{
    const char *comma = "";
    if (force->division != KN_DIVIDE_BY_COST) {
        kn_put(t, divisions[force->division]);
        if (force->cluster)
            kn_putf(t, "=%d", force->cluster);
        comma = ", ";
    }
    if (force->text) {
        kn_put(t, force->text);
        comma = ", ";
    }
    if (force->reuse != KN_REUSE_BY_COST) {
        kn_putf(t, "%s%s", comma, reuses[force->reuse]);
        comma = ", ";
    }
    if (force->max_threads)
        kn_putf(t, "%sat most %d threads", comma, force->max_threads);
    else if (!*comma)
        kn_put(t, "nothing forced");
}
