/* What is kept in shared memory is brought there by copies that take no registers.
 *
 *   rows     A block's part of a group, by the bulk copy engine; the next group's comes while the other blocks of its
 *            multiprocessor still work on theirs. The clusters stay, as many as fit on the machine at a time.
 *   columns  Each thread asks for all of its own elements at once, and waits for them alone. Blocks that stayed and asked
 *            for the next tile while they wrote were no faster on an H200.
 *
 *     full        an mbarrier: all of it has come. One phase of it a group, so its parity turns over
 *
 *     for each group:
 *       one thread asks for what is kept of it: a copy for each run of neighbours in memory
 *       wait until it is full; all sweeps
 *       when all threads are done its place is free, also where a computed value took it
 *
 * In one piece: pieces that are waited for, and let go, one by one took up to 20 % longer on an H200, where several
 * blocks share a multiprocessor and each has some microseconds of loads on its way.
 *
 * Where there are more groups than clusters, the first copies of a cluster begin when the memory has had the time for those
 * of all before it: together they would all load, then all wait, then all store, group after group (batchnorm of four
 * groups a cluster on an H200: 63 us against 77). */
#include "codegen/cuda_writer.h"

static bool is_fetched(const kn_value *v)
{
    return v->kept == KN_KEEP_SHARED && v->kind == KN_V_LOAD;
}

void kn_cuda_begin_apart(kn_cuda_writer *w)
{
    kn_cuda_line(w, "if (threadIdx.x == 0 && gridDim.x / blocks < work)");
    kn_cuda_line(w, "    kn_pause(blockIdx.x / blocks * (unsigned)p%d_apart);", w->p);
}

void kn_cuda_fetch(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    int va = kn_phase_vector_axis(ph), bytes = 0;
    for (int i = 0; i < ph->values.len; i++)
        if (is_fetched(&ph->values.data[i]))
            bytes += kn_bytes(ph->values.data[i].dtype);
    kn_cuda_open(w, "if (threadIdx.x == 0)");
    kn_cuda_line(w, "const kn_count from = %s, to = %s;", ph->ragged ? "inner" : "begin",
                 ph->ragged ? "inner < inner_end ? inner_end : inner" : "end");
    kn_cuda_line(w, "kn_expect(&full, (unsigned)(to - from) * %d);", bytes);
    kn_cuda_open(w, "for (kn_count i = from, run; i < to; i += run)");
    if (ph->ragged)
        kn_cuda_ragged_place(w);
    else
        kn_cuda_decompose(w, ph->ngroup, ph->naxes, "i");
    kn_cuda_line(w, "run = kn_least((kn_count)(p%d_n%d - a%d), to - i);", w->p, va, va);
    for (int i = 0; i < ph->values.len; i++) {
        const kn_value *v = &ph->values.data[i];
        if (!is_fetched(v))
            continue;
        const char *from = kn_cuda_offset(w, &v->access, 'v', i, NULL);
        kn_cuda_line(w, "kn_fetch(%s_kept + (i - begin) / %d, %s + (%s),", kn_cuda_value(w, i),
                     ph->vec, w->k->bufs.data[v->access.buf].name, from);
        kn_cuda_line(w, "         (unsigned)run * %d, &full);", kn_bytes(v->dtype));
    }
    kn_cuda_close(w);
    kn_cuda_close(w);
}

/* Vectors that a group has only a part of: by who works on them, as their copies would be of more than the group. */
static void load_edges(kn_cuda_writer *w)
{
    kn_cuda_ragged_edges(w);
    kn_cuda_ragged_place(w);
    for (int i = 0; i < w->ph->values.len; i++)
        if (is_fetched(&w->ph->values.data[i]))
            kn_cuda_line(w, "%s = %s;", kn_cuda_shared_place(w, i), kn_cuda_edge(w, i));
    kn_cuda_close(w);
}

void kn_cuda_await_fetch(kn_cuda_writer *w)
{
    if (w->ph->walk == KN_WALK_COLS) {
        kn_cuda_line(w, "kn_await_own();");
    } else {
        if (w->ph->ragged)
            load_edges(w);
        kn_cuda_line(w, "kn_await(&full, parity);");
        kn_cuda_line(w, "parity ^= 1;");
    }
    for (int i = 0; i < w->ph->values.len; i++)
        w->loaded[i] = w->loaded[i] || is_fetched(&w->ph->values.data[i]);
}

void kn_cuda_free_fetched(kn_cuda_writer *w)
{
    bool written = w->ph->ragged;
    for (int i = 0; i < w->ph->values.len; i++)
        written = written || (w->ph->values.data[i].kept && !is_fetched(&w->ph->values.data[i]));
    if (written)
        kn_cuda_line(w, "kn_write_before_fetch();");
    kn_cuda_line(w, "__syncthreads(); // its place is free");
}

/* ---- columns ---- */

void kn_cuda_fetch_own(kn_cuda_writer *w, const kn_cuda_stride *by)
{
    const kn_phase *ph = w->ph;
    kn_put(w->t, "#pragma unroll 4\n");
    kn_cuda_open(w, "for (kn_count i = %s; i < %s; i += %s)", by->first, by->end, by->step);
    kn_cuda_decompose(w, ph->ngroup, ph->naxes, "i");
    for (int i = 0; i < ph->values.len; i++) {
        const kn_value *v = &ph->values.data[i];
        if (is_fetched(v))
            kn_cuda_line(w, "kn_fetch_own(&%s, %s + (%s));", kn_cuda_shared_place(w, i),
                         w->k->bufs.data[v->access.buf].name,
                         kn_cuda_offset(w, &v->access, 'v', i, NULL));
    }
    kn_cuda_close(w);
}
