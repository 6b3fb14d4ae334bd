/* Ranks brought to one moment, for what is measured: by a kernel that does nothing but exchange, or by the host. */
#include "codegen/emit/cuda/prelude.h"
#include "runtime/comm/impl.h"

static const char line_up_text[] = "extern \"C\" __global__ void kiln_line_up(kn_ranks *ranks)\n"
                                   "{\n"
                                   "    const kn_meeting m = kn_meet(ranks);\n"
                                   "    kn_tell(m, 0, true);\n"
                                   "    kn_hear_all<kn_all>(m, 0, true);\n"
                                   "    kn_leave(ranks);\n"
                                   "}\n";

typedef struct loading {
    kn_comm *comm;
    kn_arena *arena;
} loading;

static kn_status load(void *user)
{
    const loading *l = user;
    kn_device *dev = l->comm->config.dev;
    kn_text t = kn_text_new(l->arena);
    kn_prelude(&t, line_up_text, false);
    kn_put(&t, line_up_text);
    return dev->ops->load(dev, "kiln_line_up", kn_text_str(&t), &l->comm->line_up);
}

kn_status kn_comm_line_up(kn_comm *c, void *stream)
{
    kn_device *dev = c->config.dev;
    const kn_grid one = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    KN_TRY(kn_comm_check(c));
    if (c->path != KN_PATH_KERNEL) {
        kn_status status = dev->ops->sync(dev, stream);
        return kn_comm_all_well(c, status);
    }
    if (!c->line_up) {
        kn_arena a;
        loading l = {c, &a};
        kn_arena_init(&a, c->config.from);
        kn_status status = kn_protect(&a, load, &l);
        kn_arena_finish(&a);
        KN_TRY(kn_comm_all_well(c, status));
    }
    return dev->ops->start(dev, c->line_up, &one, (void *[]){&c->mailboxes->ranks}, 1, stream);
}
