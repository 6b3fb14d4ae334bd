/* How much work a block has: how many threads, and which part of what is divided over blocks. */
#include "codegen/sched/sched.h"

int kn_phase_element_bytes(const kn_phase *ph)
{
    int bytes = 0;
    for (int i = 0; i < kn_accesses(ph); i++) {
        const kn_access *acc = kn_element_access(ph, i);
        bool whole = acc != NULL;
        for (int a = 0; whole && a < ph->nest.naxes; a++)
            whole = acc->stride[a] != 0 || ph->nest.axes[a].extent == 1;
        for (int j = 0; whole && j < i; j++)
            whole = !kn_element_access(ph, j) || kn_element_access(ph, j)->buf != acc->buf;
        int value = i < ph->nest.values.len ? i : kn_store_at(ph, i)->value;
        bytes += whole ? kn_bytes(ph->nest.values.data[value].dtype) : 0;
    }
    return bytes;
}

/* A block should move as little as pays for starting it (measured: docs/lab/bytes-a-block.md). */
int kn_schedule_small_block(const kn_phase *ph, const kn_target *target, double elements)
{
    const double enough = 4096;
    int threads = 64;
    while (threads < KN_SMALL_BLOCK && threads < target->max_block &&
           threads * elements * kn_phase_element_bytes(ph) < enough)
        threads *= 2;
    return threads;
}

kn_range kn_ranges_of(int64_t n, int64_t want)
{
    int64_t length = kn_round_up(kn_ceil_div(n, want), 8);
    return (kn_range){.n = kn_ceil_div(n, length), .length = length};
}

void kn_leave_cluster(kn_phase *ph)
{
    if (!ph->how.cluster)
        return;
    ph->how.cluster = ph->how.hoisted = ph->how.loads_parts = ph->how.rest_in_registers = false;
    ph->num.splits = 1;
    ph->num.chunk = ph->nest.members;
    ph->num.in_shared = 0;
}

kn_phase kn_with_ranges(const kn_phase *ph, const kn_range *ranges)
{
    kn_phase split = *ph;
    kn_leave_cluster(&split);
    split.how.split = ranges->n > 1;
    split.num.splits = ranges->n;
    split.num.chunk = ranges->length;
    return split;
}
