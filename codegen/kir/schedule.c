#include "codegen/kir/schedule.h"

kn_schedule kn_schedule_copy(kn_arena *a, const kn_schedule *how)
{
    kn_schedule copy = *how;
    kn_copy_vec(a, &copy.holds, &how->holds);
    kn_copy_vec(a, &copy.transfers, &how->transfers);
    kn_copy_vec(a, &copy.loops, &how->loops);
    kn_copy_vec(a, &copy.transposes, &how->transposes);
    return copy;
}

const char *kn_walk_text(kn_walk walk)
{
    static const char *const text[] = {
        [KN_WALK_FLAT] = "flat", [KN_WALK_ROWS] = "rows", [KN_WALK_COLS] = "cols"};
    return text[walk];
}

const char *kn_keep_text(kn_keep keep)
{
    static const char *const text[] = {[KN_KEEP_NONE] = "nothing",
                                       [KN_KEEP_REGISTERS] = "registers",
                                       [KN_KEEP_SHARED] = "shared memory",
                                       [KN_KEEP_RESIDENT] = "shared memory",
                                       [KN_KEEP_FRAME] = "the cache"};
    return text[keep];
}

void kn_loop_put(kn_text *t, const kn_schedule *how, const kn_sweep_loop *l)
{
    static const char *const batches[] = {
        [KN_BATCH_NONE] = "", [KN_BATCH_CYCLIC] = " batch", [KN_BATCH_CONTIGUOUS] = " contiguous"};
    kn_putf(t, "loop %d%s", l->sweep, l->on_chip ? " on_chip" : "");
    if (l->unroll != how->unroll)
        kn_putf(t, " unroll %d", l->unroll);
    kn_put(t, batches[l->batch]);
    if (l->loads)
        kn_putf(t, " loads %d", l->loads);
    kn_putf(t, "%s%s%s", l->backwards ? " backwards" : "", l->counted ? " counted" : "",
            l->guarded ? " guarded" : "");
    if (l->unguarded)
        kn_putf(t, " unguarded %d", l->unguarded);
    kn_put(t, l->whole ? " whole" : "");
}
