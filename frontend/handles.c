/* A graph's error: the first one stays. */
#include "frontend/handles.h"

#include <string.h>

kiln_status kn_handle_fail(kiln_graph *g, kn_status status)
{
    if (g->status == KILN_OK) {
        g->status = (kiln_status)status;
        strncpy(g->message, kn_last_error(), sizeof g->message - 1);
    }
    return (kiln_status)status;
}

kiln_status kiln_graph_status(const kiln_graph *g)
{
    if (!g)
        return (kiln_status)kn_fail(KN_ARGUMENT, "graph is NULL");
    if (g->status != KILN_OK)
        kn_fail((kn_status)g->status, "%s", g->message);
    return g->status;
}
