/* Communicators, and teams of threads. */
#include "base/fenv.h"
#include "frontend/handles.h"
#include "frontend/structs.h"

static kiln_status null(const char *what)
{
    return (kiln_status)kn_fail(KN_ARGUMENT, "%s is NULL", what);
}

/* A team has no more to it than the runtime's. */
static kn_team *core_of(kiln_team *team) { return (kn_team *)team; }

kiln_status kiln_team_create(int count, kiln_team **team)
{
    kn_team *made;
    if (!team)
        return null("team");
    *team = NULL;
    if (count < 1 || count > KN_MAX_RANKS)
        return (kiln_status)kn_fail(KN_ARGUMENT, "a team of %d; it can have 1 to %d ranks", count,
                                    KN_MAX_RANKS);
    kn_status status = kn_team_create(count, &made);
    if (status == KN_OK)
        *team = (kiln_team *)made;
    return (kiln_status)status;
}

void kiln_team_destroy(kiln_team *team)
{
    if (team)
        kn_team_drop(core_of(team));
}

void kiln_comm_config_init_size(kiln_comm_config *s, size_t size)
{
    const kiln_comm_config defaults = {.deadline_ms = 30000};
    kn_struct_init(s, size, &defaults, sizeof defaults);
}

kiln_status kiln_comm_create(kiln_ctx *ctx, const kiln_comm_config *config, kiln_comm **comm)
{
    KN_DEFAULT_FENV;
    if (!comm)
        return null("comm");
    *comm = NULL;
    if (!ctx || !config)
        return null(ctx ? "config" : "ctx");
    KN_CHECK_HERE(ctx);
    kiln_comm_config c;
    kiln_comm_config_init(&c);
    kn_status status = kn_struct_read(&kn_struct_comm_config, config, &c);
    if (status != KN_OK)
        return (kiln_status)status;
    const kn_allocator *from = &ctx->core->from;
    kiln_comm *made = from->alloc(from->user, sizeof *made);
    if (!made)
        return (kiln_status)kn_fail(KN_MEMORY, "out of memory: %zu bytes", sizeof *made);
    const kn_comm_config inner = {.dev = ctx->core->dev,
                                  .from = from,
                                  .rank = c.rank,
                                  .count = c.count,
                                  .team = core_of(c.team),
                                  .all_gather = c.all_gather,
                                  .user = c.user,
                                  .nccl = c.nccl,
                                  .deadline_ms = c.deadline_ms,
                                  .path = c.path};
    status = kn_comm_open(&inner, &made->core);
    if (status != KN_OK) {
        from->release(from->user, made);
        return (kiln_status)status;
    }
    made->ctx = ctx;
    kn_handle_keep(ctx);
    *comm = made;
    return KILN_OK;
}

void kiln_comm_destroy(kiln_comm *comm)
{
    KN_DEFAULT_FENV;
    if (!comm || !kn_context_is_here(comm->ctx->core))
        return;
    kiln_ctx *ctx = comm->ctx;
    kn_comm_drop(comm->core);
    ctx->core->from.release(ctx->core->from.user, comm);
    kn_handle_drop(ctx);
}

int kiln_comm_rank(const kiln_comm *comm) { return comm ? kn_comm_rank(comm->core) : -1; }
int kiln_comm_count(const kiln_comm *comm) { return comm ? kn_comm_count(comm->core) : 0; }

const char *kiln_comm_path(const kiln_comm *comm)
{
    return comm ? kn_comm_path_name(kn_comm_path_of(comm->core)) : "";
}

kiln_status kiln_comm_check(kiln_comm *comm)
{
    if (!comm)
        return null("comm");
    KN_CHECK_HERE(comm->ctx);
    return (kiln_status)kn_comm_check(comm->core);
}
