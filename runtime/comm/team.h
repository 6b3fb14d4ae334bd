/* Ranks that are threads of one process, and what they hand round. */
#ifndef KN_RUNTIME_COMM_TEAM_H
#define KN_RUNTIME_COMM_TEAM_H

#include "base/arena.h"
#include "base/status.h"

typedef struct kn_team kn_team;

kn_status kn_team_create(int count, kn_team **team);
void kn_team_drop(kn_team *team);
int kn_team_count(const kn_team *team);

/* One thread at a time is rank number `rank`: ARGUMENT if another one is, or has been. It keeps the team until it leaves. */
kn_status kn_team_join(kn_team *team, int rank);
void kn_team_leave(kn_team *team, int rank);
/* all[r * bytes] on is what rank r gave. RUN when a rank does not come in time, has left, or gives another number of bytes:
 * for this rank and all others, from then on. */
kn_status kn_team_gather(kn_team *team, int rank, const void *mine, void *all, size_t bytes,
                         int deadline_ms);

#endif
