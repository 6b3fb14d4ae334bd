/* Flat: pointwise phases, over whose elements the grid strides. */
#include "codegen/model/machine.h"
#include "codegen/sched/sched.h"

static bool can(const kn_phase *ph)
{
    return ph->nest.reds.len == 0 && ph->nest.ngroup == 0 && !ph->how.split;
}

/* Bytes that a step of a thread loads, and additions that it takes. */
static int bytes_loaded(const kn_phase *ph)
{
    int bytes = 0;
    for (int i = 0; i < ph->nest.values.len; i++)
        if (ph->nest.values.data[i].kind == KN_V_LOAD &&
            ph->nest.values.data[i].level == KN_ELEMENT)
            bytes += kn_bytes(ph->nest.values.data[i].dtype) * ph->how.vec;
    return bytes;
}

static int additions(const kn_phase *ph)
{
    int sum = 0;
    for (int i = 0; i < ph->nest.values.len; i++)
        if (ph->nest.values.data[i].kind == KN_V_ELEM &&
            ph->nest.values.data[i].level == KN_ELEMENT)
            sum += kn_ops[ph->nest.values.data[i].op].cost * ph->how.vec;
    return sum;
}

/* Steps whose loads a thread has in flight at once. A phase alone in its kernel has all the threads that the machine
 * holds, and memory is faster the less each of them asks for (measured: docs/lab/bytes-a-block.md): as few as keep it
 * busy while threads compute, or wait twice the latency of an idle memory. */
static int steps(const kn_phase *ph, const kn_target *target)
{
    const double busy = 0.75;
    int most = kn_steps_at_once(bytes_loaded(ph)), n = 1;
    if (!ph->alone || target->sm == 0)
        return most;
    const kn_machine *m = kn_machine_of(target);
    double moving = (double)kn_phase_element_bytes(ph) * ph->how.vec / m->memory;
    double waiting = 2 * m->latency / ((double)target->units * target->max_threads_unit);
    double working = additions(ph) / (target->units * m->adds);
    while (n < most && waiting / n + working > busy * moving)
        n *= 2;
    return n;
}

static int threads(const kn_phase *ph, const kn_target *target)
{
    return ph->alone ? kn_schedule_small_block(ph, target, ph->how.vec * steps(ph, target)) : 256;
}

static void bind(const kn_site *at, kn_phase *ph, int block)
{
    (void)block;
    ph->how.tpg = 1;
    ph->how.unroll = steps(ph, at->target);
}

const kn_walker kn_walk_flat = {"flat", KN_WALK_FLAT, can, threads, bind};
