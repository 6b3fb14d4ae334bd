/* Every access of a kernel comes here first: is there memory, and is it the kernel's? */
#include "runtime/emu/check/check.h"

static bool inside(const kn_emu_span *s, const char *p, size_t bytes)
{
    return p >= s->low && p <= s->high && bytes <= (size_t)(s->high - p);
}

static const kn_emu_span *find_span(kn_emu_worker *w, const char *p, size_t bytes)
{
    const kn_emu_launch *l = w->launch;
    for (int i = 0; i < l->nspans; i++)
        if (inside(&l->spans[i], p, bytes)) {
            w->last_span = i;
            return &l->spans[i];
        }
    return NULL;
}

_Noreturn static void out_of_bounds(kn_emu_worker *w, const char *p, size_t bytes, int how,
                                    kn_emu_site site)
{
    char where[200];
    kn_emu_describe(w, p, where, sizeof where);
    kn_emu_fail(w, site, "out of bounds: %s %zu bytes at %s",
                how & KN_EMU_WRITE ? "writes" : "reads", bytes, where);
}

static void check_peer(kn_emu_worker *w, kn_emu_block *owner, const char *p, size_t bytes, int how,
                       kn_emu_site site)
{
    const kn_emu_block *mine = w->block;
    if (owner->cluster != mine->cluster)
        out_of_bounds(w, p, bytes, how, site);
    bool exited = !owner->live && owner->fresh == owner->nthreads;
    if (exited || !(kn_emu_has_started(w, owner) || w->dev->options.relaxed)) {
        char where[200];
        kn_emu_describe(w, p, where, sizeof where);
        kn_emu_fail(w, site, "%s %s of block (%u,%u,%u), rank %u of the cluster, %s",
                    how & KN_EMU_WRITE ? "writes" : "reads", where, owner->idx.x, owner->idx.y,
                    owner->idx.z, owner->rank,
                    exited ? "all of whose threads have exited"
                           : "which may not have started: no barrier of the cluster comes before");
    }
    kn_emu_check_shared(w, (kn_emu_place){owner, (size_t)(p - owner->image)}, bytes, how, site);
}

/* Mailboxes: kernels of other devices access them at any time, so a thread that polls one waits for another device and
 * is not deadlocked. */
static void check_mailbox(kn_emu_worker *w, const kn_emu_span *s, const char *p, size_t bytes,
                          int how, kn_emu_site site)
{
    w->progress++;
    w->awaits_mailbox = true;
    if (how & (KN_EMU_VOLATILE | KN_EMU_ATOMIC) && bytes == 8)
        return;
    char where[200];
    kn_emu_describe(w, p, where, sizeof where);
    kn_emu_fail(
        w, site,
        "%s %zu bytes of a mailbox at %s by an access that is not one of 8 bytes, relaxed.sys: "
        "another rank's kernel uses %s too",
        how & KN_EMU_WRITE ? "writes" : "reads", bytes, where, s->name);
}

const kn_emu_span *kn_emu_check(kn_emu_worker *w, const char *p, size_t bytes, int how,
                                kn_emu_site site)
{
    const kn_emu_launch *l = w->launch;
    size_t offset = (uintptr_t)p - (uintptr_t)w->image;
    if (offset < w->shared_bytes) {
        kn_emu_check_shared(w, (kn_emu_place){w->block, offset}, bytes, how, site);
        return NULL;
    }
    const kn_emu_span *s = l->nspans ? &l->spans[w->last_span] : NULL;
    if (!s || !inside(s, p, bytes))
        s = find_span(w, p, bytes);
    if (s) {
        if (how & KN_EMU_WRITE && s->constant)
            kn_emu_fail(w, site, "writes to the input %s", s->name);
        if (s->mailbox)
            check_mailbox(w, s, p, bytes, how, site);
        if (s->shadow)
            kn_emu_check_global(w, s, p, bytes, how, site);
        w->quiet = s->low;
        w->quiet_bytes = s->shadow || s->mailbox ? 0 : (size_t)(s->high - s->low);
        return s;
    }
    const kn_fiber *f = w->fibers.current;
    if (p >= f->low && p < f->low + f->bytes)
        return NULL;
    kn_emu_block *peer = kn_emu_peer(w, p);
    if (peer) {
        check_peer(w, peer, p, bytes, how, site);
        return NULL;
    }
    const kn_code *code = l->code;
    bool write = how & KN_EMU_WRITE;
    if (p >= (write ? code->writable : code->low) &&
        p + bytes <= (write ? code->writable_end : code->high))
        return NULL;
    out_of_bounds(w, p, bytes, how, site);
}
