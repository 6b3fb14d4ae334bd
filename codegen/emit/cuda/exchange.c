/* What ranks exchange: a whole grid's results between two grid barriers, or those of a group as soon as it has them. */
#include "codegen/emit/cuda/writer.h"
#include "codegen/model/resources.h"

/* ---- between two grid barriers ---- */

/* All is sent before anything is waited for. */
void kn_cuda_exchange_all(kn_cuda_writer *w, int p)
{
    kn_cuda_block(w, "with the other ranks");
    kn_cuda_line(w, "const kn_exchange exchange = kn_begin_exchange(ranks);");
    kn_cuda_line(w, "kn_grid_barrier(barrier);");
    for (int sends = 1; sends >= 0; sends--)
        for (int i = 0; i < w->k->bufs.len; i++) {
            const char *name = w->k->bufs.data[i].name;
            if (kn_is_exchanged_before(w->k, p, i))
                kn_cuda_line(w, "%s(exchange, %s, (unsigned)%s_part, (unsigned)%s_word);",
                             sends ? "kn_send_part" : "kn_receive_parts", name, name, name);
        }
    kn_cuda_close(w);
}

/* ---- group by group. A kernel whose exchanges are all empty has no `ranks`: RANK values are then their operands ---- */

void kn_cuda_begin_peers(kn_cuda_writer *w)
{
    const int ranks = w->k->ranks ? kn_nest_ranks(&w->ph->nest) : 0;
    if (ranks)
        kn_cuda_line(w, "const kn_exchange &peers = kn_begin_peers<%d>(ranks, scratch + %d);",
                     ranks, kn_peers_at(w->k));
    if (ranks && !kn_receives_by_a_warp(w->k, w->ph))
        kn_cuda_line(w, "__syncthreads(); // others than the first warp send and receive, too");
}

/* Per value: for how many exchanges, one behind the other, it waits within the stage. */
static const int *waits_within(kn_cuda_writer *w, int stage)
{
    const kn_nest *nest = &w->ph->nest;
    int *waits = KN_NEW_ARRAY(w->t->arena, int, nest->values.len + 1);
    for (int i = 0; i < nest->values.len; i++) {
        const kn_value *v = &nest->values.data[i];
        for (int k = 0; k < v->nin && v->stage == stage; k++)
            waits[i] = waits[v->in[k]] > waits[i] ? waits[v->in[k]] : waits[i];
        waits[i] += v->stage == stage && v->kind == KN_V_RANK;
    }
    return waits;
}

/* "<buffer>_word, <element>, <rank>" of RANK value i. */
static const char *sent_at(kn_cuda_writer *w, int i)
{
    const kn_value *v = kn_value_at(w->ph, i);
    return kn_cuda_printed(w, "(unsigned)%s_word, (unsigned)(%s), %d",
                           w->k->bufs.data[v->access->buf].name,
                           kn_cuda_offset(w, v->access, 'v', i, w->wide[i] ? "l" : NULL), v->rank);
}

static void look_for(kn_cuda_writer *w, int i)
{
    const char *type = kn_cuda_type(kn_value_at(w->ph, i)->dtype);
    if (!w->k->ranks)
        return;
    kn_cuda_declare(w, true, kn_cuda_printed(w, "kn_mail<%s>", type),
                    kn_cuda_printed(w, "mail%d", i), w->wide[i],
                    kn_cuda_printed(w, "kn_look_at<%s>(peers, %s)", type, sent_at(w, i)));
}

const char *kn_cuda_received(kn_cuda_writer *w, int i)
{
    if (!w->k->ranks)
        return kn_cuda_operand(w, kn_value_at(w->ph, i)->in[0]);
    return kn_cuda_printed(w, "kn_of_rank(peers, %s, mail%d%s, %s)",
                           kn_cuda_operand(w, kn_value_at(w->ph, i)->in[0]), i,
                           w->wide[i] ? "[l]" : "", sent_at(w, i));
}

