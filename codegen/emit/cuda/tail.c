/* The tail of a single run: the elements behind its last whole vector, fewer than a vector has. Threads take one each,
 * in a step behind the loop of each sweep, which finds nothing on chip. It is the last threads that do: the last vectors
 * mostly leave them idle. */
#include "codegen/emit/cuda/writer.h"

void kn_cuda_tail_range(kn_cuda_writer *w, const char *end, const char *mine)
{
    int vec = w->ph->how.vec;
    kn_cuda_line(w, "// whole vectors end where the tail begins");
    kn_cuda_line(w, "const kn_count tail = %s / %d * %d;", end, vec, vec);
    kn_cuda_line(w, "const kn_count tail_end = %s ? %s : 0;", mine, end);
}

/* The phase with one element a step. */
static const kn_phase *phase_of_tail(kn_cuda_writer *w)
{
    kn_phase *tail = KN_NEW(w->t->arena, kn_phase);
    *tail = kn_phase_copy(w->t->arena, w->ph);
    tail->how.vec = 1;
    tail->how.holds.len = 0;
    for (int i = 0; i < kn_accesses(tail); i++) {
        kn_access *acc = kn_access_at(tail, i);
        if (acc)
            acc->vector = false;
    }
    return tail;
}

void kn_cuda_write_tail(kn_cuda_writer *w)
{
    const kn_cuda_writer around = *w;
    const bool flat = w->ph->how.walk == KN_WALK_FLAT, part = !flat && kn_shares_block(w->k, w->ph);
    const char *workers = part ? kn_cuda_printed(w, "(kn_count)%d", w->ph->how.tpg)
                               : kn_cuda_printed(w, "(kn_count)%s", kn_cuda_block_times(w, 1));
    w->ph = phase_of_tail(w);
    w->need = KN_NEW_ARRAY(w->t->arena, bool, w->ph->nest.values.len + 1);
    w->loaded = KN_NEW_ARRAY(w->t->arena, bool, w->ph->nest.values.len + 1);
    kn_phase_needs(w->ph, w->sweep, w->need);
    kn_cuda_open(w, "if (const kn_count i = tail + (%s - 1 - %s); i < tail_end)", workers,
                 flat ? "threadIdx.x" : "lane");
    kn_cuda_write_axes(w);
    kn_cuda_step(w);
    kn_cuda_close(w);
    *w = around;
}
