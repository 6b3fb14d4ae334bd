/* Several devices. */
#include "docs/calls/calls.h"

/* Ranks that are threads: each makes a communicator by the team that all have. (Here there is one.) Those of several processes
 * give kiln_comm_create() a function like MPI_Allgather() instead of a team, or an ncclComm_t. */
void communicators(kiln_ctx *ctx)
{
    kiln_team *team;
    kiln_comm_config config;
    kiln_comm *comm;
    check(kiln_team_create(1, &team));
    kiln_comm_config_init(&config);
    config.rank = 0;
    config.team = team;
    config.deadline_ms = 10000;
    check(kiln_comm_create(ctx, &config, &comm));
    printf("rank %d of %d, which exchange by the %s\n", kiln_comm_rank(comm), kiln_comm_count(comm),
           kiln_comm_path(comm));
    check(kiln_comm_check(comm)); /* no rank timed out */
    kiln_comm_destroy(comm);
    kiln_team_destroy(team);
}
