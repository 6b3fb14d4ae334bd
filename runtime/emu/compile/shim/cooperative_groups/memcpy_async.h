// Copies into shared memory that a group makes together and waits for.
#pragma once
#include <kn_emu_async.h>

namespace cooperative_groups {

template <class G>
__forceinline__ void memcpy_async(const G &group, void *to, const void *from, size_t bytes,
                                  KN_EMU_LINE)
{
    kn_emu_async::copy(to, from, bytes, group.thread_rank(), group.size(), kn_emu_line);
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
