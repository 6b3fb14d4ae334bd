// Copies into shared memory that a group makes together and waits for.
#pragma once
#include <cooperative_groups.h>

namespace cooperative_groups {

// Each thread takes every size()-th piece of 16 bytes.
template <class G>
__forceinline__ void memcpy_async(const G &group, void *to, const void *from, size_t bytes,
                                  KN_EMU_LINE)
{
    for (size_t at = (size_t)group.thread_rank() * 16; at < bytes; at += (size_t)group.size() * 16)
        kn_emu_copy_async((char *)to + at, (const char *)from + at,
                          (unsigned)(bytes - at < 16 ? bytes - at : 16), 0, 1, kn_emu_line);
    kn_emu_copy_commit(KN_EMU_COPY_THREAD);
}
template <unsigned STAGES, class G> __forceinline__ void wait_prior(const G &group, KN_EMU_LINE)
{
    kn_emu_copy_wait(KN_EMU_COPY_THREAD, STAGES, kn_emu_line);
    group.sync(kn_emu_line);
}
template <class G> __forceinline__ void wait(const G &group, KN_EMU_LINE)
{
    wait_prior<0>(group, kn_emu_line);
}

} // namespace cooperative_groups
