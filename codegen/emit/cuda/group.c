/* Which groups a block of rows works on. */
#include "codegen/emit/cuda/writer.h"

const char *kn_cuda_groups_at_once(kn_cuda_writer *w)
{
    if (!kn_shares_block(w->k, w->ph))
        return "1";
    return w->k->bound ? kn_cuda_printed(w, "(blockDim.x / %d)", w->ph->how.tpg)
                       : kn_cuda_printed(w, "%d", w->k->threads / w->ph->how.tpg);
}

void kn_cuda_write_group(kn_cuda_writer *w)
{
    const char *item = "first";
    const int stride = kn_group_stride(w->ph);
    if (kn_shares_block(w->k, w->ph)) {
        const char *mine =
            stride > 1 ? kn_cuda_printed(w, "first + row * %d", stride) : "first + row";
        kn_cuda_line(w, "const bool live = %s < work;", mine);
        item = kn_cuda_printed(w, "live ? %s : %s", mine, stride > 1 ? "first" : "work - 1");
    }
    if (w->ph->how.reversed && !w->ph->how.mixed)
        item = kn_cuda_printed(w, "work - 1 - (%s)", item);
    if (w->ph->how.split) {
        kn_cuda_line(w, "const kn_count item = %s;", item);
        kn_cuda_line(w, "const kn_count split = item / groups, g = item - split * groups;");
    } else {
        kn_cuda_line(w, "const kn_count g = %s;", item);
    }
    kn_cuda_decompose(w, 0, w->ph->nest.ngroup, "g");
}

void kn_cuda_open_groups_of_block(kn_cuda_writer *w)
{
    const int groups = w->ph->how.groups;
    const char *at_once = kn_cuda_groups_at_once(w), *first = groups ? "batch" : "first",
               *times = groups ? kn_cuda_printed(w, " * %d", groups) : "";
    kn_cuda_open(w, "for (kn_count %s = (kn_count)%s * %s; %s < work; %s += (kn_count)%s * %s%s)",
                 first, w->block, at_once, first, first, w->blocks, at_once, times);
}

/* ---- batches of groups ---- */

static bool is_of_batch(const kn_cuda_writer *w, int i)
{
    return kn_value_at(w->ph, i)->kind == KN_V_LOAD && kn_kept(w->ph, i) == KN_KEEP_REGISTERS &&
           !kn_is_hoisted(w->ph, i);
}

/* What the groups of a batch have of value i, each its own. */
static const char *of_batch(kn_cuda_writer *w, int i)
{
    return kn_cuda_printed(w, "%s_of", kn_cuda_value(w, i));
}

void kn_cuda_declare_batch_of_groups(kn_cuda_writer *w)
{
    const kn_schedule *how = &w->ph->how;
    for (int i = 0; i < w->ph->nest.values.len; i++) {
        const char *type = kn_cuda_type(kn_value_at(w->ph, i)->dtype);
        if (is_of_batch(w, i))
            kn_cuda_line(w, "kn_vec<%s, %d> %s[%d][%d];", type, how->vec, of_batch(w, i),
                         how->groups, how->steps);
        else if (kn_is_prefetched_of_group(w->ph, i))
            kn_cuda_line(w, "%s %s[%d];", type, of_batch(w, i), how->groups);
    }
}

void kn_cuda_open_batch_of_groups(kn_cuda_writer *w)
{
    kn_cuda_open_each(w, "turn", w->ph->how.groups);
    kn_cuda_line(w, "const kn_count first = batch + turn * ((kn_count)%s * %s);", w->blocks,
                 kn_cuda_groups_at_once(w));
    kn_cuda_guarded(w, "!(first < work)", "break;");
    for (int i = 0; i < w->ph->nest.values.len; i++) {
        if (is_of_batch(w, i))
            kn_cuda_line(w, "auto &%s = %s[turn];", kn_cuda_registers(w, i), of_batch(w, i));
        /* what the loads' loop has declared besides is out of scope */
        w->declared[i] = is_of_batch(w, i) || kn_is_hoisted(w->ph, i);
    }
}

void kn_cuda_load_group(kn_cuda_writer *w, const kn_cuda_stride *by)
{
    for (int i = 0; i < w->ph->nest.values.len; i++)
        if (kn_is_prefetched_of_group(w->ph, i))
            kn_cuda_line(w, "%s[turn] = *(%s);", of_batch(w, i), kn_cuda_address(w, i, NULL));
    kn_cuda_load_all_steps(w, by);
}

void kn_cuda_take_group(kn_cuda_writer *w)
{
    for (int i = 0; i < w->ph->nest.values.len; i++)
        if (kn_is_prefetched_of_group(w->ph, i))
            kn_cuda_line(w, "const %s %s = %s[turn];", kn_cuda_type(kn_value_at(w->ph, i)->dtype),
                         kn_cuda_value(w, i), of_batch(w, i));
}