static void send(kn_cuda_writer *w, int stage, const int *waits, int now, const char *leader)
{
    for (int i = 0; i < w->ph->nest.stores.len; i++) {
        const kn_store *s = &w->ph->nest.stores.data[i];
        if (!w->k->ranks || !s->sends || s->stage != stage || waits[s->value] != now)
            continue;
        const bool wide = w->wide[s->value];
        const char *who =
            w->ph->how.split ? kn_cuda_printed(w, "%s && split == 0", leader) : leader;
        kn_cuda_open(w, "if (%s)", kn_cuda_once(w, s, who));
        if (wide)
            kn_cuda_open_groups(w);
        kn_cuda_line(w, "kn_send_element(peers, %s, (unsigned)%s_word, (unsigned)(%s));",
                     kn_cuda_operand(w, s->value), w->k->bufs.data[s->access.buf].name,
                     kn_cuda_offset(w, &s->access, 'o', i, wide ? "l" : NULL));
        if (wide)
            kn_cuda_close_groups(w);
        kn_cuda_close(w);
    }
}

/* Values of the stage that wait for `now` exchanges, in three steps: what this thread waits for is looked for all at once, they
 * are computed, and what other ranks wait for is sent. */
static void write_values(kn_cuda_writer *w, int stage, const int *waits, int now,
                         const char *leader)
{
    const kn_nest *nest = &w->ph->nest;
    for (int look = 1; look >= 0; look--)
        for (int i = 0; i < nest->values.len; i++) {
            const kn_value *v = &nest->values.data[i];
            if (v->level != KN_GROUP || v->stage != stage || waits[i] != now)
                continue;
            if (look && v->kind == KN_V_RANK)
                look_for(w, i);
            else if (!look)
                kn_cuda_group_value(w, i);
        }
    send(w, stage, waits, now, leader);
}

static bool combines(const kn_phase *ph)
{
    bool any = false;
    for (int t = 0; t < ph->nest.nsweeps; t++)
        any = any || kn_sweep_reduces(ph, t);
    return any;
}

/* One warp receives and computes what depends on it, and leaves in shared memory what the others need, which would all do
 * the same. It is written again in the block's next group: behind a barrier, in the combine of a reduction, or here. */
static void receive_by_a_warp(kn_cuda_writer *w, int stage, const int *waits, int last,
                              const char *leader)
{
    const kn_phase *ph = w->ph;
    bool *remote = KN_NEW_ARRAY(w->t->arena, bool, ph->nest.values.len + 1);
    const char **at = KN_NEW_ARRAY(w->t->arena, const char *, ph->nest.values.len + 1);
    int bytes = kn_peers_at(w->k) + kn_peers_bytes(w->k);
    kn_find_remote(ph, remote);
    for (int i = 0; i < ph->nest.values.len; i++)
        if (kn_is_passed_on(ph, remote, i)) {
            at[i] = kn_cuda_printed(w, "*(%s *)(scratch + %d)",
                                    kn_cuda_type(kn_value_at(ph, i)->dtype), bytes);
            bytes += KN_SHOWN_BYTES;
        }
    if (!combines(ph))
        kn_cuda_line(w, "__syncthreads(); // what the last group had has been read");
    kn_cuda_open(w, "if (threadIdx.x < 32)");
    for (int now = 1; now <= last; now++)
        write_values(w, stage, waits, now, leader);
    for (int i = 0; i < ph->nest.values.len; i++)
        if (at[i] && waits[i])
            kn_cuda_guarded(w, "threadIdx.x == 0",
                            kn_cuda_printed(w, "%s = %s;", at[i], kn_cuda_operand(w, i)));
    kn_cuda_close(w);
    kn_cuda_line(w, "__syncthreads();");
    for (int i = 0; i < ph->nest.values.len; i++)
        if (at[i] && waits[i])
            kn_cuda_group_value_is(w, i, at[i]);
}

void kn_cuda_group_values(kn_cuda_writer *w, int stage, const char *leader)
{
    const kn_nest *nest = &w->ph->nest;
    const int *waits = waits_within(w, stage);
    int last = 0;
    for (int i = 0; i < nest->values.len; i++)
        last = nest->values.data[i].stage == stage && waits[i] > last ? waits[i] : last;
    const bool by_a_warp = last > 0 && kn_receives_by_a_warp(w->k, w->ph);
    for (int now = 0; now <= (by_a_warp ? 0 : last); now++)
        write_values(w, stage, waits, now, leader);
    if (by_a_warp)
        receive_by_a_warp(w, stage, waits, last, leader);
}
