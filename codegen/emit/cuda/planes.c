/* Steps of whole planes (codegen/sched/planes.c): the indices of a thread in a plane are found once, and a batch divides once for
 * the plane of its first step, from which the others are as many planes apart. */
#include "codegen/emit/cuda/writer.h"

static int first_axis(const kn_phase *ph)
{
    return ph->nest.ngroup + kn_stepped_axes(ph) - ph->how.planes;
}

const char *kn_cuda_plane_of(kn_cuda_writer *w, const char *member)
{
    const int a = first_axis(w->ph);
    if (w->k->wide)
        return kn_cuda_printed(w, "(%s) / (%s)", member,
                               kn_cuda_extents(w, a, a + w->ph->how.planes));
    return kn_cuda_printed(w, "kn_quotient(%s, p%d_plane_multiplier, p%d_plane_shift)", member,
                           w->p, w->p);
}

void kn_cuda_declare_plane(kn_cuda_writer *w, const char *thread)
{
    const kn_phase *ph = w->ph;
    const int a = first_axis(ph);
    if (!ph->how.planes)
        return;
    kn_cuda_line(w, "// a step takes whole planes, so a thread is at the same place in each");
    kn_cuda_line(w, "const kn_count in_plane = %s - %s * (%s);", thread,
                 kn_cuda_plane_of(w, thread), kn_cuda_extents(w, a, a + ph->how.planes));
    kn_cuda_decompose(w, a, a + ph->how.planes, "in_plane");
    kn_cuda_line(w, "const bool in_step = %s < (kn_count)p%d_step;", thread, w->p);
}

void kn_cuda_write_axes_of_plane(kn_cuda_writer *w)
{
    kn_cuda_line(w, "const kn_count plane = %s;", w->plane);
    kn_cuda_decompose(w, w->ph->nest.ngroup, first_axis(w->ph), "plane");
}

const char *kn_cuda_live_in_step(kn_cuda_writer *w, const char *live)
{
    return !w->ph->how.planes ? live
           : *live            ? kn_cuda_printed(w, "%s && in_step", live)
                              : "in_step";
}
