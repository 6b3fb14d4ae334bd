/* Packed atomics: sums of integers without partial results in memory.
 *
 * Before: a split phase stores partial sums, and the last block to arrive adds them up, alone. After: each block adds
 * its sum to words that also count the blocks, and the last to do so finds the total in the answer. Integers wrap, so
 * the order does not matter (measured: docs/lab/finishing-a-sum.md). */
#include "codegen/sched/sched.h"

/* The most that the counts in those words can hold: kn_last_to_add() in codegen/emit/cuda/prelude/grid.cuh. */
enum { MOST_BLOCKS = 65535 };

static bool is_whole_sum(const kn_phase *ph)
{
    return ph->nest.reds.len == 1 && ph->nest.ngroup == 0 && ph->how.walk == KN_WALK_ROWS &&
           ph->nest.nsweeps == 1 && !ph->local && ph->nest.reds.data[0].op == KN_OP_SUM &&
           (ph->nest.reds.data[0].dtype == KN_I64 || ph->nest.reds.data[0].dtype == KN_U64);
}

/* The only element value of `ph`, if it loads `buf`; else NULL. */
static kn_value *only_element(kn_phase *ph, int buf)
{
    kn_value *found = NULL;
    for (int i = 0; i < ph->nest.values.len; i++) {
        kn_value *v = &ph->nest.values.data[i];
        if (v->level != KN_ELEMENT)
            continue;
        if (found || v->kind != KN_V_LOAD || v->access->buf != buf)
            return NULL;
        found = v;
    }
    return found;
}

static void forget_buf(kn_kernel *k, int buf)
{
    for (int p = 0; p < k->phases.len; p++) {
        kn_phase *ph = &k->phases.data[p];
        for (int i = 0; i < kn_accesses(ph); i++)
            if (kn_any_access(ph, i))
                kn_any_access(ph, i)->buf -= kn_any_access(ph, i)->buf > buf;
    }
    for (int i = buf + 1; i < k->bufs.len; i++)
        k->bufs.data[i - 1] = k->bufs.data[i];
    k->bufs.len--;
}

void kn_sum_by_atomics(kn_kernel *k)
{
    kn_phase *parts = k->phases.data, *last = parts + 1;
    if (k->phases.len != 2 || !is_whole_sum(parts) || !is_whole_sum(last) || !parts->how.split ||
        parts->num.splits > MOST_BLOCKS || parts->how.tpg != k->threads ||
        parts->nest.stores.len != 1 || parts->nest.stores.data[0].kind != KN_STORE_PARTIAL)
        return;
    int buf = parts->nest.stores.data[0].access.buf;
    kn_value *part = only_element(last, buf);
    if (!part || last->nest.reds.data[0].value != (int)(part - last->nest.values.data))
        return;
    parts->how.atomic = last->how.atomic = true;
    parts->nest.stores.len = 0;
    last->how.vec = 1;
    last->how.tail = false;
    last->how.by_run = 0;
    *part = (kn_value){.kind = KN_V_CONST,
                       .dtype = part->dtype,
                       .level = KN_ELEMENT,
                       .value = {.dtype = part->dtype}};
    forget_buf(k, buf);
}
