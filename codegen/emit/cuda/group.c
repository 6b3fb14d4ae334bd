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
